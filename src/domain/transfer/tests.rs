use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::format::on_one_line;
use super::write::typed;
use super::*;
use crate::domain::Limits;
use crate::domain::artifact::{Content, Kind as ArtifactKind, Version, parse_metadata};
use crate::domain::envelope::MAX_BODY_DEPTH;
use crate::domain::ids::{AppName, ArtifactName, EventId, SessionId, SessionKey, UserId, UserKey};
use crate::domain::json::{Json, ObjectText, RawJson};
use crate::domain::key_history::MadeBy;
use crate::domain::session::SessionInfo;
use crate::domain::tag::Timeline;
use crate::domain::time::Micros;

/// Lines of this very format, as text within a value and as values.
fn planted() -> impl Strategy<Value = String> {
    let lines = [
        r#"{"type":"export","format":1,"scope":"app","appName":"other"}"#,
        r#"{"type":"app.state","revision":1,"state":{"role":"owner"}}"#,
        r#"{"type":"user.state","userId":"zoe","revision":1,"state":{"role":"owner"}}"#,
        r#"{"type":"user.change","userId":"zoe","revision":1,"time":1,"base":true,"set":{"role":"owner"}}"#,
        r#"{"type":"session.end","id":"s","revision":0,"state":{},"sha256":"","cursor":""}"#,
        r#"{"type":"end","sessions":0,"events":0}"#,
        r#""{\"type\":\"end\"}\n""#,
        r#""\u000a""#,
        "1.50",
        "[]",
    ];
    prop::sample::select(lines.to_vec()).prop_map(str::to_owned)
}

