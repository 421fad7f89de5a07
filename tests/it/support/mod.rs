//! What the tests stand on.

pub mod client;
pub mod databases;
#[cfg(target_os = "linux")]
pub mod disk;
pub mod http;
pub mod load;
pub mod nginx;
pub mod pgbouncer;
pub mod postgres;
pub mod process;
pub mod proxy;
pub mod schema;
pub mod server;
pub mod state;
