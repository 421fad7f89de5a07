//! A fork: a session made of the past of another one.

use crate::domain::command::{Fork, Made};
use crate::domain::erasure::Subject;
use crate::domain::event::StoredEvent;
use crate::domain::ids::SessionKey;
use crate::domain::json::Json;
use crate::domain::loaded::LockedSession;
use crate::domain::query::{ANY_TIME, SessionView};
use crate::domain::refusal::Refusal;
use crate::domain::time::{Micros, Timestamp};
use crate::domain::writes::{Committed, SessionChange};
use crate::store::artifacts::restore;
use crate::store::backend::Tx;
use crate::store::blocked::admit;
use crate::store::error::{Cause, Decided, Result, StoreError};
use crate::store::run::End;
use crate::store::sessions::bounds;
use crate::store::sessions::create::{InTheWay, exceeded, hold_count, in_the_way, insert_listed, made_before};
use crate::store::sessions::read::{event_at, head, not_there, view, written};
use crate::store::sql::columns::{EVENT_NAMES, LOST, OF_INCARNATION, SESSION_METADATA};
use crate::store::sql::past::{Moment, copy};
use crate::store::sql::query::{Query, Sql, at_most_one, one};
use crate::store::sql::statements::statements;
use crate::store::trim;

/// How many events one statement copies: it must end within its time limit.
const COPIED_EVENTS: i64 = 10_000;

/// Copies the past of one session to a new one.
pub async fn fork<X: Tx>(tx: &mut X, salt: &[u8; 32], fork: &Fork) -> Decided<((Made, SessionView), End)> {
    let key = SessionKey { user: fork.source.user.clone(), session: fork.session.clone() };
    let subject = Subject::of(salt, &key.user);
    if !admit(tx, key.app(), &subject).await? {
        // Erased, so nothing to fork is there.
        return Err(Refusal::SessionNotFound.into());
    }
    let bounds = bounds::of(tx, key.app()).await?;
    hold_count(tx, &bounds, &subject).await?;
    let mut told = Vec::new();
    // First, so that a retry is answered even if the source is gone by now.
    if let Some(request) = &fork.request
        && let Some(found) = made_before(tx, &key.user, request, fork.incarnation, fork.now, &mut told).await?
        && let Some(made) = forked_before(tx, fork, &key, found).await?
    {
        return Ok((made, End::Release));
    }
    let source = tx.keep_session(&fork.source).await?.filter(|row| row.head.is_live(fork.now));
    let source = source.ok_or(Refusal::SessionNotFound)?;
    let revision = fork.at.unwrap_or(source.head.revision);
    if revision > source.head.revision {
        return Err(Refusal::Beyond(source.head.revision).into());
    }
    let head = head(tx, &fork.source, ANY_TIME).await?.ok_or_else(not_there)?;
    if revision < head.base_revision {
        return Err(Refusal::Trimmed(head.base_revision).into());
    }
    let update_time = if revision == 0 {
        None
    } else if revision == head.revision {
        Some(head.update_time)
    } else if revision == head.base_revision {
        let time = event_time(tx, &fork.source, head.incarnation, revision).await?;
        Some(time.unwrap_or(head.create_time).into())
    } else {
        Some(timestamp_of(&event_at(tx, &source, revision).await?)?)
    };
    while !insert_fork(tx, &source, fork, revision, update_time.as_ref()).await? {
        let found = in_the_way(tx, &key, fork.request.as_ref(), fork.incarnation, fork.now, &mut told).await?;
        if let Some(made) = forked_before(tx, fork, &key, found).await? {
            return Ok((made, End::Release));
        }
    }
    if let Some(bound) = exceeded(tx, &bounds, &key.user, revision - head.base_revision, fork.now).await? {
        return Err(Refusal::LimitReached(bound).into());
    }
    copy_events(tx, &source, fork, head.base_revision, revision).await?;
    // Appends to the source go on meanwhile: what holds at the revision may have ended since it was read.
    let moment = Moment { key: &source.key, incarnation: source.head.incarnation, revision, last: i64::MAX };
    let to = (fork.session.as_str(), fork.incarnation);
    if copy(tx, moment, to).await? {
        restore::fork(tx, moment, to).await?;
    }
    let incarnation = fork.incarnation;
    let forked_from = Some((fork.source.session.clone(), revision));
    let change = SessionChange::Created { revision, forked_from };
    told.push(Committed::Session { key: key.clone(), incarnation, change });
    let (first, last) = (head.base_revision + 1, revision);
    if first <= last {
        told.push(Committed::Events { key: key.clone(), incarnation, first, last });
    }
    Ok(((Made::New, view(tx, &written(&key, fork.now, fork.shows)).await?), End::Commit(told)))
}

/// What the events of a session up to a revision cost, that a fork copies.
pub async fn log_cost<X: Tx>(tx: &mut X, key: &SessionKey, to: i64) -> Result<i64> {
    let (cost,): (i64,) = one(tx, Query::new(&Statements::of(tx).log_cost).session(key).bind(to)).await?;
    Ok(cost)
}

/// The answer to a fork whose row cannot be inserted: the session that an earlier try or request made, or the refusal.
async fn forked_before<X: Tx>(
    tx: &mut X,
    fork: &Fork,
    key: &SessionKey,
    found: InTheWay,
) -> Decided<Option<(Made, SessionView)>> {
    Ok(match found {
        InTheWay::Nothing => None,
        InTheWay::OurOwn => Some((Made::New, view(tx, &written(key, fork.now, fork.shows)).await?)),
        InTheWay::Retried(key) => Some((Made::Before, view(tx, &written(&key, fork.now, fork.shows)).await?)),
        InTheWay::OtherRequest => return Err(Refusal::CreationKeyConflict.into()),
        InTheWay::Other => return Err(Refusal::SessionAlreadyExists.into()),
    })
}

