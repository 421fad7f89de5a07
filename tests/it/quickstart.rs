//! The documents are correct: `examples/quickstart.sh` works, and the commands in README.md, the pages of
//! [`TRANSCRIPTS`], docs/access.md and the examples of `/docs` run against the real binary and print the output that is
//! shown.
//!
//! `UPDATE_DOCS=1 scripts/test quickstart` writes the answers into the documents.

use std::{
    collections::HashSet,
    env,
    fs::{self, Permissions},
    ops::Range,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Command,
};

use crate::support::databases::Place;
use crate::support::process::Sessiond;

use crate::support::ROOT;

/// With commands, in the order of a newcomer who goes through all of them on one server.
const TRANSCRIPTS: &[&str] =
    &["README.md", "docs/tour.md", "docs/live.md", "docs/adk.md", "docs/feed.md", "docs/data.md"];

async fn server() -> (Sessiond, String) {
    let mut server =
        Sessiond::spawn(&["--listen", "127.0.0.1:0", "--metrics-listen", "off", "--feed-retention", "1h"], &[]);
    let url = server.base_url().await;
    (server, url)
}

fn bash() -> Command {
    let mut command = Command::new("bash");
    // Whatever proxy the machine has, the server is beside us.
    command.env("NO_PROXY", "*").env("no_proxy", "*");
    command
}

#[tokio::test]
async fn the_quickstart_does_what_it_says() {
    let (server, url) = server().await;
    let script = Path::new(ROOT).join("examples/quickstart.sh");
    let output = bash().arg(script).env("SESSIOND_URL", &url).output().expect("run bash");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}\nthe log of sessiond:\n{}", server.log());
    assert!(stdout.contains("Read one merged state"), "{stdout}");
}

#[tokio::test]
async fn the_documents_show_what_one_sees() {
    let (server, url) = server().await;
    // `sessiond` works beside the server, and with a PostgreSQL of its own, whose database is there already.
    let place = Place::postgres().await;
    let setting = format!(
        r#"createdb() {{ :; }}; sessiond() {{ '{}' "${{@/#postgres:*/{}}}"; }}"#,
        env!("CARGO_BIN_EXE_sessiond"),
        place.url().replace('/', r"\/")
    );
    let mut wrong = String::new();
    for name in TRANSCRIPTS {
        let document = read(name);
        let commands = commands(&document);
        assert!(commands.len() > 1, "{name}");
        let answers = run(&commands, &url, &setting, server.dir());
        wrong += &differences(name, &document, &commands, &answers);
    }
    assert!(wrong.is_empty(), "{}{wrong}\nthe log of sessiond:\n{}", RENEW, server.log());
    place.finish().await;
}

