//! `.../sessions/{session}/events`: the event log.

use std::mem;

use axum::http::StatusCode;

use super::look;
use crate::domain::Limits;
use crate::domain::access::Role;
use crate::domain::event::{EventDraft, StoredEvent};
use crate::domain::find::Words;
use crate::domain::ids::EventId;
use crate::domain::json::{Json, Kind as JsonKind};
use crate::domain::query::{EventPage, EventQuery, History, Look, SessionView};
use crate::domain::session::{SessionInfo, parse_events};
use crate::http::call::Call;
use crate::http::describe::{ANSWER, Access, Header, Kind, Operation, PAGE_SIZE, PAGE_TOKEN, Param, WAIT};
use crate::http::live::wait::{Wait, current};
use crate::http::reply::{self, Answer, Code, Problem, Token};
use crate::service::{Answered, Error};

const OUTPUT_KEY: Param = Param::new("outputKey", Kind::StateKey);

const CREATE: Param = Param::new("create", Kind::Boolean);

pub const APPEND: Operation = Operation::of("appendEvents", Access::Write(Role::User))
    .query(&[OUTPUT_KEY, CREATE, ANSWER])
    .headers(&[Header::Lease, Header::IfMatch, Header::IdempotencyKey]);

pub async fn append(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let (create, shows) = (query.boolean(&CREATE), query.shown());
    let (key, guard, id) = (call.names.session()?, call.headers.guard()?, call.headers.idempotency_key()?);
    // Its memory stays reserved until the request is answered.
    let body = call.required_body().await?;
    let json = body.json()?;
    let drafts = drafts(json, id, query.text(&OUTPUT_KEY), &call.limits())?;
    let several = json.kind() == JsonKind::Array;
    call.charge(drafts.iter().map(EventDraft::cost).fold(0, u32::saturating_add))?;
    let appended = call.writer()?.append(key, drafts, guard, create, shows, call.deadline).await;
    let appended = appended.map_err(|error| match error {
        Error::SessionNotFound if !create => Problem::new(
            Code::SessionNotFound,
            "there is no such session, or it has expired; with `?create=true` the first append makes it",
        ),
        error => error.into(),
    })?;
    call.costs(appended.cost);

    let mut text = String::new();
    let (mut fresh, mut replayed) = (0, 0);
    for (n, event) in appended.events.iter().enumerate() {
        if n > 0 {
            text.push(',');
        }
        match event {
            Answered::Stored { event, replayed: again } => {
                *if *again { &mut replayed } else { &mut fresh } += 1;
                event.write_json(&mut text);
            }
            Answered::Partial(given) => text.push_str(given.text()),
        }
    }
    if several {
        text = format!("[{text}]");
    }
    let status = if fresh > 0 { StatusCode::CREATED } else { StatusCode::OK };
    // That of no session is what a precondition of the first append takes.
    let tag = appended.tag.map_or_else(|| "\"0\"".to_owned(), |tag| tag.to_string());
    let answer = Answer::new(status).tag(tag).replayed(fresh == 0 && replayed > 0);
    let answer = if appended.created { answer.header(reply::SESSIOND_CREATED, "true") } else { answer };
    Ok(answer.json(text))
}

/// The events that a body holds: one, or an array of some. `key`: the `Idempotency-Key`, which is the id of the only one.
fn drafts(
    json: Json<'_>,
    key: Option<EventId>,
    output_key: Option<&str>,
    limits: &Limits,
) -> Result<Vec<EventDraft>, Problem> {
    if json.kind() != JsonKind::Array {
        let draft = EventDraft::parse(json, "", output_key, limits)?;
        return match (key, &draft.id) {
            (Some(key), Some(id)) if key != *id => {
                Err(Problem::field(Header::IdempotencyKey.title(), "is another one than the event's id"))
            }
            (Some(key), None) => Ok(vec![draft.or_id(key)]),
            _ => Ok(vec![draft]),
        };
    }
    let drafts = parse_events(json, "", output_key, limits)?;
    if drafts.is_empty() {
        return Err(Problem::field("", "must hold at least one event"));
    }
    if key.is_some() {
        return Err(Problem::field(
            Header::IdempotencyKey.title(),
            "names one event: in an array, give each event an id of its own, and no key",
        ));
    }
    Ok(drafts)
}

