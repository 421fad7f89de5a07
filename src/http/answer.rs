//! Writing answers: JSON put together from stored text, which passes through unread.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::time::Instant;

use super::App;
use crate::domain::event::StoredEvent;
use crate::domain::json::{RawJson, push_string};
use crate::domain::session::Head;
use crate::service::{STREAM_BYTES, STREAM_ROWS};
use crate::store::{EventPage, EventQuery, SessionView};

pub const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// A JSON answer under construction.
pub struct Answer {
    status: StatusCode,
    headers: HeaderMap,
}

impl Answer {
    pub fn new(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new() }
    }

    pub fn ok() -> Self {
        Self::new(StatusCode::OK)
    }

    pub fn header(mut self, name: HeaderName, value: &str) -> Self {
        // Every value is made by us of visible ASCII.
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// Marks what the answer shows, and that a cache must ask before it uses it again.
    pub fn tag(self, tag: impl ToString) -> Self {
        self.header(header::ETAG, &tag.to_string()).header(header::CACHE_CONTROL, "no-cache")
    }

    pub fn replayed(self, replayed: bool) -> Self {
        if replayed { self.header(IDEMPOTENT_REPLAYED, "true") } else { self }
    }

    pub fn json(self, body: impl Into<Body>) -> Response {
        self.header(header::CONTENT_TYPE, "application/json").body(body)
    }

    pub fn empty(self) -> Response {
        self.body(Body::empty())
    }

    pub fn body(self, body: impl Into<Body>) -> Response {
        (self.status, self.headers, body.into()).into_response()
    }
}

/// 304: the client has it already.
pub fn not_modified(tag: impl ToString) -> Response {
    Answer::new(StatusCode::NOT_MODIFIED).tag(tag).empty()
}

/// An object under construction, of names that need no escapes.
pub struct Object(String);

impl Object {
    pub fn new() -> Self {
        Self("{".to_owned())
    }

    /// Adds a member whose value is JSON text.
    pub fn raw(mut self, name: &str, value: &str) -> Self {
        self.name(name);
        self.0.push_str(value);
        self
    }

    pub fn string(mut self, name: &str, value: &str) -> Self {
        self.name(name);
        push_string(&mut self.0, value);
        self
    }

    pub fn optional(self, name: &str, value: Option<&RawJson>) -> Self {
        match value {
            Some(value) => self.raw(name, value.text()),
            None => self,
        }
    }

    fn name(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push('"');
        self.0.push_str(name);
        self.0.push_str("\":");
    }

    pub fn close(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// `{"NAME":[...],"nextPageToken":...}`
pub fn page(name: &str, items: &[String], next: Option<String>) -> String {
    let object = Object::new().raw(name, &format!("[{}]", items.join(",")));
    match next {
        Some(token) => object.string("nextPageToken", &token).close(),
        None => object.close(),
    }
}

/// All of a session but its events.
pub fn session_object(view: &SessionView) -> Object {
    let Head { key, .. } = &view.head;
    let object = Object::new()
        .string("id", key.session.as_str())
        .string("appName", key.app().as_str())
        .string("userId", key.user.user.as_str())
        .raw("revision", &view.head.revision.to_string())
        .raw("createTime", &view.head.create_time.to_number())
        .raw("lastUpdateTime", view.head.update_time.number.text())
        .optional("displayName", view.head.display_name.as_ref())
        .optional("labels", view.head.labels.as_ref());
    let object = match view.head.expire_time {
        Some(time) => object.raw("expireTime", &time.to_number()),
        None => object,
    };
    match &view.state {
        Some(state) => object.raw("state", state),
        None => object,
    }
}

pub fn push_events(out: &mut String, events: &[StoredEvent], first: bool) {
    for (n, event) in events.iter().enumerate() {
        if n > 0 || !first {
            out.push(',');
        }
        event.write_json(out);
    }
}

/// A session with its events. Those that the view does not hold are streamed: page by page, none beyond the view's
/// revision, so that the answer shows one moment however long it takes and however little memory it may use.
pub fn session(app: &Arc<App>, answer: Answer, view: SessionView, events: EventQuery) -> Response {
    let mut text = session_object(&view).0;
    text.push_str(",\"events\":[");
    push_events(&mut text, &view.events.events, true);
    let answer = answer.tag(view.head.tag());
    if !view.events.more {
        text.push_str("]}");
        return answer.json(text);
    }
    let rest = Rest {
        app: app.clone(),
        query: EventQuery {
            after: view.events.events.last().map_or(0, |event| event.sequence),
            before: view.head.revision + 1,
            // Counted back from the revision of the view, and not from that of the moment.
            last: None,
            max_rows: STREAM_ROWS,
            max_bytes: STREAM_BYTES,
            ..events
        },
        head: view.head,
        next: Next::Text(text),
    };
    answer.json(Body::from_stream(stream::try_unfold(rest, Rest::step)))
}

/// What is still to be sent of a session.
struct Rest {
    app: Arc<App>,
    head: Head,
    query: EventQuery,
    next: Next,
}

enum Next {
    Text(String),
    Page,
    End,
}

impl Rest {
    async fn step(mut self) -> io::Result<Option<(String, Self)>> {
        match std::mem::replace(&mut self.next, Next::Page) {
            Next::Text(text) => Ok(Some((text, self))),
            Next::End => Ok(None),
            Next::Page => {
                let deadline = Instant::now() + self.app.settings.request_timeout;
                let page = self
                    .app
                    .service
                    .more_events(&self.head.key, self.head.incarnation, self.query.clone(), deadline)
                    .await;
                // Too late for an error document: the answer is cut, which no client takes for a whole one.
                let EventPage { events, more } = page.map_err(|error| {
                    tracing::warn!(error = %error, "a streamed answer was cut");
                    io::Error::other("cut")
                })?;
                let mut text = String::new();
                push_events(&mut text, &events, false);
                if let Some(last) = events.last() {
                    self.query.after = last.sequence;
                }
                if !more {
                    text.push_str("]}");
                    self.next = Next::End;
                }
                Ok(Some((text, self)))
            }
        }
    }
}