/// The two recipes that need no other server, each on a database of its own.
#[tokio::test]
async fn the_recipes_of_access_show_what_one_sees() {
    const NAME: &str = "docs/access.md";
    let document = read(NAME);
    let mut commands = commands(&document);
    let place = |heading: &str| document.find(&format!("\n## {heading}\n")).expect("a heading");
    let (second, end) = (place("A browser with a token"), place("A company's issuer"));
    commands.retain(|command| command.answer.start < end);
    let second = commands.partition_point(|command| command.answer.start < second);
    let (mut answers, mut logs) = (Vec::new(), String::new());
    for recipe in [&commands[..second], &commands[second..]] {
        // Its first key turns authentication on in a running server, but not at once.
        let mut server =
            Sessiond::spawn(&["--listen", "127.0.0.1:0", "--metrics-listen", "off", "--require-auth"], &[]);
        let url = server.base_url().await;
        fs::create_dir_all(server.dir().join("examples/browser")).expect("create the folder of the page");
        let setting = format!(r#"sessiond() {{ '{}' "$@"; }}"#, env!("CARGO_BIN_EXE_sessiond"));
        answers.extend(run(recipe, &url, &setting, server.dir()));
        logs += &server.log();
    }
    let wrong = differences(NAME, &document, &commands, &answers);
    assert!(wrong.is_empty(), "{}{wrong}\nthe logs of sessiond:\n{logs}", RENEW);
}

/// What `/docs` shows: each request with the status of its answer, the headers that matter, and the body.
#[tokio::test]
async fn the_examples_of_the_operations_are_answers() {
    const NAME: &str = "src/http/openapi/examples.md";
    const KEY: &str = "the-key-of-an-administrator-in-an-example";
    let (open, url) = server().await;
    let key_file = open.dir().join("admin-key");
    fs::write(&key_file, KEY).expect("write the key");
    fs::set_permissions(&key_file, Permissions::from_mode(0o600)).expect("make the key a secret");
    let key_file = key_file.to_str().expect("UTF-8");
    let mut guarded = Sessiond::spawn(
        &["--listen", "127.0.0.1:0", "--metrics-listen", "off", "--feed-retention", "1h", "--admin-key-file", key_file],
        &[],
    );
    let guarded_url = guarded.base_url().await;

    let document = read(NAME);
    let commands = commands(&document);
    let credentials = document.find("\n# Where a credential").expect("a part with credentials");
    let first = commands.partition_point(|command| command.answer.start < credentials);
    // A stream ends with an error of curl, which has waited long enough.
    let options = "OPTIONS='--dump-header -'";
    let mut answers = run(&commands[..first], &url, options, open.dir());
    answers.extend(run(&commands[first..], &guarded_url, &format!("{options}; KEY={KEY}"), guarded.dir()));
    let answers: Vec<String> = answers.iter().map(|answer| with_few_headers(answer)).collect();
    let wrong = differences(NAME, &document, &commands, &answers);
    assert!(wrong.is_empty(), "{}{wrong}\nthe logs of sessiond:\n{}{}", RENEW, open.log(), guarded.log());
}

const RENEW: &str = "UPDATE_DOCS=1 scripts/test quickstart would make this true:\n";

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(name)).expect("read the document")
}

/// Where a document prints something else than what was answered. With `UPDATE_DOCS` the answers are written into it instead.
fn differences(name: &str, document: &str, commands: &[Shown], answers: &[String]) -> String {
    assert_eq!(answers.len(), commands.len(), "{name}: {answers:#?}");
    let (mut wrong, mut updated, mut rest) = (String::new(), String::new(), 0);
    for (command, answer) in commands.iter().zip(answers) {
        // In a terminal, curl would show how far it is.
        assert!(!command.text.contains(" -o ") || command.text.contains(" -s "), "{name}: {}", command.text);
        updated += &document[rest..command.answer.start];
        rest = command.answer.end;
        let printed = &document[command.answer.clone()];
        if masked(printed.trim_end()) == masked(answer.trim_end()) {
            updated += printed;
        } else {
            wrong += &format!("{name}: {}\n- {}\n+ {}\n", command.text, printed.trim_end(), answer.trim_end());
            updated += &format!(
                "{}\n{}",
                answer.trim_end(),
                if printed == "\n" || printed.ends_with("\n\n") { "\n" } else { "" }
            );
        }
    }
    updated += &document[rest..];
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(Path::new(ROOT).join(name), updated).expect("write the document");
        wrong.clear();
    }
    wrong
}

/// A command of a document, and where in it is what the command printed.
struct Shown {
    text: String,
    answer: Range<usize>,
}

/// The commands of all blocks that begin with one: `$ ` before a command, which goes on behind a backslash, and below it what
/// it printed. Those that need more than a shell and curl are run by other tests.
fn commands(document: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    let (mut at, mut in_block, mut shown) = (0, false, false);
    for line in document.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if line.starts_with("```") {
            in_block = !in_block;
            shown = false;
        } else if let (true, Some(text)) = (in_block, line.strip_prefix("$ ")) {
            shown = !text.starts_with(".venv/");
            if shown {
                found.push(Shown { text: text.trim_end().to_owned(), answer: at..at });
            }
        } else if shown && start > 0 {
            let last = found.last_mut().expect("a command");
            last.answer.end = at;
            if last.answer.start == start && last.text.ends_with('\\') {
                last.text += &format!("\n{}", line.trim_end());
                last.answer.start = at;
            }
        }
    }
    found
}

