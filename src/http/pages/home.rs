//! `/`: a page that says what this server is and where to continue, and `/v1/info`, the same for programs.

use std::sync::LazyLock;

use axum::http::header;

use crate::config::ConsoleLink;
use crate::domain::json::ObjectText;
use crate::http::call::Call;
use crate::http::describe::{Access, Operation, Serving};
use crate::http::openapi::{escape, hash_source};
use crate::http::reply::{Answer, Problem};

/// Features of this version beyond the ADK session service.
const FEATURES: &[&str] = &[
    "artifacts",
    "erasure",
    "export",
    "feed",
    "fork",
    "import",
    "keys",
    "leases",
    "operators",
    "policies",
    "render",
    "rewind",
    "search",
    "timeTravel",
    "tokens",
    "trim",
    "wait",
    "watch",
];

pub const HOME: Operation =
    Operation::of("home", Access::Open).serving(Serving { page: true, strict_query: false, ..Serving::PROCESS });

const STYLE: &str = include_str!("home.css");

/// Allows the style of this page and the console's icon, and nothing else.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "default-src 'none'; style-src {}; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        hash_source(STYLE)
    )
});

pub async fn home(call: Call) -> Result<Answer, Problem> {
    let settings = &call.app.settings;
    let (console, icon) = match settings.console {
        true => ("<li><a href=\"console/\">Console</a></li>", "<link rel=\"icon\" href=\"console/icon.svg\">"),
        false => ("", ""),
    };
    let metrics = settings
        .metrics
        .as_deref()
        .map_or_else(String::new, |metrics| format!("<dt>Metrics</dt><dd><code>{}</code></dd>", escape(metrics)));
    let example = if call.app.authenticator.is_on() {
        // The user will send a credential to the address in the example. It must not come from the request: anybody can
        // set `Host`.
        let lead = "A first session, with the address of this server as <code>SESSIOND_URL</code> and a credential as \
                    <code>SESSIOND_TOKEN</code>:";
        let command = "curl -X POST \"$SESSIOND_URL/v1/apps/demo/users/ada/sessions\" \\\n  \
                       -H \"Authorization: Bearer $SESSIOND_TOKEN\"";
        format!("<p>{lead}</p><pre>{}", escape(command))
    } else {
        let address = call.headers.host().filter(|host| is_plain(host)).unwrap_or("127.0.0.1:8080");
        format!("<p>A first session:</p><pre>curl -X POST http://{address}/v1/apps/demo/users/ada/sessions")
    };
    let page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>sessiond</title>\
         <meta name=\"viewport\" content=\"width=device-width\">{icon}<style>{STYLE}</style></head><body><main>\
         <h1>sessiond</h1><p>Sessions of AI agents, with an event log and state, over HTTP.</p>\
         <dl><dt>Version</dt><dd>{}</dd><dt>Database</dt><dd>{}</dd>{metrics}</dl>\
         <ul>{console}<li><a href=\"docs\">API reference</a></li><li><a href=\"openapi.yaml\">openapi.yaml</a></li></ul>\
         {example} \\\n  \
         -H 'Content-Type: application/json' -d '{{\"state\": {{\"mood\": \"curious\"}}}}'</pre></main></body></html>\n",
        env!("CARGO_PKG_VERSION"),
        call.service.database(),
    );
    Ok(Answer::ok()
        .header(header::CONTENT_TYPE, "text/html; charset=utf-8")
        .header(header::CONTENT_SECURITY_POLICY, POLICY.as_str())
        // The page may show the request's host.
        .header(header::CACHE_CONTROL, "private, no-store")
        .header(header::VARY, "Host")
        .body(page))
}

/// Whether the text can only be a host and port in a shell.
fn is_plain(host: &str) -> bool {
    !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
}

pub const INFO: Operation =
    Operation::of("info", Access::Known).serving(Serving { strict_path: true, ..Serving::PROCESS });

pub async fn info(call: Call) -> Result<Answer, Problem> {
    let settings = &call.app.settings;
    let (own, mut limits) = (call.limits(), ObjectText::default());
    for (name, limit) in [
        ("bodyBytes", settings.max_body_bytes),
        ("eventBytes", own.event_bytes),
        ("valueBytes", own.value_bytes),
        ("batchEvents", own.batch_events),
        ("stateKeys", own.state_keys),
        ("pageSize", own.page_rows),
        ("pageBytes", own.page_bytes),
        ("watchers", settings.watch.places),
        ("artifactBytes", usize::try_from(own.artifact_bytes).unwrap_or(usize::MAX)),
    ] {
        limits.push(name, &limit.to_string());
    }
    limits.push("requestSeconds", &settings.request_timeout.as_secs_f64().to_string());
    let features: Vec<String> = FEATURES
        .iter()
        .copied()
        .filter(|feature| *feature != "feed" || call.app.reader(true).feeds())
        .chain(settings.console.then_some("console"))
        .map(|feature| format!("\"{feature}\""))
        .collect();
    let mut info = ObjectText::default();
    info.push_str("version", env!("CARGO_PKG_VERSION"));
    info.push_str("database", call.service.database());
    info.push("features", &format!("[{}]", features.join(",")));
    info.push("limits", &limits.close());
    if settings.console && !settings.links.is_empty() {
        let links: Vec<String> = settings.links.iter().map(link).collect();
        info.push_array("links", &links);
    }
    Ok(Answer::ok().json(info.close()))
}

fn link(link: &ConsoleLink) -> String {
    let mut object = ObjectText::default();
    object.push_str("name", &link.name);
    object.push_str("url", &link.template);
    object.close()
}
