//! Files: the cases that ADK has for its own artifact services, and what this one adds.

use std::{sync::Arc, sync::atomic::Ordering, time::Duration};

use adk_agent::LlmAgentBuilder;
use adk_artifact::{
    ArtifactService, DeleteRequest, ListRequest, LoadRequest, SaveRequest, ScopedArtifacts, VersionsRequest,
};
use adk_core::{AdkError, Artifacts as _, ErrorCategory, Part, ToolContext};
use adk_runner::Runner;
use adk_session::SessionService;
use reqwest::Method;
use serde_json::{Value, json};
use sessiond_adk::{ErrorKind, Outcome, SessiondArtifactService, SessiondSessionService};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::{
    runner::{Scripted, call, responses, run},
    support::{
        Act, Proxy, Script, answer, app, append, event, get_request, new_session, plain, sessions, shared, source,
    },
};

/// The files of a session.
#[derive(Clone)]
struct Cabinet {
    files: SessiondArtifactService,
    app: String,
    session: String,
}

impl Cabinet {
    /// Those of a new session.
    async fn new(service: &SessiondSessionService) -> Self {
        let app = app();
        new_session(&sessions(), &app).await;
        Self { files: service.artifacts(), app, session: "s".into() }
    }

    async fn try_save(&self, name: &str, part: Part, version: Option<i64>) -> Result<i64, AdkError> {
        let (app_name, user_id, session_id) = (self.app.clone(), "ada".into(), self.session.clone());
        let request = SaveRequest { app_name, user_id, session_id, file_name: name.into(), part, version };
        Ok(self.files.save(request).await?.version)
    }

    async fn save(&self, name: &str, part: Part) -> i64 {
        self.try_save(name, part, None).await.unwrap()
    }

    async fn try_load(&self, name: &str, version: Option<i64>) -> Result<Part, AdkError> {
        let (app_name, user_id, session_id) = (self.app.clone(), "ada".into(), self.session.clone());
        let request = LoadRequest { app_name, user_id, session_id, file_name: name.into(), version };
        Ok(self.files.load(request).await?.part)
    }

    async fn load(&self, name: &str, version: Option<i64>) -> Part {
        self.try_load(name, version).await.unwrap()
    }

    async fn versions(&self, name: &str) -> Result<Vec<i64>, AdkError> {
        let (app_name, user_id, session_id) = (self.app.clone(), "ada".into(), self.session.clone());
        Ok(self
            .files
            .versions(VersionsRequest { app_name, user_id, session_id, file_name: name.into() })
            .await?
            .versions)
    }

    async fn list(&self) -> Vec<String> {
        let (app_name, user_id, session_id) = (self.app.clone(), "ada".into(), self.session.clone());
        self.files.list(ListRequest { app_name, user_id, session_id }).await.unwrap().file_names
    }

    async fn delete(&self, name: &str, version: Option<i64>) {
        let (app_name, user_id, session_id) = (self.app.clone(), "ada".into(), self.session.clone());
        let request = DeleteRequest { app_name, user_id, session_id, file_name: name.into(), version };
        self.files.delete(request).await.unwrap();
    }
}

fn bytes(data: impl Into<Vec<u8>>, mime_type: &str) -> Part {
    Part::InlineData { mime_type: mime_type.into(), data: data.into(), uri: None, annotations: None }
}

fn text(text: &str) -> Part {
    Part::Text { text: text.into() }
}

fn file(file_uri: &str, mime_type: &str) -> Part {
    Part::FileData { mime_type: mime_type.into(), file_uri: file_uri.into(), annotations: None }
}

fn is_absent<T: std::fmt::Debug>(result: Result<T, AdkError>) {
    let error = result.unwrap_err();
    assert!(error.is_not_found() && error.is_artifact(), "{error}");
    assert_eq!(error.code, "artifact.not_found");
}

#[tokio::test]
async fn versions_count_from_one() {
    for name in ["test.txt", "user:test.txt"] {
        let files = Cabinet::new(&sessions()).await;
        for version in 1..=3 {
            assert_eq!(files.save(name, text(&format!("v{version}"))).await, version);
        }
        assert_eq!(files.load(name, None).await, text("v3"));
        for version in 1..=3 {
            assert_eq!(files.load(name, Some(version)).await, text(&format!("v{version}")));
        }
        assert_eq!(files.versions(name).await.unwrap(), [3, 2, 1]);
        for version in [4, 0, -1, i64::MIN] {
            is_absent(files.try_load(name, Some(version)).await);
            files.delete(name, Some(version)).await;
        }
        files.delete(name, Some(3)).await;
        assert_eq!(files.load(name, None).await, text("v2"));
        assert_eq!(files.versions(name).await.unwrap(), [2, 1]);
        files.delete(name, None).await;
        is_absent(files.try_load(name, None).await);
        is_absent(files.versions(name).await);
        assert!(files.list().await.is_empty());
        // No later version has the number of one that was deleted.
        assert_eq!(files.save(name, text("v4")).await, 4);
    }
}

