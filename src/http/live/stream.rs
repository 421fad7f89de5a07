//! Streams of server-sent events (HTML standard, section 9.2).

use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, header};
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::watch as channel;
use tokio::time::{Instant, sleep, sleep_until};

use crate::domain::json::ObjectText;
use crate::domain::word::words;
use crate::http::app::App;
use crate::http::call::Call;
use crate::http::limits::admission::Watching;
use crate::http::limits::shares;
use crate::http::live::watched::Watched;
use crate::http::reply::{Answer, Code, Problem};
use crate::server::HalfClosed;
use crate::service;

pub const EVENT_STREAM: &str = "text/event-stream";

const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// How long to wait after a failed read, and for how long reads may fail before the stream ends: long enough for a
/// failover.
const RETRY: Duration = Duration::from_millis(250);
const PATIENCE: Duration = Duration::from_secs(20);

/// Clients reconnect after this time, plus a random part of `SPREAD`, so that clients that were cut together do not
/// return together.
const COME_BACK: Duration = Duration::from_secs(1);
const SPREAD: Duration = Duration::from_secs(4);

/// The content of a stream.
pub trait Source: Send + 'static {
    /// Waits until there may be something to read. Must be cancel-safe.
    fn changed(&mut self) -> impl Future<Output = ()> + Send;
    /// The next events. After an error, it may be called again.
    fn read(&mut self, deadline: Instant) -> impl Future<Output = service::Result<Frames>> + Send;
    /// Bytes that it buffers between two reads.
    fn buffered(&self) -> usize {
        0
    }
}

/// The next part of a stream.
#[derive(Debug, Default)]
pub struct Frames {
    /// Empty: nothing new.
    pub text: String,
    /// There is more to read immediately.
    pub more: bool,
    /// The stream is over, and why.
    pub ended: Option<&'static str>,
}

impl Frames {
    /// Adds a frame. A line break in the data, which JSON may have between tokens, starts a new `data` line.
    pub fn push(&mut self, event: &str, id: Option<&dyn Display>, data: &str) {
        let mut line = |name: &str, value: &dyn Display| self.text.push_str(&format!("{name}: {value}\n"));
        if let Some(id) = id {
            line("id", id);
        }
        line("event", &event);
        // `lines` splits at LF and CRLF, but a CR alone ends a line too.
        for text in data.lines().flat_map(|line| line.split('\r')) {
            line("data", &text);
        }
        self.text.push('\n');
    }
}

pub fn reason_object(reason: &str) -> String {
    let mut object = ObjectText::default();
    object.push_str("reason", reason);
    object.close()
}

/// Answers with a stream.
///
/// # Errors
/// All places for streams are taken.
pub fn answer(call: &Call, accepts: Accepts, source: impl Source) -> Result<Answer, Problem> {
    if call.is_head {
        // A stream has no known length, so neither has its HEAD.
        return Ok(headed(call, Body::from_stream(stream::empty::<Result<Bytes, Infallible>>())));
    }
    let place = match call.app.places.watch(&call.app.metrics, call.sharer()) {
        Ok(place) => place,
        // A browser treats any other answer as final and never reconnects.
        Err(_) if accepts == Accepts::StreamAlone => {
            call.app.metrics.rejections.inc("watchers");
            return Ok(headed(call, Body::from(bye(&call.app, Bye::Overloaded))));
        }
        Err(problem) => return Err(problem),
    };
    let stream = Stream::new(call, source, place);
    Ok(Answer { is_watch: true, ..headed(call, Body::from_stream(stream::unfold(stream, Stream::step))) })
}

fn headed(call: &Call, body: Body) -> Answer {
    let answer = Answer::ok()
        .header(header::CONTENT_TYPE, EVENT_STREAM)
        .header(header::CACHE_CONTROL, "no-store, no-transform")
        .header(X_ACCEL_BUFFERING, "no")
        .body(body);
    Answer { stall: Some(call.app.settings.watch.stall), ..answer }
}

/// The types of answer that the client accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepts {
    /// Only a stream, as a browser's `EventSource` asks.
    StreamAlone,
    Stream,
    /// Any type.
    Any,
}

impl Accepts {
    /// # Errors
    /// The client does not accept a stream.
    pub fn of(call: &Call) -> Result<Self, Problem> {
        Self::find(call).ok_or_else(|| {
            Problem::new(Code::NotAcceptable, "a watch is `text/event-stream`, which `Accept` does not take")
        })
    }

    /// `None`: the client does not accept a stream. Of the ranges that match a stream, the most specific decides (RFC
    /// 9110, section 12.5.1).
    pub fn find(call: &Call) -> Option<Self> {
        Self::of_ranges(call.headers.list(&header::ACCEPT))
    }

    fn of_ranges<'a>(ranges: impl Iterator<Item = &'a str>) -> Option<Self> {
        let ranges: Vec<(String, bool)> = ranges.map(range).collect();
        if ranges.is_empty() {
            return Some(Self::Any);
        }
        let taken = |wanted: &str| {
            let mut found = ranges.iter().filter(|(range, _)| range == wanted).peekable();
            found.peek()?;
            Some(found.any(|(_, is_refused)| !is_refused))
        };
        let named = taken(EVENT_STREAM);
        if !named.or_else(|| taken("text/*")).or_else(|| taken("*/*")).unwrap_or(false) {
            return None;
        }
        let takes_json = ["application/json", "application/*", "*/*"].iter().any(|range| taken(range) == Some(true));
        Some(match named {
            Some(_) if ranges.iter().all(|(range, _)| range == EVENT_STREAM) => Self::StreamAlone,
            None if takes_json => Self::Any,
            _ => Self::Stream,
        })
    }
}

