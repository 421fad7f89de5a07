//! Limits on concurrent work and on rates: of all, of an app, of a user.

pub mod admission;
pub mod memory;
pub mod rates;
pub mod shares;
