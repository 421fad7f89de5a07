//! What a connection may take, in bytes and in time.

use std::time::Duration;

/// How long a connection that we have closed is still read from, and what arrives discarded.
///
/// Closing a socket with unread input makes the kernel send RST, and an RST can destroy an answer
/// that the peer has not read yet: a 413 to someone still uploading, a 431, the 503 of a full house.
pub const LINGER: Duration = Duration::from_secs(2);

/// How long a drain waits for the rest of a request head, from its first byte or from the accept: whoever has just
/// connected is about to ask, and closing would lose a request that is on its way.
pub const HEAD_GRACE: Duration = Duration::from_secs(1);

/// Times are cut to a year, so that `now + limit` cannot overflow on a setting that means "never".
pub const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// What one listener and each of its connections may take.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// Connections served at once. Those beyond get a 503 `overloaded` and never wait.
    pub max_connections: usize,
    /// From the first byte of a request head (for the first request: from the accept) to its end.
    pub header_read_timeout: Duration,
    /// A connection on which no byte moves in either direction for this long is closed without an
    /// answer: idle keep-alive, a half-sent body, a reader that stopped reading. A handler at work
    /// moves no byte either, so this must be longer than the longest request.
    pub idle_timeout: Duration,
    /// The [`Allowance`](crate::allowance::Allowance) of a peer that takes an answer: a connection that takes no byte of it for this long is reset,
    /// and one that takes fewer than `min_rate` bytes per second on average uses this time up.
    pub stall_timeout: Duration,
    /// Bytes per second.
    pub min_rate: usize,
    /// Paths that are served to `GET`, `HEAD` and `OPTIONS` on connections beyond `max_connections` too, one request each.
    pub always_served: &'static [&'static str],
    /// The request line and headers together; a larger head is 431. Taken as 64 KiB if smaller.
    /// It is also the size to which hyper's read and write buffers may grow, per connection.
    pub max_header_bytes: usize,
    /// From the shutdown signal until the connections that remain are aborted. In a drain, a peer may take no byte of its answer for
    /// a quarter of it at most.
    pub drain_deadline: Duration,
}
