//! What a version promises (docs/versions.md), as data: `tests/data/VERSION/surface.json`. A later build has all of it.
//!
//! The pages that are read here are held against the program by tests of their own. `UPDATE_RELEASED=1 scripts/test surface::` writes the data
//! of this version anew, until it is released.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::released::{folder, updates, versions};
use crate::support::ROOT;
use crate::support::schema::document;

type Surface = BTreeMap<String, BTreeSet<String>>;

#[test]
fn what_a_version_promised_is_still_there() {
    let now = surface();
    let empty: Vec<_> = now.iter().filter(|(_, promises)| promises.is_empty()).collect();
    assert!(empty.is_empty(), "nothing is found of {empty:?}");
    let file = |version: &str| folder(version).join("surface.json");
    let this = file(env!("CARGO_PKG_VERSION"));
    if updates() {
        let text = serde_json::to_string_pretty(&now).expect("JSON") + "\n";
        fs::write(&this, text).expect("write it");
    }
    assert!(this.exists(), "{} is missing", this.display());
    for file in versions().iter().map(|version| file(version)) {
        let promised: Surface = serde_json::from_str(&text(&file)).expect("JSON");
        let nothing = BTreeSet::new();
        for (kind, promises) in promised {
            let missing: Vec<_> = promises.difference(now.get(&kind).unwrap_or(&nothing)).collect();
            assert!(missing.is_empty(), "{} promises {kind} that are gone: {missing:#?}", file.display());
        }
    }
}

fn surface() -> Surface {
    let text = |file: &str| text(&Path::new(ROOT).join(file));
    let mut surface: Surface = [
        ("settings", rows(&text("docs/settings.md"), "| `--", 3)),
        ("errors", codes(&text("docs/errors.md"))),
        ("metrics", metrics(&text("docs/metrics.md"))),
        ("feed", kinds(&text("docs/feed.md"))),
        ("access log", access_log(&text("docs/access.md"))),
        ("commands", commands()),
        ("api", api()),
        ("chart", members("", &serde_saphyr::from_str(&text("deploy/helm/sessiond/values.yaml")).expect("YAML"))),
    ]
    .map(|(kind, promises)| (kind.to_owned(), promises))
    .into();
    for (client, begins, public) in CLIENTS {
        let mut names = BTreeSet::new();
        for begin in begins {
            let begin = Path::new(ROOT).join("clients").join(begin);
            for file in files(&begin) {
                names.extend(public(&file).into_iter().filter(|name| !name.is_empty()));
            }
        }
        surface.insert(client.to_owned(), names);
    }
    surface
}

/// The first cells of the rows of tables that begin like this.
fn rows(page: &str, begin: &str, cells: usize) -> BTreeSet<String> {
    let rows = page.lines().filter(|line| line.starts_with(begin));
    rows.map(|row| row.split('|').skip(1).take(cells).map(str::trim).collect::<Vec<_>>().join(" | ")).collect()
}

/// The kinds of changes, the fields of which are in the description of the API.
fn kinds(page: &str) -> BTreeSet<String> {
    let rows = rows(page.split_once("| `kind` |").expect("the table of kinds").1, "| `", 1);
    rows.iter().flat_map(|row| quoted(row)).collect()
}

/// The words in backticks.
fn quoted(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split('`').skip(1).step_by(2).map(str::to_owned)
}

/// Each code with its status.
fn codes(page: &str) -> BTreeSet<String> {
    let rows = rows(page, "| `", 2);
    let each = rows.iter().filter_map(|row| row.split_once(" | "));
    each.flat_map(|(codes, status)| quoted(codes).map(move |code| format!("{code} {status}"))).collect()
}

/// Names, and the labels that a page says each is `by`.
fn metrics(page: &str) -> BTreeSet<String> {
    let mut promises = BTreeSet::new();
    for row in rows(page, "| `sessiond_", 2).union(&rows(page, "| `process_", 2)) {
        let (names, about) = row.split_once(" | ").expect("two cells");
        let by = about.split_once("by ").map_or("", |(_, by)| by.split([';', ':', '.', '(']).next().unwrap_or(""));
        let labels = by.split(", ").flat_map(|part| part.split(" and ")).filter_map(|part| part.split(' ').next());
        let labels: Vec<_> =
            labels.map(|label| label.trim_matches(['[', ']'])).filter(|label| *label != "of").collect();
        let by = labels.join(", ");
        promises.extend(quoted(names).map(|name| format!("{name} by {by}").trim().to_owned()));
    }
    promises
}

