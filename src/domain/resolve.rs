//! Resolves an [`Edit`] against the current values: preconditions on keys, and then operators, in order.

use std::borrow::Cow;
use std::collections::HashMap;

use super::change::{Change, Condition, Edit, Keys, value_too_large};
use super::ids::StateAddress;
use super::json::RawJson;
use super::loaded::StateEntry;
use super::refusal::Refusal;
use super::scope::Scope;
use super::{FieldError, Limits, Rejected};

/// The most bytes of values that the operators and preconditions of one request may read together, as locks may be held
/// meanwhile.
const MOST_WORK: usize = 32 << 20;

/// A key's value after an event; `None` if it is removed.
pub struct Resolved<'a> {
    pub scope: Scope,
    pub key: &'a str,
    pub value: Option<Cow<'a, RawJson>>,
}

/// The values of keys while the edits of one request are resolved one after the other.
pub struct Working<'h> {
    loaded: &'h HashMap<StateAddress, StateEntry>,
    /// The loaded keys that this request has changed.
    changed: HashMap<StateAddress, StateEntry>,
    work: usize,
}

impl<'h> Working<'h> {
    pub fn new(loaded: &'h HashMap<StateAddress, StateEntry>) -> Self {
        Self { loaded, changed: HashMap::new(), work: 0 }
    }

    fn value(&self, address: &StateAddress) -> Option<&RawJson> {
        self.entry(address).and_then(|entry| entry.value.as_ref())
    }

    fn entry(&self, address: &StateAddress) -> Option<&StateEntry> {
        self.changed.get(address).or_else(|| self.loaded.get(address))
    }

    /// Sets the value of a key for later edits.
    pub fn set(&mut self, address: StateAddress, value: Option<&RawJson>, revision: i64) {
        if self.loaded.contains_key(&address) {
            self.changed.insert(address, StateEntry { value: value.cloned(), revision });
        }
    }

    /// Counts bytes that are read.
    fn spend(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.work += bytes;
        if self.work <= MOST_WORK {
            return Ok(());
        }
        let detail = format!("the operators of one request may read {} MiB of values together", MOST_WORK >> 20);
        Err(Rejected::too_large("operators", detail).into())
    }

    /// The preconditions that fail, given the revision of each scope. `pointer` is that of the object with the preconditions.
    ///
    /// # Errors
    /// They read too much.
    pub fn failed(
        &mut self,
        edit: &Edit,
        keys: Keys,
        pointer: &str,
        address: &impl Fn(Scope, &str) -> StateAddress,
        revision: impl Fn(Scope) -> i64,
    ) -> Result<Vec<FieldError>, Refusal> {
        let mut failed = Vec::new();
        for (n, precondition) in edit.preconditions.iter().enumerate() {
            let (scope, key) = (precondition.scope, &*precondition.key);
            let address = address(scope, key);
            let value = self.value(&address);
            let fault = match &precondition.condition {
                Condition::Unchanged { since } if *since > revision(scope) => {
                    Some("is asked about since a revision that has not come yet")
                }
                Condition::Unchanged { since } => {
                    let changed = self.entry(&address).map_or(0, |entry| entry.revision);
                    (changed > *since).then_some("has changed since that revision")
                }
                Condition::Exists(true) => value.is_none().then_some("does not exist"),
                Condition::Exists(false) => value.is_some().then_some("exists"),
                Condition::Equals(wanted) => {
                    let fault = match value {
                        None => Some("is absent"),
                        Some(value) => (!value.json().same(wanted.json())).then_some("has another value"),
                    };
                    self.spend(value.map_or(0, |value| value.text().len()) + wanted.text().len())?;
                    fault
                }
            };
            if let Some(what) = fault {
                let field = format!("{pointer}/preconditions/{n}");
                failed.push(FieldError::new(field, format!("the key `{}` {what}", keys.show(scope, key))));
            }
        }
        Ok(failed)
    }

