//! Appends that share a transaction.
//!
//! What arrives while a transaction is under way forms the next one: nobody waits for a timer, and an append that comes
//! alone goes alone, at once. A session is in one transaction at a time, so its appends keep their order and never wait
//! for each other's locks. Each append is judged on its own; they share the round trips and the commit.
//!
//! What bounds the wait: the transactions under way when an append arrives are of limited size, and the sessions that
//! wait take turns, so behind them come at most one batch's worth of each other session that was there before.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::domain::append::Append;
use crate::domain::ids::SessionKey;
use crate::domain::shared::ScopeKey;
use crate::store::{AppendOutcome, Busy, Cause, Store, StoreError};

/// Transactions under way at once, at most. With more, each carries less, so a second one begins only if it is large, or if
/// the last one has been under way for long: what is slow about it, the database or the way there, need not be slow twice.
const WRITERS: usize = 2;
const LARGE: usize = 64;
const LONG: Duration = Duration::from_millis(20);

/// How much one transaction takes on, but for an append that alone is more: it holds locks, and others wait behind it.
const MOST_APPENDS: usize = 256;
const MOST_BYTES: usize = 1 << 20;

/// The least time that a shared transaction is given, or one append whose time is nearly up would take the others down
/// with it.
const LEAST_TIME: Duration = Duration::from_millis(500);

type Result<T> = std::result::Result<T, StoreError>;

pub struct GroupCommit {
    shared: Arc<Shared>,
    /// The longest wait for a turn: as long as for a connection, which is what an append would else wait for.
    patience: Duration,
}

struct Shared {
    store: Arc<dyn Store>,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    /// Sessions with appends that wait or are under way.
    lines: HashMap<SessionKey, Line>,
    /// Those of them that could go now, in the order of their turns.
    ready: VecDeque<SessionKey>,
    /// Those that could, were it not for a shared scope that a transaction under way holds: they wait here, where they
    /// hold nothing themselves, and not in the database.
    blocked: Vec<SessionKey>,
    /// The scopes that transactions under way hold.
    held: HashSet<ScopeKey>,
    writers: usize,
    /// When the last transaction began.
    begun: Option<Instant>,
    tickets: u64,
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
    /// Those of the append.
    scopes: Vec<ScopeKey>,
    deadline: Instant,
    answer: oneshot::Sender<Answer>,
}

enum Answer {
    Done(Result<AppendOutcome>),
    /// Nothing of it happened: the transaction that it shared with others failed, perhaps because of one of them, or
    /// went on without it.
    Alone,
}

impl GroupCommit {
    pub fn new(store: Arc<dyn Store>, patience: Duration) -> Self {
        Self { shared: Arc::new(Shared { store, queue: Mutex::default() }), patience }
    }

