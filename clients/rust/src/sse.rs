//! Server-sent events, as the HTML standard has them (section 9.2.6, "Interpreting an event stream").

use std::time::Duration;

/// An event of the stream.
#[derive(Debug, PartialEq, Default)]
pub(crate) struct Frame {
    /// Its `event:`.
    pub name: String,
    /// Its lines of `data:`, joined by line feeds.
    pub data: String,
    /// The last `id:` of the stream: its own, else that of an earlier frame.
    pub id: String,
}

/// Reads one stream, in chunks that may be cut anywhere, also within a character or a line's end.
///
/// What comes after the last end of a frame is no frame: the stream was cut there.
#[derive(Default)]
pub(crate) struct Parser {
    /// The last `retry:` of the stream.
    pub retry: Option<Duration>,
    after_cr: bool,
    line: Vec<u8>,
    /// The frame that has not ended.
    frame: Frame,
    has_data: bool,
}

impl Parser {
    /// The frames that end within this chunk.
    pub fn feed(&mut self, chunk: &[u8]) -> Vec<Frame> {
        let mut frames = Vec::new();
        let mut rest = chunk;
        if let Some((b'\n', behind)) = rest.split_first()
            && self.after_cr
        {
            rest = behind;
        }
        if !chunk.is_empty() {
            self.after_cr = false;
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.line.extend_from_slice(&rest[..end]);
            let is_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            match rest.split_first() {
                Some((b'\n', behind)) if is_cr => rest = behind,
                // The line feed of this line's end may come with the next chunk.
                None => self.after_cr = is_cr,
                _ => {}
            }
            let line = std::mem::take(&mut self.line);
            frames.extend(self.take(&String::from_utf8_lossy(&line)));
        }
        self.line.extend_from_slice(rest);
        frames
    }

    fn take(&mut self, line: &str) -> Option<Frame> {
        if line.is_empty() {
            let id = self.frame.id.clone();
            let frame = std::mem::replace(&mut self.frame, Frame { id, ..Frame::default() });
            return std::mem::take(&mut self.has_data).then_some(frame);
        }
        // A line that begins with a colon is a comment: it has the field ``, which means nothing.
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.frame.data.push('\n');
                }
                self.frame.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.frame.name),
            "id" if !value.contains('\0') => value.clone_into(&mut self.frame.id),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                // More than a day means nothing to somebody who waits.
                self.retry = value.parse().ok().map(|millis: u64| Duration::from_millis(millis.min(86_400_000)));
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "retry: 1500\r\n: hi\n\nevent: event\nid: 1-a\ndata: {\"é\":\rdata: 1}\n\r\nevent:caught_up\ndata:{}\n\n\
                          event: bye\n\ndata: cut";

    #[test]
    fn chunks_may_be_cut_anywhere() {
        let frame = |name: &str, data: &str| Frame { name: name.into(), data: data.into(), id: "1-a".into() };
        let expected = [frame("event", "{\"é\":\n1}"), frame("caught_up", "{}")];
        for size in 1..STREAM.len() {
            let mut parser = Parser::default();
            let frames: Vec<_> = STREAM.as_bytes().chunks(size).flat_map(|chunk| parser.feed(chunk)).collect();
            assert_eq!(frames, expected, "in chunks of {size}");
            assert_eq!(parser.retry, Some(Duration::from_millis(1500)));
        }
    }
}
