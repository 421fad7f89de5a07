//! Who writes, and what that forbids.

use super::fault::Rejected;
use super::json::Json;
use super::scope::Scope;

/// Who writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Writer {
    #[default]
    Anyone,
    /// A client of role `user`: it may not write as the agent, nor use the agent's actions.
    User,
}

impl Writer {
    /// The author of events without one.
    pub fn default_author(self) -> Option<&'static str> {
        (self == Self::User).then_some(USER)
    }

    /// # Errors
    /// An author that the writer may not name.
    pub fn check_author(self, author: &str) -> Result<(), Rejected> {
        let is_allowed = self == Self::Anyone || author == USER;
        allow(is_allowed, "the role `user` writes as the author `user` alone; `agent` could")
    }

    /// # Errors
    /// Keys of app state, and those of session state that an adapter keeps.
    pub fn check_keys<'a>(self, keys: impl IntoIterator<Item = (Scope, &'a str)>) -> Result<(), Rejected> {
        if self == Self::Anyone {
            return Ok(());
        }
        for (scope, key) in keys {
            allow(scope != Scope::App, "the role `user` may not name `app:` keys; `agent` could")?;
            allow(scope != Scope::Session || !is_kept(key), KEPT)?;
        }
        Ok(())
    }

    /// # Errors
    /// A file that an adapter keeps.
    pub fn check_file(self, name: &str) -> Result<(), Rejected> {
        allow(self == Self::Anyone || !is_kept(name.strip_prefix("user:").unwrap_or(name)), KEPT)
    }

    /// Checks the member `name` of an event, spelt as it is stored.
    ///
    /// # Errors
    /// It says what only an agent, a tool or an adapter can have said.
    pub fn check_member(self, name: &str, value: Json<'_>) -> Result<(), Rejected> {
        if self == Self::Anyone {
            return Ok(());
        }
        match name {
            "content" => check_content(value),
            "customMetadata" => {
                let mut members = value.as_object().into_iter().flatten();
                allow(!members.any(|member| METADATA.contains(&&*member.key)), KEPT)
            }
            _ => Ok(()),
        }
    }

    /// Checks a member of an event's actions other than those that change state.
    ///
    /// # Errors
    /// It is not empty, and only an agent may use it.
    pub fn check_action(self, value: Json<'_>) -> Result<(), Rejected> {
        let is_empty = || value.is_null() || matches!(value.canonical().as_ref(), "{}" | "[]" | "\"\"");
        let is_allowed = self == Self::Anyone || is_empty();
        allow(is_allowed, "the role `user` may not send actions beyond changes of state; `agent` could")
    }
}

/// The author of a user's messages, as in ADK.
const USER: &str = "user";
/// What keys of session state and names of files begin with that adapters keep: docs/frameworks.md has the list.
const PREFIXES: [&str; 7] = ["aiSdk/", "claude/", "lg/", "oai/", "openai/", "pydantic/", "strands/"];
/// The members of `customMetadata` that adapters, ADK's clients and the service itself read.
const METADATA: [&str; 11] = [
    "aiSdk",
    "claude",
    "langgraph",
    "openai",
    "openai_usage",
    "pydantic",
    "rewindCopyOf",
    "rewindToRevision",
    "sessiond_refused",
    "sessiond_unknown",
    "strands",
];
const KEPT: &str = "the role `user` may not write what an adapter keeps (docs/frameworks.md); `agent` could";
const SPEAKS: &str =
    "the role `user` says texts, data and files in `content`, with the role `user`; `agent` could say more";

fn is_kept(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Each part is a text, data or a file, and all of it is the user's.
fn check_content(content: Json<'_>) -> Result<(), Rejected> {
    let is_said = |part: Json<'_>| {
        let known = ["text", "inlineData", "fileData", "inline_data", "file_data"];
        part.as_object().is_some_and(|mut members| members.all(|member| known.contains(&&*member.key)))
    };
    let is_users = content.as_object().into_iter().flatten().all(|member| match &*member.key {
        "role" => member.value.is_null() || member.value.as_str().is_some_and(|role| role == USER),
        "parts" => member.value.as_array().is_none_or(|mut parts| parts.all(is_said)),
        _ => true,
    });
    allow(is_users, SPEAKS)
}

/// What is not allowed is denied for this reason.
fn allow(is_allowed: bool, detail: &'static str) -> Result<(), Rejected> {
    if is_allowed { Ok(()) } else { Err(Rejected::Denied { detail }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_have_the_whole_list() {
        let page = include_str!("../../docs/frameworks.md");
        for name in PREFIXES.iter().chain(&METADATA) {
            assert!(page.contains(&format!("`{name}`")), "docs/frameworks.md lacks {name}");
        }
    }
}
