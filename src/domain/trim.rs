//! Trimming: a session's log begins at a later revision. Before it there are only the base state, and stubs that recognise
//! retries (contract, section 12).

use super::Rejected;
use super::envelope::Fields;
use super::guard::Guard;
use super::ids::SessionKey;
use super::json::Json;
use super::tag::Tag;
use super::time::{Micros, Timestamp};

/// The target of a trim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The log begins with this sequence.
    Before(i64),
    /// The last so many events stay.
    Keep(i64),
    /// The log begins with the first event that was not committed earlier.
    BeforeTime(Micros),
}

impl Cut {
    /// Reads one of `{beforeSequence}`, `{keepLast}` and `{beforeTime}`. Integers may have any length.
    ///
    /// # Errors
    /// None or several of them, a negative number, another type, or any other field.
    pub fn parse(json: Json<'_>) -> Result<Self, Rejected> {
        let mut fields = Fields::of(json, "")?;
        let integer = |json: Json<'_>| json.as_count().ok_or("must be an integer of at least 0");
        let before = fields.take_with("beforeSequence", integer).map(Self::Before);
        let keep = fields.take_with("keepLast", integer).map(Self::Keep);
        let time = fields.take_with("beforeTime", |value| match Timestamp::parse(value)?.micros {
            time if time >= Micros(0) => Ok(Self::BeforeTime(time)),
            _ => Err("must not be before 1970"),
        });
        fields.finish()?;
        let mut given = [before, keep, time].into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(cut), None) => Ok(cut),
            _ => Err(Rejected::field("", "takes one of `beforeSequence`, `keepLast` and `beforeTime`")),
        }
    }
}

/// The new base of a session for a wanted one: it never goes back, nor beyond the last revision.
pub fn new_base(wanted: i64, base: i64, revision: i64) -> i64 {
    wanted.clamp(0, revision).max(base)
}

/// A trim of a session. It is idempotent.
#[derive(Debug)]
pub struct Trim {
    pub key: SessionKey,
    pub cut: Cut,
    pub guard: Guard,
    pub now: Micros,
}

/// A session after a trim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trimmed {
    pub base: i64,
    /// The number of events that this trim removed.
    pub events: i64,
    /// The tag after it.
    pub tag: Tag,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::envelope::parse_body;

    fn parse(text: &str) -> Result<Cut, Rejected> {
        Cut::parse(parse_body(text.as_bytes())?)
    }

    #[test]
    fn a_cut_is_one_of_three() {
        assert_eq!(parse(r#"{"beforeSequence":7}"#), Ok(Cut::Before(7)));
        assert_eq!(parse(r#"{"keep_last":0,"beforeTime":null}"#), Ok(Cut::Keep(0)));
        assert_eq!(parse(r#"{"beforeTime":"1970-01-01T00:00:02Z"}"#), Ok(Cut::BeforeTime(Micros(2_000_000))));
        assert_eq!(parse(r#"{"keepLast":1.0}"#), Ok(Cut::Keep(1)));
        for beyond in ["9".repeat(300), "1e30".to_owned()] {
            assert_eq!(parse(&format!(r#"{{"keepLast":{beyond}}}"#)), Ok(Cut::Keep(i64::MAX)));
        }
        for bad in [
            "{}",
            "[]",
            r#"{"keepLast":-1}"#,
            r#"{"keepLast":1.5}"#,
            r#"{"keepLast":"1"}"#,
            r#"{"keepLast":1,"beforeSequence":1}"#,
            r#"{"beforeTime":true}"#,
            r#"{"beforeTime":-1}"#,
            r#"{"beforeTime":-1e-9}"#,
            r#"{"beforeTime":"1969-12-31T23:59:59Z"}"#,
            r#"{"keepFirst":1}"#,
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_base_stays_within_the_log_and_never_goes_back() {
        for (wanted, base, revision, new) in
            [(3, 0, 5, 3), (-1, 0, 5, 0), (9, 0, 5, 5), (2, 3, 5, 3), (i64::MAX, 3, 5, 5), (i64::MIN, 0, 0, 0)]
        {
            assert_eq!(new_base(wanted, base, revision), new);
        }
    }
}
