//! The names in a path, and whether the client's grant covers them.

use std::iter;

use percent_encoding::percent_decode_str;

use crate::access::Client;
use crate::domain::access::Target;
use crate::domain::artifact::{Place, Wanted};
use crate::domain::change::Keys;
use crate::domain::ids::{AppName, ArtifactName, EventId, ScopeKey, SessionId, SessionKey, UserId, UserKey};
use crate::domain::scope;
use crate::http::describe::Access;
use crate::http::reply::{Code, Problem};

#[derive(Debug, Default, Clone)]
pub struct PathNames {
    pub app: Option<AppName>,
    pub user: Option<UserId>,
    session: Option<SessionId>,
    event: Option<EventId>,
    /// The name of an artifact, as the path has it.
    artifact: Option<ArtifactName>,
    /// The version of it.
    version: Option<Wanted>,
    /// A key of the merged state, with its prefix.
    key: Option<String>,
    /// The id of an API key or of an erasure; `None` also if the text cannot be one.
    id: Option<String>,
}

impl PathNames {
    /// Parses the parameters of a path from the names in its template and their decoded values.
    ///
    /// # Errors
    /// A value cannot be such a name.
    pub fn read(path: &[(&str, String)]) -> Result<Self, Problem> {
        let mut names = Self::default();
        for (name, value) in path {
            match *name {
                "app" => names.app = Some(parsed("appName", AppName::parse(value))?),
                "user" => names.user = Some(parsed("userId", UserId::parse(value))?),
                "session" => names.session = Some(parsed("sessionId", SessionId::parse(value))?),
                "event" => names.event = Some(parsed("id", EventId::parse(value))?),
                "artifact" => names.artifact = Some(parsed("name", ArtifactName::parse(value))?),
                "version" => names.version = Some(parsed("version", Wanted::parse(value))?),
                "key" => names.key = Some(parsed("key", check_state_key(value).map(|()| value.clone()))?),
                "id" => names.id = EventId::parse(value).ok().map(|id| id.to_string()),
                _ => {}
            }
        }
        Ok(names)
    }

    pub fn app(&self) -> Result<AppName, Problem> {
        self.app.clone().ok_or_else(no_such_name)
    }

    pub fn user(&self) -> Result<UserKey, Problem> {
        Ok(UserKey { app: self.app()?, user: self.user.clone().ok_or_else(no_such_name)? })
    }

    /// The scope whose state the path names on its own.
    pub fn scope(&self) -> Result<ScopeKey, Problem> {
        match self.user {
            Some(_) => Ok(ScopeKey::User(self.user()?)),
            None => Ok(ScopeKey::App(self.app()?)),
        }
    }

    pub fn session(&self) -> Result<SessionKey, Problem> {
        Ok(SessionKey { user: self.user()?, session: self.session.clone().ok_or_else(no_such_name)? })
    }

    /// Whose artifacts the path names.
    pub fn place(&self) -> Result<Place, Problem> {
        match self.session {
            Some(_) => Ok(Place::Session(self.session()?)),
            None => Ok(Place::User(self.user()?)),
        }
    }

    /// The artifact of the path, as it is called there.
    pub fn artifact(&self) -> Result<(Place, ArtifactName), Problem> {
        let (place, name) = (self.place()?, self.artifact.as_ref().ok_or_else(no_such_name)?);
        let name = parsed("name", place.name(name.as_str()))?;
        Ok((place, name))
    }

    /// The version of the artifact that the path names.
    pub fn version(&self) -> Result<Wanted, Problem> {
        self.version.ok_or_else(no_such_name)
    }

    pub fn event_id(&self) -> Result<EventId, Problem> {
        self.event.clone().ok_or_else(no_such_name)
    }

    /// A key of the merged state, with its prefix.
    pub fn state_key(&self) -> Result<String, Problem> {
        self.key.clone().ok_or_else(no_such_name)
    }

    /// A scope and a key of it, on its own paths: there keys have no prefix.
    pub fn scope_key(&self) -> Result<(ScopeKey, String), Problem> {
        let (scope, key) = (self.scope()?, self.state_key()?);
        parsed("key", Keys::Of(scope.scope()).read(&key).map(|_| ()))?;
        Ok((scope, key))
    }

