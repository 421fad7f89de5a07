//! Two questions of a decision that no head and no row of state answers: when a key that is not there was removed, and where an
//! invocation begins.

use std::collections::HashMap;

use crate::domain::history;
use crate::domain::ids::{SessionKey, StateAddress};
use crate::domain::loaded::SessionHead;
use crate::domain::redact::touched;
use crate::store::error::Result;
use crate::store::sql::columns::OF_INCARNATION;
use crate::store::sql::filter::filter_text;
use crate::store::sql::query::{Column, Query, Sql, one};
use crate::store::sql::shared::ScopeStatements;
use crate::store::sql::statements::statements;

pub async fn first_of_invocation(
    db: &mut impl Sql,
    key: &SessionKey,
    incarnation: i64,
    invocation: &str,
    after: i64,
) -> Result<Option<i64>> {
    let query =
        Query::of(&Statements::of(db).first_of_invocation, key, incarnation).bind(filter_text(invocation)).bind(after);
    let (first,): (Option<i64>,) = one(db, query).await?;
    Ok(first)
}

/// The revisions at which keys that are not there were removed, all of one owner: at least if that was after the revision
/// that each is asked about.
/// `session` is the session, of session keys.
pub async fn removed_since(
    db: &mut impl Sql,
    addresses: &[&StateAddress],
    session: Option<&SessionHead>,
    each_since: &[i64],
) -> Result<HashMap<String, i64>> {
    let names: Vec<String> = addresses.iter().map(|address| address.key().to_owned()).collect();
    let keys = Some(&*names);
    let since = each_since.iter().min().copied().unwrap_or(0);
    let (incarnation, revision) = session.map_or((0, 0), |head| (head.incarnation, head.revision));
    let Some(owner) = addresses.first() else { return Ok(HashMap::new()) };
    let query = match owner {
        StateAddress::Session(key, _) => {
            let query = Query::of(&Statements::of(db).removed, key, incarnation).bind(keys).bind(since);
            query.bind(history::path(since, revision))
        }
        StateAddress::Shared(scope, _) => {
            let query = Query::new(&ScopeStatements::of(db, scope).keys_changed).owner(scope);
            let keys = names.iter().map(String::as_str).collect();
            query.columns([Column::Texts(keys), Column::Integers(each_since.to_vec())])
        }
    };
    let rows: Vec<(String, Option<i64>)> = db.fetch(query).await?;
    let mut removed: HashMap<String, i64> =
        rows.into_iter().filter_map(|(key, revision)| Some((key, revision?))).collect();
    if let StateAddress::Session(key, _) = owner {
        // Of what a redaction removed there is no span, but an event.
        let query = Query::of(&Statements::of(db).removals, key, incarnation).bind(since);
        let removals: Vec<(i64, String)> = db.fetch(query).await?;
        for (sequence, body) in removals {
            for key in touched(&body) {
                let known = removed.entry(key).or_default();
                *known = (*known).max(sequence);
            }
        }
    }
    Ok(removed)
}

statements! { words,
    /// The first event of the invocation `$5` after the sequence `$6`.
    first_of_invocation: format!(
        "select min(sequence) from events where {OF_INCARNATION} and invocation_id = $5 and sequence > $6"
    ),
    /// The events after the sequence `$5` that remove what redactions took.
    removals: format!("select sequence, body from events where {OF_INCARNATION} and redaction < 0 and sequence > $5"),
    /// When those of the session keys `$5` that are not there were removed, if that was after revision `$6`: their spans were
    /// filed beyond `$6`, or on the path `$7` to it. What was removed before the base is not known, so each may have been. One pass over these spans, whatever the number of keys; `is true` keeps
    /// PostgreSQL from making a join of it, for which it has no plan but a loop over the keys for each span.
    removed: format!(
        "select key, max(valid_to) from (select key, valid_to from session_spans where {OF_INCARNATION} \
             and (key in (select k.value from {each})) is true and valid_to > $6 and (node > $6 or node{}) \
           union all select k.value, s.base_revision from {each} cross join sessions s \
             where s.app_name = $1 and s.user_id = $2 and s.id = $3 and s.incarnation = $4 and s.base_revision > $6) as r \
         group by key",
        (words.among)("$7"),
        each = (words.each)("$5")
    ),
}
