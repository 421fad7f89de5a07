//! Changes that append no event: metadata, deletion, and app or user state on its own.

use std::sync::Arc;

use futures_util::future::join_all;
use sessiond::domain::command::MetadataUpdate;
use sessiond::domain::session::MetadataPatch;

use super::*;
use crate::support::databases::on_both_databases;

fn update(id: &str, patch: &str) -> MetadataUpdate {
    MetadataUpdate {
        key: key(id),
        patch: MetadataPatch::parse(parsed(patch)).unwrap(),
        guard: Guard::default(),
        shows: Shown::Full,
        now: now(),
    }
}

async fn updated(store: &TestStore, update: MetadataUpdate) -> SessionView {
    store.update_metadata(&update, deadline()).await.unwrap()
}

/// Name and labels, as text.
fn metadata(view: &SessionView) -> (Option<String>, Option<String>) {
    let text = |value: &Option<sessiond::domain::json::RawJson>| value.as_ref().map(|value| value.text().to_owned());
    (text(&view.head.display_name), text(&view.head.labels))
}

#[track_caller]
fn changed(outcome: Result<(Made, ScopeView), Failure>) -> (i64, Value) {
    let (made, view) = outcome.unwrap();
    assert_eq!(made, Made::New);
    (view.revision, json(&view.state))
}

