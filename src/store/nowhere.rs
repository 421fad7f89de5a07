//! A store that holds nothing: what lies outside of a client's grant looks exactly like a database without any row.

use std::collections::HashMap;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::access::{ApiKey, Names};
use crate::domain::activity::Activity;
use crate::domain::artifact::{ArtifactList, ArtifactPage, Blob, Found, Place, Version, VersionPage, Wanted};
use crate::domain::erasure::Erasure;
use crate::domain::event::StoredEvent;
use crate::domain::feed::{FeedPage, FeedQuery, Quiet};
use crate::domain::ids::{AppName, ArtifactName, EventId, ScopeKey, SessionKey, UserId, UserKey};
use crate::domain::json::RawJson;
use crate::domain::key_history::{KeyHistory, KeyHistoryQuery};
use crate::domain::lease::LeaseView;
use crate::domain::policy::StoredPolicy;
use crate::domain::query::{
    ListQuery, Moment, MomentQuery, Page, RedactedQuery, ScopePart, ScopeView, SessionQuery, SessionView,
};
use crate::domain::scope::{Scope, join};
use crate::domain::search::{Corpus, Hit};
use crate::domain::session::SessionInfo;
use crate::domain::state_range::{StatePage, StateRange};
use crate::domain::time::Micros;
use crate::domain::transfer::{ArtifactsPage, ArtifactsQuery, ExportQuery, Exported, PastPage, PastQuery};
use crate::store::backend::{DatabaseClock, Standby};
use crate::store::error::Result;
use crate::store::pool::Nodes;
use crate::store::shape::Shape;
use crate::store::{
    access, artifacts, erasures, feed, leases, past, policies, redact, search, sessions, shared, transfer, upkeep,
};

/// Answers every read as a database without any row does, and asks none. It has no writes: nothing may be written where a client
/// sees nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nowhere;

#[async_trait]
impl sessions::Reads for Nowhere {
    async fn session(&self, _: &SessionQuery, _: Instant) -> Result<Option<SessionView>> {
        Ok(None)
    }

