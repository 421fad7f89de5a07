//! A page of sessions. The order and the filters of its statement vary, so it is put together for each.

use std::ops::ControlFlow;

use crate::domain::access::NameRange;
use crate::domain::ids::{AppName, SessionId, SessionKey, UserId, UserKey};
use crate::domain::json::RawJson;
use crate::domain::loaded::UNREAD;
use crate::domain::query::{EventPage, ListQuery, OrderBy, Page, SessionView};
use crate::domain::session::{SessionInfo, update_bucket};
use crate::domain::tag::Timeline;
use crate::domain::time::{Micros, Timestamp};
use crate::store::backend::Tx;
use crate::store::error::{Cause, Result, StoreError, corrupt};
use crate::store::sql::columns::state_columns;
use crate::store::sql::query::{Query, row};
use crate::store::sql::rows::StateRow;
use crate::store::sql::words::Words;

/// Reads a page of live sessions.
pub async fn list<X: Tx>(tx: &mut X, query: &ListQuery, now: Micros) -> Result<Page<SessionView>> {
    let listing = statement(tx.words(), query, now);
    let mut page = Page { items: Vec::new(), more: false, cut: false };
    let mut bytes = 0;
    let mut take = |row: &str, state: Option<String>| {
        if page.items.len() == query.max_rows {
            page.more = true;
            return Ok(ControlFlow::Break(()));
        }
        let view = SessionView { head: listed(&query.app, row)?, state, events: EventPage::default() };
        bytes += view.weight();
        if bytes > query.max_bytes && !page.items.is_empty() {
            (page.more, page.cut) = (true, true);
            return Ok(ControlFlow::Break(()));
        }
        page.items.push(view);
        Ok(ControlFlow::Continue(()))
    };
    if query.with_state {
        tx.fetch_until(listing, |row: ListedRow| take(&row.listed, Some(row.state.merged()))).await?;
    } else {
        tx.fetch_until(listing, |(row,): (String,)| take(&row, None)).await?;
    }
    page.items.iter_mut().for_each(|view| view.head.timeline = tx.timeline());
    Ok(page)
}

