//! Many concurrent clients of one SQLite server and of two servers that share a PostgreSQL: no write is lost, doubled
//! or half visible, and losing a race is an answer, not an error.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::{Value, json};

use crate::support::{
    binary::{PATIENT, together},
    client::{Answer, Client},
    databases::{Place, on_both_databases},
    load::check_log,
};

const APP: &str = "/v1/apps/a";
const USER: &str = "/v1/apps/a/users/u";
const SESSIONS: &str = "/v1/apps/a/users/u/sessions";
const SESSION: &str = "/v1/apps/a/users/u/sessions/s";
const EVENTS: &str = "/v1/apps/a/users/u/sessions/s/events";
const STATE: &str = "/v1/apps/a/users/u/sessions/s/state";

on_both_databases!(
    creates_lose_no_app_key,
    creates_of_one_id_have_one_winner,
    get_or_creates_of_one_id_agree,
    creates_that_go_together_are_judged_each_on_its_own,
    creates_of_one_key_make_one_session,
    patches_of_one_key_change_a_scope_once,
    puts_that_create_have_one_winner,
    appends_are_numbered_without_gaps,
    appends_of_every_fate_get_their_own_answers,
    one_event_sent_many_times_is_stored_once,
    one_of_the_first_appends_makes_the_session,
    a_precondition_on_the_revision_has_one_winner,
    a_precondition_on_the_whole_tag_has_one_winner,
    a_precondition_holds_against_writers_of_other_scopes,
    a_precondition_on_a_scope_has_one_winner,
    patches_of_user_state_lose_no_key,
    appends_survive_deletion_and_recreation,
    forks_of_a_busy_session_are_whole,
    readers_see_one_moment_and_writers_never_deadlock,
    contenders_for_a_lease_take_turns,
    side_writers_never_fail_the_holder_of_a_lease,
    no_race_exceeds_the_sessions_of_a_user,
    no_race_exceeds_the_events_of_a_session,
    a_policy_holds_from_its_answer_on,
    imports_and_savers_number_versions_together,
);

/// How many answers have this status; all others must have that one.
#[track_caller]
fn count(answers: &[Answer], status: u16, else_status: u16) -> usize {
    let strange = answers.iter().find(|answer| answer.status != status && answer.status != else_status);
    assert!(strange.is_none(), "{strange:?}");
    answers.iter().filter(|answer| answer.status == status).count()
}

fn delta(key: &str, value: impl Into<Value>) -> Value {
    json!({"author": "a", "actions": {"stateDelta": {key: value.into()}}})
}

/// `{"k0": 0, "k1": 1, ...}`
fn numbered(count: usize) -> Value {
    (0..count).map(|n| (format!("k{n}"), json!(n))).collect()
}

async fn create(api: &Client, id: &str) -> Answer {
    api.post(SESSIONS).json(json!({"sessionId": id})).await.expect(201)
}

async fn creates_lose_no_app_key(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    let answers = together((0..64).map(|n| {
        let api = fleet.api(n);
        async move {
            let path = format!("{APP}/users/u{}/sessions", n % 8);
            api.post(&path).json(json!({"state": {format!("app:k{n}"): n, format!("user:k{n}"): n, "own": n}})).await
        }
    }))
    .await;
    assert_eq!(count(&answers, 201, 201), 64);
    let state = fleet.api(1).get(format!("{APP}/state")).await.expect(200);
    assert_eq!(state.header("etag"), Some("\"64\""));
    assert_eq!(state.json(), numbered(64));
    for user in 0..8 {
        let state = fleet.api(0).get(format!("{APP}/users/u{user}/state")).await.expect(200);
        assert_eq!(state.header("etag"), Some("\"8\""));
        assert_eq!(state.json().as_object().unwrap().len(), 8);
    }
    // Each answer showed a moment of its own: no two transactions left the app at the same revision.
    assert_eq!(answers.iter().map(|answer| answer.tag_parts()[2].clone()).collect::<HashSet<_>>().len(), 64);
    fleet.verify().await;
}

async fn creates_of_one_id_have_one_winner(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    for round in 0..5 {
        let id = format!("s{round}");
        let answers = together((0..16).map(|n| {
            let (api, body) = (fleet.api(n), json!({"sessionId": id, "state": {"who": n, "app:n": n}}));
            async move { api.post(SESSIONS).json(&body).await }
        }))
        .await;
        assert_eq!(count(&answers, 201, 409), 1);
        let winner = answers.iter().find(|answer| answer.status == 201).unwrap().json();
        let state = fleet.api(0).get(format!("{SESSIONS}/{id}/state")).await.expect(200);
        assert_eq!(state.json(), winner["state"], "the losers wrote nothing, in no scope");
        // One transaction a round changed the app's state.
        assert_eq!(state.tag_parts()[2], (round + 1).to_string());
    }
    fleet.verify().await;
}

async fn get_or_creates_of_one_id_agree(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    for round in 0..5 {
        let path = format!("{SESSIONS}/s{round}");
        let answers = together((0..16).map(|n| {
            let (api, path) = (fleet.api(n), path.clone());
            async move { api.put(&path).json(json!({"state": {"who": n}})).await }
        }))
        .await;
        assert_eq!(count(&answers, 201, 200), 1);
        let first = answers[0].clone();
        for answer in answers {
            assert_eq!(answer.tag_parts()[3], first.tag_parts()[3], "one incarnation");
            assert_eq!(answer.text(), first.text());
        }
    }
    fleet.verify().await;
}

