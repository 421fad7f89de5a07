//! PostgreSQL: sessions with their merged states and the ranges of their events, many in one statement.
//!
//! A page of few events is read without adding up their sizes, but for large ones. If one was left out, which its row shows, the same
//! is asked as a [page](Events::Page). What [filters, an order or a history](Events::Selected) select is read at once if the log has no
//! rewind and no compaction that takes part.

use std::sync::{Arc, LazyLock};

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::QueryAs;
use sqlx::{AssertSqlSafe, Decode, FromRow, Postgres, Row as _, Type};

use super::words::{clock, pinned};
use crate::domain::event::StoredEvent;
use crate::domain::query::{EventQuery, History, SessionQuery, StateFilter};
use crate::domain::scope;
use crate::domain::session::SessionInfo;
use crate::domain::time::Micros;
use crate::store::backend::Read;
use crate::store::error::{StoreError, corrupt};
use crate::store::sql::columns::HEAD_COLUMNS;
use crate::store::sql::filter::filter_text;
use crate::store::sql::rows::{first_event, plain_view};
use crate::store::sql::scope::{SHOWN_STATES, ShownState};
use crate::store::sql::view::left;

/// How many events a page may have to be read without adding up sizes.
const FEW: i64 = 64;

/// What separates events, and in each its commit time from its body. JSON has neither.
const EVENT: char = '\u{1e}';
const BODY: char = '\u{1f}';

/// Which events a statement reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Events {
    None,
    /// A page of up to [`FEW`] rows, without the bodies of those that are larger than an equal share of the page.
    Few,
    /// A page with a bound of bytes. The first event always fits.
    Page,
    /// As a page, of what more than a range selects. Each event has its sequence, and beside them is how many rows there are.
    Selected {
        descending: bool,
    },
}

/// The last two of one query alone.
const EVENTS: [Events; 5] = [
    Events::None,
    Events::Few,
    Events::Page,
    Events::Selected { descending: false },
    Events::Selected { descending: true },
];

impl Events {
    fn of(query: &SessionQuery) -> Self {
        match &query.events {
            None => Self::None,
            Some(events) if !events.is_range() => Self::Selected { descending: events.descending },
            Some(events) if rows(events) <= FEW => Self::Few,
            Some(_) => Self::Page,
        }
    }
}

/// How many events may be in the answer.
fn rows(events: &EventQuery) -> i64 {
    events.last.unwrap_or(i64::MAX).clamp(1, i64::try_from(events.max_rows).unwrap_or(i64::MAX).max(1))
}

/// The form of a statement.
#[derive(Debug, Clone, Copy)]
struct Form {
    /// One query, whose values are parameters of their own; else arrays.
    one: bool,
    /// With the merged state. Several queries always ask for it.
    state: bool,
    events: Events,
}

impl Form {
    /// By their [`Form::place`].
    fn all() -> impl Iterator<Item = Self> {
        let several = EVENTS[..3].iter().map(|events| Self { one: false, state: true, events: *events });
        let one = |state| EVENTS.map(|events| Self { one: true, state, events });
        several.chain([true, false].into_iter().flat_map(one))
    }

    fn place(self) -> usize {
        let first = match (self.one, self.state) {
            (false, _) => 0,
            (true, true) => 3,
            (true, false) => 3 + EVENTS.len(),
        };
        first + EVENTS.iter().take_while(|events| **events != self.events).count()
    }

