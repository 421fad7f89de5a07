//! Taking events back: a rewind appends an event that restores the session's own state and marks others as taken back.
//! Nothing is removed from the log (ADK's `rewind_before_invocation_id`).

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::append::Append;
use super::change::WrittenEdit;
use super::envelope::Fields;
use super::event::{EventDraft, NewEvent, Rewind, STATE_FIELDS, StoredEvent};
use super::guard::Guard;
use super::ids::{ArtifactName, EventId, SessionKey, StateAddress};
use super::json::{Json, ObjectText, RawJson};
use super::loaded::{Loaded, StateEntry};
use super::query::SessionView;
use super::refusal::Refusal;
use super::scope::Scope;
use super::shown::Shown;
use super::time::Micros;
use super::{Limits, Rejected};

/// The target of a rewind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RewindTarget {
    /// Before the first event of this invocation.
    BeforeInvocation(String),
    /// Right after the event with this sequence; 0: before all.
    Revision(i64),
}

impl RewindTarget {
    /// Reads `{beforeInvocationId}` or `{toRevision}`.
    ///
    /// # Errors
    /// Neither or both fields, another type, or any other field.
    pub fn parse(json: Json<'_>) -> Result<Self, Rejected> {
        let mut fields = Fields::of(json, "")?;
        let invocation = fields.take_text("beforeInvocationId", 1.., "must not be empty");
        let revision = fields.take_integer("toRevision", 0.., "must be an integer of at least 0");
        let target = match (invocation, revision) {
            (Some(invocation), None) => Some(Self::BeforeInvocation(invocation)),
            (None, Some(revision)) => Some(Self::Revision(revision)),
            _ => None,
        };
        fields.finish()?;
        target.ok_or_else(|| Rejected::field("", "takes one of `beforeInvocationId` and `toRevision`"))
    }

    /// The error for a revision after which there is nothing to take back.
    pub fn beyond(revision: i64) -> Rejected {
        Rejected::field("toRevision", format!("must be less than the current revision, which is {revision}"))
    }

    /// Whether `body` is the event of a rewind to this target.
    pub fn is_of(&self, body: &str) -> bool {
        let body = Json::trusted(body);
        let revision = body.get("customMetadata").and_then(|metadata| metadata.get(REVISION));
        let actions = body.get("actions");
        let before = actions.and_then(|actions| actions.get("rewindBeforeInvocationId")).and_then(Json::as_str);
        match self {
            Self::BeforeInvocation(invocation) => revision.is_none() && before.as_deref() == Some(invocation.as_str()),
            Self::Revision(wanted) => revision.is_some_and(|revision| revision.text() == wanted.to_string()),
        }
    }
}

const REVISION: &str = "rewindToRevision";
/// The member of a copy that names the original event.
const COPY_OF: &str = "rewindCopyOf";

/// A session key's present and past value; `None` where it is missing.
#[derive(Debug, Clone)]
pub struct Difference {
    pub key: String,
    pub was: Option<RawJson>,
    pub now: Option<RawJson>,
}

/// A rewind, with the ids for its event and its invocation. A retry is recognised by the event's id.
#[derive(Debug)]
pub struct RewindRequest {
    pub key: SessionKey,
    pub target: RewindTarget,
    pub event_id: EventId,
    /// The ids of copies are derived from it.
    pub copy_id: Uuid,
    pub invocation_id: String,
    pub guard: Guard,
    pub shows: Shown,
    pub now: Micros,
}

/// The result of a rewind.
#[derive(Debug)]
pub struct Rewound {
    pub view: SessionView,
    /// The number of appended events; 0 for a retry.
    pub appended: usize,
    /// The cost of the appended events.
    pub cost: u32,
}

/// The past to which a rewind returns, as loaded by the store.
#[derive(Debug)]
pub struct Past {
    pub to: i64,
    /// The log begins here.
    pub base: i64,
    /// The invocation that the event names: that of the first event that is taken back, and of the first copy.
    pub invocation: String,
    /// The first event that readers take back: see [`taken_from`].
    pub from: i64,
    /// Those of the events taken back that have to stay.
    pub copied: Vec<StoredEvent>,
    /// The session keys that differ from then.
    pub differences: Vec<Difference>,
    /// The artifacts of which the session named another version then, or none.
    pub artifacts: Vec<Restored>,
}

