//! The path of every request from the server to its handler and back.

pub mod edge;
pub mod pipeline;
pub mod routes;
pub mod trace;
