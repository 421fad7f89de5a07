//! What a session was: forks, rewinds, and reading a moment.

use std::collections::BTreeSet;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::append::decide;
use crate::domain::command::{Fork, Made};
use crate::domain::erasure::Subject;
use crate::domain::event::{StoredEvent, cost};
use crate::domain::ids::SessionKey;
use crate::domain::json::Json;
use crate::domain::loaded::{LockedSession, Needs};
use crate::domain::query::{ANY_TIME, EventQuery, Moment, MomentQuery, SessionView};
use crate::domain::refusal::Refusal;
use crate::domain::rewind::{self, Decision, Past, RewindRequest, RewindTarget, Rewound};
use crate::domain::session::SessionInfo;
use crate::domain::tag::Tag;
use crate::domain::time::Timestamp;
use crate::domain::transfer::Lost;
use crate::domain::writes::{self, Committed, SessionChange};
use crate::store::backend::{Backend, Tx};
use crate::store::erasures::admit;
use crate::store::error::{Cause, Decided, StoreError};
use crate::store::policies;
use crate::store::run::{End, apply};
use crate::store::sessions::change::locked_live;
use crate::store::sessions::create::{InTheWay, exceeded, hold_count, in_the_way, made_before};
use crate::store::sessions::read::{head, not_there, view, whole_session};
use crate::store::sql::primitives::{self, one};
use crate::store::sql::query::Query;
use crate::store::transactions::Transactions;

type Result<T> = std::result::Result<T, StoreError>;

#[async_trait]
pub trait Reads: Send + Sync {
    /// Reads the merged state as it was when an event had committed.
    async fn moment(&self, query: &MomentQuery, deadline: Instant) -> Result<Moment>;

    /// What the events of a session cost that are not trimmed, up to a revision; 0 if it is not there.
    async fn log_cost(&self, key: &SessionKey, to: i64, deadline: Instant) -> Result<i64>;
}

#[async_trait]
pub trait Writes: Send + Sync {
    /// Creates a session from another one's past.
    async fn fork(&self, fork: &Fork, deadline: Instant) -> Decided<(Made, SessionView)>;

    /// Appends the event that rewinds a session, and reads the session in the same transaction.
    async fn rewind(&self, rewind: &RewindRequest, deadline: Instant) -> Decided<Rewound>;
}

#[async_trait]
impl<B: Backend> Reads for Transactions<B> {
    async fn moment(&self, query: &MomentQuery, deadline: Instant) -> Result<Moment> {
        self.runner.of(query.key.app(), deadline).read(async |tx| moment(tx, query).await).await
    }

    async fn log_cost(&self, key: &SessionKey, to: i64, deadline: Instant) -> Result<i64> {
        let cost = async |tx: &mut B::Tx| log_cost(tx, key, to).await;
        self.runner.of(key.app(), deadline).one_statement(cost).await
    }
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn fork(&self, request: &Fork, deadline: Instant) -> Decided<(Made, SessionView)> {
        let call = self.runner.of(request.source.app(), deadline);
        let salt = self.salt(&call).await?;
        call.decide(async |tx| fork(tx, salt, request).await).await
    }

    async fn rewind(&self, request: &RewindRequest, deadline: Instant) -> Decided<Rewound> {
        self.remembered.evict_session(&request.key);
        self.runner.of(request.key.app(), deadline).decide(async |tx| rewind(tx, request).await).await
    }
}

/// Copies the past of one session to a new one.
pub async fn fork<X: Tx>(tx: &mut X, salt: &[u8; 32], fork: &Fork) -> Decided<((Made, SessionView), End)> {
    let key = SessionKey { user: fork.source.user.clone(), session: fork.session.clone() };
    let subject = Subject::of(salt, &key.user);
    if !admit(tx, key.app(), &subject).await? {
        // Erased, so nothing to fork is there.
        return Err(Refusal::SessionNotFound.into());
    }
    let bounds = policies::bounds(tx, key.app()).await?;
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
        let time = primitives::event_time(tx, &fork.source, head.incarnation, revision).await?;
        Some(time.unwrap_or(head.create_time).into())
    } else {
        Some(timestamp_of(&event_of(tx, &source, revision).await?)?)
    };
    while !primitives::insert_fork(tx, &source, fork, revision, update_time.as_ref()).await? {
        let found = in_the_way(tx, &key, fork.request.as_ref(), fork.incarnation, fork.now, &mut told).await?;
        if let Some(made) = forked_before(tx, fork, &key, found).await? {
            return Ok((made, End::Release));
        }
    }
    if let Some(bound) = exceeded(tx, &bounds, &key.user, revision - head.base_revision, fork.now).await? {
        return Err(Refusal::LimitReached(bound).into());
    }
    primitives::copy_history(tx, &source, fork, head.base_revision, revision).await?;
    let incarnation = fork.incarnation;
    let forked_from = Some((fork.source.session.clone(), revision));
    let change = SessionChange::Created { revision, forked_from };
    told.push(Committed::Session { key: key.clone(), incarnation, change });
    let (first, last) = (head.base_revision + 1, revision);
    if first <= last {
        told.push(Committed::Events { key: key.clone(), incarnation, first, last });
    }
    Ok(((Made::New, view(tx, &whole_session(&key, fork.now)).await?), End::Commit(told)))
}

