//! A session with its events. The first page is in the view; later pages are streamed.

use tokio::time::Instant;

use super::array::{Pages, array};
use crate::domain::query::{EventPage, EventQuery, SessionView};
use crate::domain::session::SessionInfo;
use crate::domain::shown::Shown;
use crate::http::call::Call;
use crate::http::reply::{Answer, Form, NATIVE, push_events_as, session_object};
use crate::service::{self, Reader};

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
    push_events_as(form, &mut text, &view.events.events);
    let answer = answer.tag(view.head.tag());
    let query = EventQuery {
        after: view.events.events.last().map_or(0, |event| event.sequence),
        before: view.head.revision + 1,
        // `before` limits it to the view; `last` would count back from the current revision.
        last: None,
        history: events.history.as_of(view.head.revision),
        selected: view.events.selected,
        ..events
    };
    array(call, answer, text, view.events.more, "]}", Events { form, head: view.head, query })
}

/// The events of a session.
struct Events {
    form: Form,
    head: SessionInfo,
    query: EventQuery,
}

impl Pages for Events {
    async fn next(&mut self, service: &Reader, deadline: Instant) -> service::Result<(String, bool)> {
        let EventPage { events, more, selected, .. } =
            service.events_of(&self.head, self.query.clone(), deadline).await?.events;
        let mut text = String::new();
        push_events_as(self.form, &mut text, &events);
        self.query.selected = selected;
        if let Some(last) = events.last() {
            self.query.after = last.sequence;
        }
        Ok((text, more))
    }
}
