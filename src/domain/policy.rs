//! How long the data of an app is kept (contract, section 12).
//!
//! A [`Policy`] is a pure rule: what is due is decided from times and counts that the store read. Only times of commits count,
//! not those that events say of themselves.

use super::envelope::Fields;
use super::ids::{AppName, SessionKey};
use super::json::{Json, Kind, ObjectText, RawJson};
use super::resolve::Mismatch;
use super::session::parse_ttl;
use super::tag::IfMatch;
use super::time::Micros;
use super::{FieldError, Rejected};

/// A day, in microseconds.
pub const DAY: i64 = 24 * 3600 * 1_000_000;

/// A length of time, as the client wrote it.
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

/// As [`parse_ttl`] says it.
const TOO_LONG: &str = "is too long";

const NOT_A_SPAN: &str = "must be a positive number of seconds, or a string like \"3600s\" or \"30d\"";

/// Whole days: digits.
fn days_of(text: &str) -> Result<i64, &'static str> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(NOT_A_SPAN);
    }
    // At most what seconds can say, too.
    let seconds = text.parse::<i64>().ok().and_then(|days| days.checked_mul(DAY / 1_000_000)).ok_or(TOO_LONG)?;
    let micros = Micros::from_number(&seconds.to_string()).map_err(|_| TOO_LONG)?;
    if micros.0 > 0 { Ok(micros.0) } else { Err(NOT_A_SPAN) }
}

/// What the sweep removes of an app. Of what is `None`, nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Sessions go when nothing was committed to them for so long. Those with an expiry of their own stay until it.
    pub idle_ttl: Option<Span>,
    /// Sessions go so long after their creation. Those with an expiry of their own stay until it.
    pub session_age: Option<Span>,
    pub event_age: Option<Span>,
    pub max_count: Option<i64>,
    /// So many of the last events stay, whatever the others say.
    pub keep_last: Option<i64>,
    pub stub_age: Option<Span>,
    pub shared_age: Option<Span>,
}

impl Policy {
    /// Reads the body of a request, or a policy as it is stored.
    ///
    /// # Errors
    /// Every field at fault.
    pub fn parse(json: Json<'_>) -> Result<Self, Rejected> {
        let mut fields = Fields::of(json, "")?;
        let mut policy = Self::default();
        if let Some(sessions) = fields.take("sessions") {
            let pointer = fields.pointer("sessions");
            let read = policy.take_sessions(sessions, &pointer);
            fields.absorb(read)?;
        }
        if let Some(events) = fields.take("events") {
            let pointer = fields.pointer("events");
            let read = policy.take_events(events, &pointer);
            fields.absorb(read)?;
        }
        if let Some(shared) = fields.take("sharedHistory") {
            let pointer = fields.pointer("sharedHistory");
            let read = policy.take_shared(shared, &pointer);
            fields.absorb(read)?;
        }
        fields.finish()?;
        Ok(policy)
    }

    fn take_sessions(&mut self, json: Json<'_>, pointer: &str) -> Result<(), Rejected> {
        let mut fields = Fields::of(json, pointer)?;
        self.idle_ttl = span(&mut fields, "idleTtl", DAY);
        self.session_age = span(&mut fields, "maxAge", DAY);
        fields.finish()
    }

    fn take_events(&mut self, json: Json<'_>, pointer: &str) -> Result<(), Rejected> {
        let mut fields = Fields::of(json, pointer)?;
        self.event_age = span(&mut fields, "maxAge", DAY);
        self.max_count = count(&mut fields, "maxCount", 1, "must be an integer of at least 1");
        self.keep_last = count(&mut fields, "keepLast", 0, "must be an integer of at least 0");
        self.stub_age = span(&mut fields, "stubsMaxAge", 0);
        fields.finish()
    }

    fn take_shared(&mut self, json: Json<'_>, pointer: &str) -> Result<(), Rejected> {
        let mut fields = Fields::of(json, pointer)?;
        self.shared_age = span(&mut fields, "maxAge", DAY);
        fields.finish()
    }

    /// As it is shown and stored: camelCase, without what is absent, times as they were given.
    pub fn to_json(&self) -> String {
        let mut policy = ObjectText::default();
        let numbers = |number: Option<i64>| number.map(|number| number.to_string());
        let spans = |span: &Option<Span>| span.as_ref().map(|span| span.text.text().to_owned());
        let groups = [
            ("sessions", vec![("idleTtl", spans(&self.idle_ttl)), ("maxAge", spans(&self.session_age))]),
            (
                "events",
                vec![
                    ("maxAge", spans(&self.event_age)),
                    ("maxCount", numbers(self.max_count)),
                    ("keepLast", numbers(self.keep_last)),
                    ("stubsMaxAge", spans(&self.stub_age)),
                ],
            ),
            ("sharedHistory", vec![("maxAge", spans(&self.shared_age))]),
        ];
        for (name, fields) in groups {
            let mut group = ObjectText::default();
            let mut is_empty = true;
            for (name, text) in fields {
                if let Some(text) = text {
                    group.push(name, &text);
                    is_empty = false;
                }
            }
            if !is_empty {
                policy.push(name, &group.close());
            }
        }
        policy.close()
    }

