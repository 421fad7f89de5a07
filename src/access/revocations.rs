//! Revocations, listed so that they can be repeated on a database that was restored from an older backup.
//!
//! Nothing here names a person or contains a secret: keys are listed by id, users and secrets by keyed hashes.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::{keyed, random};
use crate::domain::access::{ApiKey, TokenEpoch};
use crate::domain::erasure::Subject;
use crate::domain::ids::AppName;
use crate::domain::time::Micros;
use crate::store::Store;
use crate::store::error::StoreError;

type Result<T> = std::result::Result<T, StoreError>;

/// How many rows one query reads.
const ROWS: usize = 1000;

/// An entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revocation {
    /// A revoked key.
    Revoked { id: String, time: Micros },
    /// A key that was not revoked: a hash of its role and names, and its expiry.
    Held { id: String, grant: [u8; 32], expire_time: Option<Micros> },
    /// How often a user's tokens were revoked.
    Tokens(TokenEpoch),
    /// A hash of the secret that signs tokens.
    Secret([u8; 32]),
}

/// The result of a replay.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ReplayedRevocations {
    /// Keys that were revoked again, or got their earlier expiry again.
    pub keys: u64,
    /// Users whose tokens were revoked again.
    pub users: u64,
    /// The secret of tokens had been replaced, and was replaced again.
    pub secret: bool,
    /// Keys whose role, apps or users differ from the ledger. They keep those of the backup.
    pub changed: Vec<String>,
}

impl Revocation {
    /// All entries of a database. Replaying an erasure also revokes the user's tokens, so those revocations are left
    /// out; `erasures` is the number of erasures per user.
    ///
    /// # Errors
    /// The database fails. `limit` applies to each query.
    pub async fn all(
        store: &dyn Store,
        erasures: &HashMap<(AppName, Subject), i64>,
        limit: Duration,
    ) -> Result<Vec<Self>> {
        let deadline = || Instant::now() + limit;
        let salt = store.erasure_salt(deadline()).await?;
        let mut all = Vec::new();
        let mut after = String::new();
        loop {
            let looked = store.revoked_keys(&after, ROWS, deadline()).await?;
            let Some((last, _)) = looked.last() else { break };
            after.clone_from(last);
            all.extend(looked.into_iter().map(|(id, time)| Self::Revoked { id, time }));
        }
        after.clear();
        loop {
            let looked = store.api_keys(&after, ROWS, deadline()).await?;
            let Some(last) = looked.last() else { break };
            after.clone_from(&last.id);
            all.extend(looked.into_iter().map(|key| Self::Held {
                grant: grant_of(&salt, &key),
                id: key.id,
                expire_time: key.expire_time,
            }));
        }
        let mut last: Option<TokenEpoch> = None;
        loop {
            let looked = store.token_epochs(last.as_ref(), ROWS, deadline()).await?;
            let Some(end) = looked.last() else { break };
            last = Some(end.clone());
            let by_erasures = |of: &TokenEpoch| erasures.get(&(of.app.clone(), of.subject)).copied().unwrap_or(0);
            all.extend(looked.into_iter().filter(|of| of.epoch > by_erasures(of)).map(Self::Tokens));
        }
        if let Some(secret) = store.stored_token_secret(deadline()).await? {
            all.push(Self::Secret(secret_of(&salt, &secret)));
        }
        Ok(all)
    }

    /// Repeats these revocations. If it fails, some have been repeated; it can be run again.
    ///
    /// # Errors
    /// The database fails. `limit` applies to each transaction.
    pub async fn replay(store: &dyn Store, ledger: &[Self], limit: Duration) -> Result<ReplayedRevocations> {
        let deadline = || Instant::now() + limit;
        let salt = store.erasure_salt(deadline()).await?;
        let mut done = ReplayedRevocations::default();
        for entry in ledger {
            match entry {
                Self::Revoked { id, time } => {
                    let is_revived = store.api_key(id, deadline()).await?.is_some();
                    if is_revived && store.revoke_api_key(id, *time, deadline()).await? {
                        done.keys += 1;
                    }
                }
                Self::Held { id, grant, expire_time } => {
                    let Some(found) = store.api_key(id, deadline()).await? else { continue };
                    if grant_of(&salt, &found) != *grant {
                        done.changed.push(id.clone());
                    }
                    let Some(end) = *expire_time else { continue };
                    if found.expire_time.is_none_or(|later| later > end) {
                        let ending = ApiKey { expire_time: Some(end), ..found.clone() };
                        done.keys += u64::from(store.change_api_key(&found, &ending, deadline()).await?);
                    }
                }
                Self::Tokens(epoch) => done.users += u64::from(store.raise_token_epoch(epoch, deadline()).await?),
                Self::Secret(hash) => {
                    let stored = store.stored_token_secret(deadline()).await?;
                    if stored.is_some_and(|secret| secret_of(&salt, &secret) != *hash) {
                        store.replace_token_secret(random()?, deadline()).await?;
                        done.secret = true;
                    }
                }
            }
        }
        Ok(done)
    }
}

/// A hash of a key's permissions. Patterns contain no control characters.
fn grant_of(salt: &[u8; 32], key: &ApiKey) -> [u8; 32] {
    let names = |names: Vec<String>| names.join("\u{1}");
    let of = [key.grant.role.as_str(), &names(key.grant.apps.to_patterns()), &names(key.grant.users.to_patterns())];
    keyed(salt, "key", of.join("\0").as_bytes())
}

fn secret_of(salt: &[u8; 32], secret: &[u8; 32]) -> [u8; 32] {
    keyed(salt, "token secret", secret)
}
