//! How much of what it wrote a request is shown.

/// What the answer to a write shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// The events, or the session with its merged state and its events.
    Full,
    /// Of each event its place in the log, or of the session its head: what the client cannot know.
    Minimal,
}
