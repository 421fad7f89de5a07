//! The access log (`--audit-log`): who did what to which names, with which status. It contains names, which the log
//! must not, so it is a sink of its own. It never contains a credential, a query, a body or a stored value.
//!
//! A line is a JSON object, written before the answer. A failed write is counted and logged as a warning, and the
//! request is served nevertheless. Clients without a credential must not control how much is written: their refusals
//! are counted, with one line a second, and names are cut.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use percent_encoding::percent_decode_str;
use tokio::time::{MissedTickBehavior, interval};

use super::Client;
use crate::domain::json::{ObjectText, string_array};
use crate::domain::time::Micros;
use crate::metrics::{Metrics, known_method};
use crate::service::Clock;

/// The most bytes of a name in a line: the length of the longest valid name.
const LONGEST_NAME: usize = 256;

/// The most addresses of clients without a credential in the line of a second.
const MOST_ADDRESSES: usize = 8;

/// Where the lines go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sink {
    Stderr,
    File(PathBuf),
}

impl FromStr for Sink {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "" => Err("must be a file or `stderr`"),
            "stderr" => Ok(Self::Stderr),
            file => Ok(Self::File(file.into())),
        }
    }
}

/// The access log of a process.
pub struct Audit {
    sink: Sink,
    /// `None` for standard error.
    file: Mutex<Option<File>>,
    /// Requests without a valid credential since the last line about them.
    refused: Mutex<Refused>,
    metrics: Arc<Metrics>,
}

/// Requests that were refused for lack of a valid credential.
#[derive(Debug, Default)]
struct Refused {
    count: u64,
    /// The addresses of some of their clients.
    addresses: BTreeSet<IpAddr>,
}

/// The content of a line.
pub struct AuditLine<'a> {
    pub time: Micros,
    pub request_id: &'a str,
    /// `None`: the request was refused before authentication.
    pub client: Option<&'a Client>,
    pub peer: Option<SocketAddr>,
    pub method: &'a Method,
    /// The template of the path; `None` for an unknown path.
    pub route: Option<&'a str>,
    pub path: &'a str,
    /// Names of the objects of the request that its path does not have.
    pub named: &'a [(&'static str, String)],
    pub status: StatusCode,
}

impl Audit {
    /// # Errors
    /// The file cannot be opened for appending.
    pub fn open(sink: Sink, metrics: Arc<Metrics>) -> io::Result<Self> {
        let file = match &sink {
            Sink::Stderr => None,
            Sink::File(path) => Some(appending(path)?),
        };
        Ok(Self { sink, file: Mutex::new(file), refused: Mutex::default(), metrics })
    }

    /// Reopens the file after it was moved away (SIGHUP). If that fails, the old file stays in use.
    pub fn reopen(&self) {
        let Sink::File(path) = &self.sink else { return };
        match appending(path) {
            Ok(file) => *self.file.lock().unwrap_or_else(PoisonError::into_inner) = Some(file),
            Err(error) => {
                self.metrics.background_failures.inc("access_log");
                tracing::error!(%error, "the access log cannot be reopened; the old file stays in use");
            }
        }
    }

    pub fn write(&self, line: &AuditLine<'_>) {
        self.append(line.text());
    }

    /// Counts a request that was refused for lack of a valid credential, for [`Audit::report`].
    pub fn refused(&self, peer: Option<SocketAddr>) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.count += 1;
        if refused.addresses.len() < MOST_ADDRESSES {
            refused.addresses.extend(peer.map(|peer| peer.ip()));
        }
    }

    /// Writes once a second how many requests were refused for lack of a valid credential, if there were any. Never
    /// returns.
    pub async fn report(&self, clock: &dyn Clock) {
        let mut seconds = interval(Duration::from_secs(1));
        seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            seconds.tick().await;
            self.report_now(clock);
        }
    }

    /// Does one step of [`Audit::report`].
    pub fn report_now(&self, clock: &dyn Clock) {
        let Refused { count, addresses } = mem::take(&mut *self.refused.lock().unwrap_or_else(PoisonError::into_inner));
        if count > 0 {
            let mut line = ObjectText::default();
            line.push("time", &clock.now().to_number());
            line.push("status", StatusCode::UNAUTHORIZED.as_str());
            line.push("count", &count.to_string());
            line.push("addresses", &string_array(addresses.iter().map(IpAddr::to_string)));
            self.append(line.close());
        }
    }

    fn append(&self, mut text: String) {
        text.push('\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // One write per line, so that lines of several processes do not mix.
        let written = match &mut *file {
            Some(file) => file.write_all(text.as_bytes()),
            None => io::stderr().lock().write_all(text.as_bytes()),
        };
        if let Err(error) = written {
            self.metrics.background_failures.inc("access_log");
            tracing::error!(%error, "a line of the access log is lost");
        }
    }
}

