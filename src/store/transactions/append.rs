//! Appends: decided optimistically if possible, else under locks.

use std::sync::Arc;

use super::load::load;
use super::optimistic;
use super::read::{session_state, view};
use crate::domain::append::{Append, Outcome, decide, needs};
use crate::domain::command::AppendAnswer;
use crate::domain::writes::Writes;
use crate::store::backend::{Backend, OnLocked, Tx};
use crate::store::error::StoreError;
use crate::store::run::remembered::Remembered;
use crate::store::run::together::appends::{Answer, Judged};
use crate::store::run::{Call, End, Written, apply};

type Result<T> = std::result::Result<T, StoreError>;

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
        Written::Surely(done) => done.into_iter().map(|done| done.map_or(Judged::LeftOut, Judged::Done)).collect(),
        Written::Perhaps(done, error) => Judged::after_unclear(done, &error),
    })
}

/// Appends a batch under locks, and reads the states that are asked for, all as the whole batch left them.
async fn append<X: Tx>(tx: &mut X, batch: &[Arc<Append>], on_locked: OnLocked) -> Result<(Vec<Option<Answer>>, End)> {
    let mut loaded = load(tx, &needs(batch.iter().map(|append| &**append)), on_locked).await?;
    let mut writes = Writes::default();
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
        answers.push(match outcome {
            Some(Ok(done)) if append.with_state => {
                let view = view(tx, &session_state(&append.key, append.now)).await?;
                Some(Ok(AppendAnswer { done, view: Some(view) }))
            }
            outcome => outcome.map(|outcome| outcome.map(|done| AppendAnswer { done, view: None })),
        });
    }
    Ok((answers, end))
}
