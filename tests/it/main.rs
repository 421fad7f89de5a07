//! The tests that need a running server, a database or a network: one binary, so that they link once.

mod support;

mod faults;
mod migrations;
mod races;
mod running;
