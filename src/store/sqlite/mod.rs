//! SQLite, embedded: one file, one process, one writer and many readers (WAL).
//!
//! - `words`: its dialect; `rows`: statements over many rows; `write`: those of appends and creations
//! - `file`: the file, its lock and its owner; `ours`: whose a file is
//! - `tx`: a transaction; `backend`: the database; `snapshots`: for `sessiond verify`; `copy`: for `sessiond backup`

mod backend;
mod copy;
mod file;
mod ours;
mod rows;
mod snapshots;
mod tx;
pub mod words;
mod write;

pub use backend::Sqlite;
pub use copy::{Original, wrong_pages};
pub use file::place;
pub use snapshots::Snapshots;
pub use tx::SqliteTx;
#[cfg(test)]
pub use write::composed;
