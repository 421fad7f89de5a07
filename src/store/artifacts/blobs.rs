//! Bytes: noted before they come, chunk by chunk, held by versions, and removed when none holds them.

use std::collections::{BTreeMap, HashSet};

use crate::domain::artifact::{Blob, BlobKey, LooseBlob, SavedBlob};
use crate::domain::ids::UserKey;
use crate::domain::refusal::Refusal;
use crate::domain::time::Micros;
use crate::store::backend::Tx;
use crate::store::error::{Decided, Result};
use crate::store::run::End;
use crate::store::sql::insert::{in_sizes, rows_of};
use crate::store::sql::query::{Query, Sql, Value, row};
use crate::store::sql::statements::statements;

/// For how long nothing may come to a blob, in microseconds, before it is taken for left behind. The slowest client that is served
/// fills a chunk in a fraction of it.
const PATIENCE: i64 = 3600 * 1_000_000;

/// For how long a claimed blob is left alone, in microseconds, after its store failed to remove it.
const POSTPONED: i64 = 300 * 1_000_000;

/// How many chunks one transaction removes.
const REMOVED_CHUNKS: i64 = 64;

fn of<'a>(text: &'static str, blob: &'a BlobKey) -> Query<'a> {
    Query::new(text).user(&blob.user).bind(&blob.id)
}

/// Notes a blob whose bytes are about to come.
pub async fn note(db: &mut impl Sql, blob: &Blob, now: Micros) -> Result<()> {
    let (store, object) = blob.object.as_ref().map(|(store, object)| (&**store, &**object)).unzip();
    let query = of(&Statements::of(db).note_blob, &blob.key).bind(stored(blob.size)).bind(now.0);
    db.execute(query.bind(store).bind(object)).await.map(drop)
}

/// Bytes that are written with the version that holds them.
pub struct WithVersion<'a> {
    pub user: &'a UserKey,
    pub id: &'a str,
    pub bytes: &'a [u8],
}

