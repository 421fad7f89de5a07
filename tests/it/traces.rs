//! Spans of requests, as a collector of OpenTelemetry receives them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::support::client::{Client, EVENTS, ONE, S};
use crate::support::databases::Place;
use crate::support::process::{Sessiond, free_port};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

type Received = Arc<Mutex<Vec<ExportTraceServiceRequest>>>;

/// Takes whatever is posted to `/v1/traces`; its URL.
async fn collector() -> (String, Received) {
    let received = Received::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let taken = received.clone();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let received = taken.clone();
            let take = service_fn(move |request: Request<Incoming>| {
                let received = received.clone();
                async move {
                    assert_eq!((request.method().as_str(), request.uri().path()), ("POST", "/v1/traces"));
                    let body = request.into_body().collect().await?.to_bytes();
                    received.lock().unwrap().push(ExportTraceServiceRequest::decode(body).expect("OTLP"));
                    Ok::<_, hyper::Error>(Response::new(String::new()))
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(connection), take));
        }
    });
    (url, received)
}

const STATE: &str = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE";

/// Starts a server that sends spans, asks it a few things, and stops it, which sends what waits; its log.
async fn asked(args: &[&str], envs: &[(&str, &str)]) -> String {
    let place = Place::sqlite();
    let url = place.url();
    let args = [&["--listen=127.0.0.1:0", "--metrics-listen=off", "--log-format=json"], args].concat();
    let mut process = Sessiond::spawn(&args, &[&[("DATABASE_URL", &*url)], envs].concat());
    let api = Client::at(&process.base_url().await);
    let parent = |sampled: &str| format!("00-{TRACE}-{SPAN}-{sampled}");
    let begin = api.post(S).header("traceparent", parent("01")).header("tracestate", STATE);
    begin.json(r#"{"sessionId":"s"}"#).await.expect(201);
    // A probe has no span.
    api.get("/readyz").header("traceparent", parent("01")).await.expect(200);
    for status in [201, 200] {
        let event = r#"{"id":"e","author":"hush","actions":{"stateDelta":{"hush":"hush"}}}"#;
        api.post(EVENTS).header("traceparent", parent("01")).json(event).await.expect(status);
    }
    api.post(format!("{S}/none/events")).header("traceparent", parent("01")).json("{}").await.expect(404);
    // Its client records nothing.
    api.get(ONE).header("traceparent", parent("00")).await.expect(200);
    process.sigterm();
    process.wait().await;
    let log = process.log();
    place.finish().await;
    log
}

#[tokio::test]
async fn where_spans_go_is_what_the_variables_of_opentelemetry_say() {
    let (url, received) = collector().await;
    let always = ("OTEL_TRACES_SAMPLER", "always_on");
    let to = ("OTEL_EXPORTER_OTLP_ENDPOINT", &*url);
    for envs in [("OTEL_TRACES_EXPORTER", "none"), ("OTEL_SDK_DISABLED", "TRUE")] {
        asked(&[], &[to, always, envs]).await;
        assert!(received.lock().unwrap().is_empty(), "{envs:?}");
    }
    // The one for spans wins over that for all, with its path; what is not known is told, and no more.
    let of_spans = format!("{url}/v1/traces");
    let nowhere = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    let log = asked(
        &[],
        &[
            nowhere,
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &of_spans),
            always,
            ("OTEL_TRACES_EXPORTER", "otlp, zipkin"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ],
    )
    .await;
    assert!(!received.lock().unwrap().is_empty());
    for name in ["OTEL_TRACES_EXPORTER=zipkin", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"] {
        assert!(log.contains(name), "{log}");
    }
    received.lock().unwrap().clear();
    asked(&["--otlp-endpoint", &url], &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:1"), always]).await;
    assert!(!received.lock().unwrap().is_empty());
}

/// Of requests, in their order.
fn spans(received: &Received) -> Vec<Span> {
    named(received, |name| name != BATCH)
}

fn batches(received: &Received) -> Vec<Span> {
    named(received, |name| name == BATCH)
}

const BATCH: &str = "append batch";

fn named(received: &Received, name: impl Fn(&str) -> bool) -> Vec<Span> {
    let requests = received.lock().unwrap();
    let resources = requests.iter().flat_map(|request| &request.resource_spans);
    let mut spans: Vec<Span> =
        resources.flat_map(|resource| &resource.scope_spans).flat_map(|scope| scope.spans.clone()).collect();
    spans.retain(|span| name(&span.name));
    spans.sort_by_key(|span| span.start_time_unix_nano);
    spans
}

/// A text or a number as text.
fn attribute(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        Value::BoolValue(value) => Some(value.to_string()),
        other => panic!("{other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_join_the_traces_of_clients() {
    let (url, received) = collector().await;
    asked(&["--otlp-endpoint", &url], &[]).await;
    let spans = spans(&received);
    let get = |span: &Span, key: &str| attribute(&span.attributes, key).unwrap_or_default();
    let events = "/v1/apps/{app}/users/{user}/sessions/{session}/events";
    let seen: Vec<_> = spans
        .iter()
        .map(|span| {
            assert_eq!((hex(&span.trace_id), hex(&span.parent_span_id)), (TRACE.to_owned(), SPAN.to_owned()));
            assert!(span.end_time_unix_nano >= span.start_time_unix_nano);
            let keys = ["http.request.method", "http.response.status_code", "sessiond.replayed", "sessiond.outcome"];
            (span.name.clone(), keys.map(|key| get(span, key)).join(" "), get(span, "error.type"))
        })
        .collect();
    let span = |name: String, says: &str, error: &str| (name, says.to_owned(), error.to_owned());
    assert_eq!(
        seen,
        [
            span("POST /v1/apps/{app}/users/{user}/sessions".to_owned(), "POST 201  ", ""),
            span(format!("POST {events}"), "POST 201  ", ""),
            span(format!("POST {events}"), "POST 200 true ", ""),
            span(format!("POST {events}"), "POST 404  not_applied", "session_not_found"),
        ]
    );
    let requests = received.lock().unwrap();
    let resource = requests[0].resource_spans[0].resource.as_ref().expect("a resource");
    assert_eq!(attribute(&resource.attributes, "service.name").as_deref(), Some("sessiond"));
    assert_eq!(attribute(&resource.attributes, "service.version").as_deref(), Some(env!("CARGO_PKG_VERSION")));
    assert!(attribute(&resource.attributes, "service.instance.id").is_some_and(|id| id.len() == 36));
    assert_eq!(spans[0].trace_state, STATE);
    // No name, and nothing of what was sent.
    let text = format!("{requests:?}");
    for word in ["hush", "\"app\"", "\"user\"", "none"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_linked_with_its_appends() {
    let (url, received) = collector().await;
    asked(&["--otlp-endpoint", &url], &[]).await;
    let requests = spans(&received);
    let batches = batches(&received);
    // Two appends, one after the other; that to no session wrote nothing, and had a transaction all the same.
    assert_eq!(batches.len(), 3, "{batches:?}");
    for (batch, request) in batches.iter().zip(&requests[1..]) {
        assert_eq!((&batch.trace_id, &batch.parent_span_id), (&request.trace_id, &request.span_id));
        assert_eq!(attribute(&batch.attributes, "sessiond.batch_size").as_deref(), Some("1"));
        let linked = |span: &Span| span.links.iter().map(|link| link.span_id.clone()).collect::<Vec<_>>();
        assert_eq!((linked(batch), linked(request)), (vec![request.span_id.clone()], vec![batch.span_id.clone()]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_in_spans_if_that_is_asked_for() {
    let (url, received) = collector().await;
    let envs =
        [("OTEL_EXPORTER_OTLP_ENDPOINT", &*url), ("SESSIOND_TRACE_NAMES", "true"), ("OTEL_SERVICE_NAME", "shop")];
    asked(&[], &envs).await;
    let spans = spans(&received);
    let names = ["sessiond.app", "enduser.id", "gen_ai.conversation.id"];
    let named = |span: &Span| names.map(|name| attribute(&span.attributes, name));
    assert_eq!(named(&spans[0]), [Some("app".to_owned()), Some("user".to_owned()), None]);
    assert_eq!(named(&spans[1]), [Some("app".to_owned()), Some("user".to_owned()), Some("s".to_owned())]);
    let requests = received.lock().unwrap();
    let resource = requests[0].resource_spans[0].resource.as_ref().expect("a resource");
    assert_eq!(attribute(&resource.attributes, "service.name").as_deref(), Some("shop"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_away_costs_nothing() {
    let url = format!("http://127.0.0.1:{}", free_port());
    let log = asked(&["--otlp-endpoint", &url], &[]).await;
    assert_eq!(log.matches("the collector takes no spans").count(), 1, "{log}");
    assert!(log.contains("\"message\":\"stopped\""), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_of_opentelemetry_count_unless_they_are_empty() {
    let (url, received) = collector().await;
    let envs = [
        ("SESSIOND_OTLP_ENDPOINT", &*url),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_RESOURCE_ATTRIBUTES", "service.name=shop,service.version=2"),
        ("OTEL_SERVICE_NAME", ""),
        ("OTEL_TRACES_SAMPLER", ""),
        ("OTEL_TRACES_SAMPLER_ARG", ""),
    ];
    asked(&[], &envs).await;
    assert_eq!(spans(&received).len(), 4);
    let requests = std::mem::take(&mut *received.lock().unwrap());
    let resource = requests[0].resource_spans[0].resource.as_ref().expect("a resource");
    let named = ["service.name", "service.version"].map(|name| attribute(&resource.attributes, name));
    assert_eq!(named, [Some("shop".to_owned()), Some("2".to_owned())]);
    for switch in [("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_SAMPLER", "always_off")] {
        asked(&["--otlp-endpoint", &url], &[switch]).await;
        assert_eq!(spans(&received).len(), 0, "{switch:?}");
    }
}

#[tokio::test]
async fn settings_of_spans_that_make_no_sense_are_refused_by_the_server_alone() {
    let refused = async |endpoint: &str, envs: &[(&str, &str)]| {
        let args = ["--otlp-endpoint", endpoint, "--listen=127.0.0.1:1"];
        let output = Sessiond::run(&args, envs).await;
        assert_eq!(output.status.code(), Some(2), "{endpoint} {envs:?}: {output:?}");
        let output = Sessiond::run(&[&["healthcheck"], &args[..]].concat(), envs).await;
        assert_eq!(output.status.code(), Some(1), "{endpoint} {envs:?}: {output:?}");
    };
    for endpoint in ["collector:4318", "grpc://collector", ""] {
        refused(endpoint, &[]).await;
    }
    for variable in [("OTEL_TRACES_SAMPLER", "bogus"), ("OTEL_TRACES_SAMPLER_ARG", "10%")] {
        refused("http://127.0.0.1:4318", &[variable]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_becomes_of_spans_is_counted() {
    let (url, _received) = collector().await;
    // Takes connections, and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}", silent.local_addr().unwrap());
    let away = format!("http://127.0.0.1:{}", free_port());
    for (endpoint, result) in [(&url, "sent"), (&away, "failed"), (&silent, "dropped")] {
        let place = Place::sqlite();
        let listen = format!("127.0.0.1:{}", free_port());
        let args =
            ["--listen=127.0.0.1:0", "--log-format=json", "--metrics-listen", &listen, "--otlp-endpoint", endpoint];
        let envs =
            [("DATABASE_URL", &*place.url()), ("OTEL_TRACES_SAMPLER", "always_on"), ("OTEL_BSP_MAX_QUEUE_SIZE", "1")];
        let mut process = Sessiond::spawn(&args, &envs);
        let api = Client::at(&process.base_url().await);
        let metrics = Client::at(&format!("http://{listen}")).unchecked();
        let scrape = async || metrics.get("/metrics").await.expect(200).text().to_owned();
        let is_zero =
            |exposed: &str, result: &str| exposed.contains(&format!("sessiond_spans_total{{result=\"{result}\"}} 0"));
        let begun = scrape().await;
        assert!(["sent", "failed", "dropped"].iter().all(|result| is_zero(&begun, result)), "{begun}");
        let counted = async {
            while is_zero(&scrape().await, result) {
                api.get("/v1/apps").await.expect(200);
            }
        };
        timeout(Duration::from_secs(20), counted).await.expect(result);
        if result == "dropped" {
            assert_eq!(process.log().matches("spans are dropped").count(), 1, "{}", process.log());
        }
        drop(process);
        place.finish().await;
    }
}
