//! The change feed: all commits as one sequence, the same for every reader.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use sha2::{Digest as _, Sha256};

use super::access::Names;
use super::erasure::derived;
use super::event::StoredEvent;
use super::ids::{AppName, SessionId, UserId, UserKey};
use super::time::Micros;
use super::word::read_words;

read_words! {
    /// The kind of a change. Its number in the database is its place here, from 1 on, so that a new one comes last.
    pub enum ChangeKind {
        SessionCreated = "session.created",
        /// Events of one session, of one commit.
        Events = "events",
        SessionUpdated = "session.updated",
        SessionTrimmed = "session.trimmed",
        SessionDeleted = "session.deleted",
        UserState = "user.state",
        AppState = "app.state",
        UserErased = "user.erased",
        ArtifactSaved = "artifact.saved",
        ArtifactDeleted = "artifact.deleted",
        EventRedacted = "event.redacted",
    }
}

impl ChangeKind {
    pub fn number(self) -> i64 {
        self as i64 + 1
    }

    /// `None`: of a later version.
    pub fn of_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }
}

/// The position of a reader: after the changes of a tick up to a row, or after all of them. The changes of a tick became visible
/// together: on PostgreSQL between two snapshots, on SQLite one change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedPlace {
    pub tick: i64,
    /// `None`: after the whole tick. Rows are not negative.
    pub row: Option<i64>,
    /// As of [`Tick::proof`].
    pub proof: u32,
}

impl FeedPlace {
    fn to_bytes(self) -> [u8; PLACE] {
        let mut bytes = [0; PLACE];
        let parts = self.tick.to_be_bytes().into_iter().chain(self.row.unwrap_or(-1).to_be_bytes());
        bytes.iter_mut().zip(parts.chain(self.proof.to_be_bytes())).for_each(|(to, from)| *to = from);
        bytes
    }

    fn of_bytes(bytes: &[u8; PLACE]) -> Option<Self> {
        let (tick, rest) = bytes.split_first_chunk()?;
        let (row, rest) = rest.split_first_chunk()?;
        let row = i64::from_be_bytes(*row);
        let proof = u32::from_be_bytes(*rest.first_chunk()?);
        Some(Self { tick: i64::from_be_bytes(*tick), row: (row >= 0).then_some(row), proof })
    }
}

const PLACE: usize = 20;
const TAG: usize = 12;

/// A [`FeedPlace`] as clients see it: encrypted, because ticks and rows would reveal how much everybody writes. A place has the
/// same text for every reader and in every process; texts do not reveal the order of places. 43 characters of base64url.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedPosition([u8; TAG + PLACE]);

impl FeedPosition {
    /// # Errors
    /// Not a position of any feed.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or("must be a position of a feed, `start` or `now`")
    }
}

impl fmt::Display for FeedPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

/// Encrypts places, with a synthetic IV (as in RFC 5297, with HMAC-SHA256), which needs no randomness.
pub struct FeedKey {
    tag: hmac::Key,
    stream: hmac::Key,
}

impl FeedKey {
    /// The cipher of a database, derived from its salt: the same in all processes, and after a restore.
    pub fn of(salt: &[u8; 32]) -> Self {
        let key = |purpose| hmac::Key::new(hmac::HMAC_SHA256, &derived(salt, purpose));
        Self { tag: key("tag of feed positions"), stream: key("stream of feed positions") }
    }

    pub fn seal(&self, place: &FeedPlace) -> FeedPosition {
        let bytes = place.to_bytes();
        let tag = self.tag(&bytes);
        let mut sealed = [0; TAG + PLACE];
        let parts = tag.into_iter().chain(self.crypt(&tag, bytes));
        sealed.iter_mut().zip(parts).for_each(|(to, from)| *to = from);
        FeedPosition(sealed)
    }

    /// `None`: of another database, or forged.
    pub fn open(&self, position: &FeedPosition) -> Option<FeedPlace> {
        let (tag, rest) = position.0.split_first_chunk::<TAG>()?;
        let bytes = self.crypt(tag, *rest.first_chunk()?);
        // Not constant-time: the answer itself says whether a guess was right.
        (self.tag(&bytes) == *tag).then(|| FeedPlace::of_bytes(&bytes)).flatten()
    }

    fn tag(&self, bytes: &[u8]) -> [u8; TAG] {
        hmac::sign(&self.tag, bytes).as_ref().first_chunk().copied().unwrap_or_default()
    }

    fn crypt(&self, tag: &[u8; TAG], mut bytes: [u8; PLACE]) -> [u8; PLACE] {
        bytes.iter_mut().zip(hmac::sign(&self.stream, tag).as_ref()).for_each(|(byte, key)| *byte ^= key);
        bytes
    }
}

/// A tick, with the data that distinguishes it from another one of its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tick {
    pub number: i64,
    pub time: Micros,
    /// The snapshot, in the database's text form.
    pub snapshot: String,
}

impl Tick {
    /// Identifies the tick in a position: if a failover or a restore lost it, the next one with its number has another proof.
    pub fn proof(&self) -> u32 {
        let text = format!("{} {} {}", self.number, self.time.0, self.snapshot);
        let [a, b, c, d, ..] = <[u8; 32]>::from(Sha256::digest(text));
        u32::from_be_bytes([a, b, c, d])
    }

    /// The place after the whole tick.
    pub fn end(&self) -> FeedPlace {
        FeedPlace { tick: self.number, row: None, proof: self.proof() }
    }

    /// The place after one of its rows.
    pub fn at(&self, row: i64) -> FeedPlace {
        FeedPlace { row: Some(row), ..self.end() }
    }
}

/// The app or user whose changes a feed has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FeedScope {
    All,
    App(AppName),
    User(UserKey),
}