#[tokio::test]
async fn a_list_has_the_files_of_the_session_and_of_the_user() {
    let one = Cabinet::new(&sessions()).await;
    let other = Cabinet { session: "other".into(), ..one.clone() };
    let (app, user) = (Some("other"), json!({}));
    crate::support::create(&sessions(), &one.app, "ada", app, user).await.unwrap();
    for name in ["b", "user:c", "a"] {
        one.save(name, text(name)).await;
    }
    other.save("d", text("d")).await;
    assert_eq!(one.list().await, ["a", "b", "user:c"]);
    assert_eq!(other.list().await, ["d", "user:c"]);
    assert_eq!(other.load("user:c", None).await, text("user:c"));
    is_absent(other.try_load("a", None).await);
}

#[tokio::test]
async fn a_session_that_is_not_there_has_no_files() {
    let files = Cabinet { session: "none".into(), ..Cabinet::new(&sessions()).await };
    for part in [text("x"), bytes("x", "a/b")] {
        let error = files.try_save("f", part, None).await.unwrap_err();
        let said = source(&error);
        assert_eq!((said.code.as_deref(), said.outcome), (Some("session_not_found"), Some(Outcome::NotApplied)));
        is_absent(Err::<(), _>(error));
    }
    is_absent(files.try_load("f", None).await);
    is_absent(files.versions("f").await);
    assert!(files.list().await.is_empty());
    files.delete("f", None).await;
    assert_eq!(files.save("user:f", text("x")).await, 1);
    assert_eq!(files.list().await, ["user:f"]);
    // Without the id of a session, all files are the user's.
    let files = Cabinet { session: " ".into(), ..files };
    assert_eq!(files.save("f", bytes("y", "a/b")).await, 2);
    assert_eq!(files.load("user:f", None).await, bytes("y", "a/b"));
    assert_eq!(files.list().await, ["user:f"]);
}

