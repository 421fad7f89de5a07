//! The contract, sentence by sentence, on both stores.

mod conventions;
mod events;
mod fidelity;
mod idempotency;
mod limits;
mod preconditions;
mod scope_state;
mod scopes;
mod sessions;
mod state;
