//! What every session service of ADK for Rust does: its contract, and that no session is taken for that of another.

use adk_core::ErrorCategory;
use adk_session::{AppendEventRequest, DeleteRequest, GetRequest, ListRequest, SessionService};
use chrono::{Duration, Utc};
use serde_json::json;

use crate::support::{app, append, create, event, get_request, identity, ids, sessions};

async fn listed(service: &impl SessionService, app: &str, user: &str) -> Vec<String> {
    let request = ListRequest { app_name: app.into(), user_id: user.into(), limit: None, offset: None };
    service.list(request).await.unwrap().iter().map(|session| session.id().to_owned()).collect()
}

fn delete_request(app: &str, user: &str, session: &str) -> DeleteRequest {
    DeleteRequest { app_name: app.into(), user_id: user.into(), session_id: session.into() }
}

#[tokio::test]
async fn a_missing_session_and_a_bad_name_are_told_apart() {
    let (service, app) = (sessions(), app());
    let missing = service.get(get_request(&identity(&app, "ada", "none"))).await.err().unwrap();
    assert!(missing.is_not_found());
    assert_eq!(missing.code, "session.not_found");
    let request = GetRequest { user_id: String::new(), ..get_request(&identity(&app, "ada", "none")) };
    let invalid = service.get(request).await.err().unwrap();
    assert_eq!(invalid.category, ErrorCategory::InvalidInput);
}

#[tokio::test]
async fn the_life_of_a_session() {
    let (service, app, other_app) = (sessions(), app(), app());
    let initial = json!({"app:locale": "en", "user:name": "ada", "seed": 1, "temp:gone": true});
    let created = create(&service, &app, "ada", None, initial).await.unwrap();
    let id = created.id().to_owned();
    assert!(!id.is_empty());
    assert_eq!((created.app_name(), created.user_id()), (&*app, "ada"));

    let ada = identity(&app, "ada", &id);
    let read = service.get(get_request(&ada)).await.unwrap();
    assert_eq!(read.id(), id);
    assert_eq!(read.state().get("app:locale"), Some(json!("en")));
    assert_eq!(read.state().get("user:name"), Some(json!("ada")));
    assert_eq!(read.state().get("seed"), Some(json!(1)));
    assert_eq!(read.state().all().len(), 3);

    // By the id alone, as the service has seen one such session.
    let (first, mut second) = (event("i1", json!({"result": 1, "temp:x": 2})), event("i2", json!({"result": 2})));
    second.timestamp = first.timestamp + Duration::seconds(1);
    service.append_event(&id, first.clone()).await.unwrap();
    service.append_event(&id, second.clone()).await.unwrap();
    let read = service.get(get_request(&ada)).await.unwrap();
    assert_eq!(ids(read.as_ref()), [&*first.id, &*second.id]);
    assert_eq!(read.events().at(0).unwrap().timestamp, first.timestamp);
    assert_eq!(read.last_update_time(), second.timestamp);
    assert_eq!(read.state().get("result"), Some(json!(2)));
    assert_eq!(read.state().get("temp:x"), None);
    assert!(!read.events().at(0).unwrap().actions.state_delta.contains_key("temp:x"));

    let bobs = create(&service, &app, "bob", None, json!({})).await.unwrap().id().to_owned();
    let elsewhere = create(&service, &other_app, "ada", None, json!({})).await.unwrap().id().to_owned();
    assert_eq!(listed(&service, &app, "ada").await, [&*id]);
    assert_eq!(listed(&service, &app, "bob").await, [&*bobs]);
    assert_eq!(listed(&service, &other_app, "ada").await, [&*elsewhere]);
    let foreign = service.get(get_request(&identity(&app, "bob", &id))).await.err().unwrap();
    assert_eq!(foreign.code, "session.not_found");

    service.delete(delete_request(&app, "ada", &id)).await.unwrap();
    // There is none any more, which is no error.
    service.delete(delete_request(&app, "ada", &id)).await.unwrap();
    assert_eq!(service.get(get_request(&ada)).await.err().unwrap().code, "session.not_found");
    assert_eq!(listed(&service, &app, "ada").await, [""; 0]);
    let gone = append(&service, &ada, event("i3", json!({}))).await.err().unwrap();
    assert_eq!(gone.code, "session.not_found");
}

