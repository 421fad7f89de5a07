//! The state of a session as it was.

use crate::domain::history;
use crate::domain::ids::{ScopeRef, SessionKey};
use crate::domain::query::{Moment, MomentQuery, StateFilter, StatePart};
use crate::domain::scope::Scope;
use crate::domain::session::SessionInfo;
use crate::domain::state_range::{StatePage, StateRange};
use crate::domain::tag::Tag;
use crate::domain::transfer::Lost;
use crate::store::backend::Tx;
use crate::store::error::{Cause, Result, StoreError};
use crate::store::sessions::read::head;
use crate::store::sql::columns::{LOST, OF_INCARNATION, OF_SESSION};
use crate::store::sql::keys::{self, in_range, page_of_keys};
use crate::store::sql::query::{Query, Sql, at_most_one, one, row};
use crate::store::sql::rows::StateRow;
use crate::store::sql::scope::{SCOPES, SHOWN_STATES, ScopeTables, ShownState};
use crate::store::sql::statements::statements;
use crate::store::sql::words::Words;

/// Reads the state of a moment that is past, or of now.
pub async fn moment<X: Tx>(tx: &mut X, query: &MomentQuery) -> Result<Moment> {
    let Some(head) = head(tx, &query.key, query.now).await? else { return Ok(Moment::SessionNotFound) };
    if query.revision > head.revision {
        return Ok(Moment::Beyond(head.revision));
    }
    if query.revision < head.base_revision {
        return Ok(Moment::Trimmed(head.base_revision));
    }
    let seen = seen_revisions(tx, &query.key, head.incarnation, query.revision).await?;
    let seen = seen.ok_or_else(|| StoreError::new(Cause::Internal, "an event is missing in a session's sequence"))?;
    let (user, app) = (seen.user_revision, seen.app_revision);
    let (user_lost, app_lost) = seen.lost.at(query.revision);
    // A scope without a revision never had a key.
    let forgotten = |scope: Scope, lost: bool, revision: i64, floor: i64| {
        query.part.asks_for(scope) && (lost || (1..floor).contains(&revision))
    };
    if forgotten(Scope::User, user_lost, user, seen.user_floor) || forgotten(Scope::App, app_lost, app, seen.app_floor)
    {
        return Ok(Moment::Forgotten(head.base_revision));
    }
    let tag = Tag {
        revision: query.revision,
        user,
        app,
        incarnation: head.incarnation,
        timeline: head.timeline,
        // A redaction takes values from states that are past.
        metadata: head.metadata_revision + seen.redacted,
    };
    let state = match &query.part {
        StatePart::Keys(filter) => StatePage { state: state_then(tx, &head, &tag, filter).await?, next: None },
        StatePart::Range(range) => range_then(tx, &head, &tag, range).await?,
    };
    Ok(Moment::Then { tag, state })
}

/// The app and user revisions that the event of this sequence recorded or, if it is the base, those recorded for the base; and from
/// which revision on the past of these scopes is known.
async fn seen_revisions(
    db: &mut impl Sql,
    key: &SessionKey,
    incarnation: i64,
    revision: i64,
) -> Result<Option<SeenRow>> {
    let query = Query::of(&Statements::of(db).seen_revisions, key, incarnation).bind(revision);
    at_most_one(db, query).await
}

/// The merged state as it was at a moment.
async fn state_then(db: &mut impl Sql, head: &SessionInfo, then: &Tag, filter: &StateFilter) -> Result<String> {
    let query = Query::of(&Statements::of(db).state_then, &head.key, head.incarnation)
        .bind(then.revision)
        .bind(then.user)
        .bind(then.app)
        .bind(history::path(then.revision, head.revision))
        .bind(history::path(then.user, head.user_revision))
        .bind(history::path(then.app, head.app_revision))
        .bind(filter.app.as_deref())
        .bind(filter.user.as_deref())
        .bind(filter.session.as_deref());
    Ok(one::<StateRow>(db, query).await?.merged())
}

/// A range of the merged state as it was at a moment.
async fn range_then(db: &mut impl Sql, head: &SessionInfo, then: &Tag, range: &StateRange) -> Result<StatePage> {
    let now = head.tag();
    let mut parts = Vec::new();
    for ShownState { scope, .. } in &SHOWN_STATES {
        let Some((begin, end)) = range.of_scope(*scope) else { continue };
        let shared = head.key.shared(*scope).map(ScopeRef::to_key);
        let query = match &shared {
            Some(shared) => Query::new(&ScopeStatements::of(db, shared).range_then).owner(shared),
            None => Query::of(&Statements::of(db).session_range_then, &head.key, head.incarnation),
        };
        let query = query.bind(then.of(*scope)).bind(history::path(then.of(*scope), now.of(*scope)));
        parts.push((scope.prefix(), keys::part(db, query.bind(begin).bind(end), range.page()).await?));
    }
    Ok(range.join(parts))
}

