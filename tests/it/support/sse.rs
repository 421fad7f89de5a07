//! A client of server-sent events (HTML standard, section 9.2). It accepts only what sessiond promises.

use std::collections::VecDeque;
use std::mem;

use reqwest::Response;
use serde_json::Value;
use tokio::time::timeout;

use super::client::{PATIENCE, Request};
use super::schema;

/// The parts of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Frame(Frame),
    /// Milliseconds.
    Retry(u64),
    Comment(String),
}

/// A dispatched event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub event: String,
    /// The id of this frame itself, not an earlier one.
    pub id: Option<String>,
    pub data: String,
}

impl Frame {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The cursor of a frame that has one.
    #[track_caller]
    pub fn cursor(&self) -> String {
        self.id.clone().unwrap_or_else(|| panic!("no id: {self:?}"))
    }
}

/// Parses parts from bytes, however they are split.
#[derive(Debug, Default)]
struct Parser {
    line: Vec<u8>,
    after_cr: bool,
    event: String,
    id: Option<String>,
    data: Option<String>,
    parts: VecDeque<Part>,
}

impl Parser {
    fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let after_cr = mem::replace(&mut self.after_cr, *byte == b'\r');
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => self.end_line(),
                _ => self.line.push(*byte),
            }
        }
    }

    fn end_line(&mut self) {
        let line = String::from_utf8(mem::take(&mut self.line)).expect("UTF-8");
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" => self.parts.push_back(Part::Comment(value.to_owned())),
            "retry" => self.parts.push_back(Part::Retry(value.parse().expect("digits"))),
            "event" => self.event = value.to_owned(),
            "id" => {
                assert!(!value.contains('\0') && self.id.is_none(), "{line:?}");
                self.id = Some(value.to_owned());
            }
            "data" => match &mut self.data {
                None => self.data = Some(value.to_owned()),
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
            },
            _ => panic!("a browser overlooks {line:?}"),
        }
    }

    fn dispatch(&mut self) {
        let (event, id) = (mem::take(&mut self.event), self.id.take());
        match self.data.take() {
            Some(data) => self.parts.push_back(Part::Frame(Frame { event, id, data })),
            None => {
                assert!(event.is_empty() && id.is_none(), "a browser overlooks {event:?} {id:?}, which has no data")
            }
        }
    }

    fn is_between_parts(&self) -> bool {
        self.line.is_empty() && self.event.is_empty() && self.id.is_none() && self.data.is_none()
    }
}

/// How a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The HTTP body ended properly.
    Whole,
    /// The connection was cut.
    Cut,
}

/// An open stream. Dropping it closes its connection.
#[derive(Debug)]
pub struct Watch {
    response: Response,
    parser: Parser,
}

impl Watch {
    /// Sends the request. Its answer must be a stream.
    pub async fn open(request: Request) -> Self {
        match Self::try_open(request).await {
            Ok(watch) => watch,
            Err(response) => panic!("{}: {:?}", response.status(), response.text().await),
        }
    }

    /// As [`Watch::open`]; an error is another answer.
    pub async fn try_open(request: Request) -> Result<Self, Response> {
        let response = timeout(PATIENCE, request.stream()).await.expect("an answer");
        if response.status() != 200 { Err(response) } else { Ok(Self::of(response)) }
    }

    /// The stream of an answer.
    pub fn of(response: Response) -> Self {
        let header = |name: &str| response.headers().get(name).map(|value| value.to_str().expect("ASCII").to_owned());
        // nginx keeps to itself what is told to it.
        let accel = header("server").is_none().then_some("no");
        for (name, value) in [
            ("content-type", Some("text/event-stream")),
            ("cache-control", Some("no-store, no-transform")),
            ("x-accel-buffering", accel),
            ("etag", None),
            ("content-encoding", None),
        ] {
            assert_eq!(header(name).as_deref(), value, "{name} of {response:?}");
        }
        assert!(header("x-request-id").is_some_and(|id| !id.is_empty()), "{response:?}");
        let content_type = header("content-type");
        schema::check_answer("GET", response.url().path(), 200, content_type.as_deref(), &header, b"");
        Self { response, parser: Parser::default() }
    }

