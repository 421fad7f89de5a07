//! PostgreSQL: sessions with their merged states and the ranges of their events, many in one statement.

use sqlx::query_builder::QueryBuilder;
use sqlx::{FromRow, Postgres};

use super::statement::Statement;
use super::words::{clock, pinned};
use crate::domain::event::StoredEvent;
use crate::domain::query::{EventQuery, SessionQuery, SessionView, StateFilter};
use crate::domain::time::Micros;
use crate::store::error::StoreError;
use crate::store::sql::columns::HEAD_COLUMNS;
use crate::store::sql::rows::ViewRow;

/// The statement for [plain](SessionQuery::is_plain) queries of one app. Several queries must each ask for the whole state.
///
/// The indexes return state keys and events in order, so nothing is sorted, and as sequences are dense nothing is counted. The
/// first event always fits.
pub fn read_statement(queries: &[&SessionQuery]) -> Option<QueryBuilder<Postgres>> {
    let mut statement = Statement::of_app(queries.first()?.key.app());
    let rows = queries.iter();
    let number = |part: fn(&EventQuery) -> i64, none: i64| {
        rows.clone().map(move |query| query.events.as_ref().map_or(none, part))
    };
    let names = "n, user_id, id, now, after, before, last, most_rows, most_bytes";
    statement.rows("q", names, queries.len(), |columns| {
        columns
            .numbers(0..queries.len() as i64)
            .texts(rows.clone().map(|query| query.key.user.user.as_str()))
            .texts(rows.clone().map(|query| query.key.session.as_str()))
            .add("bigint", rows.clone().map(|query| pinned(query.now)))
            .numbers(number(|events| events.after, 0))
            .numbers(number(|events| events.before, 0))
            .add("bigint", rows.clone().map(|query| query.events.as_ref().and_then(|events| events.last)))
            .numbers(number(|events| events.max_rows as i64, 0))
            .numbers(number(|events| events.max_bytes as i64, 0));
    });
    let mut sql = statement.end()?;
    sql.push(" select q.n, ").push(HEAD_COLUMNS);
    let filter = match queries {
        [query] => query.state.clone().unwrap_or_default(),
        _ => StateFilter::default(),
    };
    let scopes = [
        ("app:", "app_state", "t.app_name = $1", filter.app),
        ("user:", "user_state", "t.app_name = $1 and t.user_id = s.user_id", filter.user),
        (
            "",
            "session_state",
            "t.app_name = $1 and t.user_id = s.user_id and t.session_id = s.id \
               and t.incarnation = s.incarnation",
            filter.session,
        ),
    ];
    for (prefix, table, of, keys) in scopes {
        sql.push(format_args!(
            ", (select string_agg(member, ',') from (select to_json('{prefix}' || t.key)::text || ':' || t.value as member \
               from {table} t where {of}"
        ));
        if let Some(keys) = keys {
            sql.push(" and t.key = any(").push_bind(keys).push(")");
        }
        sql.push(format_args!(" order by t.key) as members) as {table}"));
    }
    sql.push(
        ", p.first, p.commit_times, p.sizes, p.bodies \
         from q cross join lateral (select * from sessions l where l.app_name = $1 and l.user_id = q.user_id \
           and l.id = q.id and (l.expire_time is null or l.expire_time > coalesce(q.now, ",
    )
    .push(clock!())
    .push(
        ")) offset 0) as s cross join lateral ( \
           select min(sequence) as first, array_agg(commit_time) as commit_times, \
             array_agg(octet_length(body)) as sizes, string_agg(body, '') as bodies \
           from (select sequence, commit_time, body, size, \
                   sum(size) over (order by sequence rows unbounded preceding) as size_so_far \
                 from (select sequence, commit_time, body, octet_length(body) + 80 as size from events e \
                       where e.app_name = $1 and e.user_id = s.user_id and e.session_id = s.id \
                         and e.incarnation = s.incarnation \
                         and e.sequence > greatest(q.after, s.base_revision, s.revision - q.last) and e.sequence < q.before \
                       order by e.sequence limit q.most_rows) as page) as sized \
           where size_so_far <= q.most_bytes or size_so_far = size) as p",
    );
    Some(sql)
}

/// A row of the statement.
#[derive(FromRow)]
pub struct ReadRow {
    /// Which of the queries it answers.
    pub n: i64,
    #[sqlx(flatten)]
    view: ViewRow,
    /// Of the events: the first sequence, and of each the commit time and the bytes of its body in `bodies`. Null if there
    /// are none.
    first: Option<i64>,
    commit_times: Option<Vec<i64>>,
    sizes: Option<Vec<i32>>,
    bodies: Option<String>,
}

impl ReadRow {
    /// # Errors
    /// Stored ids that break the rules: something else wrote them.
    pub fn view(self, query: &SessionQuery) -> Result<Option<SessionView>, StoreError> {
        let Self { view, first, commit_times, sizes, bodies, .. } = self;
        let (commit_times, sizes) = (commit_times.unwrap_or_default(), sizes.unwrap_or_default());
        let mut rest = bodies.as_deref().unwrap_or_default();
        let events = (first.unwrap_or(0)..)
            .zip(commit_times.into_iter().zip(sizes))
            .map(|(sequence, (commit_time, size))| {
                let (body, after) = rest.split_at_checked(size as usize).unwrap_or((rest, ""));
                rest = after;
                StoredEvent::new(sequence, Micros(commit_time), body)
            })
            .collect();
        view.with_events(query, events)
    }
}
