//! YAML, for people to read: block style, no anchors, every string quoted that could be read as something else.

use serde_json::Value;

/// Text beyond this many columns is folded, or its list broken up.
const WIDTH: usize = 110;

/// # Guarantees
/// A YAML parser, of version 1.1 or 1.2, reads the value back. Ends with a line feed.
pub fn to_yaml(value: &Value) -> String {
    let mut out = String::new();
    node(value, 0, &mut out);
    out.trim_start().to_owned() + "\n"
}

/// Writes what stands after `key:` or `-`, from the space or line feed on.
fn node(value: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (key, value) in members {
                out.push_str(&format!("\n{pad}{}:", scalar(key, "{}")));
                node(value, indent + 2, out);
            }
        }
        Value::Array(items)
            if items.iter().any(|item| item.is_object() || item.is_array()) || flow(items).len() > WIDTH =>
        {
            for item in items {
                let mut text = String::new();
                node(item, indent + 2, &mut text);
                // The first member of an object stands beside the dash.
                out.push_str(&format!("\n{pad}- {}", text.trim_start()));
            }
        }
        Value::Array(items) => out.push_str(&format!(" {}", flow(items))),
        Value::String(text) if text.contains('\n') => {
            out.push_str(" |-");
            for line in text.split('\n') {
                out.push('\n');
                out.push_str(if line.is_empty() { "" } else { &pad });
                out.push_str(line);
            }
        }
        Value::String(text) if text.len() + indent > WIDTH && text.contains(' ') && !text.contains("  ") => {
            out.push_str(" >-");
            let mut column = WIDTH;
            for word in text.split(' ') {
                if column + word.len() >= WIDTH {
                    out.push_str(&format!("\n{pad}"));
                    column = indent;
                } else {
                    out.push(' ');
                }
                out.push_str(word);
                column += word.len() + 1;
            }
        }
        Value::String(text) => out.push_str(&format!(" {}", scalar(text, ",`'="))),
        // YAML 1.1 takes an exponent for a number only after a fraction.
        Value::Number(number) if !number.to_string().contains('.') => {
            out.push_str(&format!(" {}", number.to_string().replace('e', ".0e")));
        }
        other => out.push_str(&format!(" {other}")),
    }
}

fn flow(items: &[Value]) -> String {
    let items: Vec<String> =
        items.iter().map(|item| item.as_str().map_or(item.to_string(), |s| scalar(s, ""))).collect();
    format!("[{}]", items.join(", "))
}

/// A string on one line: bare if nothing in it means anything in YAML, where it stands; otherwise as JSON, which is YAML.
fn scalar(text: &str, also: &str) -> String {
    let bare = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '$')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || " _-./$();+".contains(c) || also.contains(c))
        && !text.ends_with(' ')
        && !["y", "n", "yes", "no", "on", "off", "true", "false", "null"].contains(&&*text.to_ascii_lowercase());
    if bare { text.to_owned() } else { Value::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read_back() {
        let long = "many words ".repeat(40);
        let value = json!({
            "plain": "a b", "": "", "quoted": ["yes", "No", "null", "~", "1", "1.0", "- a", "a: b", "a #b", "'", "\"", "é", " a", "a "],
            "numbers": [0, -1, 1e-6, 1.5e300, 0.25, 9_007_199_254_740_993_i64], "others": [null, true, []],
            "nested": [{"a": [{"b": {}}, [[], ["c"]]], "d": "e"}, "f"], "/v1/{id}": {"200": 1},
            "lines": "a\n\n  b: c\n# d\ne", "folded": long.trim_end(), "spaces": format!("{long} {long}"),
            "list": vec!["some words"; 30], "pattern": r#"^\*|"[^\x00]"$"#,
        });
        for value in [value, super::super::document(crate::http::ENDPOINTS, "t", "d", |_| true)] {
            let read: Value = serde_saphyr::from_str(&to_yaml(&value)).unwrap();
            assert_eq!(read, value);
        }
    }
}
