//! The only ways into the database: a call says of which app it is ([`Runner::of`]), or that it is not of one
//! ([`Runner::across_apps`]), and only then reads or writes. So no call is without a limit of time, none takes more
//! connections than its app may have, and each that fails is ended the same way.
//!
//! - [`deadline`]: what each step of a call may take
//! - `remembered`: the cache of heads
//! - [`together`]: group commit, and coalesced reads and creations

pub mod deadline;
pub mod remembered;
pub mod together;

use std::future::Future;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

use deadline::Deadline;

use super::backend::{Backend, Database, Durable, Seen, Tx};
use super::error::{Cause, Decided, Failure, Result, StoreError};
use super::named;
use super::shape::Shape;
use super::sql::query::{Query, Row, Sql as _};
use crate::domain::ids::AppName;
use crate::domain::tag::Timeline;
use crate::domain::writes::{ChangeRow, Committed, Writes};

/// Told of a wait; called on the hot path: be quick.
pub type OnWait = Box<dyn Fn(Duration) + Send + Sync>;

/// Told of what was committed; called on the hot path: be quick.
pub type OnCommit = Box<dyn Fn(&[Committed]) + Send + Sync>;

/// How a transaction ends.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// With these changes, as far as somebody may wait for them.
    Commit(Vec<Committed>),
    /// It wrote nothing, or nothing that is to stay.
    Release,
}

impl End {
    /// Nobody waits for what was written.
    pub const UNTOLD: Self = Self::Commit(Vec::new());

    /// What was told before this.
    pub fn after(self, mut told: Vec<Committed>) -> Self {
        match self {
            Self::Commit(more) => {
                told.extend(more);
                Self::Commit(told)
            }
            Self::Release => Self::Release,
        }
    }
}

/// Applies writes in a transaction. The only way but for the optimistic append, so that none of their events can be left out
/// of what the commit tells.
///
/// # Errors
/// As of [`Tx::apply`].
pub async fn apply<X: Tx>(tx: &mut X, writes: &Writes<'_>) -> Result<(Seen, End)> {
    let seen = tx.apply(writes).await?;
    named::fold(tx, writes).await?;
    Ok((seen, End::Commit(writes.committed())))
}

/// Tells the change feed, if it is on, of what is about to be committed.
///
/// # Errors
/// As of [`FeedTx::record`](super::backend::FeedTx::record).
async fn record<X: Tx>(tx: &mut X, told: &[Committed]) -> Result<()> {
    let rows: Vec<ChangeRow<'_>> = told.iter().filter_map(Committed::row).collect();
    if tx.feeds() && !rows.is_empty() { tx.record(&rows).await } else { Ok(()) }
}

/// Runs a statement, of which nobody is told: whether it changed anything, and how its transaction ends.
pub async fn changed<X: Tx>(tx: &mut X, query: Query<'_>) -> Result<(bool, End)> {
    let changed = tx.execute(query).await? > 0;
    Ok((changed, if changed { End::UNTOLD } else { End::Release }))
}

/// How many groups of apps there are, by their numbers, that share a part of the connections.
const GROUPS: usize = 256;

/// The part of the connections that one app may have where a part of them may be silent: where the database is distributed.
const PART: u32 = 4;

pub struct Runner<B> {
    backend: B,
    /// A permit for each connection that a group of apps may have. Most groups are of one app.
    places: Vec<Semaphore>,
    /// Told how long each transaction waited for its connection and BEGIN.
    on_wait: OnceLock<OnWait>,
    on_commit: OnceLock<OnCommit>,
    is_full: AtomicBool,
}

impl<B: Backend> Runner<B> {
    pub fn new(backend: B) -> Self {
        let part = (backend.limits().connections / PART).max(1) as usize;
        let places = (0..GROUPS).map(|_| Semaphore::new(part)).collect();
        let (on_wait, on_commit) = (OnceLock::new(), OnceLock::new());
        Self { backend, places, on_wait, on_commit, is_full: AtomicBool::new(false) }
    }

    /// The database, without its transactions.
    pub fn database(&self) -> &impl Database {
        &self.backend
    }