/// Writes bytes with the versions that hold them.
pub async fn insert_with_versions(db: &mut impl Sql, blobs: &[WithVersion<'_>]) -> Result<()> {
    for some in in_sizes(blobs) {
        db.execute(chunks_with_versions(some)).await?;
        db.execute(blobs_with_versions(some)).await?;
    }
    Ok(())
}

pub fn chunks_with_versions<'a>(blobs: &'a [WithVersion<'a>]) -> Query<'a> {
    rows_of("blob_chunks", "app_name, user_id, blob, n, bytes", blobs, |blob, values: &mut Vec<Value<'a>>| {
        let user = blob.user;
        values.extend([
            user.app.as_str().into(),
            user.user.as_str().into(),
            blob.id.into(),
            0_i64.into(),
            blob.bytes.into(),
        ]);
    })
}

pub fn blobs_with_versions<'a>(blobs: &'a [WithVersion<'a>]) -> Query<'a> {
    rows_of("blobs", "app_name, user_id, id, size, versions", blobs, |blob, values: &mut Vec<Value<'a>>| {
        let (user, size) = (blob.user, stored(blob.bytes.len() as u64));
        values.extend([user.app.as_str().into(), user.user.as_str().into(), blob.id.into(), size.into(), 1_i64.into()]);
    })
}

/// Lets a version hold a blob that none holds; `false` if it is being removed.
pub async fn take(db: &mut impl Sql, blob: &BlobKey, size: u64) -> Result<bool> {
    Ok(db.execute(of(&Statements::of(db).take_blob, blob).bind(stored(size))).await? > 0)
}

/// Lets a version that is new hold its bytes: those that come with it are written.
///
/// # Errors
/// `BlobLost`.
pub async fn hold_saved(db: &mut impl Sql, user: &UserKey, blob: &SavedBlob, size: u64) -> Decided<()> {
    let key = BlobKey { user: user.clone(), id: blob.id.clone() };
    match &blob.bytes {
        Some(bytes) => {
            insert_chunk(db, &key, 0, bytes).await?;
            db.execute(of(&Statements::of(db).insert_held_blob, &key).bind(stored(size))).await?;
            Ok(())
        }
        None if take(db, &key, size).await? => Ok(()),
        None => Err(Refusal::BlobLost.into()),
    }
}

/// A size as it is stored.
pub fn stored(size: u64) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// Lets as many versions more hold each of a user's blobs as are named.
pub async fn hold(db: &mut impl Sql, user: &UserKey, held: impl Iterator<Item = Option<String>>) -> Result<()> {
    count(db, &Statements::of(db).hold_blobs, user, held).await
}

/// Takes from each of a user's blobs as many versions as are named; those that none holds any more become loose.
pub async fn release(db: &mut impl Sql, user: &UserKey, held: impl Iterator<Item = Option<String>>) -> Result<()> {
    count(db, &Statements::of(db).release_blobs, user, held).await
}

/// Those that are named as often in one statement: most are named once.
async fn count(
    db: &mut impl Sql,
    text: &'static str,
    user: &UserKey,
    held: impl Iterator<Item = Option<String>>,
) -> Result<()> {
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    for blob in held.flatten() {
        *counts.entry(blob).or_default() += 1;
    }
    let mut by_count: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for (blob, count) in counts {
        by_count.entry(count).or_default().push(blob);
    }
    for (count, ids) in &by_count {
        db.execute(Query::new(text).user(user).bind(Some(&**ids)).bind(*count)).await?;
    }
    Ok(())
}

async fn insert_chunk(db: &mut impl Sql, blob: &BlobKey, n: i64, bytes: &[u8]) -> Result<()> {
    db.execute(of(&Statements::of(db).insert_chunk, blob).bind(n).bind(bytes)).await.map(drop)
}

pub async fn add_chunk<X: Tx>(tx: &mut X, blob: &BlobKey, n: i64, bytes: &[u8], now: Micros) -> Decided<((), End)> {
    let ((), end) = renew(tx, blob, None, now).await?;
    insert_chunk(tx, blob, n, bytes).await?;
    Ok(((), end))
}

pub async fn renew<X: Tx>(tx: &mut X, blob: &BlobKey, upload: Option<&str>, now: Micros) -> Decided<((), End)> {
    let renewed = tx.execute(of(&Statements::of(tx).renew_blob, blob).bind(now.0).bind(upload)).await?;
    if renewed > 0 { Ok(((), End::UNTOLD)) } else { Err(Refusal::BlobLost.into()) }
}

pub fn leave<'a>(db: &impl Sql, blob: &'a BlobKey) -> Query<'a> {
    of(&Statements::of(db).leave_blob, blob)
}

pub fn chunk<'a>(db: &impl Sql, blob: &'a BlobKey, n: i64) -> Query<'a> {
    of(&Statements::of(db).chunk, blob).bind(n)
}

pub fn loose(db: &impl Sql, now: Micros, limit: usize) -> Query<'static> {
    Query::new(&Statements::of(db).loose_blobs).bind(now.0).bind(PATIENCE).bind(limit as i64)
}

/// Those of some objects of a store that a blob has.
pub fn known<'a>(db: &impl Sql, store: &'a str, objects: &'a [String]) -> Query<'a> {
    Query::new(&Statements::of(db).known_objects).bind(store).bind(Some(objects))
}

pub fn postpone<'a>(db: &impl Sql, blob: &'a BlobKey, now: Micros) -> Query<'a> {
    of(&Statements::of(db).postpone_blob, blob).bind(now.0).bind(PATIENCE - POSTPONED)
}

pub async fn claim<X: Tx>(tx: &mut X, blobs: &[&BlobKey], now: Micros) -> Result<(HashSet<String>, End)> {
    let mut claimed = HashSet::new();
    // One by one: without statistics of a young table, PostgreSQL would compare each blob of the user with a list.
    for blob in blobs {
        if tx.execute(of(&Statements::of(tx).claim_blob, blob).bind(now.0).bind(PATIENCE)).await? > 0 {
            claimed.insert(blob.id.clone());
        }
    }
    let end = if claimed.is_empty() { End::Release } else { End::UNTOLD };
    Ok((claimed, end))
}

pub async fn remove_all<X: Tx>(tx: &mut X, blobs: &[&BlobKey]) -> Result<((), End)> {
    for blob in blobs {
        for text in [&Statements::of(tx).remove_all_chunks, &Statements::of(tx).forget_blob] {
            tx.execute(of(text, blob)).await?;
        }
    }
    Ok(((), End::UNTOLD))
}

