//! An example request and answer for each operation, from `examples.md`. A test runs its commands against a server.

use std::collections::BTreeMap;

use crate::http::openapi::escape;

/// The longest JSON that is shown on one line.
const WIDTH: usize = 76;

pub struct Example<'a> {
    pub command: &'a str,
    /// `201 Created`
    pub status: &'a str,
    /// The relevant headers, one per line.
    pub headers: Vec<&'a str>,
    pub body: &'a str,
}

/// By `operationId`.
pub fn all() -> BTreeMap<&'static str, Example<'static>> {
    let sections = include_str!("../examples.md").split("\n## ").skip(1);
    sections.filter_map(|section| Some((section.lines().next()?, example(section)?))).collect()
}

/// The last command of a section. The others prepare it.
fn example(section: &str) -> Option<Example<'_>> {
    let block = section.split("\n```\n").nth(1)?;
    let last = block.rsplit("\n$ ").next()?;
    let last = last.strip_prefix("$ ").unwrap_or(last);
    // A line that ends in a backslash continues.
    let mut command = last.find('\n').unwrap_or(last.len());
    while last.get(..command)?.ends_with('\\') {
        command += 1 + last.get(command + 1..)?.find('\n')?;
    }
    let (command, answer) = last.split_at_checked(command)?;
    let (head, body) = answer.trim_start().split_once("\n\n").unwrap_or((answer.trim(), ""));
    let mut head = head.lines();
    let status = head.next()?.strip_prefix("HTTP/1.1 ")?;
    Some(Example { command, status, headers: head.collect(), body: body.trim_end() })
}

impl Example<'_> {
    pub fn html(&self) -> String {
        let headers: String = self.headers.iter().map(|line| format!("\n{}", escape(line))).collect();
        let body =
            if self.body.is_empty() { String::new() } else { format!("\n\n{}", escape(&laid_out(self.body, 0))) };
        format!(
            "<div class=\"command\"><pre><code>{}</code></pre></div><pre class=\"answer\"><code><b>{}</b>{headers}{body}</code></pre>",
            escape(self.command),
            escape(self.status),
        )
    }
}

/// Breaks long JSON into several lines. Numbers and strings are not changed, and text that is not JSON is left as it
/// is.
fn laid_out(text: &str, indent: usize) -> String {
    let text = text.trim();
    // NDJSON stays one line per value.
    if text.contains("}\n{") {
        return text.to_owned();
    }
    let inner = match text.as_bytes() {
        [b'{', .., b'}'] | [b'[', .., b']'] if indent + text.len() > WIDTH => text.get(1..text.len() - 1),
        _ => None,
    };
    let Some(inner) = inner else { return text.to_owned() };
    let pad = " ".repeat(indent);
    let parts: Vec<String> = pieces(inner, b',')
        .map(|part| {
            let part = match &*pieces(part, b':').collect::<Vec<_>>() {
                [key, value] => format!("{}: {}", key.trim(), laid_out(value, indent + 2)),
                _ => laid_out(part, indent + 2),
            };
            format!("\n{pad}  {part}")
        })
        .collect();
    let (open, close) = (&text[..1], &text[text.len() - 1..]);
    format!("{open}{}\n{pad}{close}", parts.join(","))
}

/// Splits JSON at this byte where it is outside of strings, objects and arrays.
fn pieces(json: &str, at: u8) -> impl Iterator<Item = &str> {
    let (mut depth, mut in_string, mut is_escaped) = (0, false, false);
    json.split(move |c: char| {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => in_string = !in_string,
            '{' | '[' if !in_string => depth += 1,
            '}' | ']' if !in_string => depth -= 1,
            _ => return !in_string && depth == 0 && c == char::from(at),
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::operations::Told;
    use super::*;

    #[test]
    fn every_operation_has_one_example_and_no_other_has() {
        let headings = include_str!("../examples.md").matches("\n## ").count();
        let mut examples = all();
        assert_eq!(examples.len(), headings, "a section without a command and its answer, or twice");
        for endpoint in crate::http::ENDPOINTS {
            let id = endpoint.operation.id;
            let example = examples.remove(id).unwrap_or_else(|| panic!("examples.md: {id} is missing"));
            let url = example.command.split_once("http://127.0.0.1:8080").unwrap_or_else(|| panic!("{id}: no URL")).1;
            let path = url.split(['?', '\'', '"', ' ', '\n']).next().unwrap();
            let fits = endpoint.path.split('/').count() == path.split('/').count()
                && endpoint
                    .path
                    .split('/')
                    .zip(path.split('/'))
                    .all(|(part, given)| part == given || part.starts_with('{'));
            assert!(fits, "{id} is not at {path}");
            let default = if example.command.contains(" --json ") { "POST" } else { "GET" };
            let method = example.command.split_once("-X ").map_or(default, |(_, rest)| rest.split(' ').next().unwrap());
            assert_eq!(endpoint.method, method, "{id}");
            let listed = Told::of(id).answers.keys().any(|status| example.status.starts_with(status.as_str()));
            assert!(listed, "{id} answers {}", example.status);
        }
        assert!(examples.is_empty(), "no operations: {:?}", examples.keys());
    }

    #[test]
    fn what_is_laid_out_is_the_same_json() {
        let mut long = 0;
        for (id, example) in all()
            .into_iter()
            .filter(|(_, example)| example.body.starts_with(['{', '[']) && !example.body.contains("}\n{"))
        {
            let text = laid_out(example.body, 0);
            let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|error| panic!("{id}: {error}"));
            assert_eq!(read(&text), read(example.body));
            long += usize::from(text.contains('\n'));
        }
        assert!(long > 10);
        let odd = format!(r#"{{"a":"{{,:\"[","b":[1.10,{{}},[]],"c":{{"d":"{}"}}}}"#, "x".repeat(70));
        let expected = format!(
            "{{\n  \"a\": \"{{,:\\\"[\",\n  \"b\": [1.10,{{}},[]],\n  \"c\": {{\n    \"d\": \"{}\"\n  }}\n}}",
            "x".repeat(70)
        );
        assert_eq!(laid_out(&odd, 0), expected);
    }
}