/// Without the display of progress, which is there because the output goes to a file, and `--json` for an old curl. And the
/// part of jq that the documents use, as the tests do not need jq: `jq -r .NAME` of an object's text.
const CURL: &str = r#"
exec 2>&1
OPTIONS=--show-error
jq() { sed -E "s/.*\"${2#.}\":\"([^\"]*)\".*/\1/" "${@:3}"; }
curl() {
    local arguments=()
    while [ $# -gt 0 ]; do
        case $1 in
            --json) arguments+=(-H 'content-type: application/json' -d "$2"); shift 2 ;;
            *) arguments+=("$1"); shift ;;
        esac
    done
    command curl --silent $OPTIONS "${arguments[@]}"
}
"#;

/// Runs them in one shell, with this setting and in this folder, and returns what each printed.
fn run(commands: &[Shown], url: &str, setting: &str, folder: &Path) -> Vec<String> {
    const MARK: &str = "\u{1}next\n";
    let address = url.trim_start_matches("http://");
    let mut script = format!("{CURL}{setting}\n");
    for command in commands {
        script += &format!("{}\nprintf '\\001next\\n'\n", command.text.replace("127.0.0.1:8080", address));
    }
    let output = bash().arg("-c").arg(script).current_dir(folder).output().expect("run bash");
    let text = String::from_utf8(output.stdout).expect("UTF-8").replace('\r', "");
    // Where the database is differs from machine to machine, and the documents leave it out.
    let shown = |part: &str| part.split_inclusive('\n').filter(|line| !line.starts_with("database: ")).collect();
    text.split_terminator(MARK).map(shown).collect()
}

/// An answer without the headers that every answer has.
fn with_few_headers(answer: &str) -> String {
    let Some((head, body)) = answer.split_once("\n\n") else { return answer.to_owned() };
    let says_more = |line: &&str| {
        ["HTTP/", "etag:", "location:", "content-type:"].iter().any(|name| line.starts_with(name))
            && !line.ends_with(": application/json")
    };
    let head: Vec<&str> = head.lines().filter(says_more).collect();
    format!("{}\n\n{}", head.join("\n"), body.trim_end())
}

/// Without what is another one each time: times, generated ids, incarnations, page tokens, keys, hashes, signatures, dates.
fn masked(text: &str) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        if line.starts_with("date: ") {
            out += "date\n";
            continue;
        }
        let mut line = line.to_owned();
        for prefix in ["sdk_", "sdu_"] {
            while let Some(start) = line.find(prefix) {
                let is_of_it = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
                let end = line[start..].find(|c| !is_of_it(c)).map_or(line.len(), |length| start + length);
                line.replace_range(start..end, "CREDENTIAL");
            }
        }
        if line.split_once(" role=").is_some_and(|(id, _)| is_key(id)) {
            // As `sessiond keys` shows it.
            line.replace_range(..line.find(' ').unwrap_or_default(), "KEY");
        }
        if line.trim_end().strip_prefix("id: ").is_some_and(|id| id.len() == 43 && id.is_ascii()) {
            // In a stream of the change feed.
            line.replace_range(4..47, "POSITION");
        }
        for member in ["subject", "instance", "keyId", "signature", "publicKey", "position"] {
            // Of receipts and of the change feed.
            let begin = format!("\"{member}\":\"");
            let parts: Vec<&str> = line.split(&begin).collect();
            let values = parts.iter().skip(1).map(|part| part.find('"').map_or(*part, |end| &part[end..]));
            line = parts.iter().take(1).copied().chain(values).collect::<Vec<_>>().join(&begin);
        }
        let mut rest = &*line;
        while let Some(start) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
            out += &rest[..start];
            rest = &rest[start..];
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-.".contains(c))).unwrap_or(rest.len());
            let word = &rest[..end];
            out += &if is_key(word) && (out.ends_with("\"id\":\"") || out.ends_with("/keys/")) {
                "KEY".to_owned()
            } else {
                mask(word)
            };
            rest = &rest[end..];
        }
        out += rest;
    }
    out
}

