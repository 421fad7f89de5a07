//! The walls between the modules of `src`: which module uses which, compared with the arrows of ARCHITECTURE.md, and no
//! circle of files; and how heavy each room may be.
//!
//! A file uses another one if it names an item that is defined there. A `mod` declaration is no use, and a re-export
//! counts as the file of the definition. `#[cfg(test)]` code may use anything.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::mem;
use std::path::{Path, PathBuf};

use crate::support::ROOT;

/// A module that is a file.
struct Module {
    /// Within `src`.
    file: String,
    children: BTreeSet<String>,
    /// What `use` brings, by its name here; the path, and whether it is passed on (`pub`).
    uses: Vec<(String, Vec<String>, bool)>,
    /// Paths within the code.
    paths: BTreeSet<Vec<String>>,
    /// How many lines of code it has, without comments and tests.
    weight: usize,
}

type Modules = BTreeMap<Vec<String>, Module>;

fn read() -> Modules {
    let mut modules = Modules::new();
    let mut todo = vec![PathBuf::from("lib.rs"), PathBuf::from("main.rs")];
    while let Some(file) = todo.pop() {
        let text = fs::read_to_string(Path::new(ROOT).join("src").join(&file)).expect("a file for each `mod`");
        let mut path: Vec<String> = file.with_extension("").iter().map(|part| part.to_string_lossy().into()).collect();
        if path.last().is_some_and(|last| last == "mod" || last == "lib") {
            path.pop();
        }
        let mut module = Module {
            file: file.to_string_lossy().into(),
            children: BTreeSet::new(),
            uses: Vec::new(),
            paths: BTreeSet::new(),
            weight: 0,
        };
        module.parse(&text);
        let folder: PathBuf = if module.file == "main.rs" { PathBuf::new() } else { path.iter().collect() };
        for child in &module.children {
            let flat = folder.join(child).with_extension("rs");
            let is_flat = Path::new(ROOT).join("src").join(&flat).exists();
            todo.push(if is_flat { flat } else { folder.join(child).join("mod.rs") });
        }
        modules.insert(path, module);
    }
    modules
}

impl Module {
    fn parse(&mut self, text: &str) {
        let mut lines = text.lines().map(|line| match line.trim_start() {
            comment if comment.starts_with("//") => "",
            _ => line.split(" // ").next().unwrap_or_default(),
        });
        let mut code = String::new();
        while let Some(line) = lines.next() {
            if line.trim() == "#[cfg(test)]" {
                // The item behind it, to the line that ends it.
                let indent = line.len() - line.trim_start().len();
                let ends = |line: &str| {
                    line.len() > indent && line[..indent].trim().is_empty() && matches!(&line[indent..], "}" | "};")
                };
                let first = lines.next().unwrap_or_default();
                if !first.ends_with([';', '}']) {
                    lines.by_ref().find(|line| ends(line));
                }
                continue;
            }
            code.push_str(line);
            code.push('\n');
        }
        self.weight = code.lines().filter(|line| !line.trim().is_empty()).count();
        let mut rest = String::new();
        for statement in code.split_inclusive(';') {
            let at = statement.rfind("use ").filter(|at| {
                let before = statement[..*at].rsplit('\n').next().unwrap_or_default().trim();
                before.is_empty() || before == "pub" || before == "pub(super)" || before == "pub(crate)"
            });
            let Some(at) = at else {
                rest.push_str(statement);
                continue;
            };
            let is_pub = statement[..at].rsplit('\n').next().is_some_and(|before| before.contains("pub"));
            rest.push_str(&statement[..at]);
            let tree: String =
                statement[at + 4..].trim_end_matches(';').split_whitespace().collect::<Vec<_>>().join(" ");
            self.tree(&tree, &[], is_pub);
        }
        let mut before = "";
        for line in rest.lines() {
            let declared =
                ["mod ", "pub mod ", "pub(crate) mod "].iter().find_map(|begin| line.trim().strip_prefix(begin));
            // What a program writes has a path of its own, no wall and no budget.
            let declared = declared.filter(|_| !before.starts_with("#[path"));
            self.children.extend(declared.and_then(|name| name.strip_suffix(';')).map(str::to_owned));
            before = line;
        }
        // Words and `::` alone, so that a path is a run of words.
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let runs = rest.split(|c: char| !is_word(c)).filter(|run| run.contains("::") && !run.starts_with(':'));
        self.paths = runs.map(|run| run.split("::").map(str::to_owned).collect()).collect();
    }

