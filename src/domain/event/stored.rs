//! An event as it is stored, and what it costs.

use std::borrow::Cow;
use std::sync::Arc;

use crate::domain::change::{Change, Edit};
use crate::domain::ids::{ArtifactName, EventId};
use crate::domain::json::{Json, Member, ObjectText, RawJson};
use crate::domain::scope::Scope;
use crate::domain::shape::{self, Of};
use crate::domain::time::{Micros, Timestamp};
use crate::domain::word::words;

/// An event as it is appended: complete, with its id, before it has a place in the log.
#[derive(Debug, Clone)]
pub struct NewEvent {
    pub id: EventId,
    pub timestamp: Timestamp,
    /// The client's own timestamp, if it gave one; a retry may leave it out but not change it.
    pub claimed_time: Option<Micros>,
    pub author: String,
    pub invocation_id: String,
    pub branch: Option<String>,
    /// What it does to the state.
    pub edit: Edit,
    /// The JSON pointer of the object with `stateOps` and `preconditions` in the request, for faults that appear only when
    /// they are applied.
    pub actions_at: Box<str>,
    /// The events that it takes back.
    pub rewind: Option<Rewind>,
    /// It is a compaction (ADK's `compaction`).
    pub compacts: bool,
    /// The versions of artifacts that it names, by their names.
    pub artifacts: Vec<(ArtifactName, i64)>,
    /// The stored text: a JSON object without `sequence`, `commitTime` and `temp:` keys. If there are operators, their
    /// results still have to replace its `stateDelta`: [`NewEvent::body_with`].
    pub body: Arc<str>,
    /// Equal for two events exactly when their contents are JSON-equal, `temp:` keys, id, timestamp and the
    /// server's own fields left out. What tells a retry from a conflict.
    pub digest: [u8; 32],
}

/// Which of the events before a rewind it takes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rewind {
    /// From the first one of this invocation on (ADK's `rewind_before_invocation_id`).
    Before(String),
    /// All after this sequence.
    To(i64),
}

impl NewEvent {
    /// The stored text with `delta`, the members of an object, in place of its `stateDelta`.
    pub fn body_with(&self, delta: &str) -> Arc<str> {
        let old = Json::trusted(&self.body).get("actions").and_then(|actions| actions.get("stateDelta"));
        let Some(old) = old else { return self.body.clone() };
        let start = old.text().as_ptr().addr() - self.body.as_ptr().addr();
        let end = start + old.text().len();
        [&self.body[..start], delta, &self.body[end..]].concat().into()
    }
}

/// An event with its place in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    pub sequence: i64,
    pub commit_time: Micros,
    pub body: Arc<str>,
    /// `body` is what a retry is answered of an event that is not there any more as it was.
    pub is_stub: bool,
}

words! {
    /// Why of an event a stub is left.
    pub enum Remains {
        Trimmed = "trimmed",
        Redacted = "redacted",
    }
}

impl StoredEvent {
    pub fn new(sequence: i64, commit_time: Micros, body: impl Into<Arc<str>>) -> Self {
        Self { sequence, commit_time, body: body.into(), is_stub: false }
    }

    /// What a retry is answered of a trimmed or redacted event.
    pub fn stub(sequence: i64, commit_time: Micros, id: &EventId, remains: Remains) -> Self {
        let mut stub = ObjectText::default();
        stub.push_str("id", id.as_str());
        stub.push("sequence", &sequence.to_string());
        stub.push(remains.as_str(), "true");
        Self { sequence, commit_time, body: stub.close().into(), is_stub: true }
    }

    /// An estimate of its bytes in an answer.
    pub fn weight(&self) -> usize {
        const PLACE: usize = 80;
        self.body.len() + PLACE
    }

    /// What [`Shown::Minimal`](crate::domain::shown::Shown) has of it, `{id, timestamp}` beside its place, after it was appended as
    /// `given`, now or before. A stub stays.
    pub fn place(self, given: &NewEvent, replayed: bool) -> Self {
        if self.is_stub {
            return self;
        }
        // A retry may write the timestamp in another way, or leave it out.
        let stored = replayed.then(|| Json::trusted(&self.body).get("timestamp")).flatten();
        let mut body = ObjectText::default();
        body.push_str("id", given.id.as_str());
        body.push("timestamp", stored.map_or(given.timestamp.number.text(), |number| number.text()));
        Self { body: body.close().into(), ..self }
    }

