//! `sessiond import adk`: the sessions of a database that google-adk wrote, read and never changed.

use std::path::Path;
use std::str::FromStr as _;

use futures_util::TryStreamExt as _;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, Connection as _, FromRow};

use super::{Error, Report, begin};
use crate::config::{AdkArgs, Config};
use crate::domain::adk::{AdkEvent, AdkLines, AdkSession, shared_state, time};
use crate::domain::ids::{AppName, SessionId, SessionKey, UserId, UserKey};
use crate::domain::time::Micros;
use crate::domain::transfer::{Source, first_line, last_line, state_line};
use crate::domain::{Limits, Rejected};
use crate::service::{Import, ImportOptions, ImportResult, Imported, OnConflict, Part};

/// How many names of sessions are read at a time.
const PAGE_ROWS: i64 = 500;

/// Reads a database of google-adk into the database of `config`.
///
/// # Errors
/// The source cannot be read or is none of ADK's, the database fails, a session was not imported.
pub async fn import(config: &Config, args: AdkArgs) -> Result<(), Error> {
    let mut source = Database::open(&args.from).await?;
    source.check().await?;
    let service = super::service(config, !args.dry_run).await?;
    let apps = match args.app {
        Some(app) => vec![app.to_string()],
        None => source.apps().await?,
    };
    let options = ImportOptions {
        on_conflict: if args.skip_existing { OnConflict::Skip } else { OnConflict::Fail },
        app: None,
        dry_run: args.dry_run,
    };
    let mut import = begin(&service, config, options);
    let mut report = Report::new(args.dry_run);
    for name in apps {
        let mut to = Sink { import: &mut import, report: &mut report };
        match AppName::parse(&name) {
            Ok(app) => app_of(&mut source, &app, &config.limits(), &mut to).await?,
            Err(message) => to.failed(Part::Unread, &Rejected::field(format!("the app `{name}`"), message))?,
        }
    }
    service.close().await;
    report.end()
}

/// Imports an app. Each session is of one moment.
async fn app_of(source: &mut Database, app: &AppName, limits: &Limits, to: &mut Sink<'_>) -> Result<(), Error> {
    to.line(&first_line(&Source::App(app.clone()), Micros(0))).await?;
    let app_revision = to.shared(None, source.app_state(app).await?).await?;
    let (mut after, mut of_user) = ((String::new(), String::new()), (None, 0));
    loop {
        let page = source.sessions(app, &after).await?;
        let Some(last) = page.last() else { break };
        after = (last.0.clone(), last.1.clone());
        for (user, session) in page {
            let key = match session_key(app, &user, &session) {
                Ok(key) => key,
                Err(rejected) => {
                    let user = UserId::parse(&user);
                    to.failed(user.map_or(Part::Unread, |user| Part::Session(user, session)), &rejected)?;
                    continue;
                }
            };
            if of_user.0.as_ref() != Some(&key.user) {
                let state = source.user_state(&key.user).await?;
                of_user = (Some(key.user.clone()), to.shared(Some(&key.user.user), state).await?);
            }
            source.begin().await?;
            session_of(source, &key, &session, (of_user.1, app_revision), limits, to).await?;
            source.end().await?;
        }
    }
    let totals = to.import.totals();
    to.line(&last_line(totals)).await
}

fn session_key(app: &AppName, user: &str, session: &str) -> Result<SessionKey, Rejected> {
    Ok(SessionKey {
        user: UserKey {
            app: app.clone(),
            user: UserId::parse(user).map_err(|message| Rejected::field("user_id", message))?,
        },
        session: SessionId::parse(session).map_err(|message| Rejected::field("id", message))?,
    })
}