    /// The statement, `$1` being the app. With `wanted`, only the keys of a parameter: of app, user and session.
    ///
    /// The indexes return state keys and events in order, so nothing is sorted, and as sequences are dense nothing is counted.
    fn text(self, wanted: [Option<usize>; 3]) -> String {
        let [user, id, now, after, before, last, most_rows, most_bytes] = if self.one {
            ["$2", "$3", "$4::bigint", "$5::bigint", "$6::bigint", "$7::bigint", "$8::bigint", "$9::bigint"]
        } else {
            ["q.user_id", "q.id", "q.now", "q.after", "q.before", "q.last", "q.most_rows", "q.most_bytes"]
        };
        let states = SHOWN_STATES.iter().zip(wanted).map(|(shown, wanted)| {
            let ShownState { table, of_session, .. } = shown;
            let wanted = wanted.map(|place| format!(" and t.key = any(${place})")).unwrap_or_default();
            format!(
                ", (select string_agg(member, ',') from (select to_json({})::text || ':' || t.value as member \
                 from {table} t where {of_session}{wanted} order by t.key) as members) as {table}",
                shown.key()
            )
        });
        let states = if self.state { states.collect() } else { String::new() };
        let columns = HEAD_COLUMNS.to_owned() + &states;
        let of_session =
            "from events e where e.app_name = $1 and e.user_id = s.user_id and e.incarnation = s.incarnation";
        let page = format!(
            "{of_session} and e.sequence > greatest({after}, s.base_revision, s.revision - {last}) and e.sequence < {before}"
        );
        let sized = |shown: &str, filter: &str, direction: &str| {
            format!(
                "select {shown} from (select sequence, commit_time, body, size, \
                   sum(size) over (order by sequence {direction} rows unbounded preceding) as size_so_far \
                 from (select sequence, commit_time, body, octet_length(body) + 80 as size {page}{filter} \
                   order by e.sequence {direction} limit {most_rows}) as page) as sized"
            )
        };
        let shown = "string_agg(commit_time || e'\\x1f' ||";
        let fits = format!("size_so_far <= {most_bytes} or size_so_far = size");
        let (mut columns, mut beside) = (columns, String::new());
        match self.events {
            Events::None => {}
            Events::Few => {
                columns += &format!(
                    ", (select {shown} case when octet_length(body) + 80 <= {most_bytes} then body else '' end, e'\\x1e') \
                     from (select commit_time, body {page} order by e.sequence limit {most_rows}) as page) as events"
                );
            }
            Events::Page => {
                let events = sized(&format!("{shown} body, e'\\x1e')"), "", "asc");
                columns += &format!(", ({events} where {fits}) as events");
            }
            Events::Selected { descending } => {
                let direction = if descending { "desc" } else { "asc" };
                let shown = format!(
                    "count(*) as total, string_agg(sequence || e'\\x1f' || commit_time || e'\\x1f' || body, e'\\x1e') \
                     filter (where {fits}) as events"
                );
                let filter = " and ($10::bigint is null or e.event_time >= $10) and ($11::text is null or e.author = $11) \
                   and ($12::text is null or e.invocation_id = $12) and ($13::text is null or e.branch = $13)";
                let has = |effect: &str| format!("exists (select {of_session} and e.effect {effect})");
                columns += &format!(
                    ", page.total, page.events, $14::integer >= 1 and {} or $14 >= 2 and {} as is_changed",
                    has(">= 0"),
                    has("= -1")
                );
                beside = format!(" cross join lateral ({}) as page", sized(&shown, filter, direction));
            }
        }
        let live = |s: &str| format!("({s}.expire_time is null or {s}.expire_time > coalesce({now}, {}))", clock!());
        if self.one {
            format!(
                "select {columns} from sessions s{beside} \
                 where s.app_name = $1 and s.user_id = {user} and s.id = {id} and {}",
                live("s")
            )
        } else {
            format!(
                "with q as materialized (select * from unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], \
                   $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[]) with ordinality \
                   as r(user_id, id, now, after, before, last, most_rows, most_bytes, n)) \
                 select q.n, {columns} from q cross join lateral (select * from sessions l where l.app_name = $1 \
                   and l.user_id = {user} and l.id = {id} and {} offset 0) as s",
                live("l")
            )
        }
    }
}

/// The statements that read whole states, by [`Form::place`].
static WHOLE: LazyLock<Vec<String>> = LazyLock::new(|| Form::all().map(|form| form.text([None; 3])).collect());

