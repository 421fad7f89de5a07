//! `sessiond-load` asks sessiond the same over and over and says how long it took, as one JSON object on stdout.
//!
//! It shares its machine with what it measures, so it does as little as it can: one thread, raw sockets, requests
//! written into one buffer per connection, responses looked at only as far as needed. Linux only, for its timers.

mod client;
mod histogram;
mod response;
mod scenario;
mod schedule;

use std::{
    collections::BTreeMap,
    error::Error,
    io::{self, ErrorKind},
    net::{SocketAddr, ToSocketAddrs},
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use clap::{Parser, ValueEnum};
use client::Client;
use histogram::Histogram;
use rustix::time::{ClockId, clock_gettime};
use scenario::{Requests, Scenario};
use schedule::{Schedule, Timer};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// Requests that are under way when the time is over may take this long to end.
const GRACE: Duration = Duration::from_secs(15);

/// The pause of a connection after a failure other than a response.
const PAUSE: Duration = Duration::from_millis(10);

/// Asks sessiond the same over and over and says how long it took
#[derive(Parser, Debug)]
#[command(max_term_width = 100)]
pub struct Options {
    /// Where the server is: http://HOST:PORT
    #[arg(long = "url", value_name = "URL", value_parser = authority)]
    authority: String,
    #[arg(long)]
    scenario: Scenario,
    /// Connections, each with one request in flight
    #[arg(long, default_value = "1")]
    connections: usize,
    #[arg(long, default_value = "5")]
    seconds: f64,
    /// Seconds before, which are not counted
    #[arg(long, default_value = "0")]
    warmup: f64,
    /// Requests per second, due at fixed times: latency counts from then. Without it, each connection sends its next
    /// request when it has the last response
    #[arg(long)]
    rate: Option<f64>,
    /// Threads, which share the connections
    #[arg(long, default_value = "1")]
    threads: usize,
    /// Session I is s{I}, of the user u{I % USERS}
    #[arg(long, default_value = "1024")]
    sessions: u64,
    #[arg(long, default_value = "256")]
    users: u64,
    #[arg(long, default_value = "bench")]
    app: String,
    /// One session for all requests, named as it stands in a path
    #[arg(long)]
    session: Option<String>,
    /// The user of that session [default: u0]
    #[arg(long)]
    user: Option<String>,
    /// Length of an event that is appended
    #[arg(long, default_value = "1024")]
    body_bytes: usize,
    /// Sessions of a page of the list [default: the server's]
    #[arg(long)]
    page_size: Option<u32>,
    /// Which page of the list, the first being 1; found by following page tokens, once, before the time begins
    #[arg(long, default_value = "1")]
    walk: u64,
    /// For fill-history and fill-each
    #[arg(long, default_value = "1000")]
    events: u64,
    /// For fill-state
    #[arg(long, default_value = "1000")]
    keys: u64,
    /// For fill-sessions
    #[arg(long, default_value = "1000")]
    count: u64,
}

/// HOST:PORT of a URL.
fn authority(url: &str) -> Result<String, &'static str> {
    let authority = url.strip_prefix("http://").map(|rest| rest.trim_end_matches('/'));
    let port = |authority: &str| authority.rsplit_once(':')?.1.parse::<u16>().ok();
    match authority {
        Some(authority) if !authority.contains('/') && port(authority).is_some() => Ok(authority.into()),
        _ => Err("not of the form http://HOST:PORT"),
    }
}

/// What one connection, or all of them together, met with.
#[derive(Default)]
struct Tally {
    /// Of requests that succeeded.
    latencies: Histogram,
    /// Of these, how many did so before the time was over. The others were under way then: their latency is one like
    /// any other, but a rate with them would be too high.
    in_time: u64,
    /// Whatever else came of a request: a status that was not expected, or the kind of failure.
    errors: BTreeMap<String, u64>,
    /// Not counted, whatever became of them.
    warmup: u64,
    received: u64,
    last: Option<Instant>,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.latencies.merge(&other.latencies);
        self.in_time += other.in_time;
        for (what, count) in &other.errors {
            *self.errors.entry(what.clone()).or_default() += count;
        }
        self.warmup += other.warmup;
        self.received += other.received;
        self.last = self.last.max(other.last);
    }
}

/// All that the connections share.
struct Plan {
    options: Options,
    address: SocketAddr,
    schedule: Schedule,
    counted_from: Instant,
    /// See [`Requests`].
    page: String,
}

