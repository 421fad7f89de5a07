//! Finds request heads with both `Content-Length` and `Transfer-Encoding`.
//!
//! Two lengths for one message are how requests are smuggled past a proxy that believes the other one; RFC 9112 section
//! 6.1 allows to refuse them. hyper 1.12 drops the `Content-Length` and serves the request, and nothing that it hands over
//! tells (`Server::parse` in its `h1/role.rs`). So the bytes are followed as they come in, beside hyper's own parser:
//! through heads, and through bodies so far as to know where the next head begins.
//!
//! Only what hyper takes for valid matters. Anything else it answers 400 by itself and closes the connection, and what is
//! found here about it is never asked for.

/// Follows the requests of one connection. Keeps one line at most; hyper stops reading a head that is too long.
#[derive(Debug, Default)]
pub(super) struct Framing {
    at: At,
    /// The part of the current line that has come in.
    line: Vec<u8>,
    /// Heads that are complete.
    heads: u64,
    head: Head,
}

#[derive(Debug, Default, Clone, Copy)]
enum At {
    /// In a head, or before it.
    #[default]
    Head,
    /// This many bytes before the end of a body of known length.
    Body(u64),
    ChunkSize,
    /// This many bytes before the end of the line break behind a chunk.
    Chunk(u64),
    Trailers,
    /// Nothing that follows is served.
    End,
}

/// What the lines of a head have said so far.
#[derive(Debug, Default)]
struct Head {
    has_request_line: bool,
    length: Option<u64>,
    has_transfer_encoding: bool,
}

impl Framing {
    /// Takes the bytes that came in next. Returns the number of the head, counted from 1, that has two lengths; there is
    /// one at most, because the connection ends with it.
    pub fn read(&mut self, mut bytes: &[u8]) -> Option<u64> {
        while !bytes.is_empty() {
            match &mut self.at {
                At::End => return None,
                At::Body(left) | At::Chunk(left) => {
                    let taken = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
                    bytes = &bytes[taken..];
                    *left -= taken as u64;
                    match self.at {
                        At::Body(0) => self.at = At::Head,
                        At::Chunk(0) => self.at = At::ChunkSize,
                        _ => {}
                    }
                }
                At::Head | At::ChunkSize | At::Trailers => {
                    let end = bytes.iter().position(|byte| *byte == b'\n');
                    let (part, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
                    bytes = rest;
                    self.line.extend_from_slice(part);
                    if end.is_some() && self.end_of_line() {
                        return Some(self.heads);
                    }
                }
            }
        }
        None
    }

    /// Whether all that came in are whole requests.
    pub fn is_whole(&self) -> bool {
        matches!(self.at, At::Head) && self.line.is_empty() && !self.head.has_request_line
    }

    /// Whether it was the last line of a head with two lengths.
    fn end_of_line(&mut self) -> bool {
        let line = self.line.trim_ascii_end();
        match self.at {
            At::ChunkSize => {
                let digits = line.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(line.len());
                let size = str::from_utf8(&line[..digits]).ok().and_then(|digits| u64::from_str_radix(digits, 16).ok());
                self.at = match size {
                    Some(0) => At::Trailers,
                    Some(size) => At::Chunk(size.saturating_add(2)),
                    None => At::End,
                };
            }
            // As hyper reads them, a line feed alone ends no line of trailers.
            At::Trailers if !self.line.ends_with(b"\r\n") => return false,
            At::Trailers => {
                if line.is_empty() {
                    self.at = At::Head;
                }
            }
            At::Head if !line.is_empty() => self.head.take(line),
            // Empty lines before a head count for nothing.
            At::Head if self.head.has_request_line => {
                self.heads += 1;
                let head = std::mem::take(&mut self.head);
                let length = head.length.filter(|length| *length > 0);
                self.at = match (head.has_transfer_encoding, head.length) {
                    (true, Some(_)) => At::End,
                    (true, None) => At::ChunkSize,
                    (false, _) => length.map_or(At::Head, At::Body),
                };
                self.line.clear();
                return matches!(self.at, At::End);
            }
            At::Head | At::Body(_) | At::Chunk(_) | At::End => {}
        }
        self.line.clear();
        false
    }
}

impl Head {
    fn take(&mut self, line: &[u8]) {
        if !self.has_request_line {
            self.has_request_line = true;
            return;
        }
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { return };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            // What is no number, or another number than before, hyper refuses.
            self.length = Some(str::from_utf8(value).ok().and_then(|value| value.parse().ok()).unwrap_or(0));
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.has_transfer_encoding = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    /// Requests without fault, whose bodies look like heads with one.
    const FINE: &[&str] = &[
        "GET / HTTP/1.1\r\nhost: a\r\n\r\n",
        "\r\n\nGET / HTTP/1.1\nhost: a\n\n",
        "POST / HTTP/1.1\r\nContent-Length:  0 \r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length: 58\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding:\r\n\r\n",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\nx-content-length: 1\r\n\r\n\
         3;a=\"content-length: 3\"\r\n\r\n\r\r\n00A \r\n0\r\n\r\n0\r\n\r\n\r\n0\r\nA: content-length: 1\r\nB: c\n\r\n\r\n",
        "POST / HTTP/1.1\r\nx: content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    ];

    fn split(text: &str, at: usize) -> Option<u64> {
        let mut framing = Framing::default();
        text.as_bytes().chunks(at).find_map(|part| framing.read(part))
    }

    #[test]
    fn a_head_with_two_lengths_is_found_wherever_it_comes_and_however_it_is_cut() {
        let fine = FINE.concat();
        let other_way = TWO.replace(
            "content-length: 3\r\ntransfer-encoding: chunked",
            "TRANSFER-encoding:chunked\r\nContent-LENGTH:3",
        );
        for two in [TWO, &other_way, &TWO.replace("\r\n", "\n")] {
            for (before, number) in [("", 1), (FINE[0], 2), (&fine, FINE.len() as u64 + 1)] {
                let text = format!("{before}{two}{TWO}");
                for at in 1..=text.len() {
                    assert_eq!(split(&text, at), Some(number), "{text:?} in parts of {at}");
                }
            }
        }
    }

    #[test]
    fn what_has_one_length_is_left_alone() {
        let fine = FINE.concat();
        for at in 1..=fine.len() {
            assert_eq!(split(&format!("{fine}{fine}"), at), None, "in parts of {at}");
        }
    }

    #[test]
    fn behind_what_is_not_http_nothing_is_looked_at() {
        let bad = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nx\r\n";
        for length in ["99999999999999999999", "-1", "x", ""] {
            assert_eq!(split(&format!("POST / HTTP/1.1\r\ncontent-length: {length}\r\n\r\n"), 1), None);
        }
        assert_eq!(split(&format!("{bad}{TWO}"), 7), None);
    }
}
