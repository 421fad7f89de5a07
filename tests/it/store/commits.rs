//! Announcements of commits: every event, however it was written, once and in the order of its session.

use std::collections::BTreeMap;
use std::sync::Mutex;

use futures_util::future::join_all;
use sessiond::domain::Committed;
use sessiond::domain::command::Fork;
use sessiond::domain::rewind::{RewindRequest, RewindTarget};

use super::*;
use crate::support::databases::on_both_databases;

/// The sequences that were told, by incarnation, in the order of the telling.
type Told = Arc<Mutex<BTreeMap<i64, Vec<i64>>>>;

fn listen(store: &TestStore) -> Told {
    let told = Told::default();
    let keep = told.clone();
    store.watch_commits(Box::new(move |committed| {
        let mut told = keep.lock().unwrap();
        for change in committed {
            if let Committed::Events { incarnation, first, last, .. } = change {
                told.entry(*incarnation).or_default().extend(*first..=*last);
            }
        }
    }));
    told
}

/// That of a session all of its events were told, and nothing else.
async fn assert_told(store: &TestStore, told: &Told, id: &str) {
    let head = store.shown(id).await.unwrap().head;
    let found = told.lock().unwrap().get(&head.incarnation).cloned().unwrap_or_default();
    assert_eq!(found, (1..=head.revision).collect::<Vec<_>>(), "{id}");
}

on_both_databases! {
    async fn every_way_of_writing_events_is_told(store: &TestStore) {
        let told = listen(store);
        store.make("empty", "{}").await;
        store.make("s", r#"{"state":{"k":1,"user:u":1},"events":[{"id":"1"},{"id":"2","actions":{"stateDelta":{"app:a":1}}}]}"#).await;
        // Optimistic, with the head cached, then read.
        store.add("s", &[r#"{"id":"3","invocationId":"i"}"#, r#"{"id":"4"}"#]).await;
        store.another().await.append(&append("s", &[r#"{"id":"other"}"#]).into(), Sharing::Group, deadline()).await.unwrap();
        store.add("s", &[r#"{"id":"6","actions":{"stateDelta":{"k":2,"user:u":2}}}"#]).await;
        // Under locks, as the answer shows the state.
        let with_state = Append { with_state: Some(StateFilter::default()), ..append("s", &[r#"{"id":"7"}"#]) };
        done(store.append(&with_state.into(), Sharing::Group, deadline()).await);
        done(store.append(&append("s", &[r#"{"id":"8"}"#]).into(), Sharing::Alone, deadline()).await);
        // As the first of its session.
        let first = Append { creates: Some(SystemClock.incarnation()), ..append("first", &[r#"{"id":"1"}"#, r#"{"id":"2"}"#]) };
        done(store.append(&first.into(), Sharing::Group, deadline()).await);
        // A replay and a refusal write nothing.
        store.add("s", &[r#"{"id":"8"}"#]).await;
        let late = Append { guard: only_if("\"1\""), ..append("s", &[r#"{"id":"9"}"#]) };
        refused(store.append(&late.into(), Sharing::Group, deadline()).await);
        let rewind = RewindRequest {
            copy_id: uuid::Uuid::from_u128(7),
            key: key("s"),
            target: RewindTarget::Revision(3),
            event_id: EventId::parse("back").unwrap(),
            invocation_id: "rewinding".to_owned(),
            guard: Guard::default(),
            shows: Shown::Full,
            now: now(),
        };
        for _ in 0..2 {
            store.rewind(&rewind, deadline()).await.unwrap();
        }
        let fork = Fork {
            source: key("s"),
            at: Some(4),
            session: SessionId::parse("fork").unwrap(),
            incarnation: SystemClock.incarnation(),
            request: None,
            shows: Shown::Full,
            now: now(),
        };
        for _ in 0..2 {
            store.fork(&fork, deadline()).await.unwrap();
        }
        store.write_scope(&scope_write(app(), r#"{"stateDelta":{"a":2}}"#), deadline()).await.unwrap();
        if matches!(store.place, Place::Postgres(_)) {
            // Event 5 is another process's, which is not this one's to tell.
            let incarnation = store.shown("s").await.unwrap().head.incarnation;
            told.lock().unwrap().get_mut(&incarnation).unwrap().insert(4, 5);
        }
        for id in ["empty", "s", "first", "fork"] {
            assert_told(store, &told, id).await;
        }
    }

    async fn appends_of_many_are_told_in_the_order_of_each_session(store: &TestStore) {
        let told = listen(store);
        for session in 0..4 {
            store.make(&format!("s{session}"), "{}").await;
        }
        let appends = (0..200).map(|n| {
            let event = format!(r#"{{"id":"{n}","actions":{{"stateDelta":{{"user:k":{n}}}}}}}"#);
            let append = Arc::new(append(&format!("s{}", n % 4), &[&event]));
            async move { settled(async || store.append(&append, Sharing::Group, deadline()).await).await.unwrap() }
        });
        join_all(appends).await;
        for session in 0..4 {
            assert_told(store, &told, &format!("s{session}")).await;
        }
    }
}
