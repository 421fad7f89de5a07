//! Following a session: what a watch yields, and how it goes on after its connection broke.

use std::{collections::BTreeMap, collections::VecDeque, sync::Arc, time::Duration};

use adk_core::Event;
use chrono::{DateTime, Utc};
use futures::Stream;
use reqwest::{Method, Response, header::CONTENT_TYPE};
use serde_json::{Map, Value};
use tokio::time::{sleep, timeout};

use crate::{
    error::{Error, ErrorKind},
    http::{Failed, Http, chance, retry_after, why},
    sse::{Frame, Parser},
    wire,
};

/// The pause before the first attempt to come back, doubled for each further one up to the second number.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Where a watch begins.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum WatchFrom {
    /// With the whole log.
    #[default]
    Start,
    /// With what comes now.
    Now,
    /// Behind the event of this number.
    Sequence(u64),
    /// Behind the item with this cursor.
    Cursor(String),
}

/// What happens to a session. `cursor` is the place in the log: a watch from it goes on behind what was yielded so far.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum WatchItem {
    /// An event of the session. Each comes once, in the order of the log.
    Event {
        /// The place behind this event. Store it when the effect of the event is stored.
        cursor: String,
        /// The event, as `get` shows it.
        event: Box<Event>,
        /// Its number in the log, from 1 on.
        sequence: u64,
        /// When it was stored, by the server's clock.
        commit_time: DateTime<Utc>,
    },
    /// All that was stored when the connection was made has been yielded; what follows is new. It comes again after
    /// each reconnect, and after a burst of more than a page.
    CaughtUp {
        /// The place.
        cursor: String,
        /// The number of the last event.
        revision: u64,
    },
    /// With `include_state`: the merged state just before `CaughtUp`, then changes of app and user state. The state of
    /// the session itself changes with its events: their `state_delta` is to be applied.
    State {
        /// The place.
        cursor: String,
        /// The whole merged state, in place of what was known; none if this is a change.
        state: Option<Map<String, Value>>,
        /// What has changed, keys with their prefix.
        set: Map<String, Value>,
        /// The keys that are gone, with their prefix.
        removed: Vec<String>,
        /// The revisions of session, user state and app state, and the session's incarnation, as in the ETag.
        revisions: String,
    },
    /// The metadata of the session: once before `CaughtUp`, then when it has changed.
    Metadata {
        /// The place.
        cursor: String,
        /// Its name for people.
        display_name: Option<String>,
        /// Its labels.
        labels: BTreeMap<String, String>,
        /// When it expires; none if never.
        expire_time: Option<DateTime<Utc>>,
    },
    /// The session is gone, or was deleted and made anew. Nothing follows.
    Deleted {
        /// The last place.
        cursor: String,
        /// `deleted`, `expired`, `retention` or `erased`; other words may come.
        reason: String,
    },
}

struct Watch {
    http: Arc<Http>,
    path: Result<String, Error>,
    include_state: bool,
    cursor: String,
    /// Frames that have come, and not been yielded.
    frames: VecDeque<Frame>,
    stream: Option<(Response, Parser)>,
    /// What the server asks for as a pause; it has spread it.
    asked: Option<Duration>,
    failures: u32,
    over: bool,
}

pub(crate) fn watch(
    http: Arc<Http>,
    path: Result<String, Error>,
    from: WatchFrom,
    include_state: bool,
) -> impl Stream<Item = Result<WatchItem, Error>> + Send + Unpin + use<> {
    let cursor = match from {
        WatchFrom::Start => String::new(),
        WatchFrom::Now => "now".into(),
        WatchFrom::Sequence(sequence) => sequence.to_string(),
        WatchFrom::Cursor(cursor) => cursor,
    };
    let (frames, over) = (VecDeque::new(), false);
    let watch = Watch { http, path, include_state, cursor, frames, stream: None, asked: None, failures: 0, over };
    Box::pin(futures::stream::unfold(watch, async |mut watch| {
        if watch.over {
            return None;
        }
        let item = watch.next().await;
        watch.over = matches!(item, Err(_) | Ok(WatchItem::Deleted { .. }));
        Some((item, watch))
    }))
}

