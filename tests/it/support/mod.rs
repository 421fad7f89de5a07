//! What the tests stand on.

pub mod http;
pub mod load;
pub mod pgbouncer;
pub mod postgres;
pub mod process;
pub mod proxy;
