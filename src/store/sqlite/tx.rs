//! SQLite: a transaction, and what is loaded and applied within it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::mem;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use futures_util::TryStreamExt as _;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{Arguments as _, FromRow, Row as _};

use super::file::Opener;
use super::ours::applied;
use super::rows::{Columns, Script, piece, pieces};
use super::words::{PLAIN_VIEW, WORDS};
use super::write::{
    self, END_FEED, EXPIRED, NEXT_BURIED, PRUNE_FEED, StateParts, find, insert_events, insert_sessions, record,
    set_revisions, update_sessions, write_passed, write_state,
};
use crate::domain::event::StoredEvent;
use crate::domain::ids::{AppName, EventId, ScopeRef, SessionKey, StateAddress, UserId};
use crate::domain::json::{push_string, string_array};
use crate::domain::loaded::{Loaded, LockedSession, Needs, StateEntry};
use crate::domain::query::{SessionQuery, SessionView};
use crate::domain::scope::Scope;
use crate::domain::tag::Timeline;
use crate::domain::time::Micros;
use crate::domain::writes::{ChangeRow, Committed, Passed, Writes};
use crate::store::backend::{Buried, FeedTx, Noted, Now, OnLocked, Seen, SessionInsert, Tx, UserLock, Verdict};
use crate::store::error::{Cause, Result, StoreError};
use crate::store::migrations::Applied;
use crate::store::pool::{Lease, Pool};
use crate::store::sql::columns::StateTables;
use crate::store::sql::composed::Composed;
use crate::store::sql::heads::{HeadsQuery, HeadsRow};
use crate::store::sql::query::{Column, Query, Row, Sql, Value, at_most_one};
use crate::store::sql::rows::{HeadRow, IncarnationRow, StateRow, first_event, plain_view};
use crate::store::sql::view;
use crate::store::sql::words::Words;

/// The events of [`PLAIN_VIEW`], the first of which has this sequence.
fn read_events(first: i64, text: &str) -> Result<Vec<StoredEvent>> {
    let (mut text, mut events) = (Composed(text), Vec::new());
    while !text.is_over() {
        let (commit_time, bytes) = (Micros(text.number()?), text.number()?);
        events.push(StoredEvent::new(first + events.len() as i64, commit_time, text.text(bytes)?));
    }
    Ok(events)
}

/// Dropped before its end, its connection is closed, once the statement under way is done, and with it the transaction.
pub struct SqliteTx {
    pub(super) conn: Lease<SqliteConnection>,
    in_transaction: bool,
    /// [`Tx::commit_if_unchanged`] has reached its commit.
    committing: bool,
    clock: Arc<OnceLock<Now>>,
    feeds: bool,
    /// It began by [`BEGIN_EARLY`].
    is_early: bool,
}

/// Begins a transaction whose commit is durable with the next one: in WAL mode, `normal` appends to the log without a sync, and `full`
/// syncs the whole log. The setting is the connection's, and cannot be changed within a transaction. So it is set before, and whoever
/// returns the connection sets it back ([`SqliteTx::release`]); a transaction that is dropped in between closes it.
pub(super) const BEGIN_EARLY: &str = "pragma synchronous = normal; begin immediate";
const END_EARLY: &str = "pragma synchronous = full";

impl SqliteTx {
    /// See [`applied`].
    pub async fn applied(&mut self) -> Result<Vec<Applied>> {
        applied(&mut self.conn).await
    }

    pub(super) async fn begin(
        pool: &Pool<Opener>,
        begin: Option<&'static str>,
        clock: Arc<OnceLock<Now>>,
        feeds: bool,
    ) -> Result<Self> {
        let mut conn = pool.acquire().await?;
        if let Some(begin) = begin {
            sqlx::raw_sql(begin).execute(&mut *conn).await?;
        }
        let is_early = begin == Some(BEGIN_EARLY);
        Ok(Self { conn, in_transaction: begin.is_some(), committing: false, clock, feeds, is_early })
    }

