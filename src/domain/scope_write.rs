//! Changes of app or user state on their own, without a session and without an event.

use std::collections::HashMap;

use super::Limits;
use super::change::{Edit, Keys};
use super::ids::{ScopeKey, StateAddress};
use super::loaded::{KeyNeeds, StateEntry, need_key};
use super::query::ScopePart;
use super::refusal::{Mismatch, Refusal};
use super::request_key::RequestKey;
use super::resolve::{Resolved, Working};
use super::scope::Scope;
use super::tag::IfMatch;
use super::time::Micros;
use super::writes::{ScopeUpdate, Writes};

/// A change of app or user state on its own.
#[derive(Debug)]
pub struct ScopeWrite {
    pub scope: ScopeKey,
    pub edit: Edit,
    pub if_match: Option<IfMatch>,
    /// Stored beside the scope, so that a retry changes nothing twice.
    pub request: Option<RequestKey>,
    /// What the answer shows of it afterwards.
    pub shows: ScopePart,
    pub limits: Limits,
    pub now: Micros,
}

impl ScopeWrite {
    /// The keys to be loaded.
    pub fn needs(&self) -> KeyNeeds {
        let mut needs = KeyNeeds::new();
        for (_, key, since) in self.edit.reads() {
            need_key(&mut needs, self.scope.address(key), since);
        }
        needs
    }
}

