//! Trim: a session begins at a later revision, and everything below is gone, except for the recognition of retries.

use serde_json::{Value, json};

use crate::support::client::{Answer, Client, EVENTS, ONE, S, STATE};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;
use crate::support::sse::Watch;

const TRIM: &str = "/v1/apps/app/users/user/sessions/s/trim";
const WATCH: &str = "/v1/apps/app/users/user/sessions/s/watch";
const FORK: &str = "/v1/apps/app/users/user/sessions/s/fork";
const REWIND: &str = "/v1/apps/app/users/user/sessions/s/rewind";

fn event(n: usize) -> String {
    let ops = if n == 5 { r#","stateOps":[{"op":"remove","key":"gone"}]"# } else { "" };
    format!(
        r#"{{"id":"e{n}","author":"agent","invocationId":"i{}","branch":"b","actions":{{"stateDelta":{{"n":{n},"k{n}":{n}.0,"user:n":{n}}}{ops}}}}}"#,
        n.div_ceil(2)
    )
}

/// [`ONE`] with events `e1` to `eN`, two of each invocation.
async fn fill(server: &Client, events: usize) {
    server.create(r#"{"state":{"n":0,"gone":1}}"#).await;
    for n in 1..=events {
        server.append(event(n)).await;
    }
}

async fn trim(server: &Client, body: &str) -> Answer {
    server.post(TRIM).json(body).await.expect(200)
}

async fn state_at(server: &Client, revision: usize) -> Answer {
    server.get(format!("{STATE}?atRevision={revision}")).await
}

async fn put_y(server: &Client) -> Answer {
    server.put(format!("{STATE}/y")).header("idempotency-key", "put").json("1").await
}

/// That the answer says what was trimmed.
#[track_caller]
fn assert_trimmed(answer: &Answer, base: i64) {
    assert_eq!(answer.problem(410, "revision_trimmed")["baseRevision"], base);
}

on_both_databases! {
    async fn the_log_begins_behind_the_base(server: &TestServer) {
        fill(server, 8).await;
        let mut states = Vec::new();
        for n in 0..=8 {
            states.push(state_at(server, n).await.expect(200).text().to_owned());
        }
        let before = server.get(ONE).await.expect(200);
        let trimmed = trim(server, r#"{"beforeSequence":4}"#).await;
        assert_eq!(trimmed.json(), json!({"baseRevision": 3, "trimmedEvents": 3, "revision": 8}));
        let session = server.get(ONE).await.expect(200);
        assert_eq!(session.etag(), trimmed.etag());
        assert_eq!(session.etag(), format!("{}-1\"", before.etag().trim_end_matches('"')));
        assert_eq!(session.json()["baseRevision"], 3);
        assert_eq!(session.event_ids(), "e4 e5 e6 e7 e8");
        assert_eq!(session.raw(&["state"]), before.raw(&["state"]));
        assert_eq!(session.json()["lastUpdateTime"], before.json()["lastUpdateTime"]);

        let page = server.get(format!("{EVENTS}?pageSize=2")).await.expect(200);
        assert_eq!((page.event_ids().as_str(), &page.json()["trimmedThrough"]), ("e4 e5", &json!(3)));
        let token = page.json()["nextPageToken"].as_str().expect("a token").to_owned();
        for (query, ids) in [
            ("afterSequence=1", "e4 e5 e6 e7 e8"),
            ("order=desc&pageSize=2", "e8 e7"),
            ("order=desc&beforeSequence=6", "e5 e4"),
            ("beforeSequence=4", ""),
            ("invocationId=i2", "e4"),
            ("invocationId=i1", ""),
            ("author=agent", "e4 e5 e6 e7 e8"),
            ("author=", ""),
            ("afterTimestamp=0", "e4 e5 e6 e7 e8"),
            ("afterSequence=0&wait=1", "e4 e5 e6 e7 e8"),
        ] {
            assert_eq!(server.get(format!("{EVENTS}?{query}")).await.expect(200).event_ids(), ids, "{query}");
        }
        assert_eq!(server.get(format!("{ONE}?numRecentEvents=7")).await.expect(200).event_ids(), "e4 e5 e6 e7 e8");
        for n in 0..3 {
            assert_trimmed(&state_at(server, n).await, 3);
        }
        for (n, state) in states.iter().enumerate().skip(3) {
            assert_eq!(state_at(server, n).await.expect(200).text(), state, "{n}");
        }
        // Page tokens go on behind the cut.
        trim(server, r#"{"keepLast":1}"#).await;
        let rest = server.get(format!("{EVENTS}?pageSize=2&pageToken={token}")).await.expect(200);
        assert_eq!(rest.event_ids(), "e8");
        let list = server.get(S).await.expect(200);
        assert_eq!(list.json()["sessions"][0]["baseRevision"], 7);
    }

    async fn a_base_never_goes_back_and_stays_within_the_log(server: &TestServer) {
        fill(server, 4).await;
        let took = |answer: Answer| {
            let json = answer.json();
            (json["baseRevision"].as_i64().expect("a base"), json["trimmedEvents"].as_i64().expect("a count"))
        };
        for (body, expected) in [
            (r#"{"beforeSequence":0}"#, (0, 0)),
            (r#"{"keepLast":9}"#, (0, 0)),
            (r#"{"beforeSequence":3}"#, (2, 2)),
            (r#"{"before_sequence":3}"#, (2, 0)),
            (r#"{"keepLast":3}"#, (2, 0)),
            (r#"{"keepLast":99999999999999999999999999}"#, (2, 0)),
            (r#"{"beforeTime":0}"#, (2, 0)),
            (r#"{"keepLast":0}"#, (4, 2)),
            (r#"{"beforeSequence":99999999999999999999999999}"#, (4, 0)),
            (r#"{"beforeTime":"2100-01-01T00:00:00Z"}"#, (4, 0)),
        ] {
            assert_eq!(took(trim(server, body).await), expected, "{body}");
        }
        // The whole log is gone, and the next event follows it.
        let state = server.get(STATE).await.expect(200).text().to_owned();
        assert_eq!(state_at(server, 4).await.expect(200).text(), state);
        assert_eq!(server.append(event(5)).await.json()["sequence"], 5);
        assert_eq!(server.get(ONE).await.expect(200).event_ids(), "e5");
        for body in [r#"{"keepLast":-1}"#, r#"{"beforeSequence":-1}"#, r#"{"beforeTime":-1}"#, "{}", r#"{"keepLast":1,"beforeTime":1}"#] {
            server.post(TRIM).json(body).await.problem(422, "invalid_argument");
        }
        server.post("/v1/apps/app/users/user/sessions/none/trim").json(r#"{"keepLast":1}"#).await.problem(404, "session_not_found");
    }

    async fn a_cut_by_time_is_by_commit_times(server: &TestServer) {
        server.create("{}").await;
        let mut times = Vec::new();
        for n in 1..=6 {
            // Their own timestamps go backwards.
            let body = format!(r#"{{"id":"e{n}","author":"a","timestamp":{}}}"#, 1_000_000 - n);
            times.push(server.append(body).await.raw(&["commitTime"]));
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        assert_eq!(trim(server, &format!(r#"{{"beforeTime":{}}}"#, times[3])).await.json()["baseRevision"], 3);
        assert_eq!(trim(server, &format!(r#"{{"beforeTime":{}}}"#, times[1])).await.json()["baseRevision"], 3);
        assert_eq!(server.get(ONE).await.expect(200).event_ids(), "e4 e5 e6");
    }

    async fn a_retry_of_a_trimmed_event_is_recognised(server: &TestServer) {
        fill(server, 6).await;
        server.post(EVENTS).json(r#"{"id":"ops","author":"a","actions":{"stateOps":[{"op":"increment","key":"n","value":1}]}}"#).await.expect(201);
        server.patch(STATE).json(r#"{"stateDelta":{"x":1},"eventId":"patched"}"#).await.expect(200);
        put_y(server).await.expect(200);
        let state = server.get(STATE).await.expect(200).text().to_owned();
        trim(server, r#"{"keepLast":0}"#).await;
        // At once, and after the sweep has emptied them.
        for swept in [false, true] {
            if swept {
                server.until_swept().await;
            }
            let answer = server.post(EVENTS).json(event(3)).await.expect(200);
            assert_eq!(answer.text(), r#"{"id":"e3","sequence":3,"trimmed":true}"#);
            assert!(answer.was_replayed());
            let answer = server.post(EVENTS).json(r#"{"id":"ops","author":"a","actions":{"stateOps":[{"op":"increment","key":"n","value":1}]}}"#).await.expect(200);
            assert_eq!(answer.json()["trimmed"], true);
            server.post(EVENTS).json(r#"{"id":"e3","author":"agent"}"#).await.problem(409, "event_id_conflict");
            assert!(server.patch(STATE).json(r#"{"stateDelta":{"x":1},"eventId":"patched"}"#).await.expect(200).was_replayed());
            server.patch(STATE).json(r#"{"stateDelta":{"x":2},"eventId":"patched"}"#).await.problem(409, "event_id_conflict");
            assert!(put_y(server).await.expect(200).was_replayed());
            let both = server.post(EVENTS).json(format!("[{},{}]", event(1), event(6))).await.expect(200);
            assert_eq!(both.text(), r#"[{"id":"e1","sequence":1,"trimmed":true},{"id":"e6","sequence":6,"trimmed":true}]"#);
            assert_trimmed(&server.get(format!("{EVENTS}/e3")).await, 9);
            server.get(format!("{EVENTS}/none")).await.problem(404, "event_not_found");
            assert_eq!(server.get(STATE).await.expect(200).text(), state);
        }
        let mixed = server.post(EVENTS).json(format!("[{},{}]", event(2), r#"{"id":"new","author":"a"}"#)).await.expect(201);
        let Value::Array(mixed) = mixed.json() else { panic!("no array") };
        assert_eq!((&mixed[0]["trimmed"], &mixed[1]["sequence"]), (&json!(true), &json!(10)));
    }

    async fn forks_have_the_base_and_the_stubs(server: &TestServer) {
        fill(server, 6).await;
        let at_four = state_at(server, 4).await.expect(200).text().to_owned();
        trim(server, r#"{"beforeSequence":5}"#).await;
        assert_trimmed(&server.post(FORK).json(r#"{"atRevision":3}"#).await, 4);
        let fork = server.post(FORK).json(r#"{"atRevision":4,"sessionId":"f4"}"#).await.expect(201);
        assert_eq!((fork.event_ids().as_str(), &fork.json()["baseRevision"], &fork.json()["revision"]), ("", &json!(4), &json!(4)));
        let shared_as_then: Value = serde_json::from_str(&at_four).expect("JSON");
        for key in ["n", "k4", "gone"] {
            assert_eq!(fork.json()["state"][key], shared_as_then[key], "{key}");
        }
        let fork = server.post(FORK).json(r#"{"sessionId":"f6"}"#).await.expect(201);
        assert_eq!((fork.event_ids().as_str(), &fork.json()["baseRevision"]), ("e5 e6", &json!(4)));
        for (session, next) in [("f4", 5), ("f6", 7)] {
            let events = format!("{S}/{session}/events");
            let again = server.post(&events).json(event(2)).await.expect(200);
            assert_eq!(again.json(), json!({"id": "e2", "sequence": 2, "trimmed": true}));
            assert_eq!(server.post(&events).json(r#"{"author":"a"}"#).await.expect(201).json()["sequence"], next);
            assert_trimmed(&server.get(format!("{S}/{session}/state?atRevision=3")).await, 4);
            server.get(format!("{S}/{session}/state?atRevision=4")).await.expect(200);
        }
    }

    async fn a_rewind_returns_to_the_base_at_most(server: &TestServer) {
        fill(server, 6).await;
        let at_three = server.get(format!("{STATE}?scope=session&atRevision=3")).await.expect(200).text().to_owned();
        trim(server, r#"{"beforeSequence":4}"#).await;
        assert_trimmed(&server.post(REWIND).json(r#"{"toRevision":2}"#).await, 3);
        // Of its two events one is trimmed.
        assert_trimmed(&server.post(REWIND).json(r#"{"beforeInvocationId":"i2"}"#).await, 3);
        assert_trimmed(&server.post(REWIND).json(r#"{"beforeInvocationId":"i1"}"#).await, 3);
        server.post(REWIND).json(r#"{"beforeInvocationId":"i9"}"#).await.problem(404, "event_not_found");
        let key = ["idempotency-key", "back"];
        server.post(REWIND).header(key[0], key[1]).json(r#"{"toRevision":3}"#).await.expect(200);
        let own: Value = server.get(format!("{STATE}?scope=session")).await.expect(200).json();
        assert_eq!(own, serde_json::from_str::<Value>(&at_three).expect("JSON"));
        assert_eq!(server.get(format!("{EVENTS}?excludeRewound=true")).await.expect(200).event_ids(), "");
        trim(server, r#"{"keepLast":0}"#).await;
        let again = server.post(REWIND).header(key[0], key[1]).json(r#"{"toRevision":3}"#).await.expect(200);
        assert!(again.was_replayed());
    }

    async fn a_precondition_on_a_key_that_was_removed_before_the_base_is_careful(server: &TestServer) {
        fill(server, 6).await;
        trim(server, r#"{"keepLast":0}"#).await;
        let given = |since: usize| {
            format!(r#"{{"author":"a","actions":{{"stateDelta":{{"x":1}},"preconditions":[{{"key":"gone","revision":{since}}}]}}}}"#)
        };
        // It was removed by the fifth event, of which nothing is left.
        server.post(EVENTS).json(given(4)).await.problem(412, "revision_mismatch");
        server.post(EVENTS).json(given(6)).await.expect(201);
    }

    async fn a_trim_is_guarded_like_other_writes(server: &TestServer) {
        fill(server, 3).await;
        server.post(TRIM).header("if-match", r#""2""#).json(r#"{"keepLast":1}"#).await.problem(412, "revision_mismatch");
        let etag = server.get(ONE).await.expect(200).etag();
        server.post(TRIM).header("if-match", &etag).json(r#"{"keepLast":2}"#).await.expect(200);
        // The last part of the tag is overlooked.
        server.post(TRIM).header("if-match", &etag).json(r#"{"keepLast":1}"#).await.expect(200);
        let lease = server.post(format!("{ONE}/lease")).json(r#"{"owner":"me","exclusive":"all"}"#).await.expect(201).json();
        server.post(TRIM).json(r#"{"keepLast":0}"#).await.problem(409, "lease_held");
        server.post(TRIM).header("sessiond-lease", "7").json(r#"{"keepLast":0}"#).await.problem(409, "fenced");
        let mark = format!("{}-{}", lease["epoch"], lease["incarnation"].as_str().expect("a mark"));
        server.post(TRIM).header("sessiond-lease", mark).json(r#"{"keepLast":0}"#).await.expect(200);
    }

    async fn watches_begin_at_the_base_or_learn_that_they_were_overtaken(server: &TestServer) {
        fill(server, 6).await;
        let watch = async |query: &str| {
            Watch::open(server.get(format!("{WATCH}{query}")).header("accept", "text/event-stream")).await
        };
        let mut whole = watch("").await;
        let mut ids = Vec::new();
        for _ in 0..6 {
            ids.push(whole.frame().await.id.expect("an id"));
        }
        trim(server, r#"{"beforeSequence":4}"#).await;
        let mut begun = watch("").await;
        let first = begun.frame().await;
        assert_eq!((first.event.as_str(), first.data.as_str(), first.id), ("trimmed", r#"{"baseRevision":3}"#, None));
        assert_eq!(begun.frame().await.id.as_ref(), ids.get(3));
        for gone in [format!("?lastEventId={}", ids[1]), "?afterSequence=2".into(), "?afterSequence=0".into()] {
            let problem = server.get(format!("{WATCH}{gone}")).header("accept", "text/event-stream").await;
            let problem = problem.problem(410, "position_gone");
            assert_eq!((&problem["baseRevision"], &problem["revision"]), (&json!(3), &json!(6)), "{gone}");
        }
        for there in [format!("?lastEventId={}", ids[2]), "?afterSequence=3".into()] {
            assert_eq!(watch(&there).await.frame().await.id.as_ref(), ids.get(3), "{there}");
        }
        // Who has seen it all goes on.
        whole.caught_up().await;
        server.append(event(7)).await;
        while whole.frame().await.event != "event" {}
        trim(server, r#"{"keepLast":0}"#).await;
        let mut empty = watch("").await;
        assert_eq!(empty.frame().await.data, r#"{"baseRevision":7}"#);
        let (_, caught_up) = empty.caught_up().await;
        let cursor = caught_up.id.expect("an id");
        server.append(event(8)).await;
        let mut resumed = watch(&format!("?lastEventId={cursor}")).await;
        assert!(resumed.expect("event").await.data.contains("\"e8\""));
    }

    async fn adks_paths_begin_behind_the_base(server: &TestServer) {
        fill(server, 4).await;
        trim(server, r#"{"keepLast":1}"#).await;
        let session = server.get("/apps/app/users/user/sessions/s").await.expect(200).json();
        assert_eq!(session["events"].as_array().map(Vec::len), Some(1));
        assert_eq!(session["events"][0]["id"], "e4");
    }

    async fn past_states_from_the_base_on_are_as_they_were_while_writers_append(server: &TestServer) {
        const EACH: u64 = 60;
        server.create(r#"{"state":{"n":0}}"#).await;
        let writes = async |writer: u64| {
            let mut sent = Vec::new();
            for n in 0..EACH {
                let (key, chance) = (n * 7 % 5, (writer + n * 13) % 4);
                let ops = match chance {
                    0 => format!(r#""stateOps":[{{"op":"remove","key":"k{key}"}}]"#),
                    1 => r#""stateOps":[{"op":"increment","key":"n","value":1}]"#.to_owned(),
                    _ => format!(r#""stateDelta":{{"k{key}":[{writer},{n}],"user:k{key}":{n}.0,"w{writer}.{n}":null}}"#),
                };
                let body = format!(r#"{{"id":"{writer}.{n}","author":"a","invocationId":"i{}","actions":{{{ops}}}}}"#, n / 3);
                sent.push((server.append(&*body).await.json()["sequence"].as_i64().expect("a sequence"), body));
            }
            sent
        };
        // The state as it is read, with its revision; and a cut now and then, somewhere behind the base.
        let reads_and_cuts = async {
            let (mut recorded, mut base) = (Vec::new(), 0);
            for n in 0..EACH {
                let state = server.get(format!("{STATE}?scope=session")).await.expect(200);
                let revision: i64 = state.etag().trim_matches('"').split('.').next().and_then(|r| r.parse().ok()).expect("a revision");
                recorded.push((revision, state.text().to_owned()));
                if n % 4 == 3 {
                    let cut = base + (revision - base) * (n as i64 * 31 % 100) / 100;
                    let trimmed = trim(server, &format!(r#"{{"beforeSequence":{}}}"#, cut + 1)).await.json();
                    assert_eq!(trimmed["baseRevision"], cut);
                    base = cut;
                }
            }
            (recorded, base)
        };
        let ((mut sent, more), (recorded, base)) = tokio::join!(async { tokio::join!(writes(1), writes(2)) }, reads_and_cuts);
        sent.extend(more);
        assert!(base > 0 && recorded.iter().any(|(revision, _)| *revision > base), "{base}");
        for swept in [false, true] {
            if swept {
                server.until_swept().await;
            }
            for (revision, state) in &recorded {
                let past = server.get(format!("{STATE}?scope=session&atRevision={revision}")).await;
                if *revision < base {
                    assert_trimmed(&past, base);
                } else {
                    assert_eq!(past.expect(200).text(), state, "{revision}");
                }
            }
        }
        for (sequence, body) in &sent {
            let again = server.post(EVENTS).json(&**body).await.expect(200);
            assert!(again.was_replayed());
            let trimmed = if *sequence <= base { json!(true) } else { Value::Null };
            assert_eq!((&again.json()["sequence"], &again.json()["trimmed"]), (&json!(sequence), &trimmed));
        }
    }
}
