//! The optimistic append: decided without locks on heads from the cache, or just read, which are compared before
//! anything is written. Where nobody else writes the same sessions and scopes, it is one round trip.
//!
//! Why nothing is lost: the write locks the heads as it compares them (on SQLite the whole file), and writes nothing if one
//! has changed. So what is written follows from what is there, however old the cache is. A decision to write must depend
//! only on what the write compares; a refusal or a replay writes nothing, so it is never decided from the cache.

use std::sync::Arc;

use crate::domain::append::{Append, Done, Outcome, decide, needs};
use crate::domain::command::AppendAnswer;
use crate::domain::loaded::{Loaded, Needs, UNREAD};
use crate::domain::scope::Scope;
use crate::domain::writes::{ScopeUpdate, SessionUpdate, Writes};
use crate::store::backend::{Backend, Seen, Tx as _, Verdict};
use crate::store::error::{Result, StoreError};
use crate::store::load::load_keys;
use crate::store::run::remembered::Remembered;
use crate::store::run::together::appends::{Answer, Judged};
use crate::store::run::{AtOnce, Call};

/// The result of a try.
enum Try {
    Done(Vec<Outcome>),
    /// Whether it was committed is unknown.
    Unclear(Vec<Outcome>, StoreError),
    /// Another process came first; nothing happened.
    Overtaken,
    /// Another process has a head locked; nothing happened.
    Busy,
    /// It must be decided again, on heads from the database or under locks.
    Unsure,
}

/// Where the heads come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HeadsFrom {
    Cache,
    Database,
}

/// Appends optimistically. `None` if that should not be tried, or lost its race: then nothing was written.
///
/// # Errors
/// As of [`batch`](super::batch).
pub async fn append<B: Backend>(
    call: &Call<'_, B>,
    remembered: &Remembered,
    batch: &[Arc<Append>],
) -> Result<Option<Vec<Judged>>> {
    let needs = needs(batch.iter().map(|append| &**append));
    let apps = needs.scopes.keys().filter(|scope| scope.scope() == Scope::App).count();
    let spans_apps = apps > 1 && call.shape().batches_by_app();
    if spans_apps
        || batch.iter().any(|append| append.with_state.is_some() || append.names_artifacts())
        || remembered.doubts.take()
    {
        remembered.evict(&needs);
        return Ok(None);
    }
    let mut at_once = call.at_once().await?;
    let done = attempts(&mut at_once, remembered, batch, &needs).await;
    let done = at_once.end(done).await?;
    if matches!(done, Try::Overtaken | Try::Busy) {
        remembered.doubts.raise();
    }
    match done {
        Try::Done(outcomes) => Ok(Some(outcomes.into_iter().map(|outcome| Judged::Done(answer(outcome))).collect())),
        Try::Unclear(outcomes, error) => {
            remembered.evict(&needs);
            Ok(Some(Judged::after_unclear(outcomes.into_iter().map(|outcome| Some(answer(outcome))), &error)))
        }
        Try::Overtaken | Try::Busy | Try::Unsure => {
            remembered.evict(&needs);
            Ok(None)
        }
    }
}

/// Nobody asked for the state.
fn answer(outcome: Outcome) -> Answer {
    outcome.map(|done| AppendAnswer { done, view: None })
}

/// On heads from the cache, and if that does not decide it, on those of the database.
async fn attempts<B: Backend>(
    at_once: &mut AtOnce<'_, B>,
    remembered: &Remembered,
    batch: &[Arc<Append>],
    needs: &Needs<'_>,
) -> Result<Try> {
    let mut done = Try::Unsure;
    if !remembered.cache_doubts.take() {
        let (mut heads, missing) = remembered.heads(at_once.timeline(), needs, at_once.shape().is_shared());
        if !heads.sessions.is_empty() {
            if !missing.is_empty() {
                heads.extend(at_once.read(async |tx| tx.read_heads(&missing).await).await?);
            }
            done = attempt(at_once, remembered, batch, needs, heads, HeadsFrom::Cache).await?;
        }
        if matches!(done, Try::Overtaken) {
            remembered.evict(needs);
            remembered.cache_doubts.raise();
        }
    }
    if matches!(done, Try::Overtaken | Try::Unsure) {
        let heads = at_once.read(async |tx| tx.read_heads(needs).await).await?;
        done = attempt(at_once, remembered, batch, needs, heads, HeadsFrom::Database).await?;
    }
    Ok(done)
}

