//! Replicas with wrong clocks. On PostgreSQL only the database's clock decides whether a session has expired.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use serde_json::json;
use sessiond::domain::Limits;
use sessiond::domain::access::Names;
use sessiond::domain::event::EventDraft;
use sessiond::domain::ids::{AppName, EventId, SessionId, SessionKey, UserId, UserKey};
use sessiond::domain::json::Json;
use sessiond::domain::lease::{LeaseDraft, LeaseMark, LeaseRefusal};
use sessiond::domain::policy::{Policy, PolicyWrite};
use sessiond::domain::query::{EventQuery, ListQuery, OrderBy, StateFilter, StatePart};
use sessiond::domain::rewind::RewindTarget;
use sessiond::domain::session::{IfExists, MetadataPatch, SessionDraft};
use sessiond::domain::shown::Shown;
use sessiond::domain::time::Micros;
use sessiond::metrics::Metrics;
use sessiond::service::{Answered, Clock, Error, Guard, Service, SystemClock, Taken};
use sessiond::store::limits::PostgresOptions;
use sessiond::store::limits::StoreLimits;
use sessiond::store::open;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use crate::support::binary::Server;
use crate::support::client::PATIENCE;
use crate::support::databases::{Place, on_both_databases, verify};
use crate::support::postgres::{Database, database};

const HOUR: i64 = 3_600_000_000;

/// The machine's clock, wrong by so many microseconds.
struct Wrong(AtomicI64);

impl Clock for Wrong {
    fn now(&self) -> Micros {
        SystemClock.now().plus(self.0.load(Relaxed))
    }

    fn fresh_id(&self) -> Uuid {
        SystemClock.fresh_id()
    }

    fn incarnation(&self) -> i64 {
        SystemClock.incarnation()
    }

    fn jitter(&self, limit: Duration) -> Duration {
        SystemClock.jitter(limit)
    }
}

/// A replica, but for its HTTP.
struct Replica {
    service: Arc<Service>,
    clock: Arc<Wrong>,
    metrics: Arc<Metrics>,
}

type Result<T> = std::result::Result<T, Error>;

impl Replica {
    async fn start(database: &Database, wrong_by: i64) -> Self {
        Self::over(&database.url, wrong_by).await
    }

    async fn over(url: &str, wrong_by: i64) -> Self {
        let store = open::database(url, PostgresOptions::default(), StoreLimits::default()).await.unwrap();
        store.migrate().await.unwrap();
        let (metrics, clock) = (Arc::new(Metrics::new()), Arc::new(Wrong(wrong_by.into())));
        let service = Service::new(store, clock.clone(), Limits::default(), metrics.clone());
        Self { service: Arc::new(service), clock, metrics }
    }

    /// The expiry of the session that was made.
    async fn create(&self, id: &str, body: &str) -> Result<Option<Micros>> {
        let draft = SessionDraft::parse(Json::parse(body.as_bytes(), 64).unwrap(), false, &Limits::default()).unwrap();
        let draft = SessionDraft { session_id: Some(SessionId::parse(id).unwrap()), ..draft };
        let created = self.service.create_session(user(), draft, None, IfExists::Refuse, Shown::Full, deadline()).await;
        created.map(|(_, view)| view.head.expire_time)
    }

    async fn append(&self, id: &str) -> Result<i64> {
        Ok(self.append_event(id, "{}").await?.0)
    }

    /// The sequence of the event, and when it was committed as the answer says.
    async fn append_event(&self, id: &str, event: &str) -> Result<(i64, Micros)> {
        let event =
            EventDraft::parse(Json::parse(event.as_bytes(), 64).unwrap(), "", None, &Limits::default()).unwrap();
        let appended =
            self.service.append(key(id), vec![event], Guard::default(), false, Shown::Full, deadline()).await?;
        let [Answered::Stored { event, .. }] = &appended.events[..] else { panic!("{appended:?}") };
        Ok((event.sequence, event.commit_time))
    }

    /// When the session was created, was updated last, and when each of its events was committed, as reads say.
    async fn times(&self, id: &str) -> (Micros, Micros, Vec<Micros>) {
        let query = Some(EventQuery::all());
        let view = self.service.session(key(id), None, query, deadline()).await.unwrap();
        let committed = view.events.events.iter().map(|event| event.commit_time).collect();
        (view.head.create_time, view.head.update_time.micros, committed)
    }

