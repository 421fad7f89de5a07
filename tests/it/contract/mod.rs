//! The contract, sentence by sentence, on both stores.

mod events;
mod idempotency;
mod preconditions;
mod scope_state;
mod scopes;
mod sessions;
mod state;
