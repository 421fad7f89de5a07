//! The description as one page of HTML: static, without scripts, with nothing to load.

use serde_json::{Map, Value};

/// Renders a document as `document` builds it: every reference is local, every list is there.
pub fn render(document: &Value) -> String {
    let page = Page { document };
    let info = &document["info"];
    let (title, version) = (escape(text(&info["title"])), escape(text(&info["version"])));
    let mut nav = String::new();
    let mut main = format!(
        "<h1>{title} <small>{version}</small></h1><p>The same as <a href=\"openapi.yaml\">openapi.yaml</a>, to read.</p>{}",
        markdown(text(&info["description"]))
    );
    for tag in items(&document["tags"]) {
        let name = escape(text(&tag["name"]));
        main += &format!("<h2>{name}</h2>{}", markdown(text(&tag["description"])));
        nav += &format!("<b>{name}</b><ul>");
        for (path, methods) in members(&document["paths"]) {
            for (method, operation) in members(methods) {
                // A HEAD is its GET without the body; the text says so once for all.
                if method == "head" || !items(&operation["tags"]).contains(&tag["name"]) {
                    continue;
                }
                let (id, summary) = (escape(text(&operation["operationId"])), escape(text(&operation["summary"])));
                nav += &format!("<li><a href=\"#{id}\">{summary}</a></li>");
                main += &page.operation(path, method, operation);
            }
        }
        nav += "</ul>";
    }
    main += "<h2>Schemas</h2>";
    nav += "<b>Schemas</b><ul>";
    for (name, schema) in members(&document["components"]["schemas"]) {
        nav += &format!("<li><a href=\"#schema-{0}\">{0}</a></li>", escape(name));
        main += &schema_section(name, schema);
    }
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title} {version}</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>{}</style></head>\
         <body><div class=\"frame\"><nav>{nav}</ul></nav><main>{main}</main></div></body></html>\n",
        include_str!("page.css")
    )
}

struct Page<'a> {
    document: &'a Value,
}

impl<'a> Page<'a> {
    fn resolve(&self, value: &'a Value) -> &'a Value {
        let target = value["$ref"].as_str().and_then(|reference| self.document.pointer(reference.strip_prefix('#')?));
        target.unwrap_or(value)
    }

    fn operation(&self, path: &str, method: &str, operation: &'a Value) -> String {
        let mut out = format!(
            "<section id=\"{}\"><h3>{}</h3><div class=\"path\"><span class=\"method {method}\">{}</span>{}</div>{}",
            escape(text(&operation["operationId"])),
            escape(text(&operation["summary"])),
            method.to_uppercase(),
            escape(path),
            markdown(text(&operation["description"])),
        );
        let parameters = items(&operation["parameters"]).iter().map(|parameter| self.resolve(parameter));
        // One that every operation has would only be in the way.
        let rows: String =
            parameters.filter(|parameter| parameter["name"] != "x-request-id").map(parameter_row).collect();
        out += &table("Parameters", &rows);
        let body = &operation["requestBody"];
        for (media, content) in members(&body["content"]) {
            let optional = if body["required"] == true { "" } else { ", optional" };
            out += &format!(
                "<h4>Body</h4><p>{} <span class=\"dim\">{media}{optional}</span></p>",
                type_of(&content["schema"])
            );
        }
        let (mut answers, mut errors) = (String::new(), String::new());
        for (status, answer) in members(&operation["responses"]) {
            let answer = self.resolve(answer);
            let about = inline(text(&answer["description"]));
            if status.as_str() >= "400" {
                errors += &format!("<tr><td><code>{status}</code></td><td>{about}</td></tr>");
                continue;
            }
            let bodies: Vec<String> = members(&answer["content"])
                .map(|(media, content)| format!("{} <span class=\"dim\">{media}</span>", type_of(&content["schema"])))
                .collect();
            let headers: Vec<String> = members(&answer["headers"])
                .filter(|(name, _)| *name != "x-request-id")
                .map(|(name, _)| format!("<code>{}</code>", escape(name)))
                .collect();
            let headers = if headers.is_empty() {
                String::new()
            } else {
                format!("<p class=\"dim\">with {}</p>", headers.join(", "))
            };
            answers +=
                &format!("<tr><td><code>{status}</code></td><td><p>{about}</p>{}{headers}</td></tr>", bodies.concat());
        }
        out + &table("Answers", &answers) + &table("Errors", &errors) + "</section>"
    }
}

fn parameter_row(parameter: &Value) -> String {
    let schema = &parameter["schema"];
    format!(
        "<tr><td><code>{}</code><br><span class=\"dim\">{}</span></td><td>{} <span class=\"dim\">{}</span></td></tr>",
        escape(text(&parameter["name"])),
        escape(text(&parameter["in"])),
        inline(text(&parameter["description"])),
        type_of(schema),
    )
}

fn schema_section(name: &str, schema: &Value) -> String {
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
fn type_of(schema: &Value) -> String {
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

fn table(title: &str, rows: &str) -> String {
    let title = if title.is_empty() { String::new() } else { format!("<h4>{title}</h4>") };
    if rows.is_empty() { String::new() } else { format!("{title}<table>{rows}</table>") }
}

/// As much of CommonMark as our own texts use: paragraphs, headings, lists, code.
fn markdown(source: &str) -> String {
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
fn inline(source: &str) -> String {
    let piece = |(n, piece)| if n % 2 == 1 { format!("<code>{}</code>", escape(piece)) } else { escape(piece) };
    source.split('`').enumerate().map(piece).collect()
}

pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
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

    #[test]
    fn the_page_is_whole_and_needs_nothing() {
        let page = super::super::page(crate::http::ENDPOINTS);
        for endpoint in crate::http::ENDPOINTS {
            assert!(page.contains(&format!("id=\"{}\"", endpoint.operation.id)), "{}", endpoint.path);
        }
        for target in page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(page.contains(&format!("id=\"{target}\"")), "{target}");
        }
        for outside in ["<script", "<img", "<link", "src=", "http://", "https://", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(!page.contains("x-request-id</code><br>") && page.contains("sessiond"));
    }
}
