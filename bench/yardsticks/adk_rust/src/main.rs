//! Measures adk-rust's PostgreSQL session service (the crate adk-session), used as a library.
//!
//! ```text
//! cargo run --release -- --url postgres://HOST/EMPTY_DB --concurrency 64 --seconds 5
//! ```
//!
//! Prints one JSON object. An append is that of append.sql: an event of 1 KB, one of ten session keys, a `user:` key
//! every 4th time, an `app:` key every 16th. Each task has sessions of its own.
//!
//! How the service does it decides what the figure means. An append is one transaction of nine round trips; it reads
//! the states of app, user and session, and writes all three back as whole documents, with any delta, however small.
//! Nothing is locked before it is read, so a concurrent append's change of a shared key can be lost; and as each one
//! writes the app's row, all appends of an app wait for one another's commits. `append_event_for_identity` is the
//! better of its two ways: the other one looks for the session by its id alone, for which there is no index.
//!
//! Durability is the server's default; the service sets nothing. The pool has as many connections as there are tasks,
//! up to `--pool`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use adk_core::identity::{AdkIdentity, AppName, SessionId, UserId};
use adk_core::{Content, Part};
use adk_session::{AppendEventRequest, CreateRequest, Event, PostgresSessionService, SessionService};
use serde_json::{Value, json};
use sqlx::postgres::PgPoolOptions;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const APP: &str = "bench";
const EVENT_BYTES: usize = 1024;
const DEFAULT_POOL: usize = 64;

struct Options {
    url: String,
    concurrency: usize,
    seconds: f64,
    warmup: f64,
    sessions: usize,
    users: usize,
    pool: usize,
}

impl Options {
    fn parse() -> Result<Self, Failure> {
        let mut given: HashMap<String, String> = HashMap::new();
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
            given.insert(name, value);
        }
        let mut take = |name: &str, default: &str| given.remove(name).unwrap_or_else(|| default.to_owned());
        let options = Self {
            url: take("--url", ""),
            concurrency: take("--concurrency", "1").parse()?,
            seconds: take("--seconds", "5").parse()?,
            warmup: take("--warmup", "1").parse()?,
            sessions: take("--sessions", "1024").parse()?,
            users: take("--users", "256").parse()?,
            pool: take("--pool", &DEFAULT_POOL.to_string()).parse()?,
        };
        match given.keys().next() {
            Some(unknown) => Err(format!("unknown option {unknown}").into()),
            None if options.url.is_empty() => Err("--url is needed".into()),
            None => Ok(options),
        }
    }

    fn identity(&self, session: usize) -> Result<AdkIdentity, Failure> {
        Ok(AdkIdentity {
            app_name: AppName::try_from(APP)?,
            user_id: UserId::try_from(format!("u{}", session % self.users).as_str())?,
            session_id: SessionId::try_from(format!("s{session}").as_str())?,
        })
    }
}

/// SplitMix64: what is random here need not be more so.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % limit
    }

    fn state_delta(&mut self) -> HashMap<String, Value> {
        let value = json!(1 + self.below(1_000_000_000));
        let shared = 1 + self.below(16);
        let mut delta = HashMap::from([(format!("k{}", self.below(10)), value.clone())]);
        if shared <= 4 {
            delta.insert("user:u".to_owned(), value.clone());
        }
        if shared == 1 {
            delta.insert("app:a".to_owned(), value);
        }
        delta
    }
}

fn event(delta: HashMap<String, Value>, text: &str) -> Event {
    let mut event = Event::new("i1");
    event.author = "agent".to_owned();
    event.llm_response.content =
        Some(Content { role: "model".to_owned(), parts: vec![Part::Text { text: text.to_owned() }] });
    event.actions.state_delta = delta;
    event
}

/// So long that an event with it is 1 KB of JSON.
fn text_of_an_event() -> Result<String, Failure> {
    let without = serde_json::to_string(&event(Random(0).state_delta(), ""))?;
    Ok("x".repeat(EVENT_BYTES.saturating_sub(without.len())))
}

#[derive(Default)]
struct Tally {
    latencies: Vec<Duration>,
    errors: BTreeMap<String, u64>,
}

