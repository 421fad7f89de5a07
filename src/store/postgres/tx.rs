//! PostgreSQL: a transaction, and what is loaded, locked and applied within it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use futures_util::TryStreamExt as _;
use sqlx::postgres::PgArguments;
use sqlx::{Arguments as _, PgConnection};

use super::ours::{Ours, look};
use super::read::{Events, read_statement};
use super::statements::{
    CLAIM_BURIED, DROP_APP, DROP_USERS, EXPIRED, EXPIRED_UNLOCKED, HOLD_USERS, HOLD_USERS_ALONE, KEEP_SESSION,
    LOCK_APP, LOCK_SESSIONS, LOCK_SESSIONS_ALONE, LOCK_SESSIONS_SKIPPING, LOCK_USERS, MAKE_APP, MAKE_USERS,
    NEXT_BURIED, NEXT_BURIED_UNLOCKED, READ_HEADS, READ_REVISIONS, VALUES,
};
use super::words::{DISTRIBUTED, WORDS, pinned};
use super::write::{
    apps_of, create_sessions, insert_sessions, insert_unlisted, list_sessions, shows_states, write_call,
};
use crate::domain::ids::{AppName, EventId, ScopeKey, ScopeRef, SessionId, SessionKey, StateAddress, UserId};
use crate::domain::json::RawJson;
use crate::domain::loaded::{Loaded, LockedSession, Needs, Revisions, StateEntry};
use crate::domain::query::{EventPage, SessionQuery, SessionView};
use crate::domain::session::SessionInfo;
use crate::domain::tag::Timeline;
use crate::domain::time::Micros;
use crate::domain::writes::Writes;
use crate::store::backend::{Buried, OnLocked, Read, Seen, SessionInsert, Tx, UserLock, Verdict};
use crate::store::error::{Cause, Result, StoreError};
use crate::store::migrations::Applied;
use crate::store::pool::Lease;
use crate::store::shape::Shape;
use crate::store::sql::heads::{HeadsQuery, HeadsRow};
use crate::store::sql::query::{Column, Query, Row, Sql, Value, all_values, at_most_one};
use crate::store::sql::rows::{HeadRow, IncarnationRow, StateRow};
use crate::store::sql::view;
use crate::store::sql::words::Words;

/// If it is dropped before its end, its state is unknown and its connection may not answer. The pool then closes the
/// connection, which ends the transaction for certain, and nothing waits for it.
pub struct PgTx {
    pub(super) conn: Lease<PgConnection>,
    timeline: Timeline,
    pub(super) persistent: bool,
    pub(super) shape: Shape,
    /// Scope rows that may have been created just to be locked.
    made_scopes: Vec<ScopeKey>,
    pub(super) in_transaction: bool,
    pub(super) feeds: bool,
    /// Where it is distributed, the app that this transaction sweeps, and what was found of it that is buried.
    swept: Option<AppName>,
    buried: Vec<Buried>,
}

impl PgTx {
    /// The migrations that the database has; none, if there is nothing of sessiond. `serves`: the role reads every table.
    ///
    /// # Errors
    /// Names of ours lead to another program's.
    pub async fn applied(&mut self) -> Result<Vec<Applied>> {
        Ok(self.look(false).await?.applied)
    }

    /// As of [`look`].
    pub async fn look(&mut self, serves: bool) -> Result<Ours> {
        look(&mut self.conn, self.persistent, serves).await
    }

    /// Of a server, without BEGIN and without the change feed.
    pub(super) fn new(conn: Lease<PgConnection>, timeline: Timeline, persistent: bool) -> Self {
        Self {
            conn,
            timeline,
            persistent,
            shape: Shape::Server,
            made_scopes: Vec::new(),
            in_transaction: false,
            feeds: false,
            swept: None,
            buried: Vec::new(),
        }
    }

    async fn end(mut self, statement: &'static str) -> Result<()> {
        if self.in_transaction {
            sqlx::raw_sql(statement).execute(&mut *self.conn).await?;
        }
        self.conn.release();
        Ok(())
    }

