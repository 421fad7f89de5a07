//! What a policy leaves of artifacts: the last versions of each.

use sqlx::FromRow;

use super::blobs;
use super::read::Holder;
use super::remove::forget;
use crate::domain::artifact::{HeldName, KeepVersions};
use crate::domain::ids::{UserId, UserKey};
use crate::store::backend::Tx;
use crate::store::error::{StoreError, corrupt};
use crate::store::run::End;
use crate::store::sql::columns::OF_INCARNATION;
use crate::store::sql::query::{Query, Sql};
use crate::store::sql::statements::statements;

type Result<T> = std::result::Result<T, StoreError>;

/// How many artifacts one transaction looks at, and of how many it removes versions: it must fit into the time limit.
const WALKED: i64 = 500;
const CHANGED: usize = 20;

/// Of the next artifacts, those that have too many versions, as many as one transaction takes, and where to go on.
pub async fn find<X: Tx>(tx: &mut X, walk: &KeepVersions) -> Result<(Vec<HeldName>, Option<HeldName>)> {
    let after = walk.after.as_ref();
    let query = Query::new(&Statements::of(tx).walk_artifacts)
        .app(&walk.app)
        .bind(after.map_or("", |after| &after.user))
        .bind(after.map_or("", |after| &after.session))
        .bind(after.map_or(0, |after| after.incarnation))
        .bind(after.map_or("", |after| &after.name))
        .bind(WALKED);
    let rows: Vec<NameRow> = tx.fetch(query).await?;
    let is_full = rows.len() == WALKED as usize;
    let mut due = Vec::new();
    let mut last = None;
    for row in rows {
        let is_due = row.versions > walk.keep;
        let name =
            HeldName { user: row.user_id, session: row.session_id, incarnation: row.incarnation, name: row.name };
        if is_due {
            due.push(name.clone());
        }
        if due.len() == CHANGED {
            return Ok((due, Some(name)));
        }
        last = Some(name);
    }
    Ok((due, last.filter(|_| is_full)))
}

/// Removes all but the last versions of these.
pub async fn keep<X: Tx>(
    tx: &mut X,
    walk: &KeepVersions,
    due: &[HeldName],
    next: Option<HeldName>,
) -> Result<(Option<HeldName>, End)> {
    for name in due {
        let user = UserKey { app: walk.app.clone(), user: UserId::parse(&name.user).map_err(corrupt)? };
        let holder = Holder { user: &user, session: &name.session, incarnation: name.incarnation };
        if !hold(tx, holder).await? {
            continue;
        }
        let query = holder.query(&Statements::of(tx).drop_versions).bind(&name.name).bind(walk.keep);
        let dropped: Vec<(Option<String>,)> = tx.fetch(query).await?;
        if !dropped.is_empty() {
            forget(tx, holder, &name.name, dropped.len() as i64).await?;
            blobs::release(tx, &user, dropped.into_iter().map(|(blob,)| blob)).await?;
        }
    }
    Ok((next, End::UNTOLD))
}

/// Holds a session or a user against savers, forks and rewinds; `false` if it is gone, and the sweep has the rest.
async fn hold(db: &mut impl Sql, holder: Holder<'_>) -> Result<bool> {
    let statements = Statements::of(db);
    let text = if holder.session.is_empty() { &statements.hold_user_place } else { &statements.hold_session_place };
    let held: Vec<(i64,)> = db.fetch(holder.query(text)).await?;
    Ok(!held.is_empty())
}

statements! { words,
    /// Artifacts of an app after `$2, $3, $4, $5`, up to `$6`.
    walk_artifacts: "select user_id, session_id, incarnation, name, versions from artifact_names where app_name = $1 \
                       and (user_id, session_id, incarnation, name) > ($2, $3, $4, $5) \
                     order by user_id, session_id, incarnation, name limit 0 + $6",
    hold_session_place: format!(
        "select revision from sessions where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4{}",
        words.for_update()
    ),
    hold_user_place: format!("select versions from artifact_places where {OF_INCARNATION}{}", words.for_update()),
    /// Of the artifact `$5`, all but the last `$6`.
    drop_versions: format!(
        "delete from artifacts where {OF_INCARNATION} and name = $5 and version < (select min(version) from (select version \
           from artifacts where {OF_INCARNATION} and name = $5 order by version desc limit 0 + $6) as kept) returning blob"
    ),
}

/// An artifact, and how many versions it has.
#[derive(FromRow)]
struct NameRow {
    user_id: String,
    session_id: String,
    incarnation: i64,
    name: String,
    versions: i64,
}
