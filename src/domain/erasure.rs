//! Erasures: all of a user goes, and a signed receipt proves it without the name (contract, section 12).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::hmac;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

use super::Rejected;
use super::envelope::Fields;
use super::ids::{AppName, UserId, UserKey};
use super::json::{Json, Kind, ObjectText, string_array};
use super::time::{Micros, Timestamp};
use super::transfer::hex;

const MAX_TEXT: usize = 256;

/// A user of an app, under a salted hash: what is kept of whom nothing else is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject(String);

impl Subject {
    /// HMAC-SHA256 of app, NUL and user, in hexadecimal digits. No name holds a NUL.
    pub fn of(salt: &[u8; 32], user: &UserKey) -> Self {
        let text = [user.app.as_str().as_bytes(), b"\0", user.user.as_str().as_bytes()].concat();
        Self(hex(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, salt), &text).as_ref()))
    }

    pub fn trusted(text: String) -> Self {
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a client asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErasureDraft {
    pub request_id: Option<String>,
    pub reference: Option<String>,
    /// Whether new sessions of the user are refused from now on; `None` leaves that as it is.
    pub block: Option<bool>,
}

impl ErasureDraft {
    /// Reads `{requestId?, reference?, block?}`.
    ///
    /// # Errors
    /// Every fault of the body.
    pub fn parse(json: Json<'_>) -> Result<Self, Rejected> {
        let mut fields = Fields::of(json, "")?;
        let text = |text: &str| match text.len() {
            1..=MAX_TEXT if !text.chars().any(char::is_control) => Ok(text.to_owned()),
            _ => Err("must be 1 to 256 bytes, without control characters"),
        };
        let request_id = fields.take_str_with("requestId", text);
        let reference = fields.take_str_with("reference", text);
        let block = fields.take("block").and_then(|block| {
            if block.kind() != Kind::Bool {
                fields.refuse("block", "must be true or false");
            }
            block.as_bool()
        });
        fields.finish()?;
        Ok(Self { request_id, reference, block })
    }
}

/// An erasure to be begun. A retry is recognised by its id, and by its request.
#[derive(Debug, Clone)]
pub struct Erase {
    pub id: String,
    pub user: UserKey,
    pub subject: Subject,
    pub draft: ErasureDraft,
    pub now: Micros,
}

/// What an erasure removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub sessions: i64,
    pub events: i64,
    /// Keys of session and user state.
    pub state_keys: i64,
    /// Past values of keys.
    pub changes: i64,
}

impl Counts {
    pub fn to_json(self) -> String {
        let mut object = ObjectText::default();
        for (name, count) in [
            ("sessions", self.sessions),
            ("events", self.events),
            ("stateKeys", self.state_keys),
            ("changes", self.changes),
        ] {
            object.push(name, &count.to_string());
        }
        object.close()
    }
}

/// An erasure, without the name of anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    pub id: String,
    pub app: AppName,
    pub subject: Subject,
    pub request_id: Option<String>,
    pub reference: Option<String>,
    pub block: Option<bool>,
    pub request_time: Micros,
    pub done_time: Option<Micros>,
    pub counts: Counts,
    /// JSON, once it is done.
    pub receipt: Option<String>,
}

#[derive(Debug)]
pub enum EraseOutcome {
    Begun(Erasure),
    /// A retry: the erasure that the first request began.
    Found(Erasure),
    /// The request id was used for another user.
    Conflict,
}

impl Erasure {
    /// As the API shows it.
    pub fn to_json(&self) -> String {
        let mut object = self.head();
        object.push_str("state", if self.done_time.is_some() { "done" } else { "running" });
        self.times(&mut object);
        object.push("counts", &self.counts.to_json());
        if let Some(receipt) = &self.receipt {
            object.push("receipt", receipt);
        }
        object.close()
    }

    /// Its line of the ledger.
    pub fn to_ledger(&self) -> String {
        let mut object = self.head();
        object.push_str("subject", self.subject.as_str());
        if let Some(id) = &self.request_id {
            object.push_str("requestId", id);
        }
        if let Some(block) = self.block {
            object.push("block", if block { "true" } else { "false" });
        }
        self.times(&mut object);
        object.close()
    }

    fn head(&self) -> ObjectText {
        let mut object = ObjectText::default();
        object.push_str("id", &self.id);
        object.push_str("appName", self.app.as_str());
        if let Some(reference) = &self.reference {
            object.push_str("reference", reference);
        }
        object
    }

    fn times(&self, object: &mut ObjectText) {
        object.push("requestTime", &self.request_time.to_number());
        if let Some(time) = self.done_time {
            object.push("doneTime", &time.to_number());
        }
    }

    /// The receipt of a finished erasure, signed with the key of this seed. `database` is `sqlite` or `postgresql`.
    pub fn sign(&self, seed: &[u8; 32], database: &str) -> Option<String> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).ok()?;
        let mut remains = vec!["app state that the user's sessions wrote", "backups", "an access log, if one is kept"];
        if database == "postgresql" {
            remains.push("dead rows until VACUUM, and the write-ahead log");
        }
        if self.block == Some(true) {
            remains.push("a salted hash of who is blocked");
        }
        let remains: Vec<String> = remains.into_iter().map(str::to_owned).collect();
        let mut object = self.head();
        object.push_str("subject", self.subject.as_str());
        self.times(&mut object);
        object.push("counts", &self.counts.to_json());
        object.push("blocked", if self.block == Some(true) { "true" } else { "false" });
        object.push("remains", &string_array(&remains));
        object.push_str("keyId", &key_id(pair.public_key().as_ref()));
        let unsigned = object.clone().close();
        let signature = pair.sign(Json::trusted(&unsigned).canonical().as_bytes());
        object.push_str("signature", &BASE64.encode(signature.as_ref()));
        Some(object.close())
    }
}

