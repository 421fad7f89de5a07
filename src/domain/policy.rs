//! How long the data of an app is kept (contract, section 12).
//!
//! A [`Policy`] is a pure rule over times and counts that the store read. Only commit times count, not the timestamps of events.

use std::ops::RangeInclusive;

use super::envelope::Fields;
use super::ids::{AppName, SessionKey, UserId};
use super::json::{Json, ObjectText, RawJson};
use super::number::of_digits;
use super::refusal::{Bound, Mismatch};
use super::session::parse_ttl;
use super::tag::IfMatch;
use super::time::Micros;
use super::trim::new_base;
use super::{FieldError, Rejected};

/// A day, in microseconds.
pub const DAY_MICROS: i64 = 24 * 3600 * 1_000_000;

/// A duration, with the client's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    text: RawJson,
    pub micros: i64,
}

impl Span {
    fn parse(json: Json<'_>) -> Result<Self, &'static str> {
        let days = json.as_str().and_then(|text| text.strip_suffix('d').map(str::to_owned));
        let micros = match days {
            Some(days) => days_of(&days)?,
            None => parse_ttl(json).map_err(|message| if message == TOO_LONG { message } else { NOT_A_SPAN })?,
        };
        Ok(Self { text: json.to_raw(), micros })
    }
}

/// As [`parse_ttl`].
const TOO_LONG: &str = "is too long";

const NOT_A_SPAN: &str = "must be a positive number of seconds, or a string like \"3600s\" or \"30d\"";

/// A number of whole days.
fn days_of(text: &str) -> Result<i64, &'static str> {
    // At most what a duration in seconds can be.
    let days = of_digits(text).ok_or(NOT_A_SPAN)?;
    let seconds = days.checked_mul(DAY_MICROS / 1_000_000).ok_or(TOO_LONG)?;
    let micros = Micros::from_number(&seconds.to_string()).map_err(|_| TOO_LONG)?;
    if micros.0 > 0 { Ok(micros.0) } else { Err(NOT_A_SPAN) }
}

/// The bounds of a policy on what may be stored. Existing data over a bound stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Sessions of one user that have not expired.
    pub sessions_per_user: Option<i64>,
    /// Events of one session that are not trimmed.
    pub events_per_session: Option<i64>,
    /// Bytes of all versions of a user's artifacts, shared ones once.
    pub artifact_bytes_per_user: Option<i64>,
}

/// The largest integer that every JSON reader has exactly: 2^53 - 1. No bound is larger, so that it can be added to a revision.
const MOST: i64 = (1 << 53) - 1;

/// The rules for removing data of an app, and bounds on its data. `None` removes nothing, or bounds nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Sessions are removed when nothing was committed to them for so long. Those with their own expiry stay until it.
    pub idle_ttl: Option<Span>,
    /// Sessions are removed so long after their creation. Those with their own expiry stay until it.
    pub session_age: Option<Span>,
    pub event_age: Option<Span>,
    pub max_count: Option<i64>,
    /// At least so many of the last events stay, whatever the other rules say.
    pub keep_last: Option<i64>,
    pub stub_age: Option<Span>,
    pub shared_age: Option<Span>,
    /// Of each artifact, so many of the last versions stay.
    pub keep_versions: Option<i64>,
    pub bounds: Bounds,
    /// Whether what was said can be searched.
    pub index: Option<bool>,
}

