//! Reads: a session, an event, a value, a scope, lists, names.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use sessiond::domain::access::Names;
use sessiond::domain::query::{ANY_TIME, ListPosition, ListQuery, OrderBy};
use sessiond::domain::tag::Timeline;

use super::*;
use crate::support::databases::on_both_databases;
use crate::support::random::Random;

async fn selected(store: &TestStore, query: EventQuery) -> (String, bool) {
    let query = SessionQuery { events: Some(query), ..head_alone("s") };
    let view = store.session(&query, deadline()).await.unwrap().unwrap();
    assert_eq!(view.state, None);
    (events(&view).join(" "), view.events.more)
}

pub fn list(order_by: OrderBy) -> ListQuery {
    ListQuery {
        app: user().app,
        user: None,
        users: Names::all(),
        order_by,
        descending: false,
        labels: Vec::new(),
        user_range: None,
        id_range: None,
        forked_from: None,
        after: None,
        with_state: false,
        max_rows: 100,
        max_bytes: 1 << 20,
    }
}

/// The ids of a page, and whether there is more.
async fn listed(store: &TestStore, query: &ListQuery) -> (String, bool) {
    let page = store.sessions(query, now(), deadline()).await.unwrap();
    let ids: Vec<&str> = page.items.iter().map(|view| view.head.key.session.as_str()).collect();
    (ids.join(" "), page.more)
}

/// The ids of all pages, each of them full but for the last.
pub async fn paged(store: &TestStore, query: &ListQuery, max_rows: usize) -> String {
    let (mut after, mut ids) = (None, Vec::new());
    loop {
        let page = ListQuery { after: after.take(), max_rows, ..query.clone() };
        let page = store.sessions(&page, now(), deadline()).await.unwrap();
        assert!(page.items.len() == max_rows || page.items.len() < max_rows && !page.more, "{query:?}");
        ids.extend(page.items.iter().map(|view| view.head.key.session.as_str().to_owned()));
        let Some(last) = page.items.last().filter(|_| page.more) else { return ids.join(" ") };
        let time = match query.order_by {
            OrderBy::CreateTime => last.head.create_time,
            OrderBy::LastUpdateTime => last.head.update_time.micros,
        };
        let key = &last.head.key;
        after = Some(ListPosition { time, user: key.user.user.clone(), session: key.session.clone() });
    }
}

