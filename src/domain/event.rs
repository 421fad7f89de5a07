//! An ADK event: what the server reads of it, and the text that it keeps.
//!
//! The server reads `id`, `timestamp`, `author`, `invocationId`, `branch`, `partial` and `actions`; everything
//! else is kept byte for byte. Known fields of the event and of its `actions` given in snake_case come back in
//! camelCase, and so do the names that ADK knows below them ([`shape`]). The names are those of google-adk
//! 2.13 (`Event`, `LlmResponse`, `EventActions`) and sessiond's own.

use std::borrow::Cow;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::change::{Change, Edit, Keys, WrittenEdit, parse_delta, parse_ops, parse_preconditions};
use super::envelope::{check_depth, meant, pointer_to, to_camel};
use super::ids::EventId;
use super::json::{Json, Kind, Member, ObjectText, RawJson, push_string};
use super::scope::{Scope, check_key, split};
use super::shape::{self, Of};
use super::time::{Micros, Timestamp};
use super::{FieldError, Limits, Rejected};

pub const EVENT_FIELDS: &[&str] = &[
    "actions",
    "author",
    "avgLogprobs",
    "branch",
    "cacheMetadata",
    "citationMetadata",
    "commitTime",
    "content",
    "customMetadata",
    "environmentId",
    "errorCode",
    "errorMessage",
    "finishReason",
    "goAway",
    "groundingMetadata",
    "id",
    "inputTranscription",
    "interactionId",
    "interactionStatus",
    "interrupted",
    "invocationId",
    "isolationScope",
    "liveSessionId",
    "liveSessionResumptionUpdate",
    "logprobsResult",
    "longRunningToolIds",
    "modelVersion",
    "nodeInfo",
    "output",
    "outputTranscription",
    "partial",
    "sequence",
    "timestamp",
    "turnComplete",
    "turnCompleteReason",
    "usageMetadata",
    "voiceActivity",
];

/// What ADK always shows of the actions of an event, with what stands there if they say nothing: an empty map.
pub const ACTION_DEFAULTS: &[(&str, &str)] = &[
    ("stateDelta", "{}"),
    ("artifactDelta", "{}"),
    ("requestedAuthConfigs", "{}"),
    ("requestedToolConfirmations", "{}"),
];

pub const ACTION_FIELDS: &[&str] = &[
    "agentState",
    "artifactDelta",
    "compaction",
    "endOfAgent",
    "escalate",
    "preconditions",
    "renderUiWidgets",
    "requestedAuthConfigs",
    "requestedToolConfirmations",
    "rewindBeforeInvocationId",
    "route",
    "setModelResponse",
    "skipSummarization",
    "stateDelta",
    "stateOps",
    "transferReason",
    "transferToAgent",
];

/// Fields that the server reads. `null` there means absent, so it is dropped, and a retry may leave the field out. Stored
/// events have no such `null`: ADK's own types could not read it.
const READ_FIELDS: &[&str] = &["actions", "author", "branch", "id", "invocationId", "partial", "timestamp"];

/// What changes state, or guards a change. Of these, too, `null` means absent.
pub(super) const STATE_FIELDS: &[&str] = &["preconditions", "stateDelta", "stateOps"];

/// Those of the known fields that ADK does not have.
pub const OWN_FIELDS: &[&str] = &["commitTime", "preconditions", "sequence", "stateOps"];

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
    /// What is left is a stub: `body` is what a retry of it is answered.
    pub trimmed: bool,
}

impl StoredEvent {
    pub fn new(sequence: i64, commit_time: Micros, body: impl Into<Arc<str>>) -> Self {
        Self { sequence, commit_time, body: body.into(), trimmed: false }
    }

    /// What is left of a trimmed event.
    pub fn stub(sequence: i64, commit_time: Micros, id: &EventId) -> Self {
        let mut stub = ObjectText::default();
        stub.push_str("id", id.as_str());
        stub.push("sequence", &sequence.to_string());
        stub.push("trimmed", "true");
        Self { sequence, commit_time, body: stub.close().into(), trimmed: true }
    }

