//! Past states: forks, rewinds, and the state at a revision.

use futures_util::future::join_all;
use sessiond::domain::command::Fork;
use sessiond::domain::query::{History, Moment, MomentQuery, StatePart};
use sessiond::domain::rewind::{RewindRequest, RewindTarget};
use sessiond::domain::state_range::StatePage;

use super::*;
use crate::support::databases::on_both_databases;

fn fork(at: Option<i64>, id: &str) -> Fork {
    let session = SessionId::parse(id).unwrap();
    Fork {
        source: key("s"),
        at,
        session,
        incarnation: SystemClock.incarnation(),
        request: None,
        shows: Shown::Full,
        now: now(),
    }
}

async fn forked(store: &TestStore, fork: &Fork) -> SessionView {
    created(store.fork(fork, deadline()).await)
}

fn rewind(event: &str, target: RewindTarget) -> RewindRequest {
    RewindRequest {
        key: key("s"),
        target,
        event_id: EventId::parse(event).unwrap(),
        copy_id: uuid::Uuid::new_v4(),
        invocation_id: "rewinding".to_owned(),
        guard: Guard::default(),
        shows: Shown::Full,
        now: now(),
    }
}

async fn rewound(store: &TestStore, request: &RewindRequest) -> (SessionView, bool) {
    let rewound = store.rewind(request, deadline()).await.unwrap();
    (rewound.view, rewound.appended == 0)
}

/// The state then, and the revisions of session, user and app.
async fn moment(store: &TestStore, revision: i64) -> (Value, (i64, i64, i64)) {
    let query = MomentQuery { key: key("s"), revision, part: StatePart::Keys(StateFilter::default()), now: now() };
    match store.moment(&query, deadline()).await.unwrap() {
        Moment::Then { tag, state } => (json(&state.state), (tag.revision, tag.user, tag.app)),
        other => panic!("{other:?}"),
    }
}

