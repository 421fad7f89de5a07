//! The statements of app and user state.

use crate::domain::ids::{IdempotencyKey, ScopeKey};
use crate::domain::query::ScopeView;
use crate::domain::request_key::RequestKey;
use crate::domain::scope::join;
use crate::domain::state_range::{KeyPage, PageLimit};
use crate::domain::time::Micros;
use crate::store::error::Result;
use crate::store::sql::keys::{self, in_range, page_of_keys};
use crate::store::sql::query::{Query, Sql, one, value};
use crate::store::sql::scope::ScopeTables;
use crate::store::sql::statements::statements;

/// The state, or these keys of it.
pub async fn scope(db: &mut impl Sql, scope: &ScopeKey, keys: Option<&[String]>) -> Result<ScopeView> {
    let query = Query::new(&ScopeStatements::of(db, scope).scope).owner(scope).bind(keys);
    let (revision, state): (i64, Option<String>) = one(db, query).await?;
    Ok(ScopeView { revision, state: join([state.as_deref()]), next: None })
}

/// A range of the keys.
pub async fn range(
    db: &mut impl Sql,
    scope: &ScopeKey,
    (begin, end): &(String, String),
    limit: PageLimit,
) -> Result<KeyPage> {
    let query = Query::new(&ScopeStatements::of(db, scope).range).owner(scope).bind(begin).bind(end);
    keys::part(db, query, limit).await
}

/// The digest of the request of this key that changed the scope.
pub async fn patched_by(db: &mut impl Sql, scope: &ScopeKey, key: &IdempotencyKey) -> Result<Option<Vec<u8>>> {
    let query = Query::new(&ScopeStatements::of(db, scope).patch).owner(scope).bind(key.as_str());
    value(db, query).await
}

pub async fn remember_patch(db: &mut impl Sql, scope: &ScopeKey, request: &RequestKey, now: Micros) -> Result<()> {
    let query = Query::new(&ScopeStatements::of(db, scope).remember_patch).owner(scope);
    db.execute(query.bind(request.key.as_str()).bind(&request.digest[..]).bind(now.0)).await.map(drop)
}

/// Removes up to `limit` requests of each kind of scope that are older than `age` microseconds; how many there were.
pub async fn forget_patches(db: &mut impl Sql, now: Micros, age: i64, limit: i64) -> Result<u64> {
    let mut forgotten = 0;
    for statements in ScopeStatements::both(db.words()) {
        forgotten += db.execute(Query::new(&statements.forget_patches).bind(now.0).bind(age).bind(limit)).await?;
    }
    Ok(forgotten)
}

statements! { words, ScopeTables { name, owner, values, of, t_of, params: [p, q, r, s, ..], began, .. },
    /// `p` are the keys wanted, or null.
    scope: format!(
        "select coalesce((select revision from {name}_scopes where {of}), 0) as revision, \
           (select {} from {name}_state t where {t_of}{}) as state",
        (words.member)("t.key"),
        (words.wanted)(p)
    ),
    /// The keys from `p` up to `q`.
    range: page_of_keys(&format!("select key, value from {name}_state where {of}{}", in_range("key", p, q)), r, s),
    /// The last changes of the keys `p`, their removals included, given the revisions `q` since which they matter. What was before the
    /// floor is not known, so each may have changed there; but where the scope began, there was nothing, as at revision 0.
    keys_changed: format!(
        "select p.text, (select max(c.revision) from ( \
           select max(revision) as revision from {name}_log where {of} and key = p.text \
           union all select floor from {name}_scopes where {of} and (p.number > 0 or floor > {began})) as c) from {}",
        words.pairs(p, q)
    ),
    /// The digest of a request that changed the scope.
    patch: format!("select digest from {name}_patches where {of} and request_key = {p}"),
    remember_patch: format!(
        "insert into {name}_patches ({owner}, request_key, digest, time) values ({values}, {p}, {q}, {})",
        words.present(r)
    ),
    /// Removes up to `$3` requests that are older than `$2`; `$1` is now, where the database has no clock.
    forget_patches: format!(
        "delete from {name}_patches where ({owner}, request_key) in (select {owner}, request_key from {name}_patches \
         where time < {} - $2 order by time limit 0 + $3{})",
        words.present("$1"),
        words.skip_locked()
    ),
}
