//! Who may do what: keys, tokens, roles and grants, at every endpoint.

use std::ops::Deref;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::client::{Answer, Client, Request, segment};
use crate::support::databases::{Fixture, Place, on_both_databases};
use crate::support::schema::document;
use crate::support::server::TestServer;

const ADMIN: &str = "an-admin-key-of-a-test_0123456789abcdef";

/// A server with an admin key in a file.
pub struct Guarded {
    server: TestServer,
    file: std::path::PathBuf,
}

impl Fixture for Guarded {
    async fn start(place: Place, flags: &[&str]) -> Self {
        let file = std::env::temp_dir().join(format!("sessiond-admin-{}", uuid::Uuid::new_v4()));
        std::fs::write(&file, format!("{ADMIN}\n")).expect("write the key");
        let flag = format!("--admin-key-file={}", file.display());
        let flags: Vec<&str> = flags.iter().copied().chain([&*flag]).collect();
        Self { server: TestServer::start(place, &flags).await, file }
    }

    async fn stop(self) {
        self.server.stop().await;
        let _ = std::fs::remove_file(&self.file);
    }
}

impl Deref for Guarded {
    type Target = TestServer;

    fn deref(&self) -> &TestServer {
        &self.server
    }
}

impl Guarded {
    pub fn admin(&self, method: &str, path: &str) -> Request {
        self.with(ADMIN, method, path)
    }

    pub fn with(&self, credential: &str, method: &str, path: &str) -> Request {
        let request = self.request(Method::from_bytes(method.as_bytes()).expect("a method"), path);
        request.header("authorization", format!("Bearer {credential}"))
    }

    pub async fn key(&self, grant: Value) -> String {
        let mut body = json!({"name": "a test"});
        body.as_object_mut().expect("an object").extend(grant.as_object().expect("an object").clone());
        let answer = self.with(ADMIN, "POST", "/v1/keys").json(body).await.expect(201);
        answer.json()["key"].as_str().expect("a key").to_owned()
    }

    async fn token(&self, key: &str, body: Value) -> String {
        let answer = self.with(key, "POST", "/v1/tokens").json(body).await.expect(201);
        answer.json()["token"].as_str().expect("a token").to_owned()
    }

    /// A session `s` with an event `e`, state in all scopes and metadata, of each of these users.
    pub async fn fill(&self, users: &[(&str, &str)]) {
        for (app, user) in users {
            let body = json!({
                "sessionId": "s", "state": {"k": 1, "user:k": 2, "app:k": 3}, "events": [{"id": "e", "author": "agent"}],
            });
            self.with(ADMIN, "POST", &format!("/v1/apps/{app}/users/{user}/sessions")).json(body).await.expect(201);
        }
    }

