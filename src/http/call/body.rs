//! Request bodies: read within limits of size, memory and time.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use tokio::time::{Instant, timeout_at};

use crate::allowance::Allowance;
use crate::domain::envelope::parse_body;
use crate::domain::event;
use crate::domain::json::Json;
use crate::http::app::App;
use crate::http::limits::admission::RequestShare;
use crate::http::limits::memory::Claim;
use crate::http::limits::shares::preempted;
use crate::http::reply::{Code, Problem};

/// Reads the whole body; `None` if there is none. While it arrives, the request's place may be preempted for another user
/// of the app.
///
/// # Errors
/// The body is invalid, arrives too slowly or does not fit in memory; the place was preempted.
pub async fn receive(
    app: &App,
    headers: &HeaderMap,
    mut body: Body,
    place: &RequestShare,
    deadline: Instant,
) -> Result<Option<Received>, Problem> {
    let settings = &app.settings;
    let limit = settings.max_body_bytes;
    let too_large = || Problem::over("body", Code::PayloadTooLarge, format!("the body is larger than {limit} bytes"));
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<usize>().ok());
    let chunked = headers.contains_key(header::TRANSFER_ENCODING);
    check_content_encoding(headers)?;
    if announced.unwrap_or(0) == 0 && !chunked {
        return Ok(None);
    }
    let content_type = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    if !chunked {
        check_content_type(content_type, MediaType::Json)?;
    }
    if announced.is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    let mut memory = app.memory.claim();
    let mut bytes = BytesMut::new();
    let mut allowance = Allowance::new(settings.body_stall_timeout, settings.min_rate);
    let preemption = place.preemptible();
    let taken_back = || {
        let detail = "more requests of the user are under way than can be served beside others; try again";
        Problem::over("in_flight", Code::Overloaded, detail)
    };
    loop {
        let begun = Instant::now();
        let patience = begun + allowance.left();
        let read = tokio::select! {
            biased;
            () = preempted(preemption.as_deref()) => return Err(taken_back()),
            read = timeout_at(patience.min(deadline), body.frame()) => read,
        };
        let frame = match read {
            Err(_) if patience < deadline => return Err(Broken::TooSlow.into()),
            Err(_) => {
                return Err(Problem::new(Code::RequestTimeout, "the body did not arrive within the time limit"));
            }
            Ok(None) => break,
            Ok(Some(Err(_))) => return Err(Broken::Cut.into()),
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(data) = frame.into_data() else { continue };
        if bytes.is_empty() && !data.is_empty() {
            check_content_type(content_type, MediaType::Json)?;
        }
        if bytes.len() + data.len() > limit {
            return Err(too_large());
        }
        allowance.settle(begun.elapsed(), data.len());
        if !memory.grow_to(bytes.len() + data.len()) {
            let detail = "too many bytes of requests are under way; try again";
            return Err(Problem::over("buffered_bytes", Code::Overloaded, detail));
        }
        bytes.extend_from_slice(&data);
    }
    if !place.settle() {
        return Err(taken_back());
    }
    if bytes.is_empty() {
        return Ok(None);
    }
    Ok(Some(Received { bytes: bytes.freeze(), _memory: memory }))
}

/// A body in memory. It counts against the limit for all bodies together until it is dropped.
pub struct Received {
    bytes: Bytes,
    _memory: Claim,
}

impl Received {
    /// The cost of an event of this many bytes.
    pub fn cost(&self) -> u32 {
        event::cost(self.bytes.len())
    }

    /// # Errors
    /// Not JSON, or JSON that breaks the rules of fidelity.
    pub fn json(&self) -> Result<Json<'_>, Problem> {
        Ok(parse_body(&self.bytes)?)
    }
}

/// A body that its handler reads in parts, of any length. It has no deadline, but must make progress.
pub struct Incoming {
    app: Arc<App>,
    body: Body,
    allowance: Allowance,
}

/// Why a body does not come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    TooSlow,
    Cut,
}

impl From<Broken> for Problem {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::TooSlow => Self::new(Code::RequestTimeout, "the body arrives too slowly"),
            Broken::Cut => Self::new(Code::InvalidJson, "the body ended before it was complete"),
        }
    }
}

