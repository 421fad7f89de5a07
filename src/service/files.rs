//! The artifacts of a session or of a user as lines of an export: a version, then its bytes. In memory are a page of versions and
//! the bytes of one line.

use std::collections::VecDeque;

use futures_util::StreamExt as _;
use tokio::time::Instant;

use super::{Error, Reader, Result};
use crate::domain::artifact::{Blob, StoreFault};
use crate::domain::ids::{SessionId, SessionKey, UserId, UserKey};
use crate::domain::time::Micros;
use crate::domain::transfer::{AfterArtifact, ArtifactsQuery, DATA_BYTES, ExportedArtifact, artifact_line, data_line};

/// Versions of a page: each may have some kilobytes of metadata.
const PAGE_ROWS: usize = 100;

/// Artifacts on their way into lines.
pub struct Files {
    query: ArtifactsQuery,
    page: VecDeque<ExportedArtifact>,
    more: bool,
    /// The bytes of which the last line had a part, and where the next part begins.
    open: Option<(Blob, u64)>,
}

/// Lines of artifacts.
pub struct FileLines {
    pub text: String,
    /// How many versions begin in them.
    pub versions: u64,
}

impl Files {
    pub fn of_user(user: UserKey) -> Self {
        Self::of(user, None)
    }

    pub fn of_session(key: &SessionKey, incarnation: i64) -> Self {
        Self::of(key.user.clone(), Some((key.session.clone(), incarnation)))
    }

    fn of(user: UserKey, session: Option<(SessionId, i64)>) -> Self {
        let query = ArtifactsQuery { user, session, after: AfterArtifact::NONE, now: Micros(0), max_rows: PAGE_ROWS };
        Self { query, page: VecDeque::new(), more: true, open: None }
    }

    /// The user whose artifacts they are, if they are not a session's.
    fn user(&self) -> Option<&UserId> {
        self.query.session.is_none().then_some(&self.query.user.user)
    }

    /// The next lines; `None` after the last. May be retried after an error.
    ///
    /// # Errors
    /// `SessionCut`: the session, or an artifact of which a part was given, was removed. [`Error::Store`], [`Error::ArtifactStore`].
    pub async fn next(&mut self, reader: &Reader, deadline: Instant) -> Result<Option<FileLines>> {
        if let Some((blob, from)) = &self.open {
            let bytes = match reader.data(blob, *from).await {
                Err(Error::ArtifactNotFound) => return Err(Error::SessionCut),
                bytes => bytes?,
            };
            self.open = rest(blob.clone(), *from, &bytes);
            return Ok(Some(FileLines { text: data_line(&bytes), versions: 0 }));
        }
        loop {
            let Some(artifact) = self.page.front() else {
                if !self.more {
                    return Ok(None);
                }
                self.turn(reader, deadline).await?;
                continue;
            };
            let (mut text, versions) = (artifact_line(self.user(), artifact), u64::from(artifact.version.is_some()));
            let mut open = None;
            // With the version, so that one that is removed meanwhile can be left out as a whole.
            if let Some(blob) = artifact.blob.as_ref().filter(|blob| blob.size > 0) {
                match reader.data(blob, 0).await {
                    Ok(bytes) => {
                        text += &data_line(&bytes);
                        open = rest(blob.clone(), 0, &bytes);
                    }
                    Err(Error::ArtifactNotFound) if !self.is_there(reader, artifact, deadline).await? => {
                        self.page.pop_front();
                        continue;
                    }
                    Err(Error::ArtifactNotFound) => return Err(Error::ArtifactStore(StoreFault::Lacks)),
                    Err(error) => return Err(error),
                }
            }
            self.open = open;
            self.page.pop_front();
            return Ok(Some(FileLines { text, versions }));
        }
    }

    /// Reads the next page.
    async fn turn(&mut self, reader: &Reader, deadline: Instant) -> Result<()> {
        self.query.now = reader.clock.now();
        let query = &self.query;
        let page = reader.read(deadline, || reader.reads.exported_artifacts(query, deadline)).await?;
        let page = page.ok_or(Error::SessionCut)?;
        self.page = page.artifacts.into();
        self.more = page.next.is_some();
        if let Some(after) = page.next {
            self.query.after = after;
        }
        Ok(())
    }

    /// Whether a version that was read is still there.
    async fn is_there(&self, reader: &Reader, artifact: &ExportedArtifact, deadline: Instant) -> Result<bool> {
        let Some(version) = &artifact.version else { return Ok(false) };
        let after = AfterArtifact::Version(version.name.to_string(), version.version - 1);
        let query = ArtifactsQuery { after, now: reader.clock.now(), max_rows: 1, ..self.query.clone() };
        let page = reader.read(deadline, || reader.reads.exported_artifacts(&query, deadline)).await?;
        let found = page.ok_or(Error::SessionCut)?.artifacts.into_iter().next().and_then(|found| found.version);
        Ok(found.is_some_and(|found| found == *version))
    }
}

/// What is left of some bytes behind those of a line.
fn rest(blob: Blob, from: u64, line: &[u8]) -> Option<(Blob, u64)> {
    let next = from + line.len() as u64;
    (next < blob.size).then_some((blob, next))
}

impl Reader {
    /// The bytes of one line.
    async fn data(&self, blob: &Blob, from: u64) -> Result<Vec<u8>> {
        let end = blob.size.min(from + DATA_BYTES as u64);
        let mut bytes = Vec::with_capacity((end - from) as usize);
        let mut parts = self.bytes(blob, from..end);
        while let Some(part) = parts.next().await {
            bytes.extend_from_slice(&part?);
        }
        if bytes.len() as u64 == end - from { Ok(bytes) } else { Err(Error::ArtifactNotFound) }
    }
}
