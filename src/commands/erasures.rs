//! `sessiond erasures`: the ledger of erasures, for operators with access to the database.
//!
//! A line of the ledger is an erasure or a revocation of keys and tokens; the first line names the database. Users are
//! identified by their hash in the database.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use hex::FromHex as _;
use tokio::time::Instant;

use crate::access::{self, Revocation};
use crate::config::{Config, ErasuresCommand};
use crate::domain::access::{Grant, TokenEpoch};
use crate::domain::erasure::{Erasing, Erasure, Subject};
use crate::domain::ids::AppName;
use crate::domain::json::{Json, ObjectText};
use crate::domain::time::Micros;
use crate::service::{self, Service};
use crate::startup::{StartError, service_beside};
use crate::store::Store;
use crate::store::error::StoreError;

/// The nesting limit of a line or a receipt.
pub(super) const DEPTH: usize = 8;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Service(#[from] service::Error),
    /// A file, a line in it, or a receipt is invalid.
    #[error("{0}")]
    Input(String),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Service(error.into())
    }
}

pub(super) type Result<T> = std::result::Result<T, Error>;

/// Runs `sessiond erasures`; returns its output.
///
/// # Errors
/// The database cannot be opened; the ledger cannot be read, or belongs to another database.
pub async fn run(config: &Config, command: ErasuresCommand) -> Result<String> {
    let (store, service) = service_beside(config, false).await?;
    let done = match command {
        ErasuresCommand::Export => export(config, &*store, &service).await,
        ErasuresCommand::Replay { file } => replay(config, &*store, &service, &file).await,
    };
    store.close().await;
    done
}

async fn export(config: &Config, store: &dyn Store, service: &Service) -> Result<String> {
    let deadline = Instant::now() + config.request_timeout;
    let mut head = ObjectText::default();
    head.push_str("type", "erasures");
    head.push("format", "1");
    head.push_str("instance", &service.instance(deadline).await?);
    let mut ledger = head.close() + "\n";
    let (erasures, _) = service.erasures("", usize::MAX, &Grant::unlimited(), deadline).await?;
    let mut by_user = HashMap::new();
    for erasure in erasures {
        ledger += &line(&erasure);
        *by_user.entry((erasure.app, erasure.subject)).or_default() += 1;
    }
    for revocation in Revocation::all(store, &by_user, config.request_timeout).await? {
        ledger += &revocation_line(&revocation);
    }
    Ok(ledger)
}

fn revocation_line(revocation: &Revocation) -> String {
    let mut line = ObjectText::default();
    match revocation {
        Revocation::Revoked { id, time } => {
            line.push_str("type", "key.revoked");
            line.push_str("id", id);
            line.push("time", &time.to_number());
        }
        Revocation::Held { id, grant, expire_time } => {
            line.push_str("type", "key");
            line.push_str("id", id);
            line.push_str("grant", &hex::encode(grant));
            line.push_some("expireTime", expire_time.map(Micros::to_number));
        }
        Revocation::Tokens(TokenEpoch { app, subject, epoch }) => {
            line.push_str("type", "tokens.revoked");
            line.push_str("appName", app.as_str());
            line.push_str("subject", &subject.to_hex());
            line.push("times", &epoch.to_string());
        }
        Revocation::Secret(hash) => {
            line.push_str("type", "token.secret");
            line.push_str("hash", &hex::encode(hash));
        }
    }
    line.close() + "\n"
}

/// A line of a ledger.
enum LedgerEntry {
    Erasure(Erasing),
    Revocation(Revocation),
}

