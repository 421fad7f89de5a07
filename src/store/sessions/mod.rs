//! Sessions, and the names of the apps and users that have some.

pub mod bounds;
pub mod bury;
pub mod change;
pub mod create;
pub mod list;
pub mod read;
pub mod sources;

use std::sync::Arc;

use async_trait::async_trait;
use read::ActivityRow;
use tokio::time::Instant;

use crate::domain::access::Names;
use crate::domain::activity::Activity;
use crate::domain::command::{Deletion, Made, MetadataUpdate};
use crate::domain::event::StoredEvent;
use crate::domain::ids::{AppName, EventId, SessionKey, UserId};
use crate::domain::json::RawJson;
use crate::domain::loaded::Revisions;
use crate::domain::query::{ListQuery, Page, SessionQuery, SessionView};
use crate::domain::scope::Scope;
use crate::domain::session::{Creation, SessionInfo};
use crate::domain::state_range::{StatePage, StateRange};
use crate::domain::tag::Timeline;
use crate::domain::time::Micros;
use crate::store::backend::{Backend, Database as _, Read, Tx};
use crate::store::error::{Decided, Result, StoreError};
use crate::store::shape::Shape;
use crate::store::sql::query::Row;
use crate::store::transactions::Transactions;

#[async_trait]
pub trait Reads: Send + Sync {
    /// Reads a session; `None` if there is none, or it has expired.
    async fn session(&self, query: &SessionQuery, deadline: Instant) -> Result<Option<SessionView>>;

    /// A page of live sessions, in the order that the query asks for.
    async fn sessions(&self, query: &ListQuery, now: Micros, deadline: Instant) -> Result<Page<SessionView>>;

    /// Reads one event with its session's head: `None` without a session, and within, without the event.
    async fn event(
        &self,
        key: &SessionKey,
        id: &EventId,
        now: Micros,
        deadline: Instant,
    ) -> Result<Option<(SessionInfo, Option<StoredEvent>)>>;

    /// Reads one value with its session's head.
    async fn value(
        &self,
        key: &SessionKey,
        scope: Scope,
        state_key: &str,
        now: Micros,
        deadline: Instant,
    ) -> Result<Option<(SessionInfo, Option<RawJson>)>>;

    /// Reads a range of the merged state with its session's head.
    async fn state_range(
        &self,
        key: &SessionKey,
        range: &StateRange,
        now: Micros,
        deadline: Instant,
    ) -> Result<Option<(SessionInfo, StatePage)>>;

    /// What the 100 sessions of an app that were updated last, and a bounded count of all, show of its activity from `since` on.
    async fn activity(&self, app: &AppName, since: Micros, deadline: Instant) -> Result<Activity>;

    /// Up to `limit` names in byte order, after `after`, all of them `within`. Fewer than
    /// `limit` only if there are no more.
    async fn apps(&self, after: &str, limit: usize, within: &Names, deadline: Instant) -> Result<Vec<AppName>>;

    /// As [`Reads::apps`], of the users of an app.
    async fn users(
        &self,
        app: &AppName,
        after: &str,
        limit: usize,
        within: &Names,
        deadline: Instant,
    ) -> Result<Vec<UserId>>;
}

#[async_trait]
pub trait Writes: Send + Sync {
    /// Creates a session, or finds it.
    async fn create(&self, creation: &Arc<Creation>, deadline: Instant) -> Decided<(Made, SessionView)>;

    async fn update_metadata(&self, update: &MetadataUpdate, deadline: Instant) -> Decided<SessionView>;

    /// Removes a session at once; its rows follow in [`upkeep::Writes::sweep`](crate::store::upkeep::Writes::sweep).
    async fn delete(&self, delete: &Deletion, deadline: Instant) -> Decided<()>;

    /// Reads the revisions of sessions, in the order of their keys; nothing of one that is not there or has expired. One
    /// statement for each run of keys of one app.
    async fn revisions(
        &self,
        keys: &[SessionKey],
        now: Micros,
        deadline: Instant,
    ) -> Result<(Timeline, Vec<Option<Revisions>>)>;
}

#[async_trait]
impl<B: Backend> Reads for Transactions<B> {
    async fn session(&self, query: &SessionQuery, deadline: Instant) -> Result<Option<SessionView>> {
        let call = self.runner.of(query.key.app(), deadline);
        if self.runner.database().may_share(query) {
            let ask = async |queries: &[&SessionQuery], deadline| {
                self.runner.resume(deadline).one_statement(async |tx| read::sessions(tx, queries).await).await
            };
            // It was only read.
            return self.reads.ask(query, call.deadline(), ask).await.map_err(StoreError::of_read);
        }
        let read = async |tx: &mut B::Tx| read::session(tx, query).await;
        if self.runner.database().is_one_statement(query) {
            return call.one_statement(read).await;
        }
        if self.runner.database().may_be_one_statement(query) {
            let at_once = async |tx: &mut B::Tx| read::session_at_once(tx, query).await;
            if let Read::Done(view) = call.one_statement(at_once).await? {
                return Ok(view);
            }
        }
        call.read(read).await
    }

