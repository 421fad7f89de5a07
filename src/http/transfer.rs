//! Exports and imports: sessions as lines of JSON (NDJSON), streamed both ways.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::Response;
use bytes::BytesMut;
use futures_util::stream;
use http_body_util::BodyExt as _;
use tokio::time::{Instant, timeout_at};

use super::answer::{Answer, wait_or_cut};
use super::app::App;
use super::describe::{Access, Body as DescribedBody, Kind, Operation, Param, Reply, Serving};
#[cfg(test)]
use super::problem::Code;
use super::problem::Problem;
use super::request::{Call, MediaType};
use super::wait::Watched;
use crate::allowance::Allowance;
use crate::domain::access::Role;
use crate::domain::ids::AppName;
use crate::domain::transfer::{Source, parse_cursor};
use crate::service::{Error, Export, Import, ImportOptions, ImportResult, Imported, OnConflict, Part};

pub const NDJSON: &str = "application/x-ndjson";

const TAG: &str = "Export and import";

/// The longest line that is read: the state of a session is one.
const LONGEST_LINE: usize = 64 << 20;

const AFTER: Param = Param {
    name: "after",
    kind: Kind::Text,
    about: "Go on behind the session with this `cursor`, of an export at this path that was cut.",
};

const EXPORTED: &[Reply] = &[Reply {
    status: StatusCode::OK,
    about: "The lines. Without the last one, of the type `end`, it was cut.",
    schema: Some("ExportLines"),
    headers: &[],
}];

const ABOUT: &str = "Lines of JSON: `export`, then the state of the app and of its users where it is part of it, then each \
                     session from `session` to `session.end`, and `end`. Each session is of one moment; `sha256` is that of \
                     its lines. What is not there, or outside of the grant, is an export of no sessions.";

macro_rules! export {
    ($operation:ident, $handler:ident, $id:literal, $summary:literal, $source:expr) => {
        pub const $operation: Operation = Operation {
            id: $id,
            tag: TAG,
            serving: Serving::NATIVE,
            access: Access::Read(Role::Operator),
            summary: $summary,
            description: ABOUT,
            query: &[AFTER],
            headers: &[],
            body: None,
            answers: EXPORTED,
            errors: &[],
        };

        pub async fn $handler(call: Call) -> Result<Response, Problem> {
            let source: fn(&Call) -> Result<Source, Problem> = $source;
            export(source(&call)?, call)
        }
    };
}

export!(EXPORT_SESSION, export_session, "exportSession", "Export a session", |call| Ok(Source::Session(
    call.session()?
)));
export!(EXPORT_USER, export_user, "exportUser", "Export a user's sessions and state", |call| Ok(Source::User(
    call.user()?
)));
export!(EXPORT_APP, export_app, "exportApp", "Export an app", |call| Ok(Source::App(call.app_name()?)));

fn export(source: Source, mut call: Call) -> Result<Response, Problem> {
    let query = call.take_query();
    let after = query.text(&AFTER).map(|text| parse_cursor(&source, text)).transpose();
    let after = after.map_err(|why| Problem::field(AFTER.name, why))?;
    let answer = Answer::ok().header(header::CONTENT_TYPE, NDJSON);
    if call.is_head {
        return Ok(answer.empty());
    }
    let export = call.service.export(source, after)?;
    let limit = call.app.settings.request_timeout;
    let begun = (export, Watched::new(&call));
    Ok(answer.body(Body::from_stream(stream::try_unfold(begun, move |(export, client)| lines(export, client, limit)))))
}

/// The next lines of an export, each read within this time, as long as the client may have them.
async fn lines(
    mut export: Export,
    mut client: Watched,
    limit: Duration,
) -> io::Result<Option<(String, (Export, Watched))>> {
    let mut deadline = Instant::now() + limit;
    loop {
        client.still_must().await?;
        match export.next(deadline).await {
            Ok(Some(lines)) if lines.is_empty() => deadline = Instant::now() + limit,
            Ok(lines) => return Ok(lines.map(|lines| (lines, (export, client)))),
            Err(error) => wait_or_cut(&error, deadline).await?,
        }
    }
}

const ON_CONFLICT: Param = Param {
    name: "onConflict",
    kind: Kind::OneOf(&["fail", "skip"]),
    about: "What becomes of a session of which there is another one: `failed` (default) or `skipped`. It is left as it is.",
};
const APP_NAME: Param = Param { name: "appName", kind: Kind::Text, about: "The name that the app gets here." };
const DRY_RUN: Param = Param { name: "dryRun", kind: Kind::Boolean, about: "Judge every line, and write nothing." };

pub const IMPORT: Operation = Operation {
    id: "importSessions",
    tag: TAG,
    serving: Serving::NATIVE,
    access: Access::Write(Role::Operator),
    summary: "Import sessions",
    description: "Takes the lines of an export, and answers a line for each session as it ends: `created`, `unchanged` (this very \
                  session is there, also if it went on since), `skipped` or `failed`, with `code` and `detail`; the last line \
                  counts what was created. A session is there only when its `session.end` was read, its digest fits, and its \
                  events come to its state. Shared state is taken only where there is none; what is not there afterwards has a \
                  line, too. The body has no limit and the request no time; a line has the limits of an event. The same lines \
                  again change nothing.",
    query: &[ON_CONFLICT, APP_NAME, DRY_RUN],
    headers: &[],
    body: Some(DescribedBody { schema: "ImportLines", required: true }),
    answers: &[Reply {
        status: StatusCode::OK,
        about: "A line for each session, and for shared state that was not taken. Without the last one it was cut.",
        schema: Some("ImportedLines"),
        headers: &[],
    }],
    errors: &[],
};

