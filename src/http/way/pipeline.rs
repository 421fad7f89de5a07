//! The path of every request to a handler and back: admission, request id, deadline, checks of origin and path, errors
//! in one form, and one log line.

use std::any::Any;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, CONNECTION};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use axum::{Extension, Router};
use futures_util::FutureExt as _;
use opentelemetry::context::FutureExt as _;
use opentelemetry::trace::SpanContext;
use tokio::sync::watch;
use tokio::time::Instant;
use tower_http::catch_panic::CatchPanicLayer;

use super::edge::{self, Cors};
use super::routes::{Resource, by_pattern, nearest, strict_roots};
use super::trace::{self, RequestSpan};
use crate::access::Client;
use crate::access::audit::AuditLine;
use crate::http::app::App;
use crate::http::call::{Call, ClientGone, Passage, check_path, credential, turned_away};
use crate::http::limits::admission::{Place, is_counted, refused};
use crate::http::reply::{Answer, Code, IDEMPOTENT_REPLAYED, Ids, Problem, REQUEST_ID, is_write};
use crate::metrics::known_method;
use crate::server::{Arrival, Pace};
use crate::service::{Clock as _, SystemClock};

/// The routes. Every path, known or not, goes through the same pipeline.
///
/// # Panics
/// If two paths differ only in the name of a parameter.
pub fn router(app: Arc<App>, resources: Vec<Arc<Resource>>) -> Router {
    let paths = resources.iter().map(|resource| resource.path).collect();
    let api = Api { app, strict_roots: strict_roots(&resources).into(), paths };
    let way = |resources: Vec<Arc<Resource>>| {
        let (api, resources) = (api.clone(), Arc::<[_]>::from(resources));
        any(async move |Extension(arrival): Extension<Arrival>, request: Request| {
            let resource = resources.iter().find(|resource| resource.ends(request.uri().path())).cloned();
            api.serve(resource, arrival, request).await
        })
    };
    let route = |router: Router, (pattern, resources)| router.route(pattern, way(resources));
    let routes = by_pattern(resources).into_iter().fold(Router::new(), route);
    routes.fallback_service(way(Vec::new())).layer(CatchPanicLayer::custom(panicked))
}

/// The answer after a panic in the pipeline. A panic in a handler is caught and logged earlier.
fn panicked(_: Box<dyn Any + Send>) -> Response {
    let id = SystemClock.fresh_id().to_string();
    tracing::error!(request_id = id, "a panic in the request pipeline");
    Problem::panicked().finish_alone(&id, true)
}