on_both_databases! {
    async fn metadata_is_set_kept_and_cleared(store: &TestStore) {
        store.make("s", r#"{"events":[{"id":"e"}],"displayName":"old"}"#).await;
        let view = updated(store, update("s", r#"{"labels":{"a":"1"},"expireTime":4102444800}"#)).await;
        assert_eq!(metadata(&view), (Some("\"old\"".into()), Some(r#"{"a":"1"}"#.into())));
        assert_eq!((view.head.metadata_revision, view.head.expire_time), (1, Some(Micros(4_102_444_800_000_000))));
        let view = updated(store, update("s", r#"{"displayName":null,"ttl":null}"#)).await;
        assert_eq!(metadata(&view), (None, Some(r#"{"a":"1"}"#.into())));
        assert_eq!((view.head.metadata_revision, view.head.expire_time), (2, None));
        // Nothing is asked for, and nothing changes.
        let view = updated(store, update("s", "{}")).await;
        assert_eq!((view.head.metadata_revision, view.head.revision), (2, 1));
        assert_eq!((events(&view), metadata(&store.shown("s").await.unwrap())), (vec!["e".to_owned()], metadata(&view)));
        let minimal = MetadataUpdate { shows: Shown::Minimal, ..update("s", "{}") };
        assert_head(&updated(store, minimal).await, 1);
        // An append goes on from there.
        assert_eq!(store.add("s", &[r#"{"id":"f"}"#]).await.tag.metadata, 2);
    }

    async fn metadata_of_what_is_not_there_or_has_changed_is_left(store: &TestStore) {
        store.make("s", "{}").await;
        store.make("expired", r#"{"expireTime":1}"#).await;
        for id in ["none", "expired"] {
            let outcome = store.update_metadata(&update(id, r#"{"displayName":"n"}"#), deadline()).await;
            assert_eq!(refused(outcome), Refusal::SessionNotFound);
        }
        let stale = MetadataUpdate { guard: only_if("\"1\""), ..update("s", r#"{"displayName":"n"}"#) };
        let outcome = store.update_metadata(&stale, deadline()).await;
        assert_eq!(refused(outcome), mismatch(0, 0, 0));
        assert_eq!(store.shown("s").await.unwrap().head.metadata_revision, 0);
        let fits = MetadataUpdate { guard: only_if("\"0\""), ..update("s", r#"{"displayName":"n"}"#) };
        assert_eq!(updated(store, fits).await.head.metadata_revision, 1);
    }

    async fn an_expiry_in_the_past_ends_a_session(store: &TestStore) {
        store.make("s", "{}").await;
        updated(store, update("s", r#"{"expireTime":1}"#)).await;
        assert!(store.shown("s").await.is_none());
        let late = append("s", &[r#"{"id":"e"}"#]);
        let outcome = store.append(&late.into(), Sharing::Group, deadline()).await;
        assert_eq!(refused(outcome), Refusal::SessionNotFound);
    }

    async fn a_deletion_takes_the_incarnation_that_it_means_and_no_later_one(store: &TestStore) {
        let first = store.make("s", r#"{"state":{"k":1,"user:k":1},"events":[{"id":"e"}]}"#).await;
        let deletion = Deletion { key: key("s"), incarnation: first.head.incarnation, guard: only_if("\"7\""), now: now() };
        assert_eq!(refused(store.delete(&deletion, deadline()).await), mismatch(1, 1, 0));
        let deletion = Deletion { guard: only_if("\"1\""), ..deletion };
        store.delete(&deletion, deadline()).await.unwrap();
        assert!(store.shown("s").await.is_none());
        assert!(store.event(&key("s"), &EventId::parse("e").unwrap(), now(), deadline()).await.unwrap().is_none());
        assert!(store.value(&key("s"), Scope::Session, "k", now(), deadline()).await.unwrap().is_none());
        assert_eq!(store.scope_of(&of_user()).await.revision, 1);
        // A second try, after somebody has made it anew: not what was meant.
        let second = store.make("s", "{}").await;
        store.delete(&deletion, deadline()).await.unwrap();
        assert_eq!(store.shown("s").await.unwrap().head.incarnation, second.head.incarnation);
        assert_eq!(state(&store.shown("s").await.unwrap()), json(r#"{"user:k":1}"#));
        let never = Deletion { key: key("none"), incarnation: 1, guard: only_if("\"1\""), now: now() };
        store.delete(&never, deadline()).await.unwrap();
    }

    async fn a_scope_changes_on_its_own(store: &TestStore) {
        for scope in [app(), of_user()] {
            let write = async |body: &str| changed(store.write_scope(&scope_write(scope.clone(), body), deadline()).await);
            assert_eq!(write(r#"{"stateDelta":{"k":1,"l":[]}}"#).await, (1, json(r#"{"k":1,"l":[]}"#)));
            let ops = r#"{"stateOps":[{"op":"append","key":"l","value":[1]},{"op":"remove","key":"k"}]}"#;
            assert_eq!(write(ops).await, (2, json(r#"{"l":[1]}"#)));
            // What changes nothing is no change.
            assert_eq!(write(r#"{"stateOps":[{"op":"remove","key":"k"}]}"#).await, (2, json(r#"{"l":[1]}"#)));
            assert_eq!(write("{}").await.0, 2);
            let held = r#"{"stateDelta":{"k":2},"preconditions":[{"key":"k","exists":false},{"key":"l","equals":[1.0]}]}"#;
            assert_eq!(write(held).await.0, 3);
            let shown = store.scope_of(&scope).await;
            assert_eq!((shown.revision, json(&shown.state)), (3, json(r#"{"k":2,"l":[1]}"#)));
        }
        // Sessions show it.
        let view = store.make("s", "{}").await;
        assert_eq!((revisions(&view), state(&view)["app:k"].clone()), ((0, 3, 3), Value::from(2)));
    }

    async fn a_change_of_a_scope_that_is_refused_changes_nothing(store: &TestStore) {
        for scope in [app(), of_user()] {
            let refused = async |write: ScopeWrite| refused(store.write_scope(&write, deadline()).await);
            changed(store.write_scope(&scope_write(scope.clone(), r#"{"stateDelta":{"k":"text"}}"#), deadline()).await);
            let sets = r#"{"stateDelta":{"new":1}}"#;
            let stale = ScopeWrite { if_match: if_match("\"0\""), ..scope_write(scope.clone(), sets) };
            let expected = Mismatch { revision: 1, shared: None, failed: Vec::new() };
            assert_eq!(refused(stale).await, Refusal::RevisionMismatch(expected));
            let fails = r#"{"stateDelta":{"new":1},"preconditions":[{"key":"k","revision":0}]}"#;
            let refusal = refused(scope_write(scope.clone(), fails)).await;
            assert!(matches!(&refusal, Refusal::RevisionMismatch(found) if found.failed.len() == 1), "{refusal:?}");
            let operator = r#"{"stateDelta":{"new":1},"stateOps":[{"op":"increment","key":"k","value":1}]}"#;
            let refusal = refused(scope_write(scope.clone(), operator)).await;
            assert!(matches!(refusal, Refusal::Rejected(_)), "{refusal:?}");
            let shown = store.scope_of(&scope).await;
            assert_eq!((shown.revision, json(&shown.state)), (1, json(r#"{"k":"text"}"#)));
        }
    }

    async fn a_request_changes_a_scope_once(store: &TestStore) {
        for scope in [app(), of_user()] {
            let more = r#"{"stateOps":[{"op":"increment","key":"n","value":1}]}"#;
            let of = |asks: &str| ScopeWrite { request: request("r", asks), ..scope_write(scope.clone(), more) };
            assert_eq!(changed(store.write_scope(&of("this"), deadline()).await), (1, json(r#"{"n":1}"#)));
            let (made, view) = store.another().await.write_scope(&of("this"), deadline()).await.unwrap();
            assert_eq!((made, view.revision, json(&view.state)), (Made::Before, 1, json(r#"{"n":1}"#)));
            let other = store.write_scope(&of("that"), deadline()).await;
            assert_eq!(refused(other), Refusal::PatchKeyConflict);
            // One that changes nothing is remembered as well.
            let nothing = ScopeWrite { request: request("nothing", "x"), ..scope_write(scope.clone(), "{}") };
            assert_eq!(changed(store.write_scope(&nothing, deadline()).await).0, 1);
            let (made, _) = store.write_scope(&nothing, deadline()).await.unwrap();
            assert_eq!(made, Made::Before);
        }
    }

    async fn changes_of_a_scope_and_appends_at_once_lose_nothing(store: &TestStore) {
        let stores = [store.another().await, store.another().await];
        store.make("s", "{}").await;
        let writes = (0..24).map(|n| {
            let store = &stores[n % 2];
            async move {
                let more = r#"{"stateOps":[{"op":"increment","key":"n","value":1}]}"#;
                let event = format!(
                    r#"{{"id":"e{n}","actions":{{"stateOps":[{{"op":"increment","key":"app:n","value":1}},
                        {{"op":"increment","key":"user:n","value":1}}]}}}}"#
                );
                match n % 3 {
                    0 => {
                        let write = ScopeWrite { request: request(&format!("r{n}"), "x"), ..scope_write(app(), more) };
                        settled(async || store.write_scope(&write, deadline()).await).await.map(drop).unwrap();
                    }
                    1 => {
                        let write = ScopeWrite { request: request(&format!("r{n}"), "x"), ..scope_write(of_user(), more) };
                        settled(async || store.write_scope(&write, deadline()).await).await.map(drop).unwrap();
                    }
                    _ => {
                        let append = Arc::new(append("s", &[&event]));
                        done(settled(async || store.append(&append, Sharing::Group, deadline()).await).await);
                    }
                }
            }
        });
        join_all(writes).await;
        for scope in [app(), of_user()] {
            let shown = store.scope_of(&scope).await;
            assert_eq!((shown.revision, json(&shown.state)), (16, json(r#"{"n":16}"#)), "{scope:?}");
        }
        assert_eq!(state(&store.shown("s").await.unwrap()), json(r#"{"app:n":16,"user:n":16}"#));
    }
}
