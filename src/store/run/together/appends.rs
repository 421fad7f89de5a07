//! Group commit: appends that share a transaction.
//!
//! Appends that arrive while a transaction runs form the next one. There is no timer: an append that arrives alone starts
//! alone, at once. A session is in one transaction at a time, so its appends keep their order and never wait for each other's
//! locks. Each append is judged on its own; a batch shares the round trips and the commit.
//!
//! The wait is bounded: the running transactions are of limited size, and waiting apps take turns, and so do the sessions of
//! an app. An append waits for at most one batch's worth of each session of its app that was there before, and of the other
//! apps, however much they have waiting, for about one batch: those of their appends that run already, and one turn of each. Where a batch is of
//! several apps, each takes one place of it in turn, so none is crowded out of it. A slow transaction holds up only its own
//! sessions: after a moment it no longer counts.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use opentelemetry::Context;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};

use super::span::SharedSpan;
use super::turns::Turns;
use crate::domain::append::Append;
use crate::domain::command::AppendAnswer;
use crate::domain::ids::{AppName, ScopeKey, SessionKey};
use crate::domain::refusal::Refusal;
use crate::store::backend::OnLocked;
use crate::store::error::{Cause, Result, StoreError};
use crate::store::run::deadline::Deadline;

/// How many transactions that are younger than [`LONG`] run at once: with more, each carries less. The second one begins only
/// if it is [large](Batching::large), or of another app where a batch is of one app. All together are at most [`Batching::writers`].
const QUICK: usize = 2;
/// After this time a transaction is slow, and others begin beside it. If latency is the cause, parallel transactions hide
/// it; if a lock is, the others need not wait for it.
const LONG: Duration = Duration::from_millis(20);

/// The most that one transaction carries, unless one append alone is larger: it holds locks, and others wait behind it.
const MOST_APPENDS: usize = 256;
const MOST_BYTES: usize = 1 << 20;

/// How appends share transactions best.
#[derive(Debug, Clone, Copy)]
pub struct Batching {
    /// A batch is of one app, as of [`Shape::batches_by_app`](crate::store::shape::Shape::batches_by_app).
    pub one_app: bool,
    /// How many transactions may run at once.
    pub writers: usize,
}

impl Batching {
    /// How many sessions a second transaction has to carry. A server runs it beside the first, whose commit it does not wait for;
    /// for a file it waits, so that more can come.
    fn large(&self) -> usize {
        if self.one_app { 16 } else { 64 }
    }
}

pub struct Appends {
    shared: Arc<Shared>,
}

struct Shared {
    commit: Commit,
    queue: Mutex<Queue>,
}

/// Appends a batch in one transaction: what became of each, in the given order. The outcomes of one session come in the order of its
/// sequence, across calls too, unless one was tried alone.
type Commit =
    Box<dyn Fn(Vec<Arc<Append>>, OnLocked, Deadline) -> BoxFuture<'static, Result<Vec<Judged>>> + Send + Sync>;

/// What one append came to, or why it was refused.
pub type Answer = Result<AppendAnswer, Refusal>;

/// The result of one append of a batch.
#[derive(Debug)]
pub enum Judged {
    Done(Answer),
    /// It was not written, whatever the batch's outcome: retry it alone.
    LeftOut,
    /// It was written, but whether that was committed is unknown.
    Unclear(StoreError),
}

impl Judged {
    /// The results of a batch whose commit is unclear. An append that writes nothing certainly did nothing.
    pub fn after_unclear(answers: impl IntoIterator<Item = Option<Answer>>, error: &StoreError) -> Vec<Self> {
        let judge = |answer: Option<Answer>| match answer {
            Some(Ok(answer)) if answer.done.is_fresh() => Self::Unclear(error.share()),
            _ => Self::LeftOut,
        };
        answers.into_iter().map(judge).collect()
    }

