//! An import without I/O: lines become what is to be asked, and answers become results.
//!
//! - `machine`: which line ends what, and what a fault ends
//! - `session`, `scope`, `files`: what is read of each
//! - `ask`: what the machine asks; `result`: what becomes of each part

mod ask;
mod files;
mod machine;
mod result;
mod scope;
mod session;
#[cfg(test)]
mod tests;

pub use ask::{Ask, Write};
pub use files::Measure;
pub use machine::ImportMachine;
pub use result::{Fault, ImportOptions, ImportResult, Imported, ImportedPart, OnConflict, Unread};