    async fn sessions(&self, query: &ListQuery, now: Micros, deadline: Instant) -> Result<Page<SessionView>> {
        if query.users.is_empty() {
            return Ok(Page { items: Vec::new(), more: false, cut: false });
        }
        let list = async |tx: &mut B::Tx| list::list(tx, query, now).await;
        self.runner.of(&query.app, deadline).part_of_read(true, list, |page| page.cut).await
    }

    async fn event(
        &self,
        key: &SessionKey,
        id: &EventId,
        now: Micros,
        deadline: Instant,
    ) -> Result<Option<(SessionInfo, Option<StoredEvent>)>> {
        let event = async |tx: &mut B::Tx| read::event(tx, key, id, now).await;
        self.runner.of(key.app(), deadline).one_statement(event).await
    }

    async fn value(
        &self,
        key: &SessionKey,
        scope: Scope,
        state_key: &str,
        now: Micros,
        deadline: Instant,
    ) -> Result<Option<(SessionInfo, Option<RawJson>)>> {
        let value = async |tx: &mut B::Tx| read::value(tx, key, scope, state_key, now).await;
        self.runner.of(key.app(), deadline).one_statement(value).await
    }

    async fn state_range(
        &self,
        key: &SessionKey,
        range: &StateRange,
        now: Micros,
        deadline: Instant,
    ) -> Result<Option<(SessionInfo, StatePage)>> {
        let state = async |tx: &mut B::Tx| read::state_range(tx, key, range, now).await;
        self.runner.of(key.app(), deadline).one_statement(state).await
    }

    async fn activity(&self, app: &AppName, since: Micros, deadline: Instant) -> Result<Activity> {
        let rows: Vec<ActivityRow> = self.runner.of(app, deadline).fetch(|tx| read::activity(tx, app, since)).await?;
        let counted = rows.first().map_or(0, |row| row.counted);
        Ok(Activity::of(counted, rows.into_iter().map(|row| row.looked).collect()))
    }

    async fn apps(&self, after: &str, limit: usize, within: &Names, deadline: Instant) -> Result<Vec<AppName>> {
        self.names(None, after, limit, within, deadline).await
    }

    async fn users(
        &self,
        app: &AppName,
        after: &str,
        limit: usize,
        within: &Names,
        deadline: Instant,
    ) -> Result<Vec<UserId>> {
        self.names(Some(app), after, limit, within, deadline).await
    }
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn create(&self, creation: &Arc<Creation>, deadline: Instant) -> Decided<(Made, SessionView)> {
        let call = self.runner.of(creation.key.app(), deadline);
        let salt = self.salt(&call).await?;
        // On a distributed database erasures hold users on the server that all ask, and the rows are elsewhere. On a file a statement
        // takes no longer within a transaction than without.
        let shape = self.runner.database().shape();
        let at_once = shape == Shape::Server && self.runner.database().is_optimistic();
        let mut created = None;
        // Two transactions with several requests each could wait for one another: there is no order of both ids and keys.
        if creation.is_simple() && (creation.request.is_none() || !shape.is_shared()) {
            let create = async |batch: &[&Arc<Creation>], deadline| {
                let call = self.runner.resume(deadline);
                if at_once {
                    Ok(create::at_once(&call, salt, batch).await)
                } else {
                    create::batch(&call, salt, batch).await
                }
            };
            created = self.creations.ask(creation, call.deadline(), create).await??;
        } else if creation.is_simple() && at_once {
            created = create::at_once(&call, salt, &[creation]).await.pop().transpose()?.flatten();
        }
        let made = match created {
            Some(made) => made,
            None => create::alone(&call, salt, creation).await?,
        };
        if self.runner.database().is_optimistic() {
            self.remembered.remember(&made.1.head);
        }
        Ok(made)
    }

    async fn update_metadata(&self, update: &MetadataUpdate, deadline: Instant) -> Decided<SessionView> {
        self.remembered.evict_session(&update.key);
        self.runner.of(update.key.app(), deadline).decide(async |tx| change::update_metadata(tx, update).await).await
    }

    async fn delete(&self, deletion: &Deletion, deadline: Instant) -> Decided<()> {
        self.remembered.evict_session(&deletion.key);
        self.runner.of(deletion.key.app(), deadline).decide(async |tx| change::delete(tx, deletion).await).await
    }

    async fn revisions(
        &self,
        keys: &[SessionKey],
        now: Micros,
        deadline: Instant,
    ) -> Result<(Timeline, Vec<Option<Revisions>>)> {
        let read = async |tx: &mut B::Tx| Ok((tx.timeline(), tx.read_revisions(keys, now).await?));
        self.runner.across_apps(deadline).one_statement(read).await
    }
}

impl<B: Backend> Transactions<B> {
    /// Names of the users of an app, or without one of apps; a statement for each range of `within`.
    async fn names<T>(
        &self,
        of: Option<&AppName>,
        after: &str,
        limit: usize,
        within: &Names,
        deadline: Instant,
    ) -> Result<Vec<T>>
    where
        (T,): Row,
    {
        let ranges = read::ranges_after(within, after);
        if ranges.is_empty() {
            return Ok(Vec::new());
        }
        let names = async |tx: &mut B::Tx| read::names(tx, of, &ranges, limit).await;
        let call = match of {
            Some(app) => self.runner.of(app, deadline),
            None => self.runner.across_apps(deadline),
        };
        if ranges.len() == 1 { call.one_statement(names).await } else { call.read(names).await }
    }
}