    /// An estimate of its bytes in an answer.
    pub fn weight(&self) -> usize {
        const PLACE: usize = 80;
        self.body.len() + PLACE
    }

    /// Appends the event as readers see it: its body with `sequence` and `commitTime`.
    pub fn write_json(&self, out: &mut String) {
        out.reserve(self.weight());
        if self.trimmed {
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

/// An event as a client gave it, checked, or as a change of state makes it.
#[derive(Debug, Clone)]
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
    /// The stored text, to which an id and a timestamp may be added.
    body: ObjectText,
    digest: [u8; 32],
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
            return Err(Rejected::TooLarge {
                limit: "event",
                detail: format!("an event is larger than {} bytes", limits.event_bytes),
            });
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
        limits.writer.check_scopes(actions.edit.scopes())?;
        limits.check_keys(actions.edit.keys())?;

        let mut body = ObjectText::with_capacity(json.text().len() + json.text().len() / 8);
        let mut content = Vec::with_capacity(members.len());
        for member in &members {
            // The members of `actions` are values of their own, checked where they are read.
            if member.name != "actions" {
                check_depth(member.value, || pointer_to(pointer, &member.name)).or_else(|e| reader.keep(e))?;
            }
            match (&*member.name, &timestamp) {
                ("sequence" | "commitTime" | "actions", _) => {}
                ("id", _) => body.push_raw(&member.raw_key, member.value.text()),
                ("timestamp", Some(timestamp)) => body.push_raw(&member.raw_key, timestamp.number.text()),
                _ => {
                    let text = reader.renamed(member, Of::Event, pointer);
                    body.push_raw(&member.raw_key, &text);
                    content.push((&*member.name, Json::trusted(&text).canonical()));
                }
            }
            // In its own place, so that an event keeps the order that it was given in.
            if member.name == "actions" {
                let text = actions.text.as_deref().unwrap_or("null");
                body.push("actions", text);
                content.extend(actions_content(text));
            }
        }
        let mut author = author;
        if let (None, Some(default)) = (&author, limits.writer.default_author()) {
            body.push_str("author", default);
            content.push(("author", Json::trusted("\"user\"").canonical()));
            author = Some(default.into());
        }
        if let (Some(text), None) = (&actions.text, members.iter().find(|m| m.name == "actions")) {
            body.push("actions", text);
            content.extend(actions_content(text));
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
            body,
            digest: digest(content),
        })
    }

    /// Composes the event of a state change that a client requested without an event. It equals, byte for byte, the event
    /// that parsing these members would give.
    pub fn of_change(id: Option<EventId>, author: &str, invocation_id: &str, change: WrittenEdit<'_>) -> Self {
        Self::compose(id, author, invocation_id, change, None, None)
    }

    /// The event of a rewind: with the action that names the invocation before which it rewinds, and with metadata.
    pub fn of_rewind(
        invocation_id: &str,
        change: WrittenEdit<'_>,
        before: (&str, &str),
        metadata: Option<&str>,
    ) -> Self {
        Self::compose(None, "user", invocation_id, change, Some(before), metadata)
    }

