//! A store that holds nothing: what lies outside of a client's grant looks exactly like a database without any row.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;

use super::Store;
use super::backend::{DatabaseClock, Now, Scrubbed, Standby};
use super::error::{Cause, Failure, StoreError};
use super::pool::{Nodes, PoolUse};
use super::run::together::Sharing;
use super::run::{OnCommit, OnWait};
use super::shape::Shape;
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
use crate::domain::scope::{Scope, join};
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

/// Answers every read as a database without any row does, and asks none. Every write is an error, as nothing may be written
/// where a client sees nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nowhere;

fn written<T, E: From<StoreError>>() -> std::result::Result<T, E> {
    Err(StoreError::new(Cause::Internal, "there is nowhere to write").into())
}

#[async_trait]
impl Store for Nowhere {
    async fn migrate(&self) -> Result<()> {
        written()
    }

    async fn distribute(&self) -> Result<()> {
        written()
    }

    fn nodes(&self) -> Option<Nodes> {
        None
    }

    async fn check(&self, _: Instant) -> Result<Standby> {
        Ok(Standby::Absent)
    }

    async fn is_open_elsewhere(&self, _: Instant) -> Result<Option<bool>> {
        Ok(None)
    }

    async fn create(&self, _: &Arc<Creation>, _: Instant) -> Decided<(Made, SessionView)> {
        written()
    }

    async fn append(&self, _: &Arc<Append>, _: Sharing, _: Instant) -> Decided<AppendAnswer> {
        written()
    }

    async fn update_metadata(&self, _: &MetadataUpdate, _: Instant) -> Decided<SessionView> {
        written()
    }

    async fn delete(&self, _: &Deletion, _: Instant) -> Decided<()> {
        written()
    }

    async fn fork(&self, _: &Fork, _: Instant) -> Decided<(Made, SessionView)> {
        written()
    }

    async fn log_cost(&self, _: &SessionKey, _: i64, _: Instant) -> Result<i64> {
        Ok(0)
    }

    async fn rewind(&self, _: &RewindRequest, _: Instant) -> Decided<Rewound> {
        written()
    }

    async fn trim(&self, _: &Trim, _: Instant) -> Decided<Trimmed> {
        written()
    }

    async fn export(&self, _: &ExportQuery, _: Instant) -> Result<Option<Exported>> {
        Ok(None)
    }

    async fn import_rows(&self, _: &ImportRows, _: Instant) -> Decided<()> {
        written()
    }

    async fn import_session(&self, _: &ImportEnd, _: Instant) -> Decided<()> {
        written()
    }

    async fn abandon_import(&self, _: &SessionKey, _: i64, _: Instant) -> Result<()> {
        written()
    }

    async fn import_scope(&self, _: &ScopeImport, _: Instant) -> Decided<()> {
        written()
    }

    async fn past(&self, _: &PastQuery, _: Instant) -> Result<PastPage> {
        Ok(PastPage { view: None, floor: 0, changes: Vec::new(), more: false })
    }

    async fn scope_at(&self, _: &ScopeKey, _: i64, _: Instant) -> Result<(ScopeHead, Option<String>)> {
        Ok((ScopeHead { revision: 0, floor: 0, imported: 0 }, None))
    }

    async fn import_past(&self, _: &PastRows, _: Instant) -> Decided<()> {
        written()
    }

    async fn end_past(&self, _: &PastEnd, _: Instant) -> Decided<()> {
        written()
    }

    async fn erasure_counts(&self, _: Instant) -> Result<Vec<(AppName, i64)>> {
        Ok(Vec::new())
    }

    async fn lease(&self, _: &SessionKey, _: Micros, _: Instant) -> Result<Option<LeaseView>> {
        Ok(None)
    }

    async fn change_lease(&self, _: &LeaseCommand, _: Instant) -> Decided<(LeaseDone, LeaseView)> {
        written()
    }

    async fn moment(&self, _: &MomentQuery, _: Instant) -> Result<Moment> {
        Ok(Moment::SessionNotFound)
    }

    async fn write_scope(&self, _: &ScopeWrite, _: Instant) -> Decided<(Made, ScopeView)> {
        written()
    }

    async fn session(&self, _: &SessionQuery, _: Instant) -> Result<Option<SessionView>> {
        Ok(None)
    }

    async fn revisions(
        &self,
        keys: &[SessionKey],
        _: Micros,
        _: Instant,
    ) -> Result<(Timeline, Vec<Option<Revisions>>)> {
        Ok((Timeline::default(), vec![None; keys.len()]))
    }

    async fn scope_revisions(&self, _: &[ScopeKey], _: Instant) -> Result<Vec<(ScopeKey, i64)>> {
        Ok(Vec::new())
    }

    async fn event(
        &self,
        _: &SessionKey,
        _: &EventId,
        _: Micros,
        _: Instant,
    ) -> Result<Option<(SessionInfo, Option<StoredEvent>)>> {
        Ok(None)
    }

    async fn value(
        &self,
        _: &SessionKey,
        _: Scope,
        _: &str,
        _: Micros,
        _: Instant,
    ) -> Result<Option<(SessionInfo, Option<RawJson>)>> {
        Ok(None)
    }

    async fn scope(&self, _: &ScopeKey, _: Instant) -> Result<ScopeView> {
        Ok(ScopeView { revision: 0, state: join([None]) })
    }

