//! Writing answers: JSON put together from stored text, which passes through unread.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::time::{Instant, sleep};

use super::request::Call;
use super::wait::Watched;
use crate::access::audit::Named;
use crate::domain::event::StoredEvent;
use crate::domain::json::ObjectText;
use crate::domain::query::{EventPage, EventQuery, SessionView};
use crate::domain::session::SessionInfo;
use crate::service::{self, Service};

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

    /// Marks what the answer shows.
    pub fn tag(self, tag: impl ToString) -> Self {
        self.header(header::ETAG, &tag.to_string())
    }

    /// It shows a secret: no cache may store it.
    pub fn secret(self) -> Self {
        self.header(header::CACHE_CONTROL, "no-store")
    }

    pub fn replayed(self, replayed: bool) -> Self {
        if replayed { self.header(IDEMPOTENT_REPLAYED, "true") } else { self }
    }

    /// As every JSON body, this ends with a newline, for terminals and for tools that read lines.
    pub fn json(self, body: impl Into<String>) -> Response {
        let mut body = body.into();
        body.push('\n');
        self.streamed(Body::from(body))
    }

    /// A JSON body that comes in parts, the last of which ends with a newline.
    pub fn streamed(self, body: Body) -> Response {
        self.header(header::CONTENT_TYPE, "application/json").body(body)
    }

    pub fn empty(self) -> Response {
        self.body(Body::empty())
    }

    pub fn body(self, body: impl Into<Body>) -> Response {
        (self.status, self.headers, body.into()).into_response()
    }
}

/// Tells the access log whom or what a request was about, where its path does not say it.
pub fn named(mut answer: Response, names: Vec<(&'static str, String)>) -> Response {
    answer.extensions_mut().insert(Named(names));
    answer
}

/// 304: the client has it already.
pub fn not_modified(tag: impl ToString) -> Response {
    Answer::new(StatusCode::NOT_MODIFIED).tag(tag).empty()
}

/// `{"NAME":[...],"nextPageToken":...}`
pub fn page(name: &str, items: &[String], next: Option<String>) -> String {
    open_page(name, items, next).close()
}

/// [`page`], to which members may be added.
pub fn open_page(name: &str, items: &[String], next: Option<String>) -> ObjectText {
    let mut object = ObjectText::default();
    object.push_array(name, items);
    if let Some(token) = next {
        object.push_str("nextPageToken", &token);
    }
    object
}

/// How sessions and events are written: the API's own form, or another one of the same things.
#[derive(Clone, Copy)]
pub struct Form {
    /// All of a session but its events.
    pub session: fn(&SessionView) -> ObjectText,
    pub event: fn(&StoredEvent, &mut String),
}

const NATIVE: Form = Form { session: session_object, event: StoredEvent::write_json };

/// All of a session but its events.
pub fn session_object(view: &SessionView) -> ObjectText {
    let SessionInfo { key, .. } = &view.head;
    // In one piece: a page has up to a thousand.
    let mut object = ObjectText::with_capacity(view.weight());
    object.push_str("id", key.session.as_str());
    object.push_str("appName", key.app().as_str());
    object.push_str("userId", key.user.user.as_str());
    object.push("revision", &view.head.revision.to_string());
    object.push("createTime", &view.head.create_time.to_number());
    object.push("lastUpdateTime", view.head.update_time.number.text());
    for (name, value) in [("displayName", &view.head.display_name), ("labels", &view.head.labels)] {
        if let Some(value) = value {
            object.push(name, value.text());
        }
    }
    if let Some(time) = view.head.expire_time {
        object.push("expireTime", &time.to_number());
    }
    if let Some((session, revision)) = &view.head.forked_from {
        let mut source = ObjectText::default();
        source.push_str("sessionId", session.as_str());
        source.push("revision", &revision.to_string());
        object.push("forkedFrom", &source.close());
    }
    if view.head.base_revision > 0 {
        object.push("baseRevision", &view.head.base_revision.to_string());
    }
    if let Some(state) = &view.state {
        object.push("state", state);
    }
    object
}

pub fn push_events(out: &mut String, events: &[StoredEvent]) {
    push_events_as(NATIVE, out, events, true);
}

fn push_events_as(form: Form, out: &mut String, events: &[StoredEvent], first: bool) {
    out.reserve(events.iter().map(StoredEvent::weight).sum());
    for (n, event) in events.iter().enumerate() {
        if n > 0 || !first {
            out.push(',');
        }
        (form.event)(event, out);
    }
}

/// A session with its events. Those that the view does not hold are streamed: page by page, none beyond the view's
/// revision, so that the answer shows one moment however long it takes and however little memory it may use.
pub fn session(call: &Call, answer: Answer, view: SessionView, events: EventQuery) -> Response {
    session_as(NATIVE, call, answer, view, events)
}

/// [`session`], in another form.
pub fn session_as(form: Form, call: &Call, answer: Answer, view: SessionView, events: EventQuery) -> Response {
    let mut text = (form.session)(&view).into_open();
    text.push_str(",\"events\":[");
    push_events_as(form, &mut text, &view.events.events, true);
    let answer = answer.tag(view.head.tag());
    if !view.events.more {
        text.push_str("]}");
        return answer.json(text);
    }
    let rest = Rest {
        service: call.service.clone(),
        client: Watched::new(call),
        page_limit: call.app.settings.request_timeout,
        form,
        first: view.events.events.is_empty(),
        query: EventQuery {
            after: view.events.events.last().map_or(0, |event| event.sequence),
            before: view.head.revision + 1,
            // Counted back from the revision of the view, and not from that of the moment.
            last: None,
            ..events
        },
        head: view.head,
        next: Next::Text(text),
    };
    answer.streamed(Body::from_stream(stream::try_unfold(rest, Rest::step)))
}

/// After a failure to get the next part of an answer that has begun: waits, for another try before the deadline.
///
/// # Errors
/// No other try makes sense. It is too late for an error document: the answer is cut, which no client takes for a whole one.
pub async fn wait_or_cut(error: &service::Error, deadline: Instant) -> io::Result<()> {
    const PAUSE: Duration = Duration::from_millis(100);
    if error.may_pass() && Instant::now() + PAUSE < deadline {
        sleep(PAUSE).await;
        return Ok(());
    }
    tracing::warn!(%error, "a streamed answer was cut");
    Err(io::Error::other("cut"))
}

/// What is still to be sent of a session.
struct Rest {
    service: Arc<Service>,
    client: Watched,
    /// The time for one page.
    page_limit: Duration,
    form: Form,
    /// No event has been sent yet.
    first: bool,
    head: SessionInfo,
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
                self.client.still_must().await?;
                let deadline = Instant::now() + self.page_limit;
                let EventPage { events, more } = loop {
                    let events = self.query.clone();
                    match self.service.events_of(&self.head, events, deadline).await {
                        Ok(view) => break view.events,
                        Err(error) => wait_or_cut(&error, deadline).await?,
                    }
                };
                let mut text = String::new();
                push_events_as(self.form, &mut text, &events, self.first);
                if let Some(last) = events.last() {
                    self.first = false;
                    self.query.after = last.sequence;
                }
                if !more {
                    text.push_str("]}\n");
                    self.next = Next::End;
                }
                Ok(Some((text, self)))
            }
        }
    }
}
