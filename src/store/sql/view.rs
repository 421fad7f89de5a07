//! A session by several statements: its head, its merged state, a page of its events. What both databases do for queries that are
//! not [plain](SessionQuery::is_plain).

use std::sync::Arc;

use super::columns::{HEAD_COLUMNS, OF_EVENT, OF_INCARNATION, OF_L, of_session, state_columns};
use super::effective::{self, Log};
use super::filter::filter_text;
use super::query::{Column, Query, Sql, Value, at_most_one, row};
use super::rows::{HeadRow, StateRow};
use super::statements::statements;
use super::words::Words;
use crate::domain::effective::{View, hidden};
use crate::domain::event::StoredEvent;
use crate::domain::query::{EventPage, EventQuery, History, Selected, SessionQuery, SessionView};
use crate::domain::session::SessionInfo;
use crate::store::error::Result;

row! {
    pub struct PagedEventRow {
        event: StoredEvent,
        /// Rows that the filters found, up to one more than the page holds.
        total: i64,
    }
}

/// Up to `max_rows` of the rows, and how many the filters found, of which the last may be one more.
fn found(rows: Vec<PagedEventRow>, max_rows: usize) -> (Vec<StoredEvent>, usize) {
    let total = rows.first().map_or(0, |row| row.total as usize);
    (rows.into_iter().take(max_rows).map(|row| row.event).collect(), total)
}

/// A session, its state and its events in a statement each. `now` is the time that the statements bind.
pub async fn in_parts<'a>(
    db: &mut impl Sql,
    query: &'a SessionQuery,
    now: impl Into<Value<'a>>,
) -> Result<Option<SessionView>> {
    let statements = Statements::of(db);
    let find = |text: &'static str| Query::new(text).session(&query.key).bind(now);
    let (head, state) = match &query.state {
        None => {
            let Some(head) = at_most_one(db, find(&statements.head)).await? else { return Ok(None) };
            (head, None)
        }
        Some(filter) => {
            let query = find(&statements.view)
                .bind(filter.app.as_deref())
                .bind(filter.user.as_deref())
                .bind(filter.session.as_deref());
            let Some(row) = at_most_one::<HeadRow<StateRow>>(db, query).await? else { return Ok(None) };
            (row.head, Some(row.value.merged()))
        }
    };
    if query.incarnation.is_some_and(|wanted| wanted != head.incarnation) {
        return Ok(None);
    }
    let events = match &query.events {
        Some(query) => events(db, &head, query).await?,
        None => EventPage::default(),
    };
    Ok(Some(SessionView { head, state, events }))
}

pub async fn events(db: &mut impl Sql, head: &SessionInfo, query: &EventQuery) -> Result<EventPage> {
    let (of, is_behind) = match &query.selected {
        Some(of) => (of.clone(), false),
        None => {
            let (of, is_behind) = selected(db, head, query).await?;
            (Arc::new(of), is_behind)
        }
    };
    let page = page(db, head, query, &of).await?;
    Ok(EventPage { is_behind, selected: Some(of), ..page })
}

/// Which events a query has pages of, and whether the view that is kept is far behind.
async fn selected(db: &mut impl Sql, head: &SessionInfo, query: &EventQuery) -> Result<(Selected, bool)> {
    let (base, incarnation) = (head.base_revision, head.incarnation);
    let end = end(head, query);
    let mut rewinds = match query.history {
        History::Whole => Vec::new(),
        _ => rewinds(db, head).await?,
    };
    rewinds.retain(|(sequence, _)| *sequence <= end);
    let hidden = hidden(&rewinds);
    let view = match query.history {
        History::Effective(_) => {
            let log = Log { key: &head.key, incarnation, base, end, hidden: &hidden };
            effective::view(db, log).await?
        }
        _ => None,
    };
    let is_behind = view.as_ref().is_some_and(|(_, is_behind)| *is_behind);
    Ok((left(head, query, hidden, view.map(|(view, _)| view)), is_behind))
}

