//! One test binary: black-box tests over TCP, on every store.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and what watches real processes needs real clocks"
)]

mod openapi;
mod quickstart;
mod support;
