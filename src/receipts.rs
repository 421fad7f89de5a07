//! `sessiond receipts` and `sessiond erasures`: what proves an erasure, and what repeats it after a restore.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio::time::Instant;

use crate::config::{Config, ErasuresCommand, ReceiptsCommand};
use crate::domain::Rejected;
use crate::domain::access::Names;
use crate::domain::erasure::{LedgerLine, verify_receipt};
use crate::domain::ids::{AppName, UserKey};
use crate::service::Error as ServiceError;
use crate::transfer;

/// Names, and erasures, that are read at a time.
const PAGE_ROWS: usize = 500;

/// Why a command failed.
#[derive(Debug)]
pub enum Error {
    Database(transfer::Error),
    File(io::Error),
    Ledger {
        line: usize,
        why: Rejected,
    },
    /// The receipt does not hold.
    Receipt(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(error) => error.fmt(f),
            Self::File(error) => error.fmt(f),
            Self::Ledger { line, why } => write!(f, "line {line} of the ledger: {why}"),
            Self::Receipt(why) => write!(f, "the receipt does not hold: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<ServiceError> for Error {
    fn from(error: ServiceError) -> Self {
        Self::Database(error.into())
    }
}

/// What the command prints.
///
/// # Errors
/// The receipt does not hold, or cannot be read.
pub async fn receipts(config: &Config, command: ReceiptsCommand) -> Result<String, Error> {
    let ReceiptsCommand::Verify { file, key } = command;
    let receipt = read(&file)?;
    let key = match key {
        Some(key) => BASE64.decode(key.trim()).map_err(|_| Error::Receipt("the key is not base64"))?,
        None => {
            let service = transfer::service(config).await.map_err(Error::Database)?;
            let key = service.receipt_key(Instant::now() + config.request_timeout).await;
            service.close().await;
            key?
        }
    };
    verify_receipt(&receipt, &key).map_err(Error::Receipt)?;
    Ok("the receipt holds\n".to_owned())
}

/// What the command prints.
///
/// # Errors
/// The database fails; the ledger cannot be read.
pub async fn erasures(config: &Config, command: ErasuresCommand) -> Result<String, Error> {
    let service = transfer::service(config).await.map_err(Error::Database)?;
    let deadline = || Instant::now() + config.request_timeout;
    let printed = match command {
        ErasuresCommand::Export => {
            let (mut lines, mut before) = (Vec::new(), None);
            loop {
                let page = service.erasures(before.as_deref(), PAGE_ROWS, deadline()).await?;
                let Some(last) = page.last() else { break };
                before = Some(last.id.clone());
                lines.extend(page.iter().map(|erasure| erasure.to_ledger() + "\n"));
            }
            // In the order in which they were asked for.
            lines.into_iter().rev().collect()
        }
        ErasuresCommand::Replay { file } => {
            let mut by_app: BTreeMap<AppName, Vec<LedgerLine>> = BTreeMap::new();
            for (n, line) in read(&file)?.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
                let line = LedgerLine::parse(line).map_err(|why| Error::Ledger { line: n + 1, why })?;
                by_app.entry(line.0.app.clone()).or_default().push(line);
            }
            let (mut erased, mut absent) = (0, 0);
            for (app, lines) in by_app {
                let mut found = vec![false; lines.len()];
                let mut after = String::new();
                loop {
                    let users = service.users(&app, &after, PAGE_ROWS, &Names::all(), deadline()).await?;
                    let Some(last) = users.last() else { break };
                    last.as_str().clone_into(&mut after);
                    for user in users {
                        let user = UserKey { app: app.clone(), user };
                        let subject = service.subject(&user, deadline()).await?;
                        for (line, found) in lines.iter().zip(&mut found) {
                            if line.0.subject == subject {
                                *found = true;
                                erased += u32::from(service.replay_erasure(line, &user, deadline()).await?);
                            }
                        }
                    }
                }
                absent += found.iter().filter(|found| !**found).count();
            }
            service.sweep_now(deadline()).await?;
            format!("{erased} erasures repeated, {absent} of users who are not there\n")
        }
    };
    service.close().await;
    Ok(printed)
}

fn read(file: &Path) -> Result<String, Error> {
    let text = if file.as_os_str() == "-" { io::read_to_string(io::stdin()) } else { fs::read_to_string(file) };
    text.map_err(Error::File)
}
