//! What `sessiond verify` reads: sessions, shared scopes, and rows that belong to neither, each in one read-only snapshot
//! that blocks no writer.
//!
//! Everything is read by page and found by an index. [`crate::domain::verify`] says what the rows mean.

mod artifacts;
mod scopes;
mod sessions;

use std::time::Duration;

use tokio::time::timeout;

use crate::domain::query::UPDATE_BUCKET;
use crate::store::backend::Tx as _;
use crate::store::error::{Cause, StoreError};
use crate::store::limits::{PostgresOptions, StoreLimits};
use crate::store::migrations::{POSTGRES, SQLITE, all_applied};
use crate::store::postgres::{self, PgTx};
use crate::store::sql::query::{Query, Row, Sql as _};
use crate::store::sql::words::Words;
use crate::store::sqlite::{self, SqliteTx};
use crate::store::url::DatabaseUrl;

pub use artifacts::{Artifact, ArtifactKey, BlobName};
pub use scopes::{CheckedScope, ScopeName};
pub use sessions::CheckedSession;

type Result<T> = std::result::Result<T, StoreError>;

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
    pub bucket: i64,
    /// There is such a session, and this is the bucket of its time.
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
    async fn page<R: Row, T>(&self, query: Query<'_>, of: impl FnMut(R) -> T) -> Result<Vec<T>> {
        let mut snapshot = self.snapshot().await?;
        let rows = snapshot.rows(query.sql(" limit ").arg(PAGE_ROWS)).await?;
        snapshot.end().await?;
        Ok(rows.into_iter().map(of).collect())
    }

    /// The next sessions after this one, in key order; those that have expired, too.
    ///
    /// # Errors
    /// The database fails, here as below.
    pub async fn sessions(&self, after: &SessionName) -> Result<Vec<SessionName>> {
        let query = Query::new("select app_name, user_id, id from sessions where (id, user_id, app_name) > ")
            .row(&[&after.session, &after.user, &after.app])
            .sql(" order by id, user_id, app_name");
        self.page(query, |(app, user, session)| SessionName { app, user, session }).await
    }

    /// The next shared scope of the same kind in key order: one of which there is a row in any table.
    ///
    /// # Errors
    /// The database fails.
    pub async fn next_scope(&self, after: &ScopeName) -> Result<Option<ScopeName>> {
        let (columns, order) = match after.user {
            Some(_) => ("app_name, user_id", "app_name, user_id"),
            None => ("app_name, null as user_id", "app_name"),
        };
        let mut query = Query::new("select app_name, user_id from (");
        for (n, table) in ["scopes", "state", "log", "spans"].into_iter().enumerate() {
            query = query
                .sql(if n == 0 { "" } else { " union all " })
                .sql(&format!("select * from (select {columns} from {} where ({order}) > ", after.table(table)))
                .row(&after.values())
                .sql(&format!(" order by {order} limit 1) as t{n}"));
        }
        let query = query.sql(") as t order by app_name, user_id limit 1");
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
            let query = Query::new(
                "select i.app_name, i.user_id, i.session_id, i.incarnation, cast(case \
                   when exists (select 1 from sessions s where s.app_name = i.app_name and s.user_id = i.user_id \
                     and s.id = i.session_id and s.incarnation = i.incarnation) then 1 \
                   when exists (select 1 from buried_sessions b where b.app_name = i.app_name \
                     and b.user_id = i.user_id and b.session_id = i.session_id and b.incarnation = i.incarnation) then 1 \
                   when exists (select 1 from imports m where m.app_name = i.app_name \
                     and m.user_id = i.user_id and m.session_id = i.session_id and m.incarnation = i.incarnation) then 1 \
                   else 0 end as bigint) \
                 from (select distinct app_name, user_id, session_id, incarnation from ",
            )
            .sql(table)
            .sql(" where incarnation > ")
            .arg(number)
            .sql(" and incarnation <= (select max(incarnation) from (select incarnation from ")
            .sql(table)
            .sql(" where incarnation > ")
            .arg(number)
            .sql(" order by incarnation limit ")
            .arg(SCANNED_ROWS)
            .sql(") as page)) as i order by i.incarnation, i.app_name, i.user_id, i.session_id");
            let rows: Vec<(String, String, String, i64, i64)> = snapshot.rows(query).await?;
            if rows.is_empty() {
                break;
            }
            let of = |(app, user, session, number, known)| Incarnation {
                name: SessionName { app, user, session },
                number,
                known: known == 1,
            };
            found.extend(rows.into_iter().map(of));
        }
        snapshot.end().await?;
        Ok(found)
    }

    /// The next entries of the list by last update, in key order.
    ///
    /// # Errors
    /// The database fails.
    pub async fn list_entries(&self, after: &ListEntry) -> Result<Vec<ListEntry>> {
        let query = Query::new(
            "select o.app_name, o.user_id, o.bucket, o.id, cast(case \
               when exists (select 1 from sessions s where s.app_name = o.app_name and s.user_id = o.user_id \
                 and s.id = o.id and s.update_time / ",
        )
        .sql(&UPDATE_BUCKET.to_string())
        .sql(" = o.bucket) then 1 else 0 end as bigint) from session_updates o where (o.app_name, o.user_id, o.bucket, o.id) > (")
        .arg(&after.name.app)
        .sql(", ")
        .arg(&after.name.user)
        .sql(", ")
        .arg(after.bucket)
        .sql(", ")
        .arg(&after.name.session)
        .sql(") order by o.app_name, o.user_id, o.bucket, o.id");
        let entry = |(app, user, bucket, session, right): (_, _, _, _, i64)| ListEntry {
            name: SessionName { app, user, session },
            bucket,
            right: right == 1,
        };
        self.page(query, entry).await
    }
}

