//! The socket of a connection, as hyper sees it.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::framing::Framing;
use super::pulse::{Phase, Pulse};
use super::refusal::{ProblemWriter, refusal_of_head};

/// Reads and writes for hyper, and reports activity to the pulse.
pub struct Wire {
    stream: TcpStream,
    pulse: Arc<Pulse>,
    framing: Framing,
    /// The rest of the text that replaces hyper's own answer.
    own_answer: Vec<u8>,
    refusal: ProblemWriter,
    /// The kernel accepted bytes although it had not reported room.
    has_room: bool,
}

impl Wire {
    pub fn new(stream: TcpStream, pulse: Arc<Pulse>, refusal: ProblemWriter) -> Self {
        Self { stream, pulse, framing: Framing::default(), own_answer: Vec::new(), refusal, has_room: false }
    }

    /// Tries to write although the kernel has not reported room. Linux only does so when a third of the socket's buffer
    /// is free, which may have grown to megabytes: a peer that reads some KiB a second would seem to read nothing for
    /// minutes. But a write accepts as much as fits.
    fn try_write(&mut self, written: Poll<io::Result<usize>>, bufs: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        if written.is_pending() && (self.has_room || self.pulse.may_retry()) {
            let sent = SockRef::from(&self.stream).send_vectored(bufs);
            // While it accepts bytes, continue at once.
            self.has_room = sent.is_ok();
            if let Ok(bytes) = sent {
                return Poll::Ready(Ok(bytes));
            }
        }
        written
    }

    /// Records the result of a write.
    fn wrote(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(Ok(bytes)) => self.pulse.wrote(*bytes),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.pulse.blocked(),
        }
        written
    }
}

impl Drop for Wire {
    /// Discards unread data with the connection; the kernel would keep it for minutes otherwise.
    fn drop(&mut self) {
        if self.pulse.is_blocked() {
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        if buf.filled().len() == before && buf.remaining() > 0 && self.pulse.owes_answer() && self.framing.is_whole() {
            // hyper would take this for the end of the connection. It sees it after the answer, whose flush wakes it.
            self.pulse.half_closed.send_replace(true);
            return Poll::Pending;
        }
        if buf.filled().len() > before {
            self.pulse.read();
            if let Some(turn) = self.framing.read(&buf.filled()[before..]) {
                self.pulse.beat(|beat| beat.two_lengths = Some(turn));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.pulse.is_between_requests()
            && let Some(answer) = refusal_of_head(buf, self.refusal)
        {
            // The whole write is replaced, so hyper flushes next, and the flush writes the replacement.
            self.own_answer = answer.into_bytes();
            self.pulse.enter(Phase::Flushing);
            return Poll::Ready(Ok(buf.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        let written = self.try_write(written, &[IoSlice::new(buf)]);
        self.wrote(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.pulse.is_between_requests() {
            let first = bufs.iter().find(|buf| !buf.is_empty());
            return self.poll_write(cx, first.map_or(&[], |buf| &**buf));
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        let written = self.try_write(written, bufs);
        self.wrote(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// hyper flushes the wire only when its own buffer is empty (`Buffered::poll_flush`), so this is where we learn
    /// that an answer was written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wire = &mut *self;
        while !wire.own_answer.is_empty() {
            let written = Pin::new(&mut wire.stream).poll_write(cx, &wire.own_answer);
            let written = ready!(wire.wrote(written))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            wire.own_answer.drain(..written);
        }
        ready!(Pin::new(&mut wire.stream).poll_flush(cx))?;
        wire.pulse.flushed();
        if *wire.pulse.half_closed.borrow() && !wire.pulse.owes_answer() {
            cx.waker().wake_by_ref();
        }
        Poll::Ready(Ok(()))
    }

    /// Shuts down our side, then reads until the peer closes its own. The pulse limits the time.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(cx))?;
        let Self { stream, pulse, .. } = &mut *self;
        let mut stream = Pin::new(stream);
        // Never pending on a TCP socket, and an error if repeated after the peer closed.
        if !matches!(pulse.phase(), Phase::Closing { .. }) {
            let since = Instant::now();
            pulse.enter(Phase::Closing { since });
            ready!(stream.as_mut().poll_shutdown(cx))?;
        }
        let mut scratch = [MaybeUninit::uninit(); 4096];
        loop {
            let mut discarded = ReadBuf::uninit(&mut scratch);
            ready!(stream.as_mut().poll_read(cx, &mut discarded))?;
            if discarded.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}
