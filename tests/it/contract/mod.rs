//! What clients may rely on (README.md, `openapi.yaml`), sentence by sentence, on both stores.

mod adk;
mod conventions;
mod errors;
mod events;
mod expiry;
mod fidelity;
mod idempotency;
mod limits;
mod listing;
mod paging;
mod preconditions;
mod render;
mod replicas;
mod scope_state;
mod scopes;
mod sessions;
mod snapshots;
mod state;
