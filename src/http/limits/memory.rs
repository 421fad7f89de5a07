//! The memory of all request bodies together. Only bytes that have arrived count, not the announced length.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The unit in which memory is counted.
const UNIT: usize = 1024;

/// Bodies up to this size have a share that larger ones cannot use up.
const SMALL: usize = 64 * 1024;

/// The share of small bodies is this fraction of the whole, or less if the largest body needs it.
const SMALL_SHARE: usize = 8;

/// The memory for all bodies.
pub struct Memory {
    common: Arc<Semaphore>,
    small: Arc<Semaphore>,
}

impl Memory {
    /// For `bytes` in total. One body of `largest` fits beside the share of small ones.
    pub fn new(bytes: usize, largest: usize) -> Self {
        let share = (bytes / SMALL_SHARE).min(bytes.saturating_sub(largest)) / UNIT * UNIT;
        let units = |bytes: usize| Arc::new(Semaphore::new(bytes.div_ceil(UNIT).min(Semaphore::MAX_PERMITS)));
        Self { common: units(bytes - share), small: units(share) }
    }

    /// The reservation of one body, empty at first.
    pub fn claim(&self) -> Claim {
        Claim { common: self.common.clone(), small: self.small.clone(), units: 0, permit: None, small_permit: None }
    }
}

/// The memory that one body has reserved. Dropping it frees it.
pub struct Claim {
    common: Arc<Semaphore>,
    small: Arc<Semaphore>,
    units: usize,
    permit: Option<OwnedSemaphorePermit>,
    small_permit: Option<OwnedSemaphorePermit>,
}

impl Claim {
    /// Grows the reservation to this size. `false` if there is not enough memory. Never waits.
    #[must_use]
    pub fn grow_to(&mut self, bytes: usize) -> bool {
        let units = bytes.div_ceil(UNIT);
        let Ok(more) = u32::try_from(units.saturating_sub(self.units)) else { return false };
        let taken = more == 0
            || take(&self.common, &mut self.permit, more)
            || bytes <= SMALL && take(&self.small, &mut self.small_permit, more);
        if taken {
            self.units = self.units.max(units);
        }
        taken
    }

    /// Sets the reservation to this size. `false` if there is not enough memory. Never waits.
    #[must_use]
    pub fn set(&mut self, bytes: usize) -> bool {
        let mut fewer = self.units.saturating_sub(bytes.div_ceil(UNIT));
        self.units -= fewer;
        for permit in [&mut self.small_permit, &mut self.permit].into_iter().flatten() {
            let part = fewer.min(permit.num_permits());
            fewer -= part;
            drop(permit.split(part));
        }
        self.grow_to(bytes)
    }
}

fn take(from: &Arc<Semaphore>, permit: &mut Option<OwnedSemaphorePermit>, units: u32) -> bool {
    let Ok(more) = from.clone().try_acquire_many_owned(units) else { return false };
    match permit {
        Some(permit) => permit.merge(more),
        None => *permit = Some(more),
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1024;

    fn free(memory: &Memory) -> (usize, usize) {
        (memory.common.available_permits(), memory.small.available_permits())
    }

    #[test]
    fn what_has_arrived_counts_and_is_given_back() {
        let memory = Memory::new(80 * KIB, 8 * KIB);
        assert_eq!(free(&memory), (70, 10));
        let mut claim = memory.claim();
        assert_eq!(free(&memory), (70, 10), "nothing has arrived");
        for (bytes, common) in [(1, 69), (2, 69), (KIB, 69), (KIB + 1, 68), (3 * KIB, 67), (10, 67)] {
            assert!(claim.grow_to(bytes));
            assert_eq!(free(&memory), (common, 10), "{bytes}");
        }
        drop(claim);
        assert_eq!(free(&memory), (70, 10));
    }

    #[test]
    fn small_bodies_have_a_share_of_their_own() {
        let memory = Memory::new(1600 * KIB, 1000 * KIB);
        assert_eq!(free(&memory), (1400, 200));
        let mut large = memory.claim();
        assert!(large.grow_to(1400 * KIB));
        assert!(!large.grow_to(1401 * KIB), "the share is not for it");
        let mut small: Vec<_> = (0..4).map(|_| memory.claim()).collect();
        assert!(small[0].grow_to(KIB) && small[0].grow_to(SMALL) && !small[0].grow_to(SMALL + 1));
        assert!(small[1].grow_to(SMALL) && small[2].grow_to(SMALL) && !small[3].grow_to(SMALL), "it is used up");
        assert!(small[3].grow_to(8 * KIB));
        drop(large);
        assert!(small[0].grow_to(SMALL + 1));
        drop(small);
        assert_eq!(free(&memory), (1400, 200));
    }

    #[test]
    fn what_is_held_can_become_less() {
        let memory = Memory::new(1600 * KIB, 1000 * KIB);
        let mut rest = memory.claim();
        assert!(rest.grow_to(1360 * KIB));
        let mut claim = memory.claim();
        assert!(claim.set(40 * KIB) && claim.set(60 * KIB), "of both shares");
        assert_eq!(free(&memory), (0, 180));
        for (bytes, expected) in [(50, (0, 190)), (10, (30, 200)), (0, (40, 200)), (40, (0, 200))] {
            assert!(claim.set(bytes * KIB));
            assert_eq!(free(&memory), expected, "{bytes}");
        }
        assert!(!claim.set(400 * KIB), "there is no more");
        drop((claim, rest));
        assert_eq!(free(&memory), (1400, 200));
    }

    #[test]
    fn the_largest_body_fits_beside_the_share() {
        assert_eq!(free(&Memory::new(8 * KIB, 8 * KIB)), (8, 0));
        assert_eq!(free(&Memory::new(9 * KIB, 8 * KIB)), (8, 1));
        assert_eq!(free(&Memory::new(10 * KIB, 8 * KIB)), (9, 1));
        // A partial unit still fits.
        assert!(Memory::new(100, 100).claim().grow_to(100));
        assert!(Memory::new(8 * KIB + 100, 8 * KIB + 100).claim().grow_to(8 * KIB + 100));
    }
}
