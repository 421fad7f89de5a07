//! What every request passes on its way to a handler and back: admission, a name, a deadline, the checks of its origin and
//! path, the one form for errors, and one line in the log.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use opentelemetry::context::FutureExt as _;
use percent_encoding::percent_decode_str;
use tokio::sync::watch;
use tokio::time::Instant;
use tower_http::catch_panic::CatchPanicLayer;

use super::admission::{Place, is_counted, refused};
use super::answer::IDEMPOTENT_REPLAYED;
use super::app::App;
use super::describe::QUERY_TOKEN;
use super::edge::{self, Cors};
use super::problem::{Code, Ids, Problem, REQUEST_ID, is_write};
use super::request::{Deadline, check_path};
use super::trace::{RequestSpan, TraceParent};
use crate::access::audit::{Line, Named};
use crate::access::{Client, Refusal, is_user_token};
use crate::metrics::known_method;
use crate::server::{HalfClosed, Peer};
use crate::service::{Clock as _, SystemClock};

/// `routes` behind the pipeline.
pub fn around(routes: Router<Arc<App>>, app: Arc<App>) -> Router {
    routes
        .fallback(async || Problem::new(Code::NotFound, "there is nothing at this path"))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(app.clone(), serve))
        .with_state(app)
}

fn panicked(_: Box<dyn Any + Send>) -> Response {
    Problem::panicked().into_response()
}

/// In the extensions of a request: resolves when the client does not wait for the answer any more, or sends nothing more: whether
/// it is still there cannot be told then.
#[derive(Debug, Clone)]
pub struct ClientGone {
    here: watch::Receiver<()>,
    half_closed: Option<HalfClosed>,
}

