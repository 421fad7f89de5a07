//! What a policy leaves of artifacts: the last versions of each.

use super::blobs;
use super::read::Holder;
use super::remove::{forget, hold};
use crate::domain::artifact::{HeldName, KeepVersions};
use crate::domain::ids::{ArtifactName, UserId, UserKey};
use crate::domain::writes::ArtifactChange;
use crate::store::backend::Tx;
use crate::store::error::{Result, corrupt};
use crate::store::run::End;
use crate::store::sql::columns::OF_INCARNATION;
use crate::store::sql::query::{Query, Sql, row};
use crate::store::sql::statements::statements;

/// How many artifacts one transaction looks at, and of how many it removes versions: it must fit into the time limit.
const WALKED: i64 = 500;
const CHANGED: usize = 20;

/// Of the next artifacts, those that have too many versions, as many as one transaction takes, and where to go on.
pub async fn find<X: Tx>(tx: &mut X, walk: &KeepVersions) -> Result<(Vec<HeldName>, Option<HeldName>)> {
    let (rows, next) = next(tx, walk).await?;
    let mut due = Vec::new();
    for NameRow { name, versions } in rows {
        if versions > walk.keep {
            due.push(name.clone());
        }
        if due.len() == CHANGED {
            return Ok((due, Some(name)));
        }
    }
    Ok((due, next))
}

/// How many versions of the next artifacts are too many, and where to go on.
pub async fn excess<X: Tx>(tx: &mut X, walk: &KeepVersions) -> Result<(i64, Option<HeldName>)> {
    let (rows, next) = next(tx, walk).await?;
    Ok((rows.iter().map(|row| (row.versions - walk.keep).max(0)).sum(), next))
}

/// The next artifacts, and where to go on.
async fn next(db: &mut impl Sql, walk: &KeepVersions) -> Result<(Vec<NameRow>, Option<HeldName>)> {
    let after = walk.after.as_ref();
    let query = Query::new(&Statements::of(db).walk_artifacts)
        .app(&walk.app)
        .bind(after.map_or("", |after| &after.user))
        .bind(after.map_or("", |after| &after.session))
        .bind(after.map_or(0, |after| after.incarnation))
        .bind(after.map_or("", |after| &after.name))
        .bind(WALKED);
    let rows: Vec<NameRow> = db.fetch(query).await?;
    let last = rows.last().filter(|_| rows.len() == WALKED as usize).map(|row| row.name.clone());
    Ok((rows, last))
}

/// Removes all but the last versions of these.
pub async fn keep<X: Tx>(
    tx: &mut X,
    walk: &KeepVersions,
    due: &[HeldName],
    next: Option<HeldName>,
) -> Result<(Option<HeldName>, End)> {
    let mut told = Vec::new();
    for name in due {
        let user = UserKey { app: walk.app.clone(), user: UserId::parse(&name.user).map_err(corrupt)? };
        let holder = Holder { user: &user, session: &name.session, incarnation: name.incarnation };
        // One that is gone has left the rest to the sweep.
        if !hold(tx, holder).await? {
            continue;
        }
        let query = holder.query(&Statements::of(tx).drop_versions).bind(&name.name).bind(walk.keep);
        let dropped: Vec<(Option<String>, i64)> = tx.fetch(query).await?;
        if let Some(through) = dropped.iter().map(|(_, version)| *version).max() {
            let of = ArtifactName::parse(&name.name).map_err(corrupt)?;
            told.push(holder.told(&of, ArtifactChange::Outdated { through })?);
            forget(tx, holder, &name.name, dropped.len() as i64).await?;
            blobs::release(tx, &user, dropped.into_iter().map(|(blob, _)| blob)).await?;
        }
    }
    Ok((next, End::Commit(told)))
}

statements! { _words,
    /// Artifacts of an app after `$2, $3, $4, $5`, up to `$6`.
    walk_artifacts: "select user_id, session_id, incarnation, name, versions from artifact_names where app_name = $1 \
                       and (user_id, session_id, incarnation, name) > ($2, $3, $4, $5) \
                     order by user_id, session_id, incarnation, name limit 0 + $6",
    /// Of the artifact `$5`, all but the last `$6`.
    drop_versions: format!(
        "delete from artifacts where {OF_INCARNATION} and name = $5 and version < (select min(version) from (select version \
           from artifacts where {OF_INCARNATION} and name = $5 order by version desc limit 0 + $6) as kept) returning blob, version"
    ),
}

row! {
    /// An artifact, and how many versions it has.
    struct NameRow {
        name: HeldName,
        versions: i64,
    }
}

row! {
    impl HeldName {
        user: String = "user_id",
        session: String = "session_id",
        incarnation: i64,
        name: String,
    }
}
