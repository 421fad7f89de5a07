//! What outlasts its first answer: streams, waits, long histories.

pub mod history;
pub mod stream;
pub mod wait;
pub mod watched;