/// A page of sessions. The keyset is one row-wise comparison in the order of an index, so page K is found as fast as page 1. Of a session
/// that changes often, the index of a list by last update has the bucket of the time ([`update_bucket`]): such a page costs its rows,
/// and those sessions of the buckets in which it begins and ends.
///
/// `query.users` must not be empty.
pub fn statement<'a>(words: &Words, query: &'a ListQuery, now: Micros) -> Query<'a> {
    let mut values = Query::new("");
    let state = if query.with_state { format!(", {}", state_columns(words, "", "", "")) } else { String::new() };
    // The table that an index has in the order that is asked for, and what to read.
    let source = query.forked_from.as_ref();
    let (of, mut from) = match query.order_by {
        OrderBy::LastUpdateTime if source.is_none() => ("o", format!("session_updates o {}", words.join_listed)),
        _ => ("s", "sessions s".to_owned()),
    };
    let mut matching = format!("{of}.app_name = {}", values.place(query.app.as_str()));
    let user = query.user.as_ref().map(UserId::as_str).or(query.users.only());
    if let Some(user) = user {
        matching += &format!(" and {of}.user_id = {}", values.place(user));
    }
    if let Some(source) = source {
        matching += &format!(" and s.forked_from = {}", values.place(source.as_str()));
        from = (words.by_source)(&matching);
    }
    let mut within = |column: &str, range: NameRange| match range.end {
        Some(end) => {
            format!("{of}.{column} >= {} and {of}.{column} < {}", values.place(range.begin), values.place(end))
        }
        None => format!("{of}.{column} >= {}", values.place(range.begin)),
    };
    if !query.users.is_all() && !user.is_some_and(|user| query.users.allows(user)) {
        let ranges: Vec<String> = query.users.ranges().into_iter().map(|range| within("user_id", range)).collect();
        matching += &format!(" and ({})", ranges.join(" or "));
    }
    for (column, range) in [("user_id", &query.user_range), ("id", &query.id_range)] {
        if let Some(range) = range {
            matching += &format!(" and {}", within(column, range.clone()));
        }
    }
    let now = words.clock.map_or_else(|| values.place(now.0), str::to_owned);
    matching += &format!(" and (s.expire_time is null or s.expire_time > {now})");
    let (than, direction, back) = if query.descending { ("<", "desc", "asc") } else { (">", "asc", "desc") };
    // Of one user, the user is no part of the order: the index by user does not have it after the time.
    let names: &[&str] = if user.is_none() { &["user_id", "id"] } else { &["id"] };
    let ordered = |first: &str, table: &str, direction: &str| {
        let names = names.iter().map(|name| format!(", {table}{name} {direction}"));
        format!("{first} {direction}{}", names.collect::<String>())
    };
    let row = |first: Option<&str>, table: &str| {
        let names = names.iter().map(|name| format!("{table}{name}"));
        first.map(str::to_owned).into_iter().chain(names).collect::<Vec<_>>().join(", ")
    };
    let time = match query.order_by {
        OrderBy::LastUpdateTime => "s.update_time",
        OrderBy::CreateTime => "s.create_time",
    };
    let (mut exact, mut rough) = (" and o.rough = false".to_owned(), " and o.rough = true".to_owned());
    if let Some(after) = &query.after {
        let mut at = vec![values.place(after.time.0)];
        if user.is_none() {
            at.push(values.place(after.user.as_str()));
        }
        at.push(values.place(after.session.as_str()));
        let after_that = |time| format!(" and ({}) {than} ({})", row(Some(time), &format!("{of}.")), at.join(", "));
        if of == "o" {
            exact += &after_that("o.place");
            rough += &format!("{} and o.place {than}= {}", after_that(time), values.place(update_bucket(after.time)));
        } else {
            matching += &after_that(time);
        }
    }
    for (name, value) in &query.labels {
        let label = (words.label)(&values.place(&**name));
        matching += &format!(" and {label} = {}", values.place(&**value));
    }
    let limit = values.place(query.max_rows as i64 + 1);
    let listed = listed_column(words);
    values.sql(&match of {
        // Forks of one session are few, and sorted.
        "s" => format!(
            "select {listed}{state} from {from} where {matching} order by {} limit 0 + {limit}",
            ordered(time, "s.", direction)
        ),
        // Those whose place is exact, and those whose place is rough. As many of these as asked for, in the order of the index, end in some
        // bucket: its others may come before some of them, and those of later buckets do not.
        _ => {
            let columns: Vec<String> =
                PRESENT.iter().chain(&OPTIONAL).map(|column| format!("s.{column}")).collect();
            let found = format!("select o.place, {} from {from} where {matching}", columns.join(", "));
            let by_place = format!("order by {} limit 0 + {limit}", ordered("o.place", "o.", direction));
            let names_of_last: Vec<String> = names.iter().map(|name| format!("(select {name} from last)")).collect();
            format!(
                "with first as materialized ({found}{rough} {by_place}), \
                 last as materialized (select place, user_id, id from first order by {} limit 1) \
                 select {listed}{state} from (select * from first union all {found}{rough} and o.place = (select place from last) \
                   and ({}) {than} ({}) union all select * from ({found}{exact} {by_place}) as exact \
                   order by {} limit 0 + {limit}) as s",
                ordered("place", "", back),
                row(None, "o."),
                names_of_last.join(", "),
                ordered("update_time", "", direction),
            )
        }
    })
}

/// The columns of a listed session: those that are never null, and those that may be.
const PRESENT: [&str; 9] = [
    "user_id",
    "id",
    "incarnation",
    "revision",
    "metadata_revision",
    "base_revision",
    "create_time",
    "update_time",
    "update_time_number",
];
const OPTIONAL: [&str; 5] = ["display_name", "labels", "expire_time", "forked_from", "forked_revision"];

