//! A session: its head, its creation, and its metadata.

use std::borrow::Cow;

use super::change::{Change, Keys, parse_delta, parse_list};
use super::envelope::{Fields, pointer_to};
use super::event::{EventDraft, NewEvent, cost_beside};
use super::ids::{SessionId, SessionKey};
use super::json::{Json, Kind, ObjectText, RawJson};
use super::request_key::RequestKey;
use super::scope::Scope;
use super::shown::Shown;
use super::tag::{Tag, Timeline};
use super::time::{Micros, Timestamp};
use super::{Limits, Rejected};

/// Longest `displayName`, in bytes of its text.
const MAX_DISPLAY_NAME_BYTES: usize = 1024;
pub const MAX_LABELS: usize = 64;
const MAX_LABEL_NAME: usize = 63;
const MAX_LABEL_VALUE: usize = 256;

/// The head of a session at one moment: everything except its state and events.
#[derive(Debug, Clone)]
pub struct SessionInfo {
    pub key: SessionKey,
    pub incarnation: i64,
    /// The timeline on which it was read.
    pub timeline: Timeline,
    pub revision: i64,
    pub metadata_revision: i64,
    /// The log begins after this revision: the events up to it were trimmed.
    pub base_revision: i64,
    /// Revisions of user and app state at the same moment.
    pub user_revision: i64,
    pub app_revision: i64,
    pub create_time: Micros,
    /// The last event's timestamp, which can go backwards as in ADK; without events the time of creation.
    pub update_time: Timestamp,
    /// JSON text, as given: a string and an object.
    pub display_name: Option<RawJson>,
    pub labels: Option<RawJson>,
    pub expire_time: Option<Micros>,
    /// If it is a fork: the source, a session of the same user, and the revision.
    pub forked_from: Option<(SessionId, i64)>,
}

/// Rough places of the list by last update are those of this bucket of the update time. Within a bucket the list is sorted by the time
/// itself.
pub const UPDATE_BUCKET_MICROS: i64 = 10_000_000;

/// Never decreases as time goes on. Rounds toward zero, as both databases divide.
pub fn update_bucket(time: Micros) -> i64 {
    time.0 / UPDATE_BUCKET_MICROS
}

/// Which session was forked, and at which revision, as a JSON object.
pub fn source_object((session, revision): &(SessionId, i64)) -> String {
    let mut source = ObjectText::default();
    source.push_str("sessionId", session.as_str());
    source.push("revision", &revision.to_string());
    source.close()
}

impl SessionInfo {
    /// The incarnation's mark; page tokens contain it.
    pub fn mark(&self) -> i64 {
        self.timeline.mark(self.incarnation)
    }

    /// The metadata that clients can change, as a JSON object.
    pub fn metadata_json(&self) -> String {
        let mut object = ObjectText::default();
        let text = |value: &Option<RawJson>, none| value.as_ref().map_or(none, RawJson::text).to_owned();
        object.push("displayName", &text(&self.display_name, "null"));
        object.push("labels", &text(&self.labels, "{}"));
        object.push("expireTime", &self.expire_time.map_or_else(|| "null".to_owned(), |time| time.to_number()));
        object.close()
    }

    pub fn tag(&self) -> Tag {
        Tag {
            revision: self.revision,
            user: self.user_revision,
            app: self.app_revision,
            incarnation: self.incarnation,
            timeline: self.timeline,
            metadata: self.metadata_revision,
        }
    }
}

/// The expiry of a session, as a client gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    At(Micros),
    /// Microseconds from now.
    In(i64),
}

impl Expiry {
    /// Takes `ttl` or `expireTime`; `null` clears the expiry.
    pub fn take(fields: &mut Fields<'_>) -> Option<Option<Self>> {
        let given = [fields.take_nullable("ttl"), fields.take_nullable("expireTime")];
        let [ttl, expire_time] = given.map(|value| value.filter(|value| !value.is_null()));
        if ttl.is_some() && expire_time.is_some() {
            fields.refuse("ttl", "and `expireTime` exclude each other");
        }
        let mut read = |name, parsed: Result<Self, _>| parsed.map_err(|message| fields.refuse(name, message)).ok();
        let ttl = ttl.and_then(|ttl| read("ttl", parse_ttl(ttl).map(Self::In)));
        let at = |time: Timestamp| Self::At(time.micros);
        let expire_time = expire_time.and_then(|time| read("expireTime", Timestamp::parse(time).map(at)));
        given.iter().any(Option::is_some).then(|| expire_time.or(ttl))
    }

