//! What forks were made of. `removed_forks` says it of sessions that were removed, as long as forks of them are there.

use std::collections::HashSet;

use crate::domain::ids::{SessionId, SessionKey, UserKey};
use crate::store::error::{Result, corrupt};
use crate::store::sql::query::{Query, Sql, Value};
use crate::store::sql::statements::statements;

/// Notes what a removed session was a fork of, if forks of it are there.
pub async fn note_removed(db: &mut impl Sql, key: &SessionKey, source: &str) -> Result<()> {
    db.execute(Query::new(&Statements::of(db).note_removed).session(key).bind(source)).await.map(drop)
}

/// Notes what the source of a fork that is there was a fork of, as an import says it.
pub async fn note_imported(db: &mut impl Sql, fork: &SessionKey, source: &SessionId, above: &SessionId) -> Result<()> {
    let note = Query::new(&Statements::of(db).note_imported).session(fork).bind(source.as_str()).bind(above.as_str());
    db.execute(note).await.map(drop)
}

/// The first one of which a statement of [`upwards`] says yes, given what it binds from `$4` on: a session, its source, the source of
/// that, and so on. An id that was used again has several sources.
pub async fn first(
    db: &mut impl Sql,
    statement: &'static str,
    (user, session): (&UserKey, &SessionId),
    values: &[Value<'_>],
) -> Result<Option<SessionId>> {
    let (mut seen, mut ids) = (HashSet::new(), vec![session.as_str().to_owned()]);
    while let Some(id) = ids.pop() {
        let query = Query::new(statement).user(user).bind(&*id);
        let query = values.iter().cloned().fold(query, Query::bind);
        let found: Vec<(Option<String>, bool)> = db.fetch(query).await?;
        if found.iter().any(|(_, is_it)| *is_it) {
            return SessionId::parse(&id).map(Some).map_err(corrupt);
        }
        seen.insert(id);
        ids.extend(found.into_iter().filter_map(|(source, _)| source).filter(|source| !seen.contains(source)));
    }
    Ok(None)
}

/// What the session `$3`, be it removed, is a fork of, and whether a condition holds for its row `s`, if it is there.
pub fn upwards(condition: &str) -> String {
    format!(
        "select s.forked_from, coalesce({condition}, false) \
         from sessions s where s.app_name = $1 and s.user_id = $2 and s.id = $3 \
         union all select forked_from, false from removed_forks where app_name = $1 and user_id = $2 and id = $3"
    )
}

statements! { _words,
    /// `$4` is what the session `$3` was a fork of.
    note_removed: "insert into removed_forks (app_name, user_id, id, forked_from) select k.app_name, k.user_id, $3, $4 \
                   from (select app_name, user_id from sessions where app_name = $1 and user_id = $2 and forked_from = $3 \
                         union all select app_name, user_id from removed_forks where app_name = $1 and user_id = $2 \
                           and forked_from = $3) as k limit 1 on conflict do nothing",
    /// `$4`, of which the session `$3` is a fork, was a fork of `$5`.
    note_imported: "insert into removed_forks (app_name, user_id, id, forked_from) select app_name, user_id, $4, $5 from sessions \
                    where app_name = $1 and user_id = $2 and id = $3 on conflict do nothing",
}
