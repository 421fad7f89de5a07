//! `sessiond verify`: compares all stored state with its history.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write as _};
use std::sync::Arc;

use futures_util::StreamExt as _;
use sha2::{Digest as _, Sha256};
use tokio::time::{Duration, Instant};

use crate::blobs::{BlobError, Blobs};
use crate::config::Config;
use crate::domain::artifact::{Blob, BlobKey};
use crate::domain::ids::{AppName, UserId, UserKey, segment};
use crate::domain::verify::Findings;
use crate::metrics::Metrics;
use crate::startup::{self, StartError};
use crate::store::error::StoreError;
use crate::store::inspect::{
    Artifact, ArtifactKey, BELONGINGS, BlobName, CheckedName, CheckedPlace, Chunked, Incarnation, Inspector, ListEntry,
    ScopeName, SessionName,
};

/// How much was checked, and how much of it differs.
#[derive(Debug, Default)]
pub struct Summary {
    sessions: u64,
    events: u64,
    scopes: u64,
    keys: u64,
    /// If they were read.
    artifacts: Option<u64>,
    pub differences: u64,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sessions, events, scopes, keys, artifacts, differences } = self;
        write!(f, "verified sessions={sessions} events={events} scopes={scopes} shared_keys={keys} ")?;
        if let Some(artifacts) = artifacts {
            write!(f, "artifacts={artifacts} ")?;
        }
        write!(f, "differences={differences}")
    }
}

/// Tells on standard error, now and then, how far it is.
struct Progress {
    told: Instant,
}

impl Progress {
    const EVERY: Duration = Duration::from_secs(10);

    fn new(now: Instant) -> Self {
        Self { told: now }
    }

    /// The line to write, if one is due. `doing`: what is being done, beside what was counted.
    fn line(&mut self, now: Instant, summary: &Summary, doing: &str) -> Option<String> {
        if now < self.told + Self::EVERY {
            return None;
        }
        self.told = now;
        let Summary { sessions, events, scopes, differences, .. } = summary;
        Some(format!("{doing}: sessions={sessions} events={events} scopes={scopes} differences={differences} so far"))
    }

