//! Sessions of google-adk's own databases, as the lines of an export.
//!
//! ADK keeps no initial state and no order of appends: what no event explains becomes the base state, and events come by their
//! times, as ADK shows them. The same rows make the same lines, so that an import that comes again is recognised.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::change::{Keys, parse_delta};
use super::envelope::{MAX_BODY_DEPTH, parse_body, to_camel};
use super::event::{EventDraft, NewEvent};
use super::ids::{EventId, SessionKey};
use super::json::{Json, Kind, ObjectText, RawJson};
use super::scope::Scope;
use super::session::SessionInfo;
use super::tag::Timeline;
use super::time::{Micros, Timestamp};
use super::transfer::{Exported, LinesDigest, LogRow, Lost, Source, end_of_session, hex, row_line, session_line};
use super::{Limits, Rejected};

/// Fields of events whose keys are data, in camelCase. The keys of all others are names, which Python writes in snake_case.
const DATA: [&str; 11] = [
    "agentState",
    "args",
    "artifactDelta",
    "customMetadata",
    "output",
    "partMetadata",
    "payload",
    "requestedAuthConfigs",
    "response",
    "setModelResponse",
    "stateDelta",
];

/// The field whose keys are ids, and their values have names again.
const BY_ID: &str = "requestedToolConfirmations";

/// A row of `sessions`.
#[derive(Debug)]
pub struct AdkSession {
    pub key: SessionKey,
    /// A JSON object, session keys only.
    pub state: String,
    pub create_time: Micros,
    pub update_time: Micros,
}

/// A row of `events`.
#[derive(Debug)]
pub struct AdkEvent {
    pub id: String,
    pub invocation_id: String,
    /// Seconds, or RFC 3339.
    pub time: String,
    /// A JSON object; ADK takes none for an empty one.
    pub data: Option<String>,
}

impl AdkEvent {
    /// The event as this service stores it.
    ///
    /// # Errors
    /// It is not JSON, or breaks a rule of events.
    pub fn parse(&self, limits: &Limits) -> Result<NewEvent, Rejected> {
        let time = time(&self.time)?;
        let data = parse_body(self.data.as_deref().unwrap_or("{}").as_bytes())?;
        let mut text = ObjectText::default();
        text.push_str("id", &self.id);
        if !self.invocation_id.is_empty() {
            text.push_str("invocationId", &self.invocation_id);
        }
        let said = data.get("timestamp").filter(|time| !time.is_null());
        text.push("timestamp", said.map_or_else(|| time.to_number(), |time| time.text().to_owned()).as_str());
        for member in data.as_object().into_iter().flatten() {
            let name = to_camel(&member.key);
            // What the columns say counts; and nothing that is stored is partial.
            if !matches!(&*name, "id" | "invocationId" | "timestamp" | "partial") {
                text.push(&name, &named(&name, member.value));
            }
        }
        let text = text.close();
        let draft = EventDraft::parse(Json::parse(text.as_bytes(), MAX_BODY_DEPTH)?, "", None, limits)?;
        let id = EventId::parse(&self.id).map_err(|message| Rejected::field("id", message))?;
        Ok(draft.seal(id, time))
    }
}

/// A time as its column has it, as text.
///
/// # Errors
/// It is none.
pub fn time(text: &str) -> Result<Micros, Rejected> {
    Micros::from_text(text).map_err(|message| Rejected::field("a time of the source", message))
}

/// A value with its names in camelCase; its field is `name`.
fn named(name: &str, value: Json<'_>) -> String {
    match value.kind() {
        Kind::Object if !DATA.contains(&name) => {
            let mut object = ObjectText::default();
            for member in value.as_object().into_iter().flatten() {
                let key = if name == BY_ID { member.key } else { to_camel(&member.key) };
                // What a field is does not follow from an id.
                let inner = named(if name == BY_ID { "" } else { &key }, member.value);
                object.push(&key, &inner);
            }
            object.close()
        }
        Kind::Array if !DATA.contains(&name) => {
            let elements: Vec<String> =
                value.as_array().into_iter().flatten().map(|value| named(name, value)).collect();
            format!("[{}]", elements.join(","))
        }
        _ => value.text().to_owned(),
    }
}

/// A session on its way into lines. Its events come twice: first [`seen`](Self::see), then [written](Self::event).
pub struct AdkLines {
    session: AdkSession,
    /// What the events leave of each key that they write; once begun, what is stored.
    state: BTreeMap<Box<str>, RawJson>,
    digest: LinesDigest,
    sequence: i64,
    saw: (i64, i64),
}

impl AdkLines {
    /// `saw` are the revisions of user and app state that every event shows.
    pub fn new(session: AdkSession, saw: (i64, i64)) -> Self {
        Self { session, state: BTreeMap::new(), digest: LinesDigest::default(), sequence: 0, saw }
    }

