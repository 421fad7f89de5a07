//! Features beside each other: a random walk of appends, saves, compactions, rewinds, forks of forks, redactions, trims, deletions and moves
//! to another app, with files or without, by requests to two processes. The model keeps each session's log as it was first shown, and
//! which of its events are redacted. What else is read must follow from the log: states and files by its fold, the past of keys, the
//! effective history, and what is found, in a session and in all of the user.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::run::{Checked, elements, equal, status};
use crate::contract::effective::rule;
use crate::support::client::{Answer, Client, Request};
use crate::support::random::Random;
use crate::support::server::TestServer;

const FILES: [&str; 2] = ["f", "g"];
const KEYS: [&str; 3] = ["a", "b", "list"];
const SHARED: [&str; 2] = ["user:k", "app:k"];
const MOST_SESSIONS: usize = 6;

/// An event of a log.
#[derive(Clone)]
struct Logged {
    id: String,
    text: String,
    /// What a client sent, if one did.
    sent: Option<Value>,
    /// Which event a rewind made it of.
    copy_of: Option<String>,
    is_redacted: bool,
}

/// A session; the first event has the sequence 1.
#[derive(Clone, Default)]
struct Log {
    events: Vec<Logged>,
    base: usize,
}

pub struct Walk<'a> {
    servers: [&'a TestServer; 2],
    clients: [Client; 2],
    random: Random,
    case: String,
    moves: usize,
    made: u64,
    sessions: BTreeMap<String, Log>,
    /// What each fork was made of, also of those that are gone.
    sources: BTreeMap<String, String>,
    /// What was done so far.
    done: Vec<String>,
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("an event")
}

fn ids<'a>(events: impl Iterator<Item = &'a Value>) -> BTreeSet<String> {
    events.map(|event| event["id"].as_str().expect("an id").to_owned()).collect()
}

/// What an event alone says.
fn mark(id: &str) -> String {
    format!("said-{id}-")
}

