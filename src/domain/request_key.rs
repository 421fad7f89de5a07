//! How a retry of a request that appends no event is recognised.

use sha2::{Digest as _, Sha256};

use super::envelope::to_camel;
use super::event::{Content, REDACTED};
use super::ids::IdempotencyKey;
use super::json::Json;

/// The idempotency key of a request and a digest of its content, stored with the session or scope that the request created or
/// changed. The same key is a retry with the same digest, and a conflict with another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestKey {
    pub key: IdempotencyKey,
    pub digest: [u8; 32],
}

impl RequestKey {
    /// `place` names the operation and its target. The digest covers `place` and the fields of the body, whatever their order and
    /// spelling. A `null` field counts as absent, and a missing body as one without fields.
    pub fn new<'a>(key: IdempotencyKey, place: impl Iterator<Item = &'a str>, body: Option<Json<'_>>) -> Self {
        let members = body.and_then(Json::as_object).into_iter().flatten().filter(|member| !member.value.is_null());
        let mut fields = Content::default();
        for member in members {
            fields.add(to_camel(&member.key).into_owned(), member.value);
        }
        Self::of(key, place, fields)
    }

    /// As [`RequestKey::new`], of a body that is one value.
    pub fn of_value<'a>(key: IdempotencyKey, place: impl Iterator<Item = &'a str>, value: Json<'_>) -> Self {
        let mut fields = Content::default();
        fields.add("value".to_owned(), value);
        Self::of(key, place, fields)
    }

    fn of<'a>(key: IdempotencyKey, place: impl Iterator<Item = &'a str>, fields: Content<'_>) -> Self {
        let mut hash = Sha256::new();
        for part in place {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hash.update(fields.digest());
        Self { key, digest: hash.finalize().into() }
    }

    /// Whether this is a retry of a request that was stored with this digest.
    pub fn is_retry_of(&self, digest: &[u8]) -> bool {
        digest == REDACTED || self.digest == digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(place: &[&str], body: Option<&str>) -> [u8; 32] {
        let key = IdempotencyKey::parse("k").unwrap();
        RequestKey::new(key, place.iter().copied(), body.map(Json::trusted)).digest
    }

    #[test]
    fn the_digest_sees_what_is_asked_and_not_how_it_is_written() {
        let body = |text| of(&["createSession", "app", "user"], Some(text));
        let base = body(r#"{"displayName":"n","state":{"a":1,"b":null}}"#);
        for same in [
            r#"{ "state": {"b": null, "a": 1.0}, "display_name": "\u006e" }"#,
            r#"{"displayName":"n","state":{"a":1,"b":null},"labels":null}"#,
        ] {
            assert_eq!(body(same), base, "{same}");
        }
        for other in [
            "{}",
            r#"{"displayName":"m","state":{"a":1,"b":null}}"#,
            r#"{"displayName":"n","state":{"a":1}}"#,
            r#"{"displayName":"n","state":{"a":1,"b":null},"ttl":1}"#,
        ] {
            assert_ne!(body(other), base, "{other}");
        }
        assert_eq!(body("{}"), of(&["createSession", "app", "user"], None));
    }

    #[test]
    fn the_digest_of_a_value_sees_all_of_it() {
        let of = |value| {
            let key = IdempotencyKey::parse("k").unwrap();
            RequestKey::of_value(key, ["putAppStateKey", "app", "k"].into_iter(), Json::trusted(value)).digest
        };
        assert_eq!(of(r#"{"a_b":1,"c":null}"#), of(r#"{ "c": null, "a_b": 1.0 }"#));
        for other in [r#"{"aB":1,"c":null}"#, r#"{"a_b":1}"#, "{}", "null", "1", "[]"] {
            assert_ne!(of(r#"{"a_b":1,"c":null}"#), of(other), "{other}");
        }
        assert_ne!(of("1"), of("2"));
        assert_ne!(of("null"), of("{}"));
    }

    #[test]
    fn the_digest_sees_where_it_is_asked() {
        assert_ne!(of(&["forkSession", "a"], None), of(&["forkSession", "b"], None));
        assert_ne!(of(&["forkSession", "a"], None), of(&["createSession", "a"], None));
        assert_ne!(of(&["ab", "c"], None), of(&["a", "bc"], None));
    }
}