    /// The result of the edit, each changed key once. `pointer` is that of the object with the operators.
    ///
    /// # Errors
    /// An operator does not fit the current value, its result is over a limit, or the operators read too much.
    pub fn resolve<'a>(
        &mut self,
        edit: &'a Edit,
        keys: Keys,
        pointer: &str,
        address: &impl Fn(Scope, &str) -> StateAddress,
        limits: &Limits,
    ) -> Result<Vec<Resolved<'a>>, Refusal> {
        let set =
            |set: &'a Change| Resolved { scope: set.scope, key: &set.key, value: Some(Cow::Borrowed(&set.value)) };
        let mut changes: Vec<Resolved<'a>> = edit.sets.iter().map(set).collect();
        if edit.ops.is_empty() {
            return Ok(changes);
        }
        let mut places: HashMap<(Scope, &str), usize> =
            changes.iter().enumerate().map(|(at, change)| ((change.scope, change.key), at)).collect();
        for (n, operation) in edit.ops.iter().enumerate() {
            let (scope, key) = (operation.scope, &*operation.key);
            let place = places.get(&(scope, key)).copied();
            let current = match place.and_then(|at| changes.get(at)) {
                Some(change) => change.value.as_deref(),
                None => self.value(&address(scope, key)),
            };
            let bytes = operation
                .op
                .operand()
                .map_or(0, |operand| operand.text().len() + current.map_or(0, |value| value.text().len()));
            let pointer = || format!("{pointer}/stateOps/{n}");
            let value = operation.op.apply(current.map(RawJson::json)).map_err(|what| {
                let message = format!("the key `{}`: {what}", keys.show(scope, key));
                Refusal::Rejected(Rejected::field(pointer(), message))
            })?;
            self.spend(bytes)?;
            if value.as_ref().is_some_and(|value| value.text().len() > limits.value_bytes) {
                return Err(value_too_large(&pointer(), limits).into());
            }
            let change = Resolved { scope, key, value };
            match place.and_then(|at| changes.get_mut(at)) {
                Some(place) => *place = change,
                None => {
                    places.insert((scope, key), changes.len());
                    changes.push(change);
                }
            }
        }
        // Removing a missing key is no change.
        changes.retain(|change| change.value.is_some() || self.value(&address(change.scope, change.key)).is_some());
        Ok(changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::change::{parse_delta, parse_ops, parse_preconditions};
    use crate::domain::ids::{AppName, SessionId, SessionKey, UserId, UserKey};
    use crate::domain::json::Json;

    fn address(scope: Scope, key: &str) -> StateAddress {
        let user = UserKey { app: AppName::parse("app").unwrap(), user: UserId::parse("user").unwrap() };
        StateAddress::new(&SessionKey { user, session: SessionId::parse("s").unwrap() }, scope, key)
    }

    /// Keys as they were loaded: the value, if there is one, and the revision that wrote or removed it.
    fn loaded(keys: &[(Scope, &str, Option<&str>, i64)]) -> HashMap<StateAddress, StateEntry> {
        let entry = |value: Option<&str>, revision| StateEntry { value: value.map(RawJson::trusted), revision };
        keys.iter().map(|(scope, key, value, revision)| (address(*scope, key), entry(*value, *revision))).collect()
    }

    fn edit(preconditions: &str, sets: &str, ops: &str) -> Edit {
        let limits = Limits::default();
        Edit {
            preconditions: parse_preconditions(Json::trusted(preconditions), Keys::Merged, "", &limits).unwrap(),
            sets: parse_delta(Json::trusted(sets), Keys::Merged, "", &limits).unwrap(),
            ops: parse_ops(Json::trusted(ops), Keys::Merged, "", &limits).unwrap(),
        }
    }

    /// The changes as text, keys with their prefixes.
    fn changes(working: &mut Working<'_>, sets: &str, ops: &str) -> Result<Vec<String>, Refusal> {
        let edit = edit("[]", sets, ops);
        let resolved = working.resolve(&edit, Keys::Merged, "", &address, &Limits::default())?;
        let shown = |change: Resolved<'_>| {
            let value = change.value.as_deref().map_or("gone", RawJson::text);
            format!("{}{}={value}", change.scope.prefix(), change.key)
        };
        Ok(resolved.into_iter().map(shown).collect())
    }

    /// The preconditions that fail, with every scope at revision 7.
    fn failed(working: &mut Working<'_>, preconditions: &str) -> Result<Vec<FieldError>, Refusal> {
        working.failed(&edit(preconditions, "{}", "[]"), Keys::Merged, "", &address, |_| 7)
    }

    #[test]
    fn operators_follow_the_sets_in_order_and_each_key_changes_once() {
        let loaded = loaded(&[(Scope::Session, "n", Some("5"), 1), (Scope::User, "n", Some("50"), 1)]);
        for (sets, ops, expected) in [
            (r#"{"a":1,"b":2}"#, "[]", &["a=1", "b=2"][..]),
            // On what the same edit set, and on what an operator before it made of that.
            (r#"{"a":1}"#, r#"[{"op":"increment","key":"a","value":2},{"op":"max","key":"a","value":9}]"#, &["a=9"]),
            // On what is there.
            ("{}", r#"[{"op":"increment","key":"n","value":2},{"op":"increment","key":"n","value":2}]"#, &["n=9"]),
            // A set wins over what is there.
            (r#"{"n":0}"#, r#"[{"op":"increment","key":"n","value":2}]"#, &["n=2"]),
            // Keys of one name in three scopes are three keys.
            (
                r#"{"app:n":1}"#,
                r#"[{"op":"increment","key":"user:n","value":1},{"op":"increment","key":"n","value":1},
                    {"op":"increment","key":"app:n","value":1}]"#,
                &["app:n=2", "user:n=51", "n=6"],
            ),
            // What is not there counts as nothing.
            (
                "{}",
                r#"[{"op":"increment","key":"new","value":3},{"op":"append","key":"l","value":[1]}]"#,
                &["new=3", "l=[1]"],
            ),
        ] {
            assert_eq!(changes(&mut Working::new(&loaded), sets, ops).unwrap(), expected, "{sets} {ops}");
        }
    }

    #[test]
    fn removing_what_is_not_there_is_no_change() {
        let loaded = loaded(&[(Scope::Session, "there", Some("null"), 1), (Scope::Session, "gone", None, 3)]);
        for (sets, ops, expected) in [
            ("{}", r#"[{"op":"remove","key":"there"}]"#, &["there=gone"][..]),
            ("{}", r#"[{"op":"remove","key":"gone"},{"op":"remove","key":"never"}]"#, &[]),
            // Set and removed by the same edit: as if nothing had been.
            (r#"{"gone":1}"#, r#"[{"op":"remove","key":"gone"}]"#, &[]),
            (r#"{"there":1}"#, r#"[{"op":"remove","key":"there"}]"#, &["there=gone"]),
            // Removed and set again.
            ("{}", r#"[{"op":"remove","key":"there"},{"op":"increment","key":"there","value":1}]"#, &["there=1"]),
        ] {
            assert_eq!(changes(&mut Working::new(&loaded), sets, ops).unwrap(), expected, "{sets} {ops}");
        }
    }

    #[test]
    fn an_edit_sees_what_those_before_it_changed() {
        let loaded = loaded(&[(Scope::User, "n", Some("1"), 2)]);
        let mut working = Working::new(&loaded);
        working.set(address(Scope::User, "n"), Some(&RawJson::trusted("10")), 8);
        let more = r#"[{"op":"increment","key":"user:n","value":1}]"#;
        assert_eq!(changes(&mut working, "{}", more).unwrap(), ["user:n=11"]);
        assert!(failed(&mut working, r#"[{"key":"user:n","equals":10}]"#).unwrap().is_empty());
        let since = failed(&mut working, r#"[{"key":"user:n","revision":7}]"#).unwrap();
        assert_eq!(since, [FieldError::new("/preconditions/0", "the key `user:n` has changed since that revision")]);
        working.set(address(Scope::User, "n"), None, 9);
        assert!(changes(&mut working, "{}", r#"[{"op":"remove","key":"user:n"}]"#).unwrap().is_empty());
        assert!(failed(&mut working, r#"[{"key":"user:n","exists":false}]"#).unwrap().is_empty());
    }

    #[test]
    fn a_precondition_holds_or_says_why_not() {
        let loaded = loaded(&[
            (Scope::Session, "k", Some(r#"{"a":[1.0,"é"],"b":null}"#), 5),
            (Scope::App, "k", Some("null"), 7),
            (Scope::User, "gone", None, 6),
        ]);
        for (precondition, fault) in [
            (r#"{"key":"k","revision":5}"#, None),
            (r#"{"key":"k","revision":7}"#, None),
            (r#"{"key":"k","revision":4}"#, Some("the key `k` has changed since that revision")),
            (r#"{"key":"k","revision":8}"#, Some("the key `k` is asked about since a revision that has not come yet")),
            (r#"{"key":"user:gone","revision":6}"#, None),
            (r#"{"key":"user:gone","revision":5}"#, Some("the key `user:gone` has changed since that revision")),
            // Never written: nothing has changed since the beginning.
            (r#"{"key":"never","revision":0}"#, None),
            (r#"{"key":"app:k","exists":true}"#, None),
            (r#"{"key":"app:k","exists":false}"#, Some("the key `app:k` exists")),
            (r#"{"key":"user:gone","exists":false}"#, None),
            (r#"{"key":"user:gone","exists":true}"#, Some("the key `user:gone` does not exist")),
            (r#"{"key":"user:k","exists":true}"#, Some("the key `user:k` does not exist")),
            (r#"{"key":"k","equals":{"b":null,"a":[1,"\u00e9"]}}"#, None),
            (r#"{"key":"k","equals":{"b":null,"a":["é",1]}}"#, Some("the key `k` has another value")),
            // `null` is a value, and a key that is not there has none.
            (r#"{"key":"app:k","equals":null}"#, None),
            (r#"{"key":"never","equals":null}"#, Some("the key `never` is absent")),
        ] {
            let found = failed(&mut Working::new(&loaded), &format!("[{precondition}]")).unwrap();
            let expected: Vec<_> = fault.into_iter().map(|fault| FieldError::new("/preconditions/0", fault)).collect();
            assert_eq!(found, expected, "{precondition}");
        }
        let all = r#"[{"key":"k","exists":false},{"key":"k","exists":true},{"key":"never","exists":true}]"#;
        let fields: Vec<_> = failed(&mut Working::new(&loaded), all).unwrap().into_iter().map(|e| e.field).collect();
        assert_eq!(fields, ["/preconditions/0", "/preconditions/2"]);
    }

    #[test]
    fn a_key_is_shown_as_the_request_writes_it() {
        let loaded = loaded(&[(Scope::User, "k", Some("\"text\""), 1)]);
        let limits = Limits::default();
        let ops = r#"[{"op":"remove","key":"x"},{"op":"increment","key":"k","value":1}]"#;
        let ops = parse_ops(Json::trusted(ops), Keys::Of(Scope::User), "", &limits).unwrap();
        let condition = r#"[{"key":"k","exists":false}]"#;
        let preconditions = parse_preconditions(Json::trusted(condition), Keys::Of(Scope::User), "", &limits).unwrap();
        let edit = Edit { preconditions, ops, ..Edit::default() };
        let bare = |_: Scope, key: &str| address(Scope::User, key);
        let mut working = Working::new(&loaded);
        let failed = working.failed(&edit, Keys::Of(Scope::User), "", &bare, |_| 1).unwrap();
        assert_eq!(failed, [FieldError::new("/preconditions/0", "the key `k` exists")]);
        let Err(refusal) = working.resolve(&edit, Keys::Of(Scope::User), "", &bare, &limits) else { panic!("applied") };
        let message = "the key `k`: `increment` needs a number, and the value that is there is a string";
        assert_eq!(refusal, Refusal::Rejected(Rejected::field("/stateOps/1", message)));
    }

    #[test]
    fn what_operators_come_to_keeps_the_limit_of_a_value() {
        let loaded = loaded(&[(Scope::Session, "l", Some("[1]"), 1)]);
        let limits = Limits { value_bytes: 5, ..Limits::default() };
        let append = |elements: &str| {
            let ops = format!(r#"[{{"op":"append","key":"l","value":{elements}}}]"#);
            let edit = edit("[]", "{}", &ops);
            Working::new(&loaded).resolve(&edit, Keys::Merged, "", &address, &limits).map(|changes| changes.len())
        };
        assert_eq!(append("[2]"), Ok(1));
        let over = append("[22]").unwrap_err();
        assert!(
            matches!(over, Refusal::Rejected(Rejected::TooLarge { limit: "value", detail }) if detail.contains("/stateOps/0"))
        );
    }

    #[test]
    fn the_edits_of_one_request_together_read_so_much_and_no_more() {
        // A comparison reads both sides. Strings, so that it is cheap.
        let value = format!("\"{}\"", "x".repeat((1 << 20) - 2));
        let loaded = loaded(&[(Scope::Session, "k", Some(&value), 1)]);
        let (compares, grows) = (edit("[]", "{}", "[]"), r#"[{"op":"append","key":"l","value":[]}]"#);
        let precondition = |value: &str| {
            parse_preconditions(
                Json::trusted(&format!(r#"[{{"key":"k","equals":{value}}}]"#)),
                Keys::Merged,
                "",
                &Limits::default(),
            )
        };
        let compares = Edit { preconditions: precondition(&value).unwrap(), ..compares };
        let mut working = Working::new(&loaded);
        for _ in 0..MOST_WORK >> 21 {
            assert!(working.failed(&compares, Keys::Merged, "", &address, |_| 7).unwrap().is_empty());
        }
        // Nothing is left, for an operator either.
        let refusal = changes(&mut working, "{}", grows).unwrap_err();
        assert!(matches!(refusal, Refusal::Rejected(Rejected::TooLarge { limit: "operators", .. })));
        // What reads nothing goes on.
        assert_eq!(changes(&mut Working::new(&loaded), r#"{"k":1}"#, "[]").unwrap(), ["k=1"]);
    }
}