fn mask(word: &str) -> String {
    if let Some((before, fraction)) = word.split_once('.')
        && before.len() == 10
        && fraction.len() == 6
        && word.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    {
        return "TIME".to_owned();
    }
    if let Some(start) = word.len().checked_sub(36)
        && uuid::Uuid::try_parse(&word[start..]).is_ok()
    {
        return format!("{}ID", &word[..start]);
    }
    let is_hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
    if let Some(id) = word.strip_prefix("admin-")
        && id.len() == 16
        && is_hex(id)
    {
        return "ADMIN".to_owned();
    }
    if let [sequence, mark, event] | [sequence, mark, event, _] = word.split('-').collect::<Vec<_>>()[..]
        && is_hex(mark)
        && mark.len() >= 12
        && is_hex(event)
        && !event.is_empty()
    {
        return format!("{sequence}-CURSOR");
    }
    let (before, last) = word.rsplit_once('.').map_or(("", word), |(before, last)| (before, last));
    let (mark, metadata) =
        last.split_once('-').map_or((last, String::new()), |(mark, rest)| (mark, format!("-{rest}")));
    if mark.len() >= 12 && is_hex(mark) {
        return format!("{before}MARK{metadata}");
    }
    word.to_owned()
}

/// Whether it may be the id of a key.
fn is_key(word: &str) -> bool {
    word.len() == 12 && word.bytes().all(|b| matches!(b, b'a'..=b'z' | b'2'..=b'7'))
}

