//! Artifacts in exports and imports: every version as it was, with its history.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sessiond::domain::Limits;
use sessiond::domain::access::Grant;
use sessiond::domain::ids::AppName;
use sessiond::metrics::Metrics;
use sessiond::service::{ImportOptions, Service, SystemClock};
use sessiond::store::limits::{PostgresOptions, StoreLimits};
use sessiond::store::open;

use super::artifacts::bytes;
use super::transfer::{EXPORT, assert_all, body, exported, import, results, sealed, without_cursors};
use crate::support::client::{Client, segment};
use crate::support::databases::{Fixture as _, on_both_databases};
use crate::support::process::Sessiond;
use crate::support::server::TestServer;

const USERS: &str = "/v1/apps/app/users";

/// The bytes of one line.
const LINE: usize = 1 << 20;

/// A name that says little, metadata that must stay as it is, a name for people.
fn described() -> String {
    let metadata = segment("{ \"a\" :\n1.0,\r\"b\":[ ]}");
    format!("&metadata={metadata}&displayName={}", segment("ü \"\u{1F600}"))
}

async fn put(server: &Client, place: &str, name: &str, query: &str, bytes: impl Into<reqwest::Body>) -> Value {
    let path = format!("{USERS}/{place}/artifacts/{}?{query}", segment(name));
    server.put(path).body("text/plain; x=\"y\"", bytes).await.expect(201).json()
}

/// Two sessions and a user who has none: versions of each kind, named by events and not, removed, restored, of sessions and of users.
async fn fill(server: &Client, large: usize) {
    let sessions = format!("{USERS}/ada/sessions");
    server.post(&sessions).json(json!({"sessionId": "s", "state": {"k": 0, "user:k": 1}})).await.expect(201);
    let s = "ada/sessions/s";
    put(server, s, "a/é", &described(), "zero").await;
    put(server, s, "a/é", "", bytes(large)).await;
    put(server, s, "a/é", "event=none", "unnamed").await;
    put(server, s, "empty", "invocationId=i1", "").await;
    let parts = format!("{USERS}/{s}/artifacts");
    server.post(&parts).json(json!({"name": "text", "part": {"text": "grüß\u{0}"}, "metadata": {}})).await.expect(201);
    let uri = json!({"fileData": {"fileUri": "gs://a/\"b", "mimeType": "c/d"}});
    server.post(&parts).json(json!({"name": "uri", "part": uri, "event": "none"})).await.expect(201);
    put(server, s, "user:u", "", "named by a session").await;
    put(server, s, "late", "invocationId=i2", "late").await;
    let delta = json!({"a/é": 0, "elsewhere": 3});
    server
        .post(format!("{USERS}/{s}/events"))
        .json(json!({"invocationId": "i3", "actions": {"artifactDelta": delta}}))
        .await
        .expect(201);
    for version in 0..4 {
        put(server, s, "cut", "event=none", format!("cut {version}")).await;
    }
    for removed in ["cut?version=1", "cut?version=3", "gone"] {
        put(server, s, "gone", "", "x").await;
        server.delete(format!("{parts}/{removed}")).await.expect(204);
    }
    server.post(format!("{USERS}/{s}/rewind")).json(json!({"beforeInvocationId": "i2"})).await.expect(200);
    put(server, s, "a/é", "", "after the rewind").await;

    server.post(&sessions).json(json!({"sessionId": "trimmed"})).await.expect(201);
    let t = "ada/sessions/trimmed";
    for n in 0..3 {
        put(server, t, "f", "", format!("f{n}")).await;
        put(
            server,
            t,
            "only",
            &format!("version={n}&event={}", if n == 0 { "append" } else { "none" }),
            format!("o{n}"),
        )
        .await;
        put(server, t, "user:u", "", format!("u{n}")).await;
    }
    server.post(format!("{USERS}/{t}/trim")).json(json!({"beforeSequence": 5})).await.expect(200);
    server.post(format!("{USERS}/{t}/fork")).json(json!({"sessionId": "fork", "atRevision": 6})).await.expect(201);
    server.post(&sessions).json(json!({"sessionId": "without"})).await.expect(201);

    put(server, "ada", "own", &described(), bytes(large)).await;
    put(server, "ada", "own", "version=4", "later").await;
    put(server, "zoe", "only", "", "of a user without a session").await;
    put(server, "zoe", "removed", "", "x").await;
    server.delete(format!("{USERS}/zoe/artifacts/removed")).await.expect(204);
}

