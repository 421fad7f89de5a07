//! The statements of app and user state.

use sqlx::FromRow;

use crate::domain::ids::{IdempotencyKey, ScopeKey};
use crate::domain::query::ScopeView;
use crate::domain::request_key::RequestKey;
use crate::domain::scope::join;
use crate::domain::time::Micros;
use crate::store::error::StoreError;
use crate::store::sql::query::{Query, Sql, at_most_one, one};
use crate::store::sql::statements::statements;
use crate::store::sql::words::Words;

type Result<T> = std::result::Result<T, StoreError>;

#[derive(FromRow)]
pub struct ScopeRow {
    revision: i64,
    state: Option<String>,
}

pub async fn scope(db: &mut impl Sql, scope: &ScopeKey) -> Result<ScopeView> {
    let statements = Statements::of(db);
    let query = match scope {
        ScopeKey::App(app) => Query::new(&statements.app_scope).app(app),
        ScopeKey::User(key) => Query::new(&statements.user_scope).user(key),
    };
    let row: ScopeRow = one(db, query).await?;
    Ok(ScopeView { revision: row.revision, state: join([row.state.as_deref()]) })
}

/// The digest of the request of this key that changed the scope.
pub async fn patched_by(db: &mut impl Sql, scope: &ScopeKey, key: &IdempotencyKey) -> Result<Option<Vec<u8>>> {
    let statements = Statements::of(db);
    let query = match scope {
        ScopeKey::App(app) => Query::new(&statements.app_patch).app(app),
        ScopeKey::User(user) => Query::new(&statements.user_patch).user(user),
    };
    let digest: Option<(Vec<u8>,)> = at_most_one(db, query.bind(key.as_str())).await?;
    Ok(digest.map(|(digest,)| digest))
}

pub async fn remember_patch(db: &mut impl Sql, scope: &ScopeKey, request: &RequestKey, now: Micros) -> Result<()> {
    let statements = Statements::of(db);
    let query = match scope {
        ScopeKey::App(app) => Query::new(&statements.remember_app_patch).app(app),
        ScopeKey::User(user) => Query::new(&statements.remember_user_patch).user(user),
    };
    db.execute(query.bind(request.key.as_str()).bind(&request.digest[..]).bind(now.0)).await.map(drop)
}

/// Removes up to `limit` requests of each kind of scope that are older than `age` microseconds; how many there were.
pub async fn forget_patches(db: &mut impl Sql, now: Micros, age: i64, limit: i64) -> Result<u64> {
    let statements = Statements::of(db);
    let mut forgotten = 0;
    for text in [&statements.forget_user_patches, &statements.forget_app_patches] {
        forgotten += db.execute(Query::new(&**text).bind(now.0).bind(age).bind(limit)).await?;
    }
    Ok(forgotten)
}

statements! { words,
    user_value: "select value from user_state where app_name = $1 and user_id = $2 and key = $3",
    app_value: "select value from app_state where app_name = $1 and key = $2",
    user_scope: format!(
        "select coalesce((select revision from user_scopes where app_name = $1 and user_id = $2), 0) as revision, \
           (select {} from user_state t where t.app_name = $1 and t.user_id = $2) as state",
        (words.member)("t.key")
    ),
    app_scope: format!(
        "select coalesce((select revision from app_scopes where app_name = $1), 0) as revision, \
           (select {} from app_state t where t.app_name = $1) as state",
        (words.member)("t.key")
    ),
    /// The last changes of shared keys, their removals included, given the revisions since which they matter. What was before the floor is
    /// not known, so each may have changed there; but where the scope began, there was nothing, as at revision 0.
    user_keys_changed: keys_changed(words, "user", "app_name = $1 and user_id = $2", ["$3", "$4"], "began"),
    app_keys_changed: keys_changed(words, "app", "app_name = $1", ["$2", "$3"], "0"),
    /// The digest of a request that changed a shared scope.
    user_patch: "select digest from user_patches where app_name = $1 and user_id = $2 and request_key = $3",
    app_patch: "select digest from app_patches where app_name = $1 and request_key = $2",
    remember_user_patch: format!(
        "insert into user_patches (app_name, user_id, request_key, digest, time) values ($1, $2, $3, $4, {})",
        words.present("$5")
    ),
    remember_app_patch: format!(
        "insert into app_patches (app_name, request_key, digest, time) values ($1, $2, $3, {})",
        words.present("$4")
    ),
    /// Removes up to `$3` requests that are older than `$2`; `$1` is now, where the database has no clock.
    forget_user_patches: forget_text(words, "user_patches", "app_name, user_id, request_key"),
    forget_app_patches: forget_text(words, "app_patches", "app_name, request_key"),
}

fn keys_changed(words: &Words, scope: &str, of: &str, [keys, since]: [&str; 2], began: &str) -> String {
    let pairs = (words.pairs)(keys, since);
    format!(
        "select p.text, (select max(c.revision) from ( \
           select max(revision) as revision from {scope}_log where {of} and key = p.text \
           union all select floor from {scope}_scopes where {of} and (p.number > 0 or floor > {began})) as c) from {pairs}"
    )
}

fn forget_text(words: &Words, table: &str, key: &str) -> String {
    let skip_locked = words.skip_locked();
    format!(
        "delete from {table} where ({key}) in (select {key} from {table} where time < {} - $2 order by time \
         limit 0 + $3{skip_locked})",
        words.present("$1")
    )
}