/// A field of a policy, and what it may be.
enum Field<'a> {
    /// Of at least so many microseconds.
    Duration(&'a mut Option<Span>, i64),
    /// Of a range; the message for other values.
    Integer(&'a mut Option<i64>, RangeInclusive<i64>, &'static str),
    Flag(&'a mut Option<bool>),
}

impl<'a> Field<'a> {
    fn at_least_0(value: &'a mut Option<i64>) -> Self {
        Self::Integer(value, 0..=i64::MAX, "must be an integer of at least 0")
    }

    fn at_least_1(value: &'a mut Option<i64>) -> Self {
        Self::Integer(value, 1..=i64::MAX, "must be an integer of at least 1")
    }

    fn bound(value: &'a mut Option<i64>) -> Self {
        Self::Integer(value, 1..=MOST, "must be an integer from 1 to 2^53 - 1")
    }

    fn take(self, name: &str, fields: &mut Fields<'_>) {
        match self {
            Self::Duration(value, least) => {
                *value = fields.take_with(name, |json| match Span::parse(json)? {
                    span if span.micros >= least => Ok(span),
                    _ => Err("must be at least a day"),
                });
            }
            Self::Integer(value, range, message) => *value = fields.take_integer(name, range, message),
            Self::Flag(value) => *value = fields.take_with(name, |json| json.as_bool().ok_or("must be a boolean")),
        }
    }

    /// As it is shown and stored; durations as they were given.
    fn text(&self) -> Option<String> {
        match self {
            Self::Duration(value, _) => value.as_ref().map(|span| span.text.text().to_owned()),
            Self::Integer(value, ..) => value.map(|number| number.to_string()),
            Self::Flag(value) => value.map(|is_on| is_on.to_string()),
        }
    }
}

impl Policy {
    /// All fields, by groups.
    fn groups(&mut self) -> [(&'static str, Vec<(&'static str, Field<'_>)>); 6] {
        let sessions = vec![
            ("idleTtl", Field::Duration(&mut self.idle_ttl, DAY_MICROS)),
            ("maxAge", Field::Duration(&mut self.session_age, DAY_MICROS)),
        ];
        let events = vec![
            ("maxAge", Field::Duration(&mut self.event_age, DAY_MICROS)),
            ("maxCount", Field::at_least_1(&mut self.max_count)),
            ("keepLast", Field::at_least_0(&mut self.keep_last)),
            ("stubsMaxAge", Field::Duration(&mut self.stub_age, 0)),
        ];
        let limits = vec![
            (Bound::SessionsPerUser.as_str(), Field::bound(&mut self.bounds.sessions_per_user)),
            (Bound::EventsPerSession.as_str(), Field::bound(&mut self.bounds.events_per_session)),
            (Bound::ArtifactBytesPerUser.as_str(), Field::bound(&mut self.bounds.artifact_bytes_per_user)),
        ];
        [
            ("sessions", sessions),
            ("events", events),
            ("sharedHistory", vec![("maxAge", Field::Duration(&mut self.shared_age, DAY_MICROS))]),
            ("artifacts", vec![("keepVersions", Field::at_least_1(&mut self.keep_versions))]),
            ("limits", limits),
            ("search", vec![("index", Field::Flag(&mut self.index))]),
        ]
    }

    /// Reads the body of a request, or a stored policy.
    pub fn parse(json: Json<'_>) -> Result<Self, Rejected> {
        let mut policy = Self::default();
        let mut groups = Fields::of(json, "")?;
        for (group, fields) in policy.groups() {
            groups.take_below(group, |json, pointer| {
                let mut given = Fields::of(json, pointer)?;
                fields.into_iter().for_each(|(name, field)| field.take(name, &mut given));
                given.finish()
            })?;
        }
        groups.finish()?;
        Ok(policy)
    }

    /// As it is shown and stored: camelCase, without absent fields.
    pub fn to_json(&self) -> String {
        let mut policy = ObjectText::default();
        for (name, fields) in self.clone().groups() {
            let mut group = ObjectText::default();
            fields.iter().for_each(|(name, field)| group.push_some(name, field.text()));
            policy.push_some(name, Some(group.close()).filter(|group| group != "{}"));
        }
        policy.close()
    }

    /// Whether what was said can be searched.
    pub fn indexes(&self) -> bool {
        self.index == Some(true)
    }

    /// Whether it has rules for sessions.
    pub fn judges_sessions(&self) -> bool {
        let spans = [&self.idle_ttl, &self.session_age, &self.event_age, &self.stub_age];
        spans.into_iter().any(Option::is_some) || self.max_count.is_some()
    }

    /// The actions that are due for a session under this policy.
    pub fn judge(&self, session: &Kept) -> Due {
        let old = |span: &Option<Span>, time: Option<Micros>| {
            let since = session.now.plus(-span.as_ref()?.micros);
            time.is_some_and(|time| time < since).then_some(since)
        };
        Due {
            expired: self.expires(session),
            count: self.base(session, 0) > session.base,
            // Not if the last events to keep are all of them.
            events_before: old(&self.event_age, session.first_commit)
                .filter(|_| self.base(session, session.revision) > session.base),
            stubs_before: old(&self.stub_age, session.first_stub),
        }
    }

    /// The revision at which a session is to begin if its events up to `old` are too old.
    pub fn base(&self, session: &Kept, old: i64) -> i64 {
        let by_count = self.max_count.map_or(0, |most| session.revision - most);
        let most = session.revision - self.keep_last.unwrap_or(0);
        new_base(by_count.max(old).min(most), session.base, session.revision)
    }

    /// Whether a session is to be removed.
    fn expires(&self, session: &Kept) -> bool {
        let after = |span: &Option<Span>, since: i64| {
            span.as_ref().is_some_and(|span| since.saturating_add(span.micros) <= session.now.0)
        };
        // Only the day of the last commit is known; its end is certainly after the commit.
        let idle_since = session.active_day.saturating_add(1).saturating_mul(DAY_MICROS);
        !session.has_expiry && (after(&self.idle_ttl, idle_since) || after(&self.session_age, session.create_time.0))
    }
}

/// The stored policy of an app; revision 0 and none, if there never was one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredPolicy {
    /// Counts changes, removals included.
    pub revision: i64,
    pub policy: Option<Policy>,
}

/// A change of an app's policy; `None` removes it.
#[derive(Debug)]
pub struct PolicyWrite {
    pub app: AppName,
    pub policy: Option<Policy>,
    pub if_match: Option<IfMatch>,
    /// Only if there is none.
    pub if_absent: bool,
}

impl PolicyWrite {
    /// The policy to store; `None` if it is stored already.
    pub fn decide(&self, now: &StoredPolicy) -> Result<Option<StoredPolicy>, Mismatch> {
        let holds = self.if_match.as_ref().is_none_or(|if_match| if_match.holds_for_scope(now.revision));
        if !holds {
            return Err(Mismatch::of_scope(now.revision, Vec::new()));
        }
        if self.if_absent && now.policy.is_some() {
            let there = FieldError::new("policy", "the app has one");
            return Err(Mismatch::of_scope(now.revision, vec![there]));
        }
        let is_new = self.policy != now.policy;
        Ok(is_new.then(|| StoredPolicy { revision: now.revision + 1, policy: self.policy.clone() }))
    }
}

/// The position of a walk through the sessions of an app, in the order of their creation: after this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walked {
    pub create_time: Micros,
    pub key: SessionKey,
}

