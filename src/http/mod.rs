//! HTTP: the table of endpoints. The router and the API description are built from it.

mod adk;
mod app;
mod call;
mod describe;
mod limits;
mod live;
mod openapi;
mod pages;
mod reply;
mod resources;
mod way;

use std::sync::{Arc, LazyLock};

use adk::artifacts as adk_artifacts;
use axum::Router;
use axum::http::Method;
use pages::{console, docs, home};
use resources::{
    access, artifacts, erasure, events, feed, key_history, lease, names, past, policy, redact, render, search,
    sessions, state, system, transfer, trim, watch,
};
use way::pipeline;
use way::routes::{Endpoint, resources};

pub use app::{App, Observers};
pub use limits::admission::report_refusals;
pub use openapi::{ADK_YAML, YAML};
pub use way::edge::guarded;
pub use way::pipeline::refusal;

macro_rules! endpoints {
    ($($method:ident $path:literal => $module:ident::$handler:ident, $operation:ident;)*) => {
        &[$(Endpoint {
            method: Method::$method,
            path: $path,
            operation: &$module::$operation,
            handler: |call| Box::pin($module::$handler(call)),
        }),*]
    };
}

/// The whole API.
const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/v1/feed" => feed::read, OF_ALL;
    GET "/v1/apps/{app}/feed" => feed::read, OF_APP;
    GET "/v1/apps/{app}/users/{user}/feed" => feed::read, OF_USER;
    GET "/v1/apps" => names::apps, APPS;
    GET "/v1/apps/{app}/activity" => names::activity, ACTIVITY;
    GET "/v1/apps/{app}/users" => names::users, USERS;
    GET "/v1/apps/{app}/sessions" => sessions::list, LIST_OF_APP;
    GET "/v1/apps/{app}/state" => state::get_scope, GET_APP;
    PATCH "/v1/apps/{app}/state" => state::patch_scope, PATCH_APP;
    GET "/v1/apps/{app}/state/{key}" => state::get_scope_key, GET_APP_KEY;
    PUT "/v1/apps/{app}/state/{key}" => state::put_scope_key, PUT_APP_KEY;
    DELETE "/v1/apps/{app}/state/{key}" => state::delete_scope_key, DELETE_APP_KEY;
    GET "/v1/apps/{app}/state/{key}/history" => key_history::get_scope, GET_APP;
    GET "/v1/apps/{app}/policy" => policy::get, GET;
    PUT "/v1/apps/{app}/policy" => policy::put, PUT;
    DELETE "/v1/apps/{app}/policy" => policy::delete, DELETE;
    GET "/v1/apps/{app}/users/{user}/search" => search::search, SEARCH;
    GET "/v1/apps/{app}/users/{user}/state" => state::get_scope, GET_USER;
    PATCH "/v1/apps/{app}/users/{user}/state" => state::patch_scope, PATCH_USER;
    GET "/v1/apps/{app}/users/{user}/state/{key}" => state::get_scope_key, GET_USER_KEY;
    PUT "/v1/apps/{app}/users/{user}/state/{key}" => state::put_scope_key, PUT_USER_KEY;
    DELETE "/v1/apps/{app}/users/{user}/state/{key}" => state::delete_scope_key, DELETE_USER_KEY;
    GET "/v1/apps/{app}/users/{user}/state/{key}/history" => key_history::get_scope, GET_USER;
    GET "/v1/apps/{app}/users/{user}/sessions" => sessions::list, LIST_OF_USER;
    POST "/v1/apps/{app}/users/{user}/sessions" => sessions::create, CREATE;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}" => sessions::get, GET;
    PUT "/v1/apps/{app}/users/{user}/sessions/{session}" => sessions::get_or_create, GET_OR_CREATE;
    PATCH "/v1/apps/{app}/users/{user}/sessions/{session}" => sessions::patch, PATCH;
    DELETE "/v1/apps/{app}/users/{user}/sessions/{session}" => sessions::delete, DELETE;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}/watch" => watch::watch, WATCH;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}/events" => events::list, LIST;
    POST "/v1/apps/{app}/users/{user}/sessions/{session}/events" => events::append, APPEND;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}/events/{event}" => events::get, GET;
    POST "/v1/apps/{app}/users/{user}/sessions/{session}/events/{event}/redact" => redact::redact, REDACT;
    POST "/v1/apps/{app}/users/{user}/sessions/{session}/fork" => past::fork, FORK;
    POST "/v1/apps/{app}/users/{user}/sessions/{session}/rewind" => past::rewind, REWIND;
    POST "/v1/apps/{app}/users/{user}/sessions/{session}/trim" => trim::trim, TRIM;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}/export" => transfer::export, EXPORT_SESSION;
    GET "/v1/apps/{app}/users/{user}/export" => transfer::export, EXPORT_USER;
    GET "/v1/apps/{app}/export" => transfer::export, EXPORT_APP;
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
    GET "/v1/apps/{app}/users/{user}/sessions/{session}/state/{key}/history" => key_history::get_session, GET_SESSION;
    POST "/v1/apps/{app}/users/{user}/sessions/{session}/render" => render::render, RENDER;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}/artifacts" => artifacts::list, LIST;
    POST "/v1/apps/{app}/users/{user}/sessions/{session}/artifacts" => artifacts::post, POST;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}/artifacts/{artifact}" => artifacts::get, GET;
    PUT "/v1/apps/{app}/users/{user}/sessions/{session}/artifacts/{artifact}" => artifacts::put, PUT;
    DELETE "/v1/apps/{app}/users/{user}/sessions/{session}/artifacts/{artifact}" => artifacts::delete, DELETE;
    GET "/v1/apps/{app}/users/{user}/sessions/{session}/artifacts/{artifact}/versions" => artifacts::versions, VERSIONS;
    GET "/v1/apps/{app}/users/{user}/artifacts" => artifacts::list, LIST_OF_USER;
    POST "/v1/apps/{app}/users/{user}/artifacts" => artifacts::post, POST_OF_USER;
    GET "/v1/apps/{app}/users/{user}/artifacts/{artifact}" => artifacts::get, GET_OF_USER;
    PUT "/v1/apps/{app}/users/{user}/artifacts/{artifact}" => artifacts::put, PUT_OF_USER;
    DELETE "/v1/apps/{app}/users/{user}/artifacts/{artifact}" => artifacts::delete, DELETE_OF_USER;
    GET "/v1/apps/{app}/users/{user}/artifacts/{artifact}/versions" => artifacts::versions, VERSIONS_OF_USER;
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
    GET "/v1/requests" => system::requests, REQUESTS;
    GET "/apps/{app}/users/{user}/sessions" => adk::list, LIST;
    POST "/apps/{app}/users/{user}/sessions" => adk::create, CREATE;
    GET "/apps/{app}/users/{user}/sessions/{session}" => adk::get, GET;
    POST "/apps/{app}/users/{user}/sessions/{session}" => adk::create_with_id, CREATE_WITH_ID;
    PATCH "/apps/{app}/users/{user}/sessions/{session}" => adk::patch, PATCH;
    DELETE "/apps/{app}/users/{user}/sessions/{session}" => adk::delete, DELETE;
    GET "/apps/{app}/users/{user}/sessions/{session}/artifacts" => adk_artifacts::list, LIST;
    POST "/apps/{app}/users/{user}/sessions/{session}/artifacts" => adk_artifacts::save, SAVE;
    GET "/apps/{app}/users/{user}/sessions/{session}/artifacts/{*artifact}/versions/{version}/metadata" => adk_artifacts::metadata, METADATA;
    GET "/apps/{app}/users/{user}/sessions/{session}/artifacts/{*artifact}/versions/metadata" => adk_artifacts::versions_metadata, VERSIONS_METADATA;
    GET "/apps/{app}/users/{user}/sessions/{session}/artifacts/{*artifact}/versions/{version}" => adk_artifacts::get_version, GET_VERSION;
    GET "/apps/{app}/users/{user}/sessions/{session}/artifacts/{*artifact}/versions" => adk_artifacts::versions, VERSIONS;
    GET "/apps/{app}/users/{user}/sessions/{session}/artifacts/{*artifact}" => adk_artifacts::get, GET;
    DELETE "/apps/{app}/users/{user}/sessions/{session}/artifacts/{*artifact}" => adk_artifacts::delete, DELETE;
    GET "/list-apps" => adk::apps, APPS;
    GET "/health" => adk::health, HEALTH;
    GET "/version" => adk::version, VERSION;
    GET "/healthz" => system::health, HEALTH;
    GET "/readyz" => system::ready, READY;
    GET "/openapi.yaml" => docs::openapi, OPENAPI;
    GET "/openapi-adk.yaml" => docs::openapi_adk, OPENAPI_ADK;
    GET "/docs" => docs::docs, DOCS;
};

