//! Coalesced calls: reads that share a statement, creations that share a transaction. (Appends have an order to keep, and
//! so a mechanism of their own: [`appends`](super::appends).)
//!
//! While the database is quick, only a few calls run at once, and calls that arrive meanwhile form the next group. A call
//! that arrives alone starts alone, at once. Where the database is slow, because of its disk or its distance, more groups
//! run side by side, to hide the latency. Where what shares a transaction is of one app, so is a group.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};

use crate::domain::ids::AppName;
use crate::store::error::{Cause, Result, StoreError};
use crate::store::run::deadline::Deadline;

/// How many groups run at once while they are quick: the number of this machine's processors (as an estimate of the
/// database's), and at least this many. With more, all of them take longer, and the slowest much longer.
const FEW: usize = 2;
/// The most calls in one group.
const MOST: usize = 16;
/// A group that has run for longer is slow.
const LONG: Duration = Duration::from_millis(10);

pub struct Calls<Q, A> {
    queue: Mutex<Queue<Q, A>>,
}

/// The app of a call.
type App<Q> = fn(&Q) -> &AppName;

struct Queue<Q, A> {
    /// Where a group is of one app.
    app: Option<App<Q>>,
    waiting: VecDeque<Waiting<Q, A>>,
    under_way: usize,
    /// When the last group began.
    begun: Instant,
    few: usize,
    long: Duration,
    tickets: u64,
}

impl<Q, A> Queue<Q, A> {
    fn new(app: Option<App<Q>>) -> Self {
        let few = available_parallelism().map_or(FEW, |processors| processors.get().max(FEW));
        Self { app, waiting: VecDeque::new(), under_way: 0, begun: Instant::now(), few, long: LONG, tickets: 0 }
    }
}

struct Waiting<Q, A> {
    ticket: u64,
    query: Q,
    turn: oneshot::Sender<Turn<Q, A>>,
}

/// A place in the queue: its ticket, and where its turn is told.
type Queued<Q, A> = (u64, oneshot::Receiver<Turn<Q, A>>);

enum Turn<Q, A> {
    /// Another call asked it, with this result.
    Answer(Result<A>),
    /// This call leads the next group.
    Lead(Lead<Q, A>),
}

/// The right to run a group. Dropping it, used or not, passes it on to the calls that wait.
struct Lead<Q, A> {
    calls: Arc<Calls<Q, A>>,
    others: Vec<Waiting<Q, A>>,
    /// After this time the group is slow.
    long: Duration,
}

impl<Q: Clone, A> Calls<Q, A> {
    /// With `app`, a group is of one app.
    pub fn new(app: Option<App<Q>>) -> Arc<Self> {
        Arc::new(Self { queue: Mutex::new(Queue::new(app)) })
    }

    /// Asks `query`, together with other waiting calls: `ask` asks them all, and answers in their order.
    ///
    /// # Errors
    /// Those of `ask`, also if another call led the group. `Overloaded` if its turn did not come before the deadline;
    /// `Timeout`, with an unclear outcome, if the group was still running then.
    pub async fn ask(
        self: &Arc<Self>,
        query: &Q,
        deadline: Deadline,
        ask: impl AsyncFnOnce(&[&Q], Deadline) -> Result<Vec<A>>,
    ) -> Result<A> {
        let mut lead = match self.enter(query) {
            Ok(lead) => lead,
            Err((ticket, turn)) => match timeout_at(deadline.at(), turn).await {
                Ok(Ok(Turn::Answer(answer))) => return answer,
                Ok(Ok(Turn::Lead(lead))) => lead,
                Ok(Err(_)) => {
                    return Err(StoreError::new(Cause::Internal, "a shared call was abandoned").in_commit());
                }
                Err(_) if self.withdraw(ticket) => {
                    return Err(StoreError::new(
                        Cause::Overloaded,
                        "the call did not get its turn within the time limit",
                    ));
                }
                Err(_) => {
                    return Err(
                        StoreError::new(Cause::Timeout, "a shared call took longer than this one may").in_commit()
                    );
                }
            },
        };
        let queries: Vec<&Q> = std::iter::once(query).chain(lead.others.iter().map(|other| &other.query)).collect();
        let answers = {
            let asking = ask(&queries, deadline.for_group(queries.len()));
            tokio::pin!(asking);
            match timeout(lead.long, &mut asking).await {
                Ok(answers) => answers,
                Err(_) => {
                    lead.begin_beside();
                    asking.await
                }
            }
        };
        let others = mem::take(&mut lead.others);
        // The next need not wait until these are answered.
        drop(lead);
        let mut answers = answers.map(Vec::into_iter);
        let mut next = || match &mut answers {
            Ok(answers) => {
                answers.next().ok_or_else(|| StoreError::new(Cause::Internal, "a shared call was not answered"))
            }
            Err(error) => Err(error.share()),
        };
        let own = next();
        for other in others {
            // Whoever does not listen any more has run out of time.
            let _ = other.turn.send(Turn::Answer(next()));
        }
        own
    }

