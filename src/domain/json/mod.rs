//! JSON from outside, validated once and then kept as text, byte for byte.
//!
//! [`Json::parse`] is the only gate: what it lets through is RFC 8259 JSON that every client can read again (README,
//! "Fidelity"). From then on a value is a slice of the text that it came in; [`Json`] looks inside without changing it,
//! [`RawJson`] owns it. Nothing here recurses, so the depth of a document never threatens the stack, and nothing is slower than
//! O(n log n) in its length. In reading order:
//!
//! - `strings`: where the text of a string ends, what its escapes mean, and how a string is written
//! - `tokens`: the tokens of valid text, and the values directly inside a container
//! - `value`: a value, borrowed or owned, and what is inside
//! - `validate`: the one pass over a document from outside
//! - `canonical`: the text that JSON-equal values share
//! - `write`: objects under construction

mod canonical;
mod strings;
#[cfg(test)]
mod tests;
mod tokens;
mod validate;
mod value;
mod write;

pub use strings::{push_string, string_array};
pub use validate::JsonError;
pub use value::{Json, Kind, Member, RawJson};
pub use write::ObjectText;