/// A step of a walk through the sessions of an app that removes what a policy says, or only counts it in a dry run.
#[derive(Debug)]
pub struct Walk {
    pub app: AppName,
    pub policy: Policy,
    pub after: Option<Walked>,
    pub dry_run: bool,
    pub now: Micros,
}

/// The result of a step.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub counts: Counts,
    /// The same step has more to remove.
    pub again: bool,
    /// Where to continue; `None` at the end.
    pub next: Option<Walked>,
}

/// Counts of what a policy removes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Sessions that expire.
    pub expired: u64,
    /// Other sessions that lose events, and the number of these events.
    pub trimmed: u64,
    pub events: u64,
}

impl Counts {
    pub fn add(&mut self, more: Self) {
        self.expired += more.expired;
        self.trimmed += more.trimmed;
        self.events += more.events;
    }
}

/// A step of a walk through the shared scopes of an app that removes their history.
#[derive(Debug)]
pub struct Forget {
    pub app: AppName,
    /// How long history is kept.
    pub age_micros: i64,
    pub from: Scopes,
    pub now: Micros,
}

/// Shared scopes of an app, in the order of a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scopes {
    All,
    /// Those of users, after this one.
    OfUsers(Option<UserId>),
}

/// The data of a session that a policy depends on.
#[derive(Debug, Clone, Copy)]
pub struct Kept {
    /// By the clock that decides about expiry.
    pub now: Micros,
    pub create_time: Micros,
    /// The day of the last commit, in whole days since 1970.
    pub active_day: i64,
    /// It has an expiry of its own.
    pub has_expiry: bool,
    pub revision: i64,
    /// Where its log begins.
    pub base: i64,
    /// When the first event of its log was committed.
    pub first_commit: Option<Micros>,
    /// When the first event with a stub was committed.
    pub first_stub: Option<Micros>,
}

