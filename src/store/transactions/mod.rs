//! The transactions, one file for each use, written once over [`Tx`].
//!
//! Locks are taken in one order everywhere: sessions, then users, then apps, rows of one kind in key order. What
//! everybody shares is locked last and so held the shortest, and no two transactions can wait for each other.

mod access;
mod append;
mod change;
mod create;
mod erasure;
mod feed;
mod forget;
mod lease;
mod load;
mod optimistic;
mod past;
mod policy;
mod read;
mod sweep;
mod transfer;
mod trim;

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::Store;
use super::backend::{Backend, Database as _, DatabaseClock, Now, Scrubbed, Standby, Tx};
use super::error::{Failure, StoreError, corrupt};
use super::pool::{Nodes, PoolUse};
use super::run::remembered::Remembered;
use super::run::together::Sharing;
use super::run::together::appends::{Appends, Batching};
use super::run::together::calls::Calls;
use super::run::{Call, OnCommit, OnWait, Runner};
use super::shape::Shape;
use super::sql::primitives;
use crate::domain::access::{ApiKey, Names, TokenEpoch};
use crate::domain::append::Append;
use crate::domain::command::{AppendAnswer, Deletion, Fork, LeaseCommand, Made, MetadataUpdate};
use crate::domain::erasure::{Erasing, Erasure, Subject};
use crate::domain::event::StoredEvent;
use crate::domain::feed::{FeedKey, FeedPage, FeedQuery, FeedScope};
use crate::domain::ids::{AppName, EventId, ScopeKey, SessionKey, StateAddress, UserId, UserKey};
use crate::domain::json::RawJson;
use crate::domain::lease::{LeaseDone, LeaseView};
use crate::domain::loaded::{Loaded, Needs, Revisions};
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

type Result<T> = std::result::Result<T, StoreError>;
type Decided<T> = std::result::Result<T, Failure>;

/// Every [`Backend`] is a [`Store`].
pub struct Transactions<B> {
    runner: Arc<Runner<B>>,
    remembered: Arc<Remembered>,
    appends: Appends,
    reads: Arc<Calls<SessionQuery, Option<SessionView>>>,
    creations: Arc<Calls<Arc<Creation>, Result<Option<SessionView>>>>,
    /// [`Store::erasure_salt`]
    salt: OnceCell<[u8; 32]>,
}

impl<B: Backend> Transactions<B> {
    pub fn new(backend: B) -> Self {
        let one_app = backend.shape().batches_by_app();
        let batching = Batching { one_app, writers: backend.writers() };
        let (runner, remembered) = (Arc::new(Runner::new(backend)), Arc::new(Remembered::default()));
        let appends = {
            let (runner, remembered) = (runner.clone(), remembered.clone());
            Appends::new(batching, move |batch, on_locked, deadline| {
                let (runner, remembered) = (runner.clone(), remembered.clone());
                Box::pin(async move {
                    let is_optimistic = runner.database().is_optimistic();
                    append::batch(&runner.resume(deadline), is_optimistic, &remembered, &batch, on_locked).await
                })
            })
        };
        let reads = Calls::new(one_app.then_some(|query: &SessionQuery| query.key.app()));
        let creations = Calls::new(one_app.then_some(|creation: &Arc<Creation>| creation.key.app()));
        Self { runner, remembered, appends, reads, creations, salt: OnceCell::new() }
    }

    /// It never changes, so it is read once.
    async fn salt(&self, call: &Call<'_, B>) -> Result<&[u8; 32]> {
        self.salt.get_or_try_init(|| call.one_statement(async |tx| erasure::salt(tx).await)).await
    }

