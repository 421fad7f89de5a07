//! `.../sessions/{session}/watch`: a session as a stream of server-sent events (HTML standard, section 9.2).

use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::watch as channel;
use tokio::time::{Instant, sleep, sleep_until};

use super::admission::{IsWatch, Watching};
use super::answer::{Answer, metadata_object};
use super::app::App;
use super::describe::{Access, Header, Kind, Operation, Param, Reply, Serving};
use super::problem::{Code, Problem};
use super::request::{Call, Query};
use super::wait::Watched;
use crate::domain::access::Role;
use crate::domain::cursor::{Cursor, Position};
use crate::domain::json::{ObjectText, string_array};
use crate::domain::tag::Tag;
use crate::server::Stall;
use crate::service::{self, Begin, Follower, Gone, Item};

const EVENT_STREAM: &str = "text/event-stream";

const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The pause after a read that failed, and for how long it may go on: a failover is waited for.
const RETRY: Duration = Duration::from_millis(250);
const PATIENCE: Duration = Duration::from_secs(20);

/// Clients are told to come back after this, and up to four seconds more: those that were cut together do not come together.
const COME_BACK: Duration = Duration::from_secs(1);
const SPREAD: Duration = Duration::from_secs(4);

const AFTER_SEQUENCE: Param = Param {
    name: "afterSequence",
    kind: Kind::Text,
    about: "Begin behind this event: its sequence, or its SSE `id`; `now` for what comes. By default the whole log.",
};
const LAST_EVENT_ID: Param = Param {
    name: "lastEventId",
    kind: Kind::Text,
    about: "Begin behind this event, for clients that cannot set the header `Last-Event-ID`.",
};
const INCLUDE: Param =
    Param { name: "include", kind: Kind::OneOf(&["state"]), about: "`state`: also the merged state, and its changes." };

pub const WATCH: Operation = Operation {
    id: "watchSession",
    tag: "Events",
    serving: Serving::WATCH,
    access: Access::Read(Role::Reader),
    summary: "Follow a session",
    description: "Server-sent events: each event of the log once, in order, then each new one as it is committed. The `id` of a \
                  frame is a cursor: with it in `Last-Event-ID`, which wins over the query, a watch goes on behind that event, and \
                  nothing is lost or doubled. If the log has no such event any more, or never had it: 410. docs/live.md has the \
                  frames and the guarantees. A browser sends its user token as `access_token`.",
    query: &[AFTER_SEQUENCE, LAST_EVENT_ID, INCLUDE],
    headers: &[Header::LastEventId],
    body: None,
    answers: &[Reply { status: StatusCode::OK, about: "The stream.", schema: Some("EventStream"), headers: &[] }],
    errors: &[Code::SessionNotFound, Code::NotAcceptable, Code::PositionGone, Code::RateLimited],
};

pub async fn watch(mut call: Call) -> Result<Response, Problem> {
    let query = call.take_query();
    let key = call.session()?;
    let accepts = Accepts::of(&call)?;
    let begin = begin(&call, &query)?;
    let with_state = query.text(&INCLUDE).is_some();
    let follower = call.service.follow(&key, begin, with_state, call.deadline).await?;
    if call.is_head {
        // Of no known length, as the stream is.
        return Ok(answer(&call, Body::from_stream(stream::empty::<Result<Bytes, Infallible>>())));
    }
    let place = match call.app.places.watch(&call.app.metrics) {
        Ok(place) => place,
        // A browser takes any other answer for the end, and never comes back.
        Err(_) if accepts == Accepts::StreamAlone => {
            call.app.metrics.rejected("watchers");
            return Ok(answer(&call, Body::from(bye(&call.app, Bye::Overloaded))));
        }
        Err(problem) => return Err(problem),
    };
    let stream = Watch::new(&call, follower, place);
    let mut response = answer(&call, Body::from_stream(stream::unfold(stream, Watch::step)));
    response.extensions_mut().insert(IsWatch);
    Ok(response)
}

fn answer(call: &Call, body: Body) -> Response {
    let mut response = Answer::ok()
        .header(header::CONTENT_TYPE, EVENT_STREAM)
        .header(header::CACHE_CONTROL, "no-store, no-transform")
        .header(X_ACCEL_BUFFERING, "no")
        .body(body);
    response.extensions_mut().insert(Stall(call.app.settings.watch.stall));
    response
}

/// Which types of answer the client takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Accepts {
    /// As a browser's `EventSource` asks.
    StreamAlone,
    Any,
}

impl Accepts {
    fn of(call: &Call) -> Result<Self, Problem> {
        let mut ranges = call.header_list(&header::ACCEPT).map(range).peekable();
        if ranges.peek().is_none() {
            return Ok(Self::Any);
        }
        let (mut takes, mut alone) = (false, true);
        for (range, is_refused) in ranges {
            let is_stream = range == EVENT_STREAM;
            takes |= !is_refused && (is_stream || range == "*/*");
            alone &= is_stream;
        }
        match (takes, alone) {
            (true, true) => Ok(Self::StreamAlone),
            (true, false) => Ok(Self::Any),
            (false, _) => {
                Err(Problem::new(Code::NotAcceptable, "a watch is `text/event-stream`, which `Accept` does not take"))
            }
        }
    }
}