/// An artifact that a rewind restores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub name: ArtifactName,
    /// The version that has what it is restored to; `None`: it was not there.
    pub from: Option<i64>,
    /// The version that the event names: a new one, unless the one of then is not here, and so cannot be copied.
    pub to: i64,
}

/// The decision about a rewind.
#[derive(Debug)]
pub enum Decision {
    /// A retry: the event was appended before.
    Replayed,
    /// The append of the event that rewinds, to be decided on the loaded data.
    Append(Append),
}

/// Decides a rewind of a locked session; `past` is `None` if there is nothing to return to. As for an append, idempotency comes
/// before the lease and the precondition.
pub fn decide(loaded: &mut Loaded, request: &RewindRequest, past: Option<Past>) -> Result<Decision, Refusal> {
    let head = loaded.sessions.get(&request.key).filter(|head| head.is_live(request.now));
    let (Some(head), Some(tag)) = (head, loaded.tag(&request.key)) else { return Err(Refusal::SessionNotFound) };
    if let Some(known) = loaded.known.get(&request.key).and_then(|known| known.get(&request.event_id)) {
        // Of a stub the target is not known any more.
        return match known.event.is_stub || request.target.is_of(&known.event.body) {
            true => Ok(Decision::Replayed),
            false => Err(Refusal::EventIdConflict),
        };
    }
    request.guard.judge(&head.lease, &tag, request.now)?;
    let past = past.ok_or_else(|| match request.target {
        RewindTarget::BeforeInvocation(_) => Refusal::InvocationNotFound,
        RewindTarget::Revision(_) => RewindTarget::beyond(tag.revision).into(),
    })?;
    if past.to < past.base {
        return Err(Refusal::Trimmed(past.base));
    }
    let draft = event(&request.invocation_id, &request.target, &past);
    let mut event = draft.seal(request.event_id.clone(), request.now);
    event.rewind = Some(Rewind::To(past.from - 1));
    if past.copied.iter().map(StoredEvent::weight).sum::<usize>() > MAX_COPIED_BYTES {
        let detail = format!(
            "what stays of the invocation, and is appended once more, has more than {MAX_COPIED_BYTES} bytes: \
             rewind to its beginning"
        );
        return Err(Rejected::too_large("batch", detail).into());
    }
    let copies: Result<Vec<NewEvent>, Rejected> = (past.copied.iter().enumerate())
        .map(|(n, event)| copy(event, derived_id(request.copy_id, &n.to_be_bytes()), request.now))
        .collect();
    let copies = copies?;
    loaded.values.extend(past.differences.into_iter().map(|difference| {
        let entry = StateEntry { value: difference.now, revision: tag.revision };
        (StateAddress::new(&request.key, Scope::Session, &difference.key), entry)
    }));
    let events = std::iter::once(event).chain(copies).collect();
    Ok(Decision::Append(Append::composed(&request.key, events, request.guard.lease, request.now)))
}

/// The most bytes of events that a rewind copies.
pub const MAX_COPIED_BYTES: usize = 64 << 20;

/// The first event that readers take back for a rewind into the middle of an invocation with the first event `first`: ADK takes
/// back whole invocations only. If the range contained an earlier rewind, that rewind would be taken back, too, and the events
/// that it hides would reappear. So the range begins no later than the events hidden by such a rewind. `hidden` are the ranges
/// that were hidden at the target.
pub fn taken_from(first: i64, hidden: &[(i64, i64)]) -> i64 {
    hidden.iter().fold(first, |from, &(after, last)| if last >= from { from.min(after + 1) } else { from })
}

/// The text that copies of an event have; `None` without an id, as a trimmed event is.
pub fn copy_mark(body: &str) -> Option<String> {
    let id = if body.is_empty() { None } else { Json::trusted(body).get("id") };
    id.map(|id| format!("\"{COPY_OF}\":{}", id.text()))
}

/// Whether the event is a copy with that mark: its text may be there by chance.
pub fn is_copy_marked(body: &str, mark: &str) -> bool {
    let of = Json::trusted(body).get("customMetadata").and_then(|metadata| metadata.get(COPY_OF));
    of.is_some_and(|of| mark.ends_with(of.text()) && mark.len() == COPY_OF.len() + 3 + of.text().len())
}

