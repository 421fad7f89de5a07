//! The programs of this crate: the example does what its README shows, and the matrix program what it is told.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{Server, app, new_session, sessions, shared};

/// Cargo builds the examples beside the tests, if it is asked for no target by name.
pub fn program(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(program.is_file(), "{} is missing: it is built by `cargo test`", program.display());
    program
}

#[test]
fn the_example_prints_its_transcript() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/adk-rust/README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let server = Server::start(&[]);
    let runs: Vec<&str> = readme.split("$ cargo run --quiet --example cafe -- ").skip(1).collect();
    let mut follows = 0;
    for run in &runs {
        let (arguments, shown) = run.split_once('\n').unwrap();
        let end = shown.find("\n\n").into_iter().chain(shown.find("\n```")).min().unwrap();
        let shown: Vec<&str> = shown[..end].lines().collect();
        let mut cafe = Command::new(program("cafe"));
        cafe.env("SESSIOND_URL", &server.url).stdout(Stdio::piped());
        match arguments.strip_prefix("follow ") {
            Some(user) => {
                follows += 1;
                let mut follower = cafe.args(["follow", user]).spawn().unwrap();
                let lines = BufReader::new(follower.stdout.take().unwrap()).lines();
                // It goes on until it is ended.
                let lines: Vec<String> = lines.take(shown.len()).map(Result::unwrap).collect();
                follower.kill().unwrap();
                follower.wait().unwrap();
                assert_eq!(lines, shown);
            }
            None => {
                let (user, message) = arguments.split_once(' ').unwrap();
                let ran = cafe.args([user, message.trim_matches('"')]).output().unwrap();
                assert!(ran.status.success());
                assert_eq!(String::from_utf8(ran.stdout).unwrap().lines().collect::<Vec<_>>(), shown);
            }
        }
    }
    assert_eq!((runs.len(), follows), (4, 1));
}

#[tokio::test]
async fn the_matrix_program_answers() {
    let app = app();
    new_session(&sessions(), &app).await;
    let at = |mut command: Value| {
        let names = json!({"app": app, "user": "ada", "session": "s"});
        for (name, value) in names.as_object().unwrap() {
            command.as_object_mut().unwrap().entry(name).or_insert(value.clone());
        }
        command
    };
    let event = json!({"id": "e1", "author": "user", "invocationId": "i", "timestamp": 1_763_836_383.25_f64, "text": "hi",
        "stateDelta": {"k": [1], "user:x": "y"}, "artifactDelta": {"named": 1}});
    let increment = json!({"do": "increment", "key": "app:n", "by": 3});
    let commands = [
        (json!({"do": "append", "event": event}), json!({"ok": true, "state": {"k": [1], "user:x": "y"}})),
        (json!({"do": "append", "event": event}), json!({"ok": true, "state": {"k": [1], "user:x": "y"}})),
        (increment.clone(), json!({"ok": true, "value": 3})),
        (increment, json!({"ok": true, "value": 6})),
    ];
    let mut conflict = event.clone();
    conflict["text"] = json!("other");

    let mut matrix = Command::new(program("matrix"))
        .env("SESSIOND_URL", shared())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = matrix.stdin.take().unwrap();
    let mut output = BufReader::new(matrix.stdout.take().unwrap());
    let mut ask = |command: Value| -> Value {
        writeln!(input, "{command}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    for (command, expected) in commands {
        assert_eq!(ask(at(command)), expected);
    }
    let got = ask(at(json!({"do": "get"})));
    assert_eq!(got["state"], json!({"k": [1], "user:x": "y", "app:n": 6}));
    let events = got["events"].as_array().unwrap().clone();
    assert_eq!((events.len(), &events[0]), (3, &json!("e1")));
    assert!(got["lastUpdateTime"].is_number());
    assert_eq!(ask(at(json!({"do": "watch", "count": 3}))), json!({"ok": true, "events": events}));
    assert_eq!(got["artifacts"], json!({"named": 1}));
    let text = json!({"do": "save", "name": "f", "text": "é"});
    assert_eq!(ask(at(text)), json!({"ok": true, "version": 1}));
    let bytes = json!({"do": "save", "name": "f", "data": "AP8=", "mimeType": "a/b"});
    assert_eq!(ask(at(bytes)), json!({"ok": true, "version": 2}));
    let first = ask(at(json!({"do": "load", "name": "f", "version": 1})));
    assert_eq!(first, json!({"ok": true, "text": "é"}));
    let latest = ask(at(json!({"do": "load", "name": "f"})));
    assert_eq!(latest, json!({"ok": true, "data": "AP8=", "mimeType": "a/b"}));
    assert_eq!(ask(at(json!({"do": "load", "name": "g"}))), json!({"ok": true}));
    assert_eq!(ask(at(json!({"do": "files"}))), json!({"ok": true, "names": ["f"]}));
    let refused = ask(at(json!({"do": "append", "event": conflict})));
    assert_eq!((&refused["code"], &refused["status"]), (&json!("event_id_conflict"), &json!(409)));
    let refused = ask(at(json!({"do": "get", "session": "none"})));
    assert_eq!(
        (&refused["ok"], &refused["code"], &refused["status"]),
        (&json!(false), &json!("session_not_found"), &json!(404))
    );
    assert_eq!(ask(json!({"do": "nothing"}))["ok"], json!(false));
    drop(input);
    assert!(matrix.wait().unwrap().success());
}