statements! { words, tables @ ScopeTables { params: [p, q, r, s, t, u], .. },
    /// The keys from `r` up to `s` as they were at the revision `p`, whose spans may be filed at the nodes `q`.
    range_then: page_of_keys(&shared_then(words, tables, p, q, &in_range("t.key", r, s)), t, u),
}

statements! { words,
    /// The app and user revisions that event `$5` recorded or, if `$5` is the base, those recorded for the base; the floors of the
    /// scopes, and how often values of their past were taken; and where an import lost them.
    seen_revisions: format!(
        "select seen.user_revision, seen.app_revision, \
           coalesce((select u.floor from user_scopes u where u.app_name = $1 and u.user_id = $2), 0) as user_floor, \
           coalesce((select a.floor from app_scopes a where a.app_name = $1), 0) as app_floor, \
           coalesce((select u.redacted from user_scopes u where u.app_name = $1 and u.user_id = $2), 0) \
             + coalesce((select a.redacted from app_scopes a where a.app_name = $1), 0) as redacted, \
           {LOST} \
         from (select user_revision, app_revision from events where {OF_INCARNATION} and sequence = $5 \
           and $5 > (select s.base_revision from sessions s where {OF_SESSION}) \
         union all select created_user_revision, created_app_revision from sessions \
         where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4 and base_revision = $5) as seen \
         cross join sessions s where {OF_SESSION}"
    ),
    /// The parts of the merged state as it was at a moment: values that still hold, and spans that held then. `$5`, `$6`,
    /// `$7` are the revisions of session, user and app then; `$8`, `$9`, `$10` the nodes where their spans may be filed;
    /// `$11`, `$12`, `$13` the keys wanted of app, user and session, or null.
    state_then: state_then_text(words),
    /// The session keys from `$7` up to `$8` as they were at the revision `$5`, whose spans may be filed at the nodes `$6`.
    session_range_then: page_of_keys(&session_then(words, "$5", "$6", &in_range("t.key", "$7", "$8")), "$9", "$10"),
}

fn state_then_text(words: &Words) -> String {
    let Words { member, wanted, .. } = words;
    let [users, apps] = &SCOPES;
    format!(
        "select (select {app_member} from ({app}) as t) as app_state, \
         (select {user_member} from ({user}) as t) as user_state, \
         (select {session_member} from ({session}) as t) as session_state",
        app_member = member("'app:' || t.key"),
        user_member = member("'user:' || t.key"),
        session_member = member("t.key"),
        app = shared_then(words, apps, "$7", "$10", &wanted("$11")),
        user = shared_then(words, users, "$6", "$9", &wanted("$12")),
        session = session_then(words, "$5", "$8", &wanted("$13")),
    )
}

/// The keys and values of a shared scope at the revision `then`: values that still hold, and spans that held then, of those filed at
/// `nodes`; narrowed by a condition.
fn shared_then(words: &Words, tables: &ScopeTables, then: &str, nodes: &str, narrowed: &str) -> String {
    let ScopeTables { name, of, t_of, l_of, .. } = tables;
    format!(
        "select t.key, t.value from {name}_state t where {t_of} and t.revision <= {then}{narrowed} \
         union all select t.key, (select l.value from {name}_log l where {l_of} and l.key = t.key \
           and l.revision = t.valid_from) from {} \
           where t.valid_from <= {then} and t.valid_to > {then}{narrowed}",
        (words.filed)(&format!("{name}_spans"), of, nodes)
    )
}

/// As [`shared_then`], of a session.
fn session_then(words: &Words, then: &str, nodes: &str, narrowed: &str) -> String {
    format!(
        "select t.key, t.value from session_state t where t.app_name = $1 \
           and t.user_id = $2 and t.session_id = $3 and t.incarnation = $4 and t.revision <= {then}{narrowed} \
         union all select t.key, t.value from {} \
           where t.valid_from <= {then} and t.valid_to > {then}{narrowed}",
        (words.filed)("session_spans", OF_INCARNATION, nodes)
    )
}

row! {
    /// The revisions of shared scopes that an event saw, from when on these are known, and how often values were taken from them.
    struct SeenRow {
        user_revision: i64,
        app_revision: i64,
        user_floor: i64,
        app_floor: i64,
        redacted: i64,
        lost: Lost,
    }
}