/// A media range in lower case without parameters, and whether its weight is 0 (RFC 9110, section 12.4.2).
fn range(text: &str) -> (String, bool) {
    let mut parts = text.split(';').map(|part| part.trim().to_ascii_lowercase());
    let range = parts.next().unwrap_or_default();
    let is_zero = |part: String| {
        let weight = part.split_once('=').filter(|(name, _)| name.trim() == "q").map(|(_, q)| q.trim().to_owned());
        weight.is_some_and(|q| q.starts_with('0') && q.bytes().all(|b| matches!(b, b'0' | b'.')))
    };
    (range, parts.any(is_zero))
}

words! {
    /// Why the server ends a stream.
    enum Bye {
        Drain = "drain",
        Lifetime = "lifetime",
        CredentialExpired = "credential_expired",
        Overloaded = "overloaded",
    }
}

fn bye(app: &App, reason: Bye) -> String {
    let retry = COME_BACK + app.clock.jitter(SPREAD);
    let mut out = Frames { text: format!("retry: {}\n\n", retry.as_millis()), ..Frames::default() };
    out.push("bye", None, &reason_object(reason.as_str()));
    out.text
}

/// A stream on its way to its client.
struct Stream<S> {
    app: Arc<App>,
    source: S,
    client: Watched,
    ending: channel::Receiver<bool>,
    ends: Instant,
    /// When to send the next heartbeat.
    beat: Instant,
    /// Since when reads have failed.
    failing: Option<Instant>,
    ended: Option<&'static str>,
    half_closed: HalfClosed,
    sharer: shares::Asker,
    /// The source's buffer in bytes, and its reservation among the answers if it is large.
    buffer: (usize, Option<shares::Share>),
    place: Watching,
}

impl<S> Drop for Stream<S> {
    fn drop(&mut self) {
        self.app.metrics.watch_ends.inc(self.ended.unwrap_or("client"));
    }
}

impl<S: Source> Stream<S> {
    fn new(call: &Call, source: S, place: Watching) -> Self {
        let app = call.app.clone();
        let settings = app.settings.watch;
        let tenth = settings.lifetime / 10;
        Self {
            source,
            client: Watched::new(call),
            ending: app.ending(),
            ends: Instant::now() + (settings.lifetime - tenth) + app.clock.jitter(2 * tenth),
            beat: Instant::now() + settings.heartbeat,
            failing: None,
            ended: None,
            half_closed: call.gone.half_closed(),
            sharer: call.sharer(),
            buffer: (0, None),
            place,
            app,
        }
    }

    async fn step(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if self.ended.is_some() {
            return None;
        }
        let part = self.next().await?;
        self.beat = Instant::now() + self.app.settings.watch.heartbeat;
        let part = match self.counted(part.into()) {
            Some(part) => part,
            // The client reconnects after the last event that it got.
            None => {
                self.app.metrics.rejections.inc("answer_bytes");
                self.bye(Bye::Overloaded).into()
            }
        };
        Some((Ok(part), self))
    }

    /// Reserves memory for this part and for the source's buffer; `None` if there is none.
    fn counted(&mut self, part: Bytes) -> Option<Bytes> {
        let places = &self.app.places;
        let buffer = self.source.buffered();
        if buffer != self.buffer.0 {
            self.buffer = (buffer, None);
            self.buffer.1 = places.room(self.sharer, buffer)?;
        }
        places.counted(self.sharer, part)
    }

    /// The next frame; `None` ends the stream without a closing frame.
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
            if self.place.preemption.is_preempted() {
                self.app.metrics.rejections.inc("watchers");
                return Some(self.bye(Bye::Overloaded));
            }
            let deadline = Instant::now() + self.app.settings.request_timeout;
            match self.source.read(deadline).await {
                Ok(Frames { text, more, ended }) => {
                    self.failing = None;
                    self.ended = ended;
                    if !text.is_empty() || ended.is_some() {
                        return (!text.is_empty()).then_some(text);
                    }
                    if more && self.beat > Instant::now() {
                        continue;
                    }
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
                // Most clients that close their sending side have gone; they would keep a place until the next frame.
                () = self.half_closed.wait() => return None,
                _ = self.ending.wait_for(|ending| *ending) => {}
                () = self.source.changed() => {}
                () = self.place.preemption.preempted() => {}
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_of_json_are_lines_of_data() {
        let mut out = Frames::default();
        out.push("event", Some(&"1-abc"), "{\"a\":\r\n 1,\r\"b\":\n\n2}");
        assert_eq!(out.text, "id: 1-abc\nevent: event\ndata: {\"a\":\ndata:  1,\ndata: \"b\":\ndata: \ndata: 2}\n\n");
    }

    #[test]
    fn the_most_specific_range_decides() {
        let find = |accept: &str| Accepts::of_ranges(accept.split(',').map(str::trim).filter(|part| !part.is_empty()));
        for (accept, taken) in [
            ("", Some(Accepts::Any)),
            ("*/*", Some(Accepts::Any)),
            ("text/*", Some(Accepts::Stream)),
            ("TEXT/*;q=0.1, application/json", Some(Accepts::Any)),
            ("text/event-stream", Some(Accepts::StreamAlone)),
            ("text/event-stream, */*", Some(Accepts::Stream)),
            ("text/event-stream;q=0.2, text/*;q=0", Some(Accepts::Stream)),
            ("text/event-stream;q=0, */*", None),
            ("*/*, text/event-stream; q = 0.0", None),
            ("text/*;q=0, */*", None),
            ("*/*;q=0", None),
            ("application/json", None),
            ("text/html, application/*", None),
        ] {
            assert_eq!(find(accept), taken, "{accept}");
        }
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