pub async fn remove<X: Tx>(tx: &mut X, blob: &BlobKey) -> Result<(bool, End)> {
    let statements = Statements::of(tx);
    let removed = tx.execute(of(&statements.remove_chunks, blob).bind(REMOVED_CHUNKS)).await?;
    if removed == 0 {
        tx.execute(of(&statements.forget_blob, blob)).await?;
    }
    Ok((removed > 0, End::UNTOLD))
}

const OF_BLOB: &str = "app_name = $1 and user_id = $2 and id = $3";
const OF_CHUNKS: &str = "app_name = $1 and user_id = $2 and blob = $3";

statements! { words,
    /// A blob of `$4` bytes that no version holds, as of `$5`, where the database has no clock.
    note_blob: format!(
        "insert into blobs (app_name, user_id, id, size, versions, loose_since, store, object) \
         values ($1, $2, $3, $4, 0, {}, $6, $7) on conflict do nothing",
        words.present("$5")
    ),
    /// A blob of the database that a version holds.
    insert_held_blob: "insert into blobs (app_name, user_id, id, size, versions) values ($1, $2, $3, $4, 1) on conflict do nothing",
    take_blob: format!(
        "update blobs set versions = 1, loose_since = null, upload = null, size = $4 where {OF_BLOB} and versions = 0"
    ),
    /// Of each of the blobs `$3`, `$4` versions. (A list that an update joins, SQLite goes through for each row of the user.)
    hold_blobs: format!(
        "update blobs set versions = versions + $4 where app_name = $1 and user_id = $2 and id in (select k.value from {})",
        (words.each)("$3")
    ),
    release_blobs: format!(
        "update blobs set versions = versions - $4, \
           loose_since = case when versions <> $4 then loose_since when erasure is null then 0 else -1 end \
         where app_name = $1 and user_id = $2 and id in (select k.value from {})",
        (words.each)("$3")
    ),
    /// `$5`: the unfinished upload that has begun, if one has.
    renew_blob: format!(
        "update blobs set loose_since = {}, upload = coalesce($5, upload) where {OF_BLOB} and versions = 0",
        words.present("$4")
    ),
    leave_blob: format!("update blobs set loose_since = 0 where {OF_BLOB} and versions = 0"),
    insert_chunk: "insert into blob_chunks (app_name, user_id, blob, n, bytes) values ($1, $2, $3, $4, $5) \
                   on conflict do nothing",
    chunk: format!("select bytes from blob_chunks where {OF_CHUNKS} and n = $4"),
    /// Up to `$3` blobs to which nothing has come for `$2`; `$1` is now, where the database has no clock.
    loose_blobs: format!(
        "select app_name, user_id, id, size, store, object, upload, cast(case when erasure is null then 0 else 1 end as bigint) as erased \
         from blobs where loose_since < {} - $2 \
         order by loose_since limit 0 + $3",
        words.present("$1")
    ),
    /// If nothing has come to it for `$5`; `$4` is now, where the database has no clock.
    claim_blob: format!(
        "update blobs set versions = -1 where {OF_BLOB} and versions <= 0 and loose_since < {} - $5",
        words.present("$4")
    ),
    remove_all_chunks: format!("delete from blob_chunks where {OF_CHUNKS}"),
    postpone_blob: format!(
        "update blobs set loose_since = {} - $5 where {OF_BLOB} and versions = -1",
        words.present("$4")
    ),
    /// Those of the objects `$2` of the store `$1` that a blob has.
    known_objects: format!(
        "select b.object from {} join blobs b on b.object = k.value where b.store = $1",
        (words.each)("$2")
    ),
    remove_chunks: format!(
        "delete from blob_chunks where {OF_CHUNKS} and n <= (select n from (select n from blob_chunks \
         where {OF_CHUNKS} order by n limit 0 + $4) as page order by n desc limit 1)"
    ),
    forget_blob: format!("delete from blobs where {OF_BLOB} and versions = -1"),
}

row! {
    impl LooseBlob {
        blob: Blob,
        upload: Option<String>,
        is_erased: i64 = "erased" => |erased: i64| erased > 0,
    }
}
row! { impl Blob { key: BlobKey, size: u64, object: Option<(String, String)>, } }
row! { impl BlobKey { user: UserKey, id: String, } }