    fn tell(&mut self, summary: &Summary, doing: &str) {
        if let Some(line) = self.line(Instant::now(), summary, doing) {
            // A failure to write to standard error must not stop the command.
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
}

/// Checks all sessions and all shared scopes, and that there are no orphans. Calls `report` with each line as it is
/// found, never while a transaction is open. Data that is added or removed meanwhile may or may not be checked.
///
/// # Errors
/// The database fails. Reported differences remain valid.
pub async fn run(database: &Inspector, report: &mut (dyn FnMut(&str) + Send)) -> Result<Summary, StoreError> {
    let mut summary = Summary::default();
    let mut progress = Progress::new(Instant::now());
    let mut page = database.sessions(&SessionName::default()).await?;
    while let Some(last) = page.last() {
        for name in &page {
            if let Some(checked) = database.check_session(name).await? {
                summary.sessions += 1;
                summary.events += checked.events;
                summary.tell(report, &session(name), &checked.findings);
            }
            progress.tell(&summary, "comparing sessions with their events");
        }
        page = database.sessions(last).await?;
    }
    for first in [Some(String::new()), None] {
        let mut scope = ScopeName { app: String::new(), user: first };
        while let Some(next) = database.next_scope(&scope).await? {
            let checked = database.check_scope(&next).await?;
            summary.scopes += 1;
            summary.keys += checked.keys;
            let subject = match &next.user {
                Some(user) => format!("user {}/{}", segment(&next.app), segment(user)),
                None => format!("app {}", segment(&next.app)),
            };
            summary.tell(report, &subject, &checked.findings);
            progress.tell(&summary, "comparing shared state with its log");
            scope = next;
        }
    }
    for (table, what) in BELONGINGS {
        let first = Incarnation { number: i64::MIN, ..Incarnation::default() };
        let mut page = database.incarnations(table, &first).await?;
        while let Some(last) = page.last() {
            for Incarnation { name, number, .. } in page.iter().filter(|incarnation| !incarnation.known) {
                summary.differences += 1;
                report(&format!("{}: {what} of incarnation {number}, which is not there", session(name)));
            }
            progress.tell(&summary, "looking for rows of sessions that are not there");
            page = database.incarnations(table, last).await?;
        }
    }
    let mut page = database.list_entries(&ListEntry { place: i64::MIN, ..ListEntry::default() }).await?;
    while let Some(last) = page.last() {
        for ListEntry { name, .. } in page.iter().filter(|entry| !entry.right) {
            summary.differences += 1;
            report(&format!("{}: the list by last update has it at a time that is not its own", session(name)));
        }
        page = database.list_entries(last).await?;
    }
    files(database, &mut summary, report).await?;
    Ok(summary)
}

/// Checks that artifacts agree with their versions, and these with their bytes, which are not read.
async fn files(
    database: &Inspector,
    summary: &mut Summary,
    report: &mut (dyn FnMut(&str) + Send),
) -> Result<(), StoreError> {
    let mut tell = |of: &str, faults: Vec<String>| {
        summary.differences += faults.len() as u64;
        faults.iter().for_each(|fault| report(&format!("{of}: {fault}")));
    };
    let mut page = database.artifact_names(&ArtifactKey::default()).await?;
    while let Some(last) = page.last() {
        for CheckedName { key, row } in &page {
            tell(&artifact(key), row.faults());
        }
        page = database.artifact_names(&last.key).await?;
    }
    let mut page = database.artifacts(&ArtifactKey::default(), -1).await?;
    while let Some(last) = page.last() {
        for Artifact { key, version, row, .. } in &page {
            tell(&format!("{} version {version}", artifact(key)), row.faults());
        }
        page = database.artifacts(&last.key, last.version).await?;
    }
    let mut page = database.artifact_places(&SessionName::default()).await?;
    while let Some(last) = page.last() {
        for CheckedPlace { name, row } in &page {
            tell(&owner(name), row.fault().into_iter().collect());
        }
        page = database.artifact_places(&last.name).await?;
    }
    let mut page = database.blobs(&BlobName::default()).await?;
    while let Some((last, _)) = page.last() {
        for (blob, row) in &page {
            tell(&bytes(blob), row.faults());
        }
        page = database.blobs(last).await?;
    }
    let mut page = database.chunked(&BlobName::default()).await?;
    while let Some(last) = page.last() {
        for Chunked { blob, .. } in page.iter().filter(|one| !one.is_known) {
            tell(&bytes(blob), vec!["there are chunks of it, and it is not there".to_owned()]);
        }
        page = database.chunked(&last.blob).await?;
    }
    Ok(())
}

/// Reads the bytes of all versions of artifacts, also from the stores, and compares their digest; what [`run`] finds wrong with their
/// rows is not told again. Bytes that several versions of a user hold in turn are read once.
///
/// # Errors
/// The database fails, or the settings of a store cannot be used. Reported differences remain valid.
pub async fn artifacts(
    config: &Config,
    database: &Inspector,
    summary: &mut Summary,
    report: &mut (dyn FnMut(&str) + Send),
) -> Result<(), StartError> {
    let store = startup::open_beside(config, false).await?;
    let blobs = startup::blobs(config, &store, &Arc::new(Metrics::new())).await?;
    let mut checked = 0;
    let mut right: Option<(UserKey, HashMap<String, [u8; 32]>)> = None;
    let mut page = database.artifacts(&ArtifactKey::default(), -1).await?;
    while let Some(last) = page.last() {
        for found in page.iter().filter(|found| found.blob.is_some()) {
            checked += 1;
            if let Err(wrong) = check(&*blobs, found, &mut right).await? {
                summary.differences += 1;
                report(&format!("{} version {}: {wrong}", artifact(&found.key), found.version));
            }
        }
        page = database.artifacts(&last.key, last.version).await?;
    }
    summary.artifacts = Some(checked);
    store.close().await;
    Ok(())
}

/// Whether the bytes of a version are what it says. `right`: the digests of the bytes of a user that were read.
async fn check(
    blobs: &dyn Blobs,
    artifact: &Artifact,
    right: &mut Option<(UserKey, HashMap<String, [u8; 32]>)>,
) -> Result<Result<(), String>, StoreError> {
    let Artifact { key: ArtifactKey { owner, .. }, row, sha256, blob, object, .. } = artifact;
    // What their rows say otherwise is told without reading them.
    let (Some(id), Some(size)) = (blob, row.held.filter(|size| row.size == Some(*size))) else { return Ok(Ok(())) };
    let names = AppName::parse(&owner.app).and_then(|app| Ok((app, UserId::parse(&owner.user)?)));
    let Ok((app, user)) = names else { return Ok(Err("its names are none".to_owned())) };
    let user = UserKey { app, user };
    let known = match right {
        Some((of, known)) if *of == user => known,
        _ => &mut right.insert((user.clone(), HashMap::new())).1,
    };
    let digest = match known.get(id) {
        Some(digest) => *digest,
        None => {
            let key = BlobKey { user, id: id.clone() };
            let blob = Blob { key, size, object: object.clone() };
            let (mut parts, mut hash, mut read) = (blobs.read(&blob, 0..size), Sha256::new(), 0);
            while let Some(part) = parts.next().await {
                match part {
                    Ok(part) => {
                        hash.update(&part);
                        read += part.len() as u64;
                    }
                    Err(BlobError::Store(error)) => return Err(error),
                    Err(error) => return Ok(Err(error.to_string())),
                }
            }
            if read != size {
                return Ok(Err(format!("{read} bytes could be read, and not {size}")));
            }
            *known.entry(id.clone()).or_insert(hash.finalize().into())
        }
    };
    if Some(&digest[..]) != sha256.as_deref() {
        return Ok(Err("the bytes have another digest".to_owned()));
    }
    Ok(Ok(()))
}

impl Summary {
    fn tell(&mut self, report: &mut (dyn FnMut(&str) + Send), subject: &str, findings: &Findings) {
        self.differences += findings.count;
        for line in &findings.lines {
            report(&format!("{subject}: {line}"));
        }
        let told = findings.lines.len() as u64;
        if told < findings.count {
            report(&format!("{subject}: {} more differences", findings.count - told));
        }
    }
}

fn session(SessionName { app, user, session }: &SessionName) -> String {
    format!("session {}/{}/{}", segment(app), segment(user), segment(session))
}

/// A session or, without one, a user.
fn owner(name: &SessionName) -> String {
    match name.session.is_empty() {
        true => format!("user {}/{}", segment(&name.app), segment(&name.user)),
        false => session(name),
    }
}

fn artifact(ArtifactKey { owner: of, name, .. }: &ArtifactKey) -> String {
    format!("{}: artifact {}", owner(of), segment(name))
}

fn bytes(BlobName { app, user, id }: &BlobName) -> String {
    format!("user {}/{}: bytes {}", segment(app), segment(user), segment(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_how_far_it_is_now_and_then() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let (mut progress, summary) = (Progress::new(begun), Summary { sessions: 7, events: 9, ..Summary::default() });
        assert_eq!(progress.line(after(9), &summary, "doing"), None);
        let line = progress.line(after(10), &summary, "doing").unwrap();
        assert_eq!(line, "doing: sessions=7 events=9 scopes=0 differences=0 so far");
        assert_eq!(progress.line(after(19), &summary, "doing"), None);
        assert!(progress.line(after(25), &summary, "doing").is_some());
    }
}
