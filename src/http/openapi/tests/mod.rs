//! Makes the description and its page, or compares them with what they would be (`UPDATE_DOCS=1` writes them).

mod documented;
mod examples;
mod fields;
mod html;
mod operations;
mod page;

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
