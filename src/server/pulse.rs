//! Where a connection is, and until when it may stay there.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::limits::{ConnectionLimits, HEAD_GRACE, LINGER, LONGEST};
use crate::allowance::Allowance;

/// How often a peer that takes nothing, as far as the kernel says, is asked anew: see `Wire::ask`.
pub const ASK: Duration = Duration::from_secs(1);

/// The part of the drain for which a peer may take nothing of its answer: clients that do not read do not hold the drain up.
const DRAIN_STALL: u32 = 4;

/// Where a connection is in the cycle of head, handler and answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is owed to the peer, and nothing has come from it since the last answer.
    Quiet,
    /// Waiting for the rest of a request head.
    Head { since: Instant },
    /// From the call of the service until the answer's body is used up.
    Serving { turn: u64 },
    /// The answer is complete, but a part of it is still in hyper's buffer.
    Flushing,
    /// Our side is shut down; see [`LINGER`].
    Closing { since: Instant },
}

/// What the wire, the service and the answer's body know together: the phase, and when a byte last
/// moved. All are polled by the connection's one task, so the lock is never contended.
pub struct Pulse {
    header_read_timeout: Duration,
    idle_timeout: Duration,
    /// That of each answer at its beginning.
    allowance: Allowance,
    /// For how long a peer may take nothing in a drain.
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
    /// The turn of the request that has two lengths, once it has come in; there is one at most.
    pub two_lengths: Option<u64>,
    /// How long the peer may take no byte of the present answer.
    pub allowance: Allowance,
    /// Since when it takes none, if it does not.
    blocked: Option<Instant>,
    /// When it was last asked whether it takes any, while it does not.
    asked: Instant,
    /// Until when the next request is left alone.
    paused: Option<Instant>,
    /// Since when the server stops, if it does.
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
            asked: now,
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
            // A pipelined head that came along with its predecessor is noticed at its next byte
            // only; until then the idle timeout has it.
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

    /// There is something to write, and the peer does not take it.
    pub fn blocked(&self) {
        let now = Instant::now();
        self.beat(|beat| {
            if beat.blocked.is_none() {
                (beat.blocked, beat.asked) = (Some(now), now);
            }
        });
    }

    /// Whether a peer that takes nothing is to be asked again, which this notes.
    pub fn may_ask(&self) -> bool {
        let now = Instant::now();
        self.beat(|beat| {
            let is_due = beat.blocked.is_some() && now >= beat.asked + ASK;
            if is_due {
                beat.asked = now;
            }
            is_due
        })
    }

    pub fn is_blocked(&self) -> bool {
        self.beat(|beat| beat.blocked.is_some())
    }

    /// Until when the request that has begun is to be left alone.
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

    /// A request begins; the turn is what tells its answer from another's.
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

    /// hyper is done with the body of an answer. It may keep a body whose declared length is
    /// written until after it has called the service again; that one changes nothing any more.
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

    /// When the connection is to be looked at again, if nothing happens before.
    pub fn due(&self) -> Instant {
        let deadline = self.deadline();
        let ask = self.beat(|beat| beat.blocked.map(|_| beat.asked + ASK));
        ask.map_or(deadline, |ask| deadline.min(ask))
    }

    /// A request was taken, and its answer has not left as a whole.
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