    pub fn at(self, now: Micros) -> Micros {
        match self {
            Self::At(time) => time,
            Self::In(ttl) => now.plus(ttl),
        }
    }

    /// The time from which a `ttl` was counted.
    pub fn counted_from(self, now: Micros) -> Option<Micros> {
        matches!(self, Self::In(_)).then_some(now)
    }
}

impl SessionId {
    /// Takes the field with the id of a session to be created; a blank one asks for a generated id.
    pub fn take(fields: &mut Fields<'_>) -> Option<Self> {
        let id = fields.take_str("sessionId").filter(|id| !id.trim().is_empty())?;
        Self::parse(&id).map_err(|message| fields.refuse("sessionId", message)).ok()
    }
}

/// The body of a request that creates a session, checked.
#[derive(Debug, Default)]
pub struct SessionDraft {
    pub session_id: Option<SessionId>,
    pub state: Vec<Change>,
    pub events: Vec<EventDraft>,
    pub display_name: Option<RawJson>,
    pub labels: Option<RawJson>,
    pub expiry: Option<Expiry>,
}

impl SessionDraft {
    /// The cost of its events and its state.
    pub fn cost(&self) -> u32 {
        let state = self.state.iter().map(|change| change.key.len() + change.value.text().len()).sum();
        self.events.iter().map(EventDraft::cost).fold(cost_beside(state), u32::saturating_add)
    }

    /// Reads `{sessionId?, state?, events?, displayName?, labels?, ttl? | expireTime?}`; `sessionId` only if the path does not
    /// have it.
    pub fn parse(json: Json<'_>, takes_id: bool, limits: &Limits) -> Result<Self, Rejected> {
        let mut fields = Fields::of(json, "")?;
        let session_id = if takes_id { SessionId::take(&mut fields) } else { None };
        let state = fields.take_below("state", |state, at| parse_delta(state, Keys::Merged, at, limits))?;
        let events = fields.take_below("events", |events, at| parse_events(events, at, None, limits))?;
        let (state, events) = (state.unwrap_or_default(), events.unwrap_or_default());
        limits.check_keys(state.len() + events.iter().map(EventDraft::keys).sum::<usize>())?;
        let metadata = MetadataPatch::take(&mut fields);
        fields.finish()?;
        Ok(Self {
            session_id,
            state,
            events,
            display_name: metadata.display_name.flatten(),
            labels: metadata.labels.flatten(),
            expiry: metadata.expiry.flatten(),
        })
    }
}

/// Reads a list of events.
///
/// # Errors
/// Not an array, too many events or state keys, or an error of [`EventDraft::parse`].
pub fn parse_events(
    json: Json<'_>,
    pointer: &str,
    output_key: Option<&str>,
    limits: &Limits,
) -> Result<Vec<EventDraft>, Rejected> {
    let (mut events, mut keys) = (0, 0);
    parse_list(json, pointer, "must be an array of events", |element, at| {
        events += 1;
        if events > limits.batch_events {
            let detail = format!("more than {} events in one request", limits.batch_events);
            return Err(Rejected::too_large("batch", detail));
        }
        let event = EventDraft::parse(element, at, output_key, limits)?;
        keys += event.keys();
        limits.check_keys(keys)?;
        Ok(event)
    })
}

/// A change of metadata: an outer `None` leaves a field alone, an inner one clears it.
#[derive(Debug, Default, Clone)]
pub struct MetadataPatch {
    pub display_name: Option<Option<RawJson>>,
    pub labels: Option<Option<RawJson>>,
    pub expiry: Option<Option<Expiry>>,
}

impl MetadataPatch {
    /// Reads `{displayName?, labels?, ttl? | expireTime?}`.
    pub fn parse(json: Json<'_>) -> Result<Self, Rejected> {
        let mut fields = Fields::of(json, "")?;
        let patch = Self::take(&mut fields);
        fields.finish()?;
        Ok(patch)
    }

    pub fn is_empty(&self) -> bool {
        self.display_name.is_none() && self.labels.is_none() && self.expiry.is_none()
    }