    /// Appends, together with others if there are any.
    ///
    /// # Errors
    /// As [`Store::append`]. If a shared transaction fails and nothing of it happened, the append is tried alone.
    pub async fn append(&self, append: Arc<Append>, deadline: Instant) -> Result<AppendOutcome> {
        let (answer, mut answered) = oneshot::channel();
        let key = append.key.clone();
        let (ticket, transaction) = self.shared.enqueue(append.clone(), deadline, answer);
        if let Some(transaction) = transaction {
            // In this task: to wake another one takes time. Every request has a task that outlives its client.
            transaction.run().await;
        }
        let turn = deadline.min(Instant::now() + self.patience);
        let answer = match timeout_at(turn, &mut answered).await {
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
        match answer {
            Ok(Answer::Done(done)) => done,
            Ok(Answer::Alone) => self.append_alone(append, deadline).await,
            // It panicked.
            Err(_) => Err(StoreError::new(Cause::Internal, "a transaction was abandoned").in_commit()),
        }
    }

    /// Appends in a transaction of its own.
    ///
    /// # Errors
    /// As [`Store::append`].
    pub async fn append_alone(&self, append: Arc<Append>, deadline: Instant) -> Result<AppendOutcome> {
        let outcomes = self.shared.commit(&[append], Busy::Wait, deadline).await?;
        outcomes
            .into_iter()
            .flatten()
            .next()
            .ok_or_else(|| StoreError::new(Cause::Internal, "an append was not answered"))
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
        deadline: Instant,
        answer: oneshot::Sender<Answer>,
    ) -> (u64, Option<Transaction>) {
        let (key, scopes) = (append.key.clone(), append.scopes());
        let mut queue = self.queue();
        queue.tickets += 1;
        let ticket = queue.tickets;
        let line = queue.lines.entry(key.clone()).or_default();
        line.waiting.push_back(Waiting { ticket, append, scopes, deadline, answer });
        if !line.under_way && line.waiting.len() == 1 {
            queue.ready.push_back(key);
        }
        let mut begun = self.begin(queue);
        let own = begun.iter().position(|transaction| transaction.batch.iter().any(|waiting| waiting.ticket == ticket));
        let own = own.map(|at| begun.swap_remove(at));
        start(begun);
        (ticket, own)
    }

    /// Takes an append back that is not under way; whether it was there.
    fn withdraw(&self, key: &SessionKey, ticket: u64) -> bool {
        let mut queue = self.queue();
        let Some(line) = queue.lines.get_mut(key) else { return false };
        let Some(at) = line.waiting.iter().position(|waiting| waiting.ticket == ticket) else { return false };
        line.waiting.remove(at);
        if line.waiting.is_empty() && !line.under_way {
            queue.lines.remove(key);
            queue.ready.retain(|ready| ready != key);
            queue.blocked.retain(|blocked| blocked != key);
        }
        true
    }

    /// The transactions that can begin, if there is something to do, and a writer to do it.
    fn begin(self: &Arc<Self>, mut queue: MutexGuard<'_, Queue>) -> Vec<Transaction> {
        let mut begun = Vec::new();
        while queue.may_begin() {
            let Batch { sessions, scopes, waiting } = queue.take();
            if waiting.is_empty() {
                break;
            }
            queue.writers += 1;
            queue.begun = Some(Instant::now());
            begun.push(Transaction { turn: Turn { shared: self.clone(), sessions, scopes }, batch: waiting });
        }
        begun
    }

    /// The one place that knows what has just been committed. What one session's outcomes say is in the order of its
    /// sequence, from call to call too, unless it was tried alone.
    async fn commit(&self, batch: &[Arc<Append>], busy: Busy, deadline: Instant) -> Result<Vec<Option<AppendOutcome>>> {
        self.store.append(batch, busy, deadline).await
    }
}

impl Queue {
    fn may_begin(&self) -> bool {
        let is_long = || self.begun.is_some_and(|begun| begun.elapsed() > LONG);
        match self.writers {
            0 => !self.ready.is_empty(),
            WRITERS.. => false,
            _ => self.ready.len() >= LARGE || !self.ready.is_empty() && is_long(),
        }
    }

    /// The next batch: from each session in turn what it has waiting, within the limits, and as far as the shared scopes
    /// that it needs are free.
    fn take(&mut self) -> Batch {
        let mut batch = Batch::default();
        let mut bytes = 0;
        let mut full = false;
        while !full && let Some(key) = self.ready.pop_front() {
            let Some(line) = self.lines.get_mut(&key) else { continue };
            let mut blocked = false;
            while let Some(next) = line.waiting.front() {
                bytes += next.append.weight();
                full = !batch.waiting.is_empty() && (batch.waiting.len() == MOST_APPENDS || bytes > MOST_BYTES);
                blocked = next.scopes.iter().any(|scope| self.held.contains(scope));
                if full || blocked {
                    break;
                }
                batch.scopes.extend(next.scopes.iter().cloned());
                batch.waiting.extend(line.waiting.pop_front());
                line.under_way = true;
            }
            if line.under_way {
                batch.sessions.push(key);
            } else if blocked {
                self.blocked.push(key);
            } else {
                self.ready.push_front(key);
            }
        }
        self.held.extend(batch.scopes.iter().cloned());
        batch
    }
}

/// What one transaction takes on.
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
        let first = batch.iter().map(|waiting| waiting.deadline).min().unwrap_or_else(Instant::now);
        let deadline = if batch.len() == 1 { first } else { first.max(Instant::now() + LEAST_TIME) };
        let committed = turn.shared.commit(&appends, Busy::LeaveOut, deadline).await;
        // The next transaction need not wait until these are answered.
        drop(turn);
        let answers: Vec<Answer> = match committed {
            Ok(outcomes) => outcomes
                .into_iter()
                .map(|outcome| outcome.map_or(Answer::Alone, |outcome| Answer::Done(Ok(outcome))))
                .collect(),
            Err(error) if batch.len() == 1 => vec![Answer::Done(Err(error))],
            Err(error) if error.is_transient() => batch.iter().map(|_| Answer::Done(Err(error.share()))).collect(),
            Err(_) => batch.iter().map(|_| Answer::Alone).collect(),
        };
        for (waiting, answer) in batch.into_iter().zip(answers) {
            // Nobody listens any more: the process is stopping.
            let _ = waiting.answer.send(answer);
        }
    }
}

