//! The commands besides `serve`. They use the service, the store, or the management of access.

pub mod backup;
pub mod check;
pub mod erasures;
pub mod keys;
pub mod receipts;
pub mod transfer;
pub mod verify;
