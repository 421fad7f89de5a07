//! The handlers, one file per resource: the request and the answer of each endpoint, and its calls of the service.

pub mod access;
pub mod artifacts;
pub mod erasure;
pub mod events;
pub mod feed;
pub mod key_history;
pub mod lease;
mod look;
pub mod names;
pub mod past;
pub mod policy;
pub mod redact;
pub mod render;
pub mod search;
pub mod sessions;
pub mod state;
pub mod system;
pub mod transfer;
pub mod trim;
pub mod watch;
