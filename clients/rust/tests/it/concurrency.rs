//! Several writers of one session.

use std::time::Duration;

use adk_session::SessionService;
use serde_json::{Value, json};
use sessiond_adk::{Concurrency, ErrorKind, Outcome, SessiondSessionService, ops::Op};

use crate::support::{app, append, create, event, get_request, identity, ids, new_session, sessions, shared, source};

const TTL: Duration = Duration::from_secs(60);
const LONG: Duration = Duration::from_secs(60);

fn strict() -> SessiondSessionService {
    SessiondSessionService::builder(shared()).concurrency(Concurrency::Session).build().unwrap()
}

fn leasing(wait: Duration) -> SessiondSessionService {
    SessiondSessionService::builder(shared()).concurrency(Concurrency::Lease { wait, ttl: TTL }).build().unwrap()
}

fn turns() -> SessiondSessionService {
    leasing(Duration::ZERO)
}

#[tokio::test]
async fn of_those_who_have_read_one_session_one_appends() {
    let (one, other, app) = (strict(), strict(), app());
    let identity = new_session(&one, &app).await;
    let (ones, _others) =
        (one.get(get_request(&identity)).await.unwrap(), other.get(get_request(&identity)).await.unwrap());
    for _ in 0..3 {
        append(&one, &identity, event("i1", json!({"k": "one"}))).await.unwrap();
    }
    let stale = event("i2", json!({"k": "other"}));
    let error = append(&other, &identity, stale.clone()).await.err().unwrap();
    assert_eq!(error.code, "session.stale");
    assert_eq!((source(&error).status, source(&error).outcome), (Some(412), Some(Outcome::NotApplied)));
    // It goes on when it has seen what it had missed, in a new invocation.
    let read = other.get(get_request(&identity)).await.unwrap();
    assert_eq!(read.state().get("k"), Some(json!("one")));
    append(&other, &identity, event("i3", json!({"k": "other"}))).await.unwrap();
    assert!(append(&one, &identity, event("i1", json!({}))).await.is_err());
    drop(ones);
}

#[tokio::test]
async fn invocations_of_one_process_are_told_apart() {
    let (service, app) = (strict(), app());
    let identity = new_session(&service, &app).await;
    let run = |invocation: &'static str| {
        let (service, identity) = (service.clone(), identity.clone());
        async move {
            let (read_it, go) = (tokio::sync::oneshot::channel::<()>(), tokio::sync::oneshot::channel::<()>());
            let task = tokio::spawn(async move {
                let read = service.get(get_request(&identity)).await.unwrap();
                let _ = read_it.0.send(());
                go.1.await.unwrap();
                let first = append(&service, &identity, event(invocation, json!({"by": invocation}))).await;
                let second = append(&service, &identity, event(invocation, json!({}))).await;
                drop(read);
                (first, second)
            });
            read_it.1.await.unwrap();
            (task, go.0)
        }
    };
    let (one, other) = (run("i1").await, run("i2").await);
    one.1.send(()).unwrap();
    let (first, second) = one.0.await.unwrap();
    assert!(first.is_ok() && second.is_ok());
    other.1.send(()).unwrap();
    let (first, second) = other.0.await.unwrap();
    assert_eq!((first.err().unwrap().code, second.err().unwrap().code), ("session.stale", "session.stale"));
    assert_eq!(service.get(get_request(&identity)).await.unwrap().state().get("by"), Some(json!("i1")));
}

#[tokio::test]
async fn what_was_never_read_is_stale() {
    let (one, other, app) = (strict(), strict(), app());
    let identity = new_session(&one, &app).await;
    let error = append(&other, &identity, event("i", json!({}))).await.err().unwrap();
    assert_eq!((error.code, source(&error).status), ("session.stale", None));
    assert!(error.message.contains("get it first"), "{error}");
    // What was created was seen, and so is each event of one's own, whatever its invocation.
    append(&one, &identity, event("i1", json!({}))).await.unwrap();
    append(&one, &identity, event("i2", json!({}))).await.unwrap();
    append(&one, &identity, event("", json!({}))).await.unwrap();
    // White space is no part of an id.
    append(&one, &crate::support::identity(&app, "ada", " s "), event("i3", json!({}))).await.unwrap();
}

