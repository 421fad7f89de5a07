//! Writing answers: JSON is put together from stored text, which is not parsed again.

mod download;
mod paging;
mod problem;

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::domain::event::StoredEvent;
use crate::domain::ids::{SessionKey, UserKey, segment};
use crate::domain::json::{ObjectText, RawJson};
use crate::domain::query::SessionView;
use crate::domain::session::{SessionInfo, source_object};
use crate::domain::time::Micros;

pub use download::{Ranged, disposition, ranged};
pub use paging::{Binding, Token, foreign_token};
pub use problem::{Code, Ids, Outcome, Problem, REQUEST_ID, RateFields, Throttle, is_write};

/// Of an append that made its session.
pub const SESSIOND_CREATED: HeaderName = HeaderName::from_static("sessiond-created");
pub const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// A handler's answer: the response, and instructions for the pipeline.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Body,
    /// Names of the objects of the request that its path does not have, for the access log.
    pub named: Vec<(&'static str, String)>,
    /// It is streamed and has a place among the watches, so it needs none among the other streams.
    pub is_watch: bool,
    /// How long its client may accept no byte of it, instead of the server's setting.
    pub stall: Option<Duration>,
    /// The largest part of a streamed answer, if all are smaller than those of others.
    pub part: Option<usize>,
}

impl Answer {
    pub fn new(status: StatusCode) -> Self {
        // Room for those that all answers get on their way, too.
        let headers = HeaderMap::with_capacity(12);
        Self { status, headers, body: Body::empty(), named: Vec::new(), is_watch: false, stall: None, part: None }
    }

    pub fn ok() -> Self {
        Self::new(StatusCode::OK)
    }

    /// 304: the client already has this version.
    pub fn not_modified(tag: impl ToString) -> Self {
        Self::new(StatusCode::NOT_MODIFIED).tag(tag)
    }

    pub fn header(mut self, name: HeaderName, value: impl TryInto<HeaderValue>) -> Self {
        // Every value is visible ASCII that we made.
        if let Ok(value) = value.try_into() {
            self.headers.insert(name, value);
        }
        self
    }

    /// Sets the `ETag`.
    pub fn tag(self, tag: impl ToString) -> Self {
        self.header(header::ETAG, tag.to_string())
    }

    /// The answer contains a secret: no cache may store it.
    pub fn secret(self) -> Self {
        self.header(header::CACHE_CONTROL, "no-store")
    }

    pub fn replayed(self, replayed: bool) -> Self {
        if replayed { self.header(IDEMPOTENT_REPLAYED, "true") } else { self }
    }

    pub fn named(self, named: Vec<(&'static str, String)>) -> Self {
        Self { named, ..self }
    }

    /// Like every JSON body, it ends with a newline, for terminals and for tools that read lines.
    pub fn json(self, body: impl Into<String>) -> Self {
        let mut body = body.into();
        body.push('\n');
        self.streamed(Body::from(body))
    }

    /// A JSON body that is sent in parts; the last part ends with a newline.
    pub fn streamed(self, body: Body) -> Self {
        self.header(header::CONTENT_TYPE, HeaderValue::from_static("application/json")).body(body)
    }

    pub fn body(self, body: impl Into<Body>) -> Self {
        Self { body: body.into(), ..self }
    }
}

/// The path of a user.
pub fn user_path(user: &UserKey) -> String {
    format!("/v1/apps/{}/users/{}", segment(user.app.as_str()), segment(user.user.as_str()))
}

/// The path of a session.
pub fn session_path(key: &SessionKey) -> String {
    format!("{}/sessions/{}", user_path(&key.user), segment(key.session.as_str()))
}

/// `{"NAME":[...],"nextPageToken":...}`
pub fn page(name: &str, items: &[String], next: Option<String>) -> String {
    open_page(name, items, next).close()
}

/// [`page`], to which members can be added.
pub fn open_page(name: &str, items: &[String], next: Option<String>) -> ObjectText {
    let mut object = ObjectText::default();
    object.push_array(name, items);
    object.push_some_str("nextPageToken", next);
    object
}

/// The form of sessions and events: the API's own, or ADK's.
#[derive(Clone, Copy)]
pub struct Form {
    /// A session without its events.
    pub session: fn(&SessionView) -> ObjectText,
    pub event: fn(&StoredEvent, &mut String),
}

pub const NATIVE: Form = Form { session: session_object, event: StoredEvent::write_json };

/// A session without its events.
pub fn session_object(view: &SessionView) -> ObjectText {
    let SessionInfo { key, .. } = &view.head;
    // Reserve the whole size: a page has up to a thousand sessions.
    let mut object = ObjectText::with_capacity(view.weight());
    object.push_str("id", key.session.as_str());
    object.push_str("appName", key.app().as_str());
    object.push_str("userId", key.user.user.as_str());
    object.push("revision", &view.head.revision.to_string());
    object.push("createTime", &view.head.create_time.to_number());
    object.push("lastUpdateTime", view.head.update_time.number.text());
    for (name, value) in [("displayName", &view.head.display_name), ("labels", &view.head.labels)] {
        object.push_some(name, value.as_ref().map(RawJson::text));
    }
    object.push_some("expireTime", view.head.expire_time.map(Micros::to_number));
    object.push_some("forkedFrom", view.head.forked_from.as_ref().map(source_object));
    if view.head.base_revision > 0 {
        object.push("baseRevision", &view.head.base_revision.to_string());
    }
    object.push_some("state", view.state.as_ref());
    object
}

/// An event as JSON.
pub fn event_text(event: &StoredEvent) -> String {
    let mut text = String::new();
    event.write_json(&mut text);
    text
}

/// Events as elements of an array.
pub fn events_text(events: &[StoredEvent]) -> String {
    let mut text = String::new();
    push_events_as(NATIVE, &mut text, events);
    text
}

pub fn push_events_as(form: Form, out: &mut String, events: &[StoredEvent]) {
    out.reserve(events.iter().map(StoredEvent::weight).sum());
    for (n, event) in events.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        (form.event)(event, out);
    }
}
