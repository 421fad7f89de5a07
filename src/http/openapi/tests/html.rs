//! HTML from text, and helpers to walk a document.

use serde_json::{Map, Value};

use crate::http::openapi::escape;

/// The part of CommonMark that our texts use: paragraphs, headings, lists, code.
pub fn markdown(source: &str) -> String {
    let block = |block: &str| {
        if let Some(title) = block.strip_prefix("## ") {
            format!("<h3 id=\"{}\">{}</h3>", anchor(title), inline(title))
        } else if let Some(list) = block.strip_prefix("- ") {
            list.split("\n- ")
                .map(|item| format!("<li>{}</li>", inline(item)))
                .fold("<ul>".to_owned(), |ul, li| ul + &li)
                + "</ul>"
        } else {
            format!("<p>{}</p>", inline(block))
        }
    };
    source.split("\n\n").filter(|part| !part.is_empty()).map(block).collect()
}

/// The headings of a text, as links to the anchors that [`markdown`] makes.
pub fn headings(source: &str) -> String {
    let titles = source.split("\n\n").filter_map(|block| block.strip_prefix("## "));
    titles.map(|title| format!("<li><a href=\"#{}\">{}</a></li>", anchor(title), inline(title))).collect()
}

/// The `id` of a heading.
pub fn anchor(title: &str) -> String {
    let words: String =
        title.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    format!("about-{words}")
}

/// Escaped, with `code` as code.
pub fn inline(source: &str) -> String {
    let piece = |(n, piece)| if n % 2 == 1 { format!("<code>{}</code>", escape(piece)) } else { escape(piece) };
    source.split('`').enumerate().map(piece).collect()
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_html_and_nothing_else_does() {
        let source = "## A b\n\n- `<b>`\n- c\n  d\n\ne & f";
        assert_eq!(
            markdown(source),
            "<h3 id=\"about-a-b\">A b</h3><ul><li><code>&lt;b&gt;</code></li><li>c\n  d</li></ul><p>e &amp; f</p>"
        );
        assert_eq!(headings(source), "<li><a href=\"#about-a-b\">A b</a></li>");
    }
}
