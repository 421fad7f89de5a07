//! A café.
fn main() {}
