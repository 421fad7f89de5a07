//! The API description: files that a test makes of the table of endpoints, of `operations.yaml`, and of `base.yaml`. The API tests
//! validate real answers against both of YAML.

#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "`json!` calls `to_value`; nothing here is a stored value")
)]

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// Without the paths of ADK.
pub const YAML: &str = include_str!("../../../openapi.yaml");
/// The paths of ADK.
pub const ADK_YAML: &str = include_str!("../../../openapi-adk.yaml");
/// Both as one page, which loads nothing from elsewhere.
pub const PAGE: &str = include_str!("page.html");

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Allows the style and the script of the page, by their hashes, requests to this server, and nothing else.
pub static PAGE_POLICY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "default-src 'none'; script-src {}; style-src {}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        hash_source(SCRIPT),
        hash_source(STYLE)
    )
});

pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The source expression that allows this inline style or script in a content security policy.
pub fn hash_source(of: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(of)))
}
