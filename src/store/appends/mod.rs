//! Appends: decided optimistically if possible, else under locks. Their SQL: the functions `sessiond_append` and `sessiond_write` (end of
//! migrations/postgres/0001_sessions.sql), called in `postgres/write.rs`; on SQLite `sqlite/write.rs`.

mod optimistic;

use std::slice;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::append::{Append, Outcome, decide, needs};
use crate::domain::command::AppendAnswer;
use crate::domain::query::SessionQuery;
use crate::domain::refusal::Refusal;
use crate::domain::session::Creation;
use crate::domain::writes;
use crate::store::backend::{Backend, Database as _, OnLocked, Tx};
use crate::store::error::{Decided, Result};
use crate::store::load::load;
use crate::store::run::deadline::Deadline;
use crate::store::run::remembered::Remembered;
use crate::store::run::together::Sharing;
use crate::store::run::together::appends::{Answer, Appends, Batching, Judged};
use crate::store::run::{Attempt, Call, End, Runner, apply};
use crate::store::sessions::create::make_if_absent;
use crate::store::sessions::read::{session_state, view};
use crate::store::transactions::Transactions;

#[async_trait]
pub trait Writes: Send + Sync {
    /// Appends to a session, all of its events or none; in a group with others, or in a transaction of its own.
    async fn append(&self, append: &Arc<Append>, sharing: Sharing, deadline: Instant) -> Decided<AppendAnswer>;
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn append(&self, append: &Arc<Append>, sharing: Sharing, deadline: Instant) -> Decided<AppendAnswer> {
        let deadline = self.runner.of(append.key.app(), deadline).deadline();
        let answer = match sharing {
            Sharing::Group => self.appends.append(append.clone(), deadline).await?,
            Sharing::Alone => self.appends.append_alone(append.clone(), deadline).await?,
        };
        match answer {
            Err(Refusal::SessionNotFound) => match append.creation()? {
                Some(creation) => self.append_first(append, &creation, deadline).await,
                None => Err(Refusal::SessionNotFound.into()),
            },
            answer => Ok(answer?),
        }
    }
}

impl<B: Backend> Transactions<B> {
    /// Makes the session, and appends to it, in a transaction of its own.
    async fn append_first(
        &self,
        append: &Arc<Append>,
        creation: &Creation,
        deadline: Deadline,
    ) -> Decided<AppendAnswer> {
        self.remembered.evict_session(&append.key);
        let call = self.runner.resume(deadline);
        let salt = self.salt(&call).await?;
        call.decide(async |tx| append_first(tx, salt, append, creation).await).await
    }
}

/// Makes the session unless another request was first, and appends to it as to any other.
async fn append_first<X: Tx>(
    tx: &mut X,
    salt: &[u8; 32],
    append: &Arc<Append>,
    creation: &Creation,
) -> Decided<(AppendAnswer, End)> {
    let told = make_if_absent(tx, salt, creation).await?;
    let (answers, end) = self::append(tx, slice::from_ref(append), OnLocked::Wait).await?;
    let answer = answers.into_iter().next().flatten().unwrap_or(Err(Refusal::SessionNotFound))?;
    Ok((answer, end.after(told)))
}

/// The queue of appends, of which each batch is one transaction.
pub fn queue<B: Backend>(batching: Batching, runner: Arc<Runner<B>>, remembered: Arc<Remembered>) -> Appends {
    Appends::new(batching, move |appends, on_locked, deadline| {
        let (runner, remembered) = (runner.clone(), remembered.clone());
        Box::pin(async move {
            let is_optimistic = runner.database().is_optimistic();
            batch(&runner.resume(deadline), is_optimistic, &remembered, &appends, on_locked).await
        })
    })
}

/// Appends to sessions in one transaction; each append is judged on its own, in the given order.
///
/// # Errors
/// Nothing of the batch happened, unless the error is unclear.
pub async fn batch<B: Backend>(
    call: &Call<'_, B>,
    is_optimistic: bool,
    remembered: &Remembered,
    batch: &[Arc<Append>],
    on_locked: OnLocked,
) -> Result<Vec<Judged>> {
    if is_optimistic && let Some(judged) = optimistic::append(call, remembered, batch).await? {
        return Ok(judged);
    }
    Ok(match call.try_write(async |tx| append(tx, batch, on_locked).await).await? {
        Attempt::Committed(done) => done.into_iter().map(|done| done.map_or(Judged::LeftOut, Judged::Done)).collect(),
        Attempt::Unknown(done, error) => Judged::after_unclear(done, &error),
    })
}

/// Appends a batch under locks, and reads the states that are asked for, all as the whole batch left them.
async fn append<X: Tx>(tx: &mut X, batch: &[Arc<Append>], on_locked: OnLocked) -> Result<(Vec<Option<Answer>>, End)> {
    let mut loaded = load(tx, &needs(batch.iter().map(|append| &**append)), on_locked).await?;
    let mut writes = writes::Writes::default();
    let mut outcomes: Vec<Option<Outcome>> = batch
        .iter()
        .map(|append| {
            let there = on_locked == OnLocked::Wait || loaded.sessions.contains_key(&append.key);
            there.then(|| decide(&mut loaded, append, &mut writes))
        })
        .collect();
    let mut end = End::Release;
    if !writes.is_empty() {
        let (seen, written) = apply(tx, &writes).await?;
        end = written;
        let (appends, done): (Vec<_>, Vec<_>) = batch
            .iter()
            .cloned()
            .zip(&mut outcomes)
            .filter_map(|(append, done)| Some((append, done.as_mut()?)))
            .unzip();
        optimistic::note(&appends, done.into_iter(), &writes, &seen);
    }
    let mut answers = Vec::with_capacity(batch.len());
    for (append, outcome) in batch.iter().zip(outcomes) {
        answers.push(match (outcome, &append.with_state) {
            (Some(Ok(done)), Some(filter)) => {
                let query = SessionQuery { state: Some(filter.clone()), ..session_state(&append.key, append.now) };
                Some(Ok(AppendAnswer { done, view: Some(view(tx, &query).await?) }))
            }
            (outcome, _) => outcome.map(|outcome| outcome.map(|done| AppendAnswer { done, view: None })),
        });
    }
    Ok((answers, end))
}
