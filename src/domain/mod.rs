//! The rules, and nothing else: no async, no I/O, no database, no HTTP.
//!
//! Everything is a function of its arguments, time and fresh ids included, so each rule is in one place and tested without a
//! server. Each uses only what stands above it (`tests/it/walls.rs`):
//!
//! - `word`: enums of words; `fault`: why input is refused
//! - [`number`]: JSON numbers as exact decimals; [`json`]: one-pass validation; values stay text, byte for byte
//! - [`envelope`]: reading the fields of a request body
//! - [`time`]: whole microseconds, exact from and to JSON numbers
//! - [`scope`]: which prefix lives where; [`ids`]: names that were checked once and cannot be mixed up
//! - `writer`, `limits`: who writes, and how much a request may carry
//! - [`ops`]: the operators on a state value; [`change`]: changes of state as requests write them
//! - [`effective`]: the events of which ADK makes a prompt
//! - [`shape`]: the names and types that google-adk knows below the fields of an event
//! - [`event`]: an ADK event, as given and as stored
//! - [`request_key`]: how a retry of a request without an event is recognised
//! - [`shown`]: what the answer to a write shows
//! - [`tag`]: revisions as entity tags, and the precondition they express
//! - [`session`]: a session's head, its creation and its metadata
//! - [`erasure`]: users are erased
//! - [`access`]: who may do what; [`activity`]: how much an app does
//! - [`lease`]: one turn at a time
//! - [`refusal`]: why a write is not made
//! - [`loaded`]: the data that a decision needs; [`resolve`]: the result of a change, given the current values
//! - [`state_range`]: the keys of a state with a prefix, and pages of them
//! - [`query`]: requests of readers, and their results; [`feed`]: positions in the change feed
//! - [`writes`]: the rows that a decision writes; [`guard`]: its conditions; [`append`]: decides a batch of appends
//! - [`artifact`]: files: their versions, their parts as ADK has them, and which version a save makes
//! - [`command`]: requests of writers, and their results; [`cursor`]: positions in an event log
//! - [`find`]: whether a text holds words
//! - [`fold`]: a map whose past is kept; [`history`]: the index of its past; [`key_history`]: pages of the past of a key
//! - [`trim`]: where a session begins; [`policy`]: how long the data of an app is kept
//! - [`search`]: the words of events, and the order of hits
//! - [`receipt`]: proves an erasure
//! - [`rewind`]: taking events back; [`redact`]: what of an event must not be read again
//! - [`scope_write`]: changes of app or user state on their own
//! - [`template`]: text in which placeholders stand for values of the state
//! - [`transfer`]: sessions as lines of JSON; [`verify`]: whether the stored state follows from the events

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
pub mod search;
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
pub(crate) mod word;
mod writer;
pub(crate) mod writes;

pub use fault::{FieldError, Rejected};
pub use limits::Limits;
pub use writes::Committed;
