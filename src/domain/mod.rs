//! The rules, and nothing else: no async, no I/O, no database, no HTTP.
//!
//! Everything is a function of its arguments, time and fresh ids included, so each rule is in one place and tested without a
//! server. From what all use to what few use:
//!
//! - `fault`: why input is refused
//! - [`json`]: one-pass validation; values stay text, byte for byte
//! - [`number`]: JSON numbers as exact decimals
//! - [`ids`]: names that were checked once and cannot be mixed up
//! - [`time`]: whole microseconds, exact from and to JSON numbers
//! - [`scope`]: which prefix lives where
//! - [`ops`]: the operators on a state value
//! - [`envelope`]: reading the fields of a request body
//! - [`change`]: changes of state as requests write them
//! - [`shape`]: the names and types that google-adk knows below the fields of an event
//! - [`shown`]: what the answer to a write shows
//! - [`event`]: an ADK event, as given and as stored
//! - [`session`]: a session's head, its creation and its metadata
//! - [`request_key`]: how a retry of a request without an event is recognised
//! - [`tag`]: revisions as entity tags, and the precondition they express
//! - [`cursor`], [`feed`]: positions in an event log and in the change feed
//! - [`lease`]: one turn at a time
//! - [`artifact`]: files: their versions, their parts as ADK has them, and which version a save makes
//! - [`history`]: the index of past values; `fold`: a map whose past is kept
//! - [`rewind`]: taking events back
//! - [`refusal`]: why a write is not made; [`guard`]: the conditions of a write
//! - [`resolve`]: the result of a change, given the current values
//! - [`loaded`], [`writes`]: the data that a decision needs, and the rows that it writes
//! - [`append`]: decides a batch of appends
//! - [`scope_write`]: changes of app or user state on their own
//! - [`access`]: who may do what
//! - `limits`, `writer`: how much a request may carry, and who writes
//! - [`key_history`]: pages of the past of a key
//! - [`state_range`]: the keys of a state with a prefix, and pages of them
//! - [`find`]: whether a text holds words
//! - [`query`], [`command`]: requests of readers and writers, and their results
//! - [`activity`]: how much an app does
//! - [`trim`]: where a session begins; [`redact`]: what of an event must not be read again
//! - [`policy`]: how long the data of an app is kept
//! - [`erasure`], [`receipt`]: users are erased, and receipts prove it
//! - [`transfer`]: sessions as lines of JSON
//! - [`effective`]: the events of which ADK makes a prompt
//! - [`template`]: text in which placeholders stand for values of the state
//! - [`verify`]: whether the stored state follows from the events

pub mod access;
pub mod activity;
pub mod append;
pub mod artifact;
pub mod change;
pub mod command;
pub mod cursor;
pub mod effective;
pub(crate) mod envelope;
pub mod erasure;
pub mod event;
mod fault;
pub mod feed;
pub mod find;
pub(crate) mod fold;
pub mod guard;
pub(crate) mod history;
pub mod ids;
pub mod json;
pub mod key_history;
pub mod lease;
mod limits;
pub(crate) mod loaded;
pub(crate) mod number;
pub(crate) mod ops;
pub mod policy;
pub mod query;
pub mod receipt;
pub mod redact;
pub mod refusal;
pub mod request_key;
pub mod resolve;
pub mod rewind;
pub mod scope;
pub mod scope_write;
pub mod session;
pub mod shape;
pub mod shown;
pub mod state_range;
pub mod tag;
pub(crate) mod template;
pub mod time;
pub mod transfer;
pub mod trim;
pub(crate) mod verify;
mod writer;
pub(crate) mod writes;

pub use fault::{FieldError, Rejected};
pub use limits::Limits;
pub use writes::Committed;
