//! Answers that outlast their first part: streams, waits, long histories.

pub mod array;
pub mod history;
pub mod stream;
pub mod wait;
pub mod watched;