/// Decides a change of a shared scope on its own, given the values of the keys that it needs, the scope's revision, and its next
/// one.
pub fn decide_scope<'a>(
    values: &HashMap<StateAddress, StateEntry>,
    write: &'a ScopeWrite,
    (revision, next): (i64, i64),
) -> Result<Writes<'a>, Refusal> {
    let mismatch = |failed| Refusal::RevisionMismatch(Mismatch::of_scope(revision, failed));
    if write.if_match.as_ref().is_some_and(|if_match| !if_match.holds_for_scope(revision)) {
        return Err(mismatch(Vec::new()));
    }
    let owner = write.scope.borrowed();
    let keys = Keys::Of(owner.scope());
    let address = |_: Scope, key: &str| write.scope.address(key);
    let mut working = Working::new(values);
    let failed = working.failed(&write.edit, keys, "", &address, |_| revision)?;
    if !failed.is_empty() {
        return Err(mismatch(failed));
    }
    let mut writes = Writes::default();
    let update = ScopeUpdate { was: revision, first: next, revision: next };
    for Resolved { key, value, .. } in working.resolve(&write.edit, keys, "", &address, &write.limits)? {
        writes.scopes.insert(owner, update);
        writes.shared_state.write((owner, key), value, next, None);
    }
    Ok(writes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::change::{parse_delta, parse_ops, parse_preconditions};
    use crate::domain::ids::{AppName, UserId, UserKey};
    use crate::domain::json::{Json, RawJson};
    use crate::domain::{FieldError, Rejected};

    fn app() -> ScopeKey {
        ScopeKey::App(AppName::parse("app").unwrap())
    }

    fn user() -> ScopeKey {
        ScopeKey::User(UserKey { app: AppName::parse("app").unwrap(), user: UserId::parse("user").unwrap() })
    }

    fn write(scope: ScopeKey, preconditions: &str, sets: &str, ops: &str) -> ScopeWrite {
        let limits = Limits::default();
        let keys = Keys::Of(if scope == app() { Scope::App } else { Scope::User });
        let edit = Edit {
            preconditions: parse_preconditions(Json::trusted(preconditions), keys, "", &limits).unwrap(),
            sets: parse_delta(Json::trusted(sets), keys, "", &limits).unwrap(),
            ops: parse_ops(Json::trusted(ops), keys, "", &limits).unwrap(),
        };
        let shows = ScopePart::Whole;
        ScopeWrite { scope, edit, if_match: None, request: None, shows, limits, now: Micros(0) }
    }

    fn values(scope: &ScopeKey, keys: &[(&str, &str)]) -> HashMap<StateAddress, StateEntry> {
        let entry = |value: &str| StateEntry { value: Some(RawJson::trusted(value)), revision: 3 };
        keys.iter().map(|(key, value)| (scope.address(key), entry(value))).collect()
    }

    fn mismatch(revision: i64, failed: Vec<FieldError>) -> Refusal {
        Refusal::RevisionMismatch(Mismatch { revision, shared: None, failed })
    }

    #[test]
    fn what_depends_on_values_needs_them() {
        let preconditions = r#"[{"key":"a","revision":4},{"key":"a","revision":2},{"key":"b","exists":true}]"#;
        let ops = r#"[{"op":"remove","key":"c"},{"op":"set","key":"d","value":1}]"#;
        let write = write(user(), preconditions, r#"{"e":1}"#, ops);
        let needs: Vec<_> = write.needs().into_iter().collect();
        // A key that is asked about twice, since the earlier revision; neither what is set nor what an operator sets.
        assert_eq!(needs, [(user().address("a"), Some(2)), (user().address("b"), None), (user().address("c"), None)]);
    }

    #[test]
    fn a_change_raises_the_revision_of_its_scope_by_one() {
        let ops = r#"[{"op":"increment","key":"n","value":1},{"op":"remove","key":"old"}]"#;
        for scope in [app(), user()] {
            let values = values(&scope, &[("n", "41"), ("old", "true")]);
            let write = write(scope.clone(), "[]", r#"{"k":"v"}"#, ops);
            let writes = decide_scope(&values, &write, (7, 8)).unwrap();
            let update = ScopeUpdate { was: 7, first: 8, revision: 8 };
            let shown = |key: &str, value: Option<&RawJson>, first: i64, revision: i64| {
                format!("{key}={} {first} {revision}", value.map_or("gone", RawJson::text))
            };
            let rows: Vec<_> = (writes.shared_state.rows.iter())
                .map(|((_, key), row)| shown(key, row.value.as_deref(), row.first, row.revision))
                .collect();
            assert!(writes.shared_state.rows.keys().all(|(owner, _)| *owner == scope.borrowed()));
            assert_eq!(writes.scopes.into_iter().collect::<Vec<_>>(), [(scope.borrowed(), update)]);
            assert_eq!(rows, ["k=\"v\" 8 8", "n=42 8 8", "old=gone 8 8"]);
            assert!(writes.events.is_empty() && writes.sessions.is_empty());
            assert!(writes.session_state.rows.is_empty());
        }
    }

    #[test]
    fn what_changes_nothing_writes_nothing() {
        for (sets, ops) in [
            ("{}", "[]"),
            ("{}", r#"[{"op":"remove","key":"none"}]"#),
            (r#"{"none":1}"#, r#"[{"op":"remove","key":"none"}]"#),
        ] {
            let write = write(user(), "[]", sets, ops);
            assert!(decide_scope(&HashMap::new(), &write, (7, 8)).unwrap().is_empty(), "{sets} {ops}");
        }
    }

    #[test]
    fn if_match_compares_the_revision_of_the_scope() {
        for (if_match, holds) in [
            ("*", true),
            ("\"7\"", true),
            ("\"6\", \"7\"", true),
            ("\"6\"", false),
            ("\"8\"", false),
            ("W/\"7\"", false),
            // The tag of a session is none of a scope.
            ("\"7.7.7.1\"", false),
        ] {
            let if_match_parsed = Some(IfMatch::parse(if_match).unwrap());
            let write = ScopeWrite { if_match: if_match_parsed, ..write(app(), "[]", r#"{"k":1}"#, "[]") };
            let decided = decide_scope(&HashMap::new(), &write, (7, 8)).map(|writes| writes.scopes.len());
            assert_eq!(decided, if holds { Ok(1) } else { Err(mismatch(7, Vec::new())) }, "{if_match}");
        }
    }

    #[test]
    fn every_precondition_holds_or_nothing_is_written() {
        let values = values(&app(), &[("k", "1")]);
        let holds = write(app(), r#"[{"key":"k","equals":1.0},{"key":"k","revision":3}]"#, r#"{"k":2}"#, "[]");
        assert_eq!(decide_scope(&values, &holds, (7, 8)).unwrap().shared_state.rows.len(), 1);
        let fails = write(app(), r#"[{"key":"k","exists":true},{"key":"k","revision":2}]"#, r#"{"k":2}"#, "[]");
        let failed = FieldError::new("/preconditions/1", "the key `k` has changed since that revision");
        assert_eq!(decide_scope(&values, &fails, (7, 8)).unwrap_err(), mismatch(7, vec![failed]));
        // If-Match comes first, and a precondition before the operators.
        let stale = ScopeWrite { if_match: Some(IfMatch::parse("\"6\"").unwrap()), ..fails };
        assert_eq!(decide_scope(&values, &stale, (7, 8)).unwrap_err(), mismatch(7, Vec::new()));
        let ops = r#"[{"op":"append","key":"k","value":[]}]"#;
        let both = write(app(), r#"[{"key":"k","exists":false}]"#, "{}", ops);
        assert!(matches!(decide_scope(&values, &both, (7, 8)), Err(Refusal::RevisionMismatch(_))));
        let message = "the key `k`: `append` needs an array, and the value that is there is a number";
        let refusal = Refusal::Rejected(Rejected::field("/stateOps/0", message));
        assert_eq!(decide_scope(&values, &write(app(), "[]", "{}", ops), (7, 8)).unwrap_err(), refusal);
    }
}
