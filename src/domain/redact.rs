//! Redaction: of an event there stays when, by whom and in which invocation it was, and as much of its changes as is asked for. The
//! rest must not be read again (contract, section 14).

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use uuid::Uuid;

use super::Rejected;
use super::append::Append;
use super::change::{WrittenEdit, removal};
use super::envelope::Fields;
use super::event::{EventDraft, StoredEvent, named_versions, redaction_of, removed_keys, show_versions};
use super::guard::Guard;
use super::ids::{EventId, SessionKey};
use super::json::{Json, ObjectText, RawJson};
use super::lease::{LeaseHead, LeaseMark};
use super::ops::Op;
use super::rewind::derived_id;
use super::scope::{Scope, split};
use super::tag::Tag;
use super::time::Micros;
use super::word::read_words;

/// The longest reason, in bytes.
const MAX_REASON: usize = 256;

read_words! {
    /// What becomes of the values that the event set.
    #[derive(Default)]
    pub enum Values {
        /// They stay: past and present states are what they were.
        #[default]
        Keep = "keep",
        /// They go: from past states, and from the present one where nobody has set the key since.
        Remove = "remove",
    }
}

/// The body of a request to redact an event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RedactDraft {
    pub reason: Option<String>,
    pub values: Values,
}

impl RedactDraft {
    /// Reads `{reason?, state?}`.
    ///
    /// # Errors
    /// A reason that is too long, another `state` than `keep` and `remove`, another type, or any other field.
    pub fn parse(json: Json<'_>) -> Result<Self, Rejected> {
        let mut fields = Fields::of(json, "")?;
        let reason = fields.take_text("reason", 0..=MAX_REASON, "must be at most 256 bytes");
        let values = fields.take_str_with("state", |word| Values::parse(word).ok_or("must be `keep` or `remove`"));
        fields.finish()?;
        Ok(Self { reason, values: values.unwrap_or_default() })
    }
}

/// A redaction of an event, in its session and in forks of it. It is idempotent.
#[derive(Debug, Clone)]
pub struct Redaction {
    pub key: SessionKey,
    pub event: EventId,
    pub draft: RedactDraft,
    pub guard: Guard,
    /// The ids of the events that remove present values are derived from it.
    pub removal_id: Uuid,
    /// When it is made, as the event shows it: by the database's clock, if it has one.
    pub time: Micros,
    pub now: Micros,
    /// The forks to redact the event in, and those in which it was redacted before.
    pub forks: BTreeSet<SessionKey>,
    pub done: BTreeSet<SessionKey>,
}

/// How many forks one transaction takes.
pub const FORKS_AT_ONCE: usize = 100;

/// What a transaction of a redaction came to.
#[derive(Debug)]
pub enum Step {
    /// Nothing was written: these forks hold the event, and are to be redacted with it.
    Wider(BTreeSet<SessionKey>),
    Done(Redacted),
}

/// An event after its redaction.
#[derive(Debug)]
pub struct Redacted {
    pub event: StoredEvent,
    /// The session's tag after it.
    pub tag: Tag,
    /// The revision of the event that removes present values, if one was appended, and how many were appended in all sessions.
    pub revision: Option<i64>,
    pub appended: usize,
    /// The keys, as the merged state shows them, whose next values operators made of what was removed: these stay.
    pub carried_on: BTreeSet<String>,
    /// How many forks hold the event.
    pub forks: usize,
    /// Those of them in which it is still to be redacted.
    pub left: BTreeSet<SessionKey>,
}

impl Redaction {
    /// The text of the event after the redaction, given what it is now, and whether it rewinds; `None` if it is so already.
    pub fn of(&self, body: &str, is_rewind: bool) -> Option<String> {
        let RedactDraft { reason, values } = &self.draft;
        let Some(before) = redaction_of(body) else {
            return Some(reduced(body, *values, is_rewind, &mark(self.time, reason.as_deref())));
        };
        // What was removed does not come back.
        if *values == Values::Keep || reduced(body, *values, is_rewind, before.text()) == body {
            return None;
        }
        let known = before.get("reason").and_then(Json::as_str);
        let reason = reason.as_deref().or(known.as_deref());
        Some(reduced(body, *values, is_rewind, &mark(self.time, reason)))
    }

    /// The append that removes keys from the present state of a session: of the event's own, or of a fork, whose lease it overlooks.
    pub fn removal<'k>(
        &self,
        key: &SessionKey,
        lease: &LeaseHead,
        keys: impl Iterator<Item = (Scope, &'k str)>,
    ) -> Append {
        let id = derived_id(self.removal_id, key.session.as_str().as_bytes());
        let draft = EventDraft::of_change(Some(id.clone()), "user", "", WrittenEdit::remove_all(keys));
        let present = lease.all.as_ref().map(|_| LeaseMark { epoch: lease.epoch, incarnation: None });
        let lease = if *key == self.key { self.guard.lease } else { present };
        Append::composed(key, vec![draft.seal(id, self.now)], lease, self.now)
    }
}

