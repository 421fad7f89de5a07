//! Erasures: all of a user goes at once and for good, and a receipt proves it without the name.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::support::client::{Answer, Client, ONE, S, USER_STATE};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;
use crate::support::sse::Watch;

const ERASURE: &str = "/v1/apps/app/users/user/erasure";

async fn fill(server: &Client) {
    server.create(r#"{"state":{"k":1,"user:name":"Ada","app:kept":1},"displayName":"D"}"#).await;
    server.append(r#"{"id":"e1","author":"agent","actions":{"stateDelta":{"k":2,"user:name":"Eve"}}}"#).await;
    server.post(S).header("idempotency-key", "made").json(r#"{"sessionId":"two"}"#).await.expect(201);
    server.post(format!("{ONE}/lease")).json(r#"{"owner":"me"}"#).await.expect(201);
    server.post("/v1/apps/app/users/other/sessions").json(r#"{"sessionId":"s"}"#).await.expect(201);
}

async fn erase(server: &Client, body: &str) -> Answer {
    server.post(ERASURE).json(body).await
}

async fn done(server: &Client, id: &str) -> Value {
    loop {
        let erasure = server.get(format!("/v1/erasures/{id}")).await.expect(200).json();
        if erasure["state"] == "done" {
            return erasure;
        }
        sleep(Duration::from_millis(10)).await;
    }
}

fn id(answer: &Answer) -> String {
    answer.json()["id"].as_str().expect("an id").to_owned()
}

on_both_databases! {
    async fn nothing_of_the_user_is_left_but_what_the_app_has(server: &TestServer) {
        fill(server).await;
        let mut watch = Watch::open(server.get(format!("{ONE}/watch")).header("accept", "text/event-stream")).await;
        watch.caught_up().await;
        let answer = erase(server, r#"{"requestId":"r1","reference":"ticket 12"}"#).await.expect(202);
        assert_eq!(answer.header("location"), Some(&*format!("/v1/erasures/{}", id(&answer))));
        server.get(ONE).await.problem(404, "session_not_found");
        server.get(format!("{S}/two")).await.problem(404, "session_not_found");
        let state = server.get(USER_STATE).await.expect(200);
        assert_eq!((state.text(), &*state.etag()), ("{}", "\"0\""));
        server.post(format!("{ONE}/events")).json(r#"{"author":"agent"}"#).await.problem(404, "session_not_found");
        assert_eq!(server.get(S).await.expect(200).json(), json!({"sessions": []}));
        watch.expect("deleted").await;
        let erasure = done(server, &id(&answer)).await;
        assert_eq!(erasure["reference"], "ticket 12");
        let counts = &erasure["counts"];
        assert_eq!((&counts["sessions"], &counts["events"], &counts["stateKeys"]), (&json!(2), &json!(1), &json!(2)));
        let receipt = erasure["receipt"].to_string();
        assert!(receipt.contains("\"signature\"") && !receipt.contains("user\"") && !receipt.contains("Ada"), "{receipt}");
        assert_eq!(server.get("/v1/apps/app/state").await.expect(200).text(), r#"{"kept":1}"#);
        server.get("/v1/apps/app/users/other/sessions/s").await.expect(200);
        // The same request again is the same erasure; for another user it is a conflict.
        let again = erase(server, r#"{"requestId":"r1"}"#).await.expect(200);
        assert_eq!(id(&again), id(&answer));
        server.post("/v1/apps/app/users/other/erasure").json(r#"{"requestId":"r1"}"#).await.problem(409, "erasure_conflict");
        server.get("/v1/apps/app/users/other/sessions/s").await.expect(200);
        // A new start has nothing of the old one.
        server.post(S).header("idempotency-key", "made").json(r#"{"sessionId":"s"}"#).await.expect(201);
        assert_eq!(server.get(ONE).await.expect(200).json()["state"], json!({"app:kept": 1}));
        assert_eq!(server.append(r#"{"id":"e1","author":"agent"}"#).await.json()["sequence"], 1);
        let list = server.get("/v1/erasures").await.expect(200).json();
        assert_eq!(list["erasures"].as_array().map(Vec::len), Some(1));
    }

    async fn a_user_of_whom_nothing_is_stored_is_erased_too(server: &TestServer) {
        let answer = server.post(ERASURE).await.expect(202);
        let erasure = done(server, &id(&answer)).await;
        assert_eq!(erasure["counts"], json!({"sessions": 0, "events": 0, "stateKeys": 0, "changes": 0}));
        server.get("/v1/erasures/none").await.problem(404, "not_found");
        erase(server, r#"{"block":1}"#).await.invalid(&["block"]);
        erase(server, r#"{"requestId":"","who":"me"}"#).await.problem(422, "invalid_argument");
        let keys = server.get("/v1/receipts/keys").await.expect(200).json();
        assert_eq!(keys["keys"][0]["id"], erasure["receipt"]["keyId"]);
    }

    async fn a_blocked_user_has_no_new_session_until_it_is_lifted(server: &TestServer) {
        fill(server).await;
        let export = server.get("/v1/apps/app/users/user/export").await.expect(200).text().to_owned();
        let first = erase(server, r#"{"block":true}"#).await.expect(202);
        for body in [r#"{"sessionId":"new"}"#, r#"{"sessionId":"new","state":{"user:k":1},"events":[{"author":"a"}]}"#] {
            server.post(S).json(body).await.problem(410, "user_erased");
            server.post(S).header("idempotency-key", "k").json(body).await.problem(410, "user_erased");
        }
        server.put(ONE).json("{}").await.problem(410, "user_erased");
        server.patch(USER_STATE).json(r#"{"stateDelta":{"k":1}}"#).await.problem(410, "user_erased");
        let imported = server.post("/v1/import").body("application/x-ndjson", export.clone()).await.expect(200);
        assert_eq!(imported.text().matches("user_erased").count(), 2, "{imported}");
        server.post("/v1/apps/app/users/other/sessions").json(r#"{"sessionId":"more"}"#).await.expect(201);
        assert_eq!(done(server, &id(&first)).await["receipt"]["blocked"], true);
        let lifted = erase(server, r#"{"block":false}"#).await.expect(202);
        done(server, &id(&lifted)).await;
        server.post(S).json(r#"{"sessionId":"new"}"#).await.expect(201);
    }

    async fn no_write_of_agents_that_go_on_survives(server: &TestServer) {
        for round in 0..5 {
            server.post(S).json(r#"{"sessionId":"s"}"#).await.expect(201);
            let writers = (0..4).map(|n| {
                let api = Client::new(server.address());
                tokio::spawn(async move {
                    for m in 0..200 {
                        let body = format!(r#"{{"author":"w{n}","actions":{{"stateDelta":{{"user:k{n}":{m},"k":{m}}}}}}}"#);
                        let answer = api.post(format!("{ONE}/events")).json(body).await;
                        if answer.status() == 404 {
                            return;
                        }
                        assert_eq!(answer.status(), 201, "{answer}");
                    }
                })
            });
            let writers: Vec<_> = writers.collect();
            sleep(Duration::from_millis(20)).await;
            let answer = erase(server, &format!(r#"{{"requestId":"round {round}"}}"#)).await.expect(202);
            for writer in writers {
                writer.await.expect("a writer");
            }
            done(server, &id(&answer)).await;
            assert_eq!(server.get(USER_STATE).await.expect(200).text(), "{}");
            server.get(ONE).await.problem(404, "session_not_found");
        }
    }
}