/// Of sessions with state of their own alone: such creations share transactions.
async fn creates_that_go_together_are_judged_each_on_its_own(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    create(&fleet.api(0), "taken").await;
    let shared = json!({"author": "a", "actions": {"stateDelta": {"app:k": 1, "user:k": 2}}});
    fleet.api(0).post(format!("{SESSIONS}/taken/events")).json(&shared).await.expect(201);
    let answers = together((0..96).map(|n| {
        let api = fleet.api(n);
        async move {
            let body = |id: String| json!({"sessionId": id, "state": {"own": n, "temp:t": 0}});
            match n % 4 {
                0 => api.post(SESSIONS).json(body(format!("new{n}"))).await,
                1 => api.post(SESSIONS).json(body("taken".into())).await,
                2 => api.put(format!("{SESSIONS}/taken")).json(json!({"state": {"own": n}})).await,
                _ => api.post(SESSIONS).json(body(format!("race{}", n % 32))).await,
            }
        }
    }))
    .await;
    let mut racers = Vec::new();
    for (n, answer) in answers.into_iter().enumerate() {
        match n % 4 {
            0 => {
                let answer = answer.expect(201);
                assert_eq!(answer.json()["state"], json!({"app:k": 1, "own": n, "user:k": 2}));
                assert_eq!(answer.tag_parts()[..3], ["0", "1", "1"]);
                let then = fleet.api(n + 1).get(format!("{SESSIONS}/new{n}/state?atRevision=0")).await.expect(200);
                assert_eq!(then.json(), answer.json()["state"]);
            }
            1 => drop(answer.expect(409)),
            2 => assert_eq!(answer.expect(200).json()["state"], json!({"app:k": 1, "user:k": 2})),
            _ => racers.push(answer),
        }
    }
    assert_eq!(count(&racers, 201, 409), 8, "one of each id");
    let listed = fleet.api(0).get(format!("{SESSIONS}?pageSize=100")).await.expect(200);
    assert_eq!(listed.json()["sessions"].as_array().unwrap().len(), 1 + 24 + 8);
    fleet.verify().await;
}

/// Simple ones, ones with events and shared state, and forks; with generated ids, and with ids of their own.
async fn creates_of_one_key_make_one_session(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    create(&fleet.api(0), "source").await;
    let fork = format!("{SESSIONS}/source/fork");
    let busy = json!({"state": {"app:n": 1, "own": 1}, "events": [{"id": "e"}]});
    for (round, (path, body)) in [
        (SESSIONS, json!({"state": {"own": 1}})),
        (SESSIONS, json!({"sessionId": "named"})),
        (SESSIONS, busy),
        (&*fork, json!({})),
    ]
    .into_iter()
    .enumerate()
    {
        // Two keys at once, and beside them creations without a key, which share transactions.
        let answers = together((0..24).map(|n| {
            let (api, path, body, key) = (fleet.api(n), path.to_owned(), body.clone(), format!("{round}-{}", n % 3));
            async move {
                match n % 3 {
                    2 => api.post(SESSIONS).json(json!({"sessionId": format!("plain-{round}-{n}")})).await,
                    _ => api.send("POST", &path, &[("idempotency-key", &*key)], Some(&body)).await.unwrap(),
                }
            }
        }))
        .await;
        let named = body["sessionId"].is_string();
        for key in 0..2 {
            let of_key: Vec<Answer> = answers.iter().skip(key).step_by(3).cloned().collect();
            // Of a named session, only one of the keys can have made it.
            if named && of_key.iter().all(|answer| answer.status == 409) {
                continue;
            }
            assert_eq!(count(&of_key, 201, 200), 1);
            assert!(of_key.iter().all(|answer| answer.json()["id"] == of_key[0].json()["id"]));
            assert!(of_key.iter().all(|answer| answer.tag_parts()[3] == of_key[0].tag_parts()[3]), "one incarnation");
            let replayed = |answer: &&Answer| answer.header("idempotent-replayed") == Some("true");
            assert_eq!(of_key.iter().filter(replayed).count(), of_key.len() - 1);
        }
        count(&answers.iter().skip(2).step_by(3).cloned().collect::<Vec<_>>(), 201, 201);
    }
    let listed = fleet.api(1).get(format!("{SESSIONS}?pageSize=100")).await.expect(200);
    assert_eq!(listed.json()["sessions"].as_array().unwrap().len(), 1 + 2 + 1 + 2 + 2 + 4 * 8);
    let state = fleet.api(0).get(format!("{APP}/state")).await.expect(200);
    assert_eq!(state.header("etag"), Some("\"2\""));
    fleet.verify().await;
}

async fn patches_of_one_key_change_a_scope_once(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    for scope in [format!("{APP}/state"), format!("{USER}/state")] {
        for round in 1..=4 {
            let answers = together((0..16).map(|n| {
                let (api, scope) = (fleet.api(n), scope.clone());
                // The first round is on a scope that is not there; the last changes nothing.
                let ops = json!([{"op": "increment", "key": "n", "value": 1}]);
                let body = if round == 4 { json!({}) } else { json!({"stateOps": ops}) };
                async move {
                    api.send("PATCH", &scope, &[("idempotency-key", &*format!("k{round}"))], Some(&body)).await.unwrap()
                }
            }))
            .await;
            assert_eq!(count(&answers, 200, 200), 16);
            let fresh = answers.iter().filter(|answer| answer.header("idempotent-replayed").is_none()).count();
            assert_eq!(fresh, 1);
            let state = fleet.api(0).get(&scope).await.expect(200);
            assert_eq!(state.json(), json!({"n": round.min(3)}));
        }
    }
    fleet.verify().await;
}

async fn puts_that_create_have_one_winner(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    create(&fleet.api(0), "s").await;
    for (round, key) in ["own", "user%3Ak", "app%3Ak"].into_iter().enumerate() {
        for path in [format!("{SESSIONS}/new{round}"), format!("{STATE}/{key}")] {
            let answers = together((0..16).map(|n| {
                let (api, path) = (fleet.api(n), path.clone());
                async move { api.send("PUT", &path, &[("if-none-match", "*")], Some(&json!({}))).await.unwrap() }
            }))
            .await;
            let made = if path.starts_with(STATE) { 200 } else { 201 };
            assert_eq!(count(&answers, made, 412), 1, "{path}");
        }
    }
    assert_eq!(fleet.api(0).get(SESSION).await.expect(200).json()["revision"], 3);
    fleet.verify().await;
}