    /// Sweeps until whoever is asked says that it was enough.
    async fn sweep_until(&self, what: &str, is_so: impl AsyncFnMut() -> bool) {
        let sweeping = self.service.clone();
        let sweeping = tokio::spawn(async move { sweeping.sweep_forever(Duration::from_millis(10), PATIENCE).await });
        until(what, is_so).await;
        sweeping.abort();
    }

    async fn patch(&self, id: &str, body: &str) -> Result<Option<Micros>> {
        let patch = MetadataPatch::parse(Json::parse(body.as_bytes(), 64).unwrap()).unwrap();
        let view = self.service.update_metadata(key(id), patch, Guard::default(), Shown::Full, deadline()).await?;
        Ok(view.head.expire_time)
    }

    async fn listed(&self, order_by: OrderBy) -> Vec<String> {
        let query = ListQuery {
            app: user().app,
            user: None,
            users: Names::all(),
            order_by,
            descending: false,
            labels: Vec::new(),
            user_range: None,
            id_range: None,
            forked_from: None,
            after: None,
            with_state: false,
            max_rows: 100,
            max_bytes: 1 << 20,
        };
        let page = self.service.list_sessions(query, deadline()).await.unwrap();
        page.items.iter().map(|view| view.head.key.session.as_str().to_owned()).collect()
    }

