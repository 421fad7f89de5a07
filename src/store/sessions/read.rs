//! Reads of a session, and lists of names.

use crate::domain::access::{NameRange, Names};
use crate::domain::ids::{AppName, SessionKey};
use crate::domain::query::{ANY_TIME, EventQuery, SessionQuery, SessionView, StateFilter};
use crate::domain::session::SessionInfo;
use crate::domain::tag::Timeline;
use crate::domain::time::Micros;
use crate::store::backend::Tx;
use crate::store::error::{Cause, StoreError};
use crate::store::sql::primitives;

type Result<T> = std::result::Result<T, StoreError>;

pub async fn session<X: Tx>(tx: &mut X, query: &SessionQuery) -> Result<Option<SessionView>> {
    Ok(sessions(tx, &[query]).await?.pop().flatten())
}

/// Several at once, in their order.
pub async fn sessions<X: Tx>(tx: &mut X, queries: &[&SessionQuery]) -> Result<Vec<Option<SessionView>>> {
    let views = tx.views(queries).await?;
    Ok(queries.iter().zip(views).map(|(query, view)| on_timeline(view, query, tx.timeline())).collect())
}

pub fn session_state(key: &SessionKey, now: Micros) -> SessionQuery {
    SessionQuery { state: Some(StateFilter::default()), ..head_alone(key, now) }
}

fn head_alone(key: &SessionKey, now: Micros) -> SessionQuery {
    SessionQuery { key: key.clone(), now, incarnation: None, timeline: None, state: None, events: None }
}

/// Marks a view with the timeline on which it was read. `None` if the query continues an answer from another timeline.
pub fn on_timeline(view: Option<SessionView>, query: &SessionQuery, timeline: Timeline) -> Option<SessionView> {
    let mut view = view.filter(|_| query.timeline.is_none_or(|wanted| wanted == timeline))?;
    view.head.timeline = timeline;
    Some(view)
}

pub fn whole_session(key: &SessionKey, now: Micros) -> SessionQuery {
    SessionQuery { events: Some(EventQuery::all()), ..session_state(key, now) }
}

/// Reads a session that this transaction holds locked. Its absence would be a bug.
pub async fn view<X: Tx>(tx: &mut X, query: &SessionQuery) -> Result<SessionView> {
    // A session that was created already expired is shown once, to its creator.
    let query = SessionQuery { now: ANY_TIME, ..query.clone() };
    session(tx, &query).await?.ok_or_else(not_there)
}

pub fn not_there() -> StoreError {
    StoreError::new(Cause::Internal, "a locked session is not there")
}

pub async fn head<X: Tx>(tx: &mut X, key: &SessionKey, now: Micros) -> Result<Option<SessionInfo>> {
    Ok(session(tx, &head_alone(key, now)).await?.map(|view| view.head))
}

/// The ranges of `within` as far as they come after the name `after`, in byte order.
pub fn ranges_after(within: &Names, after: &str) -> Vec<NameRange> {
    // Names have no control characters, so nothing is between a name and this.
    let next = format!("{after}\u{1}");
    let ranges = within.ranges().into_iter();
    let left = ranges.filter(|range| range.end.as_ref().is_none_or(|end| next < *end));
    left.map(|range| NameRange { begin: range.begin.max(next.clone()), ..range }).collect()
}

/// Up to `limit` names in these ranges, of the users of an app, or without one of apps.
pub async fn names<X: Tx>(tx: &mut X, of: Option<&AppName>, ranges: &[NameRange], limit: usize) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for range in ranges {
        let rest = limit.saturating_sub(found.len());
        if rest == 0 {
            break;
        }
        found.extend(primitives::names(tx, of, range, rest as i64).await?);
    }
    Ok(found)
}
