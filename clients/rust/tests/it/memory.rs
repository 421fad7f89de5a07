//! What was said, found by its words, and remembered by agents.

use std::sync::Arc;

use adk_core::{AdkError, Content, ErrorCategory, Event, Part, identity::AdkIdentity};
use adk_memory::{MemoryEntry, MemoryService, MemoryServiceAdapter, SearchRequest};
use adk_session::{InMemorySessionService, SessionService};
use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use sessiond_adk::{ErrorKind, SearchOptions, SessiondMemoryService};

use crate::support::{
    app, append, create, event, get_request, identity, indexed, new_session, plain, sessions, shared, source,
};

fn said(id: &str, author: &str, parts: Vec<Part>) -> Event {
    let mut event = event("i", json!({}));
    (event.id, event.author) = (id.into(), author.into());
    event.set_content(Content { role: "user".into(), parts });
    event
}

async fn say(service: &impl SessionService, to: &AdkIdentity, id: &str, author: &str, text: &str) -> Event {
    let event = said(id, author, vec![Part::text_part(text)]);
    append(service, to, event.clone()).await.unwrap();
    event
}

fn request(app: &str, query: &str, limit: Option<usize>) -> SearchRequest {
    let (query, user_id, app_name) = (query.into(), "ada".into(), app.into());
    SearchRequest { query, user_id, app_name, limit, min_score: None, project_id: None }
}

async fn found(memory: &SessiondMemoryService, app: &str, query: &str) -> Vec<String> {
    let found = memory.search(request(app, query, None)).await.unwrap().memories;
    found.iter().map(|entry| format!("{}: {}", entry.author, texts(&entry.content).concat())).collect()
}

fn texts(content: &Content) -> Vec<&str> {
    content.parts.iter().map(|part| part.text().unwrap()).collect()
}

/// What a program makes of the events of a session, for its memory.
fn entries(events: Vec<Event>) -> Vec<MemoryEntry> {
    let entry = |event: Event| {
        let content = event.llm_response.content?;
        Some(MemoryEntry { content, author: event.author, timestamp: event.timestamp })
    };
    events.into_iter().filter_map(entry).collect()
}

async fn memories(app: &str) -> Vec<Value> {
    let url = format!("{}/v1/apps/{app}/users/ada/sessions/memories/events", shared());
    plain(Method::GET, url, Value::Null).await["events"].as_array().unwrap().clone()
}

