//! HTTP: the table of endpoints, of which the router and the description of the API are made.

mod access;
mod adk;
mod admission;
mod answer;
mod app;
mod console;
mod describe;
mod edge;
mod erasure;
mod events;
mod feed;
mod history;
mod home;
mod lease;
mod memory;
mod names;
mod openapi;
mod paging;
mod pipeline;
mod policy;
mod problem;
mod rates;
mod render;
mod request;
mod sessions;
mod shares;
mod state;
mod stream;
mod system;
mod trace;
mod transfer;
mod trim;
mod wait;
mod watch;

use std::sync::{Arc, LazyLock};

use app::Api;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use describe::{Endpoint, paths};
use request::Call;

use crate::access::Authenticator;
use crate::config::HttpSettings;
use crate::metrics::Metrics;
use crate::service::{Clock, Service};

pub use admission::report_refusals;
pub use app::{App, Observers};
pub use edge::guarded;
pub use pipeline::refusal;

macro_rules! endpoints {
    ($($method:ident $path:literal => $module:ident::$handler:ident, $operation:ident;)*) => {
        &[$(Endpoint {
            method: Method::$method,
            path: $path,
            operation: &$module::$operation,
            mount: |router, path| {
                let handler = |State(app): State<Arc<App>>, request: Request| async move {
                    let call = Call::new(app, request, &$module::$operation).await?;
                    Ok::<_, Response>(call.answered($module::$handler).await)
                };
                let method = MethodFilter::$method;
                // As some balancers ask.
                let methods = if $module::$operation.serving.always { method.or(MethodFilter::OPTIONS) } else { method };
                router.route(path, on(methods, handler))
            },
        }),*]
    };
}

/// The whole API.
const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/v1/feed" => feed::of_all, OF_ALL;
    GET "/v1/apps/{app}/feed" => feed::of_app, OF_APP;
    GET "/v1/apps/{app}/users/{user}/feed" => feed::of_user, OF_USER;
    GET "/v1/apps" => names::apps, APPS;
    GET "/v1/apps/{app}/users" => names::users, USERS;
    GET "/v1/apps/{app}/sessions" => sessions::list_of_app, LIST_OF_APP;
    GET "/v1/apps/{app}/state" => state::get_app, GET_APP;
    PATCH "/v1/apps/{app}/state" => state::patch_app, PATCH_APP;
    GET "/v1/apps/{app}/policy" => policy::get, GET;
    PUT "/v1/apps/{app}/policy" => policy::put, PUT;
    DELETE "/v1/apps/{app}/policy" => policy::delete, DELETE;
    GET "/v1/apps/{app}/users/{user}/state" => state::get_user, GET_USER;
    PATCH "/v1/apps/{app}/users/{user}/state" => state::patch_user, PATCH_USER;
    GET "/v1/apps/{app}/users/{user}/sessions" => sessions::list_of_user, LIST_OF_USER;
    POST "/v1/apps/{app}/users/{user}/sessions" => sessions::create, CREATE;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}" => sessions::get, GET;
    PUT "/v1/apps/{app}/users/{user}/sessions/{session}" => sessions::get_or_create, GET_OR_CREATE;
    PATCH "/v1/apps/{app}/users/{user}/sessions/{session}" => sessions::patch, PATCH;
    DELETE "/v1/apps/{app}/users/{user}/sessions/{session}" => sessions::delete, DELETE;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}/watch" => watch::watch, WATCH;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}/events" => events::list, LIST;
    POST "/v1/apps/{app}/users/{user}/sessions/{session}/events" => events::append, APPEND;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}/events/{event}" => events::get, GET;
    POST "/v1/apps/{app}/users/{user}/sessions/{session}/fork" => history::fork, FORK;
    POST "/v1/apps/{app}/users/{user}/sessions/{session}/rewind" => history::rewind, REWIND;
    POST "/v1/apps/{app}/users/{user}/sessions/{session}/trim" => trim::trim, TRIM;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}/export" => transfer::export_session, EXPORT_SESSION;
    GET "/v1/apps/{app}/users/{user}/export" => transfer::export_user, EXPORT_USER;
    GET "/v1/apps/{app}/export" => transfer::export_app, EXPORT_APP;
    POST "/v1/import" => transfer::import, IMPORT;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}/lease" => lease::get, GET;
    POST "/v1/apps/{app}/users/{user}/sessions/{session}/lease" => lease::take, TAKE;
    PUT "/v1/apps/{app}/users/{user}/sessions/{session}/lease" => lease::renew, RENEW;
    DELETE "/v1/apps/{app}/users/{user}/sessions/{session}/lease" => lease::release, RELEASE;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}/state" => state::get, GET;
    PATCH "/v1/apps/{app}/users/{user}/sessions/{session}/state" => state::patch, PATCH;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}/state/{key}" => state::get_key, GET_KEY;
    PUT "/v1/apps/{app}/users/{user}/sessions/{session}/state/{key}" => state::put_key, PUT_KEY;
    DELETE "/v1/apps/{app}/users/{user}/sessions/{session}/state/{key}" => state::delete_key, DELETE_KEY;
    POST "/v1/apps/{app}/users/{user}/sessions/{session}/render" => render::render, RENDER;
    POST "/v1/apps/{app}/users/{user}/erasure" => erasure::erase, ERASE;
    GET "/v1/erasures" => erasure::list, LIST;
    GET "/v1/erasures/{id}" => erasure::get, GET;
    GET "/v1/receipts/keys" => erasure::keys, KEYS;
    POST "/v1/keys" => access::create_key, CREATE_KEY;
    GET "/v1/keys" => access::list_keys, LIST_KEYS;
    GET "/v1/keys/{id}" => access::get_key, GET_KEY;
    PATCH "/v1/keys/{id}" => access::update_key, UPDATE_KEY;
    DELETE "/v1/keys/{id}" => access::delete_key, DELETE_KEY;
    POST "/v1/tokens" => access::create_token, CREATE_TOKEN;
    POST "/v1/tokens/revoke" => access::revoke_tokens, REVOKE_TOKENS;
    GET "/v1/whoami" => access::whoami, WHOAMI;
    GET "/v1/info" => home::info, INFO;
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
    GET "/openapi-adk.yaml" => system::openapi_adk, OPENAPI_ADK;
    GET "/docs" => system::docs, DOCS;
};

