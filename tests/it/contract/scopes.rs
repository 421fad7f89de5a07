//! Scopes: a key's exact prefix decides where it lives.

use serde_json::json;

use crate::support::client::{APP_STATE, EVENTS, ONE, S, STATE, USER_STATE};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

on_both_databases! {
    async fn a_prefix_routes_a_key_and_is_cut_off_where_it_is_stored(server: &TestServer) {
        server.create(r#"{"state":{"app:a":1,"user:u":2,"s":3}}"#).await;
        assert_eq!(server.state().await, json!({"app:a": 1, "user:u": 2, "s": 3}));
        assert_eq!(server.get(APP_STATE).await.expect(200).json(), json!({"a": 1}));
        assert_eq!(server.get(USER_STATE).await.expect(200).json(), json!({"u": 2}));
    }

    async fn only_the_exact_prefix_counts(server: &TestServer) {
        let keys = ["temp_x", "Temp:x", "tempx:", "foo:bar", "", ":", "App:x", " app:x", "app", "USER:x", "user"];
        let delta: serde_json::Map<_, _> = keys.iter().map(|key| ((*key).to_owned(), json!(1))).collect();
        server.create(r#"{"state":{}}"#).await;
        server.append_delta(&json!(delta).to_string()).await;
        assert_eq!(server.state().await, json!(delta));
        assert_eq!(server.get(format!("{STATE}?scope=session")).await.expect(200).json(), json!(delta));
        assert_eq!(server.get(APP_STATE).await.expect(200).json(), json!({}));
        assert_eq!(server.get(USER_STATE).await.expect(200).json(), json!({}));
    }

    async fn only_the_first_prefix_is_cut_and_a_bare_prefix_is_the_empty_key(server: &TestServer) {
        server.create(r#"{"state":{"app:":1,"app:user:x":2,"user:app:y":3,"user:temp:z":4,"user:":5}}"#).await;
        assert_eq!(server.get(APP_STATE).await.expect(200).json(), json!({"": 1, "user:x": 2}));
        assert_eq!(server.get(USER_STATE).await.expect(200).json(), json!({"app:y": 3, "temp:z": 4, "": 5}));
        assert_eq!(server.get(format!("{STATE}/app:")).await.expect(200).text(), "1");
        assert_eq!(
            server.state().await,
            json!({"app:": 1, "app:user:x": 2, "user:app:y": 3, "user:temp:z": 4, "user:": 5})
        );
    }

    async fn a_temp_key_is_stored_by_no_way_in_and_shown_by_no_way_out(server: &TestServer) {
        let event = r#"{"id":"e","actions":{"stateDelta":{"temp:marker":"secret-marker","k":1}}}"#;
        let created = server
            .create(&format!(r#"{{"state":{{"temp:marker":"secret-marker","a":1}},"events":[{event}]}}"#))
            .await;
        let appended = server.append_delta(r#"{"temp:marker":"secret-marker","temp:":2,"b":1}"#).await;
        let patched = server
            .patch(STATE)
            .json(r#"{"stateDelta":{"temp:marker":"secret-marker","c":1}}"#)
            .await
            .expect(200);
        let output = server
            .post(format!("{EVENTS}?outputKey=temp:marker"))
            .json(r#"{"content":{"parts":[{"text":"hello"}]}}"#)
            .await
            .expect(201);
        assert_eq!(output.find_raw(&["actions", "stateDelta", "temp:marker"]), None);
        let reads = [ONE, STATE, EVENTS, &format!("{EVENTS}/e"), &format!("{S}?includeState=true"), APP_STATE];
        for answer in [created, appended, patched, output] {
            assert!(!answer.text().contains("marker") && !answer.text().contains("temp:"), "{answer}");
        }
        for path in reads {
            let answer = server.get(path).await.expect(200);
            assert!(!answer.text().contains("marker") && !answer.text().contains("temp:"), "{answer}");
        }
        assert_eq!(server.state().await, json!({"a": 1, "b": 1, "c": 1, "k": 1}));
    }

    async fn a_temp_key_can_be_neither_read_nor_put_nor_deleted(server: &TestServer) {
        server.create("{}").await;
        let key = format!("{STATE}/temp:x");
        server.get(&key).await.problem(404, "state_key_not_found");
        server.put(&key).json("1").await.invalid(&["key"]);
        server.delete(&key).await.invalid(&["key"]);
        assert_eq!(server.get(ONE).await.json()["revision"], 0);
    }

    async fn null_is_a_value_in_every_scope(server: &TestServer) {
        server.create(r#"{"state":{"k":null,"user:k":null,"app:k":null}}"#).await;
        server.append_delta(r#"{"l":null,"user:l":null,"app:l":null}"#).await;
        let shown = json!({
            "app:k": null, "app:l": null, "user:k": null, "user:l": null, "k": null, "l": null
        });
        assert_eq!(server.state().await, shown);
        for key in ["k", "user:k", "app:l"] {
            assert_eq!(server.get(format!("{STATE}/{key}")).await.expect(200).text(), "null");
        }
        server.put(format!("{STATE}/p")).json("null").await.expect(200);
        assert_eq!(server.get(format!("{STATE}/p")).await.expect(200).text(), "null");
        assert_eq!(server.get(APP_STATE).await.json(), json!({"k": null, "l": null}));
        server.patch(APP_STATE).json(r#"{"stateDelta":{"m":null}}"#).await.expect(200);
        assert_eq!(server.get(APP_STATE).await.json(), json!({"k": null, "l": null, "m": null}));
    }

    async fn a_value_is_replaced_whole_and_never_merged(server: &TestServer) {
        server.create(r#"{"state":{"k":{"a":1,"b":{"c":2}},"app:k":{"a":1}}}"#).await;
        server.append_delta(r#"{"k":{"b":{"d":3}},"app:k":{"z":1}}"#).await;
        assert_eq!(server.state().await, json!({"k": {"b": {"d": 3}}, "app:k": {"z": 1}}));
        server.patch(STATE).json(r#"{"stateDelta":{"k":[]}}"#).await.expect(200);
        assert_eq!(server.state().await, json!({"k": [], "app:k": {"z": 1}}));
    }

    async fn app_state_is_shared_by_all_users_and_user_state_by_all_sessions_of_one(server: &TestServer) {
        server.create(r#"{"state":{"app:a":1,"user:u":2,"s":3}}"#).await;
        let second = server.create(r#"{"sessionId":"t","state":{"mine":1}}"#).await;
        assert_eq!(second.json()["state"], json!({"app:a": 1, "user:u": 2, "mine": 1}));
        let other_user = server.post("/v1/apps/app/users/other/sessions").await.expect(201);
        assert_eq!(other_user.json()["state"], json!({"app:a": 1}));
        let other_app = server.post("/v1/apps/other/users/user/sessions").await.expect(201);
        assert_eq!(other_app.json()["state"], json!({}));
        server.append_delta(r#"{"user:u":9,"app:a":8}"#).await;
        let seen = server.get(format!("{S}/t")).await.expect(200);
        assert_eq!(seen.json()["state"], json!({"app:a": 8, "user:u": 9, "mine": 1}));
    }

    async fn a_scope_can_be_read_alone_with_its_prefixes(server: &TestServer) {
        server.create(r#"{"state":{"app:a":1,"user:u":2,"s":3,"t":4}}"#).await;
        for (query, expected) in [
            ("scope=app", json!({"app:a": 1})),
            ("scope=user", json!({"user:u": 2})),
            ("scope=session", json!({"s": 3, "t": 4})),
            ("keys=s,app:a,absent,user:x,temp:y", json!({"s": 3, "app:a": 1})),
            ("keys=s,app:a&scope=app", json!({"app:a": 1})),
            ("keys=t&scope=user", json!({})),
            ("keys=", json!({})),
        ] {
            assert_eq!(server.get(format!("{STATE}?{query}")).await.expect(200).json(), expected, "{query}");
        }
        server.get(format!("{STATE}?scope=temp")).await.invalid(&["scope"]);
        server.get(format!("{STATE}?scope=App")).await.invalid(&["scope"]);
    }
}
