//! Which version a save makes, decided on what the artifact has.

use sha2::{Digest as _, Sha256};

use super::version::{Blob, Content, IfVersion, Place, Version};
use crate::domain::ids::{AppName, ArtifactName, EventId, IdempotencyKey};
use crate::domain::json::RawJson;
use crate::domain::lease::LeaseMark;
use crate::domain::refusal::{Bound, Refusal};
use crate::domain::request_key::RequestKey;
use crate::domain::tag::Tag;
use crate::domain::time::Micros;

/// The most versions of all artifacts of a session, and of those of a user.
pub const MAX_VERSIONS: i64 = 10_000;

/// The highest number of a version: every JSON reader has it exactly.
pub const LAST: i64 = (1 << 53) - 1;

/// The event that a save appends.
#[derive(Debug, Clone)]
pub struct SaveEvent {
    pub id: EventId,
    pub author: String,
    pub invocation_id: String,
}

/// The bytes of a save.
#[derive(Debug, Clone)]
pub struct SavedBlob {
    pub id: String,
    /// The bytes themselves, if the save is to store them with its version; `None`: they are stored.
    pub bytes: Option<Vec<u8>>,
}

/// A version to be saved. A later try of the same save is recognised by its `mark`.
#[derive(Debug)]
pub struct Save {
    pub place: Place,
    pub name: ArtifactName,
    pub content: Content,
    pub blob: Option<SavedBlob>,
    pub mark: i64,
    /// The number that the client wants for it; without one, it is the next.
    pub version: Option<i64>,
    /// Only if there is no version yet.
    pub is_first: bool,
    /// Only if the latest version is this one.
    pub if_match: Option<IfVersion>,
    pub lease: Option<LeaseMark>,
    pub request: Option<RequestKey>,
    /// Only in a session.
    pub event: Option<SaveEvent>,
    pub now: Micros,
}

/// Bytes that are about to come, for an artifact of a place.
#[derive(Debug, Clone)]
pub struct BlobBegin {
    pub place: Place,
    pub blob: Blob,
    pub now: Micros,
}

/// Bytes that no version holds, and the unfinished upload that their store may keep.
#[derive(Debug)]
pub struct LooseBlob {
    pub blob: Blob,
    pub upload: Option<String>,
    /// An erasure waits for it.
    pub is_erased: bool,
}

/// Why a store of objects does not give or take bytes. No name of an object or of a store is in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreFault {
    #[error("of these bytes is not configured")]
    NotConfigured,
    #[error("has lost these bytes")]
    Lacks,
    #[error("{0}")]
    Fails(String),
}

/// A version to be removed, or all of an artifact.
#[derive(Debug)]
pub struct ArtifactDeletion {
    pub place: Place,
    pub name: ArtifactName,
    pub version: Option<i64>,
    pub if_match: Option<IfVersion>,
    pub lease: Option<LeaseMark>,
    pub now: Micros,
}

/// A step of a walk through the artifacts of an app that removes all but the last versions of each.
#[derive(Debug)]
pub struct KeepVersions {
    pub app: AppName,
    /// How many stay.
    pub keep: i64,
    pub after: Option<HeldName>,
}

/// An artifact, by whose it is: user, session and incarnation (of a user, none and 0), and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldName {
    pub user: String,
    pub session: String,
    pub incarnation: i64,
    pub name: String,
}

/// A save that was made.
#[derive(Debug, Clone)]
pub struct Saved {
    pub version: Version,
    /// An earlier request made it.
    pub replayed: bool,
    /// The session's tag after the event that it appended.
    pub tag: Option<Tag>,
    /// The bytes of the event's text, if one was appended.
    pub event_bytes: usize,
}

/// What the artifact has, and what its session or user has of others.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    /// The number of the next version, if no event names a higher one.
    pub next: i64,
    /// The highest number that events have named of a version that was not here.
    pub named: Option<i64>,
    /// The latest version and its digest, if there is one that can be read.
    pub latest: Option<(i64, Option<[u8; 32]>)>,
    /// The versions of all artifacts there.
    pub versions: i64,
}

impl Held {
    /// The number of a version that nobody has asked for.
    pub fn free(&self) -> i64 {
        self.named.map_or(self.next, |named| self.next.max(named.saturating_add(1)))
    }
}

impl Save {
    /// The digest of what is saved, by which a retry is told from a conflict: where it is saved, and all that a reader sees.
    pub fn request(key: IdempotencyKey, content: &Content) -> RequestKey {
        let Content { kind, mime_type, bytes, display_name, file_uri, metadata } = content;
        let mut hash = Sha256::new();
        let mut add = |part: Option<&[u8]>| {
            // Length first, so that different lists of parts never hash the same bytes.
            hash.update(part.map_or(u64::MAX, |part| part.len() as u64).to_be_bytes());
            hash.update(part.unwrap_or_default());
        };
        add(Some(kind.as_str().as_bytes()));
        add(mime_type.as_deref().map(str::as_bytes));
        add(bytes.as_ref().map(|(_, sha256)| &sha256[..]));
        for json in [display_name, file_uri, metadata] {
            add(json.as_ref().map(|json: &RawJson| json.json().canonical()).as_deref().map(str::as_bytes));
        }
        RequestKey { key, digest: hash.finalize().into() }
    }
}

