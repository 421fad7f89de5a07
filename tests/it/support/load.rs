//! Continuous writers, a record of the answers that they got, and a check that these answers are true.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Map, Value, json};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use super::client::{Answer, Client, PATIENCE};

const SESSIONS: usize = 4;
const WRITERS: usize = 16;
const ALL: &str = "/v1/apps/load/users/u/sessions";

fn session_path(session: usize) -> String {
    format!("{ALL}/s{session}")
}

/// The paths of the sessions that a [`Load`] writes to.
pub fn sessions() -> impl Iterator<Item = String> {
    (0..SESSIONS).map(session_path)
}

/// Creates the sessions that a [`Load`] writes to.
pub async fn create_sessions(api: &Client) {
    for session in 0..SESSIONS {
        api.post(ALL).json(json!({"sessionId": format!("s{session}")})).await.expect(201);
    }
}

/// An event, as it was sent.
#[derive(Debug, Clone)]
struct Sent {
    session: usize,
    id: String,
    event: Value,
}

/// The answers that the writers got.
#[derive(Debug, Default)]
pub struct Record {
    /// 200 or 201, with the sequence.
    acknowledged: Vec<(Sent, i64)>,
    /// 503 `outcome: "not_applied"`, each time.
    refused: Vec<Sent>,
    /// 503 `outcome: "unknown"` or no answer, at least once, and no definite answer after it.
    open: Vec<Sent>,
    /// Was unknown, until it was sent again.
    settled: Vec<Sent>,
}

impl Record {
    pub fn refused(&self) -> usize {
        self.refused.len()
    }

    pub fn acknowledged(&self) -> usize {
        self.acknowledged.len()
    }

    /// Events whose outcome their writers do not know.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    fn add(&mut self, sent: Sent, told: Told, acknowledged: &AtomicUsize) {
        match told {
            Told::Stored(sequence) => {
                self.acknowledged.push((sent, sequence));
                acknowledged.fetch_add(1, Ordering::Relaxed);
            }
            Told::Refused => self.refused.push(sent),
            Told::Nothing => self.open.push(sent),
        }
    }

    /// Adds the record of another load.
    pub fn extend(&mut self, other: Self) {
        self.acknowledged.extend(other.acknowledged);
        self.refused.extend(other.refused);
        self.open.extend(other.open);
        self.settled.extend(other.settled);
    }
}

/// 16 writers on 4 sessions of one user. Each event has an id of its own and a counter in each scope. Half of the
/// writers send an event again until its outcome is known, as a careful client does; the others go on.
pub struct Load {
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicUsize>,
    record: Arc<Mutex<Record>>,
    writers: Vec<JoinHandle<()>>,
}

impl Load {
    /// `name` distinguishes the events of this load from others.
    pub fn start(api: &Client, name: &str) -> Self {
        Self::start_paced(api, name, usize::MAX, Duration::ZERO)
    }

    /// Each writer ends after this many events, and pauses after each.
    pub fn start_paced(api: &Client, name: &str, events: usize, pause: Duration) -> Self {
        let (stop, acknowledged) = <(Arc<AtomicBool>, Arc<AtomicUsize>)>::default();
        let record = Arc::new(Mutex::new(Record::default()));
        let writers = (0..WRITERS)
            .map(|writer| {
                let (api, name) = (api.clone(), name.to_owned());
                let (stop, acknowledged, record) = (stop.clone(), acknowledged.clone(), record.clone());
                tokio::spawn(async move {
                    for n in 1..=events {
                        if stop.load(Ordering::Relaxed) {
                            break;
                        }
                        let (sent, told) = write(&api, &name, writer, n, &stop).await;
                        record.lock().unwrap().add(sent, told, &acknowledged);
                        sleep(pause).await;
                    }
                })
            })
            .collect();
        Self { stop, acknowledged, record, writers }
    }