/// A copy of an event: its content, without its changes of state and the artifacts that it names.
fn copy(event: &StoredEvent, id: EventId, now: Micros) -> Result<NewEvent, Rejected> {
    let source = Json::trusted(&event.body);
    let of = source.get("id").map_or("null", Json::text);
    let mut body = ObjectText::with_capacity(event.body.len() + 128);
    let mut metadata = ObjectText::default();
    for member in source.as_object().into_iter().flatten() {
        match &*member.key {
            "id" => body.push_str("id", id.as_str()),
            "actions" => {
                let mut actions = ObjectText::default();
                for action in member.value.as_object().into_iter().flatten() {
                    if !STATE_FIELDS.contains(&&*action.key) && action.key != "artifactDelta" {
                        actions.push_raw(action.raw_key, action.value.text());
                    }
                }
                body.push_raw(member.raw_key, &actions.close());
            }
            "customMetadata" => {
                for member in member.value.as_object().into_iter().flatten().filter(|member| member.key != COPY_OF) {
                    metadata.push_raw(member.raw_key, member.value.text());
                }
            }
            _ => body.push_raw(member.raw_key, member.value.text()),
        }
    }
    metadata.push(COPY_OF, of);
    body.push("customMetadata", &metadata.close());
    let draft = EventDraft::parse(Json::trusted(&body.close()), "", None, &Limits::unbounded_input())?;
    Ok(draft.seal(id, now))
}

/// An id that is derived from another one, for what `of` stands for: a UUIDv7 of the same millisecond as `id`. No client can predict it.
pub(super) fn derived_id(id: Uuid, of: &[u8]) -> EventId {
    let hash: [u8; 32] = Sha256::new().chain_update(id.as_bytes()).chain_update(of).finalize().into();
    let mut bytes = *id.as_bytes();
    bytes[7..].copy_from_slice(&hash[..9]);
    // Keeps the variant bits.
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Uuid::from_bytes(bytes).into()
}