    /// The id of an API key or of an erasure.
    pub fn id(&self) -> Result<String, Problem> {
        let none = || Problem::new(Code::NotFound, "there is nothing of this id");
        self.id.clone().ok_or_else(none)
    }
}

fn parsed<T>(field: &str, parsed: Result<T, &'static str>) -> Result<T, Problem> {
    parsed.map_err(|message| Problem::field(field, message))
}

/// A bug: a handler asks for a name that its path does not have.
fn no_such_name() -> Problem {
    Problem::panicked()
}

/// Whether the names are within the client's grant. Reads outside of it find nothing.
///
/// # Errors
/// The client's role does not allow this, or it would write outside of its grant.
pub fn is_within(client: &Client, access: Access, names: &PathNames) -> Result<bool, Problem> {
    let role = match access {
        Access::Open | Access::Known => return Ok(true),
        Access::Read(role) | Access::ReadShared(role) | Access::Write(role) => role,
    };
    let place = match (&names.app, &names.user) {
        (None, _) => Target::Server,
        (Some(app), Some(user)) => Target::User(app, user),
        (Some(app), None) if matches!(access, Access::ReadShared(_)) => Target::Shared(app),
        (Some(app), None) => Target::App(app),
    };
    if client.grant.role < role {
        let detail = format!("the role `{}` may not do this; `{role}` could", client.grant.role);
        return Err(Problem::over("role", Code::PermissionDenied, detail));
    }
    match (client.grant.reaches(place), access) {
        (false, Access::Write(_)) => Err(outside()),
        (is_within, _) => Ok(is_within),
    }
}

/// A write outside of the client's grant.
pub fn outside() -> Problem {
    Problem::over("grant", Code::PermissionDenied, "the credential is not for this app and user")
}

/// Checks a key of the merged state, with its prefix.
pub fn check_state_key(key: &str) -> Result<(), &'static str> {
    scope::check_key(scope::split(key).map_or(key, |(_, stored)| stored))
}

/// Refuses a path that cannot match any route: it has a bad percent escape, a segment that is not UTF-8 or, below one
/// of `strict_roots`, an empty segment.
pub fn check_path(path: &str, strict_roots: &[&str]) -> Result<(), Problem> {
    check_escapes(path).map_err(|message| Problem::field("path", message))?;
    let mut segments = segments(path).skip(1);
    if segments.next().is_some_and(|root| strict_roots.contains(&root)) && segments.any(str::is_empty) {
        let is_end = path.ends_with('/') && !path.trim_end_matches('/').contains("//");
        return Err(Problem::field(
            "path",
            if is_end { "has a slash at its end: leave it out" } else { "has an empty segment" },
        ));
    }
    Ok(())
}

/// The segments of a path. They are short, so that the search of `split` for each slash would take longer to begin than a walk takes.
pub fn segments(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(path);
    iter::from_fn(move || {
        let path = rest?;
        let end = path.bytes().position(|byte| byte == b'/').unwrap_or(path.len());
        rest = path.get(end + 1..);
        path.get(..end)
    })
}

pub fn check_escapes(text: &str) -> Result<(), &'static str> {
    let bytes = text.as_bytes();
    if !bytes.contains(&b'%') {
        return Ok(());
    }
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'%') {
        if !bytes.get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            return Err("has a `%` that no two hexadecimal digits follow");
        }
    }
    percent_decode_str(text).decode_utf8().map(drop).map_err(|_| "is not UTF-8 once decoded")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_what_slashes_separate() {
        for path in ["", "/", "a", "/a", "a/", "//", "/v1/apps/é/users/ü%2F/x", "/v1//a/"] {
            assert_eq!(segments(path).collect::<Vec<_>>(), path.split('/').collect::<Vec<_>>(), "{path}");
        }
    }

    #[test]
    fn bad_paths_are_refused() {
        for good in ["/v1/apps/a%2Fb/users", "/v1", "/", "/x//y", "/v1/apps/%E2%82%AC"] {
            assert!(check_path(good, &["v1"]).is_ok(), "{good}");
        }
        for bad in ["/v1/apps/%", "/v1/apps/%2", "/v1/apps/%zz", "/v1/apps//users", "/v1/apps/", "/v1/apps/%ff"] {
            assert!(check_path(bad, &["v1"]).is_err(), "{bad}");
        }
    }
}