    /// Names of the users of an app, or without one of apps; a statement for each range of `within`.
    async fn names(
        &self,
        of: Option<&AppName>,
        after: &str,
        limit: usize,
        within: &Names,
        deadline: Instant,
    ) -> Result<Vec<String>> {
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

#[async_trait]
impl<B: Backend> Store for Transactions<B> {
    async fn migrate(&self) -> Result<()> {
        self.runner.database().migrate().await
    }

    async fn distribute(&self) -> Result<()> {
        self.runner.database().distribute().await
    }

    fn nodes(&self) -> Option<Nodes> {
        self.runner.database().nodes()
    }

    async fn check(&self, deadline: Instant) -> Result<Standby> {
        self.runner.across_apps(deadline).ask(self.runner.database().check()).await
    }

    async fn is_open_elsewhere(&self, deadline: Instant) -> Result<Option<bool>> {
        self.runner.across_apps(deadline).ask(self.runner.database().is_open_elsewhere()).await
    }

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
            Some(view) => (Made::New, view),
            None => create::alone(&call, salt, creation).await?,
        };
        if self.runner.database().is_optimistic() {
            self.remembered.remember(&made.1.head);
        }
        Ok(made)
    }

    async fn append(&self, append: &Arc<Append>, sharing: Sharing, deadline: Instant) -> Decided<AppendAnswer> {
        let deadline = self.runner.of(append.key.app(), deadline).deadline();
        let answer = match sharing {
            Sharing::Group => self.appends.append(append.clone(), deadline).await?,
            Sharing::Alone => self.appends.append_alone(append.clone(), deadline).await?,
        };
        Ok(answer?)
    }

    async fn update_metadata(&self, update: &MetadataUpdate, deadline: Instant) -> Decided<SessionView> {
        self.remembered.evict_session(&update.key);
        self.runner.of(update.key.app(), deadline).decide(async |tx| change::update_metadata(tx, update).await).await
    }

    async fn delete(&self, deletion: &Deletion, deadline: Instant) -> Decided<()> {
        self.remembered.evict_session(&deletion.key);
        self.runner.of(deletion.key.app(), deadline).decide(async |tx| change::delete(tx, deletion).await).await
    }

    async fn write_scope(&self, write: &ScopeWrite, deadline: Instant) -> Decided<(Made, ScopeView)> {
        self.remembered.evict_scope(&write.scope);
        let call = self.runner.of(write.scope.app(), deadline);
        let salt = self.salt(&call).await?;
        call.decide(async |tx| change::write_scope(tx, salt, write).await).await
    }

    async fn fork(&self, request: &Fork, deadline: Instant) -> Decided<(Made, SessionView)> {
        let call = self.runner.of(request.source.app(), deadline);
        let salt = self.salt(&call).await?;
        call.decide(async |tx| past::fork(tx, salt, request).await).await
    }

    async fn log_cost(&self, key: &SessionKey, to: i64, deadline: Instant) -> Result<i64> {
        let cost = async |tx: &mut B::Tx| past::log_cost(tx, key, to).await;
        self.runner.of(key.app(), deadline).one_statement(cost).await
    }

    async fn rewind(&self, request: &RewindRequest, deadline: Instant) -> Decided<Rewound> {
        self.remembered.evict_session(&request.key);
        self.runner.of(request.key.app(), deadline).decide(async |tx| past::rewind(tx, request).await).await
    }

    async fn trim(&self, request: &Trim, deadline: Instant) -> Decided<Trimmed> {
        self.remembered.evict_session(&request.key);
        self.runner.of(request.key.app(), deadline).decide(async |tx| trim::trim(tx, request).await).await
    }

    async fn export(&self, query: &ExportQuery, deadline: Instant) -> Result<Option<Exported>> {
        self.runner.of(query.key.app(), deadline).read(async |tx| transfer::export(tx, query).await).await
    }

    async fn import_rows(&self, rows: &ImportRows, deadline: Instant) -> Decided<()> {
        self.runner.of(rows.key.app(), deadline).decide(async |tx| transfer::import_rows(tx, rows).await).await
    }