const ORDER: Param = Param::new("order", Kind::OneOf(&["asc", "desc"]));
const AFTER_SEQUENCE: Param = Param::new("afterSequence", Kind::at_least(0));
const BEFORE_SEQUENCE: Param = Param::new("beforeSequence", Kind::at_least(0));
const AFTER_TIMESTAMP: Param = Param::new("afterTimestamp", Kind::Time);
const AUTHOR: Param = Param::new("author", Kind::Text);
const INVOCATION_ID: Param = Param::new("invocationId", Kind::Text);
const BRANCH: Param = Param::new("branch", Kind::Text);
const TEXT: Param = Param::new("text", Kind::Words { required: false });
const EXCLUDE_REWOUND: Param = Param::new("excludeRewound", Kind::Boolean);

pub const HISTORY: Param = Param::new("history", Kind::OneOf(&["full", "effective"]));

pub const LIST: Operation = Operation::of("listEvents", Access::Read(Role::Reader))
    .query(&[
        PAGE_SIZE,
        PAGE_TOKEN,
        ORDER,
        AFTER_SEQUENCE,
        BEFORE_SEQUENCE,
        AFTER_TIMESTAMP,
        AUTHOR,
        INVOCATION_ID,
        BRANCH,
        TEXT,
        EXCLUDE_REWOUND,
        HISTORY,
        WAIT,
    ])
    .headers(&[Header::IfNoneMatch]);

pub async fn list(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let key = call.names.session()?;
    // Checked first, even before a 304: a bad request is refused whatever version the client has.
    let max_rows = query.page_rows(&call.limits())?;
    let descending = query.text(&ORDER) == Some("desc");
    let of_list = call.binding("events");
    let binding = |head: &SessionInfo| {
        let mut binding = of_list
            .clone()
            .with(key.app().as_str())
            .with(key.user.user.as_str())
            .with(key.session.as_str())
            .with(&head.mark().to_string())
            .with(if descending { "desc" } else { "asc" });
        // Without `wait`: it excludes tokens, and what waits may end with one.
        for param in
            LIST.query.iter().filter(|param| !matches!(param.name, "pageSize" | "pageToken" | "order" | "wait"))
        {
            // A present but empty parameter is not the same query as an absent one.
            binding = binding.with(param.name).with(&query.text(param).map(|v| format!("={v}")).unwrap_or_default());
        }
        binding
    };
    let wait = query.wait();
    for (param, excludes) in [(&ORDER, descending), (&BEFORE_SEQUENCE, true), (&PAGE_TOKEN, true)] {
        if wait.is_some() && excludes && query.text(param).is_some() {
            return Err(Problem::field(WAIT.name, format!("excludes `{}`: it waits for what comes", param.name)));
        }
    }
    let words = query.parsed(&TEXT, Words::parse)?;
    let service = call.service.clone();
    let mut looked = 0;
    let token = query.text(&PAGE_TOKEN).map(Token::<(i64, i64)>::parse).transpose()?;
    if let Some(token) = token.as_ref().filter(|_| call.headers.asks_if_none_match()) {
        token.check(&binding(&service.head(&key, call.deadline).await?))?;
    }
    let mut wait = wait.filter(|wait| !wait.is_zero()).map(|wait| Wait::new(&call, wait, false)).transpose()?;
    // A request with `wait` asks for events, not for whether anything changed.
    if wait.is_none()
        && let Some(answer) = current(&mut call, &key, None).await?
    {
        return Ok(answer);
    }
    let mut events = EventQuery {
        after: query.integer(&AFTER_SEQUENCE).unwrap_or(0),
        before: query.integer(&BEFORE_SEQUENCE).unwrap_or(i64::MAX),
        since: query.time(&AFTER_TIMESTAMP),
        author: query.text(&AUTHOR).map(str::to_owned),
        invocation_id: query.text(&INVOCATION_ID).map(str::to_owned),
        branch: query.text(&BRANCH).map(str::to_owned),
        history: match query.text(&HISTORY) {
            Some("effective") => History::Effective(None),
            _ if query.boolean(&EXCLUDE_REWOUND) => History::NotRewound,
            _ => History::Whole,
        },
        selected: None,
        last: None,
        descending,
        max_rows,
        max_bytes: service.limits().page_bytes,
    };
    let as_of = token.as_ref().map(|token| token.position.1);
    let is_of_one_moment = matches!(events.history, History::Effective(_));
    let (view, last) = match token {
        Some(token) => {
            let (last, revision) = token.position;
            *if descending { &mut events.before } else { &mut events.after } = last;
            events.history = events.history.as_of(revision);
            let read = read_page(&mut call, &mut looked, &events, words.as_ref()).await?;
            // Only now it is known of which incarnation the page is.
            token.check(&binding(&read.0.head))?;
            read
        }
        None => loop {
            let (view, last) = read_page(&mut call, &mut looked, &events, words.as_ref()).await?;
            if query.wait().is_some() && events.after > view.head.revision {
                let SessionInfo { base_revision: base, revision, .. } = view.head;
                return Err(Error::PositionGone { base, revision }.into());
            }
            let Some(wait) = wait.as_mut().filter(|_| view.events.events.is_empty() && !view.events.more) else {
                break (view, last);
            };
            if words.is_some() && events.history == History::Whole {
                // These were looked through, and do not change.
                events.after = view.head.revision;
            }
            match wait.changed(view.head.expire_time).await? {
                Some(deadline) => call.deadline = deadline,
                None => break (view, last),
            }
        },
    };
    let page = view.events;
    let next =
        last.filter(|_| page.more).map(|last| binding(&view.head).token(&(last, as_of.unwrap_or(view.head.revision))));
    let mut page = reply::open_page("events", &[reply::events_text(&page.events)], next);
    // Who goes on behind it misses nothing.
    let revision = as_of.filter(|_| is_of_one_moment).unwrap_or(view.head.revision);
    page.push("revision", &revision.to_string());
    if view.head.base_revision > 0 {
        page.push("trimmedThrough", &view.head.base_revision.to_string());
    }
    Ok(Answer::ok().tag(view.head.tag()).json(page.close()))
}

