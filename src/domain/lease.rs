//! Leases: one turn at a time. A granted lease gets the session's next epoch, and a write that names an older epoch is fenced. No
//! clock is involved in that; a clock only decides when others may take over.
//!
//! Epochs never fall for the life of an incarnation. A lease changes no revision and no event.

use std::sync::Arc;

use super::Rejected;
use super::envelope::Fields;
use super::json::Json;
use super::number::of_digits;
use super::session::{SessionInfo, parse_ttl};
use super::time::Micros;
use super::word::read_words;

/// Longest `owner` and `invocationId`, in bytes.
const MAX_OWNER: usize = 256;
const MAX_INVOCATION: usize = 1024;

const SHORTEST_TTL_MICROS: i64 = 1_000_000;
const LONGEST_TTL_MICROS: i64 = 15 * 60 * 1_000_000;
const DEFAULT_TTL_MICROS: i64 = 60 * 1_000_000;

read_words! {
    /// The writers that a lease excludes until it expires.
    #[derive(Default)]
    pub enum Exclusive {
        /// Other holders. Writes that name no lease are accepted.
        #[default]
        Turn = "turn",
        /// Also writes that name no lease.
        All = "all",
    }
}

/// The body of a request that takes a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseDraft {
    pub owner: String,
    pub invocation_id: Option<String>,
    pub ttl_micros: i64,
    pub exclusive: Exclusive,
    /// Supersedes the holder.
    pub steal: bool,
}

impl LeaseDraft {
    /// Reads `{owner, ttl?, invocationId?, exclusive?, steal?}`.
    pub fn parse(json: Json<'_>) -> Result<Self, Rejected> {
        let mut fields = Fields::of(json, "")?;
        let owner = fields.take_text("owner", 1..=MAX_OWNER, "must be 1 to 256 bytes");
        fields.require("owner", &owner);
        let invocation_id = fields.take_text("invocationId", 0..=MAX_INVOCATION, "must be at most 1024 bytes");
        let ttl_micros = take_ttl(&mut fields).unwrap_or(DEFAULT_TTL_MICROS);
        let exclusive =
            fields.take_str_with("exclusive", |word| Exclusive::parse(word).ok_or("must be `turn` or `all`"));
        let steal = fields.take_bool("steal").unwrap_or_default();
        fields.finish()?;
        let owner = owner.unwrap_or_default();
        Ok(Self { owner, invocation_id, ttl_micros, exclusive: exclusive.unwrap_or_default(), steal })
    }
}

/// Takes `ttl`, in microseconds.
fn take_ttl(fields: &mut Fields<'_>) -> Option<i64> {
    fields.take_with("ttl", |ttl| match parse_ttl(ttl)? {
        ttl @ SHORTEST_TTL_MICROS..=LONGEST_TTL_MICROS => Ok(ttl),
        _ => Err("must be from 1 second to 15 minutes"),
    })
}

/// The lease that a request names: its epoch and, unless left out, the mark of the session's incarnation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseMark {
    pub epoch: i64,
    /// As [`SessionInfo::mark`].
    pub incarnation: Option<i64>,
}

impl LeaseMark {
    /// Reads `E-I` or `E`, the header `Sessiond-Lease`.
    pub fn parse(header: &str) -> Result<Self, &'static str> {
        const NOT_A_LEASE: &str = "must be EPOCH-INCARNATION or EPOCH, as a lease shows them";
        let (epoch, incarnation) = match header.split_once('-') {
            Some((epoch, incarnation)) => (epoch, Some(parse_incarnation(incarnation).map_err(|_| NOT_A_LEASE)?)),
            None => (header, None),
        };
        Ok(Self { epoch: parse_epoch(epoch).map_err(|_| NOT_A_LEASE)?, incarnation })
    }

    /// Reads `{epoch, incarnation?, ttl}`, the body that renews a lease; also returns the time to live in microseconds.
    pub fn parse_renewal(json: Json<'_>) -> Result<(Self, i64), Rejected> {
        let mut fields = Fields::of(json, "")?;
        let epoch = fields.take_with("epoch", |epoch| epoch.as_count().ok_or(NOT_AN_EPOCH));
        fields.require("epoch", &epoch);
        let incarnation = fields.take_str_with("incarnation", parse_incarnation);
        let ttl = take_ttl(&mut fields);
        fields.require("ttl", &ttl);
        fields.finish()?;
        Ok((Self { epoch: epoch.unwrap_or_default(), incarnation }, ttl.unwrap_or(DEFAULT_TTL_MICROS)))
    }

    /// Whether it names this epoch of this incarnation.
    fn is_of(self, epoch: i64, incarnation: i64) -> bool {
        self.epoch == epoch && self.incarnation.is_none_or(|named| named == incarnation)
    }
}