#[tokio::test]
async fn a_retry_of_a_success_is_not_stale_and_operators_never_are() {
    let (service, app) = (strict(), app());
    let identity = new_session(&service, &app).await;
    let read = service.get(get_request(&identity)).await.unwrap();
    let said = event("i", json!({}));
    append(&service, &identity, said.clone()).await.unwrap();
    append(&service, &identity, said).await.unwrap();
    // An operator of the invocation is seen by it.
    service.apply_ops(&identity, &[Op::increment("n", 1)], "agent", "i").await.unwrap();
    append(&service, &identity, event("i", json!({}))).await.unwrap();
    // Behind the back of the invocation, an operator works all the same, and what follows is stale.
    append(&sessions(), &identity, event("x", json!({}))).await.unwrap();
    service.apply_ops(&identity, &[Op::increment("n", 1)], "agent", "i").await.unwrap();
    let error = append(&service, &identity, event("i", json!({}))).await.err().unwrap();
    assert_eq!(error.code, "session.stale");
    drop(read);
    let rewound = service.rewind_steps_for_identity(&identity, 1).await.err().unwrap();
    assert_eq!(rewound.kind, ErrorKind::Stale);
    drop(service.get(get_request(&identity)).await.unwrap());
    service.rewind_steps_for_identity(&identity, 1).await.unwrap();
}

#[tokio::test]
async fn operators_lose_nothing() {
    let (service, app) = (sessions(), app());
    let identity = new_session(&service, &app).await;
    let adds = (0..20).map(|_| {
        let (service, identity) = (service.clone(), identity.clone());
        tokio::spawn(async move {
            let ops = [Op::increment("app:n", 1), Op::append("list", ["x"]), Op::union("user:set", [1, 2])];
            service.apply_ops(&identity, &ops, "agent", "").await.unwrap()["app:n"].clone()
        })
    });
    let mut seen: Vec<Value> = Vec::new();
    for add in adds.collect::<Vec<_>>() {
        seen.push(add.await.unwrap());
    }
    seen.sort_by_key(Value::as_i64);
    assert_eq!(json!(seen), json!((1..=20).collect::<Vec<_>>()));
    let read = service.get(get_request(&identity)).await.unwrap();
    assert_eq!(read.state().get("list").unwrap().as_array().unwrap().len(), 20);
    assert_eq!(read.state().get("user:set"), Some(json!([1, 2])));
}

#[tokio::test]
async fn operators_do_what_they_say_all_or_none() {
    let (service, app) = (sessions(), app());
    create(&service, &app, "ada", Some("s"), json!({"a": 1, "o": {"x": 1, "y": 2}, "gone": 1})).await.unwrap();
    let identity = identity(&app, "ada", "s");
    let ops = [
        Op::set("s", json!(null)),
        Op::max("a", 5),
        Op::min("b", -2.5),
        Op::merge("o", json!({"x": null, "z": 3})),
        Op::remove("gone"),
    ];
    let values = service.apply_ops(&identity, &ops, "agent", "").await.unwrap();
    assert_eq!(json!(values), json!({"s": null, "a": 5, "b": -2.5, "o": {"y": 2, "z": 3}}));
    let error = service.apply_ops(&identity, &[Op::set("s", 1), Op::append("a", [1])], "agent", "").await;
    assert_eq!(error.err().unwrap().kind, ErrorKind::InvalidInput);
    let read = service.get(get_request(&identity)).await.unwrap();
    assert_eq!(read.state().get("s"), Some(Value::Null));
    assert_eq!(read.state().get("gone"), None);

    let holds = [json!({"key": "a", "equals": 5})];
    service.apply_ops_if(&identity, &holds, &[Op::increment("a", 1)], "agent", "").await.unwrap();
    let error = service.apply_ops_if(&identity, &holds, &[Op::increment("a", 1)], "agent", "").await.err().unwrap();
    assert_eq!((error.kind, error.status), (ErrorKind::Stale, Some(412)));
}