    /// One session, with its events in the same statement if it can be.
    async fn view(&mut self, query: &SessionQuery) -> Result<Option<SessionView>> {
        let (Some(filter), Some(events), true) = (&query.state, &query.events, query.is_plain()) else {
            return view::in_parts(self, query, query.now.0).await;
        };
        let row = sqlx::query(&**PLAIN_VIEW)
            .bind(query.key.app().to_arc())
            .bind(query.key.user.user.to_arc())
            .bind(query.key.session.to_arc())
            .bind(query.now.0)
            .bind(filter.app.as_deref().map(string_array))
            .bind(filter.user.as_deref().map(string_array))
            .bind(filter.session.as_deref().map(string_array))
            .bind(events.after)
            .bind(events.last)
            .bind(events.before)
            .bind(events.max_rows as i64)
            .bind(events.max_bytes as i64)
            .fetch_optional(&mut *self.conn)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let HeadRow { head, value: state } = HeadRow::<StateRow>::from_row(&row)?;
        let first = first_event(&head, events);
        let texts: Option<&str> = row.try_get("events")?;
        let events = read_events(first, texts.unwrap_or_default())?;
        Ok(plain_view(head, query, Some(state.merged()), events))
    }

    /// Returns the connection, between two transactions and as it was given out; or closes it.
    async fn release(mut self) {
        if self.is_early && sqlx::raw_sql(END_EARLY).execute(&mut *self.conn).await.is_err() {
            return;
        }
        self.conn.release();
    }

    /// Commits. If that fails because the disk is full or a lock is held, the transaction is certainly undone: SQLite
    /// writes the record that makes it valid last, and has rolled back by then, or is told to. (A disk error leaves it
    /// open.)
    async fn try_commit(&mut self) -> Result<()> {
        match sqlx::raw_sql("commit").execute(&mut *self.conn).await {
            Ok(_) => Ok(()),
            Err(error) => Err(self.undo(error.into()).await),
        }
    }

    async fn undo(&mut self, error: StoreError) -> StoreError {
        if !error.is_full_or_busy() {
            return error;
        }
        match sqlx::raw_sql("rollback").execute(&mut *self.conn).await.map_err(StoreError::from) {
            Ok(_) => error.rolled_back(),
            Err(none) if none.is_plain_error() => error.rolled_back(),
            Err(_) => error,
        }
    }

    /// Rows by key; keys that are not there are left out.
    async fn find<K, R>(&mut self, table: &str, key: &str, columns: &str, keys: &[K]) -> Result<Vec<(K, R)>>
    where
        K: Columns + Copy + Send + Sync,
        R: for<'r> FromRow<'r, SqliteRow> + Send,
    {
        let mut found = Vec::with_capacity(keys.len());
        for from in pieces([keys.len()]) {
            let keys = piece(keys, from);
            for row in find(table, key, columns, keys).build()?.fetch_all(&mut *self.conn).await? {
                let n: i64 = row.try_get("n")?;
                let key = usize::try_from(n).ok().and_then(|n| keys.get(n));
                let key = key.ok_or_else(|| StoreError::new(Cause::Internal, "a row was found by no key"))?;
                found.push((*key, R::from_row(&row)?));
            }
        }
        Ok(found)
    }

    async fn find_values<K>(&mut self, scope: Scope, keys: &[K]) -> Result<Vec<(K, StateEntry)>>
    where
        K: Columns + Copy + Send + Sync,
    {
        let tables = StateTables::of(scope);
        self.find(tables.state, &format!("{}, key", tables.owner), "value, revision", keys).await
    }

