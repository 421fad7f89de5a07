//! How much an app does, as far as a bounded look shows.

use super::ids::{SessionId, UserId};
use super::json::Json;
use super::time::Micros;

/// How many sessions are counted.
pub const COUNTED: i64 = 1000;
/// How many sessions are looked at: those that were updated last.
pub const LOOKED_AT: i64 = 100;
/// How many of their last events.
pub const EVENTS: i64 = 200;
/// The largest event that is looked at for an error, in bytes.
pub const LARGEST: i64 = 16 << 10;
/// How far back.
pub const ACTIVE_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// Up to [`COUNTED`].
    pub sessions: i64,
    pub more_sessions: bool,
    /// Committed in the last [`ACTIVE_MICROS`], in the sessions that were looked at.
    pub events: i64,
    /// There may be more, in what was not looked at.
    pub more_events: bool,
    pub last_error: Option<LastError>,
}

/// An event with an error, which is the last one of its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastError {
    pub user: UserId,
    pub session: SessionId,
    pub event: String,
    pub sequence: i64,
    pub commit_time: Micros,
    pub code: String,
    pub message: Option<String>,
}

/// A session that was looked at.
#[derive(Debug)]
pub struct Looked {
    pub user: UserId,
    pub session: SessionId,
    pub revision: i64,
    /// That of its last event.
    pub commit_time: Micros,
    /// Of its last [`EVENTS`], those committed in the last [`ACTIVE_MICROS`].
    pub events: i64,
    /// Its last event, if it may have an error.
    pub body: Option<String>,
}

impl Activity {
    /// `counted`: the sessions of the app, up to one more than [`COUNTED`]. `looked`: up to [`LOOKED_AT`], latest first.
    pub fn of(counted: i64, looked: Vec<Looked>) -> Self {
        let events = looked.iter().map(|session| session.events).sum();
        let is_full = |session: &Looked| session.events == EVENTS && session.revision > EVENTS;
        let is_cut = looked.len() as i64 == LOOKED_AT && looked.last().is_some_and(|last| last.events > 0);
        let more_events = is_cut || looked.iter().any(is_full);
        let last_error = looked.into_iter().filter_map(Looked::error).max_by_key(|error| error.commit_time);
        Self { sessions: counted.min(COUNTED), more_sessions: counted > COUNTED, events, more_events, last_error }
    }
}

impl Looked {
    fn error(self) -> Option<LastError> {
        let body = self.body?;
        let json = Json::trusted(&body);
        let text = |name| json.get(name).and_then(Json::as_str).map(std::borrow::Cow::into_owned);
        Some(LastError {
            event: text("id")?,
            code: text("errorCode")?,
            message: text("errorMessage"),
            user: self.user,
            session: self.session,
            sequence: self.revision,
            commit_time: self.commit_time,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked(id: &str, revision: i64, events: i64, body: Option<&str>) -> Looked {
        Looked {
            user: UserId::parse("u").unwrap(),
            session: SessionId::parse(id).unwrap(),
            revision,
            commit_time: Micros(revision),
            events,
            body: body.map(str::to_owned),
        }
    }

    #[test]
    fn the_last_error_is_the_latest_of_the_sessions_that_end_with_one() {
        let rows = vec![
            looked("a", 3, 3, Some(r#"{"id":"e3","errorCode":"OLD","errorMessage":"m"}"#)),
            looked("b", 7, 7, Some(r#"{"id":"e7","errorCode":"NEW"}"#)),
            looked("c", 9, 1, Some(r#"{"id":"e9","content":{"text":"\"errorCode\""},"errorCode":null}"#)),
            looked("d", 8, 0, None),
        ];
        let activity = Activity::of(4, rows);
        assert_eq!(
            (activity.sessions, activity.more_sessions, activity.events, activity.more_events),
            (4, false, 11, false)
        );
        let error = activity.last_error.unwrap();
        assert_eq!((error.session.as_str(), &*error.event, &*error.code, error.message), ("b", "e7", "NEW", None));
    }

    #[test]
    fn what_was_not_looked_at_may_have_more() {
        let of = |rows| Activity::of(COUNTED + 1, rows);
        let many = |events: i64| (0..LOOKED_AT).map(|n| looked(&n.to_string(), 9, events, None)).collect();
        assert!(of(many(1)).more_events && !of(many(0)).more_events);
        assert!(of(vec![looked("a", EVENTS + 1, EVENTS, None)]).more_events);
        let whole = of(vec![looked("a", EVENTS, EVENTS, None)]);
        assert_eq!((whole.more_events, whole.sessions, whole.more_sessions), (false, COUNTED, true));
    }
}
