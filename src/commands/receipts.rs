//! `sessiond receipts`: verifies receipts of erasures.

use tokio::time::Instant;

use super::erasures::{DEPTH, Error, Result, read};
use crate::config::{Config, ReceiptsCommand};
use crate::domain::ids::{AppName, UserId, UserKey};
use crate::domain::json::Json;
use crate::domain::receipt::Receipt;
use crate::service::receipts::PublicKey;
use crate::startup::service_beside;

/// Runs `sessiond receipts`; returns its output if the receipt is genuine.
///
/// # Errors
/// It is not genuine; it cannot be read; the database cannot be opened.
pub async fn run(config: &Config, command: ReceiptsCommand) -> Result<String> {
    let ReceiptsCommand::Verify { file, key, app, user } = command;
    let text = read(&file)?;
    let refuse = |why: &str| Error::Input(format!("{}: {why}", file.display()));
    let json = Json::parse(text.as_bytes(), DEPTH).map_err(|_| refuse("is not JSON"))?;
    let receipt = Receipt::parse(json).map_err(|why| refuse(&format!("is not a receipt: {why}")))?;
    let person = match (app, user) {
        (Some(app), Some(user)) => {
            let named = |why| Error::Input(format!("--app, --user: {why}"));
            let (app, user) = (AppName::parse(&app).map_err(named)?, UserId::parse(&user).map_err(named)?);
            Some(UserKey { app, user })
        }
        _ => None,
    };
    let given =
        key.map(|key| PublicKey::parse(&key).map_err(|why| Error::Input(format!("--key: {why}")))).transpose()?;
    let mut subject = None;
    let key = match given {
        Some(key) if person.is_none() => key,
        given => {
            let (store, service) = service_beside(config, false).await?;
            let deadline = Instant::now() + config.request_timeout;
            if let Some(person) = &person {
                subject = Some(service.subject(person, deadline).await?);
            }
            let key = match given {
                Some(key) => key,
                None => service.receipt_key(deadline).await?,
            };
            store.close().await;
            key
        }
    };
    if !key.verifies(&receipt) {
        return Err(refuse("is not genuine: it was altered, or another key signed it"));
    }
    if subject.is_some_and(|subject| subject != receipt.subject) {
        return Err(refuse("is genuine, and of another user"));
    }
    let of = if subject.is_some() { ", of this user" } else { "" };
    Ok(format!("genuine: erasure {}{of}, signed by key {} of {}\n", receipt.id, receipt.key_id, receipt.instance))
}