#[tokio::test]
async fn what_was_said_is_found_and_narrowed() {
    let (service, app) = (sessions(), indexed().await);
    let (one, other) = (new_session(&service, &app).await, identity(&app, "ada", "other/s"));
    create(&service, &app, "ada", Some("other/s"), json!({})).await.unwrap();
    create(&service, &app, "bob", Some("s"), json!({})).await.unwrap();
    let named = json!({"displayName": "Tea & cake"});
    plain(Method::PATCH, format!("{}/v1/apps/{app}/users/ada/sessions/s", shared()), named).await;
    let first = say(&service, &one, "e1", "user", "Green tea").await;
    say(&service, &other, "e2", "waiter", "tea, GRÜN tea and cake").await;
    say(&service, &identity(&app, "bob", "s"), "e3", "user", "tea").await;

    let search = async |text: &str, options: SearchOptions| service.search(&app, "ada", text, &options).await;
    let ids = async |text: &str, options: SearchOptions| -> Vec<String> {
        let found = search(text, options).await.unwrap();
        assert!(found.complete);
        found.hits.into_iter().map(|hit| format!("{}/{}", hit.session_id, hit.event.id)).collect()
    };
    let all = SearchOptions::default;
    let hits = search("tea cake", all()).await.unwrap().hits;
    assert_eq!(hits.iter().map(|hit| &*hit.event.id).collect::<Vec<_>>(), ["e2", "e1"]);
    assert!(hits[0].score > hits[1].score && hits[1].score > 0.0);
    assert_eq!((&hits[0].display_name, hits[1].display_name.as_deref()), (&None, Some("Tea & cake")));
    assert_eq!(
        (hits[1].event.timestamp, hits[1].event.content().map(texts)),
        (first.timestamp, Some(vec!["Green tea"]))
    );
    let stored = hits[0].commit_time;

    assert_eq!(ids("grun", all()).await, ["other/s/e2"]);
    assert_eq!(ids("gree", all()).await, [""; 0]);
    assert_eq!(ids("tea", SearchOptions { limit: Some(1), ..all() }).await, ["other/s/e2"]);
    assert_eq!(ids("tea", SearchOptions { author: Some("user".into()), ..all() }).await, ["s/e1"]);
    assert_eq!(ids("tea", SearchOptions { session_id: Some("s".into()), ..all() }).await, ["s/e1"]);
    assert_eq!(ids("tea", SearchOptions { session_id: Some("none".into()), ..all() }).await, [""; 0]);
    assert_eq!(ids("tea", SearchOptions { except_session_id: Some("s".into()), ..all() }).await, ["other/s/e2"]);
    assert_eq!(ids("tea", SearchOptions { since: Some(stored), ..all() }).await, ["other/s/e2"]);
    assert_eq!(ids("tea", SearchOptions { until: Some(stored), ..all() }).await, ["s/e1"]);
    for (text, limit) in [("", None), ("?!", None), ("tea", Some(0)), ("tea", Some(101))] {
        let error = search(text, SearchOptions { limit, ..all() }).await.err().unwrap();
        assert_eq!((error.kind, error.status), (ErrorKind::InvalidInput, Some(422)), "{text:?} {limit:?}");
    }
    service.rewind_steps_for_identity(&one, 1).await.unwrap();
    assert_eq!(ids("tea", all()).await, ["other/s/e2"]);
}

#[tokio::test]
async fn an_app_without_an_index_says_how_it_gets_one() {
    let (service, app) = (sessions(), app());
    let error = service.search(&app, "ada", "tea", &SearchOptions::default()).await.err().unwrap();
    assert_eq!((error.kind, error.code.as_deref()), (ErrorKind::SearchOff, Some("search_off")));
    let error = service.memory().search(request(&app, "tea", None)).await.err().unwrap();
    assert!(error.is_memory() && error.message.contains("/policy"), "{error}");
    assert_eq!((error.code, error.category), ("memory.search_off", ErrorCategory::Unsupported));
    assert_eq!(source(&error).kind, ErrorKind::SearchOff);
    assert_eq!(AdkError::from(source(&error).clone()).code, "session.search_off");
}

#[tokio::test]
async fn what_was_said_is_remembered() {
    let (service, app) = (sessions(), indexed().await);
    let (one, memory) = (new_session(&service, &app).await, service.memory());
    let first = say(&service, &one, "e1", "user", "My favourite tea is Sencha.").await;
    let plan = Part::Thinking { thinking: "a plan of sencha".into(), signature: None };
    let noted = vec![plan, Part::text_part("Noted: "), Part::text_part("SENCHA")];
    append(&service, &one, said("e2", "waiter", noted)).await.unwrap();
    say(&service, &one, "e3", "user", " my  SENCHA").await;

    assert_eq!(
        found(&memory, &app, "my sencha").await,
        ["user:  my  SENCHA", "user: My favourite tea is Sencha.", "waiter: Noted: SENCHA"]
    );
    // What says just the query is the question.
    assert_eq!(found(&memory, &app, "my SENCHA").await, ["user: My favourite tea is Sencha.", "waiter: Noted: SENCHA"]);
    assert_eq!(found(&memory, &app, "plan").await, [""; 0]);
    let favourite = memory.search(request(&app, "favourite", None)).await.unwrap().memories.remove(0);
    assert_eq!((favourite.timestamp, &*favourite.content.role), (first.timestamp, "user"));
    for query in ["", " ", "?!"] {
        assert_eq!(found(&memory, &app, query).await, [""; 0], "{query:?}");
    }
    assert_eq!(found(&memory, &app, &"favourite ä ".repeat(100_000)).await.len(), 1);
    let of_project = SearchRequest { project_id: Some("p".into()), ..request(&app, "tea", None) };
    assert_eq!(memory.search(of_project).await.err().unwrap().code, "memory.invalid_input");
}

