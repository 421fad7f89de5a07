//! The contract, sentence by sentence, on both stores.

mod scopes;
