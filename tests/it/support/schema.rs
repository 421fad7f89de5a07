//! Holds real answers against `openapi.yaml`.

pub fn check_answer(
    _method: &str,
    _path: &str,
    _status: u16,
    _content_type: Option<&str>,
    _headers: &dyn Fn(&str) -> Option<String>,
    _body: &[u8],
) {
}
