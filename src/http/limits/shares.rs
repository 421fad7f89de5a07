//! Places, and how apps and their users share them.
//!
//! One rule: while another app has asked within the last ten seconds, an app has at most half of the places (rounded
//! up). A lone app may have all but the reserve. Short-lived places have no reserve: the first request of a quiet app
//! may be refused while a noisy app has them all; after it, the noisy app gets at most half. All requests that name no
//! app count as one app.
//!
//! Within an app, while other users of it have asked within the last ten seconds, a user has at most a quarter of the
//! app's places (rounded up). A lone user may have all but an eighth. If it has more than a quarter when another user
//! finds no free place, one of its [preemptible](Share::preemptible) places is preempted: a watch, a wait, or a request whose
//! body is still arriving.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// How long an app or a user counts as active after it asked.
const PRESENT: Duration = Duration::from_secs(10);

/// Of an app's places, a lone user may take all but 1/8.
const KEPT: usize = 8;

/// How many apps without a place are remembered because they asked lately.
const MOST_IDLE: usize = 4096;

/// The hash of an app's name.
pub type AppHash = u64;

/// The hash of a user's name.
type UserHash = u64;

/// Who asks for a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asker {
    pub app: AppHash,
    /// The user in the path. `None`: the request counts for the app but for no user's share.
    pub user: Option<UserHash>,
}

/// Who asked last, and when somebody else did.
#[derive(Debug, Default)]
struct Presence<T> {
    last: Option<(T, Instant)>,
    /// When somebody other than `last` asked.
    last_other: Option<Instant>,
}

impl<T: PartialEq> Presence<T> {
    /// Records that `who` asks. Returns whether others are active.
    fn asks(&mut self, who: T, now: Instant) -> bool {
        match &mut self.last {
            Some((last, at)) if *last == who => *at = now,
            last => {
                if let Some((_, at)) = last.replace((who, now)) {
                    self.last_other = Some(at);
                }
            }
        }
        self.last_other.is_some_and(|at| is_present(at, now))
    }
}

fn is_present(at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(at) < PRESENT
}

/// The places, and who has them.
#[derive(Debug)]
pub struct Shares {
    most: usize,
    /// The reserve, which a lone app does not get.
    kept: usize,
    taken: usize,
    /// The apps that have places, and some that asked lately.
    apps: HashMap<AppHash, OfApp>,
    present: Presence<AppHash>,
    /// The number of the last preemptible share.
    preemptible: u64,
}

/// The places of an app.
#[derive(Debug, Default)]
struct OfApp {
    taken: usize,
    users: HashMap<UserHash, usize>,
    present: Presence<Option<UserHash>>,
    /// The preemptible places of its users, the newest last.
    preemptible: BTreeMap<(UserHash, u64), Arc<Preemption>>,
}

impl Shares {
    pub fn new(most: usize, kept: usize) -> Self {
        Self { most, kept, taken: 0, apps: HashMap::new(), present: Presence::default(), preemptible: 0 }
    }

    /// Takes places for an app and its user, until [`Shares::give_back`]. An app without places may exceed its share if
    /// enough are free; if all places are free, it may even take more than exist.
    #[must_use]
    pub fn take(&mut self, asker: Asker, places: usize, now: Instant) -> bool {
        let is_shared = self.present.asks(asker.app, now);
        let most = if is_shared { self.most.div_ceil(2) } else { self.most - self.kept };
        self.forget_idle(now);
        let of_app = self.apps.entry(asker.app).or_default();
        let others = of_app.present.asks(asker.user, now);
        let quarter = most.div_ceil(4);
        let of_user = if others { quarter } else { most - most / KEPT };
        let is_over = |has: usize, most: usize| has > 0 && has + places > most;
        let has = asker.user.map_or(0, |user| of_app.users.get(&user).copied().unwrap_or(0));
        if self.most == 0 || is_over(has, of_user) {
            return false;
        }
        if is_over(self.taken, self.most) || is_over(of_app.taken, most) {
            // No place is free. Another user of the app may have more than its share.
            let Some((user, freed)) = of_app.preempt(asker.user, quarter) else { return false };
            self.give_back(Asker { app: asker.app, user: Some(user) }, freed);
        }
        self.add(asker, places);
        true
    }

    /// Adds places to the app, even if none is free.
    fn add(&mut self, asker: Asker, places: usize) {
        self.taken += places;
        let of_app = self.apps.entry(asker.app).or_default();
        of_app.taken += places;
        if let Some(user) = asker.user {
            *of_app.users.entry(user).or_default() += places;
        }
    }