    /// All that a batch changes, heads last, as events are compared with them, and what the feed is told.
    fn scripts(&self, begin: &str, writes: &Writes<'_>, told: &[Committed]) -> Scripts {
        let now = self.clock.get().map(|now| now());
        let own = StateParts::of(Scope::Session, &writes.session_state, |_| true);
        let [user, app] =
            Scope::SHARED.map(|scope| StateParts::of(scope, &writes.shared_state, |(owner, _)| owner.scope() == scope));
        let sessions: Vec<_> = writes.sessions.iter().collect();
        let raised = writes.scopes.iter().filter(|(_, update)| update.was != update.revision);
        let (users, apps): (Vec<_>, Vec<_>) = raised.partition(|(scope, _)| scope.scope() == Scope::User);
        let changes: Vec<_> = told.iter().filter_map(Committed::row).collect();
        let written = [writes.events.len(), own.set.len(), user.set.len(), app.set.len()];
        let heads = [sessions.len(), users.len(), apps.len(), changes.len()];
        let rest = [own.rest(), user.rest(), app.rest()];
        let mut scripts = Scripts::of(begin, pieces(written.into_iter().chain(heads).chain(rest)).count() <= 1);
        for from in pieces(written) {
            let script = scripts.next();
            insert_events(script, piece(&writes.events, from), writes, now);
            write_state(script, own.tables, piece(&own.set, from), false);
            write_state(script, user.tables, piece(&user.set, from), false);
            write_state(script, app.tables, piece(&app.set, from), false);
        }
        write_rest(&mut scripts, &own);
        write_rest(&mut scripts, &user);
        write_rest(&mut scripts, &app);
        for from in pieces(heads) {
            let script = scripts.next();
            update_sessions(script, piece(&sessions, from), now);
            set_revisions(script, Scope::User, piece(&users, from));
            set_revisions(script, Scope::App, piece(&apps, from));
            record(script, piece(&changes, from));
        }
        scripts
    }

    /// What was noted of the events of sessions that were there.
    async fn write(&mut self, scripts: Scripts) -> Result<Seen> {
        let mut seen = Seen::new();
        for script in scripts.done.into_iter().chain([scripts.last]).filter(|script| !script.is_empty()) {
            for row in script.build()?.fetch_all(&mut *self.conn).await? {
                let (incarnation, user, app, commit_time) = FromRow::from_row(&row)?;
                seen.insert(incarnation, Noted { user, app, commit_time: Micros(commit_time) });
            }
        }
        Ok(seen)
    }
}

/// The scripts of a batch: one, if no list is longer than a script's.
struct Scripts {
    is_one: bool,
    done: Vec<Script>,
    last: Script,
}

impl Scripts {
    fn of(begin: &str, is_one: bool) -> Self {
        let mut last = Script::default();
        last.push(begin);
        Self { is_one, done: Vec::new(), last }
    }

    /// The one that the next statements are for.
    fn next(&mut self) -> &mut Script {
        if !self.is_one {
            self.done.push(mem::take(&mut self.last));
        }
        &mut self.last
    }
}

