//! How a session goes: its row at once, its other rows a chunk at a time.

use crate::domain::erasure::Removed;
use crate::domain::ids::SessionKey;
use crate::domain::writes::{Committed, Removal, SessionChange};
use crate::store::error::Result;
use crate::store::sessions::sources::note_removed;
use crate::store::sql::columns::{LISTED_PLACE, OF_INCARNATION, OF_SESSION};
use crate::store::sql::makers::{self, Events};
use crate::store::sql::past::STATE;
use crate::store::sql::query::{Query, Sql, at_most_one};
use crate::store::sql::statements::statements;

/// Removes the session's row and notes its incarnation for [`purge`]. Returns the change to announce.
pub async fn bury(db: &mut impl Sql, key: &SessionKey, incarnation: i64, removal: Removal) -> Result<Committed> {
    let statements = Statements::of(db);
    db.execute(Query::of(&statements.unlist_update, key, incarnation)).await?;
    let unlist = Query::of(&statements.unlist_session, key, incarnation);
    if let Some((Some(source),)) = at_most_one::<(Option<String>,)>(db, unlist).await? {
        // Behind the removal: that waited for forks which were being made, and these are there now.
        note_removed(db, key, &source).await?;
    }
    leave(db, key, incarnation).await?;
    Ok(Committed::Session { key: key.clone(), incarnation, change: SessionChange::Deleted(removal) })
}

/// Notes an incarnation that has rows but no session for [`purge`].
pub async fn leave(db: &mut impl Sql, key: &SessionKey, incarnation: i64) -> Result<()> {
    db.execute(Query::of(&Statements::of(db).bury_session, key, incarnation)).await.map(drop)
}

/// Removes up to `limit` rows of each kind that a buried incarnation left; with `events` what becomes of changes that its events made.
/// Returns how many it removed.
pub async fn purge(
    db: &mut impl Sql,
    (key, incarnation): (&SessionKey, i64),
    events: Events,
    limit: i64,
) -> Result<Removed> {
    let statements = Statements::of(db);
    let mut purged = Removed::default();
    let last = Query::of(&statements.last_to_purge, key, incarnation).bind(limit);
    if let Some((last,)) = at_most_one::<(i64,)>(db, last).await? {
        makers::release(db, (key, incarnation), (-1, last), events).await?;
        purged.events = db.execute(Query::of(&statements.purge_events, key, incarnation).bind(last)).await? as i64;
    }
    for (text, count) in
        [(&statements.purge_state, &mut purged.state_keys), (&statements.purge_spans, &mut purged.changes)]
    {
        *count = db.execute(Query::of(text, key, incarnation).bind(limit)).await? as i64;
    }
    Ok(purged)
}

/// Forgets an incarnation of which no row is left.
pub async fn finish(db: &mut impl Sql, key: &SessionKey, incarnation: i64) -> Result<()> {
    let query = Query::of(&Statements::of(db).forget_buried, key, incarnation);
    db.execute(query).await.map(drop)
}

statements! { _words,
    unlist_update: format!(
        "delete from session_updates where app_name = $1 and user_id = $2 and id = $3 \
           and rough = (select s.rough from sessions s where {OF_SESSION}) \
           and place = (select {LISTED_PLACE} from sessions s where {OF_SESSION})"
    ),
    unlist_session: "delete from sessions where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4 \
                     returning forked_from",
    bury_session: "insert into buried_sessions (app_name, user_id, session_id, incarnation) \
                   values ($1, $2, $3, $4) on conflict do nothing",
    /// The last of the first `$5` events.
    last_to_purge: format!(
        "select sequence from (select sequence from events where {OF_INCARNATION} order by sequence limit 0 + $5) as page \
         order by sequence desc limit 1"
    ),
    purge_events: format!("delete from events where {OF_INCARNATION} and sequence <= $5"),
    purge_state: STATE.purge_state(),
    purge_spans: STATE.purge_spans(),
    forget_buried: format!("delete from buried_sessions where {OF_INCARNATION}"),
}