impl ClientGone {
    pub async fn wait(&mut self) {
        let half_closed = async {
            match &mut self.half_closed {
                Some(half_closed) => half_closed.wait().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = async { while self.here.changed().await.is_ok() {} } => {}
            () = half_closed => {}
        }
    }
}

/// In the extensions of a request: the credential that it showed. Streams and waits show it again and again.
#[derive(Clone)]
pub struct Shown(pub Option<Arc<str>>);

/// Serves a request for which there is a place in a task of its own, to the end: a client that goes away neither cuts a
/// transaction in two nor keeps its request out of the log.
///
/// The task itself fails only if the runtime shuts down, when nobody reads the answer any more.
async fn serve(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let always = route.is_some_and(|route| app.api.paths.always_served.contains(&route));
    match app.places.take(&app.metrics, route, request.uri().path(), always) {
        Some(place) => {
            // Dropped with this future when the client goes away.
            let (_here, here) = watch::channel(());
            let half_closed = request.extensions().get().cloned();
            request.extensions_mut().insert(ClientGone { here, half_closed });
            tokio::spawn(answer(app, place, request, next))
                .await
                .unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
        }
        None => refuse(&app, &request),
    }
}

/// The answer to a request for which there is no place: made without a task, and counted instead of logged.
fn refuse(app: &App, request: &Request) -> Response {
    let started = Instant::now();
    let method = request.method();
    let mut response = refused(&request_id(request, app), is_write(method));
    response.extensions_mut().insert(app.places.pause());
    app.metrics.rejected("in_flight");
    app.metrics.problem(Code::Overloaded.entry().0);
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    app.metrics.request(method.as_str(), route, response.status().as_u16(), Some(started.elapsed()));
    response
}

/// The path of every request that is served: named, bounded in time, answered in the one form for errors, and logged once.
async fn answer(app: Arc<App>, place: Place, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let request_id = request_id(&request, &app);
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let parent = TraceParent::of(request.headers());
    let template = route.as_ref().map(MatchedPath::as_str);
    let is_probe = template.is_some_and(route_is_probe);
    let traces = app.traces.as_ref().filter(|_| !is_probe);
    let span = traces
        .map(|traces| RequestSpan::begin(traces, parent.as_ref(), method.as_str(), template, request.uri().path()));
    let trace_id = span.as_ref().map(RequestSpan::trace_id).or_else(|| parent.map(|parent| parent.trace_id));
    let ids = Ids { request: &request_id, trace: trace_id.as_deref() };
    request.extensions_mut().insert(Deadline(started + app.settings.request_timeout));
    request.extensions_mut().insert(place.held());

    // What the access log tells, which the handler takes away.
    let asked = app.audit.as_ref().map(|_| (request.uri().clone(), request.extensions().get::<Peer>().copied()));
    let cors = Cors::of(&app.settings.origins, &request);
    let paths = &app.api.paths;
    // Whoever has to show a credential is told by that, and not by where the request comes from.
    let origins = (!app.authenticator.is_on()).then_some(&*app.settings.origins);
    let is_page = template.is_some_and(|route| paths.pages.contains(&route));
    let checked = edge::check(origins, is_page, &request);
    let mut client = None;
    let preflight = cors.preflight();
    let is_preflight = preflight.is_some();
    let response = match (checked, preflight) {
        (Err(problem), _) => problem.into_response(),
        (Ok(()), Some(answer)) => answer,
        (Ok(()), None) => match identify(&app, route.as_ref(), &mut request).await {
            Ok(()) => {
                client = request.extensions().get::<Arc<Client>>().cloned();
                let serving = next.run(request);
                match &span {
                    Some(span) => serving.with_context(span.context()).await,
                    None => serving.await,
                }
            }
            Err(problem) => problem.into_response(),
        },
    };
    let waited = place.has_no_share() && !is_probe;
    let mut response = app.places.hold(place, &method, response).unwrap_or_else(IntoResponse::into_response);
    let named = response.extensions_mut().remove().map_or_else(Vec::new, |Named(names)| names);
    let problem = problem_of(&mut response);
    if let Some(problem) = &problem {
        app.metrics.problem(problem.code.entry().0);
        if let Some(limit) = problem.limit {
            app.metrics.rejected(limit);
        }
        let mut finished = problem.finish(ids, is_write(&method));
        // `Allow`, where the router put it.
        for (name, value) in response.headers() {
            if !finished.headers().contains_key(name) && *name != CONTENT_LENGTH {
                finished.headers_mut().insert(name.clone(), value.clone());
            }
        }
        response = finished;
    }
    let is_open = template.is_some_and(|route| app.api.paths.open.contains(&route));
    if !is_open && !is_preflight {
        keep_private(response.headers_mut(), problem.is_some());
    }
    cors.mark(&mut response);
    if let Ok(value) = HeaderValue::from_str(&request_id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    if app.is_stopping() {
        // Whoever keeps connections open makes a new one, elsewhere.
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if problem.as_ref().is_some_and(|problem| problem.code == Code::Overloaded) {
        response.extensions_mut().insert(app.places.pause());
    }
    if let Some(span) = span {
        let replayed = response.headers().contains_key(IDEMPOTENT_REPLAYED);
        span.end(response.status(), problem.as_ref(), is_write(&method), replayed);
    }
    let took = started.elapsed();
    app.metrics.request(method.as_str(), template, response.status().as_u16(), (!waited).then_some(took));
    // Whoever has no credential does not decide how much is written.
    let is_anonymous = client.is_none() && app.authenticator.is_on();
    if let (Some(audit), Some((uri, peer)), false) = (&app.audit, &asked, is_open) {
        let peer = peer.map(|Peer(address)| address);
        if !is_anonymous {
            audit.write(&Line {
                time: app.clock.now(),
                request_id: &request_id,
                client: client.as_deref(),
                peer,
                method: &method,
                route: template,
                path: uri.path(),
                named: &named,
                status: response.status(),
            });
        } else if response.status() == StatusCode::UNAUTHORIZED {
            audit.refused(peer);
        }
    }
    if !problem.as_ref().is_some_and(is_counted) {
        let is_quiet = is_anonymous && !(response.status().is_server_error() && app.tells_of_failure(Instant::now()));
        log(&method, template, response.status(), took, ids, problem.as_ref(), is_quiet);
    }
    response
}

/// Establishes who sent a request, unless what it asks for is open to all, and only then looks at its path: whoever has no
/// credential learns nothing about paths.
async fn identify(app: &App, route: Option<&MatchedPath>, request: &mut Request) -> Result<(), Problem> {
    let is_open = route.is_some_and(|route| app.api.paths.open.contains(&route.as_str()));
    if !is_open {
        let deadline = request.extensions().get::<Deadline>().map_or_else(Instant::now, |deadline| deadline.0);
        let takes_token = route.is_some_and(|route| app.api.paths.token_in_query.contains(&route.as_str()));
        let credential = if app.authenticator.is_on() { credential(request, takes_token)? } else { None };
        let client = app.authenticator.client(credential.as_deref(), deadline).await;
        request.extensions_mut().insert(client.map_err(|refusal| turned_away(app, refusal))?);
        request.extensions_mut().insert(Shown(credential.map(Arc::from)));
    }
    check_path(request.uri().path(), &app.api.paths.strict_roots)
}

/// The answer to a request whose client cannot be established.
pub fn turned_away(app: &App, refusal: Refusal) -> Problem {
    match refusal {
        Refusal::Unauthenticated(reason) => {
            app.metrics.credential_refused(reason);
            unauthenticated()
        }
        Refusal::Overloaded => {
            Problem::over("look_ups", Code::Overloaded, "too many new credentials are looked up; try again")
        }
        Refusal::Store(error) => Problem::unavailable(&error),
    }
}

/// One answer for all reasons.
pub fn unauthenticated() -> Problem {
    Problem::over(
        "credential",
        Code::Unauthenticated,
        "a valid credential is needed: `Authorization: Bearer CREDENTIAL`",
    )
}

/// The credential of a request (RFC 6750). Logs and histories keep queries, so none is taken there, but where a browser has no
/// other way (`takes_token`): then the token of a user, which is short-lived, and nothing else.
fn credential(request: &Request, takes_token: bool) -> Result<Option<String>, Problem> {
    let refuse = |detail| Err(Problem::new(Code::InvalidRequest, detail));
    let query = request.uri().query().unwrap_or_default();
    let token_of = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let is_token = percent_decode_str(name).eq(QUERY_TOKEN.bytes());
        is_token.then(|| percent_decode_str(value).decode_utf8_lossy().into_owned())
    };
    let mut tokens = query.split('&').filter_map(token_of);
    let token = tokens.next();
    if token.is_some() && !takes_token {
        return refuse("a credential in a query is not taken: send `Authorization: Bearer CREDENTIAL`");
    }
    let mut values = request.headers().get_all(AUTHORIZATION).iter();
    let first = values.next();
    if values.next().is_some() || tokens.next().is_some() || first.is_some() && token.is_some() {
        return refuse("the request has two credentials");
    }
    if let Some(token) = token {
        // Any other credential is no better than garbage here.
        return Ok(Some(if is_user_token(&token) { token } else { String::new() }));
    }
    let Some(text) = first.map(|value| value.to_str().unwrap_or_default()) else { return Ok(None) };
    let (scheme, rest) = text.split_once(' ').unwrap_or((text, ""));
    Ok(scheme.eq_ignore_ascii_case("bearer").then(|| rest.trim().to_owned()))
}

/// Keeps what needs a credential from caches that others share, and from being shown again without a question. What must not be
/// stored at all (a secret, a stream) says so itself.
fn keep_private(headers: &mut HeaderMap, is_problem: bool) {
    let is_stored_nowhere = |value: &HeaderValue| value.as_bytes().starts_with(b"no-store");
    if is_problem || !headers.get(CACHE_CONTROL).is_some_and(is_stored_nowhere) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    }
}

/// The problem that a response stands for: ours, or what the framework answers by itself.
fn problem_of(response: &mut Response) -> Option<Problem> {
    let problem = response.extensions_mut().remove::<Problem>();
    problem.or_else(|| match response.status() {
        StatusCode::METHOD_NOT_ALLOWED => Some(Problem::new(
            Code::MethodNotAllowed,
            "the path does not take this method; `Allow` lists those it does",
        )),
        status if status.is_client_error() => Some(Problem::field("path", "cannot be read")),
        status if status.is_server_error() => Some(Problem::panicked()),
        _ => None,
    })
}

/// The caller's request id, if it is sane: 1 to 128 visible ASCII characters. Else a fresh one.
fn request_id(request: &Request, app: &App) -> String {
    let given = request.headers().get(REQUEST_ID).and_then(|value| value.to_str().ok());
    match given {
        Some(id) if (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic()) => id.to_owned(),
        _ => app.clock.fresh_id().to_string(),
    }
}

/// One line a request, but for the refusals that [`report_refusals`](super::admission::report_refusals) counts; of a probe that succeeds
/// and of one that `is_quiet` at `debug`, and of one that is told of a planned stop, which is no fault, at `info`. Never a path (it
/// holds ids and state keys), a query, a header or a body.
fn log(
    method: &Method,
    route: Option<&str>,
    status: StatusCode,
    took: Duration,
    Ids { request: request_id, trace: trace_id }: Ids<'_>,
    problem: Option<&Problem>,
    is_quiet: bool,
) {
    // Of any length and content, if it is none that we know.
    let method = known_method(method.as_str());
    let (status, route) = (status.as_u16(), route.unwrap_or("unmatched"));
    let duration_ms = took.as_secs_f64() * 1000.0;
    let code = problem.map(|problem| problem.code.entry().0);
    let cause = problem.and_then(|problem| problem.cause.as_deref());
    if is_quiet || status < 400 && route_is_probe(route) {
        tracing::debug!(method, route, status, duration_ms, request_id, trace_id, code, cause, "request");
    } else if status >= 500 && !(route_is_probe(route) && code == Some(Code::Overloaded.entry().0)) {
        tracing::error!(method, route, status, duration_ms, request_id, trace_id, code, cause, "request");
    } else {
        tracing::info!(method, route, status, duration_ms, request_id, trace_id, code, "request");
    }
}

/// What is asked every few seconds, whether anybody uses the server or not.
fn route_is_probe(route: &str) -> bool {
    super::always_served().contains(&route)
}

/// The problem document of an answer that no handler gives, and the id under which it goes: see [`Refusal`].
///
/// [`Refusal`]: crate::server::Refusal
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
