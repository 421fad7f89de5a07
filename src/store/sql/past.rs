//! What a session has and had: its state, and the versions of files that its events name. Both are kept alike.

use crate::domain::history;
use crate::domain::ids::SessionKey;
use crate::store::error::Result;
use crate::store::sql::columns::OF_INCARNATION;
use crate::store::sql::query::{Query, Sql, at_most_one};
use crate::store::sql::statements::statements;
use crate::store::sql::words::Words;

/// Where something by key is that a session has, and its spans, which it had.
pub struct PastTables {
    state: &'static str,
    spans: &'static str,
    key: &'static str,
    value: &'static str,
    /// What spans have beside the columns of both.
    more: &'static str,
}

pub const STATE: PastTables =
    PastTables { state: "session_state", spans: "session_spans", key: "key", value: "value", more: ", removed" };
pub const NAMED: PastTables =
    PastTables { state: "artifact_state", spans: "artifact_spans", key: "name", value: "version", more: "" };

impl PastTables {
    /// Copies the spans that had ended at revision `$7` to the session `$5` of incarnation `$6`.
    fn copy_spans(&self) -> String {
        let Self { spans, key, value, more, .. } = self;
        format!(
            "insert into {spans} (app_name, user_id, session_id, incarnation, node, {key}, valid_from, valid_to, {value}{more}) \
             select app_name, user_id, $5, $6, node, {key}, valid_from, valid_to, {value}{more} from {spans} \
             where {OF_INCARNATION} and valid_to <= $7"
        )
    }

    /// Copies what held at revision `$7` to the session `$5` of incarnation `$6`; `$8` are the nodes of the path to it.
    fn copy_state(&self, words: &Words) -> String {
        let Self { state, spans, key, value, .. } = self;
        format!(
            "insert into {state} (app_name, user_id, session_id, incarnation, {key}, {value}, revision) \
             select app_name, user_id, $5, cast($6 as bigint), {key}, {value}, revision from {state} \
             where {OF_INCARNATION} and revision <= $7 \
             union all select t.app_name, t.user_id, $5, cast($6 as bigint), t.{key}, t.{value}, t.valid_from from {} \
             where t.valid_from <= $7 and t.valid_to > $7",
            (words.filed)(spans, OF_INCARNATION, "$8")
        )
    }

    /// The last of the first `$6` spans that ended with the revision `$5` or before.
    fn last_passed(&self) -> String {
        let Self { spans, key, .. } = self;
        format!(
            "select node, {key} from (select node, {key} from {spans} where {OF_INCARNATION} and node <= $5 \
               and valid_to <= $5 order by node, {key} limit 0 + $6) as t order by node desc, {key} desc limit 1"
        )
    }

    fn purge_passed(&self) -> String {
        let Self { spans, key, .. } = self;
        format!("delete from {spans} where {OF_INCARNATION} and (node, {key}) <= ($6, $7) and valid_to <= $5")
    }

    /// Removes up to `$5` rows of a buried incarnation: those up to the last key of a page. A planner without statistics would
    /// look through the page once more for each row, if it were a list of keys.
    pub fn purge_state(&self) -> String {
        let Self { state, key, .. } = self;
        format!(
            "delete from {state} where {OF_INCARNATION} and {key} <= (select {key} from (select {key} from {state} \
             where {OF_INCARNATION} order by {key} limit 0 + $5) as page order by {key} desc limit 1)"
        )
    }

    /// The same of spans.
    pub fn purge_spans(&self) -> String {
        let Self { spans, key, .. } = self;
        format!(
            "delete from {spans} where {OF_INCARNATION} and (node, {key}) <= (select node, {key} from (select node, {key} \
               from {spans} where {OF_INCARNATION} order by node, {key} limit 0 + $5) as page \
             order by node desc, {key} desc limit 1)"
        )
    }
}

/// A moment of a session: its incarnation, a revision, and the last one.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    pub key: &'a SessionKey,
    pub incarnation: i64,
    pub revision: i64,
    pub last: i64,
}

impl<'a> Moment<'a> {
    pub fn query(self, text: &'static str) -> Query<'a> {
        let query = Query::of(text, self.key, self.incarnation).bind(self.revision);
        query.bind(history::path(self.revision, self.last))
    }
}

/// Copies to the session `to` of another incarnation what held at a moment and before; whether that names files.
pub async fn copy(db: &mut impl Sql, moment: Moment<'_>, to: (&str, i64)) -> Result<bool> {
    let statements = Statements::of(db);
    let of = |text: &'static str| {
        Query::of(text, moment.key, moment.incarnation).bind(to.0).bind(to.1).bind(moment.revision)
    };
    let path = || history::path(moment.revision, moment.last);
    db.execute(of(&statements.copy_spans)).await?;
    db.execute(of(&statements.copy_state).bind(path())).await?;
    db.execute(of(&statements.copy_named_spans)).await?;
    Ok(db.execute(of(&statements.copy_named).bind(path())).await? > 0)
}

/// Removes up to `limit` spans of each kind that ended by `base`. Returns how many.
pub async fn purge_passed(db: &mut impl Sql, key: &SessionKey, incarnation: i64, base: i64, limit: i64) -> Result<u64> {
    let Statements { last_passed, purge_passed, last_passed_name, purge_passed_names, .. } = Statements::of(db);
    let mut purged = 0;
    for (last, purge) in [(last_passed, purge_passed), (last_passed_name, purge_passed_names)] {
        let query = Query::of(last, key, incarnation).bind(base).bind(limit);
        let Some((node, name)) = at_most_one::<(i64, String)>(db, query).await? else { continue };
        purged += db.execute(Query::of(purge, key, incarnation).bind(base).bind(node).bind(&*name)).await?;
    }
    Ok(purged)
}

statements! { words,
    copy_spans: STATE.copy_spans(),
    copy_state: STATE.copy_state(words),
    copy_named_spans: NAMED.copy_spans(),
    copy_named: NAMED.copy_state(words),
    last_passed: STATE.last_passed(),
    purge_passed: STATE.purge_passed(),
    last_passed_name: NAMED.last_passed(),
    purge_passed_names: NAMED.purge_passed(),
}