/// Shared state of the pipeline.
#[derive(Clone)]
struct Api {
    app: Arc<App>,
    strict_roots: Arc<[&'static str]>,
    /// All that there are, as they are documented.
    paths: Arc<[&'static str]>,
}

impl Api {
    /// Serves an admitted request in a task of its own, which always runs to its end: a client that disconnects neither
    /// cuts a transaction in two nor keeps its request out of the log.
    async fn serve(self, resource: Option<Arc<Resource>>, arrival: Arrival, request: Request) -> Response {
        let path = request.uri().path();
        let route = resource.as_ref().map(|resource| resource.path);
        let always = resource.as_ref().is_some_and(|resource| resource.serving.always);
        match self.app.places.take(&self.app.metrics, route, path, always) {
            Some(place) => {
                // Dropped with this future when the client disconnects.
                let (_here, here) = watch::channel(());
                let gone = ClientGone::new(here, arrival.half_closed.clone());
                let asked = Asked::new(&self.app, resource, &request, arrival);
                // In a box, as spawning moves it about: its size is that of the largest handler.
                match tokio::spawn(Box::pin(answer(self, asked, request, place, gone))).await {
                    Ok(response) => response,
                    Err(failed) => match failed.try_into_panic() {
                        Ok(panic) => resume_unwind(panic),
                        // The runtime shuts down: the answer reaches nobody.
                        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
                    },
                }
            }
            None => refuse(&self.app, route, &request),
        }
    }
}

/// The answer to a request that was not admitted. It is made without a task, and counted instead of logged.
fn refuse(app: &App, route: Option<&'static str>, request: &Request) -> Response {
    let started = Instant::now();
    let method = request.method();
    let mut response = refused(&request_id(request.headers(), app), is_write(method));
    app.metrics.rejections.inc("in_flight");
    app.metrics.problems.inc(Code::Overloaded.entry().0);
    app.metrics.request(method.as_str(), route, response.status().as_u16(), Some(started.elapsed()));
    response.extensions_mut().insert(Pace { pause: Some(app.places.pause()), stall: None });
    response
}

/// An admitted request, as the pipeline sees it.
struct Asked {
    started: Instant,
    id: String,
    method: Method,
    uri: Uri,
    /// `None`: no such path.
    resource: Option<Arc<Resource>>,
    arrival: Arrival,
    /// The span that the client sent.
    parent: Option<SpanContext>,
}

impl Asked {
    fn new(app: &App, resource: Option<Arc<Resource>>, request: &Request, arrival: Arrival) -> Self {
        Self {
            started: Instant::now(),
            id: request_id(request.headers(), app),
            method: request.method().clone(),
            uri: request.uri().clone(),
            resource,
            arrival,
            parent: trace::parent(request.headers()),
        }
    }

    fn is(&self, rule: fn(&Resource) -> bool) -> bool {
        self.resource.as_deref().is_some_and(rule)
    }

    fn route(&self) -> Option<&'static str> {
        self.resource.as_ref().map(|resource| resource.path)
    }
}

/// The result of a request.
struct Handled {
    /// `None`: the endpoint is open, or the request was refused before authentication.
    client: Option<Arc<Client>>,
    answer: Result<Answer, Problem>,
    /// A preflight, which no handler gets.
    is_preflight: bool,
}

/// Serves an admitted request: gives it an id and a deadline, turns errors into their one form, and logs it once.
async fn answer(api: Api, asked: Asked, request: Request, place: Place, gone: ClientGone) -> Response {
    let (app, method) = (&*api.app, &asked.method);
    let is_probe = asked.is(|resource| resource.serving.always);
    let span = app.traces.as_ref().filter(|_| !is_probe).map(|traces| {
        RequestSpan::begin(traces, asked.parent.as_ref(), method.as_str(), asked.route(), asked.uri.path())
    });
    let trace_id = span.as_ref().map(RequestSpan::trace_id);
    let trace_id = trace_id.or_else(|| asked.parent.as_ref().map(|parent| parent.trace_id().to_string()));
    let ids = Ids { request: &asked.id, trace: trace_id.as_deref() };

    let (request, body) = request.into_parts();
    let cors = Cors::of(&app.settings.origins, &request);
    let handled = handled(&api, &asked, &cors, request, body, &place, gone);
    let Handled { client, answer, is_preflight } = match &span {
        Some(span) => handled.with_context(span.context()).await,
        None => handled.await,
    };
    let waited = place.share.is_none() && !is_probe;
    let answer = answer.and_then(|answer| app.places.hold(place, method, answer));

    let (mut response, mut named, mut stall, mut problem) = (Response::default(), Vec::new(), None, None);
    match answer {
        Ok(answer) => {
            (named, stall) = (answer.named, answer.stall);
            *response.status_mut() = answer.status;
            *response.headers_mut() = answer.headers;
            *response.body_mut() = answer.body;
        }
        Err(refusal) => {
            app.metrics.problems.inc(refusal.code.entry().0);
            if let Some(limit) = refusal.limit {
                app.metrics.rejections.inc(limit);
            }
            response = refusal.finish(ids, is_write(method));
            problem = Some(refusal);
        }
    }
    let is_open = asked.is(|resource| resource.is_open);
    finish(app, &asked, cors, &mut response, !is_open && !is_preflight, problem.is_some());
    let is_overloaded = problem.as_ref().is_some_and(|problem| problem.code == Code::Overloaded);
    if let Some(span) = span {
        let replayed = response.headers().contains_key(IDEMPOTENT_REPLAYED);
        span.end(response.status(), problem.as_ref(), is_write(method), replayed);
    }

    let took = asked.started.elapsed();
    let status = response.status();
    app.metrics.request(method.as_str(), asked.route(), status.as_u16(), (!waited).then_some(took));
    // Clients without a credential must not control how much is logged.
    let is_anonymous = client.is_none() && app.authenticator.is_on();
    if let (Some(audit), false) = (&app.audit, is_open) {
        if !is_anonymous {
            audit.write(&AuditLine {
                time: app.clock.now(),
                request_id: &asked.id,
                client: client.as_deref(),
                peer: asked.arrival.peer,
                method,
                route: asked.route(),
                path: asked.uri.path(),
                named: &named,
                status,
            });
        } else if status == StatusCode::UNAUTHORIZED {
            audit.refused(asked.arrival.peer);
        }
    }
    if !problem.as_ref().is_some_and(is_counted) {
        let is_quiet = is_anonymous && !(status.is_server_error() && app.may_log_failure(Instant::now()));
        log(&asked, status, took, ids, problem.as_ref(), is_quiet);
    }
    response.extensions_mut().insert(Pace { pause: is_overloaded.then(|| app.places.pause()), stall });
    response
}

/// Checks the origin of a request, authenticates it, and calls its handler.
async fn handled(
    api: &Api,
    asked: &Asked,
    cors: &Cors,
    request: Parts,
    body: Body,
    place: &Place,
    gone: ClientGone,
) -> Handled {
    let app = &api.app;
    let refused = |problem| Handled { client: None, answer: Err(problem), is_preflight: false };
    // With authentication on, the credential decides, so origins are not checked.
    let origins = (!app.authenticator.is_on()).then_some(&*app.settings.origins);
    let is_page = asked.is(|resource| resource.serving.page);
    let preflight = cors.preflight();
    let is_preflight = preflight.is_some();
    if let Err(problem) = edge::check(origins, is_page, &request, asked.arrival.has_two_lengths) {
        return Handled { is_preflight, ..refused(problem) };
    }
    if let Some(answer) = preflight {
        return Handled { client: None, answer: Ok(answer), is_preflight };
    }
    let deadline = asked.started + app.settings.request_timeout;
    let (client, credential) = match identify(api, asked, &request.headers, deadline).await {
        Ok(known) => known,
        Err(problem) => return refused(problem),
    };
    let passage = Passage {
        client: client.clone().unwrap_or_else(|| Arc::new(Client::nobody())),
        credential,
        deadline,
        place: place.share.clone(),
        gone,
    };
    let handled = AssertUnwindSafe(called(api, asked, request, body, passage)).catch_unwind().await;
    Handled { client, answer: handled.unwrap_or_else(|_| Err(Problem::panicked())), is_preflight }
}

/// Calls the handler of a request, if there is one.
async fn called(api: &Api, asked: &Asked, request: Parts, body: Body, passage: Passage) -> Result<Answer, Problem> {
    let Some(resource) = &asked.resource else {
        let hint = nearest(asked.uri.path(), &api.paths).unwrap_or_default();
        return Err(Problem::new(Code::NotFound, format!("there is nothing at this path{hint}")));
    };
    let Some(endpoint) = resource.endpoint(&asked.method) else {
        return Err(Problem::method(resource.allow()));
    };
    let names = resource.names(asked.uri.path());
    let call = Call::new(api.app.clone(), endpoint.operation, names, request, body, passage)?;
    call.answered(endpoint.handler).await
}

/// Authenticates a request, unless its endpoint is open, and only then checks its path: without a credential nobody
/// learns which paths exist.
async fn identify(
    api: &Api,
    asked: &Asked,
    headers: &HeaderMap,
    deadline: Instant,
) -> Result<(Option<Arc<Client>>, Option<Arc<str>>), Problem> {
    let app = &api.app;
    let mut known = (None, None);
    if !asked.is(|resource| resource.is_open) {
        let takes_token = asked.is(|resource| resource.serving.token_in_query);
        let credential = if app.authenticator.is_on() { credential(&asked.uri, headers, takes_token)? } else { None };
        let client = app.authenticator.client(credential.as_deref(), deadline).await;
        known = (Some(client.map_err(|refusal| turned_away(app, refusal))?), credential.map(Arc::from));
    }
    check_path(asked.uri.path(), &api.strict_roots)?;
    Ok(known)
}

/// Sets the headers that all answers have. (axum sets the length, and removes the body of an answer to HEAD.)
fn finish(app: &App, asked: &Asked, cors: Cors, response: &mut Response, is_private: bool, is_problem: bool) {
    if is_private {
        keep_private(response.headers_mut(), is_problem);
    }
    cors.mark(response);
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&asked.id) {
        headers.insert(REQUEST_ID, value);
    }
    if app.is_stopping() {
        // The client then opens its next connection to another server.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
}

/// Keeps answers that need a credential out of shared caches, and makes browsers revalidate them. Answers that must not
/// be stored at all (secrets, streams) set `no-store` themselves.
fn keep_private(headers: &mut HeaderMap, is_problem: bool) {
    let is_stored_nowhere = |value: &HeaderValue| value.as_bytes().starts_with(b"no-store");
    if is_problem || !headers.get(CACHE_CONTROL).is_some_and(is_stored_nowhere) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    }
}

