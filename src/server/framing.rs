//! Finds request heads with both `Content-Length` and `Transfer-Encoding`.
//!
//! Two lengths for one message allow request smuggling past a proxy that believes the other one; RFC 9112 section 6.1
//! allows to refuse them. hyper 1.12 drops the `Content-Length`, serves the request, and does not report it
//! (`Server::parse` in its `h1/role.rs`). So this parser follows the incoming bytes beside hyper's: through heads, and
//! through bodies only to find the next head.
//!
//! It must be right only for requests that hyper accepts. hyper answers anything else with 400 and closes the
//! connection, and then this parser's result is not used.

/// Follows the requests of one connection. Buffers at most one line; hyper stops reading a head that is too long.
#[derive(Debug, Default)]
pub(super) struct Framing {
    at: At,
    /// The current line, as far as it has arrived.
    line: Vec<u8>,
    /// Complete heads so far.
    heads: u64,
    head: Head,
}

#[derive(Debug, Default, Clone, Copy)]
enum At {
    /// In a head or before it.
    #[default]
    Head,
    /// In a body of known length, with this many bytes left.
    Body(u64),
    ChunkSize,
    /// In a chunk, with this many bytes left, including its line break.
    Chunk(u64),
    Trailers,
    /// No further request is served.
    End,
}

/// The lines of a head so far.
#[derive(Debug, Default)]
struct Head {
    has_request_line: bool,
    length: Option<u64>,
    has_transfer_encoding: bool,
}

impl Framing {
    /// Processes the next bytes. Returns the number of the head, counted from 1, that has two lengths. There is at most
    /// one, because the connection ends with it.
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

    /// Whether everything that arrived consists of complete requests.
    pub fn is_whole(&self) -> bool {
        matches!(self.at, At::Head) && self.line.is_empty() && !self.head.has_request_line
    }

    /// Whether this was the last line of a head with two lengths.
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
            // As in hyper, a line feed alone does not end a line of trailers.
            At::Trailers if !self.line.ends_with(b"\r\n") => return false,
            At::Trailers => {
                if line.is_empty() {
                    self.at = At::Head;
                }
            }
            At::Head if !line.is_empty() => self.head.take(line),
            // Empty lines before a head are ignored.
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
            // hyper refuses a value that is not a number, or not the same number as before.
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
    /// Valid requests whose bodies look like heads with two lengths.
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
