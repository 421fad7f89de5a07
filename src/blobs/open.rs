//! The places for bytes that the settings name.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use super::Blobs;
use super::objects::address::Address;
use super::objects::folder::Folder;
use super::objects::{Objects, open_bucket};
use super::places::{Named, Places};
use crate::domain::erasure::instance;
use crate::features::lacks;
use crate::metrics::Metrics;
use crate::store::Store;

/// Where a setting says that bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArtifactStore {
    Database,
    Objects(Address),
}

impl FromStr for ArtifactStore {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "database" {
            return Ok(Self::Database);
        }
        match text.parse()? {
            Address::Bucket(_) if !cfg!(feature = "buckets") => Err(lacks("a bucket", "buckets")),
            address => Ok(Self::Objects(address)),
        }
    }
}

/// The settings about the places of bytes.
#[derive(Debug, Clone)]
pub struct BlobSettings {
    /// The first takes what is new; the others are read.
    pub stores: Vec<ArtifactStore>,
    /// Up to so many bytes stay in the database, whatever the store; 0: none, not even an empty file.
    pub inline_max: u64,
    /// How long one step of a store may take, with its repetitions.
    pub patience: Duration,
}

/// Opens the places for bytes, without a request to a store.
///
/// # Errors
/// The settings or the environment cannot be used; in words for an operator.
pub fn places(
    rows: Arc<dyn Store>,
    salt: &[u8; 32],
    settings: &BlobSettings,
    metrics: Arc<Metrics>,
) -> Result<Arc<dyn Blobs>, String> {
    let stores = stores(settings)?;
    let takes_new = matches!(settings.stores.first(), Some(ArtifactStore::Objects(_)));
    let inline_max = takes_new.then_some(settings.inline_max);
    Ok(Arc::new(Places::new(rows, stores, inline_max, instance(salt), metrics)))
}

/// Opens the stores of objects, without a request to one.
///
/// # Errors
/// The settings or the environment cannot be used; in words for an operator.
pub fn stores(settings: &BlobSettings) -> Result<Named, String> {
    let addresses = settings.stores.iter().filter_map(|store| match store {
        ArtifactStore::Objects(address) => Some(address),
        ArtifactStore::Database => None,
    });
    let open = |address: &Address| {
        let opened = objects(address, settings.patience).map_err(|error| format!("{address}: {error}"))?;
        Ok((address.to_string(), opened))
    };
    addresses.map(open).collect()
}

/// Tries the folder that takes what is new, if one does. No bucket is asked: it may be gone, and come back.
///
/// # Errors
/// This process may not write into it; in words for an operator.
pub async fn check(settings: &BlobSettings) -> Result<(), String> {
    match settings.stores.first() {
        Some(ArtifactStore::Objects(address @ Address::Folder(path))) => {
            let checked = Folder::new(path.clone(), settings.patience).check().await;
            checked.map_err(|error| format!("{address}: {error}"))
        }
        _ => Ok(()),
    }
}

/// Opens a store. `patience`: how long one step may take, with its repetitions.
///
/// # Errors
/// What the environment says about it cannot be used.
pub fn objects(address: &Address, patience: Duration) -> Result<Arc<dyn Objects>, String> {
    Ok(match address {
        Address::Folder(path) => Arc::new(Folder::new(path.clone(), patience)),
        Address::Bucket(url) => open_bucket(url, patience)?,
    })
}

#[cfg(test)]
mod tests;
