//! Scopes: the exact prefix of a state key decides where it lives (docs/tour.md, "State"; ADK's `State`).

/// Longest state key as stored (without its prefix), in bytes.
pub const MAX_KEY_BYTES: usize = 512;

/// Where a state key is stored. `temp:` keys are not stored and have no variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    Session,
    User,
    App,
}

impl Scope {
    /// The scopes that sessions share, in the order of their locks.
    pub const SHARED: [Self; 2] = [Self::User, Self::App];

    /// The prefix of this scope's keys in the merged state.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Session => "",
            Self::User => "user:",
            Self::App => "app:",
        }
    }
}

/// Splits a key of the merged state into its scope and the key as stored; `None` for a `temp:` key.
pub fn split(key: &str) -> Option<(Scope, &str)> {
    if key.starts_with("temp:") {
        None
    } else if let Some(key) = key.strip_prefix("app:") {
        Some((Scope::App, key))
    } else if let Some(key) = key.strip_prefix("user:") {
        Some((Scope::User, key))
    } else {
        Some((Scope::Session, key))
    }
}

/// Checks a key as stored.
///
/// # Errors
/// The broken rule, in words for a client.
pub fn check_key(key: &str) -> Result<(), &'static str> {
    if key.len() > MAX_KEY_BYTES {
        Err("a state key must be at most 512 bytes")
    } else if key.contains('\0') {
        Err("a state key must not contain U+0000")
    } else {
        Ok(())
    }
}

/// Joins the parts of a merged state, each `"key":value,...` without braces, into one object.
pub fn join<'a>(parts: impl IntoIterator<Item = Option<&'a str>>) -> String {
    let mut out = String::from("{");
    for part in parts.into_iter().flatten().filter(|part| !part.is_empty()) {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(part);
    }
    out.push('}');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_exact_prefix_counts() {
        assert_eq!(split("app:k"), Some((Scope::App, "k")));
        assert_eq!(split("app:"), Some((Scope::App, "")));
        assert_eq!(split("user:app:k"), Some((Scope::User, "app:k")));
        assert_eq!(split("temp:k"), None);
        assert_eq!(split("temp:"), None);
        for key in ["", ":", "temp_x", "Temp:x", "tempx:", "foo:bar", "App:x", " app:x", "app", "USER:x"] {
            assert_eq!(split(key), Some((Scope::Session, key)));
        }
    }

    proptest! {
        #[test]
        fn splitting_and_prefixing_are_inverse(key in "(app:|user:|temp:|Temp:|app|:)?.{0,8}") {
            match split(&key) {
                Some((scope, stored)) => prop_assert_eq!(format!("{}{stored}", scope.prefix()), key),
                None => prop_assert!(key.starts_with("temp:")),
            }
        }
    }
}