/// Where the log ends for a query.
fn end(head: &SessionInfo, query: &EventQuery) -> i64 {
    match query.history {
        History::Effective(Some(at)) => at.min(head.revision),
        _ => head.revision,
    }
}

/// What a query has pages of: what rewinds and a view leave of a log.
pub fn left(head: &SessionInfo, query: &EventQuery, hidden: Vec<(i64, i64)>, view: Option<View>) -> Selected {
    let (base, end) = (head.base_revision, end(head, query));
    let is_view = view.is_some();
    let mut left = view.unwrap_or_else(|| View::new(base)).left(base, end, &hidden);
    if let Some(last) = query.last {
        keep_last(&mut left, last);
    }
    Selected { end, hidden, left, is_view }
}

/// A page of the events that the query finds.
async fn page(db: &mut impl Sql, head: &SessionInfo, query: &EventQuery, of: &Selected) -> Result<EventPage> {
    if of.is_view {
        return chosen_events(db, head, query, of.left.clone()).await;
    }
    let after = query.after.max(of.left.first().map_or(of.end, |(first, _)| first - 1)).max(head.base_revision);
    let before = query.before.min(of.end + 1);
    let statements = Statements::of(db);
    let text = match (query.descending, of.hidden.is_empty()) {
        (false, true) => &statements.events_ascending,
        (true, true) => &statements.events_descending,
        (false, false) => &statements.visible_ascending,
        (true, false) => &statements.visible_descending,
    };
    let mut statement = page_query(text, head, query, (after, before), query.max_rows, query.max_bytes);
    if !of.hidden.is_empty() {
        let (first, last): (Vec<i64>, Vec<i64>) = of.hidden.iter().copied().unzip();
        statement = statement.columns([Column::Integers(first), Column::Integers(last)]);
    }
    let (events, total) = found(db.fetch(statement).await?, query.max_rows);
    Ok(EventPage { more: events.len() < total, events, ..EventPage::default() })
}

/// The statement of a page of up to `rows` events, and one more, and `bytes`.
fn page_query<'a>(
    text: &'static str,
    head: &'a SessionInfo,
    query: &'a EventQuery,
    (after, before): (i64, i64),
    rows: usize,
    bytes: usize,
) -> Query<'a> {
    Query::of(text, &head.key, head.incarnation)
        .bind(after)
        .bind(before)
        .bind(query.since.map(|time| time.0))
        .bind(query.author.as_deref().map(filter_text))
        .bind(query.invocation_id.as_deref().map(filter_text))
        .bind(query.branch.as_deref().map(filter_text))
        .bind(rows as i64 + 1)
        .bind(bytes as i64)
}

/// How many events one statement reads that are left, if there are filters: how many of those match is not known.
const FILTERED: usize = 1024;

/// A page of the events of these sequences, which are ascending ranges.
async fn chosen_events(
    db: &mut impl Sql,
    head: &SessionInfo,
    query: &EventQuery,
    mut left: Vec<(i64, i64)>,
) -> Result<EventPage> {
    // The log may have been trimmed since the first page.
    let after = query.after.max(head.base_revision);
    left.iter_mut()
        .for_each(|range| *range = (range.0.max(after.saturating_add(1)), range.1.min(query.before.saturating_sub(1))));
    left.retain(|(first, last)| first <= last);
    if query.descending {
        left.reverse();
    }
    let is_descending = query.descending;
    let mut sequences = left.into_iter().flat_map(move |(first, last)| {
        let ascending = first..=last;
        let at = move |n: i64| if is_descending { last - (n - first) } else { n };
        ascending.map(at)
    });
    let is_filtered =
        query.since.is_some() || query.author.is_some() || query.invocation_id.is_some() || query.branch.is_some();
    let statements = Statements::of(db);
    let text = if query.descending { &statements.chosen_descending } else { &statements.chosen_ascending };
    let mut page = EventPage::default();
    let mut bytes = query.max_bytes;
    loop {
        let rows = query.max_rows - page.events.len();
        let chosen: Vec<i64> = sequences.by_ref().take(if is_filtered { FILTERED } else { rows + 1 }).collect();
        if chosen.is_empty() {
            return Ok(page);
        }
        let statement = page_query(text, head, query, (0, i64::MAX), rows, bytes).bind(chosen);
        let (events, total) = found(db.fetch(statement).await?, rows);
        bytes = bytes.saturating_sub(events.iter().map(StoredEvent::weight).sum());
        page.more = events.len() < total;
        page.events.extend(events);
        if page.more || !is_filtered {
            return Ok(page);
        }
    }
}