#[tokio::test]
async fn not_all_is_remembered() {
    let (service, app) = (sessions(), indexed().await);
    let one = new_session(&service, &app).await;
    for number in 0..12 {
        say(&service, &one, &format!("e{number}"), "user", &format!("tea {number}")).await;
    }
    let memory = service.memory();
    for (limit, expected) in [(None, 10), (Some(0), 0), (Some(2), 2), (Some(usize::MAX), 12)] {
        let memories = memory.search(request(&app, "tea", limit)).await.unwrap().memories;
        let newest: Vec<_> = (0..12).rev().take(expected).map(|number| format!("tea {number}")).collect();
        assert_eq!(memories.iter().flat_map(|entry| texts(&entry.content)).collect::<Vec<_>>(), newest, "{limit:?}");
    }
}

#[tokio::test]
async fn a_session_of_sessiond_is_only_looked_at() {
    let (service, app) = (sessions(), indexed().await);
    let (one, memory) = (new_session(&service, &app).await, service.memory());
    for (id, text) in [("e1", "black tea"), ("e2", "white tea"), ("e3", "a secret")] {
        say(&service, &one, id, "user", text).await;
    }
    let read = entries(service.get(get_request(&one)).await.unwrap().events().all());
    // What is taken back is not remembered again.
    let url = format!("{}/v1/apps/{app}/users/ada/sessions/s", shared());
    plain(Method::POST, format!("{url}/events/e3/redact"), json!({})).await;
    service.rewind_for_identity(&one, "e1").await.unwrap();
    for _ in 0..2 {
        memory.add_session(&app, "ada", "s", read.clone()).await.unwrap();
    }
    assert_eq!(found(&memory, &app, "the tea, a secret").await, ["user: black tea"]);
    let sessions = format!("{}/v1/apps/{app}/users/ada/sessions", shared());
    assert_eq!(plain(Method::GET, sessions, Value::Null).await["sessions"].as_array().unwrap().len(), 1);

    plain(Method::DELETE, url, Value::Null).await;
    let error = memory.add_session(&app, "ada", "s", read).await.err().unwrap();
    assert_eq!((error.code, error.is_not_found()), ("memory.not_found", true));
    assert_eq!(found(&memory, &app, "black").await, [""; 0]);
}

#[tokio::test]
async fn sessions_of_elsewhere_are_kept_once() {
    let (app, elsewhere) = (indexed().await, InMemorySessionService::new());
    let far = identity(&app, "ada", "far");
    create(&elsewhere, &app, "ada", Some("far"), json!({})).await.unwrap();
    let add = async || {
        let read = elsewhere.get(get_request(&far)).await.unwrap().events().all();
        sessions().memory().add_session(&app, "ada", "far", entries(read)).await.unwrap();
    };
    say(&elsewhere, &far, "e1", "user", "oolong tea").await;
    let call = Part::FunctionCall { name: "tea".into(), args: json!({}), id: None, thought_signature: None };
    append(&elsewhere, &far, said("e2", "waiter", vec![call])).await.unwrap();
    add().await;
    say(&elsewhere, &far, "e3", "waiter", "assam tea").await;
    join_all((0..4).map(|_| add())).await;
    assert_eq!(found(&sessions().memory(), &app, "which tea").await, ["waiter: assam tea", "user: oolong tea"]);
    assert_eq!(memories(&app).await.len(), 2);
    // One that was redacted stays so.
    let redact = memories(&app).await[0]["id"].as_str().unwrap().to_owned();
    let url = format!("{}/v1/apps/{app}/users/ada/sessions/memories/events/{redact}/redact", shared());
    plain(Method::POST, url, json!({})).await;
    add().await;
    assert_eq!(found(&sessions().memory(), &app, "which tea").await, ["waiter: assam tea"]);
}

