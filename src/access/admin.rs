//! The key in `--admin-key-file`, which an operator mounts. It is read again when it changes.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::RwLock;
use std::time::Duration;
use std::{fs, io};

use tokio::time::sleep;

use super::{key, keyed};
use crate::metrics::Metrics;

/// How often the file is read.
const INTERVAL: Duration = Duration::from_secs(2);

const LENGTHS: std::ops::RangeInclusive<usize> = 32..=256;

/// The bits outside of 0640: a group may read the file, as in a container where secrets belong to a group.
const TOO_WIDE: u32 = 0o037;

/// Stores only the digest of the file's trimmed content.
pub struct AdminKey {
    path: PathBuf,
    digest: RwLock<[u8; 32]>,
}

impl AdminKey {
    /// # Errors
    /// The file cannot be read, or does not contain 32 to 256 characters of `A-Za-z0-9_-`; the message says which.
    pub fn open(path: &Path) -> Result<Self, String> {
        let digest = read(path).map_err(|error| format!("--admin-key-file: {error}"))?;
        let mode = fs::metadata(path).map_or(0, |found| found.permissions().mode());
        if mode & TOO_WIDE != 0 {
            let mode = format!("{:04o}", mode & 0o7777);
            tracing::warn!(file = %path.display(), mode, "others may open the file of the admin key: chmod 640, or stricter");
        }
        Ok(Self { path: path.to_owned(), digest: RwLock::new(digest) })
    }

    /// Reads the file regularly. While it cannot be read, the last key stays valid.
    pub async fn watch(&self, metrics: &Metrics) {
        let mut is_logged = false;
        loop {
            sleep(INTERVAL).await;
            match read(&self.path) {
                Ok(digest) => {
                    is_logged = false;
                    if let Ok(mut own) = self.digest.write() {
                        *own = digest;
                    }
                }
                Err(error) => {
                    metrics.background_failures.inc("admin_key");
                    if !std::mem::replace(&mut is_logged, true) {
                        tracing::warn!(%error, "the admin key cannot be read; the last one stays valid");
                    }
                }
            }
        }
    }

    /// Whether the key has this digest.
    pub fn is(&self, digest: &[u8; 32]) -> bool {
        self.digest().is_some_and(|own| key::is_same(&own, digest))
    }

    /// The id of this key in tokens and in the access log, if it has this digest. `salt` is that of the database.
    pub fn id_if(&self, digest: &[u8; 32], salt: &[u8; 32]) -> Option<String> {
        self.is(digest).then(|| id(salt, digest))
    }

    pub fn has_id(&self, asked: &str, salt: &[u8; 32]) -> bool {
        self.digest().is_some_and(|own| id(salt, &own) == asked)
    }

    fn digest(&self) -> Option<[u8; 32]> {
        self.digest.read().ok().map(|own| *own)
    }
}

/// The prefix of an id. No id of another key contains the `-`.
pub const PREFIX: &str = "admin-";

/// The id changes with the key, so the tokens of a replaced key become invalid. Tokens show the id, so without the
/// database it reveals nothing about the key.
fn id(salt: &[u8; 32], digest: &[u8; 32]) -> String {
    format!("{PREFIX}{}", hex::encode(keyed(salt, "admin key", digest).get(..8).unwrap_or_default()))
}

fn read(path: &Path) -> Result<[u8; 32], String> {
    let text = fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => "the file is not text".to_owned(),
        _ => format!("{}: {error}", path.display()),
    })?;
    let text = text.trim();
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    match LENGTHS.contains(&text.len()) && text.bytes().all(is_allowed) {
        true => Ok(key::digest(text)),
        false => Err("the file must hold 32 to 256 characters of A-Z, a-z, 0-9, `_` and `-`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_of_the_key_and_of_the_database() {
        let (digest, other) = (key::digest("a"), key::digest("b"));
        let named = id(&[1; 32], &digest);
        assert_eq!(named, id(&[1; 32], &digest));
        assert_ne!(named, id(&[2; 32], &digest));
        assert_ne!(named, id(&[1; 32], &other));
        assert!(!hex::encode(digest).starts_with(&named[PREFIX.len()..]), "{named}");
    }
}