/// A media range in lower case, and whether it is refused (RFC 9110, section 12.4.2).
fn range(text: &str) -> (String, bool) {
    let mut parts = text.split(';').map(|part| part.trim().to_ascii_lowercase());
    let range = parts.next().unwrap_or_default();
    let is_zero = |part: String| {
        part.strip_prefix("q=").is_some_and(|q| q.starts_with('0') && q.bytes().all(|b| matches!(b, b'0' | b'.')))
    };
    (range, parts.any(is_zero))
}

/// Where the client wants to begin.
fn begin(call: &Call, query: &Query) -> Result<Begin, Problem> {
    let given = |param: &Param| query.text(param).filter(|text| !text.is_empty()).map(str::to_owned);
    let (after, last) = (given(&AFTER_SEQUENCE), given(&LAST_EVENT_ID));
    if after.is_some() && last.is_some() {
        return Err(Problem::field(LAST_EVENT_ID.name, "and `afterSequence` exclude each other"));
    }
    let parsed = |param: &Param, text: &str| Position::parse(text).map_err(|why| Problem::field(param.name, why));
    let in_query = match (after.as_deref(), last) {
        (Some("now"), _) => Some(Begin::Now),
        (Some(text), _) => Some(Begin::At(parsed(&AFTER_SEQUENCE, text)?)),
        (None, Some(text)) => Some(Begin::At(parsed(&LAST_EVENT_ID, &text)?)),
        (None, None) => None,
    };
    // A browser that comes back sends the same query again.
    let in_header = call.last_event_id()?.map(Begin::At);
    Ok(in_header.or(in_query).unwrap_or(Begin::Start))
}

/// Why the server ends a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bye {
    Drain,
    Lifetime,
    CredentialExpired,
    Overloaded,
}

impl Bye {
    fn as_str(self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::Lifetime => "lifetime",
            Self::CredentialExpired => "credential_expired",
            Self::Overloaded => "overloaded",
        }
    }
}

fn bye(app: &App, reason: Bye) -> String {
    let retry = COME_BACK + app.clock.jitter(SPREAD);
    let mut out = format!("retry: {}\n\n", retry.as_millis());
    frame(&mut out, "bye", None, &reason_object(reason.as_str()));
    out
}

fn reason_object(reason: &str) -> String {
    let mut object = ObjectText::default();
    object.push_str("reason", reason);
    object.close()
}

/// Writes a frame. Line breaks, which JSON may have between its tokens, are between lines of data.
fn frame(out: &mut String, event: &str, id: Option<Cursor>, data: &str) {
    let mut line = |name: &str, value: &dyn Display| out.push_str(&format!("{name}: {value}\n"));
    if let Some(id) = id {
        line("id", &id);
    }
    line("event", &event);
    // `lines` knows LF and CRLF; a CR alone ends a line, too.
    for text in data.lines().flat_map(|line| line.split('\r')) {
        line("data", &text);
    }
    out.push('\n');
}

/// A watch on its way to its client.
struct Watch {
    app: Arc<App>,
    follower: Follower,
    client: Watched,
    ending: channel::Receiver<bool>,
    ends: Instant,
    /// When to break the silence.
    beat: Instant,
    /// Since when reads fail.
    failing: Option<Instant>,
    /// All that was there at the beginning was sent: what comes now is new.
    is_live: bool,
    ended: Option<&'static str>,
    _place: Watching,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.app.metrics.watch_ended(self.ended.unwrap_or("client"));
    }
}

impl Watch {
    fn new(call: &Call, follower: Follower, place: Watching) -> Self {
        let app = call.app.clone();
        let settings = app.settings.watch;
        let tenth = settings.lifetime / 10;
        Self {
            follower,
            client: Watched::new(call),
            ending: app.ending(),
            ends: Instant::now() + (settings.lifetime - tenth) + app.clock.jitter(2 * tenth),
            beat: Instant::now() + settings.heartbeat,
            failing: None,
            is_live: false,
            ended: None,
            _place: place,
            app,
        }
    }

    /// The next part of the stream.
    async fn step(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if self.ended.is_some() {
            return None;
        }
        let part = self.next().await?;
        self.beat = Instant::now() + self.app.settings.watch.heartbeat;
        Some((Ok(part.into()), self))
    }