/// The statement for a query, or for several [plain](SessionQuery::is_plain) ones of one app, that reads at least these events; `None`
/// if there are no queries. Several queries must each ask for the whole state.
pub fn read_statement<'q>(
    queries: &[&'q SessionQuery],
    least: Events,
) -> Option<QueryAs<'q, Postgres, ReadRow, PgArguments>> {
    let first = *queries.first()?;
    let events = queries.iter().map(|query| Events::of(query)).max()?.max(least);
    let form = Form { one: queries.len() == 1, state: queries.iter().any(|query| query.state.is_some()), events };
    let filter = first.state.as_ref().filter(|filter| form.one && !filter.is_whole());
    let filters =
        filter.map_or([None; 3], |StateFilter { app, user, session }| [app, user, session].map(Option::as_ref));
    let selected = first.events.as_ref().filter(|events| !events.is_range());
    let statement = if filter.is_some() {
        let mut places = if selected.is_some() { 15.. } else { 10.. };
        let wanted = filters.map(|keys| keys.and_then(|_| places.next()));
        sqlx::query_as(AssertSqlSafe(form.text(wanted)))
    } else {
        sqlx::query_as(AssertSqlSafe(WHOLE.get(form.place())?.as_str()))
    };
    let number = |part: fn(&EventQuery) -> i64| move |query: &SessionQuery| query.events.as_ref().map_or(0, part);
    let after = number(|events| events.after);
    let before = number(EventQuery::before);
    let last = |query: &SessionQuery| query.events.as_ref().and_then(|events| events.last);
    // One more shows that there are more, where they are not dense.
    let most_rows = number(|events| {
        i64::try_from(events.max_rows).unwrap_or(i64::MAX).saturating_add(i64::from(!events.is_range()))
    });
    let most_bytes = |query: &SessionQuery| {
        let share = if events == Events::Few { query.events.as_ref().map_or(1, rows) } else { 1 };
        number(|events| i64::try_from(events.max_bytes).unwrap_or(i64::MAX))(query) / share
    };
    let statement = statement.bind(first.key.app().as_str());
    if form.one {
        let mut statement = statement
            .bind(first.key.user.user.as_str())
            .bind(first.key.session.as_str())
            .bind(pinned(first.now))
            .bind(after(first))
            .bind(before(first))
            .bind(last(first))
            .bind(most_rows(first))
            .bind(most_bytes(first));
        if let Some(EventQuery { since, author, invocation_id, branch, history, .. }) = selected {
            let text = |text: &'q Option<String>| text.as_deref().map(filter_text);
            statement = statement
                .bind(since.map(|time| time.0))
                .bind(text(author))
                .bind(text(invocation_id))
                .bind(text(branch))
                .bind(match history {
                    History::Whole => 0,
                    History::NotRewound => 1,
                    History::Effective(_) => 2,
                });
        }
        return Some(filters.into_iter().flatten().fold(statement, |statement, keys| statement.bind(keys)));
    }
    fn each<'q, T>(queries: &[&'q SessionQuery], part: impl Fn(&'q SessionQuery) -> T) -> Vec<T> {
        queries.iter().map(|query| part(query)).collect()
    }
    Some(
        statement
            .bind(each(queries, |query| query.key.user.user.as_str()))
            .bind(each(queries, |query| query.key.session.as_str()))
            .bind(each(queries, |query| pinned(query.now)))
            .bind(each(queries, after))
            .bind(each(queries, before))
            .bind(each(queries, last))
            .bind(each(queries, most_rows))
            .bind(each(queries, most_bytes)),
    )
}

/// A row of the statement.
pub struct ReadRow {
    /// Which of several queries it answers, from 1 on.
    n: i64,
    head: SessionInfo,
    app_state: Option<String>,
    user_state: Option<String>,
    session_state: Option<String>,
    /// Of each event the commit time and the body, and before them its sequence if that does not follow. Null if there are none.
    events: Option<String>,
    /// How many rows were selected, of which the last may be one more than the page has.
    total: i64,
    /// Rewinds or compactions take part.
    is_changed: bool,
}

