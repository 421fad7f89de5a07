//! What `sessiond verify` reads: sessions, shared scopes, and rows that belong to neither, each in one read-only snapshot
//! that blocks no writer.
//!
//! Everything is read by page and found by an index. [`crate::domain::verify`] says what the rows mean.

mod artifacts;
mod scopes;
mod sessions;

use std::borrow::Cow;
use std::time::Duration;

use tokio::time::timeout;

use crate::store::backend::Tx as _;
use crate::store::error::{Cause, Result, StoreError};
use crate::store::limits::{PostgresOptions, StoreLimits};
use crate::store::migrations::{POSTGRES, SQLITE, all_applied};
use crate::store::postgres::{self, PgTx};
use crate::store::sql::columns::LISTED_PLACE;
use crate::store::sql::query::{Query, Row, Sql as _, row};
use crate::store::sql::scope::ScopeTables;
use crate::store::sql::words::Words;
use crate::store::sqlite::{self, SqliteTx};
use crate::store::url::DatabaseUrl;

pub use artifacts::{Artifact, ArtifactKey, BlobName, CheckedName, CheckedPlace, Chunked};
pub use scopes::{CheckedScope, ScopeName};
pub use sessions::CheckedSession;

/// Limits of a page. A first row larger than `PAGE_BYTES` is still returned.
const PAGE_ROWS: i64 = 500;
const PAGE_BYTES: i64 = 1 << 20;

/// How many rows one statement looks through for their incarnations, or all of one.
const SCANNED_ROWS: i64 = 5000;

/// The time limit of one page. Reads wait for no lock, so only a database that went silent exceeds it.
const PATIENCE: Duration = Duration::from_secs(300);

/// For one page at a time.
fn patient(limits: StoreLimits) -> StoreLimits {
    StoreLimits { statement: PATIENCE, connections: 1, ..limits }
}

/// A session's names as they are stored, whatever they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionName {
    pub app: String,
    pub user: String,
    pub session: String,
}

/// One life of a session, of which there are rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Incarnation {
    pub name: SessionName,
    pub number: i64,
    /// The session is live (or has expired), or it is buried, or being imported.
    pub known: bool,
}

/// A place in the list by last update.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListEntry {
    pub name: SessionName,
    pub rough: bool,
    pub place: i64,
    /// There is such a session, and this is its place.
    pub right: bool,
}

/// The tables whose rows belong to an incarnation of a session, and what to call such rows.
pub const BELONGINGS: [(&str, &str); 8] = [
    ("events", "events"),
    ("session_state", "state"),
    ("session_spans", "spans of past values"),
    ("artifact_state", "versions that events name"),
    ("artifact_spans", "spans of versions that events named"),
    ("effective_views", "views of effective histories"),
    ("effective_ids", "mentions of function calls"),
    ("event_words", "words of events"),
];

/// A read-only view of a database to which others may be writing.
pub enum Inspector {
    Postgres(postgres::Snapshots),
    Sqlite(sqlite::Snapshots),
}

/// A transaction that reads one snapshot.
enum Snapshot {
    Postgres(PgTx),
    Sqlite(SqliteTx),
}

impl Inspector {
    /// Opens the database. Creates and changes nothing.
    ///
    /// # Errors
    /// The database cannot be reached, or lacks a migration of this binary.
    pub async fn open(url: &str, options: PostgresOptions, limits: StoreLimits) -> Result<Self> {
        match DatabaseUrl::parse(url)? {
            DatabaseUrl::Postgres(url) => {
                Self::Postgres(postgres::Snapshots::open(&url, options, patient(limits))?).migrated().await
            }
            DatabaseUrl::Sqlite(path) => Self::open_file(path, limits).await,
        }
    }

    /// As [`Inspector::open`], the SQLite file at a path.
    ///
    /// # Errors
    /// As [`Inspector::open`].
    pub async fn open_file(path: &str, limits: StoreLimits) -> Result<Self> {
        Self::Sqlite(sqlite::Snapshots::open(path, patient(limits)).await?).migrated().await
    }