    fn compose(
        id: Option<EventId>,
        author: &str,
        invocation_id: &str,
        change: WrittenEdit<'_>,
        action: Option<(&str, &str)>,
        metadata: Option<&str>,
    ) -> Self {
        let WrittenEdit { edit, delta, ops, preconditions } = change;
        let mut actions = ObjectText::default();
        actions.push("stateDelta", &stored_delta(delta, &edit.sets));
        for (name, list) in [("stateOps", &ops), ("preconditions", &preconditions)] {
            if let Some(list) = list {
                actions.push(name, list);
            }
        }
        if let Some((name, text)) = action {
            actions.push_str(name, text);
        }
        let actions = actions.close();
        let mut body = ObjectText::with_capacity(actions.len() + 256);
        if let Some(id) = &id {
            body.push_str("id", id.as_str());
        }
        let (quoted_author, quoted_invocation) = (RawJson::string(author), RawJson::string(invocation_id));
        let mut members =
            vec![("author", quoted_author.text()), ("invocationId", quoted_invocation.text()), ("actions", &actions)];
        members.extend(metadata.map(|metadata| ("customMetadata", metadata)));
        for (name, text) in &members {
            body.push(name, text);
        }
        Self {
            id,
            timestamp: None,
            partial: None,
            author: author.to_owned(),
            invocation_id: invocation_id.to_owned(),
            branch: None,
            edit,
            // A client writes these parts at the top of its body.
            actions_at: "".into(),
            rewind: None,
            body,
            digest: digest(members.iter().filter_map(|(name, text)| content_of(name, text)).collect()),
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

/// A member of the event or of its actions, under its canonical name.
struct Named<'a> {
    name: Cow<'a, str>,
    /// As it is stored: quoted, and as written unless the name was a known one in snake_case.
    raw_key: Cow<'a, str>,
    value: Json<'a>,
    is_known: bool,
}

struct Reader<'p> {
    pointer: &'p str,
    errors: Vec<FieldError>,
}

#[derive(Default)]
struct Actions {
    text: Option<String>,
    edit: Edit,
    rewind: Option<Rewind>,
}

impl Reader<'_> {
    fn refuse(&mut self, name: &str, message: impl Into<String>) {
        self.errors.push(FieldError::new(pointer_to(self.pointer, name), message));
    }

    /// Notes faults of fields; anything else ends the reading.
    fn keep(&mut self, rejected: Rejected) -> Result<(), Rejected> {
        match rejected {
            Rejected::Invalid(errors) => {
                self.errors.extend(errors);
                Ok(())
            }
            other => Err(other),
        }
    }

