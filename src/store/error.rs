//! What a failure of the database means for the caller.

use std::fmt;

use sqlx::Error;
use sqlx::error::{DatabaseError, ErrorKind};
use sqlx::postgres::{PgDatabaseError, PgSeverity};
use sqlx::sqlite::SqliteError;

use crate::domain::refusal::Refusal;
use crate::domain::word::words;

/// Why a call failed. The source is for the log; nothing of it is for a client.
#[derive(Debug)]
pub struct StoreError {
    pub cause: Cause,
    /// The write may have happened: the answer to COMMIT was lost.
    pub unclear: bool,
    /// The database has undone the transaction, whatever failed.
    rolled_back: bool,
    source: Source,
}

/// What comes of a call, whose failure is most often the database's.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// What comes of a write that may be refused.
pub type Decided<T> = Result<T, Failure>;

/// Why a write came to nothing, or may have.
#[derive(Debug)]
pub enum Failure {
    /// It was not to be made, and nothing was written.
    Refused(Refusal),
    /// The database failed; the error says whether it may have happened.
    Store(StoreError),
}

impl Failure {
    /// As of [`StoreError::is_transient`]. The same write would be refused again.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_transient())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl<R: Into<Refusal>> From<R> for Failure {
    fn from(refusal: R) -> Self {
        Self::Refused(refusal.into())
    }
}

words! {
    /// With the words of metrics and logs.
    pub enum Cause {
        /// Lost a race (serialisation failure, deadlock, a row that appeared or vanished): a retry is likely to succeed.
        Conflict = "conflict",
        /// The connection broke, or the server is stopping or starting: a retry may succeed.
        ConnectionLost = "connection_lost",
        /// The database does not answer, or cannot write: disk full, not migrated.
        Unavailable = "unavailable",
        /// The database takes no writes, by its settings: of a provider whose disk is full, or during a failover. Or its transaction
        /// ids are used up.
        ReadOnly = "read_only",
        /// PostgreSQL refuses the role or its password, or has no such database: waiting does not help.
        Refused = "refused",
        /// All connections are in use, or a lock is held for too long.
        Overloaded = "overloaded",
        /// A time limit ran out.
        Timeout = "timeout",
        /// The configuration names something that cannot work, or the database lacks migrations.
        Config = "config",
        /// A bug in sessiond.
        Internal = "internal",
    }
}

impl Cause {
    /// Transient: the same call may succeed later, without intervention.
    pub fn may_pass(self) -> bool {
        match self {
            Self::Conflict
            | Self::ConnectionLost
            | Self::Unavailable
            | Self::ReadOnly
            | Self::Overloaded
            | Self::Timeout => true,
            Self::Refused | Self::Config | Self::Internal => false,
        }
    }
}

#[derive(Debug)]
enum Source {
    Sqlx(Error),
    Text(String),
}

impl StoreError {
    pub fn new(cause: Cause, text: impl Into<String>) -> Self {
        Self { cause, unclear: false, rolled_back: false, source: Source::Text(text.into()) }
    }

    pub fn config(text: impl Into<String>) -> Self {
        Self::new(Cause::Config, text)
    }

    /// The same failure, of a transaction that the database has undone.
    pub fn rolled_back(self) -> Self {
        Self { rolled_back: true, ..self }
    }

    /// The same failure, but met while waiting for the answer to COMMIT. Only a database that says that it rolled
    /// back is believed; everything else leaves the outcome open.
    pub fn in_commit(self) -> Self {
        let unclear = !self.rolled_back && !matches!(self.cause, Cause::Conflict);
        Self { unclear, ..self }
    }

    /// The same failure, but of a statement that commits by itself. A server that answers with an error has rolled it
    /// back; everything else, a server on its way down included, leaves the outcome open.
    pub fn in_one_statement(self) -> Self {
        let rolled_back = self.database().is_some() && self.cause != Cause::ConnectionLost;
        Self { unclear: self.unclear || !rolled_back, ..self }
    }

    /// The same failure, but of a statement that the database has passed on to a node, which commits before it answers: only what is
    /// found before anything is written is believed.
    pub fn of_node(self) -> Self {
        let rolled_back = self.database().is_some_and(|error| is_before_commit(&error.code().unwrap_or_default()));
        Self { unclear: !rolled_back, ..self }
    }

    /// A node of the database cannot be reached; the connection, which is to another one, is as good as before.
    pub fn lacks_node(&self) -> bool {
        let error = self.database().and_then(|error| error.try_downcast_ref::<PgDatabaseError>());
        // FATAL would be the end of the connection.
        error.is_some_and(|error| error.code().starts_with("08") && matches!(error.severity(), PgSeverity::Error))
    }

    /// The same failure of a call that writes nothing.
    pub fn of_read(self) -> Self {
        Self { unclear: false, ..self }
    }

    /// The same failure, after an earlier try of the same write whose outcome is open.
    pub fn after_unclear(self, unclear: bool) -> Self {
        Self { unclear: self.unclear || unclear, ..self }
    }

