//! `sessiond-watch` follows many sessions and says how long their events took from commit to here, as one JSON object on stdout.
//!
//! It tells on stderr when all watches have caught up, and then counts what comes until its standard input ends. The time of an event
//! is its `commitTime`, by the clock of the server: both must be on one machine. It is taken before the commit, so the commit itself
//! counts.

#[expect(dead_code, reason = "`sessiond-load` uses the rest of it")]
#[path = "../histogram.rs"]
mod histogram;

use std::cell::RefCell;
use std::error::Error;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;
use histogram::Histogram;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, stdin};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::LocalSet;

const CAUGHT_UP: &[u8] = b"event: caught_up";
const COMMIT_TIME: &[u8] = b"\"commitTime\":";

/// Follows many sessions and says how long their events took
#[derive(Parser, Debug)]
struct Options {
    /// Where the server is: http://HOST:PORT
    #[arg(long)]
    url: String,
    #[arg(long, default_value = "1000")]
    watchers: u64,
    /// Watcher I follows the session s{I % SESSIONS}, of the user u{I % USERS}
    #[arg(long, default_value = "1024")]
    sessions: u64,
    #[arg(long, default_value = "256")]
    users: u64,
    #[arg(long, default_value = "bench")]
    app: String,
    /// Milliseconds between the first bytes of two watches
    #[arg(long, default_value = "1")]
    pause: u64,
}

#[derive(Default)]
struct Tally {
    latencies: Histogram,
    /// Watches that ended before they were to.
    ended: u64,
    counts: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, run(options))
}

async fn run(options: Options) -> Result<(), Box<dyn Error>> {
    let authority = options.url.strip_prefix("http://").ok_or("--url is not of the form http://HOST:PORT")?;
    let address = authority.to_socket_addrs()?.next().ok_or("the host of --url has no address")?;
    let tally = Rc::new(RefCell::new(Tally::default()));
    let (ready, mut all_ready) = mpsc::unbounded_channel();
    for n in 0..options.watchers {
        let session = n % options.sessions;
        let path = format!("/v1/apps/{}/users/u{}/sessions/s{session}/watch", options.app, session % options.users);
        let head = format!("GET {path}?afterSequence=now HTTP/1.1\r\nhost: {authority}\r\n\r\n");
        let (tally, ready) = (tally.clone(), ready.clone());
        tokio::task::spawn_local(async move {
            if let Err(error) = follow(address, &head, &ready, &tally).await {
                eprintln!("{error}");
            }
            tally.borrow_mut().ended += 1;
        });
        tokio::time::sleep(Duration::from_millis(options.pause)).await;
    }
    for _ in 0..options.watchers {
        all_ready.recv().await.ok_or("a watch did not begin")?;
    }
    tally.borrow_mut().counts = true;
    eprintln!("ready");
    stdin().read_to_end(&mut Vec::new()).await?;
    let tally = tally.borrow();
    println!(
        "{}",
        json!({
            "watchers": options.watchers, "ended": tally.ended, "events": tally.latencies.count(),
            "p50": tally.latencies.quantile(0.5), "p99": tally.latencies.quantile(0.99), "max": tally.latencies.max(),
        })
    );
    Ok(())
}

async fn follow(
    address: SocketAddr,
    head: &str,
    ready: &mpsc::UnboundedSender<()>,
    tally: &RefCell<Tally>,
) -> Result<(), Box<dyn Error>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(head.as_bytes()).await?;
    let mut caught_up = false;
    let mut rest: Vec<u8> = Vec::new();
    let mut chunk = Vec::with_capacity(4096);
    loop {
        chunk.clear();
        if stream.read_buf(&mut chunk).await? == 0 {
            return Err("a watch ended".into());
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64();
        rest.extend_from_slice(&chunk);
        // What is complete: whole lines.
        let Some(end) = rest.iter().rposition(|byte| *byte == b'\n') else { continue };
        for line in rest[..end].split(|byte| *byte == b'\n') {
            if !caught_up && line.starts_with(CAUGHT_UP) {
                caught_up = true;
                ready.send(())?;
            }
            let mut tally = tally.borrow_mut();
            if let Some(time) = commit_time(line).filter(|_| tally.counts) {
                tally.latencies.record(Duration::from_secs_f64((now - time).max(0.0)));
            }
        }
        rest.drain(..=end);
    }
}

fn commit_time(line: &[u8]) -> Option<f64> {
    let at = line.windows(COMMIT_TIME.len()).rposition(|window| window == COMMIT_TIME)?;
    let number = &line[at + COMMIT_TIME.len()..];
    let end = number.iter().position(|byte| *byte == b'}')?;
    std::str::from_utf8(&number[..end]).ok()?.parse().ok()
}