/// Parses a line that [`line()`] or [`revocation_line()`] wrote; `None` if it is invalid.
fn entry(json: Json<'_>) -> Option<LedgerEntry> {
    let text = |name| json.get(name).and_then(Json::as_str);
    let digest = |name| <[u8; 32]>::from_hex(&*text(name)?).ok();
    let time = |name| json.get(name).map(|time| Micros::from_number(time.text()).ok());
    let id = || text("id").map(|id| id.into_owned());
    let app = || AppName::parse(&text("appName")?).ok();
    let subject = || digest("subject").map(Subject::trusted);
    let revocation = match &*text("type")? {
        "erasure" => {
            return Some(LedgerEntry::Erasure(Erasing {
                id: id()?,
                app: app()?,
                subject: subject()?,
                user: None,
                request: match text("request") {
                    Some(_) => Some(digest("request")?),
                    None => None,
                },
                reference: text("reference").map(|reference| reference.into_owned()),
                block: json.get("block").and_then(Json::as_bool),
                time: time("requestTime")??,
            }));
        }
        "key.revoked" => Revocation::Revoked { id: id()?, time: time("time")?? },
        "key" => Revocation::Held {
            id: id()?,
            grant: digest("grant")?,
            expire_time: match time("expireTime") {
                Some(time) => Some(time?),
                None => None,
            },
        },
        "tokens.revoked" => Revocation::Tokens(TokenEpoch {
            app: app()?,
            subject: subject()?,
            epoch: json.get("times")?.text().parse().ok()?,
        }),
        "token.secret" => Revocation::Secret(digest("hash")?),
        _ => return None,
    };
    Some(LedgerEntry::Revocation(revocation))
}

fn line(erasure: &Erasure) -> String {
    let mut line = ObjectText::default();
    line.push_str("type", "erasure");
    line.push_str("id", &erasure.id);
    line.push_str("appName", erasure.app.as_str());
    line.push_str("subject", &erasure.subject.to_hex());
    line.push_some_str("request", erasure.request.as_ref().map(hex::encode));
    line.push_some_str("reference", erasure.reference.as_ref());
    line.push_some("block", erasure.block.map(|block| if block { "true" } else { "false" }));
    line.push("requestTime", &erasure.request_time.to_number());
    line.push_some("doneTime", erasure.done_time.map(Micros::to_number));
    line.close() + "\n"
}

async fn replay(config: &Config, store: &dyn Store, service: &Service, file: &Path) -> Result<String> {
    let text = read(file)?;
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let bad = |n: usize| Error::Input(format!("{}: line {n} is not one of a ledger of erasures", file.display()));
    let (n, head) = lines.next().ok_or_else(|| bad(1))?;
    let head = Json::parse(head.as_bytes(), DEPTH).map_err(|_| bad(n))?;
    let is_head = head.get("type").and_then(Json::as_str).is_some_and(|kind| kind == "erasures")
        && head.get("format").is_some_and(|format| format.text() == "1");
    let instance = head.get("instance").and_then(Json::as_str).filter(|_| is_head).ok_or_else(|| bad(n))?;
    if instance != service.instance(Instant::now() + config.request_timeout).await? {
        let what = "is the ledger of another database: its users are hashed otherwise";
        return Err(Error::Input(format!("{} {what}", file.display())));
    }
    // Read everything before anything is changed.
    let (mut ledger, mut revocations) = (Vec::new(), Vec::new());
    for (n, line) in lines {
        let json = Json::parse(line.as_bytes(), DEPTH).map_err(|_| bad(n))?;
        match entry(json).ok_or_else(|| bad(n))? {
            LedgerEntry::Erasure(erasure) => ledger.push(erasure),
            LedgerEntry::Revocation(revocation) => revocations.push(revocation),
        }
    }
    let done = service.replay(&ledger, config.request_timeout).await?;
    let (all, service::Replayed { noted, erased }) = (ledger.len(), done);
    let mut said =
        format!("erasures in the ledger: {all}, new to this database: {noted}, users erased again: {erased}\n");
    if !revocations.is_empty() {
        // After the erasures, which also revoke tokens.
        let done = Revocation::replay(store, &revocations, config.request_timeout).await?;
        let access::ReplayedRevocations { keys, users, secret, changed } = done;
        let secret = if secret { "replaced again" } else { "as it was" };
        said += &format!("keys revoked again: {keys}, users whose tokens were: {users}, secret of tokens: {secret}\n");
        for id in changed {
            said += &format!(
                "key {id} may do what it could at the time of the backup, and was changed since: look at it\n"
            );
        }
    }
    Ok(said)
}

/// The text of a file, without a byte order mark.
pub(super) fn read(file: &Path) -> Result<String> {
    let refuse = |why: &dyn std::fmt::Display| Error::Input(format!("{}: {why}", file.display()));
    let bytes = fs::read(file).map_err(|error| refuse(&error))?;
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(refuse(&"is UTF-16, as some shells write what they redirect; it must be UTF-8"));
    }
    let text = String::from_utf8(bytes).map_err(|_| refuse(&"is not UTF-8"))?;
    Ok(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned))
}
