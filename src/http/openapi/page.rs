//! The description as one page of HTML: static, without scripts, with nothing to load.

use serde_json::Value;

use super::fields::{parameter_row, schema_section, type_of};
use super::html::{escape, inline, items, markdown, members, table, text};

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

#[cfg(test)]
mod tests {
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