    /// The text of a member of the object at `pointer`, with the names below it as they are stored.
    fn renamed<'a>(&mut self, member: &Named<'a>, of: Of, pointer: &str) -> Cow<'a, str> {
        if !member.is_known {
            return Cow::Borrowed(member.value.text());
        }
        let read = shape::renamed(member.value, of, &member.name, &pointer_to(pointer, &member.name));
        read.unwrap_or_else(|errors| {
            self.errors.extend(errors);
            Cow::Borrowed(member.value.text())
        })
    }

    fn string<'a>(&mut self, name: &str, value: Option<Json<'a>>) -> Option<Cow<'a, str>> {
        let value = value?;
        if value.kind() != Kind::String {
            self.refuse(name, "must be a string");
        }
        value.as_str()
    }

    /// Refuses fields that would have no effect: changes of state beside `actions` instead of in it.
    fn refuse_misplaced(&mut self, members: &[Named<'_>]) {
        for member in members.iter().filter(|member| !member.is_known) {
            let known = ["actions"].iter().chain(STATE_FIELDS).find(|known| is_spelling_of(&member.name, known));
            let place = match known {
                Some(&"actions") => pointer_to(self.pointer, "actions"),
                Some(name) => pointer_to(&pointer_to(self.pointer, "actions"), name),
                None => continue,
            };
            self.refuse(&member.name, format!("would do nothing here: it belongs at `{place}`"));
        }
    }

    /// Refuses members of `actions` that are misspelt known ones.
    fn refuse_misspelt(&mut self, members: &[Named<'_>], pointer: &str) {
        for member in members.iter().filter(|member| !member.is_known) {
            let spelt = ACTION_FIELDS.iter().copied().find(|known| is_spelling_of(&member.name, known));
            if let Some(known) = spelt.or_else(|| meant(&member.name, ACTION_FIELDS.iter().copied())) {
                let at = pointer_to(pointer, known);
                let message = format!("would do nothing under this name: did you mean `{known}`? It belongs at `{at}`");
                self.errors.push(FieldError::new(pointer_to(pointer, &member.name), message));
            }
        }
    }

    fn members<'a>(
        &mut self,
        json: Json<'a>,
        pointer: &str,
        known: &[&'static str],
    ) -> Result<Vec<Named<'a>>, Rejected> {
        let Some(object) = json.as_object() else {
            return Err(Rejected::field(pointer, "must be an object"));
        };
        let mut members: Vec<Named<'a>> = Vec::new();
        for member in object {
            let camel = to_camel(&member.key);
            let known = known.iter().find(|name| **name == camel);
            let (name, raw_key) = match known {
                Some(name) => (Cow::Borrowed(*name), Cow::Owned(format!("\"{name}\""))),
                None => (member.key, Cow::Borrowed(member.raw_key)),
            };
            // Unknown names cannot repeat: the parser refused equal keys, and only known ones are renamed.
            if known.is_some() && members.iter().any(|seen| seen.name == name) {
                self.errors.push(FieldError::new(
                    pointer_to(pointer, &name),
                    "is given twice, in camelCase and in snake_case",
                ));
                continue;
            }
            members.push(Named { name, raw_key, value: member.value, is_known: known.is_some() });
        }
        Ok(members)
    }

    /// Reads `actions`, and rebuilds its text with the state that it really sets.
    fn actions(
        &mut self,
        json: Option<Json<'_>>,
        output: Option<(&str, RawJson)>,
        limits: &Limits,
    ) -> Result<Actions, Rejected> {
        let pointer = pointer_to(self.pointer, "actions");
        let mut members = match json {
            Some(json) => match self.members(json, &pointer, ACTION_FIELDS) {
                Ok(members) => members,
                Err(rejected) => return self.keep(rejected).map(|()| Actions::default()),
            },
            None => Vec::new(),
        };
        self.refuse_misspelt(&members, &pointer);
        members.retain(|member| !is_absent(&member.name, member.value, STATE_FIELDS));
        let find = |name: &str| members.iter().find(|m| m.name == name).map(|m| m.value);

        let mut edit = Edit::default();
        let delta = find("stateDelta");
        if let Some(delta) = delta {
            let parsed = parse_delta(delta, Keys::Merged, &pointer_to(&pointer, "stateDelta"), limits);
            edit.sets = self.absorb(parsed)?;
        }
        if let Some((key, text)) = &output {
            match (check_key(split(key).map_or(key, |(_, stored)| stored)), split(key)) {
                (Err(message), _) => self.errors.push(FieldError::new("outputKey", message)),
                (Ok(()), Some((scope, key))) => {
                    edit.sets.retain(|set| !(set.scope == scope && *set.key == *key));
                    edit.sets.push(Change { scope, key: key.into(), value: text.clone() });
                }
                (Ok(()), None) => {}
            }
        }
        if let Some(ops) = find("stateOps") {
            edit.ops = self.absorb(parse_ops(ops, Keys::Merged, &pointer_to(&pointer, "stateOps"), limits))?;
        }
        if let Some(list) = find("preconditions") {
            let at = pointer_to(&pointer, "preconditions");
            edit.preconditions = self.absorb(parse_preconditions(list, Keys::Merged, &at, limits))?;
        }
        let rewind = find("rewindBeforeInvocationId").and_then(Json::as_str).filter(|id| !id.is_empty());

        let mut shown = Some(stored_delta(delta.filter(|_| output.is_none()), &edit.sets));
        // The delta shows the results of operators, so there must be one.
        let shows = !(edit.sets.is_empty() && edit.ops.is_empty());
        let mut text = ObjectText::default();
        for member in &members {
            match &*member.name {
                "stateDelta" => {
                    text.push_raw(&member.raw_key, &shown.take().unwrap_or_default());
                }
                // Their values were checked one by one.
                "stateOps" | "preconditions" => text.push_raw(&member.raw_key, member.value.text()),
                name => {
                    limits.writer.check_action(member.value)?;
                    check_depth(member.value, || pointer_to(&pointer, name)).or_else(|e| self.keep(e))?;
                    text.push_raw(&member.raw_key, &self.renamed(member, Of::Actions, &pointer));
                }
            }
        }
        if let (Some(shown), true) = (shown, shows) {
            text.push("stateDelta", &shown);
        }
        let present = json.is_some() || shows;
        let rewind = rewind.map(|id| Rewind::Before(id.into_owned()));
        Ok(Actions { text: present.then(|| text.close()), edit, rewind })
    }

    /// What was read, or nothing if its fields were at fault.
    fn absorb<T: Default>(&mut self, read: Result<T, Rejected>) -> Result<T, Rejected> {
        read.or_else(|rejected| self.keep(rejected).map(|()| T::default()))
    }
}

