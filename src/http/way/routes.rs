//! Paths, and what is served at them.

use std::pin::Pin;
use std::sync::Arc;

use axum::http::Method;
use percent_encoding::percent_decode_str;

use crate::http::call::Call;
use crate::http::describe::{Access, Operation, Serving};
use crate::http::reply::{Answer, Problem};

/// An operation at its place: what the routes are made of, and `openapi.yaml` too.
pub struct Endpoint {
    pub method: Method,
    /// With its parameters as `{name}`, each of which is a segment.
    pub path: &'static str,
    pub operation: &'static Operation,
    pub handler: Handler,
}

pub type Handler = fn(Call) -> Pin<Box<dyn Future<Output = Result<Answer, Problem>> + Send>>;

/// A path, with all that is served at it. What holds for one of its operations before its handler is chosen holds for all.
pub struct Resource {
    pub path: &'static str,
    endpoints: Vec<&'static Endpoint>,
    /// Served without a credential.
    pub is_open: bool,
    /// Served beyond the limits of admission, and asked every few seconds, whether anybody uses the server or not.
    pub is_always_served: bool,
    /// A page for people, to which other sites may link.
    pub is_page: bool,
    /// An empty segment in it is refused by name.
    is_strict: bool,
    /// Takes a user token in its query, for browsers, which cannot send a header with a stream.
    pub takes_token: bool,
}

impl Resource {
    fn new(path: &'static str, endpoints: Vec<&'static Endpoint>) -> Self {
        let any = |is: fn(&Serving) -> bool| endpoints.iter().any(|endpoint| is(&endpoint.operation.serving));
        Self {
            path,
            is_open: endpoints.iter().any(|endpoint| endpoint.operation.access == Access::Open),
            is_always_served: any(|serving| serving.always),
            is_page: any(|serving| serving.page),
            is_strict: any(|serving| serving.strict_path),
            takes_token: any(|serving| serving.token_in_query),
            endpoints,
        }
    }

    /// What serves this method: HEAD as GET and, as some balancers ask, OPTIONS of what is always served, too.
    pub fn endpoint(&self, method: &Method) -> Option<&'static Endpoint> {
        let is_get = |endpoint: &Endpoint| endpoint.method == Method::GET;
        self.endpoints.iter().copied().find(|endpoint| {
            endpoint.method == *method
                || *method == Method::HEAD && is_get(endpoint)
                || *method == Method::OPTIONS && endpoint.operation.serving.always
        })
    }

    /// The methods that it takes, as `Allow` lists them.
    pub fn allow(&self) -> String {
        let mut methods = Vec::new();
        for endpoint in &self.endpoints {
            methods.push(endpoint.method.as_str());
            methods.extend((endpoint.method == Method::GET).then_some("HEAD"));
            methods.extend(endpoint.operation.serving.always.then_some("OPTIONS"));
        }
        methods.join(",")
    }

    /// The names in its template, and what stands there in `path`, decoded.
    pub fn names(&self, path: &str) -> Vec<(&'static str, String)> {
        let segments = self.path.split('/').zip(path.split('/'));
        let name = |template: &'static str| template.strip_prefix('{')?.strip_suffix('}');
        let decoded = |segment| percent_decode_str(segment).decode_utf8_lossy().into_owned();
        segments.filter_map(|(template, segment)| Some((name(template)?, decoded(segment)))).collect()
    }
}

/// All paths, each with its endpoints.
pub fn resources(endpoints: impl Iterator<Item = &'static Endpoint>) -> Vec<Arc<Resource>> {
    let mut paths: Vec<(&'static str, Vec<&'static Endpoint>)> = Vec::new();
    for endpoint in endpoints {
        match paths.iter_mut().find(|(path, _)| *path == endpoint.path) {
            Some((_, endpoints)) => endpoints.push(endpoint),
            None => paths.push((endpoint.path, vec![endpoint])),
        }
    }
    paths.into_iter().map(|(path, endpoints)| Arc::new(Resource::new(path, endpoints))).collect()
}

/// First segments of the paths in which an empty segment is refused by name.
pub fn strict_roots(resources: &[Arc<Resource>]) -> Vec<&'static str> {
    let strict = resources.iter().filter(|resource| resource.is_strict);
    let mut roots: Vec<&str> = strict.filter_map(|resource| resource.path.split('/').nth(1)).collect();
    roots.sort_unstable();
    roots.dedup();
    roots
}