    /// Locks the rows that exist of [one table and app](by_table); which those are.
    async fn lock_scope_rows<'k>(&mut self, scopes: &[ScopeRef<'k>]) -> Result<BTreeSet<ScopeRef<'k>>> {
        let numbers: Vec<i64> = all_values(self, over_scopes(LOCK_USERS, LOCK_APP, scopes)).await?;
        Ok(numbers.into_iter().filter_map(|n| counted(scopes, n)).copied().collect())
    }

    pub(super) async fn is_so(&mut self, question: &'static str) -> Result<bool> {
        Ok(sqlx::query_scalar(question).persistent(self.persistent).fetch_one(&mut *self.conn).await?)
    }

    /// Writes what a batch changes in one app, unless a head has changed; `feeds`: and tells the change feed.
    async fn write_app(&mut self, app: &AppName, writes: &Writes<'_>, feeds: bool) -> Result<Verdict> {
        let call = write_call(app, writes, feeds, self.shape);
        let row = call.persistent(self.persistent).fetch_one(&mut *self.conn).await?;
        row.verdict()
    }
}

/// Splits scopes, which are in their order, into those of one table and app each.
fn by_table<'s, 'k>(scopes: &'s [ScopeRef<'k>]) -> impl Iterator<Item = &'s [ScopeRef<'k>]> {
    scopes.chunk_by(|a, b| (a.scope(), a.app()) == (b.scope(), b.app()))
}

/// The statement over scopes of [one table and app](by_table).
fn over_scopes<'q>(of_users: &'static str, of_app: &'static str, scopes: &[ScopeRef<'q>]) -> Query<'q> {
    let users = user_ids(scopes);
    let query = Query::new(if users.is_empty() { of_app } else { of_users });
    let query = query.bind(scopes.first().map(|scope| scope.app().as_str()));
    if users.is_empty() { query } else { query.columns([Column::Texts(users)]) }
}

fn user_ids<'a>(scopes: &[ScopeRef<'a>]) -> Vec<&'a str> {
    scopes.iter().filter_map(|scope| scope.user()).map(|key| key.user.as_str()).collect()
}

/// The row with a number that counts from 1.
fn counted<T>(rows: &[T], n: i64) -> Option<&T> {
    rows.get(usize::try_from(n).ok()?.checked_sub(1)?)
}