    /// A tree of `use`, below `prefix`.
    fn tree(&mut self, tree: &str, prefix: &[String], is_pub: bool) {
        let tree = tree.trim();
        fn words(path: &str) -> impl Iterator<Item = String> {
            path.split("::").map(|part| part.trim().to_owned()).filter(|part| !part.is_empty())
        }
        if let Some((path, list)) = tree.split_once('{') {
            let prefix: Vec<String> = prefix.iter().cloned().chain(words(path)).collect();
            let (mut depth, mut begin) = (0, 0);
            let list = list.strip_suffix('}').expect("a list that ends");
            for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 0 => {
                        self.tree(&list[begin..at], &prefix, is_pub);
                        begin = at + 1;
                    }
                    _ => {}
                }
            }
        } else if !tree.is_empty() {
            let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias)));
            let mut full: Vec<String> = prefix.iter().cloned().chain(words(path)).collect();
            if full.last().is_some_and(|last| last == "self") {
                full.pop();
            }
            let name = alias.map_or_else(|| full.last().cloned().unwrap_or_default(), str::to_owned);
            self.uses.push((name, full, is_pub));
        }
    }
}

/// The file in which a path, as it is written in this module, is defined; `None` if in another crate.
fn defined(modules: &Modules, at: &[String], path: &[String], depth: usize) -> Option<Vec<String>> {
    let module = &modules[at];
    let (first, mut rest) = path.split_first()?;
    let mut place = match first.as_str() {
        "crate" | "sessiond" => Vec::new(),
        "self" => at.to_vec(),
        "super" => at[..at.len().checked_sub(1)?].to_vec(),
        name if module.children.contains(name) => [at, path.get(..1)?].concat(),
        name => {
            let brought = module.uses.iter().find(|(brought, used, _)| brought == name && used[..] != path[..]);
            let (_, used, _) = brought.filter(|_| depth < 8)?;
            return defined(modules, at, &[used, rest].concat(), depth + 1);
        }
    };
    while let Some((next, after)) = rest.split_first() {
        let child: Vec<String> = place.iter().cloned().chain([next.clone()]).collect();
        if next == "super" {
            place.pop();
        } else if modules.contains_key(&child) {
            place = child;
        } else {
            let brought = modules[&place].uses.iter().find(|(name, ..)| name == next);
            let passed = brought.and_then(|(_, used, _)| defined(modules, &place, &[used, after].concat(), depth + 1));
            return passed.or_else(|| brought.is_none().then_some(place));
        }
        rest = after;
    }
    Some(place)
}

/// Which file uses which; of what is only passed on, if `with_passed`.
fn uses(modules: &Modules, with_passed: bool) -> BTreeSet<(&str, &str)> {
    let mut found = BTreeSet::new();
    for (at, module) in modules {
        let brought = module.uses.iter().filter(|(.., is_pub)| with_passed || !is_pub).map(|(_, path, _)| path);
        for path in brought.chain(&module.paths) {
            if let Some(to) = defined(modules, at, path, 0)
                && to != *at
            {
                found.insert((module.file.as_str(), modules[&to].file.as_str()));
            }
        }
    }
    found
}

/// What ARCHITECTURE.md has between "```NAME" and "```".
fn fenced(name: &str) -> String {
    let text = fs::read_to_string(Path::new(ROOT).join("ARCHITECTURE.md")).expect("the file");
    let (_, block) = text.split_once(&format!("```{name}\n")).expect("the block");
    block.split_once("```").expect("its end").0.to_owned()
}

#[test]
fn no_file_uses_itself_by_way_of_others() {
    let modules = read();
    let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, to) in self::uses(&modules, false) {
        uses.entry(from).or_default().insert(to);
    }
    let mut circles = Vec::new();
    for (from, used) in &uses {
        for to in used {
            let (mut seen, mut todo) = (BTreeSet::new(), vec![*to]);
            while let Some(at) = todo.pop() {
                todo.extend(uses.get(at).into_iter().flatten().filter(|next| seen.insert(**next)));
            }
            if seen.contains(from) {
                circles.push(format!("{from} -> {to}"));
            }
        }
    }
    assert!(circles.is_empty(), "each of these comes back to where it begins:\n{}", circles.join("\n"));
}

/// Whether a file or folder is this room, or in it.
fn is_in(path: &str, room: &str) -> bool {
    path.strip_prefix(room).is_some_and(|rest| matches!(rest, "" | ".rs") || rest.starts_with('/'))
}

/// The innermost room that a file is in.
fn room_of<'a>(file: &str, rooms: impl Iterator<Item = &'a str>) -> &'a str {
    let around = rooms.filter(|room| is_in(file, room));
    around.max_by_key(|room| room.len()).unwrap_or_else(|| panic!("{file} is in no room"))
}

