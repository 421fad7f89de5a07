//! The tests that need a running server, a database or a network: one binary, so that they link once.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and what watches real processes needs real clocks"
)]

mod support;

mod access;
mod artifact_faults;
mod artifact_saves;
mod artifact_stores;
mod audit;
#[cfg(target_os = "linux")]
mod backup;
mod clocks;
mod contract;
mod counters;
mod database_log;
mod databases;
mod failover;
mod faults;
mod foreign_reads;
mod live;
mod migrations;
mod model;
mod openapi;
mod ops;
mod overload;
mod plans;
mod postgres_variants;
mod quickstart;
mod races;
mod rates;
mod released;
mod rolling_restart;
mod rolling_upgrade;
mod running;
mod secrets;
mod store;
mod surface;
mod traces;
mod verify;
mod walls;
mod ways;