    /// What to answer; `None` if it is to be tried alone.
    fn answer(self) -> Option<Result<Answer>> {
        match self {
            Self::Done(answer) => Some(Ok(answer)),
            Self::Unclear(error) => Some(Err(error)),
            Self::LeftOut => None,
        }
    }
}

struct Queue {
    batching: Batching,
    /// Sessions with appends that wait or run.
    lines: HashMap<SessionKey, Line>,
    /// The sessions that can start now.
    ready: Turns,
    /// Sessions that wait for a shared scope that a running transaction holds. They wait here, where they hold nothing, and
    /// not in the database.
    blocked: Vec<SessionKey>,
    /// The scopes that running transactions hold.
    held: HashSet<ScopeKey>,
    writers: Vec<Writer>,
    tickets: u64,
}

/// A running transaction.
struct Writer {
    ticket: u64,
    begun: Instant,
    /// The app of its first append.
    app: AppName,
}

impl Writer {
    fn is_quick(&self) -> bool {
        self.begun.elapsed() < LONG
    }
}

/// The appends to one session, in the order of arrival.
#[derive(Default)]
struct Line {
    waiting: VecDeque<Waiting>,
    under_way: bool,
}

struct Waiting {
    ticket: u64,
    append: Arc<Append>,
    /// The shared scopes that the append holds.
    scopes: Vec<ScopeKey>,
    deadline: Deadline,
    /// Of the request, for spans.
    context: Context,
    answer: oneshot::Sender<Result<Judged>>,
}

impl Appends {
    /// Over what appends a batch in one transaction.
    pub fn new(
        batching: Batching,
        commit: impl Fn(Vec<Arc<Append>>, OnLocked, Deadline) -> BoxFuture<'static, Result<Vec<Judged>>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self { shared: Arc::new(Shared { commit: Box::new(commit), queue: Mutex::new(Queue::new(batching)) }) }
    }

    /// Appends, together with others if there are any.
    ///
    /// # Errors
    /// As [`Writes::append`](crate::store::appends::Writes::append). If a shared transaction fails without effect, the append is retried
    /// alone.
    pub async fn append(&self, append: Arc<Append>, deadline: Deadline) -> Result<Answer> {
        let (answer, mut answered) = oneshot::channel();
        let key = append.key.clone();
        let (ticket, transaction) = self.shared.enqueue(append.clone(), deadline, answer);
        if let Some(transaction) = transaction {
            // In this task, because waking another one takes time. Every request has a task that outlives its client.
            transaction.run().await;
        }
        let answer = match timeout_at(deadline.turn(), &mut answered).await {
            Ok(answer) => answer,
            Err(_) if self.shared.withdraw(&key, ticket) => {
                return Err(StoreError::new(
                    Cause::Overloaded,
                    "the append did not get its turn within the time limit",
                ));
            }
            // Under way, and the transaction knows the deadline.
            Err(_) => answered.await,
        };
        // Without one, it panicked.
        let abandoned = |_| StoreError::new(Cause::Internal, "a transaction was abandoned").in_commit();
        match answer.map_err(abandoned)??.answer() {
            Some(done) => done,
            None => self.append_alone(append, deadline).await,
        }
    }