/// The columns of a listed session, from `sessions s`, as one text, an absent one being empty. A page of many sessions costs
/// half as much as with a column for each: both drivers, and PostgreSQL, spend most of their time on columns.
fn listed_column(words: &Words) -> String {
    let present = PRESENT.iter().map(|column| format!("s.{column}"));
    let optional = OPTIONAL.iter().map(|column| format!("coalesce(cast(s.{column} as text), '')"));
    let columns: Vec<String> = present.chain(optional).collect();
    format!("concat_ws({}, {}) as listed", words.unit_separator, columns.join(", "))
}

row! {
    /// A session of a list with its state.
    struct ListedRow {
        listed: String,
        state: StateRow,
    }
}

/// A session of the app of a list, from [`listed_column`]. Its revisions of shared scopes are
/// [`UNREAD`].
///
/// # Errors
/// Another form, or stored ids that break the rules.
fn listed(app: &AppName, text: &str) -> Result<SessionInfo> {
    fn optional(text: &str) -> Option<&str> {
        (!text.is_empty()).then_some(text)
    }
    fn odd() -> StoreError {
        StoreError::new(Cause::Internal, "a listed session is not what its statement composes")
    }
    fn number(text: &str) -> Result<i64> {
        text.parse().map_err(|_| odd())
    }
    let (mut parts, mut count) = ([""; 14], 0);
    for part in text.split('\u{1f}') {
        *parts.get_mut(count).ok_or_else(odd)? = part;
        count += 1;
    }
    let [user, id, incarnation, revision, metadata_revision, base, create_time, update_time, update_number, rest @ ..] =
        parts;
    let [name, labels, expire_time, forked_from, forked_revision] = rest;
    if count < parts.len() {
        return Err(odd());
    }
    let user = UserKey { app: app.clone(), user: UserId::parse(user).map_err(corrupt)? };
    let json = |text: &str| RawJson::trusted(text.to_owned());
    Ok(SessionInfo {
        key: SessionKey { user, session: SessionId::parse(id).map_err(corrupt)? },
        incarnation: number(incarnation)?,
        timeline: Timeline::default(),
        revision: number(revision)?,
        metadata_revision: number(metadata_revision)?,
        base_revision: number(base)?,
        user_revision: UNREAD,
        app_revision: UNREAD,
        create_time: Micros(number(create_time)?),
        update_time: Timestamp { micros: Micros(number(update_time)?), number: json(update_number) },
        display_name: optional(name).map(json),
        labels: optional(labels).map(json),
        expire_time: optional(expire_time).map(number).transpose()?.map(Micros),
        forked_from: optional(forked_from)
            .map(|id| Ok::<_, StoreError>((SessionId::parse(id).map_err(corrupt)?, number(forked_revision)?)))
            .transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::access::Names;
    use crate::domain::query::ListPosition;
    use crate::domain::session::UPDATE_BUCKET_MICROS;
    use crate::store::sql::columns::LISTED_PLACE;
    use crate::store::{postgres, sqlite};

    #[test]
    fn the_bucket_of_statements_is_that_of_the_rules() {
        let place = format!("case when s.rough then s.update_time / {UPDATE_BUCKET_MICROS} else s.update_time end");
        assert_eq!(LISTED_PLACE, place);
        let place = place.replace("s.", "l.");
        let functions = include_str!("../../../migrations/postgres/0001_sessions.sql");
        assert_eq!(functions.matches(&place).count(), 2);
    }

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
            forked_from: None,
            after: Some(after),
            with_state: false,
            max_rows: 9,
            max_bytes: 9,
        };
        let within = |user: Option<UserId>, users| ListQuery { user, users, ..of_user.clone() };
        for words in [&postgres::words::WORDS, &sqlite::words::WORDS] {
            let text = |query: &ListQuery| statement(words, query, Micros(0)).text().to_owned();
            let expected = text(&of_user);
            assert_eq!(text(&within(None, Names::literal(["u*"]))), expected);
            assert_eq!(text(&within(of_user.user.clone(), Names::patterns(["u*", "v"]))), expected);
            // Of a user who is not within, nothing is left.
            let outside = text(&within(of_user.user.clone(), Names::patterns(["v"])));
            assert!(outside.contains("user_id = $2 and (s.user_id >= $3 and s.user_id < $4)"), "{outside}");
        }
    }
}
