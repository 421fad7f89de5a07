//! Pages for people, and the description of the API.

pub mod console;
pub mod docs;
pub mod home;
