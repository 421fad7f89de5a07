//! The listener of `/metrics`. It is separate, so that scrapers take no place among the API's clients.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::routing::get;
use tokio::net::TcpListener;

use crate::config::{Config, MetricsListen};
use crate::http;
use crate::metrics::Metrics;
use crate::origin::OriginPolicy;
use crate::server::{self, ConnectionLimits};

/// Low, because only scrapers connect, and short: this listener must not become a way to exhaust the process.
const METRICS_CONNECTIONS: ConnectionLimits = ConnectionLimits {
    max_connections: 32,
    header_read_timeout: Duration::from_secs(5),
    idle_timeout: Duration::from_secs(120),
    stall_timeout: Duration::from_secs(30),
    min_rate: 4096,
    always_served: &[],
    max_header_bytes: 64 << 10,
    drain_deadline: Duration::from_secs(1),
};

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The older format, the only one that some scrapers accept.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Binds the metrics address of the settings. `None` if metrics are off, or if the default address is taken: a second
/// instance on a machine must start nevertheless.
///
/// # Errors
/// An explicitly configured address cannot be bound.
pub async fn bind(config: &Config) -> io::Result<Option<TcpListener>> {
    let MetricsListen::At(address) = &config.metrics_listen else { return Ok(None) };
    let bound = match address.resolve().await {
        Ok(addresses) => TcpListener::bind(&addresses[..]).await,
        Err(error) => Err(error),
    };
    match bound {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if config.metrics_explicit => {
            Err(io::Error::new(error.kind(), format!("cannot serve metrics on {address}: {error}")))
        }
        Err(error) => {
            tracing::warn!(%address, %error, "no metrics: the default metrics address cannot be bound");
            Ok(None)
        }
    }
}

/// Serves `GET /metrics` on `listener` until `shutdown` resolves; returns within about a second of it. Refuses requests
/// that are foreign by `origins`.
pub async fn serve(
    listener: TcpListener,
    metrics: Arc<Metrics>,
    origins: Arc<OriginPolicy>,
    shutdown: impl Future<Output = ()>,
) {
    let router = Router::new().route("/metrics", get(scrape)).with_state(metrics.clone());
    let router = http::guarded(router, origins, metrics);
    // These connections do not count in `sessiond_http_connections`.
    server::serve(listener, router, METRICS_CONNECTIONS, Arc::new(()), http::refusal, shutdown).await;
}

async fn scrape(State(metrics): State<Arc<Metrics>>, headers: HeaderMap) -> ([(HeaderName, &'static str); 2], String) {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let accepted = accepted.collect::<Vec<_>>().join(",").to_ascii_lowercase();
    let (format, text) = match asks_for_text(&accepted) {
        true => (TEXT, as_text(&metrics.encode())),
        false => (OPENMETRICS, metrics.encode()),
    };
    ([(header::CONTENT_TYPE, format), (header::VARY, "accept")], text)
}

/// Whether a scraper accepts plain text and does not name OpenMetrics.
fn asks_for_text(accept: &str) -> bool {
    let mut ranges = accept.split(',').map(|range| range.split(';').next().unwrap_or_default().trim());
    let (mut text, mut openmetrics) = (false, false);
    ranges.by_ref().for_each(|range| match range {
        "text/plain" | "text/*" => text = true,
        "application/openmetrics-text" | "application/*" => openmetrics = true,
        _ => {}
    });
    text && !openmetrics
}

/// Converts to Prometheus' text format 0.0.4, in which a counter has the name of its samples, and there are no units,
/// no infos and no end mark.
fn as_text(openmetrics: &str) -> String {
    let kinds: HashMap<&str, &str> = openmetrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ").and_then(|described| described.split_once(' ')))
        .collect();
    let mut text = String::with_capacity(openmetrics.len());
    for line in openmetrics.lines() {
        let described = ["# HELP ", "# TYPE "].iter().find_map(|mark| Some((*mark, line.strip_prefix(mark)?)));
        if let Some((mark, described)) = described {
            let (name, rest) = described.split_once(' ').unwrap_or((described, ""));
            let suffix = match kinds.get(name) {
                Some(&"counter") => "_total",
                Some(&"info") => "_info",
                _ => "",
            };
            let rest = match (mark, rest) {
                ("# TYPE ", "info" | "stateset") => "gauge",
                ("# TYPE ", "unknown") => "untyped",
                (_, rest) => rest,
            };
            text.push_str(&format!("{mark}{name}{suffix} {rest}\n"));
        } else if !line.starts_with('#') {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;

    async fn ask(address: std::net::SocketAddr, head: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(format!("{head} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").as_bytes())
            .await
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[test]
    fn a_scraper_that_names_no_openmetrics_gets_text() {
        for (accept, text) in [
            ("", false),
            ("*/*", false),
            ("text/plain", true),
            ("text/plain;version=0.0.4;q=0.5,*/*;q=0.1", true),
            ("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2", false),
            ("text/html", false),
        ] {
            assert_eq!(asks_for_text(accept), text, "{accept}");
        }
    }

    #[tokio::test]
    async fn the_listener_serves_one_path_and_stops() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let server = tokio::spawn(serve(listener, Arc::new(Metrics::new()), Arc::default(), async {
            let _ = stopped.await;
        }));
        let answer = ask(address, "GET /metrics").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains(OPENMETRICS), "{answer}");
        assert!(answer.ends_with("# EOF\n"), "{answer}");
        let text = ask(address, "GET /metrics HTTP/1.1\r\naccept: text/plain;version=0.0.4\r\nx:").await;
        assert!(text.contains(TEXT), "{text}");
        for line in [
            "# TYPE sessiond_http_connections gauge",
            "# TYPE sessiond_rejections_total counter",
            "# HELP sessiond_rejections_total ",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert!(
            !text.contains("# EOF")
                && !text.contains("# UNIT")
                && text.contains("sessiond_rejections_total{limit=\"host\"} 0\n"),
            "{text}"
        );
        assert!(ask(address, "GET /").await.starts_with("HTTP/1.1 404 "));
        assert!(ask(address, "POST /metrics").await.starts_with("HTTP/1.1 405 "));
        for foreign in ["host: evil.example", "host: localhost\r\norigin: http://evil.example"] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let head = format!("GET /metrics HTTP/1.1\r\n{foreign}\r\nconnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
            assert!(answer.contains("permission_denied") && answer.contains("x-request-id"), "{answer}");
        }
        let rejected = r#"sessiond_rejections_total{limit="host"} 1"#;
        assert!(ask(address, "GET /metrics").await.contains(rejected));
        stop.send(()).unwrap();
        server.await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }
}
