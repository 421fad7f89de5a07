//! Taking events back: a rewind appends an event that restores the session's own state and marks others as taken back.
//! Nothing is removed from the log (ADK's `rewind_before_invocation_id`).

use super::envelope::Fields;
use super::json::{Json, Kind, ObjectText, RawJson};
use super::{FieldError, Rejected};

/// To where a session is to be rewound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RewindTarget {
    /// To before the first event of this invocation.
    BeforeInvocation(String),
    /// To right after the event with this sequence; 0 for before all.
    Revision(i64),
}

impl RewindTarget {
    /// Reads `{beforeInvocationId}` or `{toRevision}`.
    ///
    /// # Errors
    /// Neither, both, or one of another type; fields that are none of the two.
    pub fn parse(json: Json<'_>) -> Result<Self, Rejected> {
        let mut fields = Fields::of(json, "")?;
        let invocation = fields.take_str("beforeInvocationId");
        if invocation.as_deref() == Some("") {
            fields.refuse("beforeInvocationId", "must not be empty");
        }
        let revision = fields.take("toRevision").map(|value| match value.text().parse() {
            Ok(revision) if value.kind() == Kind::Number && revision >= 0 => revision,
            _ => {
                fields.refuse("toRevision", "must be an integer of at least 0");
                0
            }
        });
        let target = match (invocation, revision) {
            (Some(invocation), None) => Some(Self::BeforeInvocation(invocation.into_owned())),
            (None, Some(revision)) => Some(Self::Revision(revision)),
            _ => None,
        };
        fields.finish()?;
        target.ok_or_else(|| Rejected::field("", "takes one of `beforeInvocationId` and `toRevision`"))
    }

    /// The refusal of a revision after which there is nothing to take back.
    pub fn beyond(revision: i64) -> Rejected {
        Rejected::Invalid(vec![FieldError::new(
            "toRevision",
            format!("must be less than the current revision, which is {revision}"),
        )])
    }

    /// Whether `body` is the event of a rewind to here, made by [`event`].
    pub fn is_of(&self, body: &str) -> bool {
        let body = Json::trusted(body);
        let revision = body.get("customMetadata").and_then(|metadata| metadata.get(REVISION));
        let before = body.get("actions").and_then(|actions| actions.get(BEFORE)).and_then(Json::as_str);
        match self {
            Self::BeforeInvocation(invocation) => revision.is_none() && before.as_deref() == Some(invocation.as_str()),
            Self::Revision(wanted) => revision.is_some_and(|revision| revision.text() == wanted.to_string()),
        }
    }
}

const BEFORE: &str = "rewindBeforeInvocationId";
const REVISION: &str = "rewindToRevision";

/// What a session key is now, and what it was: `None` where it is not there.
#[derive(Debug, Clone)]
pub struct Difference {
    pub key: String,
    pub was: Option<RawJson>,
    pub now: Option<RawJson>,
}

/// The text of the event that rewinds, given the keys that differ from then. `before` is the invocation of the first
/// event that is taken back.
pub fn event(invocation_id: &str, target: &RewindTarget, before: &str, differences: &[Difference]) -> String {
    let (mut delta, mut ops) = (ObjectText::default(), Vec::new());
    for difference in differences {
        match (&difference.was, &difference.now) {
            (Some(was), now) if now.as_ref() != Some(was) => delta.push(&difference.key, was.text()),
            (Some(_), _) => {}
            (None, _) => {
                let mut op = ObjectText::default();
                op.push_str("op", "remove");
                op.push_str("key", &difference.key);
                ops.push(op.close());
            }
        }
    }
    let mut actions = ObjectText::default();
    actions.push("stateDelta", &delta.close());
    if !ops.is_empty() {
        actions.push("stateOps", &format!("[{}]", ops.join(",")));
    }
    actions.push_str(BEFORE, before);
    let mut event = ObjectText::default();
    event.push_str("author", "user");
    event.push_str("invocationId", invocation_id);
    event.push("actions", &actions.close());
    if let RewindTarget::Revision(revision) = target {
        let mut metadata = ObjectText::default();
        metadata.push(REVISION, &revision.to_string());
        event.push("customMetadata", &metadata.close());
    }
    event.close()
}

/// Which events a reader leaves out: ranges of sequences, the first exclusive, the last inclusive, from the last to the
/// first. `rewinds` are the sequences of the events that rewind, ascending, each with the last one before those that it
/// takes back. As in ADK, one that was taken back itself takes nothing back.
pub fn hidden(rewinds: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut hidden: Vec<(i64, i64)> = Vec::new();
    for &(sequence, to) in rewinds.iter().rev() {
        if hidden.last().is_none_or(|(first, _)| sequence <= *first) {
            hidden.push((to, sequence));
        }
    }
    hidden
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
            (r#"{"toRevision":1.0}"#, "toRevision"),
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
        let text = event("i2", &target, "i1", &differences);
        assert_eq!(
            text,
            r#"{"author":"user","invocationId":"i2","actions":{"stateDelta":{"back":1.0,"again":[ ]},"stateOps":[{"op":"remove","key":"new"}],"rewindBeforeInvocationId":"i1"},"customMetadata":{"rewindToRevision":3}}"#
        );
        assert!(target.is_of(&text) && !RewindTarget::Revision(4).is_of(&text));
        assert!(!RewindTarget::BeforeInvocation("i1".into()).is_of(&text));
        let target = RewindTarget::BeforeInvocation("i1".into());
        assert!(target.is_of(&event("i2", &target, "i1", &[])));
    }

    #[test]
    fn what_was_taken_back_takes_nothing_back() {
        assert_eq!(hidden(&[]), []);
        assert_eq!(hidden(&[(5, 2)]), [(2, 5)]);
        // The second takes the first back, and so events 3 and 4 are there again.
        assert_eq!(hidden(&[(5, 2), (7, 4)]), [(4, 7)]);
        assert_eq!(hidden(&[(5, 2), (9, 6)]), [(6, 9), (2, 5)]);
        assert_eq!(hidden(&[(5, 2), (9, 5)]), [(5, 9), (2, 5)]);
        // An unknown invocation: only the event itself.
        assert_eq!(hidden(&[(4, 3)]), [(3, 4)]);
    }
}
