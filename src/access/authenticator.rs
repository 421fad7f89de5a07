//! From a credential to a client: which client it is, whether the credential is valid, and how long that may be cached.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use moka::future::Cache;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{Instant, sleep, timeout_at};

use super::admin::{self, AdminKey};
use super::jwt::{Jwt, LEEWAY_MICROS};
use super::{AuthError, Client, ClientKind, key, random, token};
use crate::domain::access::{ApiKey, Grant, Names};
use crate::domain::ids::UserKey;
use crate::domain::time::Micros;
use crate::metrics::Metrics;
use crate::service::Clock;
use crate::store::Store;
use crate::store::error::{Cause, StoreError};

/// How long the result for a credential is cached. A revoked or restricted credential must be so on every replica
/// within 5 s (contract, section 11): this time and the look-up.
const REMEMBERED: Duration = Duration::from_secs(3);

/// How old the cached secret of tokens may be to accept one. With [`REMEMBERED`], less than the 5 s within which a
/// rotation voids older tokens.
const SECRET_AGE: Duration = Duration::from_secs(1);

/// How old it may be to refuse a token, which another process may have signed with the next secret. Forged tokens cause
/// at most one look-up in this time.
const SECRET_AGE_TO_REFUSE: Duration = Duration::from_millis(100);

/// How many credentials are cached, valid and invalid ones.
const MOST_REMEMBERED: u64 = 10_000;

/// How many keys that this process has never seen are looked up at a time, and how many requests may wait for that.
/// Made-up keys put no more load on the database than this.
const STRANGERS: usize = 4;
const STRANGERS_WAITING: usize = 64;

/// How often a process without authentication checks whether the database has a key.
const KEY_POLL: Duration = Duration::from_secs(2);

/// The time limit for one query.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);

/// `lastUsedTime` of a key is written when it is older than this.
const TOUCH_AFTER_MICROS: i64 = 3_600_000_000;

/// The settings of authentication.
pub struct AuthSettings {
    /// `--require-auth`
    pub required: bool,
    pub admin_key: Option<AdminKey>,
    pub(crate) jwt: Option<Jwt>,
}

/// The client, or why the credential is invalid.
type Found = Result<Arc<Client>, &'static str>;

/// Authenticates requests. One per process.
pub struct Authenticator {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    settings: AuthSettings,
    /// Authentication is on. Never switched off again.
    on: AtomicBool,
    anyone: Arc<Client>,
    remembered: Cache<[u8; 32], Found>,
    /// The digests of keys that this process has seen, by id. Ids are never reused.
    known: Cache<String, [u8; 32]>,
    strangers: Semaphore,
    strangers_waiting: Semaphore,
    /// The secret of tokens, and when it was read.
    secret: Mutex<Option<(Instant, [u8; 32])>>,
}