/// A line of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerLine(pub Erasure);

impl LedgerLine {
    /// # Errors
    /// It is none.
    pub fn parse(line: &str) -> Result<Self, Rejected> {
        let json = super::envelope::parse_body(line.as_bytes())?;
        let text = |name: &str| json.get(name).and_then(Json::as_str).map(std::borrow::Cow::into_owned);
        let time = |name: &str| json.get(name).and_then(|time| Timestamp::parse(time).ok()).map(|time| time.micros);
        let app = text("appName").and_then(|app| AppName::parse(&app).ok());
        let parts = text("id").zip(app).zip(text("subject")).zip(time("requestTime"));
        let Some((((id, app), subject), request_time)) = parts else {
            return Err(Rejected::field("", "is no line of a ledger of erasures"));
        };
        Ok(Self(Erasure {
            id,
            app,
            subject: Subject(subject),
            request_id: text("requestId"),
            reference: text("reference"),
            block: json.get("block").and_then(Json::as_bool),
            request_time,
            done_time: None,
            counts: Counts::default(),
            receipt: None,
        }))
    }

    /// The erasure of this user, again.
    pub fn repeat(&self, user: UserId) -> Erase {
        let Erasure { id, app, subject, request_id, reference, block, request_time, .. } = self.0.clone();
        let user = UserKey { app, user };
        Erase { id, user, subject, draft: ErasureDraft { request_id, reference, block }, now: request_time }
    }
}

/// Names a public key: the beginning of it.
pub fn key_id(public: &[u8]) -> String {
    hex(public.get(..8).unwrap_or(public))
}

/// The public key of a seed.
pub fn public_key(seed: &[u8; 32]) -> Option<Vec<u8>> {
    Some(Ed25519KeyPair::from_seed_unchecked(seed).ok()?.public_key().as_ref().to_vec())
}

/// Whether a receipt was signed with this key, and is as it was signed.
///
/// # Errors
/// Why not.
pub fn verify_receipt(receipt: &str, public: &[u8]) -> Result<(), &'static str> {
    let json = super::envelope::parse_body(receipt.as_bytes()).map_err(|_| "it is no JSON")?;
    let members = json.as_object().ok_or("it is no JSON object")?;
    let (mut unsigned, mut signature) = (ObjectText::default(), None);
    for member in members {
        match &*member.key {
            "signature" => signature = member.value.as_str().and_then(|text| BASE64.decode(&*text).ok()),
            key => unsigned.push(key, member.value.text()),
        }
    }
    let signature = signature.ok_or("it has no signature")?;
    let key = json.get("keyId").and_then(Json::as_str).unwrap_or_default();
    if key != key_id(public) {
        return Err("it is signed with another key");
    }
    let unsigned = unsigned.close();
    let message = Json::trusted(&unsigned).canonical();
    UnparsedPublicKey::new(&ED25519, public)
        .verify(message.as_bytes(), &signature)
        .map_err(|_| "it was altered, or is not signed with this key")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn erasure() -> Erasure {
        let user = UserKey { app: AppName::parse("shop").unwrap(), user: UserId::parse("ada").unwrap() };
        Erasure {
            id: "e1".to_owned(),
            app: user.app.clone(),
            subject: Subject::of(&[7; 32], &user),
            request_id: Some("r".to_owned()),
            reference: Some("ticket \"12\"".to_owned()),
            block: Some(true),
            request_time: Micros(1_000_000),
            done_time: Some(Micros(2_500_000)),
            counts: Counts { sessions: 1, events: 2, state_keys: 3, changes: 4 },
            receipt: None,
        }
    }

    #[test]
    fn a_receipt_holds_until_a_value_of_it_is_another() {
        let (seed, other) = ([1; 32], [2; 32]);
        let receipt = erasure().sign(&seed, "postgresql").unwrap();
        let (public, foreign) = (public_key(&seed).unwrap(), public_key(&other).unwrap());
        assert_eq!(verify_receipt(&receipt, &public), Ok(()));
        // White space and order are no part of it.
        assert_eq!(verify_receipt(&receipt.replace(",\"counts\"", ",\n  \"counts\""), &public), Ok(()));
        assert!(!receipt.contains("ada") && receipt.contains("VACUUM") && receipt.contains("salted hash"));
        for (from, to) in
            [("\"events\":2", "\"events\":3"), ("shop", "shod"), ("\"blocked\":true,", ""), ("2.5", "2.6")]
        {
            assert!(receipt.contains(from), "{from}");
            assert!(verify_receipt(&receipt.replacen(from, to, 1), &public).is_err(), "{from}");
        }
        let forged = erasure().sign(&other, "postgresql").unwrap();
        for (receipt, key) in [(&receipt, &foreign), (&forged, &public), (&"{}".to_owned(), &public)] {
            assert!(verify_receipt(receipt, key).is_err());
        }
    }

    #[test]
    fn a_line_of_the_ledger_is_read_as_it_was_written() {
        let LedgerLine(read) = LedgerLine::parse(&erasure().to_ledger()).unwrap();
        assert_eq!(read, Erasure { done_time: None, counts: Counts::default(), ..erasure() });
        assert!(LedgerLine::parse("{\"id\":\"x\"}").is_err() && LedgerLine::parse("x").is_err());
    }

    #[test]
    fn a_subject_is_of_app_and_user() {
        let of = |app: &str, user: &str| {
            Subject::of(&[0; 32], &UserKey { app: AppName::parse(app).unwrap(), user: UserId::parse(user).unwrap() })
        };
        assert_ne!(of("a", "bc"), of("ab", "c"));
        assert_eq!(of("a", "b").as_str().len(), 64);
    }
}