    /// Whether it removes sessions.
    pub fn expires_sessions(&self) -> bool {
        self.idle_ttl.is_some() || self.session_age.is_some()
    }

    /// Whether a session is to be removed.
    pub fn expires(&self, session: &Kept) -> bool {
        let after = |span: &Option<Span>, since: i64| {
            span.as_ref().is_some_and(|span| since.saturating_add(span.micros) <= session.now.0)
        };
        // Of the day of the last commit only its end is certain to be after the commit.
        let idle_since = session.active_day.saturating_add(1).saturating_mul(DAY);
        !session.has_expiry && (after(&self.idle_ttl, idle_since) || after(&self.session_age, session.create_time.0))
    }
}

/// The policy of an app as it is stored; revision 0 and none, if there never was one.
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
    /// What is to be stored; `None` if it is there already.
    ///
    /// # Errors
    /// The precondition does not hold.
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

#[derive(Debug)]
pub enum PolicyOutcome {
    /// What is stored now.
    Done(StoredPolicy),
    RevisionMismatch(Mismatch),
}

/// Where a walk through the sessions of an app stands: after this one, in the order of their creation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walked {
    pub create_time: Micros,
    pub key: SessionKey,
}

/// A part of a walk that finds what a policy removes, and removes it unless it is a dry run.
#[derive(Debug)]
pub struct Walk {
    pub app: AppName,
    pub policy: Policy,
    pub after: Option<Walked>,
    pub dry_run: bool,
    pub now: Micros,
}

/// What a part of a walk has found; `next` is `None` at the end.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub sessions: u64,
    pub next: Option<Walked>,
}

/// What a policy judges a session by.
#[derive(Debug, Clone, Copy)]
pub struct Kept {
    /// By the clock that judges expiry.
    pub now: Micros,
    pub create_time: Micros,
    /// The day of the last commit, in whole days since 1970.
    pub active_day: i64,
    /// It has an expiry of its own.
    pub has_expiry: bool,
}

fn span(fields: &mut Fields<'_>, name: &str, least: i64) -> Option<Span> {
    let parsed = Span::parse(fields.take(name)?);
    match parsed {
        Ok(span) if span.micros >= least => return Some(span),
        Ok(_) => fields.refuse(name, "must be at least a day"),
        Err(message) => fields.refuse(name, message),
    }
    None
}

fn count(fields: &mut Fields<'_>, name: &str, least: i64, message: &'static str) -> Option<i64> {
    let json = fields.take(name)?;
    let number = (json.kind() == Kind::Number).then(|| json.text().parse().ok()).flatten();
    let count = number.filter(|number| *number >= least);
    if count.is_none() {
        fields.refuse(name, message);
    }
    count
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
            r#"{"sessions":{"idleTtl":"86400.5s"},"events":{"maxAge":"7d","maxCount":1,"keepLast":0,"stubsMaxAge":1e6},"sharedHistory":{"maxAge":"90d"}}"#,
        ] {
            assert_eq!(policy(text).to_json(), text);
        }
        let snake = r#"{"sessions":{"idle_ttl":"30d","max_age":null},"events":{},"shared_history":{"max_age":"2d"}}"#;
        assert_eq!(policy(snake).to_json(), r#"{"sessions":{"idleTtl":"30d"},"sharedHistory":{"maxAge":"2d"}}"#);
        assert_eq!(policy(r#"{"sessions":{"idleTtl":"30d"}}"#).idle_ttl.unwrap().micros, 30 * DAY);
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
        for count in ["1.0", "1e2", "\"1\"", "9223372036854775808"] {
            let text = format!(r#"{{"events":{{"maxCount":{count}}}}}"#);
            assert!(Policy::parse(Json::trusted(&text)).is_err(), "{count}");
        }
    }

    #[test]
    fn a_session_is_idle_from_the_end_of_its_day_on() {
        let session = |now: i64| Kept { now: Micros(now), create_time: Micros(0), active_day: 9, has_expiry: false };
        let idle = policy(r#"{"sessions":{"idleTtl":"2d"}}"#);
        assert!(!idle.expires(&session(12 * DAY - 1)));
        assert!(idle.expires(&session(12 * DAY)));
        assert!(!idle.expires(&Kept { has_expiry: true, ..session(100 * DAY) }));
        let old = policy(r#"{"sessions":{"maxAge":"2d"}}"#);
        assert!(!old.expires(&session(2 * DAY - 1)));
        assert!(old.expires(&session(2 * DAY)));
        assert!(!policy(r#"{"events":{"maxCount":1}}"#).expires(&session(1000 * DAY)));
    }
}