/// Imports the session of this id in the source, which may have white space around it.
async fn session_of(
    source: &mut Database,
    key: &SessionKey,
    id: &str,
    saw: (i64, i64),
    limits: &Limits,
    to: &mut Sink<'_>,
) -> Result<(), Error> {
    let named = || Part::Session(key.user.user.clone(), key.session.to_string());
    let session = match source.session(key, id).await? {
        Some(Ok(session)) => session,
        Some(Err(rejected)) => return to.failed(named(), &rejected),
        None => return Ok(()),
    };
    let mut lines = AdkLines::new(session, saw);
    let mut fault = None;
    source
        .events(key, id, async |event| {
            match event.parse(limits) {
                Ok(event) => lines.see(&event),
                Err(rejected) => fault = fault.take().or(Some(rejected)),
            }
            Ok(())
        })
        .await?;
    let (first, closing) = match fault.map_or_else(|| lines.begin(), Err) {
        Ok(begun) => begun,
        Err(rejected) => return to.failed(named(), &rejected),
    };
    to.line(&first).await?;
    source
        .events(key, id, async |event| match event.parse(limits) {
            Ok(event) => to.line(&lines.event(&event)).await,
            Err(rejected) => to.failed(named(), &rejected),
        })
        .await?;
    if let Some(event) = closing {
        to.line(&lines.event(&event)).await?;
    }
    to.line(&lines.end()).await
}

/// Where the lines go.
struct Sink<'a> {
    import: &'a mut Import,
    report: &'a mut Report,
}

impl Sink<'_> {
    async fn line(&mut self, line: &str) -> Result<(), Error> {
        let results = self.import.line(line.trim_end().as_bytes()).await?;
        self.report.add(&results, self.import.counts())
    }

    /// The state of an app or a user; the revision that events see of it.
    async fn shared(&mut self, user: Option<&UserId>, state: Option<String>) -> Result<i64, Error> {
        let Some(state) = state else { return Ok(0) };
        match shared_state(&state) {
            Ok(None) => Ok(0),
            Ok(Some(state)) => {
                self.line(&state_line(user, 1, &state)).await?;
                Ok(1)
            }
            Err(rejected) => {
                let of = user.map_or_else(|| "app".to_owned(), |user| format!("user {}", user.as_str()));
                let rejected = Rejected::field(format!("the state of the {of}"), rejected.to_string());
                self.failed(Part::State(user.cloned()), &rejected)?;
                Ok(0)
            }
        }
    }

    fn failed(&mut self, of: Part, rejected: &Rejected) -> Result<(), Error> {
        let result = ImportResult::Failed { code: "invalid_argument", detail: rejected.to_string() };
        self.report.add(&[Imported { of, result }], self.import.counts())
    }
}

/// A database of ADK's DatabaseSessionService, or of its SqliteSessionService, open for reading.
enum Database {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

/// All rows of a statement over these texts.
macro_rules! rows {
    ($db:expr, $sql:expr, $values:expr) => {{
        let mut query = sqlx::query_as(AssertSqlSafe($sql.to_owned()));
        for value in $values {
            query = query.bind(String::from(*value));
        }
        query.fetch_all(&mut *$db).await.map_err(Error::from)
    }};
}

/// As rows of texts: times as numbers or in RFC 3339.
#[derive(FromRow)]
struct EventRow {
    id: String,
    invocation_id: String,
    time: String,
    data: Option<String>,
}

impl From<EventRow> for AdkEvent {
    fn from(EventRow { id, invocation_id, time, data }: EventRow) -> Self {
        Self { id, invocation_id, time, data }
    }
}

impl Database {
    /// Opens the database of a URL as ADK takes it: `sqlite:///relative.db`, `sqlite:////absolute.db`, `postgresql://...`, with or
    /// without a driver of Python (`sqlite+aiosqlite`).
    async fn open(url: &str) -> Result<Self, Error> {
        const NO_URL: Error = Error::Names("--from takes sqlite:///FILE or postgres://USER@HOST/DATABASE");
        let Some((scheme, rest)) = url.split_once("://") else { return Err(NO_URL) };
        match scheme.split('+').next() {
            Some("sqlite") => {
                let path = rest.strip_prefix('/').unwrap_or(rest);
                let path = path.split_once('?').map_or(path, |(path, _)| path);
                if !Path::new(path).is_file() {
                    return Err(Error::Names("--from names a file that is not there"));
                }
                let options = SqliteConnectOptions::new().filename(path).read_only(true);
                Ok(Self::Sqlite(SqliteConnection::connect_with(&options).await?))
            }
            Some("postgres" | "postgresql") => {
                let options = PgConnectOptions::from_str(&format!("postgres://{rest}")).map_err(|_| NO_URL)?;
                Ok(Self::Postgres(PgConnection::connect_with(&options).await?))
            }
            _ => Err(NO_URL),
        }
    }

