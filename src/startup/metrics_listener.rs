//! The listener of `/metrics`, apart from the service's: scrapers need no place among the clients.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::routing::get;
use tokio::net::TcpListener;

use crate::config::{Config, MetricsListen};
use crate::http;
use crate::metrics::Metrics;
use crate::origin::Policy;
use crate::server::{self, ConnectionLimits};

/// Few, as only scrapers come here, and short-lived: this listener must not become a way to exhaust the process.
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

/// Binds the metrics address of the settings; `None` if metrics are off, or if the default address cannot be had:
/// a second instance on one machine must start without ado.
///
/// # Errors
/// An address that was asked for cannot be bound.
pub async fn bind(config: &Config) -> io::Result<Option<TcpListener>> {
    let MetricsListen::At(address) = &config.metrics_listen else { return Ok(None) };
    let bound = match address.resolve().await {
        Ok(addresses) => TcpListener::bind(&addresses[..]).await,
        Err(error) => Err(error),
    };
    match bound {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if config.metrics_listen_is_explicit() => {
            Err(io::Error::new(error.kind(), format!("cannot serve metrics on {address}: {error}")))
        }
        Err(error) => {
            tracing::warn!(%address, %error, "no metrics: the default metrics address cannot be bound");
            Ok(None)
        }
    }
}

/// Serves `GET /metrics` on `listener` until `shutdown` resolves; returns within about a second of it. What is foreign by
/// `origins` is refused.
pub async fn serve(
    listener: TcpListener,
    metrics: Arc<Metrics>,
    origins: Arc<Policy>,
    shutdown: impl Future<Output = ()>,
) {
    let router = Router::new().route("/metrics", get(scrape)).with_state(metrics.clone());
    let router = http::guarded(router, origins, metrics);
    // Its connections are not those of `sessiond_http_connections`.
    server::serve(listener, router, METRICS_CONNECTIONS, Arc::new(()), http::refusal, shutdown).await;
}

async fn scrape(State(metrics): State<Arc<Metrics>>) -> ([(header::HeaderName, &'static str); 1], String) {
    ([(header::CONTENT_TYPE, OPENMETRICS)], metrics.encode())
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