impl Authenticator {
    /// Turns authentication on if a setting requires it or the database has a key.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn start(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        settings: AuthSettings,
    ) -> Result<Self, StoreError> {
        let is_set = settings.required || settings.admin_key.is_some() || settings.jwt.is_some();
        let on = is_set || store.has_keys(Instant::now() + QUERY_TIMEOUT).await?;
        let remembered = Cache::builder().max_capacity(MOST_REMEMBERED).time_to_live(REMEMBERED).build();
        Ok(Self {
            store,
            clock,
            settings,
            on: AtomicBool::new(on),
            anyone: Arc::new(Client::anyone()),
            remembered,
            known: Cache::new(MOST_REMEMBERED),
            strangers: Semaphore::new(STRANGERS),
            strangers_waiting: Semaphore::new(STRANGERS_WAITING),
            secret: Mutex::new(None),
        })
    }

    /// Whether a credential is required.
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Follows changes that no request causes: a first key in the database, the admin key's file, the issuer's keys.
    /// Runs until dropped. `metrics` count failures.
    pub async fn watch(&self, metrics: &Metrics) {
        let keys = async {
            while !self.is_on() {
                sleep(KEY_POLL).await;
                // A failure is retried.
                if let Ok(true) = self.store.has_keys(Instant::now() + QUERY_TIMEOUT).await {
                    tracing::info!("the database has a key: authentication is on from now on");
                    self.on.store(true, Ordering::Relaxed);
                }
            }
        };
        let admin_key = async {
            if let Some(admin_key) = &self.settings.admin_key {
                admin_key.watch(metrics).await;
            }
        };
        let issuer = async {
            if let Some(jwt) = &self.settings.jwt {
                jwt.keep_keys(metrics).await;
            }
        };
        tokio::join!(keys, admin_key, issuer);
    }

    /// The client of this credential, or of none.
    ///
    /// # Errors
    /// A credential is required, and this one is missing or invalid; or that cannot be determined now.
    pub async fn client(&self, credential: Option<&str>, deadline: Instant) -> Result<Arc<Client>, AuthError> {
        if !self.is_on() {
            return Ok(self.anyone.clone());
        }
        let credential = credential.ok_or(AuthError::Unauthenticated("missing"))?;
        if !is_like_a_credential(credential) && self.settings.admin_key.is_none() {
            return Err(AuthError::Unauthenticated("malformed"));
        }
        let digest = key::digest(credential);
        let found = match self.remembered.get(&digest).await {
            Some(found) => found,
            None => {
                let look_up = self.look_up(credential, digest, deadline);
                self.remembered.try_get_with(digest, look_up).await.map_err(|refusal| (*refusal).clone())?
            }
        };
        let client = found.map_err(AuthError::Unauthenticated)?;
        // The issuer's clock and ours may differ.
        let leeway = if client.kind == ClientKind::Jwt { LEEWAY_MICROS } else { 0 };
        match client.expire_time {
            Some(expire_time) if expire_time.plus(leeway) <= self.clock.now() => {
                Err(AuthError::Unauthenticated("expired"))
            }
            _ => Ok(client),
        }
    }

    /// As [`Authenticator::client`], without the cache.
    ///
    /// # Errors
    /// As of [`Authenticator::client`].
    pub async fn client_now(&self, credential: Option<&str>, deadline: Instant) -> Result<Arc<Client>, AuthError> {
        if let Some(credential) = credential {
            self.remembered.invalidate(&key::digest(credential)).await;
        }
        self.client(credential, deadline).await
    }

    /// Clears the cache, after a credential was revoked or restricted here.
    pub fn forget(&self) {
        self.remembered.invalidate_all();
    }

    async fn look_up(&self, credential: &str, digest: [u8; 32], deadline: Instant) -> Result<Found, AuthError> {
        let failed = |error| AuthError::Store(Arc::new(error));
        let found = if let Some(admin_key) = self.settings.admin_key.as_ref().filter(|key| key.is(&digest)) {
            let salt = self.store.erasure_salt(deadline).await.map_err(failed)?;
            let client =
                |id| Client { kind: ClientKind::AdminKey, id: Some(id), grant: Grant::unlimited(), expire_time: None };
            admin_key.id_if(&digest, &salt).map(client)
        } else if let Some(id) = key::id_of(credential) {
            self.of_key(id, &digest, deadline).await?
        } else if credential.starts_with(token::PREFIX) {
            self.of_token(credential, deadline).await.map_err(failed)?
        } else if let Some(jwt) = &self.settings.jwt {
            return match jwt.client(credential, self.clock.now()).await {
                Err(AuthError::Unauthenticated(reason)) => Ok(Err(reason)),
                client => client.map(|client| Ok(Arc::new(client))),
            };
        } else {
            None
        };
        Ok(found.map(Arc::new).ok_or("invalid"))
    }

    async fn of_key(&self, id: &str, digest: &[u8; 32], deadline: Instant) -> Result<Option<Client>, AuthError> {
        let busy = |_| AuthError::Overloaded;
        let mut turn = None;
        match self.known.get(id).await {
            Some(known) if !key::is_same(&known, digest) => return Ok(None),
            Some(_) => {}
            None => {
                let _waiting = self.strangers_waiting.try_acquire().map_err(busy)?;
                turn = timeout_at(deadline, self.strangers.acquire()).await.map_err(|_| AuthError::Overloaded)?.ok();
            }
        }
        let found = self.store.api_key(id, deadline).await.map_err(|error| AuthError::Store(Arc::new(error)))?;
        drop(turn);
        let Some(found) = found else { return Ok(None) };
        if !key::is_same(&found.digest, digest) {
            return Ok(None);
        }
        self.known.insert(id.to_owned(), *digest).await;
        let now = self.clock.now();
        if found.last_used_time.is_none_or(|last| last.plus(TOUCH_AFTER_MICROS) <= now) {
            let (store, id) = (self.store.clone(), found.id.clone());
            // A failure must not fail the request.
            tokio::spawn(async move { store.touch_api_key(&id, now, Instant::now() + QUERY_TIMEOUT).await });
        }
        let ApiKey { id, grant, expire_time, .. } = found;
        Ok(Some(Client { kind: ClientKind::Key, id: Some(id), grant, expire_time }))
    }

    async fn of_token(&self, text: &str, deadline: Instant) -> Result<Option<Client>, StoreError> {
        let mut claims = token::read(&self.secret(SECRET_AGE, deadline).await?, text);
        if claims.is_none() {
            claims = token::read(&self.secret(SECRET_AGE_TO_REFUSE, deadline).await?, text);
        }
        let Some(claims) = claims.filter(|claims| claims.is_short_lived(self.clock.now())) else { return Ok(None) };
        let token::Claims { key, app, user, role, epoch, expires, .. } = claims;
        // A token may not do more than its key.
        let Some((of_key, until)) = self.minter(&key, deadline).await? else { return Ok(None) };
        let grant = Grant { role, apps: Names::literal([app.as_str()]), users: Names::literal([user.as_str()]) };
        if self.epoch(&UserKey { app, user }, deadline).await? != epoch {
            return Ok(None);
        }
        let end = seconds(expires);
        let expire_time = Some(until.map_or(end, |until| until.min(end)));
        Ok(Some(Client { kind: ClientKind::Token, id: Some(key), grant: of_key.and(&grant), expire_time }))
    }

    /// The grant and the expiry of the key that minted a token, if it is still valid.
    async fn minter(&self, id: &str, deadline: Instant) -> Result<Option<(Grant, Option<Micros>)>, StoreError> {
        if id.starts_with(admin::PREFIX) {
            let Some(admin_key) = &self.settings.admin_key else { return Ok(None) };
            let is_known = admin_key.has_id(id, &self.store.erasure_salt(deadline).await?);
            return Ok(is_known.then(|| (Grant::unlimited(), None)));
        }
        Ok(self.store.api_key(id, deadline).await?.map(|key| (key.grant, key.expire_time)))
    }

    /// The secret of all tokens, at most `age` old. It is stored in the database, so that all replicas share it.
    pub(super) async fn secret(&self, age: Duration, deadline: Instant) -> Result<[u8; 32], StoreError> {
        let asked = Instant::now();
        // One request reads it; those that wait for the lock use its result.
        let cached = timeout_at(deadline, self.secret.lock()).await;
        let late = |_| StoreError::new(Cause::Timeout, "the secret of tokens was not read within the time limit");
        let mut cached = cached.map_err(late)?;
        if let Some((since, secret)) = *cached
            && since + age >= asked
        {
            return Ok(secret);
        }
        let since = Instant::now();
        let draw = random()?;
        let secret = self.store.token_secret(draw, deadline).await?;
        *cached = Some((since, secret));
        Ok(secret)
    }

    /// How often the tokens of a user were revoked.
    pub(super) async fn epoch(&self, user: &UserKey, deadline: Instant) -> Result<i64, StoreError> {
        self.store.token_epoch(user, deadline).await
    }
}

/// Unix seconds.
pub(super) fn seconds(seconds: i64) -> Micros {
    Micros(0).plus(seconds.saturating_mul(1_000_000))
}

/// Checks the form alone: other text costs no look-up.
fn is_like_a_credential(text: &str) -> bool {
    key::id_of(text).is_some() || text.starts_with(token::PREFIX) || text.split('.').count() == 3
}
