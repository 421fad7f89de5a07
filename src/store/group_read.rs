//! Reads that share a statement.
//!
//! While the database is quick, a few statements are under way at once, and what arrives meanwhile forms the next one: a
//! read that comes alone goes alone, at once. Where it is slow, be it for the disk or the distance, more of them go side by
//! side, as if they did not share.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::{Cause, SessionQuery, SessionView, StoreError};

/// Statements under way at once, while they are quick: as many as this machine has processors, taken for the database's
/// too, and this many at least. With more, all of them take longer, and the slowest much longer.
const FEW: usize = 2;
/// The most reads that share one.
const MOST: usize = 16;
/// The time from which on the last one is not quick.
const LONG: Duration = Duration::from_millis(10);
/// The least time that a shared statement is given, or one read whose time is nearly up would take others down with it.
const LEAST_TIME: Duration = Duration::from_millis(500);

type Result<T> = std::result::Result<T, StoreError>;

#[derive(Default)]
pub struct GroupRead {
    queue: Mutex<Queue>,
}

struct Queue {
    waiting: VecDeque<Waiting>,
    under_way: usize,
    /// When the last statement began.
    begun: Instant,
    few: usize,
    long: Duration,
}

impl Default for Queue {
    fn default() -> Self {
        let few = available_parallelism().map_or(FEW, |processors| processors.get().max(FEW));
        Self { waiting: VecDeque::new(), under_way: 0, begun: Instant::now(), few, long: LONG }
    }
}

struct Waiting {
    query: SessionQuery,
    turn: oneshot::Sender<Turn>,
}

enum Turn {
    /// Somebody else has read it.
    Answer(Result<Option<SessionView>>),
    /// It is to be read now, along with what others wait for.
    Lead(Lead),
}

/// The right to run a statement. Dropping it, be it unused, gives it to the next who wait.
struct Lead {
    group: Arc<GroupRead>,
    others: Vec<Waiting>,
}

impl GroupRead {
    /// Reads a session, together with others if there are any: `read` reads them all, in their order.
    ///
    /// # Errors
    /// Those of `read`, also of somebody else's; `Overloaded` if its turn did not come until the deadline.
    pub async fn read(
        self: &Arc<Self>,
        query: &SessionQuery,
        deadline: Instant,
        read: impl AsyncFnOnce(&[&SessionQuery], Instant) -> Result<Vec<Option<SessionView>>>,
    ) -> Result<Option<SessionView>> {
        let mut lead = match self.enter(query) {
            Ok(lead) => lead,
            Err(turn) => match timeout_at(deadline, turn).await {
                Ok(Ok(Turn::Answer(answer))) => return answer,
                Ok(Ok(Turn::Lead(lead))) => lead,
                Ok(Err(_)) => return Err(StoreError::new(Cause::Internal, "a shared read was abandoned")),
                Err(_) => {
                    return Err(StoreError::new(
                        Cause::Overloaded,
                        "the read did not get its turn within the time limit",
                    ));
                }
            },
        };
        let queries: Vec<&SessionQuery> =
            std::iter::once(query).chain(lead.others.iter().map(|other| &other.query)).collect();
        let deadline = if queries.len() == 1 { deadline } else { deadline.max(Instant::now() + LEAST_TIME) };
        let answers = read(&queries, deadline).await;
        let others = mem::take(&mut lead.others);
        // The next statement need not wait until these are answered.
        drop(lead);
        let mut answers = answers.map(Vec::into_iter);
        let mut next = || match &mut answers {
            Ok(views) => Ok(views.next().flatten()),
            Err(error) => Err(error.share()),
        };
        let own = next();
        for other in others {
            // Whoever does not listen any more has run out of time.
            let _ = other.turn.send(Turn::Answer(next()));
        }
        own
    }

