//! The client against a real sessiond, on SQLite in a temporary folder.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects")]

mod access;
mod artifacts;
mod concurrency;
mod contract;
mod faults;
mod history;
mod memory;
mod programs;
mod requests;
mod runner;
mod service;
mod support;
mod watch;
