//! What the policy of an app bounds.

use crate::domain::ids::AppName;
use crate::domain::policy::Bounds;
use crate::store::backend::Tx;
use crate::store::error::StoreError;
use crate::store::sql::query::{Query, at_most_one};
use crate::store::sql::statements::statements;

/// What the policy of an app bounds, as of now.
pub async fn of<X: Tx>(tx: &mut X, app: &AppName) -> Result<Bounds, StoreError> {
    let found: Option<(Option<i64>, Option<i64>, Option<i64>)> =
        at_most_one(tx, Query::new(&Statements::of(tx).bounds).app(app)).await?;
    let (sessions_per_user, events_per_session, artifact_bytes_per_user) = found.unwrap_or_default();
    Ok(Bounds { sessions_per_user, events_per_session, artifact_bytes_per_user })
}

statements! { _words,
    /// What the policy of an app bounds of what is stored.
    bounds: "select sessions_per_user, events_per_session, artifact_bytes_per_user from policies where app_name = $1",
}
