//! Keys, the secret and the epochs of tokens, lists within a grant, and the empty store.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use futures_util::future::join_all;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use sessiond::domain::access::{ApiKey, Grant, Names, Role};
use sessiond::domain::query::{ListQuery, MomentQuery, OrderBy, StatePart};
use sessiond::store::Reads;
use sessiond::store::error::Cause;
use sessiond::store::nowhere::Nowhere;

use super::read::{list, paged};
use super::*;
use crate::support::databases::on_both_databases;

const HOUR: i64 = 3_600_000_000;

fn grant(role: Role, apps: &[&str], users: &[&str]) -> Grant {
    Grant { role, apps: Names::patterns(apps.iter().copied()), users: Names::patterns(users.iter().copied()) }
}

pub fn api_key(id: &str) -> ApiKey {
    ApiKey {
        id: id.to_owned(),
        name: format!("the key {id}"),
        digest: [7; 32],
        grant: grant(Role::Agent, &["shop-*", "bank"], &["*"]),
        create_time: Micros(5),
        expire_time: None,
        last_used_time: None,
    }
}

async fn found(store: &TestStore, id: &str) -> Option<ApiKey> {
    store.api_key(id, deadline()).await.unwrap()
}

async fn inserted(store: &TestStore, key: &ApiKey) {
    store.insert_api_key(key, deadline()).await.unwrap();
}

/// What each read answers.
async fn reads(store: &dyn Reads) -> Vec<String> {
    fn shown(answer: Result<impl Debug, StoreError>) -> String {
        format!("{:?}", answer.unwrap())
    }
    let moment =
        |revision| MomentQuery { key: key("s"), revision, part: StatePart::Keys(StateFilter::default()), now: now() };
    let (event, app_name) = (EventId::parse("e").unwrap(), user().app);
    let of_user = ListQuery { user: Some(user().user), with_state: true, ..list(OrderBy::CreateTime) };
    let all = Names::all();
    vec![
        shown(store.check(deadline()).await),
        shown(store.moment(&moment(0), deadline()).await),
        shown(store.moment(&moment(9), deadline()).await),
        shown(store.session(&whole("s"), deadline()).await),
        shown(store.session(&head_alone("s"), deadline()).await),
        shown(store.event(&key("s"), &event, now(), deadline()).await),
        shown(store.value(&key("s"), Scope::App, "k", now(), deadline()).await),
        shown(store.scope(&app(), &ScopePart::Whole, deadline()).await),
        shown(store.scope(&ScopeKey::User(user()), &ScopePart::Whole, deadline()).await),
        shown(store.sessions(&list(OrderBy::LastUpdateTime), now(), deadline()).await),
        shown(store.sessions(&of_user, now(), deadline()).await),
        shown(store.apps("", 9, &all, deadline()).await),
        shown(store.users(&app_name, "", 9, &all, deadline()).await),
        shown(store.has_keys(deadline()).await),
        shown(store.api_key("k", deadline()).await),
        shown(store.api_keys("", 9, deadline()).await),
        shown(store.token_epoch(&user(), deadline()).await),
    ]
}

