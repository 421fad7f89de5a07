//! What this service promises beyond the contract.

use adk_artifact::{ArtifactService as _, LoadRequest};
use adk_core::{Content, ErrorCategory, Event, Part};
use adk_memory::MemoryService as _;
use adk_session::{GetRequest, Session, SessionService};
use chrono::{DateTime, Duration, Utc};
use reqwest::Method;
use serde_json::{Value, json};
use sessiond_adk::{Outcome, SessiondSessionService, UNKNOWN};

use crate::support::{
    app, append, create, event, get_request, identity, ids, new_session, plain, sessions, shared, source,
};

fn numbers() -> [&'static str; 8] {
    ["0", "-1", "9223372036854775807", "18446744073709551615", "-9223372036854775808", "1.5", "0.1", "5e-324"]
}

#[tokio::test]
async fn awkward_names_and_values_are_kept() {
    let (service, app) = (sessions(), format!("{}/ü ?#%41", app()));
    let state = json!({
        "": "empty", "a/b": 1, "%": null, "Temp:x": 1, "foo:bar": [], "app:": {"deep": [{"é😀": "\u{0}"}]}, "user:é": "\"\\\n"
    });
    let created = create(&service, &app, "üser/?", Some("  s/../é%2F  "), state.clone()).await.unwrap();
    assert_eq!(created.id(), "s/../é%2F");
    let identity = identity(&app, "üser/?", "s/../é%2F");
    let read = service.get(get_request(&identity)).await.unwrap();
    assert_eq!(serde_json::to_value(read.state().all()).unwrap(), state);
    let mut said = event("i/ö", json!({"a/b": [1, "2"]}));
    said.id = "e/é?".into();
    append(&service, &identity, said).await.unwrap();
    let read = service.get(get_request(&identity)).await.unwrap();
    assert_eq!(ids(read.as_ref()), ["e/é?"]);
    assert_eq!(read.state().get("a/b"), Some(json!([1, "2"])));
    let rewound = service.rewind_for_identity(&identity, "e/é?").await.unwrap();
    assert_eq!(rewound.state().get("a/b"), Some(json!([1, "2"])));
    service.delete_for_identity(&identity).await.unwrap();
}

#[tokio::test]
async fn names_that_are_none_are_refused_in_the_words_of_all_clients_before_anything_is_sent() {
    let names: Value = serde_json::from_str(include_str!("../../../wire/names.json")).unwrap();
    // Nobody answers there.
    let service = SessiondSessionService::builder("http://127.0.0.1:1").attempts(1).build().unwrap();
    let files = service.artifacts();
    let cases = |of: &str| names[of].as_array().unwrap().clone();
    for what in ["app", "user", "session", "file"] {
        let of = names["of"][what].as_str().unwrap();
        let more = if what == "session" { cases("refusedSessions") } else { vec![] };
        for case in cases("refused").into_iter().chain(more) {
            let name = case["name"].as_str().unwrap();
            let said = format!("The {of} {}.", case["because"].as_str().unwrap());
            let pick = |place: &str, other: &str| if place == what { name.to_owned() } else { other.to_owned() };
            let (app, user) = (pick("app", "a"), pick("user", "u"));
            let (session, file) = (pick("session", "s"), pick("file", "f"));
            let mut errors = Vec::new();
            // ADK's own types refuse names that are empty, in their words.
            if what != "file" && !name.is_empty() {
                errors.push(create(&service, &app, &user, Some(&session), json!({})).await.err().unwrap());
                errors.push(service.get(get_request(&identity(&app, &user, &session))).await.err().unwrap());
            }
            if what != "file" {
                errors.push(service.memory().add_session(&app, &user, &session, vec![]).await.err().unwrap());
            }
            // A file without a session is the user's.
            if what != "session" || !name.trim().is_empty() {
                let (app_name, user_id, session_id, file_name) = (app, user, session, file);
                errors.push(
                    files
                        .load(LoadRequest { app_name, user_id, session_id, file_name, version: None })
                        .await
                        .err()
                        .unwrap(),
                );
            }
            for error in errors {
                assert_eq!(error.message, said);
                assert_eq!(error.category, ErrorCategory::InvalidInput);
                let error = source(&error);
                assert_eq!(
                    (error.status, error.code.as_deref(), error.outcome),
                    (None, Some("invalid_argument"), Some(Outcome::NotApplied))
                );
            }
        }
    }
}