async fn appends_are_numbered_without_gaps(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    create(&fleet.api(0), "s").await;
    // Every fourth one is of three events.
    let answers = together((0..200).map(|n| {
        let api = fleet.api(n);
        let event = delta(&format!("k{n}"), n);
        let body = if n % 4 == 0 { json!([delta("first", n), delta("second", n), event]) } else { event };
        async move { api.post(EVENTS).json(&body).await }
    }))
    .await;
    assert_eq!(count(&answers, 201, 201), 200);
    let session = fleet.api(1).get(SESSION).await.expect(200).json();
    assert_eq!(session["revision"], 300);
    check_log(&session);
    let mut numbers = Vec::new();
    for (n, answer) in answers.iter().enumerate() {
        let answered = answer.json();
        let events = answered.as_array().cloned().unwrap_or_else(|| vec![answered]);
        assert_eq!(events.len(), if n % 4 == 0 { 3 } else { 1 });
        let first = events[0]["sequence"].as_u64().unwrap() as usize;
        for (at, event) in (first..).zip(&events) {
            assert_eq!(event["sequence"], at, "those of one request follow each other");
            assert_eq!(session["events"][at - 1], *event, "what was answered is what was stored");
            numbers.push(at);
        }
        assert_eq!(events.last().unwrap()["actions"]["stateDelta"], json!({format!("k{n}"): n}), "one's own event");
        assert_eq!(answer.tag_parts()[0], events.last().unwrap()["sequence"].to_string());
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=300).collect::<Vec<_>>());
    fleet.verify().await;
}

/// Appends that come together may share a transaction, and none learns of the others: each is judged on its own, and what
/// one is refused for does not touch those beside it.
async fn appends_of_every_fate_get_their_own_answers(place: Place) {
    const FATES: usize = 10;
    const ROUNDS: usize = 4;
    const EACH: usize = 7;
    let fleet = place.fleet(PATIENT).await;
    let known = json!({"id": "known", "author": "a", "actions": {"stateDelta": {"text": "no number", "temp:t": 1}}});
    let mut stored = Vec::new();
    for id in 0..3 {
        create(&fleet.api(0), &id.to_string()).await;
        stored.push(fleet.api(0).post(format!("{SESSIONS}/{id}/events")).json(&known).await.expect(201));
    }
    let add = |keys: &[&str]| -> Value {
        keys.iter().map(|key| json!({"op": "increment", "key": key, "value": 1})).collect()
    };
    let mut succeeded = vec![Vec::new(); 3];
    for round in 0..ROUNDS {
        let answers = together((0..FATES * EACH).map(|n| {
            let (api, fate, name) = (fleet.api(n), n % FATES, format!("e{round}-{n}"));
            let session = format!("{SESSIONS}/{}", n % 3);
            let (events, state) = (format!("{session}/events"), format!("{session}/state"));
            let mut known = known.clone();
            let all = add(&["n", "user:n", "app:n"]);
            async move {
                match fate {
                    0 => api.post(&events).json(delta(&name, n)).await,
                    1 => api.post(&events).json(json!({"id": name, "actions": {"stateOps": all}})).await,
                    2 => api.patch(&state).json(json!({"stateDelta": {name: n}})).await,
                    3 => api.delete(format!("{state}/absent")).await,
                    // Of a user who is not there, either.
                    4 => {
                        let nowhere = format!("{APP}/users/nobody/sessions/{}/events", n % 3);
                        api.post(&nowhere).json(json!({"id": name, "actions": {"stateOps": all}})).await
                    }
                    5 => {
                        known["author"] = json!("b");
                        api.post(&events).json(&known).await
                    }
                    6 => api.post(&events).header("if-match", "\"0\"").json(delta("app:stale", n)).await,
                    7 => {
                        // The first of the two would do.
                        let wrong = add(&["user:n", "text"]);
                        let batch = json!([delta("user:lost", n), {"id": name, "actions": {"stateOps": wrong}}]);
                        api.post(&events).json(&batch).await
                    }
                    8 => api.post(&events).header("if-match", "\"0\"").json(&known).await,
                    _ => {
                        let wanted = json!([{"key": "text", "exists": false}]);
                        let event = json!({"actions": {"stateDelta": {"lost": n}, "preconditions": wanted}});
                        api.post(&events).json(&event).await
                    }
                }
            }
        }))
        .await;
        for (n, answer) in answers.iter().enumerate() {
            let refused = |status: u16, code: &str| {
                let problem = answer.clone().expect(status).json();
                assert_eq!(
                    (&problem["code"], &problem["outcome"]),
                    (&json!(code), &json!("not_applied")),
                    "{answer:?}"
                );
                problem
            };
            let name = format!("e{round}-{n}");
            let session = n % 3;
            match n % FATES {
                0 => {
                    let event = answer.clone().expect(201).json();
                    assert_eq!(event["actions"]["stateDelta"], json!({name: n}), "{answer:?}");
                    succeeded[session].push(event);
                }
                1 => {
                    let event = answer.clone().expect(201).json();
                    assert_eq!(event["id"], name, "{answer:?}");
                    succeeded[session].push(event);
                }
                2 => {
                    assert_eq!(answer.header("idempotent-replayed"), None, "{answer:?}");
                    assert_eq!(answer.clone().expect(200).json()[&name], n, "a writer sees its own write");
                }
                3 => assert!(answer.clone().expect(204).tag_parts()[0] != "0"),
                4 => drop(refused(404, "session_not_found")),
                5 => drop(refused(409, "event_id_conflict")),
                6 => assert!(refused(412, "revision_mismatch")["revision"].as_i64().unwrap() > 0),
                7 => assert_eq!(refused(422, "invalid_argument")["errors"][0]["field"], "/1/actions/stateOps/1"),
                8 => {
                    assert_eq!(answer.clone().expect(200).text(), stored[session].text());
                    assert_eq!(answer.header("idempotent-replayed"), Some("true"));
                }
                _ => assert!(refused(412, "revision_mismatch")["revision"].as_i64().unwrap() > 0),
            }
        }
    }
    let mut counted = 0;
    for (id, succeeded) in succeeded.iter().enumerate() {
        let answer = fleet.api(id).get(format!("{SESSIONS}/{id}")).await.expect(200);
        let session = answer.json();
        check_log(&session);
        for event in succeeded {
            assert_eq!(session["events"][event["sequence"].as_u64().unwrap() as usize - 1], *event);
        }
        let adding = succeeded.iter().filter(|event| event["actions"].get("stateOps").is_some()).count();
        assert_eq!(session["state"]["n"], adding, "each added one");
        counted += adding;
        // Besides those there are the event of the start and the patches, a third of them each.
        let patches = (0..FATES * EACH).filter(|n| n % FATES == 2 && n % 3 == id).count() * ROUNDS;
        assert_eq!(session["revision"], 1 + succeeded.len() + patches);
        let state = session["state"].as_object().unwrap();
        assert!(["absent", "lost", "app:stale", "user:lost"].iter().all(|key| !state.contains_key(*key)), "{session}");
    }
    let state = fleet.api(0).get(format!("{SESSIONS}/0/state")).await.expect(200);
    assert_eq!((&state.json()["user:n"], &state.json()["app:n"]), (&json!(counted), &json!(counted)));
    assert_eq!(
        state.tag_parts()[1..3],
        [counted.to_string(), counted.to_string()],
        "one step for each that changed it"
    );
    let users = fleet.api(0).get(format!("{APP}/users")).await.expect(200).json();
    assert_eq!(users["users"], json!([{"userId": "u"}]), "who was refused left nothing behind");
    fleet.verify().await;
}