impl Snapshot {
    /// A join to the rows `l` of a table with these names, each looked up by its key: a planner without statistics would go through all of
    /// them for each page.
    fn looked_up<'q>(
        &self,
        mut query: Query<'q>,
        (table, key): (&str, &str),
        names: &[(&str, &'q str)],
        incarnation: Option<i64>,
    ) -> Query<'q> {
        let key = of_names(&mut query, key, "l", names, incarnation);
        query.sql(&(self.words().look_up)(table, &key))
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

/// A key, with the conditions that names and the incarnation are those of a row.
fn of_names<'q>(
    query: &mut Query<'q>,
    key: &str,
    row: &str,
    names: &[(&str, &'q str)],
    incarnation: Option<i64>,
) -> String {
    let mut all = key.to_owned();
    for (column, value) in names {
        all.push_str(&format!(" and {row}.{column} = {}", query.place(*value)));
    }
    if let Some(incarnation) = incarnation {
        all.push_str(&format!(" and {row}.incarnation = {}", query.place(incarnation)));
    }
    all
}

impl SessionName {
    fn values(&self) -> [&str; 3] {
        [&self.app, &self.user, &self.session]
    }
}

/// What statements look up: by rows, sessions and scopes. (Which, and in which tables, varies.)
impl<'a> Query<'a> {
    /// Begins a statement with the table `k` of these rows. A `cross join` with it begins at `k`, also in SQLite.
    fn wanted(columns: &str, rows: impl Iterator<Item = (i64, &'a str)>) -> Self {
        let mut query = Self::new(format!("with k({columns}) as (values "));
        for (n, (number, text)) in rows.enumerate() {
            query = query.sql(if n == 0 { "(" } else { ", (" }).arg(number).sql(", ").arg(text).sql(")");
        }
        query.sql(") ")
    }

    /// `(a, b, c)`
    fn row(mut self, texts: &[&'a str]) -> Self {
        for (n, text) in texts.iter().enumerate() {
            self = self.sql(if n == 0 { "(" } else { ", " }).arg(*text);
        }
        self.sql(")")
    }

    /// That a row belongs to this incarnation.
    fn incarnation(self, table: &str, name: &'a SessionName, incarnation: i64) -> Self {
        self.sql(&format!("{table}app_name = "))
            .arg(&name.app)
            .sql(&format!(" and {table}user_id = "))
            .arg(&name.user)
            .sql(&format!(" and {table}session_id = "))
            .arg(&name.session)
            .sql(&format!(" and {table}incarnation = "))
            .arg(incarnation)
    }
}
