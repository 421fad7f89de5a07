//! The files in `ops/`: every metric that they name exists from the start.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::support::client::{Client, EVENTS, ONE, PATIENCE};
use crate::support::databases::Place;
use crate::support::postgres::{address, database, through};
use crate::support::process::{Sessiond, free_port};
use crate::support::proxy::TcpProxy;

const KEY: &str = "an-admin-key-of-a-test_0123456789abcdef";

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(crate::support::ROOT).join(name)).expect("read it")
}

/// The words in a text that begin with one of these and go on as names of metrics do.
fn metrics_in(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("sessiond_") || word.starts_with("process_")).collect()
}

#[tokio::test]
async fn every_metric_that_is_watched_is_there_from_the_start() {
    let place = Place::sqlite();
    let listen = format!("127.0.0.1:{}", free_port());
    let args = ["--listen=127.0.0.1:0", "--log-format=json", "--metrics-listen", &listen, "--audit-log=/dev/full"];
    let mut process = Sessiond::spawn(&args, &[("DATABASE_URL", &place.url())]);
    let api = Client::at(&process.base_url().await);
    let metrics = Client::at(&format!("http://{listen}")).unchecked();
    let scrape = async || metrics.get("/metrics").await.expect(200).text().to_owned();
    // Counters begin at 0, so that their first increase is one.
    let begun = scrape().await;
    for counter in [
        r#"sessiond_unknown_outcomes_total 0"#,
        r#"sessiond_rejections_total{limit="in_flight"} 0"#,
        r#"sessiond_problems_total{code="internal"} 0"#,
        r#"sessiond_problems_total{code="not_found"} 0"#,
        r#"sessiond_background_failures_total{task="sweep"} 0"#,
        r#"sessiond_background_failures_total{task="access_log"} 0"#,
    ] {
        assert!(begun.contains(counter), "{counter}: {begun}");
    }
    // Of requests there is a number once there was one.
    api.get("/v1/apps").await.expect(200);
    api.get("/none").await.expect(404);
    api.put(ONE).json("{}").await.expect(201);
    api.get(format!("{EVENTS}?wait=1")).await.expect(200);
    let exposed = scrape().await;
    for counter in [
        r#"sessiond_problems_total{code="not_found"} 1"#,
        r#"sessiond_background_failures_total{task="access_log"} 4"#,
        r#"sessiond_http_requests_total{method="GET",route="/v1/apps/{app}/users/{user}/sessions/{session}/events",status="200"} 1"#,
    ] {
        assert!(exposed.contains(counter), "{counter}: {exposed}");
    }
    // A request that waited is no slow one.
    let slow =
        exposed.lines().find(|line| line.starts_with("sessiond_http_request_duration") && line.contains("/events"));
    assert_eq!(slow, None);
    let families = exposed.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let there: BTreeSet<String> = families
        .flat_map(|(name, kind)| match kind {
            "counter" => vec![format!("{name}_total")],
            "histogram" => ["_bucket", "_sum", "_count"].map(|end| format!("{name}{end}")).to_vec(),
            "info" => vec![format!("{name}_info")],
            _ => vec![name.to_owned()],
        })
        .collect();
    for file in ["ops/grafana/sessiond.json", "ops/prometheus/alerts.yml"] {
        let text = read(file);
        let named = metrics_in(&text);
        assert!(named.len() > 5, "{file}: {named:?}");
        // Only a distributed database has nodes.
        let is_there = |name: &&str| there.contains(*name) || *name == "sessiond_database_nodes";
        let missing: Vec<_> = named.into_iter().filter(|name| !is_there(name)).collect();
        assert!(missing.is_empty(), "{file} names {missing:?}, and there are {there:?}");
    }
}

/// Once what each task needs is away.
#[tokio::test(flavor = "multi_thread")]
async fn what_fails_beside_requests_is_counted() {
    let database = database().await;
    let proxy = TcpProxy::start(address(&database.url));
    let key = std::env::temp_dir().join(format!("sessiond-key-{}", uuid::Uuid::new_v4()));
    fs::write(&key, KEY).expect("write the key");
    let listen = format!("127.0.0.1:{}", free_port());
    let key_file = format!("--admin-key-file={}", key.display());
    let args = [
        "--listen=127.0.0.1:0",
        "--metrics-listen",
        &listen,
        "--sweep-interval=100ms",
        "--feed-retention=1h",
        &key_file,
        "--jwt-issuer=https://issuer.example.com",
        "--jwt-audience=sessions",
        "--jwt-apps=app",
        "--jwt-jwks-file=/dev/null",
    ];
    let url = through(&database.url, proxy.addr());
    let mut process = Sessiond::spawn(&args, &[("DATABASE_URL", &*url)]);
    let api = Client::at(&process.base_url().await);
    api.put(ONE).bearer(KEY).json("{}").await.expect(201);
    let _watch = api.get(format!("{ONE}/watch")).bearer(KEY).stream().await;
    fs::remove_file(&key).expect("remove the key");
    proxy.cut();
    let metrics = Client::at(&format!("http://{listen}")).unchecked();
    let counted = async {
        for task in ["sweep", "feed", "watch_poll", "issuer_keys", "admin_key"] {
            let counter = format!("sessiond_background_failures_total{{task=\"{task}\"}} ");
            let count = async || {
                let scrape = metrics.get("/metrics").await.expect(200);
                let line = scrape.text().lines().find_map(|line| line.strip_prefix(&counter)).map(str::to_owned);
                line.and_then(|count| count.parse::<u64>().ok()).expect("a count")
            };
            while count().await == 0 {
                sleep(Duration::from_millis(50)).await;
            }
        }
    };
    timeout(PATIENCE, counted).await.expect("each is counted");
}

#[test]
fn every_alert_says_what_to_do_and_is_tested() {
    let alerts = read("ops/prometheus/alerts.yml");
    let tests = read("ops/prometheus/alerts.test.yml");
    let guide = read("docs/operate.md");
    let names: Vec<&str> = alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(names.len() > 5, "{names:?}");
    for name in names {
        let anchor = format!("runbook_url: docs/operate.md#{}", name.to_lowercase());
        assert!(alerts.contains(&anchor), "{anchor}");
        assert!(guide.contains(&format!("\n### {name}\n")), "{name}");
        assert!(tests.contains(&format!("{{alertname=\"{name}\"")), "{name} is not tested");
    }
}
