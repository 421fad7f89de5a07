//! Who may do what: roles, and the names for which they hold (contract, section 11).
//!
//! A [`Grant`] is compared bytewise with the names of a request before anything is read. Only keys and settings have patterns;
//! names from an issuer are literal, and a `*` in them is a character.

use super::Rejected;
use super::envelope::Fields;
use super::erasure::Subject;
use super::ids::{AppName, UserId, UserKey};
use super::json::Json;
use super::session::{Expiry, parse_ttl};
use super::time::Micros;
use super::word::read_words;

pub use super::writer::Writer;

read_words! {
    /// What a client may do. Each role includes those before it.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Role {
        Reader = "reader",
        /// One user's own sessions: speaks as `user`, and changes no app state.
        User = "user",
        Agent = "agent",
        Operator = "operator",
        Admin = "admin",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Pattern {
    Exact(Box<str>),
    /// All names that begin with it.
    Prefix(Box<str>),
}

impl Pattern {
    fn allows(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => **exact == *name,
            Self::Prefix(prefix) => name.starts_with(&**prefix),
        }
    }

    fn contains(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Exact(name)) => self.allows(name),
            (Self::Prefix(prefix), Self::Prefix(other)) => other.starts_with(&**prefix),
            (Self::Exact(_), Self::Prefix(_)) => false,
        }
    }

    fn begin(&self) -> &str {
        let (Self::Exact(text) | Self::Prefix(text)) = self;
        text
    }
}

/// A set of names: exact names and prefixes, in byte order. No pattern contains another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Names(Vec<Pattern>);

impl Names {
    pub fn all() -> Self {
        Self(vec![Pattern::Prefix("".into())])
    }

    /// These names and no others; a `*` in them is a character.
    pub fn literal<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self::of(names.into_iter().map(|name| Pattern::Exact(name.into())).collect())
    }

    /// Names and prefixes; a trailing `*` marks a prefix.
    pub fn patterns<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Self {
        let pattern = |text: &str| match text.strip_suffix('*') {
            Some(prefix) => Pattern::Prefix(prefix.into()),
            None => Pattern::Exact(text.into()),
        };
        Self::of(patterns.into_iter().map(pattern).collect())
    }

    fn of(patterns: Vec<Pattern>) -> Self {
        let is_needed = |at: usize, pattern: &Pattern| {
            patterns.iter().enumerate().all(|(n, other)| {
                // Of two equal ones the first is kept.
                n == at || !other.contains(pattern) || (pattern.contains(other) && at < n)
            })
        };
        let mut kept: Vec<Pattern> = patterns
            .iter()
            .enumerate()
            .filter(|(at, pattern)| is_needed(*at, pattern))
            .map(|(_, p)| p.clone())
            .collect();
        kept.sort_by(|a, b| a.begin().cmp(b.begin()));
        Self(kept)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn is_all(&self) -> bool {
        *self == Self::all()
    }

    /// The exact names.
    pub fn exact(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|pattern| match pattern {
            Pattern::Exact(name) => Some(&**name),
            Pattern::Prefix(_) => None,
        })
    }

    /// The name, if it is an exact name and the only one.
    pub fn only(&self) -> Option<&str> {
        match &*self.0 {
            [Pattern::Exact(name)] => Some(name),
            _ => None,
        }
    }

    pub fn allows(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| pattern.allows(name))
    }

    pub fn contains(&self, other: &Self) -> bool {
        other.0.iter().all(|other| self.0.iter().any(|pattern| pattern.contains(other)))
    }

    /// The names that both allow.
    pub fn and(&self, other: &Self) -> Self {
        let pairs = self.0.iter().flat_map(|a| other.0.iter().map(move |b| (a, b)));
        let both = |(a, b): (&Pattern, &Pattern)| {
            if a.contains(b) { Some(b.clone()) } else { b.contains(a).then(|| a.clone()) }
        };
        Self::of(pairs.filter_map(both).collect())
    }

    /// The disjoint ranges, in byte order, of exactly these names.
    pub fn ranges(&self) -> Vec<NameRange> {
        let range = |pattern: &Pattern| match pattern {
            // Names have no control characters, so nothing is between a name and this end.
            Pattern::Exact(name) => NameRange { begin: name.to_string(), end: Some(format!("{name}\u{1}")) },
            Pattern::Prefix(prefix) => NameRange::of_prefix(prefix),
        };
        self.0.iter().map(range).collect()
    }

    /// As [`Names::to_patterns`], but unambiguous: an exact name that ends with `*`, which keys and settings cannot have, gets a
    /// backslash before the `*`.
    pub fn to_shown(&self) -> Vec<String> {
        let text = |pattern: &Pattern| match pattern {
            Pattern::Exact(name) => match name.strip_suffix('*') {
                Some(rest) => format!("{rest}\\*"),
                None => name.to_string(),
            },
            Pattern::Prefix(prefix) => format!("{prefix}*"),
        };
        self.0.iter().map(text).collect()
    }

    /// In text form: a prefix has a trailing `*`.
    pub fn to_patterns(&self) -> Vec<String> {
        let text = |pattern: &Pattern| match pattern {
            Pattern::Exact(name) => name.to_string(),
            Pattern::Prefix(prefix) => format!("{prefix}*"),
        };
        self.0.iter().map(text).collect()
    }
}

