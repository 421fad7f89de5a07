//! Artifacts: versions whose bytes come line by line, and those of users, each of which is taken with all its versions.

use std::collections::HashSet;

use sha2::{Digest as _, Sha256};

use super::result::Fault;
use crate::domain::artifact::{BlobKey, MAX_VERSIONS, Version};
use crate::domain::ids::{ArtifactName, UserKey};
use crate::domain::time::Micros;
use crate::domain::transfer::rows::{ArtifactImport, ImportedArtifact};

/// A digest of an event id, or of the name of an artifact, cut to a length at which no two are the same.
pub(super) type IdDigest = [u8; 16];

pub(super) fn digest_of(name: &str) -> IdDigest {
    let mut digest = IdDigest::default();
    digest.copy_from_slice(&Sha256::digest(name)[..16]);
    digest
}

/// The size of some bytes, and their digest.
pub type Measure = (u64, [u8; 32]);

/// A version whose lines of bytes are being read.
#[derive(Debug)]
pub(super) struct File {
    /// How many are missing.
    pub left: u64,
    /// `None`: they are skipped.
    pub taken: Option<TakenFile>,
}

/// A version that is taken in.
#[derive(Debug)]
pub(super) struct TakenFile {
    pub version: Version,
    pub next: i64,
    pub sink: Sink,
}

/// What becomes of bytes.
#[derive(Debug)]
pub(super) enum Sink {
    /// They are stored for this user.
    Stored(UserKey),
    /// They are compared with their digest alone.
    Checked { hash: Sha256, size: u64 },
}

impl File {
    pub fn skipped(left: u64) -> Self {
        Self { left, taken: None }
    }
}

impl TakenFile {
    /// # Errors
    /// The bytes are other ones.
    pub fn check(&self, read: Measure) -> Result<(), Fault> {
        Fault::unless(self.version.content.bytes == Some(read), || {
            let shown = shown(&self.version);
            Fault::invalid(format!("the bytes of {shown} are not those that `size` and `sha256` are of"))
        })
    }
}

pub(super) fn out_of_place(version: &Version) -> Fault {
    Fault::invalid(format!("{} is not in its place", shown(version)))
}

/// A version in words for a client.
fn shown(version: &Version) -> String {
    format!("version {} of the artifact {:?}", version.version, version.name.as_str())
}

/// Those of some bytes that are stored, and that no version holds yet.
pub(super) fn stored(user: &UserKey, versions: &[ImportedArtifact]) -> Vec<BlobKey> {
    let blobs = versions.iter().filter_map(|version| version.blob.as_ref()).filter(|blob| blob.bytes.is_none());
    blobs.map(|blob| BlobKey { user: user.clone(), id: blob.id.clone() }).collect()
}

/// An artifact of a user that is partly read.
#[derive(Debug)]
pub(super) struct OwnFile {
    /// What is read of it.
    pub import: ArtifactImport,
    /// The approximate memory of its versions, in bytes.
    pub memory: usize,
    /// One of this name is there: the lines are only compared with it.
    pub exists: bool,
    /// It is reported, and its remaining lines are skipped.
    pub failed: bool,
    /// When its bytes were renewed last.
    pub renewed: Micros,
}

impl OwnFile {
    /// Whether a version may be the next one.
    ///
    /// # Errors
    /// It is not above the one before, or there are too many.
    pub fn check_next(&self, version: &Version) -> Result<(), Fault> {
        let versions = &self.import.versions;
        let last = versions.iter().rev().find_map(|version| version.version.as_ref());
        if last.is_some_and(|last| last.version >= version.version) {
            return Err(out_of_place(version));
        }
        Fault::unless(versions.len() < MAX_VERSIONS.unsigned_abs() as usize, Fault::too_many)
    }

    pub fn add(&mut self, version: ImportedArtifact) {
        self.memory += version.weight();
        self.import.versions.push(version);
    }
}

/// The artifacts of one user that came along, and are here as they were there.
#[derive(Debug, Default)]
pub(super) struct OwnFiles(Option<(UserKey, HashSet<IdDigest>)>);

impl OwnFiles {
    pub fn add(&mut self, user: &UserKey, name: &ArtifactName) {
        match &mut self.0 {
            Some((of, names)) if of == user => drop(names.insert(digest_of(name.as_str()))),
            _ => self.0 = Some((user.clone(), HashSet::from([digest_of(name.as_str())]))),
        }
    }

    /// Whether an artifact of the user is another one here than there.
    pub fn is_elsewhere(&self, user: &UserKey, name: &ArtifactName) -> bool {
        let came = self.0.as_ref().is_some_and(|(of, names)| of == user && names.contains(&digest_of(name.as_str())));
        name.is_of_user() && !came
    }
}