    /// Gives back places of the app.
    pub fn give_back(&mut self, asker: Asker, places: usize) {
        let Some(of_app) = self.apps.get_mut(&asker.app) else { return };
        of_app.taken -= places;
        self.taken -= places;
        if let Some(user) = asker.user
            && let Some(has) = of_app.users.get_mut(&user)
        {
            *has -= places;
            if *has == 0 {
                of_app.users.remove(&user);
            }
        }
    }

    /// Forgets apps without a place if there are many: those that did not ask lately or, if that is not enough, all.
    fn forget_idle(&mut self, now: Instant) {
        let with_places = self.taken.min(self.most);
        if self.apps.len() > with_places + 2 * MOST_IDLE {
            let asked = |of: &OfApp| of.present.last.is_some_and(|(_, at)| is_present(at, now));
            self.apps.retain(|_, of| of.taken > 0 || asked(of));
            if self.apps.len() > with_places + MOST_IDLE {
                self.apps.retain(|_, of| of.taken > 0);
            }
        }
    }
}

impl OfApp {
    /// Preempts a place of the user other than `asker` that has the most, if it has more than a quarter and one of its
    /// places is preemptible. Returns the user and the number of places, which the caller gives back.
    fn preempt(&mut self, asker: Option<UserHash>, quarter: usize) -> Option<(UserHash, usize)> {
        let others = self.users.iter().filter(|(user, has)| Some(**user) != asker && **has > quarter);
        let (user, _) = others.max_by_key(|(_, has)| **has)?;
        let user = *user;
        let (key, _) = self.preemptible.range((user, 0)..=(user, u64::MAX)).next_back()?;
        let key = *key;
        let preemption = self.preemptible.remove(&key)?;
        preemption.preempted.store(true, Ordering::Relaxed);
        // Also wakes a holder that starts to wait later.
        preemption.signal.notify_one();
        Some((user, 1))
    }
}

/// Signals to the holder of a place that it was preempted.
#[derive(Debug, Default)]
pub struct Preemption {
    preempted: AtomicBool,
    signal: Notify,
}

impl Preemption {
    pub fn is_preempted(&self) -> bool {
        self.preempted.load(Ordering::Relaxed)
    }

    /// Waits until the place is preempted. Cancel-safe.
    pub async fn preempted(&self) {
        while !self.is_preempted() {
            self.signal.notified().await;
        }
    }
}

/// Waits until a place is preempted, if it can be. Cancel-safe.
pub async fn preempted(preemption: Option<&Preemption>) {
    match preemption {
        Some(preemption) => preemption.preempted().await,
        None => std::future::pending().await,
    }
}

/// Places that are given back when their [`Share`] is dropped.
#[derive(Debug, Clone)]
pub struct PlacePool(Arc<Mutex<Shares>>);

impl PlacePool {
    pub fn new(most: usize, kept: usize) -> Self {
        Self(Arc::new(Mutex::new(Shares::new(most, kept))))
    }

    /// Takes places for an app and its user if they may have them, see [`Shares::take`].
    pub fn take(&self, asker: Asker, places: usize) -> Option<Share> {
        let mut shares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = shares.take(asker, places, Instant::now());
        taken.then(|| Share { pool: self.clone(), asker, places, preemptible: None })
    }
}

/// The places of an app. Dropping them gives them back.
#[derive(Debug)]
pub struct Share {
    pool: PlacePool,
    asker: Asker,
    places: usize,
    /// Its number among the preemptible shares, and the signal.
    preemptible: Option<(u64, Arc<Preemption>)>,
}

impl Share {
    /// Changes the number of places: fewer or more, even if none is free.
    pub fn set(&mut self, places: usize) {
        let mut shares = self.pool.0.lock().unwrap_or_else(PoisonError::into_inner);
        shares.add(self.asker, places);
        shares.give_back(self.asker, std::mem::replace(&mut self.places, places));
    }

