//! HTTP: the router, and what every request passes on its way to a handler and back.

mod adk;
mod admission;
mod answer;
mod describe;
mod edge;
mod events;
mod history;
mod memory;
mod names;
mod openapi;
mod paging;
mod problem;
mod render;
mod request;
mod sessions;
mod state;
mod system;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use admission::{Place, Places, is_counted, refuse};
use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::CONNECTION;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use describe::{Operation, PAGE_SIZE};
use edge::Cors;
use memory::Memory;
use problem::{Code, Problem};
use request::{Call, Deadline, Query, check_path};
use tokio::time::Instant;
use tower_http::catch_panic::CatchPanicLayer;

use crate::config::HttpSettings;
use crate::domain::Limits;
use crate::metrics::Metrics;
use crate::service::{Clock, Service, SystemClock};

pub use admission::{HEALTH_PATHS, report_refusals};
pub use edge::guarded;
pub use openapi::yaml as openapi_yaml;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Rows of a page that does not say how many it wants.
const DEFAULT_PAGE_ROWS: usize = 100;

/// What handlers share.
pub struct App {
    pub service: Service,
    pub settings: HttpSettings,
    pub metrics: Arc<Metrics>,
    clock: Arc<dyn Clock>,
    places: Places,
    memory: Memory,
    stopping: AtomicBool,
}

impl App {
    pub fn new(service: Service, settings: HttpSettings, metrics: Arc<Metrics>, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            service,
            metrics,
            clock,
            places: Places::new(&settings),
            memory: Memory::new(settings.max_buffered_bytes, settings.max_body_bytes),
            stopping: AtomicBool::new(false),
            settings,
        })
    }

    /// From now on the server is not ready, so that a load balancer looks elsewhere.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

/// An operation at its place: what the router is made of, and `openapi.yaml` too.
struct Endpoint {
    method: Method,
    path: &'static str,
    operation: &'static Operation,
    mount: Mount,
}

type Mount = fn(Router<Arc<App>>, &'static str) -> Router<Arc<App>>;

macro_rules! endpoints {
    ($($method:ident $path:literal => $module:ident::$handler:ident, $operation:ident;)*) => {
        &[$(Endpoint {
            method: Method::$method,
            path: $path,
            operation: &$module::$operation,
            mount: |router, path| {
                let handler = |State(app): State<Arc<App>>, request: Request| async move {
                    let call = Call::new(app, request, &$module::$operation).await?;
                    Ok::<_, Response>($module::$handler(call).await.into_response())
                };
                router.route(path, on(MethodFilter::$method, handler))
            },
        }),*]
    };
}

/// The whole API.
const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/v1/apps" => names::apps, APPS;
    GET "/v1/apps/{app}/users" => names::users, USERS;
    GET "/v1/apps/{app}/sessions" => sessions::list_of_app, LIST_OF_APP;
    GET "/v1/apps/{app}/state" => state::get_app, GET_APP;
    PATCH "/v1/apps/{app}/state" => state::patch_app, PATCH_APP;
    GET "/v1/apps/{app}/users/{user}/state" => state::get_user, GET_USER;
    PATCH "/v1/apps/{app}/users/{user}/state" => state::patch_user, PATCH_USER;
    GET "/v1/apps/{app}/users/{user}/sessions" => sessions::list_of_user, LIST_OF_USER;
    POST "/v1/apps/{app}/users/{user}/sessions" => sessions::create, CREATE;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}" => sessions::get, GET;
    PUT "/v1/apps/{app}/users/{user}/sessions/{session}" => sessions::get_or_create, GET_OR_CREATE;
    PATCH "/v1/apps/{app}/users/{user}/sessions/{session}" => sessions::patch, PATCH;
    DELETE "/v1/apps/{app}/users/{user}/sessions/{session}" => sessions::delete, DELETE;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}/events" => events::list, LIST;
    POST "/v1/apps/{app}/users/{user}/sessions/{session}/events" => events::append, APPEND;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}/events/{event}" => events::get, GET;
    POST "/v1/apps/{app}/users/{user}/sessions/{session}/fork" => history::fork, FORK;
    POST "/v1/apps/{app}/users/{user}/sessions/{session}/rewind" => history::rewind, REWIND;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}/state" => state::get, GET;
    PATCH "/v1/apps/{app}/users/{user}/sessions/{session}/state" => state::patch, PATCH;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}/state/{key}" => state::get_key, GET_KEY;
    PUT "/v1/apps/{app}/users/{user}/sessions/{session}/state/{key}" => state::put_key, PUT_KEY;
    DELETE "/v1/apps/{app}/users/{user}/sessions/{session}/state/{key}" => state::delete_key, DELETE_KEY;
    POST "/v1/apps/{app}/users/{user}/sessions/{session}/render" => render::render, RENDER;
    GET "/apps/{app}/users/{user}/sessions" => adk::list, LIST;
    POST "/apps/{app}/users/{user}/sessions" => adk::create, CREATE;
    GET "/apps/{app}/users/{user}/sessions/{session}" => adk::get, GET;
    POST "/apps/{app}/users/{user}/sessions/{session}" => adk::create_with_id, CREATE_WITH_ID;
    PATCH "/apps/{app}/users/{user}/sessions/{session}" => adk::patch, PATCH;
    DELETE "/apps/{app}/users/{user}/sessions/{session}" => adk::delete, DELETE;
    GET "/list-apps" => adk::apps, APPS;
    GET "/health" => adk::health, HEALTH;
    GET "/version" => adk::version, VERSION;
    GET "/healthz" => system::health, HEALTH;
    GET "/readyz" => system::ready, READY;
    GET "/openapi.yaml" => system::openapi, OPENAPI;
    GET "/docs" => system::docs, DOCS;
};