    /// Appends in a transaction of its own.
    ///
    /// # Errors
    /// As [`Writes::append`](crate::store::appends::Writes::append).
    pub async fn append_alone(&self, append: Arc<Append>, deadline: Deadline) -> Result<Answer> {
        let judged = (self.shared.commit)(vec![append], OnLocked::Wait, deadline).await?.pop();
        let unanswered = || Err(StoreError::new(Cause::Internal, "an append was not answered"));
        judged.and_then(Judged::answer).unwrap_or_else(unanswered)
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts an append into its session's line; its ticket, and the transaction that it begins with, if that is now.
    fn enqueue(
        self: &Arc<Self>,
        append: Arc<Append>,
        deadline: Deadline,
        answer: oneshot::Sender<Result<Judged>>,
    ) -> (u64, Option<Transaction>) {
        let scopes = append.scopes();
        let mut queue = self.queue();
        let ticket = queue.add(append, scopes, deadline, answer);
        let mut begun = self.begin(queue);
        let own = begun.iter().position(|transaction| transaction.batch.iter().any(|waiting| waiting.ticket == ticket));
        let own = own.map(|at| begun.swap_remove(at));
        start(begun);
        (ticket, own)
    }

    /// Removes an append from the queue, unless it runs already; whether it was there.
    fn withdraw(&self, key: &SessionKey, ticket: u64) -> bool {
        let mut queue = self.queue();
        let Some(line) = queue.lines.get_mut(key) else { return false };
        let Some(at) = line.waiting.iter().position(|waiting| waiting.ticket == ticket) else { return false };
        line.waiting.remove(at);
        if line.waiting.is_empty() && !line.under_way {
            queue.lines.remove(key);
            queue.ready.remove(key);
            queue.blocked.retain(|blocked| blocked != key);
        }
        true
    }

    /// The transactions that can begin, if there is something to do, and a writer to do it.
    fn begin(self: &Arc<Self>, mut queue: MutexGuard<'_, Queue>) -> Vec<Transaction> {
        let mut begun = Vec::new();
        while let Some(first) = queue.next() {
            let Batch { sessions, scopes, waiting } = queue.take(&first);
            // A session that waits for a scope leaves the ready ones, so the loop ends.
            let Some(app) = sessions.first().map(|key| key.app().clone()) else { continue };
            queue.tickets += 1;
            let ticket = queue.tickets;
            queue.writers.push(Writer { ticket, begun: Instant::now(), app });
            begun.push(Transaction { turn: Turn { shared: self.clone(), ticket, sessions, scopes }, batch: waiting });
        }
        begun
    }
}

impl Queue {
    fn new(batching: Batching) -> Self {
        Self {
            batching,
            lines: HashMap::new(),
            ready: Turns::default(),
            blocked: Vec::new(),
            held: HashSet::new(),
            writers: Vec::new(),
            tickets: 0,
        }
    }

    /// Puts an append into its session's line; its ticket.
    fn add(
        &mut self,
        append: Arc<Append>,
        scopes: Vec<ScopeKey>,
        deadline: Deadline,
        answer: oneshot::Sender<Result<Judged>>,
    ) -> u64 {
        self.tickets += 1;
        let (ticket, key) = (self.tickets, append.key.clone());
        let line = self.lines.entry(key.clone()).or_default();
        line.waiting.push_back(Waiting { ticket, append, scopes, deadline, context: Context::current(), answer });
        if !line.under_way && line.waiting.len() == 1 {
            self.ready.push_back(key);
        }
        ticket
    }

    /// The transaction of these sessions is over.
    fn leave(&mut self, sessions: Vec<SessionKey>) {
        for key in sessions {
            let Some(line) = self.lines.get_mut(&key) else { continue };
            line.under_way = false;
            if line.waiting.is_empty() {
                self.lines.remove(&key);
            } else {
                self.ready.push_back(key);
            }
        }
    }

    /// The app with which a transaction is to begin now, if one is.
    fn next(&self) -> Option<AppName> {
        let free = self.batching.writers.saturating_sub(self.writers.len());
        if free == 0 {
            return None;
        }
        // Where a batch is of one app, an app has no more writers than it leaves free for others: if its node is silent, they do not
        // come back for long.
        let running = |app: &AppName| self.writers.iter().filter(|writer| writer.app == *app).count();
        let may = self.ready.apps().filter(|app| !self.batching.one_app || running(app) < free);
        let first = || may.clone().next();
        // And an app for which nothing runs goes before one that has its turn now.
        let idle = || may.clone().find(|app| running(app) == 0);
        let in_turn = || if self.batching.one_app { idle().or_else(first) } else { first() };
        let quick = self.writers.iter().filter(|writer| writer.is_quick());
        let app = match quick.clone().count() {
            0 => in_turn(),
            count if count < QUICK && self.ready.len() >= self.batching.large() => in_turn(),
            // A session of another app would never be in the batches of the running ones.
            _ if self.batching.one_app => may.clone().find(|app| quick.clone().all(|writer| writer.app != **app)),
            _ => None,
        };
        app.cloned()
    }

