//! The phase of a connection, and its deadlines.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::limits::{ConnectionLimits, HEAD_GRACE, LINGER, LONGEST};
use crate::allowance::Allowance;

/// How often a write is tried to a peer that accepts nothing according to the kernel: see `Wire::try_write`.
pub const WRITE_RETRY: Duration = Duration::from_secs(1);

/// A peer may stop reading for this fraction of the drain, so that clients that do not read do not delay it.
const DRAIN_STALL: u32 = 4;

/// The phase of a connection in the cycle of head, handler and answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The peer is owed nothing and has sent nothing since the last answer.
    Quiet,
    /// Waiting for the rest of a request head.
    Head { since: Instant },
    /// From the call of the service until the end of the answer's body.
    Serving { turn: u64 },
    /// The answer is complete, but a part of it is still in hyper's buffer.
    Flushing,
    /// Our side is shut down; see [`LINGER`].
    Closing { since: Instant },
}

/// State shared by the wire, the service and the answer's body: the phase, and when a byte last moved. The connection's
/// one task polls them all, so the lock is never contended.
pub struct Pulse {
    header_read_timeout: Duration,
    idle_timeout: Duration,
    /// The initial allowance of each answer.
    allowance: Allowance,
    /// How long a peer may accept nothing in a drain.
    drain_stall: Duration,
    beat: Mutex<Beat>,
    pub half_closed: watch::Sender<bool>,
}

#[derive(Clone, Copy)]
pub struct Beat {
    phase: Phase,
    /// Requests so far.
    turns: u64,
    moved: Instant,
    /// The turn of the request with two lengths, once it has arrived. There is at most one.
    pub two_lengths: Option<u64>,
    /// The allowance of the current answer.
    pub allowance: Allowance,
    /// Since when the peer has accepted nothing, if it does not.
    blocked: Option<Instant>,
    /// When a write was last tried meanwhile.
    tried: Instant,
    /// Until when the next request is ignored.
    paused: Option<Instant>,
    /// Since when the server has been draining, if it is.
    draining: Option<Instant>,
}

impl Pulse {
    pub fn new(limits: &ConnectionLimits) -> Self {
        let now = Instant::now();
        let allowance = Allowance::new(limits.stall_timeout.min(LONGEST), limits.min_rate);
        let beat = Beat {
            phase: Phase::Head { since: now },
            turns: 0,
            moved: now,
            allowance,
            blocked: None,
            tried: now,
            paused: None,
            draining: None,
            two_lengths: None,
        };
        Self {
            header_read_timeout: limits.header_read_timeout.min(LONGEST),
            idle_timeout: limits.idle_timeout.min(LONGEST),
            allowance,
            drain_stall: limits.drain_deadline.min(LONGEST) / DRAIN_STALL,
            beat: Mutex::new(beat),
            half_closed: watch::channel(false).0,
        }
    }

    pub fn beat<T>(&self, change: impl FnOnce(&mut Beat) -> T) -> T {
        change(&mut self.beat.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn read(&self) {
        let now = Instant::now();
        self.beat(|beat| {
            beat.moved = now;
            // A pipelined head that arrived together with its predecessor is only noticed at its next byte; until then
            // the idle timeout applies.
            if beat.phase == Phase::Quiet {
                beat.phase = Phase::Head { since: now };
            }
        });
    }

    pub fn wrote(&self, bytes: usize) {
        let now = Instant::now();
        self.beat(|beat| {
            beat.moved = now;
            let waited = beat.blocked.take().map_or(Duration::ZERO, |since| now - since);
            beat.allowance.settle(waited, bytes);
        });
    }

    /// There is data to write, and the peer does not accept it.
    pub fn blocked(&self) {
        let now = Instant::now();
        self.beat(|beat| {
            if beat.blocked.is_none() {
                (beat.blocked, beat.tried) = (Some(now), now);
            }
        });
    }

    /// Whether to try a write to a peer that accepts nothing. If so, records the time.
    pub fn may_retry(&self) -> bool {
        let now = Instant::now();
        self.beat(|beat| {
            let is_due = beat.blocked.is_some() && now >= beat.tried + WRITE_RETRY;
            if is_due {
                beat.tried = now;
            }
            is_due
        })
    }

    pub fn is_blocked(&self) -> bool {
        self.beat(|beat| beat.blocked.is_some())
    }

    /// Until when the request that has begun is ignored.
    pub fn paused(&self) -> Option<Instant> {
        self.beat(|beat| beat.paused.take())
    }

    pub fn pause(&self, pause: Option<Duration>) {
        self.beat(|beat| beat.paused = pause.map(|pause| Instant::now() + pause.min(LONGEST)));
    }

    pub fn drain(&self) {
        let now = Instant::now();
        self.beat(|beat| beat.draining = beat.draining.or(Some(now)));
    }

    pub fn enter(&self, phase: Phase) {
        self.beat(|beat| beat.phase = phase);
    }

    /// A request begins. The returned turn identifies its answer.
    pub fn serve(&self) -> u64 {
        self.beat(|beat| {
            beat.turns += 1;
            beat.allowance = self.allowance;
            beat.phase = Phase::Serving { turn: beat.turns };
            beat.turns
        })
    }

    pub fn has_two_lengths(&self, turn: u64) -> bool {
        self.beat(|beat| beat.two_lengths == Some(turn))
    }

    /// hyper is done with an answer's body. It may keep a body whose declared length is written until after it has
    /// called the service again; a body of an earlier turn has no effect.
    pub fn answered(&self, turn: u64) {
        self.beat(|beat| {
            if beat.phase == (Phase::Serving { turn }) {
                beat.phase = Phase::Flushing;
            }
        });
    }

    pub fn flushed(&self) {
        self.beat(|beat| {
            if beat.phase == Phase::Flushing {
                beat.phase = Phase::Quiet;
            }
        });
    }

    pub fn phase(&self) -> Phase {
        self.beat(|beat| beat.phase)
    }

    /// When the connection must be checked again if nothing happens before.
    pub fn due(&self) -> Instant {
        let deadline = self.deadline();
        let retry = self.beat(|beat| beat.blocked.map(|_| beat.tried + WRITE_RETRY));
        retry.map_or(deadline, |retry| deadline.min(retry))
    }

    /// A request was received, and its answer has not been written completely.
    pub fn owes_answer(&self) -> bool {
        matches!(self.phase(), Phase::Serving { .. } | Phase::Flushing)
    }

    pub fn is_between_requests(&self) -> bool {
        matches!(self.phase(), Phase::Quiet | Phase::Head { .. })
    }

    pub fn deadline(&self) -> Instant {
        let Beat { phase, moved, allowance, blocked, draining, .. } = self.beat(|beat| *beat);
        let idle = moved + self.idle_timeout;
        match phase {
            Phase::Quiet => idle,
            Phase::Serving { .. } | Phase::Flushing => blocked.map_or(idle, |since| {
                let in_drain = draining.map(|begun| begun.max(since) + self.drain_stall);
                idle.min(since + allowance.left()).min(in_drain.unwrap_or(idle))
            }),
            Phase::Head { since } if draining.is_some() => idle.min(since + self.header_read_timeout.min(HEAD_GRACE)),
            Phase::Head { since } => idle.min(since + self.header_read_timeout),
            Phase::Closing { since } => since + LINGER,
        }
    }
}
