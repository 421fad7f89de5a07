//! Instruction templates, filled in with the merged state.

use serde_json::{Value, json};

use crate::support::client::{Answer, Client, EVENTS, ONE, S, segment};
use crate::support::databases::{on_both_databases, on_sqlite};
use crate::support::server::TestServer;

const RENDER: &str = "/v1/apps/app/users/user/sessions/s/render";

async fn render(server: &Client, template: &str, options: Value) -> Answer {
    let mut body = json!({"template": template});
    body.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    server.post(RENDER).json(body.to_string()).await
}

async fn text(server: &Client, template: &str, options: Value) -> String {
    let answer = render(server, template, options).await.expect(200).json();
    assert_eq!(answer.as_object().unwrap().len(), 1);
    answer["text"].as_str().unwrap().to_owned()
}

/// Each template with what becomes of it.
async fn all(server: &Client, options: &Value, cases: &[(&str, &str)]) {
    for (template, expected) in cases {
        assert_eq!(text(server, template, options.clone()).await, *expected, "{template} {options}");
    }
}

on_sqlite! {
    async fn keys_of_every_scope_are_replaced_by_their_values(server: &TestServer) {
        server.create(r#"{"state":{"k":"session","user:k":"user","app:k":"app","x":1,"_é":2}}"#).await;
        let cases = [
            ("{k} {user:k} {app:k}", "session user app"),
            ("{k}{k}{x}{_é}", "sessionsession12"),
            ("{ k }{\nx\n}", "session1"),
            ("plain", "plain"),
            ("", ""),
        ];
        all(server, &json!({}), &cases).await;
        all(server, &json!({"braces": null, "missing": null}), &cases).await;
        all(server, &json!({"braces": "literal", "missing": "empty"}), &cases).await;
        // Of the moment.
        server.append_delta(r#"{"k":"changed","app:k":null}"#).await;
        assert_eq!(text(server, "{k} {user:k} {app:k}", json!({})).await, "changed user ");
    }

    async fn strings_go_in_raw_null_as_nothing_and_the_rest_as_compact_json(server: &TestServer) {
        server
            .create(
                r#"{"state":{"s":"a\n\"\u00e9\\\u0000","n":null,"t":true,"d":1.10,"i":123456789012345678901234567890,
                    "o":{ "b" : [ 1.0 , " x ", null ], "a b":"\u00e9\"" }}}"#,
            )
            .await;
        all(
            server,
            &json!({}),
            &[
                ("{s}", "a\n\"é\\\0"),
                ("<{n}>", "<>"),
                ("{t} {d} {i}", "true 1.10 123456789012345678901234567890"),
                ("{o}", r#"{"b":[1.0," x ",null],"a b":"\u00e9\""}"#),
            ],
        )
        .await;
    }

    async fn what_goes_in_is_not_read_as_a_template(server: &TestServer) {
        server.create(r#"{"state":{"k":"{x} {{x}} {none} \\{x}","x":1,"open":"{"}}"#).await;
        all(server, &json!({}), &[("{k}", "{x} {{x}} {none} \\{x}"), ("{open}x}", "{x}")]).await;
    }

    async fn an_optional_key_that_is_missing_is_nothing(server: &TestServer) {
        server.create(r#"{"state":{"k":1}}"#).await;
        for missing in ["error", "empty", "keep"] {
            all(
                server,
                &json!({"missing": missing}),
                &[("{k?}{none?}{app:none?}{user:none?}{temp:k?}{artifact.x.txt?}{ none? }", "1"), ("{k??}{k ?}", "{k??}{k ?}")],
            )
            .await;
        }
    }

    async fn missing_keys_are_422_and_all_of_them_are_named(server: &TestServer) {
        server.create(r#"{"state":{"k":1,"user:u":2}}"#).await;
        let template = "{b} {k} {a} {user:u} {app:u} {temp:k} {b} {a?} {{c}} {artifact.file.txt}";
        for options in [json!({}), json!({"missing": "error"})] {
            let problem = render(server, template, options).await.invalid(&["template"]);
            let message = problem["errors"][0]["message"].as_str().unwrap();
            assert_eq!(message, "these keys are missing: `b`, `a`, `app:u`, `temp:k`, `c`, `artifact.file.txt`");
            assert!(problem["detail"].as_str().unwrap().contains(message));
        }
        let many = (0..100).map(|n| format!("{{none_{n}}}")).collect::<String>();
        let problem = render(server, &many, json!({})).await.invalid(&["template"]);
        let message = problem["errors"][0]["message"].as_str().unwrap();
        assert!((0..100).all(|n| message.contains(&format!("`none_{n}`"))), "{message}");
    }

    async fn missing_keys_are_left_out_or_kept_on_demand(server: &TestServer) {
        server.create(r#"{"state":{"k":1}}"#).await;
        let template = "[{k}|{none}|{{none}}|{ app:k }|{temp:k}|{artifact.a}|{none?}]";
        assert_eq!(text(server, template, json!({"missing": "empty"})).await, "[1||||||]");
        assert_eq!(
            text(server, template, json!({"missing": "keep"})).await,
            "[1|{none}|{{none}}|{ app:k }|{temp:k}|{artifact.a}|]"
        );
    }

    async fn a_key_whose_name_is_no_identifier_cannot_be_asked_for(server: &TestServer) {
        server
            .create(r#"{"state":{"":1,"a-b":1,"a.b":1,"1":1,"a b":1,"artifact.x":1,"app:":1,"user:a-b":1,"foo:bar":1,"k":1}}"#)
            .await;
        for template in [
            "{}", "{ }", "{a-b}", "{a.b}", "{1}", "{a b}", "{app:}", "{user:a-b}", "{foo:bar}", r#"{"json": 1}"#, "{App:k}",
            "{app:user:k}", "{?}", "{", "}", "{{", "}{", "{k", "k}", "{{}}", r#"{{ "a": 1 }}"#, "{😀}",
        ] {
            for options in [json!({}), json!({"braces": "literal"}), json!({"missing": "empty"})] {
                assert_eq!(text(server, template, options).await, template);
            }
        }
        // A state key is no artifact.
        render(server, "{artifact.x}", json!({})).await.invalid(&["template"]);
    }

    async fn a_placeholder_takes_as_many_closing_braces_as_opening_ones(server: &TestServer) {
        server.create(r#"{"state":{"k":"V"}}"#).await;
        for braces in ["adk", "literal"] {
            all(
                server,
                &json!({"braces": braces}),
                &[
                    (r#"{"json": {k}}"#, r#"{"json": V}"#),
                    (r#"{"a": {"b": {k}}}"#, r#"{"a": {"b": V}}"#),
                    ("{k}}", "V}"),
                    ("{{k}", "{V"),
                    (r#"{{ "a": {k} }}"#, r#"{{ "a": V }}"#),
                ],
            )
            .await;
        }
    }

    async fn doubled_braces_are_the_value_or_literal(server: &TestServer) {
        server.create(r#"{"state":{"k":"V"}}"#).await;
        let adk = [("{{k}}", "V"), ("{{{k}}}", "V"), ("{{ k }}", "V"), ("{{k}}}", "V}"), ("{{k}} {k}", "V V")];
        all(server, &json!({}), &adk).await;
        all(server, &json!({"braces": "adk"}), &adk).await;
        all(
            server,
            &json!({"braces": "literal"}),
            &[
                ("{{k}}", "{k}"),
                ("{{{k}}}", "{V}"),
                ("{{ k }}", "{ k }"),
                ("{{k}}}", "{k}}"),
                ("{{k}} {k}", "{k} V"),
                // Text needs no key.
                ("{{none}} {{temp:none}} {{none?}}", "{none} {temp:none} {none?}"),
            ],
        )
        .await;
    }

    async fn a_dollar_or_a_backslash_before_the_braces_keeps_them(server: &TestServer) {
        server.create(r#"{"state":{"k":"V"}}"#).await;
        for braces in ["adk", "literal"] {
            all(
                server,
                &json!({"braces": braces}),
                &[
                    (r"\{k} ${k} {k}", r"\{k} ${k} V"),
                    (r"\{{k}} ${{k}} ${{ none }}", r"\{{k}} ${{k}} ${{ none }}"),
                ],
            )
            .await;
        }
    }

    async fn rendering_changes_nothing_and_tells_the_moment(server: &TestServer) {
        let etag = server.create(r#"{"state":{"k":1,"app:k":2},"events":[{}]}"#).await.etag();
        for template in ["{k}", "{app:k}", "{none?}", ""] {
            assert_eq!(render(server, template, json!({})).await.expect(200).etag(), etag);
        }
        let etag = server.append_delta(r#"{"user:k":1}"#).await.etag();
        assert_eq!(render(server, "", json!({})).await.etag(), etag);
        assert_eq!(server.get(EVENTS).await.json()["events"].as_array().unwrap().len(), 2);
        assert_eq!(server.get(ONE).await.etag(), etag);
    }

    async fn no_session_is_404_whatever_the_template(server: &TestServer) {
        server.create("{}").await;
        for template in ["", "plain", "{k}", "{k?}"] {
            let answer = server.post(format!("{S}/none/render")).json(json!({"template": template}).to_string()).await;
            answer.problem(404, "session_not_found");
        }
        server.get(RENDER).await.problem(405, "method_not_allowed");
    }

    async fn the_body_is_an_object_of_known_fields(server: &TestServer) {
        server.create("{}").await;
        for (body, fields) in [
            ("{}", &["template"][..]),
            (r#"{"template":null}"#, &["template"]),
            (r#"{"template":["{k}"]}"#, &["template"]),
            (r#"{"template":7,"braces":"jinja","missing":"warn","state":{}}"#, &["template", "braces", "missing", "state"]),
            (r#"{"template":"","braces":true}"#, &["braces"]),
            (r#"{"template":"","missing":"Error"}"#, &["missing"]),
            (r#"{"template":"","Template":""}"#, &["Template"]),
            ("[]", &[""]),
            ("\"{k}\"", &[""]),
        ] {
            server.post(RENDER).json(body).await.invalid(fields);
        }
        server.post(RENDER).json(r#"{"template":""#).await.problem(400, "invalid_json");
        server.post(RENDER).await.problem(400, "invalid_json");
        server.post(RENDER).body("text/plain", "{k}").await.problem(415, "unsupported_media_type");
        server.post(RENDER).body_without_type(r#"{"template":""}"#).await.problem(415, "unsupported_media_type");
        server.post(format!("{RENDER}?missing=keep")).json(r#"{"template":""}"#).await.invalid(&["missing"]);
    }

    async fn a_text_over_the_limit_of_a_page_is_413(server: &TestServer) with ["--max-page-bytes=3000"] {
        server.create(&format!(r#"{{"state":{{"k":"{}"}}}}"#, "é".repeat(500))).await;
        assert_eq!(text(server, "{k}{k}{k}", json!({})).await.len(), 3000);
        render(server, "{k}{k}{k}.", json!({})).await.problem(413, "payload_too_large");
        render(server, &"{k}".repeat(100_000), json!({})).await.problem(413, "payload_too_large");
        render(server, &"x".repeat(3001), json!({})).await.problem(413, "payload_too_large");
    }

    async fn a_template_over_the_limit_of_a_body_is_413(server: &TestServer)
        with ["--max-value-bytes=1000", "--max-event-bytes=1000", "--max-body-bytes=2000"]
    {
        server.create("{}").await;
        render(server, &"x".repeat(1900), json!({})).await.expect(200);
        render(server, &"x".repeat(2000), json!({})).await.problem(413, "payload_too_large");
    }

    async fn a_large_template_of_many_names_is_served(server: &TestServer) {
        let state = (0..1000).map(|n| format!("\"user:k{n}\":{n}")).collect::<Vec<_>>().join(",");
        server.create(&format!(r#"{{"state":{{{state}}}}}"#)).await;
        let names = |count: usize| (0..count).map(|n| format!("{{user:k{n}?}}")).collect::<String>();
        let expected = (0..1000).map(|n| n.to_string()).collect::<String>();
        assert_eq!(text(server, &names(10_000), json!({})).await, expected);
        render(server, &names(10_001), json!({})).await.problem(413, "payload_too_large");
        let braces = "{".repeat(4 << 20);
        assert_eq!(text(server, &braces, json!({})).await, braces);
    }
}

const FILES: &str = "/v1/apps/app/users/user/sessions/s/artifacts";

/// Saves a version without an event.
async fn save(server: &Client, name: &str, mime_type: &'static str, bytes: impl Into<Vec<u8>>) {
    let path = format!("{FILES}/{}?event=none", segment(name));
    server.put(path).body(mime_type, bytes.into()).await.expect(201);
}

on_both_databases! {
    async fn artifacts_are_replaced_by_their_texts(server: &TestServer) {
        server.create(r#"{"state":{"k":"V","artifact":1}}"#).await;
        let text = json!({"name": "t", "part": {"text": "grüß {k} {artifact.b}"}, "event": "none"});
        server.post(FILES).json(text).await.expect(201);
        save(server, "a b/c.txt", "text/plain; charset=utf-8", "old").await;
        save(server, "a b/c.txt", "text/csv", "new\n").await;
        save(server, "o.json", "application/json", "{ \"a\" : 1.0 }").await;
        save(server, "g", "Application/Geo+JSON", "[]").await;
        save(server, "empty", "text/plain", "").await;
        save(server, "user:u?", "text/plain", "of the user").await;
        let long = "é".repeat(1 << 19);
        save(server, "long", "text/plain", long.clone()).await;
        all(
            server,
            &json!({}),
            &[
                ("{artifact.t}", "grüß {k} {artifact.b}"),
                ("<{artifact.a b/c.txt}>{k}<{ artifact.a b/c.txt? }>", "<new\n>V<new\n>"),
                ("{artifact.o.json}{artifact.g}{artifact.empty}", "{ \"a\" : 1.0 }[]"),
                ("{artifact.user:u??}", "of the user"),
                ("{{artifact.t}}", "grüß {k} {artifact.b}"),
                ("{artifact.long}", &long),
                ("{artifact}", "1"),
            ],
        )
        .await;
        all(server, &json!({"braces": "literal"}), &[("{{artifact.t}}{{{artifact.g}}}", "{artifact.t}{[]}")]).await;
        // Another session has those of the user alone.
        server.post(S).json(json!({"sessionId": "t"})).await.expect(201);
        let body = json!({"template": "{artifact.user:u??}{artifact.t?}"});
        let other = server.post(format!("{S}/t/render")).json(body).await.expect(200);
        assert_eq!(other.json(), json!({"text": "of the user"}));
        // What is filled in changes with the next version, and goes with the artifact.
        save(server, "t", "text/plain", "2").await;
        assert_eq!(text_of(server, "{artifact.t}").await, "2");
        server.delete(format!("{FILES}/t?version=1")).await.expect(204);
        assert_eq!(text_of(server, "{artifact.t}").await, "grüß {k} {artifact.b}");
        server.delete(format!("{FILES}/t")).await.expect(204);
        assert_eq!(text_of(server, "[{artifact.t?}]").await, "[]");
        let etag = server.get(ONE).await.etag();
        assert_eq!(render(server, "{artifact.g}", json!({})).await.expect(200).etag(), etag);
    }

    async fn what_is_no_text_is_a_missing_artifact(server: &TestServer) {
        server.create("{}").await;
        save(server, "bytes", "application/octet-stream", "text").await;
        save(server, "svg", "image/svg+xml", "<svg/>").await;
        save(server, "latin", "text/plain", b"\xe9".to_vec()).await;
        save(server, "charset", "text/plain; charset=utf-16", "t").await;
        save(server, "long", "text/plain", "x".repeat((1 << 20) + 1)).await;
        let address = json!({"name": "address", "part": {"fileData": {"fileUri": "gs://a/b", "mimeType": "text/plain"}}, "event": "none"});
        server.post(FILES).json(address).await.expect(201);
        let name = "n".repeat(257);
        let names = ["bytes", "svg", "latin", "charset", "long", "address", "none", "", "..", "a\tb", &name];
        for name in names {
            assert_eq!(text_of(server, &format!("[{{artifact.{name}?}}]")).await, "[]", "{name}");
            let problem = render(server, &format!("{{artifact.{name}}}"), json!({})).await.invalid(&["template"]);
            let message = format!("these keys are missing: `artifact.{name}`");
            assert_eq!(problem["errors"][0]["message"], message, "{name}");
        }
        all(server, &json!({"missing": "keep"}), &[("{{artifact.svg}}{artifact.none?}", "{{artifact.svg}}")]).await;
        all(server, &json!({"missing": "empty"}), &[("[{artifact.svg}]", "[]")]).await;
        // By a rewind to before it was saved.
        server.put(format!("{FILES}/t")).body("text/plain", "T").await.expect(201);
        assert_eq!(text_of(server, "{artifact.t}").await, "T");
        server.post(format!("{ONE}/rewind")).json(json!({"toRevision": 0})).await.expect(200);
        assert_eq!(text_of(server, "[{artifact.t?}]").await, "[]");
        server.post(format!("{S}/none/render")).json(json!({"template": "{artifact.t?}"})).await.problem(404, "session_not_found");
    }

    async fn artifacts_of_a_template_are_bounded(server: &TestServer) with ["--max-page-bytes=3000"] {
        server.create("{}").await;
        for name in ["a", "b", "c"] {
            save(server, name, "text/plain", "x".repeat(1000)).await;
        }
        assert_eq!(text_of(server, "{artifact.a}{artifact.b}{artifact.c}").await.len(), 3000);
        render(server, "{artifact.a}{artifact.b}{artifact.c}.", json!({})).await.problem(413, "payload_too_large");
        render(server, &"{artifact.a}".repeat(4), json!({})).await.problem(413, "payload_too_large");
        save(server, "d", "text/plain", "x").await;
        render(server, "{artifact.a}{artifact.b}{artifact.c}{artifact.d}", json!({})).await.problem(413, "payload_too_large");
        let names = |count: usize| (0..count).map(|n| format!("{{artifact.n{n}?}}")).collect::<String>();
        assert_eq!(text_of(server, &names(100)).await, "");
        render(server, &names(101), json!({})).await.problem(413, "payload_too_large");
    }
}

async fn text_of(server: &Client, template: &str) -> String {
    text(server, template, json!({})).await
}
