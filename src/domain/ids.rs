//! Identifiers: checked once at the edge, compared bytewise, and impossible to mix up afterwards. Keys are built from them and
//! are cloned often, so clones share one text.

use std::fmt;
use std::sync::Arc;

use uuid::Uuid;

use super::scope::Scope;

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
            /// The rule that it breaks, fit for a client.
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
    /// A session within a user. Surrounding white space is not part of it, in any operation: it is trimmed before it is
    /// checked, so a blank one is empty.
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
}

/// The owner of app or user state.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScopeKey {
    App(AppName),
    User(UserKey),
}

impl ScopeKey {
    pub fn app(&self) -> &AppName {
        match self {
            Self::App(app) => app,
            Self::User(user) => &user.app,
        }
    }
}

impl ScopeKey {
    pub fn address(&self, key: &str) -> StateAddress {
        match self {
            Self::App(app) => StateAddress::App(app.clone(), key.into()),
            Self::User(user) => StateAddress::User(user.clone(), key.into()),
        }
    }
}

/// A key in a scope of its owner.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StateAddress {
    Session(SessionKey, Box<str>),
    User(UserKey, Box<str>),
    App(AppName, Box<str>),
}

impl StateAddress {
    pub fn new(session: &SessionKey, scope: Scope, key: &str) -> Self {
        match scope {
            Scope::Session => Self::Session(session.clone(), key.into()),
            Scope::User => Self::User(session.user.clone(), key.into()),
            Scope::App => Self::App(session.app().clone(), key.into()),
        }
    }

    pub fn key(&self) -> &str {
        match self {
            Self::Session(_, key) | Self::User(_, key) | Self::App(_, key) => key,
        }
    }

    pub fn has_owner_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Session(a, _), Self::Session(b, _)) => a == b,
            (Self::User(a, _), Self::User(b, _)) => a == b,
            (Self::App(a, _), Self::App(b, _)) => a == b,
            _ => false,
        }
    }

    pub fn app(&self) -> &AppName {
        match self {
            Self::Session(key, _) => key.app(),
            Self::User(key, _) => &key.app,
            Self::App(app, _) => app,
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
    fn a_uuid_is_an_id() {
        for id in [Uuid::nil(), Uuid::max(), Uuid::from_u128(0x0190_aaaa_bbbb_7ccc_8ddd_eeee_ffff_0000)] {
            assert_eq!(SessionId::parse(&id.to_string()), Ok(SessionId::from(id)));
            assert_eq!(EventId::parse(&id.to_string()), Ok(EventId::from(id)));
        }
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
