//! PostgreSQL: sessions with their merged states and the ranges of their events, many in one statement.
//!
//! A page of few events is read without adding up their sizes, but for large ones. If one was left out, which its row shows, the same
//! is asked as a [page](Events::Page).

use std::sync::LazyLock;

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::QueryAs;
use sqlx::{AssertSqlSafe, Decode, FromRow, Postgres, Row as _, Type};

use super::words::{clock, pinned};
use crate::domain::event::StoredEvent;
use crate::domain::query::{EventQuery, SessionQuery, SessionView, StateFilter};
use crate::domain::scope;
use crate::domain::time::Micros;
use crate::store::error::StoreError;
use crate::store::sql::columns::HEAD_COLUMNS;
use crate::store::sql::rows::HeadRow;
use crate::store::sql::scope::{SHOWN_STATES, ShownState};

/// How many events a page may have to be read without adding up sizes.
const FEW: i64 = 64;

/// Which events a statement reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Events {
    None,
    /// A page of up to [`FEW`] rows, without the bodies of those that are larger than an equal share of the page.
    Few,
    /// A page with a bound of bytes. The first event always fits.
    Page,
}

impl Events {
    fn of(query: &SessionQuery) -> Self {
        match &query.events {
            None => Self::None,
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
    events: Events,
}

impl Form {
    /// By their [`Form::place`].
    fn all() -> impl Iterator<Item = Self> {
        let forms = |one| [Events::None, Events::Few, Events::Page].map(|events| Self { one, events });
        [false, true].into_iter().flat_map(forms)
    }

    fn place(self) -> usize {
        usize::from(self.one) * 3 + self.events as usize
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
        let columns = HEAD_COLUMNS.to_owned() + &states.collect::<String>();
        let page = format!(
            "from events e where e.app_name = $1 and e.user_id = s.user_id and e.session_id = s.id \
               and e.incarnation = s.incarnation \
               and e.sequence > greatest({after}, s.base_revision, s.revision - {last}) and e.sequence < {before} \
             order by e.sequence limit {most_rows}"
        );
        let (shown, events) = match self.events {
            Events::None => ("", String::new()),
            Events::Few => (
                ", p.*",
                format!(
                    " cross join lateral (select min(sequence) as first, array_agg(commit_time) as commit_times, \
                       array_agg(octet_length(body)) as sizes, \
                       string_agg(body, '') filter (where octet_length(body) + 80 <= {most_bytes}) as bodies \
                     from (select sequence, commit_time, body {page}) as page) as p"
                ),
            ),
            Events::Page => (
                ", p.*",
                format!(
                    " cross join lateral (select min(sequence) as first, array_agg(commit_time) as commit_times, \
                       array_agg(octet_length(body)) as sizes, string_agg(body, '') as bodies \
                     from (select sequence, commit_time, body, size, \
                             sum(size) over (order by sequence rows unbounded preceding) as size_so_far \
                           from (select sequence, commit_time, body, octet_length(body) + 80 as size {page}) as page) as sized \
                     where size_so_far <= {most_bytes} or size_so_far = size) as p"
                ),
            ),
        };
        let live = |s: &str| format!("({s}.expire_time is null or {s}.expire_time > coalesce({now}, {}))", clock!());
        if self.one {
            format!(
                "select {columns}{shown} from sessions s{events} \
                 where s.app_name = $1 and s.user_id = {user} and s.id = {id} and {}",
                live("s")
            )
        } else {
            format!(
                "with q as materialized (select * from unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], \
                   $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[]) with ordinality \
                   as r(user_id, id, now, after, before, last, most_rows, most_bytes, n)) \
                 select q.n, {columns}{shown} from q cross join lateral (select * from sessions l where l.app_name = $1 \
                   and l.user_id = {user} and l.id = {id} and {} offset 0) as s{events}",
                live("l")
            )
        }
    }
}

/// The statements that read whole states, by [`Form::place`].
static WHOLE: LazyLock<Vec<String>> = LazyLock::new(|| Form::all().map(|form| form.text([None; 3])).collect());

/// The statement for [plain](SessionQuery::is_plain) queries of one app, that reads at least these events; `None` if there are no queries.
/// Several queries must each ask for the whole state.
pub fn read_statement<'q>(
    queries: &[&'q SessionQuery],
    least: Events,
) -> Option<QueryAs<'q, Postgres, ReadRow, PgArguments>> {
    let first = *queries.first()?;
    let events = queries.iter().map(|query| Events::of(query)).max()?.max(least);
    let form = Form { one: queries.len() == 1, events };
    let filter = first.state.as_ref().filter(|filter| form.one && !filter.is_whole());
    let filters =
        filter.map_or([None; 3], |StateFilter { app, user, session }| [app, user, session].map(Option::as_ref));
    let statement = if filter.is_some() {
        let mut places = 10..;
        let wanted = filters.map(|keys| keys.and_then(|_| places.next()));
        sqlx::query_as(AssertSqlSafe(form.text(wanted)))
    } else {
        sqlx::query_as(AssertSqlSafe(WHOLE.get(form.place())?.as_str()))
    };
    let number = |part: fn(&EventQuery) -> i64| move |query: &SessionQuery| query.events.as_ref().map_or(0, part);
    let after = number(|events| events.after);
    let before = number(|events| events.before);
    let last = |query: &SessionQuery| query.events.as_ref().and_then(|events| events.last);
    let most_rows = number(|events| i64::try_from(events.max_rows).unwrap_or(i64::MAX));
    let most_bytes = |query: &SessionQuery| {
        let share = if events == Events::Few { query.events.as_ref().map_or(1, rows) } else { 1 };
        number(|events| i64::try_from(events.max_bytes).unwrap_or(i64::MAX))(query) / share
    };
    let statement = statement.bind(first.key.app().as_str());
    if form.one {
        let statement = statement
            .bind(first.key.user.user.as_str())
            .bind(first.key.session.as_str())
            .bind(pinned(first.now))
            .bind(after(first))
            .bind(before(first))
            .bind(last(first))
            .bind(most_rows(first))
            .bind(most_bytes(first));
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
    head: HeadRow,
    app_state: Option<String>,
    user_state: Option<String>,
    session_state: Option<String>,
    /// Of the events: the first sequence, and of each the commit time and the bytes of its body in `bodies`. Null if there
    /// are none.
    first: Option<i64>,
    commit_times: Option<Vec<i64>>,
    sizes: Option<Vec<i32>>,
    bodies: Option<String>,
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
            head: HeadRow::from_row(row)?,
            app_state: row.try_get("app_state")?,
            user_state: row.try_get("user_state")?,
            session_state: row.try_get("session_state")?,
            first: shown(row, "first")?,
            commit_times: shown(row, "commit_times")?,
            sizes: shown(row, "sizes")?,
            bodies: shown(row, "bodies")?,
        })
    }
}

