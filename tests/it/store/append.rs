//! Appends, in a group with others and alone.

use std::sync::Arc;

use futures_util::future::join_all;

use super::*;
use crate::support::databases::on_both_databases;

const BOTH: [Sharing; 2] = [Sharing::Group, Sharing::Alone];

fn delta(id: &str, delta: &str) -> String {
    format!(r#"{{"id":"{id}","actions":{{"stateDelta":{delta}}}}}"#)
}

fn ops(id: &str, ops: &str) -> String {
    format!(r#"{{"id":"{id}","actions":{{"stateOps":{ops}}}}}"#)
}

on_both_databases! {
    async fn events_take_the_next_numbers_and_change_state(store: &TestStore) {
        for (id, sharing) in ["group", "alone"].into_iter().zip(BOTH) {
            store.make(id, r#"{"state":{"k":0}}"#).await;
            let first = delta("a", r#"{"k":1,"gone":1,"user:k":1}"#);
            let second = ops("b", r#"[{"op":"increment","key":"k","value":4},{"op":"remove","key":"gone"}]"#);
            let both = Append { with_state: Some(StateFilter::default()), ..append(id, &[&first, &second]) };
            let outcome = store.append(&Arc::new(both), sharing, deadline()).await;
            let view = outcome.as_ref().unwrap().view.clone().unwrap();
            let done = done(outcome);
            assert_eq!(sequences(&done), [(1, false), (2, false)]);
            assert_eq!(json(&done.events[1].event.body)["actions"]["stateDelta"], json(r#"{"k":5}"#));
            assert_eq!(state(&view), json(r#"{"k":5,"user:k":1}"#));
            let shown = store.shown(id).await.unwrap();
            assert_eq!((events(&shown), state(&shown)), (vec!["a".to_owned(), "b".to_owned()], state(&view)));
            assert_eq!((done.tag.revision, done.tag.user), (2, shown.head.user_revision));
            // Without a change there is nothing to remember but the event.
            let plain = store.append(&append(id, &[r#"{"id":"c"}"#]).into(), sharing, deadline()).await.unwrap();
            assert!(plain.view.is_none());
        }
    }

    async fn a_retry_is_answered_with_what_is_stored(store: &TestStore) {
        store.make("s", "{}").await;
        let event = delta("e", r#"{"k":1}"#);
        let first = store.add("s", &[&event]).await;
        store.add("s", &[&delta("later", r#"{"k":2}"#)]).await;
        // Remembered or not, in a group or not, with a precondition that has long ceased to hold, and among fresh ones.
        for (n, store) in [(**store).clone(), store.another().await].iter().enumerate() {
            for sharing in BOTH {
                let again = Append { guard: only_if("\"0\""), ..append("s", &[&event]) };
                let again = done(store.append(&again.into(), sharing, deadline()).await);
                assert_eq!(sequences(&again), [(1, true)]);
                assert_eq!(again.events[0].event.body, first.events[0].event.body);
                let fresh = format!(r#"{{"id":"{n}{sharing:?}"}}"#);
                let mixed = store.append(&append("s", &[&event, &fresh, &event]).into(), sharing, deadline()).await;
                let replayed: Vec<bool> = done(mixed).events.iter().map(|event| event.replayed).collect();
                assert_eq!(replayed, [true, false, true]);
            }
        }
        assert_eq!(state(&store.shown("s").await.unwrap()), json(r#"{"k":2}"#));
    }

    async fn an_id_that_is_taken_by_other_content_is_a_conflict(store: &TestStore) {
        store.make("s", "{}").await;
        store.make("t", "{}").await;
        store.add("s", &[r#"{"id":"e","author":"a","timestamp":1}"#]).await;
        for other in [r#"{"id":"e","author":"b"}"#, r#"{"id":"e","author":"a","timestamp":2}"#] {
            for sharing in BOTH {
                let append = append("s", &[r#"{"id":"fresh","actions":{"stateDelta":{"k":1}}}"#, other]);
                assert_eq!(refused(store.append(&append.into(), sharing, deadline()).await), Refusal::EventIdConflict);
            }
        }
        assert_eq!(events(&store.shown("s").await.unwrap()), ["e"]);
        assert_eq!(sequences(&store.add("t", &[r#"{"id":"e","author":"b"}"#]).await), [(1, false)]);
    }

    async fn a_precondition_holds_or_nothing_is_written(store: &TestStore) {
        store.make("s", r#"{"state":{"user:k":1,"k":1}}"#).await;
        store.add("s", &[r#"{"id":"a"}"#]).await;
        for sharing in BOTH {
            let whole = store.shown("s").await.unwrap().head.tag().to_string();
            let revision = store.revision("s").await;
            let stale = Append { guard: only_if("\"0\""), ..append("s", &[r#"{"id":"stale"}"#]) };
            let refusal = refused(store.append(&stale.into(), sharing, deadline()).await);
            assert_eq!(refusal, mismatch(revision, 1, 0));
            let event = format!(r#"{{"id":"{sharing:?}","actions":{{"preconditions":[{{"key":"k","equals":1}}]}}}}"#);
            let fits = Append { guard: only_if(&whole), ..append("s", &[&event]) };
            assert_eq!(sequences(&done(store.append(&fits.into(), sharing, deadline()).await)), [(revision + 1, false)]);
            let fails = r#"{"id":"f","actions":{"stateDelta":{"k":2},"preconditions":[{"key":"user:k","exists":false}]}}"#;
            let refusal = refused(store.append(&append("s", &[fails]).into(), sharing, deadline()).await);
            let Refusal::RevisionMismatch(mismatch) = refusal else { panic!("{refusal:?}") };
            assert_eq!((mismatch.revision, mismatch.failed.len()), (revision + 1, 1));
            let operator = ops("o", r#"[{"op":"append","key":"k","value":[1]}]"#);
            let refusal = refused(store.append(&append("s", &[&operator]).into(), sharing, deadline()).await);
            assert!(matches!(refusal, Refusal::Rejected(_)), "{refusal:?}");
        }
        assert_eq!(events(&store.shown("s").await.unwrap()), ["a", "Group", "Alone"]);
    }

    async fn a_session_that_is_not_there_is_not_found(store: &TestStore) {
        store.make("expired", r#"{"expireTime":1}"#).await;
        store.make("deleted", "{}").await;
        store.add("deleted", &[r#"{"id":"a"}"#]).await;
        store.remove("deleted").await;
        for id in ["none", "expired", "deleted"] {
            for sharing in BOTH {
                let append = append(id, &[r#"{"id":"e","actions":{"stateDelta":{"app:k":1}}}"#]);
                let outcome = store.append(&append.into(), sharing, deadline()).await;
                assert_eq!(refused(outcome), Refusal::SessionNotFound, "{id} {sharing:?}");
            }
        }
        assert_eq!(store.scope_of(&app()).await.revision, 0);
    }

    async fn removing_what_is_not_there_appends_nothing(store: &TestStore) {
        store.make("s", r#"{"state":{"k":1}}"#).await;
        for (n, sharing) in BOTH.into_iter().enumerate() {
            let remove = |id: String, key: &str| Append {
                only_if_present: Some((Scope::Session, key.into())),
                ..append("s", &[&ops(&id, &format!(r#"[{{"op":"remove","key":"{key}"}}]"#))])
            };
            let nothing = done(store.append(&remove(format!("n{n}"), "none").into(), sharing, deadline()).await);
            assert_eq!((nothing.events.len(), nothing.tag.revision), (0, 2 * n as i64));
            let gone = done(store.append(&remove(format!("g{n}"), "k").into(), sharing, deadline()).await);
            assert_eq!(sequences(&gone), [(2 * n as i64 + 1, false)]);
            store.add("s", &[&delta(&format!("back{n}"), r#"{"k":1}"#)]).await;
        }
    }

    /// What one process remembers of a session, another one may have made untrue.
    async fn a_store_sees_what_another_has_written(store: &TestStore) {
        let other = store.another().await;
        store.make("s", r#"{"state":{"n":0,"user:n":0}}"#).await;
        let more = r#"[{"op":"increment","key":"n","value":1},{"op":"increment","key":"user:n","value":1}]"#;
        for n in 0..10 {
            let writer = if n % 2 == 0 { &**store } else { &other };
            let append = Arc::new(append("s", &[&ops(&format!("e{n}"), more)]));
            let done = done(settled(async || writer.append(&append, Sharing::Group, deadline()).await).await);
            assert_eq!(sequences(&done), [(n + 1, false)]);
        }
        let shown = store.shown("s").await.unwrap();
        assert_eq!((state(&shown), revisions(&shown)), (json(r#"{"n":10,"user:n":10}"#), (10, 11, 0)));
        other.delete(&Deletion { key: key("s"), incarnation: shown.head.incarnation, guard: Guard::default(), now: now() }, deadline()).await.unwrap();
        let gone = append("s", &[r#"{"id":"gone"}"#]);
        let outcome = store.append(&gone.into(), Sharing::Group, deadline()).await;
        assert_eq!(refused(outcome), Refusal::SessionNotFound);
    }

    async fn many_appends_at_once_lose_nothing(store: &TestStore) {
        let stores = [store.another().await, store.another().await];
        for id in ["a", "b", "c"] {
            store.make(id, r#"{"state":{"n":0}}"#).await;
        }
        let all = r#"[{"op":"increment","key":"n","value":1},{"op":"increment","key":"user:n","value":1},
            {"op":"increment","key":"app:n","value":1}]"#;
        let calls = (0..60).map(|n| {
            let sharing = BOTH[n / 2 % 2];
            let append = Arc::new(append(["a", "b", "c"][n % 3], &[&ops(&format!("e{n}"), all)]));
            let store = &stores[n % 2];
            async move { done(settled(async || store.append(&append, sharing, deadline()).await).await) }
        });
        let mut numbers: Vec<i64> = join_all(calls).await.iter().flat_map(sequences).map(|(n, _)| n).collect();
        numbers.sort_unstable();
        let expected: Vec<i64> = (1..=20).flat_map(|n| [n, n, n]).collect();
        assert_eq!(numbers, expected);
        for id in ["a", "b", "c"] {
            assert_eq!(state(&store.shown(id).await.unwrap()), json(r#"{"n":20,"user:n":60,"app:n":60}"#));
        }
    }

    async fn of_an_event_that_comes_many_times_at_once_one_is_stored(store: &TestStore) {
        let stores = [store.another().await, store.another().await];
        store.make("s", "{}").await;
        for round in 0..4 {
            let event = delta(&format!("e{round}"), &format!(r#"{{"k":{round}}}"#));
            let calls = (0..8).map(|n| {
                let (store, append) = (&stores[n % 2], Arc::new(append("s", &[&event])));
                async move { done(settled(async || store.append(&append, BOTH[n / 2 % 2], deadline()).await).await) }
            });
            let all: Vec<(i64, bool)> = join_all(calls).await.iter().flat_map(sequences).collect();
            assert!(all.iter().all(|(sequence, _)| *sequence == round + 1), "{all:?}");
            assert_eq!(all.iter().filter(|(_, replayed)| !replayed).count(), 1, "{all:?}");
        }
        assert_eq!(store.revision("s").await, 4);
    }

    async fn of_many_that_expect_one_revision_one_is_first(store: &TestStore) {
        let stores = [store.another().await, store.another().await];
        store.make("s", "{}").await;
        for round in 0..4 {
            let calls = (0..8).map(|n| {
                let append = append("s", &[&format!(r#"{{"id":"{round}-{n}"}}"#)]);
                let append = Arc::new(Append { guard: only_if(&format!("\"{round}\"")), ..append });
                let store = &stores[n % 2];
                async move { settled(async || store.append(&append, BOTH[n / 2 % 2], deadline()).await).await }
            });
            let outcomes = join_all(calls).await;
            let (won, lost): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
            assert_eq!((won.len(), lost.len()), (1, 7));
            lost.into_iter().for_each(|lost| assert_eq!(refused(lost), mismatch(round + 1, 0, 0)));
        }
    }

    async fn what_is_appended_while_a_session_is_made_anew_belongs_to_one_of_the_two(store: &TestStore) {
        let stores = [store.another().await, store.another().await];
        store.make("s", "{}").await;
        let appends = (0..30).map(|n| {
            let append = Arc::new(append("s", &[&delta(&format!("e{n}"), &format!(r#"{{"k{n}":{n},"app:n":{n}}}"#))]));
            let store = &stores[n % 2];
            async move { settled(async || store.append(&append, BOTH[n / 2 % 2], deadline()).await).await }
        });
        let anew = async {
            for _ in 0..5 {
                store.remove("s").await;
                tokio::task::yield_now().await;
                store.make("s", "{}").await;
            }
        };
        let (outcomes, ()) = tokio::join!(join_all(appends), anew);
        let incarnation = store.shown("s").await.unwrap().head.incarnation;
        let mut kept = 0;
        for outcome in outcomes {
            match outcome {
                Ok(AppendAnswer { done, .. }) => kept += i64::from(done.tag.incarnation == incarnation),
                refusal => assert_eq!(refused(refusal), Refusal::SessionNotFound),
            }
        }
        assert_eq!(store.revision("s").await, kept);
    }
}