/// What a place shows of its artifacts: each version of each, with its bytes.
async fn shown_at(server: &Client, place: &str) -> Vec<String> {
    let mut shown = Vec::new();
    let list = server.get(format!("{place}/artifacts?pageSize=1000")).await.expect(200);
    shown.push(list.text().to_owned());
    for artifact in list.json()["artifacts"].as_array().expect("a list") {
        let path = format!("{place}/artifacts/{}", segment(artifact["name"].as_str().expect("a name")));
        let versions = server.get(format!("{path}/versions?pageSize=1000")).await.expect(200);
        shown.push(versions.text().to_owned());
        for version in versions.json()["versions"].as_array().expect("a list") {
            let read = server.get(format!("{path}?as=part&version={}", version["version"])).await.expect(200);
            shown.push(read.text().to_owned());
        }
    }
    shown
}

const SESSIONS: [&str; 4] = ["ada/sessions/s", "ada/sessions/trimmed", "ada/sessions/fork", "ada/sessions/without"];

/// All that an app shows of artifacts, now and at each revision.
async fn shown(server: &Client, app: &str) -> Vec<String> {
    let users = format!("/v1/apps/{app}/users");
    let mut shown = Vec::new();
    for place in SESSIONS.iter().chain(&["ada", "zoe"]) {
        shown.extend(shown_at(server, &format!("{users}/{place}")).await);
    }
    for session in SESSIONS {
        let path = format!("{users}/{session}");
        let head = server.get(format!("{path}?numRecentEvents=0")).await.expect(200).json();
        for revision in 0..=head["revision"].as_i64().expect("a revision") {
            let list = server.get(format!("{path}/artifacts?atRevision={revision}")).await;
            assert!([200, 410].contains(&list.status()), "{list}");
            shown.push(if list.status() == 200 { list.text().to_owned() } else { "trimmed".to_owned() });
        }
    }
    shown
}

/// What comes of the same requests here and there.
async fn goes_on(server: &Client, app: &str) -> Vec<Value> {
    let users = format!("/v1/apps/{app}/users");
    let mut answers = Vec::new();
    for (place, name) in [
        (SESSIONS[0], "a/é"),
        (SESSIONS[0], "cut"),
        (SESSIONS[0], "gone"),
        (SESSIONS[0], "late"),
        (SESSIONS[1], "f"),
        (SESSIONS[2], "f"),
        ("ada", "own"),
        ("zoe", "removed"),
    ] {
        let saved =
            server.put(format!("{users}/{place}/artifacts/{}", segment(name))).body("a/b", "x").await.expect(201);
        answers.push(json!([saved.json()["version"], saved.json()["revision"]]));
    }
    for (session, revision) in [(SESSIONS[0], 3), (SESSIONS[1], 6), (SESSIONS[2], 5)] {
        let path = format!("{users}/{session}");
        let forked = format!("f{revision}");
        server
            .post(format!("{path}/fork"))
            .json(json!({"sessionId": forked, "atRevision": revision}))
            .await
            .expect(201);
        answers.push(json!(shown_at(server, &format!("{users}/ada/sessions/{forked}")).await));
        server.post(format!("{path}/rewind")).json(json!({"toRevision": revision})).await.expect(200);
        let events = server.get(format!("{path}/events?order=desc&pageSize=1")).await.expect(200).json();
        answers.push(events["events"][0]["actions"]["artifactDelta"].clone());
    }
    answers
}

/// Numbers of versions and what is not to differ, without times.
fn without_times(answers: &[Value]) -> Vec<String> {
    answers
        .iter()
        .map(|answer| answer.to_string())
        .map(|text| {
            let mut parts = text.split("createTime\\\":");
            let first = parts.next().unwrap_or_default().to_owned();
            parts.fold(first, |all, part| all + part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.'))
        })
        .collect()
}

/// The lines of one type.
fn of_type<'a>(lines: &'a str, kind: &str) -> Vec<&'a str> {
    lines.lines().filter(|line| line.starts_with(&format!("{{\"type\":\"{kind}\""))).collect()
}