    /// Waits for this many further successes.
    pub async fn succeeds(&self, more: usize) {
        let goal = self.acknowledged.load(Ordering::Relaxed) + more;
        let waiting = async {
            while self.acknowledged.load(Ordering::Relaxed) < goal {
                assert!(self.writers.iter().all(|writer| !writer.is_finished()), "a writer was told something strange");
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, waiting).await.expect("writes succeed");
    }

    /// Ends it, once each writer knows the outcome of its last event, as far as it can.
    pub async fn stop(self) -> Record {
        self.stop.store(true, Ordering::Relaxed);
        for writer in self.writers {
            writer.await.expect("a writer met only what it may meet");
        }
        std::mem::take(&mut *self.record.lock().unwrap())
    }
}

enum Told {
    Stored(i64),
    Refused,
    Nothing,
}

async fn write(api: &Client, name: &str, writer: usize, n: usize, stop: &AtomicBool) -> (Sent, Told) {
    let session = writer % SESSIONS;
    let id = format!("{name}-{writer}-{n}");
    let key = format!("w{writer}");
    let event = json!({"id": id, "author": "writer", "actions": {"stateDelta": {
        key.as_str(): id, format!("user:{key}"): id, format!("app:{key}"): id, format!("temp:{key}"): id,
    }}});
    let sent = Sent { session, id, event };
    let path = format!("{}/events", session_path(session));
    let mut open = false;
    loop {
        match api.send("POST", &path, &[], Some(&sent.event)).await {
            Ok(answer) if [200, 201].contains(&answer.status) => {
                let event = answer.json();
                assert_eq!(event["id"], sent.id, "{answer:?}");
                let replayed = answer.header("idempotent-replayed").is_some();
                assert_eq!(replayed, answer.status == 200, "{answer:?}");
                assert!(open || !replayed, "stored twice, or before it was sent: {answer:?}");
                return (sent, Told::Stored(event["sequence"].as_i64().expect("a sequence")));
            }
            Ok(answer) => open |= answer.outcome_of_503() == "unknown",
            // The server was killed, or the answer was cut off.
            Err(_) => open = true,
        }
        if !open {
            return (sent, Told::Refused);
        }
        if writer.is_multiple_of(2) || stop.load(Ordering::Relaxed) {
            return (sent, Told::Nothing);
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// Proves that every acknowledged event is there once, with its sequence; that no refused one is; that each unknown one
/// can be sent again; and that state follows from the events.
pub async fn verify(api: &Client, record: &mut Record) {
    let logs = read(api).await;
    for (sent, sequence) in &record.acknowledged {
        assert_eq!(logs[sent.session].get(&sent.id), Some(sequence), "an acknowledged event is lost: {}", sent.id);
    }
    for sent in &record.refused {
        assert!(!logs[sent.session].contains_key(&sent.id), "applied, though said not to be: {}", sent.id);
    }
    let known: HashSet<&str> = record
        .acknowledged
        .iter()
        .map(|(sent, _)| sent)
        .chain(&record.refused)
        .chain(&record.open)
        .chain(&record.settled)
        .map(|sent| sent.id.as_str())
        .collect();
    assert!(logs.iter().flat_map(HashMap::keys).all(|id| known.contains(id.as_str())), "an event that nobody sent");

    for sent in &record.open {
        let answer =
            patient(async || api.post(format!("{}/events", session_path(sent.session))).json(&sent.event).await).await;
        // The database may still have been at work for the server that was killed when the log was read.
        let is_there = logs[sent.session].contains_key(&sent.id);
        assert!(answer.status == 200 || answer.status == 201 && !is_there, "{answer:?}");
    }
    record.settled.append(&mut record.open);
    let logs = read(api).await;
    for sent in &record.settled {
        assert!(logs[sent.session].contains_key(&sent.id), "sent again, and not there: {}", sent.id);
    }
}

/// Asks again while the database is not there: on a busy machine it may be late after a crash.
async fn patient(ask: impl AsyncFn() -> Answer) -> Answer {
    let begun = Instant::now();
    loop {
        let answer = ask().await;
        if answer.status != 503 || begun.elapsed() > PATIENCE {
            return answer;
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// For each session the sequence of each event id, after checking events and state.
async fn read(api: &Client) -> Vec<HashMap<String, i64>> {
    let mut logs = Vec::new();
    for session in 0..SESSIONS {
        let session = patient(async || api.get(session_path(session)).await).await.expect(200).json();
        check_log(&session);
        // Every writer has one session, and its own keys in every scope.
        let mut last: BTreeMap<String, Value> = BTreeMap::new();
        for event in session["events"].as_array().unwrap() {
            last.extend(event["actions"]["stateDelta"].as_object().unwrap().clone());
        }
        for (key, value) in last {
            assert_eq!(session["state"][&key], value, "{key}");
        }
        logs.push(sequences(&session));
    }
    logs
}

fn sequences(session: &Value) -> HashMap<String, i64> {
    let events = session["events"].as_array().unwrap();
    events.iter().map(|event| (event["id"].as_str().unwrap().to_owned(), event["sequence"].as_i64().unwrap())).collect()
}

/// Checks that sequences are 1..=revision, that ids are unique, that no `temp:` key was stored, and that the events
/// folded over no session keys give the session's state. For a session that began without session keys.
#[track_caller]
pub fn check_log(session: &Value) {
    let events = session["events"].as_array().expect("events");
    let numbers: Vec<_> = events.iter().map(|event| event["sequence"].as_i64().unwrap()).collect();
    let revision = session["revision"].as_i64().unwrap();
    assert_eq!(numbers, (1..=revision).collect::<Vec<_>>(), "dense and in order");
    assert_eq!(sequences(session).len(), events.len(), "each id once");
    let mut folded = Map::new();
    for event in events {
        for op in event["actions"]["stateOps"].as_array().into_iter().flatten().filter(|op| op["op"] == "remove") {
            folded.remove(op["key"].as_str().unwrap());
        }
        // The results of operators are in the delta.
        for (key, value) in event["actions"]["stateDelta"].as_object().into_iter().flatten() {
            assert!(!key.starts_with("temp:"), "{event}");
            if is_session_key(key) {
                folded.insert(key.clone(), value.clone());
            }
        }
    }
    let state = session["state"].as_object().unwrap().clone();
    let state: Map<_, _> = state.into_iter().filter(|(key, _)| is_session_key(key)).collect();
    assert_eq!(state, folded, "the fold of the events is the state");
}

fn is_session_key(key: &str) -> bool {
    !["app:", "user:"].iter().any(|prefix| key.starts_with(prefix))
}
