//! The description as one page of HTML that loads nothing. Its script adds a filter, anchors and buttons; the page works without it.

use serde_json::Value;

use super::examples;
use super::fields::{Schemas, fold, list, row, type_of};
use super::html::{anchor, headings, inline, items, markdown, members, text};
use crate::http::openapi::{SCRIPT, STYLE, escape};

/// Renders a document of the form that `document` builds: every reference is local, every list is present.
pub fn render(document: &Value) -> String {
    let schemas = Schemas(document);
    let examples = examples::all();
    let info = &document["info"];
    let (title, version) = (escape(text(&info["title"])), escape(text(&info["version"])));
    let guide = text(&info["description"]);
    // It says what this is.
    let (first, guide) = guide.split_once("\n\n").unwrap_or((guide, ""));
    let mut nav = group("Guide", &headings(guide));
    let mut main = format!(
        "<h1>{title} <small>{version}</small></h1>{}<p>The same for programs: <a href=\"openapi.yaml\">openapi.yaml</a>, and \
         <a href=\"openapi-adk.yaml\">openapi-adk.yaml</a> with the paths of ADK.</p>\
         <p>The examples are requests of a shop's agent to a new server at its default address. <code>$KEY</code> is a key of an \
         administrator, <code>$ID</code> the id of another key.</p>{}",
        markdown(first),
        markdown(guide)
    );
    for tag in items(&document["tags"]) {
        let name = escape(text(&tag["name"]));
        main += &format!(
            "<h2 id=\"{}\">{name}</h2>{}",
            anchor(&format!("tag {}", text(&tag["name"]))),
            markdown(text(&tag["description"]))
        );
        let mut links = String::new();
        for (path, methods) in members(&document["paths"]) {
            for (method, described) in members(methods) {
                // A HEAD is its GET without the body; the page says so once for all.
                if method == "head" || !items(&described["tags"]).contains(&tag["name"]) {
                    continue;
                }
                let id = text(&described["operationId"]);
                links += &format!("<li><a href=\"#{}\">{}</a></li>", escape(id), escape(text(&described["summary"])));
                let example = examples.get(id).map_or_else(String::new, examples::Example::html);
                main += &operation(&schemas, path, method, described, &example);
            }
        }
        nav += &group(&name, &links);
    }
    main += "<h2 id=\"about-schemas\">Schemas</h2>";
    let mut links = String::new();
    for (name, schema) in members(&document["components"]["schemas"]) {
        links += &format!("<li><a href=\"#schema-{0}\">{0}</a></li>", escape(name));
        main += &schemas.section(name, schema);
    }
    nav += &group("Schemas", &links);
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title} {version}</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>{STYLE}</style></head><body>\
         <nav aria-label=\"Contents\"><details><summary>Contents</summary>{nav}</details></nav><main>{main}</main>\
         <script>{SCRIPT}</script></body></html>\n"
    )
}

fn group(title: &str, links: &str) -> String {
    format!("<b>{title}</b><ul>{links}</ul>")
}

fn operation<'a>(schemas: &Schemas<'a>, path: &str, method: &str, operation: &'a Value, example: &str) -> String {
    let mut out = format!(
        "<section id=\"{}\"><h3>{}</h3><p class=\"path\"><b class=\"{method}\">{}</b> <code>{}</code></p>{}{example}",
        escape(text(&operation["operationId"])),
        escape(text(&operation["summary"])),
        method.to_uppercase(),
        // A long path may break after a slash.
        escape(path).replace('/', "/<wbr>"),
        markdown(text(&operation["description"])),
    );
    let parameters = items(&operation["parameters"]).iter().map(|parameter| schemas.resolve(parameter));
    // Every operation has this one, so it is omitted.
    let rows: String = parameters.filter(|parameter| parameter["name"] != "x-request-id").map(parameter).collect();
    out += &titled("Parameters", &list(&rows));
    let body = &operation["requestBody"];
    for (media, content) in members(&body["content"]) {
        let optional = if body["required"] == true { "" } else { ", optional" };
        let schema = &content["schema"];
        out += &titled(
            "Body",
            &format!(
                "<p><span class=\"type\">{}</span> <span class=\"dim\">{media}{optional}</span></p>{}",
                type_of(schema),
                schemas.unfolded(schema)
            ),
        );
    }
    let (mut answers, mut errors, mut statuses) = (String::new(), String::new(), Vec::new());
    for (status, answer) in members(&operation["responses"]) {
        let answer = schemas.resolve(answer);
        let about = text(&answer["description"]);
        if status.as_str() >= "400" {
            errors += &row(status, "", "", about, "");
            statuses.push(status.as_str());
            continue;
        }
        let headers: Vec<String> = members(&answer["headers"])
            .filter(|(name, _)| *name != "x-request-id")
            .map(|(name, _)| format!("<code>{}</code>", escape(name)))
            .collect();
        let mut below = if headers.is_empty() {
            String::new()
        } else {
            format!("<p class=\"dim\">with {}</p>", headers.join(", "))
        };
        let mut kind = String::new();
        for (media, content) in members(&answer["content"]) {
            kind += &format!("{} <span class=\"dim\">{media}</span>", type_of(&content["schema"]));
            below += &schemas.unfolded(&content["schema"]);
        }
        answers += &row(status, &kind, "", about, &below);
    }
    out += &titled("Answers", &list(&answers));
    if !errors.is_empty() {
        out += &fold(&format!("Errors: {}", statuses.join(", ")), &list(&errors));
    }
    out + "</section>"
}

fn parameter(parameter: &Value) -> String {
    let place = text(&parameter["in"]);
    let note =
        if place != "path" && parameter["required"] == true { format!("{place}, required") } else { place.to_owned() };
    row(text(&parameter["name"]), &type_of(&parameter["schema"]), &note, text(&parameter["description"]), "")
}

fn titled(title: &str, content: &str) -> String {
    if content.is_empty() { String::new() } else { format!("<h4>{}</h4>{content}", inline(title)) }
}