async fn left_to_the_sweep(server: &TestServer) -> i64 {
    server.until_swept().await;
    server.number("select count(*) from blobs where versions < 1").await
}

/// Cuts an export where `is_cut` says, given how many lines are left and the two around the cut: nothing is there in part, and the whole
/// brings the rest. Where the number of lines is a multiple of `compared`, what is there then is compared.
async fn cut_files(server: &TestServer, prefix: &str, is_cut: impl Fn(usize, &[&str]) -> bool, compared: usize) {
    let export = exported(server, EXPORT).await;
    let lines: Vec<&str> = export.split_inclusive('\n').collect();
    let expected = without_cursors(body(&export));
    let whole = shown(server, "app").await;
    let cuts: Vec<usize> = (1..lines.len()).filter(|n| is_cut(*n, &lines[n - 1..=*n])).collect();
    assert!(cuts.len() >= 2, "{cuts:?}");
    for n in cuts {
        let app = format!("{prefix}{n}");
        let query = format!("?appName={app}");
        let answer = import(server, &query, &lines[..n].concat()).await;
        let ended = lines[..n].iter().filter(|line| line.contains("\"type\":\"session.end\"")).count();
        assert_eq!(results(&answer).1["sessions"], ended, "{n}: {answer}");
        assert!(answer.text().contains("\"failed\""), "{n}: {answer}");
        // Of an artifact of a user all versions are there, or none.
        let own = server.get(format!("/v1/apps/{app}/users/ada/artifacts/own/versions")).await;
        if own.status() == 200 {
            assert_eq!(own.json()["versions"].as_array().expect("versions").len(), 2, "{n}");
        }
        let again = import(server, &query, &export).await;
        assert!(!again.text().contains("\"failed\"") && !again.text().contains("\"skipped\""), "{n}: {again}");
        if n.is_multiple_of(compared) {
            let there = exported(server, &format!("/v1/apps/{app}/export")).await;
            assert_eq!(without_cursors(body(&there)), expected, "{n}");
            assert!(shown(server, &app).await == whole, "{n}");
        }
    }
}