/// Whether a member is `null` and one of those for which that means absent.
fn is_absent(name: &str, value: Json<'_>, nullable: &[&str]) -> bool {
    value.is_null() && nullable.contains(&name)
}

/// Whether a name is a known one but for case, underscores and a plural.
fn is_spelling_of(name: &str, known: &str) -> bool {
    let letters = |name: &str| {
        let mut letters = name.replace('_', "");
        letters.make_ascii_lowercase();
        if letters.ends_with('s') {
            letters.pop();
        }
        letters
    };
    letters(name) == letters(known)
}

/// An event as given, without the members that are absent because they are `null`.
fn without_nulls(json: Json<'_>) -> RawJson {
    let mut object = ObjectText::with_capacity(json.text().len());
    for member in json.as_object().into_iter().flatten() {
        if !is_absent(&to_camel(&member.key), member.value, READ_FIELDS) {
            object.push_raw(member.raw_key, member.value.text());
        }
    }
    RawJson::trusted(object.close())
}

/// A stored event, or one of an earlier version, with the names below its fields as they are stored.
pub fn with_known_names(event: Json<'_>) -> String {
    let renamed = |member: &Member<'_>, of: Of| {
        let text = shape::renamed(member.value, of, &member.key, "");
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

/// The digest of a stored event; `None` if the text is not an event. A client that reads an event and sends it again sends
/// this content, in which the results of operators have replaced the `stateDelta`.
pub fn stored_digest(body: &str) -> Option<[u8; 32]> {
    EventDraft::parse(Json::trusted(body), "", None, &Limits::unbounded_input()).ok().map(|draft| draft.digest)
}

/// The `stateDelta` that shows these values, in order.
pub fn show_delta<'a>(values: impl Iterator<Item = (Scope, &'a str, &'a RawJson)>) -> String {
    let mut delta = ObjectText::default();
    for (scope, key, value) in values {
        delta.push(&format!("{}{key}", scope.prefix()), value.text());
    }
    delta.close()
}

/// The `stateDelta` that an event stores: kept to the byte as given, unless something in it must not be stored as it stands.
fn stored_delta<'a>(given: Option<Json<'a>>, sets: &[Change]) -> Cow<'a, str> {
    match given.filter(|delta| delta.as_object().is_some_and(|members| members.count() == sets.len())) {
        Some(delta) => Cow::Borrowed(delta.text()),
        None => Cow::Owned(show_delta(sets.iter().map(|set| (set.scope, &*set.key, &set.value)))),
    }
}

/// What a member of an event adds to its digest.
fn content_of<'a>(name: &'a str, text: &str) -> Option<(&'a str, String)> {
    match name {
        "actions" => actions_content(text),
        name => Some((name, Json::trusted(text).canonical())),
    }
}

/// What actions add to the digest of an event. Some of ADK's ports always write their [defaults](ACTION_DEFAULTS), and others
/// never do: an event is the same from either.
fn actions_content(text: &str) -> Option<(&'static str, String)> {
    let actions = Json::trusted(text);
    let Some(members) = actions.as_object() else { return Some(("actions", actions.canonical())) };
    let is_empty = |value: Json<'_>| value.as_object().is_some_and(|mut members| members.next().is_none());
    let mut content = ObjectText::with_capacity(text.len());
    for member in members {
        let has_default = ACTION_DEFAULTS.iter().any(|(name, _)| *name == member.key);
        if !(has_default && is_empty(member.value)) {
            content.push(&member.key, member.value.text());
        }
    }
    let content = content.close();
    (content != "{}").then(|| ("actions", Json::trusted(&content).canonical()))
}