/// Decides on `heads`, which are of one moment, and on values, which were cached with these or are read later. A change of a value in
/// between also changes a head, so the write fails.
async fn attempt<B: Backend>(
    at_once: &mut AtOnce<'_, B>,
    remembered: &Remembered,
    batch: &[Arc<Append>],
    needs: &Needs<'_>,
    mut heads: Loaded,
    source: HeadsFrom,
) -> Result<Try> {
    heads.timeline = at_once.timeline();
    at_once.read(async |tx| load_keys(tx, needs, &mut heads).await).await?;
    let mut writes = Writes::default();
    let mut outcomes: Vec<Outcome> = batch.iter().map(|append| decide(&mut heads, append, &mut writes)).collect();
    // A write compares what was decided on. A refusal writes nothing, so it must not rest on anything that may be stale.
    let may_be_stale = source == HeadsFrom::Cache || !needs.keys.is_empty();
    let unsure = may_be_stale && !outcomes.iter().all(|outcome| outcome.as_ref().is_ok_and(Done::is_fresh));
    if unsure || !writes.is_empty() && !guard(needs, &heads, &mut writes) {
        return Ok(Try::Unsure);
    }
    if !writes.is_empty() {
        let told = |verdict: Option<&Verdict>| match verdict {
            Some(Verdict::Conflict | Verdict::Busy) => Vec::new(),
            Some(Verdict::Written(_)) | None => writes.committed(),
        };
        let seen = match at_once.commit(async |tx| tx.commit_if_unchanged(&writes).await, told).await {
            Ok(Verdict::Written(seen)) => seen,
            Ok(Verdict::Conflict) => return Ok(Try::Overtaken),
            Ok(Verdict::Busy) => return Ok(Try::Busy),
            Err(error) if error.unclear => return Ok(Try::Unclear(outcomes, error)),
            Err(error) => return Err(error),
        };
        note(batch, outcomes.iter_mut(), &writes, &seen);
    }
    remembered.keep(heads);
    Ok(Try::Done(outcomes))
}

/// Completes outcomes by what the database noted as it wrote.
pub fn note<'o>(
    batch: &[Arc<Append>],
    outcomes: impl Iterator<Item = &'o mut Outcome>,
    writes: &Writes<'_>,
    seen: &Seen,
) {
    for (append, outcome) in batch.iter().zip(outcomes) {
        if let Ok(Done { tag, events }) = outcome
            && let Some(noted) = seen.get(&tag.incarnation)
            && let Some(SessionUpdate { was: Some(was), .. }) = writes.sessions.get(&append.key)
        {
            tag.user = if tag.user == UNREAD { noted.user } else { tag.user };
            tag.app = if tag.app == UNREAD { noted.app } else { tag.app };
            // Also those that an append repeats which an earlier one of the batch brought.
            for event in events.iter_mut().filter(|event| event.event.sequence > was.revision) {
                event.event.commit_time = noted.commit_time;
            }
        }
    }
}

/// Adds to `writes` the heads that were decided on and are not written, so that they are compared; whether that can be
/// done: a scope that is not there cannot be compared.
fn guard<'a>(needs: &Needs<'a>, heads: &Loaded, writes: &mut Writes<'a>) -> bool {
    needs.fixed_scopes().all(|scope| {
        let revision = heads.revision(scope);
        if revision > 0 {
            writes.scopes.entry(scope).or_insert(ScopeUpdate { was: revision, first: revision + 1, revision });
        }
        writes.scopes.contains_key(&scope)
    })
}