/// Reads an epoch of any length: one beyond 64 bits matches no lease.
///
/// # Errors
/// Anything but digits.
pub fn parse_epoch(digits: &str) -> Result<i64, &'static str> {
    of_digits(digits).ok_or(NOT_AN_EPOCH)
}

const NOT_AN_EPOCH: &str = "must be an integer of at least 0";

/// Reads the mark of an incarnation, as answers show it.
///
/// # Errors
/// Anything but up to 16 hexadecimal digits.
pub fn parse_incarnation(digits: &str) -> Result<i64, &'static str> {
    const NOT_A_MARK: &str = "must be up to 16 hexadecimal digits, as a lease shows them";
    let is_hex = (1..=16).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    // The mark's bits, as they are written.
    let bits = u64::from_str_radix(digits, 16).ok().filter(|_| is_hex);
    bits.map(u64::cast_signed).ok_or(NOT_A_MARK)
}

/// Who holds a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    pub owner: String,
    pub invocation_id: Option<String>,
    pub expire_time: Micros,
    /// Each append that names the lease extends it by this.
    pub ttl_micros: i64,
    pub exclusive: Exclusive,
}

/// The lease of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lease {
    /// How often a lease was granted.
    pub epoch: i64,
    /// `None`: it was released, or never granted. An expired lease keeps its holder until somebody supersedes it.
    pub holding: Option<Holding>,
}

/// The lease and the head of a session at one moment.
#[derive(Debug, Clone)]
pub struct LeaseView {
    pub head: SessionInfo,
    pub lease: Lease,
    /// The moment, by the clock that judges expiry.
    pub now: Micros,
}

impl LeaseView {
    /// The data that a write at this moment is checked against.
    pub fn as_head(&self) -> LeaseHead {
        let all = self.lease.holding.as_ref().filter(|holding| holding.exclusive == Exclusive::All);
        let all = all.map(|holding| {
            let (owner, expire_time) = (holding.owner.clone(), holding.expire_time);
            Arc::new(Exclusion { owner, expire_time, now: Some(self.now) })
        });
        LeaseHead { epoch: self.lease.epoch, all }
    }
}

/// The lease that prevents the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub owner: String,
    pub epoch: i64,
    pub expire_time: Micros,
    /// The time until then, in microseconds, by the clock that decided.
    pub left: i64,
}

/// Why a lease prevents a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseRefusal {
    Held(Held),
    /// The request names a lease that is not the present one, or was released; this is the present epoch.
    Fenced {
        epoch: i64,
    },
}

/// A lease that excludes all other writes.
#[derive(Debug, PartialEq, Eq)]
pub struct Exclusion {
    pub owner: String,
    pub expire_time: Micros,
    /// The time of the read by the database's clock; `None` where the process's clock decides.
    pub now: Option<Micros>,
}

/// The lease data that a write is checked against.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeaseHead {
    pub epoch: i64,
    /// The lease, expired or not, if it excludes all others.
    pub all: Option<Arc<Exclusion>>,
}

impl LeaseHead {
    /// Checks a write to the incarnation with this mark.
    ///
    /// # Errors
    /// It does not name the present lease; or it names none, and an unexpired lease excludes it.
    pub fn judge(&self, incarnation: i64, given: Option<&LeaseMark>, now: Micros) -> Result<(), LeaseRefusal> {
        match (given, &self.all) {
            (Some(mark), _) if mark.is_of(self.epoch, incarnation) => Ok(()),
            (Some(_), _) => Err(LeaseRefusal::Fenced { epoch: self.epoch }),
            (None, Some(all)) if all.expire_time > all.now.unwrap_or(now) => {
                let left = all.expire_time.0.saturating_sub(all.now.unwrap_or(now).0);
                let (owner, expire_time) = (all.owner.clone(), all.expire_time);
                Err(LeaseRefusal::Held(Held { owner, epoch: self.epoch, expire_time, left }))
            }
            (None, _) => Ok(()),
        }
    }
}

