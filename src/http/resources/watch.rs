//! `.../sessions/{session}/watch`: a session as a stream of server-sent events.

use std::sync::Arc;

use tokio::time::Instant;

use crate::domain::access::Role;
use crate::domain::cursor::Position;
use crate::domain::json::{ObjectText, string_array};
use crate::domain::tag::Tag;
use crate::http::app::App;
use crate::http::call::{Call, Query};
use crate::http::describe::{Access, Header, Kind, Operation, Param, Serving};
use crate::http::live::stream::{self, Accepts, Frames, Source, reason_object};
use crate::http::reply::{self, Answer, Problem};
use crate::service::{self, Begin, Follower, Item};

const AFTER_SEQUENCE: Param = Param::new("afterSequence", Kind::CursorOrNow);
const LAST_EVENT_ID: Param = Param::new("lastEventId", Kind::Cursor);
const INCLUDE: Param = Param::new("include", Kind::OneOf(&["state"]));

pub const WATCH: Operation = Operation::of("watchSession", Access::Read(Role::Reader))
    .serving(Serving::WATCH)
    .query(&[AFTER_SEQUENCE, LAST_EVENT_ID, INCLUDE])
    .headers(&[Header::LastEventId]);

pub async fn watch(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let key = call.names.session()?;
    let accepts = Accepts::of(&call)?;
    let begin = begin(&call, &query)?;
    let with_state = query.text(&INCLUDE).is_some();
    let follower = call.service.follow(&key, begin, with_state, call.deadline).await?;
    stream::answer(&call, accepts, Session { app: call.app.clone(), follower, is_live: false })
}

/// Where to begin.
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
    // A browser that reconnects sends the same query again.
    let in_header = call.headers.last_event_id(Position::parse)?.map(Begin::At);
    Ok(in_header.or(in_query).unwrap_or(Begin::Start))
}

/// A session as the source of a stream.
struct Session {
    app: Arc<App>,
    follower: Follower,
    /// All that was there at the beginning has been sent; everything from now on is new.
    is_live: bool,
}

impl Source for Session {
    async fn changed(&mut self) {
        self.follower.changed().await;
    }

    async fn read(&mut self, deadline: Instant) -> service::Result<Frames> {
        let items = self.follower.read(deadline).await?;
        Ok(self.written(items))
    }

    fn buffered(&self) -> usize {
        self.follower.memory()
    }
}

impl Session {
    fn written(&mut self, items: Vec<Item>) -> Frames {
        let mut out = Frames::default();
        for item in items {
            match item {
                Item::Event(marked) => {
                    let cursor = self.follower.cursor_of(&marked);
                    out.push("event", Some(&cursor), &reply::event_text(&marked.event));
                    if self.is_live {
                        self.app.metrics.delivered(self.app.clock.now().0 - marked.event.commit_time.0);
                    }
                }
                Item::Redacted(event) => out.push("redacted", None, &reply::event_text(&event)),
                Item::Begins(base) => out.push("trimmed", None, &base_object(base)),
                Item::Trimmed(base) => {
                    out.ended = Some("trimmed");
                    out.push("trimmed", None, &base_object(base));
                }
                Item::Metadata(metadata) => out.push("metadata", None, &metadata),
                Item::State { tag, state } => {
                    let mut object = revisions(&tag);
                    object.push("state", &state);
                    out.push("state", None, &object.close());
                }
                Item::Change { tag, set, removed } => {
                    let mut values = ObjectText::default();
                    set.iter().for_each(|(key, value)| values.push(key, value));
                    let mut object = revisions(&tag);
                    object.push("set", &values.close());
                    object.push("removed", &string_array(&removed));
                    out.push("state", None, &object.close());
                }
                Item::CaughtUp => {
                    self.is_live = true;
                    let cursor = self.follower.cursor();
                    let mut object = ObjectText::default();
                    object.push("revision", &cursor.sequence.to_string());
                    out.push("caught_up", Some(&cursor), &object.close());
                }
                Item::Deleted(removal) => {
                    out.ended = Some("deleted");
                    out.push("deleted", None, &reason_object(removal.as_str()));
                }
                Item::Lost => out.ended = Some("position_gone"),
            }
        }
        out
    }
}

fn base_object(base: i64) -> String {
    let mut object = ObjectText::default();
    object.push("baseRevision", &base.to_string());
    object.close()
}

/// An object that begins with the revisions of this snapshot.
fn revisions(tag: &Tag) -> ObjectText {
    let mut object = ObjectText::default();
    object.push_str("revisions", &tag.moment());
    object
}
