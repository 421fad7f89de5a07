//! A session service, an artifact service and a memory service for Google's Agent Development Kit for Rust (the crates
//! `adk-*`) on sessiond.
//!
//! ```no_run
//! # fn f() -> Result<(), sessiond_adk::Error> {
//! use std::sync::Arc;
//!
//! use adk_session::SessionService;
//! use sessiond_adk::SessiondSessionService;
//!
//! let sessions: Arc<dyn SessionService> = Arc::new(SessiondSessionService::new("http://127.0.0.1:8080")?);
//! // Runner::builder().session_service(sessions)
//! # Ok(()) }
//! ```
//!
//! | | |
//! |---|---|
//! | [`SessiondSessionService`] | the service, and its [`Builder`] |
//! | [`SessiondSessionService::artifacts`] | the artifact service, [`SessiondArtifactService`] |
//! | [`SessiondSessionService::memory`], [`SessiondSessionService::search`] | the memory service, [`SessiondMemoryService`]; what was said |
//! | [`ops`] | atomic changes of state, for tools |
//! | [`SessiondSessionService::watch`] | following a session, as a stream of [`WatchItem`] |
//! | [`Concurrency`], [`SessiondSessionService::turn`] | several writers of one session |
//! | [`History`] | which events of a session are loaded |
//! | [`Error`] | what can go wrong |
#![forbid(unsafe_code)]

mod artifacts;
mod error;
mod http;
mod op;
pub mod ops;
mod service;
mod sse;
mod token;
mod turn;
mod watch;
mod wire;

pub use artifacts::SessiondArtifactService;
pub use error::{Error, ErrorKind, Outcome};
pub use service::{
    Builder, Concurrency, History, SearchHit, SearchHits, SearchOptions, SessiondMemoryService, SessiondSessionService,
};
pub use token::Token;
pub use turn::Turn;
pub use watch::{WatchFrom, WatchItem};
pub use wire::UNKNOWN;
