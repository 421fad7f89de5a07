//! Identifiers: checked once at the edge, compared bytewise, and impossible to mix up afterwards. Clones share one text, because
//! keys are built from them and cloned often.

use std::fmt;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use uuid::Uuid;

use super::scope::Scope;

/// The characters that stay as they are in a segment of a path (RFC 3986, unreserved).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A name as one segment of a path.
pub fn segment(name: &str) -> String {
    utf8_percent_encode(name, UNRESERVED).to_string()
}

/// Longest id, in bytes of UTF-8 (`openapi.yaml`, schema `Id`).
pub const MAX_ID_BYTES: usize = 256;

/// The rule for every id: 1..=256 bytes, no control characters, not `.` or `..`.
fn check(id: &str) -> Result<(), &'static str> {
    if id.is_empty() {
        Err("must not be empty")
    } else if id.len() > MAX_ID_BYTES {
        Err("must be at most 256 bytes of UTF-8")
    } else if id.chars().any(char::is_control) {
        Err("must not contain control characters")
    } else if id == "." || id == ".." {
        Err("must not be `.` or `..`")
    } else {
        Ok(())
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident $(, $trimmed:path)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks `id` against the rule for ids; it is never normalised or case-folded.
            ///
            /// # Errors
            /// The broken rule, in words for a client.
            pub fn parse(id: &str) -> Result<Self, &'static str> {
                $(let id = $trimmed(id);)?
                check(id)?;
                Ok(Self(id.into()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The text, without a copy.
            pub fn to_arc(&self) -> Arc<str> {
                self.0.clone()
            }
        }

        /// A UUID is an id by every rule.
        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id.to_string().into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// An application: the outermost boundary of what is shared.
    AppName
);
id!(
    /// A user within an app.
    UserId
);
id!(
    /// An event, unique within its session and the key of idempotency.
    EventId
);

id!(
    /// A client's name for a request that it may retry.
    IdempotencyKey
);

id!(
    /// An artifact of a session or, if it begins with `user:`, of a user. A `/` in it is a character as any other.
    ArtifactName
);

impl ArtifactName {
    const OF_USER: &str = "user:";

    /// The name of an artifact of a user, with or without the prefix.
    ///
    /// # Errors
    /// As of [`ArtifactName::parse`], of the name with the prefix.
    pub fn parse_of_user(name: &str) -> Result<Self, &'static str> {
        if name.starts_with(Self::OF_USER) { Self::parse(name) } else { Self::parse(&[Self::OF_USER, name].concat()) }
    }

    pub fn is_of_user(&self) -> bool {
        self.0.starts_with(Self::OF_USER)
    }

    /// What a file of it is called: the last part between slashes that is the name of a file, without the prefix; `file` if none is.
    pub fn file_name(&self) -> &str {
        let name = self.0.strip_prefix(Self::OF_USER).unwrap_or(&self.0);
        let last = name.rsplit('/').find(|part| !matches!(part.trim(), "" | "." | ".."));
        last.unwrap_or("file")
    }
}

id!(
    /// A session within a user. Every operation trims surrounding white space before the check, so a blank id is empty.
    SessionId,
    str::trim
);

/// The natural key of user state.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserKey {
    pub app: AppName,
    pub user: UserId,
}

/// The natural key of a session. Its order (app, user, session) is the order in which rows are locked.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    pub user: UserKey,
    pub session: SessionId,
}

impl SessionKey {
    pub fn app(&self) -> &AppName {
        &self.user.app
    }

    /// The shared scopes that it sees, in their order.
    pub fn scopes(&self) -> [ScopeRef<'_>; 2] {
        [ScopeRef::User(&self.user), ScopeRef::App(self.app())]
    }

    /// The owner of its keys of this scope, if they are shared.
    pub fn shared(&self, scope: Scope) -> Option<ScopeRef<'_>> {
        match scope {
            Scope::Session => None,
            Scope::User => Some(ScopeRef::User(&self.user)),
            Scope::App => Some(ScopeRef::App(self.app())),
        }
    }
}

/// The owner of shared state. Its order is the order in which rows are locked, behind those of sessions: users, then apps.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScopeKey {
    User(UserKey),
    App(AppName),
}

/// A borrowed [`ScopeKey`], with the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScopeRef<'a> {
    User(&'a UserKey),
    App(&'a AppName),
}

impl ScopeKey {
    /// Of the user, or of the app if there is none.
    pub fn new(app: AppName, user: Option<UserId>) -> Self {
        match user {
            Some(user) => Self::User(UserKey { app, user }),
            None => Self::App(app),
        }
    }

    pub fn borrowed(&self) -> ScopeRef<'_> {
        match self {
            Self::User(user) => ScopeRef::User(user),
            Self::App(app) => ScopeRef::App(app),
        }
    }

    pub fn scope(&self) -> Scope {
        self.borrowed().scope()
    }

    pub fn app(&self) -> &AppName {
        self.borrowed().app()
    }

    pub fn user(&self) -> Option<&UserKey> {
        self.borrowed().user()
    }

    pub fn address(&self, key: &str) -> StateAddress {
        StateAddress::Shared(self.clone(), key.into())
    }
}