/// Reads a page of events, with `words` of those that hold them, and the last sequence that it has come to.
async fn read_page(
    call: &mut Call,
    looked: &mut usize,
    events: &EventQuery,
    words: Option<&Words>,
) -> Result<(SessionView, Option<i64>), Problem> {
    let (service, key, deadline) = (call.service.clone(), call.names.session()?, call.deadline);
    let Some(words) = words else {
        let view = service.session(key, None, Some(events.clone()), deadline).await?;
        let last = view.events.events.last().map(|event| event.sequence);
        return Ok((view, last));
    };
    let (mut look, mut next) = (Look::new(events.max_rows, events.max_bytes), events.clone());
    let mut first: Option<SessionView> = None;
    loop {
        let turn = call.turn().await?;
        (next.max_rows, next.max_bytes) = look.next();
        let read = match first.as_ref().map(|view| &view.head) {
            Some(head) => service.events_of(head, next.clone(), deadline).await,
            None => service.session(key.clone(), None, Some(next.clone()), deadline).await,
        };
        let mut view = read?;
        let EventPage { events, more, selected, .. } = mem::take(&mut view.events);
        let words = words.clone();
        let judge = move |event: &StoredEvent| (event.sequence, event.weight(), words.are_in_event(&event.body));
        look = look::through(turn, look, (events, more), judge).await?;
        next.selected = selected;
        if let Some(at) = look.at {
            *if next.descending { &mut next.before } else { &mut next.after } = at;
        }
        let mut view = first.take().unwrap_or(view);
        if !look::goes_on(call, *looked, &look) {
            *looked += look.looked();
            view.events = EventPage { events: look.found, more: look.more, ..EventPage::default() };
            return Ok((view, look.at));
        }
        first = Some(view);
    }
}

pub const GET: Operation = Operation::of("getEvent", Access::Read(Role::Reader)).headers(&[Header::IfNoneMatch]);

pub async fn get(call: Call) -> Result<Answer, Problem> {
    let (key, id) = (call.names.session()?, call.names.event_id()?);
    let (head, event) = call.service.event(&key, &id, call.deadline).await?;
    call.headers.tagged(head.tag(), || reply::event_text(&event))
}
