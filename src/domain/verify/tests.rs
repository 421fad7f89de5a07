use super::findings::MAX_LINES;
use super::*;
use crate::domain::Limits;
use crate::domain::event::EventDraft;
use crate::domain::history::node;
use crate::domain::ids::EventId;
use crate::domain::json::Json;

/// A session with all that is stored of it.
struct Stored {
    row: SessionRow,
    events: Vec<EventRow>,
    state: Vec<(&'static str, &'static str, i64)>,
    spans: Vec<Span>,
    user_log: Vec<LogValue>,
    app_log: Vec<LogValue>,
}

fn event(sequence: i64, user: i64, app: i64, actions: &str) -> EventRow {
    let body = format!(r#"{{"id":"e{sequence}","timestamp":{sequence}.50,"author":"a","actions":{{{actions}}}}}"#);
    let draft = EventDraft::parse(Json::trusted(&body), "", None, &Limits::default()).unwrap();
    let event = draft.seal(EventId::parse("none").unwrap(), Micros(0));
    EventRow {
        sequence,
        id: format!("e{sequence}"),
        event_time: Micros(sequence * 1_000_000 + 500_000),
        author: "a".to_owned(),
        invocation_id: String::new(),
        branch: None,
        saw: Seen { user, app },
        effect: None,
        digest: event.digest.to_vec(),
        body: event.body.to_string(),
    }
}

fn span(key: &str, from: i64, to: i64, value: &str) -> Span {
    Span { node: node(from, to), key: key.into(), from, to, removed: false, value: Some(value.into()) }
}

fn logged(key: &str, revision: i64, value: Option<&str>) -> LogValue {
    LogValue { key: key.into(), revision, value: value.map(Box::from) }
}

fn sample() -> Stored {
    Stored {
        row: SessionRow {
            revision: 4,
            base: 0,
            create_time: Micros(7),
            update_time: Micros(4_500_000),
            update_time_number: "4.50".to_owned(),
            listed: true,
            initial_state: r#"{"a": 0,"b":[1.0]}"#.to_owned(),
            created: Seen { user: 2, app: 0 },
            now: Seen { user: 5, app: 1 },
            floors: Seen::default(),
            forked_revision: None,
            imported_revision: None,
            lease_agrees: true,
        },
        events: vec![
            event(1, 3, 0, r#""stateDelta":{"a":1,"user:u":1}"#),
            event(2, 3, 0, r#""stateDelta":{"user:u":2}"#),
            event(3, 4, 1, r#""stateDelta":{"a":3,"app:x":"y"},"stateOps":[{"op":"remove","key":"user:u"}]"#),
            event(4, 4, 1, r#""stateDelta":{"c":null},"stateOps":[{"op":"remove","key":"b"}]"#),
        ],
        state: vec![("a", "3", 3), ("c", "null", 4)],
        spans: vec![span("a", 0, 1, "0"), span("a", 1, 3, "1"), Span { removed: true, ..span("b", 0, 4, "[1.0]") }],
        user_log: vec![logged("u", 3, Some("2")), logged("u", 4, None), logged("u", 5, Some("9"))],
        app_log: vec![logged("x", 1, Some("\"y\""))],
    }
}

fn at<'a>(log: &'a [LogValue], wanted: &'a [Logged]) -> impl Iterator<Item = LogValue> + 'a {
    let wants = |row: &&LogValue| wanted.iter().any(|w| w.key == row.key && w.revision == row.revision);
    log.iter().filter(wants).cloned()
}

fn findings(stored: &Stored) -> Findings {
    let mut check = SessionCheck::new(stored.row.clone());
    let answer = |check: &mut SessionCheck, wanted: Wanted| {
        let wants = |row: &&Span| wanted.spans.iter().any(|w| w.node == row.node && w.key == row.key);
        let spans: Vec<Span> = stored.spans.iter().filter(wants).cloned().collect();
        let user_log: Vec<LogValue> = at(&stored.user_log, &wanted.user_log).collect();
        let app_log: Vec<LogValue> = at(&stored.app_log, &wanted.app_log).collect();
        check.found(&wanted, &spans, &[], &user_log, &app_log);
    };
    for event in &stored.events {
        check.event(event);
        let wanted = check.wanted();
        answer(&mut check, wanted);
    }
    check.end_of_events();
    let wanted = check.wanted();
    answer(&mut check, wanted);
    stored.state.iter().for_each(|(key, value, revision)| check.state(key, value, *revision));
    check.finish(stored.spans.len() as i64, 0)
}

#[track_caller]
fn differs(damage: impl FnOnce(&mut Stored), lines: &[&str]) {
    let mut stored = sample();
    damage(&mut stored);
    assert_eq!(findings(&stored).lines, lines);
}

#[test]
fn what_the_events_say_is_no_difference() {
    differs(|_| {}, &[]);
    let empty = |stored: &mut Stored| {
        stored.events.clear();
        stored.spans.clear();
        stored.state = vec![("a", "0", 0), ("b", "[1.0]", 0)];
        let Stored { row, .. } = stored;
        (row.revision, row.update_time, row.update_time_number) = (0, Micros(7), "0.000007".to_owned());
    };
    differs(empty, &[]);
}

#[test]
fn a_gap_in_the_log_is_found() {
    let missing = "event 2 is missing";
    let log = r#"key "user:u": the user log has another value for what an event did to it at revision 3"#;
    differs(|s| drop(s.events.remove(1)), &[missing, log]);
    differs(
        |s| s.events.truncate(2),
        &[
            "events 3 to 4 are missing",
            r#"key "a": the state has not the value of event 1"#,
            r#"key "a": the state has revision 3, not that of event 1"#,
            r#"key "c": it is in the state, and should not be"#,
            r#"key "b": the state lacks it, as it was left by the creation"#,
            "spans without a value that was overwritten or removed: 2",
        ],
    );
    differs(|s| s.row.revision = 5, &["event 5 is missing"]);
    differs(|s| s.events.push(event(5, 4, 1, "")), &["event 5 is not one of 1 to 4"]);
    differs(|s| s.events.insert(0, event(0, 4, 1, "")), &["event 0 is not one of 1 to 4"]);
}

#[test]
fn a_changed_event_is_found() {
    let changed = |s: &mut Stored| s.events[0].body = s.events[0].body.replace("\"a\":1", "\"a\":7");
    let span = r#"key "a": its span from 1 to 3 has another value"#;
    let digest = "event 1: the digest of the body is not the one that was stored with it";
    differs(changed, &[digest, span]);
    let redone = |s: &mut Stored| s.events[0] = event(1, 3, 0, r#""stateDelta":{"a":7,"user:u":1}"#);
    differs(redone, &[span]);
    differs(
        |s| s.events[3].body.truncate(20),
        &[
            "event 4: the body is no event in JSON",
            r#"key "c": it is in the state, and should not be"#,
            r#"key "b": the state lacks it, as it was left by the creation"#,
            "spans without a value that was overwritten or removed: 1",
        ],
    );
    for (field, damage) in [
        ("id", (|e| e.id = "f".to_owned()) as fn(&mut EventRow)),
        ("timestamp", |e| e.event_time = Micros(1)),
        ("author", |e| e.author.clear()),
        ("invocationId", |e| e.invocation_id = "i".to_owned()),
        ("branch", |e| e.branch = Some(String::new())),
        ("digest", |e| e.digest.truncate(31)),
    ] {
        let line = format!("event 2: the {field} of the body is not the one that was stored with it");
        differs(|s| damage(&mut s.events[1]), &[&line]);
    }
}

#[test]
fn a_redacted_event_has_nothing_else_and_its_values_are_gone() {
    let redacted = |s: &mut Stored, more: &str| {
        let ops = r#"[{"op":"remove","key":"a"},{"op":"remove","key":"user:u"}]"#;
        s.events[0].body = format!(
            r#"{{"id":"e1","timestamp":1.50,"author":"a"{more},"actions":{{"stateDelta":{{}},"stateOps":{ops}}},"redacted":{{"time":1}}}}"#
        );
    };
    let taken = |s: &mut Stored| {
        s.spans[0].removed = true;
        s.spans.retain(|span| span.from != 1);
    };
    let both = |s: &mut Stored, more: &str| {
        redacted(s, more);
        taken(s);
    };
    differs(|s| both(s, ""), &[]);
    differs(|s| both(s, r#","content":1"#), &[r#"event 1: it is redacted, and has "content""#]);
    let end = r#"key "a": its span from 0 to 1 has another end"#;
    differs(|s| redacted(s, ""), &[end, "spans without a value that was overwritten or removed: 1"]);
    differs(taken, &[end, r#"key "a": its span from 1 to 3 is missing"#]);
    // Of a shared scope the log has a removal.
    let of_scope = |s: &mut Stored, value: Option<&str>| {
        let ops = r#"[{"op":"remove","key":"user:u"},{"op":"remove","key":"app:x"}]"#;
        s.events[2].body = format!(
            r#"{{"id":"e3","timestamp":3.50,"author":"a","actions":{{"stateDelta":{{"a":3}},"stateOps":{ops}}},"redacted":{{}}}}"#
        );
        s.app_log[0].value = value.map(Box::from);
    };
    differs(|s| of_scope(s, None), &[]);
    let kept = r#"key "app:x": the app log has a value for what an event did to it at revision 1"#;
    differs(|s| of_scope(s, Some("1")), &[kept]);
}

#[test]
fn changed_state_is_found() {
    differs(|s| s.state[0].1 = "4", &[r#"key "a": the state has not the value of event 3"#]);
    differs(|s| s.state[0].2 = 1, &[r#"key "a": the state has revision 1, not that of event 3"#]);
    differs(|s| s.state.truncate(1), &[r#"key "c": the state lacks it, as it was left by event 4"#]);
    differs(|s| s.state.push(("d", "1", 4)), &[r#"key "d": it is in the state, and should not be"#]);
    differs(
        |s| s.row.initial_state.clear(),
        &["the initial state is no JSON object", "spans without a value that was overwritten or removed: 2"],
    );
    let time = "the update time is not that of the last event, or of the creation";
    differs(|s| s.row.update_time = Micros(4_500_001), &[time]);
    differs(|s| s.row.update_time_number = "4.5".to_owned(), &[time]);
    differs(|s| s.row.lease_agrees = false, &["the columns of the lease do not agree"]);
    differs(|s| s.row.listed = false, &["the list by last update does not have it at its update time"]);
}

#[test]
fn changed_spans_are_found() {
    differs(|s| drop(s.spans.remove(1)), &[r#"key "a": its span from 1 to 3 is missing"#]);
    differs(|s| s.spans[2].value = None, &[r#"key "b": its span from 0 to 4 has another value"#]);
    differs(|s| s.spans[0].removed = true, &[r#"key "a": its span from 0 to 1 has another end"#]);
    differs(|s| s.spans[2].from = 3, &[r#"key "b": its span from 0 to 4 has other bounds"#]);
    let more = "spans without a value that was overwritten or removed: 1";
    differs(|s| s.spans.push(span("a", 3, 4, "3")), &[more]);
    differs(|s| s.spans[2].node = 3, &[r#"key "b": its span from 0 to 4 is missing"#, more]);
}

#[test]
fn scopes_that_went_back_are_found() {
    differs(
        |s| s.row.now.user = 3,
        &[
            "event 3: user_revision is 4, and the user state is at 3",
            "event 4: user_revision is 4, and the user state is at 3",
        ],
    );
    differs(
        |s| s.row.created.user = 6,
        &["created at revision 6 of the user state, which is at 5", "event 1: user_revision is 3, and was 6 before"],
    );
    differs(|s| s.events[3].saw.app = 0, &["event 4: app_revision is 0, and was 1 before"]);
    let line = |log, what, revision| {
        format!(
            r#"key "{log}:{}": the {log} log {what} what an event did to it at revision {revision}"#,
            if log == "user" { "u" } else { "x" }
        )
    };
    differs(|s| s.user_log[0].value = Some("1".into()), &[&line("user", "has another value for", 3)]);
    differs(|s| s.user_log[1].value = Some("1".into()), &[&line("user", "has a value for", 4)]);
    differs(|s| drop(s.user_log.remove(1)), &[]);
    differs(|s| s.app_log.clear(), &[&line("app", "lacks", 1)]);
    let forgotten = |s: &mut Stored| {
        s.row.floors = Seen { user: 4, app: 1 };
        s.app_log.clear();
        s.user_log.drain(..2);
    };
    differs(forgotten, &[]);
}

#[test]
fn a_fork_may_begin_within_a_request() {
    let forked = |s: &mut Stored| {
        s.row.forked_revision = Some(3);
        s.user_log[0].value = Some("3".into());
        s.user_log[1].value = Some("3".into());
    };
    differs(forked, &[]);
    let damaged = |s: &mut Stored| {
        forked(s);
        s.user_log.remove(0);
    };
    differs(damaged, &[r#"key "user:u": the user log lacks what an event did to it at revision 3"#]);
}

#[test]
fn rewinds_are_stored_as_such() {
    let rewind = r#""stateDelta":{"c":null},"stateOps":[{"op":"remove","key":"b"}],"rewindBeforeInvocationId":"i""#;
    let of = |actions: &'static str, to| {
        move |s: &mut Stored| s.events[3] = EventRow { effect: to, ..event(4, 4, 1, actions) }
    };
    differs(of(rewind, Some(3)), &[]);
    differs(of(rewind, Some(4)), &["event 4: it rewinds to 4, which is not before it"]);
    differs(of(rewind, None), &["event 4: it rewinds, and is not stored as one that does"]);
    differs(|s| s.events[0].effect = Some(0), &["event 1: it is stored as one that rewinds, and is none"]);
    let blank: &str = &rewind.replace("\"i\"", "\"\"");
    differs(|s| s.events[3] = event(4, 4, 1, blank), &[]);
    // To a revision, and the events after it belong to no invocation.
    let rewound = |to: i64| {
        move |s: &mut Stored| {
            s.events[3] = EventRow { effect: Some(1), ..event(4, 4, 1, blank) };
            let metadata = format!("{{\"customMetadata\":{{\"rewindToRevision\":{to}}},");
            s.events[3].body = s.events[3].body.replacen('{', &metadata, 1);
        }
    };
    differs(rewound(1), &[]);
    differs(rewound(2), &["event 4: it is stored as one that rewinds, and is none"]);
}

#[test]
fn the_versions_that_events_name_are_checked() {
    let named = |s: &mut Stored| {
        s.events[3] = event(
            4,
            4,
            1,
            r#""stateDelta":{"c":null},"stateOps":[{"op":"remove","key":"b"}],"artifactDelta":{"f":2,"odd":"x"}"#,
        )
    };
    differs(named, &["artifact \"f\": what event 4 names is lacking"]);
}

#[test]
fn one_broken_session_does_not_fill_the_report() {
    let mut stored = sample();
    stored.state.extend((0..100).map(|n| ("z", "1", n)));
    let findings = findings(&stored);
    assert_eq!((findings.lines.len(), findings.count), (MAX_LINES, 100));
}

/// `(key, revision, removed)`, with the state that follows from them, and the revision of the scope.
fn scope(
    log: &[(&str, i64, bool)],
    revision: Option<i64>,
    spans: &[(&str, i64, i64)],
    more: i64,
) -> (Vec<String>, u64) {
    let mut check = ScopeCheck::new(revision, 0, 0);
    for (key, revision, removed) in log {
        let last = log.iter().rev().find(|(other, ..)| other == key).filter(|(.., removed)| !removed);
        let state = last.map(|(_, at, _)| (*at, true));
        check.log(LogRow { key: (*key).to_owned(), revision: *revision, removed: *removed, state });
    }
    check.end_of_log();
    let wanted = check.wanted();
    let all: Vec<Span> =
        spans.iter().map(|(key, from, to)| Span { value: None, ..span(key, *from, *to, "") }).collect();
    check.found(&wanted, &all);
    let (findings, keys) = check.finish(all.len() as i64 + more);
    (findings.lines, keys)
}

#[test]
fn a_scope_is_what_its_log_says() {
    let log = [("a", 1, false), ("a", 3, false), ("a", 4, true), ("a", 70, false), ("b", 2, false), ("c", 2, true)];
    let log: Vec<_> = log.into_iter().chain((5..70).map(|n| ("d", n, false))).collect();
    let mut spans: Vec<_> = (5..69).map(|n| ("d", n, n + 1)).collect();
    spans.extend([("a", 1, 3), ("a", 3, 4)]);
    assert_eq!(scope(&log, Some(70), &spans, 0), (vec![], 3));
    assert_eq!(scope(&log, Some(70), &spans[1..], 0).0, [r#"key "d": its span from 5 to 6 is missing"#]);
    assert_eq!(scope(&log, Some(70), &spans, 1).0, ["spans without a value that was overwritten or removed: 1"]);
    assert_eq!(scope(&log, Some(72), &spans, 0).0, ["revisions that are not in the log: 2, the first of them 71"]);
    assert_eq!(scope(&log, Some(69), &spans, 0).0, [r#"key "a": the log has revision 70, not one of 1 to 69"#]);
    assert_eq!(
        scope(&[("a", 2, false)], Some(2), &[], 0).0,
        ["revisions that are not in the log: 1, the first of them 1"]
    );
    assert_eq!(scope(&[], None, &[], 0).0, ["its row of the scope's revision is missing"]);
    assert_eq!(scope(&[], Some(i64::MAX), &[], 0).0.len(), 1);
    assert_eq!(scope(&[], Some(-1), &[], 0).0.len(), 0);
}

#[test]
fn changed_state_of_a_scope_is_found() {
    for (removed, state, fault) in [
        (false, None, "the state lacks it, and the log has it at revision 1"),
        (true, Some((1, false)), "it is in the state, and the log says that revision 1 removed it"),
        (false, Some((2, false)), "the state has revision 2, the log 1"),
        (false, Some((1, false)), "the state has not the value that the log has at revision 1"),
    ] {
        let mut check = ScopeCheck::new(Some(1), 0, 0);
        check.log(LogRow { key: "k".to_owned(), revision: 1, removed, state });
        check.end_of_log();
        assert_eq!(check.finish(0).0.lines, [format!("key \"k\": {fault}")]);
    }
    let mut check = ScopeCheck::new(Some(0), 0, 0);
    check.unlogged("k");
    assert_eq!(check.finish(0).0.lines, [r#"key "k": it is in the state, and not in the log"#]);
}
