//! Pages for people.

pub mod console;
pub mod home;
