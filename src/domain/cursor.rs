//! Positions of readers in an event log, which can be verified (contract, section 9).

use std::fmt;

use sha2::{Digest as _, Sha256};

use super::event::{StoredEvent, redaction_of};
use super::number::of_digits;
use super::session::SessionInfo;
use super::tag::Timeline;

/// The mark of an event in a cursor: the beginning of a digest of its stored text.
pub type EventMark = [u8; 4];

/// The mark of the beginning of a log, where there is no event.
pub const NO_EVENT: EventMark = [0; 4];

/// The mark of an event.
pub fn mark(event: &StoredEvent) -> EventMark {
    let [a, b, c, d, ..] = <[u8; 32]>::from(Sha256::digest(event.body.as_bytes()));
    [a, b, c, d]
}

/// A position in the log of one incarnation: after the event with this sequence and this mark.
///
/// Written `SEQUENCE-INCARNATION-DIGEST8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    pub sequence: i64,
    /// The mark of the incarnation, as in entity tags.
    pub incarnation: i64,
    pub event: EventMark,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:x}-{:08x}", self.sequence, self.incarnation, u32::from_be_bytes(self.event))
    }
}

/// The position from which a reader continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// After the event with this sequence, without a check. A number beyond 64 bits becomes the largest one.
    After(i64),
    At(Cursor),
}

impl Position {
    /// # Errors
    /// Neither a sequence nor a cursor.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const FORM: &str = "must be a sequence, or the id of an event of a watch";
        let mut parts = text.split('-');
        let sequence = parts.next().and_then(of_digits).ok_or(FORM)?;
        match (parts.next(), parts.next(), parts.next()) {
            (None, ..) => Ok(Self::After(sequence)),
            (Some(incarnation), Some(event), None) => {
                let is_hex = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
                if !is_hex(incarnation) || !is_hex(event) || event.len() != 8 {
                    return Err(FORM);
                }
                let incarnation = u64::from_str_radix(incarnation, 16).map_err(|_| FORM)?.cast_signed();
                let event = u32::from_str_radix(event, 16).map_err(|_| FORM)?.to_be_bytes();
                Ok(Self::At(Cursor { sequence, incarnation, event }))
            }
            _ => Err(FORM),
        }
    }

    pub fn sequence(&self) -> i64 {
        match self {
            Self::After(sequence) => *sequence,
            Self::At(cursor) => cursor.sequence,
        }
    }

    /// Whether the log of this session has this position. `event` is the session's event with the position's sequence, if there
    /// is one.
    pub fn is_in(&self, head: &SessionInfo, event: Option<&StoredEvent>) -> bool {
        let sequence = self.sequence();
        // The last trimmed event cannot be compared, nor can a redacted one.
        let is_base = sequence == head.base_revision;
        let is_there = is_base
            || sequence > head.base_revision
                && sequence <= head.revision
                && event.is_some_and(|event| event.sequence == sequence);
        is_there
            && match self {
                Self::After(_) => true,
                Self::At(cursor) => {
                    let is_emptied =
                        is_base && sequence > 0 || event.is_some_and(|event| redaction_of(&event.body).is_some());
                    let is_event = is_emptied || cursor.event == event.map_or(NO_EVENT, mark);
                    is_of(head, cursor.incarnation) && is_event
                }
            }
    }
}

/// Whether a mark is the session's, on this or an earlier timeline: a failover need not have lost the event, and the event's mark
/// is compared.
fn is_of(head: &SessionInfo, mark: i64) -> bool {
    let Timeline(now) = head.timeline;
    u32::try_from(mark ^ head.incarnation).is_ok_and(|then| then <= now)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn positions_are_sequences_or_cursors() {
        assert_eq!(Position::parse("41"), Ok(Position::After(41)));
        assert_eq!(Position::parse("0"), Ok(Position::After(0)));
        assert_eq!(Position::parse("99999999999999999999999999"), Ok(Position::After(i64::MAX)));
        let cursor = Cursor { sequence: 41, incarnation: 0x10c7_14af, event: [0x9a, 0, 0, 1] };
        assert_eq!(cursor.to_string(), "41-10c714af-9a000001");
        assert_eq!(Position::parse(&cursor.to_string()), Ok(Position::At(cursor)));
        for bad in [
            "",
            "-1",
            "+1",
            " 1",
            "1.0",
            "x",
            "now",
            "1-",
            "1-a",
            "1-a-",
            "1-a-1234567",
            "1-a-123456789",
            "1-A-00000000",
            "1-a-0000000g",
            "1-a-00000000-",
            "1--00000000",
            "-a-00000000",
            "1-10000000000000000-00000000",
            "1-+1-00000000",
            "1-a-+0000000",
            "\u{661}",
        ] {
            assert!(Position::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_cursor_is_read_as_it_was_written(sequence in 0..i64::MAX, incarnation: i64, event: [u8; 4]) {
            let cursor = Cursor { sequence, incarnation, event };
            prop_assert_eq!(Position::parse(&cursor.to_string()), Ok(Position::At(cursor)));
        }

        #[test]
        fn any_text_is_a_position_or_an_error(text in "[-0-9a-f]{0,40}|.{0,20}") {
            if let Ok(position) = Position::parse(&text) {
                prop_assert!(position.sequence() >= 0);
            }
        }
    }
}
