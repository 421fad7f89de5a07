//! The lines of an export: sessions and shared state as text, which an import restores byte for byte (contract, section 12).
//!
//! - `format`: what lines have in common
//! - `rows`: what an export asks for, and what an import writes
//! - `write`, `read`: the lines
//! - `import`: what becomes of the lines that an import reads

mod format;
mod import;
mod read;
mod rows;
#[cfg(test)]
mod tests;
mod write;

pub use format::{DATA_BYTES, LONGEST_DATA, LinesDigest, data_lines};
pub use import::{
    Ask, Fault, ImportMachine, ImportOptions, ImportResult, Imported, ImportedPart, Measure, OnConflict, Unread, Write,
};
pub use read::{ArtifactLine, Line, Totals};
pub use rows::{
    AfterArtifact, ArtifactImport, ArtifactsPage, ArtifactsQuery, ExportQuery, ExportSource, Exported,
    ExportedArtifact, ImportChunk, ImportEnd, ImportRows, ImportedArtifact, ImportedRow, LogRow, Lost, NamedFile,
    PastChange, PastEnd, PastPage, PastQuery, PastRows, ScopeHead, ScopeImport, SessionLine, is_object,
};
pub use write::{
    artifact_line, change_line, data_line, empty_export, end_of_session, first_line, last_line, old_session_line,
    parse_cursor, row_line, session_line, state_line,
};
