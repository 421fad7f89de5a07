//! Many concurrent writers. The service may choose the order of their requests, but there must be one: when the model
//! repeats them in the order of the revisions, it must agree with the service at each revision.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    reference::{Change, Op, Operator, Sent},
    value::{Json, State},
};
use crate::support::binary::{PATIENT, together};
use crate::support::client::Client;
use crate::support::databases::{Place, on_both_databases};

const USERS: usize = 2;
/// Of each user. The last one is rewound meanwhile.
const SESSIONS: usize = 3;
const WRITERS: usize = 8;
const ROUNDS: usize = 25;
/// How often somebody forks, rewinds, looks back.
const TURNS: usize = 24;

on_both_databases!(writers_at_once_come_to_what_they_do_one_by_one);

async fn writers_at_once_come_to_what_they_do_one_by_one(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    for session in all_sessions() {
        fleet.api(0).put(&session).json(json!({"state": {"list": ["initial"]}})).await.expect(201);
    }
    let writers = together((0..WRITERS).map(|n| write(fleet.api(n), n)));
    let patches = together([USER, APP].map(|path| patch(fleet.api(0), path)));
    let (sent, patches, seen, (), ()) =
        tokio::join!(writers, patches, look_back(fleet.api(1)), rewind(fleet.api(0)), fork(fleet.api(1)));

    let sent: HashMap<String, Change> = sent.into_iter().flatten().map(|sent| (sent.id, sent.change)).collect();
    let mut logs = Vec::new();
    for user in 0..USERS {
        let list = fleet.api(user).get(sessions(user)).await.expect(200).json();
        for session in list["sessions"].as_array().unwrap() {
            logs.push(Log::read(&fleet.api(1), user, session["id"].as_str().unwrap()).await);
        }
    }
    let (forks, logs): (Vec<Log>, Vec<Log>) = logs.into_iter().partition(|log| log.fork.is_some());
    assert!(!forks.is_empty());
    for fork in forks {
        fork.check_fork(&logs);
    }
    assert_eq!(
        logs.iter().flat_map(|log| &log.events).filter(|event| sent.contains_key(id(event))).count(),
        sent.len()
    );
    for log in &logs {
        log.check_own_keys(&sent);
    }
    let [patches_of_user, patches_of_app] = &patches[..] else { panic!("two scopes") };
    for user in 0..USERS {
        let logs: Vec<&Log> = logs.iter().filter(|log| log.user == user).collect();
        let patches = if user == 0 { &patches_of_user[..] } else { &[] };
        check_shared_keys(&logs, "user:", patches, &sent);
    }
    check_shared_keys(&logs.iter().collect::<Vec<_>>(), "app:", patches_of_app, &sent);
    for (path, text) in seen {
        assert_eq!(fleet.api(0).get(&path).await.expect(200).text(), text, "the past does not change: {path}");
    }
    fleet.verify().await;
}

const APP: &str = "/v1/apps/a/state";
const USER: &str = "/v1/apps/a/users/u0/state";

fn sessions(user: usize) -> String {
    format!("/v1/apps/a/users/u{user}/sessions")
}

fn session(user: usize, session: usize) -> String {
    format!("{}/s{session}", sessions(user))
}

fn all_sessions() -> impl Iterator<Item = String> {
    (0..USERS * SESSIONS).map(|n| session(n / SESSIONS, n % SESSIONS))
}

fn id(event: &Json) -> &str {
    event.text("id").expect("an id")
}

/// Requests of one to three events, in all sessions in turn. Returns what was sent, all of which was stored.
async fn write(api: Client, writer: usize) -> Vec<Sent> {
    let mut all = Vec::new();
    for round in 0..ROUNDS {
        let path = session((writer + round) % USERS, (writer + round / USERS) % SESSIONS);
        let events: Vec<Sent> = (0..=round % 3).map(|n| event(writer, &format!("{writer}-{round}-{n}"))).collect();
        let body = Json::Array(events.iter().map(Sent::to_json).collect()).to_string();
        api.post(format!("{path}/events")).json(body).await.expect(201);
        all.extend(events);
    }
    all
}

/// A key that only this writer sets, one that all increment and one that all append to, in one scope or in all.
fn event(writer: usize, id: &str) -> Sent {
    let scopes = match id.bytes().map(usize::from).sum::<usize>() % 4 {
        0 => vec![""],
        1 => vec!["user:"],
        2 => vec!["app:"],
        _ => vec!["", "user:", "app:"],
    };
    let mut change = Change::default();
    for scope in scopes {
        change.delta.insert(format!("{scope}w{writer}"), Json::string(id));
        for (operator, key, value) in [
            (Operator::Increment, "n", Json::Number("1".to_owned())),
            (Operator::Append, "list", Json::Array(vec![Json::string(id)])),
        ] {
            change.ops.push(Op { operator, key: format!("{scope}{key}"), value });
        }
    }
    let (author, invocation) = ("writer".to_owned(), format!("i{writer}"));
    Sent { id: id.to_owned(), author, invocation, change, rewinds_before: None }
}

