//! In place of `bucket`.

use std::sync::Arc;
use std::time::Duration;

use url::Url;

use super::Objects;
use crate::features::lacks;

/// # Errors
/// Always.
pub fn open(_: &Url, _: Duration) -> Result<Arc<dyn Objects>, String> {
    Err(lacks("a bucket", "buckets"))
}