/// Names from `begin` up to, not including, `end`; without an `end` all from `begin`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameRange {
    pub begin: String,
    pub end: Option<String>,
}

impl NameRange {
    /// The names that begin with `prefix`.
    pub fn of_prefix(prefix: &str) -> Self {
        Self { begin: prefix.to_owned(), end: after_prefix(prefix) }
    }
}

/// The first text in byte order after all texts that begin with `prefix`; `None` if there is none.
fn after_prefix(prefix: &str) -> Option<String> {
    let mut rest = prefix.to_owned();
    while let Some(last) = rest.pop() {
        // Surrogates are not characters.
        let next = if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(last as u32 + 1) };
        if let Some(next) = next {
            rest.push(next);
            return Some(rest);
        }
    }
    None
}

/// A role, and the apps and users for which it holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Grant {
    pub role: Role,
    pub apps: Names,
    pub users: Names,
}

/// The names that a request addresses.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    /// No app; the answer is filtered elsewhere.
    Server,
    /// An app and all of its users.
    App(&'a AppName),
    /// An app; users see only their own part.
    Shared(&'a AppName),
    User(&'a AppName, &'a UserId),
}

impl Grant {
    /// Everything, everywhere.
    pub fn unlimited() -> Self {
        Self { role: Role::Admin, apps: Names::all(), users: Names::all() }
    }

    /// Whether the names of a target are within the grant, whatever the role.
    pub fn reaches(&self, target: Target<'_>) -> bool {
        match target {
            Target::Server => true,
            Target::App(app) => self.apps.allows(app.as_str()) && self.users.is_all(),
            Target::Shared(app) => self.apps.allows(app.as_str()),
            Target::User(app, user) => self.apps.allows(app.as_str()) && self.users.allows(user.as_str()),
        }
    }

    /// Whether a client with this grant may create the other one.
    pub fn contains(&self, other: &Self) -> bool {
        self.role >= other.role && self.apps.contains(&other.apps) && self.users.contains(&other.users)
    }

    /// The intersection of both grants.
    pub fn and(&self, other: &Self) -> Self {
        Self { role: self.role.min(other.role), apps: self.apps.and(&other.apps), users: self.users.and(&other.users) }
    }
}

/// A stored key, with only the digest of its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub id: String,
    pub name: String,
    /// SHA-256 of the whole key.
    pub digest: [u8; 32],
    pub grant: Grant,
    pub create_time: Micros,
    pub expire_time: Option<Micros>,
    /// Accurate to about an hour.
    pub last_used_time: Option<Micros>,
}

/// How often the tokens of a user were revoked; the user is given by the database's hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenEpoch {
    pub app: AppName,
    pub subject: Subject,
    pub epoch: i64,
}

/// The body of a request that creates or changes a key; a change leaves absent fields alone.
#[derive(Debug, Clone, Default)]
pub struct KeyDraft {
    pub name: Option<String>,
    pub role: Option<Role>,
    pub apps: Option<Names>,
    pub users: Option<Names>,
    pub expiry: Option<Option<Expiry>>,
}

const MAX_KEY_NAME_BYTES: usize = 256;
const MAX_PATTERNS: usize = 100;