    /// The same failure, for another caller that shared the transaction.
    pub fn share(&self) -> Self {
        Self { source: Source::Text(self.to_string()), ..*self }
    }

    /// What the database answered.
    fn database(&self) -> Option<&(dyn DatabaseError + 'static)> {
        match &self.source {
            Source::Sqlx(Error::Database(error)) => Some(&**error),
            Source::Sqlx(_) | Source::Text(_) => None,
        }
    }

    fn has_code(&self, codes: &[&str]) -> bool {
        self.database().and_then(|error| error.code()).is_some_and(|code| codes.contains(&&*code))
    }

    /// SQLite has no space left, or waits for a lock in vain.
    pub fn is_full_or_busy(&self) -> bool {
        matches!(self.sqlite_code(), Some(SQLITE_FULL | SQLITE_BUSY))
    }

    /// SQLite's answer to a statement that makes no sense, such as ROLLBACK without a transaction.
    pub fn is_plain_error(&self) -> bool {
        self.sqlite_code() == Some(SQLITE_ERROR)
    }

    /// SQLite's primary result code.
    pub fn sqlite_code(&self) -> Option<i32> {
        let error = self.database().filter(|error| error.try_downcast_ref::<SqliteError>().is_some())?;
        error.code()?.parse::<i32>().ok().map(|code| code & 0xff)
    }

    /// There is no space left for the database: reads may be served.
    pub fn is_disk_full(&self) -> bool {
        self.has_code(&[DISK_FULL]) || self.sqlite_code() == Some(SQLITE_FULL)
    }

    /// PostgreSQL does not let its user do that.
    pub fn lacks_privilege(&self) -> bool {
        self.has_code(&[LACKS_PRIVILEGE])
    }

    /// PostgreSQL did not give a lock in time, or two transactions waited for each other.
    pub fn is_about_locks(&self) -> bool {
        self.has_code(&["55P03", "40P01"])
    }