/// One task: appends to its sessions in turn, until `end`. Counts what ends from `start` on.
async fn append(
    service: Arc<PostgresSessionService>,
    sessions: Vec<AdkIdentity>,
    text: Arc<str>,
    seed: u64,
    start: Instant,
    end: Instant,
) -> Tally {
    let mut tally = Tally::default();
    let mut random = Random(seed);
    for identity in sessions.iter().cycle() {
        let began = Instant::now();
        if began >= end {
            break;
        }
        let event = event(random.state_delta(), &text);
        let result = service.append_event_for_identity(AppendEventRequest { identity: identity.clone(), event }).await;
        let done = Instant::now();
        let counted = (start..=end).contains(&done);
        match result {
            Ok(()) if counted => tally.latencies.push(done - began),
            Err(error) if counted => *tally.errors.entry(error.to_string()).or_default() += 1,
            _ => {}
        }
    }
    tally
}

/// User and system time of this process so far, from /proc: in hundredths of a second, whatever the machine.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field is a name in parentheses; utime and stime are the 14th and the 15th.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let options = Options::parse()?;
    let connections = options.concurrency.min(options.pool).max(1) as u32;
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        .min_connections(connections)
        .acquire_timeout(Duration::from_secs(60))
        .connect(&options.url)
        .await?;
    let service = Arc::new(PostgresSessionService::from_pool(pool.clone()));
    service.migrate().await?;
    // Of an earlier run: those that are there need not be made again.
    let made: i64 =
        sqlx::query_scalar("select count(*) from sessions where app_name = $1").bind(APP).fetch_one(&pool).await?;
    for session in made as usize..options.sessions {
        let identity = options.identity(session)?;
        service
            .create(CreateRequest {
                app_name: APP.to_owned(),
                user_id: identity.user_id.as_ref().to_owned(),
                session_id: Some(identity.session_id.as_ref().to_owned()),
                state: HashMap::new(),
            })
            .await?;
    }

    let text: Arc<str> = text_of_an_event()?.into();
    let start = Instant::now() + Duration::from_secs_f64(options.warmup);
    let end = start + Duration::from_secs_f64(options.seconds);
    let mut tasks = Vec::new();
    for task in 0..options.concurrency {
        let mut own = (task..options.sessions).step_by(options.concurrency).peekable();
        let own: Vec<usize> = if own.peek().is_some() { own.collect() } else { vec![task % options.sessions] };
        let own = own.into_iter().map(|session| options.identity(session)).collect::<Result<_, _>>()?;
        tasks.push(tokio::spawn(append(service.clone(), own, text.clone(), task as u64, start, end)));
    }
    tokio::time::sleep_until(start.into()).await;
    let cpu_before = cpu_seconds();
    let mut tally = Tally::default();
    for task in tasks {
        let of_task = task.await?;
        tally.latencies.extend(of_task.latencies);
        for (error, count) in of_task.errors {
            *tally.errors.entry(error).or_default() += count;
        }
    }
    let cpu = cpu_seconds() - cpu_before;

    tally.latencies.sort();
    let micros = |time: Duration| (time.as_secs_f64() * 1e7).round() / 10.0;
    let count = tally.latencies.len();
    let quantile = |q: f64| {
        let rank = ((q * count as f64).ceil() as usize).max(1);
        tally.latencies.get(rank - 1).copied().map_or(0.0, micros)
    };
    let errors: u64 = tally.errors.values().sum();
    println!(
        "{}",
        json!({
            "service": "adk-rust postgres",
            "operation": "append",
            "concurrency": options.concurrency,
            "connections": connections,
            "seconds": options.seconds,
            "requests": count as u64 + errors,
            "errors": errors,
            "errors_by": tally.errors,
            "rate": (count as f64 / options.seconds * 10.0).round() / 10.0,
            "p50": quantile(0.5),
            "p95": quantile(0.95),
            "p99": quantile(0.99),
            "p99.9": quantile(0.999),
            "max": quantile(1.0),
            "mean": micros(tally.latencies.iter().sum::<Duration>() / count.max(1) as u32),
            "cpu_seconds": (cpu * 1000.0).round() / 1000.0,
        })
    );
    Ok(())
}
