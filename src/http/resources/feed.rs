//! The change feed: committed changes, as pages and as a stream.

use std::sync::Arc;

use tokio::time::Instant;

use crate::domain::access::{Names, Role};
use crate::domain::erasure::Subject;
use crate::domain::feed::{Change, ChangeKind, Content, FeedBegin, FeedPosition, FeedQuery, FeedScope};
use crate::domain::json::{Json, ObjectText, string_array};
use crate::http::call::{Call, Query};
use crate::http::describe::{Access, Header, Kind, Operation, PAGE_SIZE, Param, Serving, WAIT};
use crate::http::live::stream::{self, Accepts, Frames, Source};
use crate::http::live::wait::Wait;
use crate::http::reply::{self, Answer, Problem};
use crate::service::{self, Changes, Error, FeedSubscription, Reader};

const AFTER: Param = Param::new("after", Kind::FeedPosition);
const INCLUDE: Param = Param::new("include", Kind::OneOf(&["events", "none"]));
const KINDS: Param = Param::new("kinds", Kind::SomeOf(&ChangeKind::WORDS));

/// The most that a stream reads and sends at a time.
const PART_BYTES: usize = 256 << 10;

pub const OF_ALL: Operation = Operation::of("readFeed", Access::Read(Role::Reader))
    .serving(Serving::WATCH)
    .query(&[AFTER, INCLUDE, KINDS, WAIT, PAGE_SIZE])
    .headers(&[Header::LastEventId]);

pub const OF_APP: Operation = Operation { id: "readAppFeed", ..OF_ALL };

pub const OF_USER: Operation = Operation { id: "readUserFeed", ..OF_ALL };

/// The changes of a user or of an app, as the path says, or of all apps and users in the client's grant.
pub async fn read(mut call: Call) -> Result<Answer, Problem> {
    let (scope, apps, users) = match (call.names.user(), call.names.app()) {
        (Ok(user), _) => (FeedScope::User(user), Names::all(), Names::all()),
        (Err(_), Ok(app)) => (FeedScope::App(app), Names::all(), Names::all()),
        (Err(_), Err(_)) => (FeedScope::All, call.client.grant.apps.clone(), call.client.grant.users.clone()),
    };
    let query = call.take_query();
    let service = call.service.clone();
    let limits = call.limits();
    let mut feed = FeedQuery {
        begin: begin(&call, &query)?,
        kinds: query
            .text(&KINDS)
            .map(|text| text.split(',').filter_map(|kind| ChangeKind::parse(kind.trim())).collect()),
        with_content: query.text(&INCLUDE) != Some("none"),
        max_rows: query.page_rows(&limits)?,
        max_bytes: limits.page_bytes,
        scope,
        apps,
        users,
    };
    // Subscribe before the first read, so that no change between it and the first wait is missed.
    let news = service.subscribe_feed(&feed.scope);
    let accepts = Accepts::find(&call).filter(|accepts| *accepts != Accepts::Any);
    let wait = query.wait().filter(|wait| !wait.is_zero());
    if accepts.is_some() {
        for (param, is_given) in [(&WAIT, query.wait().is_some()), (&PAGE_SIZE, query.integer(&PAGE_SIZE).is_some())] {
            if is_given {
                return Err(Problem::field(param.name, "is for pages; this is a stream"));
            }
        }
        feed.max_bytes = feed.max_bytes.min(PART_BYTES);
    }
    // So the page includes every change that was answered before.
    if let Ok(writer) = call.writer() {
        writer.refresh_feed(call.deadline).await?;
    }
    if let Some(accepts) = accepts {
        // Report a bad position before the stream begins.
        let first = service.feed(&feed, call.deadline).await?;
        return stream::answer(
            &call,
            accepts,
            Feed { service, query: feed, news, first: Some(first), caught_up: false },
        );
    }
    let mut wait = wait.map(|wait| Wait::on(&call, wait, news));
    let mut quiet = None;
    loop {
        let mut page = service.feed(&feed, call.deadline).await?;
        if page.changes.is_empty() && page.up_to_date {
            // The search goes on, and the position stays.
            page.position = *quiet.get_or_insert(page.position);
        }
        // This page was empty, but there is more to scan.
        let is_behind = page.changes.is_empty() && !page.up_to_date && Instant::now() < call.deadline;
        if let Some(wait) = wait.as_mut().filter(|_| page.changes.is_empty() && !is_behind) {
            match wait.changed(None).await? {
                Some(deadline) => call.deadline = deadline,
                None => return Ok(Answer::ok().json(page_object(&page))),
            }
        } else if wait.is_none() || !is_behind {
            return Ok(Answer::ok().json(page_object(&page)));
        }
        feed.begin = FeedBegin::Behind(page.through);
    }
}