on_both_databases! {
    async fn a_session_shows_what_is_asked_for(store: &TestStore) {
        let made = store.make("s", r#"{"state":{"k":1,"user:k":2,"app:k":3,"app:l":4},"events":[{"id":"e"}]}"#).await;
        let read = async |query: SessionQuery| store.session(&query, deadline()).await.unwrap();
        let head = read(head_alone("s")).await.unwrap();
        assert!(head.state.is_none() && head.events.events.is_empty() && !head.events.more);
        assert_eq!(revisions(&head), (1, 1, 1));
        for (filter, expected) in [
            (StateFilter::default(), r#"{"k":1,"user:k":2,"app:k":3,"app:l":4}"#),
            (StateFilter::keys(["app:l", "k", "none", "temp:k"].into_iter()), r#"{"k":1,"app:l":4}"#),
            (StateFilter { session: None, user: Some(Vec::new()), app: Some(Vec::new()) }, r#"{"k":1}"#),
            (StateFilter { session: Some(Vec::new()), user: None, app: Some(vec!["k".into()]) }, r#"{"user:k":2,"app:k":3}"#),
        ] {
            let view = read(SessionQuery { state: Some(filter), ..head_alone("s") }).await.unwrap();
            assert_eq!(state(&view), json(expected));
        }
        // Of one incarnation, on one timeline.
        let incarnation = made.head.incarnation;
        for (incarnation, timeline, there) in [
            (Some(incarnation), Some(head.head.timeline), true),
            (Some(incarnation ^ 1), None, false),
            (None, Some(Timeline(head.head.timeline.0 + 1)), false),
        ] {
            assert_eq!(read(SessionQuery { incarnation, timeline, ..whole("s") }).await.is_some(), there);
            assert_eq!(read(SessionQuery { incarnation, timeline, ..head_alone("s") }).await.is_some(), there);
        }
        assert!(read(whole("none")).await.is_none());
        assert!(read(SessionQuery { key: key_of("app", "other", "s"), ..whole("s") }).await.is_none());
    }

    async fn an_expired_session_is_not_there_for_any_read(store: &TestStore) {
        store.make("s", r#"{"state":{"k":1},"events":[{"id":"e"}],"expireTime":1}"#).await;
        assert!(store.shown("s").await.is_none());
        assert!(store.event(&key("s"), &EventId::parse("e").unwrap(), now(), deadline()).await.unwrap().is_none());
        assert!(store.value(&key("s"), Scope::Session, "k", now(), deadline()).await.unwrap().is_none());
        for order_by in [OrderBy::CreateTime, OrderBy::LastUpdateTime] {
            assert_eq!(listed(store, &list(order_by)).await, (String::new(), false));
        }
        let any = SessionQuery { now: ANY_TIME, ..whole("s") };
        assert_eq!(events(&store.session(&any, deadline()).await.unwrap().unwrap()), ["e"]);
    }

    async fn events_are_picked_by_place_time_and_origin(store: &TestStore) {
        store.make("s", "{}").await;
        for (id, more) in [
            ("a", r#""author":"user","invocationId":"i1","timestamp":10"#),
            ("b", r#""author":"agent","invocationId":"i1","timestamp":20"#),
            ("c", r#""author":"user","invocationId":"i2","timestamp":15,"branch":"x""#),
            ("d", r#""author":"agent","invocationId":"i2","timestamp":30"#),
        ] {
            store.add("s", &[&format!(r#"{{"id":"{id}",{more}}}"#)]).await;
        }
        let all = EventQuery::all;
        let text = |text: &str| Some(text.to_owned());
        for (query, expected) in [
            (all(), ("a b c d", false)),
            (EventQuery { descending: true, ..all() }, ("d c b a", false)),
            (EventQuery { after: 1, before: 4, ..all() }, ("b c", false)),
            (EventQuery { after: 3, before: 2, ..all() }, ("", false)),
            (EventQuery { max_rows: 2, ..all() }, ("a b", true)),
            (EventQuery { max_rows: 4, ..all() }, ("a b c d", false)),
            (EventQuery { max_rows: 2, descending: true, ..all() }, ("d c", true)),
            // The first one goes, however large it is.
            (EventQuery { max_bytes: 1, ..all() }, ("a", true)),
            (EventQuery { since: Some(Micros(15_000_000)), ..all() }, ("b c d", false)),
            (EventQuery { author: text("user"), ..all() }, ("a c", false)),
            (EventQuery { author: text("User"), ..all() }, ("", false)),
            (EventQuery { invocation_id: text("i2"), author: text("agent"), ..all() }, ("d", false)),
            (EventQuery { branch: text("x"), ..all() }, ("c", false)),
            (EventQuery { last: Some(2), ..all() }, ("c d", false)),
            (EventQuery { last: Some(9), max_rows: 1, ..all() }, ("a", true)),
            (EventQuery { author: text("user"), max_rows: 1, ..all() }, ("a", true)),
        ] {
            let shown = format!("{query:?}");
            let (ids, more) = selected(store, query).await;
            assert_eq!((ids.as_str(), more), expected, "{shown}");
        }
    }

    async fn an_event_and_a_value_come_with_their_session(store: &TestStore) {
        store.make("s", r#"{"state":{"k":1.50,"user:k":{"a" : 1},"app:é":null},"events":[{"id":"e","content":"x"}]}"#).await;
        let event = async |id: &str, event: &str| {
            store.event(&key(id), &EventId::parse(event).unwrap(), now(), deadline()).await.unwrap()
        };
        let (head, found) = event("s", "e").await.unwrap();
        let found = found.unwrap();
        assert_eq!((head.revision, found.sequence, json(&found.body)["content"].as_str()), (1, 1, Some("x")));
        assert!(event("s", "none").await.unwrap().1.is_none());
        assert!(event("none", "e").await.is_none());
        let value = async |scope: Scope, name: &str| {
            let found = store.value(&key("s"), scope, name, now(), deadline()).await.unwrap().unwrap();
            assert_eq!(found.0.revision, 1);
            found.1.map(|value| value.text().to_owned())
        };
        for (scope, name, expected) in [
            (Scope::Session, "k", Some("1.50")),
            (Scope::User, "k", Some(r#"{"a" : 1}"#)),
            (Scope::App, "é", Some("null")),
            (Scope::App, "k", None),
            (Scope::Session, "none", None),
        ] {
            assert_eq!(value(scope, name).await.as_deref(), expected, "{scope:?} {name}");
        }
        assert!(store.value(&key("none"), Scope::App, "é", now(), deadline()).await.unwrap().is_none());
    }

    async fn a_scope_that_nobody_wrote_is_empty(store: &TestStore) {
        for scope in [app(), of_user()] {
            let shown = store.scope_of(&scope).await;
            assert_eq!((shown.revision, json(&shown.state)), (0, json("{}")));
        }
    }

    async fn many_reads_at_once_each_get_their_own(store: &TestStore) {
        for n in 0..8 {
            store.make(&format!("s{n}"), &format!(r#"{{"state":{{"n":{n}}},"events":[{{"id":"e{n}"}}]}}"#)).await;
        }
        let calls = (0..64).map(|n| {
            // Whole ones share statements; every fourth is of a session that is not there.
            let (id, query) = (n % 8, if n % 4 == 3 { whole("none") } else { whole(&format!("s{}", n % 8)) });
            async move { (id, store.session(&query, deadline()).await.unwrap()) }
        });
        for (n, (id, view)) in join_all(calls).await.into_iter().enumerate() {
            let Some(view) = view else {
                assert_eq!(n % 4, 3);
                continue;
            };
            assert_eq!((&view.head.key, state(&view)), (&key(&format!("s{id}")), json(&format!(r#"{{"n":{id}}}"#))));
            assert_eq!(events(&view), [format!("e{id}")]);
        }
    }

    async fn events_of_any_size_are_read_again_and_again_alone_and_together(store: &TestStore) {
        // Larger than an equal share of a page; and a key with a character that separates keys on the way.
        let text = "x".repeat(150_000);
        let large = format!(r#"{{"state":{{"n":1}},"events":[{{"id":"a"}},{{"id":"b","content":"{text}"}},{{"id":"c"}}]}}"#);
        store.make("large", &large).await;
        store.make("strange", r#"{"state":{"a\u001eb":1,"c":2},"events":[{"id":"a"}]}"#).await;
        store.make("small", r#"{"state":{"n":3},"events":[{"id":"d"},{"id":"e"}]}"#).await;
        let expected = [
            ("large", r#"{"n":1}"#, "a b c"),
            ("strange", r#"{"a\u001eb":1,"c":2}"#, "a"),
            ("small", r#"{"n":3}"#, "d e"),
        ];
        let read = async |(id, of, ids): (&str, &str, &str)| {
            let query = EventQuery { last: Some(10), ..EventQuery::all() };
            let view = store.session(&SessionQuery { events: Some(query), ..whole(id) }, deadline()).await.unwrap().unwrap();
            assert_eq!((state(&view), events(&view).join(" "), view.events.more), (json(of), ids.to_owned(), false));
            if id == "large" {
                assert_eq!(json(&view.events.events[1].body)["content"].as_str(), Some(&*text));
            }
        };
        for _ in 0..40 {
            read(expected[0]).await;
        }
        join_all((0..60).map(|n| read(expected[n % 3]))).await;
    }

    async fn a_read_while_others_write_shows_one_moment(store: &TestStore) {
        let other = store.another().await;
        store.make("s", r#"{"state":{"n":0,"user:n":0}}"#).await;
        let writing = async {
            for n in 1..=40 {
                let event = format!(r#"{{"id":"e{n}","actions":{{"stateDelta":{{"n":{n},"user:n":{n}}}}}}}"#);
                let append = Arc::new(append("s", &[&event]));
                done(settled(async || other.append(&append, Sharing::Group, deadline()).await).await);
            }
        };
        let reading = async {
            for n in 0..40 {
                // In one statement, and in several.
                let events = EventQuery { descending: n % 2 == 1, ..EventQuery::all() };
                let query = SessionQuery { events: Some(events), ..whole("s") };
                let view = store.session(&query, deadline()).await.unwrap().unwrap();
                let revision = view.head.revision;
                assert_eq!(state(&view), json(&format!(r#"{{"n":{revision},"user:n":{revision}}}"#)));
                assert_eq!((view.events.events.len() as i64, view.head.user_revision), (revision, revision + 1));
            }
        };
        tokio::join!(writing, reading);
        assert_eq!(store.revision("s").await, 40);
    }

    async fn lists_are_in_order_of_time_and_go_on_where_a_page_ended(store: &TestStore) {
        // Made at one time, some by another user; updated in another order than made.
        let at = |seconds: i64| Micros(1_700_000_000_000_000 + seconds * 1_000_000);
        for (id, user, time, update) in
            [("a", "user", 1, 9), ("b", "user", 2, 5), ("c", "other", 2, 7), ("d", "user", 3, 3), ("e", "other", 4, 4)]
        {
            let event = format!(r#"{{"events":[{{"timestamp":{}}}],"labels":{{"n":"{id}","u":"{user}"}}}}"#, at(update).0 / 1_000_000);
            let creation = Creation { key: key_of("app", user, id), ..creation(id, &event) };
            created(store.create(&creation.into(), deadline()).await);
            store.place.execute(format!("update sessions set create_time = {} where id = '{id}'", at(time).0)).await;
        }
        store.create(&Creation { key: key_of("elsewhere", "user", "x"), ..creation("x", "{}") }.into(), deadline()).await.unwrap();
        let one = |query: ListQuery| ListQuery { user: Some(user().user), ..query };
        let down = |query: ListQuery| ListQuery { descending: true, ..query };
        let labelled = |labels: &[(&str, &str)], query: ListQuery| {
            let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            ListQuery { labels, ..query }
        };
        let (made, updated) = (|| list(OrderBy::CreateTime), || list(OrderBy::LastUpdateTime));
        for (query, expected) in [
            // Of one time, by user and then by id.
            (made(), "a c b d e"),
            (down(made()), "e d b c a"),
            (one(made()), "a b d"),
            (updated(), "d e b c a"),
            (down(one(updated())), "a b d"),
            (labelled(&[("u", "other")], made()), "c e"),
            (labelled(&[("u", "other"), ("n", "e")], updated()), "e"),
            (labelled(&[("u", "none")], updated()), ""),
        ] {
            assert_eq!(listed(store, &query).await, (expected.to_owned(), false), "{query:?}");
            // Page by page, it is the same.
            for max_rows in [1, 2] {
                assert_eq!(paged(store, &query, max_rows).await, expected, "{max_rows} {query:?}");
            }
        }
        let with_state = ListQuery { with_state: true, ..one(made()) };
        let page = store.sessions(&with_state, now(), deadline()).await.unwrap();
        assert!(page.items.iter().all(|view| state(view) == json("{}")));
        let small = store.sessions(&ListQuery { max_bytes: 1, ..made() }, now(), deadline()).await.unwrap();
        assert_eq!((small.items.len(), small.more), (1, true));
    }

    async fn lists_by_last_update_are_those_of_a_model(store: &TestStore) {
        let mut random = Random(10);
        // The update time of each session, in tenths of seconds.
        let mut model: BTreeMap<(&str, String), i64> = BTreeMap::new();
        let mut last = 0;
        for step in 0..480 {
            let near = last + random.below(150) as i64 - 75;
            // Around 1970 buckets are rounded from both sides.
            let far = [0, 17_000_000_000][random.below(2) as usize] + random.below(400) as i64 - 200;
            last = [near, far, last][random.below(3) as usize];
            let event = format!(r#"{{"id":"e{step}","timestamp":{}}}"#, Micros(last * 100_000).to_number());
            let known: Vec<_> = model.keys().cloned().collect();
            let one = known.get(random.below(known.len() as u64 + 1) as usize);
            // Some sessions change so often that their places are rough, then seldom again.
            match (random.below(16), one) {
                (0, Some((owner, id))) => {
                    let key = key_of("app", owner, id);
                    let head = store.session(&SessionQuery { key: key.clone(), ..head_alone(id) }, deadline()).await.unwrap().unwrap().head;
                    let deletion = Deletion { key, incarnation: head.incarnation, guard: Guard::default(), now: now() };
                    store.delete(&deletion, deadline()).await.unwrap();
                    model.remove(&(*owner, id.clone()));
                }
                (1..=13, Some((owner, id))) => {
                    let append = Append { key: key_of("app", owner, id), ..append(id, &[&event]) };
                    done(store.append(&append.into(), Sharing::Group, deadline()).await);
                    model.insert((*owner, id.clone()), last);
                }
                _ => {
                    let (owner, id) = (["user", "other", "third"][random.below(3) as usize], format!("s{step}"));
                    let body = format!(r#"{{"events":[{event}],"labels":{{"even":"{}"}}}}"#, step % 2 == 0);
                    let creation = Creation { key: key_of("app", owner, &id), ..creation(&id, &body) };
                    created(store.create(&creation.into(), deadline()).await);
                    model.insert((owner, id), last);
                }
            }
            if step % 40 != 39 {
                continue;
            }
            let even = |id: &str| id[1..].parse::<u32>().unwrap() % 2 == 0;
            for descending in [false, true] {
                let all = || ListQuery { descending, ..list(OrderBy::LastUpdateTime) };
                let labels = vec![("even".to_owned(), "true".to_owned())];
                for (query, has) in [
                    (all(), &(|_: &str, _: &str| true) as &dyn Fn(&str, &str) -> bool),
                    (ListQuery { user: Some(user().user), ..all() }, &|owner, _| owner == "user"),
                    (ListQuery { users: Names::patterns(["o*", "user"]), ..all() }, &|owner, _| owner != "third"),
                    (ListQuery { labels: labels.clone(), ..all() }, &|_, id| even(id)),
                    (ListQuery { labels, user: Some(user().user), with_state: true, ..all() }, &|owner, id| owner == "user" && even(id)),
                ] {
                    let mut expected: Vec<_> = model
                        .iter()
                        .filter(|((owner, id), _)| has(owner, id))
                        .map(|((owner, id), time)| (*time, *owner, id.as_str()))
                        .collect();
                    expected.sort();
                    if descending {
                        expected.reverse();
                    }
                    let expected: Vec<&str> = expected.into_iter().map(|(.., id)| id).collect();
                    for max_rows in [1, 3, 100] {
                        assert_eq!(paged(store, &query, max_rows).await, expected.join(" "), "{step} {max_rows} {query:?}");
                    }
                }
            }
        }
    }

    async fn names_come_in_byte_order(store: &TestStore) {
        for (app, user) in [("b", "z"), ("b", "é"), ("b", "Z"), ("B", "u"), ("a", "u"), ("é", "u")] {
            let creation = Creation { key: key_of(app, user, "s"), ..creation("s", "{}") };
            created(store.create(&creation.into(), deadline()).await);
        }
        let apps = async |after: &str, limit| {
            let apps = store.apps(after, limit, &Names::all(), deadline()).await.unwrap();
            apps.iter().map(|app| app.as_str().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(apps("", 9).await, "B a b é");
        assert_eq!(apps("", 2).await, "B a");
        assert_eq!(apps("a", 9).await, "b é");
        assert_eq!(apps("c", 9).await, "é");
        let users = async |after: &str| {
            let users = store.users(&AppName::parse("b").unwrap(), after, 9, &Names::all(), deadline()).await.unwrap();
            users.iter().map(|user| user.as_str().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(users("").await, "Z z é");
        assert_eq!(users("Z").await, "z é");
    }
}