/// The number of the version that a save makes.
///
/// # Errors
/// `ArtifactMismatch`, `ArtifactVersionExists`, `LimitReached`.
pub fn decide(save: &Save, held: &Held) -> Result<i64, Refusal> {
    let latest = held.latest.map(|(version, _)| version);
    if save.is_first && latest.is_some() || save.if_match.as_ref().is_some_and(|wanted| !wanted.holds(held.latest)) {
        return Err(Refusal::ArtifactMismatch(latest));
    }
    // Who names a number that is used says what it is: files follow their log.
    let version = save.version.unwrap_or_else(|| held.free());
    if version < held.next || version > LAST {
        return Err(Refusal::ArtifactVersionExists);
    }
    if held.versions >= MAX_VERSIONS {
        return Err(Refusal::LimitReached(Bound::ArtifactVersions));
    }
    Ok(version)
}

#[cfg(test)]
impl Save {
    /// The next version of `n` of the user `u` of the app `a`, on no condition.
    pub fn plain() -> Self {
        use crate::domain::ids::{AppName, UserId, UserKey};
        let user = UserKey { app: AppName::parse("a").unwrap(), user: UserId::parse("u").unwrap() };
        Self {
            place: Place::User(user),
            name: ArtifactName::parse("n").unwrap(),
            content: super::part::Part::of_bytes(None).content(Some((0, [0; 32])), None),
            blob: None,
            mark: 1,
            version: None,
            is_first: false,
            if_match: None,
            lease: None,
            request: None,
            event: None,
            now: Micros(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::part::Part;
    use super::*;

    fn content(mime_type: &str, digest: u8, metadata: Option<&str>) -> Content {
        let part = Part::of_bytes(Some(mime_type.to_owned()));
        part.content(Some((1, [digest; 32])), metadata.map(RawJson::trusted))
    }

    fn save(version: Option<i64>) -> Save {
        Save { version, ..Save::plain() }
    }

    const EMPTY: Held = Held { next: 0, named: None, latest: None, versions: 0 };

    #[test]
    fn preconditions_are_on_the_latest_version() {
        let held = Held { next: 4, named: None, latest: Some((3, Some([0xcd; 32]))), versions: 2 };
        let first = Save { is_first: true, ..save(None) };
        assert_eq!(decide(&first, &EMPTY), Ok(0));
        assert_eq!(decide(&first, &held), Err(Refusal::ArtifactMismatch(Some(3))));
        // All were removed: the number goes on, and the next is the first.
        assert_eq!(decide(&first, &Held { latest: None, ..held }), Ok(4));
        for (tag, expected) in [("\"3\"", Ok(4)), ("\"3-cdcdcdcd\"", Ok(4)), ("\"2\"", Err(())), ("*", Ok(4))] {
            let save = Save { if_match: Some(IfVersion::parse(tag).unwrap()), ..save(None) };
            assert_eq!(decide(&save, &held).map_err(|_| ()), expected, "{tag}");
        }
        let any = Save { if_match: Some(IfVersion::parse("*").unwrap()), ..save(None) };
        assert_eq!(decide(&any, &EMPTY), Err(Refusal::ArtifactMismatch(None)));
    }

    #[test]
    fn there_are_so_many_versions_at_most() {
        let full = Held { versions: MAX_VERSIONS, ..EMPTY };
        assert_eq!(decide(&save(None), &full), Err(Refusal::LimitReached(Bound::ArtifactVersions)));
        assert_eq!(decide(&save(None), &Held { versions: MAX_VERSIONS - 1, ..EMPTY }), Ok(0));
        assert_eq!(decide(&save(Some(LAST)), &EMPTY), Ok(LAST));
        assert_eq!(decide(&save(None), &Held { next: LAST + 1, ..EMPTY }), Err(Refusal::ArtifactVersionExists));
    }

    #[test]
    fn a_number_that_events_name_is_used() {
        let held = Held { next: 2, named: Some(4), ..EMPTY };
        assert_eq!(decide(&save(None), &held), Ok(5));
        for (wanted, expected) in [(1, Err(Refusal::ArtifactVersionExists)), (2, Ok(2)), (4, Ok(4)), (9, Ok(9))] {
            assert_eq!(decide(&save(Some(wanted)), &held), expected);
        }
        assert_eq!(decide(&save(None), &Held { next: 7, ..held }), Ok(7));
    }

    #[test]
    fn a_retry_saves_the_same() {
        let digest = |content: &Content| Save::request(IdempotencyKey::parse("k").unwrap(), content).digest;
        let base = digest(&content("a/b", 1, Some(r#"{"a":1,"b":2}"#)));
        assert_eq!(digest(&content("a/b", 1, Some(r#"{ "b":2.0, "a":1}"#))), base);
        for other in [
            content("a/c", 1, Some(r#"{"a":1,"b":2}"#)),
            content("a/b", 2, Some(r#"{"a":1,"b":2}"#)),
            content("a/b", 1, Some(r#"{"a":1}"#)),
            content("a/b", 1, None),
        ] {
            assert_ne!(digest(&other), base, "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn numbers_only_grow(wanted in proptest::collection::vec(proptest::option::of(0_i64..50), 0..40)) {
            let mut held = EMPTY;
            let mut made = Vec::new();
            for wanted in wanted {
                match decide(&save(wanted), &held) {
                    Ok(version) => {
                        made.push(version);
                        held = Held {
                            next: version + 1,
                            latest: Some((version, None)),
                            versions: held.versions + 1,
                            ..held
                        };
                    }
                    Err(refusal) => {
                        prop_assert_eq!(refusal, Refusal::ArtifactVersionExists);
                        prop_assert!(wanted.is_some_and(|wanted| wanted < held.next));
                    }
                }
            }
            prop_assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
