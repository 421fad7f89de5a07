//! Schemas as HTML: the type of a value in a few words, and the fields of objects, which can be unfolded.

use serde_json::Value;

use super::html::{inline, items, markdown, members, text};
use crate::http::openapi::escape;

/// The schemas of a document.
pub struct Schemas<'a>(pub &'a Value);

impl<'a> Schemas<'a> {
    /// Follows a reference; returns anything else unchanged.
    pub fn resolve(&self, value: &'a Value) -> &'a Value {
        let target = value["$ref"].as_str().and_then(|reference| self.0.pointer(reference.strip_prefix('#')?));
        target.unwrap_or(value)
    }

    /// The section of a named schema.
    pub fn section(&self, name: &str, schema: &'a Value) -> String {
        let mut out =
            format!("<section id=\"schema-{0}\"><h3>{0}</h3>{1}", escape(name), markdown(text(&schema["description"])));
        if schema["properties"].is_null() {
            out += &format!("<p class=\"type\">{}</p>", type_of(schema));
        }
        // Named schemas have a section here, which the name links to.
        let mut named = members(&self.0["components"]["schemas"]).map(|(name, _)| name.as_str()).collect();
        out += &self.inside(schema, &mut named);
        for example in items(&schema["examples"]).iter().filter(|example| example.is_object() || example.is_array()) {
            out += &format!("<pre><code>{}</code></pre>", escape(&format!("{example:#}")));
        }
        out + "</section>"
    }

    /// The objects within a value, each folded.
    pub fn unfolded(&self, schema: &'a Value) -> String {
        self.within(schema, &mut Vec::new())
    }

    /// `open`: the names of the enclosing schemas, which are not unfolded again within themselves.
    fn within(&self, schema: &'a Value, open: &mut Vec<&'a str>) -> String {
        let Some(name) = name_of(schema) else {
            let inside = self.inside(schema, open);
            return if schema["properties"].is_object() { fold(&outline(schema), &inside) } else { inside };
        };
        if open.contains(&name) {
            return String::new();
        }
        let target = self.resolve(schema);
        open.push(name);
        let inside = self.inside(target, open);
        open.pop();
        if target["properties"].is_object() { fold(&format!("<code>{}</code>", escape(name)), &inside) } else { inside }
    }

    fn inside(&self, schema: &'a Value, open: &mut Vec<&'a str>) -> String {
        let mut out = self.fields(schema, open);
        let lists = [&schema["anyOf"], &schema["allOf"]].into_iter().flat_map(items);
        let inner = [&schema["items"], &schema["additionalProperties"]].into_iter().filter(|part| part.is_object());
        for part in inner.chain(lists) {
            let part = self.within(part, open);
            // Either one or a list of them: both have the same fields.
            if !out.contains(&part) {
                out += &part;
            }
        }
        out
    }

    fn fields(&self, schema: &'a Value, open: &mut Vec<&'a str>) -> String {
        let mut rows = String::new();
        for (name, of) in members(&schema["properties"]) {
            let note = if items(&schema["required"]).iter().any(|needed| needed == name) { "" } else { "optional" };
            rows += &row(name, &type_of(of), note, text(&of["description"]), &self.within(of, open));
        }
        list(&rows)
    }
}

/// A row in a list of fields, parameters or answers. `kind` and `below` are HTML.
pub fn row(name: &str, kind: &str, note: &str, about: &str, below: &str) -> String {
    let note = if note.is_empty() { String::new() } else { format!(" <span class=\"dim\">{note}</span>") };
    let about = if about.is_empty() { String::new() } else { format!("<p>{}</p>", inline(about)) };
    let name = escape(name);
    format!("<li><div><code>{name}</code> <span class=\"type\">{kind}</span>{note}</div><div>{about}{below}</div></li>")
}

pub fn list(rows: &str) -> String {
    if rows.is_empty() { String::new() } else { format!("<ul class=\"fields\">{rows}</ul>") }
}

/// Folded at first.
pub fn fold(title: &str, content: &str) -> String {
    format!("<details><summary>{title}</summary>{content}</details>")
}

/// An unnamed object, shown by its fields: `op: set`, `key`, `value`.
fn outline(schema: &Value) -> String {
    const SHOWN: usize = 4;
    let field = |(name, of): (&String, &Value)| match of["enum"].as_array() {
        Some(_) => format!("<code>{}</code>: {}", escape(name), type_of(of)),
        None => format!("<code>{}</code>", escape(name)),
    };
    let mut names: Vec<String> = members(&schema["properties"]).map(field).collect();
    if names.len() > SHOWN {
        names.truncate(SHOWN);
        names.push("...".to_owned());
    }
    names.join(", ")
}

fn name_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/components/schemas/")
}

/// A schema in a few words, with links to those that have a name.
pub fn type_of(schema: &Value) -> String {
    if let Some(name) = name_of(schema) {
        return format!("<a href=\"#schema-{0}\">{0}</a>", escape(name));
    }
    if let Some(value) = schema.get("const") {
        return format!("<code>{}</code>", escape(&value.to_string()));
    }
    if let Some(words) = schema["enum"].as_array() {
        let word = |word: &Value| word.as_str().map_or_else(|| word.to_string(), str::to_owned);
        let words: Vec<String> = words.iter().map(|of| format!("<code>{}</code>", escape(&word(of)))).collect();
        return words.join(" or ");
    }
    for (several, between) in [("anyOf", " or "), ("allOf", " and ")] {
        if let Some(schemas) = schema[several].as_array() {
            let mut types: Vec<String> = schemas.iter().map(type_of).filter(|name| !name.is_empty()).collect();
            types.dedup();
            return types.join(between);
        }
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::Array(types) => types.iter().map(text).collect(),
        one => vec![text(one)],
    };
    let mut out = escape(&types.join(" or "));
    if !schema["items"].is_null() {
        out += &format!(" of {}", type_of(&schema["items"]));
    }
    for (bound, name) in [
        ("minimum", "at least"),
        ("exclusiveMinimum", "above"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "below"),
        ("minItems", "at least"),
        ("maxItems", "at most"),
        ("maxLength", "up to"),
    ] {
        if !schema[bound].is_null() {
            out += &format!(", {name} {}", schema[bound]);
        }
    }
    if schema["format"].is_string() { out + ", " + &escape(text(&schema["format"])) } else { out }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_contains_itself_is_opened_once() {
        let node = json!({"type": "object", "properties": {
            "children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}},
            "at": {"type": "object", "properties": {"x": {"type": "integer"}, "kind": {"enum": ["a", "b"]}}},
        }});
        let document = json!({"components": {"schemas": {"Node": node}}});
        let schemas = Schemas(&document);
        let reference = json!({"$ref": "#/components/schemas/Node"});
        let html = schemas.unfolded(&reference);
        assert_eq!(html.matches("<details>").count(), 2, "{html}");
        assert!(html.contains("array of <a href=\"#schema-Node\">Node</a>"), "{html}");
        assert!(
            html.contains("<summary><code>x</code>, <code>kind</code>: <code>a</code> or <code>b</code></summary>")
        );
    }
}
