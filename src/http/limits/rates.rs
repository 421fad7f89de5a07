//! Rates: how many events per second the requests of an app, a key and a user may cost, in this process (contract,
//! section 11).
//!
//! Each has a bucket that holds 2 s worth of its rate and fills at that rate (GCRA, the generic cell rate algorithm: a
//! bucket is one number, the time when it is full). A request takes its cost from all its buckets, or is refused and
//! takes nothing. A request that costs more than a full bucket passes when the bucket is full, and leaves a debt. So in
//! any time T, at most T's worth passes, plus the larger of 2 s worth and the largest request. A request that turns out
//! to cost nothing gives its cost back.
//!
//! The `governor` crate (0.10) does not fit: it always refuses a cost above a full bucket, and it takes from one bucket
//! before it judges the next.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::config::{Rate, RateLimits};
use crate::domain::ids::{AppName, UserKey};
use crate::domain::word::words;
use crate::http::reply::{Problem, RateFields, Throttle};

/// Nanoseconds since the process started to count, or a duration: enough for 584 years.
type Nanos = u64;

/// A full bucket holds this much time's worth.
const BURST: Nanos = 2_000_000_000;

/// How many buckets are kept per limit. Beyond that, the one that is full soonest is dropped: it has the smallest debt.
/// To get rid of a debt, a client would have to create this many larger ones.
const MOST: usize = 100_000;

/// A request adds at most one bucket per limit and drops up to this many full ones: they never pile up, and no request
/// cleans up many.
const DROPPED_AT_ONCE: usize = 2;

/// A longer wait gets up to a quarter more, so that clients that were refused together do not return together.
const JITTER_BEYOND: Duration = Duration::from_secs(3);

/// Who pays for a request, as far as it names them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Payers<'a> {
    pub app: Option<&'a AppName>,
    /// The id of the client's key.
    pub key: Option<&'a str>,
    /// The user of the path.
    pub user: Option<&'a UserKey>,
}

/// The rates of a process, and the state of their buckets.
#[derive(Debug)]
pub struct Rates {
    began: Instant,
    limits: RateLimits,
    /// Hashes names, so that all buckets have the same small size. No client can find two names that collide, and among
    /// 100,000 names a collision is unlikely (1 : 10^9).
    numbers: RandomState,
    /// By [`Limit`]. Locked for a few look-ups, and not at all if there is no limit.
    buckets: Mutex<[Buckets; 3]>,
}

words! {
    /// Which limit refused a request, by its name in answers.
    pub enum Limit {
        App = "app",
        Key = "key",
        User = "user",
    }
}

impl Limit {
    const ALL: [Self; 3] = [Self::App, Self::Key, Self::User];

    /// The name in metrics.
    fn metric(self) -> &'static str {
        match self {
            Self::App => "rate_app",
            Self::Key => "rate_key",
            Self::User => "rate_user",
        }
    }
}

/// The charge of a request.
#[derive(Debug, Clone, Copy, Default)]
pub struct Paid([Option<BucketCharge>; 3]);

/// How a judgement changes the buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Take {
    IfItFits,
    Nothing,
    Always,
}

