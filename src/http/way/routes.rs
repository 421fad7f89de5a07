//! Paths, and the endpoints at each.

use std::pin::Pin;
use std::sync::Arc;

use axum::http::Method;
use percent_encoding::percent_decode_str;

use crate::access::audit::parameters;
use crate::domain::envelope::meant;
use crate::http::call::{Call, segments};
use crate::http::describe::{Access, Operation, Serving};
use crate::http::reply::{Answer, Problem};

/// An operation at its path. The routes and `openapi.yaml` are built from these.
pub struct Endpoint {
    pub method: Method,
    /// Parameters are written `{name}`; each is a whole segment. One that may have several is written `{*name}`.
    pub path: &'static str,
    pub operation: &'static Operation,
    pub handler: Handler,
}

pub type Handler = fn(Call) -> Pin<Box<dyn Future<Output = Result<Answer, Problem>> + Send>>;

/// A path with all its endpoints. What applies before one of them is chosen is the same for all of them.
pub struct Resource {
    pub path: &'static str,
    /// What follows a parameter of several segments, if it has one.
    tail: Option<&'static str>,
    endpoints: Vec<&'static Endpoint>,
    /// Served without a credential.
    pub is_open: bool,
    pub serving: Serving,
}

impl Resource {
    /// With its first endpoint.
    fn of(endpoint: &'static Endpoint) -> Self {
        let (path, operation) = (endpoint.path, endpoint.operation);
        let tail = path.split_once("{*").and_then(|(_, rest)| rest.split_once('}')).map(|(_, tail)| tail);
        let is_open = operation.access == Access::Open;
        Self { path, tail, endpoints: vec![endpoint], is_open, serving: operation.serving }
    }

    /// The endpoint for this method. HEAD uses GET's; for always served paths OPTIONS does too, because some balancers
    /// send it.
    pub fn endpoint(&self, method: &Method) -> Option<&'static Endpoint> {
        let is_get = |endpoint: &Endpoint| endpoint.method == Method::GET;
        self.endpoints.iter().copied().find(|endpoint| {
            endpoint.method == *method
                || *method == Method::HEAD && is_get(endpoint)
                || *method == Method::OPTIONS && endpoint.operation.serving.always
        })
    }

    /// The methods that the path has, as `Allow` lists them.
    pub fn allow(&self) -> String {
        let mut methods = Vec::new();
        for endpoint in &self.endpoints {
            methods.push(endpoint.method.as_str());
            methods.extend((endpoint.method == Method::GET).then_some("HEAD"));
            methods.extend(endpoint.operation.serving.always.then_some("OPTIONS"));
        }
        methods.join(",")
    }

    /// The parameters of the template, with their decoded values in `path`.
    pub fn names(&self, path: &str) -> Vec<(&'static str, String)> {
        let decoded = |given| percent_decode_str(given).decode_utf8_lossy().into_owned();
        if self.tail.is_some() {
            return parameters(self.path, path).map(|(name, given)| (name, decoded(given))).collect();
        }
        let segments = segments(self.path).zip(segments(path));
        let name = |template: &'static str| template.strip_prefix('{')?.strip_suffix('}');
        segments.filter_map(|(template, segment)| Some((name(template)?, decoded(segment)))).collect()
    }

    /// What the router is told: it knows a parameter of several segments only at the end.
    pub fn pattern(&self) -> &'static str {
        self.tail.and_then(|tail| self.path.strip_suffix(tail)).unwrap_or(self.path)
    }

    /// Whether a path that matches the pattern ends as the template does.
    pub fn ends(&self, path: &str) -> bool {
        let Some(tail) = self.tail else { return true };
        let mut given = path.rsplit('/');
        let has_end = tail
            .rsplit('/')
            .filter(|part| !part.is_empty())
            .all(|part| given.next().is_some_and(|given| given == part || part.starts_with('{') && !given.is_empty()));
        // At least one segment is left for the parameter.
        has_end && given.count() >= segments(self.pattern()).count()
    }
}