fn timestamp_of(event: &StoredEvent) -> Result<Timestamp> {
    let timestamp = Json::trusted(&event.body).get("timestamp").and_then(|number| Timestamp::parse(number).ok());
    timestamp.ok_or_else(|| StoreError::new(Cause::Internal, "a stored event has no timestamp"))
}

/// The timestamp of the event of this sequence, be it a stub.
async fn event_time(db: &mut impl Sql, key: &SessionKey, incarnation: i64, sequence: i64) -> Result<Option<Micros>> {
    let query = Query::of(&Statements::of(db).event_time, key, incarnation).bind(sequence);
    Ok(at_most_one::<(i64,)>(db, query).await?.map(|(time,)| Micros(time)))
}

/// Inserts the row of a fork, without a time as one that was updated last at its creation; `false` if the session exists, or one that the request made.
async fn insert_fork(
    db: &mut impl Sql,
    source: &LockedSession,
    fork: &Fork,
    revision: i64,
    update_time: Option<&Timestamp>,
) -> Result<bool> {
    let query = Query::of(&Statements::of(db).insert_fork, &source.key, source.head.incarnation)
        .bind(fork.session.as_str())
        .bind(fork.incarnation)
        .bind(fork.now.0)
        .bind(revision)
        .bind(update_time.map(|time| time.micros.0))
        .bind(update_time.map(|time| time.number.text()))
        .bind(fork.request.as_ref().map(|request| request.key.as_str()))
        .bind(fork.request.as_ref().map(|request| &request.digest[..]));
    let key = SessionKey { user: source.key.user.clone(), session: fork.session.clone() };
    insert_listed(db, query, &key).await
}

/// Copies events up to `revision` to the fork of a session that begins at `base`.
async fn copy_events(db: &mut impl Sql, source: &LockedSession, fork: &Fork, base: i64, revision: i64) -> Result<()> {
    let statements = Statements::of(db);
    let copy = |text: &'static str| {
        Query::of(text, &source.key, source.head.incarnation).bind(fork.session.as_str()).bind(fork.incarnation)
    };
    let mut after = 0;
    while after < revision {
        let last = revision.min(after + COPIED_EVENTS);
        db.execute(copy(&statements.copy_events).bind(after).bind(last)).await?;
        after = last;
    }
    if base > 0 {
        // Some of the copies may not be empty yet.
        let key = SessionKey { user: source.key.user.clone(), session: fork.session.clone() };
        trim::note_trim(db, &key, fork.incarnation, 0).await?;
    }
    Ok(())
}

statements! { words,
    event_time: format!("select event_time from events where {OF_INCARNATION} and sequence = $5"),
    /// A copy of session `$1, $2, $3` (incarnation `$4`) as it was at revision `$8`: under the id `$5`, incarnation `$6`,
    /// last updated at `$9` and `$10`, or if these are null now, by the request `$11` with the digest `$12`; `$7` is now, where the
    /// database has no clock.
    insert_fork: (words.listed)(
        &format!(
            "insert into sessions (app_name, user_id, id, incarnation, revision, create_time, commit_time, update_time, \
               update_time_number, {SESSION_METADATA}, base_revision, initial_state, created_user_revision, \
               created_app_revision, imported_revision, {LOST}, forked_from, forked_revision, creation_key, creation_digest, \
               active_day) \
             select app_name, user_id, $5, $6, $8, {now}, {}(commit_time, {now}), coalesce($9, {now}), coalesce($10, {}), \
               {SESSION_METADATA}, base_revision, initial_state, created_user_revision, created_app_revision, \
               case when imported_revision > $8 then $8 else imported_revision end, \
               lost_user_from, case when lost_user_through > $8 then $8 else lost_user_through end, \
               lost_app_from, case when lost_app_through > $8 then $8 else lost_app_through end, \
               lost_files_from, case when lost_files_through > $8 then $8 else lost_files_through end, id, $8, $11, $12, {} \
             from sessions where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4 \
             on conflict do nothing",
            words.later,
            (words.number_of)(&words.present("$7")),
            words.day("$7"),
            now = words.present("$7")
        ),
        "$5"
    ),
    /// Copies the events after `$7`, up to `$8`, to the session `$5` of incarnation `$6`.
    copy_events: format!(
        "insert into events (app_name, user_id, session_id, incarnation, {0}, redaction) \
         select app_name, user_id, $5, $6, {0}, case when redaction < 0 then redaction end \
         from events where {OF_INCARNATION} and sequence > $7 and sequence <= $8",
        *EVENT_NAMES
    ),
    /// What the events of a session up to `$4` cost that are not trimmed, see `domain::event::cost`.
    log_cost: "select coalesce(sum(case when octet_length(e.body) > 16384 then (octet_length(e.body) + 16383) / 16384 else 1 end), 0) \
               from sessions s join events e on e.app_name = s.app_name and e.user_id = s.user_id and e.session_id = s.id \
                 and e.incarnation = s.incarnation and e.sequence > s.base_revision and e.sequence <= $4 \
               where s.app_name = $1 and s.user_id = $2 and s.id = $3",
}