/// The event that rewinds: it sets and removes the keys that differ.
fn event(invocation_id: &str, target: &RewindTarget, past: &Past) -> EventDraft {
    let (mut sets, mut removed) = (Vec::new(), Vec::new());
    for difference in &past.differences {
        match (&difference.was, &difference.now) {
            (Some(was), now) if now.as_ref() != Some(was) => sets.push((&*difference.key, was.clone())),
            (Some(_), _) => {}
            (None, _) => removed.push(&*difference.key),
        }
    }
    let metadata = match target {
        RewindTarget::Revision(revision) => {
            let mut metadata = ObjectText::default();
            metadata.push(REVISION, &revision.to_string());
            Some(metadata.close())
        }
        RewindTarget::BeforeInvocation(_) => None,
    };
    let change = WrittenEdit::restore(sets, removed);
    let artifacts = past.artifacts.iter().map(|restored| (restored.name.clone(), restored.to)).collect();
    EventDraft::of_rewind(invocation_id, change, &past.invocation, artifacts, metadata.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<RewindTarget, Rejected> {
        RewindTarget::parse(Json::trusted(text))
    }

    #[test]
    fn a_target_is_an_invocation_or_a_revision() {
        assert_eq!(parse(r#"{"before_invocation_id":"i"}"#), Ok(RewindTarget::BeforeInvocation("i".into())));
        assert_eq!(parse(r#"{"toRevision":0,"beforeInvocationId":null}"#), Ok(RewindTarget::Revision(0)));
        for (bad, field) in [
            ("{}", ""),
            (r#"{"toRevision":1,"beforeInvocationId":"i"}"#, ""),
            (r#"{"toRevision":-1}"#, "toRevision"),
            (r#"{"toRevision":1.5}"#, "toRevision"),
            (r#"{"beforeInvocationId":""}"#, "beforeInvocationId"),
            (r#"{"beforeInvocationId":"i","bogus":1}"#, "bogus"),
        ] {
            let Err(Rejected::Invalid(errors)) = parse(bad) else { panic!("{bad}") };
            assert_eq!(errors[0].field, field, "{bad}");
        }
    }

    #[test]
    fn the_event_restores_what_differs_and_nothing_else() {
        let value = |text: &str| Some(RawJson::trusted(text));
        let differences = [
            Difference { key: "back".into(), was: value("1.0"), now: value("2") },
            Difference { key: "same".into(), was: value("1"), now: value("1") },
            Difference { key: "again".into(), was: value("[ ]"), now: None },
            Difference { key: "new".into(), was: None, now: value("null") },
        ];
        let target = RewindTarget::Revision(3);
        let past = |differences: &[Difference]| Past {
            to: 3,
            base: 0,
            invocation: "i1".into(),
            from: 4,
            copied: Vec::new(),
            differences: differences.to_vec(),
            artifacts: Vec::new(),
        };
        let text = |target: &RewindTarget, differences: &[Difference]| {
            let draft = event("i2", target, &past(differences));
            draft.seal(EventId::parse("e").unwrap(), Micros(1_000_000)).body.to_string()
        };
        let body = text(&target, &differences);
        assert_eq!(
            body,
            r#"{"author":"user","invocationId":"i2","actions":{"stateDelta":{"back":1.0,"again":[ ]},"stateOps":[{"op":"remove","key":"new"}],"rewindBeforeInvocationId":"i1"},"customMetadata":{"rewindToRevision":3},"id":"e","timestamp":1.000000}"#
        );
        assert!(target.is_of(&body) && !RewindTarget::Revision(4).is_of(&body));
        assert!(!RewindTarget::BeforeInvocation("i1".into()).is_of(&body));
        let target = RewindTarget::BeforeInvocation("i1".into());
        assert!(target.is_of(&text(&target, &[])));
        // It is what parsing it gives.
        let composed = event("i2", &RewindTarget::Revision(3), &past(&differences));
        let parsed = EventDraft::parse(Json::trusted(&body), "", None, &Limits::default()).unwrap();
        let seal = |draft: EventDraft| draft.seal(EventId::parse("e").unwrap(), Micros(1_000_000));
        let (composed, parsed) = (seal(composed), seal(parsed));
        assert_eq!((composed.digest, composed.edit), (parsed.digest, parsed.edit));
    }

    #[test]
    fn what_is_taken_back_begins_before_what_was_hidden_within_it() {
        assert_eq!(taken_from(3, &[]), 3);
        // A rewind before the invocation, and one within it that hides more than it has.
        assert_eq!(taken_from(5, &[(1, 4)]), 5);
        assert_eq!(taken_from(3, &[(0, 4)]), 1);
        assert_eq!(taken_from(3, &[(7, 8), (2, 4), (0, 1)]), 3);
        assert_eq!(taken_from(3, &[(5, 6), (1, 4), (0, 2)]), 1);
    }

    #[test]
    fn a_copy_says_the_same_and_changes_no_state() {
        let copied = |body: &str| {
            let event = copy(&StoredEvent::new(3, Micros(1), body), EventId::parse("new").unwrap(), Micros(2)).unwrap();
            assert!(event.edit.sets.is_empty() && event.edit.ops.is_empty());
            event.body.to_string()
        };
        for (body, copy) in [
            (
                r#"{"id":"e","timestamp":1E2,"author":"a","content":{"parts":[ 1.0 ]},"actions":{"stateDelta":{"k":1},"stateOps":[{"op":"remove","key":"x"}],"escalate":true}}"#,
                r#"{"id":"new","timestamp":1E2,"author":"a","content":{"parts":[ 1.0 ]},"actions":{"escalate":true},"customMetadata":{"rewindCopyOf":"e"}}"#,
            ),
            (
                r#"{"customMetadata":{"a":[ ],"rewindCopyOf":"x"},"id":"e","timestamp":1}"#,
                r#"{"id":"new","timestamp":1,"customMetadata":{"a":[ ],"rewindCopyOf":"e"}}"#,
            ),
        ] {
            assert_eq!(copied(body), copy);
            let mark = copy_mark(body).unwrap();
            assert!(copy.contains(&mark) && is_copy_marked(copy, &mark));
            assert!(!is_copy_marked(body, &mark) && !is_copy_marked(copy, &copy_mark(copy).unwrap()));
        }
        assert_eq!(copy_mark(""), None);
        let seed = Uuid::from_u128(0x01a1_fe93_945e_721c_b540_140a_cfef_9a45);
        let ids: Vec<EventId> = (0..3_usize).map(|n| derived_id(seed, &n.to_be_bytes())).collect();
        assert!(ids[0] != ids[1] && ids[1] != ids[2]);
        assert!(ids.iter().all(|id| Uuid::parse_str(id.as_str()).unwrap().get_version_num() == 7));
    }
}