/// The digest of named values in canonical form, in whatever order.
pub(super) fn digest<K: AsRef<str> + Ord>(mut content: Vec<(K, String)>) -> [u8; 32] {
    content.sort();
    let mut hash = Sha256::new();
    let mut name = String::new();
    for (key, canonical) in content {
        name.clear();
        push_string(&mut name, key.as_ref());
        hash.update(&name);
        hash.update(":");
        hash.update(canonical);
        hash.update(",");
    }
    hash.finalize().into()
}

/// The joined text of a final response's non-thought parts, as a JSON string; `None` if the event is no final
/// response or has no text part.
///
/// ADK's rules: `Event.is_final_response` and `LlmAgent`'s handling of `output_key`.
fn final_text(members: &[Named<'_>]) -> Option<RawJson> {
    let find = |name: &str| members.iter().find(|m| m.name == name).map(|m| m.value);
    let parts: Vec<Json<'_>> = find("content").and_then(|c| c.get("parts")).and_then(Json::as_array)?.collect();
    // Below the event nothing is renamed, so parts may be spelled either way; `null` is unset.
    let has = |part: &Json<'_>, names: [&str; 2]| {
        names.iter().any(|name| part.get(name).is_some_and(|value| !value.is_null()))
    };
    let skips = find("actions").is_some_and(|actions| {
        ["skipSummarization", "skip_summarization"]
            .iter()
            .any(|name| actions.get(name).and_then(Json::as_bool) == Some(true))
    });
    let long_running = find("longRunningToolIds").and_then(Json::as_array).is_some_and(|mut ids| ids.next().is_some());
    let failed = find("errorCode").and_then(Json::as_str).is_some_and(|code| !code.is_empty());
    let calls = parts.iter().any(|part| has(part, ["functionCall", "function_call"]));
    let responds = parts.iter().any(|part| has(part, ["functionResponse", "function_response"]));
    let partial = find("partial").and_then(Json::as_bool) == Some(true);
    let trailing_code = parts.last().is_some_and(|part| has(part, ["codeExecutionResult", "code_execution_result"]));
    let ends = failed || !responds && !trailing_code;
    if !(skips || long_running || !calls && !partial && ends) {
        return None;
    }
    let texts: Vec<&str> = parts
        .iter()
        .filter(|part| part.get("thought").and_then(Json::as_bool) != Some(true))
        .filter_map(|part| part.get("text").filter(|text| text.kind() == Kind::String))
        // Inside the quotes, as written: escapes stay what they were.
        .filter_map(|text| text.text().get(1..text.text().len() - 1))
        .collect();
    (!texts.is_empty()).then(|| RawJson::trusted(format!("\"{}\"", texts.concat())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::envelope::Fields;
    use super::*;

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
                r#"{"id":"e","timestamp":1,"sequence":9,"commit_time":3,"actions":{"state_delta":{"a": 1},"end_of_agent":true,"my_own":{"b_c":1}}}"#,
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
            [r#"{"state":1,"delta":2,"route":3,"actionable":4}"#, r#"{"actions":{"states":1,"myStateDelta":{}}}"#]
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
            r#"{"author":"a","x":{"p":1,"q":2},"actions":{"stateDelta":{"k":1}},"sequence":3,"commitTime":1}"#,
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

    #[test]
    fn a_stored_event_shows_its_place() {
        let mut out = String::new();
        StoredEvent::new(3, Micros(1), r#"{"id":"e"}"#).write_json(&mut out);
        assert_eq!(out, r#"{"id":"e","sequence":3,"commitTime":0.000001}"#);
    }

    /// The event with these members, as a client would give it.
    fn given(id: Option<&EventId>, author: &str, invocation_id: &str, parts: &[(&str, &str)]) -> EventDraft {
        let mut actions = ObjectText::default();
        actions.push("stateDelta", parts.iter().find(|(name, _)| *name == "stateDelta").map_or("{}", |(_, text)| text));
        for (name, text) in parts.iter().filter(|(name, _)| *name != "stateDelta") {
            actions.push(name, text);
        }
        let mut event = ObjectText::default();
        if let Some(id) = id {
            event.push_str("id", id.as_str());
        }
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
