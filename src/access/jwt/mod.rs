//! Tokens of the customer's issuer: JWT (RFC 7519), including access tokens of RFC 9068.
//!
//! The issuer identifies the client; the settings name the claims with the user, the apps and the role. Names in claims
//! are literal. The key determines the algorithm, never the token; a key within the token is ignored.
//!
//! - `issuer`: verifies tokens; `jwks`: the issuer's keys; `signature`: signatures, by ring
//! - `none`: in place of these, in a program that is built without the feature `jwt`

#[cfg(feature = "jwt")]
mod issuer;
#[cfg(feature = "jwt")]
mod jwks;
#[cfg(not(feature = "jwt"))]
mod none;
#[cfg(feature = "jwt")]
mod signature;
#[cfg(test)]
#[cfg(feature = "jwt")]
mod testing;

use std::path::PathBuf;

#[cfg(feature = "jwt")]
pub(crate) use issuer::Jwt;
#[cfg(not(feature = "jwt"))]
pub(crate) use none::Jwt;
use url::{Host, Url};

use crate::domain::access::{Names, Role};

/// How much the issuer's clock and ours may differ: 60 s.
pub(crate) const LEEWAY_MICROS: i64 = 60_000_000;

/// Settings of the issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JwtSettings {
    /// The required `iss`.
    pub issuer: String,
    /// `aud` must be this, or a list that contains it.
    pub audience: String,
    pub source: KeySource,
    /// The claim that names the user.
    pub user_claim: String,
    pub apps: Said<Names>,
    pub role: Said<Role>,
}

/// What says the apps or the role of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said<T> {
    /// The settings: the same for every token.
    Fixed(T),
    /// A claim: the name of an app, or a list of names; the name of a role.
    Claim(String),
}

/// Where the issuer's keys come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeySource {
    Url(Url),
    File(PathBuf),
}

impl KeySource {
    /// # Errors
    /// The URL is neither `https` nor `http` of a loopback host: whoever can change the response can sign tokens.
    pub(crate) fn url(text: &str) -> Result<Self, &'static str> {
        let url = Url::parse(text).map_err(|_| "must be a URL")?;
        let is_loopback = match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.to_canonical().is_loopback(),
            None => false,
        };
        match url.scheme() {
            "https" => Ok(Self::Url(url)),
            "http" if is_loopback => Ok(Self::Url(url)),
            "http" => Err("must be https, as its host is not a loopback address"),
            _ => Err("must be an https URL"),
        }
    }
}
