//! HTML of texts, and what a document is walked through with.

use serde_json::{Map, Value};

/// As much of CommonMark as our own texts use: paragraphs, headings, lists, code.
pub fn markdown(source: &str) -> String {
    let block = |block: &str| {
        if let Some(title) = block.strip_prefix("## ") {
            format!("<h3>{}</h3>", inline(title))
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

/// Escaped, with `code` as code.
pub fn inline(source: &str) -> String {
    let piece = |(n, piece)| if n % 2 == 1 { format!("<code>{}</code>", escape(piece)) } else { escape(piece) };
    source.split('`').enumerate().map(piece).collect()
}

pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

pub fn table(title: &str, rows: &str) -> String {
    let title = if title.is_empty() { String::new() } else { format!("<h4>{title}</h4>") };
    if rows.is_empty() { String::new() } else { format!("{title}<table>{rows}</table>") }
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
        assert_eq!(
            markdown("## A\n\n- `<b>`\n- c\n  d\n\ne & f"),
            "<h3>A</h3><ul><li><code>&lt;b&gt;</code></li><li>c\n  d</li></ul><p>e &amp; f</p>"
        );
    }
}
