//! Keys, and what tokens are signed and revoked by.

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::access::{ApiKey, Grant, Names, Role, TokenEpoch};
use crate::domain::erasure::Subject;
use crate::domain::ids::{AppName, UserKey};
use crate::domain::json::{Json, string_array};
use crate::domain::time::Micros;
use crate::store::backend::{Backend, Tx};
use crate::store::error::{Cause, Result, StoreError};
use crate::store::run::{End, changed};
use crate::store::sql::filter::{filter_text, plain_text};
use crate::store::sql::query::{Query, at_most_one, one, row, value};
use crate::store::sql::statements::statements;
use crate::store::transactions::Transactions;

#[async_trait]
pub trait Reads: Send + Sync {
    /// Whether there is any key, be it revoked or expired. Once there is one, there always is.
    async fn has_keys(&self, deadline: Instant) -> Result<bool>;

    /// A key that is not revoked; it may have expired.
    async fn api_key(&self, id: &str, deadline: Instant) -> Result<Option<ApiKey>>;

    /// Up to `limit` keys that are not revoked, by id in byte order, after `after`; some may have expired.
    async fn api_keys(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<ApiKey>>;

    /// How often the tokens of a user were revoked.
    async fn token_epoch(&self, user: &UserKey, deadline: Instant) -> Result<i64>;
}

#[async_trait]
pub trait Writes: Send + Sync {
    /// Stores a key. The same call again changes nothing; another key of that id is an error, and so are names that
    /// [`Names::to_patterns`] cannot say.
    async fn insert_api_key(&self, key: &ApiKey, deadline: Instant) -> Result<()>;

    /// Gives a key another name, grant and expiry, if those are as they are in `from`; `false` if they are not, if there is no such
    /// key, or it is revoked. Names as of [`Writes::insert_api_key`].
    async fn change_api_key(&self, from: &ApiKey, to: &ApiKey, deadline: Instant) -> Result<bool>;

    /// Revokes a key for good, and forgets its digest; `false` if there is none, or it was revoked at another time than
    /// `now`: the same call again says `true` again.
    async fn revoke_api_key(&self, id: &str, now: Micros, deadline: Instant) -> Result<bool>;

    /// Notes that a key was used, unless that was noted within the last hour, or there is no such key.
    async fn touch_api_key(&self, id: &str, now: Micros, deadline: Instant) -> Result<()>;

    /// The secret that signs the tokens of users: the same for every process. The first call stores its `draw`.
    async fn token_secret(&self, draw: [u8; 32], deadline: Instant) -> Result<[u8; 32]>;

    /// Puts another secret in the place of [`Writes::token_secret`].
    async fn replace_token_secret(&self, secret: [u8; 32], deadline: Instant) -> Result<()>;

    /// Raises [`Reads::token_epoch`] of a user to this; whether it was lower.
    async fn raise_token_epoch(&self, epoch: &TokenEpoch, deadline: Instant) -> Result<bool>;

    /// Adds one to [`Reads::token_epoch`], and returns it. No call is lost; one whose answer was lost may be repeated.
    async fn revoke_tokens(&self, user: &UserKey, deadline: Instant) -> Result<i64>;

    /// As [`Writes::token_secret`], if there is one.
    async fn stored_token_secret(&self, deadline: Instant) -> Result<Option<[u8; 32]>>;

    /// Up to `limit` keys that were revoked, by id in byte order, after `after`: their ids, and when that was.
    async fn revoked_keys(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<(String, Micros)>>;

    /// Up to `limit` users whose tokens were ever revoked, after `after`, and how often that was.
    async fn token_epochs(
        &self,
        after: Option<&TokenEpoch>,
        limit: usize,
        deadline: Instant,
    ) -> Result<Vec<TokenEpoch>>;
}

#[async_trait]
impl<B: Backend> Reads for Transactions<B> {
    async fn has_keys(&self, deadline: Instant) -> Result<bool> {
        let any: Option<(String,)> =
            self.runner.across_apps(deadline).at_most_one(|tx| Query::new(&Statements::of(tx).any_api_key)).await?;
        Ok(any.is_some())
    }