    /// The right to read at once, or else what to wait for.
    fn enter(self: &Arc<Self>, query: &SessionQuery) -> std::result::Result<Lead, oneshot::Receiver<Turn>> {
        let mut queue = self.queue();
        if queue.may_begin() {
            let others = queue.take(MOST - 1);
            queue.begin();
            return Ok(Lead { group: self.clone(), others });
        }
        let (turn, turned) = oneshot::channel();
        queue.waiting.push_back(Waiting { query: query.clone(), turn });
        Err(turned)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn may_begin(&self) -> bool {
        self.under_way < self.few || self.begun.elapsed() > self.long
    }

    fn begin(&mut self) {
        self.under_way += 1;
        self.begun = Instant::now();
    }

    /// Those who have waited longest, and still do.
    fn take(&mut self, most: usize) -> Vec<Waiting> {
        let mut taken = Vec::new();
        while taken.len() < most
            && let Some(waiting) = self.waiting.pop_front()
        {
            if !waiting.turn.is_closed() {
                taken.push(waiting);
            }
        }
        taken
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        let mut queue = self.group.queue();
        queue.under_way -= 1;
        let mut next = queue.take(MOST);
        if next.is_empty() {
            return;
        }
        queue.begin();
        drop(queue);
        let first = next.remove(0);
        // Of one who has just stopped to wait, the lead comes back, and is dropped.
        let _ = first.turn.send(Turn::Lead(Lead { group: self.group.clone(), others: next }));
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;
    use tokio::task::JoinHandle;

    use super::*;
    use crate::domain::ids::{AppName, SessionId, SessionKey, UserId, UserKey};
    use crate::domain::time::Micros;

    const NEVER: Duration = Duration::MAX;

    fn query(session: &str) -> SessionQuery {
        let user = UserKey { app: AppName::parse("app").unwrap(), user: UserId::parse("user").unwrap() };
        let key = SessionKey { user, session: SessionId::parse(session).unwrap() };
        SessionQuery { key, now: Micros(0), incarnation: None, state: None, events: None }
    }

    /// A database whose statements wait to be let go, and that keeps which sessions each was of.
    struct Slow {
        group: Arc<GroupRead>,
        go: Semaphore,
        statements: Mutex<Vec<String>>,
        fail: bool,
    }

    impl Slow {
        fn new(long: Duration, fail: bool) -> Arc<Self> {
            let group = Arc::new(GroupRead::default());
            *group.queue() = Queue { few: 2, long, ..Queue::default() };
            Arc::new(Self { group, go: Semaphore::new(0), statements: Mutex::default(), fail })
        }

        /// Begins to read a session, as far as it gets at once.
        async fn read(self: &Arc<Self>, session: &'static str) -> JoinHandle<Result<Option<SessionView>>> {
            let slow = self.clone();
            let task = tokio::spawn(async move {
                let deadline = Instant::now() + Duration::from_secs(60);
                let read = async |queries: &[&SessionQuery], _| {
                    let names: Vec<&str> = queries.iter().map(|query| query.key.session.as_str()).collect();
                    slow.statements.lock().unwrap().push(names.join(" "));
                    slow.go.acquire().await.unwrap().forget();
                    match slow.fail {
                        true => Err(StoreError::new(Cause::ConnectionLost, "gone")),
                        false => Ok(queries.iter().map(|_| None).collect()),
                    }
                };
                slow.group.read(&query(session), deadline, read).await
            });
            tokio::task::yield_now().await;
            task
        }

        fn statements(&self) -> Vec<String> {
            self.statements.lock().unwrap().clone()
        }
    }

    #[tokio::test]
    async fn what_arrives_meanwhile_is_read_together() {
        let slow = Slow::new(NEVER, false);
        let mut tasks = Vec::new();
        for session in ["a", "b", "c", "d", "e"] {
            tasks.push(slow.read(session).await);
        }
        assert_eq!(slow.statements(), ["a", "b"]);
        slow.go.add_permits(3);
        for task in tasks {
            assert!(task.await.unwrap().unwrap().is_none());
        }
        assert_eq!(slow.statements(), ["a", "b", "c d e"]);
        assert_eq!(slow.group.queue().under_way, 0);
    }

    #[tokio::test]
    async fn a_slow_database_is_asked_side_by_side() {
        let slow = Slow::new(NEVER, false);
        let mut tasks = vec![slow.read("a").await, slow.read("b").await, slow.read("c").await];
        slow.group.queue().long = Duration::ZERO;
        tasks.push(slow.read("d").await);
        assert_eq!(slow.statements(), ["a", "b", "d c"]);
        slow.go.add_permits(3);
        for task in tasks {
            task.await.unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn who_gives_up_holds_up_nobody() {
        let slow = Slow::new(NEVER, false);
        let (a, b) = (slow.read("a").await, slow.read("b").await);
        let (c, d) = (slow.read("c").await, slow.read("d").await);
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
        let mut tasks = Vec::new();
        for session in ["a", "b", "c", "d"] {
            tasks.push(slow.read(session).await);
        }
        slow.go.add_permits(3);
        for task in tasks {
            assert_eq!(task.await.unwrap().unwrap_err().cause, Cause::ConnectionLost);
        }
    }
}