async fn one_event_sent_many_times_is_stored_once(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    create(&fleet.api(0), "s").await;
    for round in 0..5 {
        let event = json!({"id": format!("e{round}"), "author": "a", "content": {"parts": [{"text": "1.0 \u{e9}"}]},
            "actions": {"stateDelta": {"k": round, "temp:t": 1, "app:k": round}}});
        let answers = together((0..16).map(|n| {
            let (api, event) = (fleet.api(n), event.clone());
            async move { api.post(EVENTS).json(&event).await }
        }))
        .await;
        assert_eq!(count(&answers, 201, 200), 1);
        for answer in &answers {
            assert_eq!(answer.text(), answers[0].text(), "the same bytes for everybody");
            assert_eq!(answer.header("idempotent-replayed").is_some(), answer.status == 200);
        }
    }
    // The same through PATCH state, whose event the server makes.
    let answers = together((0..16).map(|n| {
        let api = fleet.api(n);
        async move { api.patch(STATE).json(json!({"stateDelta": {"p": 1}, "eventId": "patch"})).await }
    }))
    .await;
    assert_eq!(count(&answers, 200, 200), 16);
    assert_eq!(answers.iter().filter(|answer| answer.header("idempotent-replayed").is_none()).count(), 1);
    let session = fleet.api(1).get(SESSION).await.expect(200);
    assert_eq!(session.json()["revision"], 6);
    assert_eq!(session.tag_parts()[2], "5", "app state was changed by each event once");
    check_log(&session.json());
    fleet.verify().await;
}

/// One of the answers is a success; the others are told the revision that beat them, and wrote nothing.
#[track_caller]
fn one_winner(answers: &[Answer], success: u16) {
    assert_eq!(count(answers, success, 412), 1);
    for answer in answers.iter().filter(|answer| answer.status == 412) {
        let problem = answer.json();
        assert_eq!(problem["code"], "revision_mismatch");
        assert_eq!(problem["outcome"], "not_applied");
        assert!(problem["revision"].is_i64(), "{problem}");
    }
}

async fn a_precondition_on_the_revision_has_one_winner(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    create(&fleet.api(0), "s").await;
    for round in 0..5 {
        let answers = together((0..16).map(|n| {
            let (api, tag) = (fleet.api(n), format!("\"{round}\""));
            async move { api.post(EVENTS).header("if-match", &tag).json(delta(&format!("r{round}"), n)).await }
        }))
        .await;
        one_winner(&answers, 201);
        assert!(answers.iter().filter(|a| a.status == 412).all(|a| a.json()["revision"] == round + 1));
    }
    check_log(&fleet.api(1).get(SESSION).await.expect(200).json());
    fleet.verify().await;
}

async fn a_precondition_on_the_whole_tag_has_one_winner(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    create(&fleet.api(0), "s").await;
    for round in 0..5 {
        let seen = fleet.api(round).get(STATE).await.expect(200);
        let answers = together((0..16).map(|n| {
            let (api, tag) = (fleet.api(n), seen.header("etag").unwrap().to_owned());
            let key = ["k", "user:k", "app:k"][n % 3];
            async move { api.post(EVENTS).header("if-match", &tag).json(delta(key, n)).await }
        }))
        .await;
        one_winner(&answers, 201);
    }
    assert_eq!(fleet.api(0).get(SESSION).await.json()["revision"], 5);
    fleet.verify().await;
}