/// The members of the lines that a page shows.
fn access_log(page: &str) -> BTreeSet<String> {
    let lines = page.lines().filter(|line| line.starts_with("{\"time\":"));
    lines.flat_map(|line| members("", &serde_json::from_str(line).expect("JSON"))).collect()
}

/// The paths of the members of objects within one another.
fn members(path: &str, value: &Value) -> BTreeSet<String> {
    let Some(object) = value.as_object() else { return BTreeSet::new() };
    let each = object.iter().flat_map(|(name, value)| {
        let path = format!("{path}/{name}");
        let mut within = members(&path, value);
        within.insert(path);
        within
    });
    each.collect()
}

/// The commands, their flags, and their exit statuses as `--help` tells them.
fn commands() -> BTreeSet<String> {
    let mut promises = BTreeSet::new();
    let mut open = vec![Vec::new()];
    while let Some(command) = open.pop() {
        let help = Command::new(env!("CARGO_BIN_EXE_sessiond")).args(&command).arg("--help").output().expect("run it");
        let help = String::from_utf8(help.stdout).expect("text");
        let name = command.join(" ");
        let is_top = command.is_empty();
        let mut within = "";
        for line in help.lines() {
            if let Some(heading) = line.strip_suffix(':').filter(|line| !line.starts_with(' ')) {
                within = heading;
            }
            let word = line.trim_start().split([' ', '=', ',']).next().unwrap_or("");
            if within == "Commands" && line.starts_with("  ") && !line.starts_with("   ") && word != "help" {
                let command: Vec<String> = command.iter().cloned().chain([word.to_owned()]).collect();
                promises.insert(command.join(" "));
                open.push(command);
            }
            // The settings are listed once.
            if !is_top && within == "Options" && word.starts_with("--") {
                promises.insert(format!("{name} {word}"));
            }
        }
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        let statuses =
            help.split("exit status ").skip(1).filter_map(|rest| rest.get(..1)).filter(|status| *status < "a");
        promises.extend(statuses.filter(|_| !is_top).map(|status| format!("{name}: exit status {status}")));
    }
    promises
}

/// Of each operation the parameters and the statuses of success; of each schema the fields.
fn api() -> BTreeSet<String> {
    let mut promises = BTreeSet::new();
    let named = |value: &Value| {
        value["$ref"].as_str().and_then(|at| document().pointer(&at[1..])).unwrap_or(&Value::Null).clone()
    };
    for (path, item) in document()["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("a path item") {
            let of = format!("{} {path}", method.to_uppercase());
            let none = Vec::new();
            for parameter in operation["parameters"].as_array().unwrap_or(&none) {
                let parameter = if parameter["name"].is_null() { named(parameter) } else { parameter.clone() };
                let part = |name: &str| parameter[name].as_str().unwrap_or("").to_owned();
                promises.insert(format!("{of} {} {}", part("in"), part("name")));
            }
            let answers = operation["responses"].as_object().into_iter().flat_map(|answers| answers.keys());
            promises
                .extend(answers.filter(|status| status.starts_with(['2', '3'])).map(|status| format!("{of} {status}")));
        }
    }
    for (name, schema) in document()["components"]["schemas"].as_object().expect("schemas") {
        promises.extend(properties(schema).into_iter().map(|field| format!("{name}{field}")));
    }
    promises
}

/// The paths of the fields that a schema names.
fn properties(schema: &Value) -> Vec<String> {
    let mut fields = Vec::new();
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                let own = value.as_object().filter(|_| name == "properties").into_iter().flatten();
                for (field, schema) in own {
                    fields.push(format!(".{field}"));
                    fields.extend(properties(schema).into_iter().map(|within| format!(".{field}{within}")));
                }
                if name != "properties" {
                    fields.extend(properties(value));
                }
            }
        }
        Value::Array(items) => fields.extend(items.iter().flat_map(properties)),
        _ => {}
    }
    fields
}

/// The public names of a source.
type Public = fn(&Path) -> Vec<String>;

/// Each client, its sources, and which names of one are public.
const CLIENTS: [(&str, &[&str], Public); 6] = [
    ("python", &["python/client/src", "python/adk/src", "python/langgraph-checkpoint/src"], exported_by_python),
    (
        "typescript client",
        &[
            "typescript/client/src/index.ts",
            "typescript/client/src/ai-sdk.ts",
            "typescript/client/src/claude-agent.ts",
            "typescript/client/src/langgraph.ts",
            "typescript/client/src/openai-agents.ts",
        ],
        exported_by_typescript,
    ),
    (
        "typescript adk",
        &["typescript/adk/src/index.ts", "typescript/adk/src/iqai.ts", "typescript/adk/src/adk-typescript.ts"],
        exported_by_typescript,
    ),
    ("go", &["go"], exported_by_go),
    ("java", &["java/src/main/java"], public_in_java),
    ("rust", &["rust/src/lib.rs", "rust/src/ops.rs"], public_in_rust),
];

