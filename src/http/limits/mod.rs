//! What is under way at a time, and how much may be asked: by all, by an app, by a user.

pub mod admission;
pub mod memory;
pub mod rates;
pub mod shares;