/// Each of the writers changes what the other one's tag speaks of, and neither changes what the other one changes:
/// a precondition that is only read, and not held, lets both pass.
async fn a_precondition_holds_against_writers_of_other_scopes(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    let ids = ["one", "two"];
    for id in ids {
        create(&fleet.api(0), id).await;
    }
    for round in 0..20 {
        let mut writers = Vec::new();
        for (n, id) in ids.into_iter().enumerate() {
            let api = fleet.api(n + round);
            let seen = api.get(format!("{SESSIONS}/{id}/state")).await.expect(200);
            let tag = seen.header("etag").unwrap().to_owned();
            let key = ["user:x", "app:y"][n];
            let path = format!("{SESSIONS}/{id}/events");
            writers.push(async move { api.post(&path).header("if-match", &tag).json(delta(key, round)).await });
        }
        one_winner(&together(writers).await, 201);
    }
    fleet.verify().await;
}

async fn a_precondition_on_a_scope_has_one_winner(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    for scope in [format!("{APP}/state"), format!("{USER}/state")] {
        for round in 0..3 {
            let answers = together((0..16).map(|n| {
                let (api, path, tag) = (fleet.api(n), scope.clone(), format!("\"{round}\""));
                let body = json!({"stateDelta": {format!("r{round}"): n}});
                async move { api.send("PATCH", &path, &[("if-match", &tag)], Some(&body)).await.unwrap() }
            }))
            .await;
            one_winner(&answers, 200);
        }
        let state = fleet.api(0).get(&scope).await.expect(200);
        assert_eq!((state.header("etag"), state.json().as_object().unwrap().len()), (Some("\"3\""), 3));
    }
    fleet.verify().await;
}

async fn patches_of_user_state_lose_no_key(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    let path = format!("{USER}/state");
    let answers = together((0..64).map(|n| {
        let (api, path) = (fleet.api(n), path.clone());
        async move { api.patch(&path).json(json!({"stateDelta": {format!("k{n}"): n}})).await }
    }))
    .await;
    assert_eq!(count(&answers, 200, 200), 64);
    for (n, answer) in answers.iter().enumerate() {
        assert_eq!(answer.json()[format!("k{n}")], n, "a writer sees its own write");
    }
    let state = fleet.api(1).get(&path).await.expect(200);
    assert_eq!(state.header("etag"), Some("\"64\""));
    assert_eq!(state.json(), numbered(64));
    fleet.verify().await;
}

async fn appends_survive_deletion_and_recreation(place: Place) {
    let fleet = place.fleet(&[PATIENT, &["--sweep-interval=10ms"]].concat()).await;
    let mut clients = Vec::new();
    for n in 0..12 {
        let api = fleet.api(n);
        clients.push(async move {
            let mut stored = Vec::new();
            for round in 0..20 {
                match n % 6 {
                    0 => drop(api.delete(SESSION).await.expect(204)),
                    1 => {
                        let answer = api.post(SESSIONS).json(json!({"sessionId": "s"})).await;
                        assert!([201, 409].contains(&answer.status), "{answer:?}");
                    }
                    2 => {
                        let answer = api.put(SESSION).json(json!({})).await;
                        assert!([200, 201].contains(&answer.status), "{answer:?}");
                    }
                    3 => {
                        let answer = api.get(SESSION).await;
                        assert!([200, 404].contains(&answer.status), "{answer:?}");
                        if answer.status == 200 {
                            check_log(&answer.json());
                        }
                    }
                    _ => {
                        let answer = api.post(EVENTS).json(delta(&format!("k{n}"), round)).await;
                        assert!([201, 404].contains(&answer.status), "{answer:?}");
                        if answer.status == 201 {
                            stored.push(answer);
                        }
                    }
                }
            }
            stored
        });
    }
    let stored: Vec<_> = together(clients).await.into_iter().flatten().collect();
    fleet.api(0).put(SESSION).json(json!({})).await;
    let survivor = fleet.api(1).get(SESSION).await.expect(200);
    let session = survivor.json();
    check_log(&session);
    // Whatever was acknowledged by this incarnation is in it, and nothing of the earlier ones.
    let mine: Vec<_> = stored.iter().filter(|answer| answer.tag_parts()[3] == survivor.tag_parts()[3]).collect();
    assert_eq!(session["events"].as_array().unwrap().len(), mine.len());
    for answer in mine {
        let event = answer.json();
        assert_eq!(session["events"][event["sequence"].as_u64().unwrap() as usize - 1], event);
    }
    fleet.verify().await;
}

/// Forking does not hold writers up, so each copy is made while its source goes on.
async fn forks_of_a_busy_session_are_whole(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    create(&fleet.api(0), "s").await;
    let done = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..8)
        .map(|n| {
            let (api, done) = (fleet.api(n), done.clone());
            tokio::spawn(async move {
                for round in 0.. {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    api.post(EVENTS).json(delta(&format!("k{n}"), round)).await.expect(201);
                }
            })
        })
        .collect();
    for n in 0..20 {
        let fork = fleet.api(n).post(format!("{SESSION}/fork")).json(json!({})).await.expect(201).json();
        assert_eq!(fork["forkedFrom"]["revision"], fork["revision"], "{fork}");
        check_log(&fork);
    }
    done.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.expect("a writer is never held up");
    }
    fleet.verify().await;
}