    /// A call of one app, to be answered by `at`.
    pub fn of(&self, app: &AppName, at: Instant) -> Call<'_, B> {
        self.resume(Deadline::new(at, &self.backend.limits(), Some(app)))
    }

    /// A call that is of no app, or of several.
    pub fn across_apps(&self, at: Instant) -> Call<'_, B> {
        self.resume(Deadline::new(at, &self.backend.limits(), None))
    }

    /// The call that a deadline is of.
    pub fn resume(&self, deadline: Deadline) -> Call<'_, B> {
        Call { runner: self, deadline, durable: Durable::AtOnce }
    }

    /// Whether the disk of the database was full when something was to be written last.
    pub fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Notes what a write came to.
    fn note<T>(&self, written: &Result<T>) {
        match written {
            Ok(_) => self.is_full.store(false, Ordering::Relaxed),
            Err(error) => self.note_failure(error),
        }
    }

    /// Other failures tell nothing of the disk.
    fn note_failure(&self, error: &StoreError) {
        if error.is_disk_full() {
            self.is_full.store(true, Ordering::Relaxed);
        }
    }

    /// Whom to tell of waits. The first call counts.
    pub fn watch_waits(&self, on_wait: OnWait) {
        // There is one to be told; if there were two, the first would go on.
        let _ = self.on_wait.set(on_wait);
    }

    /// Whom to tell of committed events. The first call counts.
    pub fn watch_commits(&self, on_commit: OnCommit) {
        let _ = self.on_commit.set(on_commit);
    }

    /// The one place that knows what was committed: each event of an append, a state change, a rewind, a creation or a fork, once,
    /// those of one session in the order of their sequences; and changes of shared state, of metadata, and deletions. It tells of a
    /// commit that was not answered, too, as that may have happened. Two transactions of one session, of which one was tried alone, may be told in either order.
    fn committed(&self, committed: impl FnOnce() -> Vec<Committed>) {
        if let Some(on_commit) = self.on_commit.get() {
            let committed = committed();
            if !committed.is_empty() {
                on_commit(&committed);
            }
        }
    }
}

/// One call of the store, with the time that it has. It begins each transaction with a connection of its app's part.
pub struct Call<'r, B> {
    runner: &'r Runner<B>,
    deadline: Deadline,
    durable: Durable,
}

impl<'r, B: Backend> Call<'r, B> {
    pub fn deadline(&self) -> Deadline {
        self.deadline
    }

    pub fn shape(&self) -> Shape {
        self.runner.backend.shape()
    }