    /// The next batch, beginning with that app: what its sessions have waiting, one after the other, within the limits, and as
    /// far as the shared scopes that it needs are free. If a batch is of several apps, they take its places in turn, one each.
    fn take(&mut self, first: &AppName) -> Batch {
        self.ready.begin(first);
        let mut batch = Batch::default();
        let mut bytes = 0;
        while let Some(key) = self.ready.front().cloned() {
            if self.batching.one_app && key.app() != first {
                break;
            }
            let next = self.lines.get_mut(&key).and_then(|line| Some((line.waiting.front()?.append.weight(), line)));
            let Some((weight, line)) = next else {
                self.ready.remove(&key);
                continue;
            };
            let is_full = batch.waiting.len() == MOST_APPENDS || bytes + weight > MOST_BYTES;
            if is_full && !batch.waiting.is_empty() {
                // Whose append does not fit any more begins the next batch.
                break;
            }
            let needs = line.waiting.front().map(|next| next.scopes.as_slice()).unwrap_or_default();
            if needs.iter().any(|scope| self.held.contains(scope)) {
                self.ready.remove(&key);
                if !line.under_way {
                    self.blocked.push(key);
                }
                continue;
            }
            bytes += weight;
            batch.scopes.extend(needs.iter().cloned());
            batch.waiting.extend(line.waiting.pop_front());
            if line.waiting.is_empty() {
                self.ready.remove(&key);
            }
            if !self.batching.one_app {
                self.ready.end(key.app());
            }
            if !line.under_way {
                line.under_way = true;
                batch.sessions.push(key);
            }
        }
        // A session is in one transaction at a time, also if it has more waiting than was taken.
        for key in &batch.sessions {
            if self.lines.get(key).is_some_and(|line| !line.waiting.is_empty()) {
                self.ready.remove(key);
            }
        }
        if self.batching.one_app {
            self.ready.end(first);
        }
        self.held.extend(batch.scopes.iter().cloned());
        batch
    }
}

/// What one transaction carries.
#[derive(Default)]
struct Batch {
    sessions: Vec<SessionKey>,
    scopes: HashSet<ScopeKey>,
    waiting: Vec<Waiting>,
}

/// Runs transactions in tasks of their own.
fn start(transactions: Vec<Transaction>) {
    // A runtime that is shutting down drops a task at once, and the end of a turn takes the queue's lock: it is not held
    // here.
    if let Ok(runtime) = Handle::try_current() {
        for transaction in transactions {
            runtime.spawn(transaction.run());
        }
    }
}

/// A batch whose turn has come.
struct Transaction {
    turn: Turn,
    batch: Vec<Waiting>,
}

impl Transaction {
    async fn run(self) {
        let Self { turn, batch } = self;
        let appends: Vec<Arc<Append>> = batch.iter().map(|waiting| waiting.append.clone()).collect();
        // A batch has at least one append.
        let Some(first) = batch.iter().map(|waiting| waiting.deadline).min_by_key(Deadline::at) else { return };
        let deadline = first.for_group(batch.len());
        let shared = turn.shared.clone();
        let span = SharedSpan::begin("append batch", batch.iter().map(|waiting| &waiting.context));
        let mut commit = (shared.commit)(appends, OnLocked::Skip, deadline);
        let committed = match timeout(LONG, &mut commit).await {
            Ok(committed) => committed,
            Err(_) => {
                // The appends that wait start beside it.
                start(shared.begin(shared.queue()));
                commit.await
            }
        };
        drop(span);
        // The next transaction need not wait until these are answered.
        drop(turn);
        let answers: Vec<Result<Judged>> = match committed {
            Ok(judged) => judged.into_iter().map(Ok).collect(),
            Err(error) if batch.len() == 1 => vec![Err(error)],
            Err(error) if error.is_transient() => batch.iter().map(|_| Err(error.share())).collect(),
            // Perhaps because of one of them.
            Err(_) => batch.iter().map(|_| Ok(Judged::LeftOut)).collect(),
        };
        for (waiting, answer) in batch.into_iter().zip(answers) {
            // Nobody listens any more: the process is stopping.
            let _ = waiting.answer.send(answer);
        }
    }
}

/// The sessions and scopes of a running transaction. Dropping it, also in a panic, releases them.
struct Turn {
    shared: Arc<Shared>,
    ticket: u64,
    sessions: Vec<SessionKey>,
    scopes: HashSet<ScopeKey>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut queue = self.shared.queue();
        for scope in &self.scopes {
            queue.held.remove(scope);
        }
        // Before those that came later.
        for key in std::mem::take(&mut queue.blocked).into_iter().rev() {
            queue.ready.push_front(key);
        }
        queue.leave(std::mem::take(&mut self.sessions));
        queue.writers.retain(|writer| writer.ticket != self.ticket);
        start(self.shared.begin(queue));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::Limits;
    use crate::domain::event::EventDraft;
    use crate::domain::guard::Guard;
    use crate::domain::ids::{AppName, EventId, SessionId, UserId, UserKey};
    use crate::domain::json::Json;
    use crate::domain::time::Micros;
    use crate::store::limits::StoreLimits;