    /// Itself, if the database has all migrations.
    async fn migrated(self) -> Result<Self> {
        let mut snapshot = self.snapshot().await?;
        let (migrator, applied) = match &mut snapshot {
            Snapshot::Postgres(tx) => (&POSTGRES, tx.applied().await?),
            Snapshot::Sqlite(tx) => (&SQLITE, tx.applied().await?),
        };
        snapshot.end().await?;
        all_applied(migrator, &applied)?;
        Ok(self)
    }

    async fn snapshot(&self) -> Result<Snapshot> {
        Ok(match self {
            Self::Postgres(snapshots) => Snapshot::Postgres(snapshots.begin().await?),
            Self::Sqlite(snapshots) => Snapshot::Sqlite(snapshots.begin().await?),
        })
    }

    /// The first rows of a query, in a snapshot of their own: a page.
    async fn page<R: Row>(&self, query: Query<'_>) -> Result<Vec<R>> {
        let mut snapshot = self.snapshot().await?;
        let rows = snapshot.rows(query.sql(&format!(" limit {PAGE_ROWS}"))).await?;
        snapshot.end().await?;
        Ok(rows)
    }

    /// The next sessions after this one, in key order; those that have expired, too.
    ///
    /// # Errors
    /// The database fails, here as below.
    pub async fn sessions(&self, after: &SessionName) -> Result<Vec<SessionName>> {
        let query = Query::new(
            "select app_name, user_id, id as session_id from sessions where (id, user_id, app_name) > ($1, $2, $3) \
             order by id, user_id, app_name",
        );
        self.page(query.bind(&after.session).bind(&after.user).bind(&after.app)).await
    }

    /// The next shared scope of the same kind in key order: one of which there is a row in any table.
    ///
    /// # Errors
    /// The database fails.
    pub async fn next_scope(&self, after: &ScopeName) -> Result<Option<ScopeName>> {
        let ScopeTables { name, owner, values, .. } = after.tables();
        let columns = if after.user.is_some() { "app_name, user_id" } else { "app_name, null as user_id" };
        let tables = ["scopes", "state", "log", "spans"].map(|table| {
            format!(
                "select * from (select {columns} from {name}_{table} where ({owner}) > ({values}) order by {owner} limit 1) as {table}"
            )
        });
        let tables = tables.join(" union all ");
        let query =
            after.of(format!("select app_name, user_id from ({tables}) as t order by app_name, user_id limit 1"));
        let mut snapshot = self.snapshot().await?;
        let row: Option<(String, Option<String>)> = snapshot.rows(query).await?.into_iter().next();
        snapshot.end().await?;
        Ok(row.map(|(app, user)| ScopeName { app, user }))
    }

    /// The incarnations of sessions of which `table`, one of [`BELONGINGS`], has rows: the next ones in key order.
    ///
    /// # Errors
    /// The database fails.
    pub async fn incarnations(&self, table: &'static str, after: &Incarnation) -> Result<Vec<Incarnation>> {
        let mut snapshot = self.snapshot().await?;
        let mut found: Vec<Incarnation> = Vec::new();
        while found.len() < PAGE_ROWS as usize {
            let number = found.last().unwrap_or(after).number;
            // All rows of each, as no index has the names that stand beside its number: those of many short ones together.
            let query = Query::new(format!(
                "select i.app_name, i.user_id, i.session_id, i.incarnation, \
                   exists (select 1 from sessions s where s.app_name = i.app_name and s.user_id = i.user_id \
                     and s.id = i.session_id and s.incarnation = i.incarnation) \
                   or exists (select 1 from buried_sessions b where b.app_name = i.app_name \
                     and b.user_id = i.user_id and b.session_id = i.session_id and b.incarnation = i.incarnation) \
                   or exists (select 1 from imports m where m.app_name = i.app_name \
                     and m.user_id = i.user_id and m.session_id = i.session_id and m.incarnation = i.incarnation) as known \
                 from (select distinct app_name, user_id, session_id, incarnation from {table} where incarnation > $1 \
                   and incarnation <= (select max(incarnation) from (select incarnation from {table} where incarnation > $1 \
                     order by incarnation limit {SCANNED_ROWS}) as page)) as i \
                 order by i.incarnation, i.app_name, i.user_id, i.session_id"
            ))
            .bind(number);
            let rows: Vec<Incarnation> = snapshot.rows(query).await?;
            if rows.is_empty() {
                break;
            }
            found.extend(rows);
        }
        snapshot.end().await?;
        Ok(found)
    }