    /// # Errors
    /// It is none that this version reads.
    async fn check(&mut self) -> Result<(), Error> {
        let columns = match self {
            Self::Sqlite(_) => "select name from pragma_table_info('events')",
            Self::Postgres(_) => {
                "select column_name::text from information_schema.columns \
                 where table_schema = any(current_schemas(false)) and table_name = 'events'"
            }
        };
        let columns: Vec<String> = self.texts(columns, &[]).await?;
        let has = |name: &str| columns.iter().any(|column| column == name);
        if has("event_data") && has("session_id") {
            let tables = match self {
                Self::Sqlite(_) => "select name from sqlite_master where name = 'adk_internal_metadata'",
                Self::Postgres(_) => {
                    "select table_name::text from information_schema.tables \
                     where table_schema = any(current_schemas(false)) and table_name = 'adk_internal_metadata'"
                }
            };
            if self.texts(tables, &[]).await?.is_empty() {
                return Ok(());
            }
            let version = "select value from adk_internal_metadata where key = 'schema_version'";
            return match self.texts(version, &[]).await?.pop().as_deref() {
                None | Some("1") => Ok(()),
                Some(_) => Err(Error::Names("the source has another schema than this version reads: 1")),
            };
        }
        Err(Error::Names(if has("actions") && has("session_id") {
            "the source has the schema v0 of google-adk, with pickled actions, which are never read here; convert it with \
             `adk migrate session --source_db_url=FROM --dest_db_url=TO`, then import TO"
        } else {
            "the source has no tables of google-adk's sessions"
        }))
    }