fn main() -> ExitCode {
    match run(Options::parse()) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("sessiond-load: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> Result<Value, Box<dyn Error>> {
    let addresses = options.authority.to_socket_addrs();
    let address = addresses.ok().and_then(|mut all| all.next()).ok_or("the host of --url has no address")?;
    let page = runtime()?.block_on(prepare(&options, address))?;

    let warmup = Duration::try_from_secs_f64(options.warmup)?;
    let length = warmup + Duration::try_from_secs_f64(options.seconds)?;
    let schedule = match (options.scenario.total(&options), options.rate) {
        (Some(total), _) => Schedule::count(total),
        (None, Some(rate)) if rate > 0.0 => Schedule::open(rate, length),
        (None, Some(_)) => return Err("--rate must be positive".into()),
        (None, None) => Schedule::closed(length),
    };
    let counted_from = schedule.start() + if schedule.end().is_some() { warmup } else { Duration::ZERO };
    // Tasks want what they share to outlive them, and this is all there is until the process ends.
    let plan: &'static Plan = Box::leak(Box::new(Plan { options, address, schedule, counted_from, page }));

    let others: Vec<_> =
        (1..plan.options.threads).map(|thread| thread::spawn(move || run_thread(plan, thread))).collect();
    let mut tally = run_thread(plan, 0)?;
    for other in others {
        tally.add(&other.join().map_err(|_| "a thread panicked")??);
    }
    let mut unsent = 0;
    while plan.schedule.is_open() && plan.schedule.next().is_some() {
        unsent += 1;
    }
    if unsent > 0 {
        tally.errors.insert("unsent".into(), unsent);
    }
    Ok(report(plan, &tally))
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// What is done once, before the time begins: finds the page of the list, creates the session for a history.
async fn prepare(options: &Options, address: SocketAddr) -> Result<String, Box<dyn Error>> {
    let mut client = Client::new(address);
    let mut page = String::new();
    match options.scenario {
        Scenario::List => {
            for number in 1..options.walk {
                let status = client.exchange(&scenario::get_page(options, &page), true).await?;
                let answer: Value = serde_json::from_slice(&client.body)?;
                let token = answer["nextPageToken"].as_str();
                let token = token.ok_or_else(|| format!("page {number} of the list is the last (status {status})"))?;
                page = format!("pageToken={token}");
            }
        }
        Scenario::FillHistory => {
            let status = client.exchange(&scenario::create_for_history(options), false).await?;
            if !matches!(status, 200 | 201) {
                return Err(format!("cannot create the session for the history: status {status}").into());
            }
        }
        _ => {}
    }
    Ok(page)
}

/// Every `threads`-th connection, from `thread` on, on this thread.
fn run_thread(plan: &'static Plan, thread: usize) -> io::Result<Tally> {
    let mut tally = Tally::default();
    runtime()?.block_on(async {
        let mut connections = JoinSet::new();
        for index in (thread..plan.options.connections).step_by(plan.options.threads.max(1)) {
            connections.spawn(run_connection(plan, index));
        }
        while let Some(done) = connections.join_next().await {
            tally.add(&done??);
        }
        Ok(tally)
    })
}

async fn run_connection(plan: &'static Plan, index: usize) -> io::Result<Tally> {
    let mut tally = Tally::default();
    let mut client = Client::new(plan.address);
    let mut requests = Requests::new(&plan.options, index, &plan.page);
    let timer = plan.schedule.is_open().then(Timer::new).transpose()?;
    let day = Instant::now() + Duration::from_secs(24 * 60 * 60);
    let give_up = plan.schedule.end().map_or(day, |end| end + GRACE);
    let mut time_is_up = std::pin::pin!(tokio::time::sleep_until(give_up.into()));

    while !time_is_up.is_elapsed()
        && let Some(turn) = plan.schedule.next()
    {
        if let Some(timer) = &timer {
            timer.until(turn.due).await?;
        }
        let (request, expected) = requests.next(turn.number);
        let answer = tokio::select! {
            biased;
            answer = client.exchange(request, false) => answer,
            () = &mut time_is_up => Err(ErrorKind::TimedOut.into()),
        };
        let now = Instant::now();
        tally.last = Some(now);
        let failed = answer.is_err();
        // In an open loop each request that was due counts. In a closed one, each that ends: one that was sent before
        // the time began and took long is what a stall looks like, and must not be overlooked.
        let counted = if plan.schedule.is_open() { turn.due } else { now } >= plan.counted_from;
        if !counted {
            tally.warmup += 1;
        } else {
            match answer {
                Ok(status) if expected.contains(&status) => {
                    tally.latencies.record(now - turn.due);
                    tally.in_time += u64::from(plan.schedule.end().is_none_or(|end| now <= end));
                }
                Ok(status) => *tally.errors.entry(status.to_string()).or_default() += 1,
                Err(error) => *tally.errors.entry(format!("transport: {}", error.kind())).or_default() += 1,
            }
        }
        if failed {
            tokio::time::sleep(PAUSE).await;
        }
    }
    tally.received = client.received;
    Ok(tally)
}

fn report(plan: &Plan, tally: &Tally) -> Value {
    let Plan { options, schedule, .. } = plan;
    let last = tally.last.unwrap_or(plan.counted_from).saturating_duration_since(plan.counted_from).as_secs_f64();
    let successes = tally.latencies.count();
    // A closed loop is stopped by the clock. What had to be done in full took as long as it took.
    let (seconds, in_time) = match schedule.end() {
        Some(_) if schedule.is_open() => (last.max(options.seconds), successes),
        Some(_) => (options.seconds, tally.in_time),
        None => (last, successes),
    };
    let errors: u64 = tally.errors.values().sum();
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    let round = |value: f64| (value * 10.0).round() / 10.0;
    let quantile = |q| round(tally.latencies.quantile(q));
    json!({
        "scenario": options.scenario.to_possible_value().map(|value| value.get_name().to_owned()),
        "connections": options.connections,
        "open_loop_rate": options.rate,
        "seconds": (seconds * 1e6).round() / 1e6,
        "requests": successes + errors,
        "errors": errors,
        "errors_by": tally.errors,
        "rate": round(in_time as f64 / seconds.max(1e-9)),
        "p50": quantile(0.5),
        "p95": quantile(0.95),
        "p99": quantile(0.99),
        "p99.9": quantile(0.999),
        "max": round(tally.latencies.max()),
        "mean": round(tally.latencies.mean()),
        "warmup_requests": tally.warmup,
        "bytes_received": tally.received,
        "cpu_seconds": cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
    })
}
