//! Creations.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use super::*;
use crate::support::databases::on_both_databases;
use futures_util::future::join_all;

/// What came of it, in a word, with the id of the session that is shown.
fn word(outcome: &Result<(Made, SessionView), Failure>) -> String {
    match outcome {
        Ok((made, view)) => {
            let word = match made {
                Made::New => "created",
                Made::Found => "existing",
                Made::Before => "replayed",
            };
            format!("{word} {}", view.head.key.session.as_str())
        }
        Err(Failure::Refused(Refusal::SessionAlreadyExists)) => "already exists".to_owned(),
        Err(Failure::Refused(Refusal::CreationKeyConflict)) => "key conflict".to_owned(),
        Err(Failure::Refused(_)) => "refused".to_owned(),
        Err(Failure::Store(error)) => panic!("{error}"),
    }
}

on_both_databases! {
    async fn a_creation_makes_all_that_it_says(store: &TestStore) {
        let body = r#"{"state":{"k":1,"user:k":2,"app:k":3,"temp:k":4},"displayName":"n","labels":{"a":"b"},
            "events":[{"id":"e1","timestamp":7.50,"actions":{"stateDelta":{"k":10,"user:l":20}}},{"id":"e2","timestamp":8}],
            "expireTime":4102444800}"#;
        let made = creation("s", body);
        let view = created(store.create(&Arc::new(made), deadline()).await);
        let again = store.shown("s").await.unwrap();
        for view in [&view, &again] {
            assert_eq!(revisions(view), (2, 1, 1));
            assert_eq!(state(view), json(r#"{"k":10,"user:k":2,"user:l":20,"app:k":3}"#));
            assert_eq!(events(view), ["e1", "e2"]);
            let text = |value: &Option<sessiond::domain::json::RawJson>| value.as_ref().unwrap().text().to_owned();
            assert_eq!((text(&view.head.display_name), text(&view.head.labels)), ("\"n\"".into(), r#"{"a":"b"}"#.into()));
            assert_eq!(view.head.expire_time, Some(Micros(4_102_444_800_000_000)));
            assert_eq!(view.head.update_time.number.text(), "8");
            assert_eq!((view.head.metadata_revision, &view.head.forked_from), (0, &None));
        }
        assert_eq!(view.head.incarnation, again.head.incarnation);
        let scope = store.scope_of(&of_user()).await;
        assert_eq!((scope.revision, json(&scope.state)), (1, json(r#"{"k":2,"l":20}"#)));
    }

    async fn a_creation_reads_no_more_than_it_shows(store: &TestStore) {
        let simple = r#"{"state":{"k":1}}"#;
        let events = r#"{"state":{"user:k":1},"events":[{"id":"e"}]}"#;
        for (id, body, revision) in [("simple", simple, 0), ("events", events, 1)] {
            let minimal = || Creation { shows: Shown::Minimal, if_exists: IfExists::Return, ..creation(id, body) };
            for expected in ["created", "existing"] {
                let outcome = store.create(&minimal().into(), deadline()).await;
                assert_eq!(word(&outcome), format!("{expected} {id}"));
                assert_head(&outcome.unwrap().1, revision);
            }
        }
    }

    async fn creations_that_arrive_together_share_transactions(store: &TestStore) {
        // What is read once is read.
        store.make("first", "{}").await;
        let begun = Arc::new(AtomicUsize::new(0));
        let counter = begun.clone();
        store.watch_waits(Box::new(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        }));
        // As many as there are processors may go alone.
        let many = 16 * available_parallelism().map_or(2, usize::from).max(2);
        let all: Vec<_> = (0..many).map(|n| Arc::new(creation(&n.to_string(), "{}"))).collect();
        let made = join_all(all.iter().map(|one| store.create(one, deadline()))).await;
        assert!(made.iter().all(|outcome| word(outcome).starts_with("created ")));
        let begun = begun.load(Ordering::Relaxed);
        assert!(begun < many / 2, "{begun} transactions for {many} creations");
    }

    async fn an_id_that_is_taken_is_refused_or_returned_or_a_precondition_that_failed(store: &TestStore) {
        let first = store.make("s", r#"{"state":{"k":1},"events":[{"id":"e"}]}"#).await;
        for (if_exists, expected) in
            [(IfExists::Refuse, "already exists"), (IfExists::Return, "existing s"), (IfExists::Mismatch, "refused")]
        {
            // One that is simple, and one that is not: they go different ways.
            for body in [r#"{"state":{"k":2}}"#, r#"{"state":{"user:k":2},"events":[{"id":"e2"}]}"#] {
                let other = Creation { if_exists, ..creation("s", body) };
                let outcome = store.create(&Arc::new(other), deadline()).await;
                assert_eq!(word(&outcome), expected);
                match outcome {
                    Ok((_, view)) => {
                        assert_eq!((view.head.incarnation, state(&view)), (first.head.incarnation, json(r#"{"k":1}"#)));
                    }
                    refusal if if_exists == IfExists::Mismatch => assert_eq!(refused(refusal), mismatch(1, 0, 0)),
                    _ => {}
                }
            }
        }
        assert_eq!(store.scope_of(&of_user()).await.revision, 0);
        assert_eq!(events(&store.shown("s").await.unwrap()), ["e"]);
    }

    async fn ids_belong_to_their_user(store: &TestStore) {
        store.make("s", "{}").await;
        for other in [key_of("app", "other", "s"), key_of("other", "user", "s")] {
            let creation = Creation { key: other, ..creation("s", r#"{"state":{"k":1}}"#) };
            assert_eq!(state(&created(store.create(&Arc::new(creation), deadline()).await)), json(r#"{"k":1}"#));
        }
        assert_eq!(state(&store.shown("s").await.unwrap()), json("{}"));
    }

    /// Its COMMIT was not answered, and nobody knows whether it happened.
    async fn a_second_try_of_a_creation_finds_what_the_first_made(store: &TestStore) {
        for (id, body) in [("simple", r#"{"state":{"k":1}}"#), ("not", r#"{"state":{"app:k":1},"events":[{"id":"e"}]}"#)] {
            let creation = Arc::new(creation(id, body));
            let first = created(store.create(&creation, deadline()).await);
            store.add(id, &[r#"{"id":"later"}"#]).await;
            let second = created(store.another().await.create(&creation, deadline()).await);
            assert_eq!(second.head.incarnation, first.head.incarnation);
            assert_eq!(second.head.revision, first.head.revision + 1);
        }
        assert_eq!(store.scope_of(&app()).await.revision, 1);
    }

    async fn a_request_that_came_before_is_answered_with_what_it_made(store: &TestStore) {
        for (prefix, body) in [("a", "{}"), ("b", r#"{"events":[{"actions":{"stateDelta":{"user:n":1}}}]}"#)] {
            let of = |id: &str, asks: &str| {
                let creation = creation(&format!("{prefix}{id}"), body);
                Arc::new(Creation { request: request(prefix, asks), ..creation })
            };
            let outcome = async |creation: Arc<Creation>| word(&store.create(&creation, deadline()).await);
            assert_eq!(outcome(of("1", "this")).await, format!("created {prefix}1"));
            // A retry has ids of its own, where the client gave none.
            assert_eq!(outcome(of("2", "this")).await, format!("replayed {prefix}1"));
            assert_eq!(outcome(of("1", "this")).await, format!("replayed {prefix}1"));
            assert_eq!(outcome(of("2", "that")).await, "key conflict");
            // With the session goes the memory of what made it.
            store.remove(&format!("{prefix}1")).await;
            assert_eq!(outcome(of("2", "that")).await, format!("created {prefix}2"));
        }
        // Keys belong to their user.
        let elsewhere = Creation { key: key_of("app", "other", "s"), request: request("a", "x"), ..creation("s", "{}") };
        assert_eq!(word(&store.create(&Arc::new(elsewhere), deadline()).await), "created s");
    }

    async fn a_creation_that_is_refused_leaves_nothing(store: &TestStore) {
        let rejected = r#"{"state":{"k":"text","user:u":1},"events":[{"actions":{"stateDelta":{"app:a":1},
            "stateOps":[{"op":"increment","key":"k","value":1}]}}]}"#;
        let failed = r#"{"events":[{"actions":{"stateDelta":{"app:a":1}}},{"actions":{"preconditions":[{"key":"k","exists":true}]}}]}"#;
        let conflict = r#"{"events":[{"id":"e"},{"id":"e","author":"other"}]}"#;
        for body in [rejected, failed, conflict] {
            let outcome = store.create(&Arc::new(creation("s", body)), deadline()).await;
            let fits = match refused(outcome) {
                Refusal::Rejected(_) => body == rejected,
                Refusal::RevisionMismatch(mismatch) => body == failed && mismatch.failed.len() == 1,
                Refusal::EventIdConflict => body == conflict,
                _ => false,
            };
            assert!(fits, "{body}");
            assert!(store.shown("s").await.is_none());
        }
        assert_eq!(store.scope_of(&app()).await.revision + store.scope_of(&of_user()).await.revision, 0);
        store.make("s", "{}").await;
    }

    async fn a_session_that_has_expired_gives_way(store: &TestStore) {
        for body in [r#"{"expireTime":1}"#, r#"{"expireTime":1,"events":[{"id":"e","actions":{"stateDelta":{"k":1}}}]}"#] {
            // Shown once, to its creator.
            let first = store.make("s", body).await;
            assert_eq!(first.head.expire_time, Some(Micros(1_000_000)));
            assert!(store.shown("s").await.is_none());
            let second = store.make("s", "{}").await;
            assert_ne!(second.head.incarnation, first.head.incarnation);
            assert_eq!((revisions(&second), state(&second)), ((0, 0, 0), json("{}")));
            store.remove("s").await;
        }
    }

    async fn many_creations_at_once_each_make_their_own(store: &TestStore) {
        let stores = [store.another().await, store.another().await];
        let calls = (0..40).map(|n| {
            // Simple ones share transactions; every fourth writes what all see.
            let body = match n % 4 {
                0 => format!(r#"{{"state":{{"k":{n},"app:k{n}":1}},"events":[{{"id":"e"}}]}}"#),
                _ => format!(r#"{{"state":{{"k":{n}}}}}"#),
            };
            let (store, creation) = (&stores[n % 2], Arc::new(creation(&format!("s{n}"), &body)));
            async move { created(settled(async || store.create(&creation, deadline()).await).await) }
        });
        for (n, view) in join_all(calls).await.iter().enumerate() {
            assert_eq!((view.head.key.session.as_str(), &state(view)["k"]), (&*format!("s{n}"), &Value::from(n)));
            assert_eq!(view.head.revision, i64::from(n % 4 == 0));
        }
        assert_eq!(store.scope_of(&app()).await.revision, 10);
    }

    async fn of_many_creations_of_one_id_at_once_one_succeeds(store: &TestStore) {
        let stores = [store.another().await, store.another().await];
        for body in ["{}", r#"{"events":[{"actions":{"stateDelta":{"app:k":1}}}]}"#] {
            let calls = (0..12).map(|n| {
                let (store, creation) = (&stores[n % 2], Arc::new(creation("s", body)));
                async move { settled(async || store.create(&creation, deadline()).await).await }
            });
            let words: Vec<String> = join_all(calls).await.iter().map(word).collect();
            assert_eq!(words.iter().filter(|word| *word == "created s").count(), 1, "{words:?}");
            assert_eq!(words.iter().filter(|word| *word == "already exists").count(), 11, "{words:?}");
            store.remove("s").await;
        }
        assert_eq!(store.scope_of(&app()).await.revision, 1);
    }

    async fn a_request_that_comes_many_times_at_once_makes_one_session(store: &TestStore) {
        let stores = [store.another().await, store.another().await];
        let calls = (0..12).map(|n| {
            let creation = Arc::new(Creation { request: request("r", "this"), ..creation(&format!("s{n}"), "{}") });
            let store = &stores[n % 2];
            async move { settled(async || store.create(&creation, deadline()).await).await }
        });
        let outcomes = join_all(calls).await;
        let mut words: Vec<String> = outcomes.iter().map(word).collect();
        words.sort_unstable();
        let made = words[0].strip_prefix("created ").unwrap_or_else(|| panic!("{words:?}")).to_owned();
        assert!(words[1..].iter().all(|word| *word == format!("replayed {made}")), "{words:?}");
    }
}
