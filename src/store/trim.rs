//! Cuts sessions, and empties what was trimmed.

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::history;
use crate::domain::ids::SessionKey;
use crate::domain::query::ANY_TIME;
use crate::domain::refusal::Refusal;
use crate::domain::session::SessionInfo;
use crate::domain::time::Micros;
use crate::domain::trim::{Cut, Trim, Trimmed, new_base};
use crate::domain::writes::{Committed, SessionChange};
use crate::store::backend::{Backend, Tx};
use crate::store::error::{Decided, Result};
use crate::store::run::End;
use crate::store::sessions::change::{judge, locked_live};
use crate::store::sessions::read::head;
use crate::store::sql::columns::{OF_EVENT, OF_INCARNATION, OWNER};
use crate::store::sql::makers::{self, Events};
use crate::store::sql::past::purge_passed;
use crate::store::sql::query::{Query, Sql, at_most_one, one, row, value};
use crate::store::sql::rows::IncarnationRow;
use crate::store::sql::statements::statements;
use crate::store::transactions::Transactions;
use crate::store::{effective, search};

#[async_trait]
pub trait Writes: Send + Sync {
    /// Lets a session begin at a later revision, at once; what was before it is emptied in [`upkeep::Writes::sweep`](crate::store::upkeep::Writes::sweep).
    async fn trim(&self, trim: &Trim, deadline: Instant) -> Decided<Trimmed>;
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn trim(&self, request: &Trim, deadline: Instant) -> Decided<Trimmed> {
        self.remembered.evict_session(&request.key);
        self.runner.of(request.key.app(), deadline).decide(async |tx| trim(tx, request).await).await
    }
}

/// How far the clocks of processes may be apart that write to one session, in microseconds: within it commit times may go back
/// from one event to the next, and each event is read.
const SKEW: i64 = 60_000_000;

/// Cuts a session. One row changes, whatever the length of the log; the sweep empties what is trimmed.
pub async fn trim<X: Tx>(tx: &mut X, trim: &Trim) -> Decided<(Trimmed, End)> {
    let row = locked_live(tx, &trim.key, trim.now).await?.ok_or(Refusal::SessionNotFound)?;
    judge(tx, &row, &trim.guard, trim.now).await?;
    let session = head(tx, &trim.key, ANY_TIME).await?.ok_or(Refusal::SessionNotFound)?;
    let wanted = match trim.cut {
        Cut::Before(sequence) => sequence.saturating_sub(1),
        Cut::Keep(events) => session.revision.saturating_sub(events),
        Cut::BeforeTime(time) => before(tx, &session, time).await?,
    };
    let base = new_base(wanted, session.base_revision, session.revision);
    let (events, mut tag) = (base - session.base_revision, session.tag());
    let end = if events > 0 {
        tag.metadata += 1;
        End::Commit(vec![cut(tx, &session, base).await?])
    } else {
        End::Release
    };
    Ok((Trimmed { base, events, tag }, end))
}

/// Cuts a locked session at `base`, which is beyond its own and not beyond its revision.
pub async fn cut<X: Tx>(tx: &mut X, session: &SessionInfo, base: i64) -> Result<Committed> {
    let cut = Query::of(&Statements::of(tx).cut, &session.key, session.incarnation).bind(base);
    tx.execute(cut.bind(history::path(base, session.revision))).await?;
    note_trim(tx, &session.key, session.incarnation, session.base_revision).await?;
    let (key, incarnation) = (session.key.clone(), session.incarnation);
    Ok(Committed::Session { key, incarnation, change: SessionChange::Trimmed(base) })
}

/// The last event before the first that was committed at `time` or later. Commit times grow with sequences but for the clocks
/// of processes, so all but the last minute before `time` is skipped by bisection.
pub async fn before<X: Tx>(tx: &mut X, session: &SessionInfo, time: Micros) -> Result<i64> {
    let (mut earlier, mut end) = (session.base_revision, session.revision + 1);
    let skipped = time.plus(-SKEW);
    let statements = Statements::of(tx);
    let of = |text: &'static str| Query::of(text, &session.key, session.incarnation);
    while end - earlier > 1 {
        let middle = earlier + (end - earlier) / 2;
        let (committed,): (Micros,) = one(tx, of(&statements.commit_time).bind(middle)).await?;
        *if committed < skipped { &mut earlier } else { &mut end } = middle;
    }
    let first: Option<i64> = value(tx, of(&statements.committed_since).bind(earlier).bind(time.0)).await?;
    Ok(first.map_or(session.revision, |first| first - 1))
}

/// Empties up to `limit` trimmed events of one session or, if all are empty, removes up to `limit` of the values that ended with them.
/// Returns whether there was anything to do.
pub async fn empty<X: Tx>(tx: &mut X, limit: i64) -> Result<bool> {
    let Some((key, incarnation, emptied)) = next_trim(tx).await? else { return Ok(false) };
    // Against an erasure, which takes what is kept of events that are emptied, and would not see it before the commit.
    let is_there = tx.keep_session(&key).await?.is_some_and(|row| row.head.incarnation == incarnation);
    let session = if is_there { head(tx, &key, ANY_TIME).await? } else { None };
    let Some(SessionInfo { base_revision: base, .. }) = session.filter(|session| session.incarnation == incarnation)
    else {
        finish_trim(tx, &key, incarnation).await?;
        return Ok(true);
    };
    let through = base.min(emptied.saturating_add(limit));
    let mut removed = 0;
    if through > emptied {
        empty_events(tx, &key, incarnation, emptied, through).await?;
    } else {
        removed = purge_passed(tx, &key, incarnation, base, limit).await?;
        removed += effective::purge_trimmed(tx, &key, incarnation, base, limit).await?;
    }
    if through == emptied && removed == 0 {
        finish_trim(tx, &key, incarnation).await?;
    }
    Ok(true)
}

