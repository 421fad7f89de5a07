//! PostgreSQL, 13 and later, also behind PgBouncer in transaction mode.
//!
//! - `words`: its dialect; `statements`: its own statements; `statement`: those over rows that are bound as arrays
//! - `connect`: connections; `distributed`: Citus; `ours`: whose a database is; `migrate`
//! - `read`, `write`: the statements of reads, appends and creations
//! - `tx`: a transaction; `feed`: its part of the change feed; `backend`: the database; `snapshots`: for `sessiond verify`

mod backend;
pub mod connect;
mod distributed;
mod feed;
mod migrate;
mod ours;
mod read;
mod snapshots;
mod statement;
pub mod statements;
mod tx;
pub mod words;
mod write;

pub use backend::Postgres;
pub use snapshots::Snapshots;
pub use tx::PgTx;
#[cfg(test)]
pub use write::composed;