/// Writers of all scopes, each in an order of its own, and readers. One group writes one number into three scopes by
/// one event: whoever reads must find the three equal. The others meet them on the same rows.
async fn readers_see_one_moment_and_writers_never_deadlock(place: Place) {
    const ROUNDS: usize = 25;
    let fleet = place.fleet(PATIENT).await;
    create(&fleet.api(0), "s").await;
    for n in 0..4 {
        create(&fleet.api(0), &format!("other{n}")).await;
        fleet
            .api(0)
            .post(format!("{APP}/users/v/sessions"))
            .json(json!({"sessionId": format!("v{n}")}))
            .await
            .expect(201);
    }
    let done = Arc::new(AtomicBool::new(false));

    let readers: Vec<_> = (0..3)
        .map(|n| {
            let (api, done) = (fleet.api(n), done.clone());
            tokio::spawn(async move {
                let mut seen = 0;
                while !done.load(Ordering::Relaxed) {
                    let path = [SESSION.to_owned(), format!("{SESSION}?numRecentEvents=1")];
                    let answer = api.get(&path[seen % 2]).await.expect(200);
                    let session = answer.json();
                    let (state, events) = (&session["state"], session["events"].as_array().unwrap());
                    assert_eq!(state["n"], state["user:n"], "{session}");
                    assert_eq!(state["n"], state["app:n"], "{session}");
                    assert_eq!(session["revision"].to_string(), answer.tag_parts()[0]);
                    if let Some(last) = events.last() {
                        assert_eq!(last["sequence"], session["revision"], "{session}");
                        assert_eq!(last["actions"]["stateDelta"]["n"], state["n"], "{session}");
                    }
                    if seen % 2 == 0 {
                        check_log(&session);
                    }
                    let tag = answer.header("etag").unwrap().to_owned();
                    let state = api.get(STATE).await.expect(200);
                    if state.header("etag") == Some(&tag) {
                        assert_eq!(state.json(), session["state"], "one tag, one state");
                    }
                    seen += 1;
                }
                seen
            })
        })
        .collect();

    let writers = (0..14).map(|n| {
        let api = fleet.api(n);
        async move {
            // Changes of the user `u` and of the app.
            let mut changes = (0, 0);
            for round in 0..ROUNDS {
                let value = json!(n * 1000 + round);
                let answer = match n {
                    0..4 => {
                        changes = (changes.0 + 1, changes.1 + 1);
                        let event = json!({"actions": {"stateDelta": {"app:n": value, "n": value, "user:n": value}}});
                        api.post(EVENTS).json(&event).await
                    }
                    4..8 => {
                        let keys = [["app:o", "user:o"], ["user:o", "x"], ["x", "app:o"]][round % 3];
                        changes.0 += usize::from(keys.contains(&"user:o"));
                        changes.1 += usize::from(keys.contains(&"app:o"));
                        let event = json!({"actions": {"stateDelta": {keys[0]: value, keys[1]: value}}});
                        api.post(format!("{SESSIONS}/other{}/events", (n + round) % 4)).json(&event).await
                    }
                    8..10 => {
                        changes.1 += 1;
                        let event = json!([{"actions": {"stateDelta": {"app:p": value}}},
                            {"actions": {"stateDelta": {"user:p": value, "x": value}}}]);
                        api.post(format!("{APP}/users/v/sessions/v{}/events", (n + round) % 4)).json(&event).await
                    }
                    10 => {
                        changes.0 += 1;
                        api.patch(format!("{USER}/state")).json(json!({"stateDelta": {"q": value}})).await
                    }
                    11 => {
                        changes.1 += 1;
                        api.patch(format!("{APP}/state")).json(json!({"stateDelta": {"q": value}})).await
                    }
                    12 => {
                        changes = (changes.0 + 1, changes.1 + 1);
                        api.post(SESSIONS).json(json!({"state": {"user:c": value, "app:c": value, "own": value}})).await
                    }
                    _ => {
                        // The precondition holds both scopes; whether it is met does not matter here.
                        let path = format!("{SESSIONS}/other{}/state", round % 4);
                        let seen = api.get(&path).await.expect(200);
                        let tag = seen.header("etag").unwrap();
                        let answer = api
                            .post(path.replace("/state", "/events"))
                            .header("if-match", tag)
                            .json(delta("y", 1))
                            .await;
                        assert!([201, 412].contains(&answer.status), "{answer:?}");
                        continue;
                    }
                };
                assert!([200, 201].contains(&answer.status), "{answer:?}");
            }
            changes
        }
    });
    let changes = together(writers).await;
    done.store(true, Ordering::Relaxed);
    for reader in readers {
        assert!(reader.await.expect("a reader saw one moment each time") > 0);
    }

    let state = fleet.api(0).get(STATE).await.expect(200);
    let (user, app) = changes.iter().fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1));
    assert_eq!(
        state.tag_parts()[1..3],
        [user.to_string(), app.to_string()],
        "one step for each transaction that changed it"
    );
    for n in 0..4 {
        check_log(&fleet.api(n).get(format!("{SESSIONS}/other{n}")).await.expect(200).json());
        check_log(&fleet.api(n).get(format!("{APP}/users/v/sessions/v{n}")).await.expect(200).json());
    }
    check_log(&fleet.api(1).get(SESSION).await.expect(200).json());
    fleet.verify().await;
}

