//! What the tests stand on.

pub mod client;
#[expect(dead_code, reason = "what breaks a server is for the fault tests")]
pub mod postgres;
#[expect(dead_code, reason = "what breaks a server is for the fault tests")]
pub mod process;
pub mod schema;
pub mod server;