    /// Appends the event as readers see it: its body with `sequence` and `commitTime`.
    pub fn write_json(&self, out: &mut String) {
        out.reserve(self.weight());
        if self.is_stub {
            out.push_str(&self.body);
            return;
        }
        out.push_str(self.body.strip_suffix('}').unwrap_or(&self.body));
        out.push_str(",\"sequence\":");
        out.push_str(&self.sequence.to_string());
        out.push_str(",\"commitTime\":");
        out.push_str(&self.commit_time.to_number());
        out.push('}');
    }
}

/// The member of a stored event that says when and why it was redacted; `None` if it was not.
pub fn redaction_of(body: &str) -> Option<Json<'_>> {
    Json::trusted(body).get("redacted")
}

/// What an event with so many bytes of text costs the rates (contract, section 11): 1, and 1 more for each further 16 KiB, begun
/// or whole.
pub fn cost(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(COST_BYTES)).unwrap_or(u32::MAX).max(1)
}

/// What other text that is stored costs: 1 for each 16 KiB after the first.
pub fn cost_beside(bytes: usize) -> u32 {
    cost(bytes) - 1
}

const COST_BYTES: usize = 16 << 10;

/// A stored event, or one of an earlier version, with the names below its fields as they are stored.
pub fn with_known_names(event: Json<'_>) -> String {
    let renamed = |member: &Member<'_>, of: Of| {
        let text = shape::renamed(member.value, of, &member.key, String::new);
        text.unwrap_or(Cow::Borrowed(member.value.text())).into_owned()
    };
    let mut object = ObjectText::with_capacity(event.text().len());
    for member in event.as_object().into_iter().flatten() {
        let actions = member.value.as_object().filter(|_| member.key == "actions");
        match actions {
            Some(members) => {
                let mut actions = ObjectText::default();
                for action in members {
                    actions.push_raw(action.raw_key, &renamed(&action, Of::Actions));
                }
                object.push_raw(member.raw_key, &actions.close());
            }
            None => object.push_raw(member.raw_key, &renamed(&member, Of::Event)),
        }
    }
    object.close()
}

/// The `stateDelta` that shows these values, in order.
pub fn show_delta<'a>(values: impl Iterator<Item = (Scope, &'a str, &'a RawJson)>) -> String {
    let mut delta = ObjectText::default();
    for (scope, key, value) in values {
        delta.push(&format!("{}{key}", scope.prefix()), value.text());
    }
    delta.close()
}

/// The object that has for names of artifacts these versions; `None` if there are none.
pub fn show_versions(named: &[(ArtifactName, i64)]) -> Option<String> {
    let mut versions = ObjectText::default();
    named.iter().for_each(|(name, version)| versions.push(name.as_str(), &version.to_string()));
    (!named.is_empty()).then(|| versions.close())
}

/// The keys that the operators of an event remove, given its `actions`.
pub fn removed_keys(actions: Json<'_>) -> impl Iterator<Item = Cow<'_, str>> {
    let ops = actions.get("stateOps").and_then(Json::as_array).into_iter().flatten();
    let removals = ops.filter(|op| op.get("op").and_then(Json::as_str).as_deref() == Some("remove"));
    removals.filter_map(|op| op.get("key").and_then(Json::as_str))
}

/// The `stateDelta` that an event stores: kept to the byte as given, unless something in it must not be stored as it stands.
pub fn stored_delta<'a>(given: Option<Json<'a>>, sets: &[Change]) -> Cow<'a, str> {
    match given.filter(|delta| delta.as_object().is_some_and(|members| members.count() == sets.len())) {
        Some(delta) => Cow::Borrowed(delta.text()),
        None => Cow::Owned(show_delta(sets.iter().map(|set| (set.scope, &*set.key, &set.value)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_event_shows_its_place() {
        let mut out = String::new();
        StoredEvent::new(3, Micros(1), r#"{"id":"e"}"#).write_json(&mut out);
        assert_eq!(out, r#"{"id":"e","sequence":3,"commitTime":0.000001}"#);
    }
}