    async fn import_session(&self, import: &ImportEnd, deadline: Instant) -> Decided<()> {
        self.runner.of(import.key.app(), deadline).decide(async |tx| transfer::import_session(tx, import).await).await
    }

    async fn abandon_import(&self, key: &SessionKey, incarnation: i64, deadline: Instant) -> Result<()> {
        let abandon = async |tx: &mut B::Tx| transfer::abandon_import(tx, key, incarnation).await;
        self.runner.of(key.app(), deadline).write(abandon).await
    }

    async fn import_scope(&self, import: &ScopeImport, deadline: Instant) -> Decided<()> {
        self.remembered.evict_scope(&import.scope);
        self.runner.of(import.scope.app(), deadline).decide(async |tx| transfer::import_scope(tx, import).await).await
    }

    async fn past(&self, query: &PastQuery, deadline: Instant) -> Result<PastPage> {
        self.runner.of(query.scope.app(), deadline).read(async |tx| transfer::past(tx, query).await).await
    }

    async fn scope_at(
        &self,
        scope: &ScopeKey,
        revision: i64,
        deadline: Instant,
    ) -> Result<(ScopeHead, Option<String>)> {
        self.runner.of(scope.app(), deadline).read(async |tx| transfer::scope_at(tx, scope, revision).await).await
    }

    async fn import_past(&self, rows: &PastRows, deadline: Instant) -> Decided<()> {
        self.runner.of(rows.scope.app(), deadline).decide(async |tx| transfer::import_past(tx, rows).await).await
    }

    async fn end_past(&self, end: &PastEnd, deadline: Instant) -> Decided<()> {
        self.remembered.evict_scope(&end.scope);
        self.runner.of(end.scope.app(), deadline).decide(async |tx| transfer::end_past(tx, end).await).await
    }

    async fn erasure_counts(&self, deadline: Instant) -> Result<Vec<(AppName, i64)>> {
        self.runner.across_apps(deadline).one_statement(async |tx| erasure::counts(tx).await).await
    }

    async fn lease(&self, key: &SessionKey, now: Micros, deadline: Instant) -> Result<Option<LeaseView>> {
        self.runner.of(key.app(), deadline).one_statement(async |tx| lease::lease(tx, key, now).await).await
    }

    async fn change_lease(&self, command: &LeaseCommand, deadline: Instant) -> Decided<(LeaseDone, LeaseView)> {
        self.remembered.evict_session(&command.key);
        self.runner.of(command.key.app(), deadline).decide(async |tx| lease::change(tx, command).await).await
    }