#[tokio::test]
async fn numbers_survive_as_far_as_values_can_hold_them() {
    let (service, app) = (sessions(), app());
    let identity = new_session(&service, &app).await;
    for text in numbers() {
        let number: Value = serde_json::from_str(text).unwrap();
        append(&service, &identity, event("i", json!({"n": number}))).await.unwrap();
        let read = service.get(get_request(&identity)).await.unwrap();
        assert_eq!(read.state().get("n"), Some(number), "{text}");
        assert_eq!(service.state_text(&identity, "n").await.unwrap().as_deref(), Some(text));
    }
    // What does not fit into a `Value` is there to the digit, in the server.
    let big = format!("{}7", "9".repeat(40));
    let url = format!("{}/v1/apps/{app}/users/ada/sessions/s/state/n", shared());
    plain(Method::PUT, url, &big).await;
    assert_eq!(service.state_text(&identity, "n").await.unwrap(), Some(big));
    assert!(service.get(get_request(&identity)).await.unwrap().state().get("n").unwrap().is_f64());
    assert_eq!(service.state_text(&identity, "none").await.unwrap(), None);
}

#[tokio::test]
async fn an_existing_session_is_untouched() {
    let (service, app) = (sessions(), app());
    create(&service, &app, "ada", Some("s"), json!({"k": 1})).await.unwrap();
    let error = create(&service, &app, "ada", Some("s"), json!({"k": 2})).await.err().unwrap();
    assert_eq!(error.code, "session.already_exists");
    assert_eq!(source(&error).code.as_deref(), Some("session_already_exists"));
    let read = service.get(get_request(&identity(&app, "ada", "s"))).await.unwrap();
    assert_eq!(read.state().get("k"), Some(json!(1)));
}

#[tokio::test]
async fn scopes_are_shared_as_their_prefixes_say() {
    let (service, app) = (sessions(), app());
    let one = new_session(&service, &app).await;
    append(&service, &one, event("i", json!({"app:a": 1, "user:u": 2, "own": 3, "temp:t": 4}))).await.unwrap();
    let same_user = create(&service, &app, "ada", None, json!({})).await.unwrap();
    let other_user = create(&service, &app, "bob", None, json!({})).await.unwrap();
    assert_eq!(serde_json::to_value(same_user.state().all()).unwrap(), json!({"app:a": 1, "user:u": 2}));
    assert_eq!(serde_json::to_value(other_user.state().all()).unwrap(), json!({"app:a": 1}));
    let stored = plain(Method::GET, format!("{}/v1/apps/{app}/users/ada/sessions/s", shared()), Value::Null).await;
    assert!(!stored.to_string().contains("temp:"), "{stored}");
}

#[tokio::test]
async fn partial_events_are_not_stored() {
    let (service, app) = (sessions(), app());
    let identity = new_session(&service, &app).await;
    let mut partial = event("i", json!({"k": 1}));
    partial.llm_response.partial = true;
    append(&service, &identity, partial.clone()).await.unwrap();
    service.append_event("s", partial).await.unwrap();
    let read = service.get(get_request(&identity)).await.unwrap();
    assert!(read.events().is_empty() && read.state().all().is_empty());
}