/// What the events of a session up to a revision cost, that a fork copies.
pub async fn log_cost<X: Tx>(tx: &mut X, key: &SessionKey, to: i64) -> Result<i64> {
    let (cost,): (i64,) = one(tx, Query::new(&*tx.statements().log_cost).session(key).bind(to)).await?;
    Ok(cost)
}

/// What there is instead of a fork whose row cannot be inserted.
async fn forked_before<X: Tx>(
    tx: &mut X,
    fork: &Fork,
    key: &SessionKey,
    found: InTheWay,
) -> Decided<Option<(Made, SessionView)>> {
    Ok(match found {
        InTheWay::Nothing => None,
        InTheWay::OurOwn => Some((Made::New, view(tx, &whole_session(key, fork.now)).await?)),
        InTheWay::Retried(key) => Some((Made::Before, view(tx, &whole_session(&key, fork.now)).await?)),
        InTheWay::OtherRequest => return Err(Refusal::CreationKeyConflict.into()),
        InTheWay::Other => return Err(Refusal::SessionAlreadyExists.into()),
    })
}

/// An event that must be there, because sequences are dense.
async fn event_of<X: Tx>(tx: &mut X, row: &LockedSession, sequence: i64) -> Result<StoredEvent> {
    let event = primitives::event_at(tx, &row.key, row.head.incarnation, sequence).await?;
    event.ok_or_else(|| StoreError::new(Cause::Internal, "an event is missing in a session's sequence"))
}

fn timestamp_of(event: &StoredEvent) -> Result<Timestamp> {
    let timestamp = Json::trusted(&event.body).get("timestamp").and_then(|number| Timestamp::parse(number).ok());
    timestamp.ok_or_else(|| StoreError::new(Cause::Internal, "a stored event has no timestamp"))
}

/// Appends the event that takes others back. The session is locked, as the event depends on its current state.
pub async fn rewind<X: Tx>(tx: &mut X, request: &RewindRequest) -> Decided<(Rewound, End)> {
    let row = locked_live(tx, &request.key, request.now).await?.ok_or(Refusal::SessionNotFound)?;
    let needs = Needs {
        sessions: BTreeSet::from([&request.key]),
        events: BTreeSet::from([(&request.key, &request.event_id)]),
        ..Needs::of_revisions(&request.key)
    };
    let mut loaded = tx.read_heads(&needs).await?;
    loaded.timeline = tx.timeline();
    let past = past_of(tx, &row, &request.target).await?;
    let append = match rewind::decide(&mut loaded, request, past)? {
        Decision::Append(append) => append,
        Decision::Replayed => {
            let view = view(tx, &whole_session(&request.key, request.now)).await?;
            return Ok((Rewound { view, appended: 0, cost: 0 }, End::Release));
        }
    };
    let mut writes = writes::Writes::default();
    decide(&mut loaded, &append, &mut writes)?;
    let cost = writes.events.iter().map(|row| cost(row.body.len())).fold(0, u32::saturating_add);
    let (_, end) = apply(tx, &writes).await?;
    let view = view(tx, &whole_session(&request.key, request.now)).await?;
    Ok((Rewound { view, appended: append.events.len(), cost }, end))
}

