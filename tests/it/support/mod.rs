//! The test harness. A test chooses a database, runs a service on it, and sends requests as a client:
//!
//! - [`databases`]: a test database, the macro that instantiates a test for both databases, and the proof that stored
//!   data follows from the events
//! - [`server`]: the service in this process. It is quick, so use it unless the test is about processes
//! - [`binary`]: the real binary, to be killed, drained, started twice, or put behind something that fails
//! - [`signing`]: an issuer of JWTs, shared with the unit tests
//! - [`client`]: the client of either, which validates every answer against `openapi.yaml` ([`schema`])
//! - [`s3`]: a store for artifacts
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
pub mod random;
pub mod s3;
pub mod schema;
pub mod server;
#[path = "../../../src/access/jwt/testing/mod.rs"]
pub mod signing;
pub mod sse;
pub mod state;

/// The folder of the repository.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