    async fn api_key(&self, id: &str, deadline: Instant) -> Result<Option<ApiKey>> {
        let query = |tx: &B::Tx| Query::new(&Statements::of(tx).api_key).bind(id);
        let row: Option<ApiKeyRow> = self.runner.across_apps(deadline).at_most_one(query).await?;
        row.map(ApiKey::try_from).transpose()
    }

    async fn api_keys(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<ApiKey>> {
        let query = |tx: &B::Tx| Query::new(&Statements::of(tx).api_keys).bind(after).bind(limit as i64);
        let rows: Vec<ApiKeyRow> = self.runner.across_apps(deadline).fetch(query).await?;
        rows.into_iter().map(ApiKey::try_from).collect()
    }

    async fn token_epoch(&self, user: &UserKey, deadline: Instant) -> Result<i64> {
        let call = self.runner.of(&user.app, deadline);
        let subject = Subject::of(self.salt(&call).await?, user);
        let of_user =
            |tx: &B::Tx| Query::new(&Statements::of(tx).token_epoch).app(&user.app).bind(&subject.bytes()[..]);
        Ok(call.at_most_one(of_user).await?.map_or(0, |(epoch,)| epoch))
    }
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn insert_api_key(&self, key: &ApiKey, deadline: Instant) -> Result<()> {
        self.runner.across_apps(deadline).write(async |tx| insert_api_key(tx, key).await).await
    }

    async fn change_api_key(&self, from: &ApiKey, to: &ApiKey, deadline: Instant) -> Result<bool> {
        self.runner.across_apps(deadline).write(async |tx| change_api_key(tx, from, to).await).await
    }

    async fn revoke_api_key(&self, id: &str, now: Micros, deadline: Instant) -> Result<bool> {
        let query = |tx: &B::Tx| Query::new(&Statements::of(tx).revoke_api_key).bind(id).bind(now.0);
        self.runner.across_apps(deadline).execute(query).await
    }

    async fn touch_api_key(&self, id: &str, now: Micros, deadline: Instant) -> Result<()> {
        let query = |tx: &B::Tx| Query::new(&Statements::of(tx).touch_api_key).bind(id).bind(now.0);
        self.runner.across_apps(deadline).execute(query).await.map(drop)
    }

    async fn token_secret(&self, draw: [u8; 32], deadline: Instant) -> Result<[u8; 32]> {
        // Asked again and again, and written once.
        if let Some(stored) = self.stored_token_secret(deadline).await? {
            return Ok(stored);
        }
        self.runner.across_apps(deadline).write(async |tx| token_secret(tx, &draw).await).await
    }

    async fn replace_token_secret(&self, secret: [u8; 32], deadline: Instant) -> Result<()> {
        let query = |tx: &B::Tx| Query::new(&Statements::of(tx).replace_token_secret).bind(&secret[..]);
        self.runner.across_apps(deadline).execute(query).await.map(drop)
    }

    async fn raise_token_epoch(&self, epoch: &TokenEpoch, deadline: Instant) -> Result<bool> {
        let query = |tx: &B::Tx| {
            let query = Query::new(&Statements::of(tx).raise_token_epoch).app(&epoch.app);
            query.bind(&epoch.subject.bytes()[..]).bind(epoch.epoch)
        };
        self.runner.of(&epoch.app, deadline).execute(query).await
    }

    async fn revoke_tokens(&self, user: &UserKey, deadline: Instant) -> Result<i64> {
        let call = self.runner.of(&user.app, deadline);
        let subject = Subject::of(self.salt(&call).await?, user);
        call.write(async |tx| revoke_tokens(tx, &user.app, &subject).await).await
    }

    async fn stored_token_secret(&self, deadline: Instant) -> Result<Option<[u8; 32]>> {
        self.runner.across_apps(deadline).one_statement(async |tx| stored_secret(tx).await).await
    }

    async fn revoked_keys(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<(String, Micros)>> {
        let query = |tx: &B::Tx| Query::new(&Statements::of(tx).revoked_api_keys).bind(after).bind(limit as i64);
        self.runner.across_apps(deadline).fetch(query).await
    }

    async fn token_epochs(
        &self,
        after: Option<&TokenEpoch>,
        limit: usize,
        deadline: Instant,
    ) -> Result<Vec<TokenEpoch>> {
        let (subject, app) = after.map_or((&[][..], ""), |after| (&after.subject.bytes()[..], after.app.as_str()));
        let of = |tx: &B::Tx| Query::new(&Statements::of(tx).token_epochs).bind(subject).bind(app).bind(limit as i64);
        self.runner.across_apps(deadline).fetch(of).await
    }
}

pub async fn insert_api_key<X: Tx>(tx: &mut X, key: &ApiKey) -> Result<((), End)> {
    let query = Query::new(&Statements::of(tx).insert_api_key)
        .bind(&*key.id)
        .bind(filter_text(&key.name))
        .bind(&key.digest[..])
        .bind(key.grant.role.as_str())
        .bind(patterns(&key.grant.apps)?)
        .bind(patterns(&key.grant.users)?)
        .bind(key.create_time.0)
        .bind(key.expire_time.map(|time| time.0))
        .bind(key.last_used_time.map(|time| time.0));
    match tx.execute(query).await? {
        0 => Err(StoreError::new(Cause::Internal, "the id of an API key is taken")),
        _ => Ok(((), End::UNTOLD)),
    }
}

pub async fn change_api_key<X: Tx>(tx: &mut X, from: &ApiKey, key: &ApiKey) -> Result<(bool, End)> {
    let query = Query::new(&Statements::of(tx).lock_api_key).bind(&*from.id);
    let found = at_most_one::<ApiKeyRow>(tx, query).await?.map(ApiKey::try_from).transpose()?;
    // When it was last used is no part of a change.
    if found.map(|found| ApiKey { last_used_time: from.last_used_time, ..found }).as_ref() != Some(from) {
        return Ok((false, End::Release));
    }
    let query = Query::new(&Statements::of(tx).change_api_key)
        .bind(&*key.id)
        .bind(filter_text(&key.name))
        .bind(key.grant.role.as_str())
        .bind(patterns(&key.grant.apps)?)
        .bind(patterns(&key.grant.users)?)
        .bind(key.expire_time.map(|time| time.0));
    changed(tx, query).await
}

pub async fn token_secret<X: Tx>(tx: &mut X, draw: &[u8; 32]) -> Result<([u8; 32], End)> {
    if let Some(stored) = stored_secret(tx).await? {
        return Ok((stored, End::Release));
    }
    // Another process may be first: this waits for it, and the next statement sees what it stored.
    tx.execute(Query::new(&Statements::of(tx).insert_token_secret).bind(&draw[..])).await?;
    let stored = stored_secret(tx).await?;
    let stored = stored.ok_or_else(|| StoreError::new(Cause::Internal, "a secret that was stored is not there"))?;
    Ok((stored, End::UNTOLD))
}

pub async fn stored_secret<X: Tx>(tx: &mut X) -> Result<Option<[u8; 32]>> {
    let secret: Option<Vec<u8>> = value(tx, Query::new(&Statements::of(tx).token_secret)).await?;
    let odd = |_| StoreError::new(Cause::Internal, "the stored secret does not have 32 bytes");
    secret.map(|secret| secret.try_into().map_err(odd)).transpose()
}

pub async fn revoke_tokens<X: Tx>(tx: &mut X, app: &AppName, subject: &Subject) -> Result<(i64, End)> {
    let query = Query::new(&Statements::of(tx).revoke_tokens).app(app).bind(&subject.bytes()[..]);
    let (epoch,) = one(tx, query).await?;
    Ok((epoch, End::UNTOLD))
}

/// The column of these names. Literal ones that end with `*` would be read as prefixes, and allow more.
fn patterns(names: &Names) -> Result<String> {
    let patterns = names.to_patterns();
    if Names::patterns(patterns.iter().map(String::as_str)) != *names {
        return Err(StoreError::new(Cause::Internal, "a key cannot have a literal name that ends with `*`"));
    }
    Ok(string_array(&patterns))
}

/// The columns of an [`ApiKeyRow`]: all of a key that is not revoked.
const API_KEY: &str = "id, name, digest, role, apps, users, create_time, expire_time, last_used_time";

/// How old the time of a key's last use may be, in microseconds: an hour.
const LAST_USED_TO: i64 = 3600 * 1_000_000;

statements! { words,
    /// One key, if there is any. All ids are after the empty one, so it is found by the index.
    any_api_key: "select id from api_keys where id > '' limit 1",
    api_key: format!("select {API_KEY} from api_keys where id = $1 and revoke_time is null"),
    /// Keys after the id `$1`, up to `$2`.
    api_keys: format!(
        "select {API_KEY} from api_keys where id > $1 and revoke_time is null order by id limit 0 + $2"
    ),
    /// Affects the row, too, if the same key is there already; no row, if it is another one.
    insert_api_key: format!(
        "insert into api_keys ({API_KEY}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
         on conflict (id) do update set digest = excluded.digest where api_keys.digest = excluded.digest"
    ),
    lock_api_key: format!(
        "select {API_KEY} from api_keys where id = $1 and revoke_time is null{}",
        words.for_update()
    ),
    change_api_key: "update api_keys set name = $2, role = $3, apps = $4, users = $5, expire_time = $6 \
                     where id = $1 and revoke_time is null",
    /// Affects the row again if it was revoked at this very time: an earlier try did it.
    revoke_api_key: "update api_keys set revoke_time = $2, digest = null \
                     where id = $1 and (revoke_time is null or revoke_time = $2)",
    touch_api_key: format!(
        "update api_keys set last_used_time = $2 where id = $1 and revoke_time is null \
           and coalesce(last_used_time < $2 - {LAST_USED_TO}, true)"
    ),
    /// Keys after the id `$1` that were revoked, up to `$2`.
    revoked_api_keys: "select id, revoke_time from api_keys where id > $1 and revoke_time is not null order by id limit 0 + $2",
    token_secret: "select secret from token_secrets where name = 'current'",
    insert_token_secret: "insert into token_secrets (name, secret) values ('current', $1) on conflict do nothing",
    replace_token_secret: "insert into token_secrets (name, secret) values ('current', $1) \
                           on conflict (name) do update set secret = excluded.secret",
    /// After the user `$1` and the app `$2`, up to `$3`.
    token_epochs: "select app_name, subject, epoch from token_epochs where (subject, app_name) > ($1, $2) \
                   order by subject, app_name limit 0 + $3",
    token_epoch: "select epoch from token_epochs where app_name = $1 and subject = $2",
    /// Affects no row if the tokens were revoked as often already.
    raise_token_epoch: "insert into token_epochs (app_name, subject, epoch) values ($1, $2, $3) \
                        on conflict (subject, app_name) do update set epoch = excluded.epoch \
                        where token_epochs.epoch < excluded.epoch",
    revoke_tokens: "insert into token_epochs (app_name, subject, epoch) values ($1, $2, 1) \
                    on conflict (subject, app_name) do update set epoch = token_epochs.epoch + 1 returning epoch",
}

row! {
    impl TokenEpoch {
        app: AppName = "app_name",
        subject: Subject,
        epoch: i64,
    }
}

row! {
    struct ApiKeyRow {
        id: String,
        name: String,
        digest: Option<Vec<u8>>,
        role: String,
        apps: String,
        users: String,
        create_time: Micros,
        expire_time: Option<Micros>,
        last_used_time: Option<Micros>,
    }
}

impl TryFrom<ApiKeyRow> for ApiKey {
    type Error = StoreError;

    fn try_from(row: ApiKeyRow) -> Result<Self> {
        let odd = || StoreError::new(Cause::Internal, "a stored API key is not what its statement writes");
        let names = |text| {
            let patterns: Option<Vec<_>> = Json::trusted(text).as_array()?.map(Json::as_str).collect();
            Some(Names::patterns(patterns?.iter().map(|pattern| &**pattern)))
        };
        Ok(Self {
            digest: row.digest.and_then(|digest| digest.try_into().ok()).ok_or_else(odd)?,
            grant: Grant {
                role: Role::parse(&row.role).ok_or_else(odd)?,
                apps: names(&row.apps).ok_or_else(odd)?,
                users: names(&row.users).ok_or_else(odd)?,
            },
            id: row.id,
            name: plain_text(&row.name),
            create_time: row.create_time,
            expire_time: row.expire_time,
            last_used_time: row.last_used_time,
        })
    }
}