    /// Asks the database itself, without a transaction.
    ///
    /// # Errors
    /// Those of `work`; the time has run out.
    pub async fn ask<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        within(self.deadline, work).await
    }

    /// Reads with several statements, which see one moment.
    ///
    /// # Errors
    /// Those of `work`, and of the database.
    pub async fn read<T>(&self, work: impl AsyncFnOnce(&mut B::Tx) -> Result<T>) -> Result<T> {
        self.part_of_read(false, work, |_| false).await
    }

    /// Reads with one statement.
    ///
    /// # Errors
    /// As of [`Call::read`].
    pub async fn one_statement<T>(&self, work: impl AsyncFnOnce(&mut B::Tx) -> Result<T>) -> Result<T> {
        self.part_of_read(true, work, |_| false).await
    }

    /// Reads rows with one statement.
    ///
    /// # Errors
    /// As of [`Call::read`].
    pub async fn fetch<'q, R: Row>(&self, query: impl FnOnce(&B::Tx) -> Query<'q>) -> Result<Vec<R>> {
        self.one_statement(async |tx| tx.fetch(query(tx)).await).await
    }

    /// As [`Call::fetch`], of a statement that has at most one row.
    ///
    /// # Errors
    /// As of [`Call::read`].
    pub async fn at_most_one<'q, R: Row>(&self, query: impl FnOnce(&B::Tx) -> Query<'q>) -> Result<Option<R>> {
        Ok(self.fetch(query).await?.pop())
    }

    /// Writes with one statement, of which nobody is told; whether it changed anything.
    ///
    /// # Errors
    /// As of [`Call::write`].
    pub async fn execute<'q>(&self, query: impl FnOnce(&B::Tx) -> Query<'q>) -> Result<bool> {
        self.write(async |tx| changed(tx, query(tx)).await).await
    }

    /// Reads with one statement or several, of the last of which rows may be left unread. These are of unknown size, so the connection
    /// is closed then rather than drained.
    ///
    /// # Errors
    /// As of [`Call::read`].
    pub async fn part_of_read<T>(
        &self,
        single: bool,
        work: impl AsyncFnOnce(&mut B::Tx) -> Result<T>,
        is_cut: impl FnOnce(&T) -> bool,
    ) -> Result<T> {
        let _place = self.place().await?;
        let mut tx = self.begin(self.runner.backend.read(single)).await?;
        match within(self.deadline, work(&mut tx)).await {
            Ok(read) if is_cut(&read) => Ok(read),
            Ok(read) => {
                release(tx, self.deadline).await;
                Ok(read)
            }
            Err(error) => Err(failed(tx, error, self.deadline).await),
        }
    }

    /// The same call, for what is [durable later](Durable::Later): nothing that is answered to a client may rest on it alone.
    pub fn early(self) -> Self {
        Self { durable: Durable::Later, ..self }
    }

    /// Writes in one transaction, which ends as `work` says.
    ///
    /// # Errors
    /// Those of `work`, and of the database; of a commit, the error says whether it may have happened.
    pub async fn write<T>(&self, work: impl AsyncFnOnce(&mut B::Tx) -> Result<(T, End)>) -> Result<T> {
        match self.try_write(work).await? {
            Attempt::Committed(written) => Ok(written),
            Attempt::Unknown(_, error) => Err(error),
        }
    }

    /// As [`Call::write`], for what may be refused: then nothing is committed.
    ///
    /// # Errors
    /// As of [`Call::write`], and the refusal.
    pub async fn decide<T>(&self, work: impl AsyncFnOnce(&mut B::Tx) -> Decided<(T, End)>) -> Decided<T> {
        let decided = async |tx: &mut B::Tx| match work(tx).await {
            Ok((done, end)) => Ok((Ok(done), end)),
            Err(Failure::Refused(refusal)) => Ok((Err(refusal), End::Release)),
            Err(Failure::Store(error)) => Err(error),
        };
        self.write(decided).await?.map_err(Failure::Refused)
    }

    /// As [`Call::write`], for who has use for what `work` made also if nobody knows whether it was committed.
    ///
    /// # Errors
    /// As of [`Call::write`]; nothing has happened.
    pub async fn try_write<T>(&self, work: impl AsyncFnOnce(&mut B::Tx) -> Result<(T, End)>) -> Result<Attempt<T>> {
        let _place = self.place().await?;
        let begun = self.begin(self.runner.backend.write(self.durable)).await;
        let mut tx = begun.inspect_err(|error| self.runner.note_failure(error))?;
        let done = within(self.deadline, work(&mut tx)).await;
        match done.inspect_err(|error| self.runner.note_failure(error)) {
            Ok((written, end)) => match self.end(tx, end).await {
                Ok(()) => Ok(Attempt::Committed(written)),
                Err(error) if error.unclear => Ok(Attempt::Unknown(written, error)),
                Err(error) => Err(error),
            },
            Err(error) => Err(failed(tx, error, self.deadline).await),
        }
    }

    /// Writes in one transaction what several ask for. What `work` leaves out is `None`, and is to be tried alone, as all is if it
    /// fails, perhaps because of one of them. `is_written`: not of what is there already.
    ///
    /// # Errors
    /// Transient ones: then all failed.
    pub async fn try_together<T>(
        &self,
        count: usize,
        work: impl AsyncFnOnce(&mut B::Tx) -> Result<(Vec<Option<T>>, End)>,
        is_written: impl Fn(&T) -> bool,
    ) -> Result<Vec<Decided<Option<T>>>> {
        match self.try_write(work).await {
            Ok(Attempt::Committed(done)) => Ok(done.into_iter().map(Ok).collect()),
            // What wrote nothing certainly did nothing.
            Ok(Attempt::Unknown(done, error)) => {
                let unclear = |done: Option<T>| match done {
                    Some(done) if is_written(&done) => Err(error.share().into()),
                    _ => Ok(None),
                };
                Ok(done.into_iter().map(unclear).collect())
            }
            Err(error) if error.is_transient() => Err(error),
            Err(_) => Ok((0..count).map(|_| Ok(None)).collect()),
        }
    }

    /// Begins what one statement will write and commit.
    ///
    /// # Errors
    /// Of the database; the time has run out.
    pub async fn at_once(&self) -> Result<AtOnce<'r, B>> {
        let place = self.place().await?;
        let tx = self.begin(self.runner.backend.at_once()).await?;
        Ok(AtOnce { runner: self.runner, deadline: self.deadline, tx, is_broken: false, _place: place })
    }

    /// The right to a connection, for as long as it is held: of a node that is silent, connections do not come back for long, and
    /// its apps must not take them all.
    ///
    /// # Errors
    /// The app of the call has as many connections as it may.
    async fn place(&self) -> Result<Option<SemaphorePermit<'r>>> {
        let group = self.deadline.app().filter(|_| self.runner.backend.shape().is_distributed());
        let Some(places) = group.and_then(|app| self.runner.places.get(app as usize % GROUPS)) else {
            return Ok(None);
        };
        match timeout_at(self.deadline.turn(), places.acquire()).await {
            // They are never closed.
            Ok(place) => Ok(place.ok()),
            Err(_) => Err(StoreError::new(Cause::Overloaded, "the app has its part of the connections in use")),
        }
    }

    /// Waits for a transaction to begin, and tells for how long, also if it was in vain.
    async fn begin(&self, begin: impl Future<Output = Result<B::Tx>>) -> Result<B::Tx> {
        let started = Instant::now();
        let begun = within(self.deadline, begin).await;
        if let Some(on_wait) = self.runner.on_wait.get() {
            on_wait(started.elapsed());
        }
        begun
    }

    async fn end(&self, mut tx: B::Tx, end: End) -> Result<()> {
        match end {
            End::Commit(told) => {
                within(self.deadline, record(&mut tx, &told)).await?;
                let done = timeout_at(self.deadline.commit(), tx.commit()).await.unwrap_or_else(|_| Err(out_of_time()));
                let done = done.map_err(StoreError::in_commit);
                self.runner.note(&done);
                if done.as_ref().map_or_else(|error| error.unclear, |()| true) {
                    self.runner.committed(|| told);
                }
                done
            }
            End::Release => {
                release(tx, self.deadline).await;
                Ok(())
            }
        }
    }
}