/// The resources of each pattern, in their order: the first that ends as a path does is that of the path.
pub fn by_pattern(resources: Vec<Arc<Resource>>) -> Vec<(&'static str, Vec<Arc<Resource>>)> {
    let mut patterns: Vec<(&'static str, Vec<Arc<Resource>>)> = Vec::new();
    for resource in resources {
        match patterns.iter_mut().find(|(pattern, _)| *pattern == resource.pattern()) {
            Some((_, resources)) => resources.push(resource),
            None => patterns.push((resource.pattern(), vec![resource])),
        }
    }
    patterns
}

/// Groups the endpoints by path.
pub fn resources(endpoints: impl Iterator<Item = &'static Endpoint>) -> Vec<Arc<Resource>> {
    let mut resources: Vec<Resource> = Vec::new();
    for endpoint in endpoints {
        match resources.iter_mut().find(|resource| resource.path == endpoint.path) {
            Some(resource) => resource.endpoints.push(endpoint),
            None => resources.push(Resource::of(endpoint)),
        }
    }
    resources.into_iter().map(Arc::new).collect()
}

/// How many steps lead from a path to a template: a literal segment that is misspelt is one, a segment too many or a parameter too few two;
/// a parameter is any segment. `None`: more than three, or a literal segment is not there.
fn steps(path: &[&str], template: &[&str]) -> Option<usize> {
    const MOST: usize = 3;
    let is_param = |segment: &str| segment.starts_with('{');
    let missing = |wanted: &str| if is_param(wanted) { 2 } else { MOST + 1 };
    let mut row = vec![0];
    for wanted in template {
        row.push(row.last().copied().unwrap_or_default() + missing(wanted));
    }
    for (n, given) in path.iter().enumerate() {
        let mut next = vec![2 * (n + 1)];
        for (at, wanted) in template.iter().enumerate() {
            let is_same = is_param(wanted) && !given.is_empty() || given == wanted;
            let replaced = match is_same {
                true => 0,
                false if !is_param(wanted) && meant(given, [*wanted]).is_some() => 1,
                false => MOST + 1,
            };
            let (across, above, beside) = (row[at] + replaced, row[at + 1] + 2, next[at] + missing(wanted));
            next.push(across.min(above).min(beside));
        }
        row = next;
    }
    row.last().copied().filter(|steps| *steps <= MOST)
}

/// What to say of a path at which there is nothing: the template that is nearest to it.
pub fn nearest(path: &str, templates: &[&'static str]) -> Option<String> {
    let given: Vec<&str> = segments(path.trim_end_matches('/')).collect();
    // To compare two takes their product; no path has more segments.
    if given.len() > 16 {
        return None;
    }
    let near = templates.iter().filter_map(|template| {
        let wanted: Vec<&str> = segments(template).collect();
        Some((steps(&given, &wanted)?, *template))
    });
    let (_, template) = near.min_by_key(|(steps, _)| *steps)?;
    let wanted: Vec<&str> = segments(template).collect();
    let is_name_cut =
        template.ends_with('}') && given.len() > wanted.len() && steps(&given[..wanted.len()], &wanted) == Some(0);
    let slash = if is_name_cut { "; a `/` within a name is written `%2F`" } else { "" };
    Some(format!(": did you mean `{template}`?{slash}"))
}

/// First segments of the paths in which an empty segment gets an error of its own.
pub fn strict_roots(resources: &[Arc<Resource>]) -> Vec<&'static str> {
    let strict = resources.iter().filter(|resource| resource.serving.strict_path);
    let mut roots: Vec<&str> = strict.filter_map(|resource| resource.path.split('/').nth(1)).collect();
    roots.sort_unstable();
    roots.dedup();
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &'static str) -> Resource {
        const OPERATION: &Operation = &Operation::of("some", Access::Open);
        let handler: Handler = |_| Box::pin(async { Ok(Answer::ok()) });
        Resource::of(Box::leak(Box::new(Endpoint { method: Method::GET, path, operation: OPERATION, handler })))
    }

    #[test]
    fn the_nearest_path_is_named() {
        const OF_USER: &str = "/v1/apps/{app}/users/{user}/sessions";
        const PATHS: [&str; 8] = [
            "/v1/info",
            "/v1/apps",
            "/v1/apps/{app}/users",
            OF_USER,
            "/v1/apps/{app}/users/{user}/sessions/{session}",
            "/v1/apps/{app}/users/{user}/sessions/{session}/events",
            "/v1/apps/{app}/users/{user}/sessions/{session}/artifacts/{name}",
            "/list-apps",
        ];
        let one = format!("{OF_USER}/{{session}}");
        for (path, meant) in [
            ("/v1/apps/hab/user/ada/sessions", OF_USER),
            ("/v1/apps/hab/users/ada/session/a", &one),
            ("/v1/apps/hab/users/ada/sessions/a/event", &format!("{one}/events")),
            ("/api/v1/apps", "/v1/apps"),
            ("/v1/app", "/v1/apps"),
            ("/v1/apps/hab", "/v1/apps"),
            ("/v1/apps/hab/users/ada", "/v1/apps/{app}/users"),
            ("/list_apps", "/list-apps"),
        ] {
            assert_eq!(nearest(path, &PATHS), Some(format!(": did you mean `{meant}`?")), "{path}");
        }
        let file = nearest("/v1/apps/a/users/u/sessions/s/artifacts/dir/host.txt", &PATHS).unwrap();
        assert!(file.ends_with("/artifacts/{name}`?; a `/` within a name is written `%2F`"), "{file}");
        for path in
            ["/", "/favicon.ico", "/v1/nothing", "/wp-admin/setup.php", "/v1/bogus/x/y/z/a/b", &"/a".repeat(1000)]
        {
            assert_eq!(nearest(path, &PATHS), None, "{path}");
        }
    }

    #[test]
    fn a_parameter_of_several_segments_leaves_the_end_of_the_path() {
        let (whole, one) = (at("/a/{b}/f/{*c}"), at("/a/{b}/f/{*c}/v/{d}"));
        assert_eq!((whole.pattern(), one.pattern()), (whole.path, whole.path));
        for (path, is_one) in [
            ("/a/b/f/c", false),
            ("/a/b/f/c/v", false),
            ("/a/b/f/c/v/", false),
            ("/a/b/f/c/v/d", true),
            ("/a/b/f/v/d", false),
            ("/a/b/f//v/d", true),
            ("/a/b/f/c/v/d/v/e", true),
            ("/a/b/f/c%2Fv%2Fd", false),
        ] {
            assert!(whole.ends(path), "{path}");
            assert_eq!(one.ends(path), is_one, "{path}");
        }
        assert_eq!(
            one.names("/a/b/f/c%2F/c/v/d"),
            [("b", "b"), ("c", "c//c"), ("d", "d")].map(|(name, of)| (name, of.to_owned()))
        );
        assert!(at("/a").ends("/a") && at("/a").pattern() == "/a");
    }
}