/// The past that a rewind returns to, if there is one.
async fn past_of<X: Tx>(tx: &mut X, row: &LockedSession, target: &RewindTarget) -> Result<Option<Past>> {
    let to = match target {
        RewindTarget::BeforeInvocation(invocation) => {
            let first = primitives::first_of_invocation(tx, &row.key, row.head.incarnation, invocation, 0).await?;
            first.map(|first| first - 1)
        }
        RewindTarget::Revision(revision) => (*revision < row.head.revision).then_some(*revision),
    };
    let Some(to) = to else { return Ok(None) };
    let head = head(tx, &row.key, ANY_TIME).await?.ok_or_else(not_there)?;
    let base = head.base_revision;
    if to < base {
        return Ok(Some(Past {
            to,
            base,
            invocation: String::new(),
            from: to + 1,
            copied: Vec::new(),
            differences: Vec::new(),
        }));
    }
    let invocation = invocation_of(&event_of(tx, row, to + 1).await?);
    let differences = primitives::differences(tx, row, to).await?;
    let mut past = Past { to, base, invocation, from: to + 1, copied: Vec::new(), differences };
    if matches!(target, RewindTarget::Revision(_)) && !past.invocation.is_empty() {
        copied(tx, row, &head, &mut past).await?;
    }
    Ok(Some(past))
}

fn invocation_of(event: &StoredEvent) -> String {
    let invocation = Json::trusted(&event.body).get("invocationId").and_then(Json::as_str);
    invocation.unwrap_or_default().into_owned()
}

/// Loads what stays of an invocation that the rewind cuts in two, from its first event on, page by page, until there is more than
/// a rewind may copy.
async fn copied<X: Tx>(tx: &mut X, row: &LockedSession, head: &SessionInfo, past: &mut Past) -> Result<()> {
    let incarnation = row.head.incarnation;
    let first = primitives::first_of_invocation(tx, &row.key, incarnation, &past.invocation, past.base).await?;
    let Some(first) = first.filter(|first| *first <= past.to) else { return Ok(()) };
    let mut rewinds = primitives::rewinds(tx, head).await?;
    rewinds.retain(|(sequence, _)| *sequence <= past.to);
    let hidden = rewind::hidden(&rewinds);
    past.from = rewind::taken_from(first, &hidden).max(past.base + 1);
    if past.from < first {
        let named = invocation_of(&event_of(tx, row, past.from).await?);
        // Without a name, what an earlier rewind hides is told by its revision alone, and stays so.
        match named.is_empty() {
            true => past.from = first,
            false => past.invocation = named,
        }
    }
    let mut query = EventQuery { after: past.from - 1, before: past.to + 1, ..EventQuery::all() };
    let mut bytes = 0;
    loop {
        let page = primitives::events(tx, head, &query).await?;
        let Some(last) = page.events.last() else { return Ok(()) };
        query.after = last.sequence;
        bytes += page.events.iter().map(StoredEvent::weight).sum::<usize>();
        past.copied.extend(page.events.into_iter().filter(|event| !rewind::is_hidden(event.sequence, &hidden)));
        if !page.more || bytes > 2 * rewind::MAX_COPIED_BYTES {
            return Ok(());
        }
    }
}

/// Reads the state of a moment that is past, or of now.
pub async fn moment<X: Tx>(tx: &mut X, query: &MomentQuery) -> Result<Moment> {
    let Some(head) = head(tx, &query.key, query.now).await? else { return Ok(Moment::SessionNotFound) };
    if query.revision > head.revision {
        return Ok(Moment::Beyond(head.revision));
    }
    if query.revision < head.base_revision {
        return Ok(Moment::Trimmed(head.base_revision));
    }
    let seen = primitives::seen_revisions(tx, &query.key, head.incarnation, query.revision).await?;
    let seen = seen.ok_or_else(|| StoreError::new(Cause::Internal, "an event is missing in a session's sequence"))?;
    let (user, app) = (seen.user_revision, seen.app_revision);
    let (user_lost, app_lost) = Lost::from(seen.lost).at(query.revision);
    // A scope without a revision never had a key.
    let forgotten = |wanted: &Option<Vec<String>>, lost: bool, revision: i64, floor: i64| {
        wanted.as_ref().is_none_or(|keys| !keys.is_empty()) && (lost || (1..floor).contains(&revision))
    };
    if forgotten(&query.filter.user, user_lost, user, seen.user_floor)
        || forgotten(&query.filter.app, app_lost, app, seen.app_floor)
    {
        return Ok(Moment::Forgotten(head.base_revision));
    }
    let tag = Tag {
        revision: query.revision,
        user,
        app,
        incarnation: head.incarnation,
        timeline: head.timeline,
        metadata: 0,
    };
    let state = primitives::state_then(tx, &head, &tag, &query.filter).await?;
    Ok(Moment::Then { tag, state })
}