/// Only owner and group may read it: it contains names of users.
fn appending(path: &Path) -> io::Result<File> {
    let opened = OpenOptions::new().append(true).create(true).mode(0o640).open(path);
    opened.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

impl AuditLine<'_> {
    fn text(&self) -> String {
        let mut line = ObjectText::with_capacity(512);
        line.push("time", &self.time.to_number());
        line.push_str("requestId", self.request_id);
        if let Some(client) = self.client {
            let mut principal = ObjectText::default();
            principal.push_str("kind", client.kind.as_str());
            if let Some(id) = &client.id {
                // The issuer chooses the subject of a JWT, of any length.
                principal.push_str("id", cut(id));
            }
            principal.push_str("role", client.grant.role.as_str());
            line.push("principal", &principal.close());
        }
        line.push_some_str("address", self.peer.map(|peer| peer.to_string()));
        line.push_str("method", known_method(self.method.as_str()));
        if let Some(route) = self.route {
            line.push_str("route", route);
            for (name, value) in names(route, self.path) {
                line.push_str(name, &value);
            }
        }
        for (name, value) in self.named {
            line.push_str(name, cut(value));
        }
        line.push("status", self.status.as_str());
        line.close()
    }
}

/// Cuts a name to its first bytes, at a character boundary.
fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(LONGEST_NAME)]
}

/// The names in a path that matches a template, each cut at 256 bytes. They are not validated yet.
pub fn names<'a>(route: &'a str, path: &'a str) -> impl Iterator<Item = (&'a str, String)> {
    parameters(route, path).map(|(name, given)| {
        // A byte takes at most three characters, so nothing more needs decoding.
        let decoded: Vec<u8> = percent_decode_str(given).take(LONGEST_NAME + 3).collect();
        (name, cut(&String::from_utf8_lossy(&decoded)).to_owned())
    })
}

/// The parameters of a template, with what a path that matches it has in their places. `{name}` is a segment, `{*name}` at least one.
pub fn parameters<'t, 'p>(template: &'t str, path: &'p str) -> impl Iterator<Item = (&'t str, &'p str)> {
    let slashes = |text: &str| text.bytes().filter(|byte| *byte == b'/').count();
    let more = slashes(path).saturating_sub(slashes(template));
    let mut rest = path;
    template.split('/').filter_map(move |part| {
        let passed = if part.starts_with("{*") { more } else { 0 };
        let end = rest.match_indices('/').nth(passed).map_or(rest.len(), |(at, _)| at);
        let (given, left) = rest.split_at(end);
        rest = left.strip_prefix('/').unwrap_or_default();
        let name = part.strip_prefix('{')?.strip_suffix('}')?;
        Some((name.strip_prefix('*').unwrap_or(name), given))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_names_of_the_path() {
        let line = AuditLine {
            time: Micros(1_500_000),
            request_id: "r",
            client: Some(&Client::anyone()),
            peer: "127.0.0.1:7".parse().ok(),
            method: &Method::GET,
            route: Some("/v1/apps/{app}/users/{user}/state"),
            path: "/v1/apps/a%2Fb/users/%22u/state",
            named: &[("id", "k".to_owned())],
            status: StatusCode::OK,
        };
        let expected = concat!(
            r#"{"time":1.500000,"requestId":"r","principal":{"kind":"none","role":"admin"},"address":"127.0.0.1:7","#,
            r#""method":"GET","route":"/v1/apps/{app}/users/{user}/state","app":"a/b","user":"\"u","id":"k","status":200}"#
        );
        assert_eq!(line.text(), expected);
    }

    #[test]
    fn a_parameter_has_a_segment_or_several() {
        for (template, path, expected) in [
            ("/a/{b}/c/{d}", "/a/1/c/2", &[("b", "1"), ("d", "2")][..]),
            ("/{a}/{*b}", "/1/2", &[("a", "1"), ("b", "2")]),
            ("/{a}/{*b}", "/1/2//3/", &[("a", "1"), ("b", "2//3/")]),
            ("/{a}/{*b}/c/{d}", "/1/2/c/3/c/4", &[("a", "1"), ("b", "2/c/3"), ("d", "4")]),
            ("/{a}/{*b}/c", "/1/2/c", &[("a", "1"), ("b", "2")]),
            ("/a", "/a", &[]),
        ] {
            assert_eq!(parameters(template, path).collect::<Vec<_>>(), expected, "{path}");
        }
    }

    #[test]
    fn a_name_is_cut_at_256_bytes_in_whole_characters() {
        let of = |segment: String| names("/v1/apps/{app}", &format!("/v1/apps/{segment}")).next().unwrap().1;
        assert_eq!(of("a".repeat(256)), "a".repeat(256));
        assert_eq!(of("a".repeat(60_000)), "a".repeat(256));
        assert_eq!(of(format!("a{}", "%C3%A4".repeat(20_000))), format!("a{}", "ä".repeat(127)));
        assert!(of("%FF".repeat(20_000)).len() <= 256);
    }
}