/// Two sessions of one id, of other users or of other apps.
async fn are_apart(one: (&str, &str), other: (&str, &str)) {
    let service = sessions();
    for (app, user) in [one, other] {
        create(&service, app, user, Some("shared"), json!({})).await.unwrap();
    }
    let (one, other) = (identity(one.0, one.1, "shared"), identity(other.0, other.1, "shared"));
    for identity in [&one, &other] {
        let session = service.get_for_identity(identity).await.unwrap();
        let names = (session.app_name(), session.user_id(), session.id());
        assert_eq!(names, (identity.app_name.as_str(), identity.user_id.as_str(), "shared"));
    }
    let appended = event("i", json!({"k": 1}));
    let request = AppendEventRequest { identity: one.clone(), event: appended.clone() };
    service.append_event_for_identity(request).await.unwrap();
    let (read, untouched) =
        (service.get_for_identity(&one).await.unwrap(), service.get_for_identity(&other).await.unwrap());
    assert_eq!(ids(read.as_ref()), [&*appended.id]);
    assert!(untouched.events().is_empty());
    assert_eq!(untouched.state().get("k"), None);

    // By the id alone it is not said which one is meant.
    let error = service.append_event("shared", event("i", json!({}))).await.err().unwrap();
    assert_eq!(error.category, ErrorCategory::InvalidInput);
    assert!(service.rewind("shared", &appended.id).await.is_err());
    assert_eq!(service.get_for_identity(&other).await.unwrap().events().len(), 0);

    service.delete_for_identity(&one).await.unwrap();
    assert!(service.get_for_identity(&one).await.err().unwrap().is_not_found());
    assert!(service.get_for_identity(&other).await.is_ok());
    service.delete_for_identity(&other).await.unwrap();
}

#[tokio::test]
async fn sessions_of_one_id_are_apart() {
    let (one, other) = (app(), app());
    are_apart((&one, "ada"), (&one, "bob")).await;
    are_apart((&one, "ada"), (&other, "ada")).await;
    are_apart((&one, "ada"), (&other, "bob")).await;
}

#[tokio::test]
async fn all_sessions_of_a_user_are_deleted() {
    let (service, app) = (sessions(), app());
    for user in ["ada", "bob"] {
        for session in ["1", "2", "a/b ?#%"] {
            create(&service, &app, user, Some(session), json!({"user:kept": user})).await.unwrap();
        }
    }
    service.delete_all_sessions(&app, "ada").await.unwrap();
    assert_eq!(listed(&service, &app, "ada").await, [""; 0]);
    assert_eq!(listed(&service, &app, "bob").await.len(), 3);
    // What is not of a session stays.
    let again = create(&service, &app, "ada", None, json!({})).await.unwrap();
    assert_eq!(again.state().get("user:kept"), Some(json!("ada")));
}

#[tokio::test]
async fn a_list_has_a_limit_and_an_offset() {
    let (service, app) = (sessions(), app());
    let began = Utc::now();
    for number in 0..5 {
        let session = format!("s{number}");
        create(&service, &app, "ada", Some(&session), json!({"n": number})).await.unwrap();
        let mut said = event("i", json!({}));
        said.timestamp = began + Duration::seconds(number);
        append(&service, &identity(&app, "ada", &session), said).await.unwrap();
    }
    for (limit, offset, expected) in [
        (None, None, &["s4", "s3", "s2", "s1", "s0"][..]),
        (Some(2), None, &["s4", "s3"]),
        (Some(2), Some(2), &["s2", "s1"]),
        (None, Some(3), &["s1", "s0"]),
        (Some(9), Some(4), &["s0"]),
        (Some(2), Some(9), &[]),
        (Some(0), None, &[]),
        (Some(usize::MAX), Some(usize::MAX), &[]),
    ] {
        let request = ListRequest { app_name: app.clone(), user_id: "ada".into(), limit, offset };
        let listed = service.list(request).await.unwrap();
        let shown: Vec<_> = listed.iter().map(|session| session.id()).collect();
        assert_eq!(shown, expected, "limit {limit:?}, offset {offset:?}");
        assert!(listed.iter().all(|session| session.state().get("n").is_some()));
    }
}
