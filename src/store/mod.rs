//! What the service asks of a database, and the two databases that answer. Each uses only what stands above it (`tests/it/walls.rs`):
//!
//! - [`shape`]: what kind of thing a database is; [`error`]: what a failure means for the caller, SQLSTATE by SQLSTATE
//! - `sql`: the dialects of the databases, statements and what they bind, the columns and rows that several files share
//! - [`limits`]: the settings that bound what is asked of a database; `pool`: connections between one transaction and the next
//! - [`backend`]: what a database brings: lock, load, apply; no rules
//! - `named`: which versions of files events name
//! - [`run`]: the only ways into the database: limits of time, the cache of heads, group commit; `transactions`: what those of all
//!   resources are over
//! - `access`: keys and tokens; `load`: what a decision needs; `blocked`: whether anything may be made for a user
//! - the resources, each with its traits (`Reads`: what is read for clients; `Writes`: what only the service does, which is writes, and
//!   reads for work of its own), its transactions, written once over [`backend::Tx`], its statements and its rows: `sessions`, `appends`, `leases`, [`artifacts`], `effective` (what a model reads), `search` (the index of what was said), `feed`, `erasures`,
//!   `trim`, `policies`, `transfer` (export and import), `shared` (app and user state), `past` (forks, rewinds, moments), `redact`,
//!   `upkeep`
//! - `migrations`: what both databases share of them; `postgres`, `sqlite`: the two databases
//! - `url`: what a database URL may hold
//! - [`nowhere`]: the reads of a store that holds nothing; [`open`]: the database that a URL names, and its file, for `sessiond backup`
//! - [`inspect`]: what `sessiond verify` reads, beside a server or without one
//!
//! Here is [`Store`] alone, which is all of them. No transaction handle leaves this folder.

mod access;
mod appends;
pub mod artifacts;
pub mod backend;
mod blocked;
mod effective;
mod erasures;
pub mod error;
mod feed;
pub mod inspect;
mod leases;
pub mod limits;
mod load;
mod migrations;
mod named;
pub mod nowhere;
pub mod open;
mod past;
mod policies;
pub(crate) mod pool;
mod postgres;
mod redact;
pub mod run;
mod search;
mod sessions;
pub mod shape;
mod shared;
mod sql;
mod sqlite;
#[cfg(test)]
mod tests;
mod transactions;
mod transfer;
mod trim;
mod upkeep;
mod url;

/// A trait that is the sum of others, and what is all of these has it.
macro_rules! sum {
    ($(#[$about:meta])* $name:ident: $($part:path),+ $(,)?) => {
        $(#[$about])*
        pub trait $name: $($part +)+ {}
        impl<S: $($part +)+> $name for S {}
    };
}

sum! {
    /// What is read of a database of sessions for clients. Every method is one transaction, or one statement, and shows one moment. Where the
    /// database has a clock of its own, that clock judges whether a session has expired, and `now` is what the calling process thinks.
    ///
    /// `deadline` bounds the whole call.
    Reads: sessions::Reads, shared::Reads, leases::Reads, past::Reads, redact::Reads, artifacts::Reads, transfer::Reads, access::Reads,
    policies::Reads, search::Reads, erasures::Reads, feed::Reads, upkeep::Reads,
}

sum! {
    /// A database of sessions, with what only the service does. Every write is one transaction. One that returns `Ok` is durable; one that is refused wrote nothing;
    /// one that fails says in its error whether it may have happened all the same.
    Store: Reads, sessions::Writes, appends::Writes, shared::Writes, leases::Writes, past::Writes, trim::Writes, redact::Writes,
    effective::Writes, search::Writes, artifacts::Writes, transfer::Writes, access::Writes, policies::Writes, erasures::Writes, feed::Writes, upkeep::Writes,
}
