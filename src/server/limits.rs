//! Limits of a connection, in bytes and in time.

use std::time::Duration;

/// How long a connection that we have closed is still read, discarding what arrives.
///
/// Closing a socket with unread input makes the kernel send RST, and an RST can destroy an answer that the peer has not
/// read yet: a 413 during an upload, a 431, or the 503 of an overloaded server.
pub const LINGER: Duration = Duration::from_secs(2);

/// How long a drain waits for the rest of a request head, from its first byte or from the accept: a new connection is
/// about to send a request, and closing it would lose that request.
pub const HEAD_GRACE: Duration = Duration::from_secs(1);

/// Times are cut to a year, so that `now + limit` cannot overflow for a setting that means "never".
pub const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// The limits of one listener and of each of its connections.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// Connections served at once. Further ones get a 503 `overloaded` and never wait.
    pub max_connections: usize,
    /// From the first byte of a request head (for the first request: from the accept) to its end.
    pub header_read_timeout: Duration,
    /// A connection on which no byte moves in either direction for this long is closed without an
    /// answer: idle keep-alive, a half-sent body, a reader that stopped reading. A handler at work
    /// moves no byte either, so this must be longer than the longest request.
    pub idle_timeout: Duration,
    /// The [`Allowance`](crate::allowance::Allowance) of a peer that receives an answer: a connection that accepts no
    /// byte for this long is reset. One that accepts fewer than `min_rate` bytes per second on average uses this time
    /// up.
    pub stall_timeout: Duration,
    /// Bytes per second.
    pub min_rate: usize,
    /// Paths that are also served to `GET`, `HEAD` and `OPTIONS` on connections beyond `max_connections`, one request
    /// each.
    pub always_served: &'static [&'static str],
    /// The size of request line and headers together; a larger head gets a 431. At least 64 KiB. hyper's read and write
    /// buffers of a connection may also grow to this size.
    pub max_header_bytes: usize,
    /// From the shutdown signal until the remaining connections are aborted. In a drain, a peer may stop reading its
    /// answer for at most a quarter of it.
    pub drain_deadline: Duration,
}