#[tokio::test]
async fn a_part_comes_back_as_it_was_saved() {
    let files = Cabinet::new(&sessions()).await;
    for part in [
        text(""),
        text("a “text”\0\r\n"),
        text(r#"{"like": "JSON"}"#),
        bytes("bytes that look like a text", "text/plain"),
        bytes([], "application/x-nothing"),
        bytes(r#"{"a": 1}"#, "application/json"),
        bytes([0, 255], "text/html; charset=\"utf-8\""),
        file("gs://bucket/a file", "image/png"),
        file("gs://bucket/a file", ""),
    ] {
        let version = files.save("f", part.clone()).await;
        assert_eq!(files.load("f", None).await, part);
        assert_eq!(files.load("f", Some(version)).await, part);
    }
    files.save("f", bytes("x", "")).await;
    assert_eq!(files.load("f", None).await, bytes("x", "application/octet-stream"));
    let thought = Part::Thinking { thinking: "hm".into(), signature: None };
    for refused in [thought, bytes("x", "a\nb"), file("", "a/b")] {
        let error = files.try_save("f", refused, None).await.unwrap_err();
        assert_eq!((error.category, error.code), (ErrorCategory::InvalidInput, "artifact.invalid_input"));
    }
}

#[tokio::test]
async fn a_file_may_have_any_name() {
    let files = Cabinet::new(&sessions()).await;
    let mut names =
        vec!["a/b", "a/b/", "a", "a b", " ", "%", "%2F", "100%", "ä/ö 😀", "a?b#c", "..a", "a\\b", "versions"];
    names.extend(["user:x/ü %", "e\u{301}", "é"]);
    for name in &names {
        assert_eq!(files.save(name, bytes(*name, "a/b")).await, 1, "{name}");
    }
    for name in &names {
        assert_eq!(files.load(name, None).await, bytes(*name, "a/b"), "{name}");
        assert_eq!(files.versions(name).await.unwrap(), [1], "{name}");
    }
    names.sort_unstable();
    assert_eq!(files.list().await, names);
    for name in &names {
        files.delete(name, None).await;
    }
    assert!(files.list().await.is_empty());
    for name in [".", "..", "", "a\nb", &"x".repeat(257)] {
        for part in [text("x"), bytes("x", "a/b")] {
            let error = files.try_save(name, part, None).await.unwrap_err();
            assert_eq!(error.category, ErrorCategory::InvalidInput, "{name:?}");
        }
    }
}

#[tokio::test]
async fn a_file_may_be_large() {
    let files = Cabinet::new(&sessions()).await;
    let data: Vec<u8> = (0..5 << 16).flat_map(|_| uuid::Uuid::new_v4().into_bytes()).collect();
    assert_eq!(data.len(), 5 << 20);
    files.save("large", bytes(data.clone(), "a/b")).await;
    assert!(files.load("large", None).await == bytes(data, "a/b"));
}

#[tokio::test]
async fn savers_at_the_same_time_get_versions_without_a_gap() {
    let files = Cabinet::new(&sessions()).await;
    let saver = |who: &'static str| {
        let files = Cabinet { files: sessions().artifacts(), ..files.clone() };
        tokio::spawn(async move {
            let mut saved = Vec::new();
            for n in 0..10 {
                let said = format!("{who}{n}");
                saved.push((files.save("f", text(&said)).await, said));
            }
            saved
        })
    };
    let (one, other) = (saver("a"), saver("b"));
    let mut saved = [one.await.unwrap(), other.await.unwrap()].concat();
    saved.sort_unstable();
    assert_eq!(saved.iter().map(|(version, _)| *version).collect::<Vec<_>>(), (1..=20).collect::<Vec<_>>());
    for (version, said) in saved {
        assert_eq!(files.load("f", Some(version)).await, text(&said));
    }
}

#[tokio::test]
async fn a_caller_may_choose_a_version_beyond_the_latest() {
    let files = Cabinet::new(&sessions()).await;
    for part in [text("x"), bytes("x", "a/b")] {
        let latest = files.save("f", part.clone()).await;
        assert_eq!(files.try_save("f", part.clone(), Some(latest + 4)).await.unwrap(), latest + 4);
        for taken in [1, latest + 3, latest + 4] {
            let error = files.try_save("f", part.clone(), Some(taken)).await.unwrap_err();
            assert_eq!(source(&error).kind, ErrorKind::AlreadyExists);
        }
        for none in [0, -1, i64::MIN] {
            let error = files.try_save("f", part.clone(), Some(none)).await.unwrap_err();
            assert_eq!(source(&error).kind, ErrorKind::InvalidInput);
        }
    }
}

#[tokio::test]
async fn a_lost_answer_saves_once() {
    let proxy = Proxy::to(shared()).await;
    let files = Cabinet::new(&SessiondSessionService::new(&proxy.url).unwrap()).await;
    for (version, part) in (1..).zip([text("x"), bytes("x", "a/b"), text("x")]) {
        proxy.lose_answers.store(1, Ordering::SeqCst);
        assert_eq!(files.save("f", part.clone()).await, version);
        assert_eq!(proxy.lose_answers.load(Ordering::SeqCst), 0);
        proxy.lose_answers.store(1, Ordering::SeqCst);
        assert_eq!(files.load("f", None).await, part);
    }
    assert_eq!(files.versions("f").await.unwrap(), [3, 2, 1]);
}

#[tokio::test]
async fn a_file_may_come_slowly_and_must_come() {
    let limit = Duration::from_millis(300);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let _ = client.read(&mut [0; 4096]).await.unwrap();
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nSessiond-Artifact-Kind: bytes\r\nContent-Length: 20\r\n\r\n";
        client.write_all(head.as_bytes()).await.unwrap();
        // Longer than the limit, and never silent for as long as that.
        for _ in 0..20 {
            tokio::time::sleep(limit / 10).await;
            client.write_all(b"x").await.unwrap();
        }
        // The next connections are accepted, and nothing comes.
        let mut silent = Vec::new();
        loop {
            silent.push(listener.accept().await.unwrap());
        }
    });
    let impatient = SessiondSessionService::builder(&url).timeout(limit).retry_for(Duration::from_secs(2));
    let files = impatient.build().unwrap().artifacts();
    let files = Cabinet { files, app: "a".into(), session: "s".into() };
    assert_eq!(files.load("f", None).await, bytes("x".repeat(20), "a/b"));
    let error = files.try_load("f", None).await.unwrap_err();
    assert!(error.message.contains("no answer in time"), "{error}");
    let error = files.try_save("f", bytes("x", "a/b"), None).await.unwrap_err();
    assert!(error.message.contains("no answer in time"), "{error}");
    assert_eq!(source(&error).outcome, Some(Outcome::Unknown));
}