    /// The next entries of the list by last update, in key order.
    ///
    /// # Errors
    /// The database fails.
    pub async fn list_entries(&self, after: &ListEntry) -> Result<Vec<ListEntry>> {
        let query = Query::new(format!(
            "select o.app_name, o.user_id, o.id as session_id, o.rough, o.place, \
               exists (select 1 from sessions s where s.app_name = o.app_name and s.user_id = o.user_id \
                 and s.id = o.id and s.rough = o.rough and {LISTED_PLACE} = o.place) as is_right \
             from session_updates o where (o.app_name, o.user_id, o.rough, o.place, o.id) > ($1, $2, $3, $4, $5) \
             order by o.app_name, o.user_id, o.rough, o.place, o.id"
        ));
        let name = &after.name;
        self.page(query.bind(&name.app).bind(&name.user).bind(after.rough).bind(after.place).bind(&name.session)).await
    }
}

impl Snapshot {
    /// Columns of the rows `l` of a table that are `of` what `names` binds, each looked up by a number and a text: a planner without
    /// statistics would go through all of them for each page.
    async fn look_up<'q, R: Row>(
        &mut self,
        shown: &str,
        (table, number, text): (&str, &str, &str),
        of: &str,
        names: impl Fn(String) -> Query<'q>,
        wanted: impl Iterator<Item = (i64, &'q str)>,
    ) -> Result<Vec<R>> {
        let wanted: Vec<(i64, &str)> = wanted.collect();
        let key = format!("{of} and l.{number} = k.{number} and l.{text} = k.{text}");
        let rows = (self.words().look_up)(table, &key);
        let mut found = Vec::with_capacity(wanted.len());
        for some in wanted.chunks(PAGE_ROWS as usize) {
            // A `cross join` with the table `k` begins at `k`, also in SQLite.
            let mut query = names(format!("with k({number}, {text}) as (values "));
            for (n, (number, text)) in some.iter().enumerate() {
                query = query.sql(if n == 0 { "(" } else { ", (" }).arg(*number).sql(", ").arg(*text).sql(")");
            }
            found.extend(self.rows(query.sql(&format!(") select {shown} from k {rows}"))).await?);
        }
        Ok(found)
    }

    fn words(&self) -> &'static Words {
        match self {
            Self::Postgres(tx) => tx.words(),
            Self::Sqlite(tx) => tx.words(),
        }
    }

    async fn end(self) -> Result<()> {
        match self {
            Self::Postgres(tx) => tx.rollback().await,
            Self::Sqlite(tx) => tx.rollback().await,
        }
    }

    async fn one<T: Row>(&mut self, query: Query<'_>) -> Result<T> {
        let row = self.rows(query).await?.into_iter().next();
        row.ok_or_else(|| StoreError::new(Cause::Internal, "a statement gave no row"))
    }

    async fn rows<T: Row>(&mut self, query: Query<'_>) -> Result<Vec<T>> {
        let rows = async {
            match self {
                Self::Postgres(tx) => tx.fetch(query).await,
                Self::Sqlite(tx) => tx.fetch(query).await,
            }
        };
        timeout(PATIENCE, rows).await.map_err(|_| StoreError::new(Cause::Timeout, "the database does not answer"))?
    }
}

impl SessionName {
    /// A statement over the rows of one incarnation, whose names it binds first.
    fn of(&self, text: impl Into<Cow<'static, str>>, incarnation: i64) -> Query<'_> {
        Query::new(text).bind(&self.app).bind(&self.user).bind(&self.session).bind(incarnation)
    }
}

row! { impl SessionName { app: String = "app_name", user: String = "user_id", session: String = "session_id", } }
row! { impl Incarnation { name: SessionName, number: i64 = "incarnation", known: bool, } }
row! { impl ListEntry { name: SessionName, rough: bool, place: i64, right: bool = "is_right", } }