/// Pages for people: no part of the API, nor of its description.
const HOME: &[Endpoint] = endpoints! {
    GET "/" => home::home, HOME;
    GET "/docs/" => system::docs_with_slash, DOCS_WITH_SLASH;
};
const CONSOLE: &[Endpoint] = endpoints! {
    GET "/console" => console::entrance, ENTRANCE;
    GET "/console/" => console::file, FILE;
    GET "/console/{file}" => console::file, PART;
};

/// Each is made when it is first asked for.
static API: LazyLock<Api> = LazyLock::new(|| Api {
    paths: paths(&ENDPOINTS.iter().chain(HOME).chain(CONSOLE).collect::<Vec<_>>()),
    openapi: LazyLock::new(|| openapi::yaml(ENDPOINTS)),
    openapi_adk: LazyLock::new(|| openapi::adk_yaml(ENDPOINTS)),
    docs: LazyLock::new(|| openapi::page(ENDPOINTS)),
});

/// The application, as the router serves it.
pub fn app(
    service: Arc<Service>,
    authenticator: Arc<Authenticator>,
    observers: Observers,
    settings: HttpSettings,
    metrics: Arc<Metrics>,
    clock: Arc<dyn Clock>,
) -> Arc<App> {
    App::new(&API, service, authenticator, observers, settings, metrics, clock)
}

pub fn router(app: Arc<App>) -> Router {
    let mount = |router, endpoint: &Endpoint| (endpoint.mount)(router, endpoint.path);
    let console = if app.settings.console { CONSOLE } else { &[] };
    let served = ENDPOINTS.iter().chain(HOME).chain(console);
    pipeline::around(served.fold(Router::new(), mount), app)
}

/// Paths that are served however many requests are under way, and on connections beyond their limit too.
pub fn always_served() -> &'static [&'static str] {
    &API.paths.always_served
}

/// The description of the API: what `openapi.yaml` at the root of the repository holds.
pub fn openapi_yaml() -> &'static str {
    &API.openapi
}

/// The description of the paths of ADK: what `openapi-adk.yaml` holds.
pub fn openapi_adk_yaml() -> &'static str {
    &API.openapi_adk
}

#[cfg(test)]
mod tests {
    use super::describe::Access;
    use super::*;
    use crate::http::describe::Charge;

    #[test]
    fn few_endpoints_are_exempt_from_a_rule() {
        let mut always = always_served().to_vec();
        always.sort_unstable();
        assert_eq!(always, ["/health", "/healthz", "/readyz"]);
        assert_eq!(API.paths.pages, ["/docs", "/", "/docs/", "/console", "/console/"]);
        assert_eq!(API.paths.strict_roots, ["v1"]);
        let mut open = API.paths.open.clone();
        open.retain(|path| !API.paths.pages.contains(path));
        open.sort_unstable();
        let expected =
            ["/console/{file}", "/health", "/healthz", "/openapi-adk.yaml", "/openapi.yaml", "/readyz", "/version"];
        assert_eq!(open, expected);
        for Endpoint { method, path, operation, .. } in ENDPOINTS {
            let reads =
                matches!(operation.access, Access::Read(_) | Access::ReadShared(_) | Access::Known | Access::Open);
            assert_eq!(reads, *method == Method::GET || path.ends_with("/render"), "{method} {path}");
            // A name in a path is always judged.
            assert!(!path.contains('{') || !matches!(operation.access, Access::Open | Access::Known), "{path}");

            assert_eq!(operation.serving.strict_path, path.starts_with("/v1/"), "{path}");
            // What has a parameter of the path shows what is stored.
            assert!(operation.serving.database || !path.contains('{'), "{path}");
        }
    }

    #[test]
    fn whatever_names_an_app_is_charged_and_health_is_not() {
        for Endpoint { path, operation, .. } in ENDPOINTS {
            let charge = operation.serving.charge;
            assert!(charge != Charge::Nothing || !path.contains('{'), "{path}");
            assert!(charge == Charge::Nothing || !operation.serving.always, "{path}");
        }
    }
}
