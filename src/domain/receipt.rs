//! Receipts of erasures: the signed bytes, and how to get them back from a document.
//!
//! The signed bytes are [`CONTEXT`] and then the members of the receipt except `signature`, in the order below, as one JSON
//! object without white space. So a receipt may be reformatted, but nothing can be added to it.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hex::FromHex as _;

use super::erasure::{Erasure, Removed, Subject};
use super::json::{Json, ObjectText, push_string, string_array};
use super::time::Micros;

/// Domain separation: a signature of a receipt is not valid for anything else.
pub const CONTEXT: &str = "sessiond erasure receipt 1\n";

const TEXTS: [&str; 4] = ["id", "appName", "subject", "reference"];
const TIMES: [&str; 2] = ["requestTime", "doneTime"];
const COUNTS: [&str; 5] = ["sessions", "events", "stateKeys", "changes", "artifacts"];
const OTHERS: [&str; 6] = ["counts", "blocked", "remains", "instance", "keyId", "signature"];

/// Copies of removed rows that the database itself may keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// In the file: rows that were moved within it before their removal.
    Slack,
    /// In files of another process.
    Foreign,
}

/// The places where copies may remain after an erasure, in words.
fn remains(erasure: &Erasure, left: Option<Left>) -> Vec<&'static str> {
    let mut remains = vec![
        "app state, also what sessions of the user wrote to it",
        "backups from before, until the ledger of erasures is replayed on what is restored from them",
        "exports from before",
        "names in the access log, and in API keys that were made for the user",
        "a keyed hash of app and user in the ledger of erasures, and with the count of revoked tokens",
    ];
    if erasure.blocked {
        remains.push("a keyed hash of app and user by which the user is refused");
    }
    match left {
        None => {}
        Some(Left::Slack) => {
            remains.push("copies in unused parts of pages of the SQLite file, until VACUUM writes it anew")
        }
        Some(Left::Foreign) => {
            remains.push(
                "removed rows in the files of PostgreSQL, until their space is used again or the tables are written anew by \
                 VACUUM FULL or pg_repack: a plain VACUUM overwrites nothing",
            );
            remains.push("what the write-ahead log of PostgreSQL, its archive and its standbys keep");
        }
    }
    remains
}

/// The counts of an erasure, as its answer and its receipt show them.
pub fn counts(erasure: &Erasure) -> String {
    let removed = &erasure.removed;
    let mut counts = ObjectText::default();
    let Removed { sessions, events, state_keys, changes, artifacts } = *removed;
    for (name, count) in COUNTS.into_iter().zip([sessions, events, state_keys, changes, artifacts]) {
        counts.push(name, &count.to_string());
    }
    counts.close()
}

/// A receipt without its signature.
pub fn statement(erasure: &Erasure, done: Micros, left: Option<Left>, instance: &str, key_id: &str) -> String {
    let mut object = ObjectText::default();
    object.push_str("id", &erasure.id);
    object.push_str("appName", erasure.app.as_str());
    object.push_str("subject", &erasure.subject.to_hex());
    object.push_some_str("reference", erasure.reference.as_ref());
    object.push("requestTime", &erasure.request_time.to_number());
    object.push("doneTime", &done.to_number());
    object.push("counts", &counts(erasure));
    object.push("blocked", if erasure.blocked { "true" } else { "false" });
    object.push("remains", &string_array(remains(erasure, left)));
    object.push_str("instance", instance);
    object.push_str("keyId", key_id);
    object.close()
}

/// A receipt: a [`statement`] and its signature.
pub fn signed(statement: &str, signature: &[u8]) -> String {
    let mut text = statement.strip_suffix('}').unwrap_or(statement).to_owned();
    text.push_str(",\"signature\":");
    push_string(&mut text, &URL_SAFE_NO_PAD.encode(signature));
    text.push('}');
    text
}

/// A receipt that was read. Its content is true only if its signature is valid.
#[derive(Debug, PartialEq, Eq)]
pub struct Receipt {
    pub id: String,
    pub subject: Subject,
    pub instance: String,
    pub key_id: String,
    pub signature: Vec<u8>,
    statement: String,
}

