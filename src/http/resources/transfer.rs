//! Exports and imports: sessions as lines of JSON (NDJSON), streamed both ways.

use std::sync::Arc;
use std::time::Duration;
use std::{io, mem};

use axum::body::Body;
use axum::http::header;
use bytes::BytesMut;
use futures_util::stream;
use memchr::{memchr, memmem};
use tokio::runtime::Handle;
use tokio::task::block_in_place;
use tokio::time::{Instant, sleep, timeout};

use crate::domain::access::Role;
use crate::domain::ids::AppName;
use crate::domain::transfer::{ExportSource, Fault, LONGEST_DATA, Totals, parse_cursor};
use crate::http::app::App;
use crate::http::call::{Broken, Call, Incoming, MediaType};
use crate::http::describe::{Access, Kind, Operation, Param};
use crate::http::limits::memory::Claim;
use crate::http::limits::rates::Payers;
use crate::http::limits::shares::Share;
use crate::http::live::watched::{Watched, wait_or_cut};
use crate::http::reply::{Answer, Problem};
use crate::service::{Error, Export, Import, ImportOptions, ImportResult, Imported, ImportedPart, OnConflict, Unread};

/// The longest line of one of these types: the state of a session or a scope has no limit of its own. Any other line
/// contains an event, which is at most twice as long if it is written as a string.
const LONGEST_STATE: usize = 64 << 20;
const STATES: [&str; 6] =
    [r#""session""#, r#""session.end""#, r#""user.state""#, r#""app.state""#, r#""user.change""#, r#""app.change""#];

/// The type of the lines that have bytes of artifacts.
const DATA: &str = r#""artifact.data""#;

/// Bytes of a line besides its event, or the bytes of an artifact.
const SLACK: usize = 64 << 10;

/// A longer line is processed on a blocking thread.
const LARGE_LINE: usize = 1 << 20;

/// Bytes of lines that an import holds before it begins its answer: those of some 40,000 sessions.
const LONGEST_HELD: usize = 4 << 20;

/// A client that has sent nothing for so long may wait for lines of the answer.
const PAUSE: Duration = Duration::from_secs(2);

/// Memory that a member of an object takes, besides its text.
const MEMBER_BYTES: usize = 200;

const AFTER: Param = Param::new("after", Kind::Text);
const ARTIFACTS: Param = Param::new("artifacts", Kind::OneOf(&["all", "none"]));

pub const EXPORT_SESSION: Operation =
    Operation::of("exportSession", Access::Read(Role::Operator)).query(&[AFTER, ARTIFACTS]);

pub const EXPORT_USER: Operation = Operation { id: "exportUser", ..EXPORT_SESSION };

pub const EXPORT_APP: Operation = Operation { id: "exportApp", ..EXPORT_SESSION };

pub async fn export(mut call: Call) -> Result<Answer, Problem> {
    let source = match (call.names.session(), call.names.user()) {
        (Ok(session), _) => ExportSource::Session(session),
        (Err(_), Ok(user)) => ExportSource::User(user),
        (Err(_), Err(_)) => ExportSource::App(call.names.app()?),
    };
    let query = call.take_query();
    let after = query.parsed(&AFTER, |text| parse_cursor(&source, text))?;
    let has_artifacts = query.text(&ARTIFACTS) != Some("none");
    if let ExportSource::Session(session) = &source {
        call.service.head(session, call.deadline).await?;
    }
    let answer = Answer::ok().header(header::CONTENT_TYPE, MediaType::Ndjson.as_str());
    if call.is_head {
        return Ok(answer);
    }
    let place = call.app.places.transfer(call.sharer())?;
    let begun = (call.service.export(source, after, has_artifacts), Watched::new(&call), place);
    let lines = stream::try_unfold(begun, async move |(mut export, mut client, place)| {
        let lines = lines(&mut export, &mut client).await?;
        Ok::<_, io::Error>(lines.map(|lines| (lines, (export, client, place))))
    });
    Ok(answer.body(Body::from_stream(lines)))
}

/// The next lines of an export. Each must be read within the time limit, and while the client has access.
async fn lines(export: &mut Export, client: &mut Watched) -> io::Result<Option<String>> {
    let mut deadline = client.next_part().await?;
    loop {
        match export.next(deadline).await {
            Ok(Some(lines)) if lines.is_empty() => deadline = client.next_part().await?,
            Ok(lines) => return Ok(lines),
            Err(error) => {
                wait_or_cut(&error, deadline).await?;
                client.still_must().await?;
            }
        }
    }
}

const ON_CONFLICT: Param = Param::new("onConflict", Kind::OneOf(&["fail", "skip"]));
const APP_NAME: Param = Param::new("appName", Kind::Text);
const DRY_RUN: Param = Param::new("dryRun", Kind::Boolean);

pub const IMPORT: Operation =
    Operation::of("importSessions", Access::Write(Role::Operator)).query(&[ON_CONFLICT, APP_NAME, DRY_RUN]);

pub async fn import(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let options = ImportOptions {
        on_conflict: if query.text(&ON_CONFLICT) == Some("skip") { OnConflict::Skip } else { OnConflict::Fail },
        app: query.parsed(&APP_NAME, AppName::parse)?,
        dry_run: query.boolean(&DRY_RUN),
    };
    let body = call.incoming(Some(MediaType::Ndjson))?;
    let settings = &call.app.settings;
    let place = call.app.places.transfer(call.sharer())?;
    let import = call.writer()?.import(options, call.client.grant.clone(), settings.request_timeout);
    let reader = LineReader {
        app: call.app.clone(),
        body: Some(body),
        buffer: BytesMut::new(),
        memory: call.app.memory.claim(),
        kept: 0,
        longest: 2 * call.service.limits().event_bytes + SLACK,
        unread: None,
        pause: Some(PAUSE),
    };
    let answer = Answer::ok().header(header::CONTENT_TYPE, MediaType::Ndjson.as_str());
    let key = call.paying_key().map(str::to_owned);
    let client = Watched::new(&call);
    let held = String::new();
    let mut steps = Steps { client, reader, import, key, held, failed: None, is_over: false, _place: place };
    steps.hold().await;
    Ok(answer.body(Body::from_stream(stream::try_unfold(steps, Steps::next))))
}

/// An import in progress: it reads lines and answers each.
struct Steps {
    client: Watched,
    reader: LineReader,
    import: Import,
    /// The key that is charged for what is stored.
    key: Option<String>,
    /// Lines of the answer, before it begins.
    held: String,
    /// What ends the answer behind these lines.
    failed: Option<io::Error>,
    is_over: bool,
    _place: Share,
}

impl Steps {
    /// Holds the lines of the answer until the body has ended: once an answer has begun, nginx and other proxies send no more of the
    /// request, and many clients read nothing before they have sent all. The answer begins earlier if the client pauses, or if it
    /// becomes too long to hold.
    async fn hold(&mut self) {
        while self.reader.pause.is_some() && self.held.len() < LONGEST_HELD && !self.is_over {
            match self.step().await {
                Ok(lines) => self.held += &lines,
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        self.reader.pause = None;
    }

    async fn next(mut self) -> io::Result<Option<(String, Self)>> {
        let mut lines = mem::take(&mut self.held);
        while lines.is_empty() && !self.is_over {
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            lines = self.step().await?;
        }
        Ok((!lines.is_empty()).then_some((lines, self)))
    }

    /// Reads a line, and answers what it brought to an end.
    async fn step(&mut self) -> io::Result<String> {
        self.pay().await?;
        let read = self.client.during(self.reader.line()).await??;
        self.import.set_grant(self.client.grant());
        let results = match read {
            Read::Line(line) => self.take(&line).await.map_err(cut)?,
            Read::Unread(why) => self.import.unread(why).await.map_err(cut)?,
            Read::Pause => {
                self.reader.pause = None;
                Vec::new()
            }
            Read::End => {
                self.is_over = true;
                let mut results = self.import.finish().await.map_err(cut)?;
                if results.is_empty() && !self.import.is_whole() {
                    let fault = Fault::invalid("the last line, `end`, is missing: the lines were cut");
                    results.push(Imported { of: ImportedPart::Unread, result: ImportResult::Failed(fault) });
                }
                results
            }
        };
        let mut lines: String = results.iter().map(Imported::to_line).collect();
        if self.is_over {
            let Totals { sessions, events, artifacts } = self.import.created();
            let artifacts = match artifacts {
                0 => String::new(),
                versions => format!(",\"artifacts\":{versions}"),
            };
            lines.push_str(&format!("{{\"sessions\":{sessions},\"events\":{events}{artifacts}}}\n"));
        }
        Ok(lines)
    }

    /// Charges what was stored, before the next line is read: lines are read only as fast as the rates of the app, the
    /// user and the client's key allow.
    async fn pay(&mut self) -> io::Result<()> {
        let Some((user, cost)) = self.import.take_stored() else { return Ok(()) };
        let rates = &self.reader.app.rates;
        let payers = Payers { app: Some(&user.app), key: self.key.as_deref(), user: Some(&user) };
        rates.owe(payers, cost, Instant::now());
        while let Err(limited) = rates.peek(payers, Instant::now()) {
            self.client.during(sleep(limited.retry_after)).await?;
        }
        Ok(())
    }

    async fn take(&mut self, line: &[u8]) -> Result<Vec<Imported>, Error> {
        let mut results = match line.len() {
            0..LARGE_LINE => self.import.line(line).await?,
            _ => block_in_place(|| Handle::current().block_on(self.import.line(line)))?,
        };
        if !self.reader.keep(self.import.memory() + self.held.len()) {
            results.extend(self.import.unread(Unread::NoRoom).await?);
        }
        Ok(results)
    }
}

/// The database failed. It is too late for an error document.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn cut(error: Error) -> io::Error {
    tracing::warn!(%error, "an import was cut");
    io::Error::other("cut")
}

enum Read {
    Line(BytesMut),
    Unread(Unread),
    /// Nothing comes, and the answer has not begun.
    Pause,
    End,
}

/// How long a line of this type may be that is longer than any event.
fn longest(line: &[u8]) -> usize {
    let mut rest = line;
    // A program that rewrites lines may add white space between tokens.
    let begins = [&b"{"[..], br#""type""#, b":"].into_iter().all(|token| {
        let found = rest.trim_ascii_start().strip_prefix(token);
        rest = found.unwrap_or(rest);
        found.is_some()
    });
    let is_of = |kind: &str| begins && rest.trim_ascii_start().starts_with(kind.as_bytes());
    if STATES.into_iter().any(is_of) {
        LONGEST_STATE
    } else if is_of(DATA) {
        LONGEST_DATA + SLACK
    } else {
        0
    }
}

/// The lines of a body.
struct LineReader {
    app: Arc<App>,
    /// Until its end.
    body: Option<Incoming>,
    buffer: BytesMut,
    /// For the buffer, the line in work, and the data that the import keeps.
    memory: Claim,
    kept: usize,
    /// The longest line without state or bytes.
    longest: usize,
    /// Why the current line is skipped.
    unread: Option<Unread>,
    /// How long to wait for more of the body before [`Read::Pause`].
    pause: Option<Duration>,
}

impl LineReader {
    /// Sets how much the import keeps. `false` if there is not enough memory.
    fn keep(&mut self, bytes: usize) -> bool {
        self.kept = bytes;
        self.memory.set(bytes + self.buffer.len())
    }

    /// Whether there is memory to process a line: its content is copied, and each member of an object takes more.
    fn has_room_for(&mut self, line: &[u8]) -> bool {
        let members = memmem::find_iter(line, br#"":"#).count();
        self.memory.set(self.kept + self.buffer.len() + 2 * line.len() + MEMBER_BYTES * members)
    }

    fn is_too_long(&self, line: &[u8]) -> bool {
        line.len() > self.longest && (line.len() > LONGEST_STATE || line.len() > longest(line))
    }

    /// Why the current line must be skipped, if it must.
    fn is_unread(&mut self) -> Option<Unread> {
        if self.is_too_long(&self.buffer) {
            self.unread = Some(Unread::TooLong);
        } else if !self.memory.set(self.kept + self.buffer.len()) {
            self.unread = Some(Unread::NoRoom);
        }
        self.unread
    }

    fn whole(&mut self, line: BytesMut) -> Read {
        match self.unread.take() {
            Some(why) => Read::Unread(why),
            None if self.is_too_long(&line) => Read::Unread(Unread::TooLong),
            None if !self.has_room_for(&line) => Read::Unread(Unread::NoRoom),
            None => Read::Line(line),
        }
    }

    /// # Errors
    /// The body arrives too slowly, or is cut.
    async fn line(&mut self) -> io::Result<Read> {
        let mut searched = 0;
        loop {
            if let Some(at) = memchr(b'\n', &self.buffer[searched..]) {
                let mut line = self.buffer.split_to(searched + at + 1);
                line.truncate(line.len() - 1);
                return Ok(self.whole(line));
            }
            if self.is_unread().is_some() {
                self.buffer = BytesMut::new();
            }
            searched = self.buffer.len();
            let Some(body) = &mut self.body else {
                if self.buffer.is_empty() && self.unread.is_none() {
                    return Ok(Read::End);
                }
                let line = self.buffer.split();
                return Ok(self.whole(line));
            };
            let next = match self.pause {
                None => body.next().await,
                Some(pause) => match timeout(pause, body.next()).await {
                    Ok(next) => next,
                    Err(_) => return Ok(Read::Pause),
                },
            };
            match next {
                Ok(Some(data)) => self.buffer.extend_from_slice(&data),
                Ok(None) => self.body = None,
                Err(Broken::TooSlow) => {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "the body arrives too slowly"));
                }
                Err(Broken::Cut) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the body was cut")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::http::reply::Code;

    #[test]
    fn a_failure_has_a_code_of_the_table() {
        for code in [
            "invalid_argument",
            "artifact_version_exists",
            "invalid_json",
            "limit_reached",
            "overloaded",
            "payload_too_large",
            "permission_denied",
            "session_already_exists",
        ] {
            assert!(Code::ALL.iter().any(|known| known.entry().0 == code), "{code}");
        }
    }
}
