//! The first checks of every request: it is one message to one host, and no page of another site sent it. Also CORS,
//! for the origins that are allowed.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::{Extension, Router};

use crate::http::reply::{Answer, Code, Problem, is_write};
use crate::metrics::Metrics;
use crate::origin::{Foreign, Host, Origin, OriginPolicy, RequestOrigin};
use crate::server::Arrival;
use crate::service::{Clock as _, SystemClock};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// How long a browser may cache a preflight, in seconds.
const PREFLIGHT_SECONDS: &str = "600";

/// Checks a request before anything else happens to it. With a policy, also its host and origin. Other sites may link
/// to a page, which shows no stored data.
///
/// # Errors
/// 400 `invalid_request` if the request is ambiguous or does not name one host, 403 `permission_denied` if it is
/// foreign.
pub fn check(
    policy: Option<&OriginPolicy>,
    is_page: bool,
    request: &Parts,
    has_two_lengths: bool,
) -> Result<(), Problem> {
    check_message(request, has_two_lengths)?;
    policy.map_or(Ok(()), |policy| check_origin(policy, is_page, request))
}

/// Refuses a message that a proxy in front may have parsed differently (request smuggling). The connection ends with
/// it.
fn check_message(request: &Parts, has_two_lengths: bool) -> Result<(), Problem> {
    let headers = &request.headers;
    let count = |name| headers.get_all(name).iter().count();
    let refuse = |detail| Err(Problem::new(Code::InvalidRequest, detail));
    if has_two_lengths {
        return refuse("the request has both Content-Length and Transfer-Encoding");
    }
    let is_chunked = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"chunked");
    if count(header::TRANSFER_ENCODING) > 1 || !headers.get(header::TRANSFER_ENCODING).is_none_or(is_chunked) {
        return refuse("the only Transfer-Encoding that is taken is `chunked`, once");
    }
    if count(header::CONTENT_TYPE) > 1 {
        return refuse("the request has more than one Content-Type");
    }
    match count(header::HOST) {
        1 => Ok(()),
        // HTTP/1.0 has no `Host`. No browser speaks it, but health checks of load balancers do.
        0 if request.version < Version::HTTP_11 => Ok(()),
        0 => refuse("the request has no Host"),
        _ => refuse("the request has more than one Host"),
    }
}

fn check_origin(policy: &OriginPolicy, is_page: bool, request: &Parts) -> Result<(), Problem> {
    let headers = &request.headers;
    let parse = |text: Option<&str>| {
        text.and_then(Host::parse)
            .ok_or_else(|| Problem::new(Code::InvalidRequest, "the request's Host is no host and port"))
    };
    // The authority of the target, if there is one, wins (RFC 9112 section 3.2.2). `Host` must be allowed too: an
    // honest client sends the same in both.
    let target = request.uri.authority().map(|authority| parse(Some(authority.as_str()))).transpose()?;
    let host = headers.get(header::HOST).map(|value| parse(value.to_str().ok())).transpose()?;
    let hosts: Vec<Host> = target.into_iter().chain(host).collect();
    let scheme = request.uri.scheme_str().unwrap_or("http");
    let origin = origin(headers);
    let own = hosts.first().filter(|_| origin.is_some()).map(|host| Origin::new(scheme, host));
    policy
        .check(&RequestOrigin {
            hosts: &hosts,
            own: own.as_ref(),
            origin: origin.as_ref().map(Option::as_ref),
            cross_site: is_cross_site(headers),
            page: is_page,
        })
        .map_err(|foreign| {
            let limit = match foreign {
                Foreign::Host => "host",
                Foreign::Origin => "origin",
            };
            Problem::over(limit, Code::PermissionDenied, foreign.to_string())
        })
}

/// The request's `Origin`. The inner `None` is `null` or cannot be parsed.
fn origin(headers: &HeaderMap) -> Option<Option<Origin>> {
    let mut values = headers.get_all(header::ORIGIN).iter();
    let first = values.next()?;
    let only = values.next().is_none();
    Some(first.to_str().ok().filter(|_| only).and_then(Origin::parse))
}

fn is_cross_site(headers: &HeaderMap) -> bool {
    let says_so = |value: &HeaderValue| {
        // A structured field (RFC 8941): parameters may follow.
        let token = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
        token.trim_ascii().eq_ignore_ascii_case(b"cross-site")
    };
    headers.get_all(SEC_FETCH_SITE).iter().any(says_so)
}

/// Puts [`check`] in front of `router`, for a listener other than the API's.
pub fn guarded(router: Router, policy: Arc<OriginPolicy>, metrics: Arc<Metrics>) -> Router {
    router.layer(from_fn(move |Extension(arrival): Extension<Arrival>, request: Request, next: Next| {
        let (policy, metrics) = (policy.clone(), metrics.clone());
        async move {
            let (head, body) = request.into_parts();
            let Err(problem) = check(Some(&policy), false, &head, arrival.has_two_lengths) else {
                return next.run(Request::from_parts(head, body)).await;
            };
            if let Some(limit) = problem.limit {
                metrics.rejections.inc(limit);
            }
            problem.finish_alone(&SystemClock.fresh_id().to_string(), is_write(&head.method))
        }
    }))
}

/// The CORS part of an answer (Fetch standard, "HTTP-responses").
///
/// tower-http's layer takes every OPTIONS request for a preflight, so it is not used.
#[derive(Debug)]
pub struct Cors {
    /// The caller's origin, if `--cors-origins` lists it.
    origin: Option<HeaderValue>,
    /// Other origins get another answer.
    varies: bool,
    preflight: bool,
}

impl Cors {
    pub fn of(policy: &OriginPolicy, request: &Parts) -> Self {
        let headers = &request.headers;
        let is_listed = matches!(origin(headers), Some(Some(origin)) if policy.lists(&origin));
        let asks = request.method == Method::OPTIONS && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        Self {
            origin: headers.get(header::ORIGIN).filter(|_| is_listed).cloned(),
            varies: !policy.origins.is_empty(),
            preflight: is_listed && asks,
        }
    }

    /// The answer to a preflight of an allowed origin.
    pub fn preflight(&self) -> Option<Answer> {
        const HEADERS: &str = "authorization, content-type, if-match, if-none-match, idempotency-key, last-event-id, \
                               sessiond-lease, traceparent, x-request-id";
        self.preflight.then(|| {
            Answer::new(StatusCode::NO_CONTENT)
                .header(header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST, PUT, PATCH, DELETE")
                .header(header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS)
                .header(header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS)
        })
    }

    /// Lets the page read the answer, if its origin is allowed.
    pub fn mark(self, response: &mut Response) {
        const EXPOSED: HeaderValue = HeaderValue::from_static(
            "etag, location, idempotent-replayed, sessiond-created, retry-after, ratelimit, ratelimit-policy, allow, x-request-id",
        );
        let headers = response.headers_mut();
        if self.varies {
            headers.append(header::VARY, HeaderValue::from_static("Origin"));
        }
        if let Some(origin) = self.origin {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        }
    }
}