    pub fn take(fields: &mut Fields<'_>) -> Self {
        let mut take = |name, parse: fn(Json<'_>) -> Result<RawJson, Cow<'static, str>>| {
            let value = fields.take_nullable(name)?;
            Some(if value.is_null() { None } else { parse(value).map_err(|message| fields.refuse(name, message)).ok() })
        };
        let (display_name, labels) = (take("displayName", display_name), take("labels", labels));
        Self { display_name, labels, expiry: Expiry::take(fields) }
    }
}

fn display_name(json: Json<'_>) -> Result<RawJson, Cow<'static, str>> {
    match json.as_str() {
        Some(name) if name.len() <= MAX_DISPLAY_NAME_BYTES => Ok(json.to_raw()),
        Some(_) => Err("must be at most 1024 bytes".into()),
        None => Err("must be a string".into()),
    }
}

fn labels(json: Json<'_>) -> Result<RawJson, Cow<'static, str>> {
    let Some(members) = json.as_object() else {
        return Err("must be an object of strings".into());
    };
    for (n, member) in members.enumerate() {
        if n >= MAX_LABELS {
            return Err("must have at most 64 members".into());
        }
        check_label_name(&member.key)?;
        let Some(value) = member.value.as_str() else {
            let at = pointer_to("", &member.key);
            return Err(format!("the value of the label at `{at}` must be a string").into());
        };
        check_label_value(&value)?;
    }
    Ok(json.to_raw())
}

/// # Errors
/// The rule for names of labels.
pub fn check_label_name(name: &str) -> Result<(), &'static str> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'.' | b'-');
    if (1..=MAX_LABEL_NAME).contains(&name.len()) && name.bytes().all(allowed) {
        Ok(())
    } else {
        Err("names of labels are 1 to 63 of a-z, 0-9, `_`, `.` and `-`")
    }
}

/// # Errors
/// Over 256 bytes, or with U+0000, which the filter cannot compare in every database.
pub fn check_label_value(value: &str) -> Result<(), &'static str> {
    if value.len() > MAX_LABEL_VALUE {
        Err("values of labels are at most 256 bytes")
    } else if value.contains('\0') {
        Err("values of labels must not contain U+0000")
    } else {
        Ok(())
    }
}

/// A duration in microseconds: seconds as a number, or as a string like `"3600s"` (protobuf's JSON form).
///
/// # Errors
/// Not a duration, or not a positive one.
pub fn parse_ttl(json: Json<'_>) -> Result<i64, &'static str> {
    const NOT_A_TTL: &str = "must be a positive number of seconds, or a string like \"3600s\"";
    let text = match json.kind() {
        Kind::Number => Cow::Borrowed(json.text()),
        Kind::String => {
            let text = json.as_str().unwrap_or_default();
            let seconds = text.strip_suffix('s').ok_or(NOT_A_TTL)?;
            match Json::parse(seconds.as_bytes(), 0) {
                Ok(number) if number.kind() == Kind::Number => Cow::Owned(seconds.to_owned()),
                _ => return Err(NOT_A_TTL),
            }
        }
        _ => return Err(NOT_A_TTL),
    };
    // Read like a moment: seconds since 1970 and seconds from now are both seconds.
    let micros = Micros::from_number(&text).map_err(|_| "is too long")?;
    if micros.0 > 0 { Ok(micros.0) } else { Err(NOT_A_TTL) }
}

/// What to do if a session to be created exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfExists {
    /// The creation is refused.
    Refuse,
    /// The existing session is returned unchanged.
    Return,
    /// A precondition required its absence, and failed.
    Mismatch,
}

/// A complete command to create a session. A retry of the same creation is recognised by its incarnation.
#[derive(Debug)]
pub struct Creation {
    pub key: SessionKey,
    pub incarnation: i64,
    pub now: Micros,
    pub state: Vec<Change>,
    pub events: Vec<NewEvent>,
    pub display_name: Option<RawJson>,
    pub labels: Option<RawJson>,
    pub expiry: Option<Expiry>,
    pub if_exists: IfExists,
    /// Stored with the session, so that a retry returns the same session.
    pub request: Option<RequestKey>,
    pub shows: Shown,
    /// The limits apply to the results of the events' operators, too.
    pub limits: Limits,
}

impl Creation {
    /// By the clock of `now`.
    pub fn expire_time(&self) -> Option<Micros> {
        self.expiry.map(|expiry| expiry.at(self.now))
    }

