//! The API description: files that a test makes of the table of endpoints and of `base.yaml`. The API tests validate real answers
//! against both of YAML.

#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "`json!` calls `to_value`; nothing here is a stored value")
)]

#[cfg(test)]
mod documented;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod fields;
#[cfg(test)]
mod html;
#[cfg(test)]
mod page;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_source_is_the_sha_256_of_the_text() {
        assert_eq!(hash_source(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
    }

    #[test]
    fn the_policy_allows_the_one_style_and_the_one_script_of_the_page() {
        for (element, directive) in [("style", "style-src"), ("script", "script-src")] {
            let (open, close) = (format!("<{element}>"), format!("</{element}>"));
            let (_, rest) = PAGE.split_once(&open).unwrap();
            let (content, rest) = rest.split_once(&close).unwrap();
            assert!(!rest.contains(&format!("<{element}")), "{element}");
            assert!(PAGE_POLICY.contains(&format!("{directive} {};", hash_source(content))), "{element}");
        }
        assert!(!PAGE_POLICY.contains("unsafe") && !PAGE_POLICY.contains('*'));
    }

    #[test]
    fn the_page_is_whole_and_needs_nothing() {
        for endpoint in crate::http::ENDPOINTS {
            assert!(PAGE.contains(&format!("id=\"{}\"", endpoint.operation.id)), "{}", endpoint.path);
        }
        for target in PAGE.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert_eq!(PAGE.matches(&format!("id=\"{target}\"")).count(), 1, "{target}");
        }
        for outside in ["<img", "<link", "src=", "href=\"http", "href=\"//", "@import", "url(", "style=", "onclick="] {
            assert!(!PAGE.contains(outside), "{outside}");
        }
        assert!(!PAGE.contains("<code>x-request-id</code> <span") && PAGE.contains("sessiond"));
    }
}
