//! What the service asks of a database, and the two databases that answer. Each uses only what stands above it; the files
//! of `sql` use one another.
//!
//! - [`error`]: what a failure means for the caller, SQLSTATE by SQLSTATE
//! - [`limits`]: the settings that bound what is asked of a database
//! - `url`: what a database URL may hold; `migrations`: what both databases share of them
//! - [`shape`]: what kind of thing a database is
//! - `pool`: connections between one transaction and the next
//! - `sql`: the statements and rows that both databases share
//! - [`backend`]: what a database brings: lock, load, apply; no rules
//! - `postgres`, `sqlite`: the two backends
//! - [`run`]: the only ways into the database: limits of time, the cache of heads, group commit
//! - `transactions`: the transactions, written once over [`backend::Tx`], one file for each use
//! - [`open`]: the database that a URL names
//! - [`nowhere`]: a store that holds nothing
//! - [`inspect`]: what `sessiond verify` reads, beside a server or without one
//! - `documented`: the statements as `docs/sql` shows them, in tests alone
//!
//! Here is [`Store`] alone: one method is one transaction, and no transaction handle leaves this folder.

pub mod backend;
#[cfg(test)]
mod documented;
pub mod error;
pub mod inspect;
pub mod limits;
mod migrations;
pub mod nowhere;
pub mod open;
pub(crate) mod pool;
mod postgres;
pub mod run;
pub mod shape;
mod sql;
mod sqlite;
mod transactions;
mod url;

use std::sync::Arc;

use async_trait::async_trait;
use backend::{DatabaseClock, Now, Scrubbed, Standby};
use error::{Failure, StoreError};
use pool::{Nodes, PoolUse};
use run::together::Sharing;
use run::{OnCommit, OnWait};
use shape::Shape;
use tokio::time::Instant;

use crate::domain::access::{ApiKey, Names, TokenEpoch};
use crate::domain::append::Append;
use crate::domain::command::{AppendAnswer, Deletion, Fork, LeaseCommand, Made, MetadataUpdate};
use crate::domain::erasure::{Erasing, Erasure};
use crate::domain::event::StoredEvent;
use crate::domain::feed::{FeedPage, FeedQuery, FeedScope};
use crate::domain::ids::{AppName, EventId, ScopeKey, SessionKey, UserId, UserKey};
use crate::domain::json::RawJson;
use crate::domain::lease::{LeaseDone, LeaseView};
use crate::domain::loaded::Revisions;
use crate::domain::policy::{Forget, Found, Policy, PolicyWrite, Scopes, StoredPolicy, Walk};
use crate::domain::query::{ListQuery, Moment, MomentQuery, Page, ScopeView, SessionQuery, SessionView};
use crate::domain::rewind::{RewindRequest, Rewound};
use crate::domain::scope::Scope;
use crate::domain::scope_write::ScopeWrite;
use crate::domain::session::{Creation, SessionInfo};
use crate::domain::tag::Timeline;
use crate::domain::time::Micros;
use crate::domain::transfer::{
    ExportQuery, Exported, ImportEnd, ImportRows, PastEnd, PastPage, PastQuery, PastRows, ScopeHead, ScopeImport,
};
use crate::domain::trim::{Trim, Trimmed};

