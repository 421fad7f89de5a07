//! Credentials are stored like other data, but neither `adk api_server` nor this shows their secrets to clients. The
//! rules and the names are those of google-adk 2.13 (`auth_credential._redact_credential_secrets`), with one
//! difference: in a credential all secrets are removed, even where ADK misses some.

use std::borrow::Cow;

use crate::domain::envelope::to_camel;
use crate::domain::json::{Json, Kind, ObjectText};

/// The secret members of a credential, in camelCase.
const SECRETS: &[&str] = &[
    "accessToken",
    "additionalHeaders",
    "apiKey",
    "authCode",
    "authResponseUri",
    "clientSecret",
    "codeVerifier",
    "idToken",
    "password",
    "privateKey",
    "privateKeyId",
    "refreshToken",
    "token",
];

/// Members that contain credentials, in camelCase.
const CARRIERS: &[&str] = &["exchangedAuthCredential", "rawAuthCredential", "requestedAuthConfigs"];

/// An object with one of these types is a credential.
const AUTH_TYPES: &[&str] = &[
    "API_KEY",
    "HTTP",
    "OAUTH2",
    "OPEN_ID_CONNECT",
    "SERVICE_ACCOUNT",
    "apiKey",
    "api_key",
    "http",
    "oauth2",
    "openIdConnect",
    "open_id_connect",
    "serviceAccount",
    "service_account",
];

/// The function call that asks a user for a credential. Its arguments and its response contain one.
const REQUEST_CREDENTIAL: &str = "adk_request_credential";

/// A value without the secrets of credentials. If it has none, it is returned unchanged, byte for byte.
pub fn without_secrets(json: Json<'_>) -> Cow<'_, str> {
    // Every name that marks a credential contains one of the first two, unless it is written with escapes.
    let suspect = ["uth", REQUEST_CREDENTIAL, "\\u"].iter().any(|mark| json.text().contains(mark));
    match suspect.then(|| redacted(json, false)).flatten() {
        Some(text) => Cow::Owned(text),
        None => Cow::Borrowed(json.text()),
    }
}

/// A credential without its secrets.
pub fn of_credential(json: Json<'_>) -> Cow<'_, str> {
    redacted(json, true).map_or(Cow::Borrowed(json.text()), Cow::Owned)
}

/// The value without secrets, if it has any. `in_credential`: it is part of a credential.
fn redacted(json: Json<'_>, in_credential: bool) -> Option<String> {
    match json.kind() {
        Kind::Object => object(json, in_credential),
        Kind::Array => {
            let elements: Vec<_> =
                json.as_array()?.map(|element| (element, redacted(element, in_credential))).collect();
            elements.iter().any(|(_, redacted)| redacted.is_some()).then(|| {
                let texts: Vec<&str> =
                    elements.iter().map(|(given, redacted)| redacted.as_deref().unwrap_or(given.text())).collect();
                format!("[{}]", texts.join(","))
            })
        }
        _ => None,
    }
}

fn object(json: Json<'_>, in_credential: bool) -> Option<String> {
    let text_of = |name: &str| json.get(name).and_then(Json::as_str);
    let has_type = |name: &&str| text_of(name).is_some_and(|kind| AUTH_TYPES.contains(&&*kind));
    let in_credential = in_credential || ["authType", "auth_type"].iter().any(has_type);
    let is_request = text_of("name").is_some_and(|name| name == REQUEST_CREDENTIAL);
    let mut changed = false;
    let mut out = ObjectText::default();
    for member in json.as_object()? {
        let key = &*to_camel(&member.key);
        if in_credential && SECRETS.contains(&key) {
            changed = true;
            continue;
        }
        let carries = CARRIERS.contains(&key) || is_request && matches!(key, "args" | "response");
        let value = redacted(member.value, in_credential || carries);
        changed |= value.is_some();
        out.push_raw(member.raw_key, value.as_deref().unwrap_or(member.value.text()));
    }
    changed.then(|| out.close())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_credential_stays_as_it_is() {
        for text in [
            r#"{ "token" : 1.0, "password": "p", "author": "a" }"#,
            r#"{"authType": "none", "token": 1}"#,
            r#"[ {"name": "adk_request_input", "args": {"token": 1}} ]"#,
            r#"{"authType": {"token": 1}}"#,
            r#""authType""#,
        ] {
            assert_eq!(without_secrets(Json::trusted(text)), text);
        }
    }

    #[test]
    fn secrets_of_credentials_are_taken_out() {
        for (text, shown) in [
            (
                r#"{"k": [1.0, {"authType":"oauth2","oauth2":{"clientId":"i","clientSecret":"s","more":[{"token":1}]}}], "token": 1E2}"#,
                r#"{"k":[1.0,{"authType":"oauth2","oauth2":{"clientId":"i","more":[{}]}}],"token":1E2}"#,
            ),
            (r#"{"auth\u0054ype":"API_KEY","apiKey":"s"}"#, r#"{"auth\u0054ype":"API_KEY"}"#),
            (
                r#"{"requestedAuthConfigs":{"f":{"x":{"api_key":"s"},"y":1}}}"#,
                r#"{"requestedAuthConfigs":{"f":{"x":{},"y":1}}}"#,
            ),
            (r#"{"rawAuthCredential":{"password":"s"},"password":"p"}"#, r#"{"rawAuthCredential":{},"password":"p"}"#),
            (
                r#"{"name":"adk_request_credential","args":{"authConfig":{"token":"s"},"id":1},"response":{"authCode":"s"}}"#,
                r#"{"name":"adk_request_credential","args":{"authConfig":{},"id":1},"response":{}}"#,
            ),
        ] {
            assert_eq!(without_secrets(Json::trusted(text)), shown);
        }
    }
}
