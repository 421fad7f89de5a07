//! The tests from outside, in one binary.

mod openapi;
mod support;