#[tokio::test]
async fn bytes_are_sent_as_they_are_and_an_answer_of_another_is_refused() {
    let pages = [r#"{"artifacts":[{"name":"a"}],"nextPageToken":"t"}"#, r#"{"artifacts":[{"name":"b"}]}"#];
    let script = Script::of([
        &answer(201, "", r#"{"version":7}"#),
        &answer(200, "", "<html>"),
        &answer(200, "", pages[0]),
        &answer(200, "", pages[1]),
    ])
    .await;
    let service = SessiondSessionService::new(&script.url).unwrap();
    let files = Cabinet { files: service.artifacts(), app: "a".into(), session: "s".into() };
    assert_eq!(files.save("f", bytes("+/é", "a/b")).await, 8);
    let error = files.try_load("f", None).await.unwrap_err();
    assert_eq!(source(&error).kind, ErrorKind::Internal);
    assert_eq!(files.list().await, ["a", "b"]);
    let requests = script.requests();
    assert!(requests[0].starts_with("PUT /v1/apps/a/users/ada/sessions/s/artifacts/f?event=none HTTP/1.1\r\n"));
    assert!(
        requests[0].contains("\r\ncontent-type: a/b\r\n") && requests[0].ends_with("\r\n\r\n+/é"),
        "{}",
        requests[0]
    );
    assert!(requests[3].contains("pageToken=t"), "{}", requests[3]);
}

#[tokio::test]
async fn events_name_versions_as_this_adk_counts_them() {
    let (service, app) = (sessions(), app());
    let identity = new_session(&service, &app).await;
    let events = format!("{}/v1/apps/{app}/users/ada/sessions/s/events", shared());
    let actions = json!({"artifactDelta": {"f": 0, "user:g": 6, "odd": "x"}, "stateDelta": {},
        "requestedAuthConfigs": {}, "requestedToolConfirmations": {}});
    let other = json!({"id": "other", "author": "a", "invocationId": "i", "actions": actions});
    plain(Method::POST, events.clone(), other).await;
    let read = service.get(get_request(&identity)).await.unwrap().events().all().remove(0);
    assert_eq!(json!(read.actions.artifact_delta), json!({"f": 1, "user:g": 7}));
    // Sent again, it is the same; changed, it says what it says now.
    append(&service, &identity, read.clone()).await.unwrap();
    let mut own = event("i", json!({}));
    own.actions.artifact_delta.insert("f".into(), 2);
    append(&service, &identity, own.clone()).await.unwrap();
    let stored = plain(Method::GET, format!("{events}/{}", own.id), Value::Null).await;
    assert_eq!(stored["actions"]["artifactDelta"], json!({"f": 1}));
    let again = service.get(get_request(&identity)).await.unwrap().events().all().remove(1);
    assert_eq!(again.actions.artifact_delta, own.actions.artifact_delta);
}

async fn save_and_list(ctx: Arc<dyn ToolContext>) -> adk_core::Result<Value> {
    let artifacts = ctx.artifacts().ok_or_else(|| AdkError::artifact("there are none"))?;
    let version = artifacts.save("report/1", &bytes("of 5", "a/b")).await?;
    Ok(json!({"version": version, "files": artifacts.list().await?}))
}

#[tokio::test]
async fn an_agent_saves_and_reads_files() {
    let (service, app) = (sessions(), app());
    let identity = new_session(&service, &app).await;
    let artifacts = Arc::new(service.artifacts());
    let mine = ScopedArtifacts::new(artifacts.clone(), app.clone(), "ada".into(), "s".into());
    mine.save("note", &text("a note")).await.unwrap();
    let model = Scripted::of([call("save")]);
    let agent = LlmAgentBuilder::new("agent").instruction("Note: {artifact.note}").model(model.clone());
    let agent = Arc::new(agent.tool(Arc::new(Act("save", save_and_list))).build().unwrap());
    let runner = Runner::builder().app_name(&app).agent(agent).session_service(Arc::new(service.clone()));
    let runner = runner.artifact_service(artifacts).build().unwrap();
    let events = run(&runner, &identity, "hello").await.unwrap();
    assert_eq!(responses(&events), [json!({"version": 1, "files": ["note", "report/1"]})]);
    assert!(model.heard().contains(&"Note: a note".into()));
    assert_eq!(mine.load("report/1").await.unwrap(), bytes("of 5", "a/b"));
}
