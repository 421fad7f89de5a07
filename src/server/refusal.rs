//! Answers without a handler: those of the accept loop, and those that replace hyper's own.

/// Makes the problem document of an answer without a handler: from its status (400, 414, 431 or 503) and a detail to a
/// request id and the JSON text.
pub type ProblemWriter = fn(status: u16, detail: &str) -> (String, String);

/// Headers of every answer: browsers must not guess another type, and pages of other origins must not embed it.
pub const SAFETY: [(&str, &str); 2] =
    [("x-content-type-options", "nosniff"), ("cross-origin-resource-policy", "same-origin")];

pub fn overloaded(refusal: ProblemWriter) -> String {
    let head = "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n";
    with_problem(head, refusal(503, "all connections are taken; try again"))
}

/// Completes `head` (without its empty line) to an answer with a problem document.
fn with_problem(head: &str, (id, body): (String, String)) -> String {
    let length = body.len();
    let safety: String = SAFETY.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!(
        "{head}{safety}content-type: application/problem+json\r\nx-request-id: {id}\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// The replacement for `written`, if that is hyper's answer to a head that it cannot parse.
///
/// hyper has no hook for these answers. They are recognized by three signs: they are written while no request is in
/// progress, they are complete in one write (hyper writes every head in one write, and these have no body), and they
/// have a status of hyper's `Server::on_error`. Everything else is written unchanged.
pub fn refusal_of_head(written: &[u8], refusal: ProblemWriter) -> Option<String> {
    let head = str::from_utf8(written).ok()?.strip_suffix("\r\n\r\n")?;
    let (status, detail) = match head.strip_prefix("HTTP/1.")?.get(2..5)? {
        "400" => (400, "the request head is not valid HTTP/1.1"),
        "414" => (414, "the request's URI is too long"),
        "431" => (431, "the request head is too large or has too many fields"),
        _ => return None,
    };
    // hyper's status line, `Date` and `Connection` remain.
    let mut kept = String::new();
    for line in head.split("\r\n").filter(|line| !line.starts_with("content-length:")) {
        kept.push_str(line);
        kept.push_str("\r\n");
    }
    Some(with_problem(&kept, refusal(status, detail)))
}
