//! Pages for people, and the API description.

pub mod console;
pub mod docs;
pub mod home;