    pub fn see(&mut self, event: &NewEvent) {
        for change in event.edit.sets.iter().filter(|change| change.scope == Scope::Session) {
            self.state.insert(change.key.clone(), change.value.clone());
        }
    }

    /// The first line, after all events were seen, and the event that leads from what the events say to what is stored, if they
    /// differ.
    ///
    /// # Errors
    /// The stored state is not a JSON object, or breaks a rule of state.
    pub fn begin(&mut self) -> Result<(String, Option<NewEvent>), Rejected> {
        let limits = Limits::unbounded_input();
        let changes = parse_delta(parse_body(self.session.state.as_bytes())?, Keys::Merged, "/state", &limits)?;
        let stored: BTreeMap<Box<str>, RawJson> =
            changes.into_iter().filter(|change| change.scope == Scope::Session).map(|c| (c.key, c.value)).collect();
        let base = members(&stored).filter(|(key, _)| !self.state.contains_key(*key));
        let exported = Exported {
            head: self.head(),
            base_state: RawJson::trusted(object(base)),
            // Of shared state one revision comes along, which all of it saw.
            base_saw: self.saw,
            lost: Lost::default(),
            origin: Some(self.mark()),
            imported_digest: None,
            state: None,
            rows: Vec::new(),
            more: false,
        };
        let line = session_line(&exported);
        self.digest.add(line.as_bytes());

        let differs =
            |key: &str, value: &RawJson| self.state.get(key).is_some_and(|written| !written.json().same(value.json()));
        let set: Vec<_> = members(&stored).filter(|(key, value)| differs(key, value)).collect();
        let removed: Vec<&str> = self.state.keys().map(|key| &**key).filter(|key| !stored.contains_key(*key)).collect();
        let closing = (!set.is_empty() || !removed.is_empty()).then(|| self.closing(&set, &removed)).transpose()?;
        // As the events wrote it, where that is the same.
        let mut written = std::mem::take(&mut self.state);
        let mut last = |(key, value): (Box<str>, RawJson)| {
            let same = written.remove(&key).filter(|written| written.json().same(value.json()));
            (key, same.unwrap_or(value))
        };
        self.state = stored.into_iter().map(&mut last).collect();
        Ok((line, closing))
    }

    fn closing(&self, set: &[(&str, &RawJson)], removed: &[&str]) -> Result<NewEvent, Rejected> {
        let remove = |key: &&str| format!(r#"{{"op":"remove","key":{}}}"#, RawJson::string(key).text());
        let ops: Vec<String> = removed.iter().map(remove).collect();
        let mut actions = ObjectText::default();
        actions.push("stateDelta", &object(set.iter().copied()));
        if !ops.is_empty() {
            actions.push("stateOps", &format!("[{}]", ops.join(",")));
        }
        let mut data = ObjectText::default();
        data.push_str("author", "sessiond");
        data.push("actions", &actions.close());
        let event = AdkEvent {
            id: format!("import-{}", self.mark()),
            invocation_id: "import".to_owned(),
            time: self.session.update_time.to_number(),
            data: Some(data.close()),
        };
        event.parse(&Limits::unbounded_input())
    }

    /// The line of the next event.
    pub fn event(&mut self, event: &NewEvent) -> String {
        self.sequence += 1;
        let line = row_line(&LogRow {
            sequence: self.sequence,
            id: event.id.clone(),
            invocation_id: event.invocation_id.clone(),
            event_time: event.timestamp.micros,
            commit_time: event.timestamp.micros,
            saw: self.saw,
            digest: event.digest,
            body: Some(event.body.to_string()),
        });
        self.digest.add(line.as_bytes());
        line
    }

    /// The last line.
    pub fn end(self) -> String {
        let head = self.head();
        let source = Source::App(head.key.app().clone());
        end_of_session(&source, &head, &object(members(&self.state)), &Lost::default(), self.digest.finish())
    }

    fn head(&self) -> SessionInfo {
        SessionInfo {
            key: self.session.key.clone(),
            incarnation: 0,
            timeline: Timeline::default(),
            revision: self.sequence,
            metadata_revision: 0,
            base_revision: 0,
            user_revision: self.saw.0,
            app_revision: self.saw.1,
            create_time: self.session.create_time,
            update_time: Timestamp::from(self.session.update_time),
            display_name: None,
            labels: None,
            expire_time: None,
            forked_from: None,
        }
    }

    /// What names this session and no other, the same whenever it is read.
    fn mark(&self) -> String {
        let key = &self.session.key;
        let mut hash = Sha256::new();
        for name in [key.app().as_str(), key.user.user.as_str(), key.session.as_str()] {
            hash.update(name.as_bytes());
            hash.update([0]);
        }
        hex(&hash.finalize()[..10])
    }
}

fn members(state: &BTreeMap<Box<str>, RawJson>) -> impl Iterator<Item = (&str, &RawJson)> {
    state.iter().map(|(key, value)| (&**key, value))
}

fn object<'a>(members: impl Iterator<Item = (&'a str, &'a RawJson)>) -> String {
    let mut object = ObjectText::default();
    for (key, value) in members {
        object.push(key, value.text());
    }
    object.close()
}