/// Increments of a scope on its own: the revision that each came to, and what was there then.
async fn patch(api: Client, path: &'static str) -> Vec<(i64, State)> {
    let mut patches = Vec::new();
    for _ in 0..ROUNDS {
        let answer = api.patch(path).json(json!({"stateOps": [{"op": "increment", "key": "n", "value": 1}]})).await;
        let revision = answer.header("etag").unwrap().trim_matches('"').parse().unwrap();
        patches.push((revision, Json::parse(answer.expect(200).text()).into_state()));
    }
    patches
}

/// Sessions in turn, each with the revision that it has by then.
async fn turn(api: &Client, sessions: &[String], turn: usize) -> (String, usize) {
    sleep(Duration::from_millis(20)).await;
    let path = sessions[turn % sessions.len()].clone();
    let current = index(&api.get(format!("{path}?numRecentEvents=0")).await.expect(200).json()["revision"]);
    (path, current)
}

/// Some revision before this one.
fn before(revision: usize, turn: usize) -> usize {
    turn * 7 % revision.max(1)
}

async fn rewind(api: Client) {
    let sessions: Vec<String> = (0..USERS).map(|user| session(user, SESSIONS - 1)).collect();
    for n in 0..TURNS {
        let (path, current) = turn(&api, &sessions, n).await;
        let answer = api.post(format!("{path}/rewind")).json(json!({"toRevision": before(current, n)})).await;
        // There is nothing to rewind before the first event.
        assert!(answer.status == 200 || current == 0, "{answer:?}");
    }
}

/// Forks what is there just then, and what was there before.
async fn fork(api: Client) {
    let sessions: Vec<String> = all_sessions().collect();
    for n in 0..TURNS {
        let (path, current) = turn(&api, &sessions, n).await;
        for body in [json!({}), json!({"atRevision": before(current, n)})] {
            api.post(format!("{path}/fork")).json(&body).await.expect(201);
        }
    }
}

/// What was seen of the past while it was near.
async fn look_back(api: Client) -> Vec<(String, String)> {
    let sessions: Vec<String> = all_sessions().collect();
    let mut seen = Vec::new();
    for n in 0..TURNS {
        let (path, current) = turn(&api, &sessions, n).await;
        for revision in [current, before(current, n)] {
            let path = format!("{path}/state?atRevision={revision}");
            let text = api.get(&path).await.expect(200).text().to_owned();
            seen.push((path, text));
        }
    }
    seen
}

/// All that can be known of a session.
struct Log {
    user: usize,
    id: String,
    fork: Option<(String, usize)>,
    events: Vec<Json>,
    /// For each revision from 0: the revisions of the shared scopes, and the merged state.
    moments: Vec<Moment>,
}

#[derive(Debug, PartialEq)]
struct Moment {
    shared: BTreeMap<&'static str, i64>,
    state: State,
}

impl Log {
    async fn read(api: &Client, user: usize, id: &str) -> Self {
        let path = format!("{}/{id}", sessions(user));
        let answer = api.get(&path).await.expect(200);
        let session = answer.json();
        let Some(Json::Array(events)) = Json::parse(answer.text()).get("events").cloned() else { panic!("no events") };
        let sequences: Vec<i64> =
            session["events"].as_array().unwrap().iter().map(|event| event["sequence"].as_i64().unwrap()).collect();
        assert_eq!(sequences, (1..=session["revision"].as_i64().unwrap()).collect::<Vec<_>>(), "dense and in order");
        let fork = &session["forkedFrom"];
        let fork = fork["sessionId"].as_str().map(|id| (id.to_owned(), index(&fork["revision"])));
        let mut moments = Vec::new();
        for revision in 0..=events.len() {
            let state = api.get(format!("{path}/state?atRevision={revision}")).await.expect(200);
            let [shown, user, app, _] = state.tag_parts();
            assert_eq!(shown, revision.to_string());
            let shared = BTreeMap::from([("user:", user.parse().unwrap()), ("app:", app.parse().unwrap())]);
            moments.push(Moment { shared, state: Json::parse(state.text()).into_state() });
        }
        let now = Json::parse(answer.text()).get("state").cloned().unwrap().into_state();
        assert_eq!(part(&now, ""), part(&moments[events.len()].state, ""), "the last moment of session keys is now");
        Self { user, id: id.to_owned(), fork, events, moments }
    }

    /// It has the past of its source, event by event and moment by moment.
    fn check_fork(&self, logs: &[Self]) {
        let (id, revision) = self.fork.as_ref().unwrap();
        let source = logs.iter().find(|log| log.user == self.user && log.id == *id).unwrap();
        assert_eq!(self.events, source.events[..*revision]);
        assert_eq!(self.moments, source.moments[..=*revision]);
    }