    /// The right to run a group, or else a place in the queue.
    fn enter(self: &Arc<Self>, query: &Q) -> Result<Lead<Q, A>, Queued<Q, A>> {
        let mut queue = self.queue();
        if queue.may_begin() {
            let others = queue.take(Some(query));
            queue.begin();
            return Ok(Lead { calls: self.clone(), others, long: queue.long });
        }
        let (turn, turned) = oneshot::channel();
        queue.tickets += 1;
        let ticket = queue.tickets;
        queue.waiting.push_back(Waiting { ticket, query: query.clone(), turn });
        Err((ticket, turned))
    }

    /// Removes a call from the queue, unless it runs already; whether it was there.
    fn withdraw(&self, ticket: u64) -> bool {
        let mut queue = self.queue();
        let at = queue.waiting.iter().position(|waiting| waiting.ticket == ticket);
        at.and_then(|at| queue.waiting.remove(at)).is_some()
    }
}

impl<Q, A> Calls<Q, A> {
    fn queue(&self) -> MutexGuard<'_, Queue<Q, A>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a group of calls that wait, if there are any.
    fn begin_next(self: &Arc<Self>, mut queue: MutexGuard<'_, Queue<Q, A>>) {
        let mut next = queue.take(None);
        if next.is_empty() {
            return;
        }
        queue.begin();
        let long = queue.long;
        drop(queue);
        let first = next.remove(0);
        // If its caller has just been cancelled, the send fails and drops the `Lead`, which passes the lead on.
        let _ = first.turn.send(Turn::Lead(Lead { calls: self.clone(), others: next, long }));
    }
}

impl<Q, A> Queue<Q, A> {
    fn may_begin(&self) -> bool {
        self.under_way < self.few || self.begun.elapsed() > self.long
    }

    fn begin(&mut self) {
        self.under_way += 1;
        self.begun = Instant::now();
    }

    /// The calls that have waited longest and still wait: a group with `first`, or of their own.
    fn take(&mut self, first: Option<&Q>) -> Vec<Waiting<Q, A>> {
        let most = MOST - usize::from(first.is_some());
        let (mut taken, mut at): (Vec<Waiting<Q, A>>, _) = (Vec::new(), 0);
        while taken.len() < most
            && let Some(waiting) = self.waiting.get(at)
        {
            let fits = match (self.app, first.or_else(|| Some(&taken.first()?.query))) {
                (Some(app), Some(first)) => app(first) == app(&waiting.query),
                _ => true,
            };
            let is_closed = waiting.turn.is_closed();
            if fits || is_closed {
                taken.extend(self.waiting.remove(at).filter(|_| !is_closed));
            } else {
                at += 1;
            }
        }
        taken
    }
}

impl<Q, A> Lead<Q, A> {
    /// The group is slow: the calls that wait need not wait for it.
    fn begin_beside(&self) {
        let queue = self.calls.queue();
        if queue.may_begin() {
            self.calls.begin_next(queue);
        }
    }
}