impl Receipt {
    /// Reads a receipt, or an erasure that has one.
    pub fn parse(json: Json<'_>) -> Result<Self, String> {
        let json = json.get("receipt").unwrap_or(json);
        let members: Vec<String> =
            json.as_object().ok_or("is not a JSON object")?.map(|member| member.key.into_owned()).collect();
        let known = [&TEXTS[..], &TIMES, &OTHERS].concat();
        if let Some(unknown) = members.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(format!("`{unknown}` is no member of a receipt"));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = members.iter().find(|name| !seen.insert(*name)) {
            return Err(format!("`{twice}` is there twice"));
        }
        let lacks = |name: &str| format!("`{name}` is missing, or not what it should be");
        let text = |name: &str| {
            let text = json.get(name).and_then(Json::as_str).map(|text| text.into_owned());
            text.ok_or_else(|| lacks(name))
        };
        let mut object = ObjectText::default();
        for name in TEXTS {
            if name != "reference" || members.iter().any(|member| member == name) {
                object.push_str(name, &text(name)?);
            }
        }
        for name in TIMES {
            let time = json.get(name).and_then(|time| Micros::from_number(time.text()).ok());
            object.push(name, &time.ok_or_else(|| lacks(name))?.to_number());
        }
        let counts = json.get("counts").ok_or_else(|| lacks("counts"))?;
        if counts.as_object().is_none_or(|counts| counts.count() != COUNTS.len()) {
            return Err(lacks("counts"));
        }
        let mut counted = ObjectText::default();
        for name in COUNTS {
            let count = counts.get(name).and_then(|count| count.text().parse::<i64>().ok());
            counted.push(name, &count.ok_or_else(|| lacks("counts"))?.to_string());
        }
        object.push("counts", &counted.close());
        let blocked = json.get("blocked").and_then(Json::as_bool).ok_or_else(|| lacks("blocked"))?;
        object.push("blocked", if blocked { "true" } else { "false" });
        let remains = json.get("remains").and_then(Json::as_array).ok_or_else(|| lacks("remains"))?;
        let remains: Vec<_> = remains.map(Json::as_str).collect::<Option<_>>().ok_or_else(|| lacks("remains"))?;
        object.push("remains", &string_array(remains));
        object.push_str("instance", &text("instance")?);
        object.push_str("keyId", &text("keyId")?);
        let subject = <[u8; 32]>::from_hex(text("subject")?);
        Ok(Self {
            id: text("id")?,
            subject: Subject::trusted(subject.map_err(|_| lacks("subject"))?),
            instance: text("instance")?,
            key_id: text("keyId")?,
            signature: URL_SAFE_NO_PAD.decode(text("signature")?).map_err(|_| lacks("signature"))?,
            statement: object.close(),
        })
    }

    /// The bytes that were signed.
    pub fn signed_bytes(&self) -> Vec<u8> {
        bytes(&self.statement)
    }
}

/// The bytes of a statement that are signed.
pub fn bytes(statement: &str) -> Vec<u8> {
    [CONTEXT.as_bytes(), statement.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::AppName;

    fn receipt(reference: Option<&str>, blocked: bool) -> (String, String) {
        let erasure = Erasure {
            id: "e".to_owned(),
            app: AppName::parse("shop \"1\"").unwrap(),
            subject: Subject::trusted([7; 32]),
            request: None,
            reference: reference.map(str::to_owned),
            block: None,
            blocked,
            request_time: Micros(1_700_000_000_123_456),
            done_time: None,
            removed: Removed { sessions: 1, events: 2, state_keys: 3, changes: 4, artifacts: 5 },
            receipt: None,
        };
        let statement = statement(&erasure, Micros(1_700_000_001_000_000), None, "i", "k");
        (signed(&statement, b"signature"), statement)
    }

    #[test]
    fn what_was_signed_is_had_back() {
        for (reference, blocked) in [(None, false), (Some("case \u{e9} \\"), true)] {
            let (text, statement) = receipt(reference, blocked);
            let spaced = text.replace("\",\"", "\",\n  \"").replace(":{", " : {\n");
            let whole = format!(r#"{{"id":"e","state":"done","receipt":{text}}}"#);
            for text in [&text, &spaced, &whole] {
                let read = Receipt::parse(Json::trusted(text)).unwrap();
                assert_eq!(read.signed_bytes(), bytes(&statement));
                assert_eq!((&*read.signature, read.subject), (&b"signature"[..], Subject::trusted([7; 32])));
            }
        }
    }

    #[test]
    fn what_is_altered_is_not_what_was_signed() {
        let (text, statement) = receipt(Some("r"), true);
        for (from, to) in [
            ("\"sessions\":1", "\"sessions\":2"),
            ("\"blocked\":true", "\"blocked\":false"),
            ("\"reference\":\"r\",", ""),
            ("\"subject\":\"07", "\"subject\":\"08"),
            ("1700000001.000000", "1700000002.000000"),
        ] {
            let altered = text.replace(from, to);
            assert_ne!(altered, text, "{from}");
            assert_ne!(Receipt::parse(Json::trusted(&altered)).unwrap().signed_bytes(), bytes(&statement), "{from}");
        }
        for (from, to) in [
            ("\"id\":\"e\"", "\"id\":\"e\",\"id\":\"f\""),
            ("\"id\":\"e\"", "\"note\":\"e\""),
            ("\"sessions\":1", "\"sessions\":1,\"more\":1"),
            ("\"remains\":[", "\"remains\":[1,"),
        ] {
            let altered = text.replace(from, to);
            assert_ne!(altered, text, "{from}");
            assert!(Receipt::parse(Json::trusted(&altered)).is_err(), "{from}");
        }
    }
}
