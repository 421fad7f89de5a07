//! Places, and how apps share them.
//!
//! One rule: while another app has asked within the last ten seconds, an app has at most half of the places (rounded up). An
//! app that is alone has all but those that are kept for others. None are kept of what is given back soon: there, when a quiet
//! app meets a noisy one that has every place, its first request may be refused, and from then on half of the places are not
//! for the noisy one. Requests that name no app are together as one app.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// An app that asked counts for so long.
const PRESENT: Duration = Duration::from_secs(10);

/// The number that stands for an app's name.
pub type App = u64;

/// The places, and who has them.
#[derive(Debug)]
pub struct Shares {
    most: usize,
    /// Of these, what an app that is alone does not get.
    kept: usize,
    taken: usize,
    /// Who has places: no more entries than places.
    of_app: HashMap<App, usize>,
    /// The app that asked last, and when.
    last: Option<(App, Instant)>,
    /// When an app other than that one asked last.
    last_other: Option<Instant>,
}

impl Shares {
    pub fn new(most: usize, kept: usize) -> Self {
        Self { most, kept, taken: 0, of_app: HashMap::new(), last: None, last_other: None }
    }

    /// Whether the app gets so many places at once, which it has until [`Shares::give_back`]. One that has none gets more than its
    /// share, if there is as much; and if nobody has any, more than there is.
    #[must_use]
    pub fn take(&mut self, app: App, places: usize, now: Instant) -> bool {
        match &mut self.last {
            Some((last, at)) if *last == app => *at = now,
            last => {
                if let Some((_, at)) = last.replace((app, now)) {
                    self.last_other = Some(at);
                }
            }
        }
        let is_present = |at: Instant| now.saturating_duration_since(at) < PRESENT;
        let is_shared = self.last_other.is_some_and(is_present);
        let most = if is_shared { self.most.div_ceil(2) } else { self.most - self.kept };
        let is_over = |has: usize, most: usize| has > 0 && has + places > most;
        if self.most == 0
            || is_over(self.taken, self.most)
            || self.of_app.get(&app).is_some_and(|has| is_over(*has, most))
        {
            return false;
        }
        self.add(app, places);
        true
    }

    /// The app has more places than it asked for, whether there are any or not.
    fn add(&mut self, app: App, places: usize) {
        self.taken += places;
        *self.of_app.entry(app).or_default() += places;
    }

    /// Gives back places that the app has.
    pub fn give_back(&mut self, app: App, places: usize) {
        let Some(has) = self.of_app.get_mut(&app) else { return };
        *has -= places;
        if *has == 0 {
            self.of_app.remove(&app);
        }
        self.taken -= places;
    }
}

/// Places that are given back when their [`Share`] is dropped.
#[derive(Debug, Clone)]
pub struct Pool(Arc<Mutex<Shares>>);

impl Pool {
    pub fn new(most: usize, kept: usize) -> Self {
        Self(Arc::new(Mutex::new(Shares::new(most, kept))))
    }

    /// So many places for an app, if there are, see [`Shares::take`].
    pub fn take(&self, app: App, places: usize) -> Option<Share> {
        let mut shares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shares.take(app, places, Instant::now()).then(|| Share { pool: self.clone(), app, places })
    }
}

/// Places that an app has. Dropping it gives them back.
#[derive(Debug)]
pub struct Share {
    pool: Pool,
    app: App,
    places: usize,
}