impl FromRow<'_, PgRow> for ReadRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        /// The default in a statement without the column.
        fn shown<'r, T: Default + Decode<'r, Postgres> + Type<Postgres>>(
            row: &'r PgRow,
            column: &str,
        ) -> sqlx::Result<T> {
            match row.try_get(column) {
                Err(sqlx::Error::ColumnNotFound(_)) => Ok(T::default()),
                read => read,
            }
        }
        Ok(Self {
            n: shown(row, "n")?,
            head: SessionInfo::from_row(row)?,
            app_state: shown(row, "app_state")?,
            user_state: shown(row, "user_state")?,
            session_state: shown(row, "session_state")?,
            events: shown(row, "events")?,
            total: shown(row, "total")?,
            is_changed: shown(row, "is_changed")?,
        })
    }
}

impl ReadRow {
    /// The place of its query.
    pub fn place(&self) -> usize {
        usize::try_from(self.n - 1).unwrap_or(0)
    }

    /// The answer to its query, or that more has to be asked for.
    ///
    /// # Errors
    /// An event that is not what the statement composes.
    pub fn view(self, query: &SessionQuery) -> Result<Read, StoreError> {
        let Self { head, app_state, user_state, session_state, events: shown, total, is_changed, .. } = self;
        if is_changed {
            return Ok(Read::Unfinished);
        }
        let parts = [app_state, user_state, session_state];
        let state = query.state.is_some().then(|| scope::join(parts.iter().map(Option::as_deref)));
        let mut events = Vec::new();
        if let (Some(asked), Some(shown)) = (&query.events, shown) {
            let mut next = first_event(&head, asked);
            for event in shown.split(EVENT) {
                let (sequence, time, body) =
                    place(event, asked.is_range().then_some(next)).ok_or_else(|| corrupt("an event has no place"))?;
                if body.is_empty() {
                    return Ok(Read::Unfinished);
                }
                events.push(StoredEvent::new(sequence, time, body));
                next = sequence + 1;
            }
        }
        let mut view = plain_view(head, query, state, events);
        if let (Some(view), Some(asked)) = (&mut view, query.events.as_ref().filter(|asked| !asked.is_range())) {
            let page = &mut view.events;
            page.events.truncate(asked.max_rows);
            page.more = page.events.len() < usize::try_from(total).unwrap_or(usize::MAX);
            // Without rewinds and compactions.
            page.selected = Some(Arc::new(left(&view.head, asked, Vec::new(), None)));
        }
        Ok(Read::Done(view))
    }
}

/// Sequence, commit time and body of an event; the first only if it does not follow.
fn place(event: &str, sequence: Option<i64>) -> Option<(i64, Micros, &str)> {
    let (sequence, event) = match sequence {
        Some(sequence) => (sequence, event),
        None => {
            let (sequence, event) = event.split_once(BODY)?;
            (sequence.parse().ok()?, event)
        }
    };
    let (time, body) = event.split_once(BODY)?;
    Some((sequence, Micros(time.parse().ok()?), body))
}

/// The statements, with names.
#[cfg(test)]
pub fn composed() -> impl Iterator<Item = (String, String)> {
    const NAMES: [&str; 13] = [
        "read_sessions_state",
        "read_sessions",
        "read_sessions_page",
        "read_session_state",
        "read_session",
        "read_session_page",
        "read_session_selected",
        "read_session_selected_descending",
        "read_head",
        "read_events",
        "read_events_page",
        "read_selected",
        "read_selected_descending",
    ];
    let named = NAMES.into_iter().zip(Form::all()).map(|(name, form)| (name.to_owned(), form.text([None; 3])));
    let keys = Form { one: true, state: true, events: Events::None }.text([Some(10), Some(11), Some(12)]);
    named.chain([("read_session_keys".to_owned(), keys)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_at_its_place() {
        assert!(Form::all().enumerate().all(|(n, form)| form.place() == n));
    }
}
