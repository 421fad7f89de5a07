//! Erasures: all data of a user is removed, and the record of it does not name the user (contract, section 12).

use ring::hmac;

use super::Rejected;
use super::envelope::Fields;
use super::ids::{AppName, UserKey};
use super::json::Json;
use super::time::Micros;

/// The longest reference or request id, in bytes.
const LONGEST_TEXT: usize = 256;

/// The hash that replaces a user's name: HMAC-SHA256 of app and user, with the salt of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subject([u8; 32]);

impl Subject {
    pub fn of(salt: &[u8; 32], user: &UserKey) -> Self {
        Self(keyed(salt, &[user.app.as_str(), user.user.as_str()]))
    }

    pub fn trusted(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Its number for advisory locks, 64 bits of it.
    pub fn lock(&self) -> i64 {
        i64::from_be_bytes(self.0.first_chunk().copied().unwrap_or_default())
    }

    /// The number for the advisory lock of those who count the user's sessions. It differs from [`Subject::lock`].
    pub fn counting_lock(&self) -> i64 {
        let second = self.0.as_chunks().0.get(1).copied();
        i64::from_be_bytes(second.unwrap_or_default())
    }

    pub fn to_hex(self) -> String {
        hex::encode(self.0)
    }
}

/// A digest of the id of an erasure's request, within one app. The id itself might name the user.
pub fn request_digest(salt: &[u8; 32], app: &AppName, id: &str) -> [u8; 32] {
    keyed(salt, &["erasure request", app.as_str(), id])
}

/// As [`request_digest`], but within one user, for clients that may not learn of other users' requests.
pub fn request_digest_of_user(salt: &[u8; 32], user: &UserKey, id: &str) -> [u8; 32] {
    keyed(salt, &["erasure request of user", user.app.as_str(), user.user.as_str(), id])
}

/// Identifies a database, also after a restore: 32 hexadecimal digits.
pub fn instance(salt: &[u8; 32]) -> String {
    hex::encode(keyed(salt, &["instance"]).get(..16).unwrap_or_default())
}

/// A secret for another purpose. It cannot equal the hash of a user, which is made from two parts.
pub fn derived(salt: &[u8; 32], purpose: &str) -> [u8; 32] {
    keyed(salt, &[purpose])
}

/// The separator keeps the parts apart: no name has a NUL.
fn keyed(salt: &[u8; 32], parts: &[&str]) -> [u8; 32] {
    let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, salt), parts.join("\0").as_bytes());
    mac.as_ref().first_chunk().copied().unwrap_or_default()
}

/// The body of a request for an erasure.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ErasureDraft {
    /// Recognises a retry.
    pub request_id: Option<String>,
    /// The caller's own words.
    pub reference: Option<String>,
    /// Whether the user is blocked from then on; `None`: as before.
    pub block: Option<bool>,
}

impl ErasureDraft {
    /// Reads `{requestId?, reference?, block?}`.
    pub fn parse(json: Json<'_>) -> Result<Self, Rejected> {
        let mut fields = Fields::of(json, "")?;
        let text = |fields: &mut Fields<'_>, name| fields.take_str_with(name, check_text);
        let draft = Self {
            request_id: text(&mut fields, "requestId"),
            reference: text(&mut fields, "reference"),
            block: fields.take_bool("block"),
        };
        fields.finish()?;
        Ok(draft)
    }
}

fn check_text(text: &str) -> Result<String, &'static str> {
    match text.is_empty() || text.len() > LONGEST_TEXT || text.chars().any(char::is_control) {
        true => Err("must have 1 to 256 bytes, and no control characters"),
        false => Ok(text.to_owned()),
    }
}

/// A command to erase a user. A retry is recognised by its id or its request.
#[derive(Debug, Clone)]
pub struct Erasing {
    pub id: String,
    pub app: AppName,
    pub subject: Subject,
    /// The user whose data is removed; `None`: the user has none, and the erasure is only recorded.
    pub user: Option<UserKey>,
    /// [`request_digest`]
    pub request: Option<[u8; 32]>,
    pub reference: Option<String>,
    pub block: Option<bool>,
    pub time: Micros,
}

/// How much was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    pub sessions: i64,
    pub events: i64,
    /// Keys of the state of sessions and of the user.
    pub state_keys: i64,
    /// Entries of the history of these keys.
    pub changes: i64,
    /// Versions of artifacts of sessions and of the user.
    pub artifacts: i64,
}

/// A stored erasure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    pub id: String,
    pub app: AppName,
    pub subject: Subject,
    pub request: Option<[u8; 32]>,
    pub reference: Option<String>,
    pub block: Option<bool>,
    /// Whether the user was blocked after it.
    pub blocked: bool,
    pub request_time: Micros,
    /// `None` while rows are still to be removed.
    pub done_time: Option<Micros>,
    pub removed: Removed,
    /// One JSON object.
    pub receipt: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::UserId;

    fn user(app: &str, user: &str) -> UserKey {
        UserKey { app: AppName::parse(app).unwrap(), user: UserId::parse(user).unwrap() }
    }

    #[test]
    fn a_subject_depends_on_salt_app_and_user() {
        let base = Subject::of(&[1; 32], &user("shop", "ada"));
        assert_eq!(base, Subject::of(&[1; 32], &user("shop", "ada")));
        for other in [
            Subject::of(&[2; 32], &user("shop", "ada")),
            Subject::of(&[1; 32], &user("shopa", "da")),
            Subject::of(&[1; 32], &user("shop", "eve")),
        ] {
            assert_ne!(base, other);
        }
        assert_ne!(*base.bytes(), request_digest(&[1; 32], &user("shop", "x").app, "ada"));
        assert_eq!(hex::decode(base.to_hex()).unwrap(), base.bytes());
        assert_eq!(base.lock().to_be_bytes()[..], base.bytes()[..8]);
    }

    #[test]
    fn a_draft_is_what_the_body_says() {
        let parse = |text| ErasureDraft::parse(Json::trusted(text));
        let draft = parse(r#"{"request_id":"r","reference":"case 7","block":true}"#).unwrap();
        assert_eq!((draft.request_id.as_deref(), draft.block), (Some("r"), Some(true)));
        assert_eq!(parse(r#"{"block":null}"#).unwrap(), ErasureDraft::default());
        let long = format!(r#"{{"reference":"{}"}}"#, "x".repeat(257));
        for bad in [r#"{"block":1}"#, r#"{"reference":"a\nb"}"#, r#"{"requestId":""}"#, r#"{"x":1}"#, "[]", &long] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