    async fn sessions(&self, _: &ListQuery, _: Micros, _: Instant) -> Result<Page<SessionView>> {
        Ok(Page { items: Vec::new(), more: false, cut: false })
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

    async fn state_range(
        &self,
        _: &SessionKey,
        _: &StateRange,
        _: Micros,
        _: Instant,
    ) -> Result<Option<(SessionInfo, StatePage)>> {
        Ok(None)
    }

    async fn activity(&self, _: &AppName, _: Micros, _: Instant) -> Result<Activity> {
        Ok(Activity::of(0, Vec::new()))
    }

    async fn apps(&self, _: &str, _: usize, _: &Names, _: Instant) -> Result<Vec<AppName>> {
        Ok(Vec::new())
    }

    async fn users(&self, _: &AppName, _: &str, _: usize, _: &Names, _: Instant) -> Result<Vec<UserId>> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl shared::Reads for Nowhere {
    async fn scope(&self, _: &ScopeKey, _: &ScopePart, _: Instant) -> Result<ScopeView> {
        Ok(ScopeView { revision: 0, state: join([None]), next: None })
    }
}

#[async_trait]
impl leases::Reads for Nowhere {
    async fn lease(&self, _: &SessionKey, _: Micros, _: Instant) -> Result<Option<LeaseView>> {
        Ok(None)
    }
}

#[async_trait]
impl past::Reads for Nowhere {
    async fn moment(&self, _: &MomentQuery, _: Instant) -> Result<Moment> {
        Ok(Moment::SessionNotFound)
    }

    async fn key_history(&self, query: &KeyHistoryQuery, _: Instant) -> Result<Option<KeyHistory>> {
        Ok(query.owner.session().is_none().then(KeyHistory::default))
    }

    async fn log_cost(&self, _: &SessionKey, _: i64, _: Instant) -> Result<i64> {
        Ok(0)
    }
}

#[async_trait]
impl redact::Reads for Nowhere {
    async fn redacted(&self, _: &RedactedQuery, _: Instant) -> Result<Vec<(i64, StoredEvent)>> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl artifacts::Reads for Nowhere {
    async fn artifact(
        &self,
        place: &Place,
        _: &ArtifactName,
        _: Wanted,
        _: Micros,
        _: Instant,
    ) -> Result<Found<(Version, Option<Blob>)>> {
        Ok(nothing(place))
    }

    async fn artifact_versions(
        &self,
        place: &Place,
        _: &ArtifactName,
        _: i64,
        _: usize,
        _: Micros,
        _: Instant,
    ) -> Result<Found<VersionPage>> {
        Ok(nothing(place))
    }

    async fn artifacts(&self, list: &ArtifactList, _: Instant) -> Result<Found<ArtifactPage>> {
        Ok(match list.place.session() {
            Some(_) => Found::SessionNotFound,
            None => Found::There(ArtifactPage::default()),
        })
    }

    async fn session_with_latest(
        &self,
        _: &SessionQuery,
        _: &[ArtifactName],
        _: Instant,
    ) -> Result<Option<(SessionView, Vec<(Version, Option<Blob>)>)>> {
        Ok(None)
    }
}

/// There is no session, and no artifact of a user.
fn nothing<T>(place: &Place) -> Found<T> {
    if place.session().is_some() { Found::SessionNotFound } else { Found::Nothing }
}

#[async_trait]
impl transfer::Reads for Nowhere {
    async fn export(&self, _: &ExportQuery, _: Instant) -> Result<Option<Exported>> {
        Ok(None)
    }

    async fn exported_artifacts(&self, query: &ArtifactsQuery, _: Instant) -> Result<Option<ArtifactsPage>> {
        Ok(query.session.is_none().then(ArtifactsPage::default))
    }

    async fn past(&self, _: &PastQuery, _: Instant) -> Result<PastPage> {
        Ok(PastPage { view: None, floor: 0, changes: Vec::new(), more: false })
    }
}

#[async_trait]
impl access::Reads for Nowhere {
    async fn has_keys(&self, _: Instant) -> Result<bool> {
        Ok(false)
    }

    async fn api_key(&self, _: &str, _: Instant) -> Result<Option<ApiKey>> {
        Ok(None)
    }

    async fn api_keys(&self, _: &str, _: usize, _: Instant) -> Result<Vec<ApiKey>> {
        Ok(Vec::new())
    }

    async fn token_epoch(&self, _: &UserKey, _: Instant) -> Result<i64> {
        Ok(0)
    }
}

#[async_trait]
impl policies::Reads for Nowhere {
    async fn policy(&self, _: &AppName, _: Instant) -> Result<StoredPolicy> {
        Ok(StoredPolicy::default())
    }
}

#[async_trait]
impl search::Reads for Nowhere {
    /// Where nothing is seen, it is not seen either whether it could be searched.
    async fn corpus(&self, _: &UserKey, _: &[i64], _: Micros, _: Instant) -> Result<Option<Corpus>> {
        Ok(Some(Corpus::default()))
    }

    async fn hits(&self, _: &UserKey, _: &[Hit], _: Instant) -> Result<HashMap<(i64, i64), StoredEvent>> {
        Ok(HashMap::new())
    }
}

#[async_trait]
impl erasures::Reads for Nowhere {
    /// There is nobody to be hashed.
    async fn erasure_salt(&self, _: Instant) -> Result<[u8; 32]> {
        Ok([0; 32])
    }

    async fn erasure(&self, _: &str, _: Instant) -> Result<Option<Erasure>> {
        Ok(None)
    }

    async fn erasures(&self, _: &str, _: usize, _: Instant) -> Result<Vec<Erasure>> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl feed::Reads for Nowhere {
    fn feeds(&self) -> bool {
        false
    }

    async fn feed(&self, _: &FeedQuery, _: Option<Quiet>, _: Micros, _: Instant, _: Instant) -> Result<FeedPage> {
        Ok(FeedPage::Disabled)
    }
}

#[async_trait]
impl upkeep::Reads for Nowhere {
    fn shape(&self) -> Shape {
        Shape::File
    }

    fn name(&self) -> &'static str {
        "nothing"
    }

    fn nodes(&self) -> Option<Nodes> {
        None
    }

    async fn check(&self, _: Instant) -> Result<Standby> {
        Ok(Standby::Absent)
    }

    async fn clock(&self, _: Instant) -> Result<DatabaseClock> {
        Ok(DatabaseClock::OfProcess(None))
    }
}
