//! What `ops/` has for those who watch the service: every metric that it names is there, from the start.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::client::Client;
use crate::support::databases::Place;
use crate::support::process::{Sessiond, free_port};

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).expect("read it")
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
    let args = ["--listen=127.0.0.1:0", "--log-format=json", "--metrics-listen", &listen];
    let mut process = Sessiond::spawn(&args, &[("DATABASE_URL", &place.url())]);
    let url = process.base_url().await;
    // Of requests there is a number once there was one.
    Client::at(&url).get("/v1/apps").await.expect(200);
    let answer = Client::at(&format!("http://{listen}")).unchecked().get("/metrics").await.expect(200);
    let exposed = answer.text();
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
        let missing: Vec<_> = named.into_iter().filter(|name| !there.contains(*name)).collect();
        assert!(missing.is_empty(), "{file} names {missing:?}, and there are {there:?}");
    }
    // Counters begin at 0, so that their first increase is one.
    for counter in ["sessiond_unknown_outcomes_total 0", "sessiond_rejections_total{limit=\"in_flight\"} 0"] {
        assert!(exposed.contains(counter), "{counter}: {exposed}");
    }
}

#[test]
fn every_alert_says_what_to_do() {
    let alerts = read("ops/prometheus/alerts.yml");
    let guide = read("docs/operate.md");
    let names: Vec<&str> = alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(names.len() > 5, "{names:?}");
    for name in names {
        let anchor = format!("runbook: docs/operate.md#{}", name.to_lowercase());
        assert!(alerts.contains(&anchor), "{anchor}");
        assert!(guide.contains(&format!("\n### {name}\n")), "{name}");
    }
}
