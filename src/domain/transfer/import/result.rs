//! What is asked of an import, and what becomes of each part.

use crate::domain::Rejected;
use crate::domain::artifact::MAX_VERSIONS;
use crate::domain::ids::{AppName, ArtifactName, UserId};
use crate::domain::json::ObjectText;
use crate::domain::refusal::Refusal;

/// Why a line was skipped unread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    TooLong,
    /// There was no memory for it.
    NoRoom,
}

/// What to do with a session if its id is taken by another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnConflict {
    #[default]
    Fail,
    Skip,
}

#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    pub on_conflict: OnConflict,
    /// The name for the imported app.
    pub app: Option<AppName>,
    /// Check everything and write nothing.
    pub dry_run: bool,
}

/// The result of one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    pub of: ImportedPart,
    pub result: ImportResult,
}

/// A part of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportedPart {
    Session(UserId, String),
    /// The state of a user or, without one, of the app. Reported only if it was not imported.
    State(Option<UserId>),
    /// An artifact of a user. Reported only if it was not imported.
    Artifact(UserId, ArtifactName),
    /// A session whose first line could not be read.
    Unread,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportResult {
    Created,
    /// The same session exists already.
    Unchanged,
    Skipped(Fault),
    Failed(Fault),
}

impl Imported {
    /// Its line in the answer.
    pub fn to_line(&self) -> String {
        let mut line = ObjectText::default();
        match &self.of {
            ImportedPart::Session(_, session) => line.push_str("session", session),
            ImportedPart::State(None) => line.push_str("scope", "app"),
            ImportedPart::State(Some(_)) | ImportedPart::Artifact(..) => line.push_str("scope", "user"),
            ImportedPart::Unread => line.push("session", "null"),
        }
        if let ImportedPart::Session(user, _) | ImportedPart::State(Some(user)) | ImportedPart::Artifact(user, _) =
            &self.of
        {
            line.push_str("userId", user.as_str());
        }
        if let ImportedPart::Artifact(_, name) = &self.of {
            line.push_str("artifact", name.as_str());
        }
        let (result, why) = match &self.result {
            ImportResult::Created => ("created", None),
            ImportResult::Unchanged => ("unchanged", None),
            ImportResult::Skipped(fault) => ("skipped", Some(fault)),
            ImportResult::Failed(fault) => ("failed", Some(fault)),
        };
        line.push_str("result", result);
        if let Some(Fault { code, detail }) = why {
            line.push_str("code", code);
            line.push_str("detail", detail);
        }
        let mut text = line.close();
        text.push('\n');
        text
    }
}

/// Why a part is not imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub code: &'static str,
    pub detail: String,
}

impl Fault {
    pub(super) fn new(code: &'static str, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into() }
    }

    /// # Errors
    /// The fault, unless this holds.
    pub(super) fn unless(holds: bool, fault: impl FnOnce() -> Self) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(fault()) }
    }

    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new("invalid_argument", detail)
    }

    pub(super) fn too_many() -> Self {
        Self::new("limit_reached", format!("there are more than {MAX_VERSIONS} versions of artifacts"))
    }

    /// Of bytes whose place is gone.
    pub fn bytes_lost() -> Self {
        Self::new("user_erased", "the user was erased, or its bytes took too long")
    }

    /// # Errors
    /// The refusal, if no write of an import has it.
    pub(super) fn of(refusal: Refusal) -> Result<Self, Refusal> {
        let (code, detail) = match refusal {
            Refusal::ImportLost | Refusal::BlobLost => {
                ("request_timeout", "too much time passed between two lines; import it again")
            }
            Refusal::ErasedSince => ("user_erased", "the user was erased after the import began"),
            Refusal::UserErased => ("user_erased", "the user was erased, and is blocked"),
            Refusal::OtherState => ("revision_mismatch", "the scope has other state, which stays as it is"),
            Refusal::ArtifactVersionExists => {
                ("artifact_version_exists", "the user has another artifact of this name, which stays as it is")
            }
            Refusal::LimitReached(_) => return Ok(Self::too_many()),
            refusal => return Err(refusal),
        };
        Ok(Self::new(code, detail))
    }
}

impl From<Rejected> for Fault {
    fn from(rejected: Rejected) -> Self {
        let code = match &rejected {
            Rejected::InvalidJson { .. } => "invalid_json",
            Rejected::Invalid(_) => "invalid_argument",
            Rejected::Denied { .. } => "permission_denied",
            Rejected::TooLarge { .. } => "payload_too_large",
        };
        Self::new(code, rejected.to_string())
    }
}