#[tokio::test]
async fn an_event_is_stored_once() {
    let (service, app) = (sessions(), app());
    let identity = new_session(&service, &app).await;
    let said = event("i", json!({"k": 1}));
    for _ in 0..2 {
        append(&service, &identity, said.clone()).await.unwrap();
    }
    // Also as it is read.
    let read = service.get(get_request(&identity)).await.unwrap();
    append(&service, &identity, read.events().at(0).unwrap().clone()).await.unwrap();
    assert_eq!(ids(service.get(get_request(&identity)).await.unwrap().as_ref()), [&*said.id]);

    let mut other = event("i", json!({"k": 2}));
    other.id = said.id;
    let error = append(&service, &identity, other).await.err().unwrap();
    assert_eq!(error.code, "session.event_id_conflict");
    assert_eq!(service.get(get_request(&identity)).await.unwrap().state().get("k"), Some(json!(1)));
}

#[tokio::test]
async fn filters_count_recent_events_first() {
    let (service, app) = (sessions(), app());
    let identity = new_session(&service, &app).await;
    let began = Utc::now();
    // The clock of the third one is behind.
    let times: Vec<DateTime<Utc>> = [0, 10, 5, 20].map(|seconds| began + Duration::seconds(seconds)).to_vec();
    let mut sent = Vec::new();
    for time in &times {
        let mut said = event("i", json!({}));
        said.timestamp = *time;
        sent.push(said.id.clone());
        append(&service, &identity, said).await.unwrap();
    }
    for (num_recent_events, after, expected) in [
        (Some(0), None, vec![]),
        (Some(2), None, vec![2, 3]),
        (Some(9), None, vec![0, 1, 2, 3]),
        (Some(usize::MAX), None, vec![0, 1, 2, 3]),
        (None, Some(times[1]), vec![1, 3]),
        (None, Some(times[1] + Duration::nanoseconds(1)), vec![3]),
        (Some(2), Some(times[1]), vec![3]),
        (None, Some(DateTime::UNIX_EPOCH), vec![0, 1, 2, 3]),
    ] {
        let request = GetRequest { num_recent_events, after, ..get_request(&identity) };
        let expected: Vec<_> = expected.into_iter().map(|index: usize| sent[index].clone()).collect();
        let read = service.get(request).await.unwrap();
        assert_eq!(ids(read.as_ref()), expected, "{num_recent_events:?} {after:?}");
        assert_eq!(read.last_update_time(), times[3]);
    }
}

#[tokio::test]
async fn events_come_back_as_they_were() {
    let (service, app) = (sessions(), app());
    let identity = new_session(&service, &app).await;
    let mut said = event("i", json!({"k": {"deep": [1, null]}}));
    said.branch = "root.waiter".into();
    said.set_content(Content {
        role: "model".into(),
        parts: vec![
            Part::Text { text: "é\u{0}".into() },
            Part::FunctionCall {
                name: "f".into(),
                args: json!({"x": 1.5}),
                id: Some("c".into()),
                thought_signature: None,
            },
            Part::InlineData { mime_type: "a/b".into(), data: vec![0, 255], uri: Some("u".into()), annotations: None },
        ],
    });
    said.long_running_tool_ids = vec!["c".into()];
    said.actions.artifact_delta.insert("file".into(), 2);
    said.actions.transfer_to_agent = Some("other".into());
    said.actions.escalate = true;
    said.llm_response.turn_complete = true;
    said.llm_response.error_code = Some("E".into());
    said.provider_metadata.insert("p".into(), "q".into());
    append(&service, &identity, said.clone()).await.unwrap();
    let read = service.get(get_request(&identity)).await.unwrap();
    let mut read = read.events().at(0).unwrap().clone();
    assert_eq!(read.provider_metadata.remove(UNKNOWN), None);
    assert_eq!(serde_json::to_value(read).unwrap(), serde_json::to_value(said).unwrap());
}

/// The ids of events; of one that a rewind into its invocation has appended once more, that of the first.
fn sources(session: &dyn Session) -> Vec<String> {
    let source = |event: Event| event.provider_metadata.get("rewindCopyOf").cloned().unwrap_or(event.id);
    session.events().all().into_iter().map(source).collect()
}

