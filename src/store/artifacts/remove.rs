//! How versions go: one by one, with their session, or with their user.

use super::read::Holder;
use super::{blobs, read};
use crate::domain::artifact::ArtifactDeletion;
use crate::domain::guard::Guard;
use crate::domain::ids::{SessionKey, UserKey};
use crate::domain::refusal::Refusal;
use crate::domain::writes::ArtifactChange;
use crate::store::backend::Tx;
use crate::store::error::{Decided, Result};
use crate::store::named;
use crate::store::run::End;
use crate::store::sessions::change::{judge, locked_live};
use crate::store::sql::columns::OF_INCARNATION;
use crate::store::sql::query::{Query, Sql, all_values, value};
use crate::store::sql::statements::statements;

/// Removes a version, or all of an artifact. Its numbers are not used again.
pub async fn delete<X: Tx>(tx: &mut X, deletion: &ArtifactDeletion) -> Decided<((), End)> {
    let ArtifactDeletion { place, name, version, if_match, lease, now } = deletion;
    let mut incarnation = 0;
    if let Some(session) = place.session() {
        let row = locked_live(tx, session, *now).await?.ok_or(Refusal::SessionNotFound)?;
        judge(tx, &row, &Guard { lease: *lease, if_match: None }, *now).await?;
        incarnation = row.head.incarnation;
    }
    let holder = Holder::of(place, name, incarnation);
    let is_held = hold(tx, holder).await?;
    if let Some(if_match) = if_match {
        let latest = read::one_of(tx, holder, name, None)
            .await?
            .map(|(version, _)| (version.version, version.content.bytes.map(|(_, sha256)| sha256)));
        if !if_match.holds(latest) {
            return Err(Refusal::ArtifactMismatch(latest.map(|(version, _)| version)).into());
        }
    }
    if !is_held {
        return Ok(((), End::Release));
    }
    let statements = Statements::of(tx);
    let query = holder.query(&statements.delete_versions).bind(name.as_str());
    let deleted: Vec<(Option<String>, Option<i64>)> = tx.fetch(query.bind(*version)).await?;
    let Some((_, size)) = deleted.first() else { return Ok(((), End::Release)) };
    let change = match *version {
        Some(version) => ArtifactChange::Deleted { version, size: *size },
        None => ArtifactChange::AllDeleted,
    };
    let told = holder.told(name, change)?;
    forget(tx, holder, name.as_str(), deleted.len() as i64).await?;
    blobs::release(tx, holder.user, deleted.into_iter().map(|(blob, _)| blob)).await?;
    Ok(((), End::Commit(vec![told])))
}

/// Counts versions of an artifact that were removed.
pub async fn forget(db: &mut impl Sql, holder: Holder<'_>, name: &str, removed: i64) -> Result<()> {
    let statements = Statements::of(db);
    db.execute(holder.query(&statements.set_removed).bind(name).bind(removed)).await?;
    db.execute(holder.query(&statements.count_removed).bind(removed)).await.map(drop)
}

/// Holds a session or a user against savers, forks and rewinds; `false` if it is gone, or has had no artifact.
pub async fn hold(db: &mut impl Sql, holder: Holder<'_>) -> Result<bool> {
    let statements = Statements::of(db);
    let text = if holder.session.is_empty() { &statements.hold_user_place } else { &statements.hold_session_place };
    Ok(value::<i64>(db, holder.query(text)).await?.is_some())
}

/// Removes up to `limit` versions, and as many names, of a buried session; how many versions there were, and whether there may be more of
/// either.
pub async fn purge_artifacts<X: Tx>(tx: &mut X, key: &SessionKey, incarnation: i64, limit: i64) -> Result<(i64, bool)> {
    let statements = Statements::of(tx);
    let of = |text: &'static str| Query::of(text, key, incarnation);
    let blobs = all_values(tx, of(&statements.purge_versions).bind(limit)).await?;
    let versions = blobs.len() as i64;
    blobs::release(tx, &key.user, blobs.into_iter()).await?;
    let names = tx.execute(of(&statements.purge_names).bind(limit)).await? as i64;
    tx.execute(of(&statements.forget_place)).await?;
    let named = named::purge(tx, key, incarnation, limit).await?;
    Ok((versions, versions.max(names).max(named) == limit))
}

/// Removes the artifacts of a user, and marks all its blobs as parts of the erasure `id`: those of its sessions follow with these. Returns
/// how many versions there were.
pub async fn erase_artifacts<X: Tx>(tx: &mut X, user: &UserKey, id: &str) -> Result<i64> {
    let statements = Statements::of(tx);
    let of = |text: &'static str| Query::new(text).user(user);
    let blobs = all_values(tx, of(&statements.erase_versions)).await?;
    let versions = blobs.len() as i64;
    blobs::release(tx, user, blobs.into_iter()).await?;
    tx.execute(of(&statements.erase_names)).await?;
    tx.execute(of(&statements.erase_places)).await?;
    tx.execute(of(&statements.erase_blobs).bind(id)).await?;
    Ok(versions)
}

statements! { words,
    hold_session_place: format!(
        "select revision from sessions where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4{}",
        words.for_update()
    ),
    hold_user_place: format!("select versions from artifact_places where {OF_INCARNATION}{}", words.for_update()),
    /// The version `$6` of the artifact `$5`, or all.
    delete_versions: format!(
        "delete from artifacts where {OF_INCARNATION} and name = $5 and coalesce(version = $6, true) returning blob, size"
    ),
    /// Of the artifact `$5`, `$6` versions were removed.
    set_removed: format!(
        "update artifact_names set versions = versions - $6, \
           latest = (select max(version) from artifacts where {OF_INCARNATION} and name = $5) \
         where {OF_INCARNATION} and name = $5"
    ),
    count_removed: format!("update artifact_places set versions = versions - $5 where {OF_INCARNATION}"),
    purge_versions: format!(
        "delete from artifacts where {OF_INCARNATION} and (name, version) <= (select name, version from (select name, version \
           from artifacts where {OF_INCARNATION} order by name, version limit 0 + $5) as page \
         order by name desc, version desc limit 1) returning blob"
    ),
    purge_names: format!(
        "delete from artifact_names where {OF_INCARNATION} and name <= (select name from (select name \
           from artifact_names where {OF_INCARNATION} order by name limit 0 + $5) as page order by name desc limit 1)"
    ),
    forget_place: format!("delete from artifact_places where {OF_INCARNATION}"),
    erase_versions: "delete from artifacts where app_name = $1 and user_id = $2 and session_id = '' returning blob",
    erase_names: "delete from artifact_names where app_name = $1 and user_id = $2 and session_id = ''",
    erase_places: "delete from artifact_places where app_name = $1 and user_id = $2",
    /// Bytes that come are lost. They go first.
    erase_blobs: "update blobs set erasure = $3, versions = case when versions = 0 then -1 else versions end, \
                    loose_since = case when versions <= 0 then -1 else loose_since end \
                  where app_name = $1 and user_id = $2 and erasure is null",
}