on_both_databases! {
    async fn artifacts_move_as_they_are(server: &TestServer) {
        fill(server, 2 * LINE + LINE / 2).await;
        let export = exported(server, EXPORT).await;
        let lines: Vec<Value> = export.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let data: Vec<usize> = lines.iter().filter_map(|line| Some(STANDARD.decode(line["data"].as_str()?).expect("base64").len())).collect();
        assert!(data.iter().all(|bytes| (1..=LINE).contains(bytes)) && data.iter().filter(|bytes| **bytes == LINE).count() == 6);
        assert_eq!(sealed(&export), export, "the digest is that of the very lines");
        assert_eq!(export.matches("\"kind\":\"gone\"").count(), 3, "those that the rewind took away");
        let (sqlite, postgres) = (Place::sqlite(), Place::postgres().await);
        let (first, second) = (TestServer::start(postgres, &[]).await, TestServer::start(sqlite, &[]).await);
        let expected = shown(server, "app").await;
        for other in [&first, &second] {
            let answer = import(other, "", &export).await;
            assert_all(&answer, "created", 4);
            let versions = server.number("select count(*) from artifacts").await;
            assert_eq!(results(&answer).1["artifacts"], versions, "{answer}");
            assert_eq!(body(&exported(other, EXPORT).await), body(&export));
            assert!(shown(other, "app").await == expected);
            // The same again changes nothing, also where it was exported.
            for there in [other, server] {
                let again = import(there, "", &export).await;
                assert_all(&again, "unchanged", 4);
                assert!(results(&again).1["artifacts"].is_null(), "{again}");
            }
            assert_eq!(left_to_the_sweep(other).await, 0);
            assert_eq!(other.number("select count(*) from artifacts").await, versions);
        }
        assert_eq!(left_to_the_sweep(server).await, 0);
        // What was moved goes on as the original does.
        let answers = without_times(&goes_on(server, "app").await);
        for other in [&first, &second] {
            assert_eq!(without_times(&goes_on(other, "app").await), answers);
        }
        // A session that went on is still the one that was imported.
        let (became, _) = results(&import(&first, "", &export).await);
        assert_eq!(became.iter().filter(|(_, result)| result == "unchanged").count(), 4, "{became:?}");
        // And on, from the copy.
        let again = exported(&first, EXPORT).await;
        let answer = import(&second, "?appName=third", &again).await;
        assert!(results(&answer).0.iter().all(|(_, result)| result == "created"), "{answer}");
        assert!(shown(&second, "third").await == shown(&first, "app").await);
        first.stop().await;
        second.stop().await;
    }

    async fn parts_have_their_own_artifacts(server: &TestServer) {
        fill(server, 300).await;
        let count = async |path: &str| of_type(&exported(server, path).await, "artifact").len();
        let all = count(EXPORT).await;
        let of_ada = count(&format!("{USERS}/ada/export")).await;
        let of_zoe = count(&format!("{USERS}/zoe/export")).await;
        assert_eq!((all, of_zoe), (of_ada + of_zoe, 2));
        let of_s = exported(server, &format!("{USERS}/ada/sessions/s/export")).await;
        assert!(of_type(&of_s, "artifact").iter().all(|line| !line.contains("userId")), "{of_s}");
        assert!(of_type(&exported(server, &format!("{USERS}/none/export")).await, "artifact").is_empty());
        // Without them, nothing else is missing.
        let without = exported(server, &format!("{EXPORT}?artifacts=none")).await;
        assert!(!without.contains("\"type\":\"artifact"));
        assert_eq!(without.lines().count(), exported(server, EXPORT).await.lines().filter(|line| !line.contains("\"type\":\"artifact")).count());
        let other = TestServer::start(Place::sqlite(), &[]).await;
        assert_all(&import(&other, "", &without).await, "created", 4);
        assert_all(&import(&other, "", &without).await, "unchanged", 4);
        assert_all(&import(server, "", &without).await, "unchanged", 4);
        assert_eq!(other.number("select count(*) from artifacts").await, 0);
        assert_eq!(body(&exported(&other, EXPORT).await), body(&without));
        other.stop().await;
        server.get(format!("{EXPORT}?artifacts=some")).await.invalid(&["artifacts"]);
        // The rest of an export that was cut has each user's once.
        let export = exported(server, EXPORT).await;
        let ends = of_type(&export, "session.end");
        let cursor = ends[0].rsplit_once(r#""cursor":""#).expect("a cursor").1.trim_end_matches("\"}");
        let rest = exported(server, &format!("{EXPORT}?after={cursor}")).await;
        assert!(export.contains(body(&rest).rsplit_once("{\"type\":\"end\"").expect("an end").0));
        assert!(of_type(&rest, "artifact").iter().all(|line| !line.contains("\"userId\":\"ada\"")));
    }

    async fn whoever_has_artifacts_alone_is_listed(server: &TestServer) {
        put(server, "only", "f", "", "x").await;
        server.post("/v1/apps/app/users/other/sessions").json(json!({"sessionId": "s"})).await.expect(201);
        server.put("/v1/apps/app/users/other/sessions/s/artifacts/f").body("a/b", "x").await.expect(201);
        server.put("/v1/apps/alone/users/u/artifacts/f").body("a/b", "x").await.expect(201);
        assert_eq!(server.get("/v1/apps").await.expect(200).json()["apps"], json!([{"appName": "alone"}, {"appName": "app"}]));
        assert_eq!(server.get("/v1/apps/app/users").await.expect(200).json()["users"], json!([{"userId": "only"}, {"userId": "other"}]));
        assert_eq!(server.get("/v1/apps/alone/users").await.expect(200).json()["users"], json!([{"userId": "u"}]));
        // Not for what a session had.
        server.delete("/v1/apps/app/users/other/sessions/s").await.expect(204);
        assert_eq!(server.get("/v1/apps/app/users").await.expect(200).json()["users"], json!([{"userId": "only"}]));
        server.post("/v1/apps/alone/users/u/erasure").json(json!({})).await.expect(202);
        assert_eq!(server.get("/v1/apps").await.expect(200).json()["apps"], json!([{"appName": "app"}]));
    }

    async fn a_dry_run_counts_versions(server: &TestServer) {
        fill(server, 300).await;
        const EXCESS: &str = "select cast(sum(versions - 1) as bigint) from artifact_names where versions > 1";
        let policy = "/v1/apps/app/policy?dryRun=true";
        let tried = server.put(policy).json(json!({"artifacts": {"keepVersions": 1}})).await.expect(200).json();
        let excess = server.number(EXCESS).await;
        assert!(excess > 5);
        assert_eq!(tried["wouldRemove"]["artifactVersions"], excess);
        let other = server.put(policy).json(json!({"sessions": {"idleTtl": "2d"}})).await.expect(200).json();
        assert!(other["wouldRemove"].is_null());
        assert_eq!(server.number(EXCESS).await, excess);
    }

    async fn bytes_that_are_not_those_of_the_file_are_refused(server: &TestServer) {
        fill(server, 2 * LINE + 10).await;
        let export = exported(server, EXPORT).await;
        let flipped = |line: &str| {
            let at = line.rfind("\"}").expect("an end") - 30;
            let other = if &line[at..=at] == "A" { "B" } else { "A" };
            format!("{}{other}{}", &line[..at], &line[at + 1..])
        };
        // In an artifact of the session, and in one of its user; in the first and in the last of its lines.
        let lines: Vec<&str> = export.lines().collect();
        let place = |begin: &str| lines.iter().position(|line| line.starts_with("{\"type\":\"artifact\"") && line.contains(begin)).expect("a line");
        let of_session = place("\"name\":\"a/é\",\"version\":1,");
        let of_user = place("\"name\":\"user:own\",\"version\":0");
        assert!(!lines[of_session].contains("userId") && lines[of_session].ends_with("\"chunks\":3}"), "{}", lines[of_session]);
        let zeros = format!("{{\"type\":\"artifact.data\",\"data\":\"{}\"}}", STANDARD.encode([0; 10]));
        for (n, at) in [of_session, of_user].into_iter().enumerate() {
            let changed = |change: &dyn Fn(&mut Vec<String>)| {
                let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
                change(&mut lines);
                sealed(&(lines.join("\n") + "\n"))
            };
            for (m, bad) in [
                changed(&|lines| lines[at + 1] = flipped(&lines[at + 1])),
                changed(&|lines| lines[at + 3] = zeros.clone()),
                changed(&|lines| drop(lines.remove(at + 2))),
                changed(&|lines| lines.swap(at + 1, at + 2)),
                changed(&|lines| lines.insert(at + 3, zeros.clone())),
                changed(&|lines| lines[at + 2] = "{\"type\":\"artifact.data\",\"data\":\"!\"}".to_owned()),
                changed(&|lines| lines[at] = lines[at].replacen("\"createTime\":", "\"createTime\":\"x\",\"was\":", 1)),
                changed(&|lines| lines[at] = lines[at].replacen("\"size\":", "\"size\":1", 1)),
            ].into_iter().enumerate() {
                for query in [format!("?appName=bad{n}{m}&dryRun=true"), format!("?appName=bad{n}{m}")] {
                    let answer = import(server, &query, &bad).await;
                    let failed: Vec<&str> = answer.text().lines().filter(|line| line.contains("\"failed\"")).collect();
                    assert!(!failed.is_empty(), "{n} {m}: {answer}");
                    assert!(failed.iter().all(|line| line.contains("\"code\":\"invalid_argument\"")), "{n} {m}: {answer}");
                    let sessions = results(&answer).1["sessions"].as_i64().expect("a count");
                    if at == of_session {
                        assert_eq!(sessions, 3, "{n} {m}: {answer}");
                        assert!(failed[0].contains("\"session\":\"s\""), "{n} {m}: {answer}");
                    } else {
                        assert_eq!(sessions, 4, "{n} {m}: {answer}");
                    }
                }
                let path = if at == of_session { "ada/sessions/s/artifacts/a%2F%C3%A9" } else { "ada/artifacts/own" };
                let missing = server.get(format!("/v1/apps/bad{n}{m}/users/{path}")).await;
                assert_eq!(missing.status(), 404, "{n} {m}: {missing}");
            }
        }
        assert_eq!(left_to_the_sweep(server).await, 0);
    }

    async fn a_cut_file_leaves_nothing_half_done(server: &TestServer) {
        fill(server, 10).await;
        let of_files = |around: &[&str]| around.iter().any(|line| line.contains("\"type\":\"artifact"));
        cut_files(server, "cut", |n, around| n.is_multiple_of(7) || of_files(around) && n.is_multiple_of(2), 7).await;
        // The bytes of which take two lines. It is cut before, between and behind them.
        put(server, "ada/sessions/s", "large", "", bytes(LINE + 10)).await;
        cut_files(server, "large", |_, around| around.iter().any(|line| line.len() > LINE), 1).await;
        assert_eq!(left_to_the_sweep(server).await, 0);
    }

    async fn a_user_keeps_what_is_there(server: &TestServer) {
        for version in 0..2 {
            put(server, "u", "same", &described(), format!("same {version}")).await;
            put(server, "u", "other", "", format!("other {version}")).await;
            put(server, "u", "removed", "", format!("removed {version}")).await;
        }
        put(server, "u", "new", "", bytes(LINE + 1)).await;
        let export = exported(server, &format!("{USERS}/u/export")).await;
        let others = "/v1/apps/to/users/u/artifacts";
        assert!(!import(server, "?appName=to", &export).await.text().contains("skipped"));
        server.put(format!("{others}/same")).body("a/b", "a third").await.expect(201);
        server.delete(format!("{others}/other")).await.expect(204);
        server.put(format!("{others}/other")).body("a/b", "another").await.expect(201);
        server.delete(format!("{others}/removed?version=0")).await.expect(204);
        server.delete(format!("{others}/new")).await.expect(204);
        let before = shown_at(server, "/v1/apps/to/users/u").await;
        for query in ["?appName=to&dryRun=true", "?appName=to"] {
            let answer = import(server, query, &export).await;
            let told: Vec<Value> = answer.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            let names: Vec<&str> = told.iter().filter_map(|line| line["artifact"].as_str()).collect();
            assert_eq!(names, ["user:new", "user:other", "user:removed"], "{answer}");
            for line in &told[..3] {
                assert_eq!([&line["scope"], &line["userId"], &line["result"], &line["code"]], ["user", "u", "skipped", "artifact_version_exists"]);
            }
            assert!(shown_at(server, "/v1/apps/to/users/u").await == before);
        }
        // Numbers that were used there are not used again here.
        let more = exported(server, &format!("{USERS}/u/export")).await.replace("\"version\":1,", "\"version\":5,").replace("\"next\":2,", "\"next\":9,");
        import(server, "?appName=third", &more).await;
        let third = "/v1/apps/third/users/u/artifacts/other";
        assert_eq!(server.put(third).body("a/b", "x").await.expect(201).json()["version"], 9);
        assert_eq!(left_to_the_sweep(server).await, 0);
    }

    async fn numbers_of_elsewhere_are_no_files_from_here(server: &TestServer) {
        let session = "u/sessions/s";
        server.post(format!("{USERS}/u/sessions")).json(json!({"sessionId": "s"})).await.expect(201);
        for name in ["f", "user:me", "f"] {
            put(server, session, name, "", "theirs").await;
        }
        let alone = exported(server, &format!("{USERS}/{session}/export?artifacts=none")).await;
        let (to, third) = ("/v1/apps/to/users/u", "/v1/apps/third/users/u");
        let ours = async |path: String| server.put(path).body("a/b", "ours").await.expect(201).json()["version"].take();
        assert_eq!(ours(format!("{to}/artifacts/me")).await, 0);
        assert_all(&import(server, "?appName=to", &alone).await, "created", 1);
        server.post(format!("{to}/sessions/s/fork")).json(json!({"sessionId": "t"})).await.expect(201);
        for session in ["s", "t"] {
            let files = format!("{to}/sessions/{session}/artifacts");
            assert_eq!(ours(format!("{files}/f?event=none")).await, 2);
            for revision in 1..=3 {
                assert_eq!(server.get(format!("{files}?atRevision={revision}")).await.expect(200).json()["artifacts"], json!([]));
                for name in ["f", "user:me"] {
                    server.get(format!("{files}/{name}?atRevision={revision}")).await.problem(404, "artifact_not_found");
                }
            }
        }
        // It is so wherever they go, with their user too.
        let whole = exported(server, "/v1/apps/to/export").await;
        import(server, "?appName=third", &whole).await;
        for revision in 2..=3 {
            server.get(format!("{third}/sessions/s/artifacts/user:me?atRevision={revision}")).await.problem(404, "artifact_not_found");
        }
        // What is named from here on is from here.
        for place in [to, third] {
            let events = format!("{place}/sessions/s/events");
            server.post(events).json(json!({"author": "a", "actions": {"artifactDelta": {"user:me": 0}}})).await.expect(201);
            let read = server.get(format!("{place}/sessions/s/artifacts/user:me?atRevision=4")).await.expect(200);
            assert_eq!(read.bytes(), b"ours");
        }
        // Of one who has no such file the number is used, and is given to who asks for it.
        assert_all(&import(server, "?appName=fresh", &alone).await, "created", 1);
        assert_eq!(ours("/v1/apps/fresh/users/u/artifacts/me".to_owned()).await, 1);
        server.get("/v1/apps/fresh/users/u/sessions/s/artifacts/user:me?atRevision=3").await.problem(404, "artifact_not_found");
    }

    async fn a_save_of_an_import_counts(server: &TestServer) with ["--max-event-bytes=2KiB", "--max-value-bytes=1KiB", "--max-body-bytes=4KiB", "--max-artifact-bytes=1500KiB"] {
        // Lines of bytes are longer than those of events may be; what they are together has a limit.
        put(server, "u", "f", "", bytes(1500 << 10)).await;
        server.post("/v1/apps/app/users/u/sessions").json(json!({"sessionId": "s"})).await.expect(201);
        put(server, "u/sessions/s", "f", "", bytes(1500 << 10)).await;
        let export = exported(server, EXPORT).await;
        assert_all(&import(server, "?appName=to", &export).await, "created", 1);
        let small = TestServer::start(Place::sqlite(), &["--max-artifact-bytes=1499KiB"]).await;
        let answer = import(&small, "", &export).await;
        assert_eq!(answer.text().matches("\"code\":\"payload_too_large\"").count(), 2, "{answer}");
        assert_eq!(small.number("select (select count(*) from artifacts) + (select count(*) from sessions)").await, 0);
        small.stop().await;
        let line = |user: &str, version: usize| {
            let name = if user.is_empty() { "n" } else { "user:n" };
            format!("{{\"type\":\"artifact\",{user}\"name\":\"{name}\",\"version\":{version},\"kind\":\"uri\",\"createTime\":1,\"fileUri\":\"u\",\"chunks\":0}}\n")
        };
        let (head, end) = export.split_once("{\"type\":\"artifact\"").expect("an artifact");
        let last = end.lines().last().expect("an end");
        for (n, versions, code) in [(0, 10_000, None), (1, 10_001, Some("limit_reached"))] {
            let all: String = (0..versions).map(|version| line("\"userId\":\"u\",", version)).collect();
            let end = last.replace("\"sessions\":1,\"events\":1,\"artifacts\":2", &format!("\"sessions\":0,\"events\":0,\"artifacts\":{versions}"));
            let answer = import(server, &format!("?appName=many{n}"), &format!("{head}{all}{end}\n")).await;
            match code {
                Some(code) => assert!(answer.text().contains(code), "{answer}"),
                None => assert_eq!(results(&answer), (vec![], json!({"sessions": 0, "events": 0, "artifacts": versions}))),
            }
        }
        server.put("/v1/apps/many0/users/u/artifacts/n").body("a/b", "x").await.problem(409, "limit_reached");
        server.put("/v1/apps/many1/users/u/artifacts/n").body("a/b", "x").await.expect(201);
        let session = &export[export.find("{\"type\":\"session\"").expect("a session")..];
        let (head, rest) = session.split_once("{\"type\":\"artifact\"").expect("an artifact");
        let end = &rest[rest.find("{\"type\":\"session.end\"").expect("an end")..];
        let first = export.lines().next().expect("a line");
        for (n, versions, code) in [(0, 10_000, None), (1, 10_001, Some("limit_reached"))] {
            let all: String = (0..versions).map(|version| line("", version)).collect();
            let end = end.replace("\"artifacts\":2", &format!("\"artifacts\":{versions}"));
            let answer = import(server, &format!("?appName=full{n}"), &sealed(&format!("{first}\n{head}{all}{end}"))).await;
            match code {
                Some(code) => assert!(answer.text().contains(code), "{answer}"),
                None => assert_all(&answer, "created", 1),
            }
        }
        server.put("/v1/apps/full0/users/u/sessions/s/artifacts/n").body("a/b", "x").await.problem(409, "limit_reached");
        // Each once, in their order.
        let twice = format!("{first}\n{head}{}{}{end}", line("", 1), line("", 1));
        assert!(import(server, "?appName=twice", &sealed(&twice)).await.text().contains("is not in its place"));
        assert_eq!(left_to_the_sweep(server).await, 0);
    }

    async fn an_erasure_meanwhile_ends_them(server: &TestServer) with ["--sweep-interval=1s"] {
        server.post(format!("{USERS}/u/sessions")).json(json!({"sessionId": "s"})).await.expect(201);
        put(server, "u/sessions/s", "f", "", bytes(LINE + 1)).await;
        put(server, "u/sessions/s", "g", "", "g").await;
        put(server, "u", "h", "", bytes(LINE + 1)).await;
        put(server, "v", "h", "", "h").await;
        let export = exported(server, EXPORT).await;
        let lines: Vec<&str> = export.lines().collect();
        let (store, _) = open::beside(&server.database_url(), false, PostgresOptions::default(), StoreLimits::default()).await.expect("a store");
        let service = Arc::new(Service::new(store, Arc::new(SystemClock), Limits::default(), Arc::new(Metrics::new())));
        let last_of_u = lines.iter().rposition(|line| line.contains("\"type\":\"session.end\"")).expect("a line");
        for cut in 1..lines.len() {
            let app = format!("to{cut}");
            let options = ImportOptions { app: Some(AppName::parse(&app).expect("a name")), ..ImportOptions::default() };
            let mut import = service.import(options, Grant::unlimited(), Duration::from_secs(50));
            let mut told = String::new();
            for (n, line) in lines.iter().enumerate() {
                if n == cut {
                    server.post(format!("/v1/apps/{app}/users/u/erasure")).json("{}").await.expect(202);
                }
                told.extend(import.line(line.as_bytes()).await.expect("a line").iter().map(|line| line.to_line()));
            }
            told.extend(import.finish().await.expect("an end").iter().map(|line| line.to_line()));
            let left = server.number(&format!("select count(*) from artifacts where app_name = '{app}' and user_id = 'u' and session_id = ''")).await;
            assert_eq!(left, 0, "{cut}: {told}");
            server.get(format!("/v1/apps/{app}/users/u/sessions/s")).await.problem(404, "session_not_found");
            let failed: Vec<&str> = told.lines().filter(|line| line.contains("\"failed\"")).collect();
            assert!(failed.iter().all(|line| line.contains("\"code\":\"user_erased\"")), "{cut}: {told}");
            assert_eq!(failed.is_empty(), cut > last_of_u, "{cut}: {told}");
            server.get(format!("/v1/apps/{app}/users/v/artifacts/h")).await.expect(200);
        }
        assert_eq!(left_to_the_sweep(server).await, 0);
        assert_eq!(server.number("select count(*) from blobs where app_name like 'to%' and user_id = 'u'").await, 0);
        service.close().await;
    }

    async fn the_commands_take_them_along(server: &TestServer) {
        fill(server, LINE + 10).await;
        let process = Sessiond::spawn(&["openapi"], &[]);
        let file = process.dir().join("all.ndjson").display().to_string();
        let run = async |url: &str, args: &[&str]| {
            let output = Sessiond::run(args, &[("DATABASE_URL", url)]).await;
            let err = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(0), "{err}");
            err
        };
        let versions = server.number("select count(*) from artifacts").await;
        let err = run(&server.database_url(), &["export", "--output", &file]).await;
        assert!(err.contains(&format!("{versions} versions of artifacts")), "{err}");
        let other = Place::sqlite();
        run(&other.url(), &["import", &file]).await;
        assert_eq!(other.number("select count(*) from artifacts").await, versions);
        let other = TestServer::start(other, &[]).await;
        assert!(shown(&other, "app").await == shown(server, "app").await);
        other.stop().await;
        let err = run(&server.database_url(), &["export", "--no-artifacts", "--output", &file]).await;
        assert!(!err.contains("artifacts"), "{err}");
        assert!(!std::fs::read_to_string(&file).expect("a file").contains("\"type\":\"artifact"));
    }
}