impl ReadRow {
    /// The place of its query.
    pub fn place(&self) -> usize {
        usize::try_from(self.n - 1).unwrap_or(0)
    }

    /// The answer to its query, or that a page has to be asked for.
    ///
    /// # Errors
    /// Stored ids that break the rules: something else wrote them.
    pub fn view(self, query: &SessionQuery) -> Result<Read, StoreError> {
        let Self { head, app_state, user_state, session_state, first, commit_times, sizes, bodies, .. } = self;
        let (commit_times, sizes) = (commit_times.unwrap_or_default(), sizes.unwrap_or_default());
        let mut rest = bodies.as_deref().unwrap_or_default();
        if rest.len() as i64 != sizes.iter().map(|size| i64::from(*size)).sum::<i64>() {
            return Ok(Read::Unfinished);
        }
        let state = scope::join([app_state, user_state, session_state].iter().map(Option::as_deref));
        let events = (first.unwrap_or(0)..)
            .zip(commit_times.into_iter().zip(sizes))
            .map(|(sequence, (commit_time, size))| {
                let (body, after) = rest.split_at_checked(size as usize).unwrap_or((rest, ""));
                rest = after;
                StoredEvent::new(sequence, Micros(commit_time), body)
            })
            .collect();
        Ok(Read::Done(head.with_events(query, state, events)?))
    }
}

/// What a row comes to.
pub enum Read {
    Done(Option<SessionView>),
    /// It lacks a large body.
    Unfinished,
}

/// The statements, with names.
#[cfg(test)]
pub fn composed() -> impl Iterator<Item = (String, String)> {
    let named = |form: Form| {
        let many = if form.one { "read_session" } else { "read_sessions" };
        let events = ["_state", "", "_page"].get(form.events as usize).unwrap_or(&"");
        (format!("{many}{events}"), form.text([None; 3]))
    };
    let keys = Form { one: true, events: Events::None }.text([Some(10), Some(11), Some(12)]);
    Form::all().map(named).chain([("read_session_keys".to_owned(), keys)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_at_its_place() {
        assert!(Form::all().enumerate().all(|(n, form)| form.place() == n));
    }
}