/// The keys of an app's or a user's stored state, as an object; `None` if there are none.
///
/// # Errors
/// It is not a JSON object.
pub fn shared_state(text: &str) -> Result<Option<String>, Rejected> {
    let json = parse_body(text.as_bytes())?;
    let mut members = json.as_object().ok_or_else(|| Rejected::field("", "must be an object"))?;
    Ok(members.next().is_some().then(|| json.text().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::{AppName, SessionId, UserId, UserKey};

    fn event(id: &str, data: &str) -> AdkEvent {
        AdkEvent {
            id: id.to_owned(),
            invocation_id: "i".to_owned(),
            time: "0.000007".to_owned(),
            data: Some(data.to_owned()),
        }
    }

    fn lines(state: &str, events: &[AdkEvent]) -> Vec<String> {
        let user = UserKey { app: AppName::parse("a").unwrap(), user: UserId::parse("u").unwrap() };
        let key = SessionKey { user, session: SessionId::parse("s").unwrap() };
        let session = AdkSession { key, state: state.to_owned(), create_time: Micros(1), update_time: Micros(9) };
        let events: Vec<NewEvent> = events.iter().map(|event| event.parse(&Limits::default()).unwrap()).collect();
        let mut lines = AdkLines::new(session, (1, 0));
        events.iter().for_each(|event| lines.see(event));
        let (first, closing) = lines.begin().unwrap();
        let mut all = vec![first];
        all.extend(events.iter().chain(&closing).map(|event| lines.event(event)));
        all.push(lines.end());
        all
    }

    #[test]
    fn names_are_camel_case_and_keys_of_data_stay() {
        let data = r#"{"id":"x","author":"a","long_running_tool_ids":["t_1"],"partial":false,"timestamp":1.50,
            "content":{"parts":[{"function_call":{"args":{"a_b":{"c_d":1}}},"part_metadata":{"e_f":1}}]},
            "actions":{"state_delta":{"g_h":{"i_j":1}},"requested_tool_confirmations":{"k_l":{"some_field":1,"payload":{"m_n":1}}}}}"#;
        let expected = r#"{"id":"e","invocationId":"i","timestamp":1.50,"author":"a","longRunningToolIds":["t_1"],
            "content":{"parts":[{"functionCall":{"args":{"a_b":{"c_d":1}}},"partMetadata":{"e_f":1}}]},
            "actions":{"stateDelta":{"g_h":{"i_j":1}},"requestedToolConfirmations":{"k_l":{"someField":1,"payload":{"m_n":1}}}}}"#;
        let without_space = |text: &str| text.replace("\n            ", "");
        assert_eq!(&*event("e", data).parse(&Limits::default()).unwrap().body, without_space(expected));
        let bare = AdkEvent { data: None, ..event("e", "") };
        let expected = r#"{"id":"e","invocationId":"i","timestamp":0.000007}"#;
        assert_eq!(&*bare.parse(&Limits::default()).unwrap().body, expected);
    }

    #[test]
    fn what_no_event_explains_is_the_base_or_the_last_event() {
        let set = |id: &str, delta: &str| event(id, &format!(r#"{{"actions":{{"state_delta":{delta}}}}}"#));
        let same = lines(r#"{"b": 2.0, "a": [1]}"#, &[set("e", r#"{"b":2,"user:x":1,"temp:y":1}"#)]);
        assert_eq!(same.len(), 3);
        assert!(same[0].contains(r#""baseState":{"a":[1]}"#), "{}", same[0]);
        assert!(same[2].contains(r#""revision":1,"state":{"a":[1],"b":2}"#), "{}", same[2]);
        assert_eq!(same, lines(r#"{"b": 2.0, "a": [1]}"#, &[set("e", r#"{"b":2,"user:x":1,"temp:y":1}"#)]));

        let other = lines(r#"{"b":3}"#, &[set("e", r#"{"b":2,"gone":1}"#)]);
        assert_eq!(other.len(), 4);
        let closing =
            r#""author":"sessiond","actions":{"stateDelta":{"b":3},"stateOps":[{"op":"remove","key":"gone"}]}"#;
        assert!(other[2].contains(closing), "{}", other[2]);
        assert!(other[3].contains(r#""revision":2,"state":{"b":3}"#), "{}", other[3]);
    }
}
