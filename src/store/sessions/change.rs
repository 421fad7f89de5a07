//! Changes of sessions that append no event: metadata, deletions.

use std::collections::BTreeSet;

use crate::domain::command::{Deletion, MetadataUpdate};
use crate::domain::guard::Guard;
use crate::domain::ids::SessionKey;
use crate::domain::json::RawJson;
use crate::domain::loaded::{Loaded, LockedSession, Needs};
use crate::domain::query::SessionView;
use crate::domain::refusal::Refusal;
use crate::domain::session::MetadataPatch;
use crate::domain::time::Micros;
use crate::domain::writes::{Committed, Removal, SessionChange};
use crate::store::backend::{OnLocked, Tx};
use crate::store::error::{Decided, Result};
use crate::store::run::End;
use crate::store::sessions::bury::bury;
use crate::store::sessions::read::{not_there, view, written};
use crate::store::sql::query::{Query, Sql};
use crate::store::sql::statements::statements;
use crate::store::sql::words::{Words, ttl_correction};

pub async fn locked_live<X: Tx>(tx: &mut X, key: &SessionKey, now: Micros) -> Result<Option<LockedSession>> {
    Ok(tx.lock_sessions(&BTreeSet::from([key]), OnLocked::Wait).await?.into_iter().find(|row| row.head.is_live(now)))
}

/// Judges a change of a locked session that writes no state. The scopes are read, and may change meanwhile.
///
/// # Errors
/// `Lease`, `RevisionMismatch`.
pub async fn judge<X: Tx>(tx: &mut X, row: &LockedSession, guard: &Guard, now: Micros) -> Decided<()> {
    let mut found = Loaded::default();
    if guard.if_match.is_some() {
        found = tx.read_heads(&Needs::of_revisions(&row.key)).await?;
    }
    found.timeline = tx.timeline();
    found.sessions.insert(row.key.clone(), row.head.clone());
    let tag = found.tag(&row.key).ok_or_else(not_there)?;
    Ok(guard.judge(&row.head.lease, &tag, now)?)
}

pub async fn update_metadata<X: Tx>(tx: &mut X, update: &MetadataUpdate) -> Decided<(SessionView, End)> {
    let row = locked_live(tx, &update.key, update.now).await?.ok_or(Refusal::SessionNotFound)?;
    judge(tx, &row, &update.guard, update.now).await?;
    let changes = !update.patch.is_empty();
    if changes {
        set_metadata(tx, &update.key, &update.patch, update.now).await?;
    }
    let view = view(tx, &written(&update.key, update.now, update.shows)).await?;
    let (key, incarnation) = (update.key.clone(), row.head.incarnation);
    let end = match changes {
        false => End::Release,
        true => {
            let change = SessionChange::Updated(view.head.metadata_json());
            End::Commit(vec![Committed::Session { key, incarnation, change }])
        }
    };
    Ok((view, end))
}

async fn set_metadata(db: &mut impl Sql, key: &SessionKey, patch: &MetadataPatch, now: Micros) -> Result<()> {
    let query = Query::new(&Statements::of(db).set_metadata)
        .session(key)
        .bind(patch.display_name.is_some())
        .bind(patch.display_name.as_ref().and_then(|name| name.as_ref().map(RawJson::text)))
        .bind(patch.labels.is_some())
        .bind(patch.labels.as_ref().and_then(|labels| labels.as_ref().map(RawJson::text)))
        .bind(patch.expiry.is_some())
        .bind(patch.expiry.flatten().map(|expiry| expiry.at(now).0))
        .bind(patch.expiry.flatten().and_then(|expiry| expiry.counted_from(now)).map(|from| from.0))
        .bind(now.0);
    db.execute(query).await.map(drop)
}

pub async fn delete<X: Tx>(tx: &mut X, delete: &Deletion) -> Decided<((), End)> {
    let row = tx.lock_sessions(&BTreeSet::from([&delete.key]), OnLocked::Wait).await?.into_iter().next();
    let Some(row) = row.filter(|row| row.head.incarnation == delete.incarnation) else {
        return Ok(((), End::Release));
    };
    judge(tx, &row, &delete.guard, delete.now).await?;
    let told = bury(tx, &delete.key, row.head.incarnation, Removal::Deleted).await?;
    Ok(((), End::Commit(vec![told])))
}

statements! { words,
    /// For each field a flag, whether to set it, and its value; `$10` is the time from which a time to live was counted, or
    /// null; `$11` is now.
    set_metadata: set_metadata_text(words),
}

/// Citus wants to know before it sends an update what a `case` or a `coalesce` compares: there the clock is read apart.
fn set_metadata_text(words: &Words) -> String {
    let (words, from) = match words.clock {
        Some(clock) if words.shape.is_distributed() => {
            let apart = Words { clock: Some("n.now"), ttl_clock: "n.now", ..*words };
            (apart, format!(" from (select {clock} as now) as n"))
        }
        _ => (*words, String::new()),
    };
    format!(
        "update sessions set metadata_revision = metadata_revision + 1, \
           display_name = case when $4 then $5 else display_name end, labels = case when $6 then $7 else labels end, \
           expire_time = case when $8 then $9 + {} else expire_time end, active_day = {}{from} \
         where app_name = $1 and user_id = $2 and id = $3",
        ttl_correction(words.ttl_clock, "$10"),
        words.day("$11")
    )
}