impl KeyDraft {
    /// Reads `{name, role, apps, users?, ttl? | expireTime?}`; all are optional in a change.
    pub fn parse(json: Json<'_>, is_change: bool) -> Result<Self, Rejected> {
        let mut fields = Fields::of(json, "")?;
        let name = fields.take_str_with("name", key_name);
        let role = fields.take_str_with("role", |role| Role::parse(role).ok_or(ROLES));
        let apps = patterns(&mut fields, "apps");
        let users = patterns(&mut fields, "users");
        let expiry = Expiry::take(&mut fields);
        let draft = Self { name, role, apps, users, expiry };
        if !is_change {
            fields.require("name", &draft.name);
            fields.require("role", &draft.role);
            fields.require("apps", &draft.apps);
        }
        fields.finish()?;
        Ok(draft)
    }

    /// The key after the change.
    ///
    /// # Errors
    /// The role `user` for anything but exactly one user.
    pub fn apply(self, key: &mut ApiKey, now: Micros) -> Result<(), Rejected> {
        let Self { name, role, apps, users, expiry } = self;
        key.name = name.unwrap_or_else(|| key.name.clone());
        key.grant.role = role.unwrap_or(key.grant.role);
        key.grant.apps = apps.unwrap_or_else(|| key.grant.apps.clone());
        key.grant.users = users.unwrap_or_else(|| key.grant.users.clone());
        if let Some(expiry) = expiry {
            key.expire_time = expiry.map(|expiry| expiry.at(now));
        }
        if key.grant.role == Role::User && key.grant.users.only().is_none() {
            return Err(Rejected::field("users", "of the role `user` must be exactly one name"));
        }
        Ok(())
    }
}

/// The name of a key, for people.
///
/// # Errors
/// It is empty, longer than 256 bytes, or has characters that a terminal would interpret.
pub fn key_name(name: &str) -> Result<String, &'static str> {
    match name.len() {
        1..=MAX_KEY_NAME_BYTES if !name.chars().any(char::is_control) => Ok(name.to_owned()),
        _ => Err("must be 1 to 256 bytes of UTF-8 without control characters"),
    }
}

const ROLES: &str = "must be one of reader, user, agent, operator, admin";

/// Takes a list of names and prefixes.
fn patterns(fields: &mut Fields<'_>, name: &str) -> Option<Names> {
    fields.take_with(name, |list| {
        let texts: Option<Vec<_>> = list.as_array().and_then(|items| items.map(Json::as_str).collect());
        let texts = texts.unwrap_or_default();
        let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        Names::parse(name, &texts).map_err(|_| PATTERNS)
    })
}

const PATTERNS: &str = "must be a list of 1 to 100 names, or prefixes with a trailing `*`";

impl Names {
    /// Parses names and prefixes of a client from this field.
    ///
    /// # Errors
    /// There are none or too many, or one that no name can match.
    pub fn parse(field: &str, texts: &[&str]) -> Result<Self, Rejected> {
        // A prefix must be the beginning of a valid id.
        let is_pattern = |text: &&str| match text.strip_suffix('*') {
            Some(prefix) => AppName::parse(&format!("{prefix}x")).is_ok(),
            None => AppName::parse(text).is_ok(),
        };
        match (1..=MAX_PATTERNS).contains(&texts.len()) && texts.iter().all(is_pattern) {
            true => Ok(Self::patterns(texts.iter().copied())),
            false => Err(Rejected::field(field, PATTERNS)),
        }
    }
}

/// The body of a request for a token.
#[derive(Debug)]
pub struct TokenDraft {
    pub user: UserKey,
    pub role: Role,
    pub ttl_micros: i64,
}

const HOUR_MICROS: i64 = 3_600_000_000;
/// The longest life of a token.
pub const MAX_TOKEN_TTL_MICROS: i64 = 24 * HOUR_MICROS;

impl TokenDraft {
    /// Reads `{app, user, role?, ttl?}`.
    pub fn parse(json: Json<'_>) -> Result<Self, Rejected> {
        let mut fields = Fields::of(json, "")?;
        let user = take_user(&mut fields);
        let role = fields.take_str_with("role", |role| Role::parse(role).ok_or(ROLES)).unwrap_or(Role::User);
        let ttl = fields.take_with("ttl", |ttl| match parse_ttl(ttl)? {
            ttl if ttl <= MAX_TOKEN_TTL_MICROS => Ok(ttl),
            _ => Err("must be at most 24 hours"),
        });
        fields.finish()?;
        let user = user.ok_or_else(|| Rejected::field("user", "is required"))?;
        Ok(Self { user, role, ttl_micros: ttl.unwrap_or(HOUR_MICROS) })
    }
}

/// Reads `{app, user}`.
pub fn parse_user(json: Json<'_>) -> Result<UserKey, Rejected> {
    let mut fields = Fields::of(json, "")?;
    let user = take_user(&mut fields);
    fields.finish()?;
    user.ok_or_else(|| Rejected::field("user", "is required"))
}