    /// The next part, or how the stream ended.
    pub async fn part(&mut self) -> Result<Part, End> {
        loop {
            if let Some(part) = self.parser.parts.pop_front() {
                return Ok(part);
            }
            match timeout(PATIENCE, self.response.chunk()).await.expect("something, before long") {
                Ok(Some(bytes)) => self.parser.feed(&bytes),
                Ok(None) => {
                    assert!(self.parser.is_between_parts(), "it ends within a frame: {:?}", self.parser);
                    return Err(End::Whole);
                }
                Err(error) => {
                    assert!(!error.is_timeout(), "{error:?}");
                    return Err(End::Cut);
                }
            }
        }
    }

    /// The next frame.
    pub async fn frame(&mut self) -> Frame {
        loop {
            match self.part().await {
                Ok(Part::Frame(frame)) => {
                    let has_id = matches!(&*frame.event, "event" | "change" | "caught_up");
                    assert_eq!(frame.id.is_some(), has_id, "{frame:?}");
                    return frame;
                }
                Ok(Part::Comment(_)) => {}
                other => panic!("no frame, but {other:?}"),
            }
        }
    }

    /// The next frame, which must have this type.
    pub async fn expect(&mut self, event: &str) -> Frame {
        let frame = self.frame().await;
        assert_eq!(frame.event, event, "{frame:?}");
        frame
    }

    /// The frames up to the next `caught_up`, and that one.
    pub async fn caught_up(&mut self) -> (Vec<Frame>, Frame) {
        let mut before = Vec::new();
        loop {
            let frame = self.frame().await;
            if frame.event == "caught_up" {
                return (before, frame);
            }
            before.push(frame);
        }
    }

    /// Expects that the server gives this reason and ends the stream.
    pub async fn bye(self, reason: &str) {
        assert_eq!(self.until_bye(reason).await, []);
    }

    /// As [`Watch::bye`]; returns the frames before it.
    pub async fn until_bye(mut self, reason: &str) -> Vec<Frame> {
        let mut before = Vec::new();
        loop {
            match self.part().await {
                Ok(Part::Comment(_)) => {}
                Ok(Part::Frame(frame)) => before.push(frame),
                Ok(Part::Retry(pause)) => {
                    assert!((1000..=5000).contains(&pause), "{pause}");
                    break;
                }
                Err(end) => panic!("no `bye`, but {end:?}"),
            }
        }
        let bye = self.expect("bye").await;
        assert_eq!(bye.data, format!(r#"{{"reason":"{reason}"}}"#));
        self.end().await;
        before
    }

    /// Expects `deleted` and the end.
    pub async fn deleted(mut self, reason: &str) {
        let deleted = self.expect("deleted").await;
        assert_eq!(deleted.data, format!(r#"{{"reason":"{reason}"}}"#));
        self.end().await;
    }

    /// Expects the end with nothing before it.
    pub async fn end(mut self) {
        assert_eq!(self.part().await, Err(End::Whole));
    }
}

#[test]
fn parts_are_read_as_browsers_read_them() {
    let bytes = b": c\n\nretry: 10\n\nid: 1\nevent:e\ndata: a\ndata:  b\r\ndata\r\revent: f\rdata:\n\nevent: never\ndata: sent\n";
    let frame = |event: &str, id: Option<&str>, data: &str| {
        Part::Frame(Frame { event: event.to_owned(), id: id.map(str::to_owned), data: data.to_owned() })
    };
    let expected =
        [Part::Comment("c".to_owned()), Part::Retry(10), frame("e", Some("1"), "a\n b\n"), frame("f", None, "")];
    for size in 1..bytes.len() {
        let mut parser = Parser::default();
        bytes.chunks(size).for_each(|chunk| parser.feed(chunk));
        assert_eq!(parser.parts, expected);
        assert!(!parser.is_between_parts());
    }
}
