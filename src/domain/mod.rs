//! The rules, and nothing else: no async, no I/O, no database, no HTTP.
//!
//! Everything here is a function of its arguments, time and fresh ids included, so each rule can be
//! read in one place and tested without a server. In reading order:
//!
//! - [`json`]: one-pass validation; values stay text, byte for byte
//! - [`number`]: JSON numbers as exact decimals
//! - [`ids`]: names that were checked once and cannot be mixed up
//! - [`time`]: whole microseconds, exact from and to JSON numbers
//! - [`scope`]: which prefix lives where
//! - [`ops`]: the operators on a state value
//! - [`envelope`]: reading the fields of a request body
//! - [`change`]: changes of state as requests write them
//! - [`shape`]: what google-adk knows below the fields of an event
//! - [`event`]: an ADK event, as given and as stored
//! - [`session`]: a session's head, its creation and its metadata
//! - [`request_key`]: how a retry of a request without an event is recognised
//! - [`tag`]: revisions as entity tags, and the precondition they express
//! - [`cursor`], [`feed`]: where a reader of an event log, or of the change feed, stands
//! - [`lease`]: one turn at a time
//! - [`history`]: where past values are filed
//! - [`rewind`]: taking events back
//! - [`resolve`]: the result of a change, given the current values
//! - [`loaded`], [`writes`]: what a decision needs, and what it changes
//! - [`append`]: what a batch of appends does to what the store holds
//! - [`scope_write`]: changes of app or user state on their own
//! - [`access`]: who may do what
//! - [`query`], [`command`]: what readers and writers ask for, and what they get
//! - [`trim`]: where a session begins
//! - [`policy`]: how long the data of an app is kept
//! - [`erasure`], [`receipt`]: what is removed with a user, and what proves it
//! - [`transfer`]: sessions as lines of JSON
//! - [`template`]: text in which placeholders stand for values of the state
//! - [`verify`]: whether the stored state follows from the events

pub mod access;
pub mod append;
pub mod change;
pub mod command;
pub mod cursor;
pub(crate) mod envelope;
pub mod erasure;
pub mod event;
pub mod feed;
pub(crate) mod history;
pub mod ids;
pub mod json;
pub mod lease;
pub(crate) mod loaded;
pub(crate) mod number;
pub(crate) mod ops;
pub mod policy;
pub mod query;
pub mod receipt;
pub mod request_key;
pub mod resolve;
pub mod rewind;
pub mod scope;
pub mod scope_write;
pub mod session;
pub mod shape;
pub mod tag;
pub(crate) mod template;
pub mod time;
pub mod transfer;
pub mod trim;
pub(crate) mod verify;
pub(crate) mod writes;

use std::fmt;

use access::Writer;
pub use writes::Committed;

/// One field at fault, as the `errors` list of an error shows it.
///
/// Never holds a value: only where the fault is and which rule was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The name of a field or parameter, or a JSON pointer into what was given.
    pub field: String,
    pub message: String,
}

impl FieldError {
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}

/// Why input was refused, independent of what is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejected {
    /// Not JSON. `offset` is in bytes.
    InvalidJson { offset: usize, what: &'static str },
    /// JSON that breaks a rule, at each of these fields.
    Invalid(Vec<FieldError>),
    /// What the role of the client may not write.
    Denied { detail: &'static str },
    /// Over the limit of an event, a value or a batch; `limit` is its name in the metrics.
    TooLarge { limit: &'static str, detail: String },
}

impl Rejected {
    pub fn field(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldError::new(field, message)])
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidJson { what, .. } => f.write_str(what),
            Self::Denied { detail } => f.write_str(detail),
            Self::TooLarge { detail, .. } => f.write_str(detail),
            Self::Invalid(errors) => {
                let texts: Vec<String> =
                    errors.iter().map(|error| format!("{} {}", error.field, error.message)).collect();
                f.write_str(&texts.join("; "))
            }
        }
    }
}

impl From<json::JsonError> for Rejected {
    fn from(error: json::JsonError) -> Self {
        match error {
            json::JsonError::Syntax { offset, what } => Self::InvalidJson { offset, what },
            json::JsonError::Refused { pointer, what } => Self::field(pointer, what),
        }
    }
}

/// Limits on what a request carries. The defaults are those of the settings.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// In whose name it writes.
    pub writer: Writer,
    /// Bytes of one event as given.
    pub event_bytes: usize,
    /// Bytes of one state value.
    pub value_bytes: usize,
    /// Events in one request.
    pub batch_events: usize,
    /// State keys that one request names: of deltas, operators and preconditions together, and of a read.
    pub state_keys: usize,
    /// Rows of one page.
    pub page_rows: usize,
    /// Bytes of one page, which a first row alone may exceed, and of a rendered template.
    pub page_bytes: usize,
}

impl Limits {
    /// No limits on input, for events that the server composes from stored state.
    pub fn unbounded_input() -> Self {
        let most = usize::MAX;
        Self { event_bytes: most, value_bytes: most, batch_events: most, state_keys: most, ..Self::default() }
    }

    /// # Errors
    /// The request names too many state keys.
    pub fn check_keys(&self, keys: usize) -> Result<(), Rejected> {
        if keys <= self.state_keys {
            return Ok(());
        }
        let detail = format!("more than {} state keys in one request", self.state_keys);
        Err(Rejected::TooLarge { limit: "state_keys", detail })
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            writer: Writer::Anyone,
            event_bytes: 4 << 20,
            value_bytes: 4 << 20,
            batch_events: 1000,
            state_keys: 10_000,
            page_rows: 1000,
            page_bytes: 8 << 20,
        }
    }
}
