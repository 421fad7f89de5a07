//! Does what the tests across all clients ask for: one JSON object a line on standard input, one answer a line on
//! standard output. It is told where sessiond is by `SESSIOND_URL`, and the credential by `SESSIOND_TOKEN`.

use std::{collections::BTreeMap, env, io::Write as _};

use adk_artifact::{ArtifactService, ListRequest, LoadRequest, LoadResponse, SaveRequest};
use adk_core::{AdkIdentity, AppName, Content, Event, Part, SessionId, UserId};
use adk_session::{AppendEventRequest, SessionService};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use chrono::DateTime;
use futures::StreamExt as _;
use serde_json::{Value, json};
use sessiond_adk::{Error, SessiondArtifactService, SessiondSessionService, WatchFrom, WatchItem, ops::Op};
use tokio::io::{AsyncBufReadExt as _, BufReader};

/// Whatever went wrong.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn text<'a>(command: &'a Value, name: &str) -> Result<&'a str, Failure> {
    Ok(command[name].as_str().ok_or(format!("{name} is missing"))?)
}

fn event(given: &Value) -> Result<Event, Failure> {
    let mut event = Event::with_id(text(given, "id")?, given["invocationId"].as_str().unwrap_or_default());
    event.author = text(given, "author")?.to_owned();
    let seconds = given["timestamp"].as_f64().ok_or("timestamp is missing")?;
    event.timestamp = DateTime::from_timestamp_micros((seconds * 1e6).round() as i64).ok_or("no such time")?;
    if let Some(said) = given["text"].as_str() {
        let role = if event.author == "user" { "user" } else { "model" };
        event.set_content(Content::new(role).with_text(said));
    }
    event.actions.state_delta = serde_json::from_value(given["stateDelta"].clone()).unwrap_or_default();
    event.actions.artifact_delta = serde_json::from_value(given["artifactDelta"].clone()).unwrap_or_default();
    Ok(event)
}

async fn answer(sessions: &SessiondSessionService, line: &str) -> Result<Value, Failure> {
    let command: Value = serde_json::from_str(line)?;
    let identity = AdkIdentity::new(
        AppName::try_from(text(&command, "app")?)?,
        UserId::try_from(text(&command, "user")?)?,
        SessionId::try_from(text(&command, "session")?)?,
    );
    if ["save", "load", "files"].contains(&text(&command, "do")?) {
        return answer_about_files(&sessions.artifacts(), &identity, &command).await;
    }
    match text(&command, "do")? {
        "get" => {
            let session = sessions.get_for_identity(&identity).await?;
            let events = session.events().all();
            let artifacts: BTreeMap<_, _> = events.iter().flat_map(|event| &event.actions.artifact_delta).collect();
            let ids: Vec<_> = events.iter().map(|event| &event.id).collect();
            let mut said = Vec::new();
            for event in &events {
                for part in event.content().iter().flat_map(|content| &content.parts) {
                    said.extend(part.text().map(|text| json!([event.author, text])));
                }
            }
            let seconds = session.last_update_time().timestamp_micros() as f64 / 1e6;
            let state: BTreeMap<_, _> = session.state().all().into_iter().collect();
            Ok(json!({
                "ok": true, "state": state, "events": ids, "said": said, "artifacts": artifacts, "lastUpdateTime": seconds
            }))
        }
        "append" => {
            let event = event(&command["event"])?;
            // ADK for Rust has no session object that an append changes: the runner's is its own. So it is read again.
            sessions.get_for_identity(&identity).await?;
            let request = AppendEventRequest { identity: identity.clone(), event };
            sessions.append_event_for_identity(request).await?;
            let session = sessions.get_for_identity(&identity).await?;
            let state: BTreeMap<_, _> = session.state().all().into_iter().collect();
            Ok(json!({"ok": true, "state": state}))
        }
        "copy" => {
            let to = SessionId::try_from(text(&command, "to")?)?;
            let to = AdkIdentity::new(identity.app_name.clone(), identity.user_id.clone(), to);
            sessions.get_for_identity(&to).await?;
            // What the framework has of each event, and nothing else, goes into the other session.
            for event in sessions.get_for_identity(&identity).await?.events().all() {
                sessions.append_event_for_identity(AppendEventRequest { identity: to.clone(), event }).await?;
            }
            Ok(json!({"ok": true}))
        }
        "increment" => {
            let key = text(&command, "key")?;
            let ops = [Op::increment(key, command["by"].clone())];
            let values = sessions.apply_ops(&identity, &ops, "user", "").await?;
            Ok(json!({"ok": true, "value": values.get(key)}))
        }
        "watch" => {
            let count = command["count"].as_u64().ok_or("count is missing")? as usize;
            let mut items = sessions.watch(&identity, WatchFrom::Start, false);
            let mut ids = Vec::new();
            while ids.len() < count {
                match items.next().await.ok_or("the watch has ended")?? {
                    WatchItem::Event { event, .. } => ids.push(event.id),
                    WatchItem::Deleted { .. } => return Err("the session is gone".into()),
                    _ => {}
                }
            }
            Ok(json!({"ok": true, "events": ids}))
        }
        other => Err(format!("{other} is no command").into()),
    }
}

async fn answer_about_files(
    files: &SessiondArtifactService,
    identity: &AdkIdentity,
    command: &Value,
) -> Result<Value, Failure> {
    let app_name = identity.app_name.to_string();
    let (user_id, session_id) = (identity.user_id.to_string(), identity.session_id.to_string());
    if command["do"] == "files" {
        let names = files.list(ListRequest { app_name, user_id, session_id }).await?.file_names;
        return Ok(json!({"ok": true, "names": names}));
    }
    let file_name = text(command, "name")?.to_owned();
    if command["do"] == "save" {
        let part = match command["text"].as_str() {
            Some(text) => Part::Text { text: text.to_owned() },
            None => {
                let (mime_type, data) =
                    (text(command, "mimeType")?.to_owned(), STANDARD.decode(text(command, "data")?)?);
                Part::InlineData { mime_type, data, uri: None, annotations: None }
            }
        };
        let request = SaveRequest { app_name, user_id, session_id, file_name, part, version: None };
        return Ok(json!({"ok": true, "version": files.save(request).await?.version}));
    }
    let request = LoadRequest { app_name, user_id, session_id, file_name, version: command["version"].as_i64() };
    match files.load(request).await {
        Ok(LoadResponse { part: Part::InlineData { mime_type, data, .. } }) => {
            Ok(json!({"ok": true, "data": STANDARD.encode(data), "mimeType": mime_type}))
        }
        Ok(LoadResponse { part }) => Ok(json!({"ok": true, "text": part.text()})),
        Err(error) if error.is_not_found() => Ok(json!({"ok": true})),
        Err(error) => Err(error.into()),
    }
}

fn failure(failure: &Failure) -> Value {
    let known = failure.downcast_ref::<Error>().or_else(|| failure.source()?.downcast_ref());
    let (code, status) = known.map_or((None, None), |error| (error.code.as_deref(), error.status));
    json!({"ok": false, "error": failure.to_string(), "code": code, "status": status})
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let sessions = SessiondSessionService::new(env::var("SESSIOND_URL")?)?;
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let answer = answer(&sessions, &line).await.unwrap_or_else(|error| failure(&error));
        println!("{answer}");
        std::io::stdout().flush()?;
    }
    Ok(())
}
