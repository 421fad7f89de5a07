//! An event as a client gave it, checked, or as a change of state makes it.

use std::borrow::Cow;

use super::digest::Content;
use super::names::{EVENT_FIELDS, READ_FIELDS, SERVER_FIELDS};
use super::reader::{Reader, final_text, is_absent, without_nulls};
use super::stored::{NewEvent, Rewind, cost, show_versions, stored_delta};
use crate::domain::change::{Edit, WrittenEdit};
use crate::domain::envelope::{check_depth, pointer_to};
use crate::domain::fault::Rejected;
use crate::domain::ids::{ArtifactName, EventId};
use crate::domain::json::{Json, ObjectText, RawJson};
use crate::domain::limits::Limits;
use crate::domain::shape::Of;
use crate::domain::time::{Micros, Timestamp};

/// An event as a client gave it, checked, or as a change of state makes it.
#[derive(Debug, Clone, Default)]
pub struct EventDraft {
    pub id: Option<EventId>,
    pub timestamp: Option<Timestamp>,
    /// The event as given, if it is partial: echoed, never stored.
    pub partial: Option<RawJson>,
    author: String,
    invocation_id: String,
    branch: Option<String>,
    edit: Edit,
    actions_at: Box<str>,
    rewind: Option<Rewind>,
    compacts: bool,
    artifacts: Vec<(ArtifactName, i64)>,
    /// The stored text, to which an id and a timestamp may be added.
    body: ObjectText,
    digest: [u8; 32],
}

impl EventDraft {
    /// What it costs, if it is stored as it is.
    pub fn cost(&self) -> u32 {
        if self.partial.is_some() { 0 } else { cost(self.body.bytes()) }
    }

    /// Reads an event. `output_key` is the `outputKey` of the request: if the event is a final response, its text
    /// becomes the state of that key.
    ///
    /// # Errors
    /// `pointer` is where the event stands in the body; faults are named below it.
    pub fn parse(json: Json<'_>, pointer: &str, output_key: Option<&str>, limits: &Limits) -> Result<Self, Rejected> {
        if json.text().len() > limits.event_bytes {
            return Err(Rejected::too_large("event", format!("an event is larger than {} bytes", limits.event_bytes)));
        }
        let mut reader = Reader { pointer, errors: Vec::new() };
        let mut members = reader.members(json, pointer, EVENT_FIELDS)?;
        reader.refuse_misplaced(&members);
        let given = members.len();
        members.retain(|member| !is_absent(&member.name, member.value, READ_FIELDS));
        let has_nulls = members.len() < given;
        let find = |name: &str| members.iter().find(|m| m.name == name).map(|m| m.value);

        let id = reader
            .string("id", find("id"))
            .and_then(|id| EventId::parse(&id).map_err(|message| reader.refuse("id", message)).ok());
        let timestamp = find("timestamp")
            .and_then(|value| Timestamp::parse(value).map_err(|message| reader.refuse("timestamp", message)).ok());
        let author = reader.string("author", find("author"));
        if let Some(author) = &author {
            limits.writer.check_author(author)?;
        }
        let invocation_id = reader.string("invocationId", find("invocationId"));
        let branch = reader.string("branch", find("branch"));
        let partial = find("partial").is_some_and(|value| {
            value.as_bool().unwrap_or_else(|| {
                reader.refuse("partial", "must be a boolean");
                false
            })
        });
        let output = output_key.and_then(|key| final_text(&members).map(|text| (key, text)));
        let actions = reader.actions(find("actions"), output, limits)?;
        limits.writer.check_keys(actions.edit.named())?;
        limits.check_keys(actions.edit.keys())?;

        let mut body = ObjectText::with_capacity(json.text().len() + json.text().len() / 8);
        let mut content = Content::with_capacity(json.text().len());
        for member in &members {
            // The members of `actions` are values of their own, checked where they are read.
            if member.name != "actions" {
                check_depth(member.value, || pointer_to(pointer, &member.name)).or_else(|e| reader.keep(e))?;
            }
            match (&*member.name, &timestamp) {
                (name, _) if name == "actions" || SERVER_FIELDS.contains(&name) => {}
                ("id", _) => body.push_raw(&member.raw_key, member.value.text()),
                ("timestamp", Some(timestamp)) => body.push_raw(&member.raw_key, timestamp.number.text()),
                _ => {
                    let text = reader.renamed(member, Of::Event, pointer);
                    limits.writer.check_member(&member.name, Json::trusted(&text))?;
                    body.push_raw(&member.raw_key, &text);
                    content.add(&*member.name, Json::trusted(&text));
                }
            }
            // In its own place, so that an event keeps the order that it was given in.
            if member.name == "actions" {
                let text = actions.text.as_deref().unwrap_or("null");
                body.push("actions", text);
                content.add_actions(Json::trusted(text));
            }
        }
        let mut author = author;
        if let (None, Some(default)) = (&author, limits.writer.default_author()) {
            body.push_str("author", default);
            content.add("author", Json::trusted("\"user\""));
            author = Some(default.into());
        }
        if let (Some(text), None) = (&actions.text, members.iter().find(|m| m.name == "actions")) {
            body.push("actions", text);
            content.add_actions(Json::trusted(text));
        }
        if !reader.errors.is_empty() {
            return Err(Rejected::Invalid(reader.errors));
        }
        Ok(Self {
            id,
            timestamp,
            partial: partial.then(|| if has_nulls { without_nulls(json) } else { json.to_raw() }),
            author: author.unwrap_or_default().into_owned(),
            invocation_id: invocation_id.unwrap_or_default().into_owned(),
            branch: branch.map(Cow::into_owned),
            edit: actions.edit,
            actions_at: pointer_to(pointer, "actions").into(),
            rewind: actions.rewind,
            compacts: actions.compacts,
            artifacts: actions.artifacts,
            body,
            digest: content.digest(),
        })
    }