/// Sixteen contenders, some of which steal, each on the replica that it happens to be on; and a writer beside them who has no
/// lease. Epochs are dense, and once an event of an epoch is in the log none of an older one follows.
async fn contenders_for_a_lease_take_turns(place: Place) {
    const CONTENDERS: usize = 16;
    const TURNS: usize = 2;
    let fleet = place.fleet(PATIENT).await;
    create(&fleet.api(0), "s").await;
    let lease = format!("{SESSION}/lease");
    let ended = Arc::new(AtomicBool::new(false));
    let beside = tokio::spawn({
        let (api, ended) = (fleet.api(1), ended.clone());
        async move {
            let mut count = 0;
            while !ended.load(Ordering::Relaxed) {
                api.post(EVENTS).json(json!({"author": "beside"})).await.expect(201);
                count += 1;
            }
            count
        }
    });
    let turns = together((0..CONTENDERS).map(|n| {
        let (api, lease) = (fleet.api(n), lease.clone());
        async move {
            let (mut epochs, mut written) = (Vec::new(), Vec::new());
            for turn in 0..TURNS {
                let body = json!({"owner": format!("o{n}"), "invocationId": format!("{turn}"), "steal": n % 3 == 0});
                let granted = loop {
                    let answer = api.post(&lease).json(&body).await;
                    if answer.status == 201 {
                        break answer.json();
                    }
                    assert_eq!(answer.problem(409, "lease_held")["outcome"], "not_applied");
                    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                };
                let epoch = granted["epoch"].as_i64().unwrap();
                epochs.push(epoch);
                let name = format!("{epoch}-{}", granted["incarnation"].as_str().unwrap());
                for at in 0..4 {
                    let event = json!({"id": format!("{epoch}-{at}"), "author": epoch.to_string()});
                    let answer = api.post(EVENTS).header("sessiond-lease", &name).json(&event).await;
                    if answer.status != 201 {
                        let present = answer.problem(409, "fenced")["epoch"].as_i64().unwrap();
                        assert!(present > epoch, "{answer}");
                        break;
                    }
                    written.push(event["id"].as_str().unwrap().to_owned());
                }
                api.delete(format!("{lease}?epoch={epoch}")).await.expect(204);
            }
            (epochs, written)
        }
    }))
    .await;
    ended.store(true, Ordering::Relaxed);
    let beside = beside.await.unwrap();
    let (epochs, written): (Vec<_>, Vec<_>) = turns.into_iter().unzip();
    let mut epochs = epochs.concat();
    epochs.sort_unstable();
    assert_eq!(epochs, (1..=(CONTENDERS * TURNS) as i64).collect::<Vec<_>>());
    let session = fleet.api(0).get(SESSION).await.expect(200).json();
    check_log(&session);
    let events = session["events"].as_array().unwrap();
    let of_holders: Vec<i64> =
        events.iter().filter_map(|event| event["author"].as_str().unwrap().parse().ok()).collect();
    assert!(of_holders.is_sorted(), "{of_holders:?}");
    let ids: HashSet<&str> = events.iter().filter_map(|event| event["id"].as_str()).collect();
    let written = written.concat();
    assert!(written.iter().all(|id| ids.contains(&**id)), "what was answered is there");
    assert_eq!((of_holders.len(), events.len()), (written.len(), written.len() + beside), "and nothing else");
    fleet.verify().await;
}

async fn side_writers_never_fail_the_holder_of_a_lease(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    create(&fleet.api(0), "s").await;
    let granted = fleet.api(0).post(format!("{SESSION}/lease")).json(json!({"owner": "o"})).await.expect(201).json();
    let name = format!("{}-{}", granted["epoch"], granted["incarnation"].as_str().unwrap());
    together((0..5).map(|n| {
        let (api, name) = (fleet.api(n), name.clone());
        async move {
            for at in 0..30 {
                let request = api.post(EVENTS).json(delta(&format!("k{n}"), at));
                let request = if n == 0 { request.header("sessiond-lease", &name) } else { request };
                request.await.expect(201);
            }
        }
    }))
    .await;
    let session = fleet.api(1).get(SESSION).await.expect(200).json();
    check_log(&session);
    assert_eq!(session["revision"], 150);
    let held = fleet.api(1).get(format!("{SESSION}/lease")).await.expect(200).json();
    assert_eq!((&held["epoch"], &held["owner"]), (&json!(1), &json!("o")));
    assert!(held["expireTime"].as_f64() > granted["expireTime"].as_f64(), "it was extended");
    fleet.verify().await;
}

/// While the session comes and goes: every event that was answered is there once, or went with its session.
async fn one_of_the_first_appends_makes_the_session(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    for round in 0..4 {
        let path = format!("{SESSIONS}/first{round}");
        let answers = together((0..24).map(|n| {
            let (api, path) = (fleet.api(n), format!("{path}/events?create=true"));
            async move { api.post(&path).json(json!({"id": format!("e{}", n % 20), "actions": {"stateDelta": {format!("k{n}", n = n % 20): n % 20}}})).await }
        }))
        .await;
        assert_eq!(count(&answers, 201, 200), 20);
        let made = |answer: &&Answer| answer.header("sessiond-created").is_some();
        assert_eq!(answers.iter().filter(made).count(), 1, "one of them made it");
        let session = fleet.api(round).get(&path).await.expect(200).json();
        assert_eq!((&session["revision"], &session["state"]), (&json!(20), &numbered(20)));
    }
    let only = together((0..16).map(|n| {
        let api = fleet.api(n);
        async move {
            let path = format!("{SESSIONS}/only/events?create=true");
            api.post(&path).header("if-match", "\"0\"").json(json!({"id": format!("e{n}")})).await
        }
    }))
    .await;
    assert_eq!(count(&only, 201, 412), 1);
    // With creations and deletions of the same id.
    let path = format!("{SESSIONS}/busy");
    let answers = together((0..48).map(|n| {
        let (api, path) = (fleet.api(n), path.clone());
        async move {
            match n % 6 {
                0 => api.delete(&path).await,
                1 => api.put(&path).await,
                _ => api.post(format!("{path}/events?create=true")).json(delta(&format!("k{n}"), n)).await,
            }
        }
    }))
    .await;
    assert!(answers.iter().all(|answer| [200, 201, 204].contains(&answer.status)), "{answers:?}");
    fleet.verify().await;
}

async fn no_race_exceeds_the_sessions_of_a_user(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    create(&fleet.api(0), "source").await;
    let limits = json!({"limits": {"sessionsPerUser": 6}});
    fleet.api(0).put(format!("{APP}/policy")).json(limits).await.expect(200);
    let answers = together((0..48).map(|n| {
        let api = fleet.api(n / 4);
        async move {
            match n % 5 {
                4 => api.post(format!("{SESSIONS}/f{n}/events?create=true")).json("{}").await,
                0 => api.post(SESSIONS).await,
                1 => api.post(SESSIONS).json(json!({"events": [{"author": "a"}], "state": {"user:k": n}})).await,
                2 => api.put(format!("{SESSIONS}/p{n}")).await,
                _ => api.post(format!("{SESSIONS}/source/fork")).await,
            }
        }
    }))
    .await;
    assert_eq!(count(&answers, 201, 409), 5);
    assert!(
        answers.iter().filter(|answer| answer.status == 409).all(|answer| answer.json()["limit"] == "sessionsPerUser")
    );
    let list = fleet.api(1).get(SESSIONS).await.expect(200).json();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 6);
    fleet.verify().await;
}

