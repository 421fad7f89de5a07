//! What clients may rely on (README.md, `openapi.yaml`), sentence by sentence, on both stores.

pub mod access;
mod adk;
mod conventions;
mod edge;
mod errors;
mod events;
mod expiry;
mod fidelity;
mod fork;
mod idempotency;
mod key_preconditions;
mod lease;
mod limits;
mod listing;
mod operators;
mod paging;
mod preconditions;
mod render;
mod replicas;
mod rewind;
mod safety;
mod scope_state;
mod scopes;
mod sessions;
mod snapshots;
mod state;
mod time_travel;