pub async fn import(mut call: Call) -> Result<Response, Problem> {
    let query = call.take_query();
    let app = query.text(&APP_NAME).map(AppName::parse).transpose();
    let options = ImportOptions {
        on_conflict: if query.text(&ON_CONFLICT) == Some("skip") { OnConflict::Skip } else { OnConflict::Fail },
        app: app.map_err(|why| Problem::field(APP_NAME.name, why))?,
        dry_run: query.boolean(&DRY_RUN),
    };
    let body = call.body_of(MediaType::Ndjson)?;
    let settings = &call.app.settings;
    let import = call.service.import(options, call.client.grant.clone(), settings.request_timeout)?;
    let reader = Reader {
        allowance: Allowance::new(settings.body_stall_timeout, settings.min_rate),
        app: call.app.clone(),
        body: Some(body),
        buffer: BytesMut::new(),
        is_over: false,
    };
    let answer = Answer::ok().header(header::CONTENT_TYPE, NDJSON);
    let steps = Steps { client: Watched::new(&call), reader, import, is_over: false };
    Ok(answer.body(Body::from_stream(stream::try_unfold(steps, Steps::next))))
}

/// An import, as lines come and are answered.
struct Steps {
    client: Watched,
    reader: Reader,
    import: Import,
    is_over: bool,
}

impl Steps {
    async fn next(mut self) -> io::Result<Option<(String, Self)>> {
        if self.is_over {
            return Ok(None);
        }
        let mut out = String::new();
        while out.is_empty() {
            let read = self.client.during(self.reader.line()).await??;
            self.import.set_grant(self.client.grant());
            let results = match read {
                Read::Line(line) => self.import.line(&line).await.map_err(cut)?,
                Read::TooLong => self.import.too_long().await.map_err(cut)?.into_iter().collect(),
                Read::End => {
                    self.is_over = true;
                    let mut results: Vec<Imported> = self.import.finish().await.map_err(cut)?.into_iter().collect();
                    if results.is_empty() && !self.import.is_whole() {
                        let detail = "the last line, `end`, is missing: the lines were cut".to_owned();
                        let result = ImportResult::Failed { code: "invalid_argument", detail };
                        results.push(Imported { of: Part::Unread, result });
                    }
                    results
                }
            };
            out.extend(results.iter().map(Imported::to_line));
            if self.is_over {
                let (sessions, events) = self.import.counts();
                out.push_str(&format!("{{\"sessions\":{sessions},\"events\":{events}}}\n"));
            }
        }
        Ok(Some((out, self)))
    }
}

/// The database failed: it is too late for an error document.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn cut(error: Error) -> io::Error {
    tracing::warn!(%error, "an import was cut");
    io::Error::other("cut")
}

enum Read {
    Line(Vec<u8>),
    TooLong,
    End,
}

/// The lines of a body.
struct Reader {
    app: Arc<App>,
    allowance: Allowance,
    body: Option<Body>,
    buffer: BytesMut,
    /// The line that comes is too long, and read over.
    is_over: bool,
}

impl Reader {
    /// # Errors
    /// The body comes too slowly, or is cut.
    async fn line(&mut self) -> io::Result<Read> {
        let mut searched = 0;
        loop {
            if let Some(at) = self.buffer[searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(searched + at + 1);
                let is_over = std::mem::replace(&mut self.is_over, false);
                return Ok(if is_over { Read::TooLong } else { Read::Line(line[..line.len() - 1].to_vec()) });
            }
            searched = self.buffer.len();
            if searched > LONGEST_LINE {
                self.is_over = true;
                self.buffer.clear();
                searched = 0;
            }
            let Some(body) = &mut self.body else {
                return Ok(match self.buffer.is_empty() {
                    true if self.is_over => {
                        self.is_over = false;
                        Read::TooLong
                    }
                    true => Read::End,
                    false => Read::Line(self.buffer.split().to_vec()),
                });
            };
            let begun = Instant::now();
            match timeout_at(begun + self.allowance.left(), body.frame()).await {
                Err(_) => {
                    self.app.metrics.rejected("body");
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "the body arrives too slowly"));
                }
                Ok(None) => self.body = None,
                Ok(Some(Err(_))) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the body was cut")),
                Ok(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        self.allowance.settle(begun.elapsed(), data.len());
                        self.buffer.extend_from_slice(&data);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_a_code_of_the_table() {
        for code in
            ["invalid_argument", "invalid_json", "payload_too_large", "permission_denied", "session_already_exists"]
        {
            assert!(Code::ALL.iter().any(|known| known.entry().0 == code), "{code}");
        }
    }
}
