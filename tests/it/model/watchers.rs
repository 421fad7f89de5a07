//! Many watchers of sessions with many writers. Watchers are disconnected at random and resume with their last id, on
//! any server; a server is killed and restarted. Each watcher gets each event once, in order, byte for byte.
//!
//! `TEST_WRITERS`, `TEST_SESSIONS`, `TEST_WATCHERS` and `TEST_EVENTS` (of each writer) make it larger.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until, timeout},
};

use super::setting;
use crate::support::binary::{PATIENT, Server};
use crate::support::client::{Client, PATIENCE};
use crate::support::databases::{Place, on_both_databases};
use crate::support::random::Random;
use crate::support::sse::{Part, Watch};

/// The longest that a stream is followed: the client gives an answer no longer.
const LONGEST: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy)]
struct Scale {
    writers: u64,
    sessions: u64,
    watchers: u64,
    events: u64,
}

impl Scale {
    fn of_the_run() -> Self {
        Self {
            writers: setting("TEST_WRITERS").unwrap_or(16),
            sessions: setting("TEST_SESSIONS").unwrap_or(40),
            watchers: setting("TEST_WATCHERS").unwrap_or(150),
            events: setting("TEST_EVENTS").unwrap_or(30),
        }
    }
}

on_both_databases!(watchers_have_each_event_once, watchers_have_each_event_once_by_pages_of_one);

async fn watchers_have_each_event_once(place: Place) {
    watched(place, Scale::of_the_run(), PATIENT).await;
}

async fn watchers_have_each_event_once_by_pages_of_one(place: Place) {
    let scale = Scale { watchers: Scale::of_the_run().watchers / 3, ..Scale::of_the_run() };
    watched(place, scale, &[PATIENT, &["--max-page-rows=1"]].concat()).await;
}

/// The servers, where they are now.
struct Servers(Vec<Mutex<Client>>);