    /// Whether it can share a transaction with other creations: it is small, and changes nothing that their answers show.
    pub fn is_simple(&self) -> bool {
        const SMALL: usize = 16 << 10;
        self.events.is_empty()
            && self.state.iter().all(|change| change.scope == Scope::Session)
            && self.state.iter().map(|change| change.value.text().len()).sum::<usize>() < SMALL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list sorts within buckets, so they must be in the order of their times.
    #[test]
    fn buckets_are_in_the_order_of_their_times() {
        let times = [
            i64::MIN,
            -UPDATE_BUCKET_MICROS - 1,
            -UPDATE_BUCKET_MICROS,
            -1,
            0,
            UPDATE_BUCKET_MICROS - 1,
            UPDATE_BUCKET_MICROS,
            i64::MAX,
        ];
        let buckets = times.map(|time| update_bucket(Micros(time)));
        assert!(buckets.is_sorted(), "{buckets:?}");
        assert_eq!(buckets[1..7], [-1, -1, 0, 0, 0, 1]);
    }

    fn draft(text: &str) -> Result<SessionDraft, Rejected> {
        SessionDraft::parse(Json::trusted(text), true, &Limits::default())
    }

    fn patch(text: &str) -> Result<MetadataPatch, Rejected> {
        MetadataPatch::parse(Json::trusted(text))
    }

    fn fields_of<T: std::fmt::Debug>(result: Result<T, Rejected>) -> Vec<String> {
        match result {
            Err(Rejected::Invalid(errors)) => errors.into_iter().map(|e| e.field).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_blank_id_asks_for_one() {
        assert_eq!(draft(r#"{"sessionId":"  "}"#).unwrap().session_id, None);
        assert_eq!(draft(r#"{"session_id":null}"#).unwrap().session_id, None);
        assert_eq!(draft(r#"{"session_id":" s "}"#).unwrap().session_id, Some(SessionId::parse("s").unwrap()));
    }

    #[test]
    fn faults_are_gathered() {
        assert_eq!(
            fields_of(draft(r#"{"sessionId":"..","state":[],"events":[{"id":1},{"author":2}],"ttl":0,"bogus":1}"#)),
            ["sessionId", "/state", "/events/0/id", "/events/1/author", "ttl", "bogus"]
        );
        assert_eq!(
            fields_of(SessionDraft::parse(Json::trusted(r#"{"sessionId":"a"}"#), false, &Limits::default())),
            ["sessionId"]
        );
    }

    #[test]
    fn expiry_is_ttl_or_time() {
        let expiry = |text| patch(text).unwrap().expiry;
        assert_eq!(expiry(r#"{"ttl":1.5}"#), Some(Some(Expiry::In(1_500_000))));
        assert_eq!(expiry(r#"{"ttl":"3600s"}"#), Some(Some(Expiry::In(3_600_000_000))));
        assert_eq!(expiry(r#"{"expireTime":10}"#), Some(Some(Expiry::At(Micros(10_000_000)))));
        assert_eq!(expiry(r#"{"expire_time":null}"#), Some(None));
        assert_eq!(expiry(r#"{"ttl":null,"expireTime":1}"#), Some(Some(Expiry::At(Micros(1_000_000)))));
        assert_eq!(expiry("{}"), None);
        for bad in [
            r#"{"ttl":-1}"#,
            r#"{"ttl":"1h"}"#,
            r#"{"ttl":"s"}"#,
            r#"{"ttl":" 1s"}"#,
            r#"{"ttl":true}"#,
            r#"{"ttl":1e300}"#,
        ] {
            assert_eq!(fields_of(patch(bad)), ["ttl"], "{bad}");
        }
        assert_eq!(fields_of(patch(r#"{"ttl":1,"expireTime":1}"#)), ["ttl"]);
        assert_eq!(Expiry::In(i64::MAX).at(Micros(0)).plus(1), Micros(253_402_300_799_999_999));
    }

    #[test]
    fn labels_follow_the_rules() {
        for good in [r#"{"a":"b"}"#, r#"{"a.b-c_9":""}"#, r#"{}"#] {
            let text = format!(r#"{{"labels":{good}}}"#);
            assert_eq!(patch(&text).unwrap().labels.unwrap().unwrap().text(), good);
        }
        let many: Vec<String> = (0..65).map(|n| format!("\"l{n}\":\"\"")).collect();
        for bad in [
            r#"{"A":"b"}"#.to_owned(),
            r#"{"":"b"}"#.to_owned(),
            r#"{"a":1}"#.to_owned(),
            r#"{"a":"\u0000"}"#.to_owned(),
            "[]".to_owned(),
            format!("{{{}}}", many.join(",")),
            format!("{{\"a\":\"{}\"}}", "x".repeat(257)),
            format!("{{\"{}\":\"\"}}", "x".repeat(64)),
        ] {
            assert_eq!(fields_of(patch(&format!(r#"{{"labels":{bad}}}"#))), ["labels"], "{bad}");
        }
    }

    #[test]
    fn null_clears_and_absence_leaves_alone() {
        let patch = patch(r#"{"displayName":null,"labels":null}"#).unwrap();
        assert_eq!((patch.display_name, patch.labels, patch.expiry), (Some(None), Some(None), None));
    }
}
