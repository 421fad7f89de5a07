//! Leases, and writes under them, from two processes and from several appends of one transaction.

use futures_util::future::join_all;
use sessiond::domain::command::{LeaseCommand, MetadataUpdate};
use sessiond::domain::lease::{
    Exclusive, Held, Lease, LeaseChange, LeaseDone, LeaseDraft, LeaseMark, LeaseRefusal, LeaseView,
};
use sessiond::domain::rewind::{RewindRequest, RewindTarget};
use sessiond::domain::session::MetadataPatch;

use super::*;
use crate::support::databases::on_both_databases;

const SECOND: i64 = 1_000_000;

fn draft(owner: &str) -> LeaseDraft {
    let (ttl, exclusive) = (100 * SECOND, Exclusive::Turn);
    LeaseDraft { owner: owner.into(), invocation_id: None, ttl_micros: ttl, exclusive, steal: false }
}

fn all(owner: &str) -> LeaseDraft {
    LeaseDraft { exclusive: Exclusive::All, ..draft(owner) }
}

fn mark(epoch: i64) -> LeaseMark {
    LeaseMark { epoch, incarnation: None }
}

fn fenced(epoch: i64) -> Refusal {
    Refusal::Lease(LeaseRefusal::Fenced { epoch })
}

fn held_by(refusal: &Refusal) -> &Held {
    match refusal {
        Refusal::Lease(LeaseRefusal::Held(held)) => held,
        other => panic!("{other:?}"),
    }
}

async fn change(store: &dyn Store, id: &str, change: LeaseChange) -> Result<(LeaseDone, LeaseView), Failure> {
    let command = LeaseCommand { key: key(id), change, now: now() };
    settled(async || store.change_lease(&command, deadline()).await).await
}

#[track_caller]
fn leased(outcome: Result<(LeaseDone, LeaseView), Failure>) -> (LeaseDone, LeaseView) {
    outcome.unwrap()
}

/// What a write is judged by under this lease alone.
fn guarded(lease: Option<LeaseMark>) -> Guard {
    Guard { lease, ..Guard::default() }
}

async fn take(store: &dyn Store, draft: LeaseDraft) -> LeaseView {
    leased(change(store, "s", LeaseChange::Take(draft)).await).1
}

async fn lease(store: &dyn Store) -> Lease {
    store.lease(&key("s"), now(), deadline()).await.unwrap().unwrap().lease
}

fn under(epoch: i64, append: Append) -> Arc<Append> {
    Arc::new(Append { guard: guarded(Some(mark(epoch))), ..append })
}

