//! The statement of a page of sessions: its order and filters vary, so it is put together for each.

use super::columns::{listed_column, state_columns};
use super::query::Query;
use super::words::Words;
use crate::domain::access::NameRange;
use crate::domain::ids::UserId;
use crate::domain::query::{ListQuery, OrderBy};
use crate::domain::time::Micros;

/// A page of sessions. The keyset is one row-wise comparison in the order of an index, so page K is found as fast as page 1.
///
/// `query.users` must not be empty.
pub fn list<'a>(words: &Words, query: &'a ListQuery, now: Micros) -> Query<'a> {
    let mut values = Query::new("");
    let mut sql = format!("select {}", listed_column(words));
    if query.with_state {
        sql += &format!(", {}", state_columns(words, "", "", ""));
    }
    // The table that an index has in the order that is asked for, and the column to order by.
    let (of, time) = match query.order_by {
        OrderBy::LastUpdateTime => ("o", "o.update_time"),
        OrderBy::CreateTime => ("s", "s.create_time"),
    };
    match query.order_by {
        OrderBy::LastUpdateTime => sql += &format!(" from session_updates o {}", words.join_listed),
        OrderBy::CreateTime => sql += " from sessions s",
    }
    sql += &format!(" where {of}.app_name = {}", values.place(query.app.as_str()));
    let user = query.user.as_ref().map(UserId::as_str).or(query.users.only());
    if let Some(user) = user {
        sql += &format!(" and {of}.user_id = {}", values.place(user));
    }
    let mut within = |column: &str, range: NameRange| match range.end {
        Some(end) => {
            format!("{of}.{column} >= {} and {of}.{column} < {}", values.place(range.begin), values.place(end))
        }
        None => format!("{of}.{column} >= {}", values.place(range.begin)),
    };
    if !query.users.is_all() && !user.is_some_and(|user| query.users.allows(user)) {
        let ranges: Vec<String> = query.users.ranges().into_iter().map(|range| within("user_id", range)).collect();
        sql += &format!(" and ({})", ranges.join(" or "));
    }
    for (column, range) in [("user_id", &query.user_range), ("id", &query.id_range)] {
        if let Some(range) = range {
            sql += &format!(" and {}", within(column, range.clone()));
        }
    }
    let now = words.clock.map_or_else(|| values.place(now.0), str::to_owned);
    sql += &format!(" and (s.expire_time is null or s.expire_time > {now})");
    let (than, direction) = if query.descending { ("<", "desc") } else { (">", "asc") };
    // Of one user, the user is no part of the order: the index by user does not have it after the time.
    let mut order = vec![time.to_owned()];
    if user.is_none() {
        order.push(format!("{of}.user_id"));
    }
    order.push(format!("{of}.id"));
    if let Some(after) = &query.after {
        let mut at = vec![values.place(after.time.0)];
        if user.is_none() {
            at.push(values.place(after.user.as_str()));
        }
        at.push(values.place(after.session.as_str()));
        sql += &format!(" and ({}) {than} ({})", order.join(", "), at.join(", "));
    }
    for (name, value) in &query.labels {
        let label = (words.label)(&values.place(&**name));
        sql += &format!(" and {label} = {}", values.place(&**value));
    }
    let limit = values.place(query.max_rows as i64 + 1);
    let order: Vec<String> = order.iter().map(|column| format!("{column} {direction}")).collect();
    sql += &format!(" order by {} limit 0 + {limit}", order.join(", "));
    values.sql(&sql)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::access::Names;
    use crate::domain::ids::{AppName, SessionId};
    use crate::domain::query::ListPosition;
    use crate::store::{postgres, sqlite};

    /// So that what is one user's is found by the index of users, however large the app is.
    #[test]
    fn whoever_may_see_one_user_lists_as_if_for_that_user() {
        let user = UserId::parse("u*").unwrap();
        let after = ListPosition { time: Micros(1), user: user.clone(), session: SessionId::parse("s").unwrap() };
        let of_user = ListQuery {
            app: AppName::parse("a").unwrap(),
            user: Some(user),
            users: Names::all(),
            order_by: OrderBy::CreateTime,
            descending: false,
            labels: Vec::new(),
            user_range: None,
            id_range: None,
            after: Some(after),
            with_state: false,
            max_rows: 9,
            max_bytes: 9,
        };
        let within = |user: Option<UserId>, users| ListQuery { user, users, ..of_user.clone() };
        for statements in [&*postgres::words::STATEMENTS, &*sqlite::words::STATEMENTS] {
            let text = |query: &ListQuery| list(statements.words, query, Micros(0)).text().to_owned();
            let expected = text(&of_user);
            assert_eq!(text(&within(None, Names::literal(["u*"]))), expected);
            assert_eq!(text(&within(of_user.user.clone(), Names::patterns(["u*", "v"]))), expected);
            // Of a user who is not within, nothing is left.
            let outside = text(&within(of_user.user.clone(), Names::patterns(["v"])));
            assert!(outside.contains("user_id = $2 and (s.user_id >= $3 and s.user_id < $4)"), "{outside}");
        }
    }
}