#[tokio::test]
async fn an_invocation_has_the_session_until_its_object_is_dropped() {
    let (one, other, app) = (turns(), turns(), app());
    let identity = new_session(&sessions(), &app).await;
    let ones = one.get(get_request(&identity)).await.unwrap();
    append(&one, &identity, event("i1", json!({"by": 1}))).await.unwrap();
    let others = other.get(get_request(&identity)).await.unwrap();
    let error = append(&other, &identity, event("i2", json!({"by": 2}))).await.err().unwrap();
    assert_eq!((error.code, source(&error).code.as_deref()), ("session.busy", Some("lease_held")));
    // What is no part of an invocation, and who takes no leases, may write.
    append(&other, &identity, event("", json!({}))).await.unwrap();
    append(&sessions(), &identity, event("i3", json!({}))).await.unwrap();
    append(&one, &identity, event("i1", json!({}))).await.unwrap();
    drop((ones, others));

    let waiting = leasing(LONG);
    // The end is a moment later: until then the other one waits, and has read what was there by then.
    let turn = waiting.turn(&identity, LONG, TTL).await.unwrap();
    let read = waiting.get(get_request(&identity)).await.unwrap();
    assert_eq!(read.events().len(), 4);
    append(&waiting, &identity, event("i4", json!({"by": 4}))).await.unwrap();
    turn.end().await.unwrap();
    assert_eq!(sessions().get(get_request(&identity)).await.unwrap().state().get("by"), Some(json!(4)));
}

#[tokio::test]
async fn who_waited_is_told_that_the_session_has_changed() {
    let (one, other, app) = (turns(), leasing(LONG), app());
    let identity = new_session(&sessions(), &app).await;
    let ones = one.get(get_request(&identity)).await.unwrap();
    append(&one, &identity, event("i1", json!({}))).await.unwrap();
    let others = other.get(get_request(&identity)).await.unwrap();
    let waiting = {
        let (other, identity) = (other.clone(), identity.clone());
        tokio::spawn(async move { append(&other, &identity, event("i2", json!({}))).await })
    };
    append(&one, &identity, event("i1", json!({}))).await.unwrap();
    drop(ones);
    let error = waiting.await.unwrap().err().unwrap();
    assert_eq!((error.code, source(&error).outcome), ("session.stale", Some(Outcome::NotApplied)));
    drop(others);
    // It has let go, and what is read now is good.
    let others = other.get(get_request(&identity)).await.unwrap();
    assert_eq!(others.events().len(), 2);
    append(&other, &identity, event("i3", json!({}))).await.unwrap();
    drop(others);
}

#[tokio::test]
async fn a_turn_that_was_superseded_stores_nothing_any_more() {
    superseded(false).await;
    superseded(true).await;
}

async fn superseded(same: bool) {
    let (service, app) = (sessions(), app());
    let identity = new_session(&service, &app).await;
    let short = Duration::from_secs(1);
    let old = service.turn(&identity, Duration::ZERO, short).await.unwrap();
    append(&service, &identity, event("i1", json!({}))).await.unwrap();
    // Also by a turn of the same service.
    let other = if same { service.clone() } else { sessions() };
    let new = other.turn(&identity, LONG, TTL).await.unwrap();
    for _ in 0..2 {
        let error = append(&service, &identity, event("i1", json!({}))).await.err().unwrap();
        assert_eq!((error.code, source(&error).code.as_deref()), ("session.stale", Some("fenced")));
    }
    append(&other, &identity, event("i2", json!({}))).await.unwrap();
    // To end the old one does not end the new one.
    old.end().await.unwrap();
    let busy = service.turn(&identity, Duration::ZERO, TTL).await.err().unwrap();
    assert_eq!(busy.kind, ErrorKind::Busy);
    drop(new);
    service.turn(&identity, LONG, TTL).await.unwrap().end().await.unwrap();
    assert_eq!(service.get(get_request(&identity)).await.unwrap().events().len(), 2);
}

#[tokio::test]
async fn an_append_without_a_session_object_is_a_turn_of_its_own() {
    let (service, app) = (turns(), app());
    let identity = new_session(&sessions(), &app).await;
    let said = [event("i1", json!({})), event("i2", json!({}))];
    for event in said.clone() {
        append(&service, &identity, event).await.unwrap();
    }
    let read = service.get(get_request(&identity)).await.unwrap();
    assert_eq!(ids(read.as_ref()), said.map(|event| event.id));
    let missing = service.turn(&crate::support::identity(&app, "ada", "none"), Duration::ZERO, TTL).await;
    assert_eq!(missing.err().unwrap().kind, ErrorKind::NotFound);
}