    fn app(name: &str) -> AppName {
        AppName::parse(name).unwrap()
    }

    fn of(name: &str, session: &str) -> SessionKey {
        let user = UserKey { app: app(name), user: UserId::parse("user").unwrap() };
        SessionKey { user, session: SessionId::parse(session).unwrap() }
    }

    fn key(session: &str) -> SessionKey {
        of("app", session)
    }

    fn append(key: SessionKey, id: &str, state_key: &str, bytes: usize) -> Append {
        let text = format!(r#"{{"text":"{}","actions":{{"stateDelta":{{"{state_key}":1}}}}}}"#, "x".repeat(bytes));
        let draft = EventDraft::parse(Json::trusted(&text), "", None, &Limits::unbounded_input()).unwrap();
        Append {
            key,
            events: vec![draft.seal(EventId::parse(id).unwrap(), Micros(0))],
            guard: Guard::default(),
            only_if_present: None,
            limits: Limits::unbounded_input(),
            now: Micros(0),
            with_state: None,
            creates: None,
        }
    }

    fn queue() -> Queue {
        Queue::new(Batching { one_app: false, writers: QUICK })
    }

    impl Queue {
        /// An append whose event sets `state_key`, with so many bytes of text.
        fn push(&mut self, session: &str, state_key: &str, bytes: usize) {
            self.push_key(key(session), state_key, bytes);
        }

        fn push_key(&mut self, key: SessionKey, state_key: &str, bytes: usize) {
            let append = Arc::new(append(key, "e", state_key, bytes));
            let scopes = append.scopes();
            let deadline = Deadline::new(Instant::now(), &StoreLimits::default(), None);
            self.add(append, scopes, deadline, oneshot::channel().0);
        }

        /// The tickets of the next batch.
        fn next_batch(&mut self) -> Vec<u64> {
            let Some(first) = self.ready.apps().next().cloned() else { return Vec::new() };
            self.take(&first).waiting.iter().map(|waiting| waiting.ticket).collect()
        }

        fn write(&mut self, app: &str, begun: Instant) {
            self.writers.push(Writer { ticket: 0, begun, app: self::app(app) });
        }
    }

    #[test]
    fn what_waits_goes_together_in_the_order_of_each_session() {
        let mut queue = queue();
        for session in ["a", "b", "a", "c", "b"] {
            queue.push(session, "k", 0);
        }
        assert_eq!(queue.next_batch(), [1, 3, 2, 5, 4]);
        queue.push("a", "k", 0);
        queue.push("d", "k", 0);
        assert_eq!(queue.next_batch(), [7], "a session is in one transaction at a time");
    }

    #[test]
    fn a_session_with_many_gets_one_batch() {
        let mut queue = queue();
        for _ in 0..2 * MOST_APPENDS {
            queue.push("hot", "k", 0);
        }
        queue.push("b", "k", 0);
        assert_eq!(queue.next_batch().len(), MOST_APPENDS);
        assert_eq!(queue.next_batch(), [2 * MOST_APPENDS as u64 + 1]);
    }

    #[test]
    fn a_large_one_goes_alone() {
        let mut queue = queue();
        for (session, bytes) in [("a", 10), ("b", 2 * MOST_BYTES), ("c", 10), ("d", MOST_BYTES / 2)] {
            queue.push(session, "k", bytes);
        }
        assert_eq!(queue.next_batch(), [1]);
        assert_eq!(queue.next_batch(), [2]);
        assert_eq!(queue.next_batch(), [3, 4]);
        assert_eq!(queue.next_batch(), [0; 0]);
    }

    #[test]
    fn a_second_transaction_begins_if_it_is_large_or_the_first_is_slow() {
        let mut queue = Queue { batching: Batching { one_app: false, writers: 3 }, ..queue() };
        let (quick, slow) = (Instant::now() + Duration::from_secs(3600), Instant::now().checked_sub(2 * LONG).unwrap());
        queue.push("a", "k", 0);
        assert_eq!(queue.next(), Some(app("app")));
        queue.next_batch();
        queue.write("app", quick);
        queue.push("b", "k", 0);
        assert_eq!(queue.next(), None, "b waits for a");
        for n in 1..queue.batching.large() {
            queue.push(&format!("s{n}"), "k", 0);
        }
        assert_eq!(queue.next(), Some(app("app")), "many wait");
        queue.next_batch();
        queue.push("c", "k", 0);
        assert_eq!(queue.next(), None);
        queue.writers.clear();
        queue.write("app", slow);
        queue.write("app", slow);
        assert_eq!(queue.next(), Some(app("app")), "what is slow does not count");
        queue.write("app", quick);
        queue.writers.swap_remove(0);
        assert_eq!(queue.next(), None, "but beside it, others do");
        queue.write("app", slow);
        queue.writers.swap_remove(1);
        queue.write("app", slow);
        assert_eq!(queue.next(), None, "and there are not more than so many");
    }

    #[test]
    fn batches_of_one_app_take_turns() {
        let mut queue = Queue { batching: Batching { one_app: true, writers: 3 }, ..queue() };
        for (app, session) in [("a", "1"), ("b", "1"), ("a", "2"), ("c", "1"), ("b", "2"), ("a", "3")] {
            queue.push_key(of(app, session), "k", 0);
        }
        let soon = Instant::now() + Duration::from_secs(3600);
        assert_eq!(queue.next_batch(), [1, 3, 6]);
        queue.write("a", soon);
        queue.push_key(of("a", "4"), "k", 0);
        assert_eq!(queue.next(), Some(app("b")), "b waits for nobody of a");
        queue.write("c", soon);
        assert_eq!(queue.next_batch(), [2, 5]);
        queue.push_key(of("b", "3"), "k", 0);
        assert_eq!(queue.ready.apps().map(AppName::as_str).collect::<Vec<_>>(), ["c", "a", "b"]);
        assert_eq!(queue.next(), Some(app("b")), "c and a have one under way");
    }

    #[test]
    fn an_app_with_many_waiting_makes_another_one_wait_for_one_batch() {
        for one_app in [true, false] {
            let mut queue = Queue { batching: Batching { one_app, writers: 2 }, ..queue() };
            for n in 0..10 * MOST_APPENDS {
                queue.push_key(of("noisy", &n.to_string()), "k", 0);
            }
            assert_eq!(queue.next_batch().len(), MOST_APPENDS);
            queue.push_key(of("quiet", "q"), "k", 0);
            let quiet = queue.tickets;
            let batches: Vec<usize> = (0..2)
                .map(|_| queue.next_batch())
                .map(|batch| batch.iter().filter(|&&ticket| ticket == quiet).count())
                .collect();
            // Where a batch is of one app, it is the turn of the noisy one once; else both are in the next.
            assert_eq!(batches, if one_app { [0, 1] } else { [1, 0] });
        }
    }

    #[test]
    fn an_app_leaves_writers_to_the_others() {
        let mut queue = Queue { batching: Batching { one_app: true, writers: 8 }, ..queue() };
        let slow = Instant::now().checked_sub(2 * LONG).unwrap();
        for n in 0..9 {
            queue.push_key(of("silent", &n.to_string()), "k", 0);
        }
        for _ in 0..4 {
            assert_eq!(queue.next(), Some(app("silent")));
            queue.write("silent", slow);
        }
        assert_eq!(queue.next(), None);
        queue.push_key(of("other", "1"), "k", 0);
        assert_eq!(queue.next(), Some(app("other")));
    }

    #[test]
    fn an_app_for_which_nothing_runs_goes_first() {
        let mut queue = Queue { batching: Batching { one_app: true, writers: 8 }, ..queue() };
        for n in 0..2 * MOST_APPENDS {
            queue.push_key(of("noisy", &n.to_string()), "k", 0);
        }
        queue.next_batch();
        queue.push_key(of("quiet", "q"), "k", 0);
        assert_eq!(queue.ready.apps().next(), Some(&app("noisy")));
        // Also beside slow ones, which do not count otherwise.
        for begun in [Instant::now() + Duration::from_secs(3600), Instant::now().checked_sub(2 * LONG).unwrap()] {
            queue.writers.clear();
            queue.write("noisy", begun);
            assert_eq!(queue.next(), Some(app("quiet")));
        }
    }

    proptest! {
        /// Whatever waits, and in whatever order it came: every append is in one batch, those of a session keep their order,
        /// no app is left out of a batch that it could be in, and none gets much more than another one that has more waiting.
        #[test]
        fn the_places_of_a_batch_are_shared(
            pushes in prop::collection::vec((0..4usize, 0..8usize), 1..900),
            one_app in any::<bool>(),
        ) {
            let mut queue = Queue { batching: Batching { one_app, writers: 2 }, ..queue() };
            let mut waiting: HashMap<AppName, usize> = HashMap::new();
            for (app, session) in &pushes {
                // The first app is the noisy one.
                let app = of(&format!("a{}", app * app / 4), &session.to_string());
                *waiting.entry(app.app().clone()).or_default() += 1;
                queue.push_key(app, "k", 0);
            }
            let mut last: HashMap<SessionKey, u64> = HashMap::new();
            let mut since: HashMap<AppName, usize> = HashMap::new();
            let mut count = 0;
            while let Some(first) = queue.next() {
                let batch = queue.take(&first);
                let mut got: HashMap<AppName, usize> = HashMap::new();
                for append in &batch.waiting {
                    let before = last.insert(append.append.key.clone(), append.ticket);
                    prop_assert!(before < Some(append.ticket), "the order of a session");
                    *got.entry(append.append.key.app().clone()).or_default() += 1;
                }
                count += batch.waiting.len();
                prop_assert!(batch.waiting.len() <= MOST_APPENDS);
                for (app, waiting) in &waiting {
                    let got_now = got.get(app).copied().unwrap_or(0);
                    if one_app {
                        let since = since.entry(app.clone()).or_default();
                        *since = if got_now > 0 { 0 } else { *since + 1 };
                        prop_assert!(*waiting == 0 || *since <= 4, "its turn comes");
                    } else if got_now < *waiting {
                        prop_assert!(got.values().all(|other| *other <= got_now + 1), "{got:?}");
                    }
                }
                for (app, got) in got {
                    *waiting.entry(app).or_default() -= got;
                }
                // It is over.
                queue.held.clear();
                queue.leave(batch.sessions);
            }
            prop_assert_eq!(count, pushes.len());
            prop_assert_eq!(queue.ready.len(), 0);
        }
    }

    #[test]
    fn what_needs_a_held_scope_waits_and_what_does_not_goes() {
        let mut queue = queue();
        queue.push("a", "app:k", 0);
        assert_eq!(queue.next_batch(), [1]);
        queue.push("b", "app:k", 0);
        queue.push("b", "k", 0);
        queue.push("c", "user:k", 0);
        assert_eq!(queue.next_batch(), [4], "b's first holds up b's second, as they keep their order");
        assert_eq!(queue.blocked, [key("b")]);
    }

    /// A store that commits what is in no hurry when its time has come, and keeps the order in which it did.
    fn slow_store(time: impl Fn(&str) -> Duration + Send + Sync + 'static) -> (Arc<Appends>, Arc<Mutex<Vec<String>>>) {
        let done = Arc::new(Mutex::new(Vec::new()));
        let (log, time) = (done.clone(), Arc::new(time));
        let commit = move |batch: Vec<Arc<Append>>, _, _| -> BoxFuture<'static, Result<Vec<Judged>>> {
            let (log, time) = (log.clone(), time.clone());
            Box::pin(async move {
                let names: Vec<&str> = batch.iter().map(|append| append.key.session.as_str()).collect();
                tokio::time::sleep(names.iter().map(|name| time(name)).max().unwrap()).await;
                log.lock().unwrap().push(names.join(" "));
                let outcome = || Err(Refusal::SessionNotFound);
                Ok(batch.iter().map(|_| Judged::Done(outcome())).collect())
            })
        };
        let batching = Batching { one_app: false, writers: 4 };
        (Arc::new(Appends::new(batching, commit)), done)
    }

