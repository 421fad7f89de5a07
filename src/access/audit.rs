//! The access log (`--audit-log`): who did what to which names, with which status. It has names, which the log must not have, so
//! it is a sink of its own. Never a credential, a query, a body or a stored value.
//!
//! A line is a JSON object, written before the answer is: what cannot be written is counted and warned of, and the request is
//! served all the same.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::{Method, StatusCode};
use percent_encoding::percent_decode_str;

use super::Client;
use crate::domain::json::ObjectText;
use crate::domain::time::Micros;
use crate::metrics::{Metrics, known_method};

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
    metrics: Arc<Metrics>,
}

/// Names that a request is about and that do not stand in its path: among the extensions of its answer.
#[derive(Debug, Clone)]
pub struct Named(pub Vec<(&'static str, String)>);

/// What a line says.
pub struct Line<'a> {
    pub time: Micros,
    pub request_id: &'a str,
    /// `None`: no credential that holds, or none is asked for there.
    pub client: Option<&'a Client>,
    pub peer: Option<SocketAddr>,
    pub method: &'a Method,
    /// The template of the path; `None` if there is nothing at it.
    pub route: Option<&'a str>,
    pub path: &'a str,
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
        Ok(Self { sink, file: Mutex::new(file), metrics })
    }

    /// Opens the file anew, after it was moved away (SIGHUP). If that fails, the old one is written on.
    pub fn reopen(&self) {
        let Sink::File(path) = &self.sink else { return };
        match appending(path) {
            Ok(file) => *self.file.lock().unwrap_or_else(PoisonError::into_inner) = Some(file),
            Err(error) => {
                self.metrics.failed("access_log");
                tracing::error!(%error, "the access log cannot be opened again; the old file is written on");
            }
        }
    }

    pub fn write(&self, line: &Line<'_>) {
        let mut text = line.text();
        text.push('\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // In one write each, so that lines of several processes do not mix.
        let written = match &mut *file {
            Some(file) => file.write_all(text.as_bytes()),
            None => io::stderr().lock().write_all(text.as_bytes()),
        };
        if let Err(error) = written {
            self.metrics.failed("access_log");
            tracing::error!(%error, "a line of the access log is lost");
        }
    }
}

/// Readable by its owner and group alone: it has the names of users.
fn appending(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o640).open(path)
}

impl Line<'_> {
    fn text(&self) -> String {
        let mut line = ObjectText::with_capacity(256 + self.path.len());
        line.push("time", &self.time.to_number());
        line.push_str("requestId", self.request_id);
        if let Some(client) = self.client {
            let mut principal = ObjectText::default();
            principal.push_str("kind", client.kind.as_str());
            if let Some(id) = &client.id {
                // Of a JWT it is what the issuer says, however long.
                principal.push_str("id", id.char_indices().nth(256).map_or(id, |(end, _)| &id[..end]));
            }
            principal.push_str("role", client.grant.role.as_str());
            line.push("principal", &principal.close());
        }
        if let Some(peer) = self.peer {
            line.push_str("address", &peer.to_string());
        }
        line.push_str("method", known_method(self.method.as_str()));
        if let Some(route) = self.route {
            line.push_str("route", route);
            for (name, value) in names(route, self.path) {
                line.push_str(name, &value);
            }
        }
        for (name, value) in self.named {
            line.push_str(name, value);
        }
        line.push("status", self.status.as_str());
        line.close()
    }
}

/// The names in a path that matches a template.
pub fn names<'a>(route: &'a str, path: &'a str) -> impl Iterator<Item = (&'a str, String)> {
    let segments = route.split('/').zip(path.split('/'));
    segments.filter_map(|(template, segment)| {
        let name = template.strip_prefix('{')?.strip_suffix('}')?;
        Some((name, percent_decode_str(segment).decode_utf8_lossy().into_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_names_of_the_path() {
        let line = Line {
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
}