    /// A retry of the same transaction makes sense.
    pub fn is_transient(&self) -> bool {
        matches!(self.cause, Cause::Conflict | Cause::ConnectionLost) || self.unclear
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            // The message and the code, and not the detail, which may quote values of a row.
            Source::Sqlx(Error::Database(error)) => {
                write!(f, "{} ({})", error.message(), error.code().unwrap_or_default())
            }
            Source::Sqlx(error) => write!(f, "{error}"),
            Source::Text(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        let cause = match &error {
            Error::Database(error) => match error.code().as_deref() {
                Some(code) if error.try_downcast_ref::<PgDatabaseError>().is_some() => {
                    if in_doubt(code, error.message()) { Cause::ConnectionLost } else { of_sqlstate(code) }
                }
                Some(code) => of_sqlite(code),
                None if error.kind() == ErrorKind::UniqueViolation => Cause::Conflict,
                None => Cause::Internal,
            },
            Error::Io(_) | Error::Tls(_) | Error::WorkerCrashed | Error::PoolClosed => Cause::ConnectionLost,
            // sqlx reports a connection that ends in the middle of a message as a violation of the protocol.
            Error::Protocol(_) => Cause::ConnectionLost,
            Error::PoolTimedOut => Cause::Overloaded,
            Error::Configuration(_) => Cause::Config,
            _ => Cause::Internal,
        };
        Self { cause, unclear: false, rolled_back: false, source: Source::Sqlx(error) }
    }
}

impl From<sqlx::migrate::MigrateError> for StoreError {
    fn from(error: sqlx::migrate::MigrateError) -> Self {
        match error {
            sqlx::migrate::MigrateError::Execute(error) => error.into(),
            sqlx::migrate::MigrateError::ExecuteMigration(error, _) => error.into(),
            // A migration that was applied in another form, or only in part: waiting mends neither.
            other => Self::config(other.to_string()),
        }
    }
}

const LACKS_PRIVILEGE: &str = "42501";
const DISK_FULL: &str = "53100";

/// Citus lost the node at COMMIT, which may have been done there.
fn in_doubt(code: &str, message: &str) -> bool {
    code == "XX000" && message.starts_with("could not commit transaction")
}

/// What PostgreSQL answers of a statement that was not committed, also if it was another server that committed it: feature_not_supported,
/// data_exception, integrity_constraint_violation, syntax_error_or_access_rule_violation, lock_not_available, and lost races.
fn is_before_commit(code: &str) -> bool {
    code == "55P03"
        || ["0A", "22", "23", "42"].contains(&&code[..code.len().min(2)])
        || of_sqlstate(code) == Cause::Conflict
}

/// PostgreSQL, appendix A: the codes that a healthy service can meet.
fn of_sqlstate(code: &str) -> Cause {
    match code {
        "40001" // serialization_failure
        | "40P01" // deadlock_detected
        | "23505" // unique_violation: every row that we insert is locked for or keyed by us, so this is a race
        => Cause::Conflict,
        "55P03" => Cause::Overloaded, // lock_not_available: lock_timeout ran out
        "57014" => Cause::Timeout, // query_canceled: statement_timeout ran out
        "57P01" | "57P02" | "57P03" // admin_shutdown, crash_shutdown, cannot_connect_now
        | "57P04" // database_dropped, which ends the connection
        | "25P03" | "25P04" | "57P05" // idle_in_transaction_session_, transaction_ and idle_session_timeout: the server
                                     // thought us too slow, and the connection is gone
        => Cause::ConnectionLost,
        "25006" // read_only_sql_transaction: default_transaction_read_only, or a standby
        | "54000" // program_limit_exceeded: "is not accepting commands that assign new transaction IDs" (or MultiXactIds)
        => Cause::ReadOnly,
        "55000" // object_not_in_prerequisite_state: a table of a publication that has no replica identity
        | "XX001" | "XX002" // data_corrupted, index_corrupted
        => Cause::Unavailable,
        "42P01" => Cause::Unavailable, // undefined_table: not migrated yet
        LACKS_PRIVILEGE => Cause::Unavailable,
        "28000" | "28P01" // invalid_authorization_specification, invalid_password
        | "3D000" // invalid_catalog_name
        => Cause::Refused,
        _ => match &code[..code.len().min(2)] {
            "08" => Cause::ConnectionLost, // connection_exception
            "53" => Cause::Unavailable, // insufficient_resources: connections, memory, disk
            "58" => Cause::Unavailable, // system_error: I/O
            _ => Cause::Internal,
        },
    }
}

const SQLITE_ERROR: i32 = 1;
const SQLITE_BUSY: i32 = 5;
const SQLITE_FULL: i32 = 13;

/// SQLite's result codes; the low byte is the primary one.
fn of_sqlite(code: &str) -> Cause {
    let code = code.parse::<i32>();
    // CONSTRAINT_NOTNULL: how a statement says that a head is no more what it was; CONSTRAINT_UNIQUE: the event is there.
    if let Ok(1299 | 2067) = code {
        return Cause::Conflict;
    }
    match code.map(|code| code & 0xff) {
        Ok(SQLITE_BUSY | 6) => Cause::Overloaded, // or LOCKED: the lock wait is over
        Ok(8) => Cause::ReadOnly,
        Ok(10 | SQLITE_FULL | 14) => Cause::Unavailable, // IOERR, CANTOPEN
        _ => Cause::Internal,
    }
}

/// A stored id that breaks the rules of ids: the database was written by something else.
pub fn corrupt(what: &'static str) -> StoreError {
    StoreError::new(Cause::Internal, format!("a stored id is invalid: it {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unclear_commit_stays_unclear_unless_the_server_rolled_back() {
        assert!(StoreError::new(Cause::ConnectionLost, "").in_commit().unclear);
        assert!(StoreError::new(Cause::Timeout, "").in_commit().unclear);
        assert!(!StoreError::new(Cause::Conflict, "").in_commit().unclear);
        let full = StoreError::new(Cause::Unavailable, "").rolled_back().in_commit();
        assert!(!full.unclear && !full.is_transient());
        assert!(StoreError::new(Cause::Timeout, "").in_commit().is_transient());
        assert!(!StoreError::new(Cause::Timeout, "").is_transient());
    }

    #[test]
    fn what_a_node_did_is_known_by_what_it_says_before_it_commits() {
        for code in ["40001", "40P01", "23505", "55P03", "0A000", "22P02", "42P01"] {
            assert!(is_before_commit(code), "{code}");
        }
        // A time limit of the coordinator, its memory, its connections, and whatever else goes wrong there.
        for code in ["57014", "53200", "08006", "57P01", "XX000", ""] {
            assert!(!is_before_commit(code), "{code}");
        }
        assert!(StoreError::new(Cause::Timeout, "").of_node().in_one_statement().unclear);
    }

    #[test]
    fn codes_have_meanings() {
        assert!(in_doubt("XX000", "could not commit transaction on any active node"));
        assert!(!in_doubt("XX000", "could not open relation"));
        assert_eq!(of_sqlstate("40P01"), Cause::Conflict);
        assert_eq!(of_sqlstate("53300"), Cause::Unavailable);
        assert_eq!(of_sqlstate("28P01"), Cause::Refused);
        assert_eq!(of_sqlstate("25006"), Cause::ReadOnly);
        assert_eq!(of_sqlstate("54000"), Cause::ReadOnly);
        for code in ["53100", "53400", "55000", "58030", "XX001", "XX002"] {
            assert_eq!(of_sqlstate(code), Cause::Unavailable, "{code}");
        }
        assert!(!Cause::Refused.may_pass());
        assert_eq!(of_sqlstate("08006"), Cause::ConnectionLost);
        assert_eq!(of_sqlstate("22P05"), Cause::Internal);
        assert_eq!(of_sqlstate(""), Cause::Internal);
        assert_eq!(of_sqlite("517"), Cause::Overloaded);
        assert_eq!(of_sqlite("13"), Cause::Unavailable);
        assert_eq!(of_sqlite("2067"), Cause::Conflict);
        assert_eq!(of_sqlite("275"), Cause::Internal);
    }
}