/// A change of a lease itself.
#[derive(Debug, Clone)]
pub enum LeaseChange {
    Take(LeaseDraft),
    Renew { mark: LeaseMark, ttl_micros: i64 },
    Release(LeaseMark),
}

/// The result of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseDone {
    Granted,
    /// Granted, although another lease had not expired.
    Stolen,
    /// A retry: it was granted before, and was not superseded.
    Retried,
    Renewed,
    Released,
    /// A release of a lease that is not the present one.
    Nothing,
}

impl Lease {
    /// The lease after a change, in a session whose incarnation has this mark. `now` is by the clock that decides about expiry.
    ///
    /// # Errors
    /// Somebody else holds it; a lease to be renewed was superseded or released.
    pub fn after(
        &self,
        change: &LeaseChange,
        incarnation: i64,
        now: Micros,
    ) -> Result<(Self, LeaseDone), LeaseRefusal> {
        match change {
            LeaseChange::Take(draft) => self.taken(draft, now),
            LeaseChange::Renew { mark, ttl_micros } => match &self.holding {
                Some(holding) if mark.is_of(self.epoch, incarnation) => {
                    let holding =
                        Holding { expire_time: now.plus(*ttl_micros), ttl_micros: *ttl_micros, ..holding.clone() };
                    Ok((Self { epoch: self.epoch, holding: Some(holding) }, LeaseDone::Renewed))
                }
                _ => Err(LeaseRefusal::Fenced { epoch: self.epoch }),
            },
            LeaseChange::Release(mark) if self.holding.is_some() && mark.is_of(self.epoch, incarnation) => {
                Ok((Self { epoch: self.epoch, holding: None }, LeaseDone::Released))
            }
            LeaseChange::Release(_) => Ok((self.clone(), LeaseDone::Nothing)),
        }
    }