    fn check_own_keys(&self, sent: &HashMap<String, Change>) {
        let mut state = part(&self.moments[0].state, "");
        let mut ids = BTreeSet::new();
        for (event, moment) in self.events.iter().zip(&self.moments[1..]) {
            let metadata = |name: &str| event.get("customMetadata").and_then(|metadata| metadata.get(name));
            match (sent.get(id(event)), metadata("rewindToRevision"), metadata("rewindCopyOf")) {
                (Some(change), None, None) => redo(&mut state, change, ""),
                (None, Some(Json::Number(revision)), None) => {
                    state = part(&self.moments[revision.parse::<usize>().unwrap()].state, "");
                }
                // What stays of an invocation that a rewind cut in two; it changes nothing.
                (None, None, Some(Json::String(source))) if ids.contains(&**source) => {}
                _ => panic!("nobody sent {event}"),
            }
            ids.insert(id(event));
            assert_eq!(part(&moment.state, ""), state, "after {event}");
        }
    }
}

fn index(number: &Value) -> usize {
    number.as_u64().and_then(|number| number.try_into().ok()).expect("a number")
}

/// The keys of one scope.
fn part(state: &State, scope: &str) -> State {
    state.clone().into_iter().filter(|(key, _)| scope_of(key) == scope).collect()
}

fn scope_of(key: &str) -> &str {
    key.find(':').map_or("", |colon| &key[..=colon])
}

/// Does to the keys of one scope what was asked.
fn redo(state: &mut State, change: &Change, scope: &str) {
    state.extend(part(&change.delta, scope));
    for op in change.ops.iter().filter(|op| scope_of(&op.key) == scope) {
        let value = op.applied(state.get(&op.key)).expect("it was possible");
        state.extend(value.map(|value| (op.key.clone(), value)));
    }
}

/// Each revision of a shared scope is due to one request, and shows what that one made of the revision before. All
/// moments of all sessions that saw a revision show the same.
fn check_shared_keys(logs: &[&Log], scope: &'static str, patches: &[(i64, State)], sent: &HashMap<String, Change>) {
    // Who wrote it, and what: in the order of revisions, and within one in that of the request.
    let mut writes: BTreeMap<i64, (String, Vec<&Change>)> = BTreeMap::new();
    for log in logs {
        for (event, moment) in log.events.iter().zip(&log.moments[1..]) {
            let Some(change) = sent.get(id(event)).filter(|change| !part(&change.delta, scope).is_empty()) else {
                continue;
            };
            let request = id(event).rsplit_once('-').unwrap().0.to_owned();
            let (writer, changes) = writes.entry(moment.shared[scope]).or_insert((request.clone(), Vec::new()));
            assert_eq!(*writer, request, "one revision, two writers");
            changes.push(change);
        }
    }
    let one = Op { operator: Operator::Increment, key: format!("{scope}n"), value: Json::Number("1".to_owned()) };
    let increment = Change { ops: vec![one], ..Change::default() };
    for (revision, _) in patches {
        let before = writes.insert(*revision, ("a patch".to_owned(), vec![&increment]));
        assert!(before.is_none(), "one revision, two writers: {revision}");
    }
    let revisions: Vec<i64> = writes.keys().copied().collect();
    assert_eq!(revisions, (1..).take(revisions.len()).collect::<Vec<_>>(), "each revision is due to somebody");

    let mut states = vec![State::new()];
    for (_, changes) in writes.values() {
        let mut state = states.last().unwrap().clone();
        changes.iter().for_each(|change| redo(&mut state, change, scope));
        states.push(state);
    }
    let at = |revision: i64| &states[usize::try_from(revision).unwrap()];
    for log in logs {
        let mut last = 0;
        for (revision, moment) in log.moments.iter().enumerate() {
            let shared = moment.shared[scope];
            assert!(last <= shared, "the shared scopes of a session's events never go backwards");
            last = shared;
            assert_eq!(&part(&moment.state, scope), at(shared), "{scope} of {} at {revision}", log.id);
        }
    }
    for (revision, state) in patches {
        let state: State = state.iter().map(|(key, value)| (format!("{scope}{key}"), value.clone())).collect();
        assert_eq!(&state, at(*revision), "a patch answers what it left");
    }

    // Nobody's increment is lost, and nobody's element is there twice, whatever the order.
    let count: usize = writes.values().map(|(_, changes)| changes.len()).sum();
    let end = states.last().unwrap();
    assert_eq!(end[&format!("{scope}n")], Json::Number(count.to_string()));
    let Json::Array(elements) = &end[&format!("{scope}list")] else { panic!("a list") };
    let distinct: BTreeSet<String> = elements.iter().map(Json::to_string).collect();
    assert_eq!([elements.len(), distinct.len()], [count - patches.len(); 2]);
}