    async fn moment(&self, query: &MomentQuery, deadline: Instant) -> Result<Moment> {
        self.runner.of(query.key.app(), deadline).read(async |tx| past::moment(tx, query).await).await
    }

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
            call.one_statement(read).await
        } else {
            call.read(read).await
        }
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

    async fn scope_revisions(&self, keys: &[ScopeKey], deadline: Instant) -> Result<Vec<(ScopeKey, i64)>> {
        let mut needs = Needs::default();
        for key in keys {
            match key {
                ScopeKey::User(key) => drop(needs.users.insert(key, false)),
                ScopeKey::App(key) => drop(needs.apps.insert(key, false)),
            }
        }
        let read = async |tx: &mut B::Tx| tx.read_heads(&needs).await;
        let Loaded { users, apps, .. } = self.runner.across_apps(deadline).one_statement(read).await?;
        let users = users.into_iter().map(|(key, revision)| (ScopeKey::User(key), revision));
        Ok(users.chain(apps.into_iter().map(|(key, revision)| (ScopeKey::App(key), revision))).collect())
    }

    async fn event(
        &self,
        key: &SessionKey,
        id: &EventId,
        now: Micros,
        deadline: Instant,
    ) -> Result<Option<(SessionInfo, Option<StoredEvent>)>> {
        let event = async |tx: &mut B::Tx| {
            let Some(head) = read::head(tx, key, now).await? else { return Ok(None) };
            let event = primitives::event(tx, key, head.incarnation, id).await?;
            Ok(Some((head, event)))
        };
        self.runner.of(key.app(), deadline).read(event).await
    }

    async fn value(
        &self,
        key: &SessionKey,
        scope: Scope,
        state_key: &str,
        now: Micros,
        deadline: Instant,
    ) -> Result<Option<(SessionInfo, Option<RawJson>)>> {
        let value = async |tx: &mut B::Tx| {
            let Some(head) = read::head(tx, key, now).await? else { return Ok(None) };
            let value = primitives::value(tx, &StateAddress::new(key, scope, state_key), head.incarnation).await?;
            Ok(Some((head, value)))
        };
        self.runner.of(key.app(), deadline).read(value).await
    }

    async fn scope(&self, scope: &ScopeKey, deadline: Instant) -> Result<ScopeView> {
        self.runner.of(scope.app(), deadline).one_statement(async |tx| primitives::scope(tx, scope).await).await
    }

    async fn sessions(&self, query: &ListQuery, now: Micros, deadline: Instant) -> Result<Page<SessionView>> {
        if query.users.is_empty() {
            return Ok(Page { items: Vec::new(), more: false, cut: false });
        }
        let list = async |tx: &mut B::Tx| {
            let mut page = primitives::list(tx, query, now).await?;
            page.items.iter_mut().for_each(|view| view.head.timeline = tx.timeline());
            Ok(page)
        };
        self.runner.of(&query.app, deadline).part_of_statement(list, |page| page.cut).await
    }

    async fn apps(&self, after: &str, limit: usize, within: &Names, deadline: Instant) -> Result<Vec<AppName>> {
        let names = self.names(None, after, limit, within, deadline).await?;
        names.iter().map(|name| AppName::parse(name).map_err(corrupt)).collect()
    }

    async fn users(
        &self,
        app: &AppName,
        after: &str,
        limit: usize,
        within: &Names,
        deadline: Instant,
    ) -> Result<Vec<UserId>> {
        let names = self.names(Some(app), after, limit, within, deadline).await?;
        names.iter().map(|name| UserId::parse(name).map_err(corrupt)).collect()
    }

    async fn has_keys(&self, deadline: Instant) -> Result<bool> {
        self.runner.across_apps(deadline).one_statement(async |tx| access::has_keys(tx).await).await
    }

    async fn api_key(&self, id: &str, deadline: Instant) -> Result<Option<ApiKey>> {
        self.runner.across_apps(deadline).one_statement(async |tx| access::api_key(tx, id).await).await
    }

    async fn api_keys(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<ApiKey>> {
        let keys = async |tx: &mut B::Tx| access::api_keys(tx, after, limit).await;
        self.runner.across_apps(deadline).one_statement(keys).await
    }

    async fn insert_api_key(&self, key: &ApiKey, deadline: Instant) -> Result<()> {
        self.runner.across_apps(deadline).write(async |tx| access::insert_api_key(tx, key).await).await
    }

    async fn change_api_key(&self, from: &ApiKey, to: &ApiKey, deadline: Instant) -> Result<bool> {
        self.runner.across_apps(deadline).write(async |tx| access::change_api_key(tx, from, to).await).await
    }

    async fn revoke_api_key(&self, id: &str, now: Micros, deadline: Instant) -> Result<bool> {
        self.runner.across_apps(deadline).write(async |tx| access::revoke_api_key(tx, id, now).await).await
    }

    async fn touch_api_key(&self, id: &str, now: Micros, deadline: Instant) -> Result<()> {
        self.runner.across_apps(deadline).write(async |tx| access::touch_api_key(tx, id, now).await).await
    }

    async fn token_secret(&self, draw: [u8; 32], deadline: Instant) -> Result<[u8; 32]> {
        // Asked again and again, and written once.
        if let Some(stored) = self.stored_token_secret(deadline).await? {
            return Ok(stored);
        }
        self.runner.across_apps(deadline).write(async |tx| access::token_secret(tx, &draw).await).await
    }

    async fn stored_token_secret(&self, deadline: Instant) -> Result<Option<[u8; 32]>> {
        self.runner.across_apps(deadline).one_statement(async |tx| access::stored_secret(tx).await).await
    }

    async fn replace_token_secret(&self, secret: [u8; 32], deadline: Instant) -> Result<()> {
        let replace = async |tx: &mut B::Tx| access::replace_token_secret(tx, &secret).await;
        self.runner.across_apps(deadline).write(replace).await
    }

    async fn revoked_keys(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<(String, Micros)>> {
        let keys = async |tx: &mut B::Tx| access::revoked_keys(tx, after, limit).await;
        self.runner.across_apps(deadline).one_statement(keys).await
    }

    async fn token_epochs(
        &self,
        after: Option<&TokenEpoch>,
        limit: usize,
        deadline: Instant,
    ) -> Result<Vec<TokenEpoch>> {
        let epochs = async |tx: &mut B::Tx| access::token_epochs(tx, after, limit).await;
        self.runner.across_apps(deadline).one_statement(epochs).await
    }

    async fn raise_token_epoch(&self, epoch: &TokenEpoch, deadline: Instant) -> Result<bool> {
        let call = self.runner.of(&epoch.app, deadline);
        call.write(async |tx| access::raise_token_epoch(tx, epoch).await).await
    }

    async fn token_epoch(&self, user: &UserKey, deadline: Instant) -> Result<i64> {
        let call = self.runner.of(&user.app, deadline);
        let subject = Subject::of(self.salt(&call).await?, user);
        call.one_statement(async |tx| access::token_epoch(tx, &user.app, &subject).await).await
    }

    async fn revoke_tokens(&self, user: &UserKey, deadline: Instant) -> Result<i64> {
        let call = self.runner.of(&user.app, deadline);
        let subject = Subject::of(self.salt(&call).await?, user);
        call.write(async |tx| access::revoke_tokens(tx, &user.app, &subject).await).await
    }

    async fn erasure_salt(&self, deadline: Instant) -> Result<[u8; 32]> {
        self.salt(&self.runner.across_apps(deadline)).await.copied()
    }

    async fn erase(&self, erasing: &Erasing, deadline: Instant) -> Decided<(Made, Erasure)> {
        if let Some(user) = &erasing.user {
            self.remembered.evict_scope(&ScopeKey::User(user.clone()));
        }
        self.runner.of(&erasing.app, deadline).decide(async |tx| erasure::erase(tx, erasing).await).await
    }

    async fn erasure(&self, id: &str, deadline: Instant) -> Result<Option<Erasure>> {
        self.runner.across_apps(deadline).one_statement(async |tx| erasure::erasure(tx, id).await).await
    }

    async fn erasures(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<Erasure>> {
        let erasures = async |tx: &mut B::Tx| erasure::erasures(tx, after, limit).await;
        self.runner.across_apps(deadline).one_statement(erasures).await
    }

    async fn erasures_to_finish(&self, limit: usize, deadline: Instant) -> Result<Vec<Erasure>> {
        self.runner.across_apps(deadline).one_statement(async |tx| erasure::to_finish(tx, limit).await).await
    }

    async fn scrub(&self, deadline: Instant) -> Result<Scrubbed> {
        self.runner.across_apps(deadline).ask(self.runner.database().scrub()).await
    }

    async fn finish_erasure(&self, erasure: &Erasure, done: Micros, receipt: &str, deadline: Instant) -> Result<()> {
        let finish = async |tx: &mut B::Tx| erasure::finish(tx, erasure, done, receipt).await;
        self.runner.of(&erasure.app, deadline).write(finish).await
    }

    async fn receipt_key(&self, draw: &[u8], deadline: Instant) -> Result<Vec<u8>> {
        self.runner.across_apps(deadline).write(async |tx| erasure::receipt_key(tx, draw).await).await
    }

    async fn policy(&self, app: &AppName, deadline: Instant) -> Result<StoredPolicy> {
        self.runner.of(app, deadline).one_statement(async |tx| policy::policy(tx, app).await).await
    }

    async fn policies(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<(AppName, Policy)>> {
        let policies = async |tx: &mut B::Tx| policy::policies(tx, after, limit).await;
        self.runner.across_apps(deadline).one_statement(policies).await
    }

    async fn set_policy(&self, write: &PolicyWrite, deadline: Instant) -> Decided<StoredPolicy> {
        let call = self.runner.of(&write.app, deadline);
        call.decide(async |tx| policy::set_policy(tx, write).await).await
    }

    async fn walk(&self, walk: &Walk, deadline: Instant) -> Result<Found> {
        let call = self.runner.of(&walk.app, deadline);
        // Most often nothing is due, and then no writer need wait.
        let find = async |tx: &mut B::Tx| policy::find(tx, walk).await;
        let (found, is_any) = if walk.dry_run { call.read(find).await? } else { call.one_statement(find).await? };
        if walk.dry_run || !is_any {
            return Ok(found);
        }
        call.write(async |tx| policy::walk(tx, walk).await).await
    }

    async fn forget(&self, forget: &Forget, deadline: Instant) -> Result<Option<Scopes>> {
        let call = self.runner.of(&forget.app, deadline);
        if let Some(next) = call.one_statement(async |tx| forget::find(tx, forget).await).await? {
            return Ok(next);
        }
        call.write(async |tx| forget::forget(tx, forget).await).await
    }

    fn feeds(&self) -> bool {
        self.runner.database().feeds()
    }

    async fn feed(&self, query: &FeedQuery, until: Instant, deadline: Instant) -> Result<FeedPage> {
        if !self.feeds() {
            return Ok(FeedPage::Disabled);
        }
        let call = self.runner.across_apps(deadline);
        let key = FeedKey::of(self.salt(&call).await?);
        let page = async |tx: &mut B::Tx| feed::page(tx, query, &key, until).await;
        call.read(page).await
    }

    async fn tick(&self, after: i64, at_once: bool, deadline: Instant) -> Result<(i64, Option<Vec<FeedScope>>)> {
        self.runner.across_apps(deadline).write(async |tx| feed::tick(tx, after, at_once).await).await
    }

    async fn end_feed(&self, deadline: Instant) -> Result<()> {
        self.runner.across_apps(deadline).write(async |tx| feed::end(tx).await).await
    }

    async fn prune_feed(&self, now: Micros, deadline: Instant) -> Result<bool> {
        let age = i64::try_from(self.runner.database().limits().feed.as_micros()).unwrap_or(i64::MAX);
        self.runner.across_apps(deadline).write(async |tx| feed::prune(tx, now, age).await).await
    }

    async fn clock(&self, deadline: Instant) -> Result<DatabaseClock> {
        self.runner.across_apps(deadline).ask(self.runner.database().clock()).await
    }

    async fn sweep(&self, now: Micros, expired: bool, deadline: Instant) -> Result<bool> {
        self.runner.across_apps(deadline).write(async |tx| sweep::sweep(tx, now, expired).await).await
    }

    fn pool(&self) -> PoolUse {
        self.runner.database().pool()
    }

    fn watch_waits(&self, on_wait: OnWait) {
        self.runner.watch_waits(on_wait);
    }

    fn shape(&self) -> Shape {
        self.runner.database().shape()
    }

    fn name(&self) -> &'static str {
        B::NAME
    }

    fn watch_commits(&self, on_commit: OnCommit) {
        self.runner.watch_commits(on_commit);
    }

    fn set_clock(&self, now: Now) {
        self.runner.database().set_clock(now);
    }

    async fn close(&self) {
        self.runner.database().close().await;
    }
}
