//! Places for requests, and how apps share them.
//!
//! One rule: while another app has asked within the last ten seconds, an app has at most half of the places (rounded up). An
//! app that is alone has all. So when a quiet app meets a noisy one that has every place, its first request may be refused, and
//! from then on half of the places are not for the noisy one. Requests that name no app are together as one app.

use std::collections::HashMap;
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
    taken: usize,
    /// Who has places: no more entries than places.
    of_app: HashMap<App, usize>,
    /// The app that asked last, and when.
    last: Option<(App, Instant)>,
    /// When an app other than that one asked last.
    last_other: Option<Instant>,
}

impl Shares {
    pub fn new(most: usize) -> Self {
        Self { most, taken: 0, of_app: HashMap::new(), last: None, last_other: None }
    }

    /// Whether the app gets a place, which it has until [`Shares::give_back`].
    #[must_use]
    pub fn take(&mut self, app: App, now: Instant) -> bool {
        match &mut self.last {
            Some((last, at)) if *last == app => *at = now,
            last => {
                if let Some((_, at)) = last.replace((app, now)) {
                    self.last_other = Some(at);
                }
            }
        }
        let is_present = |at: Instant| now.saturating_duration_since(at) < PRESENT;
        let most = if self.last_other.is_some_and(is_present) { self.most.div_ceil(2) } else { self.most };
        if self.taken >= self.most || self.of_app.get(&app).is_some_and(|has| *has >= most) {
            return false;
        }
        self.taken += 1;
        *self.of_app.entry(app).or_default() += 1;
        true
    }

    /// Gives back a place that the app has.
    pub fn give_back(&mut self, app: App) {
        let Some(has) = self.of_app.get_mut(&app) else { return };
        *has -= 1;
        if *has == 0 {
            self.of_app.remove(&app);
        }
        self.taken -= 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_app_has_all_places_alone_and_half_of_them_beside_another() {
        let (mut shares, now) = (Shares::new(10), Instant::now());
        let taken = |shares: &mut Shares, app, now| (0..20).filter(|_| shares.take(app, now)).count();
        assert_eq!(taken(&mut shares, 1, now), 10);
        assert!(!shares.take(2, now), "there is none");
        for _ in 0..3 {
            shares.give_back(1);
        }
        assert!(!shares.take(1, now), "it has more than half, and another one waits");
        assert!(shares.take(2, now) && shares.take(2, now) && shares.take(2, now));
        assert!(!shares.take(2, now));
        for _ in 0..3 {
            shares.give_back(1);
        }
        assert_eq!(taken(&mut shares, 1, now), 1);
        assert_eq!(taken(&mut shares, 2, now), 2);
        let later = now + PRESENT;
        for _ in 0..5 {
            shares.give_back(2);
        }
        assert_eq!(taken(&mut shares, 1, later), 5, "alone again");
    }

    #[test]
    fn the_only_place_goes_to_whoever_comes() {
        let (mut shares, now) = (Shares::new(1), Instant::now());
        for app in [1, 2, 1] {
            assert!(shares.take(app, now));
            assert!(!shares.take(3, now));
            shares.give_back(app);
        }
    }

    proptest! {
        #[test]
        fn places_are_never_lost_and_shared_while_two_ask(
            most in 1..20usize,
            steps in prop::collection::vec((0..4u64, any::<bool>(), 0..4u64), 1..300),
        ) {
            let mut shares = Shares::new(most);
            let mut model: HashMap<App, usize> = HashMap::new();
            let mut asked: HashMap<App, Instant> = HashMap::new();
            let mut now = Instant::now();
            for (app, takes, seconds) in steps {
                now += Duration::from_secs(seconds);
                let has = model.entry(app).or_default();
                let had = *has;
                if takes {
                    let got = shares.take(app, now);
                    *has += usize::from(got);
                    asked.insert(app, now);
                    let others = asked.iter().any(|(other, at)| *other != app && now - *at < PRESENT);
                    let taken: usize = model.values().sum();
                    let may = if others { most.div_ceil(2) } else { most };
                    prop_assert_eq!(got, had < may && taken - usize::from(got) < most);
                } else if had > 0 {
                    *has -= 1;
                    shares.give_back(app);
                }
                prop_assert_eq!(shares.taken, model.values().sum::<usize>());
                prop_assert!(shares.taken <= most);
                prop_assert_eq!(shares.of_app.len(), model.values().filter(|has| **has > 0).count());
            }
        }
    }
}