    fn taken(&self, draft: &LeaseDraft, now: Micros) -> Result<(Self, LeaseDone), LeaseRefusal> {
        let is_own =
            |holding: &Holding| (&holding.owner, &holding.invocation_id) == (&draft.owner, &draft.invocation_id);
        let done = match &self.holding {
            Some(holding) if is_own(holding) => LeaseDone::Retried,
            Some(holding) if holding.expire_time > now => {
                if !draft.steal {
                    let (owner, expire_time) = (holding.owner.clone(), holding.expire_time);
                    let left = expire_time.0.saturating_sub(now.0);
                    return Err(LeaseRefusal::Held(Held { owner, epoch: self.epoch, expire_time, left }));
                }
                LeaseDone::Stolen
            }
            Some(_) | None => LeaseDone::Granted,
        };
        let holding = Holding {
            owner: draft.owner.clone(),
            invocation_id: draft.invocation_id.clone(),
            expire_time: now.plus(draft.ttl_micros),
            ttl_micros: draft.ttl_micros,
            exclusive: draft.exclusive,
        };
        let epoch = self.epoch + i64::from(done != LeaseDone::Retried);
        Ok((Self { epoch, holding: Some(holding) }, done))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: i64 = 1_000_000;
    /// The mark of the session's incarnation.
    const MARK: i64 = 0xabc;

    fn draft(text: &str) -> Result<LeaseDraft, Vec<String>> {
        LeaseDraft::parse(Json::trusted(text)).map_err(fields)
    }

    fn fields(rejected: Rejected) -> Vec<String> {
        match rejected {
            Rejected::Invalid(errors) => errors.into_iter().map(|error| error.field).collect(),
            other => panic!("{other:?}"),
        }
    }

    fn of(owner: &str) -> LeaseDraft {
        draft(&format!(r#"{{"owner":"{owner}","ttl":10}}"#)).unwrap()
    }

    fn take(lease: &Lease, draft: LeaseDraft, now: i64) -> Result<(Lease, LeaseDone), LeaseRefusal> {
        lease.after(&LeaseChange::Take(draft), MARK, Micros(now))
    }

    fn granted(owner: &str, now: i64) -> Lease {
        take(&Lease::default(), of(owner), now).unwrap().0
    }

    fn mark(epoch: i64) -> LeaseMark {
        LeaseMark { epoch, incarnation: Some(MARK) }
    }

    fn expire_time(lease: &Lease) -> i64 {
        lease.holding.as_ref().unwrap().expire_time.0
    }

    #[test]
    fn a_draft_has_an_owner_and_a_time_within_bounds() {
        let least = draft(r#"{"owner":"o"}"#).unwrap();
        assert_eq!((least.ttl_micros, least.exclusive, least.steal), (60 * SECOND, Exclusive::Turn, false));
        assert_eq!(least.invocation_id, None);
        let whole = r#"{"owner":"o","ttl":"900s","invocation_id":"","exclusive":"all","steal":true}"#;
        let whole = draft(whole).unwrap();
        assert_eq!((whole.ttl_micros, whole.exclusive, whole.steal), (900 * SECOND, Exclusive::All, true));
        assert_eq!(whole.invocation_id.as_deref(), Some(""));
        assert_eq!(draft(r#"{"owner":"o","ttl":1,"steal":null,"exclusive":null}"#).unwrap().ttl_micros, SECOND);
        for (text, wrong) in [
            (r"{}".to_owned(), "owner"),
            (r#"{"owner":null}"#.to_owned(), "owner"),
            (r#"{"owner":""}"#.to_owned(), "owner"),
            (r#"{"owner":1}"#.to_owned(), "owner"),
            (format!(r#"{{"owner":"{}"}}"#, "x".repeat(257)), "owner"),
            (r#"{"owner":"o","ttl":0.999999}"#.to_owned(), "ttl"),
            (r#"{"owner":"o","ttl":900.000001}"#.to_owned(), "ttl"),
            (r#"{"owner":"o","ttl":"1m"}"#.to_owned(), "ttl"),
            (r#"{"owner":"o","exclusive":"All"}"#.to_owned(), "exclusive"),
            (r#"{"owner":"o","steal":1}"#.to_owned(), "steal"),
            (r#"{"owner":"o","invocationId":7}"#.to_owned(), "invocationId"),
            (r#"{"owner":"o","wait":1}"#.to_owned(), "wait"),
        ] {
            assert_eq!(draft(&text), Err(vec![wrong.to_owned()]), "{text}");
        }
        assert_eq!(draft(&format!(r#"{{"owner":"{}"}}"#, "é".repeat(128))).unwrap().owner.len(), 256);
    }

    #[test]
    fn a_lease_is_named_by_epoch_and_incarnation() {
        for (header, epoch, incarnation) in [
            ("0", 0, None),
            ("8", 8, None),
            ("8-abc", 8, Some(MARK)),
            ("8-0000000000000ABC", 8, Some(MARK)),
            ("8-ffffffffffffffff", 8, Some(-1)),
            ("99999999999999999999", i64::MAX, None),
        ] {
            assert_eq!(LeaseMark::parse(header), Ok(LeaseMark { epoch, incarnation }), "{header}");
        }
        for bad in
            ["", "-", "8-", "-abc", "+8", "-8", "8 ", "8.0", "8-xyz", "8-+abc", "8-abc-1", "8,8", "8-10000000000000abc"]
        {
            assert!(LeaseMark::parse(bad).is_err(), "{bad}");
        }
        let renewal = |text: &str| LeaseMark::parse_renewal(Json::trusted(text)).map_err(fields);
        for epoch in ["8", "8.0"] {
            let body = format!(r#"{{"epoch":{epoch},"incarnation":"abc","ttl":"2s"}}"#);
            assert_eq!(renewal(&body), Ok((mark(8), 2 * SECOND)));
        }
        for (text, wrong) in [
            (r"{}", &["epoch", "ttl"][..]),
            (r#"{"epoch":-1,"ttl":1}"#, &["epoch"]),
            (r#"{"epoch":"1","ttl":1}"#, &["epoch"]),
            (r#"{"epoch":1.5,"ttl":1}"#, &["epoch"]),
            (r#"{"epoch":1,"ttl":901}"#, &["ttl"]),
            (r#"{"epoch":1,"ttl":1,"incarnation":"x"}"#, &["incarnation"]),
            (r#"{"epoch":1,"ttl":1,"owner":"o"}"#, &["owner"]),
        ] {
            assert_eq!(renewal(text), Err(wrong.iter().map(|field| (*field).to_owned()).collect()), "{text}");
        }
    }

    #[test]
    fn it_is_granted_if_it_is_free_expired_or_stolen() {
        let first = granted("a", 0);
        assert_eq!((first.epoch, expire_time(&first)), (1, 10 * SECOND));
        let held = take(&first, of("b"), 10 * SECOND - 1).unwrap_err();
        let expire_time = Micros(10 * SECOND);
        assert_eq!(held, LeaseRefusal::Held(Held { owner: "a".into(), epoch: 1, expire_time, left: 1 }));
        let (second, done) = take(&first, of("b"), 10 * SECOND).unwrap();
        assert_eq!((second.epoch, done), (2, LeaseDone::Granted));
        let (stolen, done) = take(&second, LeaseDraft { steal: true, ..of("a") }, 11 * SECOND).unwrap();
        assert_eq!((stolen.epoch, done), (3, LeaseDone::Stolen));
        // Nobody to steal from.
        let (again, done) = take(&stolen, LeaseDraft { steal: true, ..of("b") }, 99 * SECOND).unwrap();
        assert_eq!((again.epoch, done), (4, LeaseDone::Granted));
    }

    #[test]
    fn a_retry_has_the_same_epoch_until_someone_supersedes_it() {
        let turn = |owner: &str, invocation: Option<&str>| LeaseDraft {
            invocation_id: invocation.map(str::to_owned),
            exclusive: Exclusive::All,
            ..of(owner)
        };
        let first = take(&Lease::default(), of("a"), 0).unwrap().0;
        // Expired or not, and however it asks.
        for (now, steal) in [(5, false), (5, true), (99 * SECOND, false)] {
            let (again, done) = take(&first, LeaseDraft { steal, ..turn("a", None) }, now).unwrap();
            assert_eq!((again.epoch, done), (1, LeaseDone::Retried));
            assert_eq!(expire_time(&again), now + 10 * SECOND);
            assert_eq!(again.holding.unwrap().exclusive, Exclusive::All);
        }
        // Another invocation is another turn, also of the same owner.
        assert!(matches!(take(&first, turn("a", Some("i")), 5), Err(LeaseRefusal::Held(held)) if held.owner == "a"));
        let second = take(&first, LeaseDraft { steal: true, ..of("b") }, 5).unwrap().0;
        assert!(matches!(take(&second, of("a"), 6), Err(LeaseRefusal::Held(_))));
        assert_eq!(take(&second, of("a"), 99 * SECOND).unwrap().0.epoch, 3);
    }

    #[test]
    fn it_is_renewed_by_its_holder_alone() {
        let lease = granted("a", 0);
        let renew = |lease: &Lease, mark: LeaseMark, now: i64| {
            lease.after(&LeaseChange::Renew { mark, ttl_micros: 2 * SECOND }, MARK, Micros(now))
        };
        // As it asks, and also after it expired.
        for now in [1, 99 * SECOND] {
            for named in [mark(1), LeaseMark { incarnation: None, ..mark(1) }] {
                let (renewed, done) = renew(&lease, named, now).unwrap();
                assert_eq!((renewed.epoch, expire_time(&renewed), done), (1, now + 2 * SECOND, LeaseDone::Renewed));
                assert_eq!(renewed.holding.unwrap().ttl_micros, 2 * SECOND);
            }
        }
        for named in [mark(0), mark(2), LeaseMark { incarnation: Some(7), ..mark(1) }] {
            assert_eq!(renew(&lease, named, 1), Err(LeaseRefusal::Fenced { epoch: 1 }));
        }
        let released = lease.after(&LeaseChange::Release(mark(1)), MARK, Micros(1)).unwrap().0;
        assert_eq!(renew(&released, mark(1), 1), Err(LeaseRefusal::Fenced { epoch: 1 }));
        assert_eq!(renew(&Lease::default(), mark(0), 1), Err(LeaseRefusal::Fenced { epoch: 0 }));
    }

    #[test]
    fn a_release_keeps_the_epoch_and_is_of_that_lease_alone() {
        let lease = granted("a", 0);
        let release = |lease: &Lease, mark| lease.after(&LeaseChange::Release(mark), MARK, Micros(1)).unwrap();
        for other in [mark(0), mark(2), LeaseMark { incarnation: Some(7), ..mark(1) }] {
            assert_eq!(release(&lease, other), (lease.clone(), LeaseDone::Nothing));
        }
        let (released, done) = release(&lease, mark(1));
        assert_eq!((released.epoch, &released.holding, done), (1, &None, LeaseDone::Released));
        assert_eq!(release(&released, mark(1)), (released.clone(), LeaseDone::Nothing));
        // Not the retry of its own grant any more.
        assert_eq!(take(&released, of("a"), 2).map(|(lease, done)| (lease.epoch, done)), Ok((2, LeaseDone::Granted)));
    }

    #[test]
    fn a_write_is_judged_by_epoch_and_only_a_side_write_by_time() {
        let all = |now: Option<i64>| {
            let exclusion = Exclusion { owner: "a".into(), expire_time: Micros(10 * SECOND), now: now.map(Micros) };
            LeaseHead { epoch: 3, all: Some(Arc::new(exclusion)) }
        };
        let turn = LeaseHead { epoch: 3, all: None };
        for head in [&all(None), &all(Some(0)), &turn] {
            for now in [0, 99 * SECOND] {
                let judge = |named| head.judge(MARK, Some(&named), Micros(now));
                assert_eq!(judge(mark(3)), Ok(()));
                assert_eq!(judge(LeaseMark { epoch: 3, incarnation: None }), Ok(()));
                for other in [mark(2), mark(4), mark(0), LeaseMark { epoch: 3, incarnation: Some(7) }] {
                    assert_eq!(judge(other), Err(LeaseRefusal::Fenced { epoch: 3 }));
                }
            }
        }
        let side = |head: &LeaseHead, now| head.judge(MARK, None, Micros(now));
        assert_eq!(side(&turn, 0), Ok(()));
        assert_eq!(side(&all(None), 10 * SECOND), Ok(()));
        assert!(matches!(side(&all(None), 4 * SECOND), Err(LeaseRefusal::Held(held)) if held.left == 6 * SECOND));
        // The database's clock decides, where it has one.
        assert_eq!(side(&all(Some(10 * SECOND)), 0), Ok(()));
        assert!(
            matches!(side(&all(Some(9 * SECOND)), 99 * SECOND), Err(LeaseRefusal::Held(held)) if held.left == SECOND)
        );
        // Nobody has ever had one.
        assert_eq!(LeaseHead::default().judge(MARK, Some(&mark(0)), Micros(0)), Ok(()));
    }

    fn changes() -> impl Strategy<Value = (u8, u8, i64, bool, i64)> {
        (0..3_u8, 0..3_u8, 0..6_i64, any::<bool>(), 0..20_i64)
    }

    proptest! {
        /// Whatever is asked in whatever order: epochs are dense and never fall, nobody takes over from a holder that has not
        /// expired without stealing, and only whoever holds the present epoch may write under it.
        #[test]
        fn there_is_at_most_one_holder_at_a_time(changes in prop::collection::vec(changes(), 1..40)) {
            let (mut lease, mut now) = (Lease::default(), 0);
            // Which owner each epoch was granted to.
            let mut grants: Vec<String> = Vec::new();
            for (kind, owner, epoch, steal, pass) in changes {
                now += pass * SECOND;
                let owner = format!("o{owner}");
                let change = match kind {
                    0 => LeaseChange::Take(LeaseDraft { steal, ..of(&owner) }),
                    1 => LeaseChange::Renew { mark: mark(epoch), ttl_micros: 5 * SECOND },
                    _ => LeaseChange::Release(mark(epoch)),
                };
                let before = lease.clone();
                let Ok((after, done)) = before.after(&change, MARK, Micros(now)) else { continue };
                match done {
                    LeaseDone::Granted | LeaseDone::Stolen => {
                        prop_assert_eq!(after.epoch, before.epoch + 1);
                        let unexpired = before.holding.as_ref().is_some_and(|held| held.expire_time.0 > now);
                        prop_assert_eq!(done == LeaseDone::Stolen, unexpired);
                        prop_assert!(!unexpired || steal);
                        grants.push(owner);
                    }
                    LeaseDone::Retried => {
                        prop_assert_eq!(after.epoch, before.epoch);
                        prop_assert_eq!(grants.last(), Some(&owner));
                    }
                    LeaseDone::Renewed | LeaseDone::Released | LeaseDone::Nothing => {
                        prop_assert_eq!(after.epoch, before.epoch);
                    }
                }
                prop_assert_eq!(after.epoch, grants.len() as i64);
                if let Some(holding) = &after.holding {
                    prop_assert_eq!(Some(&holding.owner), grants.last());
                }
                let head = LeaseHead { epoch: after.epoch, all: None };
                for named in 0..=after.epoch + 1 {
                    let may = head.judge(MARK, Some(&mark(named)), Micros(now)).is_ok();
                    prop_assert_eq!(may, named == after.epoch);
                }
                lease = after;
            }
        }
    }
}