impl Watch {
    async fn next(&mut self) -> Result<WatchItem, Error> {
        let mut bye = None;
        loop {
            while let Some(frame) = self.frames.pop_front() {
                if frame.name == "bye" {
                    bye = Some(format!("sessiond ended the stream: {}", frame.data));
                } else if let Some(item) = item(&frame)? {
                    self.cursor = frame.id;
                    self.failures = 0;
                    return Ok(item);
                }
            }
            let silence = self.http.silence();
            let ended = match &mut self.stream {
                None => match self.open().await? {
                    Ok(opened) => {
                        self.stream = Some((opened, Parser::default()));
                        continue;
                    }
                    Err((why, at_least)) => (why, at_least),
                },
                Some((response, parser)) => match timeout(silence, response.chunk()).await {
                    Ok(Ok(Some(chunk))) => {
                        self.frames.extend(parser.feed(&chunk));
                        self.asked = parser.retry.or(self.asked);
                        // A frame without an id is at the place of the one before it, also of a stream before it.
                        for frame in self.frames.iter_mut().filter(|frame| frame.id.is_empty()) {
                            frame.id.clone_from(&self.cursor);
                        }
                        continue;
                    }
                    Ok(Ok(None)) => (bye.take().unwrap_or_else(|| "the stream ended".into()), Duration::ZERO),
                    Ok(Err(error)) => (why(&error), Duration::ZERO),
                    Err(_) => (format!("nothing came for {silence:?}"), Duration::ZERO),
                },
            };
            self.stream = None;
            self.pause(&ended.0, ended.1).await;
        }
    }

    /// Opens the stream. If that may be tried again: why, and what pause the server asks for.
    async fn open(&self) -> Result<Result<Response, (String, Duration)>, Error> {
        let mut call = self.http.call(Method::GET, &format!("{}/watch", self.path.clone()?));
        call = call.header("accept", "text/event-stream");
        if !self.cursor.is_empty() {
            call = call.query("afterSequence", &self.cursor);
        }
        if self.include_state {
            call = call.query("include", "state");
        }
        let response = match self.http.open(&call).await {
            Ok(response) => response,
            Err(Failed::Final(error)) if error.kind != ErrorKind::Unavailable => return Err(error),
            Err(Failed::Final(error)) => return Ok(Err((error.message, Duration::ZERO))),
            Err(failed) => return Ok(Err((failed.why(), Duration::ZERO))),
        };
        let status = response.status().as_u16();
        let is_stream =
            response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        if status == 200 && is_stream {
            return Ok(Ok(response));
        }
        let at_least = retry_after(response.headers());
        let body = timeout(self.http.silence(), response.bytes()).await.ok().and_then(Result::ok).unwrap_or_default();
        let error = Error::answered(status, &body);
        let passes = matches!(error.kind, ErrorKind::Unavailable | ErrorKind::RateLimited);
        if passes { Ok(Err((error.message, at_least))) } else { Err(Error { outcome: None, ..error }) }
    }

    async fn pause(&mut self, ended: &str, at_least: Duration) {
        let first = self.asked.unwrap_or(FIRST_PAUSE);
        let limit = (first * 2u32.pow(self.failures)).min(first.max(LONGEST_PAUSE));
        let spread = if self.asked.is_some() && self.failures == 0 { limit } else { limit.mul_f64(chance()) };
        let pause = spread.max(at_least);
        self.failures = (self.failures + 1).min(8);
        let path = self.path.as_deref().unwrap_or_default();
        tracing::info!(
            url = format!("{}{path}", self.http.base()),
            "watch: coming back in {:.1} s: {ended}",
            pause.as_secs_f64()
        );
        sleep(pause).await;
    }
}

/// What a frame says; none if it is of a kind that this version does not know.
fn item(frame: &Frame) -> Result<Option<WatchItem>, Error> {
    let cursor = frame.id.clone();
    let object = |name: &str| -> Result<Map<String, Value>, Error> {
        let said = wire::members(frame.data.as_bytes())?;
        Ok(said.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default())
    };
    let said = || wire::members(frame.data.as_bytes());
    Ok(Some(match frame.name.as_str() {
        "event" => {
            let stored = wire::event(&frame.data)?;
            let (sequence, commit_time) = (stored.sequence, stored.commit_time);
            WatchItem::Event { cursor, event: Box::new(stored.event), sequence, commit_time }
        }
        "caught_up" => WatchItem::CaughtUp { cursor, revision: wire::member(&said()?, "revision")? },
        "state" => WatchItem::State {
            cursor,
            state: said()?.contains_key("state").then(|| object("state")).transpose()?,
            set: object("set")?,
            removed: wire::list(&said()?, "removed")?
                .into_iter()
                .filter_map(|key| serde_json::from_str(key.get()).ok())
                .collect(),
            revisions: wire::text(&said()?, "revisions").unwrap_or_default(),
        },
        "metadata" => WatchItem::Metadata {
            cursor,
            display_name: wire::text(&said()?, "displayName"),
            labels: object("labels")?
                .into_iter()
                .filter_map(|(name, value)| Some((name, value.as_str()?.to_owned())))
                .collect(),
            expire_time: wire::time(&said()?, "expireTime").ok(),
        },
        "deleted" => WatchItem::Deleted { cursor, reason: wire::text(&said()?, "reason").unwrap_or_default() },
        _ => return Ok(None),
    }))
}