    /// `None`: it ends without a word.
    async fn next(&mut self) -> Option<String> {
        loop {
            if *self.ending.borrow() {
                return Some(self.bye(Bye::Drain));
            }
            if self.ends <= Instant::now() {
                return Some(self.bye(Bye::Lifetime));
            }
            if !self.client.still_may().await {
                return Some(self.bye(Bye::CredentialExpired));
            }
            let deadline = Instant::now() + self.app.settings.request_timeout;
            match self.follower.read(deadline).await {
                Ok(items) if items.is_empty() => self.failing = None,
                Ok(items) => {
                    self.failing = None;
                    return self.written(items);
                }
                Err(error) if !error.may_pass() => return self.cut(&error),
                Err(error) => {
                    if self.failing.get_or_insert(Instant::now()).elapsed() > PATIENCE {
                        tracing::warn!(%error, "a watch was ended: the database does not answer");
                        return Some(self.bye(Bye::Overloaded));
                    }
                    sleep(RETRY).await;
                    continue;
                }
            }
            if self.beat <= Instant::now() {
                return Some(": .\n\n".to_owned());
            }
            let next = self.beat.min(self.ends).min(self.client.due());
            tokio::select! {
                _ = self.ending.wait_for(|ending| *ending) => {}
                () = self.follower.changed() => {}
                () = sleep_until(next) => {}
            }
        }
    }

    fn bye(&mut self, reason: Bye) -> String {
        self.ended = Some(reason.as_str());
        bye(&self.app, reason)
    }

    fn cut(&mut self, error: &service::Error) -> Option<String> {
        tracing::error!(%error, "a watch was cut");
        self.ended = Some("storage");
        None
    }

    /// The items as frames. `None`: the stream ends without a word.
    fn written(&mut self, items: Vec<Item>) -> Option<String> {
        let mut out = String::new();
        for item in items {
            match item {
                Item::Event(marked) => {
                    let mut text = String::new();
                    marked.event.write_json(&mut text);
                    frame(&mut out, "event", Some(self.follower.cursor_of(&marked)), &text);
                    if self.is_live {
                        self.app.metrics.delivered(self.app.clock.now().0 - marked.event.commit_time.0);
                    }
                }
                Item::Begins(base) => frame(&mut out, "trimmed", None, &base_object(base)),
                Item::Trimmed(base) => {
                    self.ended = Some("trimmed");
                    frame(&mut out, "trimmed", None, &base_object(base));
                }
                Item::Metadata(head) => frame(&mut out, "metadata", None, &metadata_object(&head)),
                Item::State { tag, state } => {
                    let mut object = revisions(&tag);
                    object.push("state", &state);
                    frame(&mut out, "state", None, &object.close());
                }
                Item::Change { tag, set, removed } => {
                    let mut values = ObjectText::default();
                    set.iter().for_each(|(key, value)| values.push(key, value));
                    let mut object = revisions(&tag);
                    object.push("set", &values.close());
                    object.push("removed", &string_array(&removed));
                    frame(&mut out, "state", None, &object.close());
                }
                Item::CaughtUp => {
                    self.is_live = true;
                    let cursor = self.follower.cursor();
                    let mut object = ObjectText::default();
                    object.push("revision", &cursor.sequence.to_string());
                    frame(&mut out, "caught_up", Some(cursor), &object.close());
                }
                Item::Deleted(gone) => {
                    self.ended = Some("deleted");
                    let reason = match gone {
                        Gone::Deleted => "deleted",
                        Gone::Expired => "expired",
                    };
                    frame(&mut out, "deleted", None, &reason_object(reason));
                }
                Item::Lost => {
                    self.ended = Some("position_gone");
                    return (!out.is_empty()).then_some(out);
                }
            }
        }
        Some(out)
    }
}

fn base_object(base: i64) -> String {
    let mut object = ObjectText::default();
    object.push("baseRevision", &base.to_string());
    object.close()
}

/// An object that begins with the moment that it is of.
fn revisions(tag: &Tag) -> ObjectText {
    let mut object = ObjectText::default();
    object.push_str("revisions", &tag.moment());
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_of_json_are_lines_of_data() {
        let mut out = String::new();
        let cursor = Cursor { sequence: 1, incarnation: 0xabc, event: [1, 2, 3, 4] };
        frame(&mut out, "event", Some(cursor), "{\"a\":\r\n 1,\r\"b\":\n\n2}");
        assert_eq!(
            out,
            "id: 1-abc-01020304\nevent: event\ndata: {\"a\":\ndata:  1,\ndata: \"b\":\ndata: \ndata: 2}\n\n"
        );
    }

    #[test]
    fn media_ranges_are_read_with_their_weights() {
        for (text, range_of, refused) in [
            ("text/event-stream", "text/event-stream", false),
            ("Text/Event-Stream; q=0.5", "text/event-stream", false),
            ("*/*;q=0", "*/*", true),
            ("*/*;q=0.000", "*/*", true),
            ("*/*;q=0.001", "*/*", false),
        ] {
            assert_eq!(range(text), (range_of.to_owned(), refused), "{text}");
        }
    }
}
