//! Manages keys and tokens, within the permissions of the client that asks.

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::Instant;

use super::authenticator::seconds;
use super::{Authenticator, Client, ClientKind, key, random, token};
use crate::domain::Rejected;
use crate::domain::access::{ApiKey, Grant, KeyDraft, Names, Role, Target, TokenDraft};
use crate::domain::ids::UserKey;
use crate::domain::session::Expiry;
use crate::domain::time::Micros;
use crate::store::error::StoreError;

/// Why a request about credentials is refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "no credential is asked for here, so there are none: `sessiond keys create --name NAME --role ROLE --apps APPS` makes the first key"
    )]
    Off,
    /// It exceeds the client's permissions.
    #[error("{0}")]
    Beyond(&'static str),
    /// There is none within the client's grant.
    #[error("there is no such key")]
    NotFound,
    #[error("{0}")]
    Rejected(#[from] Rejected),
    #[error(transparent)]
    Store(#[from] StoreError),
}

type Result<T> = std::result::Result<T, Error>;

const KEYS_PER_LOOK: usize = 1000;

impl Authenticator {
    /// Creates a key. Its secret is shown only here.
    ///
    /// # Errors
    /// It would exceed the client's role, names or expiry.
    pub async fn create_key(
        &self,
        client: &Client,
        draft: KeyDraft,
        deadline: Instant,
    ) -> Result<(ApiKey, SecretString)> {
        self.must_be_on()?;
        let made = self.draw_key(draft)?;
        within(client, &made.0)?;
        self.store.insert_api_key(&made.0, deadline).await?;
        Ok(made)
    }

    fn draw_key(&self, draft: KeyDraft) -> Result<(ApiKey, SecretString)> {
        let now = self.clock.now();
        let drawn = key::draw()?;
        let mut made = ApiKey {
            digest: key::digest(drawn.key.expose_secret()),
            id: drawn.id,
            name: String::new(),
            grant: Grant { role: Role::Reader, apps: Names::literal([]), users: Names::all() },
            create_time: now,
            expire_time: None,
            last_used_time: None,
        };
        draft.apply(&mut made, now)?;
        Ok((made, drawn.key))
    }

    /// A page of the keys within the client's grant, by id, and whether there are more.
    ///
    /// # Errors
    /// The database fails. This applies to all methods below.
    pub async fn keys(
        &self,
        client: &Client,
        after: &str,
        rows: usize,
        deadline: Instant,
    ) -> Result<(Vec<ApiKey>, bool)> {
        self.must_be_on()?;
        let mut page = Vec::new();
        let mut after = after.to_owned();
        loop {
            let looked = self.store.api_keys(&after, KEYS_PER_LOOK, deadline).await?;
            let is_last = looked.len() < KEYS_PER_LOOK;
            if let Some(last) = looked.last() {
                after.clone_from(&last.id);
            }
            page.extend(looked.into_iter().filter(|key| client.grant.contains(&key.grant)));
            if page.len() > rows {
                page.truncate(rows);
                return Ok((page, true));
            }
            if is_last {
                return Ok((page, false));
            }
        }
    }

    /// # Errors
    /// There is no such key within the client's grant.
    pub async fn key(&self, client: &Client, id: &str, deadline: Instant) -> Result<ApiKey> {
        self.must_be_on()?;
        let found = self.store.api_key(id, deadline).await?;
        found.filter(|key| client.grant.contains(&key.grant)).ok_or(Error::NotFound)
    }

    /// Changes a key. Everywhere within 5 s, it and its tokens lose the permissions that were removed.
    ///
    /// # Errors
    /// There is no such key; it would exceed the client's role, names or expiry.
    pub async fn change_key(&self, client: &Client, id: &str, draft: KeyDraft, deadline: Instant) -> Result<ApiKey> {
        loop {
            let found = self.key(client, id, deadline).await?;
            let mut changed = found.clone();
            draft.clone().apply(&mut changed, self.clock.now())?;
            within(client, &changed)?;
            // If another change restricted the key meanwhile, this fails and is tried again on the new version.
            if self.store.change_api_key(&found, &changed, deadline).await? {
                self.forget();
                return Ok(changed);
            }
        }
    }

    /// Creates a copy of a key, which expires after the overlap. Also returns that time.
    ///
    /// # Errors
    /// There is no such key within the client's grant; it has expired.
    pub async fn rotate_key(
        &self,
        client: &Client,
        id: &str,
        overlap_micros: i64,
        deadline: Instant,
    ) -> Result<(ApiKey, SecretString, Micros)> {
        loop {
            let old = self.key(client, id, deadline).await?;
            let now = self.clock.now();
            if old.expire_time.is_some_and(|end| end <= now) {
                let what = "of this key has passed, and would be that of the next: create one";
                return Err(Rejected::field("expireTime", what).into());
            }
            let draft = KeyDraft {
                name: Some(old.name.clone()),
                role: Some(old.grant.role),
                apps: Some(old.grant.apps.clone()),
                users: Some(old.grant.users.clone()),
                expiry: old.expire_time.map(|time| Some(Expiry::At(time))),
            };
            let (key, text) = self.create_key(client, draft, deadline).await?;
            let until = now.plus(overlap_micros);
            let until = old.expire_time.map_or(until, |end| end.min(until));
            let ending = ApiKey { expire_time: Some(until), ..old.clone() };
            if self.store.change_api_key(&old, &ending, deadline).await? {
                self.forget();
                return Ok((key, text, until));
            }
            // The copy must not have permissions that the key has lost meanwhile.
            self.store.revoke_api_key(&key.id, self.clock.now(), deadline).await?;
        }
    }

    /// Revokes a key and its tokens, everywhere within 5 s.
    ///
    /// # Errors
    /// There is no such key within the client's grant.
    pub async fn revoke_key(&self, client: &Client, id: &str, deadline: Instant) -> Result<()> {
        self.key(client, id, deadline).await?;
        self.store.revoke_api_key(id, self.clock.now(), deadline).await?;
        self.forget();
        Ok(())
    }

    /// Mints a token for one user with the client's key.
    ///
    /// # Errors
    /// The client has no key; it would exceed the key's role, names or expiry.
    pub async fn mint(&self, client: &Client, draft: TokenDraft, deadline: Instant) -> Result<(String, Micros)> {
        self.must_be_on()?;
        let TokenDraft { user, role, ttl_micros } = draft;
        let (ClientKind::Key | ClientKind::AdminKey, Some(id)) = (client.kind, &client.id) else {
            return Err(Error::Beyond("tokens are minted with a key, not with a token"));
        };
        reaches(client, &user)?;
        if role > client.grant.role {
            return Err(Error::Beyond("the role is above that of the key"));
        }
        let now = self.clock.now();
        let until = now.plus(ttl_micros);
        let until = client.expire_time.map_or(until, |expire_time| expire_time.min(until));
        let claims = token::Claims {
            key: id.clone(),
            epoch: self.epoch(&user, deadline).await?,
            app: user.app,
            user: user.user,
            role,
            issued: now.0.div_euclid(1_000_000),
            // Rounded down: the token must not outlive its key.
            expires: until.0.div_euclid(1_000_000),
        };
        let secret = self.secret(Duration::ZERO, deadline).await?;
        Ok((token::mint(&secret, &claims), seconds(claims.expires)))
    }

    /// Voids all earlier tokens of a user, everywhere within 5 s. Later ones are valid.
    ///
    /// # Errors
    /// The user is not within the client's grant.
    pub async fn revoke_tokens(&self, client: &Client, user: &UserKey, deadline: Instant) -> Result<()> {
        self.must_be_on()?;
        reaches(client, user)?;
        self.store.revoke_tokens(user, deadline).await?;
        self.forget();
        Ok(())
    }

    /// Replaces the secret that signs user tokens: all earlier tokens are void, everywhere within 5 s.
    ///
    /// # Errors
    /// The database fails.
    pub async fn replace_token_secret(&self, deadline: Instant) -> Result<()> {
        self.store.replace_token_secret(random()?, deadline).await?;
        self.forget();
        Ok(())
    }

    /// # Errors
    /// Authentication is off, so there are no credentials.
    pub fn must_be_on(&self) -> Result<()> {
        if self.is_on() { Ok(()) } else { Err(Error::Off) }
    }
}

fn within(client: &Client, key: &ApiKey) -> Result<()> {
    if !client.grant.contains(&key.grant) {
        return Err(Error::Beyond("the key would go beyond the role, the apps or the users of the credential"));
    }
    let ends_in_time = match (client.expire_time, key.expire_time) {
        (None, _) => true,
        (Some(end), expire_time) => expire_time.is_some_and(|expire_time| expire_time <= end),
    };
    if ends_in_time { Ok(()) } else { Err(Error::Beyond("the key would outlive the credential")) }
}

fn reaches(client: &Client, user: &UserKey) -> Result<()> {
    match client.grant.reaches(Target::User(&user.app, &user.user)) {
        true => Ok(()),
        false => Err(Error::Beyond("the credential is not for this app and user")),
    }
}
