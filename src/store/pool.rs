//! Connections between one transaction and the next.
//!
//! sqlx's own pool asks each connection that comes back whether it still lives: a round trip for every transaction, so
//! two for a read that is one statement. Here the transaction itself says whether its connection may be used again, and
//! only one that was idle for a while is asked, or since another one broke: what ends one often ends all.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use super::error::{Cause, StoreError};
use crate::domain::tag::Timeline;

type Result<T> = std::result::Result<T, StoreError>;

/// A connection that was idle for longer is asked whether it still lives before it is used.
const TRUST_IDLE_FOR: Duration = Duration::from_secs(1);

/// Then a connection is replaced: what a server keeps for it grows, and after a failover all would stay where they are.
const LIFETIME: Duration = Duration::from_secs(30 * 60);

/// How new connections are made.
pub trait Connect: Send + Sync + 'static {
    type Connection: Connection;

    /// Connects, by `until` at the latest; the timeline is that of all that the connection will read, if it stays the same.
    fn connect(&self, until: Instant) -> impl Future<Output = Result<(Self::Connection, Timeline)>> + Send;
}

/// For the metrics.
#[derive(Debug, Clone, Copy, Default)]
pub struct PoolUse {
    pub open: u32,
    pub idle: u32,
}

/// Up to a number of connections, made as they are needed. Who waits for one is served in the order of arrival.
pub struct Pool<C: Connect> {
    connect: C,
    limit: u32,
    acquire: Duration,
    shared: Arc<Shared<C::Connection>>,
}

struct Shared<C> {
    /// One permit for each connection that may be held.
    places: Arc<Semaphore>,
    /// The one that was used last is used next, so that a pool that is too large rests.
    idle: Mutex<Vec<Idle<C>>>,
}

struct Idle<C> {
    conn: C,
    timeline: Timeline,
    made: Instant,
    since: Instant,
    /// Another one was not given back since.
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

/// Where a connection goes back to. Dropping it before casts doubt on those that are there.
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
    /// `acquire` bounds the wait for a connection, and then the making of one: who waited long for a place and gets it must
    /// not find that the database is away.
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
                // To wait for the others as long would take up the time that a new one needs.
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
            // What is closed badly is closed, too.
            let _ = conn.close().await;
        }
    }
}

impl<C> Lease<C> {
    pub fn timeline(&self) -> Timeline {
        self.timeline
    }

    /// Gives the connection back: it is between two transactions.
    pub fn release(self) {
        let Self { conn, timeline, made, mut home, _place: place } = self;
        let Some(shared) = home.0.take() else { return };
        if made.elapsed() < LIFETIME && !shared.places.is_closed() {
            shared.idle().push(Idle { conn, timeline, made, since: Instant::now(), doubted: false });
        }
        // After that, or there would be one more than allowed for a moment.
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