    /// Whether the session is there, for everything that may be asked of it; all agree.
    async fn shows(&self, id: &str) -> bool {
        let (service, key) = (&self.service, key(id));
        let whole = service.session(key.clone(), Some(StateFilter::default()), None, deadline()).await.map(drop);
        let event = service.event(&key, &EventId::parse("e").unwrap(), deadline()).await.map(drop);
        let value = service.value(&key, "k", deadline()).await.map(drop);
        let then =
            service.state_at(key.clone(), 0, StatePart::Keys(StateFilter::default()), deadline()).await.map(drop);
        let fork = service.fork(key.clone(), None, None, None, Shown::Full, deadline()).await;
        let forked = fork.as_ref().ok().map(|(_, view)| view.head.key.clone());
        let metadata = self.patch(id, r#"{"displayName":"n"}"#).await.map(drop);
        let append = self.append(id).await.map(drop);
        let target = RewindTarget::Revision(0);
        let rewind =
            service.rewind(key.clone(), target, None, Guard::default(), Shown::Full, deadline()).await.map(drop);
        let mut found: Vec<bool> = [whole, event, value, then, fork.map(drop), metadata, append, rewind]
            .into_iter()
            .map(|answer| match answer {
                Ok(()) => true,
                Err(Error::SessionNotFound) => false,
                Err(other) => panic!("{other:?}"),
            })
            .collect();
        if let Some(fork) = forked {
            service.delete_session(fork, Guard::default(), deadline()).await.unwrap();
        }
        for order_by in [OrderBy::CreateTime, OrderBy::LastUpdateTime] {
            found.push(self.listed(order_by).await.iter().any(|listed| listed == id));
        }
        assert!(found.iter().all(|there| *there == found[0]), "{found:?}");
        found[0]
    }
}

fn user() -> UserKey {
    UserKey { app: AppName::parse("a").unwrap(), user: UserId::parse("u").unwrap() }
}

fn key(id: &str) -> SessionKey {
    SessionKey { user: user(), session: SessionId::parse(id).unwrap() }
}

fn deadline() -> Instant {
    Instant::now() + PATIENCE
}

/// A session for `shows`, which lives as long as `expiry` says.
fn body(expiry: &str) -> String {
    format!(r#"{{"state":{{"k":1}},"events":[{{"id":"e"}}],{expiry}}}"#)
}

async fn execute(database: &Database, sql: &str) -> i64 {
    let mut connection = PgConnection::connect(&database.url).await.unwrap();
    sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut connection).await.unwrap()
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_whose_clock_is_ahead_ends_no_session() {
    let database = database().await;
    let (right, wrong) = (Replica::start(&database, 0).await, Replica::start(&database, 2 * HOUR).await);
    right.create("s", &body(r#""ttl":3600"#)).await.unwrap();
    right.create("gone", &body(r#""ttl":3600"#)).await.unwrap();
    assert!(wrong.shows("s").await);
    // The wrong one remembers it now, and goes on appending.
    let revision = right.append("s").await.unwrap();
    assert_eq!(wrong.append("s").await.unwrap(), revision + 1);
    assert!(matches!(wrong.create("s", &body(r#""ttl":1"#)).await, Err(Error::SessionAlreadyExists)));

    right.service.delete_session(key("gone"), Guard::default(), deadline()).await.unwrap();
    let sweeping = wrong.service.clone();
    let sweeping = tokio::spawn(async move { sweeping.sweep_forever(Duration::from_millis(10), PATIENCE).await });
    until("it sees how wrong its clock is", async || wrong.metrics.encode().contains("sessiond_clock_skew_seconds -7"))
        .await;
    // What was deleted has nothing to do with clocks.
    let left =
        "select (select count(*) from buried_sessions) + (select count(*) from events where session_id = 'gone')";
    until("the deleted session is removed", async || execute(&database, left).await == 0).await;
    execute(&database, "update sessions set expire_time = 1 where id = 's' returning incarnation").await;
    assert!(!right.shows("s").await);
    right.service.delete_session(key("none"), Guard::default(), deadline()).await.unwrap();
    sleep(Duration::from_millis(200)).await;
    assert_eq!(execute(&database, "select count(*) from sessions where id = 's'").await, 1, "it leaves that to others");
    sweeping.abort();

    let sweeping = right.service.clone();
    let sweeping = tokio::spawn(async move { sweeping.sweep_forever(Duration::from_millis(10), PATIENCE).await });
    until("another one removes it", async || execute(&database, "select count(*) from sessions").await == 0).await;
    sweeping.abort();
    verify(&database.url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_whose_clock_is_behind_shows_no_expired_session() {
    let database = database().await;
    let (right, wrong) = (Replica::start(&database, 0).await, Replica::start(&database, -2 * HOUR).await);
    right.create("s", &body(r#""ttl":3600"#)).await.unwrap();
    assert!(wrong.shows("s").await);
    let revision = wrong.append("s").await.unwrap();
    let expire = "update sessions set expire_time = (extract(epoch from clock_timestamp()) * 1000000)::bigint - 1 \
                  where id = 's' returning incarnation";
    let incarnation = execute(&database, expire).await;
    // It remembers the session as it was: live, and at this revision.
    assert!(matches!(wrong.append("s").await, Err(Error::SessionNotFound)));
    assert!(!wrong.shows("s").await);
    assert_eq!(execute(&database, "select revision from sessions where id = 's'").await, revision);
    wrong.create("s", &body(r#""ttl":3600"#)).await.unwrap();
    assert_ne!(execute(&database, "select incarnation from sessions where id = 's'").await, incarnation);
    assert!(right.shows("s").await && wrong.shows("s").await);
    verify(&database.url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_to_live_counts_from_what_the_database_takes_for_now() {
    let database = database().await;
    for wrong_by in [0, 2 * HOUR, -2 * HOUR, 3_000_000, -3_000_000] {
        let replica = Replica::start(&database, wrong_by).await;
        for (n, made) in ["created", "patched"].into_iter().enumerate() {
            let id = format!("{made}{wrong_by}");
            let before = SystemClock.now();
            let expires = match n {
                0 => replica.create(&id, &body(r#""ttl":600"#)).await.unwrap(),
                _ => {
                    replica.create(&id, "{}").await.unwrap();
                    replica.patch(&id, r#"{"ttl":"600s"}"#).await.unwrap()
                }
            };
            let (expires, after) = (expires.unwrap(), SystemClock.now());
            let range = before.plus(600_000_000)..=after.plus(600_000_000);
            assert!(range.contains(&expires), "{id}: {before:?} {expires:?}");
        }
        // A time is a time, whoever is told it.
        let given = replica.create(&format!("given{wrong_by}"), &body(r#""expireTime":4102444800"#)).await.unwrap();
        assert_eq!(given, Some(Micros(4_102_444_800_000_000)));
    }
    verify(&database.url).await;
}

/// Whoever judges how old something is relies on these times.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_whose_clock_is_wrong_writes_no_wrong_times() {
    let database = database().await;
    for wrong_by in [-48 * HOUR, 48 * HOUR, -3_000_000] {
        let (right, wrong) = (Replica::start(&database, 0).await, Replica::start(&database, wrong_by).await);
        let before = SystemClock.now();
        let given = r#"{"timestamp":5,"id":"given"}"#;
        wrong.create("empty", "{}").await.unwrap();
        wrong.create("s", &format!(r#"{{"state":{{"k":1,"user:k":1}},"events":[{given}]}}"#)).await.unwrap();
        let at_creation = wrong.times("s").await;
        let mut answered = Vec::new();
        for n in 0..4 {
            let replica = if n % 2 == 0 { &wrong } else { &right };
            answered
                .push(replica.append_event("s", r#"{"actions":{"stateDelta":{"user:k":2,"app:k":1}}}"#).await.unwrap());
        }
        let fork = SessionId::parse("fork").unwrap();
        wrong.service.fork(key("s"), Some(0), Some(fork), None, Shown::Full, deadline()).await.unwrap();
        let after = SystemClock.now();

        let (created, _, committed) = right.times("s").await;
        assert_eq!((created, &committed[..1]), (at_creation.0, &at_creation.2[..]));
        assert_eq!(committed[1..], answered.iter().map(|(_, time)| *time).collect::<Vec<_>>(), "as answered");
        assert!(committed.is_sorted() && created <= committed[0], "{created:?} {committed:?}");
        let (begun, seen, none) = right.times("empty").await;
        assert!(none.is_empty() && begun == seen, "{begun:?} {seen:?}");
        let (forked, forked_update, _) = right.times("fork").await;
        assert_eq!(forked, forked_update);
        for time in [created, begun, forked].iter().chain(&committed) {
            assert!((before..=after).contains(time), "{wrong_by}: {before:?} {time:?} {after:?}");
        }
        for id in ["s", "empty", "fork"] {
            right.service.delete_session(key(id), Guard::default(), deadline()).await.unwrap();
        }
    }
    verify(&database.url).await;
}

/// What was made seconds ago is not two days old, whoever made it.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_whose_clock_is_behind_loses_nothing_to_a_policy() {
    let database = database().await;
    let (right, wrong) = (Replica::start(&database, 0).await, Replica::start(&database, -48 * HOUR).await);
    let policy =
        r#"{"sessions":{"maxAge":"1d","idleTtl":"1d"},"events":{"maxAge":"1d"},"sharedHistory":{"maxAge":"1d"}}"#;
    let policy = Policy::parse(Json::parse(policy.as_bytes(), 64).unwrap()).unwrap();
    let write = PolicyWrite { app: user().app, policy: Some(policy), if_match: None, if_absent: false };
    right.service.set_policy(write, deadline()).await.unwrap();
    for replica in [&wrong, &right] {
        for id in ["old", "s"] {
            let id = if Arc::ptr_eq(&replica.service, &right.service) { format!("{id}-right") } else { id.to_owned() };
            replica.create(&id, "{}").await.unwrap();
            for n in 0..3 {
                let delta = format!(r#"{{"actions":{{"stateDelta":{{"user:k":{n}}}}}}}"#);
                replica.append_event(&id, &delta).await.unwrap();
            }
        }
    }
    // Only what really is old goes.
    let age = format!(
        "update sessions set create_time = create_time - {}, active_day = active_day - 2 where id = 'old' returning revision",
        48 * HOUR
    );
    execute(&database, &age).await;
    let gone = async || execute(&database, "select count(*) from sessions where id = 'old'").await == 0;
    right.sweep_until("the old one is gone", gone).await;
    // Another round after that one.
    execute(&database, &format!("update sessions set create_time = create_time - {}, active_day = active_day - 2 where id = 'old-right' returning revision", 48 * HOUR)).await;
    let gone = async || execute(&database, "select count(*) from sessions where id = 'old-right'").await == 0;
    right.sweep_until("and the other", gone).await;
    for id in ["s", "s-right"] {
        let (.., committed) = right.times(id).await;
        assert_eq!(committed.len(), 3, "{id}");
        right.service.state_at(key(id), 1, StatePart::Keys(StateFilter::default()), deadline()).await.unwrap();
    }
    verify(&database.url).await;
}

/// Of an append that waits, it is the time after that.
#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_committed_when_its_session_is_locked() {
    let database = database().await;
    let replica = Replica::start(&database, 0).await;
    replica.create("s", "{}").await.unwrap();
    let mut lock = PgConnection::connect(&database.url).await.unwrap();
    sqlx::raw_sql("begin; select 1 from sessions for update").execute(&mut lock).await.unwrap();
    let appending = tokio::spawn(async move { replica.append_event("s", "{}").await.unwrap().1 });
    let waits = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    until("it waits", async || execute(&database, waits).await > 0).await;
    let released = SystemClock.now();
    sqlx::raw_sql("rollback").execute(&mut lock).await.unwrap();
    assert!(appending.await.unwrap() >= released);
}

async fn times_of_commits_do_not_go_back(place: Place) {
    let replica = Replica::over(&place.url(), 0).await;
    replica.create("s", r#"{"events":[{"id":"e"}]}"#).await.unwrap();
    replica.append("s").await.unwrap();
    // The clock of SQLite's one process.
    replica.clock.0.store(-2 * HOUR, Relaxed);
    let (_, answered) = replica.append_event("s", "{}").await.unwrap();
    let (.., committed) = replica.times("s").await;
    assert!(committed.is_sorted() && committed[2] == answered, "{committed:?}");
    replica.clock.0.store(0, Relaxed);
    // The database's own.
    place.execute(format!("update sessions set commit_time = commit_time + {HOUR}")).await;
    place.execute(format!("update events set commit_time = commit_time + {HOUR}")).await;
    let (.., committed) = replica.times("s").await;
    let (_, answered) = replica.append_event("s", "{}").await.unwrap();
    assert_eq!(answered, committed[2]);
    // And where it is copied.
    let fork = SessionId::parse("f").unwrap();
    replica.service.fork(key("s"), None, Some(fork), None, Shown::Full, deadline()).await.unwrap();
    let (_, after_fork) = replica.append_event("f", "{}").await.unwrap();
    assert!(after_fork >= answered, "{after_fork:?} {answered:?}");
    let target = RewindTarget::Revision(1);
    replica.service.rewind(key("s"), target, None, Guard::default(), Shown::Full, deadline()).await.unwrap();
    let (.., committed) = replica.times("s").await;
    assert!(committed.is_sorted(), "{committed:?}");
    place.finish().await;
}

on_both_databases!(times_of_commits_do_not_go_back);

/// A file has one process, and nobody else's clock.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_warns_of_a_clock_far_from_the_last_write() {
    const WARNING: &str = "the clock is far from the time of the last write";
    let place = Place::sqlite();
    let mut server = Server::start(&place.url(), &["--sweep-interval=10ms"]).await;
    server
        .post("/v1/apps/a/users/u/sessions")
        .json(json!({"sessionId": "s", "events": [{"author": "a"}]}))
        .await
        .expect(201);
    server.process.kill_9();
    server.process.wait().await;
    assert!(!server.process.log().contains(WARNING), "{}", server.process.log());
    for change in ["+ 172800000000", "- 345600000000"] {
        place.execute(format!("update events set commit_time = commit_time {change}; update sessions set create_time = create_time {change}")).await;
        let mut server = Server::start(&place.url(), &[]).await;
        until("it warns", async || server.process.log().contains(WARNING)).await;
        server.process.kill_9();
        server.process.wait().await;
    }
}

/// One clock judges whether a lease has expired: the database's.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_whose_clock_is_wrong_neither_takes_nor_keeps_a_lease() {
    let database = database().await;
    let right = Replica::start(&database, 0).await;
    for wrong_by in [2 * HOUR, -2 * HOUR] {
        let wrong = Replica::start(&database, wrong_by).await;
        right.create("s", "{}").await.unwrap();
        let draft = |owner: &str| {
            let body = format!(r#"{{"owner":"{owner}","exclusive":"all","ttl":600}}"#);
            LeaseDraft::parse(Json::parse(body.as_bytes(), 64).unwrap()).unwrap()
        };
        for (holder, other) in [(&right, &wrong), (&wrong, &right)] {
            let Ok(Taken::Granted { view, .. }) = holder.service.take_lease(&key("s"), &draft("a"), deadline()).await
            else {
                panic!("not granted")
            };
            let mark = LeaseMark { epoch: view.lease.epoch, incarnation: None };
            let taken = other.service.take_lease(&key("s"), &draft("b"), deadline()).await.unwrap();
            let Taken::Held(held) = taken else { panic!("{taken:?}") };
            assert!((0..=600_000_000).contains(&held.left), "{held:?}");
            for replica in [holder, other] {
                let side = replica.append("s").await;
                assert!(matches!(side, Err(Error::Lease(LeaseRefusal::Held(_)))), "{side:?}");
                let side = replica.patch("s", r#"{"displayName":"n"}"#).await;
                assert!(matches!(side, Err(Error::Lease(LeaseRefusal::Held(_)))), "{side:?}");
            }
            execute(&database, "update sessions set lease_expire = 1 returning lease_epoch").await;
            right.append("s").await.unwrap();
            wrong.append("s").await.unwrap();
            wrong.patch("s", r#"{"displayName":"n"}"#).await.unwrap();
            other.service.renew_lease(&key("s"), mark, 600_000_000, deadline()).await.unwrap();
            assert!(matches!(right.append("s").await, Err(Error::Lease(LeaseRefusal::Held(_)))));
            assert!(matches!(wrong.append("s").await, Err(Error::Lease(LeaseRefusal::Held(_)))));
            other.service.release_lease(&key("s"), mark, deadline()).await.unwrap();
        }
        right.service.delete_session(key("s"), Guard::default(), deadline()).await.unwrap();
    }
    verify(&database.url).await;
}