/// A line of the block is a room, or some, and those that it may use: all of them below it, so that no arrow points up. A room is a module,
/// with what is in it but for rooms of their own; these may use what the room around them may.
#[test]
fn a_room_uses_only_those_that_its_arrows_point_to() {
    fn each<'a>((rooms, used): (&'a str, &'a str)) -> impl Iterator<Item = (&'a str, BTreeSet<&'a str>)> {
        rooms.split_whitespace().map(move |room| (room, used.split_whitespace().collect()))
    }
    let block = fenced("arrows");
    let lines = block.lines().map(|line| line.split_once("->").unwrap_or((line, "")));
    let rooms: Vec<(&str, BTreeSet<&str>)> = lines.flat_map(each).collect();
    for (at, (room, used)) in rooms.iter().enumerate() {
        let below = |used: &&str| rooms[at + 1..].iter().any(|(room, _)| room == used);
        assert!(used.iter().all(below), "{room} may only use rooms that stand below it");
    }
    let is_allowed = |from: &str, to: &str| {
        let around = rooms.iter().filter(|(room, _)| is_in(from, room));
        from == to || around.into_iter().any(|(room, used)| used.contains(to) && (*room == from || !is_in(to, room)))
    };
    let modules = read();
    let mut wrong = BTreeSet::new();
    for (from, to) in uses(&modules, true) {
        let names = || rooms.iter().map(|(room, _)| *room);
        let (room, used) = (room_of(from, names()), room_of(to, names()));
        if !is_allowed(room, used) {
            wrong.insert(format!("{room} -> {used}: {from} uses {to}"));
        }
    }
    assert!(wrong.is_empty(), "not among the arrows:\n{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
}

/// In the code map, what stands before two spaces at the beginning of a line are names of files and folders; a number behind some of them is
/// their budget together.
struct Room {
    names: Vec<String>,
    budget: Option<usize>,
}

fn rooms() -> Vec<Room> {
    let mut rooms = Vec::new();
    for line in fenced("map").lines().filter(|line| !line.starts_with(' ')) {
        let mut names = Vec::new();
        for word in line.split("  ").next().unwrap_or_default().split_whitespace() {
            match word.parse() {
                Ok(budget) => rooms.push(Room { names: mem::take(&mut names), budget: Some(budget) }),
                Err(_) => names.push(word.to_owned()),
            }
        }
        if !names.is_empty() {
            rooms.push(Room { names, budget: None });
        }
    }
    rooms
}

#[test]
fn the_code_map_names_what_is_there() {
    for name in rooms().iter().flat_map(|room| &room.names) {
        assert!(Path::new(ROOT).join(name).exists(), "{name}");
    }
}

/// A room has no more lines of code than the map allows, without those of rooms within it, and not far fewer.
#[test]
fn a_room_keeps_to_its_budget() {
    let rooms = rooms();
    let mut weights = vec![0; rooms.len()];
    let names: BTreeMap<&str, usize> =
        rooms.iter().enumerate().flat_map(|(n, room)| room.names.iter().map(move |name| (name.as_str(), n))).collect();
    for module in read().values() {
        weights[names[room_of(&format!("src/{}", module.file), names.keys().copied())]] += module.weight;
    }
    let mut wrong = String::new();
    for (Room { names, budget }, weight) in rooms.iter().zip(weights).filter(|(_, weight)| *weight > 0) {
        let budget = budget.unwrap_or(0);
        if weight > budget {
            wrong += &format!(
                "{names:?} has {weight} lines of code, and {budget} are allowed: make it lighter, or say in the commit why it may grow\n"
            );
        } else if weight + 20 < budget * 9 / 10 {
            wrong += &format!("{names:?} has {weight} lines of code, and {budget} are allowed: allow fewer\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn no_file_is_too_long() {
    for module in read().values() {
        assert!(module.weight <= 1000, "{} has {} lines of code: split it", module.file, module.weight);
    }
}

/// The list in the documentation of a room names what is in it, from what all use to what few use.
#[test]
fn each_uses_only_what_stands_above_it() {
    let modules = read();
    for room in ["domain", "service", "store"] {
        let text = fs::read_to_string(Path::new(ROOT).join(format!("src/{room}/mod.rs"))).expect("the room");
        let list = text.lines().skip_while(|line| !line.starts_with("//! - ")).take_while(|line| *line != "//!");
        let children = &modules[&vec![room.to_owned()]].children;
        let named = list.flat_map(|line| line.split('`').skip(1).step_by(2)).filter(|name| children.contains(*name));
        let order: Vec<&str> = named.collect();
        let place = |file: &str| {
            let child = file.strip_prefix(room)?.strip_prefix('/')?.split('/').next()?.trim_end_matches(".rs");
            order.iter().position(|name| *name == child)
        };
        assert_eq!(order.len(), children.len(), "{room}: each is named once");
        for (from, to) in uses(&modules, true) {
            if let (Some(user), Some(used)) = (place(from), place(to)) {
                assert!(used <= user, "{from} uses {to}, which stands below it in the list of {room}");
            }
        }
    }
}