impl<Q, A> Drop for Lead<Q, A> {
    fn drop(&mut self) {
        let mut queue = self.calls.queue();
        queue.under_way -= 1;
        // Of a lead that came to nothing, those who would have gone with it come first.
        for other in self.others.drain(..).rev() {
            queue.waiting.push_front(other);
        }
        self.calls.begin_next(queue);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use tokio::sync::Semaphore;
    use tokio::task::JoinHandle;

    use super::*;
    use crate::store::limits::StoreLimits;

    const NEVER: Duration = Duration::MAX;

    /// A database whose statements wait to be let go, and that keeps what each was about.
    struct Slow {
        calls: Arc<Calls<String, String>>,
        go: Semaphore,
        statements: Mutex<Vec<String>>,
        fail: bool,
    }

    impl Slow {
        fn new(long: Duration, fail: bool) -> Arc<Self> {
            Self::of(None, long, fail)
        }

        fn of(app: Option<App<String>>, long: Duration, fail: bool) -> Arc<Self> {
            let calls = Calls::new(app);
            *calls.queue() = Queue { few: 2, long, ..Queue::new(app) };
            Arc::new(Self { calls, go: Semaphore::new(0), statements: Mutex::default(), fail })
        }

        /// Begins to ask, as far as it gets at once.
        async fn ask(self: &Arc<Self>, name: &'static str) -> JoinHandle<Result<String>> {
            self.ask_within(Duration::from_secs(60), name).await
        }

        async fn ask_within(self: &Arc<Self>, limit: Duration, name: &'static str) -> JoinHandle<Result<String>> {
            let slow = self.clone();
            let task = tokio::spawn(async move {
                let deadline = Deadline::new(Instant::now() + limit, &StoreLimits::default(), None);
                let ask = async |names: &[&String], _| {
                    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
                    slow.statements.lock().unwrap().push(names.join(" "));
                    slow.go.acquire().await.unwrap().forget();
                    match slow.fail {
                        true => Err(StoreError::new(Cause::ConnectionLost, "gone")),
                        false => Ok(names.iter().map(|name| name.to_uppercase()).collect()),
                    }
                };
                slow.calls.ask(&name.to_owned(), deadline, ask).await
            });
            tokio::task::yield_now().await;
            task
        }

        async fn ask_all<const N: usize>(
            self: &Arc<Self>,
            names: [&'static str; N],
        ) -> Vec<JoinHandle<Result<String>>> {
            let mut tasks = Vec::new();
            for name in names {
                tasks.push(self.ask(name).await);
            }
            tasks
        }

        fn statements(&self) -> Vec<String> {
            self.statements.lock().unwrap().clone()
        }
    }

    async fn all_answered(tasks: Vec<JoinHandle<Result<String>>>) {
        for task in tasks {
            task.await.unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn what_arrives_meanwhile_is_asked_together() {
        let slow = Slow::new(NEVER, false);
        let tasks = slow.ask_all(["a", "b", "c", "d", "e"]).await;
        assert_eq!(slow.statements(), ["a", "b"]);
        slow.go.add_permits(3);
        for (task, answer) in tasks.into_iter().zip(["A", "B", "C", "D", "E"]) {
            assert_eq!(task.await.unwrap().unwrap(), answer);
        }
        assert_eq!(slow.statements(), ["a", "b", "c d e"]);
        assert_eq!(slow.calls.queue().under_way, 0);
    }

    #[tokio::test]
    async fn a_slow_database_is_asked_side_by_side() {
        let slow = Slow::new(NEVER, false);
        let mut tasks = slow.ask_all(["a", "b", "c"]).await;
        slow.calls.queue().long = Duration::ZERO;
        tasks.push(slow.ask("d").await);
        assert_eq!(slow.statements(), ["a", "b", "d c"]);
        slow.go.add_permits(3);
        all_answered(tasks).await;
    }

    #[tokio::test]
    async fn a_group_is_of_one_app() {
        static APPS: LazyLock<[AppName; 2]> = LazyLock::new(|| ["x", "y"].map(|app| AppName::parse(app).unwrap()));
        let slow = Slow::of(Some(|name| &APPS[usize::from(name.starts_with('y'))]), NEVER, false);
        let tasks = slow.ask_all(["x1", "y1", "x2", "y2", "x3"]).await;
        slow.go.add_permits(4);
        all_answered(tasks).await;
        assert_eq!(slow.statements(), ["x1", "y1", "x2 x3", "y2"]);
    }

    #[tokio::test]
    async fn whoever_waits_for_a_slow_group_begins_beside_it() {
        let slow = Slow::new(Duration::from_millis(10), false);
        let tasks = slow.ask_all(["a", "b", "c"]).await;
        while slow.statements().len() < 3 {
            tokio::task::yield_now().await;
        }
        slow.go.add_permits(3);
        all_answered(tasks).await;
    }

    #[tokio::test]
    async fn who_gives_up_holds_up_nobody() {
        let slow = Slow::new(NEVER, false);
        let (a, b) = (slow.ask("a").await, slow.ask("b").await);
        let (c, d) = (slow.ask("c").await, slow.ask("d").await);
        c.abort();
        // One who is under way, too: the next get its turn.
        a.abort();
        tokio::task::yield_now().await;
        slow.go.add_permits(2);
        d.await.unwrap().unwrap();
        b.await.unwrap().unwrap();
        assert_eq!(slow.statements(), ["a", "b", "d"]);
    }

    #[tokio::test]
    async fn a_failure_is_everybody_s() {
        let slow = Slow::new(NEVER, true);
        let tasks = slow.ask_all(["a", "b", "c", "d"]).await;
        slow.go.add_permits(3);
        for task in tasks {
            assert_eq!(task.await.unwrap().unwrap_err().cause, Cause::ConnectionLost);
        }
    }

    #[tokio::test]
    async fn who_runs_out_of_time_knows_whether_it_was_asked() {
        let slow = Slow::new(NEVER, false);
        let others = slow.ask_all(["a", "b", "c"]).await;
        let asked = slow.ask_within(Duration::from_millis(50), "d").await;
        slow.go.add_permits(1);
        while slow.statements().len() < 3 {
            tokio::task::yield_now().await;
        }
        let waiting = slow.ask_within(Duration::from_millis(1), "e").await;
        let error = waiting.await.unwrap().unwrap_err();
        assert_eq!((error.cause, error.unclear), (Cause::Overloaded, false));
        let error = asked.await.unwrap().unwrap_err();
        assert_eq!((error.cause, error.unclear), (Cause::Timeout, true));
        slow.go.add_permits(2);
        all_answered(others).await;
        assert_eq!(slow.statements(), ["a", "b", "c d"]);
    }
}