impl Sql for PgTx {
    fn words(&self) -> &'static Words {
        if self.shape.is_distributed() { &DISTRIBUTED } else { &WORDS }
    }

    async fn fetch<R: Row>(&mut self, query: Query<'_>) -> Result<Vec<R>> {
        let (text, values) = query.into_parts();
        let query = sqlx::query_as_with(text, arguments(values)?).persistent(self.persistent);
        Ok(query.fetch_all(&mut *self.conn).await?)
    }

    async fn fetch_until<R: Row>(
        &mut self,
        query: Query<'_>,
        mut take: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<()> {
        let (text, values) = query.into_parts();
        let query = sqlx::query_as_with(text, arguments(values)?).persistent(self.persistent);
        let mut rows = query.fetch(&mut *self.conn);
        while let Some(row) = rows.try_next().await? {
            if take(row)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    async fn execute(&mut self, query: Query<'_>) -> Result<u64> {
        let (text, values) = query.into_parts();
        let query = sqlx::query_with(text, arguments(values)?).persistent(self.persistent);
        Ok(query.execute(&mut *self.conn).await?.rows_affected())
    }
}

fn arguments(values: Vec<Value<'_>>) -> Result<PgArguments> {
    let mut arguments = PgArguments::default();
    for value in values {
        match value {
            Value::Text(text) => arguments.add(text.as_deref()),
            Value::Integer(number) => arguments.add(number),
            Value::Bytes(bytes) => arguments.add(bytes),
            Value::Flag(flag) => arguments.add(flag),
            Value::Texts(texts) => arguments.add(texts),
            Value::Integers(numbers) => arguments.add(numbers),
            Value::Columns(columns) => columns.into_iter().try_for_each(|column| match column {
                Column::Texts(texts) => arguments.add(texts),
                Column::Integers(numbers) => arguments.add(numbers),
            }),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}

impl Tx for PgTx {
    fn timeline(&self) -> Timeline {
        self.timeline
    }

    async fn views(&mut self, queries: &[&SessionQuery]) -> Result<Vec<Option<SessionView>>> {
        let mut views: Vec<Option<SessionView>> = queries.iter().map(|_| None).collect();
        for (query, shown) in queries.iter().zip(&mut views).filter(|(query, _)| !query.is_plain()) {
            *shown = view::in_parts(self, query, pinned(query.now)).await?;
        }
        let (mut places, mut asked): (Vec<usize>, Vec<&SessionQuery>) =
            queries.iter().copied().enumerate().filter(|(_, query)| query.is_plain()).unzip();
        let mut least = Events::None;
        while let Some(statement) = read_statement(&asked, least) {
            let mut unfinished = Vec::new();
            for row in statement.persistent(self.persistent).fetch_all(&mut *self.conn).await? {
                let n = row.place();
                let (Some(query), Some(place)) = (asked.get(n), places.get(n)) else { continue };
                match (row.view(query)?, views.get_mut(*place)) {
                    (Read::Done(read), Some(view)) => *view = read,
                    _ => unfinished.push((*place, *query)),
                }
            }
            (places, asked) = unfinished.into_iter().unzip();
            least = Events::Page;
        }
        Ok(views)
    }

    async fn view_at_once(&mut self, query: &SessionQuery) -> Result<Read> {
        let Some(statement) = read_statement(&[query], Events::None) else { return Ok(Read::Done(None)) };
        let row = statement.persistent(self.persistent).fetch_optional(&mut *self.conn).await?;
        row.map_or(Ok(Read::Done(None)), |row| row.view(query))
    }

    async fn lock_sessions(&mut self, keys: &BTreeSet<&SessionKey>, on_locked: OnLocked) -> Result<Vec<LockedSession>> {
        let keys: Vec<&SessionKey> = keys.iter().copied().collect();
        let text = match on_locked {
            OnLocked::Wait => LOCK_SESSIONS,
            OnLocked::WaitAlone => LOCK_SESSIONS_ALONE,
            OnLocked::Skip => LOCK_SESSIONS_SKIPPING,
        };
        let mut locked = Vec::with_capacity(keys.len());
        for keys in keys.chunk_by(|a, b| a.app() == b.app()) {
            let users = keys.iter().map(|key| key.user.user.as_str()).collect();
            let sessions = keys.iter().map(|key| key.session.as_str()).collect();
            let query = Query::new(text).bind(keys.first().map(|key| key.app().as_str()));
            let query = query.columns([Column::Texts(users), Column::Texts(sessions)]);
            locked.extend(self.fetch::<LockedSession>(query).await?);
        }
        Ok(locked)
    }

    async fn lock_scopes(&mut self, scopes: &[ScopeRef<'_>]) -> Result<()> {
        for scopes in by_table(scopes) {
            let there = self.lock_scope_rows(scopes).await?;
            let missing: Vec<ScopeRef<'_>> = scopes.iter().filter(|scope| !there.contains(scope)).copied().collect();
            if !missing.is_empty() {
                // Two statements, because a row that another transaction just made is visible only to the next one.
                self.execute(over_scopes(MAKE_USERS, MAKE_APP, &missing)).await?;
                self.made_scopes.extend(missing.into_iter().map(ScopeRef::to_key));
                self.lock_scope_rows(scopes).await?;
            }
        }
        Ok(())
    }

    async fn keep_session(&mut self, key: &SessionKey) -> Result<Option<LockedSession>> {
        at_most_one(self, Query::new(KEEP_SESSION).session(key)).await
    }

    async fn values(&mut self, keys: &[(&StateAddress, i64)]) -> Result<Vec<(StateAddress, StateEntry)>> {
        // One list for all scopes, each row with the parts of its key that its scope has.
        let parts = |address: &StateAddress| match address {
            StateAddress::Session(key, name) => {
                (0_i16, Some(key.user.user.clone()), Some(key.session.clone()), name.to_string())
            }
            StateAddress::Shared(ScopeKey::User(key), name) => (1, Some(key.user.clone()), None, name.to_string()),
            StateAddress::Shared(ScopeKey::App(_), name) => (2, None, None, name.to_string()),
        };
        let mut by_app: BTreeMap<&AppName, Vec<(&StateAddress, i64)>> = BTreeMap::new();
        for (address, incarnation) in keys {
            by_app.entry(address.app()).or_default().push((address, *incarnation));
        }
        let mut found = Vec::with_capacity(keys.len());
        for (app, keys) in by_app {
            let parts: Vec<_> = keys.iter().map(|(address, _)| parts(address)).collect();
            let rows: Vec<(i64, String, i64)> = sqlx::query_as(VALUES)
                .persistent(self.persistent)
                .bind(app.as_str())
                .bind(parts.iter().map(|(scope, ..)| *scope).collect::<Vec<_>>())
                .bind(parts.iter().map(|(_, user, ..)| user.as_ref().map(UserId::as_str)).collect::<Vec<_>>())
                .bind(parts.iter().map(|(.., session, _)| session.as_ref().map(SessionId::as_str)).collect::<Vec<_>>())
                .bind(keys.iter().map(|(_, incarnation)| *incarnation).collect::<Vec<_>>())
                .bind(parts.iter().map(|(.., name)| name.as_str()).collect::<Vec<_>>())
                .fetch_all(&mut *self.conn)
                .await?;
            found.extend(rows.into_iter().filter_map(|(n, value, revision)| {
                let (address, _) = counted(&keys, n)?;
                Some(((*address).clone(), StateEntry { value: Some(RawJson::trusted(value)), revision }))
            }));
        }
        Ok(found)
    }

    /// Of one app, all at one moment.
    async fn read_heads(&mut self, needs: &Needs<'_>) -> Result<Loaded> {
        let all = HeadsQuery::of(needs);
        let mut heads = Loaded::default();
        for app in all.named_apps() {
            let look = all.of_app(app);
            let HeadsQuery { sessions, scopes, erased } = &look;
            let rows: Vec<HeadsRow> = sqlx::query_as(READ_HEADS)
                .persistent(self.persistent)
                .bind(app.as_str())
                .bind(sessions.iter().map(|(key, _)| key.user.user.as_str()).collect::<Vec<_>>())
                .bind(sessions.iter().map(|(key, _)| key.session.as_str()).collect::<Vec<_>>())
                .bind(sessions.iter().map(|(_, id)| id.map(EventId::as_str)).collect::<Vec<_>>())
                .bind(user_ids(scopes))
                .bind(scopes.contains(&ScopeRef::App(app)))
                .bind(!erased.is_empty())
                .fetch_all(&mut *self.conn)
                .await?;
            heads.extend(look.heads(rows));
        }
        Ok(heads)
    }

    async fn read_revisions(&mut self, keys: &[SessionKey], _: Micros) -> Result<Vec<Option<Revisions>>> {
        type Lists = (Option<Vec<i64>>, Option<Vec<i64>>, Option<Vec<i64>>, Option<Vec<i64>>);
        let mut all = vec![None; keys.len()];
        let mut rest = &mut all[..];
        for keys in keys.chunk_by(|a, b| a.app() == b.app()) {
            let Some(app) = keys.first().map(SessionKey::app) else { continue };
            let (found, others) = rest.split_at_mut(keys.len());
            rest = others;
            let (n, incarnations, revisions, metadata): Lists = sqlx::query_as(READ_REVISIONS)
                .persistent(self.persistent)
                .bind(app.as_str())
                .bind(keys.iter().map(|key| key.user.user.as_str()).collect::<Vec<_>>())
                .bind(keys.iter().map(|key| key.session.as_str()).collect::<Vec<_>>())
                .fetch_one(&mut *self.conn)
                .await?;
            let [n, incarnations, revisions, metadata] =
                [n, incarnations, revisions, metadata].map(Option::unwrap_or_default);
            for (((n, incarnation), revision), metadata) in n.into_iter().zip(incarnations).zip(revisions).zip(metadata)
            {
                let at = usize::try_from(n).unwrap_or(0).wrapping_sub(1);
                if let Some(found) = found.get_mut(at) {
                    *found = Some(Revisions { incarnation, revision, metadata });
                }
            }
        }
        Ok(all)
    }

    async fn insert_sessions(&mut self, inserts: &[SessionInsert<'_>]) -> Result<Vec<i64>> {
        let mut rows: Vec<&SessionInsert<'_>> = inserts.iter().collect();
        rows.sort_by_key(|insert| &insert.creation.key);
        let mut made = Vec::new();
        for of_app in rows.chunk_by(|a, b| a.creation.key.app() == b.creation.key.app()) {
            let statement = if self.shape.is_distributed() { insert_unlisted(of_app) } else { insert_sessions(of_app) };
            let Some(mut statement) = statement else { continue };
            let statement = statement.build_query_as::<(i64, i64)>().persistent(self.persistent);
            let found: HashMap<i64, i64> = statement.fetch_all(&mut *self.conn).await?.into_iter().collect();
            if self.shape.is_distributed() {
                let is_made = |row: &&'_ SessionInsert<'_>| found.get(&row.creation.incarnation).copied();
                let rows: Vec<_> = of_app.iter().filter_map(|row| Some((*row, is_made(row)?))).collect();
                if let Some(list) = list_sessions(&rows) {
                    self.execute(list).await?;
                }
            }
            made.extend(found.into_keys());
        }
        Ok(made)
    }

    async fn create_at_once(&mut self, inserts: &[SessionInsert<'_>]) -> Result<Vec<SessionView>> {
        let mut rows: Vec<&SessionInsert<'_>> = inserts.iter().collect();
        rows.sort_by_key(|insert| &insert.creation.key);
        let Some(mut statement) = create_sessions(&rows, self.feeds) else { return Ok(Vec::new()) };
        let view = |head, state| SessionView { head, state, events: EventPage::default() };
        if !shows_states(&rows) {
            let heads: Vec<SessionInfo> =
                statement.build_query_as().persistent(self.persistent).fetch_all(&mut *self.conn).await?;
            return Ok(heads.into_iter().map(|head| view(head, None)).collect());
        }
        let rows: Vec<HeadRow<StateRow>> =
            statement.build_query_as().persistent(self.persistent).fetch_all(&mut *self.conn).await?;
        Ok(rows.into_iter().map(|row| view(row.head, Some(row.value.merged()))).collect())
    }

    async fn commit_if_unchanged(&mut self, writes: &Writes<'_>) -> Result<Verdict> {
        let mut apps = apps_of(writes).into_iter();
        match (apps.next(), apps.next()) {
            (Some(app), None) => {
                let written = self.write_app(app, writes, self.feeds).await;
                if self.shape.is_distributed() { written.map_err(StoreError::of_node) } else { written }
            }
            _ => Err(StoreError::new(Cause::Internal, "what is written at once is of one app")),
        }
    }

    fn may_have_committed(&self) -> bool {
        true
    }

    async fn apply(&mut self, writes: &Writes<'_>) -> Result<Seen> {
        let mut all = Seen::new();
        for app in apps_of(writes) {
            let Verdict::Written(seen) = self.write_app(app, writes, false).await? else {
                // A session that has expired since it was locked, or an id that the same session has under another key.
                return Err(StoreError::new(Cause::Conflict, "a locked head is not what it was"));
            };
            all.extend(seen);
        }
        self.drop_unused_scopes(writes).await?;
        Ok(all)
    }

    async fn expired(&mut self, _: Micros, limit: i64) -> Result<Vec<IncarnationRow>> {
        if !self.shape.is_distributed() {
            return self.fetch(Query::new(EXPIRED).bind(limit)).await;
        }
        let found: Vec<IncarnationRow> = self.fetch(Query::new(EXPIRED_UNLOCKED).bind(limit)).await?;
        self.swept = found.first().map(|row| row.key.app().clone());
        let keys = found.iter().map(|row| &row.key).filter(|key| self.swept.as_ref() == Some(key.app())).collect();
        let locked = self.lock_sessions(&keys, OnLocked::Skip).await?;
        // Only of one that has expired does a locked row tell a time.
        let expired = locked.into_iter().filter(|row| row.head.expire_time.is_some());
        Ok(expired.map(|row| IncarnationRow { key: row.key, incarnation: row.head.incarnation }).collect())
    }

    async fn next_buried(&mut self) -> Result<Option<Buried>> {
        if !self.shape.is_distributed() {
            return at_most_one(self, Query::new(NEXT_BURIED)).await;
        }
        if self.buried.is_empty() {
            self.buried = self.fetch(Query::new(NEXT_BURIED_UNLOCKED)).await?;
            let app = self.swept.take().or_else(|| Some(self.buried.first()?.key.app().clone()));
            self.buried.retain(|found| app.as_ref() == Some(found.key.app()));
            self.swept = app;
        }
        // Those that are left are another's.
        while let Some(Buried { key, incarnation, .. }) = self.buried.pop() {
            let claimed = at_most_one(self, Query::of(CLAIM_BURIED, &key, incarnation)).await?;
            if claimed.is_some() {
                return Ok(claimed);
            }
        }
        Ok(None)
    }

    async fn hold_users(&mut self, users: &[i64], lock: UserLock) -> Result<()> {
        let statement = match lock {
            UserLock::Shared => HOLD_USERS,
            UserLock::Alone => HOLD_USERS_ALONE,
        };
        self.execute(Query::new(statement).bind(users.to_vec())).await.map(drop)
    }

    async fn commit(self) -> Result<()> {
        self.end("commit").await
    }

    async fn rollback(self) -> Result<()> {
        self.end("rollback").await
    }
}

impl PgTx {
    /// A scope row at revision 0 has no meaning once it is unlocked, and lists of names would have to skip it.
    async fn drop_unused_scopes(&mut self, writes: &Writes<'_>) -> Result<()> {
        let is_unused = |scope: &&ScopeKey| !writes.scopes.contains_key(&scope.borrowed());
        let unused: Vec<ScopeKey> = self.made_scopes.iter().filter(is_unused).cloned().collect();
        let unused: Vec<ScopeRef<'_>> = unused.iter().map(ScopeKey::borrowed).collect();
        for scopes in by_table(&unused) {
            self.execute(over_scopes(DROP_USERS, DROP_APP, scopes)).await?;
        }
        Ok(())
    }
}
