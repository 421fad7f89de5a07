//! What tests are made of.

pub mod pgbouncer;
pub mod postgres;
pub mod process;
pub mod proxy;
pub mod schema;
