//! When requests are due. All connections take their turns from one schedule.

use std::{
    io,
    os::fd::OwnedFd,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::unix::AsyncFd;

/// One request to be sent.
pub struct Turn {
    /// The how-manieth of all it is, from 0.
    pub number: u64,
    /// Latency counts from here, however much later the request is sent.
    pub due: Instant,
}

pub struct Schedule {
    kind: Kind,
    start: Instant,
    taken: AtomicU64,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Whoever is free sends, until the time is over.
    Closed { length: Duration },
    /// Request N is due at N / rate, whether anybody is free to send it or not. So a server that falls behind shows
    /// it in the latencies, while a closed loop would just ask it less often.
    Open { rate: f64, length: Duration },
    /// A number of requests, as fast as they go.
    Count { total: u64 },
}

impl Schedule {
    pub fn closed(length: Duration) -> Self {
        Self::new(Kind::Closed { length })
    }

    pub fn open(rate: f64, length: Duration) -> Self {
        Self::new(Kind::Open { rate, length })
    }

    pub fn count(total: u64) -> Self {
        Self::new(Kind::Count { total })
    }

    fn new(kind: Kind) -> Self {
        Self { kind, start: Instant::now(), taken: AtomicU64::new(0) }
    }

    pub fn start(&self) -> Instant {
        self.start
    }

    pub fn is_open(&self) -> bool {
        matches!(self.kind, Kind::Open { .. })
    }

    /// When the last request is due; `None` if nobody can know.
    pub fn end(&self) -> Option<Instant> {
        match self.kind {
            Kind::Closed { length } | Kind::Open { length, .. } => Some(self.start + length),
            Kind::Count { .. } => None,
        }
    }

    /// The next request, or `None` when there are no more.
    pub fn next(&self) -> Option<Turn> {
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        let due = match self.kind {
            Kind::Closed { .. } | Kind::Count { .. } => Instant::now(),
            Kind::Open { rate, .. } => self.start + Duration::from_secs_f64(number as f64 / rate),
        };
        let over = match self.kind {
            Kind::Closed { length } | Kind::Open { length, .. } => due >= self.start + length,
            Kind::Count { total } => number >= total,
        };
        (!over).then_some(Turn { number, due })
    }
}

/// A timer of the kernel for each connection, because those of tokio are rounded up to the next millisecond, which is
/// longer than many a request takes.
pub struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    #[expect(deprecated, reason = "unsound for types that change or close their descriptor; an `OwnedFd` does not")]
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Self(AsyncFd::new(timerfd_create(TimerfdClockId::Monotonic, flags)?)?))
    }

    pub async fn until(&self, due: Instant) -> io::Result<()> {
        let wait = due.saturating_duration_since(Instant::now());
        if wait.is_zero() {
            return Ok(());
        }
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
        let once = Itimerspec { it_interval: never, it_value: value };
        // Setting it also forgets that it went off before, so it need not be read.
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once)?;
        self.0.readable().await?.clear_ready();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_schedule_does_not_wait_for_anybody() {
        let schedule = Schedule::open(1000.0, Duration::from_millis(10));
        let due: Vec<_> = std::iter::from_fn(|| schedule.next()).map(|turn| turn.due - schedule.start()).collect();
        let expected: Vec<_> = (0..10).map(Duration::from_millis).collect();
        assert_eq!(due, expected);
    }

    #[test]
    fn a_count_ends() {
        let schedule = Schedule::count(3);
        let numbers: Vec<_> = std::iter::from_fn(|| schedule.next()).map(|turn| turn.number).collect();
        assert_eq!(numbers, [0, 1, 2]);
    }

    #[test]
    fn a_timer_goes_off_in_time_again_and_again() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        runtime.block_on(async {
            let timer = Timer::new().unwrap();
            for _ in 0..20 {
                let due = Instant::now() + Duration::from_micros(300);
                timer.until(due).await.unwrap();
                assert!(Instant::now() >= due);
            }
        });
    }
}