pub fn router(app: Arc<App>) -> Router {
    ENDPOINTS
        .iter()
        .fold(Router::new(), |router, endpoint| (endpoint.mount)(router, endpoint.path))
        .fallback(async || Problem::new(Code::NotFound, "there is nothing at this path"))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(app.clone(), serve))
        .with_state(app)
}

fn panicked(_: Box<dyn Any + Send>) -> Response {
    Problem::panicked().into_response()
}

/// Serves a request for which there is a place in a task of its own, to the end: a client that goes away neither cuts a
/// transaction in two nor keeps its request out of the log.
///
/// The task itself fails only if the runtime shuts down, when nobody reads the answer any more.
async fn serve(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    match app.places.take(&app.metrics, request.extensions().get::<MatchedPath>()) {
        Some(place) => tokio::spawn(answer(app, place, request, next))
            .await
            .unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response()),
        None => refuse(&app, &request),
    }
}

/// The way of every request that is served: named, bounded in time, answered in the one form for errors, and logged once.
async fn answer(app: Arc<App>, place: Place, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let request_id = request_id(&request, &app);
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    request.extensions_mut().insert(Deadline(started + app.settings.request_timeout));

    let cors = Cors::of(&app.settings.origins, &request);
    let checked = edge::check(&app.settings.origins, &request).and_then(|()| check_path(request.uri().path()));
    let response = match (checked, cors.preflight()) {
        (Err(problem), _) => problem.into_response(),
        (Ok(()), Some(answer)) => answer,
        (Ok(()), None) => next.run(request).await,
    };
    let mut response = app.places.hold(place, &method, response).unwrap_or_else(IntoResponse::into_response);
    let problem = problem_of(&mut response);
    if let Some(problem) = &problem {
        if let Some(limit) = problem.limit {
            app.metrics.rejected(limit);
        }
        let mut finished = problem.finish(&request_id, is_write(&method));
        // `Allow`, where the router put it.
        for (name, value) in response.headers() {
            if !finished.headers().contains_key(name) && *name != axum::http::header::CONTENT_LENGTH {
                finished.headers_mut().insert(name.clone(), value.clone());
            }
        }
        response = finished;
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
    let took = started.elapsed();
    let route = route.as_ref().map(MatchedPath::as_str);
    app.metrics.request(method.as_str(), route, response.status().as_u16(), took);
    if !problem.as_ref().is_some_and(is_counted) {
        log(&method, route, response.status(), took, &request_id, problem.as_ref());
    }
    response
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

fn is_write(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE)
}

/// One line a request, but for refusals, which [`report_refusals`] counts. Never a path (it holds ids and state keys), a
/// query, a header or a body.
fn log(
    method: &Method,
    route: Option<&str>,
    status: StatusCode,
    took: Duration,
    request_id: &str,
    problem: Option<&Problem>,
) {
    let (status, route) = (status.as_u16(), route.unwrap_or("unmatched"));
    let duration_ms = took.as_secs_f64() * 1000.0;
    let code = problem.map(|problem| problem.code.entry().0);
    let cause = problem.and_then(|problem| problem.cause.as_deref());
    if status >= 500 {
        tracing::error!(%method, route, status, duration_ms, request_id, code, cause, "request");
    } else {
        tracing::info!(%method, route, status, duration_ms, request_id, code, "request");
    }
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
    let text = Problem::new(code, detail).text(&request_id, true);
    (request_id, text)
}

/// How many rows a page is to have.
fn page_rows(query: &Query, limits: &Limits) -> Result<usize, Problem> {
    match query.integer(&PAGE_SIZE).map(|rows| usize::try_from(rows).unwrap_or(usize::MAX)) {
        None => Ok(DEFAULT_PAGE_ROWS.min(limits.page_rows)),
        Some(rows) if rows <= limits.page_rows => Ok(rows),
        Some(_) => Err(Problem::field(PAGE_SIZE.name, format!("must be at most {}", limits.page_rows))),
    }
}