    /// Sends an append, as far as it gets at once.
    async fn send(appends: &Arc<Appends>, session: &'static str) -> tokio::task::JoinHandle<Result<Answer>> {
        let appends = appends.clone();
        let task = tokio::spawn(async move {
            let deadline = Deadline::new(Instant::now() + Duration::from_secs(60), &StoreLimits::default(), None);
            appends.append(Arc::new(append(key(session), "e", "k", 0)), deadline).await
        });
        tokio::task::yield_now().await;
        task
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_append_holds_up_nobody_who_came_right_after_it() {
        let (appends, done) = slow_store(|name| match name.starts_with("slow") {
            true => Duration::from_secs(30),
            false => Duration::from_millis(1),
        });
        let began = Instant::now();
        let slow = send(&appends, "slow").await;
        let quick = send(&appends, "quick").await;
        // It waits alone, and nobody comes after it.
        quick.await.unwrap().unwrap().unwrap_err();
        assert!(began.elapsed() < 2 * LONG, "{:?}", began.elapsed());
        // One that comes when the first has long been slow waits for nothing at all.
        let came = Instant::now();
        send(&appends, "later").await.await.unwrap().unwrap().unwrap_err();
        assert!(came.elapsed() < LONG, "{:?}", came.elapsed());
        // A second slow one is no different.
        let second = send(&appends, "slow2").await;
        send(&appends, "latest").await.await.unwrap().unwrap().unwrap_err();
        assert_eq!(*done.lock().unwrap(), ["quick", "later", "latest"]);
        slow.await.unwrap().unwrap().unwrap_err();
        second.await.unwrap().unwrap().unwrap_err();
        assert!(appends.shared.queue().writers.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_while_a_quick_one_is_under_way_goes_together() {
        let (appends, done) = slow_store(|_| Duration::from_millis(5));
        let mut sent = Vec::new();
        for session in ["a", "b", "c"] {
            sent.push(send(&appends, session).await);
        }
        for append in sent {
            append.await.unwrap().unwrap().unwrap_err();
        }
        assert_eq!(*done.lock().unwrap(), ["a", "b c"]);
    }
}