/// The charge to one bucket.
#[derive(Debug, Clone, Copy)]
struct BucketCharge {
    number: u64,
    cost: Nanos,
    at: Nanos,
    /// When the bucket would be full, had nothing been given back since it was last full.
    full_at: Nanos,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Limited {
    pub limit: Limit,
    /// The request passes after this time, unless others take from its buckets meanwhile.
    pub retry_after: Duration,
    /// Events left in the bucket. A request that costs more is refused nevertheless.
    pub remaining: u64,
    /// All limits that apply to the request.
    policies: Vec<(Limit, Rate)>,
}

impl Limited {
    /// The answer. `jitter` returns a random time of at most its argument.
    pub fn problem(&self, jitter: impl FnOnce(Duration) -> Duration) -> Problem {
        let name = self.limit.as_str();
        let seconds = |time: Duration| time.as_nanos().div_ceil(1_000_000_000).max(1);
        let wait = match self.retry_after > JITTER_BEYOND {
            true => self.retry_after + jitter(self.retry_after / 4),
            false => self.retry_after,
        };
        let policy = |(limit, rate): &(Limit, Rate)| {
            let (quota, window) = quota(*rate);
            format!(r#""{}";q={quota};w={window}"#, limit.as_str())
        };
        let throttle = Throttle {
            limit: name,
            retry_after: seconds(wait).to_string(),
            fields: Some(RateFields {
                rate_limit: format!(r#""{name}";r={};t={}"#, self.remaining, seconds(self.retry_after)),
                policy: self.policies.iter().map(policy).collect::<Vec<_>>().join(", "),
            }),
        };
        Problem::throttled(self.limit.metric(), throttle, format!("the {name} is over its rate; try again later"))
    }
}

/// The events that a full bucket allows at once, and in how many seconds it fills: whole numbers, as the headers
/// require.
fn quota(rate: Rate) -> (u64, u64) {
    let burst = rate.per_second() * 2.0;
    match burst >= 1.0 {
        true => (burst.floor() as u64, 2),
        false => (1, rate.per_second().recip().ceil() as u64),
    }
}

impl Paid {
    /// No limit applies to the request.
    pub fn is_nothing(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

impl Rates {
    pub fn new(limits: RateLimits) -> Self {
        Self { began: Instant::now(), limits, numbers: RandomState::new(), buckets: Mutex::default() }
    }

    /// Takes a request's cost, in events, from all its buckets.
    ///
    /// # Errors
    /// A bucket has too little; then nothing is taken from any. If several have too little, the error is that with the
    /// longest wait.
    pub fn check(&self, payers: Payers<'_>, cost: u32, now: Instant) -> Result<Paid, Limited> {
        self.judge(payers, cost, Take::IfItFits, now)
    }

    /// Raises a request's charge to its whole cost, as if nothing had been taken before.
    ///
    /// # Errors
    /// A bucket has too little. The earlier charge remains.
    pub fn raise(&self, paid: &mut Paid, cost: u32, now: Instant) -> Result<(), Limited> {
        if paid.is_nothing() {
            return Ok(());
        }
        let now = self.since_began(now);
        let mut all = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        self.judge_own(&all, paid, cost, now)?;
        self.set(&mut all, paid, cost, now);
        Ok(())
    }

    /// Raises the charge of a request that goes on to its cost so far, in any case.
    ///
    /// # Errors
    /// Others have left nothing in a bucket: the request is not to go on.
    pub fn spend(&self, paid: &mut Paid, cost: u32, now: Instant) -> Result<(), Limited> {
        if paid.is_nothing() {
            return Ok(());
        }
        let now = self.since_began(now);
        let mut all = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let judged = self.judge_own(&all, paid, 1, now);
        for ((limit, buckets), part) in Limit::ALL.into_iter().zip(&mut *all).zip(&mut paid.0) {
            let (Some(part), Some(rate)) = (part, self.rate(limit)) else { continue };
            // Nothing is given back first: that would count against what others may be given back.
            let more = time_of(cost, rate).saturating_sub(part.cost);
            let full_at = buckets.full_at(part.number).max(now).saturating_add(more);
            let given_back = buckets.put(part.number, full_at, now, MOST);
            let full_at = full_at.saturating_add(given_back);
            *part = BucketCharge { cost: part.cost + more, at: now, full_at, ..*part };
        }
        judged
    }

    /// Judges a charge, as if nothing had been taken before.
    fn judge_own(&self, all: &[Buckets; 3], paid: &Paid, cost: u32, now: Nanos) -> Result<(), Limited> {
        let mut refused: Option<(Limit, Nanos, u64)> = None;
        let mut policies = Vec::new();
        for ((limit, buckets), part) in Limit::ALL.into_iter().zip(all).zip(paid.0) {
            let (Some(part), Some(rate)) = (part, self.rate(limit)) else { continue };
            policies.push((limit, rate));
            let (full_at, own) = (buckets.full_at(part.number), buckets.left_of(&part, now));
            if let Err(wait) = pass(full_at.saturating_sub(own), time_of(cost, rate), now)
                && refused.is_none_or(|(_, longest, _)| wait + own > longest)
            {
                refused = Some((limit, wait + own, remaining(full_at, rate, now)));
            }
        }
        if let Some((limit, wait, remaining)) = refused {
            return Err(Limited { limit, retry_after: Duration::from_nanos(wait), remaining, policies });
        }
        Ok(())
    }

    /// Corrects a request's charge to its actual cost: the difference is given back, or becomes a debt.
    pub fn settle(&self, paid: &mut Paid, cost: u32, now: Instant) {
        if !paid.is_nothing() {
            let mut all = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
            self.set(&mut all, paid, cost, self.since_began(now));
        }
    }

    fn set(&self, all: &mut [Buckets; 3], paid: &mut Paid, cost: u32, now: Nanos) {
        for ((limit, buckets), part) in Limit::ALL.into_iter().zip(all).zip(&mut paid.0) {
            let (Some(part), Some(rate)) = (part, self.rate(limit)) else { continue };
            let cost = time_of(cost, rate);
            if cost != part.cost {
                buckets.give_back(*part, now);
                let full_at = buckets.full_at(part.number).max(now).saturating_add(cost);
                let given_back = buckets.put(part.number, full_at, now, MOST);
                *part = BucketCharge { cost, at: now, full_at: full_at.saturating_add(given_back), ..*part };
            }
        }
    }

    /// Takes a cost that can no longer be refused, even if the buckets have too little.
    pub fn owe(&self, payers: Payers<'_>, cost: u32, now: Instant) {
        // `Take::Always` is never refused.
        let _ = self.judge(payers, cost, Take::Always, now);
    }

    /// Whether a request could pass. Takes nothing.
    ///
    /// # Errors
    /// Not even one event would pass now.
    pub fn peek(&self, payers: Payers<'_>, now: Instant) -> Result<(), Limited> {
        self.judge(payers, 1, Take::Nothing, now).map(drop)
    }

    /// Gives back the charge of a request that turned out to cost nothing. Afterwards no more passes than without the
    /// request and, if it was the only one in flight for its buckets, no less.
    pub fn give_back(&self, paid: Paid, now: Instant) {
        if paid.is_nothing() {
            return;
        }
        let now = self.since_began(now);
        let mut all = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        for (buckets, part) in all.iter_mut().zip(paid.0) {
            if let Some(part) = part {
                buckets.give_back(part, now);
            }
        }
    }

    fn since_began(&self, now: Instant) -> Nanos {
        u64::try_from(now.saturating_duration_since(self.began).as_nanos()).unwrap_or(Nanos::MAX)
    }

    fn judge(&self, payers: Payers<'_>, cost: u32, take: Take, now: Instant) -> Result<Paid, Limited> {
        let number = |limit| match limit {
            Limit::App => payers.app.map(|app| self.numbers.hash_one(app)),
            Limit::Key => payers.key.map(|key| self.numbers.hash_one(key)),
            Limit::User => payers.user.map(|user| self.numbers.hash_one(user)),
        };
        let applies = |limit| Some((limit, self.rate(limit)?, number(limit)?));
        let applying = Limit::ALL.map(applies);
        if applying.iter().all(Option::is_none) {
            return Ok(Paid::default());
        }
        let now = self.since_began(now);
        let mut all = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let mut filled = [None; 3];
        let mut refused: Option<(Limit, Nanos, u64)> = None;
        for ((applies, buckets), filled) in applying.iter().zip(&*all).zip(&mut filled) {
            let Some((limit, rate, number)) = *applies else { continue };
            let (full_at, cost) = (buckets.full_at(number), time_of(cost, rate));
            let passed = match take {
                Take::Always => Ok(full_at.max(now).saturating_add(cost)),
                Take::IfItFits | Take::Nothing => pass(full_at, cost, now),
            };
            match passed {
                Ok(full_at) => *filled = Some(BucketCharge { number, cost, at: now, full_at }),
                Err(wait) if refused.is_none_or(|(_, longest, _)| wait > longest) => {
                    refused = Some((limit, wait, remaining(full_at, rate, now)));
                }
                Err(_) => {}
            }
        }
        if let Some((limit, wait, remaining)) = refused {
            let policies = applying.iter().flatten().map(|(limit, rate, _)| (*limit, *rate)).collect();
            return Err(Limited { limit, retry_after: Duration::from_nanos(wait), remaining, policies });
        }
        if take != Take::Nothing {
            for (buckets, filled) in all.iter_mut().zip(&mut filled) {
                let Some(part) = filled else { continue };
                let given_back = buckets.put(part.number, part.full_at, now, MOST);
                part.full_at = part.full_at.saturating_add(given_back);
            }
        }
        Ok(Paid(filled))
    }

    fn rate(&self, limit: Limit) -> Option<Rate> {
        match limit {
            Limit::App => self.limits.app,
            Limit::Key => self.limits.key,
            Limit::User => self.limits.user,
        }
    }
}

/// The time in which this many events refill.
fn time_of(cost: u32, rate: Rate) -> Nanos {
    // Rounded down, so that a bucket of six events holds six.
    (f64::from(cost) * 1e9 / rate.per_second()) as Nanos
}

/// The events in the bucket.
fn remaining(full_at: Nanos, rate: Rate, now: Nanos) -> u64 {
    let held = BURST.saturating_sub(full_at.saturating_sub(now));
    (held as f64 / 1e9 * rate.per_second()) as u64
}

/// Judges a request whose cost refills in the time `cost`, on a bucket that is full at `full_at`.
///
/// `Ok`: when the bucket is full if the request passes. `Err`: after how long it passes.
fn pass(full_at: Nanos, cost: Nanos, now: Nanos) -> Result<Nanos, Nanos> {
    let missing = full_at.saturating_sub(now);
    // A cost above the bucket's size needs a full bucket.
    let may_be_missing = BURST.saturating_sub(cost);
    if missing <= may_be_missing { Ok(now.max(full_at).saturating_add(cost)) } else { Err(missing - may_be_missing) }
}

/// The buckets of one limit that are not full.
#[derive(Debug, Default)]
struct Buckets {
    by_number: HashMap<u64, Bucket>,
    /// The buckets, ordered by when they are full.
    in_order: BTreeSet<(Nanos, u64)>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    full_at: Nanos,
    /// The bucket was last full at this time.
    since: Nanos,
    /// The amount given back since then.
    given_back: Nanos,
}

impl Buckets {
    fn full_at(&self, number: u64) -> Nanos {
        self.by_number.get(&number).map_or(0, |bucket| bucket.full_at)
    }

    /// Sets when a bucket is full, and keeps at most `most` buckets. Returns the amount given back since it was last
    /// full.
    fn put(&mut self, number: u64, full_at: Nanos, now: Nanos, most: usize) -> Nanos {
        let mut bucket = Bucket { full_at, since: now, given_back: 0 };
        if let Some(before) = self.by_number.get(&number) {
            self.in_order.remove(&(before.full_at, number));
            if before.full_at > now {
                bucket = Bucket { full_at, ..*before };
            }
        }
        self.by_number.insert(number, bucket);
        self.in_order.insert((full_at, number));
        for _ in 0..DROPPED_AT_ONCE {
            let is_due = |(full_at, _): &&(Nanos, u64)| *full_at <= now || self.by_number.len() > most;
            let Some(&first) = self.in_order.first().filter(is_due) else { break };
            self.in_order.remove(&first);
            self.by_number.remove(&first.1);
        }
        bucket.given_back
    }

    /// The part of a charge that can still be given back. Time that has refilled the bucket is not given back again.
    /// The bucket would be full at `full_at` or, if others took from it, later; their charges may be given back too, so
    /// they do not count.
    fn left_of(&self, part: &BucketCharge, now: Nanos) -> Nanos {
        // A bucket that was full since then needs nothing back.
        let bucket = self.by_number.get(&part.number).filter(|bucket| bucket.since <= part.at);
        let left = bucket.map(|bucket| part.full_at.saturating_sub(bucket.given_back).saturating_sub(now));
        left.unwrap_or(0).min(part.cost)
    }

    fn give_back(&mut self, part: BucketCharge, now: Nanos) {
        let left = self.left_of(&part, now);
        let Some(bucket) = self.by_number.get_mut(&part.number).filter(|bucket| bucket.since <= part.at) else {
            return;
        };
        self.in_order.remove(&(bucket.full_at, part.number));
        bucket.full_at = bucket.full_at.saturating_sub(left);
        bucket.given_back = bucket.given_back.saturating_add(left);
        self.in_order.insert((bucket.full_at, part.number));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::ids::UserId;
    use crate::http::reply::Ids;

    fn rate(per_second: f64) -> Rate {
        per_second.to_string().parse().unwrap()
    }

    fn app(name: &str) -> AppName {
        AppName::parse(name).unwrap()
    }

    fn of_app(app: &AppName) -> Payers<'_> {
        Payers { app: Some(app), ..Payers::default() }
    }

    fn secs(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn a_bucket_holds_two_seconds_worth_and_fills_at_its_rate() {
        let rates = Rates::new(RateLimits { app: Some(rate(3.0)), ..RateLimits::default() });
        let (a, b, began) = (app("a"), app("b"), rates.began);
        for _ in 0..6 {
            rates.check(of_app(&a), 1, began).unwrap();
        }
        let limited = rates.check(of_app(&a), 1, began).unwrap_err();
        assert_eq!((limited.limit, limited.remaining), (Limit::App, 0));
        assert!(limited.retry_after > secs(0.333) && limited.retry_after < secs(0.334), "{limited:?}");
        assert_eq!(rates.check(of_app(&a), 1, began + secs(0.33)).unwrap_err().limit, Limit::App);
        rates.check(of_app(&a), 1, began + limited.retry_after).unwrap();
        rates.check(of_app(&b), 6, began).unwrap();
        rates.check(Payers::default(), 1000, began).unwrap();
    }

    #[test]
    fn what_is_raised_is_judged_as_if_nothing_had_been_taken() {
        let rates = Rates::new(RateLimits { app: Some(rate(10.0)), ..RateLimits::default() });
        let (a, began) = (app("a"), rates.began);
        let mut paid = rates.check(of_app(&a), 1, began).unwrap();
        rates.raise(&mut paid, 1000, began).unwrap();
        // The debt is 100 s worth, less the 2 s worth that were there.
        assert_eq!(rates.peek(of_app(&a), began).unwrap_err().retry_after, secs(98.1));
        // A request that stored nothing costs 1.
        rates.settle(&mut paid, 1, began + secs(0.05));
        assert_eq!(rates.check(of_app(&a), 20, began + secs(0.05)).unwrap_err().retry_after, secs(0.1));
        rates.check(of_app(&a), 19, began + secs(0.05)).unwrap();
        // After other requests there is too little left for more; the charge at the start remains.
        let later = began + secs(60.0);
        rates.check(of_app(&a), 1, later).unwrap();
        let mut paid = rates.check(of_app(&a), 1, later).unwrap();
        assert_eq!(rates.raise(&mut paid, 1000, later).unwrap_err().retry_after, secs(0.2));
        rates.check(of_app(&a), 18, later).unwrap();
        rates.peek(of_app(&a), later).unwrap_err();
        // A cost above the charge becomes a debt.
        rates.settle(&mut paid, 101, later);
        assert_eq!(rates.peek(of_app(&a), later).unwrap_err().retry_after, secs(10.1));
        rates.owe(of_app(&a), 100, later);
        assert_eq!(rates.peek(of_app(&a), later).unwrap_err().retry_after, secs(20.1));
    }

    #[test]
    fn what_goes_on_is_charged_in_any_case_and_ends_when_others_leave_nothing() {
        let rates = Rates::new(RateLimits { app: Some(rate(10.0)), ..RateLimits::default() });
        let (a, began) = (app("a"), rates.began);
        let mut paid = rates.check(of_app(&a), 1, began).unwrap();
        let mut other = rates.check(of_app(&a), 1, began).unwrap();
        // Its own debt does not end it, nor what others take as long as something is left.
        rates.spend(&mut paid, 1000, began).unwrap();
        rates.spend(&mut paid, 1500, began).unwrap();
        assert_eq!(rates.peek(of_app(&a), began).unwrap_err().retry_after, secs(148.2));
        assert_eq!(rates.spend(&mut other, 2, began).unwrap_err().retry_after, secs(148.2));
        assert_eq!(rates.peek(of_app(&a), began).unwrap_err().retry_after, secs(148.3));
        rates.spend(&mut paid, 1600, began).unwrap();
        rates.owe(of_app(&a), 20, began);
        rates.spend(&mut paid, 1700, began).unwrap_err();
    }

    #[test]
    fn what_is_larger_than_the_bucket_passes_when_it_is_full_and_leaves_a_debt() {
        let rates = Rates::new(RateLimits { app: Some(rate(10.0)), ..RateLimits::default() });
        let (a, began) = (app("a"), rates.began);
        rates.check(of_app(&a), 1, began).unwrap();
        assert_eq!(rates.check(of_app(&a), 1000, began).unwrap_err().retry_after, secs(0.1));
        let full = began + secs(0.1);
        rates.check(of_app(&a), 1000, full).unwrap();
        // The debt is 100 s worth, less the 2 s worth that were there.
        for seconds in [0.0, 50.0, 98.05] {
            let limited = rates.peek(of_app(&a), full + secs(seconds)).unwrap_err();
            assert_eq!((limited.retry_after, limited.remaining), (secs(98.1) - secs(seconds), 0));
        }
        rates.peek(of_app(&a), full + secs(98.1)).unwrap();
        rates.check(of_app(&a), 1, full + secs(98.1)).unwrap();
    }

    #[test]
    fn a_rate_below_one_event_in_two_seconds_passes_one_at_a_time() {
        let rates = Rates::new(RateLimits { app: Some(rate(0.1)), ..RateLimits::default() });
        let (a, began) = (app("a"), rates.began);
        rates.check(of_app(&a), 1, began).unwrap();
        assert_eq!(rates.check(of_app(&a), 1, began + secs(4.0)).unwrap_err().retry_after, secs(6.0));
        rates.check(of_app(&a), 1, began + secs(10.0)).unwrap();
    }

    #[test]
    fn who_is_refused_by_one_bucket_takes_from_none() {
        let limits = RateLimits { app: Some(rate(10.0)), key: Some(rate(5.0)), user: Some(rate(1.0)) };
        let rates = Rates::new(limits);
        let user = UserKey { app: app("a"), user: UserId::parse("u").unwrap() };
        let began = rates.began;
        let all = Payers { app: Some(&user.app), key: Some("k"), user: Some(&user) };
        rates.check(all, 2, began).unwrap();
        for _ in 0..100 {
            let limited = rates.check(all, 1, began).unwrap_err();
            assert_eq!((limited.limit, limited.retry_after), (Limit::User, secs(1.0)));
        }
        // Others may take 18 and 8.
        rates.check(Payers { user: None, ..all }, 8, began).unwrap();
        assert_eq!(rates.check(Payers { user: None, ..all }, 1, began).unwrap_err().limit, Limit::Key);
        rates.check(of_app(&user.app), 10, began).unwrap();
        let limited = rates.check(all, 1, began).unwrap_err();
        assert_eq!(limited.limit, Limit::User, "the longest wait");
        // The same user name in another app is another user.
        let other = UserKey { app: app("b"), ..user.clone() };
        rates.check(Payers { app: Some(&other.app), key: None, user: Some(&other) }, 2, began).unwrap();
    }

    #[test]
    fn a_refusal_says_when_to_come_back() {
        let limits = RateLimits { app: Some(rate(10.0)), key: None, user: Some(rate(0.3)) };
        let rates = Rates::new(limits);
        let user = UserKey { app: app("a"), user: UserId::parse("u").unwrap() };
        let payers = Payers { app: Some(&user.app), key: Some("k"), user: Some(&user) };
        rates.check(payers, 1, rates.began).unwrap();
        let limited = rates.check(payers, 1, rates.began).unwrap_err();
        let headers = |jitter: fn(Duration) -> Duration| {
            let response = limited.problem(jitter).finish(Ids::of("id"), true);
            assert_eq!(response.status(), 429);
            ["retry-after", "ratelimit", "ratelimit-policy"]
                .map(|name| response.headers()[name].to_str().unwrap().to_owned())
        };
        let policy = r#""app";q=20;w=2, "user";q=1;w=4"#;
        assert_eq!(headers(|_| Duration::ZERO), ["4", r#""user";r=0;t=4"#, policy]);
        assert_eq!(headers(|limit| limit), ["5", r#""user";r=0;t=4"#, policy]);
        let text: serde_json::Value =
            serde_json::from_str(&limited.problem(|limit| limit).text(Ids::of("id"), true)).unwrap();
        assert_eq!(text["code"], "rate_limited");
        assert_eq!(text["limit"], "user");
        assert_eq!(text["outcome"], "not_applied");
    }

    #[test]
    fn full_buckets_are_dropped_and_beyond_the_limit_those_that_are_full_soonest() {
        let mut buckets = Buckets::default();
        for number in 0..10 {
            buckets.put(number, 100 + number, 0, 5);
        }
        assert_eq!(buckets.by_number.len(), 5);
        assert_eq!(buckets.in_order.first(), Some(&(105, 5)));
        // A debt remains, however many buckets come after it.
        buckets.put(77, 1_000_000, 0, 5);
        for number in 0..10_000 {
            buckets.put(1000 + number, 1000 + number, number, 5);
        }
        assert_eq!(buckets.full_at(77), 1_000_000);
        for number in 0..10 {
            buckets.put(number, 20_000 + number, 20_000, 100);
        }
        assert_eq!(buckets.by_number.len(), 1 + 9, "what is full is gone");
        assert_eq!(buckets.by_number.len(), buckets.in_order.len());
    }

    #[test]
    fn what_is_given_back_was_never_taken() {
        let limits = RateLimits { app: Some(rate(10.0)), key: Some(rate(5.0)), user: None };
        let rates = Rates::new(limits);
        let (a, began) = (app("a"), rates.began);
        let payers = Payers { key: Some("k"), ..of_app(&a) };
        rates.check(payers, 3, began).unwrap();
        // Far more requests than the buckets hold, one after the other, each given back; then many at the same time.
        for _ in 0..1000 {
            let paid = rates.check(payers, 1, began).unwrap();
            rates.give_back(paid, began + secs(0.01));
        }
        let paid: Vec<Paid> = (0..7).map(|_| rates.check(payers, 1, began).unwrap()).collect();
        assert_eq!(rates.check(payers, 1, began).unwrap_err().limit, Limit::Key);
        for paid in paid {
            rates.give_back(paid, began + secs(0.01));
        }
        assert_eq!(rates.check(payers, 8, began).unwrap_err().limit, Limit::Key);
        rates.check(payers, 7, began).unwrap();
        assert_eq!(rates.check(payers, 1, began).unwrap_err().limit, Limit::Key);
        rates.check(of_app(&a), 10, began).unwrap();
        assert_eq!(rates.check(of_app(&a), 1, began).unwrap_err().limit, Limit::App);
    }

    proptest! {
        /// Whoever asks for whatever, and whenever: over any time, no more passes than is promised.
        #[test]
        fn no_more_than_the_rate_passes_over_any_time(
            per_second in 0.01..100_000.0,
            requests in prop::collection::vec((0..3_000_000_000u64, 1..2000u32), 1..60),
        ) {
            let rate = rate(per_second);
            let (mut now, mut full_at) = (0, 0);
            let mut passed: Vec<(Nanos, Nanos)> = Vec::new();
            for (pause, cost) in requests {
                now += pause;
                let cost = time_of(cost, rate);
                match pass(full_at, cost, now) {
                    Ok(next) => {
                        passed.push((now, cost));
                        full_at = next;
                    }
                    Err(wait) => {
                        prop_assert!(wait > 0);
                        prop_assert!(pass(full_at, cost, now + wait).is_ok(), "it passes when it was told");
                        prop_assert!(pass(full_at, cost, now + wait - 1).is_err(), "and not before");
                    }
                }
            }
            for (from, (begin, _)) in passed.iter().enumerate() {
                let (mut sum, mut largest) = (0, BURST);
                for (end, cost) in &passed[from..] {
                    sum += cost;
                    largest = largest.max(*cost);
                    prop_assert!(sum <= largest + (end - begin), "{sum} in {}", end - begin);
                }
            }
        }

        /// Whatever is given back, and when: a bucket never holds more than if the charge had never been taken, and no
        /// less if requests run one at a time.
        #[test]
        fn what_is_given_back_fills_no_bucket_beyond_what_it_would_hold(
            per_second in 0.01..100_000.0,
            alone in any::<bool>(),
            steps in prop::collection::vec((0.0..2.0, 1..200u32, any::<prop::sample::Index>(), 0..3u8), 1..60),
        ) {
            let a = app("a");
            let rates = Rates::new(RateLimits { app: Some(rate(per_second)), ..RateLimits::default() });
            let number = rates.numbers.hash_one(&a);
            let (mut now, mut under_way) = (rates.began, Vec::new());
            // When the bucket should be full.
            let mut expected = 0;
            for (pause, cost, which, step) in steps {
                now += secs(pause * f64::from(cost.min(20)) / per_second);
                match step {
                    0 | 1 if under_way.is_empty() || !alone => {
                        let Ok(paid) = rates.check(of_app(&a), cost, now) else { continue };
                        match step {
                            0 => under_way.push(paid),
                            _ => expected = pass(expected, time_of(cost, rate(per_second)), rates.since_began(now))
                                .map_err(|_| TestCaseError::fail("more passes than without what was given back"))?,
                        }
                    }
                    _ if under_way.is_empty() => {}
                    _ => rates.give_back(under_way.swap_remove(which.index(under_way.len())), now),
                }
                let at = rates.since_began(now);
                let buckets = rates.buckets.lock().unwrap();
                let full_at = buckets[0].full_at(number).max(at);
                prop_assert_eq!(buckets[0].by_number.len(), buckets[0].in_order.len());
                prop_assert!(full_at >= expected.max(at));
                if alone && under_way.is_empty() {
                    prop_assert_eq!(full_at, expected.max(at));
                }
            }
        }

        /// A client that stays below the rate is never refused.
        #[test]
        fn whoever_keeps_to_the_rate_passes(per_second in 0.01..100_000.0, costs in prop::collection::vec(1..2000u32, 1..60)) {
            let rate = rate(per_second);
            let (mut now, mut full_at) = (0, 0);
            for cost in costs {
                let cost = time_of(cost, rate);
                full_at = pass(full_at, cost, now).unwrap();
                now += cost;
            }
        }
    }
}