/// The beginning of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedBegin {
    /// At the oldest stored change.
    Start,
    Now,
    Behind(FeedPosition),
}

/// That there is nothing for a reader between the position that it was given and a later one. Nothing is added there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quiet {
    pub position: FeedPosition,
    pub through: FeedPosition,
}

/// The query of a reader.
#[derive(Debug, Clone)]
pub struct FeedQuery {
    pub scope: FeedScope,
    /// The grant's apps and users, beside the scope.
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
    /// A text that two queries have in common if they look for the same.
    pub fn looks_for(&self) -> String {
        let Self { scope, apps, users, begin, kinds, .. } = self;
        format!("{scope:?} {apps:?} {users:?} {begin:?} {kinds:?}")
    }

    /// Whether changes of this kind and these names match.
    pub fn wants(&self, kind: ChangeKind, app: &AppName, user: Option<&UserId>) -> bool {
        self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind))
            && self.apps.allows(app.as_str())
            && user.map_or_else(
                // App state is for clients that may see one of its users; erasures are for clients that may see all of them.
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
    /// The session, and the mark of its incarnation as in entity tags.
    pub session: Option<(SessionId, i64)>,
    /// For events the sequences, for shared state the revisions. `last` is also the revision of a creation, and the base of a
    /// trim.
    pub first: i64,
    pub last: i64,
    /// Further data, as in [`Committed`](super::writes::Committed).
    pub detail: Option<String>,
    pub content: Content,
}

/// The present content of what changed.
#[derive(Debug, Clone, Default)]
pub enum Content {
    /// Not asked for, or there is none.
    #[default]
    None,
    Events {
        events: Vec<StoredEvent>,
        gone: bool,
    },
    /// Keys without a prefix. `gone`: a part was removed since.
    State {
        set: Vec<(String, String)>,
        removed: Vec<String>,
        gone: bool,
    },
}

/// The result of a read.
#[derive(Debug, Clone)]
pub enum FeedPage {
    Changes {
        changes: Vec<Change>,
        /// The position after all of them. Without any it is the one that was asked with, or, to begin now, that of the last change: what
        /// others write does not move it. Of one that is to go soon it is a later one.
        position: FeedPosition,
        /// Where the search ended; no change is between both.
        through: FeedPosition,
        /// There were no changes after it.
        up_to_date: bool,
    },
    /// The feed does not have the position, or no longer; this is its oldest one.
    Gone { oldest: FeedPosition },
    /// The feed is off.
    Disabled,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn kinds_are_read_as_they_were_written() {
        for name in ChangeKind::WORDS {
            let kind = ChangeKind::parse(name).unwrap();
            assert_eq!((kind.as_str(), ChangeKind::of_number(kind.number())), (name, Some(kind)));
        }
        // Rows have these numbers.
        let numbers = ChangeKind::ALL.map(|kind| (kind.number(), kind.as_str()));
        let expected = [
            (1, "session.created"),
            (2, "events"),
            (3, "session.updated"),
            (4, "session.trimmed"),
            (5, "session.deleted"),
            (6, "user.state"),
            (7, "app.state"),
            (8, "user.erased"),
            (9, "artifact.saved"),
            (10, "artifact.deleted"),
            (11, "event.redacted"),
        ];
        assert_eq!(numbers, expected);
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
        let position = key(1).seal(&FeedPlace { tick: 1, row: None, proof: 2 }).to_string();
        for bad in ["", "1", "1-12345678", "now", &position[1..], &format!("{position}A"), &format!("{position}=")] {
            assert!(FeedPosition::parse(bad).is_err(), "{bad}");
        }
        assert!(FeedPosition::parse(&position).is_ok());
    }

    fn key(n: u8) -> FeedKey {
        FeedKey::of(&[n; 32])
    }

    #[test]
    fn positions_do_not_tell_their_order() {
        let texts: Vec<String> =
            (0..200).map(|tick| key(1).seal(&FeedPlace { tick, row: None, proof: 0 }).to_string()).collect();
        // Of 199 pairs of neighbours about half stand in order, at each place of the text.
        for at in 0..43 {
            let in_order = texts.windows(2).filter(|pair| pair[0].as_bytes()[at] <= pair[1].as_bytes()[at]).count();
            assert!((60..140).contains(&in_order) || at == 42, "{at}: {in_order}");
        }
    }

    fn places() -> impl Strategy<Value = FeedPlace> {
        (0..i64::MAX, prop_oneof![Just(None), (0..i64::MAX).prop_map(Some)], any::<u32>())
            .prop_map(|(tick, row, proof)| FeedPlace { tick, row, proof })
    }

    proptest! {
        #[test]
        fn a_position_is_read_as_it_was_written(place in places()) {
            let position = key(1).seal(&place);
            prop_assert_eq!(position, key(1).seal(&place), "the same text for all");
            let text = position.to_string();
            prop_assert_eq!(text.len(), 43);
            let read = FeedPosition::parse(&text).unwrap();
            prop_assert_eq!(key(1).open(&read), Some(place));
            prop_assert_eq!(key(2).open(&read), None);
        }

        #[test]
        fn a_position_that_was_changed_is_nobodys(place in places(), at in 0..TAG + PLACE, by in 1..=u8::MAX) {
            let mut position = key(1).seal(&place);
            position.0[at] ^= by;
            prop_assert_eq!(key(1).open(&position), None);
        }

        #[test]
        fn any_text_is_a_position_or_an_error(text in "[-_0-9a-zA-Z]{0,60}|.{0,20}") {
            if let Ok(position) = FeedPosition::parse(&text) {
                prop_assert_eq!(position.to_string(), text);
            }
        }
    }
}