/// What a transaction made.
pub enum Attempt<T> {
    /// It was committed, or there was nothing to commit.
    Committed(T),
    /// Whether it was committed is unknown.
    Unknown(T, StoreError),
}

/// What one statement will write and commit, and the reads before it. Dropping it closes its connection; [`AtOnce::end`] keeps it
/// where that is safe.
pub struct AtOnce<'r, B: Backend> {
    runner: &'r Runner<B>,
    deadline: Deadline,
    tx: B::Tx,
    /// The statement that commits has failed: its connection is in an unknown state.
    is_broken: bool,
    _place: Option<SemaphorePermit<'r>>,
}

impl<B: Backend> AtOnce<'_, B> {
    pub fn shape(&self) -> Shape {
        self.tx.shape()
    }

    pub fn timeline(&self) -> Timeline {
        self.tx.timeline()
    }

    /// # Errors
    /// Those of `work`; the time has run out.
    pub async fn read<T>(&mut self, work: impl AsyncFnOnce(&mut B::Tx) -> Result<T>) -> Result<T> {
        within(self.deadline, work(&mut self.tx)).await
    }

    /// Writes and commits with one statement. `told`: what it committed, by its result, or, without one, what it may have committed.
    ///
    /// # Errors
    /// Those of `work`, and of the database; they say whether it may have happened.
    pub async fn commit<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut B::Tx) -> Result<T>,
        told: impl FnOnce(Option<&T>) -> Vec<Committed>,
    ) -> Result<T> {
        let written = match timeout_at(self.deadline.unit_with_commit(), work(&mut self.tx)).await {
            Ok(written) => written.map_err(StoreError::in_one_statement),
            Err(_) if self.tx.may_have_committed() => Err(out_of_time().in_commit()),
            Err(_) => Err(out_of_time()),
        };
        self.runner.note(&written);
        match &written {
            Ok(written) => self.runner.committed(|| told(Some(written))),
            Err(error) => {
                self.is_broken = !error.lacks_node();
                if error.unclear {
                    self.runner.committed(|| told(None));
                }
            }
        }
        written
    }

    /// Ends it with what came of it.
    ///
    /// # Errors
    /// The given one.
    pub async fn end<T>(self, done: Result<T>) -> Result<T> {
        match done {
            Ok(done) => {
                if !self.is_broken {
                    release(self.tx, self.deadline).await;
                }
                Ok(done)
            }
            Err(error) => Err(failed(self.tx, error, self.deadline).await),
        }
    }
}

/// Runs the part of a transaction before its end. Nothing has happened if this fails: dropping the transaction, or [`failed`], ends
/// it without COMMIT.
async fn within<T>(deadline: Deadline, work: impl Future<Output = Result<T>>) -> Result<T> {
    timeout_at(deadline.unit(), work).await.unwrap_or_else(|_| Err(out_of_time()))
}

/// Ends a transaction whose work failed, with which error. Its connection is in an unknown state, and is closed, unless all that is
/// wrong is elsewhere.
async fn failed<X: Tx>(tx: X, error: StoreError, deadline: Deadline) -> StoreError {
    if error.lacks_node() {
        release(tx, deadline).await;
    }
    error
}

/// Ends a transaction that read, or wrote nothing after all: its end can lose nothing.
async fn release<X: Tx>(tx: X, deadline: Deadline) {
    let _ = within(deadline, tx.rollback()).await;
}

fn out_of_time() -> StoreError {
    StoreError::new(Cause::Timeout, "the database did not answer within the time limit")
}