/// The client's request id, if it has 1 to 128 visible ASCII characters. Else a new one.
fn request_id(headers: &HeaderMap, app: &App) -> String {
    let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
    match given {
        Some(id) if (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic()) => id.to_owned(),
        _ => app.clock.fresh_id().to_string(),
    }
}

/// Logs one line per request, except for refusals that
/// [`report_refusals`](crate::http::limits::admission::report_refusals) counts. The level is `debug` for a probe that
/// succeeds and if `is_quiet`, and `info` for a probe during a planned stop, which is no fault. The line never has a
/// path (which contains ids and state keys), a query, a header or a body.
fn log(
    asked: &Asked,
    status: StatusCode,
    took: Duration,
    Ids { request: request_id, trace: trace_id }: Ids<'_>,
    problem: Option<&Problem>,
    is_quiet: bool,
) {
    // An unknown method is arbitrary text.
    let method = known_method(asked.method.as_str());
    let (status, route) = (status.as_u16(), asked.route().unwrap_or("unmatched"));
    let is_probe = asked.is(|resource| resource.serving.always);
    let duration_ms = milliseconds(took);
    let code = problem.map(|problem| problem.code.entry().0);
    let cause = problem.and_then(|problem| problem.cause.as_deref());
    let outcome = problem.filter(|_| is_write(&asked.method)).map(|problem| problem.outcome.as_str());
    if is_quiet || status < 400 && is_probe {
        tracing::debug!(method, route, status, duration_ms, request_id, trace_id, code, outcome, cause, "request");
    } else if status >= 500 && !(is_probe && code == Some(Code::Overloaded.entry().0)) {
        tracing::error!(method, route, status, duration_ms, request_id, trace_id, code, outcome, cause, "request");
    } else {
        tracing::info!(method, route, status, duration_ms, request_id, trace_id, code, outcome, "request");
    }
}

/// To the microsecond.
fn milliseconds(took: Duration) -> f64 {
    (took.as_secs_f64() * 1e6).round() / 1e3
}

/// The problem document and its request id for an answer without a handler: see [`ProblemWriter`].
///
/// [`ProblemWriter`]: crate::server::ProblemWriter
pub fn refusal(status: u16, detail: &str) -> (String, String) {
    let code = match status {
        400 => Code::InvalidRequest,
        414 => Code::UriTooLong,
        431 => Code::HeaderFieldsTooLarge,
        _ => Code::Overloaded,
    };
    let request_id = SystemClock.fresh_id().to_string();
    let text = Problem::new(code, detail).text(Ids::of(&request_id), true);
    (request_id, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_logged_to_the_microsecond() {
        let logged = [3_813_310, 100_000_499, 0].map(|nanos| milliseconds(Duration::from_nanos(nanos)).to_string());
        assert_eq!(logged, ["3.813", "100", "0"]);
    }
}
