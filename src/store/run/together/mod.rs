//! What shares a transaction or a statement: group commit of appends, and coalesced calls.

pub mod appends;
pub mod calls;
mod span;
mod turns;

/// Whether a call may share a transaction with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    Group,
    Alone,
}