/// The keys that an event sets, with their values.
pub fn set_keys(body: &str) -> Vec<(Scope, String, Json<'_>)> {
    let delta = Json::trusted(body).get("actions").and_then(|actions| actions.get("stateDelta"));
    let members = delta.and_then(Json::as_object).into_iter().flatten();
    let stored = members.filter_map(|member| {
        let (scope, key) = split(&member.key)?;
        Some((scope, key.to_owned(), member.value))
    });
    stored.collect()
}

/// Whether an event sets or removes a key, given as the merged state shows it.
pub fn touched(body: &str) -> HashSet<String> {
    let Some(actions) = Json::trusted(body).get("actions") else { return HashSet::new() };
    let set = actions.get("stateDelta").and_then(Json::as_object).into_iter().flatten();
    set.map(|member| member.key).chain(removed_keys(actions)).map(Cow::into_owned).collect()
}

/// Whether operators of an event make the value of a key, given as the merged state shows it, of one that was there before: whether it is
/// another one than they make of nothing.
pub fn builds_on(body: &str, key: &str) -> bool {
    let Some(actions) = Json::trusted(body).get("actions") else { return false };
    let Some(value) = actions.get("stateDelta").and_then(|delta| delta.get(key)) else { return false };
    let (mut of_nothing, mut reads) = (None, false);
    for op in actions.get("stateOps").and_then(Json::as_array).into_iter().flatten() {
        if op.get("key").and_then(Json::as_str).as_deref() != Some(key) {
            continue;
        }
        let name = op.get("op").and_then(Json::as_str).unwrap_or_default();
        let Ok(op) = Op::parse(&name, op.get("value")) else { continue };
        reads |= op.operand().is_some();
        let made: Option<RawJson> = match op.apply(of_nothing.as_ref().map(RawJson::json)) {
            Ok(made) => made.map(Cow::into_owned),
            // Not of this type, so of something else.
            Err(_) => return true,
        };
        of_nothing = made;
    }
    reads && of_nothing.is_none_or(|of_nothing| !of_nothing.json().same(value))
}

/// The member `redacted` of an event.
fn mark(time: Micros, reason: Option<&str>) -> String {
    let mut mark = ObjectText::default();
    mark.push("time", &time.to_number());
    mark.push_some_str("reason", reason);
    mark.close()
}

/// What stays of an event. Reduced once more in the same way, it is the same.
fn reduced(body: &str, values: Values, is_rewind: bool, mark: &str) -> String {
    let body = Json::trusted(body);
    let mut object = ObjectText::default();
    for name in ["id", "timestamp", "author", "invocationId", "branch"] {
        match body.get(name) {
            Some(value) => object.push(name, value.text()),
            None if name == "author" => object.push_str(name, ""),
            None => {}
        }
    }
    object.push_some("actions", body.get("actions").and_then(|actions| reduced_actions(actions, values, is_rewind)));
    let revision = body.get("customMetadata").and_then(|metadata| metadata.get("rewindToRevision"));
    if let Some(revision) = revision.filter(|to| is_rewind && to.text().bytes().all(|b| b.is_ascii_digit())) {
        let mut metadata = ObjectText::default();
        metadata.push("rewindToRevision", revision.text());
        object.push("customMetadata", &metadata.close());
    }
    object.push("redacted", mark);
    object.close()
}

/// `None` if nothing is left.
fn reduced_actions(actions: Json<'_>, values: Values, is_rewind: bool) -> Option<String> {
    let mut object = ObjectText::default();
    match values {
        Values::Keep => {
            for name in ["stateDelta", "stateOps"] {
                object.push_some(name, actions.get(name).map(|value| value.text()));
            }
        }
        Values::Remove => {
            let set = actions.get("stateDelta").and_then(Json::as_object).into_iter().flatten();
            let mut known = HashSet::new();
            let keys = removed_keys(actions).chain(set.map(|member| member.key));
            let ops: Vec<String> = keys.filter(|key| known.insert(key.clone())).map(|key| removal(&key)).collect();
            if !ops.is_empty() {
                // As of every event with operators.
                object.push("stateDelta", "{}");
                object.push_array("stateOps", &ops);
            }
        }
    }
    // Which versions it names is no content. What else may stand there is.
    let versions = actions.get("artifactDelta").map(named_versions).unwrap_or_default();
    object.push_some("artifactDelta", show_versions(&versions));
    let invocation = actions.get("rewindBeforeInvocationId").filter(|_| is_rewind);
    object.push_some("rewindBeforeInvocationId", invocation.map(Json::text));
    (object.bytes() > 0).then(|| object.close())
}