impl Servers {
    fn any(&self, random: &mut Random) -> Client {
        let at = random.below(self.0.len() as u64) as usize;
        self.0[at].lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn moved(&self, at: usize, api: Client) {
        *self.0[at].lock().unwrap_or_else(PoisonError::into_inner) = api;
    }
}

/// What happened, so that a run that shows nothing is seen.
#[derive(Debug, Default)]
struct Counts {
    appended: AtomicU64,
    connections: AtomicUsize,
    cuts: AtomicUsize,
    failures: AtomicUsize,
}

fn session(n: u64) -> String {
    format!("/v1/apps/a{}/users/u{}/sessions/s{n}", n % 3, n % 2)
}

async fn watched(place: Place, scale: Scale, args: &[&str]) {
    let count = if matches!(place, Place::Sqlite(_)) { 1 } else { 2 };
    let mut processes = Vec::new();
    for _ in 0..count {
        processes.push(Server::start(&place.url(), args).await);
    }
    let servers = Arc::new(Servers(processes.iter().map(|server| Mutex::new(server.api.clone())).collect()));
    for n in 0..scale.sessions {
        processes[0].put(session(n)).json("{}").await.expect(201);
    }

    let counts = Arc::new(Counts::default());
    let (tell, told) = watch::channel(None);
    let watchers: Vec<_> = (0..scale.watchers)
        .map(|n| tokio::spawn(follow(n, scale, servers.clone(), counts.clone(), told.clone())))
        .collect();
    let writers: Vec<_> =
        (0..scale.writers).map(|n| tokio::spawn(write(n, scale, servers.clone(), counts.clone()))).collect();

    let until_appended = async |part: u64| {
        while counts.appended.load(Ordering::Relaxed) < scale.writers * scale.events * part / 4 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    for part in [1, 2] {
        timeout(PATIENCE * 5, until_appended(part)).await.expect("the writers go on");
        let killed = &mut processes[0];
        killed.process.kill_9();
        killed.process.wait().await;
        *killed = Server::start(&place.url(), args).await;
        servers.moved(0, killed.api.clone());
    }
    for writer in writers {
        writer.await.expect("no panic");
    }

    let mut logs = Vec::new();
    for n in 0..scale.sessions {
        logs.push(log(&processes[0], &session(n)).await);
    }
    assert_eq!(logs.iter().map(|log| log.len() as u64).sum::<u64>(), counts.appended.load(Ordering::Relaxed));
    tell.send_replace(Some(Arc::new(logs.iter().map(Vec::len).collect())));
    for (n, watcher) in watchers.into_iter().enumerate() {
        let seen = timeout(PATIENCE * 5, watcher).await.expect("it gets all").expect("no panic");
        assert_eq!(seen, logs[n % logs.len()], "of watcher {n}");
    }
    // The cuts took place.
    assert!(counts.connections.load(Ordering::Relaxed) as u64 > scale.watchers, "{counts:?}");
    drop(processes);
    place.finish().await;
}

/// Each stored event as text.
async fn log(api: &Client, session: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut token = String::new();
    loop {
        let page = api.get(format!("{session}/events?{token}")).await.expect(200);
        let found: Value = page.json();
        let events = found["events"].as_array().expect("events");
        all.extend((0..events.len()).map(|at| page.raw(&["events", &at.to_string()])));
        match found["nextPageToken"].as_str() {
            Some(next) => token = format!("pageToken={next}"),
            None => return all,
        }
    }
}

/// Appends, and sends again what may have been lost, until it is told that it is there.
async fn write(n: u64, scale: Scale, servers: Arc<Servers>, counts: Arc<Counts>) {
    let mut random = Random::new();
    let mut left = scale.events;
    while left > 0 {
        let size = left.min(if random.below(8) == 0 { 5 } else { 1 });
        let at = session(random.below(scale.sessions));
        let event = |k: u64| {
            let delta = match (left - k) % 5 {
                0 => json!({"user:k": left, "k": n}),
                1 => json!({format!("app:k{n}"): left}),
                _ => json!({"k": left}),
            };
            json!({"id": format!("w{n}-{}", left - k), "author": "agent", "actions": {"stateDelta": delta}})
        };
        let body = Value::from((0..size).map(event).collect::<Vec<_>>());
        loop {
            let api = servers.any(&mut random);
            match api.post(format!("{at}/events")).json(&body).send().await {
                Ok(answer) if matches!(answer.status, 200 | 201) => break,
                Ok(answer) => assert_eq!(answer.status, 503, "{answer}"),
                Err(_) => {}
            }
            counts.failures.fetch_add(1, Ordering::Relaxed);
            sleep(Duration::from_millis(30)).await;
        }
        left -= size;
        counts.appended.fetch_add(size, Ordering::Relaxed);
    }
}

/// Follows a session until it has as many events as are told of in the end; them as they came.
async fn follow(
    n: u64,
    scale: Scale,
    servers: Arc<Servers>,
    counts: Arc<Counts>,
    mut told: watch::Receiver<Option<Arc<Vec<usize>>>>,
) -> Vec<String> {
    let mut random = Random::new();
    let at = n % scale.sessions;
    let path = format!("{}/watch", session(at));
    let include = if n.is_multiple_of(3) { "include=state" } else { "" };
    // Some are cut by nothing but the end of their server.
    let is_cut = !n.is_multiple_of(10);
    let mut seen: Vec<String> = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let api = servers.any(&mut random);
        let request = match (&cursor, random.below(3)) {
            (None, _) => api.get(format!("{path}?{include}")),
            (Some(cursor), 0) => api.get(format!("{path}?{include}&afterSequence=0")).header("last-event-id", cursor),
            (Some(cursor), 1) => api.get(format!("{path}?{include}&lastEventId={cursor}")),
            (Some(cursor), _) => api.get(format!("{path}?{include}&afterSequence={cursor}")),
        };
        let mut stream = match request.try_stream().await {
            Ok(response) if response.status() == 200 => Watch::of(response),
            other => {
                // A server that is gone, or not there yet. Anything else is a place in the log that is denied.
                if let Ok(response) = other {
                    assert_eq!(response.status(), 503, "{:?}", response.text().await);
                }
                counts.failures.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_millis(30)).await;
                continue;
            }
        };
        counts.connections.fetch_add(1, Ordering::Relaxed);
        // As often as the machine can bear, however many they are.
        let longest = if is_cut { Duration::from_millis(20 + random.below(20 * scale.watchers)) } else { LONGEST };
        let mut parts = if is_cut { 1 + random.below(120) } else { u64::MAX };
        let cut = Instant::now() + longest;
        let mut revisions = [0; 3];
        while parts > 0 {
            if told.borrow().as_ref().is_some_and(|lengths| seen.len() >= lengths[at as usize]) {
                return seen;
            }
            let part = tokio::select! {
                part = stream.part() => part,
                () = sleep_until(cut) => break,
                changed = told.changed() => {
                    changed.expect("somebody tells");
                    continue;
                }
            };
            parts -= 1;
            let Ok(part) = part else { break };
            let Part::Frame(frame) = part else { continue };
            let data = frame.json();
            match &*frame.event {
                "event" => {
                    assert_eq!(data["sequence"], seen.len() + 1, "watcher {n} behind {cursor:?}");
                    seen.push(frame.data.clone());
                }
                "caught_up" => assert_eq!(data["revision"], seen.len(), "watcher {n} behind {cursor:?}"),
                "state" => {
                    let text = data["revisions"].as_str().expect("revisions");
                    let mut parts = text.split('.').map(|part| part.parse::<u64>().unwrap_or_default());
                    let now = [(); 3].map(|()| parts.next().expect("a revision"));
                    assert!(now.iter().zip(&revisions).all(|(now, then)| now >= then), "{revisions:?} {text}");
                    assert_eq!(now[0], seen.len() as u64, "watcher {n}: the events come first");
                    revisions = now;
                }
                "metadata" | "bye" => {}
                other => panic!("watcher {n}: {other}"),
            }
            if let Some(id) = frame.id {
                cursor = Some(id);
            }
        }
        counts.cuts.fetch_add(1, Ordering::Relaxed);
    }
}
