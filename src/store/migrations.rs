//! Migrations, as far as both databases share them.

use sqlx::migrate::Migrator;

use super::error::StoreError;

/// Refuses a database that lacks a migration of this binary. What it has on top, a newer binary applied: migrations
/// within a major version keep older binaries working.
///
/// # Errors
/// Migrations are pending.
pub fn all_applied(migrator: &Migrator, applied: &[i64]) -> Result<(), StoreError> {
    if migrator.iter().all(|migration| applied.contains(&migration.version)) {
        Ok(())
    } else {
        Err(StoreError::config("migrations are pending: run `sessiond migrate`"))
    }
}