fn files(begin: &Path) -> Vec<PathBuf> {
    if begin.is_file() {
        return vec![begin.to_owned()];
    }
    let entries = fs::read_dir(begin).expect("a folder").map(|entry| entry.expect("an entry").path());
    let is_source = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        let source = [".py", ".go", ".java", ".rs"].iter().any(|end| name.ends_with(end));
        (source || path.is_dir()) && !name.ends_with("_test.go") && name != "internal"
    };
    entries.filter(is_source).flat_map(|path| files(&path)).collect()
}

fn text(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The first name after one of these beginnings of a line.
fn after(text: &str, begins: &[&str]) -> Vec<String> {
    let rest = text.lines().filter_map(|line| begins.iter().find_map(|begin| line.strip_prefix(begin)));
    rest.filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()).map(str::to_owned).collect()
}

fn exported_by_python(file: &Path) -> Vec<String> {
    let text = text(file);
    let all = text.split_once("__all__ = [").map_or("", |(_, rest)| rest.split(']').next().unwrap_or(""));
    let package = file.to_string_lossy();
    let package = package.rsplit_once("/src/").map_or("", |(_, module)| module.trim_end_matches("/__init__.py"));
    all.split('"').skip(1).step_by(2).map(|name| format!("{package} {name}")).collect()
}

fn exported_by_typescript(file: &Path) -> Vec<String> {
    const BEGINS: [&str; 6] = [
        "export class ",
        "export abstract class ",
        "export interface ",
        "export type ",
        "export function ",
        "export const ",
    ];
    let text = text(file);
    let mut names = after(&text, &BEGINS);
    for from in text.split("export * from \"./").skip(1).filter_map(|rest| rest.split(".js\"").next()) {
        names.extend(exported_by_typescript(&file.with_file_name(format!("{from}.ts"))));
    }
    for list in text.split("\nexport ").skip(1).map(|rest| rest.trim_start_matches("type ")) {
        let list = list.strip_prefix('{').and_then(|list| list.split('}').next()).unwrap_or("");
        let shown = list.split(',').filter_map(|name| name.split_whitespace().next_back());
        names.extend(shown.map(str::to_owned));
    }
    names
}

fn exported_by_go(file: &Path) -> Vec<String> {
    let text = text(file);
    let is_public = |name: &str| name.starts_with(char::is_uppercase);
    let mut names = after(&text, &["func ", "type ", "const ", "var "]);
    for (receiver, rest) in text.lines().filter_map(|line| line.strip_prefix("func (")?.split_once(") ")) {
        let (of, name) = (receiver.rsplit([' ', '*']).next().unwrap_or(""), rest.split('(').next().unwrap_or(""));
        if is_public(name) {
            names.push(format!("{of}.{name}"));
        }
    }
    names.retain(|name| is_public(name));
    names
}

/// The types, and their methods that begin a line within them.
fn public_in_java(file: &Path) -> Vec<String> {
    let text = text(file);
    let kinds = ["class ", "interface ", "record ", "enum ", "final class ", "sealed interface "];
    let types: Vec<String> = kinds.iter().flat_map(|kind| after(&text, &[&format!("public {kind}")])).collect();
    let Some(of) = types.first() else { return types };
    let methods = text.lines().filter_map(|line| line.strip_prefix("  public ").or(line.strip_prefix("    public ")));
    let names = methods.filter_map(|line| line.split_once('(')?.0.split_whitespace().next_back());
    let methods: Vec<String> = names.map(|name| format!("{of}.{name}")).collect();
    types.into_iter().chain(methods).collect()
}

fn public_in_rust(file: &Path) -> Vec<String> {
    let text = text(file);
    let mut names = after(&text, &["pub struct ", "pub enum ", "pub trait ", "pub fn ", "pub const ", "pub mod "]);
    for used in text.split("\npub use ").skip(1).filter_map(|rest| rest.split(';').next()) {
        let list = used.split_once("::").map_or(used, |(_, list)| list).trim_matches(['{', '}', '\n']);
        names.extend(list.split(',').map(|name| name.trim().to_owned()));
    }
    names
}
