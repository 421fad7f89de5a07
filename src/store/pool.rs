//! Connections between one transaction and the next.
//!
//! sqlx's own pool pings each connection that is returned: one more round trip per transaction, so two for a read that is one
//! statement. Here the transaction itself says whether its connection may be used again. A connection is pinged only if it
//! was idle for a while, or if another one broke meanwhile: what breaks one often breaks all.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use super::error::{Cause, Result, StoreError};
use crate::domain::tag::Timeline;

/// A connection that was idle for longer is pinged before it is used.
const TRUST_IDLE_FOR: Duration = Duration::from_secs(1);

/// The age at which a connection is replaced: the server's memory for it grows, and after a failover connections must move.
const LIFETIME: Duration = Duration::from_secs(30 * 60);

/// How new connections are made.
pub trait Connect: Send + Sync + 'static {
    type Connection: Connection;

    /// Connects, by `until` at the latest. The timeline holds for everything that the connection will read, if it is constant.
    fn connect(&self, until: Instant) -> impl Future<Output = Result<(Self::Connection, Timeline)>> + Send;
}

/// For the metrics.
#[derive(Debug, Clone, Copy, Default)]
pub struct PoolUse {
    pub open: u32,
    pub idle: u32,
}

/// The nodes of a distributed database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nodes {
    pub all: u32,
    /// Those that did not answer when they were last asked.
    pub gone: u32,
}

/// A limited number of connections, opened on demand. Waiters are served in order of arrival.
pub struct Pool<C: Connect> {
    connect: C,
    limit: u32,
    acquire: Duration,
    shared: Arc<Shared<C::Connection>>,
}

struct Shared<C> {
    /// One permit for each connection that may be held.
    places: Arc<Semaphore>,
    /// Last in, first out, so that surplus connections stay idle.
    idle: Mutex<Vec<Idle<C>>>,
}

struct Idle<C> {
    conn: C,
    timeline: Timeline,
    made: Instant,
    since: Instant,
    /// Another connection broke since: ping this one before use.
    doubted: bool,
}

/// A connection in use. Dropping it closes it, which ends its transaction: only [`Lease::release`] keeps it.
pub struct Lease<C> {
    conn: C,
    timeline: Timeline,
    made: Instant,
    home: Home<C>,
    _place: OwnedSemaphorePermit,
}

/// Where a connection is returned to. Dropping it unreturned marks the idle ones as doubted.
struct Home<C>(Option<Arc<Shared<C>>>);

impl<C> Drop for Home<C> {
    fn drop(&mut self) {
        if let Some(shared) = &self.0 {
            shared.idle().iter_mut().for_each(|idle| idle.doubted = true);
        }
    }
}

impl<C> Shared<C> {
    fn idle(&self) -> MutexGuard<'_, Vec<Idle<C>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Connect> Pool<C> {
    /// `acquire` bounds the wait for a permit, and then, as a separate budget, the time to connect: a long wait for a permit
    /// must not eat the time to connect.
    pub fn new(connect: C, limit: u32, acquire: Duration) -> Self {
        let places = Arc::new(Semaphore::new(limit as usize));
        Self { connect, limit, acquire, shared: Arc::new(Shared { places, idle: Mutex::default() }) }
    }

    /// A connection, made if none is idle.
    ///
    /// # Errors
    /// None became free in time, or none can be made.
    pub async fn acquire(&self) -> Result<Lease<C::Connection>> {
        let until = Instant::now() + self.acquire;
        let place = timeout_at(until, self.shared.places.clone().acquire_owned())
            .await
            .map_err(|_| StoreError::new(Cause::Overloaded, "all connections to the database are in use"))?
            .map_err(|_| StoreError::new(Cause::ConnectionLost, "the database is being closed"))?;
        let lease =
            |conn, timeline, made| Lease { conn, timeline, made, home: Home(Some(self.shared.clone())), _place: place };
        loop {
            // In a statement of its own, as the guard lives until its end.
            let idle = self.shared.idle().pop();
            let Some(Idle { mut conn, timeline, made, since, doubted }) = idle else { break };
            if since.elapsed() <= TRUST_IDLE_FOR && !doubted {
                return Ok(lease(conn, timeline, made));
            }
            match timeout(self.acquire / 4, conn.ping()).await {
                Ok(Ok(())) => return Ok(lease(conn, timeline, made)),
                Ok(Err(_)) => {}
                // Pinging the others as well would use up the time that a new connection needs.
                Err(_) => break,
            }
        }
        let (conn, timeline) = self.connect.connect(Instant::now() + self.acquire).await?;
        Ok(lease(conn, timeline, Instant::now()))
    }

    pub fn in_use(&self) -> PoolUse {
        let idle = self.shared.idle().len() as u32;
        let held = self.limit.saturating_sub(self.shared.places.available_permits() as u32);
        PoolUse { open: held + idle, idle }
    }

    /// Closes the idle connections, and those in use once they come back; nobody gets one any more.
    pub async fn close(&self) {
        self.shared.places.close();
        let idle = std::mem::take(&mut *self.shared.idle());
        for Idle { conn, .. } in idle {
            // A connection that fails to close is closed, too.
            let _ = conn.close().await;
        }
    }
}

impl<C> Lease<C> {
    pub fn timeline(&self) -> Timeline {
        self.timeline
    }

    /// Returns the connection, which is between two transactions.
    pub fn release(self) {
        let Self { conn, timeline, made, mut home, _place: place } = self;
        let Some(shared) = home.0.take() else { return };
        if made.elapsed() < LIFETIME && !shared.places.is_closed() {
            shared.idle().push(Idle { conn, timeline, made, since: Instant::now(), doubted: false });
        }
        // Last, or there would be one connection too many for a moment.
        drop(place);
    }
}

impl<C> Deref for Lease<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.conn
    }
}

impl<C> DerefMut for Lease<C> {
    fn deref_mut(&mut self) -> &mut C {
        &mut self.conn
    }
}