#[tokio::test]
async fn memories_have_the_form_of_all_clients() {
    let (service, app) = (sessions(), indexed().await);
    let memory = service.memory();
    let timestamp: DateTime<Utc> = "2026-01-02T03:04:05.25Z".parse().unwrap();
    let image =
        Part::InlineData { mime_type: "image/png".into(), data: vec![251, 255, 0], uri: None, annotations: None };
    let content = Content { role: "user".into(), parts: vec![Part::text_part("a cup of tea"), image] };
    let entry = MemoryEntry { content, author: "user".into(), timestamp };
    for entry in
        [entry.clone(), entry.clone(), MemoryEntry { timestamp: timestamp + TimeDelta::nanoseconds(1), ..entry }]
    {
        memory.add_entry(&app, "ada", entry).await.unwrap();
    }
    let mut stored = memories(&app).await;
    assert_eq!(stored.len(), 2);
    let stored = stored[0].as_object_mut().unwrap();
    // The same in each version of this crate, or it would be remembered twice.
    assert_eq!(stored["id"], "59d37e8c-223d-5f99-94b5-a30bf0ca5b82");
    for of_the_server in ["id", "sequence", "commitTime"] {
        stored.remove(of_the_server).unwrap();
    }
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "-_8A"}});
    let content = json!({"role": "user", "parts": [{"text": "a cup of tea"}, image]});
    assert_eq!(json!(stored), json!({"author": "user", "timestamp": 1_767_323_045.25, "content": content}));

    // As `add_memory` of Python writes it.
    let of_python = json!({
        "id": "m1", "author": "waiter", "timestamp": 1_767_323_046, "customMetadata": {"source": "crm"},
        "content": {"role": "model", "parts": [{"text": "likes sencha"}]},
    });
    let url = format!("{}/v1/apps/{app}/users/ada/sessions/memories/events", shared());
    plain(Method::POST, url, of_python).await;
    assert_eq!(found(&memory, &app, "sencha").await, ["waiter: likes sencha"]);
}

#[tokio::test]
async fn what_is_deleted_is_redacted() {
    let (service, app) = (sessions(), indexed().await);
    let (one, memory) = (new_session(&service, &app).await, service.memory());
    for (id, text) in [("e1", "My Tea is: sencha!"), ("e2", "sencha"), ("e3", "my steak")] {
        say(&service, &one, id, "user", text).await;
    }
    let entry = MemoryEntry {
        content: Content::new("user").with_text("sencha, my tea"),
        author: "user".into(),
        timestamp: Utc::now(),
    };
    // More than one answer has.
    let cakes: Value =
        (0..101).map(|_| json!({"author": "user", "content": {"parts": [{"text": "a cake"}]}})).collect();
    plain(Method::POST, format!("{}/v1/apps/{app}/users/ada/sessions/s/events", shared()), cakes).await;
    // As a runner has it.
    let of_ada = MemoryServiceAdapter::new(Arc::new(memory.clone()), &*app, "ada");
    memory.add_entry(&app, "ada", entry).await.unwrap();
    for (query, deleted) in [("?!", 0), ("my tea", 2), ("my tea", 0), ("cake", 101)] {
        assert_eq!(adk_core::Memory::delete(&of_ada, query).await.unwrap(), deleted, "{query}");
    }
    assert_eq!(found(&memory, &app, "my tea sencha cake ?").await, ["user: my steak", "user: sencha"]);
    let kept = service.get(get_request(&one)).await.unwrap().events().all();
    assert_eq!(kept[..3].iter().map(|event| event.content().is_some()).collect::<Vec<_>>(), [false, true, true]);
    memory.health_check().await.unwrap();
}
