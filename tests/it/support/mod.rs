//! What the tests stand on. A test names its database, runs a service on it, and asks that service as a client:
//!
//! - [`databases`]: a place for data, the macro that stamps a test for both databases, and the proof that what is stored is
//!   what the events say
//! - [`server`]: the service in this process; quick, so it is the one to take unless a test is about processes
//! - [`binary`]: the real binary: what is killed, drained, started twice, or put behind something that breaks
//! - [`signing`]: what an issuer of JWT has: the one that the unit tests use
//! - [`client`]: the client of either, which holds every answer against `openapi.yaml` ([`schema`])
//! - [`sse`]: the client of a watch

pub mod binary;
pub mod client;
pub mod databases;
#[cfg(target_os = "linux")]
pub mod disk;
pub mod load;
pub mod nginx;
pub mod pgbouncer;
pub mod postgres;
pub mod process;
pub mod proxy;
pub mod schema;
pub mod server;
#[path = "../../../src/access/testing/mod.rs"]
pub mod signing;
pub mod sse;
pub mod state;