impl<'a> ScopeRef<'a> {
    pub fn scope(self) -> Scope {
        match self {
            Self::User(_) => Scope::User,
            Self::App(_) => Scope::App,
        }
    }

    pub fn app(self) -> &'a AppName {
        match self {
            Self::User(user) => &user.app,
            Self::App(app) => app,
        }
    }

    /// The user whose state it is; `None` for that of an app.
    pub fn user(self) -> Option<&'a UserKey> {
        match self {
            Self::User(user) => Some(user),
            Self::App(_) => None,
        }
    }

    pub fn to_key(self) -> ScopeKey {
        match self {
            Self::User(user) => ScopeKey::User(user.clone()),
            Self::App(app) => ScopeKey::App(app.clone()),
        }
    }
}

/// A key of a session's own state, or of shared state.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StateAddress {
    Session(SessionKey, Box<str>),
    Shared(ScopeKey, Box<str>),
}

impl StateAddress {
    pub fn new(session: &SessionKey, scope: Scope, key: &str) -> Self {
        match session.shared(scope) {
            None => Self::Session(session.clone(), key.into()),
            Some(scope) => Self::Shared(scope.to_key(), key.into()),
        }
    }

    pub fn key(&self) -> &str {
        match self {
            Self::Session(_, key) | Self::Shared(_, key) => key,
        }
    }

    pub fn has_owner_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Session(a, _), Self::Session(b, _)) => a == b,
            (Self::Shared(a, _), Self::Shared(b, _)) => a == b,
            _ => false,
        }
    }

    pub fn app(&self) -> &AppName {
        match self {
            Self::Session(key, _) => key.app(),
            Self::Shared(scope, _) => scope.app(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_follow_the_rules() {
        for good in ["a", "a/b", "ü", "…", " x ", "%2F", "a.b", "...", &"x".repeat(256)] {
            assert_eq!(AppName::parse(good).map(|id| id.as_str().to_owned()), Ok(good.to_owned()));
        }
        for bad in ["", ".", "..", "a\0b", "tab\t", "\u{85}", &"x".repeat(257), &"é".repeat(129)] {
            assert!(AppName::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn session_ids_are_trimmed() {
        assert_eq!(SessionId::parse(" \ts1\n").unwrap().as_str(), "s1");
        assert_eq!(SessionId::parse("a b").unwrap().as_str(), "a b");
        for blank in ["", " ", "\t\n", "\u{3000}"] {
            assert!(SessionId::parse(blank).is_err());
        }
    }

    #[test]
    fn artifacts_of_users_have_a_prefix() {
        let name = |name| ArtifactName::parse_of_user(name).unwrap();
        assert_eq!(name("a/b"), name("user:a/b"));
        assert!(name("a").is_of_user());
        for session in ["a", "User:a", "user", "users:a", " user:a"] {
            assert!(!ArtifactName::parse(session).unwrap().is_of_user(), "{session}");
        }
        assert!(ArtifactName::parse_of_user(&"x".repeat(252)).is_err());
        for (name, file) in [
            ("a/b.txt", "b.txt"),
            ("a", "a"),
            ("user:c/", "c"),
            ("user:d", "d"),
            ("user:", "file"),
            ("//", "file"),
            ("x/..", "x"),
            ("x/./", "x"),
            ("../ ..", "file"),
            ("user:../..", "file"),
            ("..x", "..x"),
        ] {
            assert_eq!(ArtifactName::parse(name).unwrap().file_name(), file, "{name}");
        }
    }

    #[test]
    fn a_uuid_is_an_id() {
        for id in [Uuid::nil(), Uuid::max(), Uuid::from_u128(0x0190_aaaa_bbbb_7ccc_8ddd_eeee_ffff_0000)] {
            assert_eq!(SessionId::parse(&id.to_string()), Ok(SessionId::from(id)));
            assert_eq!(EventId::parse(&id.to_string()), Ok(EventId::from(id)));
        }
    }

    fn scopes(app: &str, users: [&str; 2]) -> [ScopeKey; 3] {
        let app = AppName::parse(app).unwrap();
        let user = |user| ScopeKey::User(UserKey { app: app.clone(), user: UserId::parse(user).unwrap() });
        [user(users[0]), user(users[1]), ScopeKey::App(app.clone())]
    }

    /// Rows of shared scopes are locked in this order.
    #[test]
    fn all_users_come_before_all_apps() {
        let ([u, v, a], [w, x, b]) = (scopes("a", ["x", "y"]), scopes("b", ["a", "b"]));
        let ordered = [u, v, w, x, a, b];
        assert!(ordered.is_sorted());
        assert!(ordered.iter().map(ScopeKey::borrowed).is_sorted());
        let session = SessionKey { user: ordered[0].user().unwrap().clone(), session: SessionId::parse("s").unwrap() };
        assert!(session.scopes().is_sorted());
        assert_eq!(session.scopes().map(ScopeRef::scope), Scope::SHARED);
    }

    proptest! {
        #[test]
        fn what_parses_is_kept_bytewise(id in any::<String>()) {
            match UserId::parse(&id) {
                Ok(parsed) => prop_assert_eq!(parsed.as_str(), id),
                Err(_) => prop_assert!(
                    id.is_empty() || id.len() > 256 || id == "." || id == ".." || id.chars().any(char::is_control)
                ),
            }
        }
    }
}