    /// Until the credential does not hold any more.
    async fn until_refused(&self, credential: &str) {
        for _ in 0..100 {
            if self.with(credential, "GET", "/v1/whoami").await.status() == 401 {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!("the credential still holds");
    }
}

/// All that an answer tells, but for what differs from request to request.
pub fn told(answer: &Answer) -> (u16, Vec<(String, String)>, String) {
    let id = answer.header("x-request-id").unwrap_or_default().to_owned();
    let headers = answer.headers().iter().filter(|(name, _)| !matches!(name.as_str(), "x-request-id" | "date"));
    let headers =
        headers.map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
    (answer.status(), headers.collect(), answer.text().replace(&id, "ID"))
}

/// Each operation that asks for a credential: method, path, and whether it reads.
pub fn operations() -> Vec<(String, String, bool)> {
    let mut all = Vec::new();
    for (path, item) in document()["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("a path") {
            if operation["security"] == json!([]) {
                continue;
            }
            let reads = matches!(&**method, "get" | "head") || path.ends_with("/render");
            all.push((method.to_uppercase(), path.clone(), reads));
        }
    }
    assert!(all.len() > 50, "{}", all.len());
    all
}

pub fn filled(method: &str, path: &str, app: &str, user: &str, session: &str) -> String {
    let query = if method == "DELETE" && path.ends_with("/lease") { "?epoch=1" } else { "" };
    let path = path.replace("{app}", app).replace("{user}", user).replace("{session}", session);
    let path = path.replace("{event}", "e").replace("{key}", "k").replace("{artifact}", "f").replace("{version}", "0");
    path.replace("{id}", "aaaaaaaaaaaa") + query
}

/// A body that the operation takes.
pub fn body_of(method: &str, path: &str) -> Option<Value> {
    Some(match (method, path.rsplit('/').next()?) {
        ("POST", "sessions") | ("PUT", "{session}") | ("POST", "fork" | "{session}") => json!({}),
        ("POST", "events") => json!({"author": "user"}),
        ("POST", "rewind") => json!({"toRevision": 0}),
        ("POST", "trim") => json!({"keepLast": 1}),
        ("POST", "redact") => json!({"reason": "why"}),
        ("POST", "lease") => json!({"owner": "o"}),
        ("PUT", "lease") => json!({"epoch": 1, "ttl": 60}),
        ("POST", "render") => json!({"template": "{k}"}),
        ("PATCH", "{session}") if path.starts_with("/apps") => json!({"stateDelta": {"k": 2}}),
        ("PATCH", "{session}") => json!({"displayName": "n"}),
        ("PATCH", "state") => json!({"stateDelta": {"k": 2}}),
        ("PUT", "{key}") => json!(2),
        ("PUT", "policy") => json!({}),
        ("PUT", "{artifact}") => json!("a file"),
        ("POST", "artifacts") if path.starts_with("/apps") => json!({"filename": "f", "artifact": {"text": "a file"}}),
        ("POST", "artifacts") => json!({"name": "f", "part": {"text": "a file"}}),
        ("POST", "keys") => json!({"name": "n", "role": "reader", "apps": ["a"]}),
        ("PATCH", "{id}") => json!({"name": "n"}),
        ("POST", "erasure") => json!({}),
        ("POST", "tokens" | "revoke") => json!({"app": "a", "user": "u"}),
        _ => return None,
    })
}

on_both_databases! {
    async fn what_needs_a_credential_is_kept_from_shared_caches(server: &Guarded) {
        server.fill(&[("a", "u")]).await;
        let open = server.get("/v1/info").await;
        assert_eq!((open.status(), open.header("cache-control")), (401, Some("private, no-cache")));
        for (method, path, reads) in operations() {
            let secret = method == "POST" && matches!(&*path, "/v1/keys" | "/v1/tokens");
            for session in ["s", "none"] {
                let path = filled(&method, &path, "a", "u", session);
                let ask = |credential: Option<&str>, method: &str| {
                    let request = match credential {
                        Some(credential) => server.with(credential, method, &path),
                        None => server.request(Method::from_bytes(method.as_bytes()).expect("a method"), &path),
                    };
                    match body_of(method, &path.replace("/s/", "/{session}/")) {
                        _ if path.ends_with("/import") => request.body("application/x-ndjson", ""),
                        Some(body) => request.json(body),
                        None => request,
                    }
                };
                // Before the credential is looked at, nobody knows what would be shown.
                let refused = ask(None, &method).await.expect(401);
                assert_eq!(refused.header("cache-control"), Some("private, no-cache"), "{method} {path}");
                let methods: &[&str] = if reads && method == "GET" { &["GET", "HEAD"] } else { &[&method] };
                for method in methods {
                    // The whole of a watch never comes.
                    let answer = ask(Some(ADMIN), method).stream().await;
                    let status = answer.status().as_u16();
                    let expected = match () {
                        () if path.ends_with("/watch") && status == 200 => "no-store, no-transform",
                        () if secret && status == 201 => "no-store",
                        () => "private, no-cache",
                    };
                    let told = answer.headers().get_all("cache-control").iter().collect::<Vec<_>>();
                    assert_eq!(told, [expected], "{method} {path}: {status}");
                }
            }
        }
        for (method, path) in [("GET", "/nothing"), ("POST", "/v1/whoami"), ("GET", "/v1/whoami?x=1")] {
            let answer = server.admin(method, path).await;
            assert_eq!(answer.header("cache-control"), Some("private, no-cache"), "{answer}");
        }
        let session = server.admin("GET", "/v1/apps/a/users/u/state").await.expect(200);
        let again = server.admin("GET", "/v1/apps/a/users/u/state").header("if-none-match", session.etag()).await;
        assert_eq!((again.status(), again.header("cache-control")), (304, Some("private, no-cache")));
    }

    async fn without_a_valid_credential_nothing_is_told(server: &Guarded) {
        server.fill(&[("a", "u")]).await;
        let expired = server.key(json!({"role": "admin", "apps": ["*"], "expireTime": 1})).await;
        let revoked = server.key(json!({"role": "admin", "apps": ["*"]})).await;
        let id = server.with(&revoked, "GET", "/v1/whoami").await.json()["id"].as_str().expect("an id").to_owned();
        server.with(ADMIN, "DELETE", &format!("/v1/keys/{id}")).await.expect(204);
        let good = server.key(json!({"role": "admin", "apps": ["*"]})).await;
        let mut changed = good.clone();
        changed.pop();
        let credentials = [
            "", "garbage", "sdk_garbage", "sdu_garbage.garbage", "a.b.c", &changed, &expired, &revoked,
            "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1In0.",
        ];
        let first = told(&server.get("/v1/whoami").await);
        assert_eq!((first.0, first.1.iter().any(|(name, _)| name == "www-authenticate")), (401, true));
        for (method, path, _) in operations() {
            for session in ["s", "missing"] {
                let path = filled(&method, &path, "a", "u", session);
                let request = server.request(Method::from_bytes(method.as_bytes()).expect("a method"), &path);
                assert_eq!(request.await.status(), 401, "{method} {path}");
            }
        }
        for credential in credentials {
            let answer = server.with(credential, "GET", "/v1/apps/a/users/u/sessions/s").await;
            assert_eq!(told(&answer), first, "{credential}");
        }
        // Unknown paths and methods, and paths that cannot be read, are behind it too.
        for path in ["/nowhere", "/v1/apps//state", "/v1/apps/%zz/state", "/consoles", "/v1/info", "/v1/apps?bogus=1"] {
            Client::new(server.address()).unchecked().get(path).await.expect(401);
        }
        server.with(ADMIN, "GET", "/nowhere").await.problem(404, "not_found");
        server.with(ADMIN, "PUT", "/v1/apps").await.problem(405, "method_not_allowed");
        server.with(ADMIN, "GET", "/v1/apps?bogus=1").await.problem(422, "invalid_argument");
        for open in ["/healthz", "/readyz", "/openapi.yaml", "/openapi-adk.yaml", "/docs", "/health", "/version"] {
            server.get(open).await.expect(200);
            server.with("garbage", "GET", open).await.expect(200);
        }
        for page in ["/", "/console/", "/console/index.html"] {
            Client::new(server.address()).unchecked().get(page).header("authorization", "Bearer garbage").await.expect(200);
        }
    }

    async fn a_credential_comes_alone_and_in_its_header(server: &Guarded) {
        let two = server.with(ADMIN, "GET", "/v1/whoami").header("authorization", format!("Bearer {ADMIN}"));
        two.await.problem(400, "invalid_request");
        Client::new(server.address()).unchecked().get(format!("/v1/whoami?access_token={ADMIN}")).await.problem(400, "invalid_request");
        server.with(ADMIN, "GET", "/v1/apps?access_token=x").await.problem(400, "invalid_request");
        for (value, status) in [
            (format!("bearer {ADMIN}"), 200),
            (format!("Bearer  {ADMIN} "), 200),
            (format!("Basic {ADMIN}"), 401),
            (ADMIN.to_owned(), 401),
            (format!("Bearer {ADMIN}, Bearer {ADMIN}"), 401),
        ] {
            server.get("/v1/whoami").header("authorization", &value).await.expect(status);
        }
    }

    async fn outside_of_a_grant_nothing_can_be_told_from_what_is_missing(server: &Guarded) {
        server.fill(&[("a", "u"), ("a", "other"), ("foreign", "u")]).await;
        let mut clients = Vec::new();
        for role in ["reader", "user", "agent", "operator", "admin"] {
            clients.push((role, server.key(json!({"role": role, "apps": ["a", "empty"], "users": ["u"]})).await));
        }
        let agent = clients[2].1.clone();
        clients.push(("token", server.token(&agent, json!({"app": "a", "user": "u"})).await));
        for (role, client) in &clients {
            for (method, template, reads) in operations() {
                if !template.contains("{app}") {
                    continue;
                }
                let ask = async |app: &str, user: &str, session: &str| {
                    let request = server.with(client, &method, &filled(&method, &template, app, user, session));
                    let mut told = match body_of(&method, &template) {
                        Some(body) => told(&request.json(body).await),
                        None => told(&request.await),
                    };
                    // The head of an export repeats what was asked for, and tells the time.
                    if let Some((_, rest)) = told.2.split_once('\n').filter(|_| template.ends_with("/export") && told.0 == 200) {
                        told.2 = rest.to_owned();
                    }
                    told
                };
                let foreign = ask("foreign", "u", "s").await;
                let mut alike = vec![ask("missing", "u", "s").await, ask("foreign", "nobody", "missing").await];
                if template.contains("{user}") {
                    alike.push(ask("a", "other", "s").await);
                    alike.push(ask("a", "nobody", "s").await);
                }
                if reads {
                    // As what is missing within the grant, too.
                    alike.push(ask("empty", "u", "missing").await);
                } else {
                    assert_eq!(foreign.0, 403, "{role} {method} {template}");
                }
                for other in alike {
                    assert_eq!(other, foreign, "{role} {method} {template}");
                }
            }
        }
        // Nothing of it was written.
        for (app, user) in [("a", "other"), ("foreign", "u")] {
            let session = server.with(ADMIN, "GET", &format!("/v1/apps/{app}/users/{user}/sessions/s")).await.json();
            assert_eq!(session["revision"], 1);
        }
        // A foreign render is refused for its body as one of nothing is.
        for (app, status) in [("foreign", 422), ("a", 422)] {
            let path = format!("/v1/apps/{app}/users/u/sessions/missing/render");
            server.with(&clients[0].1, "POST", &path).json(json!({})).await.expect(status);
        }
    }

    async fn each_role_may_do_what_the_table_says(server: &Guarded) {
        const ROLES: [&str; 5] = ["reader", "user", "agent", "operator", "admin"];
        let needed = |method: &str, path: &str, reads: bool| match (path, method) {
            ("/v1/keys" | "/v1/keys/{id}", _) => 4,
            (path, _) if path.starts_with("/v1/erasures") || path.ends_with("/erasure") => 3,
            ("/v1/tokens" | "/v1/tokens/revoke", _) | ("/v1/apps/{app}/state", "PATCH") => 2,
            ("/v1/apps/{app}/state/{key}", "PUT" | "DELETE") => 2,
            ("/v1/requests" | "/v1/import" | "/v1/apps/{app}/policy", _) => 3,
            (path, _) if ["/export", "/trim", "/redact"].iter().any(|end| path.ends_with(end)) => 3,
            (path, _) if path.ends_with("/lease") && !reads => 2,
            _ => usize::from(!reads),
        };
        for (at, role) in ROLES.iter().enumerate() {
            server.fill(&[(*role, "u")]).await;
            let users = if *role == "user" { json!(["u"]) } else { json!(["*"]) };
            let client = server.key(json!({"role": role, "apps": [role], "users": users})).await;
            for (method, template, reads) in operations() {
                // It would not end. Its HEAD is judged as it is.
                if template.ends_with("/watch") && method == "GET" {
                    continue;
                }
                let request = server.with(&client, &method, &filled(&method, &template, role, "u", "s"));
                let answer = match body_of(&method, &template) {
                    Some(mut body) => {
                        if body["app"] == "a" {
                            body["app"] = json!(role);
                        }
                        if body["apps"] == json!(["a"]) {
                            body["apps"] = json!([role]);
                        }
                        request.json(body).await
                    }
                    None => request.await,
                };
                let may = at >= needed(&method, &template, reads);
                assert_eq!(answer.status() != 403, may, "{role} {method} {template}: {}", answer.text());
                assert!(answer.status() != 401 && answer.status() < 500, "{role} {method} {template}");
                if !may && method != "HEAD" {
                    let detail = answer.json()["detail"].as_str().expect("a detail").to_owned();
                    assert!(detail.contains(ROLES[needed(&method, &template, reads)]), "{detail}");
                }
                // What was deleted, or made, is as before.
                if (method == "DELETE" && template.ends_with("{session}") || template.ends_with("/erasure")) && may {
                    server.fill(&[(*role, "u")]).await;
                }
            }
        }
    }

    async fn the_role_user_speaks_as_the_user_and_leaves_the_app_alone(server: &Guarded) {
        let client = server.key(json!({"role": "user", "apps": ["a"], "users": ["u"]})).await;
        let sessions = "/v1/apps/a/users/u/sessions";
        let session = format!("{sessions}/s");
        server.with(&client, "POST", sessions).json(json!({"sessionId": "s", "state": {"user:k": 1, "k": 1}})).await.expect(201);
        let filled_in = server.with(&client, "POST", &format!("{session}/events")).json(json!({"id": "e"})).await.expect(201);
        assert_eq!(filled_in.json()["author"], "user");
        let again = server.with(&client, "POST", &format!("{session}/events")).json(json!({"id": "e", "author": "user"}));
        assert!(again.await.expect(200).was_replayed());
        for actions in [
            json!({"stateDelta": {"k": 2, "user:k": 2, "temp:k": 1}}),
            json!({"stateOps": [{"op": "increment", "key": "n", "value": 1}], "artifactDelta": {}, "escalate": null, "x": [], "y": ""}),
            json!({"preconditions": [{"key": "k", "exists": true}], "stateDelta": {"lg": 1, "app/k": 1}}),
        ] {
            let parts = json!([{"text": "t"}, {"inline_data": {"mime_type": "text/plain", "data": "aGk="}}]);
            let content = json!({"role": "user", "parts": parts});
            let event = json!({"actions": actions, "content": content, "customMetadata": {"mine": 1}});
            server.with(&client, "POST", &format!("{session}/events")).json(event).await.expect(201);
        }
        let revision = server.with(&client, "GET", &session).await.json()["revision"].clone();
        for (method, path, body) in [
            ("POST", "/events", json!({"author": "agent"})),
            ("POST", "/events", json!({"author": ""})),
            ("POST", "/events", json!([{"author": "user"}, {"author": "agent"}])),
            ("POST", "/events", json!({"author": "agent", "partial": true})),
            ("POST", "/events", json!({"actions": {"stateDelta": {"app:k": 1}}})),
            ("POST", "/events", json!({"actions": {"stateOps": [{"op": "remove", "key": "app:k"}]}})),
            ("POST", "/events", json!({"actions": {"transferToAgent": "x"}})),
            ("POST", "/events", json!({"actions": {"escalate": true}})),
            ("POST", "/events", json!({"actions": {"requestedToolConfirmations": {"c": {}}}})),
            ("POST", "/events", json!({"actions": {"my_own": 1}})),
            ("POST", "/events?outputKey=app:k", json!({"author": "user", "content": {"parts": [{"text": "t"}]}})),
            // What the agent, a tool or an adapter says.
            ("POST", "/events", json!({"content": {"role": "model", "parts": [{"text": "t"}]}})),
            ("POST", "/events", json!({"content": {"role": "system"}})),
            ("POST", "/events", json!({"content": {"parts": [{"text": "t"}, {"functionCall": {"name": "f"}}]}})),
            ("POST", "/events", json!({"content": {"parts": [{"function_response": {"name": "f", "response": {}}}]}})),
            ("POST", "/events", json!({"content": {"parts": [{"text": "t", "thought": true}]}})),
            ("POST", "/events", json!({"content": {"parts": [{"executable_code": {"code": "1"}}]}, "partial": true})),
            ("POST", "/events?create=true", json!({"customMetadata": {"openai": {"item": {"role": "system"}}}})),
            ("POST", "/events", json!([{"custom_metadata": {"mine": 1, "langgraph": {}}}])),
            ("POST", "/events", json!({"actions": {"stateDelta": {"lg//messages": 1}}})),
            ("POST", "/events", json!({"actions": {"stateOps": [{"op": "remove", "key": "pydantic/record"}]}})),
            ("POST", "/events?outputKey=oai/usage/x", json!({"author": "user", "content": {"parts": [{"text": "t"}]}})),
            ("PATCH", "/state", json!({"stateDelta": {"lg//messages": 1}})),
            ("PUT", "/state/claude%2Fsummary", json!(1)),
            ("PUT", "/artifacts/lg%2F%2Fmessages%40cfad?event=none", json!("bytes")),
            ("PUT", "/artifacts/user:lg%2Fx", json!("bytes")),
            ("POST", "/artifacts", json!({"name": "lg/x", "part": {"text": "t"}})),
            ("PATCH", "/state", json!({"stateDelta": {"app:k": 1}})),
            ("PATCH", "/state", json!({"stateDelta": {"k": 1}, "author": "agent"})),
            ("PUT", "/state/app:k", json!(1)),
            ("PUT", "/state/k?author=agent", json!(1)),
        ] {
            let answer = server.with(&client, method, &format!("{session}{path}")).json(&body).await;
            answer.problem(403, "permission_denied");
        }
        for path in ["/state/app:k", "/state/k?author=agent", "/state/lg%2F%2Fmessages", "/artifacts/lg%2Fx"] {
            server.with(&client, "DELETE", &format!("{session}{path}")).await.problem(403, "permission_denied");
        }
        for (path, body) in [
            (sessions.to_owned(), json!({"state": {"app:k": 1}})),
            (sessions.to_owned(), json!({"events": [{"author": "agent"}]})),
            (sessions.to_owned(), json!({"events": [{"content": {"role": "model"}}]})),
            (sessions.to_owned(), json!({"state": {"lg//messages": 1}})),
            ("/v1/apps/a/users/u/artifacts".to_owned(), json!({"name": "lg/x", "part": {"text": "t"}})),
            ("/apps/a/users/u/sessions".to_owned(), json!({"events": [{"customMetadata": {"claude": {}}}]})),
            ("/apps/a/users/u/sessions/s/artifacts".to_owned(), json!({"filename": "lg/x", "artifact": {"text": "t"}})),
            ("/apps/a/users/u/sessions".to_owned(), json!({"state": {"app:k": 1}})),
            ("/apps/a/users/u/sessions".to_owned(), json!({"events": [{"author": "agent"}]})),
            ("/apps/a/users/u/sessions/t".to_owned(), json!({"app:k": 1})),
        ] {
            server.with(&client, "POST", &path).json(&body).await.problem(403, "permission_denied");
        }
        let patch = server.with(&client, "PATCH", "/apps/a/users/u/sessions/s").json(json!({"stateDelta": {"app:k": 1}}));
        patch.await.problem(403, "permission_denied");
        server.with(&client, "PATCH", "/v1/apps/a/users/u/state").json(json!({"stateDelta": {"k": 3}})).await.expect(200);
        let after = server.with(&client, "GET", &session).await.json();
        assert_eq!(after["revision"], revision);
        assert_eq!(server.with(&client, "GET", "/v1/apps/a/state").await.expect(200).json(), json!({}));
        // It reads what its app shares.
        server.with(ADMIN, "PATCH", "/v1/apps/a/state").json(json!({"stateDelta": {"k": 1}})).await.expect(200);
        assert_eq!(server.with(&client, "GET", "/v1/apps/a/state").await.json(), json!({"k": 1}));
        server.with(&client, "POST", &format!("{session}/rewind")).json(json!({"toRevision": 1})).await.expect(200);
        server.with(&client, "POST", &format!("{session}/fork")).json(json!({"sessionId": "f"})).await.expect(201);
    }

    async fn lists_show_what_is_granted_page_by_page(server: &Guarded) {
        let users: Vec<(String, String)> =
            (0..30).map(|n| (format!("app{}", n % 3), format!("user{n:02}"))).collect();
        let named: Vec<(&str, &str)> = users.iter().map(|(app, user)| (&**app, &**user)).collect();
        server.fill(&named).await;
        let some = server.key(json!({"role": "agent", "apps": ["app1", "app2"], "users": ["user1*", "user04"]})).await;
        let all = async |client: &str, path: &str, list: &str, name: &str| {
            let (mut found, mut token, mut pages) = (Vec::new(), String::new(), Vec::new());
            loop {
                let answer = server.with(client, "GET", &format!("{path}?pageSize=2{token}")).await.expect(200).json();
                let page: Vec<String> =
                    answer[list].as_array().expect("a list").iter().map(|i| i[name].as_str().expect("a name").to_owned()).collect();
                pages.push(page.len());
                found.extend(page);
                match answer["nextPageToken"].as_str() {
                    Some(next) => token = format!("&pageToken={next}"),
                    None => break,
                }
            }
            assert!(pages.iter().rev().skip(1).all(|rows| *rows == 2), "no page is short but the last: {pages:?}");
            found
        };
        assert_eq!(all(&some, "/v1/apps", "apps", "appName").await, ["app1", "app2"]);
        assert_eq!(all(ADMIN, "/v1/apps", "apps", "appName").await, ["app0", "app1", "app2"]);
        let expected = ["user04", "user10", "user13", "user16", "user19"];
        assert_eq!(all(&some, "/v1/apps/app1/users", "users", "userId").await, expected);
        assert_eq!(all(&some, "/v1/apps/app1/sessions", "sessions", "userId").await, expected);
        assert_eq!(all(&some, "/v1/apps/app0/sessions", "sessions", "userId").await, Vec::<String>::new());
        assert_eq!(server.with(&some, "GET", "/list-apps").await.json(), json!(["app1", "app2"]));
        let one = server.key(json!({"role": "user", "apps": ["*"], "users": ["user04"]})).await;
        assert_eq!(all(&one, "/v1/apps/app1/sessions", "sessions", "userId").await, ["user04"]);

        // A page token belongs to the grant.
        let page = server.with(ADMIN, "GET", "/v1/apps/app1/sessions?pageSize=2").await.json();
        let token = page["nextPageToken"].as_str().expect("a token").to_owned();
        let path = format!("/v1/apps/app1/sessions?pageSize=2&pageToken={token}");
        server.with(ADMIN, "GET", &path).await.expect(200);
        server.with(&some, "GET", &path).await.invalid(&["pageToken"]);
    }

    async fn names_are_compared_byte_by_byte(server: &Guarded) {
        let names = ["a/b", "a%2Fb", "caf\u{e9}", "cafe\u{301}", "User", "user", "x ", "x", "*", "u*"];
        for name in names {
            let app = segment(name);
            server.with(ADMIN, "PUT", &format!("/v1/apps/{app}/users/{app}/sessions/s")).json(json!({})).await.expect(201);
        }
        let key = server.key(json!({"role": "agent", "apps": ["*"]})).await;
        for own in names {
            let token = server.token(&key, json!({"app": own, "user": own})).await;
            for name in names {
                let place = segment(name);
                let answer = server.with(&token, "GET", &format!("/v1/apps/{place}/users/{place}/sessions/s")).await;
                assert_eq!(answer.status(), if name == own { 200 } else { 404 }, "{own} reads {name}");
            }
        }
    }

    async fn a_key_is_made_listed_narrowed_and_revoked(server: &Guarded) {
        let made = server.with(ADMIN, "POST", "/v1/keys").json(json!({"name": "n", "role": "agent", "apps": ["a", "b-*"], "ttl": "3600s"}));
        let made = made.await.expect(201).json();
        let (id, key) = (made["id"].as_str().expect("an id").to_owned(), made["key"].as_str().expect("a key").to_owned());
        assert!(key.starts_with(&format!("sdk_{id}_")), "{key}");
        assert_eq!((&made["apps"], &made["users"]), (&json!(["a", "b-*"]), &json!(["*"])));
        assert!(made["expireTime"].as_f64() > made["createTime"].as_f64());
        let whoami = server.with(&key, "GET", "/v1/whoami").await.expect(200).json();
        assert_eq!((&whoami["kind"], &whoami["id"], &whoami["role"]), (&json!("key"), &json!(id), &json!("agent")));
        let list = server.with(ADMIN, "GET", "/v1/keys").await.expect(200);
        assert!(!list.text().contains(&key) && list.json()["keys"][0]["id"] == json!(id));
        let path = format!("/v1/keys/{id}");
        assert!(!server.with(ADMIN, "GET", &path).await.expect(200).text().contains(&key));

        let token = server.token(&key, json!({"app": "a", "user": "u"})).await;
        server.with(&token, "PUT", "/v1/apps/a/users/u/sessions/s").json(json!({})).await.expect(201);
        let narrowed = server.with(ADMIN, "PATCH", &path).json(json!({"role": "reader", "expireTime": null})).await.expect(200);
        assert!(narrowed.json()["expireTime"].is_null() && narrowed.json()["name"] == "n");
        // Its tokens are narrowed with it.
        server.with(&token, "GET", "/v1/apps/a/users/u/sessions/s").await.expect(200);
        server.with(&token, "PATCH", "/v1/apps/a/users/u/sessions/s").json(json!({})).await.problem(403, "permission_denied");
        server.with(ADMIN, "DELETE", &path).await.expect(204);
        server.until_refused(&key).await;
        server.until_refused(&token).await;
        for method in ["GET", "DELETE"] {
            server.with(ADMIN, method, &path).await.problem(404, "not_found");
        }

        for (body, field) in [
            (json!({"role": "agent", "apps": ["a"]}), "name"),
            (json!({"name": "n", "apps": ["a"]}), "role"),
            (json!({"name": "n", "role": "agent"}), "apps"),
            (json!({"name": "n", "role": "king", "apps": ["a"]}), "role"),
            (json!({"name": "n", "role": "agent", "apps": []}), "apps"),
            (json!({"name": "n", "role": "agent", "apps": [""]}), "apps"),
            (json!({"name": "n", "role": "user", "apps": ["a"]}), "users"),
            (json!({"name": "n", "role": "user", "apps": ["a"], "users": ["u*"]}), "users"),
            (json!({"name": "n", "role": "user", "apps": ["a"], "users": ["u", "v"]}), "users"),
            (json!({"name": "n", "role": "agent", "apps": ["a"], "bogus": 1}), "bogus"),
        ] {
            server.with(ADMIN, "POST", "/v1/keys").json(&body).await.invalid(&[field]);
        }
    }

    async fn nothing_goes_beyond_whoever_makes_it(server: &Guarded) {
        let admin = server.key(json!({"role": "admin", "apps": ["a*"], "users": ["u*"], "ttl": 3600})).await;
        for beyond in [
            json!({"apps": ["b"]}), json!({"apps": ["*"]}), json!({"apps": ["a", "b"]}), json!({"users": ["*"]}),
            json!({"users": ["v"]}), json!({"ttl": 7200}), json!({"ttl": null}),
        ] {
            let mut body = json!({"name": "n", "role": "agent", "apps": ["a"], "users": ["u"], "ttl": 60});
            body.as_object_mut().expect("an object").extend(beyond.as_object().expect("an object").clone());
            server.with(&admin, "POST", "/v1/keys").json(&body).await.problem(403, "permission_denied");
        }
        let within = json!({"name": "n", "role": "admin", "apps": ["ab*"], "users": ["u1"], "ttl": 60});
        let made = server.with(&admin, "POST", "/v1/keys").json(within).await.expect(201).json();
        let path = format!("/v1/keys/{}", made["id"].as_str().expect("an id"));
        server.with(&admin, "PATCH", &path).json(json!({"apps": ["*"]})).await.problem(403, "permission_denied");
        // What another one's grant does not hold is not there.
        let below = made["key"].as_str().expect("a key");
        assert_eq!(server.with(below, "GET", "/v1/keys").await.json()["keys"].as_array().map(Vec::len), Some(1));
        let wide = server.with(ADMIN, "POST", "/v1/keys").json(json!({"name": "w", "role": "reader", "apps": ["*"]})).await.json();
        let wide = format!("/v1/keys/{}", wide["id"].as_str().expect("an id"));
        for method in ["GET", "DELETE"] {
            server.with(&admin, method, &wide).await.problem(404, "not_found");
        }

        let agent = server.key(json!({"role": "agent", "apps": ["a"], "users": ["u", "v"]})).await;
        for (body, status) in [
            (json!({"app": "a", "user": "u", "role": "agent"}), 201),
            (json!({"app": "a", "user": "u", "ttl": 86400}), 201),
            (json!({"app": "a", "user": "u", "ttl": 86401}), 422),
            (json!({"app": "a", "user": "u", "role": "operator"}), 403),
            (json!({"app": "b", "user": "u"}), 403),
            (json!({"app": "a", "user": "w"}), 403),
            (json!({"app": "a"}), 422),
        ] {
            server.with(&agent, "POST", "/v1/tokens").json(&body).await.expect(status);
        }
        let token = server.token(&agent, json!({"app": "a", "user": "u", "role": "agent"})).await;
        server.with(&token, "POST", "/v1/tokens").json(json!({"app": "a", "user": "u"})).await.problem(403, "permission_denied");
        let whoami = server.with(&token, "GET", "/v1/whoami").await.json();
        assert_eq!((&whoami["kind"], &whoami["apps"], &whoami["users"]), (&json!("token"), &json!(["a"]), &json!(["u"])));
    }

    async fn tokens_of_a_user_are_revoked_and_new_ones_hold(server: &Guarded) {
        let key = server.key(json!({"role": "agent", "apps": ["a"]})).await;
        let mint = async |user: &str| server.token(&key, json!({"app": "a", "user": user})).await;
        let (before, other) = (mint("u").await, mint("v").await);
        server.with(&before, "GET", "/v1/whoami").await.expect(200);
        server.with(&key, "POST", "/v1/tokens/revoke").json(json!({"app": "a", "user": "u"})).await.expect(204);
        let after = mint("u").await;
        server.until_refused(&before).await;
        server.with(&after, "GET", "/v1/whoami").await.expect(200);
        server.with(&other, "GET", "/v1/whoami").await.expect(200);
        let foreign = server.with(&key, "POST", "/v1/tokens/revoke").json(json!({"app": "b", "user": "u"}));
        foreign.await.problem(403, "permission_denied");
    }

    async fn tokens_of_an_erased_user_are_void(server: &Guarded) {
        let key = server.key(json!({"role": "agent", "apps": ["a"]})).await;
        let operator = server.key(json!({"role": "operator", "apps": ["a"]})).await;
        let of_user = server.key(json!({"role": "user", "apps": ["a"], "users": ["u"]})).await;
        let mint = async |user: &str| server.token(&key, json!({"app": "a", "user": user})).await;
        let (before, other) = (mint("u").await, mint("v").await);
        server.with(&before, "GET", "/v1/whoami").await.expect(200);
        let path = "/v1/apps/a/users/u/erasure";
        let erased = server.with(&operator, "POST", path).json(json!({"block": true})).await.expect(202);
        server.until_refused(&before).await;
        server.with(&other, "GET", "/v1/whoami").await.expect(200);
        // Who speaks as the user is refused as a stranger is.
        let sessions = "/v1/apps/a/users/u/sessions";
        for credential in [&mint("u").await, &of_user] {
            server.with(credential, "POST", sessions).json(json!({})).await.problem(403, "permission_denied");
            let state = server.with(credential, "PATCH", "/v1/apps/a/users/u/state").json(json!({"stateDelta": {"k": 1}}));
            state.await.problem(403, "permission_denied");
        }
        for credential in [&key, &operator] {
            server.with(credential, "POST", sessions).json(json!({})).await.problem(410, "user_erased");
        }
        // Of another app, it is not there.
        let foreign = server.key(json!({"role": "operator", "apps": ["b"]})).await;
        let location = erased.header("location").expect("a location");
        server.with(&operator, "GET", location).await.expect(200);
        server.with(&foreign, "GET", location).await.problem(404, "not_found");
        assert_eq!(server.with(&foreign, "GET", "/v1/erasures").await.expect(200).json()["erasures"], json!([]));
        server.with(&foreign, "POST", path).json(json!({})).await.problem(403, "permission_denied");
    }

    async fn an_admin_key_that_is_replaced_holds_no_more(server: &Guarded) {
        let token = server.token(ADMIN, json!({"app": "a", "user": "u", "role": "admin"})).await;
        let next = "another-admin-key-of-a-test_0123456789";
        std::fs::write(&server.file, next).expect("write the key");
        server.until_refused(ADMIN).await;
        server.until_refused(&token).await;
        server.with(next, "GET", "/v1/whoami").await.expect(200);
        // A file that cannot be used takes nothing away.
        std::fs::write(&server.file, "short").expect("write the key");
        tokio::time::sleep(std::time::Duration::from_secs(6)).await;
        server.with(next, "GET", "/v1/whoami").await.expect(200);
    }

    async fn where_no_credential_is_asked_for_none_is_looked_at(server: &TestServer) {
        let whoami = server.get("/v1/whoami").header("authorization", "Bearer garbage").await.expect(200);
        assert_eq!(whoami.json(), json!({"kind": "none", "role": "admin", "apps": ["*"], "users": ["*"]}));
        for (method, path, body) in [
            (Method::GET, "/v1/keys", None),
            (Method::POST, "/v1/keys", Some(json!({"name": "n", "role": "admin", "apps": ["*"]}))),
            (Method::POST, "/v1/tokens", Some(json!({"app": "a", "user": "u"}))),
        ] {
            let request = server.request(method, path);
            let answer = match body {
                Some(body) => request.json(body).await,
                None => request.await,
            };
            let problem = answer.problem(403, "permission_denied");
            assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains("sessiond keys create")), "{problem}");
        }
    }

    async fn pages_of_other_origins_are_told_by_their_credential(server: &Guarded) with ["--cors-origins=https://app.example"] {
        let foreign = server.with(ADMIN, "GET", "/v1/whoami").header("origin", "https://evil.example").header("host", "evil.example");
        foreign.await.expect(200);
        let preflight = server.request(Method::OPTIONS, "/v1/apps/a/state").header("origin", "https://app.example");
        let preflight = preflight.header("access-control-request-method", "PATCH").await.expect(204);
        let allowed = preflight.header("access-control-allow-headers").expect("headers");
        for header in ["authorization", "last-event-id", "traceparent"] {
            assert!(allowed.split(", ").any(|name| name == header), "{allowed}");
        }
        let unlisted = server.request(Method::OPTIONS, "/v1/apps/a/state").header("origin", "https://evil.example");
        unlisted.header("access-control-request-method", "PATCH").await.expect(401);
    }
}
