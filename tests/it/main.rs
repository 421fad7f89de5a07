//! One test binary: black-box tests over TCP, on every store.

mod contract;
mod support;
