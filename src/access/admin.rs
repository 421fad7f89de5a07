//! The key in `--admin-key-file`: what an operator mounts, read again when it changes.

use std::path::{Path, PathBuf};
use std::sync::RwLock;
use std::time::Duration;
use std::{fs, io};

use tokio::time::sleep;

use super::key;
use crate::metrics::Metrics;

/// How often the file is looked at.
const LOOK: Duration = Duration::from_secs(2);

const LENGTHS: std::ops::RangeInclusive<usize> = 32..=256;

/// Of the file's content, trimmed, only the digest is kept.
pub struct AdminKey {
    path: PathBuf,
    digest: RwLock<[u8; 32]>,
}

impl AdminKey {
    /// # Errors
    /// The file cannot be read, or does not hold 32 to 256 characters of `A-Za-z0-9_-`; says which.
    pub fn open(path: &Path) -> Result<Self, String> {
        let digest = read(path).map_err(|error| format!("--admin-key-file: {error}"))?;
        Ok(Self { path: path.to_owned(), digest: RwLock::new(digest) })
    }

    /// Reads the file again and again. While it cannot be read, the last key holds.
    pub async fn watch(&self, metrics: &Metrics) {
        let mut is_told = false;
        loop {
            sleep(LOOK).await;
            match read(&self.path) {
                Ok(digest) => {
                    is_told = false;
                    if let Ok(mut held) = self.digest.write() {
                        *held = digest;
                    }
                }
                Err(error) => {
                    metrics.failed("admin_key");
                    if !std::mem::replace(&mut is_told, true) {
                        tracing::warn!(%error, "the admin key cannot be read again; the last one holds");
                    }
                }
            }
        }
    }

    /// The id under which tokens name this key, if it has this digest.
    pub fn id_if(&self, digest: &[u8; 32]) -> Option<String> {
        let held = self.held()?;
        key::is_same(&held, digest).then(|| id(&held))
    }

    pub fn has_id(&self, asked: &str) -> bool {
        self.held().is_some_and(|held| id(&held) == asked)
    }

    fn held(&self) -> Option<[u8; 32]> {
        self.digest.read().ok().map(|held| *held)
    }
}

/// Another key has another id, so the tokens of one that was replaced end with it.
fn id(digest: &[u8; 32]) -> String {
    let bytes: Vec<String> = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("admin-{}", bytes.concat())
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