fn event(id: &str) -> Append {
    append("s", &[&format!(r#"{{"id":"{id}"}}"#)])
}

/// Appends in a group and alone, and with the merged state in the answer: each way has a path of its own.
fn ways(append: &Append) -> Vec<(Sharing, Arc<Append>)> {
    let copy = |with_state: bool, way: &str| {
        let texts: Vec<String> =
            append.events.iter().map(|event| format!(r#"{{"id":"{way}-{}"}}"#, event.id.as_str())).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let again = super::append(append.key.session.as_str(), &texts);
        Arc::new(Append { guard: append.guard.clone(), with_state: with_state.then(StateFilter::default), ..again })
    };
    vec![(Sharing::Group, copy(false, "g")), (Sharing::Alone, copy(false, "a")), (Sharing::Group, copy(true, "w"))]
}

on_both_databases! {
    async fn a_lease_is_stored_as_it_was_granted(store: &TestStore) {
        store.make("s", "{}").await;
        assert_eq!(lease(&***store).await, Lease::default());
        let asked = LeaseDraft { invocation_id: Some("i\0\\".into()), ..all("o\0\\") };
        let (done, granted) = leased(change(&***store, "s", LeaseChange::Take(asked.clone())).await);
        assert_eq!((done, granted.lease.epoch), (LeaseDone::Granted, 1));
        let holding = granted.lease.holding.clone().unwrap();
        assert_eq!((&holding.owner, &holding.invocation_id), (&asked.owner, &asked.invocation_id));
        assert_eq!((holding.ttl_micros, holding.exclusive), (asked.ttl_micros, asked.exclusive));
        assert_eq!(holding.expire_time, granted.now.plus(asked.ttl_micros));
        assert_eq!(store.another().await.lease(&key("s"), now(), deadline()).await.unwrap().unwrap().lease, granted.lease);
        // A second try of it.
        let (done, again) = leased(change(&***store, "s", LeaseChange::Take(asked)).await);
        assert_eq!((done, again.lease.epoch), (LeaseDone::Retried, 1));
        let (done, released) = leased(change(&***store, "s", LeaseChange::Release(mark(1))).await);
        assert_eq!((done, &released.lease), (LeaseDone::Released, &Lease { epoch: 1, holding: None }));
        assert_eq!(lease(&***store).await, released.lease);
        for id in ["none", "expired"] {
            if id == "expired" {
                store.make(id, r#"{"expireTime":1}"#).await;
            }
            let outcome = change(&***store, id, LeaseChange::Take(draft("o"))).await;
            assert_eq!(refused(outcome), Refusal::SessionNotFound);
            assert!(store.lease(&key(id), now(), deadline()).await.unwrap().is_none());
        }
    }

    async fn whoever_was_superseded_elsewhere_is_fenced_whatever_is_cached(store: &TestStore) {
        store.make("s", "{}").await;
        let other = store.another().await;
        for round in 0..3 {
            let epoch = 2 * round + 1;
            take(&***store, LeaseDraft { steal: true, ..draft("here") }).await;
            let here = under(epoch, event(&format!("a{round}")));
            done(settled(async || store.append(&here, Sharing::Group, deadline()).await).await);
            // The head is cached by now.
            take(&*other, LeaseDraft { steal: true, ..draft("there") }).await;
            let zombie = Append { guard: guarded(Some(mark(epoch))), ..event(&format!("z{round}")) };
            for (sharing, append) in ways(&zombie) {
                let outcome = settled(async || store.append(&append, sharing, deadline()).await).await;
                assert_eq!(refused(outcome), fenced(epoch + 1));
            }
            let there = under(epoch + 1, event(&format!("b{round}")));
            done(settled(async || other.append(&there, Sharing::Group, deadline()).await).await);
        }
        assert_eq!(events(&store.shown("s").await.unwrap()), ["a0", "b0", "a1", "b1", "a2", "b2"]);
    }

    async fn an_exclusion_from_elsewhere_holds_whatever_is_cached(store: &TestStore) {
        store.make("s", "{}").await;
        store.add("s", &[r#"{"id":"first"}"#]).await;
        let other = store.another().await;
        take(&*other, all("there")).await;
        for (sharing, append) in ways(&event("no")) {
            let outcome = refused(settled(async || store.append(&append, sharing, deadline()).await).await);
            let held = held_by(&outcome);
            assert_eq!((&*held.owner, held.epoch), ("there", 1));
            assert!(held.left > 0 && held.left <= 100 * SECOND, "{held:?}");
        }
        // The same holder lets others in: that changes no epoch.
        take(&*other, draft("there")).await;
        for (sharing, append) in ways(&event("yes")) {
            done(settled(async || store.append(&append, sharing, deadline()).await).await);
        }
        take(&*other, all("there")).await;
        for (sharing, append) in ways(&event("not")) {
            held_by(&refused(settled(async || store.append(&append, sharing, deadline()).await).await));
        }
        // Past its time.
        store.place.execute("update sessions set lease_expire = 1").await;
        for (sharing, append) in ways(&event("again")) {
            done(settled(async || store.append(&append, sharing, deadline()).await).await);
        }
        assert_eq!(store.revision("s").await, 7);
    }

    async fn each_way_of_appending_extends_the_lease(store: &TestStore) {
        store.make("s", "{}").await;
        take(&***store, draft("o")).await;
        let until = async || lease(&***store).await.holding.map(|holding| holding.expire_time);
        let mut last = until().await;
        for (sharing, append) in ways(&Append { guard: guarded(Some(mark(1))), ..event("e") }) {
            let fresh = Arc::new(Append { now: now(), ..Arc::into_inner(append).unwrap() });
            done(settled(async || store.append(&fresh, sharing, deadline()).await).await);
            let extended = until().await;
            assert!(extended > last, "{extended:?} after {last:?}");
            last = extended;
        }
        for (sharing, append) in ways(&event("side")) {
            done(settled(async || store.append(&append, sharing, deadline()).await).await);
            assert_eq!(until().await, last);
        }
        leased(change(&***store, "s", LeaseChange::Release(mark(1))).await);
        for (sharing, append) in ways(&Append { guard: guarded(Some(mark(1))), ..event("late") }) {
            done(settled(async || store.append(&append, sharing, deadline()).await).await);
            assert_eq!(lease(&***store).await, Lease { epoch: 1, holding: None });
        }
    }

    /// Those that share a transaction are judged each on its own.
    async fn leased_and_other_appends_go_together(store: &TestStore) {
        for id in ["s", "t", "u"] {
            store.make(id, "{}").await;
        }
        take(&***store, draft("o")).await;
        leased(change(&***store, "t", LeaseChange::Take(all("p"))).await);
        for round in 0..6 {
            let appends = (0..24).map(|n| {
                let (id, fate) = (["s", "t", "u"][n % 3], n / 3 % 3);
                let lease = [None, Some(mark(1)), Some(mark(7))][fate];
                let append = append(id, &[&format!(r#"{{"id":"{round}-{n}"}}"#)]);
                (id, fate, Arc::new(Append { guard: guarded(lease), ..append }))
            });
            let run = appends.map(async |(id, fate, append)| {
                (id, fate, settled(async || store.append(&append, Sharing::Group, deadline()).await).await)
            });
            for (id, fate, outcome) in join_all(run).await {
                let epoch = i64::from(id != "u");
                match (id, fate) {
                    ("s" | "u", 0) | ("s" | "t", 1) => drop(done(outcome)),
                    ("t", 0) => assert_eq!(held_by(&refused(outcome)).owner, "p"),
                    _ => assert_eq!(refused(outcome), fenced(epoch)),
                }
            }
        }
        let counts = [store.revision("s").await, store.revision("t").await, store.revision("u").await];
        // Of the eight of each session in a round: three without a lease, three of the present one.
        assert_eq!(counts, [36, 18, 18]);
    }

    async fn other_writes_are_judged_in_their_transactions(store: &TestStore) {
        let view = store.make("s", r#"{"events":[{"id":"e"}]}"#).await;
        take(&***store, all("o")).await;
        let update = |lease| {
            let patch = MetadataPatch::parse(parsed(r#"{"displayName":"n"}"#)).unwrap();
            let guard = Guard { lease, if_match: if_match("\"7\"") };
            MetadataUpdate { key: key("s"), patch, guard, shows: Shown::Full, now: now() }
        };
        let rewind = |lease, id: &str| RewindRequest {
            copy_id: uuid::Uuid::from_u128(7),
            key: key("s"),
            target: RewindTarget::Revision(0),
            event_id: EventId::parse(id).unwrap(),
            invocation_id: "i".into(),
            guard: Guard { lease, if_match: if_match("\"7\"") },
            shows: Shown::Full,
            now: now(),
        };
        let delete = |lease| Deletion {
            key: key("s"),
            incarnation: view.head.incarnation,
            guard: Guard { lease, if_match: if_match("\"7\"") },
            now: now(),
        };
        for (given, is_held) in [(None, true), (Some(mark(0)), false), (Some(mark(2)), false)] {
            let updated = refused(store.update_metadata(&update(given), deadline()).await);
            let rewound = refused(store.rewind(&rewind(given, "r"), deadline()).await);
            let deleted = refused(store.delete(&delete(given), deadline()).await);
            for refusal in [updated, rewound, deleted] {
                let Refusal::Lease(refusal) = refusal else { panic!("{refusal:?}") };
                assert_eq!(matches!(refusal, LeaseRefusal::Held(held) if held.owner == "o"), is_held);
            }
        }
        let own = Some(mark(1));
        for late in [
            refused(store.update_metadata(&update(own), deadline()).await),
            refused(store.rewind(&rewind(own, "r"), deadline()).await),
            refused(store.delete(&delete(own), deadline()).await),
        ] {
            assert!(matches!(late, Refusal::RevisionMismatch(_)), "{late:?}");
        }
        let fits = RewindRequest { guard: guarded(own), ..rewind(own, "r") };
        assert_eq!(store.rewind(&fits, deadline()).await.unwrap().appended, 1);
        // A second try, superseded meanwhile.
        take(&***store, LeaseDraft { steal: true, ..all("p") }).await;
        assert_eq!(store.rewind(&fits, deadline()).await.unwrap().appended, 0);
        let deletion = Deletion { guard: guarded(Some(mark(2))), ..delete(None) };
        store.delete(&deletion, deadline()).await.unwrap();
    }

    async fn takers_at_once_get_dense_epochs(store: &TestStore) {
        store.make("s", "{}").await;
        let other = store.another().await;
        let at = |n: i32| if n % 2 == 0 { &store.store } else { &other };
        let steal = |n: i32| LeaseChange::Take(LeaseDraft { steal: true, ..draft(&n.to_string()) });
        let stolen = join_all((0..16).map(async |n| leased(change(&**at(n), "s", steal(n)).await))).await;
        let mut epochs: Vec<i64> = stolen.iter().map(|(_, view)| view.lease.epoch).collect();
        epochs.sort_unstable();
        assert_eq!(epochs, (1..=16).collect::<Vec<_>>());
        leased(change(&***store, "s", LeaseChange::Release(mark(16))).await);
        let ask = |n: i32| LeaseChange::Take(draft(&n.to_string()));
        let mut granted = 0;
        for outcome in join_all((0..16).map(async |n| change(&**at(n), "s", ask(n)).await)).await {
            match outcome {
                Ok((done, view)) => {
                    assert_eq!((done, view.lease.epoch), (LeaseDone::Granted, 17));
                    granted += 1;
                }
                Err(Failure::Refused(Refusal::Lease(LeaseRefusal::Held(held)))) => assert_eq!(held.epoch, 17),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(granted, 1);
    }
}
