//! Schemas and parameters as HTML: what a field is, in a few words.

use serde_json::Value;

use super::html::{escape, inline, items, markdown, members, table, text};

pub fn parameter_row(parameter: &Value) -> String {
    let schema = &parameter["schema"];
    format!(
        "<tr><td><code>{}</code><br><span class=\"dim\">{}</span></td><td>{} <span class=\"dim\">{}</span></td></tr>",
        escape(text(&parameter["name"])),
        escape(text(&parameter["in"])),
        inline(text(&parameter["description"])),
        type_of(schema),
    )
}

pub fn schema_section(name: &str, schema: &Value) -> String {
    let mut out =
        format!("<section id=\"schema-{0}\"><h3>{0}</h3>{1}", escape(name), markdown(text(&schema["description"])));
    if schema["properties"].is_null() {
        out += &format!("<p class=\"dim\">{}</p>", type_of(schema));
    }
    let mut rows = String::new();
    for (field, of) in members(&schema["properties"]) {
        let required = items(&schema["required"]).iter().any(|name| name == field);
        rows += &format!(
            "<tr><td><code>{}</code>{}</td><td>{} <span class=\"dim\">{}</span>{}</td></tr>",
            escape(field),
            if required { "" } else { " <span class=\"dim\">optional</span>" },
            inline(text(&of["description"])),
            type_of(of),
            fields_below(of),
        );
    }
    out += &table("", &rows);
    for example in items(&schema["examples"]).iter().filter(|example| example.is_object() || example.is_array()) {
        out += &format!("<pre><code>{}</code></pre>", escape(&format!("{example:#}")));
    }
    out + "</section>"
}

/// The fields of an object within a field, which has no section of its own.
fn fields_below(schema: &Value) -> String {
    let row = |(name, of): (&String, &Value)| {
        format!("<br><code>{}</code> <span class=\"dim\">{}</span>", escape(name), type_of(of))
    };
    members(&schema["properties"]).map(row).collect()
}

/// A schema in a few words, with links to those that have a name.
pub fn type_of(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/components/schemas/")) {
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
            let types: Vec<String> = schemas.iter().map(type_of).filter(|name| !name.is_empty()).collect();
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