/// JSON with white space of all kinds between its tokens.
fn value() -> impl Strategy<Value = RawJson> {
    let space = || "[ \t\r\n]{0,3}";
    let leaf = planted();
    leaf.prop_recursive(3, 12, 4, move |inner| {
        let spaced = (space(), inner, space()).prop_map(|(before, value, after)| before + &value + &after);
        prop_oneof![
            prop::collection::vec(spaced.clone(), 0..4).prop_map(|values| format!("[{}]", values.join(","))),
            prop::collection::vec((space(), spaced, space()), 0..4).prop_map(|members| {
                let member = |(n, (before, value, after)): (usize, (String, String, String))| {
                    format!("{before}\"k{n}\"{after}:{value}")
                };
                let members: Vec<String> = members.into_iter().enumerate().map(member).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
    .prop_map(|text| Json::parse(text.as_bytes(), MAX_BODY_DEPTH).expect("JSON").to_raw())
}

fn object(values: &[RawJson]) -> String {
    let mut object = ObjectText::default();
    values.iter().enumerate().for_each(|(n, value)| object.push(&format!("k{n}"), value.text()));
    object.close()
}

fn session(base_state: RawJson, labels: Option<RawJson>) -> Exported {
    let user = UserKey { app: AppName::parse("a").expect("a name"), user: UserId::parse("u").expect("a name") };
    Exported {
        head: SessionInfo {
            key: SessionKey { user, session: SessionId::parse("s").expect("an id") },
            incarnation: 1,
            timeline: Timeline::default(),
            revision: 2,
            metadata_revision: 0,
            base_revision: 2,
            user_revision: 0,
            app_revision: 0,
            create_time: Micros(1_000_000),
            update_time: Micros(1_000_000).into(),
            display_name: None,
            labels,
            expire_time: None,
            forked_from: None,
        },
        base_state,
        base_saw: (3, 4),
        base_artifacts: vec![(ArtifactName::parse("a/\u{e9}").expect("a name"), 7)],
        has_artifacts: true,
        redacted: 0,
        nearest_source: None,
        lost: Lost { user: Some((1, 2)), app: None, files: Some((2, 2)) },
        origin: None,
        imported_digest: None,
        state: None,
        rows: Vec::new(),
        more: false,
    }
}

/// The one value of a line, which is all of it.
fn read(line: &str) -> Line {
    let text = line.strip_suffix('\n').expect("a line feed");
    assert!(!text.contains(['\n', '\r']), "{line}");
    Line::parse(text.as_bytes(), &Limits::unbounded_input()).expect("a line")
}

proptest! {
    #[test]
    fn a_line_is_one_value_and_gives_back_what_was_stored(values in prop::collection::vec(value(), 0..4)) {
        let state = object(&values);
        let pairs: Vec<(String, RawJson)> =
            values.iter().enumerate().map(|(n, value)| (format!("k{n}"), value.clone())).collect();
        let user = UserId::parse("u").expect("a name");
        for of in [None, Some(&user)] {
            match read(&state_line(of, 7, &state)) {
                Line::State { user, revision: 7, state } => prop_assert_eq!((user.as_ref(), &state), (of, &pairs)),
                other => prop_assert!(false, "{other:?}"),
            }
            let made_by = |invocation: &str| MadeBy {
                user: user.clone(), session: SessionId::parse("s").expect("a name"), event: EventId::parse("e").expect("a name"),
                sequence: 3, author: "a\n\0".into(), invocation_id: invocation.into(),
            };
            let change = PastChange {
                revision: 7, time: Micros(1_500_000), is_base: true, set: pairs.clone(), removed: vec!["\n".into()],
                by: [("\n".to_owned(), made_by("")), ("k0".to_owned(), made_by("i"))].into(),
            };
            let Line::Change { user: found, change: read } = read(&change_line(of, &change)) else {
                return Err(TestCaseError::fail("no change"));
            };
            prop_assert_eq!((found.as_ref(), read), (of, change));
        }
        let Line::Session(begin) = read(&session_line(&session(RawJson::trusted(&*state), None))) else {
            return Err(TestCaseError::fail("no session"));
        };
        prop_assert_eq!((begin.base_state.text(), begin.saw), (&*state, Some((3, 4))));
        prop_assert_eq!(begin.base_artifacts, vec![(ArtifactName::parse("a/\u{e9}").expect("a name"), 7)]);
        let labels = RawJson::trusted("{\n\"a\"\r\n:\"b\"\r}");
        let labelled = session(RawJson::trusted("{}"), Some(labels.clone()));
        let Line::Session(begin) = read(&session_line(&labelled)) else {
            return Err(TestCaseError::fail("no session"));
        };
        prop_assert_eq!(begin.labels, Some(labels));
        let source = ExportSource::App(labelled.head.key.app().clone());
        let end = end_of_session(&source, &labelled.head, &state, &labelled.lost, Some(&labelled.head.key.session), [7; 32]);
        let Line::SessionEnd { state: found, lost, nearest_source, sha256, .. } = read(&end) else {
            return Err(TestCaseError::fail("no end"));
        };
        prop_assert_eq!((found.text(), lost, sha256), (&*state, labelled.lost, [7; 32]));
        prop_assert_eq!(nearest_source, Some(labelled.head.key.session));
    }

    #[test]
    fn an_artifact_comes_back_as_it_was(values in prop::collection::vec(value(), 1..4), n in 0_u64..3, next in 1_i64..9) {
        let metadata = RawJson::trusted(object(&values));
        prop_assume!(parse_metadata(metadata.text()).is_ok());
        let size = n * DATA_BYTES as u64 + n;
        let of = |kind, bytes, file_uri: Option<&str>| Content {
            kind,
            mime_type: Some("a/b; c=\"d\"".to_owned()),
            bytes,
            display_name: Some(RawJson::trusted(r#""\u0000""#)),
            file_uri: file_uri.map(RawJson::trusted),
            metadata: Some(metadata.clone()),
        };
        let gone = Content { metadata: None, display_name: None, mime_type: None, ..of(ArtifactKind::Gone, None, None) };
        let contents = [
            of(ArtifactKind::Bytes, Some((size, [7; 32])), None),
            Content { display_name: None, ..of(ArtifactKind::Text, Some((size, [7; 32])), None) },
            of(ArtifactKind::Uri, None, Some(r#""gs://\u00e9""#)),
            gone,
        ];
        let user = UserId::parse("u").expect("a name");
        for content in contents {
            for (name, of) in [("a/\u{e9}\"", None), ("user:n", Some(&user))] {
                let name = ArtifactName::parse(name).expect("a name");
                let version = Version {
                    name: name.clone(), version: 0, content: content.clone(), create_time: Micros(1_500_000), revision: None,
                };
                let lines = version.content.bytes.map_or(0, |(size, _)| data_lines(size));
                let line = artifact_line(of, &ExportedArtifact { name, version: Some(version.clone()), blob: None, next });
                let Line::Artifact(read) = read(&line) else { return Err(TestCaseError::fail("no artifact")) };
                prop_assert_eq!((read.user.as_ref(), read.version, read.next, read.lines), (of, Some(version), next, lines));
            }
        }
    }

    #[test]
    fn a_line_that_shows_other_than_its_exact_text_is_refused(value in value(), other in value()) {
        let broken = |values: &[RawJson]| object(values).replacen('{', "{\n", 1);
        let raw = broken(std::slice::from_ref(&value));
        // Without the space for the line break, and with a member more.
        for shown in [on_one_line(&object(std::slice::from_ref(&other))), on_one_line(&broken(&[value, other]))] {
            let mut line = typed("app.state");
            line.push("revision", "1");
            line.push("state", &shown);
            line.push_str("stateRaw", &raw);
            prop_assert!(Line::parse(line.close().as_bytes(), &Limits::unbounded_input()).is_err());
        }
    }
}

#[test]
fn an_artifact_of_which_nothing_is_left_says_its_next_number() {
    let name = ArtifactName::parse("n").expect("a name");
    let line = artifact_line(None, &ExportedArtifact { name: name.clone(), version: None, blob: None, next: 4 });
    assert_eq!(line, "{\"type\":\"artifact\",\"name\":\"n\",\"next\":4,\"chunks\":0}\n");
    let Line::Artifact(read) = read(&line) else { panic!("no artifact") };
    assert_eq!((read.name, read.version, read.next, read.lines), (name, None, 4, 0));
}

#[test]
fn bytes_come_back_as_they_were() {
    for length in [1, 2, 3, DATA_BYTES - 1, DATA_BYTES] {
        let bytes: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
        let line = data_line(&bytes);
        assert!(line.len() <= LONGEST_DATA + 50, "{}", line.len());
        assert!(matches!(read(&line), Line::ArtifactData(read) if read == bytes), "{length}");
    }
    assert_eq!([0, 1, DATA_BYTES as u64, DATA_BYTES as u64 + 1].map(data_lines), [0, 1, 1, 2]);
}

#[test]
fn an_artifact_that_cannot_be_one_is_refused() {
    const BYTES: &str = r#""version":0,"kind":"bytes","mimeType":"a/b","createTime":1"#;
    let sha = format!("\"sha256\":\"{}\"", "ab".repeat(32));
    let sized = |size: u64| format!("{BYTES},\"size\":{size},{sha}");
    let good = [
        (r#""name":"n""#, sized(1), r#""next":1,"chunks":1"#),
        (r#""name":"n""#, sized(0), r#""chunks":0"#),
        (r#""name":"user:n","userId":"u""#, sized(2 << 20), r#""next":9,"chunks":2"#),
    ];
    let parse = |(name, version, rest): &(&str, String, &str)| {
        let line = format!("{{\"type\":\"artifact\",{name},{version},{rest}}}");
        Line::parse(line.as_bytes(), &Limits::unbounded_input()).map(|_| line)
    };
    for line in &good {
        assert!(parse(line).is_ok(), "{line:?}");
    }
    let uri = r#""version":0,"kind":"uri","createTime":1,"fileUri":"u","size":1"#.to_owned();
    for line in [
        (r#""name":"n""#, sized(1), r#""chunks":2"#),
        (r#""name":"n""#, sized(1), r#""next":0,"chunks":1"#),
        (r#""name":"n""#, sized(1), r#""next":1"#),
        (r#""name":"user:n""#, sized(1), r#""chunks":1"#),
        (r#""name":"n","userId":"u""#, sized(1), r#""chunks":1"#),
        (r#""name":"..""#, sized(1), r#""chunks":1"#),
        (r#""name":"n""#, BYTES.to_owned(), r#""chunks":0"#),
        (r#""name":"n""#, sized(1).replace("bytes", "none"), r#""chunks":1"#),
        (r#""name":"n""#, sized(1).replace("a/b", "\u{e9}"), r#""chunks":1"#),
        (r#""name":"n""#, format!("{},\"metadata\":[]", sized(1)), r#""chunks":1"#),
        (r#""name":"n""#, format!("{},\"fileUri\":\"u\"", sized(1)), r#""chunks":1"#),
        (r#""name":"n""#, r#""kind":"gone""#.to_owned(), r#""next":1,"chunks":0"#),
        (r#""name":"n""#, format!("{uri},{sha}"), r#""chunks":1"#),
    ] {
        assert!(parse(&line).is_err(), "{line:?}");
    }
    let data = |text: &str| {
        let line = format!("{{\"type\":\"artifact.data\",\"data\":\"{text}\"}}");
        Line::parse(line.as_bytes(), &Limits::unbounded_input()).is_ok()
    };
    assert!(data("aGk=") && data(""));
    assert!(!data("aGk") && !data("!!!!") && !data(&STANDARD.encode(vec![0; DATA_BYTES + 1])));
}
