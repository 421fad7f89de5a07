//! What a client does on each answer, as clients/wire/requests.json says it for all languages.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use adk_core::{AdkError, ErrorCategory};
use adk_session::{ListRequest, SessionService};
use futures::{StreamExt as _, future::join_all, stream};
use reqwest::Method;
use serde_json::{Value, json};
use sessiond_adk::{Error, ErrorKind, Outcome, SessiondSessionService, Token, WatchFrom, WatchItem};

use crate::support::{append, create, event, get_request, identity, plain, source};

const WIRE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../wire");

/// The server of clients/wire, which answers as the data says, and judges. It ends with this object.
struct FakeServer {
    process: Child,
    url: String,
    /// Where nobody listens.
    away: String,
}

impl FakeServer {
    fn start() -> Self {
        let mut process = Command::new("python3")
            .arg(Path::new(WIRE).join("fake_server.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut urls = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut urls).unwrap();
        let (url, away) = urls.trim().split_once(' ').unwrap();
        Self { url: url.into(), away: away.into(), process }
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// An error, as the fake server takes it.
fn told(error: &Error) -> Value {
    let kind = match error.kind {
        ErrorKind::NotFound => "not_found",
        ErrorKind::AlreadyExists => "exists",
        ErrorKind::EventIdConflict => "conflict",
        ErrorKind::Stale => "stale",
        ErrorKind::Busy => "busy",
        ErrorKind::PositionGone => "gone",
        ErrorKind::InvalidInput => "input",
        ErrorKind::Unauthenticated | ErrorKind::Forbidden => "denied",
        _ => "other",
    };
    let outcome = error.outcome.map(|outcome| match outcome {
        Outcome::NotApplied => "not_applied",
        Outcome::Unknown => "unknown",
    });
    json!({
        "kind": kind, "status": error.status, "code": error.code, "outcome": outcome, "requestId": error.request_id,
        "text": format!("{error:?}"),
    })
}

/// An error of ADK, which shows what is its source.
fn told_by_adk(error: &AdkError) -> Value {
    let (told, details) = (told(source(error)), &error.details);
    let shown = json!([details.upstream_status_code, details.request_id]);
    assert_eq!(shown, json!([told["status"], told["requestId"]]));
    assert_eq!(error.code, source(error).adk_code());
    let category = match source(error).kind {
        ErrorKind::NotFound | ErrorKind::PositionGone => ErrorCategory::NotFound,
        ErrorKind::Stale => ErrorCategory::Cancelled,
        ErrorKind::Busy | ErrorKind::Unavailable => ErrorCategory::Unavailable,
        ErrorKind::Unauthenticated => ErrorCategory::Unauthorized,
        ErrorKind::Forbidden => ErrorCategory::Forbidden,
        ErrorKind::RateLimited => ErrorCategory::RateLimited,
        ErrorKind::Internal => ErrorCategory::Internal,
        _ => ErrorCategory::InvalidInput,
    };
    assert_eq!(error.category, category);
    for name in ["code", "outcome"] {
        assert_eq!(details.metadata.get(name).unwrap_or(&Value::Null), &told[name]);
    }
    told
}

fn service(url: &str, case: &Value, asked: &Arc<AtomicUsize>) -> SessiondSessionService {
    let seconds = |field: &str| case[field].as_f64().map(Duration::from_secs_f64);
    let mut builder = SessiondSessionService::builder(url).connect_timeout(Duration::from_secs(60));
    let attempts = case["attempts"].as_u64().or(case["once"].as_bool().map(|_| 1));
    if let Some(attempts) = attempts {
        builder = builder.attempts(attempts.try_into().unwrap());
    }
    if let Some(total) = seconds("retryFor") {
        builder = builder.retry_for(total);
    }
    if let Some(attempt) = seconds("timeout") {
        builder = builder.timeout(attempt);
    }
    if let Some(silence) = seconds("silence") {
        builder = builder.watch_silence(silence);
    }
    let token = match (case["tokens"].as_array(), case["token"].as_str()) {
        (Some(tokens), _) => {
            let (tokens, asked) = (tokens.clone(), asked.clone());
            Token::callback(move || {
                let token = tokens[asked.fetch_add(1, Ordering::SeqCst)].as_str().map(str::to_owned);
                async { token.ok_or("there is none") }
            })
        }
        (None, Some(token)) => Token::fixed(token),
        (None, None) => Token::none(),
    };
    builder.token(token).build().unwrap()
}

async fn take(service: &SessiondSessionService, step: &str, items: &Mutex<Vec<String>>, count: u64) -> Value {
    let one = identity("a", "u", "s");
    let state = json!({"k": "hunter2"});
    let done = match step {
        "append" => {
            let mut said = event("i", state);
            (said.id, said.timestamp) = ("e1".into(), Default::default());
            append(service, &one, said).await
        }
        "create" => create(service, "a", "u", Some("s"), state).await.map(drop),
        "get" => service.get(get_request(&one)).await.map(drop),
        "list" => {
            let list = ListRequest { app_name: "a".into(), user_id: "u".into(), limit: None, offset: None };
            service.list(list).await.map(drop)
        }
        "delete" => service.delete_for_identity(&one).await,
        _ => return watch(service, items, count).await,
    };
    done.map_or_else(|error| told_by_adk(&error), |()| Value::Null)
}

async fn watch(service: &SessiondSessionService, items: &Mutex<Vec<String>>, count: u64) -> Value {
    let mut watch = service.watch(&identity("a", "u", "s"), WatchFrom::Start, false);
    while let Some(item) = watch.next().await {
        let item = match item {
            Ok(WatchItem::Event { event, cursor, .. }) => format!("event {} {cursor}", event.id),
            Ok(WatchItem::CaughtUp { cursor, .. }) => format!("caught_up {cursor}"),
            Ok(WatchItem::Deleted { cursor, .. }) => format!("deleted {cursor}"),
            Ok(other) => panic!("{other:?}"),
            Err(error) => return told(&error),
        };
        let mut items = items.lock().unwrap();
        items.push(item);
        if items.len() as u64 == count {
            break;
        }
    }
    Value::Null
}

/// What the fake server finds wrong after a case.
async fn complaints(fake: &FakeServer, name: &str, case: &Value) -> Vec<String> {
    let (asked, items) = (Arc::default(), Mutex::default());
    let url = format!("{}/rust/{name}", if case["away"].is_null() { &fake.url } else { &fake.away });
    let service = service(&format!("{url}/"), case, &asked);
    let mut results = Vec::new();
    for step in case["do"].as_array().unwrap() {
        let together = case["together"].as_u64().unwrap_or(1);
        let count = case["items"].as_u64().unwrap_or_default();
        let taken = (0..together).map(|_| take(&service, step.as_str().unwrap(), &items, count));
        results.extend(join_all(taken).await);
    }
    let (asked, items) = (asked.load(Ordering::SeqCst), items.into_inner().unwrap());
    let did = json!({"language": "rust", "url": url, "asked": asked, "items": items, "results": results});
    serde_json::from_value(plain(Method::POST, format!("{}/check/rust/{name}", fake.url), did).await).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_answer_is_met_as_the_data_says() {
    let text = std::fs::read_to_string(Path::new(WIRE).join("requests.json")).unwrap();
    let data: Value = serde_json::from_str(&text).unwrap();
    let cases: BTreeMap<String, Value> = serde_json::from_value(data["cases"].clone()).unwrap();
    let fake = FakeServer::start();
    let is_of_rust = |case: &Value| case["only"].as_array().is_none_or(|only| only.contains(&"rust".into()));
    // Most cases wait. All at once would take one another's time on a slow machine.
    let wrong = stream::iter(cases.iter().filter(|(_, case)| is_of_rust(case)))
        .map(|(name, case)| complaints(&fake, name, case))
        .buffer_unordered(8)
        .concat()
        .await;
    assert_eq!(wrong, [""; 0]);
}