/// The sessions and scopes of a transaction under way. Dropping it, be it by a panic, lets others have them.
struct Turn {
    shared: Arc<Shared>,
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
        for key in self.sessions.drain(..) {
            let Some(line) = queue.lines.get_mut(&key) else { continue };
            line.under_way = false;
            if line.waiting.is_empty() {
                queue.lines.remove(&key);
            } else {
                queue.ready.push_back(key);
            }
        }
        queue.writers -= 1;
        start(self.shared.begin(queue));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Limits;
    use crate::domain::event::EventDraft;
    use crate::domain::ids::{AppName, EventId, SessionId, UserId, UserKey};
    use crate::domain::json::Json;
    use crate::domain::time::Micros;

    fn key(session: &str) -> SessionKey {
        let user = UserKey { app: AppName::parse("app").unwrap(), user: UserId::parse("user").unwrap() };
        SessionKey { user, session: SessionId::parse(session).unwrap() }
    }

    impl Queue {
        /// An append whose event sets `state_key`, with so many bytes of text.
        fn push(&mut self, session: &str, state_key: &str, bytes: usize) {
            let text = format!(r#"{{"text":"{}","actions":{{"stateDelta":{{"{state_key}":1}}}}}}"#, "x".repeat(bytes));
            let draft = EventDraft::parse(Json::trusted(&text), "", None, &Limits::none()).unwrap();
            let event = draft.seal(EventId::parse("e").unwrap(), Micros(0));
            let append = Append {
                key: key(session),
                events: vec![event],
                if_match: None,
                only_if_present: None,
                limits: Limits::none(),
                now: Micros(0),
                with_state: false,
            };
            let line = self.lines.entry(key(session)).or_default();
            let (answer, _) = oneshot::channel();
            let deadline = Instant::now();
            self.tickets += 1;
            let scopes = append.scopes();
            line.waiting.push_back(Waiting {
                ticket: self.tickets,
                append: Arc::new(append),
                scopes,
                deadline,
                answer,
            });
            if !line.under_way && line.waiting.len() == 1 {
                self.ready.push_back(key(session));
            }
        }

        /// The tickets of the next batch.
        fn next(&mut self) -> Vec<u64> {
            self.take().waiting.iter().map(|waiting| waiting.ticket).collect()
        }
    }

    #[test]
    fn what_waits_goes_together_in_the_order_of_each_session() {
        let mut queue = Queue::default();
        for session in ["a", "b", "a", "c", "b"] {
            queue.push(session, "k", 0);
        }
        assert_eq!(queue.next(), [1, 3, 2, 5, 4]);
        queue.push("a", "k", 0);
        queue.push("d", "k", 0);
        assert_eq!(queue.next(), [7], "a session is in one transaction at a time");
    }

    #[test]
    fn a_session_with_many_gets_one_batch() {
        let mut queue = Queue::default();
        for _ in 0..2 * MOST_APPENDS {
            queue.push("hot", "k", 0);
        }
        queue.push("b", "k", 0);
        assert_eq!(queue.next().len(), MOST_APPENDS);
        assert_eq!(queue.next(), [2 * MOST_APPENDS as u64 + 1]);
    }

    #[test]
    fn a_large_one_goes_alone() {
        let mut queue = Queue::default();
        for (session, bytes) in [("a", 10), ("b", 2 * MOST_BYTES), ("c", 10), ("d", MOST_BYTES / 2)] {
            queue.push(session, "k", bytes);
        }
        assert_eq!(queue.next(), [1]);
        assert_eq!(queue.next(), [2]);
        assert_eq!(queue.next(), [3, 4]);
        assert_eq!(queue.next(), [0; 0]);
    }

    #[test]
    fn a_second_transaction_begins_if_it_is_large_or_the_first_is_slow() {
        let mut queue = Queue::default();
        queue.push("a", "k", 0);
        assert!(queue.may_begin());
        queue.next();
        (queue.writers, queue.begun) = (1, Some(Instant::now() + Duration::from_secs(3600)));
        queue.push("b", "k", 0);
        assert!(!queue.may_begin(), "b waits for a");
        for n in 1..LARGE {
            queue.push(&format!("s{n}"), "k", 0);
        }
        assert!(queue.may_begin(), "many wait");
        queue.next();
        queue.push("c", "k", 0);
        assert!(!queue.may_begin());
        queue.begun = Instant::now().checked_sub(2 * LONG);
        assert!(queue.may_begin(), "the last one is slow");
        queue.writers = WRITERS;
        assert!(!queue.may_begin());
    }

    #[test]
    fn what_needs_a_held_scope_waits_and_what_does_not_goes() {
        let mut queue = Queue::default();
        queue.push("a", "app:k", 0);
        assert_eq!(queue.next(), [1]);
        queue.push("b", "app:k", 0);
        queue.push("b", "k", 0);
        queue.push("c", "user:k", 0);
        assert_eq!(queue.next(), [4], "b's first holds up b's second, as they keep their order");
        assert_eq!(queue.blocked, [key("b")]);
    }
}