impl Incoming {
    pub fn new(app: Arc<App>, body: Body) -> Self {
        let allowance = Allowance::new(app.settings.body_stall_timeout, app.settings.min_rate);
        Self { app, body, allowance }
    }

    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    /// It arrives too slowly, or was cut.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Broken> {
        loop {
            let begun = Instant::now();
            let frame = match timeout_at(begun + self.allowance.left(), self.body.frame()).await {
                Err(_) => {
                    self.app.metrics.rejections.inc("body");
                    return Err(Broken::TooSlow);
                }
                Ok(None) => return Ok(None),
                Ok(Some(Err(_))) => return Err(Broken::Cut),
                Ok(Some(Ok(frame))) => frame,
            };
            if let Ok(data) = frame.into_data() {
                self.allowance.settle(begun.elapsed(), data.len());
                return Ok(Some(data));
            }
        }
    }
}

/// The media type of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaType {
    Json,
    /// Lines of JSON.
    Ndjson,
}

impl MediaType {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Ndjson => "application/x-ndjson",
        }
    }

    /// # Errors
    /// The body has another type or a content coding.
    pub fn check(self, headers: &HeaderMap) -> Result<(), Problem> {
        check_content_encoding(headers)?;
        check_content_type(headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes), self)
    }
}

/// Accepts only this type, in UTF-8. This is a defence: a web page may send some other types to a server on its user's
/// machine without a preflight.
fn check_content_type(value: Option<&[u8]>, media_type: MediaType) -> Result<(), Problem> {
    let refuse = |detail: String| Err(Problem::new(Code::UnsupportedMediaType, detail));
    let wanted = media_type.as_str();
    let Some(value) = value else {
        return refuse(format!("the body has no Content-Type; send `Content-Type: {wanted}`"));
    };
    let value = String::from_utf8_lossy(value).to_ascii_lowercase();
    let mut parts = value.split(';').map(str::trim);
    match (parts.next(), media_type) {
        (Some(given), _) if given == wanted => {}
        (Some("application/x-www-form-urlencoded"), MediaType::Json) => {
            return refuse(
                "the body must be application/json; `curl -d` sends a form type: use `curl --json` instead".to_owned(),
            );
        }
        (Some("multipart/form-data"), _) => {
            return refuse(format!(
                "the body must be {wanted}, and is a form; to send a file as it is: `curl -T FILE …/artifacts/NAME`"
            ));
        }
        _ => return refuse(format!("the body must be {wanted}")),
    }
    let foreign = |part: &str| {
        part.strip_prefix("charset=").is_some_and(|charset| !matches!(charset.trim_matches('"'), "utf-8" | "utf8"))
    };
    if parts.any(foreign) { refuse("the body must be in UTF-8".to_owned()) } else { Ok(()) }
}

/// Refuses compressed bodies: their real size is known too late.
pub fn check_content_encoding(headers: &HeaderMap) -> Result<(), Problem> {
    let is_identity = |value: &HeaderValue| {
        value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii).all(|coding| {
            // RFC 9110 section 8.4.1 keeps the word out of this header, but some clients send it, harmlessly.
            coding.is_empty() || coding.eq_ignore_ascii_case(b"identity")
        })
    };
    if headers.get_all(header::CONTENT_ENCODING).iter().all(is_identity) {
        return Ok(());
    }
    let mut problem =
        Problem::new(Code::UnsupportedMediaType, "the body has a Content-Encoding; send it as it is, without one");
    problem.content_coding = true;
    Err(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bodies_without_a_coding_are_taken() {
        let headers = |values: &[&'static str]| {
            values
                .iter()
                .map(|value| (header::CONTENT_ENCODING, HeaderValue::from_static(value)))
                .collect::<HeaderMap>()
        };
        for good in [&[][..], &["identity"], &["Identity, identity"], &[""]] {
            assert!(check_content_encoding(&headers(good)).is_ok(), "{good:?}");
        }
        for bad in [&["gzip"][..], &["identity, gzip"], &["x"], &["*"]] {
            assert!(check_content_encoding(&headers(bad)).is_err(), "{bad:?}");
        }
        let mut two = headers(&["identity"]);
        two.append(header::CONTENT_ENCODING, HeaderValue::from_static("br"));
        assert!(check_content_encoding(&two).is_err());
    }

    #[test]
    fn only_json_in_utf8_is_taken() {
        for good in ["application/json", "Application/JSON; charset=UTF-8", "application/json;charset=\"utf-8\""] {
            assert!(check_content_type(Some(good.as_bytes()), MediaType::Json).is_ok(), "{good}");
        }
        for bad in ["", "text/plain", "application/json-patch", "application/json; charset=latin1"] {
            assert!(check_content_type(Some(bad.as_bytes()), MediaType::Json).is_err(), "{bad}");
        }
        assert!(check_content_type(None, MediaType::Json).is_err());
    }
}
