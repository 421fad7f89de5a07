//! Reads responses of HTTP/1.1, one at a time, out of one buffer that is never cleared nor grown. Bodies go by in
//! pieces: most of them interest nobody, and a long one is never held.

use std::{fmt, ops::Range};

/// A head must fit in, and so must the line before a chunk.
const CAPACITY: usize = 64 * 1024;

/// What came instead of a response.
#[derive(Debug, PartialEq)]
pub struct Malformed(&'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The end of a response.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Head {
    pub status: u16,
    /// The server closes the connection after this response.
    pub close: bool,
}

/// What the next bytes are.
#[derive(Debug, Clone, Copy)]
enum Next {
    Head,
    Body { left: u64 },
    ChunkSize,
    Chunk { left: u64 },
    ChunkEnd,
    Trailer,
}

/// Bytes go in through [`Reader::space`] and [`Reader::filled`], responses come out of [`Reader::advance`].
pub struct Reader {
    buffer: Box<[u8]>,
    unread: Range<usize>,
    next: Next,
    head: Head,
}

impl Default for Reader {
    fn default() -> Self {
        let head = Head { status: 0, close: false };
        Self { buffer: vec![0; CAPACITY].into(), unread: 0..0, next: Next::Head, head }
    }
}

impl Reader {
    /// Where to put what is read from the connection. Never empty after [`Reader::advance`] has returned `None`.
    pub fn space(&mut self) -> &mut [u8] {
        if self.unread.is_empty() {
            self.unread = 0..0;
        } else if self.unread.end == CAPACITY {
            self.buffer.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
        &mut self.buffer[self.unread.end..]
    }

    /// So many bytes are in [`Reader::space`] now.
    pub fn filled(&mut self, count: usize) {
        self.unread.end += count;
    }

    /// Takes what is there, shows each piece of the body to `body`, and returns the head once the response is
    /// complete; `None` asks for more bytes.
    pub fn advance(&mut self, mut body: impl FnMut(&[u8])) -> Result<Option<Head>, Malformed> {
        loop {
            let bytes = &self.buffer[self.unread.clone()];
            let (taken, next) = match self.next {
                Next::Head => match parse_head(bytes)? {
                    Some((taken, head, next)) => {
                        self.head = head;
                        (taken, next)
                    }
                    None => return self.starved(),
                },
                Next::Body { left: 0 } => return self.complete(),
                Next::Body { left } | Next::Chunk { left } if bytes.is_empty() && left > 0 => return Ok(None),
                Next::Body { left } => {
                    let taken = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    body(&bytes[..taken]);
                    (taken, Next::Body { left: left - taken as u64 })
                }
                Next::Chunk { left: 0 } => (0, Next::ChunkEnd),
                Next::Chunk { left } => {
                    let taken = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    body(&bytes[..taken]);
                    (taken, Next::Chunk { left: left - taken as u64 })
                }
                Next::ChunkSize => match httparse::parse_chunk_size(bytes) {
                    Ok(httparse::Status::Complete((taken, 0))) => (taken, Next::Trailer),
                    Ok(httparse::Status::Complete((taken, left))) => (taken, Next::Chunk { left }),
                    Ok(httparse::Status::Partial) => return self.starved(),
                    Err(_) => return Err(Malformed("a chunk without a size")),
                },
                Next::ChunkEnd => match bytes {
                    [b'\r', b'\n', ..] => (2, Next::ChunkSize),
                    [] | [b'\r'] => return Ok(None),
                    _ => return Err(Malformed("a chunk longer than its size")),
                },
                Next::Trailer => match bytes.windows(2).position(|pair| pair == b"\r\n") {
                    Some(0) => (2, Next::Body { left: 0 }),
                    Some(line) => (line + 2, Next::Trailer),
                    None => return self.starved(),
                },
            };
            self.unread.start += taken;
            self.next = next;
        }
    }

    /// More is needed of something that must be in the buffer as a whole.
    fn starved(&self) -> Result<Option<Head>, Malformed> {
        if self.unread.len() == CAPACITY { Err(Malformed("a head too long")) } else { Ok(None) }
    }

    fn complete(&mut self) -> Result<Option<Head>, Malformed> {
        self.next = Next::Head;
        // One request is in flight at a time, so this belongs to no response that anybody waits for.
        if self.unread.is_empty() { Ok(Some(self.head)) } else { Err(Malformed("more than one response")) }
    }
}

/// The length of the head, what it says, and what comes after it; `None` if it is not there as a whole.
fn parse_head(bytes: &[u8]) -> Result<Option<(usize, Head, Next)>, Malformed> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut headers);
    let length = match response.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(Malformed("a head that is not one of HTTP")),
    };
    let status = response.code.unwrap_or(0);
    let mut head = Head { status, close: false };
    let mut next = None;
    for header in response.headers {
        let value = header.value.trim_ascii();
        if header.name.eq_ignore_ascii_case("content-length") {
            let left = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
            next = Some(Next::Body { left: left.ok_or(Malformed("a content-length that is no number"))? });
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            next = Some(Next::ChunkSize);
        } else if header.name.eq_ignore_ascii_case("connection") {
            head.close = value.eq_ignore_ascii_case(b"close");
        }
    }
    let next = match status {
        // These have no body, whatever their headers say.
        100..200 | 204 | 304 => Next::Body { left: 0 },
        _ => next.ok_or(Malformed("a body that ends with the connection"))?,
    };
    Ok(Some((length, head, next)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `input` in pieces of `size` bytes: the body and the head, or what is wrong.
    fn read(input: &[u8], size: usize) -> Result<(Vec<u8>, Option<Head>), Malformed> {
        let mut reader = Reader::default();
        let (mut body, mut head) = (Vec::new(), None);
        for piece in input.chunks(size) {
            assert_eq!(head, None, "complete before the end");
            reader.space()[..piece.len()].copy_from_slice(piece);
            reader.filled(piece.len());
            head = reader.advance(|bytes| body.extend_from_slice(bytes))?;
        }
        Ok((body, head))
    }

    fn ok(status: u16) -> Option<Head> {
        Some(Head { status, close: false })
    }

    #[test]
    fn a_body_with_a_length_in_pieces_of_any_size() {
        let input = b"HTTP/1.1 201 Created\r\netag: \"1\"\r\nContent-Length: 11\r\n\r\nhello world";
        for size in 1..=input.len() {
            assert_eq!(read(input, size), Ok((b"hello world".to_vec(), ok(201))), "{size}");
        }
    }

    #[test]
    fn a_chunked_body_in_pieces_of_any_size() {
        let input =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\na: b\r\n\r\n";
        for size in 1..=input.len() {
            assert_eq!(read(input, size), Ok((b"hello world".to_vec(), ok(200))), "{size}");
        }
    }

    #[test]
    fn no_body() {
        assert_eq!(read(b"HTTP/1.1 204 No Content\r\n\r\n", 9), Ok((vec![], ok(204))));
        assert_eq!(read(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", 9), Ok((vec![], ok(200))));
    }

    #[test]
    fn a_connection_that_ends() {
        let input = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 1\r\n\r\nx";
        assert_eq!(read(input, 80), Ok((b"x".to_vec(), Some(Head { status: 503, close: true }))));
    }

    #[test]
    fn one_response_after_another_in_one_buffer() {
        let mut reader = Reader::default();
        // Together longer than the buffer, which is so used from its beginning again.
        let input = [b"HTTP/1.1 200 OK\r\ncontent-length: 20000\r\n\r\n".as_slice(), &[b'x'; 20_000]].concat();
        for _ in 0..10 {
            let mut length = 0;
            for (index, piece) in input.chunks(1500).enumerate() {
                reader.space()[..piece.len()].copy_from_slice(piece);
                reader.filled(piece.len());
                let done = reader.advance(|bytes| length += bytes.len()).unwrap();
                assert_eq!(done.is_some(), (index + 1) * 1500 >= input.len());
            }
            assert_eq!(length, 20_000);
        }
    }

    #[test]
    fn what_is_no_response_is_refused() {
        let refused = |input: &[u8]| read(input, input.len()).unwrap_err();
        refused(b"SSH-2.0-OpenSSH\r\n\r\n");
        refused(b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n");
        refused(b"HTTP/1.1 200 OK\r\n\r\nuntil the end");
        refused(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nxHTTP/1.1");
        refused(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nabc\r\n");
        let endless = [b"HTTP/1.1 200 OK\r\na: ".as_slice(), &[b'x'; CAPACITY]].concat();
        assert_eq!(read(&endless[..CAPACITY], 1000), Err(Malformed("a head too long")));
    }
}
