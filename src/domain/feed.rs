//! The change feed: what was committed, as one sequence that is the same for every reader.

use std::fmt;

use sha2::{Digest as _, Sha256};

use super::access::Names;
use super::event::StoredEvent;
use super::ids::{AppName, SessionId, UserId, UserKey};
use super::time::Micros;

/// Declares the kinds of changes with their numbers in the database and their names on the wire.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident, $number:literal, $name:literal;)*) => {
        /// What a change is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ChangeKind {
            $($(#[$doc])* $kind,)*
        }

        impl ChangeKind {
            /// All names, as requests write them.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            pub fn number(self) -> i64 {
                match self { $(Self::$kind => $number),* }
            }

            /// `None`: of a later version.
            pub fn of_number(number: i64) -> Option<Self> {
                match number { $($number => Some(Self::$kind),)* _ => None }
            }

            pub fn parse(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$kind),)* _ => None }
            }

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$kind => $name),* }
            }
        }
    };
}

kinds! {
    SessionCreated, 1, "session.created";
    /// Events of one session, of one commit.
    Events, 2, "events";
    SessionUpdated, 3, "session.updated";
    SessionTrimmed, 4, "session.trimmed";
    SessionDeleted, 5, "session.deleted";
    UserState, 6, "user.state";
    AppState, 7, "app.state";
    UserErased, 8, "user.erased";
}

/// Where a reader stands: behind the changes of a tick up to a row, or behind all of them. A tick is what became visible at
/// once: on PostgreSQL between two snapshots, on SQLite one change.
///
/// Written `TICK-PROOF` or `TICK-ROW-PROOF`, of at most 49 characters. The proof is that of the tick ([`Tick::proof`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedPosition {
    pub tick: i64,
    /// `None`: behind the whole tick.
    pub row: Option<i64>,
    pub proof: u32,
}

impl FeedPosition {
    /// # Errors
    /// It is no position.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const FORM: &str = "must be a position of a feed, `start` or `now`";
        let parts: Vec<&str> = text.split('-').collect();
        let (tick, row, proof) = match parts[..] {
            [tick, proof] => (tick, None, proof),
            [tick, row, proof] => (tick, Some(row), proof),
            _ => return Err(FORM),
        };
        let number = |digits: &str| {
            let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            is_number.then(|| digits.parse().ok()).flatten().ok_or(FORM)
        };
        let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if proof.len() != 8 || !proof.bytes().all(is_hex) {
            return Err(FORM);
        }
        let proof = u32::from_str_radix(proof, 16).map_err(|_| FORM)?;
        Ok(Self { tick: number(tick)?, row: row.map(number).transpose()?, proof })
    }
}

impl fmt::Display for FeedPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row {
            None => write!(f, "{}-{:08x}", self.tick, self.proof),
            Some(row) => write!(f, "{}-{row}-{:08x}", self.tick, self.proof),
        }
    }
}

/// A tick, with what makes it this one and no other of its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tick {
    pub number: i64,
    pub time: Micros,
    /// What was visible: as the database writes it.
    pub snapshot: String,
}

impl Tick {
    /// What a position says of the tick: after a failover or a restore that lost it, another one of its number has another proof.
    pub fn proof(&self) -> u32 {
        let text = format!("{} {} {}", self.number, self.time.0, self.snapshot);
        let [a, b, c, d, ..] = <[u8; 32]>::from(Sha256::digest(text));
        u32::from_be_bytes([a, b, c, d])
    }

    /// The position behind all of it.
    pub fn end(&self) -> FeedPosition {
        FeedPosition { tick: self.number, row: None, proof: self.proof() }
    }

    /// The position behind one of its rows.
    pub fn at(&self, row: i64) -> FeedPosition {
        FeedPosition { row: Some(row), ..self.end() }
    }
}

/// Whose changes a feed has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FeedScope {
    All,
    App(AppName),
    User(UserKey),
}

/// Where a reader begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedBegin {
    /// At the oldest change that is kept.
    Start,
    Now,
    Behind(FeedPosition),
}