impl Share {
    /// There are so many of them now: fewer, or more, whether there are any or not.
    pub fn set(&mut self, places: usize) {
        let mut shares = self.pool.0.lock().unwrap_or_else(PoisonError::into_inner);
        shares.add(self.app, places);
        shares.give_back(self.app, std::mem::replace(&mut self.places, places));
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.pool.0.lock().unwrap_or_else(PoisonError::into_inner).give_back(self.app, self.places);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_app_has_all_places_alone_and_half_of_them_beside_another() {
        let (mut shares, now) = (Shares::new(10, 0), Instant::now());
        let taken = |shares: &mut Shares, app, now| (0..20).filter(|_| shares.take(app, 1, now)).count();
        assert_eq!(taken(&mut shares, 1, now), 10);
        assert!(!shares.take(2, 1, now), "there is none");
        for _ in 0..3 {
            shares.give_back(1, 1);
        }
        assert!(!shares.take(1, 1, now), "it has more than half, and another one waits");
        assert!(shares.take(2, 1, now) && shares.take(2, 1, now) && shares.take(2, 1, now));
        assert!(!shares.take(2, 1, now));
        for _ in 0..3 {
            shares.give_back(1, 1);
        }
        assert_eq!(taken(&mut shares, 1, now), 1);
        assert_eq!(taken(&mut shares, 2, now), 2);
        let later = now + PRESENT;
        for _ in 0..5 {
            shares.give_back(2, 1);
        }
        assert_eq!(taken(&mut shares, 1, later), 5, "alone again");
    }

    #[test]
    fn the_only_place_goes_to_whoever_comes() {
        let (mut shares, now) = (Shares::new(1, 0), Instant::now());
        for app in [1, 2, 1] {
            assert!(shares.take(app, 1, now));
            assert!(!shares.take(3, 1, now));
            shares.give_back(app, 1);
        }
    }

    #[test]
    fn some_places_are_kept_for_another_app() {
        let (mut shares, now) = (Shares::new(16, 2), Instant::now());
        assert_eq!((0..20).filter(|_| shares.take(1, 1, now)).count(), 14);
        assert_eq!((0..20).filter(|_| shares.take(2, 1, now)).count(), 2);
    }

    #[test]
    fn what_takes_more_than_there_is_is_let_in_alone() {
        let (mut shares, now) = (Shares::new(16, 2), Instant::now());
        assert!(shares.take(1, 50, now));
        assert!(!shares.take(2, 1, now) && !shares.take(1, 1, now));
        shares.give_back(1, 50);
        assert!(shares.take(1, 1, now) && shares.take(2, 14, now), "more than its half, as it has none");
        assert!(!shares.take(2, 1, now) && shares.take(1, 1, now));
    }

    #[test]
    fn a_share_is_as_large_as_it_was_set() {
        let pool = Pool::new(10, 0);
        let taken = || pool.0.lock().unwrap().taken;
        let mut share = pool.take(1, 8).unwrap();
        assert!(pool.take(1, 3).is_none());
        for places in [2, 12, 0, 5] {
            share.set(places);
            assert_eq!(taken(), places);
        }
        drop(share);
        assert_eq!((taken(), pool.0.lock().unwrap().of_app.len()), (0, 0));
    }

    proptest! {
        #[test]
        fn places_are_never_lost_and_shared_while_two_ask(
            (most, kept) in (1..20usize).prop_flat_map(|most| (Just(most), 0..most.div_ceil(4))),
            steps in prop::collection::vec((0..4u64, any::<bool>(), 0..4u64), 1..300),
        ) {
            let mut shares = Shares::new(most, kept);
            let mut model: HashMap<App, usize> = HashMap::new();
            let mut asked: HashMap<App, Instant> = HashMap::new();
            let mut now = Instant::now();
            for (app, takes, seconds) in steps {
                now += Duration::from_secs(seconds);
                let has = model.entry(app).or_default();
                let had = *has;
                if takes {
                    let got = shares.take(app, 1, now);
                    *has += usize::from(got);
                    asked.insert(app, now);
                    let others = asked.iter().any(|(other, at)| *other != app && now - *at < PRESENT);
                    let taken: usize = model.values().sum();
                    let may = if others { most.div_ceil(2) } else { most - kept };
                    prop_assert_eq!(got, had < may && taken - usize::from(got) < most);
                } else if had > 0 {
                    *has -= 1;
                    shares.give_back(app, 1);
                }
                prop_assert_eq!(shares.taken, model.values().sum::<usize>());
                prop_assert!(shares.taken <= most);
                prop_assert_eq!(shares.of_app.len(), model.values().filter(|has| **has > 0).count());
            }
        }
    }
}