    /// Composes the event of a state change that a client requested without an event. It equals, byte for byte, the event
    /// that parsing these members would give.
    pub fn of_change(id: Option<EventId>, author: &str, invocation_id: &str, change: WrittenEdit<'_>) -> Self {
        Self::compose(id, author, invocation_id, change, None, Vec::new(), None)
    }

    /// The event of a save of an artifact: with the action that names its version.
    pub fn of_artifact(author: &str, invocation_id: &str, named: (ArtifactName, i64)) -> Self {
        Self::compose(None, author, invocation_id, WrittenEdit::default(), None, vec![named], None)
    }

    /// The event of a rewind: with the action that names the invocation before which it rewinds, and with metadata.
    pub fn of_rewind(
        invocation_id: &str,
        change: WrittenEdit<'_>,
        before: &str,
        artifacts: Vec<(ArtifactName, i64)>,
        metadata: Option<&str>,
    ) -> Self {
        Self::compose(None, "user", invocation_id, change, Some(before), artifacts, metadata)
    }

    fn compose(
        id: Option<EventId>,
        author: &str,
        invocation_id: &str,
        change: WrittenEdit<'_>,
        before: Option<&str>,
        artifacts: Vec<(ArtifactName, i64)>,
        metadata: Option<&str>,
    ) -> Self {
        let WrittenEdit { edit, delta, ops, preconditions } = change;
        let mut actions = ObjectText::default();
        actions.push("stateDelta", &stored_delta(delta, &edit.sets));
        for (name, list) in [("stateOps", &ops), ("preconditions", &preconditions)] {
            actions.push_some(name, list.as_ref());
        }
        actions.push_some_str("rewindBeforeInvocationId", before);
        actions.push_some("artifactDelta", show_versions(&artifacts));
        let actions = actions.close();
        let mut body = ObjectText::with_capacity(actions.len() + 256);
        body.push_some_str("id", id.as_ref().map(EventId::as_str));
        let (quoted_author, quoted_invocation) = (RawJson::string(author), RawJson::string(invocation_id));
        let mut members =
            vec![("author", quoted_author.text()), ("invocationId", quoted_invocation.text()), ("actions", &actions)];
        members.extend(metadata.map(|metadata| ("customMetadata", metadata)));
        let mut content = Content::with_capacity(actions.len() + 256);
        for (name, text) in members {
            body.push(name, text);
            match name {
                "actions" => content.add_actions(Json::trusted(text)),
                name => content.add(name, Json::trusted(text)),
            }
        }
        Self {
            id,
            author: author.to_owned(),
            invocation_id: invocation_id.to_owned(),
            edit,
            artifacts,
            body,
            digest: content.digest(),
            // A client writes these parts at the top of its body, so `actions_at` is empty, too.
            ..Self::default()
        }
    }

