//! What `sessiond verify` reads: sessions, shared scopes, and rows that belong to neither, each in one read-only snapshot
//! that blocks no writer.
//!
//! Everything is read by page and found by an index. [`crate::domain::verify`] says what the rows mean.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::timeout;

use super::backend::Tx as _;
use super::error::{Cause, StoreError};
use super::limits::{PostgresOptions, StoreLimits};
use super::migrations::{POSTGRES, SQLITE, all_applied};
use super::postgres::{self, PgTx};
use super::sql::filter::plain_text;
use super::sql::query::{Query, Row, Sql as _, row};
use super::sql::words::Words;
use super::sqlite::{self, SqliteTx};
use super::url::DatabaseUrl;
use crate::domain::query::UPDATE_BUCKET;
use crate::domain::time::Micros;
use crate::domain::verify::artifacts::{BlobRow, NameRow, NamedSpan, Owner, PlaceRow, VersionRow};
use crate::domain::verify::{
    EventRow, Findings, LogRow, LogValue, Logged, ScopeCheck, Seen, SessionCheck, SessionRow, Span, Wanted,
};

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

/// A shared scope's names: a user's, or an app's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeName {
    pub app: String,
    pub user: Option<String>,
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
pub struct Place {
    pub name: SessionName,
    pub bucket: i64,
    /// There is such a session, and this is the bucket of its time.
    pub right: bool,
}

/// An artifact, with names as they are stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArtifactKey {
    /// Without a session: of the user.
    pub owner: SessionName,
    pub incarnation: i64,
    pub name: String,
}

/// A version of an artifact.
#[derive(Debug, Clone)]
pub struct Artifact {
    pub key: ArtifactKey,
    pub version: i64,
    pub row: VersionRow,
    pub sha256: Vec<u8>,
    pub blob: Option<String>,
    /// The object of its blob, if that is in a store.
    pub object: Option<(String, String)>,
}

/// Some bytes, with names as they are stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlobName {
    pub app: String,
    pub user: String,
    pub id: String,
}

/// The tables whose rows belong to an incarnation of a session, and what to call such rows.
pub const BELONGINGS: [(&str, &str); 7] = [
    ("events", "events"),
    ("session_state", "state"),
    ("session_spans", "spans of past values"),
    ("artifact_state", "versions that events name"),
    ("artifact_spans", "spans of versions that events named"),
    ("effective_views", "views of effective histories"),
    ("effective_ids", "mentions of function calls"),
];

#[derive(Debug)]
pub struct CheckedSession {
    pub events: u64,
    pub findings: Findings,
}