    /// Makes this share of one place preemptible for another user. The result signals that.
    pub fn preemptible(&mut self) -> Arc<Preemption> {
        let mut shares = self.pool.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, preemption)) = &self.preemptible {
            return preemption.clone();
        }
        let preemption = Arc::new(Preemption::default());
        shares.preemptible += 1;
        let number = shares.preemptible;
        if let (Some(user), Some(of_app)) = (self.asker.user, shares.apps.get_mut(&self.asker.app)) {
            of_app.preemptible.insert((user, number), preemption.clone());
        }
        self.preemptible = Some((number, preemption.clone()));
        preemption
    }

    /// Makes the share not preemptible. `false` if it was already preempted.
    pub fn settle(&mut self) -> bool {
        let mut shares = self.pool.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((number, preemption)) = &self.preemptible else { return true };
        if preemption.is_preempted() {
            return false;
        }
        if let (Some(user), Some(of_app)) = (self.asker.user, shares.apps.get_mut(&self.asker.app)) {
            of_app.preemptible.remove(&(user, *number));
        }
        self.preemptible = None;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        // A preempted place already belongs to somebody else.
        if self.settle() {
            self.pool.0.lock().unwrap_or_else(PoisonError::into_inner).give_back(self.asker, self.places);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A request that names no user.
    fn of(app: AppHash) -> Asker {
        Asker { app, user: None }
    }

    fn by(user: UserHash) -> Asker {
        Asker { app: 1, user: Some(user) }
    }

    fn held_by_apps(shares: &Shares) -> usize {
        shares.apps.values().filter(|of| of.taken > 0).count()
    }

    #[test]
    fn a_user_has_most_places_of_its_app_alone_and_a_quarter_beside_another() {
        let (mut shares, now) = (Shares::new(32, 0), Instant::now());
        let taken = |shares: &mut Shares, user, now| (0..40).filter(|_| shares.take(by(user), 1, now)).count();
        assert_eq!(taken(&mut shares, 1, now), 28, "an eighth is left for others");
        assert!(shares.take(by(2), 1, now));
        assert!(!shares.take(by(1), 1, now), "it has more than a quarter, and another one asks");
        assert_eq!(taken(&mut shares, 2, now), 3, "there are no more");
        assert!(!shares.take(of(1), 1, now));
        for _ in 0..28 {
            shares.give_back(by(1), 1);
        }
        assert_eq!((taken(&mut shares, 1, now), taken(&mut shares, 2, now)), (8, 4));
        assert_eq!((0..40).filter(|_| shares.take(of(1), 1, now)).count(), 16, "of which no user has a share");
        let later = now + PRESENT;
        for _ in 0..16 {
            shares.give_back(of(1), 1);
        }
        assert_eq!(taken(&mut shares, 1, later), 16, "alone again");
        // Of half of the places, while another app is active.
        let mut shares = Shares::new(32, 0);
        assert!(shares.take(of(2), 1, now) && shares.take(by(2), 1, now));
        assert_eq!(taken(&mut shares, 1, now), 4);
    }

    #[test]
    fn a_user_with_more_than_a_quarter_loses_what_can_be_taken_back() {
        let pool = PlacePool::new(8, 0);
        let mut noisy: Vec<Share> = (0..7).map(|_| pool.take(by(1), 1).unwrap()).collect();
        let preemptions: Vec<_> = noisy.iter_mut().map(Share::preemptible).collect();
        assert!(pool.take(by(1), 1).is_none(), "one is kept");
        let mut others: Vec<Share> = (2..8).map(|user| pool.take(by(user), 1).unwrap()).collect();
        let preempted: Vec<bool> = preemptions.iter().map(|preemption| preemption.is_preempted()).collect();
        assert_eq!(preempted, [false, false, true, true, true, true, true], "the latest first, down to a quarter");
        assert!(pool.take(by(8), 1).is_none() && pool.take(of(1), 1).is_none());
        assert!(!noisy[6].settle() && noisy[0].settle());
        drop(noisy);
        assert_eq!(pool.0.lock().unwrap().taken, 6, "what was taken back is given back by its new owners alone");
        others.push(pool.take(by(1), 1).unwrap());
        drop(others);
        let shares = pool.0.lock().unwrap();
        assert_eq!((shares.taken, held_by_apps(&shares)), (0, 0));
        assert!(shares.apps[&1].users.is_empty() && shares.apps[&1].preemptible.is_empty());
    }

    #[test]
    fn of_another_app_nothing_is_taken_back() {
        let pool = PlacePool::new(4, 0);
        let mut noisy: Vec<Share> = (0..4).map(|_| pool.take(by(1), 1).unwrap()).collect();
        noisy.iter_mut().for_each(|share| drop(share.preemptible()));
        assert!(pool.take(of(2), 1).is_none());
        assert!(pool.take(Asker { app: 2, user: Some(7) }, 1).is_none());
        assert!(pool.take(of(1), 1).is_some(), "for a request of the same app that names no user");
    }

    #[test]
    fn apps_that_only_ask_are_not_remembered_for_ever() {
        let (mut shares, now) = (Shares::new(4, 0), Instant::now());
        assert!(shares.take(of(0), 1, now));
        for app in 1..100_000 {
            if shares.take(of(app), 1, now) {
                shares.give_back(of(app), 1);
            }
            assert!(shares.apps.len() <= 4 + 2 * MOST_IDLE + 1);
        }
        assert_eq!(shares.apps[&0].taken, 1);
    }

    #[test]
    fn an_app_has_all_places_alone_and_half_of_them_beside_another() {
        let (mut shares, now) = (Shares::new(10, 0), Instant::now());
        let taken = |shares: &mut Shares, app, now| (0..20).filter(|_| shares.take(of(app), 1, now)).count();
        assert_eq!(taken(&mut shares, 1, now), 10);
        assert!(!shares.take(of(2), 1, now), "there is none");
        for _ in 0..3 {
            shares.give_back(of(1), 1);
        }
        assert!(!shares.take(of(1), 1, now), "it has more than half, and another one waits");
        assert!(shares.take(of(2), 1, now) && shares.take(of(2), 1, now) && shares.take(of(2), 1, now));
        assert!(!shares.take(of(2), 1, now));
        for _ in 0..3 {
            shares.give_back(of(1), 1);
        }
        assert_eq!(taken(&mut shares, 1, now), 1);
        assert_eq!(taken(&mut shares, 2, now), 2);
        let later = now + PRESENT;
        for _ in 0..5 {
            shares.give_back(of(2), 1);
        }
        assert_eq!(taken(&mut shares, 1, later), 5, "alone again");
    }

    #[test]
    fn the_only_place_goes_to_whoever_comes() {
        let (mut shares, now) = (Shares::new(1, 0), Instant::now());
        for app in [1, 2, 1] {
            assert!(shares.take(of(app), 1, now));
            assert!(!shares.take(of(3), 1, now));
            shares.give_back(of(app), 1);
        }
    }

    #[test]
    fn some_places_are_kept_for_another_app() {
        let (mut shares, now) = (Shares::new(16, 2), Instant::now());
        assert_eq!((0..20).filter(|_| shares.take(of(1), 1, now)).count(), 14);
        assert_eq!((0..20).filter(|_| shares.take(of(2), 1, now)).count(), 2);
    }

    #[test]
    fn what_takes_more_than_there_is_is_let_in_alone() {
        let (mut shares, now) = (Shares::new(16, 2), Instant::now());
        assert!(shares.take(of(1), 50, now));
        assert!(!shares.take(of(2), 1, now) && !shares.take(of(1), 1, now));
        shares.give_back(of(1), 50);
        assert!(shares.take(of(1), 1, now) && shares.take(of(2), 14, now), "more than its half, as it has none");
        assert!(!shares.take(of(2), 1, now) && shares.take(of(1), 1, now));
    }

    #[test]
    fn a_share_is_as_large_as_it_was_set() {
        let pool = PlacePool::new(10, 0);
        let taken = || pool.0.lock().unwrap().taken;
        let mut share = pool.take(of(1), 8).unwrap();
        assert!(pool.take(of(1), 3).is_none());
        for places in [2, 12, 0, 5] {
            share.set(places);
            assert_eq!(taken(), places);
        }
        drop(share);
        assert_eq!((taken(), held_by_apps(&pool.0.lock().unwrap())), (0, 0));
    }

    proptest! {
        #[test]
        fn places_are_never_lost_and_shared_while_two_ask(
            (most, kept) in (1..20usize).prop_flat_map(|most| (Just(most), 0..most.div_ceil(4))),
            steps in prop::collection::vec((0..4u64, any::<bool>(), 0..4u64), 1..300),
        ) {
            let mut shares = Shares::new(most, kept);
            let mut model: HashMap<AppHash, usize> = HashMap::new();
            let mut asked: HashMap<AppHash, Instant> = HashMap::new();
            let mut now = Instant::now();
            for (app, takes, seconds) in steps {
                now += Duration::from_secs(seconds);
                let has = model.entry(app).or_default();
                let had = *has;
                if takes {
                    let got = shares.take(of(app), 1, now);
                    *has += usize::from(got);
                    asked.insert(app, now);
                    let others = asked.iter().any(|(other, at)| *other != app && now - *at < PRESENT);
                    let taken: usize = model.values().sum();
                    let may = if others { most.div_ceil(2) } else { most - kept };
                    prop_assert_eq!(got, had < may && taken - usize::from(got) < most);
                } else if had > 0 {
                    *has -= 1;
                    shares.give_back(of(app), 1);
                }
                prop_assert_eq!(shares.taken, model.values().sum::<usize>());
                prop_assert!(shares.taken <= most);
                prop_assert_eq!(held_by_apps(&shares), model.values().filter(|has| **has > 0).count());
            }
        }
    }
}