fn take_user(fields: &mut Fields<'_>) -> Option<UserKey> {
    let app = fields.take_str_with("app", AppName::parse);
    let user = fields.take_str_with("user", UserId::parse);
    fields.require("app", &app);
    fields.require("user", &user);
    Some(UserKey { app: app?, user: user? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names() -> impl Strategy<Value = Names> {
        let text = "[ab\u{10ffff}]{0,3}";
        let pattern = (text, any::<bool>())
            .prop_map(|(text, is_prefix)| if is_prefix { format!("{text}*") } else { format!("{text}x") });
        proptest::collection::vec(pattern, 0..4).prop_map(|all| Names::patterns(all.iter().map(String::as_str)))
    }

    fn grants() -> impl Strategy<Value = Grant> {
        (0..5usize, names(), names()).prop_map(|(role, apps, users)| Grant { role: Role::ALL[role], apps, users })
    }

    proptest! {
        #[test]
        fn both_allow_what_each_allows(a in names(), b in names(), name in "[ab\u{10ffff}x]{1,4}") {
            prop_assert_eq!(a.and(&b).allows(&name), a.allows(&name) && b.allows(&name));
        }

        #[test]
        fn what_is_contained_allows_no_more(a in names(), b in names(), name in "[ab\u{10ffff}x]{1,4}") {
            prop_assert!(!a.contains(&b) || !b.allows(&name) || a.allows(&name));
            prop_assert!(a.contains(&a.and(&b)) && b.contains(&a.and(&b)));
        }

        #[test]
        fn ranges_hold_what_is_allowed(a in names(), name in "[ab\u{10ffff}x]{1,4}") {
            let within = |range: &NameRange| range.begin <= name && range.end.as_ref().is_none_or(|end| name < *end);
            prop_assert_eq!(a.ranges().iter().filter(|range| within(range)).count(), usize::from(a.allows(&name)));
            prop_assert!(a.ranges().is_sorted_by(|a, b| a.end.as_ref().is_some_and(|end| *end <= b.begin)));
        }

        /// However often a grant is passed on, narrowed to what the one before allows.
        #[test]
        fn no_chain_of_grants_widens(chain in proptest::collection::vec(grants(), 1..6), app in "[abx]{1,3}", user in "[abx]{1,3}") {
            let mut held = chain[0].clone();
            for asked in &chain {
                let given = held.and(asked);
                prop_assert!(held.contains(&given) && chain[0].contains(&given));
                held = given;
            }
            let (app, user) = (AppName::parse(&app).unwrap(), UserId::parse(&user).unwrap());
            prop_assert!(!held.reaches(Target::User(&app, &user)) || chain.iter().all(|grant| grant.reaches(Target::User(&app, &user))));
        }
    }

    #[test]
    fn only_a_pattern_has_a_star() {
        let literal = Names::literal(["a*"]);
        assert!(literal.allows("a*") && !literal.allows("ab") && !literal.is_all());
        assert!(!Names::literal(["*"]).is_all() && !Names::literal(["*"]).allows("x"));
        let patterns = Names::patterns(["a*", "b", "ab", "b"]);
        assert!(patterns.allows("ab") && patterns.allows("a") && patterns.allows("b") && !patterns.allows("bb"));
        assert_eq!(patterns.to_patterns(), ["a*", "b"]);
        assert!(Names::patterns(["x", "*"]).is_all());
        assert_eq!(Names::patterns(["x"]).only(), Some("x"));
        assert_eq!(Names::patterns(["x*"]).only(), None);
    }

    #[test]
    fn names_are_compared_byte_by_byte() {
        let names = Names::patterns(["caf\u{e9}", "A/b", "x ", "%2F"]);
        for other in ["cafe\u{301}", "a/b", "A%2Fb", "x", "/", "A", "%2f"] {
            assert!(!names.allows(other), "{other}");
        }
    }

    #[test]
    fn an_app_without_a_user_is_of_all_users() {
        let app = AppName::parse("a").unwrap();
        let of_one = Grant { role: Role::User, apps: Names::patterns(["a"]), users: Names::literal(["u"]) };
        assert!(!of_one.reaches(Target::App(&app)) && of_one.reaches(Target::Shared(&app)));
        assert!(Grant { users: Names::all(), ..of_one }.reaches(Target::App(&app)));
    }
}
