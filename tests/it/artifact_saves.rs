//! Saves that arrive at once and share transactions: each is judged on its own, and one that is refused leaves nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::artifact_faults::{events, hold, until};
use crate::support::binary::{PATIENT, Server};
use crate::support::client::{Client, S};
use crate::support::databases::{Place, on_both_databases};

on_both_databases!(saves_that_share_a_transaction_are_judged_one_by_one, an_erasure_among_saves_takes_all_or_nothing);

const OF_USER: &str = "/v1/apps/app/users/user/artifacts";
const OF_OTHER: &str = "/v1/apps/app/users/other/artifacts";

fn of_session(n: usize) -> String {
    format!("{S}/s{n}/artifacts")
}

/// What is to be saved.
#[derive(Clone)]
struct Save {
    path: String,
    header: Option<(&'static str, String)>,
    body: String,
}

impl Save {
    fn new(path: impl Into<String>, body: impl Into<String>) -> Self {
        Self { path: path.into(), header: None, body: body.into() }
    }

    fn with(self, name: &'static str, value: impl Into<String>) -> Self {
        Self { header: Some((name, value.into())), ..self }
    }
}

/// Sends all at once, and lets them wait for one another before the first is saved: the status and the body of each answer.
async fn at_once(place: &Place, api: &Client, saves: Vec<Save>, meanwhile: impl AsyncFnOnce()) -> Vec<(u16, Value)> {
    let held = hold(place).await;
    let saves: Vec<_> = saves
        .into_iter()
        .map(|Save { path, header, body }| {
            let api = api.clone();
            tokio::spawn(async move {
                let mut request = api.put(path).body("a/b", body);
                if let Some((name, value)) = header {
                    request = request.header(name, value);
                }
                let answer = request.await;
                (answer.status(), answer.json())
            })
        })
        .collect();
    match place {
        Place::Postgres(_) => until("a save waits", async || waiting(place).await >= 1).await,
        Place::Sqlite(_) => {}
    }
    // The others come to wait, too, which cannot be seen from here.
    sleep(Duration::from_millis(300)).await;
    meanwhile().await;
    drop(held);
    join_all(saves).await.into_iter().map(|save| save.expect("no panic")).collect()
}

/// How many wait for a lock.
async fn waiting(place: &Place) -> i64 {
    let waiting = "select count(*) from pg_locks l join pg_database d on d.oid = l.database \
                   where not l.granted and d.datname = current_database()";
    place.number(waiting).await
}

/// The statuses of answers, and how often each came.
fn statuses(answers: &[(u16, Value)]) -> BTreeMap<u16, usize> {
    let mut counts = BTreeMap::new();
    for (status, _) in answers {
        *counts.entry(*status).or_default() += 1;
    }
    counts
}

fn versions(answers: &[(u16, Value)]) -> Vec<i64> {
    let saved = answers.iter().filter(|(status, _)| *status == 201);
    let mut versions: Vec<i64> = saved.map(|(_, body)| body["version"].as_i64().expect("a number")).collect();
    versions.sort_unstable();
    versions
}

/// There are the blobs that versions hold, with all their bytes, and no others.
async fn only_what_is_held(place: &Place) {
    let held = place.number("select count(*) from artifacts where blob is not null").await;
    assert_eq!(place.number("select count(*) from blobs where versions = 1").await, held);
    assert_eq!(place.number("select count(*) from blobs").await, held);
    assert_eq!(place.number("select count(*) from blob_chunks").await, held);
}

async fn saves_that_share_a_transaction_are_judged_one_by_one(place: Place) {
    let server = Server::start(&place.url(), PATIENT).await;
    for n in 0..8 {
        server.post(S).json(json!({"sessionId": format!("s{n}")})).await.expect(201);
    }
    server.put(format!("{OF_USER}/shared")).body("a/b", "before").await.expect(201);
    server.put(format!("{}/there", of_session(0))).body("a/b", "before").await.expect(201);

    let mut saves = Vec::new();
    // Several of one artifact, with an event each, and of many sessions.
    for n in 0..24 {
        saves.push(Save::new(format!("{}/each", of_session(n % 8)), format!("each {n}")));
    }
    // Of one user, from several sessions, and of one who has none yet.
    for n in 0..8 {
        saves.push(Save::new(format!("{}/user:shared?event=none", of_session(n)), format!("shared {n}")));
    }
    for n in 0..4 {
        saves.push(Save::new(format!("{OF_OTHER}/new"), format!("new {n}")));
    }
    // Refused all, or all but one; and answered with what the first of them came to.
    for n in 0..4 {
        saves.push(Save::new(format!("{}/there", of_session(0)), format!("there {n}")).with("if-none-match", "*"));
    }
    for n in 0..4 {
        saves.push(Save::new(format!("{}/once", of_session(1)), format!("once {n}")).with("if-none-match", "*"));
    }
    for n in 0..4 {
        saves.push(Save::new(format!("{}/nowhere", of_session(9)), format!("nowhere {n}")));
    }
    for _ in 0..4 {
        saves.push(Save::new(format!("{}/again", of_session(2)), "again").with("idempotency-key", "k"));
    }
    for n in 0..4 {
        saves.push(Save::new(format!("{}/fenced", of_session(3)), format!("fenced {n}")).with("sessiond-lease", "7"));
    }
    // More than fits into a part, so that it is there before its version.
    for n in 0..2 {
        saves.push(Save::new(format!("{}/large", of_session(n)), format!("{n}{}", "x".repeat(300 << 10))));
    }
    let sent: Vec<String> = saves.iter().map(|save| save.body.clone()).collect();
    let answers = at_once(&place, &server, saves, async || {}).await;

    let parts = [24, 8, 4, 4, 4, 4, 4, 4, 2];
    let mut rest = &answers[..];
    let parts = parts.map(|length| {
        let (part, later) = rest.split_at(length);
        rest = later;
        part
    });
    let [each, shared, new, there, once, nowhere, again, fenced, large] = parts;
    for n in 0..8 {
        let of_session: Vec<_> = each.iter().skip(n).step_by(8).cloned().collect();
        assert_eq!(versions(&of_session), [0, 1, 2], "session {n}: {of_session:?}");
    }
    assert_eq!(versions(shared), (1..9).collect::<Vec<_>>(), "{shared:?}");
    assert_eq!(versions(new), [0, 1, 2, 3], "{new:?}");
    assert_eq!(statuses(there), BTreeMap::from([(412, 4)]), "{there:?}");
    assert_eq!(statuses(once), BTreeMap::from([(201, 1), (412, 3)]), "{once:?}");
    assert_eq!(statuses(nowhere), BTreeMap::from([(404, 4)]), "{nowhere:?}");
    assert_eq!(statuses(again), BTreeMap::from([(200, 3), (201, 1)]), "{again:?}");
    assert_eq!(statuses(fenced), BTreeMap::from([(409, 4)]), "{fenced:?}");
    assert_eq!(versions(large), [0, 0], "{large:?}");

    // Each answer's version holds what its request sent, and the log names it at the answer's revision.
    for (n, (_, saved)) in answers.iter().enumerate().take(24) {
        let path = format!("{}/each?version={}", of_session(n % 8), saved["version"]);
        assert_eq!(server.get(path).await.expect(200).text(), sent[n]);
        let events = events(&server, &format!("{S}/s{}/events", n % 8)).await;
        let named = &events[saved["revision"].as_u64().expect("a revision") as usize - 1];
        assert_eq!(named["actions"]["artifactDelta"], json!({"each": saved["version"]}));
    }
    let made = 2 + 24 + 8 + 4 + 1 + 1 + 2;
    assert_eq!(place.number("select count(*) from artifacts").await, made);
    assert_eq!(place.number("select cast(sum(versions) as bigint) from artifact_places").await, made);
    // The large ones have a chunk more each.
    assert_eq!(place.number("select count(*) from blobs").await, made);
    assert_eq!(place.number("select count(*) from blobs where versions = 1").await, made);
    assert_eq!(place.number("select count(*) from blob_chunks").await, made + 2);
    drop(server);
    place.finish().await;
}

async fn an_erasure_among_saves_takes_all_or_nothing(place: Place) {
    let server = Server::start(&place.url(), &[PATIENT, &["--sweep-interval=200ms"]].concat()).await;
    server.post(S).json(json!({"sessionId": "s0"})).await.expect(201);
    server.put(format!("{OF_USER}/f")).body("a/b", "before").await.expect(201);
    let saves = |name: &'static str| {
        let of_user = (0..20).map(move |n| Save::new(format!("{OF_USER}/{name}"), format!("{name} {n}")));
        let of_session = (0..20).map(move |n| Save::new(format!("{}/{name}", of_session(0)), format!("{name} {n}")));
        of_user.chain(of_session).collect::<Vec<_>>()
    };
    let mut erasing = None;
    let before = at_once(&place, &server, saves("f"), async || {
        let api = server.api.clone();
        let erase = async move { api.post("/v1/apps/app/users/user/erasure").json(json!({})).await.expect(202) };
        erasing = Some(tokio::spawn(erase));
        // It comes to wait among them.
        sleep(Duration::from_millis(100)).await;
    })
    .await;
    let erased = erasing.expect("it began").await.expect("no panic");
    let (of_user, of_session) = before.split_at(20);
    assert!(statuses(of_user).keys().all(|status| *status == 201), "{of_user:?}");
    assert!(statuses(of_session).keys().all(|status| [201, 404].contains(status)), "{of_session:?}");
    let path = erased.header("location").expect("where it is").to_owned();
    until("it is done", async || server.get(&path).await.expect(200).json()["state"] == "done").await;
    // What is there was saved after it, and numbered anew.
    let listed = server.get(format!("{OF_USER}/f/versions")).await;
    let there = if listed.status() == 200 { listed.json()["versions"].as_array().expect("a list").len() } else { 0 };
    for version in 0..there {
        server.get(format!("{OF_USER}/f?version={version}")).await.expect(200);
    }
    let there = i64::try_from(there).expect("a number");
    assert_eq!(place.number("select count(*) from artifacts").await, there);
    only_what_is_held(&place).await;
    let after = at_once(&place, &server, saves("g"), async || {}).await;
    let (of_user, of_session) = after.split_at(20);
    assert_eq!(versions(of_user), (0..20).collect::<Vec<_>>());
    assert_eq!(statuses(of_session), BTreeMap::from([(404, 20)]));
    only_what_is_held(&place).await;
    drop(server);
    place.finish().await;
}
