//! What the command line does beside serving: over the service, the store, or the access to them.

pub mod erasures;
pub mod keys;
pub mod receipts;
pub mod transfer;
pub mod verify;