/// Pages for people. They are not part of the API or its description.
const HOME: &[Endpoint] = endpoints! {
    GET "/" => home::home, HOME;
    GET "/docs/" => docs::docs_with_slash, DOCS_WITH_SLASH;
};
const CONSOLE: &[Endpoint] = endpoints! {
    GET "/console" => console::entrance, ENTRANCE;
    GET "/console/" => console::file, FILE;
    GET "/console/{file}" => console::file, PART;
};

/// The application, as a listener serves it.
pub fn router(app: Arc<App>) -> Router {
    let console = if app.settings.console { CONSOLE } else { &[] };
    pipeline::router(app, resources(ENDPOINTS.iter().chain(HOME).chain(console)))
}

/// Paths that are served even when the limits on requests and connections are reached.
pub fn always_served() -> &'static [&'static str] {
    static ALWAYS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        ENDPOINTS.iter().filter(|endpoint| endpoint.operation.serving.always).map(|endpoint| endpoint.path).collect()
    });
    &ALWAYS
}

#[cfg(test)]
mod tests {
    use super::describe::{Access, Serving};
    use super::way::routes::Resource;
    use super::*;

    #[test]
    fn few_endpoints_are_exempt_from_a_rule() {
        let all = || ENDPOINTS.iter().chain(HOME).chain(CONSOLE);
        let mut always = always_served().to_vec();
        always.sort_unstable();
        assert_eq!(always, ["/health", "/healthz", "/readyz"]);
        let pages = all().filter(|endpoint| endpoint.operation.serving.page).map(|endpoint| endpoint.path);
        assert_eq!(pages.collect::<Vec<_>>(), ["/docs", "/", "/docs/", "/console", "/console/"]);
        let resources = resources(all());
        assert_eq!(way::routes::strict_roots(&resources), ["v1"]);
        let is_open = |resource: &&Arc<Resource>| resource.is_open && !resource.serving.page;
        let mut open: Vec<&str> = resources.iter().filter(is_open).map(|resource| resource.path).collect();
        open.sort_unstable();
        let expected =
            ["/console/{file}", "/health", "/healthz", "/openapi-adk.yaml", "/openapi.yaml", "/readyz", "/version"];
        assert_eq!(open, expected);
        for Endpoint { path, operation, .. } in all() {
            let resource = resources.iter().find(|resource| resource.path == *path).unwrap();
            let before =
                |serving: &Serving| (serving.always, serving.page, serving.strict_path, serving.token_in_query);
            assert_eq!(before(&resource.serving), before(&operation.serving), "{path}: one rule before one is chosen");
            assert_eq!(resource.is_open, operation.access == Access::Open, "{path}: one rule before one is chosen");
        }
        for Endpoint { method, path, operation, .. } in ENDPOINTS {
            let reads =
                matches!(operation.access, Access::Read(_) | Access::ReadShared(_) | Access::Known | Access::Open);
            assert_eq!(reads, *method == Method::GET || path.ends_with("/render"), "{method} {path}");
            // A path with a name must be authorized.
            assert!(!path.contains('{') || !matches!(operation.access, Access::Open | Access::Known), "{path}");

            assert_eq!(operation.serving.strict_path, path.starts_with("/v1/"), "{path}");
        }
    }

    #[test]
    fn whatever_names_an_app_is_charged_and_health_is_not() {
        for Endpoint { path, operation, .. } in ENDPOINTS {
            assert!(operation.serving.is_charged || !path.contains('{'), "{path}");
            assert!(!operation.serving.is_charged || !operation.serving.always, "{path}");
        }
    }
}