/// Where to begin.
fn begin(call: &Call, query: &Query) -> Result<FeedBegin, Problem> {
    let parse = |text: &str| match text {
        "" | "start" => Ok(FeedBegin::Start),
        "now" => Ok(FeedBegin::Now),
        text => FeedPosition::parse(text).map(FeedBegin::Behind),
    };
    // A browser that reconnects sends the same query again.
    if let Some(position) = call.headers.last_event_id(FeedPosition::parse)? {
        return Ok(FeedBegin::Behind(position));
    }
    let text = query.text(&AFTER).unwrap_or_default();
    parse(text).map_err(|why| Problem::field(AFTER.name, why))
}

fn page_object(page: &Changes) -> String {
    let changes: Vec<String> =
        page.changes.iter().map(|(change, subject)| change_object(change, subject.as_ref())).collect();
    let mut object = ObjectText::default();
    object.push_array("changes", &changes);
    object.push_str("position", &page.position.to_string());
    object.push("upToDate", if page.up_to_date { "true" } else { "false" });
    object.close()
}

fn change_object(change: &Change, subject: Option<&Subject>) -> String {
    let Change { position, time, kind, app, user, session, first, last, detail, content } = change;
    let mut object = ObjectText::default();
    object.push_str("position", &position.to_string());
    object.push("time", &time.to_number());
    object.push_str("kind", kind.as_str());
    object.push_str("appName", app.as_str());
    object.push_some_str("userId", user.as_ref().map(|user| user.as_str()));
    object.push_some_str("subject", subject.map(|subject| subject.to_hex()));
    if let Some((session, incarnation)) = session {
        object.push_str("sessionId", session.as_str());
        object.push_str("incarnation", &format!("{incarnation:x}"));
    }
    let detail = detail.as_deref();
    match kind {
        ChangeKind::SessionCreated => {
            object.push("revision", &last.to_string());
            object.push_some("forkedFrom", detail);
        }
        ChangeKind::Events => {
            object.push("firstSequence", &first.to_string());
            object.push("lastSequence", &last.to_string());
        }
        ChangeKind::SessionUpdated => object.push("metadata", detail.unwrap_or("{}")),
        ChangeKind::SessionTrimmed => object.push("baseRevision", &last.to_string()),
        ChangeKind::EventRedacted => object.push("sequence", &last.to_string()),
        ChangeKind::SessionDeleted => object.push_str("reason", detail.unwrap_or_default()),
        ChangeKind::UserState | ChangeKind::AppState => {
            object.push("firstRevision", &first.to_string());
            object.push("revision", &last.to_string());
        }
        ChangeKind::UserErased | ChangeKind::ArtifactSaved | ChangeKind::ArtifactDeleted => {
            for member in Json::trusted(detail.unwrap_or("{}")).as_object().into_iter().flatten() {
                object.push(&member.key, member.value.text());
            }
        }
    }
    let is_gone = match content {
        Content::None => false,
        Content::Events { events, gone } => {
            object.push("events", &format!("[{}]", reply::events_text(events)));
            *gone
        }
        Content::State { set, removed, gone } => {
            let mut values = ObjectText::default();
            set.iter().for_each(|(key, value)| values.push(key, value));
            object.push("set", &values.close());
            object.push("removed", &string_array(removed));
            *gone
        }
    };
    if is_gone {
        object.push("gone", "true");
    }
    object.close()
}

/// The feed as the source of a stream.
struct Feed {
    service: Arc<Reader>,
    query: FeedQuery,
    news: FeedSubscription,
    /// The page that was read before the stream began.
    first: Option<Changes>,
    caught_up: bool,
}

impl Source for Feed {
    async fn changed(&mut self) {
        self.news.changed().await;
    }

    async fn read(&mut self, deadline: Instant) -> service::Result<Frames> {
        let mut out = Frames::default();
        let page = match self.first.take() {
            Some(page) => page,
            None => match self.service.feed(&self.query, deadline).await {
                Ok(page) => page,
                // The client learns it when it reconnects.
                Err(Error::FeedGone { .. }) => return Ok(Frames { ended: Some("position_gone"), ..out }),
                Err(error) => return Err(error),
            },
        };
        for (change, subject) in &page.changes {
            out.push("change", Some(&change.position), &change_object(change, subject.as_ref()));
        }
        self.query.begin = FeedBegin::Behind(page.through);
        out.more = !page.up_to_date;
        if page.up_to_date && !std::mem::replace(&mut self.caught_up, true) {
            let mut object = ObjectText::default();
            object.push_str("position", &page.position.to_string());
            out.push("caught_up", Some(&page.position), &object.close());
        }
        Ok(out)
    }
}