/// What a reader asks for.
#[derive(Debug, Clone)]
pub struct FeedQuery {
    pub scope: FeedScope,
    /// Of which apps and users, beside the scope.
    pub apps: Names,
    pub users: Names,
    pub begin: FeedBegin,
    /// `None`: all.
    pub kinds: Option<Vec<ChangeKind>>,
    /// With events and values.
    pub with_content: bool,
    pub max_rows: usize,
    pub max_bytes: usize,
}

impl FeedQuery {
    /// Whether it asks for changes of this kind and these names.
    pub fn wants(&self, kind: ChangeKind, app: &AppName, user: Option<&UserId>) -> bool {
        self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind))
            && self.apps.allows(app.as_str())
            && user.map_or_else(
                // State of the app is for whoever may see one of its users; that a user was erased, for whoever sees them all.
                || kind == ChangeKind::AppState || self.users.is_all(),
                |user| self.users.allows(user.as_str()),
            )
    }
}

/// A change.
#[derive(Debug, Clone)]
pub struct Change {
    pub position: FeedPosition,
    pub time: Micros,
    pub kind: ChangeKind,
    pub app: AppName,
    pub user: Option<UserId>,
    /// The session, and its incarnation as entity tags have it.
    pub session: Option<(SessionId, i64)>,
    /// Of events, their sequences; of shared state, its revisions. The last is also the revision of a creation, and the base of a trim.
    pub first: i64,
    pub last: i64,
    /// What else is known, as [`Committed`](super::writes::Committed) has it.
    pub detail: Option<String>,
    pub content: Content,
}

/// What a change holds, as it is now.
#[derive(Debug, Clone, Default)]
pub enum Content {
    /// It was not asked for, or there is none.
    #[default]
    None,
    Events {
        events: Vec<StoredEvent>,
        gone: bool,
    },
    /// Keys without a prefix. `gone`: a part of it is not known any more.
    State {
        set: Vec<(String, String)>,
        removed: Vec<String>,
        gone: bool,
    },
}

/// What a reader gets.
#[derive(Debug, Clone)]
pub enum FeedPage {
    Changes {
        changes: Vec<Change>,
        /// Behind all of them.
        position: FeedPosition,
        /// There was nothing behind it.
        up_to_date: bool,
    },
    /// The position is not in the feed, or not any more; this is the oldest that is.
    Gone { oldest: FeedPosition },
    /// Changes are not recorded.
    Disabled,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn kinds_are_read_as_they_were_written() {
        for name in ChangeKind::NAMES {
            let kind = ChangeKind::parse(name).unwrap();
            assert_eq!((kind.as_str(), ChangeKind::of_number(kind.number())), (*name, Some(kind)));
        }
        assert_eq!(ChangeKind::of_number(0), None);
        assert_eq!(ChangeKind::parse("session"), None);
    }

    #[test]
    fn another_tick_has_another_proof() {
        let tick = Tick { number: 7, time: Micros(1), snapshot: "10:12:10".to_owned() };
        for other in [
            Tick { number: 8, ..tick.clone() },
            Tick { time: Micros(2), ..tick.clone() },
            Tick { snapshot: "10:13:10".to_owned(), ..tick.clone() },
        ] {
            assert_ne!(tick.proof(), other.proof());
        }
    }

    #[test]
    fn what_is_no_position_is_refused() {
        for bad in [
            "",
            "1",
            "1-",
            "1-2",
            "-1-12345678",
            "1-1234567",
            "1-123456789",
            "1-1234567G",
            "1-2-3-12345678",
            "+1-12345678",
        ] {
            assert!(FeedPosition::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_position_is_read_as_it_was_written(tick in 0..i64::MAX, row in proptest::option::of(0..i64::MAX), proof: u32) {
            let position = FeedPosition { tick, row, proof };
            let text = position.to_string();
            prop_assert!(text.len() <= 64);
            prop_assert_eq!(FeedPosition::parse(&text), Ok(position));
        }

        #[test]
        fn any_text_is_a_position_or_an_error(text in "[-0-9a-f]{0,60}|.{0,20}") {
            let _ = FeedPosition::parse(&text);
        }
    }
}