/// Notes that the events after `emptied`, up to the session's base, are to be emptied.
pub async fn note_trim(db: &mut impl Sql, key: &SessionKey, incarnation: i64, emptied: i64) -> Result<()> {
    db.execute(Query::of(&Statements::of(db).note_trim, key, incarnation).bind(emptied)).await.map(drop)
}

/// A session of which trimmed events are to be emptied: its key, its incarnation, and how far that is done.
async fn next_trim(db: &mut impl Sql) -> Result<Option<(SessionKey, i64, i64)>> {
    let Some(row) = at_most_one::<TrimRow>(db, Query::new(&Statements::of(db).next_trim)).await? else {
        return Ok(None);
    };
    let IncarnationRow { key, incarnation } = row.session;
    if !db.shape().is_distributed() {
        return Ok(Some((key, incarnation, row.emptied)));
    }
    let claimed: Option<i64> = value(db, Query::of(&Statements::of(db).claim_trim, &key, incarnation)).await?;
    Ok(claimed.map(|emptied| (key, incarnation, emptied)))
}

/// Makes stubs of the events after one sequence, up to another.
async fn empty_events(db: &mut impl Sql, key: &SessionKey, incarnation: i64, after: i64, through: i64) -> Result<()> {
    makers::release(db, (key, incarnation), (after, through), Events::Leave).await?;
    search::forget(db, key, incarnation, after, through).await?;
    let statements = Statements::of(db);
    db.execute(Query::of(&statements.empty_events, key, incarnation).bind(after).bind(through)).await?;
    db.execute(Query::of(&statements.set_emptied, key, incarnation).bind(through)).await.map(drop)
}

pub async fn finish_trim(db: &mut impl Sql, key: &SessionKey, incarnation: i64) -> Result<()> {
    db.execute(Query::of(&Statements::of(db).finish_trim, key, incarnation)).await.map(drop)
}

/// Of the first `limit` stubs, removes the leading ones that were committed before `time`. Returns how many.
pub async fn purge_stubs(db: &mut impl Sql, session: &SessionInfo, time: Micros, limit: usize) -> Result<usize> {
    let statements = Statements::of(db);
    let of = |text| Query::of(text, &session.key, session.incarnation);
    let first = of(&statements.first_stubs).bind(session.base_revision).bind(limit as i64);
    let stubs: Vec<(i64, i64)> = db.fetch(first).await?;
    let old = stubs.iter().take_while(|(_, committed)| *committed < time.0);
    let Some((last, _)) = old.clone().last() else { return Ok(0) };
    // Perhaps not emptied yet.
    makers::release(db, (&session.key, session.incarnation), (-1, *last), Events::Leave).await?;
    search::forget(db, &session.key, session.incarnation, -1, *last).await?;
    db.execute(of(&statements.purge_stubs).bind(*last)).await?;
    Ok(old.count())
}

statements! { words,
    /// Cuts the session at the revision `$5`; `$6` are the nodes of the path to it.
    cut: format!(
        "update sessions set base_revision = $5, metadata_revision = metadata_revision + 1, \
           initial_state = '{{' || coalesce((select {} from ( \
             select key, value from session_state where {OF_INCARNATION} and session_state.revision <= $5 \
             union all select t.key, t.value from {} where t.valid_from <= $5 and t.valid_to > $5) as t), '') || '}}', \
           created_user_revision = (select e.user_revision from events e where {OF_EVENT} and e.sequence = $5), \
           created_app_revision = (select e.app_revision from events e where {OF_EVENT} and e.sequence = $5) \
         where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4",
        (words.member)("t.key"),
        (words.filed)("session_spans", OF_INCARNATION, "$6")
    ),
    commit_time: format!("select commit_time from events where {OF_INCARNATION} and sequence = $5"),
    /// The first event after the sequence `$5` that was committed at `$6` or later.
    committed_since: format!(
        "select sequence from events where {OF_INCARNATION} and sequence > $5 and commit_time >= $6 \
         order by sequence limit 1"
    ),
    note_trim: format!(
        "insert into trims ({OWNER}, emptied) values ($1, $2, $3, $4, $5) on conflict ({OWNER}) \
         do update set emptied = case when trims.emptied < excluded.emptied then trims.emptied else excluded.emptied end"
    ),
    next_trim: format!("select {OWNER}, emptied from trims limit 1{}", words.skip_locked()),
    /// Locks the row of a trim, where the database is distributed, and reads how far it is.
    claim_trim: format!("select emptied from trims where {OF_INCARNATION}{}", words.claim()),
    empty_events: format!(
        "update events set author = '', branch = null, body = '', redaction = null where {OF_INCARNATION} \
         and sequence > $5 and sequence <= $6"
    ),
    set_emptied: format!("update trims set emptied = $5 where {OF_INCARNATION}"),
    finish_trim: format!("delete from trims where {OF_INCARNATION}"),
    /// The first `$6` stubs of a session that begins at `$5`.
    first_stubs: format!(
        "select sequence, commit_time from events where {OF_INCARNATION} and sequence <= $5 order by sequence limit 0 + $6"
    ),
    purge_stubs: format!("delete from events where {OF_INCARNATION} and sequence <= $5"),
}

row! {
    /// A session whose trimmed events are to be emptied.
    struct TrimRow {
        session: IncarnationRow,
        emptied: i64,
    }
}
