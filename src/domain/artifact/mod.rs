//! Artifacts: files of a session or of a user, each a name with versions that never change (contract, section 13).
//!
//! - `version`: a version, and the preconditions on the latest one
//! - `part`: ADK's parts, in which a version may be given and shown
//! - `save`: which version a save makes

mod part;
mod save;
mod version;

pub use part::{Draft, Encoding, Frame, Part, parse_display_name, take_display_name, take_file_uri, take_mime_type};
pub use save::{
    ArtifactDeletion, BlobBegin, Held, HeldName, KeepVersions, LAST, LooseBlob, MAX_VERSIONS, Save, SaveEvent, Saved,
    SavedBlob, StoreFault, decide,
};
pub use version::{
    ArtifactList, ArtifactPage, Blob, BlobKey, Content, Found, IfVersion, Kind, MAX_METADATA_BYTES, Place, Version,
    VersionPage, Wanted, check_mime_type, parse_metadata,
};