/// Writes what is rare in an append: removals, and keys that are set more than once.
fn write_rest<K: Columns>(scripts: &mut Scripts, parts: &StateParts<'_, '_, K>) {
    let StateParts { tables, removed, passed, .. } = parts;
    for from in pieces([removed.len()]) {
        write_state(scripts.next(), tables, piece(removed, from), true);
    }
    // Without a log, nothing is noted of what was not there.
    let noted = passed.iter().filter(|row| row.value.is_some() || tables.log.is_some());
    let (removed, set): (Vec<&Passed<'_, K>>, Vec<_>) = noted.copied().partition(|row| row.value.is_none());
    for (rows, removed) in [(set, false), (removed, true)] {
        for from in pieces([rows.len()]) {
            write_passed(scripts.next(), tables, piece(&rows, from), removed);
        }
    }
}

impl Sql for SqliteTx {
    fn words(&self) -> &'static Words {
        &WORDS
    }

    async fn fetch<R: Row>(&mut self, query: Query<'_>) -> Result<Vec<R>> {
        let (text, values) = query.into_parts();
        Ok(sqlx::query_as_with(text, arguments(values)?).fetch_all(&mut *self.conn).await?)
    }

    async fn fetch_until<R: Row>(
        &mut self,
        query: Query<'_>,
        mut take: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<()> {
        let (text, values) = query.into_parts();
        let mut rows = sqlx::query_as_with(text, arguments(values)?).fetch(&mut *self.conn);
        while let Some(row) = rows.try_next().await? {
            if take(row)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    async fn execute(&mut self, query: Query<'_>) -> Result<u64> {
        let (text, values) = query.into_parts();
        Ok(sqlx::query_with(text, arguments(values)?).execute(&mut *self.conn).await?.rows_affected())
    }
}

fn arguments(values: Vec<Value<'_>>) -> Result<SqliteArguments> {
    let mut arguments = SqliteArguments::default();
    for value in values {
        match value {
            Value::Text(text) => arguments.add(text.map(Cow::into_owned)),
            Value::Integer(number) => arguments.add(number),
            Value::Bytes(bytes) => arguments.add(bytes.map(<[u8]>::to_vec)),
            Value::Flag(flag) => arguments.add(flag),
            Value::Texts(texts) => arguments.add(texts.map(string_array)),
            Value::Integers(numbers) => arguments.add(json_numbers(&numbers)),
            // All rows are in the first parameter: two lists have no index by which they could be joined.
            Value::Columns(columns) => {
                let rows = arguments.add(json_rows(&columns));
                (1..columns.len()).fold(rows, |added, _| added.and_then(|()| arguments.add(None::<i64>)))
            }
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}

fn json_rows(columns: &[Column<'_>]) -> String {
    let rows = columns.iter().map(|column| match column {
        Column::Texts(texts) => texts.len(),
        Column::Integers(numbers) => numbers.len(),
    });
    let mut out = String::from("[");
    for row in 0..rows.min().unwrap_or(0) {
        for (n, column) in columns.iter().enumerate() {
            out.push_str(match (row, n) {
                (0, 0) => "[",
                (_, 0) => "],[",
                _ => ",",
            });
            match column {
                Column::Texts(texts) => texts.get(row).into_iter().for_each(|text| push_string(&mut out, text)),
                Column::Integers(numbers) => out.extend(numbers.get(row).map(i64::to_string)),
            }
        }
    }
    out.push_str(if out.len() > 1 { "]]" } else { "]" });
    out
}

fn json_numbers(numbers: &[i64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
    format!("[{}]", numbers.join(","))
}

/// Rows need no locks of their own here: the write transaction has the whole file.
impl Tx for SqliteTx {
    fn timeline(&self) -> Timeline {
        self.conn.timeline()
    }

    async fn views(&mut self, queries: &[&SessionQuery]) -> Result<Vec<Option<SessionView>>> {
        let mut views = Vec::with_capacity(queries.len());
        for query in queries {
            views.push(self.view(query).await?);
        }
        Ok(views)
    }

    async fn lock_sessions(&mut self, keys: &BTreeSet<&SessionKey>, _: OnLocked) -> Result<Vec<LockedSession>> {
        let keys: Vec<&SessionKey> = keys.iter().copied().collect();
        let columns = "app_name, user_id, id, incarnation, revision, metadata_revision, update_time, expire_time, \
             lease_epoch, case when lease_all then lease_owner end as lease_owner, lease_expire, null as lease_now";
        let rows = self.find("sessions", "app_name, user_id, id", columns, &keys).await?;
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }

    async fn lock_scopes(&mut self, _: &[ScopeRef<'_>]) -> Result<()> {
        Ok(())
    }

    async fn read_heads(&mut self, needs: &Needs<'_>) -> Result<Loaded> {
        let keys = HeadsQuery::of(needs);
        let sessions: Vec<_> =
            (1..).zip(keys.sessions.iter().map(|(key, id)| (*key, id.map(EventId::as_str)))).collect();
        let scopes = (1..).zip(keys.scopes.iter().copied());
        let (users, apps): (Vec<_>, Vec<_>) = scopes.partition(|(_, scope)| scope.scope() == Scope::User);
        let erased: Vec<_> = (1..).zip(keys.erased.iter().copied()).collect();
        let mut rows: Vec<HeadsRow> = Vec::new();
        for from in pieces([sessions.len(), users.len(), apps.len(), erased.len()]) {
            let shared = [piece(&users, from), piece(&apps, from)];
            let statement = write::read_heads(piece(&sessions, from), &shared, piece(&erased, from));
            for row in statement.build()?.fetch_all(&mut *self.conn).await? {
                rows.push(HeadsRow::from_row(&row)?);
            }
        }
        let mut heads = keys.heads(rows);
        // No other process creates them, so their absence may be cached as well.
        for scope in &keys.scopes {
            if heads.scopes.get(*scope).is_none() {
                heads.scopes.insert(scope.to_key(), 0);
            }
        }
        Ok(heads)
    }

    async fn insert_sessions(&mut self, inserts: &[SessionInsert<'_>]) -> Result<Vec<i64>> {
        let mut made = Vec::new();
        for from in pieces([inserts.len()]) {
            for row in insert_sessions(piece(inserts, from)).build()?.fetch_all(&mut *self.conn).await? {
                made.push(row.try_get("incarnation")?);
            }
        }
        Ok(made)
    }

    async fn create_at_once(&mut self, _: &[SessionInsert<'_>]) -> Result<Vec<SessionView>> {
        Ok(Vec::new())
    }

    /// One call, if it is one script: a call takes longer than a row.
    async fn commit_if_unchanged(&mut self, writes: &Writes<'_>) -> Result<Verdict> {
        let told = if self.feeds { writes.committed() } else { Vec::new() };
        let mut scripts = self.scripts("begin immediate; ", writes, &told);
        self.committing = scripts.is_one;
        if self.committing {
            scripts.last.push("commit");
        }
        let seen = match self.write(scripts).await {
            Ok(seen) => seen,
            Err(error) if error.cause == Cause::Conflict => {
                sqlx::raw_sql("rollback").execute(&mut *self.conn).await?;
                return Ok(Verdict::Conflict);
            }
            Err(error) if self.committing => return Err(self.undo(error).await.in_commit()),
            Err(error) => return Err(error),
        };
        if !self.committing {
            self.committing = true;
            self.try_commit().await.map_err(StoreError::in_commit)?;
        }
        Ok(Verdict::Written(seen))
    }

    fn may_have_committed(&self) -> bool {
        self.committing
    }

    async fn apply(&mut self, writes: &Writes<'_>) -> Result<Seen> {
        self.write(self.scripts("", writes, &[])).await
    }

    async fn keep_session(&mut self, key: &SessionKey) -> Result<Option<LockedSession>> {
        Ok(self.lock_sessions(&BTreeSet::from([key]), OnLocked::Wait).await?.into_iter().next())
    }

    async fn values(&mut self, keys: &[(&StateAddress, i64)]) -> Result<Vec<(StateAddress, StateEntry)>> {
        let (mut own, mut shared) = (Vec::new(), Vec::new());
        for (address, incarnation) in keys {
            match address {
                StateAddress::Session(key, name) => own.push((key, *incarnation, &**name)),
                StateAddress::Shared(scope, name) => shared.push((scope.borrowed(), &**name)),
            }
        }
        let own = self.find_values(Scope::Session, &own).await?.into_iter();
        let address = |key: &SessionKey, name: &str| StateAddress::Session(key.clone(), name.into());
        let mut found: Vec<_> = own.map(|((key, _, name), entry)| (address(key, name), entry)).collect();
        for scope in Scope::SHARED {
            let keys: Vec<_> = shared.iter().filter(|(owner, _)| owner.scope() == scope).copied().collect();
            let rows = self.find_values(scope, &keys).await?.into_iter();
            let address = |owner: ScopeRef<'_>, name: &str| StateAddress::Shared(owner.to_key(), name.into());
            found.extend(rows.map(|((owner, name), entry)| (address(owner, name), entry)));
        }
        Ok(found)
    }

    async fn expired(&mut self, now: Micros, limit: i64) -> Result<Vec<IncarnationRow>> {
        self.fetch(Query::new(EXPIRED).bind(now.0).bind(limit)).await
    }

    async fn next_buried(&mut self) -> Result<Option<Buried>> {
        at_most_one(self, Query::new(NEXT_BURIED)).await
    }

    async fn hold_users(&mut self, _: &[i64], _: UserLock) -> Result<()> {
        Ok(())
    }

    async fn commit(mut self) -> Result<()> {
        self.try_commit().await?;
        self.release().await;
        Ok(())
    }

    async fn rollback(mut self) -> Result<()> {
        if self.in_transaction {
            sqlx::raw_sql("rollback").execute(&mut *self.conn).await?;
        }
        self.release().await;
        Ok(())
    }
}

impl FeedTx for SqliteTx {
    fn feeds(&self) -> bool {
        self.feeds
    }

    async fn record(&mut self, changes: &[ChangeRow<'_>]) -> Result<()> {
        for from in pieces([changes.len()]) {
            let rows = piece(changes, from);
            let mut statements = Script::default();
            record(&mut statements, rows);
            statements.build()?.execute(&mut *self.conn).await?;
        }
        Ok(())
    }

    /// Each change is a tick.
    async fn tick(&mut self, _: bool) -> Result<()> {
        Ok(())
    }

    /// What this process commits is told without that, and no other one commits.
    async fn ticked(&mut self, _: i64, _: i64, _: i64) -> Result<Vec<(AppName, Option<UserId>)>> {
        Ok(Vec::new())
    }

    async fn end_feed(&mut self, always: bool) -> Result<()> {
        self.execute(Query::new(END_FEED).bind(always)).await.map(drop)
    }

    async fn prune_feed(&mut self, now: Micros, age: i64, limit: i64) -> Result<u64> {
        self.execute(Query::new(PRUNE_FEED).bind(now.0 - age).bind(limit)).await
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use sqlx::ConnectOptions as _;
    use sqlx::sqlite::SqliteConnectOptions;

    use super::*;

    /// In WAL mode a COMMIT waits for nobody, so here the file is in another.
    #[tokio::test]
    async fn a_commit_that_waits_in_vain_leaves_nothing() {
        let path = std::env::temp_dir().join(format!("sessiond-busy-{}.db", std::process::id()));
        let options = SqliteConnectOptions::new().filename(&path).busy_timeout(Duration::ZERO);
        let pool = Pool::new(Opener(options.clone().create_if_missing(true)), 1, Duration::from_secs(60));
        let mut conn = pool.acquire().await.unwrap();
        sqlx::raw_sql("create table t (x)").execute(&mut *conn).await.unwrap();
        let mut reader = options.connect().await.unwrap();
        sqlx::raw_sql("begin; select * from t").execute(&mut reader).await.unwrap();

        sqlx::raw_sql("begin immediate; insert into t values (1)").execute(&mut *conn).await.unwrap();
        let mut tx = SqliteTx {
            conn,
            in_transaction: true,
            committing: false,
            clock: Arc::default(),
            feeds: false,
            is_early: false,
        };
        let error = tx.try_commit().await.unwrap_err().in_commit();
        assert_eq!((error.cause, error.unclear, error.is_transient()), (Cause::Overloaded, false, false), "{error}");

        sqlx::raw_sql("rollback").execute(&mut reader).await.unwrap();
        // On the very connection, where it would still be open.
        sqlx::raw_sql("begin immediate; commit").execute(&mut *tx.conn).await.unwrap();
        let rows: i64 = sqlx::query_scalar("select count(*) from t").fetch_one(&mut reader).await.unwrap();
        assert_eq!(rows, 0);
        fs::remove_file(path).unwrap();
    }
}
