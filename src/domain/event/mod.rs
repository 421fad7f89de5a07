//! An ADK event: what the server reads of it, and the text that it keeps.
//!
//! The server reads `id`, `timestamp`, `author`, `invocationId`, `branch`, `partial` and `actions`; everything
//! else is kept byte for byte. Known fields of the event and of its `actions` given in snake_case come back in
//! camelCase, and so do the names that ADK knows below them ([`shape`](super::shape)). In reading order:
//!
//! - `names`: the fields of an event and of its actions
//! - `stored`: an event as it is stored, and what it costs
//! - `digest`: what tells a retry from a conflict
//! - `reader`: the members that a client sends, checked; all faults are collected
//! - `draft`: an event as a client gave it, or as a change of state makes it

mod digest;
mod draft;
mod names;
mod reader;
mod stored;

pub(super) use digest::Content;
pub use digest::REDACTED;
pub use draft::{EventDraft, stored_digest};
pub(super) use names::STATE_FIELDS;
pub use names::{ACTION_DEFAULTS, ACTION_FIELDS, EVENT_FIELDS, OWN_FIELDS};
pub use reader::named_versions;
pub use stored::{
    NewEvent, Remains, Rewind, StoredEvent, cost, cost_beside, redaction_of, removed_keys, show_delta, show_versions,
    with_known_names,
};
