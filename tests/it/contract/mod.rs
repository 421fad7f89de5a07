//! The contract, sentence by sentence, on both stores.

mod events;
mod scopes;
mod sessions;
