use super::*;
use crate::domain::envelope::parse_body;
use crate::domain::ids::{AppName, SessionId, UserId, UserKey};

fn redaction(values: Values, reason: Option<&str>, time: i64) -> Redaction {
    let user = UserKey { app: AppName::parse("a").unwrap(), user: UserId::parse("u").unwrap() };
    Redaction {
        key: SessionKey { user, session: SessionId::parse("s").unwrap() },
        event: EventId::parse("e").unwrap(),
        draft: RedactDraft { reason: reason.map(str::to_owned), values },
        guard: Guard::default(),
        removal_id: Uuid::from_u128(7),
        time: Micros(time),
        now: Micros(1),
        forks: BTreeSet::new(),
        done: BTreeSet::new(),
    }
}

fn keep(body: &str, is_rewind: bool) -> Option<String> {
    redaction(Values::Keep, None, 5_000_000).of(body, is_rewind)
}

fn remove(body: &str, is_rewind: bool) -> Option<String> {
    redaction(Values::Remove, None, 6_000_000).of(body, is_rewind)
}

#[test]
fn a_request_has_a_reason_and_says_what_becomes_of_values() {
    let parse = |text: &str| RedactDraft::parse(parse_body(text.as_bytes())?);
    assert_eq!(parse("{}"), Ok(RedactDraft::default()));
    let long = "é".repeat(128);
    let given = RedactDraft { reason: Some(long.clone()), values: Values::Remove };
    assert_eq!(parse(&format!(r#"{{"reason":"{long}","state":"remove"}}"#)), Ok(given));
    assert_eq!(parse(r#"{"state":"keep","reason":null}"#), Ok(RedactDraft::default()));
    for (bad, field) in [
        (format!(r#"{{"reason":"{long}x"}}"#), "reason"),
        (r#"{"reason":1}"#.into(), "reason"),
        (r#"{"state":"drop"}"#.into(), "state"),
        (r#"{"states":"keep"}"#.into(), "states"),
        ("[]".into(), ""),
    ] {
        let Err(Rejected::Invalid(errors)) = parse(&bad) else { panic!("{bad}") };
        assert_eq!(errors[0].field, field, "{bad}");
    }
}

#[test]
fn what_says_when_and_by_whom_stays_and_the_content_goes() {
    let body = r#"{"content":{"parts":[{"text":"secret"}]},"timestamp":1E2,"id":"e\u0031","author":"ann","x":1,"invocationId":"i","branch":"b","errorMessage":"secret","customMetadata":{"a":"secret","rewindToRevision":3},"actions":{"compaction":{"compactedContent":"secret"},"preconditions":[{"key":"k","equals":"secret"}],"artifactDelta":{"f":2,"g":"secret"},"rewindBeforeInvocationId":"i0"}}"#;
    assert_eq!(
        keep(body, false).unwrap(),
        r#"{"id":"e\u0031","timestamp":1E2,"author":"ann","invocationId":"i","branch":"b","actions":{"artifactDelta":{"f":2}},"redacted":{"time":5.000000}}"#
    );
    assert_eq!(
        remove(body, true).unwrap(),
        r#"{"id":"e\u0031","timestamp":1E2,"author":"ann","invocationId":"i","branch":"b","actions":{"artifactDelta":{"f":2},"rewindBeforeInvocationId":"i0"},"customMetadata":{"rewindToRevision":3},"redacted":{"time":6.000000}}"#
    );
    let bare = r#"{"id":"e","timestamp":1,"actions":{"escalate":true}}"#;
    assert_eq!(keep(bare, false).unwrap(), r#"{"id":"e","timestamp":1,"author":"","redacted":{"time":5.000000}}"#);
}

#[test]
fn values_stay_or_become_removals() {
    let actions = r#"{"stateOps":[{"op":"remove","key":"gone"},{"op":"remove","key":"k"},{"op":"append","key":"user:l","value":["secret"]}],"stateDelta":{"k": 1.0,"user:l":["secret"]}}"#;
    let body = format!(r#"{{"id":"e","timestamp":1,"author":"a","actions":{actions}}}"#);
    let kept = keep(&body, false).unwrap();
    let actions = Json::trusted(&kept).get("actions").unwrap().text().to_owned();
    assert_eq!(
        actions,
        r#"{"stateDelta":{"k": 1.0,"user:l":["secret"]},"stateOps":[{"op":"remove","key":"gone"},{"op":"remove","key":"k"},{"op":"append","key":"user:l","value":["secret"]}]}"#
    );
    let removed = remove(&body, false).unwrap();
    assert_eq!(
        Json::trusted(&removed).get("actions").unwrap().text(),
        r#"{"stateDelta":{},"stateOps":[{"op":"remove","key":"gone"},{"op":"remove","key":"k"},{"op":"remove","key":"user:l"}]}"#
    );
    assert!(set_keys(&removed).is_empty());
    let set: Vec<_> =
        set_keys(&kept).into_iter().map(|(scope, key, value)| (scope, key, value.text().to_owned())).collect();
    assert_eq!(set, [(Scope::Session, "k".into(), "1.0".into()), (Scope::User, "l".into(), r#"["secret"]"#.into())]);
    assert_eq!(touched(&body), ["gone", "k", "user:l"].map(str::to_owned).into());
    assert_eq!(touched(&removed), touched(&body));
}

#[test]
fn operators_make_a_value_of_what_was_there() {
    let built = |delta: &str, ops: &str| {
        builds_on(&format!(r#"{{"actions":{{"stateDelta":{delta},"stateOps":{ops}}}}}"#), "user:k")
    };
    let append = r#"[{"op":"append","key":"user:k","value":[2]}]"#;
    assert!(built(r#"{"user:k":[1,2]}"#, append));
    assert!(!built(r#"{"user:k":[2]}"#, append));
    assert!(built(r#"{"user:k":{"a":1,"b":2}}"#, r#"[{"op":"merge","key":"user:k","value":{"b":2}}]"#));
    assert!(!built(r#"{"user:k":{"b":2}}"#, r#"[{"op":"merge","key":"user:k","value":{"b":2}}]"#));
    assert!(built(r#"{"user:k":3}"#, r#"[{"op":"increment","key":"user:k","value":1}]"#));
    // It was set first, or another key was changed.
    assert!(!built(r#"{"user:k":[7]}"#, r#"[{"op":"append","key":"k","value":[2]}]"#));
    let set = r#"[{"op":"set","key":"user:k","value":[1]},{"op":"append","key":"user:k","value":[2]}]"#;
    assert!(!built(r#"{"user:k":[1,2]}"#, set));
    let removed = r#"[{"op":"append","key":"user:k","value":[2]},{"op":"remove","key":"user:k"}]"#;
    assert!(!built("{}", removed));
    assert!(!builds_on(r#"{"actions":{"stateDelta":{"user:k":1}}}"#, "user:k") && !builds_on("{}", "user:k"));
}

#[test]
fn again_changes_nothing_and_what_is_gone_stays_gone() {
    let body = r#"{"id":"e","timestamp":1,"author":"a","content":1,"actions":{"stateDelta":{"k":1}}}"#;
    let first = redaction(Values::Keep, Some("why"), 1_000_000).of(body, false).unwrap();
    assert_eq!(keep(&first, false), None);
    // Values can still be taken; the reason stays unless there is another one.
    let second = remove(&first, false).unwrap();
    assert!(second.ends_with(r#""redacted":{"time":6.000000,"reason":"why"}}"#), "{second}");
    let other = redaction(Values::Remove, Some("other"), 6_000_000).of(&first, false).unwrap();
    assert!(other.ends_with(r#""redacted":{"time":6.000000,"reason":"other"}}"#), "{other}");
    for again in [keep(&second, false), remove(&second, false)] {
        assert_eq!(again, None);
    }
    // Without values there is nothing to take.
    let bare = keep(r#"{"id":"e","timestamp":1,"author":"a","content":1}"#, false).unwrap();
    assert_eq!(remove(&bare, false), None);
}

#[test]
fn a_removal_is_an_event_of_the_session_with_an_id_of_its_own() {
    let one = redaction(Values::Remove, None, 1);
    let keys = [(Scope::Session, "k"), (Scope::App, "x")];
    let other = SessionKey { session: SessionId::parse("f").unwrap(), ..one.key.clone() };
    let lease = LeaseHead { epoch: 4, all: None };
    let [own, fork] = [&one.key, &other].map(|key| one.removal(key, &lease, keys.into_iter()));
    assert_ne!(own.events[0].id, fork.events[0].id);
    let body = &own.events[0].body;
    let ops = r#"[{"op":"remove","key":"k"},{"op":"remove","key":"app:x"}]"#;
    assert!(
        body.contains(&format!(
            r#""author":"user","invocationId":"","actions":{{"stateDelta":{{}},"stateOps":{ops}}}"#
        )),
        "{body}"
    );
    // No lease excludes all others.
    assert_eq!(fork.guard.lease, None);
}
