//! A session with its events. The first page is in the view; later pages are streamed.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use futures_util::stream;

use super::watched::{Watched, wait_or_cut};
use crate::domain::query::{EventPage, EventQuery, SessionView};
use crate::domain::session::SessionInfo;
use crate::domain::shown::Shown;
use crate::http::call::Call;
use crate::http::reply::{Answer, Form, NATIVE, push_events_as, session_object};
use crate::service::Reader;

/// A session with its events. Events beyond those in the view are streamed page by page, none beyond the view's
/// revision: the answer is one snapshot however long it takes, and memory does not grow with it.
pub fn session(call: &Call, answer: Answer, view: SessionView, events: EventQuery) -> Answer {
    session_as(NATIVE, call, answer, view, events)
}

/// The answer to a write of a session.
pub fn written(call: &Call, answer: Answer, view: SessionView, shows: Shown) -> Answer {
    match shows {
        Shown::Full => session(call, answer, view, EventQuery::all()),
        Shown::Minimal => {
            let view = SessionView { state: None, ..view };
            answer.tag(view.head.tag()).json(session_object(&view).close())
        }
    }
}

/// [`session`], in another form.
pub fn session_as(form: Form, call: &Call, answer: Answer, view: SessionView, events: EventQuery) -> Answer {
    let mut text = (form.session)(&view).into_open();
    text.push_str(",\"events\":[");
    push_events_as(form, &mut text, &view.events.events, true);
    let answer = answer.tag(view.head.tag());
    if !view.events.more {
        text.push_str("]}");
        return answer.json(text);
    }
    let rest = RestOfSession {
        service: call.service.clone(),
        client: Watched::new(call),
        form,
        first: view.events.events.is_empty(),
        query: EventQuery {
            after: view.events.events.last().map_or(0, |event| event.sequence),
            before: view.head.revision + 1,
            // `before` limits it to the view; `last` would count back from the current revision.
            last: None,
            history: events.history.as_of(view.head.revision),
            selected: view.events.selected,
            ..events
        },
        head: view.head,
        next: Next::Text(text),
    };
    answer.streamed(Body::from_stream(stream::try_unfold(rest, RestOfSession::step)))
}

/// The rest of a session that is being streamed.
struct RestOfSession {
    service: Arc<Reader>,
    client: Watched,
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

impl RestOfSession {
    async fn step(mut self) -> io::Result<Option<(String, Self)>> {
        match std::mem::replace(&mut self.next, Next::Page) {
            Next::Text(text) => Ok(Some((text, self))),
            Next::End => Ok(None),
            Next::Page => {
                let deadline = self.client.next_part().await?;
                let EventPage { events, more, selected, .. } = loop {
                    let events = self.query.clone();
                    match self.service.events_of(&self.head, events, deadline).await {
                        Ok(view) => break view.events,
                        Err(error) => wait_or_cut(&error, deadline).await?,
                    }
                };
                let mut text = String::new();
                push_events_as(self.form, &mut text, &events, self.first);
                self.query.selected = selected;
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