    /// How many state keys it names.
    pub fn keys(&self) -> usize {
        self.edit.keys()
    }

    /// Completes the event: `id` is its own, if it has one; `now` stands in for a missing timestamp.
    pub fn seal(self, id: EventId, now: Micros) -> NewEvent {
        let mut body = self.body;
        let claimed_time = self.timestamp.as_ref().map(|t| t.micros);
        if self.id.is_none() {
            body.push_str("id", id.as_str());
        }
        let timestamp = self.timestamp.unwrap_or_else(|| {
            let timestamp = Timestamp::from(now);
            body.push("timestamp", timestamp.number.text());
            timestamp
        });
        NewEvent {
            id,
            timestamp,
            claimed_time,
            author: self.author,
            invocation_id: self.invocation_id,
            branch: self.branch,
            edit: self.edit,
            actions_at: self.actions_at,
            rewind: self.rewind,
            compacts: self.compacts,
            artifacts: self.artifacts,
            body: body.close().into(),
            digest: self.digest,
        }
    }

    /// Gives an event without an id this one.
    pub fn or_id(mut self, id: EventId) -> Self {
        if self.id.is_none() {
            self.body.push_str("id", id.as_str());
            self.id = Some(id);
        }
        self
    }
}

/// The digest of a stored event; `None` if the text is not an event. A client that reads an event and sends it again sends
/// this content, in which the results of operators have replaced the `stateDelta`.
pub fn stored_digest(body: &str) -> Option<[u8; 32]> {
    EventDraft::parse(Json::trusted(body), "", None, &Limits::unbounded_input()).ok().map(|draft| draft.digest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::change::Keys;
    use crate::domain::envelope::Fields;
    use crate::domain::scope::Scope;

    fn parse(text: &str) -> Result<EventDraft, Rejected> {
        EventDraft::parse(Json::trusted(text), "", None, &Limits::default())
    }

    fn seal(text: &str) -> NewEvent {
        let draft = parse(text).unwrap();
        let id = draft.id.clone().unwrap_or(EventId::parse("fresh").unwrap());
        draft.seal(id, Micros(1_500_000))
    }

    fn output(text: &str) -> Option<String> {
        let draft = EventDraft::parse(Json::trusted(text), "", Some("out"), &Limits::default()).unwrap();
        draft.edit.sets.first().map(|set| set.value.text().to_owned())
    }

    #[test]
    fn a_key_to_remove_follows_the_rule_for_keys() {
        let remove = |key: &str| parse(&format!(r#"{{"actions":{{"stateOps":[{{"op":"remove","key":"{key}"}}]}}}}"#));
        assert!(remove(&format!("app:{}", "k".repeat(512))).is_ok());
        for bad in [&*"k".repeat(513), "a\\u0000", "temp:k"] {
            assert!(matches!(remove(bad), Err(Rejected::Invalid(e)) if e[0].field == "/actions/stateOps/0"), "{bad}");
        }
    }

    #[test]
    fn the_stored_text_is_what_was_given() {
        for (given, stored) in [
            (r#"{}"#, r#"{"id":"fresh","timestamp":1.500000}"#),
            (
                r#"{ "timestamp" : 1E2, "x_y":{"a_b": [ 1.0 ]}, "id":"e\u0031" }"#,
                r#"{"timestamp":1E2,"x_y":{"a_b": [ 1.0 ]},"id":"e\u0031"}"#,
            ),
            (
                r#"{"invocation_id":"i","error_code":null,"id":"e","timestamp":"1970-01-01T00:00:02Z"}"#,
                r#"{"invocationId":"i","errorCode":null,"id":"e","timestamp":2.000000}"#,
            ),
            (
                r#"{"id":"e","timestamp":1,"sequence":9,"redacted":{"time":1},"commit_time":3,"actions":{"state_delta":{"a": 1},"end_of_agent":true,"my_own":{"b_c":1}}}"#,
                r#"{"id":"e","timestamp":1,"actions":{"stateDelta":{"a": 1},"endOfAgent":true,"my_own":{"b_c":1}}}"#,
            ),
            (
                r#"{"actions":{"stateDelta":{"temp:a":1, "b": [ 2 ],"user:c":null}},"id":"e","timestamp":1}"#,
                r#"{"actions":{"stateDelta":{"b":[ 2 ],"user:c":null}},"id":"e","timestamp":1}"#,
            ),
            (
                r#"{"actions":{"stateDelta":{"temp:a":1}},"id":"e","timestamp":1}"#,
                r#"{"actions":{"stateDelta":{}},"id":"e","timestamp":1}"#,
            ),
            (
                r#"{"actions":{"stateDelta":{"a":1,"b":2},"stateOps":[{"op":"remove","key":"a"}]},"id":"e","timestamp":1}"#,
                r#"{"actions":{"stateDelta":{"a":1,"b":2},"stateOps":[{"op":"remove","key":"a"}]},"id":"e","timestamp":1}"#,
            ),
            (
                r#"{"actions":{"stateOps":[{"op":"increment","key":"a","value":1}]},"id":"e","timestamp":1}"#,
                r#"{"actions":{"stateOps":[{"op":"increment","key":"a","value":1}],"stateDelta":{}},"id":"e","timestamp":1}"#,
            ),
            (
                r#"{"actions":null,"branch":null,"author":null,"invocation_id":null,"partial":null,"id":"e","timestamp":1,"x":null}"#,
                r#"{"id":"e","timestamp":1,"x":null}"#,
            ),
            (r#"{"id":null,"timestamp":null}"#, r#"{"id":"fresh","timestamp":1.500000}"#),
            (
                r#"{"actions":{"state_delta":null,"stateOps":null,"preconditions":null,"escalate":null},"id":"e","timestamp":1}"#,
                r#"{"actions":{"escalate":null},"id":"e","timestamp":1}"#,
            ),
        ] {
            assert_eq!(&*seal(given).body, stored, "{given}");
        }
    }

    #[test]
    fn what_breaks_a_rule_is_named() {
        for (given, field) in [
            (r#"[]"#, ""),
            (r#"{"id":7}"#, "/id"),
            (r#"{"id":""}"#, "/id"),
            (r#"{"timestamp":true}"#, "/timestamp"),
            (r#"{"timestamp":1763719000123}"#, "/timestamp"),
            (r#"{"author":1}"#, "/author"),
            (r#"{"partial":"yes"}"#, "/partial"),
            (r#"{"invocationId":"a","invocation_id":"a"}"#, "/invocationId"),
            (r#"{"actions":7}"#, "/actions"),
            (r#"{"actions":{"stateDelta":[]}}"#, "/actions/stateDelta"),
            (r#"{"actions":{"stateDelta":{},"state_delta":{}}}"#, "/actions/stateDelta"),
            (r#"{"actions":{"stateOps":[{"op":"increment","key":"a"}]}}"#, "/actions/stateOps/0"),
            (r#"{"actions":{"preconditions":[{"key":"a"}]}}"#, "/actions/preconditions/0"),
            (r#"{"actions":{"preconditions":{}}}"#, "/actions/preconditions"),
        ] {
            let Err(Rejected::Invalid(errors)) = parse(given) else { panic!("{given}") };
            assert_eq!(errors[0].field, field, "{given}");
        }
        for (given, field, place) in [
            (r#"{"stateDelta":{}}"#, "/stateDelta", "/actions/stateDelta"),
            (r#"{"state_delta":{}}"#, "/state_delta", "/actions/stateDelta"),
            (r#"{"StateOp":[]}"#, "/StateOp", "/actions/stateOps"),
            (r#"{"precondition":[]}"#, "/precondition", "/actions/preconditions"),
            (r#"{"action":{"stateDelta":{}}}"#, "/action", "/actions"),
            (r#"{"Actions":{}}"#, "/Actions", "/actions"),
            (r#"{"actions":{"stateDeltas":{}}}"#, "/actions/stateDeltas", "/actions/stateDelta"),
            (r#"{"actions":{"statedelta":{}}}"#, "/actions/statedelta", "/actions/stateDelta"),
            (r#"{"actions":{"State_Delta":{}}}"#, "/actions/State_Delta", "/actions/stateDelta"),
            (r#"{"actions":{"precondition":[]}}"#, "/actions/precondition", "/actions/preconditions"),
            (r#"{"actions":{"transfertoagent":"a"}}"#, "/actions/transfertoagent", "/actions/transferToAgent"),
            (r#"{"partial":true,"stateOps":[]}"#, "/stateOps", "/actions/stateOps"),
        ] {
            let Err(Rejected::Invalid(errors)) = parse(given) else { panic!("{given}") };
            assert_eq!((errors.len(), &*errors[0].field), (1, field), "{given}");
            assert!(errors[0].message.ends_with(&format!("`{place}`")), "{given}: {}", errors[0].message);
        }
        for good in
            [r#"{"states":1,"deltas":2,"route":3,"actionable":4}"#, r#"{"actions":{"states":1,"myStateDelta":{}}}"#]
        {
            assert!(parse(good).is_ok(), "{good}");
        }
        let deep = format!(r#"{{"content":{}{}}}"#, "[".repeat(65), "]".repeat(65));
        assert!(parse(&deep).is_err());
        let deepest = format!("{}{}", "[".repeat(64), "]".repeat(64));
        assert!(parse(&format!(r#"{{"content":{deepest}}}"#)).is_ok());
        assert!(parse(&format!(r#"{{"actions":{{"stateDelta":{{"k":{deepest}}},"own":{deepest}}}}}"#)).is_ok());
        assert!(parse(&format!(r#"{{"actions":{{"own":[{deepest}]}}}}"#)).is_err());
    }

    #[test]
    fn the_digest_sees_content_and_nothing_else() {
        let digest = |text| parse(text).unwrap().digest;
        let base = digest(r#"{"author":"a","x":{"p":1,"q":2},"actions":{"stateDelta":{"k":1}}}"#);
        for same in [
            r#"{"x":{"q":2.0,"p":1},"author":"a","actions":{"stateDelta":{"k":1}}}"#,
            r#"{"author":"a","x":{"p":1,"q":2},"actions":{"state_delta":{"k":1,"temp:t":5}},"id":"e","timestamp":9}"#,
            r#"{"author":"a","x":{"p":1,"q":2},"actions":{"stateDelta":{"k":1}},"sequence":3,"commitTime":1,"redacted":{}}"#,
            r#"{"author":"a","x":{"p":1,"q":2},"actions":{"stateDelta":{"k":1},"stateOps":null},"branch":null,"id":null,"invocationId":null,"partial":null,"timestamp":null}"#,
            r#"{"author":"a","x":{"p":1,"q":2},"actions":{"artifactDelta":{ },"stateDelta":{"k":1},"requestedAuthConfigs":{},"requestedToolConfirmations":{}}}"#,
        ] {
            assert_eq!(digest(same), base, "{same}");
        }
        for other in [
            r#"{"author":"b","x":{"p":1,"q":2},"actions":{"stateDelta":{"k":1}}}"#,
            r#"{"author":"a","x":{"p":1,"q":2},"actions":{"stateDelta":{"k":2}}}"#,
            r#"{"author":"a","x":{"p":1,"q":2},"y":0,"actions":{"stateDelta":{"k":1}}}"#,
            r#"{"author":"a","x":{"p":1,"q":2},"actions":{"stateDelta":{"k":1},"artifactDelta":{"f":1}}}"#,
            r#"{"author":"a","x":{"p":1,"q":2},"actions":{"stateDelta":{"k":1},"own":{}}}"#,
        ] {
            assert_ne!(digest(other), base, "{other}");
        }
        assert_eq!(digest(r#"{"actions":{"stateDelta":{"temp:t":1},"artifactDelta":{}}}"#), digest("{}"));
        assert_ne!(digest(r#"{"actions":{"own":1}}"#), digest("{}"));
    }

    #[test]
    fn output_key_takes_the_text_of_a_final_response() {
        let with = |parts: &str| output(&format!(r#"{{"content":{{"parts":[{parts}]}}}}"#));
        assert_eq!(with(r#"{"text":"a\u0041"},{"text":"b"}"#).as_deref(), Some(r#""a\u0041b""#));
        assert_eq!(with(r#"{"text":"x","thought":true},{"text":"b","thought":null}"#).as_deref(), Some(r#""b""#));
        assert_eq!(with(r#"{"inlineData":{}}"#), None);
        assert_eq!(with(r#"{"text":"a"},{"functionCall":{}}"#), None);
        assert_eq!(with(r#"{"text":"a"},{"function_response":{}}"#), None);
        assert_eq!(with(r#"{"text":"a"},{"codeExecutionResult":{}}"#), None);
        assert!(with(r#"{"codeExecutionResult":{}},{"text":"a"}"#).is_some());
        assert_eq!(output(r#"{"partial":true,"content":{"parts":[{"text":"a"}]}}"#), None);
        assert!(
            output(
                r#"{"actions":{"skip_summarization":true},"content":{"parts":[{"functionResponse":{}},{"text":"a"}]}}"#
            )
            .is_some()
        );
        assert!(
            output(r#"{"long_running_tool_ids":["t"],"content":{"parts":[{"functionCall":{}},{"text":"a"}]}}"#)
                .is_some()
        );
        assert_eq!(output(r#"{"longRunningToolIds":[],"content":{"parts":[{"functionCall":{}},{"text":"a"}]}}"#), None);
        assert_eq!(output(r#"{}"#), None);
        let failed = |event: &str| output(&format!(r#"{{"error_code":"SAFETY",{event}}}"#));
        let response = r#"{"text":"a"},{"functionResponse":{}},{"codeExecutionResult":{}}"#;
        assert!(failed(&format!(r#""content":{{"parts":[{response}]}}"#)).is_some());
        assert_eq!(failed(r#""content":{"parts":[{"text":"a"},{"functionCall":{}}]}"#), None);
        assert_eq!(failed(r#""partial":true,"content":{"parts":[{"text":"a"}]}"#), None);
        for none in ["null", "\"\"", "7"] {
            assert_eq!(
                output(&format!(r#"{{"errorCode":{none},"content":{{"parts":[{response}]}}}}"#)),
                None,
                "{none}"
            );
        }
    }

    #[test]
    fn a_partial_event_is_echoed_without_nulls_that_mean_absent() {
        let echo = |text: &str| parse(text).unwrap().partial.map(|given| given.text().to_owned());
        let given = r#"{ "partial": true, "x_y" : null }"#;
        assert_eq!(echo(given).as_deref(), Some(given));
        let given = r#"{ "partial": true, "author": null, "invocation_id":null, "x_y" : null }"#;
        assert_eq!(echo(given).as_deref(), Some(r#"{"partial":true,"x_y":null}"#));
        assert_eq!(echo(r#"{"partial":null}"#), None);
    }

    #[test]
    fn output_key_wins_over_the_delta_and_follows_scopes() {
        let parse = |key| {
            let given = r#"{"id":"e","timestamp":1,"actions":{"stateDelta":{"out":1,"b":2}},"content":{"parts":[{"text":"t"}]}}"#;
            let draft = EventDraft::parse(Json::trusted(given), "", Some(key), &Limits::default()).unwrap();
            draft.seal(EventId::parse("e").unwrap(), Micros(0)).body
        };
        assert!(parse("out").contains(r#""actions":{"stateDelta":{"b":2,"out":"t"}}"#));
        assert!(parse("app:out").contains(r#""actions":{"stateDelta":{"out":1,"b":2,"app:out":"t"}}"#));
        assert!(parse("temp:out").contains(r#""actions":{"stateDelta":{"out":1,"b":2}}"#));
    }

    /// The event with these members, as a client would give it.
    fn given(id: Option<&EventId>, author: &str, invocation_id: &str, parts: &[(&str, &str)]) -> EventDraft {
        let mut actions = ObjectText::default();
        actions.push("stateDelta", parts.iter().find(|(name, _)| *name == "stateDelta").map_or("{}", |(_, text)| text));
        for (name, text) in parts.iter().filter(|(name, _)| *name != "stateDelta") {
            actions.push(name, text);
        }
        let mut event = ObjectText::default();
        event.push_some_str("id", id.map(EventId::as_str));
        event.push_str("author", author);
        event.push_str("invocationId", invocation_id);
        event.push("actions", &actions.close());
        parse(&event.close()).unwrap()
    }

    #[track_caller]
    fn assert_same(composed: EventDraft, given: EventDraft) {
        let [composed, given] =
            [composed, given].map(|draft| draft.seal(EventId::parse("fresh").unwrap(), Micros(1_500_000)));
        assert_eq!(composed.body, given.body);
        assert_eq!((composed.digest, &composed.edit), (given.digest, &given.edit), "{}", composed.body);
        assert_eq!((&composed.author, &composed.invocation_id), (&given.author, &given.invocation_id));
        assert_eq!((composed.claimed_time, composed.branch, composed.rewind), (None, None, None));
        // What is stored says the same again: a retry of it is recognised.
        assert!(Json::parse(composed.body.as_bytes(), 72).is_ok(), "{}", composed.body);
        let stored = seal(&composed.body);
        assert_eq!((stored.body, stored.digest, stored.edit), (composed.body, composed.digest, composed.edit));
    }

    #[test]
    fn one_key_is_set_or_removed_by_an_event() {
        let id = EventId::parse("e\"1").unwrap();
        for (scope, key, shown) in [
            (Scope::Session, "k", "k"),
            (Scope::User, "app:k", "user:app:k"),
            (Scope::App, "", "app:"),
            (Scope::Session, "\u{e9}\"\\\n", "\u{e9}\"\\\n"),
        ] {
            let name = RawJson::string(shown);
            for value in ["1.0", "{ \"a\" : [ ] }", "null"] {
                let set = WrittenEdit::set(scope, key, RawJson::trusted(value));
                let delta = format!("{{{}:{value}}}", name.text());
                let parts = [("stateDelta", delta.as_str())];
                assert_same(
                    EventDraft::of_change(Some(id.clone()), "user", "", set),
                    given(Some(&id), "user", "", &parts),
                );
            }
            let ops = format!(r#"[{{"op":"remove","key":{}}}]"#, name.text());
            let removed = EventDraft::of_change(None, "a", "i", WrittenEdit::remove(scope, key));
            assert_same(removed, given(None, "a", "i", &[("stateOps", &ops)]));
        }
        let set = WrittenEdit::set(Scope::User, "k", RawJson::trusted("{ }"));
        let event = EventDraft::of_change(Some(id.clone()), "user", "", set).seal(id, Micros(1_500_000));
        let stored = r#"{"id":"e\"1","author":"user","invocationId":"","actions":{"stateDelta":{"user:k":{ }}},"timestamp":1.500000}"#;
        assert_eq!(&*event.body, stored);
    }

    fn key() -> impl Strategy<Value = String> {
        "(app:|user:|temp:|Temp:)?[a-d\"\\\\/~\u{e9}\u{1F600} ]{0,3}"
            .prop_map(|key| RawJson::string(&key).text().to_owned())
    }

    /// A key that is stored.
    fn stored_key() -> impl Strategy<Value = String> {
        key().prop_filter("temp: keys are not stored", |key| !key.starts_with("\"temp:"))
    }

    /// JSON in odd spellings.
    fn value() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null"),
            Just("true"),
            Just("-0.0"),
            Just("1E2"),
            Just("1.10"),
            Just("99999999999999999999"),
            Just("\"\""),
            Just("\"\\u0061\\/\\u00e9\\ud83d\\ude00\""),
            Just("[ ]"),
            Just("{\t}"),
            Just("{\"state_delta\" : {\"id\":null}}"),
        ];
        leaf.prop_map(str::to_owned).prop_recursive(3, 8, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(" ,"))),
                inner.prop_map(|value| format!("{{ \"b\":1, \"a\" :{value}}}")),
            ]
        })
    }

    fn space() -> impl Strategy<Value = &'static str> {
        prop_oneof![Just(""), Just(" "), Just("\n\t")]
    }

    /// An object with these members in any order, and white space.
    fn object(members: Vec<String>) -> impl Strategy<Value = String> {
        (Just(members).prop_shuffle(), space())
            .prop_map(|(members, space)| format!("{{{space}{}{space}}}", members.join(&format!("{space},{space}"))))
    }

    fn delta() -> impl Strategy<Value = String> {
        prop::collection::vec((key(), value(), space()), 0..6).prop_flat_map(|members| {
            let distinct: std::collections::BTreeMap<_, _> =
                members.into_iter().map(|(key, value, space)| (key, format!("{space}:{value}"))).collect();
            object(distinct.into_iter().map(|(key, value)| format!("{key}{value}")).collect())
        })
    }

    fn op() -> impl Strategy<Value = String> {
        let number = || prop_oneof![Just("1E2".to_owned()), Just("-0.50".to_owned())];
        let list = || prop::collection::vec(value(), 0..3).prop_map(|items| format!("[ {}]", items.join(",")));
        let operand = prop_oneof![
            value().prop_map(|value| ("set", Some(value))),
            Just(("remove", None)),
            Just(("remove", Some("null".to_owned()))),
            number().prop_map(|value| ("increment", Some(value))),
            list().prop_map(|value| ("append", Some(value))),
            list().prop_map(|value| ("union", Some(value))),
            number().prop_map(|value| ("max", Some(value))),
            number().prop_map(|value| ("min", Some(value))),
            value().prop_map(|value| ("merge", Some(format!("{{\"m\": {value}}}")))),
        ];
        (operand, stored_key()).prop_flat_map(|((name, value), key)| {
            let value = value.map(|value| format!("\"value\" :{value}"));
            object([format!("\"op\":\"{name}\""), format!("\"key\": {key}")].into_iter().chain(value).collect())
        })
    }

    fn precondition() -> impl Strategy<Value = String> {
        let condition = prop_oneof![
            (0..9).prop_map(|revision| format!("\"revision\": {revision}")),
            any::<bool>().prop_map(|exists| format!("\"exists\":{exists}")),
            value().prop_map(|value| format!("\"equals\":{value}")),
        ];
        (condition, stored_key()).prop_flat_map(|(condition, key)| object(vec![condition, format!("\"key\" :{key}")]))
    }

    fn list(element: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
        (prop::collection::vec(element, 0..4), space())
            .prop_map(|(elements, space)| format!("[{space}{}{space}]", elements.join(&format!("{space},"))))
    }

    proptest! {
        #[test]
        fn a_change_of_state_makes_the_event_that_a_client_would_give(
            delta in prop::option::of(delta()),
            ops in prop::option::of(list(op())),
            preconditions in prop::option::of(list(precondition())),
            author in "[a-z\"\\\\\u{0}\u{e9}\u{1F600}]{0,4}",
            invocation_id in "[a-z\"/\n]{0,4}",
            id in prop::option::of("[a-z\"\\\\\u{e9}]{1,4}"),
        ) {
            let given_parts = [("stateDelta", delta), ("stateOps", ops), ("preconditions", preconditions)];
            let parts: Vec<(&str, &str)> =
                given_parts.iter().filter_map(|(name, text)| Some((*name, text.as_deref()?))).collect();
            let mut request = ObjectText::default();
            for (name, text) in &parts {
                request.push(name, text);
            }
            let request = request.close();
            let mut fields = Fields::of(Json::parse(request.as_bytes(), 72).unwrap(), "").unwrap();
            let change = WrittenEdit::take(&mut fields, Keys::Merged, &Limits::default()).unwrap();
            prop_assert_eq!(fields.finish(), Ok(()));
            let id = id.map(|id| EventId::parse(&id).unwrap());
            let expected = given(id.as_ref(), &author, &invocation_id, &parts);
            assert_same(EventDraft::of_change(id, &author, &invocation_id, change), expected);
        }
    }
}
