//! What the tests stand on.

pub mod process;
pub mod schema;
