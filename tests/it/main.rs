//! The tests from outside, in one binary.

mod contract;
mod openapi;
mod support;
