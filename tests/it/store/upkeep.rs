//! Maintenance of a database: migrations, the sweep, the clock, connections.

use std::sync::atomic::{AtomicUsize, Ordering};

use sessiond::domain::access::Names;
use sessiond::domain::session::Expiry;
use sessiond::store::backend::DatabaseClock;

use super::*;
use crate::support::databases::{Place, on_both_databases};

const HOUR: i64 = 3_600_000_000;

/// Sweeps until there is no more to do; how often there was.
async fn swept(store: &TestStore, now: Micros, expired: bool) -> usize {
    let mut times = 0;
    while store.sweep(now, expired, deadline()).await.unwrap() {
        times += 1;
        assert!(times < 1000, "it never ends");
    }
    times
}

/// How many rows the tables hold that speak of sessions.
async fn rows(store: &TestStore) -> i64 {
    let tables = ["sessions", "session_updates", "events", "session_state", "session_spans", "buried_sessions"];
    let counts: Vec<String> = tables.iter().map(|table| format!("(select count(*) from {table})")).collect();
    store.place.number(&format!("select {}", counts.join(" + "))).await
}

on_both_databases! {
    async fn what_was_deleted_is_swept_and_what_is_there_is_not(store: &TestStore) {
        for id in ["gone", "kept"] {
            store.make(id, r#"{"state":{"k":0,"user:k":1}}"#).await;
            for n in 0..5 {
                store.add(id, &[&format!(r#"{{"id":"e{n}","actions":{{"stateDelta":{{"k":{n}}}}}}}"#)]).await;
            }
        }
        assert_eq!(swept(store, now(), true).await, 0);
        let before = rows(store).await;
        store.remove("gone").await;
        assert!(swept(store, now(), false).await > 0);
        assert_eq!(rows(store).await, before / 2);
        let kept = store.shown("kept").await.unwrap();
        assert_eq!((kept.head.revision, state(&kept)), (5, json(r#"{"k":4,"user:k":1}"#)));
        assert_eq!(store.scope_of(&of_user()).await.revision, 2);
        assert_eq!(swept(store, now(), true).await, 0);
    }

    async fn what_has_expired_is_swept_if_that_is_wanted(store: &TestStore) {
        store.make("expired", r#"{"expireTime":1,"events":[{"id":"e"}]}"#).await;
        store.make("kept", r#"{"ttl":3600}"#).await;
        store.make("forever", "{}").await;
        let before = rows(store).await;
        assert_eq!((swept(store, now(), false).await, rows(store).await), (0, before));
        assert!(swept(store, now(), true).await > 0);
        assert!(rows(store).await < before);
        assert!(store.shown("kept").await.is_some() && store.shown("forever").await.is_some());
        assert_eq!(store.apps("", 9, &Names::all(), deadline()).await.unwrap().len(), 1);
    }

    /// A chunk at a time, so that no transaction is long.
    async fn a_long_history_is_swept_in_chunks(store: &TestStore) {
        store.make("s", "{}").await;
        for chunk in 0..25 {
            let events: Vec<String> = (0..100).map(|n| format!(r#"{{"id":"{chunk}-{n}"}}"#)).collect();
            store.add("s", &events.iter().map(String::as_str).collect::<Vec<_>>()).await;
        }
        store.remove("s").await;
        let times = swept(store, now(), false).await;
        assert!((3..10).contains(&times), "{times}");
        assert_eq!(rows(store).await, 0);
    }

    async fn a_session_made_anew_is_not_swept_with_the_one_before(store: &TestStore) {
        store.make("s", r#"{"state":{"k":1},"events":[{"id":"e"}]}"#).await;
        store.remove("s").await;
        store.make("s", r#"{"state":{"k":2},"events":[{"id":"f"}]}"#).await;
        let other = store.another().await;
        let sweeping = async { swept(store, now(), true).await };
        let appending = async {
            for n in 0..10 {
                let append = Arc::new(append("s", &[&format!(r#"{{"id":"{n}"}}"#)]));
                done(settled(async || other.append(&append, Sharing::Group, deadline()).await).await);
            }
        };
        tokio::join!(sweeping, appending);
        let shown = store.shown("s").await.unwrap();
        assert_eq!((shown.head.revision, state(&shown)), (11, json(r#"{"k":2}"#)));
        assert_eq!(events(&shown)[0], "f");
    }

    async fn requests_are_remembered_for_a_day_and_then_forgotten(store: &TestStore) {
        let write = || ScopeWrite { request: request("r", "x"), ..scope_write(app(), r#"{"stateDelta":{"k":1}}"#) };
        store.write_scope(&write(), deadline()).await.unwrap();
        // Instead of waiting.
        let wait = async |hours: i64| {
            store.place.execute(format!("update app_patches set time = time - {}", hours * HOUR)).await;
            swept(store, now(), true).await;
        };
        wait(24).await;
        let (again, _) = store.write_scope(&write(), deadline()).await.unwrap();
        assert_eq!(again, Made::Before);
        wait(2).await;
        let (anew, _) = store.write_scope(&write(), deadline()).await.unwrap();
        assert_eq!(anew, Made::New);
    }

    async fn a_clock_of_its_own_is_near_ours_or_there_is_none(store: &TestStore) {
        match store.clock(deadline()).await.unwrap() {
            DatabaseClock::Own(earliest, latest) => {
                assert!(matches!(store.place, Place::Postgres(_)));
                for time in [earliest, latest] {
                    assert!((time.0 - now().0).abs() < 60_000_000, "the database is on this machine");
                }
            }
            DatabaseClock::OfProcess(last) => assert_eq!(last, None),
        }
        let (before, id) = (now(), "s");
        let made = Creation { expiry: Some(Expiry::In(HOUR)), ..creation(id, r#"{"events":[{}]}"#) };
        created(store.create(&made.into(), deadline()).await);
        if let DatabaseClock::OfProcess(last) = store.clock(deadline()).await.unwrap() {
            assert!(matches!(store.place, Place::Sqlite(_)));
            assert!(last.is_some_and(|last| (before..=now()).contains(&last)), "{last:?}");
        }
    }

    async fn a_database_that_is_migrated_is_fit_and_can_be_migrated_again(store: &TestStore) {
        store.check(deadline()).await.unwrap();
        store.make("s", "{}").await;
        store.migrate().await.unwrap();
        let another = store.another().await;
        let (one, two) = tokio::join!(store.migrate(), another.migrate());
        one.and(two).unwrap();
        store.check(deadline()).await.unwrap();
        assert!(store.shown("s").await.is_some());
    }

    async fn transactions_are_watched_and_give_their_connections_back(store: &TestStore) {
        let waits = Arc::new(AtomicUsize::new(0));
        let counted = waits.clone();
        store.watch_waits(Box::new(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        }));
        store.make("s", "{}").await;
        store.add("s", &[r#"{"id":"e"}"#]).await;
        store.shown("s").await.unwrap();
        assert!(waits.load(Ordering::Relaxed) >= 3);
        let held = async {
            while store.pool().open != store.pool().idle {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), held).await.expect("all connections come back");
        assert!(store.pool().open <= LIMITS.connections + 1, "{}", store.pool().open);
    }

    /// Either it is done in time, or it says so; and a deadline that is over harms nobody else.
    async fn a_call_whose_time_is_up_ends(store: &TestStore) {
        store.make("s", "{}").await;
        let over = Instant::now();
        let error = store.session(&whole("s"), over).await.err();
        assert!(error.is_none_or(|error| error.cause.may_pass() && !error.unclear));
        for n in 0..5 {
            let late = append("s", &[&format!(r#"{{"id":"late{n}"}}"#)]);
            if let Err(failure) = store.append(&late.into(), Sharing::Alone, over).await {
                assert!(matches!(&failure, Failure::Store(error) if error.cause.may_pass()), "{failure:?}");
            }
        }
        assert_eq!(store.add("s", &[r#"{"id":"e"}"#]).await.events.len(), 1);
    }
}

on_both_databases!(a_database_without_its_tables_is_not_fit);

async fn a_database_without_its_tables_is_not_fit(place: Place) {
    let store = TestStore::open(&place).await;
    assert!(store.check(deadline()).await.is_err());
    store.migrate().await.unwrap();
    store.check(deadline()).await.unwrap();
    store.close().await;
    place.finish().await;
}