/// A database of sessions. Every method is one transaction, or one statement, and shows one moment. Where it has a clock of
/// its own, that clock judges whether a session has expired, and `now` is what the calling process thinks.
///
/// `deadline` bounds the whole call. A write that returns `Ok` is durable; one that is refused wrote nothing; one that fails says
/// in its error whether it may have happened all the same.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Applies pending migrations, one process at a time; none pending is fine.
    async fn migrate(&self) -> Result<(), StoreError>;

    /// Distributes the tables by app over the nodes of the database; those that are distributed stay so.
    async fn distribute(&self) -> Result<(), StoreError>;

    /// The nodes of the database as of the last [`Store::check`], if it is distributed.
    fn nodes(&self) -> Option<Nodes>;

    /// Reachable, and every migration of this binary applied.
    async fn check(&self, deadline: Instant) -> Result<Standby, StoreError>;

    /// Whether another process has the database open; `None` where that cannot be told.
    async fn is_open_elsewhere(&self, deadline: Instant) -> Result<Option<bool>, StoreError>;

    /// Creates a session, or finds it.
    async fn create(&self, creation: &Arc<Creation>, deadline: Instant) -> Result<(Made, SessionView), Failure>;

    /// Appends to a session, all of its events or none; in a group with others, or in a transaction of its own.
    async fn append(&self, append: &Arc<Append>, sharing: Sharing, deadline: Instant) -> Result<AppendAnswer, Failure>;

    async fn update_metadata(&self, update: &MetadataUpdate, deadline: Instant) -> Result<SessionView, Failure>;

    /// Removes a session at once; its rows follow in [`Store::sweep`].
    async fn delete(&self, delete: &Deletion, deadline: Instant) -> Result<(), Failure>;

    /// Creates a session from another one's past.
    async fn fork(&self, fork: &Fork, deadline: Instant) -> Result<(Made, SessionView), Failure>;

    /// What the events of a session cost that are not trimmed, up to a revision; 0 if it is not there.
    async fn log_cost(&self, key: &SessionKey, to: i64, deadline: Instant) -> Result<i64, StoreError>;

    /// Appends the event that rewinds a session, and reads the session in the same transaction.
    async fn rewind(&self, rewind: &RewindRequest, deadline: Instant) -> Result<Rewound, Failure>;

    /// Lets a session begin at a later revision, at once; what was before it is emptied in [`Store::sweep`].
    async fn trim(&self, trim: &Trim, deadline: Instant) -> Result<Trimmed, Failure>;

    /// A part of a session, as exports show it; `None` if it is not there.
    async fn export(&self, query: &ExportQuery, deadline: Instant) -> Result<Option<Exported>, StoreError>;

    /// Writes rows of a session that is not visible yet. The same again changes nothing.
    async fn import_rows(&self, rows: &ImportRows, deadline: Instant) -> Result<(), Failure>;

    /// Makes the session of such rows visible, if there is none of its id.
    async fn import_session(&self, import: &ImportEnd, deadline: Instant) -> Result<(), Failure>;

    /// Leaves such rows to [`Store::sweep`].
    async fn abandon_import(&self, key: &SessionKey, incarnation: i64, deadline: Instant) -> Result<(), StoreError>;

    /// Takes the state of an app or a user that has none.
    async fn import_scope(&self, import: &ScopeImport, deadline: Instant) -> Result<(), Failure>;

    /// A part of the past of shared state, as exports show it.
    async fn past(&self, query: &PastQuery, deadline: Instant) -> Result<PastPage, StoreError>;

    /// Where shared state stands, and what it was at a revision; `None` if that is not known.
    async fn scope_at(
        &self,
        scope: &ScopeKey,
        revision: i64,
        deadline: Instant,
    ) -> Result<(ScopeHead, Option<String>), StoreError>;

    /// Writes a part of what shared state was before [`Store::import_scope`] took it, which nobody sees yet; `OtherState` if it was not
    /// taken so, or its past is there. The same again changes nothing.
    async fn import_past(&self, rows: &PastRows, deadline: Instant) -> Result<(), Failure>;

    /// Makes all of that visible. The same again changes nothing.
    async fn end_past(&self, end: &PastEnd, deadline: Instant) -> Result<(), Failure>;

    /// The apps that had erasures, and how many.
    async fn erasure_counts(&self, deadline: Instant) -> Result<Vec<(AppName, i64)>, StoreError>;

    /// The lease of a session, in one statement; `None` if there is no such session, or it has expired.
    async fn lease(&self, key: &SessionKey, now: Micros, deadline: Instant) -> Result<Option<LeaseView>, StoreError>;

    /// Grants, renews or releases the lease of a session. The same call again finds what the first one did; after another
    /// grant it may be refused for that.
    async fn change_lease(&self, command: &LeaseCommand, deadline: Instant) -> Result<(LeaseDone, LeaseView), Failure>;

    /// Reads the merged state as it was when an event had committed.
    async fn moment(&self, query: &MomentQuery, deadline: Instant) -> Result<Moment, StoreError>;

    /// Changes app or user state on its own.
    async fn write_scope(&self, write: &ScopeWrite, deadline: Instant) -> Result<(Made, ScopeView), Failure>;

    /// Reads a session; `None` if there is none, or it has expired.
    async fn session(&self, query: &SessionQuery, deadline: Instant) -> Result<Option<SessionView>, StoreError>;

    /// Reads the revisions of sessions, in the order of their keys; nothing of one that is not there or has expired. One
    /// statement for each run of keys of one app.
    async fn revisions(
        &self,
        keys: &[SessionKey],
        now: Micros,
        deadline: Instant,
    ) -> Result<(Timeline, Vec<Option<Revisions>>), StoreError>;

    /// Reads the revisions of app and user state, of those that have one.
    async fn scope_revisions(&self, keys: &[ScopeKey], deadline: Instant) -> Result<Vec<(ScopeKey, i64)>, StoreError>;

    /// Reads one event with its session's head: `None` without a session, and within, without the event.
    async fn event(
        &self,
        key: &SessionKey,
        id: &EventId,
        now: Micros,
        deadline: Instant,
    ) -> Result<Option<(SessionInfo, Option<StoredEvent>)>, StoreError>;

    /// Reads one value with its session's head.
    async fn value(
        &self,
        key: &SessionKey,
        scope: Scope,
        state_key: &str,
        now: Micros,
        deadline: Instant,
    ) -> Result<Option<(SessionInfo, Option<RawJson>)>, StoreError>;

    /// Reads app or user state on its own: revision 0 and `{}` if there is none.
    async fn scope(&self, scope: &ScopeKey, deadline: Instant) -> Result<ScopeView, StoreError>;

    /// A page of live sessions, in the order that the query asks for.
    async fn sessions(
        &self,
        query: &ListQuery,
        now: Micros,
        deadline: Instant,
    ) -> Result<Page<SessionView>, StoreError>;

    /// Up to `limit` names in byte order, after `after`, all of them `within`: of apps, or of the users of an app. Fewer than
    /// `limit` only if there are no more.
    async fn apps(
        &self,
        after: &str,
        limit: usize,
        within: &Names,
        deadline: Instant,
    ) -> Result<Vec<AppName>, StoreError>;
    async fn users(
        &self,
        app: &AppName,
        after: &str,
        limit: usize,
        within: &Names,
        deadline: Instant,
    ) -> Result<Vec<UserId>, StoreError>;

    /// Whether there is any key, be it revoked or expired. Once there is one, there always is.
    async fn has_keys(&self, deadline: Instant) -> Result<bool, StoreError>;

    /// A key that is not revoked; it may have expired.
    async fn api_key(&self, id: &str, deadline: Instant) -> Result<Option<ApiKey>, StoreError>;

    /// Up to `limit` keys that are not revoked, by id in byte order, after `after`; some may have expired.
    async fn api_keys(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<ApiKey>, StoreError>;

    /// Stores a key. The same call again changes nothing; another key of that id is an error, and so are names that
    /// [`Names::to_patterns`] cannot say.
    async fn insert_api_key(&self, key: &ApiKey, deadline: Instant) -> Result<(), StoreError>;

    /// Gives a key another name, grant and expiry, if those are as they are in `from`; `false` if they are not, if there is no such
    /// key, or it is revoked. Names as of [`Store::insert_api_key`].
    async fn change_api_key(&self, from: &ApiKey, to: &ApiKey, deadline: Instant) -> Result<bool, StoreError>;

    /// Revokes a key for good, and forgets its digest; `false` if there is none, or it was revoked at another time than
    /// `now`: the same call again says `true` again.
    async fn revoke_api_key(&self, id: &str, now: Micros, deadline: Instant) -> Result<bool, StoreError>;

    /// Notes that a key was used, unless that was noted within the last hour, or there is no such key.
    async fn touch_api_key(&self, id: &str, now: Micros, deadline: Instant) -> Result<(), StoreError>;

    /// The secret that signs the tokens of users: the same for every process. The first call stores its `draw`.
    async fn token_secret(&self, draw: [u8; 32], deadline: Instant) -> Result<[u8; 32], StoreError>;

    /// As [`Store::token_secret`], if there is one.
    async fn stored_token_secret(&self, deadline: Instant) -> Result<Option<[u8; 32]>, StoreError>;

    /// Puts another secret in the place of [`Store::token_secret`].
    async fn replace_token_secret(&self, secret: [u8; 32], deadline: Instant) -> Result<(), StoreError>;

    /// Up to `limit` keys that were revoked, by id in byte order, after `after`: their ids, and when that was.
    async fn revoked_keys(
        &self,
        after: &str,
        limit: usize,
        deadline: Instant,
    ) -> Result<Vec<(String, Micros)>, StoreError>;

    /// Up to `limit` users whose tokens were ever revoked, after `after`, and how often that was.
    async fn token_epochs(
        &self,
        after: Option<&TokenEpoch>,
        limit: usize,
        deadline: Instant,
    ) -> Result<Vec<TokenEpoch>, StoreError>;

    /// Raises [`Store::token_epoch`] of a user to this; whether it was lower.
    async fn raise_token_epoch(&self, epoch: &TokenEpoch, deadline: Instant) -> Result<bool, StoreError>;

    /// How often the tokens of a user were revoked.
    async fn token_epoch(&self, user: &UserKey, deadline: Instant) -> Result<i64, StoreError>;

    /// Adds one to [`Store::token_epoch`], and returns it. No call is lost; one whose answer was lost may be repeated.
    async fn revoke_tokens(&self, user: &UserKey, deadline: Instant) -> Result<i64, StoreError>;

    /// The policy of an app.
    async fn policy(&self, app: &AppName, deadline: Instant) -> Result<StoredPolicy, StoreError>;

    /// Up to `limit` apps that have a policy, after `after` in byte order, with it.
    async fn policies(
        &self,
        after: &str,
        limit: usize,
        deadline: Instant,
    ) -> Result<Vec<(AppName, Policy)>, StoreError>;

    /// Changes the policy of an app. The same call again changes nothing, unless its precondition fails for the first one.
    async fn set_policy(&self, write: &PolicyWrite, deadline: Instant) -> Result<StoredPolicy, Failure>;

    /// Goes through a bounded number of sessions of an app, and removes what a policy says: sessions, events, stubs. What others
    /// have locked stays for the next time.
    async fn walk(&self, walk: &Walk, deadline: Instant) -> Result<Found, StoreError>;

    /// Forgets what shared scopes of an app were, a bounded part of it; where to go on, `None` at the end. Readers of what is
    /// forgotten are told at once.
    async fn forget(&self, forget: &Forget, deadline: Instant) -> Result<Option<Scopes>, StoreError>;

    /// With which users are hashed where nothing may name them: never another one, also after a restore.
    async fn erasure_salt(&self, deadline: Instant) -> Result<[u8; 32], StoreError>;

    /// Erases a user: at the commit no session and no state is there, and the rows follow in [`Store::sweep`]. The same call again
    /// finds what the first one did.
    async fn erase(&self, erasing: &Erasing, deadline: Instant) -> Result<(Made, Erasure), Failure>;

    async fn erasure(&self, id: &str, deadline: Instant) -> Result<Option<Erasure>, StoreError>;

    /// Up to `limit` erasures, by id in byte order, after `after`.
    async fn erasures(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<Erasure>, StoreError>;

    /// Up to `limit` erasures of which no row is left, and that are not finished.
    async fn erasures_to_finish(&self, limit: usize, deadline: Instant) -> Result<Vec<Erasure>, StoreError>;

    /// Overwrites what was removed by now, in the files of this process. Not a transaction.
    async fn scrub(&self, deadline: Instant) -> Result<Scrubbed, StoreError>;

    /// Notes that nothing is left, with the receipt, unless that was noted.
    async fn finish_erasure(
        &self,
        erasure: &Erasure,
        done: Micros,
        receipt: &str,
        deadline: Instant,
    ) -> Result<(), StoreError>;

    /// The key that signs receipts (PKCS#8): the same for every process. The first call stores its `draw`.
    async fn receipt_key(&self, draw: &[u8], deadline: Instant) -> Result<Vec<u8>, StoreError>;

    /// Whether changes are recorded for the feed.
    fn feeds(&self) -> bool;

    /// Reads the change feed. It may look no longer than until `until` for changes that the query wants.
    async fn feed(&self, query: &FeedQuery, until: Instant, deadline: Instant) -> Result<FeedPage, StoreError>;

    /// Makes what was committed since the last call part of the feed, where that takes a tick, unless one was a moment ago. `at_once`: all
    /// that was committed before the call. The last tick, and the names of apps and
    /// users in the changes after the tick `after`, or none if these are too many, or there is no such tick.
    async fn tick(
        &self,
        after: i64,
        at_once: bool,
        deadline: Instant,
    ) -> Result<(i64, Option<Vec<FeedScope>>), StoreError>;

    /// Ends the feed, of which changes begin to be missing: no position from before holds.
    async fn end_feed(&self, deadline: Instant) -> Result<(), StoreError>;

    /// Removes a chunk of what is too old for the feed; whether there is more to do.
    async fn prune_feed(&self, now: Micros, deadline: Instant) -> Result<bool, StoreError>;

    /// What time the database thinks it is.
    async fn clock(&self, deadline: Instant) -> Result<DatabaseClock, StoreError>;

    /// Removes one chunk of what was deleted and, with `expired`, of what has expired; whether there is more to do.
    async fn sweep(&self, now: Micros, expired: bool, deadline: Instant) -> Result<bool, StoreError>;

    /// Connections in use and open, for the metrics.
    fn pool(&self) -> PoolUse;

    /// Whom to tell how long each transaction waited for its connection and BEGIN. The first call counts.
    fn watch_waits(&self, on_wait: OnWait);

    /// As of the last [`Store::check`], where that can change.
    fn shape(&self) -> Shape;

    /// The kind of the database: `sqlite` or `postgresql`.
    fn name(&self) -> &'static str;

    /// Whom to tell of what this process commits: of events, whichever method they come by, of each session a range of sequences,
    /// each once, also of a commit whose answer was lost; and of other changes that a reader of sessions sees. The first call counts.
    fn watch_commits(&self, on_commit: OnCommit);

    /// What tells the time, where the database has no clock: asked as an append is written. The first call counts.
    fn set_clock(&self, now: Now);

    async fn close(&self);
}
