//! The credential of a request, and the answers if it is missing or invalid.

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, Uri};
use percent_encoding::percent_decode_str;

use crate::access::{AuthError, is_user_token};
use crate::http::app::App;
use crate::http::describe::QUERY_TOKEN;
use crate::http::reply::{Code, Problem};

/// The answer to a request that cannot be authenticated.
pub fn turned_away(app: &App, error: AuthError) -> Problem {
    match error {
        AuthError::Unauthenticated(reason) => {
            app.metrics.credentials_refused.inc(reason);
            unauthenticated()
        }
        AuthError::Overloaded => {
            Problem::over("look_ups", Code::Overloaded, "too many new credentials are looked up; try again")
        }
        AuthError::Store(error) => Problem::unavailable(&error),
    }
}

/// The same answer for every reason, so that it tells nothing about credentials.
pub fn unauthenticated() -> Problem {
    Problem::over(
        "credential",
        Code::Unauthenticated,
        "a valid credential is needed: `Authorization: Bearer CREDENTIAL`",
    )
}

/// The credential of a request (RFC 6750). Logs and browser histories keep queries, so a query may carry one only where
/// a browser has no other way (`takes_token`), and then only a user token, which is short-lived.
///
/// # Errors
/// There are two credentials, or one in a query that must not have any.
pub fn credential(uri: &Uri, headers: &HeaderMap, takes_token: bool) -> Result<Option<String>, Problem> {
    let refuse = |detail| Err(Problem::new(Code::InvalidRequest, detail));
    let query = uri.query().unwrap_or_default();
    let token_of = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let is_token = percent_decode_str(name).eq(QUERY_TOKEN.bytes());
        is_token.then(|| percent_decode_str(value).decode_utf8_lossy().into_owned())
    };
    let mut tokens = query.split('&').filter_map(token_of);
    let token = tokens.next();
    if token.is_some() && !takes_token {
        return refuse("a credential in a query is not taken: send `Authorization: Bearer CREDENTIAL`");
    }
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let first = values.next();
    if values.next().is_some() || tokens.next().is_some() || first.is_some() && token.is_some() {
        return refuse("the request has two credentials");
    }
    if let Some(token) = token {
        // Other credentials are invalid here.
        return Ok(Some(if is_user_token(&token) { token } else { String::new() }));
    }
    let Some(text) = first.map(|value| value.to_str().unwrap_or_default()) else { return Ok(None) };
    let (scheme, rest) = text.split_once(' ').unwrap_or((text, ""));
    Ok(scheme.eq_ignore_ascii_case("bearer").then(|| rest.trim().to_owned()))
}
