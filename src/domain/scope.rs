//! Scopes: the exact prefix of a state key decides where it lives (README, "State"; ADK's `State`).

use super::envelope::pointer_to;
use super::json::{Json, RawJson};
use super::{FieldError, Limits, Rejected};

/// Longest state key as stored (without its prefix), in bytes.
pub const MAX_KEY_BYTES: usize = 512;

/// Where a state key lives. `temp:` keys live nowhere and have no variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    Session,
    User,
    App,
}

impl Scope {
    /// What a reader of the merged state sees in front of this scope's keys.
    pub fn prefix(self) -> &'static str {
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
/// The rule that it breaks, fit for a client.
pub fn check_key(key: &str) -> Result<(), &'static str> {
    if key.len() > MAX_KEY_BYTES {
        Err("a state key must be at most 512 bytes")
    } else if key.contains('\0') {
        Err("a state key must not contain U+0000")
    } else {
        Ok(())
    }
}

/// One key's new value; `None` removes the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub scope: Scope,
    pub key: Box<str>,
    pub value: Option<RawJson>,
}

/// Reads a `stateDelta` (or initial state): every value whole, `temp:` keys checked and dropped.
///
/// # Errors
/// `pointer` and below name the offence: not an object, a key or value over its limit, nesting over 64.
pub fn parse_delta(json: Json<'_>, pointer: &str, limits: &Limits) -> Result<Vec<Change>, Rejected> {
    let mut changes = Vec::new();
    for (key, value) in checked_members(json, pointer, limits)? {
        if let Some((scope, key)) = split(&key) {
            changes.push(Change { scope, key: key.into(), value: Some(value.to_raw()) });
        }
    }
    Ok(changes)
}

/// Reads the `stateDelta` of one scope, addressed without a session: keys without prefix.
///
/// # Errors
/// As [`parse_delta`], and a key that begins with a prefix.
pub fn parse_scope_delta(
    json: Json<'_>,
    scope: Scope,
    pointer: &str,
    limits: &Limits,
) -> Result<Vec<Change>, Rejected> {
    let mut changes = Vec::new();
    let mut errors = Vec::new();
    for (key, value) in checked_members(json, pointer, limits)? {
        if split(&key).is_some_and(|(scope, _)| scope == Scope::Session) {
            changes.push(Change { scope, key: key.into(), value: Some(value.to_raw()) });
        } else {
            errors.push(FieldError::new(
                pointer_to(pointer, &key),
                "keys have no prefix here: `app:`, `user:` and `temp:` are refused",
            ));
        }
    }
    if errors.is_empty() { Ok(changes) } else { Err(Rejected::Invalid(errors)) }
}

fn checked_members<'a>(json: Json<'a>, pointer: &str, limits: &Limits) -> Result<Vec<(String, Json<'a>)>, Rejected> {
    let Some(members) = json.as_object() else {
        return Err(Rejected::field(pointer, "must be an object"));
    };
    let mut out = Vec::new();
    for member in members {
        let stored = split(&member.key).map_or(&*member.key, |(_, key)| key);
        check_key(stored).map_err(|message| Rejected::field(pointer, message))?;
        check_value(member.value, || pointer_to(pointer, &member.key), limits)?;
        out.push((member.key.into_owned(), member.value));
    }
    Ok(out)
}

/// Checks one state value: its size and its nesting.
///
/// # Errors
/// [`Rejected`], with the value's pointer.
pub fn check_value(value: Json<'_>, pointer: impl Fn() -> String, limits: &Limits) -> Result<(), Rejected> {
    if value.text().len() > limits.value_bytes {
        return Err(Rejected::TooLarge {
            limit: "value",
            detail: format!("the value at `{}` is larger than {} bytes", pointer(), limits.value_bytes),
        });
    }
    super::envelope::check_depth(value, pointer)
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

    fn delta(text: &str) -> Result<Vec<Change>, Rejected> {
        parse_delta(Json::trusted(text), "/stateDelta", &Limits::default())
    }

    #[test]
    fn limits_name_the_place() {
        assert!(delta(&format!("{{\"app:{}\":1}}", "k".repeat(512))).is_ok());
        assert!(matches!(delta(&format!("{{\"{}\":1}}", "k".repeat(513))), Err(Rejected::Invalid(_))));
        let deep = format!("{{\"a/b\":{}{}}}", "[".repeat(65), "]".repeat(65));
        let at = format!("/stateDelta/a~1b{}", "/0".repeat(64));
        assert!(matches!(delta(&deep), Err(Rejected::Invalid(e)) if e[0].field == at));
        let small = Limits { value_bytes: 3, ..Limits::default() };
        let large = parse_delta(Json::trusted("{\"k\":1234}"), "/s", &small);
        assert!(matches!(large, Err(Rejected::TooLarge { detail, .. }) if detail.contains("/s/k")));
        assert_eq!(delta("[]"), Err(Rejected::field("/stateDelta", "must be an object")));
    }

    #[test]
    fn a_scope_of_its_own_takes_no_prefix() {
        let parse = |text: &str| parse_scope_delta(Json::trusted(text), Scope::User, "", &Limits::default());
        assert_eq!(parse("{\"a\":1,\"temp\":2}").unwrap().len(), 2);
        for key in ["app:a", "user:a", "temp:a"] {
            assert!(matches!(parse(&format!("{{\"{key}\":1}}")), Err(Rejected::Invalid(_))), "{key}");
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

        #[test]
        fn a_delta_keeps_all_but_temp(keys in prop::collection::btree_set("(app:|user:|temp:)?[a-z\"\\\\é]{0,6}", 0..20)) {
            let mut text = String::from("{");
            for (n, key) in keys.iter().enumerate() {
                if n > 0 { text.push(','); }
                super::super::json::push_string(&mut text, key);
                text.push_str(&format!(":{n}"));
            }
            text.push('}');
            let changes = delta(&text).unwrap();
            let expected: Vec<String> = keys.iter().filter(|k| !k.starts_with("temp:")).cloned().collect();
            let shown: Vec<String> = changes.iter().map(|c| format!("{}{}", c.scope.prefix(), c.key)).collect();
            prop_assert_eq!(shown, expected);
        }
    }
}
