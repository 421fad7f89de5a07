//! sessiond: session state for AI agents, as a service.
//!
//! A session has an event log and a `state`; the prefix of a key decides whether it lives in app, user or session
//! scope; state changes only by appending events. The modules, in reading order:
//!
//! - [`domain`]: the rules, pure: ids, JSON, scopes, events, and what an append does
//! - [`store`]: the transactions, once, over PostgreSQL and SQLite
//! - `blobs`: where the bytes of artifacts are
//! - [`service`]: the use cases: clock, limits, retries
//! - `access`: who a client is: keys, tokens, JWTs
//! - `http`: the API: the table of endpoints, requests, answers, errors, the description
//! - `server`: connections: admission, time limits, drain
//! - `origin`: whether a request comes from a page of another site
//! - `outgoing`: requests that the server makes itself; `traces`: spans for a collector
//! - `features`: what a program may be built without
//! - `allowance`: how long a peer may keep the server waiting
//! - [`config`], [`telemetry`], [`metrics`], [`startup`]: running the service
//! - [`commands`]: the other commands
//! - `program`: what `main` runs
//!
//! Only what `main` and the integration tests need is public.

mod access;
mod allowance;
mod blobs;
pub mod commands;
pub mod config;
pub mod domain;
mod features;
mod http;
pub mod metrics;
mod origin;
#[cfg(feature = "outgoing")]
mod outgoing;
mod program;
mod server;
pub mod service;
pub mod startup;
pub mod store;
pub mod telemetry;
mod traces;

pub use program::main;
