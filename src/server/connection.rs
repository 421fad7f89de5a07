//! One connection, from accept to close: hyper's state machine, with our deadlines around it.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use hyper::Request;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::arrival::{Arrival, HalfClosed, Pace};
use super::limits::{ConnectionLimits, LONGEST};
use super::pulse::{Phase, Pulse, WRITE_RETRY};
use super::refusal::{ProblemWriter, SAFETY};
use super::wire::Wire;
use crate::allowance::Allowance;

/// Enough for a query with many keys of 512 bytes, percent-encoded. (hyper panics below 8 KiB.)
const LEAST_HEADER_BYTES: usize = 64 * 1024;

/// How many requests a connection may carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    KeepAlive,
    Once,
}

/// Serves one connection, from accept to close.
pub async fn connection(
    stream: TcpStream,
    router: Router,
    limits: ConnectionLimits,
    reuse: Reuse,
    refusal: ProblemWriter,
    mut drain: watch::Receiver<bool>,
) {
    let pulse = Arc::new(Pulse::new(&limits));
    let peer = stream.peer_addr().ok();
    let service = service_fn({
        let (pulse, router) = (pulse.clone(), TowerToHyperService::new(router));
        move |mut request: Request<Incoming>| {
            let turn = pulse.serve();
            let has_two_lengths = pulse.has_two_lengths(turn);
            let mut half_closed = HalfClosed::new(pulse.half_closed.subscribe());
            let (pulse, router) = (pulse.clone(), router.clone());
            async move {
                if let Some(until) = pulse.paused() {
                    // A peer that has closed its sending side may have gone; it sends no next request, so do not pause
                    // for it.
                    tokio::select! {
                        () = sleep_until(until) => {}
                        () = half_closed.wait() => {}
                    }
                }
                request.extensions_mut().insert(Arrival { peer, has_two_lengths, half_closed });
                let Ok(mut response) = router.call(request).await;
                let Pace { pause, stall } = response.extensions_mut().remove().unwrap_or_default();
                pulse.pause(pause);
                if let Some(most) = stall {
                    pulse.beat(|beat| beat.allowance = Allowance::new(most.min(LONGEST), 1));
                }
                for (name, value) in SAFETY {
                    response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
                }
                Ok::<_, Infallible>(response.map(|body| AnswerBody { body, pulse, turn }))
            }
        }
    });
    let io = TokioIo::new(Wire::new(stream, pulse.clone(), refusal));
    let mut connection = pin!(
        http1::Builder::new()
            .header_read_timeout(None)
            .keep_alive(reuse == Reuse::KeepAlive)
            .max_buf_size(limits.max_header_bytes.max(LEAST_HEADER_BYTES))
            .serve_connection(io, service)
    );
    // An error means that `serve` itself was dropped; then draining is right too.
    let mut drain = pin!(async move { drain.wait_for(|draining| *draining).await.is_ok() });
    let (mut draining, mut finishing) = (false, false);
    let mut timer = pin!(sleep_until(pulse.deadline()));

    // One poll function rather than a `select!`. hyper must be polled first, so that it reads a request that has
    // already arrived before the phase is checked; its reads and writes also move the deadline.
    let ended = poll_fn(|cx| {
        if let Poll::Ready(result) = connection.as_mut().poll(cx) {
            return Poll::Ready(result.map_err(|error| error.to_string()));
        }
        if !draining && drain.as_mut().poll(cx).is_ready() {
            draining = true;
            pulse.drain();
        }
        if draining && !finishing {
            match pulse.phase() {
                Phase::Quiet => return Poll::Ready(Ok(())),
                // hyper would close it immediately; instead the deadline does, after `HEAD_GRACE`.
                Phase::Head { .. } => {}
                Phase::Serving { .. } | Phase::Flushing | Phase::Closing { .. } => {
                    finishing = true;
                    connection.as_mut().graceful_shutdown();
                    cx.waker().wake_by_ref();
                }
            }
        }
        // Activity usually moves the deadline later. The timer only follows moves to an earlier time, and checks the
        // deadline again when it fires, so that a busy connection rarely resets it.
        let due = pulse.due();
        if due < timer.deadline() {
            timer.as_mut().reset(due);
        }
        while timer.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            if pulse.deadline() <= now {
                return Poll::Ready(Err(format!("timed out in {:?}", pulse.phase())));
            }
            if pulse.is_blocked() {
                // hyper then writes the rest, which tries the socket again.
                cx.waker().wake_by_ref();
                timer.as_mut().reset(pulse.deadline().min(now + WRITE_RETRY));
            } else {
                timer.as_mut().reset(pulse.deadline());
            }
        }
        Poll::Pending
    })
    .await;
    if let Err(error) = ended {
        tracing::debug!(error, "connection closed");
    }
}

/// The body of an answer. It tells the pulse when hyper is done with it.
struct AnswerBody {
    body: axum::body::Body,
    pulse: Arc<Pulse>,
    turn: u64,
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        self.pulse.answered(self.turn);
    }
}

impl Body for AnswerBody {
    type Data = <axum::body::Body as Body>::Data;
    type Error = <axum::body::Body as Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