#[derive(Debug)]
pub struct CheckedScope {
    pub keys: u64,
    pub findings: Findings,
}

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

    /// Recomputes a session from its events and compares; `None` if it is gone.
    ///
    /// # Errors
    /// The database fails.
    pub async fn check_session(&self, name: &SessionName) -> Result<Option<CheckedSession>> {
        let mut snapshot = self.snapshot().await?;
        let checked = match snapshot.session_row(name).await? {
            Some((incarnation, row)) => Some(snapshot.fold(name, incarnation, row).await?),
            None => None,
        };
        snapshot.end().await?;
        Ok(checked)
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

    /// Compares a shared scope with its log.
    ///
    /// # Errors
    /// The database fails.
    pub async fn check_scope(&self, scope: &ScopeName) -> Result<CheckedScope> {
        let mut snapshot = self.snapshot().await?;
        let row = Query::new("select revision, floor, imported from ")
            .sql(&scope.table("scopes"))
            .sql(" where ")
            .scope("", scope);
        let row: Option<(i64, i64, i64)> = snapshot.rows(row).await?.into_iter().next();
        let (floor, imported) = row.map_or((0, 0), |(_, floor, imported)| (floor, imported));
        let mut check = ScopeCheck::new(row.map(|(revision, ..)| revision), floor, imported);

        let mut after = (String::new(), i64::MIN);
        loop {
            let page = snapshot.log(scope, &after).await?;
            let Some(last) = page.last() else { break };
            after = (last.key.clone(), last.revision);
            page.into_iter().for_each(|row| check.log(row));
            let wanted = check.wanted();
            let found = snapshot.scope_spans(scope, &wanted).await?;
            check.found(&wanted, &found);
        }
        check.end_of_log();

        let mut after: Option<String> = None;
        loop {
            let page = snapshot.state_keys(scope, after.as_deref()).await?;
            page.iter().filter(|(_, logged)| *logged == 0).for_each(|(key, _)| check.unlogged(key));
            let Some((last, _)) = page.into_iter().next_back() else { break };
            after = Some(last);
        }
        let spans = Query::new("select count(*) from ").sql(&scope.table("spans")).sql(" where ").scope("", scope);
        let spans = spans.sql(" and valid_to > ").arg(floor);
        let (spans,): (i64,) = snapshot.one(spans).await?;
        snapshot.end().await?;
        let (findings, keys) = check.finish(spans);
        Ok(CheckedScope { keys, findings })
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

    /// The next versions of artifacts after this one, in key order.
    ///
    /// # Errors
    /// The database fails.
    pub async fn artifacts(&self, after: &ArtifactKey, version: i64) -> Result<Vec<Artifact>> {
        const KEY: &str = "a.app_name, a.user_id, a.session_id, a.incarnation, a.name, a.version";
        let query = Query::new(format!(
            "select {KEY}, {}, a.kind, a.size, a.sha256, a.blob, b.size as blob_size, b.store, b.object, \
               cast(case when exists (select 1 from artifact_names n where n.app_name = a.app_name and n.user_id = a.user_id \
                 and n.session_id = a.session_id and n.incarnation = a.incarnation and n.name = a.name) then 1 else 0 end \
                 as bigint) as has_name \
             from artifacts a left join blobs b on b.app_name = a.app_name and b.user_id = a.user_id and b.id = a.blob \
             where ({KEY}) > (",
            owner("a")
        ))
        .artifact(after)
        .sql(", ")
        .arg(version)
        .sql(&format!(") order by {KEY}"));
        self.page(query, ArtifactRow::decode).await
    }

    /// The next artifacts after this one, in key order, and what there is of their versions.
    ///
    /// # Errors
    /// The database fails.
    pub async fn artifact_names(&self, after: &ArtifactKey) -> Result<Vec<(ArtifactKey, NameRow)>> {
        const KEY: &str = "n.app_name, n.user_id, n.session_id, n.incarnation, n.name";
        const OF_N: &str = "a.app_name = n.app_name and a.user_id = n.user_id and a.session_id = n.session_id \
                            and a.incarnation = n.incarnation";
        let query = Query::new(format!(
            "select {KEY}, {}, n.next, n.latest, n.versions, \
               (select count(*) from artifacts a where {OF_N} and a.name = n.name) as found, \
               (select max(a.version) from artifacts a where {OF_N} and a.name = n.name) as found_latest, \
               cast(case when exists (select 1 from artifact_places a where {OF_N}) then 1 else 0 end as bigint) as is_counted \
             from artifact_names n where ({KEY}) > (",
            owner("n")
        ))
        .artifact(after)
        .sql(&format!(") order by {KEY}"));
        self.page(query, ArtifactNameRow::decode).await
    }

    /// The next sessions and users whose versions of artifacts are counted, in key order, and how many versions there are.
    ///
    /// # Errors
    /// The database fails.
    pub async fn artifact_places(&self, after: &SessionName) -> Result<Vec<(SessionName, PlaceRow)>> {
        const KEY: &str = "p.app_name, p.user_id, p.session_id";
        let query = Query::new(format!(
            "select {KEY}, {}, p.versions, (select count(*) from artifacts a where a.app_name = p.app_name \
               and a.user_id = p.user_id and a.session_id = p.session_id and a.incarnation = p.incarnation) \
             from artifact_places p where ({KEY}) > ",
            owner("p")
        ))
        .row(&[&after.app, &after.user, &after.session])
        .sql(&format!(" order by {KEY}"));
        let place = |(app, user, session, owner, versions, found)| {
            (SessionName { app, user, session }, PlaceRow { owner: owned(owner), versions, found })
        };
        self.page(query, place).await
    }

    /// The next blobs after this one, in key order, of one user, and what there is of them.
    ///
    /// # Errors
    /// The database fails.
    pub async fn blobs(&self, after: &BlobName) -> Result<Vec<(BlobName, BlobRow)>> {
        let mut snapshot = self.snapshot().await?;
        let first = Query::new("select app_name, user_id from blobs where (app_name, user_id, id) > ")
            .row(&[&after.app, &after.user, &after.id])
            .sql(" order by app_name, user_id, id limit 1");
        let first: Vec<(String, String)> = snapshot.rows(first).await?;
        let Some((app, user)) = first.into_iter().next() else {
            snapshot.end().await?;
            return Ok(Vec::new());
        };
        let from = if (&app, &user) == (&after.app, &after.user) { &*after.id } else { "" };
        let of = |begin: &str, column: &str| {
            let of = Query::new(begin.to_owned()).sql(" where app_name = ").arg(app.clone()).sql(" and user_id = ");
            of.arg(user.clone()).sql(&format!(" and {column} > ")).arg(from.to_owned())
        };
        let query = of(
            "select id, size, versions, cast(case when loose_since is null then 0 else 1 end as bigint), \
               cast(case when store is null then 0 else 1 end as bigint) from blobs",
            "id",
        );
        let rows: Vec<(String, i64, i64, i64, i64)> =
            snapshot.rows(query.sql(" order by id limit ").arg(PAGE_ROWS)).await?;
        let last = rows.last().map(|(id, ..)| id.clone()).unwrap_or_default();
        let held = of("select blob, count(*) from artifacts", "blob").sql(" and blob <= ").arg(last.clone());
        let held: HashMap<String, i64> =
            snapshot.rows::<(String, i64)>(held.sql(" group by blob")).await?.into_iter().collect();
        let chunks =
            of("select blob, count(*), max(n), cast(sum(octet_length(bytes)) as bigint) from blob_chunks", "blob");
        let chunks: Vec<(String, i64, i64, i64)> =
            snapshot.rows(chunks.sql(" and blob <= ").arg(last).sql(" group by blob")).await?;
        snapshot.end().await?;
        let chunks: HashMap<String, (i64, i64, i64)> =
            chunks.into_iter().map(|(blob, count, last, bytes)| (blob, (count, last, bytes))).collect();
        let blob = |(id, size, versions, loose, elsewhere): (String, i64, i64, i64, i64)| {
            let row = BlobRow {
                size,
                versions,
                is_loose: loose == 1,
                is_elsewhere: elsewhere == 1,
                held: held.get(&id).copied().unwrap_or_default(),
                chunks: chunks.get(&id).copied(),
            };
            (BlobName { app: app.clone(), user: user.clone(), id }, row)
        };
        Ok(rows.into_iter().map(blob).collect())
    }

    /// The next blobs of which there are chunks, in key order, and whether there is a row of them.
    ///
    /// # Errors
    /// The database fails.
    pub async fn chunked(&self, after: &BlobName) -> Result<Vec<(BlobName, bool)>> {
        let query = Query::new(
            "select c.app_name, c.user_id, c.blob, count(b.id) \
             from blob_chunks c left join blobs b on b.app_name = c.app_name and b.user_id = c.user_id and b.id = c.blob \
             where (c.app_name, c.user_id, c.blob) > ",
        )
        .row(&[&after.app, &after.user, &after.id])
        .sql(" group by c.app_name, c.user_id, c.blob order by c.app_name, c.user_id, c.blob");
        let blob = |(app, user, id, known): (_, _, _, i64)| (BlobName { app, user, id }, known > 0);
        self.page(query, blob).await
    }

    /// The next places in the list by last update, in key order.
    ///
    /// # Errors
    /// The database fails.
    pub async fn places(&self, after: &Place) -> Result<Vec<Place>> {
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
        let place = |(app, user, bucket, session, right): (_, _, _, _, i64)| Place {
            name: SessionName { app, user, session },
            bucket,
            right: right == 1,
        };
        self.page(query, place).await
    }
}

impl Snapshot {
    async fn session_row(&mut self, name: &SessionName) -> Result<Option<(i64, SessionRow)>> {
        let query = Query::new(
            "select s.incarnation, s.revision, s.base_revision, s.create_time, s.update_time, s.update_time_number, s.initial_state, \
               s.created_user_revision, s.created_app_revision, s.forked_revision, s.imported_revision, \
               coalesce((select u.revision from user_scopes u \
                         where u.app_name = s.app_name and u.user_id = s.user_id), 0), \
               coalesce((select a.revision from app_scopes a where a.app_name = s.app_name), 0), \
               cast((select count(*) from session_updates o where o.app_name = s.app_name and o.user_id = s.user_id \
                       and o.id = s.id and o.bucket = s.update_time / ",
        )
        .sql(&UPDATE_BUCKET.to_string())
        .sql(
            ") as bigint), \
               (s.lease_owner is null) = (s.lease_expire is null) and (s.lease_owner is null) = (s.lease_ttl is null) \
                 and (s.lease_owner is not null or s.lease_invocation is null and not s.lease_all) \
                 and (s.lease_epoch > 0 or s.lease_epoch = 0 and s.lease_owner is null) \
             from sessions s where (s.app_name, s.user_id, s.id) = ",
        )
        .row(&name.values());
        type Row = (i64, i64, i64, i64, i64, String, String, i64, i64, Option<i64>, Option<i64>, i64, i64, i64, bool);
        let row: Option<Row> = self.rows(query).await?.into_iter().next();
        let Some((
            incarnation,
            revision,
            base,
            created,
            updated,
            number,
            initial_state,
            saw_user,
            saw_app,
            forked,
            imported,
            user,
            app,
            listed,
            lease_agrees,
        )) = row
        else {
            return Ok(None);
        };
        let row = SessionRow {
            revision,
            base,
            create_time: Micros(created),
            update_time: Micros(updated),
            update_time_number: number,
            listed: listed == 1,
            lease_agrees,
            initial_state,
            created: Seen { user: saw_user, app: saw_app },
            now: Seen { user, app },
            floors: self.floors(name).await?,
            forked_revision: forked,
            imported_revision: imported,
        };
        Ok(Some((incarnation, row)))
    }

    /// The revisions before which the session's shared scopes are not known.
    async fn floors(&mut self, name: &SessionName) -> Result<Seen> {
        let query = Query::new("select coalesce((select floor from user_scopes where app_name = ")
            .arg(&name.app)
            .sql(" and user_id = ")
            .arg(&name.user)
            .sql("), 0), coalesce((select floor from app_scopes where app_name = ")
            .arg(&name.app)
            .sql("), 0)");
        let (user, app): (i64, i64) = self.one(query).await?;
        Ok(Seen { user, app })
    }

    async fn fold(&mut self, name: &SessionName, incarnation: i64, row: SessionRow) -> Result<CheckedSession> {
        let base = row.base;
        let mut check = SessionCheck::new(row);
        let (mut events, mut after) = (0, i64::MIN);
        loop {
            let (page, is_last) = self.events(name, incarnation, after).await?;
            after = page.last().map_or(after, |last| last.sequence);
            events += page.len() as u64;
            for event in &page {
                check.event(event);
                if let Some(wanted) = check.wanted_if_full() {
                    self.look_up(name, incarnation, &mut check, &wanted).await?;
                }
            }
            if is_last {
                break;
            }
        }
        check.end_of_events();
        let wanted = check.wanted();
        self.look_up(name, incarnation, &mut check, &wanted).await?;

        let mut after: Option<String> = None;
        loop {
            let (page, is_last) = self.state(name, incarnation, after.as_deref()).await?;
            for (key, value, revision) in &page {
                check.state(key, value, *revision);
            }
            if is_last {
                break;
            }
            after = page.into_iter().next_back().map(|(last, ..)| last);
        }
        let spans = Query::new("select count(*) from session_spans where ")
            .incarnation("", name, incarnation)
            .sql(" and valid_to > ")
            .arg(base);
        let (spans,): (i64,) = self.one(spans).await?;
        let named = self.named(name, incarnation, base, &mut check).await?;
        Ok(CheckedSession { events, findings: check.finish(spans, named) })
    }

    /// Checks which versions of artifacts the events name. Returns the number of spans that begin after the base.
    async fn named(
        &mut self,
        name: &SessionName,
        incarnation: i64,
        base: i64,
        check: &mut SessionCheck,
    ) -> Result<i64> {
        let spans = Query::new("select count(*), coalesce(sum(case when valid_from > ")
            .arg(base)
            .sql(" then 1 else 0 end), 0) from artifact_spans where ")
            .incarnation("", name, incarnation)
            .sql(" and valid_to > ")
            .arg(base);
        let (all, spans): (i64, i64) = self.one(spans).await?;
        let mut after = (i64::MIN, String::new());
        // Most often there is none over the base.
        let mut more = all > spans;
        while more {
            let query = Query::new("select node, name, valid_to from artifact_spans where ")
                .incarnation("", name, incarnation)
                .sql(" and valid_from <= ")
                .arg(base)
                .sql(" and valid_to > ")
                .arg(base)
                .sql(" and (node, name) > (")
                .arg(after.0)
                .sql(", ")
                .arg(&after.1)
                .sql(") order by node, name limit ")
                .arg(PAGE_ROWS);
            let page: Vec<(i64, String, i64)> = self.rows(query).await?;
            page.iter().for_each(|(_, name, to)| check.named_at_base(name, *to));
            more = !page.is_empty();
            if let Some((node, last, _)) = page.into_iter().next_back() {
                after = (node, last);
            }
        }
        let mut after: Option<String> = None;
        loop {
            let mut query = Query::new("select name, version, revision from artifact_state where ").incarnation(
                "",
                name,
                incarnation,
            );
            if let Some(after) = &after {
                query = query.sql(" and name > ").arg(after);
            }
            let page: Vec<(String, i64, i64)> = self.rows(query.sql(" order by name limit ").arg(PAGE_ROWS)).await?;
            page.iter().for_each(|(name, version, revision)| check.named(name, *version, *revision));
            if (page.len() as i64) < PAGE_ROWS {
                break;
            }
            after = page.into_iter().next_back().map(|(last, ..)| last);
        }
        Ok(spans)
    }

    async fn named_spans(
        &mut self,
        name: &SessionName,
        incarnation: i64,
        wanted: &[NamedSpan],
    ) -> Result<Vec<NamedSpan>> {
        let mut found = Vec::with_capacity(wanted.len());
        for some in wanted.chunks(PAGE_ROWS as usize) {
            let query = Query::wanted("node, name", some.iter().map(|span| (span.node, &*span.name)));
            let query = self.looked_up(
                query.sql("select l.node, l.name, l.valid_from, l.valid_to, l.version from k "),
                ("artifact_spans", "l.node = k.node and l.name = k.name"),
                &[("session_id", &*name.session), ("user_id", &*name.user), ("app_name", &*name.app)],
                Some(incarnation),
            );
            let rows: Vec<(i64, String, i64, i64, i64)> = self.rows(query).await?;
            found.extend(rows.into_iter().map(|(node, name, from, to, version)| NamedSpan {
                node,
                name: name.into(),
                from,
                to,
                version,
            }));
        }
        Ok(found)
    }

    /// A page, and whether it is the last one.
    async fn events(&mut self, name: &SessionName, incarnation: i64, after: i64) -> Result<(Vec<EventRow>, bool)> {
        // The sizes first, without the bodies; then the bodies that fit.
        // One by one, as a join may go through all events of the session for each page.
        let query = Query::new(
            "select sequence, id, event_time, author, invocation_id, branch, user_revision, app_revision, effect, digest, \
               (select e.body from events e where ",
        )
        .incarnation("e.", name, incarnation)
        .sql(
            " and e.sequence = sized.sequence) as body, total \
             from (select page.*, sum(size) over (order by sequence) as size_so_far, \
                     row_number() over (order by sequence) as place, count(*) over () as total \
                   from (select sequence, id, event_time, author, invocation_id, branch, user_revision, app_revision, effect, \
                           digest, octet_length(body) as size from events where ",
        )
        .incarnation("", name, incarnation)
        .sql(" and sequence > ")
        .arg(after)
        .sql(" order by sequence limit ")
        .arg(PAGE_ROWS)
        .sql(") as page) as sized where size_so_far <= ")
        .arg(PAGE_BYTES)
        .sql(" or place = 1 order by sequence");
        type Row = (i64, String, i64, String, String, Option<String>, i64, i64, Option<i64>, Vec<u8>, String, i64);
        let rows: Vec<Row> = self.rows(query).await?;
        let is_last = rows.first().is_none_or(|row| row.11 < PAGE_ROWS && row.11 == rows.len() as i64);
        let event =
            |(sequence, id, time, author, invocation_id, branch, user, app, effect, digest, body, _): Row| EventRow {
                sequence,
                id,
                event_time: Micros(time),
                author: plain_text(&author),
                invocation_id: plain_text(&invocation_id),
                branch: branch.as_deref().map(plain_text),
                saw: Seen { user, app },
                effect,
                digest,
                body,
            };
        Ok((rows.into_iter().map(event).collect(), is_last))
    }

    /// A page, and whether it is the last one.
    async fn state(
        &mut self,
        name: &SessionName,
        incarnation: i64,
        after: Option<&str>,
    ) -> Result<(Vec<(String, String, i64)>, bool)> {
        let mut query = Query::new("select key, (select t.value from session_state t where ")
            .incarnation("t.", name, incarnation)
            .sql(
                " and t.key = sized.key) as value, revision, total \
                 from (select key, revision, sum(size) over (order by key) as size_so_far, row_number() over (order by key) as place, \
                         count(*) over () as total \
                       from (select key, revision, octet_length(value) as size from session_state where ",
            )
            .incarnation("", name, incarnation);
        if let Some(after) = after {
            query = query.sql(" and key > ").arg(after);
        }
        let query = query
            .sql(" order by key limit ")
            .arg(PAGE_ROWS)
            .sql(") as page) as sized where size_so_far <= ")
            .arg(PAGE_BYTES)
            .sql(" or place = 1 order by key");
        let rows: Vec<(String, String, i64, i64)> = self.rows(query).await?;
        let is_last = rows.first().is_none_or(|row| row.3 < PAGE_ROWS && row.3 == rows.len() as i64);
        Ok((rows.into_iter().map(|(key, value, revision, _)| (key, value, revision)).collect(), is_last))
    }

    async fn look_up(
        &mut self,
        name: &SessionName,
        incarnation: i64,
        check: &mut SessionCheck,
        wanted: &Wanted,
    ) -> Result<()> {
        let spans = self.session_spans(name, incarnation, &wanted.spans).await?;
        let named = self.named_spans(name, incarnation, &wanted.named).await?;
        let user = ScopeName { app: name.app.clone(), user: Some(name.user.clone()) };
        let user_log = self.log_values(&user, &wanted.user_log).await?;
        let app_log = self.log_values(&ScopeName { app: name.app.clone(), user: None }, &wanted.app_log).await?;
        check.found(wanted, &spans, &named, &user_log, &app_log);
        Ok(())
    }

    async fn session_spans(&mut self, name: &SessionName, incarnation: i64, wanted: &[Span]) -> Result<Vec<Span>> {
        let mut found = Vec::with_capacity(wanted.len());
        for some in wanted.chunks(PAGE_ROWS as usize) {
            let query = Query::wanted("node, key", some.iter().map(|span| (span.node, &*span.key)));
            let query = self.looked_up(
                query.sql("select l.node, l.key, l.valid_from, l.valid_to, l.value from k "),
                ("session_spans", "l.node = k.node and l.key = k.key"),
                &[("session_id", &*name.session), ("user_id", &*name.user), ("app_name", &*name.app)],
                Some(incarnation),
            );
            let rows: Vec<(i64, String, i64, i64, String)> = self.rows(query).await?;
            found.extend(rows.into_iter().map(|(node, key, from, to, value)| Span {
                node,
                key: key.into(),
                from,
                to,
                value: Some(value.into()),
            }));
        }
        Ok(found)
    }

    async fn log_values(&mut self, scope: &ScopeName, wanted: &[Logged]) -> Result<Vec<LogValue>> {
        let mut found = Vec::with_capacity(wanted.len());
        for some in wanted.chunks(PAGE_ROWS as usize) {
            let query = Query::wanted("revision, key", some.iter().map(|logged| (logged.revision, &*logged.key)));
            let query = self.looked_up(
                query.sql("select l.key, l.revision, l.value from k "),
                (&scope.table("log"), "l.key = k.key and l.revision = k.revision"),
                &scope.columns(),
                None,
            );
            let rows: Vec<(String, i64, Option<String>)> = self.rows(query).await?;
            found.extend(rows.into_iter().map(|(key, revision, value)| LogValue {
                key: key.into(),
                revision,
                value: value.map(String::into_boxed_str),
            }));
        }
        Ok(found)
    }

    /// The values are compared where they are: they may be large, and there may be many of one key.
    async fn log(&mut self, scope: &ScopeName, after: &(String, i64)) -> Result<Vec<LogRow>> {
        let query = Query::new(
            "select l.key, l.revision, cast(case when l.value is null then 1 else 0 end as bigint), s.revision, \
               cast(case when s.revision = l.revision and s.value = l.value then 1 else 0 end as bigint) from (select * from ",
        )
        .sql(&scope.table("log"))
        .sql(" where ")
        .scope("", scope)
        .sql(" and (key, revision) > (")
        .arg(&after.0)
        .sql(", ")
        .arg(after.1)
        .sql(") order by key, revision limit ")
        .arg(PAGE_ROWS)
        .sql(") as l ");
        let query = self.with_state(query, scope).sql(" order by l.key, l.revision");
        let rows: Vec<(String, i64, i64, Option<i64>, i64)> = self.rows(query).await?;
        let row = |(key, revision, removed, state, same): (String, i64, i64, Option<i64>, i64)| LogRow {
            key,
            revision,
            removed: removed == 1,
            state: state.map(|state| (state, same == 1)),
        };
        Ok(rows.into_iter().map(row).collect())
    }

    /// Keys of a scope's state, and whether the log has them.
    async fn state_keys(&mut self, scope: &ScopeName, after: Option<&str>) -> Result<Vec<(String, i64)>> {
        let mut query = Query::new("select s.key, cast(case when exists (select 1 from ")
            .sql(&format!("{} l where l.key = s.key and ", scope.table("log")))
            .scope("l.", scope)
            .sql(&format!(") then 1 else 0 end as bigint) from {} s where ", scope.table("state")))
            .scope("s.", scope);
        if let Some(after) = after {
            query = query.sql(" and s.key > ").arg(after);
        }
        self.rows(query.sql(" order by s.key limit ").arg(PAGE_ROWS)).await
    }

    async fn scope_spans(&mut self, scope: &ScopeName, wanted: &[Span]) -> Result<Vec<Span>> {
        let mut found = Vec::with_capacity(wanted.len());
        for some in wanted.chunks(PAGE_ROWS as usize) {
            let query = Query::wanted("node, key", some.iter().map(|span| (span.node, &*span.key)));
            let query = self.looked_up(
                query.sql("select l.node, l.key, l.valid_from, l.valid_to from k "),
                (&scope.table("spans"), "l.node = k.node and l.key = k.key"),
                &scope.columns(),
                None,
            );
            let rows: Vec<(i64, String, i64, i64)> = self.rows(query).await?;
            let span = |(node, key, from, to): (_, String, _, _)| Span { node, key: key.into(), from, to, value: None };
            found.extend(rows.into_iter().map(span));
        }
        Ok(found)
    }

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

    /// The same of the state of a scope as the rows `s`, which need not be there.
    fn with_state<'q>(&self, mut query: Query<'q>, scope: &'q ScopeName) -> Query<'q> {
        let key = of_names(&mut query, "s.key = l.key", "s", &scope.columns(), None);
        query.sql(&(self.words().look_up_if)(&scope.table("state"), "s", &key))
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

row! {
    struct ArtifactRow {
        app_name: String,
        user_id: String,
        session_id: String,
        incarnation: i64,
        name: String,
        version: i64,
        owner: i64,
        kind: String,
        size: Option<i64>,
        sha256: Option<Vec<u8>>,
        blob: Option<String>,
        blob_size: Option<i64>,
        store: Option<String>,
        object: Option<String>,
        has_name: i64,
    }
}

impl ArtifactRow {
    fn decode(self) -> Artifact {
        let owner = SessionName { app: self.app_name, user: self.user_id, session: self.session_id };
        Artifact {
            key: ArtifactKey { owner, incarnation: self.incarnation, name: self.name },
            version: self.version,
            row: VersionRow {
                owner: owned(self.owner),
                kind: self.kind,
                size: self.size.map(i64::unsigned_abs),
                has_digest: self.sha256.is_some(),
                has_blob: self.blob.is_some(),
                held: self.blob_size.map(i64::unsigned_abs),
                has_name: self.has_name == 1,
            },
            sha256: self.sha256.unwrap_or_default(),
            blob: self.blob,
            object: self.store.zip(self.object),
        }
    }
}

row! {
    struct ArtifactNameRow {
        app_name: String,
        user_id: String,
        session_id: String,
        incarnation: i64,
        name: String,
        owner: i64,
        next: i64,
        latest: Option<i64>,
        versions: i64,
        found: i64,
        found_latest: Option<i64>,
        is_counted: i64,
    }
}

impl ArtifactNameRow {
    fn decode(self) -> (ArtifactKey, NameRow) {
        let owner = SessionName { app: self.app_name, user: self.user_id, session: self.session_id };
        let row = NameRow {
            owner: owned(self.owner),
            next: self.next,
            latest: self.latest,
            versions: self.versions,
            found: self.found,
            found_latest: self.found_latest,
            is_counted: self.is_counted == 1,
        };
        (ArtifactKey { owner, incarnation: self.incarnation, name: self.name }, row)
    }
}

/// The column `owner` of a row of artifacts, which says whose it is.
fn owner(row: &str) -> String {
    let is_of = |table: &str, id: &str| {
        format!(
            "exists (select 1 from {table} s where s.app_name = {row}.app_name and s.user_id = {row}.user_id \
               and s.{id} = {row}.session_id and s.incarnation = {row}.incarnation)"
        )
    };
    format!(
        "cast(case when {row}.session_id = '' and {row}.incarnation = 0 then 2 when {} then 2 when {} then 1 when {} then 1 \
           else 0 end as bigint) as owner",
        is_of("sessions", "id"),
        is_of("buried_sessions", "session_id"),
        is_of("imports", "session_id")
    )
}

/// The value of that column.
fn owned(owner: i64) -> Owner {
    match owner {
        2 => Owner::Present,
        1 => Owner::Passing,
        _ => Owner::Nobody,
    }
}

impl SessionName {
    fn values(&self) -> [&str; 3] {
        [&self.app, &self.user, &self.session]
    }
}

impl ScopeName {
    fn values(&self) -> Vec<&str> {
        [Some(&self.app), self.user.as_ref()].into_iter().flatten().map(String::as_str).collect()
    }

    /// The names of a row, each with its column.
    fn columns(&self) -> Vec<(&'static str, &str)> {
        ["app_name", "user_id"].into_iter().zip(self.values()).collect()
    }

    fn table(&self, what: &str) -> String {
        format!("{}_{what}", if self.user.is_some() { "user" } else { "app" })
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

    /// The values of an artifact's key, without brackets.
    fn artifact(self, key: &'a ArtifactKey) -> Self {
        let ArtifactKey { owner: SessionName { app, user, session }, incarnation, name } = key;
        let query = self.arg(app).sql(", ").arg(user).sql(", ").arg(session).sql(", ").arg(*incarnation).sql(", ");
        query.arg(name)
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

    /// That a row belongs to this scope.
    fn scope(self, table: &str, scope: &'a ScopeName) -> Self {
        let query = self.sql(&format!("{table}app_name = ")).arg(&scope.app);
        match &scope.user {
            Some(user) => query.sql(&format!(" and {table}user_id = ")).arg(user),
            None => query,
        }
    }
}