async fn no_race_exceeds_the_events_of_a_session(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    create(&fleet.api(0), "s").await;
    let limits = json!({"limits": {"eventsPerSession": 10}});
    fleet.api(0).put(format!("{APP}/policy")).json(limits).await.expect(200);
    let answers = together((0..40).map(|n| {
        let api = fleet.api(n);
        async move {
            match n % 4 {
                0 => api.patch(STATE).json(json!({"stateDelta": {"k": n}})).await,
                _ => api.post(EVENTS).json(delta("k", n)).await,
            }
        }
    }))
    .await;
    let done = answers.iter().filter(|answer| matches!(answer.status, 200 | 201)).count();
    assert_eq!(done, 10);
    let refused: Vec<_> = answers.iter().filter(|answer| !matches!(answer.status, 200 | 201)).collect();
    assert!(refused.iter().all(|answer| answer.status == 409 && answer.json()["limit"] == "eventsPerSession"));
    assert_eq!(fleet.api(1).get(SESSION).await.expect(200).json()["revision"], 10);
    fleet.verify().await;
}

/// Whatever a process has in its caches: no transaction that begins after the policy was answered exceeds it.
async fn a_policy_holds_from_its_answer_on(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    let policy = format!("{APP}/policy");
    for round in 0..10 {
        let id = format!("s{round}");
        create(&fleet.api(0), &id).await;
        let (session, stop) = (format!("{SESSIONS}/{id}"), Arc::new(AtomicBool::new(false)));
        let writers: Vec<_> = (0..4)
            .map(|n| {
                let (api, path, stop) = (fleet.api(n), format!("{session}/events"), stop.clone());
                async move {
                    while !stop.load(Ordering::Relaxed) {
                        let answer = api.post(&path).json(delta("k", n)).await;
                        assert!(matches!(answer.status, 201 | 409), "{answer}");
                    }
                }
            })
            .collect();
        let writing = tokio::spawn(together(writers));
        while fleet.api(0).get(&session).await.expect(200).json()["revision"].as_u64().unwrap() < 20 {}
        let limits = json!({"limits": {"eventsPerSession": 1, "sessionsPerUser": 1}});
        fleet.api(round).put(&policy).json(limits).await.expect(200);
        // What began before may still commit; what begins now may not.
        let answers = together((0..8).map(|n| {
            let (api, path) = (fleet.api(n), format!("{session}/events"));
            async move { if n < 4 { api.post(&path).json(delta("k", n)).await } else { api.post(SESSIONS).await } }
        }))
        .await;
        assert_eq!(count(&answers, 409, 409), 8);
        stop.store(true, Ordering::Relaxed);
        writing.await.unwrap();
        fleet.api(round + 1).delete(&policy).await.expect(204);
        fleet.api(round).post(format!("{session}/events")).json(delta("k", 1)).await.expect(201);
    }
    fleet.verify().await;
}

/// Imports of one file, and savers of the same artifact of the user: whoever is first, no version is lost or there twice.
async fn imports_and_savers_number_versions_together(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    create(&fleet.api(0), "s").await;
    for n in 0..3 {
        for artifacts in [format!("{USER}/artifacts"), format!("{SESSION}/artifacts")] {
            fleet.api(n).put(format!("{artifacts}/f")).body("a/b", vec![b'x'; 300_000]).await.expect(201);
        }
    }
    let export = fleet.api(0).get(format!("{APP}/export")).await.expect(200).text().to_owned();
    for round in 0..8 {
        let user = format!("/v1/apps/to{round}/users/u/artifacts/f");
        let answers = together((0..6).map(|n| {
            let (api, user, export) = (fleet.api(n), user.clone(), export.clone());
            async move {
                match n {
                    0 | 1 => {
                        let path = format!("/v1/import?appName=to{round}");
                        api.post(path).body("application/x-ndjson", export).await.expect(200)
                    }
                    _ => api.put(user).body("a/b", "saved").await.expect(201),
                }
            }
        }))
        .await;
        let (imports, saves) = answers.split_at(2);
        let told: Vec<Vec<Value>> = imports
            .iter()
            .map(|answer| answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect())
            .collect();
        let created = told.iter().flatten().filter(|line| line["result"] == "created").count();
        let unchanged = told.iter().flatten().filter(|line| line["result"] == "unchanged").count();
        assert_eq!((created, unchanged), (1, 1), "{imports:?}");
        let listed = fleet.api(round).get(format!("{user}/versions")).await.expect(200).json();
        let listed: Vec<_> = listed["versions"].as_array().unwrap().clone();
        let imported = listed.iter().filter(|version| version["size"] == 300_000).count();
        let skipped = told.iter().filter(|lines| lines.iter().any(|line| line["result"] == "skipped")).count();
        // All of it came, or nothing, and then each is told so.
        assert!([(3, 0), (0, 2)].contains(&(imported, skipped)), "{imported} {imports:?}");
        let numbers: Vec<_> = listed.iter().map(|version| version["version"].as_i64().unwrap()).collect();
        assert_eq!(numbers, (0..(imported + 4) as i64).collect::<Vec<_>>());
        let saved: HashSet<_> = saves.iter().map(|answer| answer.json()["version"].as_i64().unwrap()).collect();
        assert_eq!(saved.len(), 4);
        let of_session = format!("/v1/apps/to{round}/users/u/sessions/s/artifacts/f/versions");
        let of_session = fleet.api(round).get(of_session).await.expect(200).json();
        assert_eq!(of_session["versions"].as_array().unwrap().len(), 3);
    }
    fleet.verify().await;
}