    /// A column of times, as text that [`Micros::from_text`] reads. SqliteSessionService stores seconds, the others a day and a time
    /// of UTC.
    fn time(&self, column: &str) -> String {
        match self {
            Self::Sqlite(_) => format!(
                "case typeof({column}) when 'text' then replace({column}, ' ', 'T') || 'Z' else printf('%.6f', {column}) end"
            ),
            Self::Postgres(_) => format!(r#"to_char({column}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"#),
        }
    }

    /// Begins to read as of one moment.
    async fn begin(&mut self) -> Result<(), Error> {
        match self {
            Self::Sqlite(db) => sqlx::raw_sql("begin").execute(db).await.map(drop)?,
            Self::Postgres(db) => {
                sqlx::raw_sql("begin isolation level repeatable read read only").execute(db).await.map(drop)?;
            }
        }
        Ok(())
    }

    async fn end(&mut self) -> Result<(), Error> {
        match self {
            Self::Sqlite(db) => sqlx::raw_sql("commit").execute(db).await.map(drop)?,
            Self::Postgres(db) => sqlx::raw_sql("commit").execute(db).await.map(drop)?,
        }
        Ok(())
    }

    async fn texts(&mut self, sql: &str, values: &[&str]) -> Result<Vec<String>, Error> {
        let rows: Vec<(String,)> = match self {
            Self::Sqlite(db) => rows!(db, sql, values)?,
            Self::Postgres(db) => rows!(db, sql, values)?,
        };
        Ok(rows.into_iter().map(|(text,)| text).collect())
    }

    async fn apps(&mut self) -> Result<Vec<String>, Error> {
        self.texts("select app_name from sessions union select app_name from app_states order by app_name", &[]).await
    }

    /// Users and ids of the next sessions of an app.
    async fn sessions(&mut self, app: &AppName, after: &(String, String)) -> Result<Vec<(String, String)>, Error> {
        // Byte by byte, as everywhere here.
        let collate = match self {
            Self::Sqlite(_) => "",
            Self::Postgres(_) => " collate \"C\"",
        };
        let sql = format!(
            "select user_id, id from sessions where app_name = $1 and (user_id{collate}, id{collate}) > ($2, $3) \
             order by user_id{collate}, id{collate} limit {PAGE_ROWS}"
        );
        let values = [app.as_str(), &after.0, &after.1];
        match self {
            Self::Sqlite(db) => rows!(db, &sql, &values),
            Self::Postgres(db) => rows!(db, &sql, &values),
        }
    }

    async fn app_state(&mut self, app: &AppName) -> Result<Option<String>, Error> {
        let sql = "select cast(state as text) from app_states where app_name = $1";
        Ok(self.texts(sql, &[app.as_str()]).await?.pop())
    }

    async fn user_state(&mut self, key: &UserKey) -> Result<Option<String>, Error> {
        let sql = "select cast(state as text) from user_states where app_name = $1 and user_id = $2";
        Ok(self.texts(sql, &[key.app.as_str(), key.user.as_str()]).await?.pop())
    }

    async fn session(&mut self, key: &SessionKey, id: &str) -> Result<Option<Result<AdkSession, Rejected>>, Error> {
        let sql = format!(
            "select cast(state as text), {}, {} from sessions where app_name = $1 and user_id = $2 and id = $3",
            self.time("create_time"),
            self.time("update_time")
        );
        let values = [key.app().as_str(), key.user.user.as_str(), id];
        let mut found: Vec<(String, String, String)> = match self {
            Self::Sqlite(db) => rows!(db, &sql, &values)?,
            Self::Postgres(db) => rows!(db, &sql, &values)?,
        };
        let Some((state, created, updated)) = found.pop() else { return Ok(None) };
        let session = time(&created).and_then(|create_time| {
            Ok(AdkSession { key: key.clone(), state, create_time, update_time: time(&updated)? })
        });
        Ok(Some(session))
    }

    /// Gives each event of a session to `take`, in ADK's order: by time; at the same time by row on SQLite, as its
    /// SqliteSessionService does, else by id.
    async fn events(
        &mut self,
        key: &SessionKey,
        id: &str,
        mut take: impl AsyncFnMut(AdkEvent) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let place = match self {
            Self::Sqlite(_) => "case typeof(timestamp) when 'text' then id else rowid end",
            Self::Postgres(_) => "id",
        };
        let sql = format!(
            "select id, invocation_id, {} as time, cast(event_data as text) as data from events \
             where app_name = $1 and user_id = $2 and session_id = $3 order by timestamp, {place}",
            self.time("timestamp")
        );
        let [app, user, session] = [key.app().as_str(), key.user.user.as_str(), id];
        // A row at a time: a log may be larger than the memory.
        match self {
            Self::Sqlite(db) => {
                let query = sqlx::query_as::<_, EventRow>(AssertSqlSafe(sql)).bind(app).bind(user).bind(session);
                let mut rows = query.fetch(db);
                while let Some(row) = rows.try_next().await? {
                    take(row.into()).await?;
                }
            }
            Self::Postgres(db) => {
                let query = sqlx::query_as::<_, EventRow>(AssertSqlSafe(sql)).bind(app).bind(user).bind(session);
                let mut rows = query.fetch(db);
                while let Some(row) = rows.try_next().await? {
                    take(row.into()).await?;
                }
            }
        }
        Ok(())
    }
}