/// The actions that are due for a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// To be removed; then nothing else is due.
    pub expired: bool,
    /// To be trimmed, as it has too many events.
    pub count: bool,
    /// To be trimmed: it has events that were committed before this time.
    pub events_before: Option<Micros>,
    /// Its stubs of events that were committed before this time are to be removed.
    pub stubs_before: Option<Micros>,
}

impl Due {
    pub fn trims(&self) -> bool {
        self.count || self.events_before.is_some()
    }

    pub fn is_any(&self) -> bool {
        self.expired || self.trims() || self.stubs_before.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(text: &str) -> Policy {
        Policy::parse(Json::trusted(text)).unwrap()
    }

    #[test]
    fn it_is_shown_as_it_was_given() {
        for text in [
            "{}",
            r#"{"sessions":{"idleTtl":"30d","maxAge":86400}}"#,
            r#"{"limits":{"sessionsPerUser":100,"eventsPerSession":9007199254740991}}"#,
            r#"{"events":{"keepLast":0},"limits":{"eventsPerSession":1,"artifactBytesPerUser":1}}"#,
            r#"{"sessions":{"idleTtl":"86400.5s"},"events":{"maxAge":"7d","maxCount":1,"keepLast":0,"stubsMaxAge":1e6},"sharedHistory":{"maxAge":"90d"},"artifacts":{"keepVersions":3}}"#,
        ] {
            assert_eq!(policy(text).to_json(), text);
        }
        let snake = r#"{"sessions":{"idle_ttl":"30d","max_age":null},"events":{},"shared_history":{"max_age":"2d"}}"#;
        assert_eq!(policy(snake).to_json(), r#"{"sessions":{"idleTtl":"30d"},"sharedHistory":{"maxAge":"2d"}}"#);
        assert_eq!(policy(r#"{"sessions":{"idleTtl":"30d"}}"#).idle_ttl.unwrap().micros, 30 * DAY_MICROS);
    }

    #[test]
    fn every_fault_is_named() {
        let text = r#"{"sessions":{"idleTtl":86399,"maxAge":"1h","ttl":1},"events":{"maxAge":"0d","maxCount":0,
            "keepLast":-1,"stubsMaxAge":"99999999999999999999d"},"sharedHistory":3,"x":1}"#;
        let Err(Rejected::Invalid(errors)) = Policy::parse(Json::trusted(text)) else { panic!("refused") };
        let mut names: Vec<&str> = errors.iter().map(|error| error.field.as_str()).collect();
        names.sort_unstable();
        let expected = [
            "/events/keepLast",
            "/events/maxAge",
            "/events/maxCount",
            "/events/stubsMaxAge",
            "/sessions/idleTtl",
            "/sessions/maxAge",
            "/sessions/ttl",
            "/sharedHistory",
            "x",
        ];
        assert_eq!(names, expected);
        for bad in ["0", "-1", "1.5", "\"1\"", "9007199254740992", "true"] {
            for name in ["sessionsPerUser", "eventsPerSession", "events_per_session", "artifactBytesPerUser"] {
                let text = format!(r#"{{"limits":{{"{name}":{bad}}}}}"#);
                assert!(Policy::parse(Json::trusted(&text)).is_err(), "{text}");
            }
        }
        assert!(Policy::parse(Json::trusted(r#"{"limits":{"events":1}}"#)).is_err());
        for count in ["1.5", "1e20", "\"1\"", "9223372036854775808"] {
            let text = format!(r#"{{"events":{{"maxCount":{count}}}}}"#);
            assert!(Policy::parse(Json::trusted(&text)).is_err(), "{count}");
        }
    }

    fn session(now: i64) -> Kept {
        Kept {
            now: Micros(now),
            create_time: Micros(0),
            active_day: 9,
            has_expiry: false,
            revision: 0,
            base: 0,
            first_commit: None,
            first_stub: None,
        }
    }

    #[test]
    fn a_session_is_idle_from_the_end_of_its_day_on() {
        let idle = policy(r#"{"sessions":{"idleTtl":"2d"}}"#);
        assert!(!idle.judge(&session(12 * DAY_MICROS - 1)).expired);
        assert!(idle.judge(&session(12 * DAY_MICROS)).expired);
        assert!(!idle.judge(&Kept { has_expiry: true, ..session(100 * DAY_MICROS) }).expired);
        let old = policy(r#"{"sessions":{"maxAge":"2d"}}"#);
        assert!(!old.judge(&session(2 * DAY_MICROS - 1)).expired);
        assert!(old.judge(&session(2 * DAY_MICROS)).expired);
        assert!(!policy(r#"{"events":{"maxCount":1}}"#).judge(&session(1000 * DAY_MICROS)).is_any());
    }

    #[test]
    fn events_go_by_count_and_by_age_but_for_the_last() {
        let log = |base, revision| Kept { base, revision, first_commit: Some(Micros(0)), ..session(10 * DAY_MICROS) };
        let base = |text: &str, kept: Kept, old| policy(text).base(&kept, old);
        for (text, base_then, revision, old, expected) in [
            (r#"{"events":{"maxCount":3}}"#, 0, 10, 0, 7),
            (r#"{"events":{"maxCount":3}}"#, 8, 10, 0, 8),
            (r#"{"events":{"maxCount":9223372036854775807}}"#, 0, 10, 0, 0),
            (r#"{"events":{"maxCount":3,"keepLast":5}}"#, 0, 10, 10, 5),
            (r#"{"events":{"maxAge":"1d","keepLast":5}}"#, 2, 10, 3, 3),
            (r#"{"events":{"maxAge":"1d","keepLast":9223372036854775807}}"#, 0, 10, 10, 0),
            (r#"{"events":{"maxAge":"1d","maxCount":4}}"#, 0, 10, 8, 8),
        ] {
            assert_eq!(base(text, log(base_then, revision), old), expected, "{text}");
        }
        // Alone, it trims nothing.
        assert!(!policy(r#"{"events":{"keepLast":1}}"#).judge(&log(0, 10)).is_any());
        let aged = policy(r#"{"events":{"maxAge":"1d","keepLast":5,"stubsMaxAge":"1s"}}"#);
        assert_eq!(aged.judge(&log(0, 10)).events_before, Some(Micros(9 * DAY_MICROS)));
        for kept in [log(5, 10), log(0, 5), Kept { first_commit: Some(Micros(9 * DAY_MICROS)), ..log(0, 10) }] {
            assert!(!aged.judge(&kept).is_any(), "{kept:?}");
        }
        let stubs = Kept { first_stub: Some(Micros(0)), ..log(5, 10) };
        assert_eq!(aged.judge(&stubs).stubs_before, Some(Micros(10 * DAY_MICROS - 1_000_000)));
    }
}