impl<'a> Walk<'a> {
    /// Takes so many steps, on apps whose names begin with `case`.
    pub async fn run(servers: [&'a TestServer; 2], case: &str, seed: u64, steps: usize) -> Checked {
        let (moves, made, sources, done) = (0, 0, BTreeMap::new(), Vec::new());
        let clients = servers.map(|server| Client::clone(server).patient());
        let (random, case, sessions) = (Random(seed), case.to_owned(), BTreeMap::new());
        let mut walk = Self { servers, clients, random, case, moves, made, sessions, sources, done };
        walk.index().await?;
        for step in 0..steps {
            if let Err(error) = walk.step(step % 8 == 0).await {
                return Err(format!("step {step}: {error}\nafter {:#?}", walk.done));
            }
        }
        walk.check_all().await
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.below(end as u64) as usize
    }

    fn client(&mut self) -> &Client {
        let server = self.below(2);
        &self.clients[server]
    }

    fn app(&self) -> String {
        format!("/v1/apps/{}-{}", self.case, self.moves)
    }

    fn path(&self, session: &str) -> String {
        format!("{}/users/u/sessions/{session}", self.app())
    }

    fn log(&mut self, session: &str) -> &mut Log {
        self.sessions.get_mut(session).expect("a session")
    }

    async fn get(&mut self, path: String) -> Checked<Answer> {
        status(self.client().get(path).await, 200)
    }

    fn post(&mut self, path: String, body: &Value) -> Request {
        self.done.push(format!("POST {path} {body}"));
        self.client().post(path).json(body.to_string())
    }

    /// Has the words of the app indexed.
    async fn index(&mut self) -> Checked {
        let policy = json!({"search": {"index": true}}).to_string();
        let path = format!("{}/policy", self.app());
        status(self.client().put(path).json(policy).await, 200).map(drop)
    }

    async fn step(&mut self, whole: bool) -> Checked {
        let names: Vec<String> = self.sessions.keys().cloned().collect();
        let action = self.below(40);
        if names.is_empty() || action == 0 && names.len() < MOST_SESSIONS {
            self.made += 1;
            let session = format!("s{}", self.made);
            self.sessions.insert(session.clone(), Log::default());
            self.append(&session, "?create=true").await?;
            return self.check(&session, whole).await;
        }
        let session = names[self.below(names.len())].clone();
        let (base, revision) = (self.log(&session).base, self.log(&session).events.len());
        match action {
            ..=13 => self.append(&session, "").await?,
            14..=18 => self.save(&session).await?,
            19 => {
                let file = FILES[self.below(2)];
                let version = ["".to_owned(), format!("?version={}", self.below(4))][self.below(2)].clone();
                let path = format!("{}/artifacts/{file}{version}", self.path(&session));
                self.done.push(format!("DELETE {path}"));
                status(self.client().delete(path).await, 204)?;
            }
            20 | 21 => self.again(&session).await?,
            22..=24 if revision > base => {
                let to = base + self.below(revision - base);
                status(self.post(format!("{}/rewind", self.path(&session)), &json!({"toRevision": to})).await, 200)?;
                let taken = self.take_in(&session).await?;
                equal("whether a rewind appends", taken > 0, true)?;
            }
            25..=28 if names.len() < MOST_SESSIONS => {
                let at = base + self.below(revision - base + 1);
                self.made += 1;
                let fork = format!("s{}", self.made);
                let body = json!({"sessionId": fork, "atRevision": at});
                status(self.post(format!("{}/fork", self.path(&session)), &body).await, 201)?;
                let mut log = self.log(&session).clone();
                log.events.truncate(at);
                self.sessions.insert(fork.clone(), log);
                self.sources.insert(fork.clone(), session.clone());
                self.check(&fork, true).await?;
            }
            29..=34 if revision > base => self.redact(&session).await?,
            35 => {
                let keep = self.below(8);
                let body = json!({"keepLast": keep});
                let trimmed = status(self.post(format!("{}/trim", self.path(&session)), &body).await, 200)?;
                let base = base.max(revision.saturating_sub(keep));
                equal("the base", trimmed.json()["baseRevision"].as_u64(), Some(base as u64))?;
                self.log(&session).base = base;
                if keep.is_multiple_of(2) {
                    self.servers[0].until_swept().await;
                }
            }
            36 if names.len() > 1 => {
                let path = self.path(&session);
                self.done.push(format!("DELETE {path}"));
                status(self.client().delete(path).await, 204)?;
                self.sessions.remove(&session);
                return Ok(());
            }
            37 => return self.move_on().await,
            _ => {}
        }
        self.check(&session, whole).await
    }

    /// One event or several, of any kind.
    async fn append(&mut self, session: &str, query: &str) -> Checked {
        let mut events = Vec::new();
        for _ in 0..=self.below(3) {
            events.push(self.event());
        }
        let path = format!("{}/events{query}", self.path(session));
        let shown = status(self.post(path, &json!(events)).await, 201)?;
        let shown = elements(shown.text());
        equal("the number of events", shown.len(), events.len())?;
        for (text, sent) in shown.into_iter().zip(events) {
            let id = sent["id"].as_str().expect("an id").to_owned();
            self.log(session).events.push(Logged { id, text, sent: Some(sent), copy_of: None, is_redacted: false });
        }
        Ok(())
    }

    fn event(&mut self) -> Value {
        self.made += 1;
        let n = self.made;
        let text = format!("it is {}", mark(&format!("e{n}")));
        let mut event = json!({"id": format!("e{n}"), "author": (["user", "agent"][self.below(2)]), "timestamp": n,
            "invocationId": format!("i{}", n / 4), "content": {"role": "user", "parts": [{"text": text}]}});
        let mut delta = Map::new();
        let mut ops = Vec::new();
        for key in KEYS[..2].iter().chain(&SHARED) {
            match self.below(6) {
                0 | 1 => drop(delta.insert((*key).to_owned(), json!(format!("v{}", n % 5)))),
                2 => ops.push(json!({"op": "remove", "key": key})),
                _ => {}
            }
        }
        if self.below(4) == 0 {
            ops.push(json!({"op": "append", "key": "list", "value": [n % 3]}));
        }
        event["actions"] = json!({"stateDelta": delta, "stateOps": ops});
        match self.below(8) {
            0 => {
                let start = n.saturating_sub(self.random.below(12));
                event["actions"]["compaction"] = json!({"startTimestamp": start, "endTimestamp": n - 1,
                    "compactedContent": {"role": "model", "parts": [{"text": "so far"}]}});
            }
            1 => event["actions"]["artifactDelta"] = json!({(FILES[self.below(2)]): (self.below(6))}),
            _ => {}
        }
        event
    }

    async fn save(&mut self, session: &str) -> Checked {
        self.made += 1;
        let event = ["append", "append", "none"][self.below(3)];
        let path = format!("{}/artifacts/{}?event={event}", self.path(session), FILES[self.below(2)]);
        self.done.push(format!("PUT {path}"));
        let content = format!("file {}", self.made);
        status(self.client().put(path).body("text/plain", content).await, 201)?;
        let taken = self.take_in(session).await?;
        equal("how many events a save appends", taken, usize::from(event == "append"))
    }

    /// Sends an event once more.
    async fn again(&mut self, session: &str) -> Checked {
        let log = self.log(session).clone();
        let sent: Vec<(usize, &Logged)> =
            log.events.iter().enumerate().filter(|(_, event)| event.sent.is_some()).collect();
        let Some((n, event)) = sent.get(self.below(sent.len().max(1))) else { return Ok(()) };
        let body = event.sent.clone().expect("it was sent");
        let answer = status(self.post(format!("{}/events", self.path(session)), &body).await, 200)?;
        match (*n < log.base, event.is_redacted) {
            (true, _) => {}
            (false, true) => equal("a retry", answer.json()["redacted"].clone(), json!(true))?,
            (false, false) => equal("a retry", answer.text(), &*event.text)?,
        }
        Ok(())
    }

    async fn redact(&mut self, session: &str) -> Checked {
        let log = self.log(session).clone();
        let event = &log.events[log.base + self.below(log.events.len() - log.base)];
        let state = ["keep", "remove"][self.below(2)];
        let path = format!("{}/events/{}/redact", self.path(session), event.id);
        status(self.post(path, &json!({"state": state})).await, 200)?;
        let mut reached = BTreeSet::from([session.to_owned()]);
        loop {
            let forks = self.sources.iter().filter(|(_, source)| reached.contains(*source));
            let more: Vec<String> =
                forks.map(|(fork, _)| fork.clone()).filter(|fork| !reached.contains(fork)).collect();
            if more.is_empty() {
                break;
            }
            reached.extend(more);
        }
        for id in reached.into_iter().filter(|id| self.sessions.contains_key(id)).collect::<Vec<_>>() {
            self.take_in(&id).await?;
            let mut gone = BTreeSet::from([event.id.clone()]);
            for event in &mut self.log(&id).events {
                // A copy follows what it is of. One that was redacted no longer says that it is one: what was copied of it since is empty.
                if !event.is_redacted && event.copy_of.as_ref().is_some_and(|of| gone.contains(of)) {
                    gone.insert(event.id.clone());
                }
                event.is_redacted |= gone.contains(&event.id);
            }
            if id != session {
                self.check(&id, false).await?;
            }
        }
        Ok(())
    }

    /// Goes on in another app, with the files or without them.
    async fn move_on(&mut self) -> Checked {
        let artifacts = ["", "?artifacts=none"][self.below(2)];
        let export = self.get(format!("{}/export{artifacts}", self.app())).await?.text().to_owned();
        self.moves += 1;
        let path = format!("/v1/import?appName={}-{}", self.case, self.moves);
        self.done.push(format!("POST {path} {artifacts}"));
        for result in ["created", "unchanged"] {
            let import = self.client().post(&path).body("application/x-ndjson", export.clone());
            let answer = status(import.await, 200)?;
            let is = answer.text().matches(&format!(r#""result":"{result}""#)).count();
            equal(&format!("how many are {result} ({answer})"), is, self.sessions.len())?;
        }
        self.index().await?;
        self.check_all().await
    }

    /// What the server appended since. Returns how many events.
    async fn take_in(&mut self, session: &str) -> Checked<usize> {
        let known = self.log(session).events.len();
        let page = self.get(format!("{}/events?pageSize=1000&afterSequence={known}", self.path(session))).await?;
        let new = elements(&page.raw(&["events"]));
        let count = new.len();
        for text in new {
            let event = parsed(&text);
            let of = |value: &Value| value.as_str().map(str::to_owned);
            let (id, copy_of) = (of(&event["id"]).expect("an id"), of(&event["customMetadata"]["rewindCopyOf"]));
            let is_redacted = event.get("redacted").is_some();
            self.log(session).events.push(Logged { id, text, sent: None, copy_of, is_redacted });
        }
        Ok(count)
    }

    async fn check_all(&mut self) -> Checked {
        for session in self.sessions.keys().cloned().collect::<Vec<_>>() {
            self.check(&session, true).await?;
        }
        Ok(())
    }

    /// All of a session, or its log and the state of one moment.
    async fn check(&mut self, session: &str, whole: bool) -> Checked {
        let path = self.path(session);
        let log = self.log(session).clone();
        let revision = log.events.len();
        let answer = self.get(format!("{path}/events?pageSize=1000")).await?;
        let shown = elements(&answer.raw(&["events"]));
        let in_session = |what: &str| format!("{what} of {session}");
        equal(&in_session("the revision"), answer.json()["revision"].as_u64(), Some(revision as u64))?;
        equal(&in_session("the number of events"), shown.len(), revision - log.base)?;
        for (shown, event) in shown.iter().zip(&log.events[log.base..]) {
            if !event.is_redacted {
                equal(&in_session("an event"), &**shown, &*event.text)?;
            } else if parsed(shown).get("redacted").is_none() || shown.contains(&mark(&event.id)) {
                return Err(format!("it is redacted in {session}: {shown}"));
            }
        }
        let events: Vec<Value> = shown.iter().map(|text| parsed(text)).collect();
        let left = self.get(format!("{path}/events?pageSize=1000&excludeRewound=true")).await?.json();
        let effective = self.get(format!("{path}/events?pageSize=1000&history=effective")).await?.json();
        let ids: Vec<&str> =
            effective["events"].as_array().expect("a list").iter().filter_map(|one| one["id"].as_str()).collect();
        equal(
            &in_session("the effective history"),
            ids,
            rule(left["events"].as_array().expect("a list")).iter().map(|id| &**id).collect(),
        )?;
        let from = if whole { log.base } else { log.base + self.below(revision - log.base + 1) };
        let states = self.check_states(&path, &events[from - log.base..], from).await?;
        if !whole {
            return Ok(());
        }
        self.check_pasts(&path, &states, from).await?;
        self.check_files(&path, &log).await?;
        self.check_what_is_found(&path, &log, &events).await
    }

    /// The states from a revision on are the fold of the events. Returns them.
    async fn check_states(&mut self, path: &str, events: &[Value], from: usize) -> Checked<Vec<Map<String, Value>>> {
        let mut states: Vec<Map<String, Value>> = Vec::new();
        for revision in from..=from + events.len() {
            let answer = self.get(format!("{path}/state?scope=session&atRevision={revision}")).await?.json();
            let state = answer.as_object().expect("an object").clone();
            if let Some(before) = states.last() {
                let (mut folded, actions) = (before.clone(), &events[revision - from - 1]["actions"]);
                let removed = actions["stateOps"].as_array().into_iter().flatten().filter(|op| op["op"] == "remove");
                removed.for_each(|op| drop(folded.remove(op["key"].as_str().expect("a key"))));
                let set = actions["stateDelta"].as_object().into_iter().flatten().filter(|(key, _)| !key.contains(':'));
                folded.extend(set.map(|(key, value)| (key.clone(), value.clone())));
                equal(&format!("{path} at {revision}"), &state, &folded)?;
            }
            states.push(state);
        }
        let now = self.get(format!("{path}/state?scope=session")).await?.json();
        equal(&format!("{path} now"), now.as_object(), states.last())?;
        Ok(states)
    }

    /// The past of each key is what the states were.
    async fn check_pasts(&mut self, path: &str, states: &[Map<String, Value>], from: usize) -> Checked {
        for key in KEYS {
            let answer = self.client().get(format!("{path}/state/{key}/history?order=asc&pageSize=1000")).await;
            if answer.status() == 404 {
                equal(&format!("{path} {key}"), states.iter().any(|state| state.contains_key(key)), false)?;
                continue;
            }
            let changes = status(answer, 200)?.json()["changes"].as_array().expect("a list").clone();
            for (n, state) in states.iter().enumerate() {
                let mut until = changes.iter().filter(|change| change["revision"].as_u64() <= Some((from + n) as u64));
                equal(
                    &format!("{path} {key} at {}", from + n),
                    until.next_back().and_then(|change| change.get("value")),
                    state.get(key),
                )?;
            }
        }
        let state = self.get(format!("{path}/state")).await?.json();
        for key in SHARED {
            let answer = self.client().get(format!("{path}/state/{key}/history?pageSize=1")).await;
            let last =
                if answer.status() == 404 { Value::Null } else { status(answer, 200)?.json()["changes"][0].take() };
            equal(&format!("the last change of {key}"), last.get("value"), state.get(key))?;
        }
        Ok(())
    }

    /// The files of each moment are those that the log names, as far as they are there.
    async fn check_files(&mut self, path: &str, log: &Log) -> Checked {
        let mut there = BTreeSet::new();
        for file in FILES {
            let answer = self.client().get(format!("{path}/artifacts/{file}/versions")).await;
            if answer.status() == 200 {
                let list = answer.json();
                let numbers =
                    list["versions"].as_array().expect("a list").iter().filter_map(|one| one["version"].as_u64());
                there.extend(numbers.map(|number| (file.to_owned(), number)));
            } else {
                status(answer, 404)?;
            }
        }
        let mut named = BTreeMap::new();
        for revision in 0..=log.events.len() {
            if let Some(event) = revision.checked_sub(1).map(|n| &log.events[n]) {
                let delta = parsed(&event.text)["actions"]["artifactDelta"].take();
                let delta = delta.as_object().into_iter().flatten();
                named.extend(delta.filter_map(|(name, number)| Some((name.clone(), number.as_u64()?))));
            }
            if revision < log.base {
                continue;
            }
            let list = self.get(format!("{path}/artifacts?atRevision={revision}")).await?.json();
            let list = list["artifacts"].as_array().expect("a list").iter();
            let shown: BTreeMap<String, u64> = list
                .map(|one| {
                    (one["name"].as_str().expect("a name").to_owned(), one["version"].as_u64().expect("a number"))
                })
                .collect();
            let mut expected = named.clone();
            expected.retain(|name, number| there.contains(&(name.clone(), *number)));
            equal(&format!("the files of {path} at {revision}"), shown, expected)?;
        }
        Ok(())
    }

    /// What was said is found, and what was redacted is nowhere.
    async fn check_what_is_found(&mut self, path: &str, log: &Log, events: &[Value]) -> Checked {
        if events.is_empty() {
            return Ok(());
        }
        let export = self.get(format!("{path}/export")).await?.text().to_owned();
        let says = |event: &Value, mark: &str| event["content"].to_string().contains(mark);
        for event in log.events[log.base..].iter().filter(|event| event.sent.is_some() && event.is_redacted) {
            let mark = mark(&event.id);
            let is_said = events.iter().any(|event| says(event, &mark));
            if export.contains(&mark) && !is_said {
                return Err(format!("an export of {path} has {mark}"));
            }
        }
        let sought = &log.events[log.base + self.below(events.len())];
        let mark = mark(&sought.id);
        let found = self.get(format!("{path}/events?pageSize=1000&text={mark}")).await?.json();
        let found: Vec<&Value> = found["events"].as_array().expect("a list").iter().map(|event| &event["id"]).collect();
        let expected = events.iter().filter(|event| says(event, &mark)).map(|event| &event["id"]).collect();
        equal(&format!("where {path} has {mark}"), found, expected)?;
        let id = sought.id.clone();
        self.check_search(&id).await
    }

    /// What an event said is found in each session that shows it, and in no copy beside its source.
    async fn check_search(&mut self, id: &str) -> Checked {
        let mut shown: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for session in self.sessions.keys().cloned().collect::<Vec<_>>() {
            let query = format!("pageSize=1000&excludeRewound=true&text={}", mark(id));
            let page = self.get(format!("{}/events?{query}", self.path(&session))).await?.json();
            shown.insert(session, ids(page["events"].as_array().expect("a list").iter()));
        }
        let is_copy = |session: &String, id: &String| {
            let mut above = self.sources.get(session);
            while let Some(source) = above {
                if shown.get(source).is_some_and(|ids| ids.contains(id)) {
                    return true;
                }
                above = self.sources.get(source);
            }
            false
        };
        let all = shown.iter().flat_map(|(session, ids)| ids.iter().map(move |id| (session.clone(), id.clone())));
        let expected: BTreeSet<(String, String)> = all.filter(|(session, id)| !is_copy(session, id)).collect();
        let answer = self.get(format!("{}/users/u/search?limit=100&text={id}", self.app())).await?.json();
        equal("whether all was searched", answer["complete"].clone(), json!(true))?;
        let hits = answer["hits"].as_array().expect("a list").iter();
        let found = hits.map(|hit| {
            let text = |value: &Value| value.as_str().expect("a text").to_owned();
            (text(&hit["sessionId"]), text(&hit["event"]["id"]))
        });
        equal(&format!("where a search finds {id}"), found.collect(), expected)
    }
}