/// Keeps the last `count` numbers of ascending ranges.
fn keep_last(ranges: &mut Vec<(i64, i64)>, count: i64) {
    let mut rest = count;
    for (first, last) in ranges.iter_mut().rev() {
        let taken = rest.min(*last - *first + 1);
        *first = *last - taken + 1;
        rest -= taken;
    }
    ranges.retain(|(first, last)| first <= last);
}

/// The sequences of the events that rewind, ascending, each with the last one before those that it takes back.
pub async fn rewinds(db: &mut impl Sql, head: &SessionInfo) -> Result<Vec<(i64, i64)>> {
    let query = Query::of(&Statements::of(db).rewinds, &head.key, head.incarnation);
    db.fetch(query).await
}

statements! { words,
    /// Head of one session.
    head: format!("select {}{}", HEAD_COLUMNS, of_session(words.now)),
    /// Head and merged state of one session; `$5`, `$6`, `$7` are the keys wanted of app, user and session, or null.
    view: format!(
        "select {}, {}{}",
        HEAD_COLUMNS,
        state_columns(words, &(words.wanted)("$5"), &(words.wanted)("$6"), &(words.wanted)("$7")),
        of_session(words.now)
    ),
    /// A page of events: those after `$5` and before `$6`, since `$7`, of author `$8`, invocation `$9` and branch `$10`, up
    /// to `$11` rows and `$12` bytes.
    events_ascending: events_page("asc", ""),
    events_descending: events_page("desc", ""),
    visible_ascending: events_page("asc", words.visible),
    visible_descending: events_page("desc", words.visible),
    /// Those of the sequences `$13`.
    chosen_ascending: page_of("asc", &chosen(words), "true"),
    chosen_descending: page_of("desc", &chosen(words), "true"),
    rewinds: format!(
        "select sequence, effect from events where {OF_INCARNATION} and effect >= 0 order by sequence"
    ),
}

/// A page of those of the log that a filter leaves.
fn events_page(direction: &str, filter: &str) -> String {
    page_of(direction, "events", &format!("{OF_INCARNATION}{filter}"))
}

/// The events of the sequences `$13`, each looked up by its key.
fn chosen(words: &Words) -> String {
    format!("{} {}", (words.numbers)("$13"), (words.look_up)("events", &format!("{OF_L} and l.sequence = k.value")))
}

/// One page of events. The inner query picks rows by the filters without their bodies; the middle one adds up sizes
/// (including what an answer adds to a body); the outer one fetches the bodies that fit, one by one. With a join, a planner
/// that does not know how many events the session has might scan all of them for each row. The first row always fits.
fn page_of(direction: &str, source: &str, filter: &str) -> String {
    format!(
        "select sequence, commit_time, total, \
           (select e.body from events e where {OF_EVENT} and e.sequence = sized.sequence) as body \
         from ( \
             select sequence, commit_time, sum(size) over (order by sequence {direction}) as size_so_far, \
               row_number() over (order by sequence {direction}) as place, count(*) over () as total from ( \
                 select sequence, commit_time, octet_length(body) + 80 as size from {source} where {filter} \
                   and sequence > $5 and sequence < $6 \
                   and ($7 is null or event_time >= $7) and ($8 is null or author = $8) \
                   and ($9 is null or invocation_id = $9) and ($10 is null or branch = $10) \
                 order by sequence {direction} limit 0 + $11) as page) as sized \
         where size_so_far <= $12 or place = 1 order by sequence {direction}"
    )
}