/// A session `s` with four events, of two invocations.
async fn history(store: &TestStore) {
    store.make("s", r#"{"state":{"k":0,"user:k":0}}"#).await;
    store
        .add("s", &[r#"{"id":"a","invocationId":"one","timestamp":1.5,"actions":{"stateDelta":{"k":1,"x":1}}}"#])
        .await;
    store.add("s", &[r#"{"id":"b","invocationId":"one","actions":{"stateDelta":{"k":2,"user:k":2}}}"#]).await;
    store.add("s", &[r#"{"id":"c","invocationId":"two","actions":{"stateOps":[{"op":"remove","key":"x"}],"stateDelta":{"app:k":3}}}"#]).await;
    store.add("s", &[r#"{"id":"d","invocationId":"two","actions":{"stateDelta":{"k":4,"user:k":4}}}"#]).await;
}

on_both_databases! {
    async fn the_state_of_a_moment_is_what_the_events_up_to_it_made(store: &TestStore) {
        history(store).await;
        for (revision, state, revisions) in [
            (0, r#"{"k":0,"user:k":0}"#, (0, 1, 0)),
            (1, r#"{"k":1,"x":1,"user:k":0}"#, (1, 1, 0)),
            (2, r#"{"k":2,"x":1,"user:k":2}"#, (2, 2, 0)),
            (3, r#"{"k":2,"user:k":2,"app:k":3}"#, (3, 2, 1)),
            (4, r#"{"k":4,"user:k":4,"app:k":3}"#, (4, 3, 1)),
        ] {
            assert_eq!(moment(store, revision).await, (json(state), revisions), "{revision}");
        }
        let at = |id: &str, revision| MomentQuery { key: key(id), revision, part: StatePart::Keys(StateFilter::default()), now: now() };
        let beyond = store.moment(&at("s", 5), deadline()).await.unwrap();
        assert!(matches!(beyond, Moment::Beyond(4)), "{beyond:?}");
        let none = store.moment(&at("none", 0), deadline()).await.unwrap();
        assert!(matches!(none, Moment::SessionNotFound), "{none:?}");
        let keys = StateFilter::keys(["k", "app:k", "none"].into_iter());
        let some = store.moment(&MomentQuery { part: StatePart::Keys(keys), ..at("s", 3) }, deadline()).await.unwrap();
        let Moment::Then { state: StatePage { state, .. }, .. } = some else { panic!("{some:?}") };
        assert_eq!(json(&state), json(r#"{"k":2,"app:k":3}"#));
    }

    async fn a_fork_has_the_past_of_its_source_and_a_life_of_its_own(store: &TestStore) {
        history(store).await;
        for (at, id, ids, own) in [
            (None, "now", vec!["a", "b", "c", "d"], r#"{"k":4}"#),
            (Some(4), "four", vec!["a", "b", "c", "d"], r#"{"k":4}"#),
            (Some(1), "one", vec!["a"], r#"{"k":1,"x":1}"#),
            (Some(0), "zero", vec![], r#"{"k":0}"#),
        ] {
            let view = forked(store, &fork(at, id)).await;
            assert_eq!((events(&view), view.head.revision), (ids.into_iter().map(str::to_owned).collect(), at.unwrap_or(4)));
            assert_eq!(view.head.forked_from, Some((key("s").session, at.unwrap_or(4))));
            // Shared state is what it is now.
            let mut expected = json(own);
            expected["user:k"] = 4.into();
            expected["app:k"] = 3.into();
            assert_eq!(state(&view), expected, "{id}");
        }
        let one = store.shown("one").await.unwrap();
        assert_eq!(one.head.update_time.number.text(), "1.5");
        store.add("one", &[r#"{"id":"e","actions":{"stateDelta":{"k":"forked"}}}"#]).await;
        store.add("s", &[r#"{"id":"e","actions":{"stateDelta":{"k":"source"}}}"#]).await;
        store.remove("s").await;
        let one = store.shown("one").await.unwrap();
        assert_eq!((&state(&one)["k"], events(&one)), (&Value::from("forked"), vec!["a".to_owned(), "e".to_owned()]));
    }

    async fn a_fork_that_cannot_be_says_why(store: &TestStore) {
        history(store).await;
        store.make("taken", "{}").await;
        let outcome = async |fork: Fork| refused(store.fork(&fork, deadline()).await);
        assert_eq!(outcome(fork(Some(5), "new")).await, Refusal::Beyond(4));
        assert_eq!(outcome(fork(None, "taken")).await, Refusal::SessionAlreadyExists);
        assert_eq!(outcome(fork(None, "s")).await, Refusal::SessionAlreadyExists);
        let of_nothing = Fork { source: key("none"), ..fork(None, "new") };
        assert_eq!(outcome(of_nothing).await, Refusal::SessionNotFound);
        assert!(store.shown("new").await.is_none());
    }

    async fn a_fork_that_comes_again_is_what_it_was(store: &TestStore) {
        history(store).await;
        let first = fork(Some(2), "second-try");
        assert_eq!(forked(store, &first).await.head.incarnation, first.incarnation);
        assert_eq!(forked(store, &first).await.head.incarnation, first.incarnation);
        let of = |id: &str, asks: &str| Fork { request: request("r", asks), ..fork(Some(2), id) };
        forked(store, &of("x", "this")).await;
        // Also when the source is gone.
        store.remove("s").await;
        let (made, view) = store.fork(&of("y", "this"), deadline()).await.unwrap();
        assert_eq!((made, view.head.key), (Made::Before, key("x")));
        let other = store.fork(&of("y", "that"), deadline()).await;
        assert_eq!(refused(other), Refusal::CreationKeyConflict);
    }

    async fn a_fork_while_its_source_is_written_has_a_past_that_was(store: &TestStore) {
        let stores = [store.another().await, store.another().await];
        store.make("s", r#"{"state":{"n":0}}"#).await;
        let appends = async {
            for n in 0..20 {
                let more = format!(r#"{{"id":"e{n}","actions":{{"stateOps":[{{"op":"increment","key":"n","value":1}}]}}}}"#);
                let append = Arc::new(append("s", &[&more]));
                done(settled(async || stores[0].append(&append, Sharing::Group, deadline()).await).await);
            }
        };
        let forks = join_all((0..8).map(|n| {
            let (store, fork) = (&stores[n % 2], fork(None, &format!("f{n}")));
            async move { settled(async || store.fork(&fork, deadline()).await).await }
        }));
        let ((), forks) = tokio::join!(appends, forks);
        for outcome in forks {
            let view = created(outcome);
            assert_eq!((state(&view)["n"].as_i64(), events(&view).len() as i64), (Some(view.head.revision), view.head.revision));
        }
    }

    async fn forks_and_rewinds_read_no_more_than_they_show(store: &TestStore) {
        history(store).await;
        let fork = Fork { shows: Shown::Minimal, ..fork(Some(2), "fork") };
        let rewind = RewindRequest { shows: Shown::Minimal, ..rewind("r", RewindTarget::Revision(0)) };
        // And a second try.
        for _ in 0..2 {
            assert_head(&forked(store, &fork).await, 2);
            assert_head(&rewound(store, &rewind).await.0, 5);
        }
    }

    async fn a_rewind_restores_what_the_session_had(store: &TestStore) {
        history(store).await;
        let before_two = RewindTarget::BeforeInvocation("two".to_owned());
        let request = rewind("r", before_two.clone());
        let (view, replayed) = rewound(store, &request).await;
        assert!(!replayed);
        // Shared state stays: others have seen it.
        assert_eq!(state(&view), json(r#"{"k":2,"x":1,"user:k":4,"app:k":3}"#));
        assert_eq!((events(&view), view.head.revision), (["a", "b", "c", "d", "r"].map(str::to_owned).to_vec(), 5));
        let query = EventQuery { history: History::NotRewound, ..EventQuery::all() };
        let left = store.session(&SessionQuery { events: Some(query), ..whole("s") }, deadline()).await.unwrap().unwrap();
        assert_eq!(events(&left), ["a", "b"]);
        // A second try, whatever has come since; and the same id for something else.
        store.add("s", &[r#"{"id":"later"}"#]).await;
        assert!(rewound(store, &request).await.1);
        let other = store.rewind(&rewind("r", RewindTarget::Revision(0)), deadline()).await;
        assert_eq!(refused(other), Refusal::EventIdConflict);
        let (view, _) = rewound(store, &rewind("r0", RewindTarget::Revision(0))).await;
        assert_eq!((state(&view)["k"].clone(), state(&view).get("x").cloned()), (Value::from(0), None));
    }

    async fn a_rewind_that_cannot_be_says_why(store: &TestStore) {
        history(store).await;
        let outcome = async |request: RewindRequest| refused(store.rewind(&request, deadline()).await);
        let none = outcome(rewind("r", RewindTarget::BeforeInvocation("none".to_owned()))).await;
        assert_eq!(none, Refusal::InvocationNotFound);
        for revision in [4, 5] {
            let beyond = outcome(rewind("r", RewindTarget::Revision(revision))).await;
            assert!(matches!(beyond, Refusal::Rejected(_)), "{beyond:?}");
        }
        let stale = RewindRequest { guard: only_if("\"3\""), ..rewind("r", RewindTarget::Revision(0)) };
        assert_eq!(outcome(stale).await, mismatch(4, 3, 1));
        let nowhere = outcome(RewindRequest { key: key("none"), ..rewind("r", RewindTarget::Revision(0)) }).await;
        assert_eq!(nowhere, Refusal::SessionNotFound);
        assert_eq!(store.revision("s").await, 4);
    }

    async fn of_many_rewinds_at_once_each_takes_back_what_is_there(store: &TestStore) {
        history(store).await;
        let stores = [store.another().await, store.another().await];
        let calls = (0..6).map(|n| {
            let (store, request) = (&stores[n % 2], rewind(&format!("r{}", n / 2), RewindTarget::Revision(1)));
            async move { settled(async || store.rewind(&request, deadline()).await).await.unwrap() }
        });
        let outcomes = join_all(calls).await;
        let replays = outcomes.iter().filter(|outcome| outcome.appended == 0);
        assert_eq!(replays.count(), 3);
        let shown = store.shown("s").await.unwrap();
        // Each has a copy of what stays of the invocation, too.
        assert_eq!((shown.head.revision, state(&shown)), (10, json(r#"{"k":1,"x":1,"user:k":4,"app:k":3}"#)));
    }
}