#[tokio::test]
async fn a_rewind_takes_back_events_and_session_state() {
    let (service, app) = (sessions(), app());
    create(&service, &app, "ada", Some(&app), json!({"start": 0})).await.unwrap();
    let identity = identity(&app, "ada", &app);
    let mut sent = Vec::new();
    for number in 1..=4 {
        let said = event(&format!("i{}", number / 2), json!({"n": number, "app:n": number, format!("k{number}"): 1}));
        sent.push(said.id.clone());
        append(&service, &identity, said).await.unwrap();
    }
    let rewound = service.rewind(&app, &sent[1]).await.unwrap();
    assert_eq!(sources(rewound.as_ref()), sent[..2]);
    let expected = json!({"start": 0, "n": 2, "k1": 1, "k2": 1, "app:n": 4});
    assert_eq!(serde_json::to_value(rewound.state().all()).unwrap(), expected);

    // So it is for whoever reads it, and what comes after it is there.
    let said = event("later", json!({"n": 5}));
    sent.truncate(2);
    sent.push(said.id.clone());
    append(&service, &identity, said).await.unwrap();
    assert_eq!(sources(service.get(get_request(&identity)).await.unwrap().as_ref()), sent);
    let recent = |count| GetRequest { num_recent_events: Some(count), ..get_request(&identity) };
    assert_eq!(sources(service.get(recent(1)).await.unwrap().as_ref()), sent[2..]);
    assert_eq!(sources(service.get(recent(2)).await.unwrap().as_ref()), sent[1..]);
    assert_eq!(sources(service.get(recent(9)).await.unwrap().as_ref()), sent);

    assert_eq!(service.rewind(&app, "none").await.err().unwrap().code, "session.not_found");
    assert_eq!(sources(service.rewind_steps(&app, 0).await.unwrap().as_ref()), sent);
    assert_eq!(service.rewind_steps(&app, 4).await.err().unwrap().category, ErrorCategory::InvalidInput);
    assert_eq!(sources(service.rewind_steps(&app, 1).await.unwrap().as_ref()), sent[..2]);
    let empty = service.rewind_steps(&app, 2).await.unwrap();
    assert_eq!(serde_json::to_value(empty.state().all()).unwrap(), json!({"start": 0, "app:n": 4}));
    assert!(empty.events().is_empty());
}

#[tokio::test]
async fn writers_do_not_lose_what_others_write() {
    let (service, app) = (sessions(), app());
    let identity = new_session(&service, &app).await;
    let writes = (0..20).map(|number| {
        let (service, identity) = (service.clone(), identity.clone());
        tokio::spawn(async move {
            let delta = json!({format!("app:k{number}"): number, format!("own{number}"): number});
            append(&service, &identity, event(&format!("i{number}"), delta)).await
        })
    });
    for write in writes.collect::<Vec<_>>() {
        write.await.unwrap().unwrap();
    }
    let read = service.get(get_request(&identity)).await.unwrap();
    assert_eq!((read.events().len(), read.state().all().len()), (20, 40));
}

#[tokio::test]
async fn urls_and_tokens_that_cannot_be_are_refused_without_being_shown() {
    for url in ["", "127.0.0.1:8080", "sessiond://h", "http://me:secret@h", "http://h?token=secret", "https://h#secret"]
    {
        let error = SessiondSessionService::new(url).err().unwrap();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    let token = sessiond_adk::Token::fixed("se cret");
    assert!(!format!("{token:?}").contains("cret"));
    let error = SessiondSessionService::builder("http://h").token(token).build().err().unwrap();
    assert!(!error.to_string().contains("cret"), "{error}");
    let service = SessiondSessionService::builder("http://h/base/").build().unwrap();
    assert!(format!("{service:?}").contains("\"http://h/base\""), "{service:?}");
}