#[test]
fn what_is_masked_is_what_changes() {
    for (text, expected) in [
        (r#""createTime":1795259527.112477,"n":1795259527.1"#, r#""createTime":TIME,"n":1795259527.1"#),
        (r#""1.1.1.10c714af3cd95c4b""#, r#""1.1.1MARK""#),
        (r#"p-01a1fe93-945e-721c-b540-140acfef9a45"#, "p-ID"),
        ("date: Sat, 21 Nov 2026 11:12:07 GMT\nx", "date\nx"),
        ("id: 12-7460812287493caf-5b1e02aa", "id: 12-CURSOR"),
        ("id: mRiN5cZLGB5DM0JuRFDxeHfcCJoC3JEWCPkEWAVR5yM", "id: POSITION"),
        (r#""4.1.1.7460812287493caf-2""#, r#""4.1.1MARK-2""#),
        (r#"{"id":"55aqj6aovfso","key":"sdk_a_B-9.c"}"#, r#"{"id":"KEY","key":"CREDENTIAL"}"#),
        (r#"{"id":"gfiqxyvccsms"}"#, r#"{"id":"KEY"}"#),
        (r#"{"id":"admin-86cb8b94425c0a1f"}"#, r#"{"id":"ADMIN"}"#),
        ("gfiqxyvccsms role=agent apps=shop\n", "KEY role=agent apps=shop\n"),
        (
            r#"{"position":"mRiN5cZLGB5DM0JuRFDxeHfcCJoC3JEWCPkEWAVR5yM","kind":"events"}"#,
            r#"{"position":"","kind":"events"}"#,
        ),
        ("location: /v1/keys/gfiqxyvccsms", "location: /v1/keys/KEY"),
        ("{\"name\":\"abcdefghijkl\"}", "{\"name\":\"abcdefghijkl\"}"),
        (r#"{"price":1.10,"nextPageToken":"9bd7f4659fa61b6133"}"#, r#"{"price":1.10,"nextPageToken":"MARK"}"#),
    ] {
        assert_eq!(masked(text), expected);
    }
}

/// Each setting that `--help` shows has a row in docs/settings.md, with its flag and its variable, under the heading that it has there; and
/// no other has.
#[test]
fn every_setting_is_documented() {
    let help = Command::new(env!("CARGO_BIN_EXE_sessiond")).args(["serve", "--help"]).output().expect("run it");
    let help = String::from_utf8(help.stdout).expect("text");
    let words = |before: &str| -> HashSet<String> {
        let after = help.split(before).skip(1);
        after.filter_map(|rest| rest.split([' ', '\n', '=', ']']).next()).map(str::to_owned).collect()
    };
    let settings = read("docs/settings.md");
    let rows = settings.lines().filter_map(|line| line.strip_prefix("| `--"));
    let (mut flags, mut variables) = (HashSet::new(), HashSet::new());
    for row in rows {
        let mut cells = row.split('|');
        let mut names = |prefix: &str| -> Vec<String> {
            let cell = cells.next().expect("a cell").trim();
            cell.split(", ").map(|name| name.trim_matches('`').trim_start_matches(prefix).to_owned()).collect()
        };
        flags.extend(names("--"));
        variables.extend(names(""));
    }
    assert_eq!(flags, words("\n      --"));
    let shown = words("[env: ");
    assert!(shown.is_subset(&variables), "{:?}", shown.difference(&variables));
    for variable in &variables {
        assert!(help.contains(variable.as_str()), "{variable}");
    }
    let (mut grouped, mut heading) = (HashSet::new(), "");
    for line in help.lines() {
        if let Some(name) = line.strip_suffix(':').filter(|name| !name.starts_with(' ')) {
            heading = name;
        } else if let Some(flag) = line.strip_prefix("      --") {
            grouped.insert((heading, flag.split([' ', '=', '[']).next().expect("a flag").to_owned()));
        }
    }
    let (mut documented, mut heading) = (HashSet::new(), "");
    for line in settings.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            heading = name;
        } else if let Some(row) = line.strip_prefix("| `--") {
            let flags = row.split('|').next().expect("a cell").split(", ");
            documented
                .extend(flags.map(|flag| (heading, flag.trim().trim_matches('`').trim_start_matches("--").to_owned())));
        }
    }
    assert_eq!(documented, grouped);
}

/// Every link from one document to another, or to a part of one, leads somewhere.
#[test]
fn links_lead_somewhere() {
    const READMES: &str = "bench clients/go clients/java clients/python clients/python/adk \
                           clients/python/adk-import clients/python/client clients/python/langgraph-checkpoint \
                           clients/rust clients/typescript/adk clients/typescript/client clients/wire deploy/helm examples/adk-go examples/adk-java \
                           examples/adk-python examples/adk-rust examples/adk-typescript examples/client-python \
                           examples/client-typescript examples/frameworks-python examples/frameworks-typescript";
    let readmes: Vec<String> = READMES.split(' ').map(|folder| format!("{folder}/README.md")).collect();
    let mut documents = vec!["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md", "SECURITY.md"];
    documents.extend(readmes.iter().map(String::as_str));
    let pages: Vec<String> = ["docs", "docs/design"]
        .into_iter()
        .flat_map(|folder| {
            let files = fs::read_dir(Path::new(ROOT).join(folder)).expect("a folder of pages");
            files.map(move |file| format!("{folder}/{}", file.expect("a page").file_name().to_string_lossy()))
        })
        .filter(|name| name.ends_with(".md"))
        .collect();
    documents.extend(pages.iter().map(String::as_str));
    for name in documents {
        let text = fs::read_to_string(Path::new(ROOT).join(name)).expect("read the document");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
            let of = Path::new(ROOT).join(name);
            let target = if path.is_empty() { of } else { of.parent().expect("a folder").join(path) };
            assert!(target.exists(), "{name}: {link}");
            if let Some(anchor) = anchor {
                let text = fs::read_to_string(&target).expect("read the document");
                assert!(anchors(&text).contains(anchor), "{name}: {link}");
            }
        }
    }
}

/// The anchors that a page made of Markdown has: its headings, in lower case, with dashes.
fn anchors(text: &str) -> HashSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let kept = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
            kept.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
        })
        .collect()
}
