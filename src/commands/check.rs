//! `sessiond check`: whether a server could start with these settings, as far as that needs no database.

use crate::blobs::open;
use crate::config::{self, Config};
use crate::startup::StartError;

/// Checks what the command line could not: what settings name outside of themselves. `line` hears of what a start only warns of.
///
/// # Errors
/// A setting cannot be used; in the words of a start.
pub async fn run(config: &Config, line: &mut impl FnMut(&str)) -> Result<(), StartError> {
    let unknown = config::unknown_variables();
    if !unknown.is_empty() {
        line(&format!("warning: unknown variables that look like settings: {}", unknown.join(" ")));
    }
    let addresses = config.listen_addresses().await?;
    let access = config.access().map_err(StartError::Access)?;
    let asks_nobody = !access.required && access.admin_key.is_none() && access.jwt.is_none();
    if let (true, Err(exposed)) = (asks_nobody, config.check_exposure(&addresses)) {
        line(&format!("warning: unless the database has a key: {exposed}"));
    }
    let blobs = config.blobs();
    open::stores(&blobs).map_err(StartError::ArtifactStore)?;
    open::check(&blobs).await.map_err(StartError::ArtifactStore)
}