    async fn sessions(&self, _: &ListQuery, _: Micros, _: Instant) -> Result<Page<SessionView>> {
        Ok(Page { items: Vec::new(), more: false, cut: false })
    }

    async fn apps(&self, _: &str, _: usize, _: &Names, _: Instant) -> Result<Vec<AppName>> {
        Ok(Vec::new())
    }

    async fn users(&self, _: &AppName, _: &str, _: usize, _: &Names, _: Instant) -> Result<Vec<UserId>> {
        Ok(Vec::new())
    }

    async fn has_keys(&self, _: Instant) -> Result<bool> {
        Ok(false)
    }

    async fn api_key(&self, _: &str, _: Instant) -> Result<Option<ApiKey>> {
        Ok(None)
    }

    async fn api_keys(&self, _: &str, _: usize, _: Instant) -> Result<Vec<ApiKey>> {
        Ok(Vec::new())
    }

    async fn insert_api_key(&self, _: &ApiKey, _: Instant) -> Result<()> {
        written()
    }

    async fn change_api_key(&self, _: &ApiKey, _: &ApiKey, _: Instant) -> Result<bool> {
        written()
    }

    async fn revoke_api_key(&self, _: &str, _: Micros, _: Instant) -> Result<bool> {
        written()
    }

    async fn touch_api_key(&self, _: &str, _: Micros, _: Instant) -> Result<()> {
        written()
    }

    /// A write: the first call of a database stores what it draws.
    async fn token_secret(&self, _: [u8; 32], _: Instant) -> Result<[u8; 32]> {
        written()
    }

    async fn stored_token_secret(&self, _: Instant) -> Result<Option<[u8; 32]>> {
        Ok(None)
    }

    async fn replace_token_secret(&self, _: [u8; 32], _: Instant) -> Result<()> {
        written()
    }

    async fn revoked_keys(&self, _: &str, _: usize, _: Instant) -> Result<Vec<(String, Micros)>> {
        Ok(Vec::new())
    }

    async fn token_epochs(&self, _: Option<&TokenEpoch>, _: usize, _: Instant) -> Result<Vec<TokenEpoch>> {
        Ok(Vec::new())
    }

    async fn raise_token_epoch(&self, _: &TokenEpoch, _: Instant) -> Result<bool> {
        written()
    }

    async fn token_epoch(&self, _: &UserKey, _: Instant) -> Result<i64> {
        Ok(0)
    }

    async fn revoke_tokens(&self, _: &UserKey, _: Instant) -> Result<i64> {
        written()
    }

    async fn policy(&self, _: &AppName, _: Instant) -> Result<StoredPolicy> {
        Ok(StoredPolicy::default())
    }

    async fn policies(&self, _: &str, _: usize, _: Instant) -> Result<Vec<(AppName, Policy)>> {
        Ok(Vec::new())
    }

    async fn set_policy(&self, _: &PolicyWrite, _: Instant) -> Decided<StoredPolicy> {
        written()
    }

    async fn walk(&self, _: &Walk, _: Instant) -> Result<Found> {
        Ok(Found::default())
    }

    async fn forget(&self, _: &Forget, _: Instant) -> Result<Option<Scopes>> {
        Ok(None)
    }

    async fn erasure_salt(&self, _: Instant) -> Result<[u8; 32]> {
        written()
    }

    async fn erase(&self, _: &Erasing, _: Instant) -> Decided<(Made, Erasure)> {
        written()
    }

    async fn erasure(&self, _: &str, _: Instant) -> Result<Option<Erasure>> {
        Ok(None)
    }

    async fn erasures(&self, _: &str, _: usize, _: Instant) -> Result<Vec<Erasure>> {
        Ok(Vec::new())
    }

    async fn erasures_to_finish(&self, _: usize, _: Instant) -> Result<Vec<Erasure>> {
        Ok(Vec::new())
    }

    async fn scrub(&self, _: Instant) -> Result<Scrubbed> {
        written()
    }

    async fn finish_erasure(&self, _: &Erasure, _: Micros, _: &str, _: Instant) -> Result<()> {
        written()
    }

    async fn receipt_key(&self, _: &[u8], _: Instant) -> Result<Vec<u8>> {
        written()
    }

    fn feeds(&self) -> bool {
        false
    }

    async fn feed(&self, _: &FeedQuery, _: Instant, _: Instant) -> Result<FeedPage> {
        Ok(FeedPage::Disabled)
    }

    async fn tick(&self, _: i64, _: bool, _: Instant) -> Result<(i64, Option<Vec<FeedScope>>)> {
        Ok((0, Some(Vec::new())))
    }

    async fn end_feed(&self, _: Instant) -> Result<()> {
        Ok(())
    }

    async fn prune_feed(&self, _: Micros, _: Instant) -> Result<bool> {
        Ok(false)
    }

    async fn clock(&self, _: Instant) -> Result<DatabaseClock> {
        Ok(DatabaseClock::OfProcess(None))
    }

    async fn sweep(&self, _: Micros, _: bool, _: Instant) -> Result<bool> {
        written()
    }

    fn pool(&self) -> PoolUse {
        PoolUse::default()
    }

    /// Nothing waits here.
    fn watch_waits(&self, _: OnWait) {}

    fn shape(&self) -> Shape {
        Shape::File
    }

    fn name(&self) -> &'static str {
        "nothing"
    }

    /// Nothing is committed here.
    fn watch_commits(&self, _: OnCommit) {}

    fn set_clock(&self, _: Now) {}

    async fn close(&self) {}
}