on_both_databases! {
    async fn a_key_is_there_until_it_is_revoked(store: &TestStore) {
        assert!(!store.has_keys(deadline()).await.unwrap());
        assert_eq!(found(store, "k").await, None);
        let key = ApiKey { name: "a \\ \0 \"name\"".to_owned(), last_used_time: Some(Micros(6)), ..api_key("k") };
        let other = ApiKey { expire_time: Some(Micros(9)), digest: [8; 32], ..api_key("other") };
        for key in [&key, &other] {
            inserted(store, key).await;
            assert_eq!(found(store, &key.id).await.as_ref(), Some(key));
        }
        assert!(store.has_keys(deadline()).await.unwrap());
        // The same call again is the same; another key does not take its place.
        inserted(store, &key).await;
        let taken = store.insert_api_key(&ApiKey { digest: [9; 32], ..key.clone() }, deadline()).await.unwrap_err();
        assert_eq!((taken.cause, taken.is_transient()), (Cause::Internal, false));
        assert_eq!(found(store, "k").await, Some(key.clone()));

        let changed = ApiKey {
            name: "another".to_owned(),
            grant: grant(Role::User, &["é\"", "\\n*"], &["u\u{10ffff}"]),
            expire_time: Some(Micros(7)),
            ..key.clone()
        };
        // What is no part of a change stays.
        let asked = ApiKey { digest: [1; 32], create_time: Micros(1), last_used_time: None, ..changed.clone() };
        let change = async |from: &ApiKey, to: &ApiKey| store.change_api_key(from, to, deadline()).await.unwrap();
        assert!(change(&key, &asked).await);
        assert_eq!(found(store, "k").await, Some(changed.clone()));
        // Whoever has read it before the change changes nothing; when it was used does not count.
        let endless = ApiKey { expire_time: None, ..changed.clone() };
        assert!(!change(&key, &endless).await);
        for other in [
            ApiKey { name: "n".to_owned(), ..changed.clone() },
            ApiKey { grant: grant(Role::Reader, &["\u{e9}\"", "\\n*"], &["u\u{10ffff}"]), ..changed.clone() },
            ApiKey { expire_time: Some(Micros(8)), ..changed.clone() },
        ] {
            assert!(!change(&other, &endless).await, "{other:?}");
        }
        assert_eq!(found(store, "k").await, Some(changed.clone()));
        assert!(change(&ApiKey { last_used_time: None, ..changed.clone() }, &endless).await);
        assert_eq!(found(store, "k").await, Some(endless.clone()));
        assert!(!change(&api_key("none"), &api_key("none")).await);

        let revoke = async |id: &str, time| store.revoke_api_key(id, Micros(time), deadline()).await.unwrap();
        assert!(!revoke("none", 10).await);
        assert!(revoke("k", 10).await);
        // A try after one whose answer was lost.
        assert!(revoke("k", 10).await);
        assert!(!revoke("k", 11).await);
        assert_eq!(found(store, "k").await, None);
        assert!(!change(&endless, &asked).await);
        store.touch_api_key("k", Micros(20 * HOUR), deadline()).await.unwrap();
        assert!(store.insert_api_key(&key, deadline()).await.is_err());
        assert_eq!(found(store, "k").await, None);
        let left = "select count(*) from api_keys where id = 'k' and revoke_time = 10 and digest is null and last_used_time = 6";
        assert_eq!(store.place.number(left).await, 1);
        assert_eq!(found(store, "other").await, Some(other));
        assert!(revoke("other", 12).await);
        assert!(store.has_keys(deadline()).await.unwrap());
    }

    async fn keys_are_listed_by_their_ids_in_byte_order(store: &TestStore) {
        for id in ["b", "é", "B", "a", "gone", "expired"] {
            let expire_time = (id == "expired").then_some(Micros(1));
            inserted(store, &ApiKey { expire_time, ..api_key(id) }).await;
        }
        assert!(store.revoke_api_key("gone", now(), deadline()).await.unwrap());
        let listed = async |after: &str, limit| {
            let keys = store.api_keys(after, limit, deadline()).await.unwrap();
            assert!(keys.iter().all(|key| key.name == format!("the key {}", key.id)));
            keys.into_iter().map(|key| key.id).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(listed("", 9).await, "B a b expired é");
        assert_eq!(listed("", 2).await, "B a");
        assert_eq!(listed("a", 2).await, "b expired");
        assert_eq!(listed("f", 1).await, "é");
        assert_eq!(listed("é", 9).await, "");
    }

    async fn the_use_of_a_key_is_noted_once_an_hour(store: &TestStore) {
        inserted(store, &api_key("k")).await;
        inserted(store, &api_key("other")).await;
        let first = 100 * HOUR;
        for (time, noted) in [
            (first, first),
            (first + HOUR, first),
            (first - 50 * HOUR, first),
            (first + HOUR + 1, first + HOUR + 1),
            (first + 2 * HOUR + 1, first + HOUR + 1),
            (first + 9 * HOUR, first + 9 * HOUR),
        ] {
            store.touch_api_key("k", Micros(time), deadline()).await.unwrap();
            assert_eq!(found(store, "k").await.unwrap().last_used_time, Some(Micros(noted)), "{time}");
        }
        store.touch_api_key("none", Micros(first), deadline()).await.unwrap();
        assert_eq!(found(store, "other").await, Some(api_key("other")));
    }

    /// It would come back as a prefix, and allow more than was given.
    async fn a_key_has_no_literal_name_that_looks_like_a_prefix(store: &TestStore) {
        inserted(store, &api_key("k")).await;
        let literal = Names::literal(["a*"]);
        let unlimited = Grant::unlimited();
        for grant in [Grant { apps: literal.clone(), ..unlimited.clone() }, Grant { users: literal, ..unlimited }] {
            assert!(store.insert_api_key(&ApiKey { grant: grant.clone(), ..api_key("l") }, deadline()).await.is_err());
            let literal = ApiKey { grant, ..api_key("k") };
            assert!(store.change_api_key(&api_key("k"), &literal, deadline()).await.is_err());
        }
        assert_eq!(found(store, "l").await, None);
        assert_eq!(found(store, "k").await, Some(api_key("k")));
        let starred = grant(Role::Reader, &["a*b"], &["*b", "**"]);
        inserted(store, &ApiKey { grant: starred.clone(), ..api_key("l") }).await;
        assert_eq!(found(store, "l").await.unwrap().grant, starred);
    }

    async fn all_draw_one_secret(store: &TestStore) {
        let other = store.another().await;
        for round in 0..10_u8 {
            let draws = [[round; 32], [round + 100; 32]];
            let (one, two) =
                tokio::join!(store.token_secret(draws[0], deadline()), other.token_secret(draws[1], deadline()));
            let secret = one.unwrap();
            assert!(draws.contains(&secret));
            assert_eq!(two.unwrap(), secret);
            assert_eq!(other.token_secret([255; 32], deadline()).await.unwrap(), secret);
            assert_eq!(store.token_secret([254; 32], deadline()).await.unwrap(), secret);
            store.place.execute("delete from token_secrets").await;
        }
    }

    async fn no_revocation_of_tokens_is_lost(store: &TestStore) {
        let epoch = async |key: &SessionKey| store.token_epoch(&key.user, deadline()).await.unwrap();
        assert_eq!(epoch(&key("s")).await, 0);
        let other = store.another().await;
        let revocations = (0..10).map(|n| {
            let store = if n % 2 == 0 { &**store } else { &other };
            async move { store.revoke_tokens(&user(), deadline()).await.unwrap() }
        });
        let mut epochs = join_all(revocations).await;
        epochs.sort_unstable();
        assert_eq!(epochs, (1..=10).collect::<Vec<_>>());
        assert_eq!(epoch(&key("s")).await, 10);
        for (app, user) in [("app", "other"), ("other", "user"), ("user", "app")] {
            assert_eq!(epoch(&key_of(app, user, "s")).await, 0);
        }
    }

    /// Each list of random names, within random ones, is what a model says, page by page.
    async fn lists_within_a_grant_hold_all_of_it_and_nothing_else(store: &TestStore) {
        let mut runner = TestRunner::default();
        let mut draw_name = {
            let name = "[ab*é \u{10ffff}]{1,3}";
            move || (&name).new_tree(&mut runner).unwrap().current()
        };
        let (mut apps, mut users) = (BTreeSet::new(), BTreeMap::<String, BTreeSet<String>>::new());
        // Some have sessions, some state alone.
        for n in 0..40 {
            let (app, user) = (if n % 2 == 0 { "app".to_owned() } else { draw_name() }, draw_name());
            let key = key_of(&app, &user, "s");
            let scope = match n % 3 {
                0 => ScopeKey::User(key.user.clone()),
                1 => ScopeKey::App(key.user.app.clone()),
                _ => {
                    // A name that was drawn before has its session.
                    match store.create(&Creation { key: key.clone(), ..creation("s", "{}") }.into(), deadline()).await {
                        Ok(_) | Err(Failure::Refused(Refusal::SessionAlreadyExists)) => {}
                        Err(failure) => panic!("{failure:?}"),
                    }
                    ScopeKey::User(key.user)
                }
            };
            if n % 3 < 2 {
                store.write_scope(&scope_write(scope.clone(), r#"{"stateDelta":{"k":1}}"#), deadline()).await.unwrap();
            }
            if let ScopeKey::User(_) = scope {
                users.entry(app.clone()).or_default().insert(user);
            }
            apps.insert(app);
        }
        let mut sessions = Vec::new();
        for n in 0..40_i64 {
            let (owner, id) = (draw_name(), format!("{n}"));
            let (made, updated) = (Micros((n % 5 + 1) * 1_000_000), Micros((n * 7 % 6 + 1) * 1_000_000));
            let event = format!(r#"{{"events":[{{"timestamp":{}}}]}}"#, updated.0 / 1_000_000);
            let creation = Creation { key: key_of("listed", &owner, &id), ..creation(&id, &event) };
            created(store.create(&creation.into(), deadline()).await);
            let made_at = format!("update sessions set create_time = {} where app_name = 'listed' and id = '{id}'", made.0);
            store.place.execute(made_at).await;
            sessions.push((made, updated, owner, id));
        }
        apps.insert("listed".to_owned());

        for n in 0..60 {
            // From none to four, literal or patterns.
            let texts: Vec<String> = (0..n % 5).map(|m| draw_name() + if m % 2 == 0 { "*" } else { "" }).collect();
            let texts = texts.iter().map(String::as_str);
            let within = match n {
                0..5 => Names::all(),
                _ if n % 3 == 0 => Names::literal(texts),
                _ => Names::patterns(texts),
            };
            let after = if n % 2 == 0 { String::new() } else { draw_name() };
            for limit in [1, 3, 100] {
                let case = format!("{limit} after {after:?} within {within:?}");
                let expected = |names: &BTreeSet<String>| -> Vec<String> {
                    let names = names.iter().filter(|name| **name > after && within.allows(name));
                    names.take(limit).cloned().collect()
                };
                let found = store.apps(&after, limit, &within, deadline()).await.unwrap();
                let found: Vec<String> = found.iter().map(|app| app.as_str().to_owned()).collect();
                assert_eq!(found, expected(&apps), "{case} of {apps:?}");
                for (app, users) in users.iter().take(if limit == 3 { 4 } else { 1 }) {
                    let found = store.users(&AppName::parse(app).unwrap(), &after, limit, &within, deadline()).await;
                    let found: Vec<String> = found.unwrap().iter().map(|user| user.as_str().to_owned()).collect();
                    assert_eq!(found, expected(users), "{case} of {users:?}");
                }
            }

            let order_by = if n % 2 == 0 { OrderBy::CreateTime } else { OrderBy::LastUpdateTime };
            let only = (n % 4 == 3).then(|| sessions[n % sessions.len()].2.clone());
            // One in four is of one literal name, which is found by the index of its user.
            let users = if n % 4 == 1 { Names::literal([&*sessions[n % sessions.len()].2]) } else { within };
            let mut expected: Vec<_> = sessions
                .iter()
                .filter(|(.., owner, _)| users.allows(owner) && only.as_ref().is_none_or(|only| only == owner))
                .map(|(made, updated, owner, id)| (if n % 2 == 0 { made } else { updated }, owner, id))
                .collect();
            expected.sort();
            let descending = n % 7 < 3;
            if descending {
                expected.reverse();
            }
            let expected: Vec<&str> = expected.into_iter().map(|(.., id)| &**id).collect();
            let user = only.as_deref().map(|only| UserId::parse(only).unwrap());
            let app = AppName::parse("listed").unwrap();
            let query = ListQuery { app, user, users, descending, with_state: n % 6 == 0, ..list(order_by) };
            for max_rows in [3, 100] {
                assert_eq!(paged(store, &query, max_rows).await, expected.join(" "), "{max_rows} {query:?} of {sessions:?}");
            }
        }
    }

    async fn nowhere_reads_like_an_empty_database(store: &TestStore) {
        assert_eq!(reads(&Nowhere).await, reads(&***store).await);
        let nowhere: &dyn Reads = &Nowhere;
        let clock = nowhere.clock(deadline()).await.unwrap();
        assert!(matches!(store.place, Place::Postgres(_)) || clock == store.clock(deadline()).await.unwrap());
    }
}
