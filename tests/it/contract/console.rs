//! Pages for people: `/` and the console's files. Also `/v1/info`.

use serde_json::json;

use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

on_both_databases! {
    async fn the_first_page_tells_where_to_go_on(server: &TestServer) {
        let page = server.get("/").await.expect(200);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        let database = server.get("/v1/info").await.expect(200).json()["database"].clone();
        for part in ["href=\"console/\"", "rel=\"icon\" href=\"console/icon.svg\"", "href=\"docs\"", env!("CARGO_PKG_VERSION"), database.as_str().unwrap()] {
            assert!(page.text().contains(part), "{part}");
        }
        assert!(page.text().contains(&format!("curl -X POST http://{}/v1/apps/demo", server.address())));
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        server.head("/").await.expect(200);
    }

    async fn the_console_is_files_with_a_strict_policy(server: &TestServer) {
        let entrance = server.raw(b"GET /console HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await;
        assert_eq!(entrance.expect(308).header("location"), Some("console/"));
        let page = server.get("/console/").await.expect(200);
        let policy = page.header("content-security-policy").unwrap();
        for part in ["default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'", "trusted-types 'none'"] {
            assert!(policy.contains(part), "{part}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        let tag = page.header("etag").unwrap().to_owned();
        assert!(tag.starts_with('"'), "{tag}");
        let again = server.get("/console/").header("if-none-match", &tag).await.expect(304);
        assert_eq!((again.header("etag"), again.text()), (Some(&*tag), ""));
        assert_eq!(server.get("/console/index.html").await.expect(200).text(), page.text());
        server.get("/console/..%2fCargo.toml").await.problem(404, "not_found");
        server.get("/console/none.js").await.problem(404, "not_found");
        server.post("/console/").await.problem(405, "method_not_allowed");
    }

    async fn links_of_the_console_are_in_the_info(server: &TestServer)
        with ["--console-link=Trace=https://t.example/{session}?i={invocation},Wiki=http://w/{app}"] {
        let info = server.get("/v1/info").await.expect(200).json();
        let link = |name: &str, url: &str| json!({"name": name, "url": url});
        let both = [link("Trace", "https://t.example/{session}?i={invocation}"), link("Wiki", "http://w/{app}")];
        assert_eq!(info["links"], json!(both));
    }

    async fn requests_are_counted_by_route_and_status(server: &TestServer) {
        server.get("/v1/apps/of-nobody/users").await.expect(200);
        let counts = server.get("/v1/requests").await.expect(200).json();
        let route = json!({"method": "GET", "route": "/v1/apps/{app}/users", "status": 200, "count": 1});
        assert!(counts["requests"].as_array().unwrap().contains(&route), "{counts}");
        assert!(!counts.to_string().contains("of-nobody"));
    }

    async fn the_feed_is_a_feature_while_it_is_on(server: &TestServer) with ["--feed-retention=1d"] {
        let info = server.get("/v1/info").await.expect(200).json();
        assert!(info["features"].as_array().unwrap().contains(&json!("feed")));
        server.get("/v1/feed").await.expect(200);
    }

    async fn without_a_feed_it_is_no_feature(server: &TestServer) with ["--feed-retention=0"] {
        let info = server.get("/v1/info").await.expect(200).json();
        assert!(!info["features"].as_array().unwrap().contains(&json!("feed")));
        server.get("/v1/feed").await.problem(404, "feed_disabled");
    }

    async fn info_tells_version_database_features_and_limits(server: &TestServer) {
        let info = server.get("/v1/info").await.expect(200).json();
        assert_eq!(info["version"], env!("CARGO_PKG_VERSION"));
        assert!(["sqlite", "postgresql"].contains(&info["database"].as_str().unwrap()));
        for feature in ["watch", "wait", "leases", "fork", "rewind", "console"] {
            assert!(info["features"].as_array().unwrap().contains(&json!(feature)), "{feature}");
        }
        assert_eq!(info["limits"]["eventBytes"], json!(4 << 20));
        server.get("/v1/info?bogus=1").await.problem(422, "invalid_argument");
    }
}
