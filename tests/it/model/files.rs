//! Artifacts against a model: random saves, deletions, events that name versions, rewinds, forks, trims, policies and moves to another app,
//! of few sessions of one user and few names. The model keeps what events named at each revision, and all versions.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::run::{Checked, equal, status};
use crate::support::client::{Answer, PATIENCE, segment};
use crate::support::server::TestServer;

#[derive(Debug, Clone)]
pub struct Step {
    /// Which of the sessions that are there.
    session: usize,
    action: Action,
}

#[derive(Debug, Clone)]
enum Action {
    Create,
    /// `number`: so far from the next one.
    Save {
        name: &'static str,
        append: bool,
        number: Option<i64>,
        large: bool,
    },
    /// All versions, or the one of which there are so many before it.
    Delete {
        name: &'static str,
        version: Option<usize>,
    },
    Append {
        delta: Vec<(&'static str, i64)>,
    },
    Rewind {
        back: i64,
    },
    Fork {
        back: i64,
    },
    /// `sweep`: what is trimmed is emptied before the next step.
    Trim {
        keep: i64,
        sweep: bool,
    },
    /// A policy keeps the last versions of each. On in a copy of the app, which has no policy.
    Policy {
        keep: usize,
    },
    /// On in a copy of the whole app.
    Move {
        sweep: bool,
    },
    DeleteSession,
}

const NAMES: [&str; 5] = ["f", "g", "a/é", "user:u", "user:v"];

pub fn sequences() -> impl Strategy<Value = Vec<Step>> {
    let name = || select(&NAMES[..]);
    let action = prop_oneof![
        2 => Just(Action::Create),
        12 => (name(), prop::bool::weighted(0.7), option::weighted(0.15, -2..4_i64), prop::bool::weighted(0.05))
            .prop_map(|(name, append, number, large)| Action::Save { name, append, number, large }),
        4 => (name(), option::weighted(0.8, 0..4_usize)).prop_map(|(name, version)| Action::Delete { name, version }),
        4 => vec((name(), 0..6_i64), 0..3).prop_map(|delta| Action::Append { delta }),
        4 => (0..8_i64).prop_map(|back| Action::Rewind { back }),
        3 => (-1..8_i64).prop_map(|back| Action::Fork { back }),
        2 => (0..8_i64, any::<bool>()).prop_map(|(keep, sweep)| Action::Trim { keep, sweep }),
        1 => (1..4_usize).prop_map(|keep| Action::Policy { keep }),
        2 => any::<bool>().prop_map(|sweep| Action::Move { sweep }),
        1 => Just(Action::DeleteSession),
    ];
    vec((0..8_usize, action).prop_map(|(session, action)| Step { session, action }), 1..=40)
}

/// Which version of each artifact events name.
type Named = BTreeMap<String, i64>;

/// The artifacts of a session, or of the user.
#[derive(Debug, Clone, Default)]
struct Files {
    /// The content of each version by name and number; `None` of one that is nothing.
    versions: BTreeMap<String, BTreeMap<i64, Option<String>>>,
    next: Named,
    /// The highest number of each that events named before it was given to a version.
    named: Named,
}

impl Files {
    fn next(&self, name: &str) -> i64 {
        self.next.get(name).copied().unwrap_or(0)
    }

    /// The number of the next version, if nobody asks for another.
    fn free(&self, name: &str) -> i64 {
        self.next(name).max(self.named.get(name).map_or(0, |named| named + 1))
    }

    fn name(&mut self, name: &str, version: i64) {
        if version >= self.next(name) {
            let named = self.named.entry(name.to_owned()).or_insert(version);
            *named = version.max(*named);
        }
    }

    fn get(&self, name: &str, version: i64) -> Option<&Option<String>> {
        self.versions.get(name)?.get(&version)
    }

    fn add(&mut self, name: &str, version: i64, content: Option<String>) {
        self.versions.entry(name.to_owned()).or_default().insert(version, content);
        self.next.insert(name.to_owned(), version + 1);
    }

    /// The latest version of each that can be read.
    fn latest(&self) -> Named {
        let latest = |(name, versions): (&String, &BTreeMap<i64, Option<String>>)| {
            let (version, content) = versions.last_key_value()?;
            content.as_ref().map(|_| (name.clone(), *version))
        };
        self.versions.iter().filter_map(latest).collect()
    }
}

#[derive(Debug, Clone)]
struct Session {
    files: Files,
    /// One for each revision.
    named: Vec<Named>,
    base: usize,
}

impl Session {
    fn revision(&self) -> usize {
        self.named.len() - 1
    }

    fn append(&mut self, delta: &[(String, i64)]) {
        let mut named = self.named[self.revision()].clone();
        named.extend(delta.iter().cloned());
        self.named.push(named);
        for (name, version) in delta.iter().filter(|(name, _)| !is_of_user(name)) {
            self.files.name(name, *version);
        }
    }

    /// The highest number of each that the log up to a revision names.
    fn most(&self, at: usize) -> Named {
        let mut most = Named::new();
        for (name, version) in self.named[self.base..=at].iter().flatten() {
            let named = most.entry(name.clone()).or_insert(*version);
            *named = (*version).max(*named);
        }
        most
    }

    fn fork(&self, at: usize) -> Self {
        let mut files = Files::default();
        for (name, last) in self.named[at].iter().filter(|(name, _)| !is_of_user(name)) {
            let versions = self.files.versions.get(name).into_iter().flatten().filter(|(version, _)| *version <= last);
            let versions: BTreeMap<_, _> = versions.map(|(version, content)| (*version, content.clone())).collect();
            files.versions.insert(name.clone(), versions);
            files.next.insert(name.clone(), self.files.next(name).min(last + 1));
        }
        files.named = self.most(at);
        Self { files, named: self.named[..=at].to_vec(), base: self.base }
    }

    /// Restores what was named at a revision; returns what the event names.
    fn rewind(&mut self, to: usize) -> Vec<(String, i64)> {
        let (then, now) = (self.named[to].clone(), self.named[self.revision()].clone());
        let mut delta = Vec::new();
        for (name, _) in now.iter().filter(|(name, now)| !is_of_user(name) && then.get(*name) != Some(*now)) {
            let next = self.files.free(name);
            let number = match then.get(name) {
                // It is not here, so it is named as it was.
                Some(was) if self.files.get(name, *was).is_none() => *was,
                Some(was) => {
                    let content = self.files.get(name, *was).cloned().flatten();
                    self.files.add(name, next, content);
                    next
                }
                None => {
                    self.files.add(name, next, None);
                    next
                }
            };
            delta.push((name.clone(), number));
        }
        self.append(&delta);
        delta
    }
}

fn is_of_user(name: &str) -> bool {
    name.starts_with("user:")
}

/// Takes all steps, on apps whose names begin with `case`.
pub async fn run(client: &TestServer, case: &str, steps: &[Step]) -> Checked {
    let mut run = Run {
        client,
        case: case.to_owned(),
        moves: 0,
        saves: 0,
        forks: 0,
        sessions: BTreeMap::new(),
        user: Files::default(),
    };
    for (n, step) in steps.iter().enumerate() {
        run.take(step).await.map_err(|error| format!("step {n}: {error}"))?;
    }
    run.compare_all().await.map_err(|error| format!("at the end: {error}"))
}

struct Run<'a> {
    client: &'a TestServer,
    case: String,
    moves: usize,
    saves: usize,
    forks: usize,
    sessions: BTreeMap<String, Session>,
    user: Files,
}

impl Run<'_> {
    fn app(&self) -> String {
        format!("/v1/apps/{}-{}", self.case, self.moves)
    }

    fn user_path(&self) -> String {
        format!("{}/users/u", self.app())
    }

    fn path(&self, id: &str) -> String {
        format!("{}/sessions/{id}", self.user_path())
    }

    fn files(&mut self, id: &str, name: &str) -> &mut Files {
        if is_of_user(name) { &mut self.user } else { &mut self.session(id).files }
    }

    fn session(&mut self, id: &str) -> &mut Session {
        self.sessions.get_mut(id).expect("it is there")
    }

    async fn take(&mut self, step: &Step) -> Checked {
        let id = match self.sessions.keys().nth(step.session % self.sessions.len().max(1)).cloned() {
            Some(id) if !matches!(step.action, Action::Create) => id,
            _ => self.create().await?,
        };
        match &step.action {
            Action::Create => {}
            Action::Save { name, append, number, large } => self.save(&id, name, *append, *number, *large).await?,
            Action::Delete { name, version } => self.delete(&id, name, *version).await?,
            Action::Append { delta } => self.append(&id, delta).await?,
            Action::Rewind { back } => return self.rewind(&id, *back).await,
            Action::Fork { back } => return self.fork(&id, *back).await,
            Action::Trim { keep, sweep } => return self.trim(&id, *keep, *sweep).await,
            Action::Policy { keep } => return self.policy(*keep).await,
            Action::Move { sweep } => return self.moves(*sweep).await,
            Action::DeleteSession => {
                status(self.client.delete(self.path(&id)).await, 204)?;
                self.sessions.remove(&id);
                return status(self.client.get(format!("{}/artifacts", self.path(&id))).await, 404).map(drop);
            }
        }
        self.compare(&id).await
    }

    async fn create(&mut self) -> Checked<String> {
        self.forks += 1;
        let id = format!("s{}", self.forks);
        status(self.client.put(self.path(&id)).json("{}").await, 201)?;
        let session = Session { files: Files::default(), named: vec![Named::new()], base: 0 };
        self.sessions.insert(id.clone(), session);
        Ok(id)
    }

    async fn save(&mut self, id: &str, name: &str, append: bool, number: Option<i64>, large: bool) -> Checked {
        self.saves += 1;
        let content = format!("{name} {}", self.saves).repeat(if large { 40_000 } else { 1 });
        let (next, free) = (self.files(id, name).next(name), self.files(id, name).free(name));
        let (wanted, expected) = match number {
            Some(beyond) => (format!("&version={}", (next + beyond).max(0)), (next + beyond).max(0)),
            None => (String::new(), free),
        };
        let event = if append { "append" } else { "none" };
        let path = format!("{}/artifacts/{}?event={event}{wanted}", self.path(id), segment(name));
        let answer = self.client.put(path).body("a/b", content.clone()).await;
        if expected < next {
            return status(answer, 409).map(drop);
        }
        let saved = status(answer, 201)?.json();
        equal("the version", saved["version"].as_i64(), Some(expected))?;
        self.files(id, name).add(name, expected, Some(content));
        if append {
            self.session(id).append(&[(name.to_owned(), expected)]);
            let revision = self.session(id).revision();
            equal("the revision", saved["revision"].as_u64(), Some(revision as u64))?;
        }
        Ok(())
    }

    async fn delete(&mut self, id: &str, name: &str, version: Option<usize>) -> Checked {
        let versions = self.files(id, name).versions.get(name).cloned().unwrap_or_default();
        let path = format!("{}/artifacts/{}", self.path(id), segment(name));
        let Some(nth) = version else {
            status(self.client.delete(path).await, 204)?;
            self.files(id, name).versions.remove(name);
            return Ok(());
        };
        let version = versions.keys().nth(nth).copied().unwrap_or(nth as i64);
        status(self.client.delete(format!("{path}?version={version}")).await, 204)?;
        self.files(id, name).versions.entry(name.to_owned()).or_default().remove(&version);
        Ok(())
    }

    async fn append(&mut self, id: &str, delta: &[(&str, i64)]) -> Checked {
        let delta: Named = delta.iter().map(|(name, version)| ((*name).to_owned(), *version)).collect();
        let event = json!({"actions": {"artifactDelta": delta}});
        status(self.client.post(format!("{}/events", self.path(id))).json(&event).await, 201)?;
        for (name, version) in delta.iter().filter(|(name, _)| is_of_user(name)) {
            self.user.name(name, *version);
        }
        let delta: Vec<_> = delta.into_iter().collect();
        self.session(id).append(&delta);
        Ok(())
    }

    async fn rewind(&mut self, id: &str, back: i64) -> Checked {
        let (revision, base) = (self.session(id).revision(), self.session(id).base);
        let to = usize::try_from(revision as i64 - back).unwrap_or(0);
        let answer = self.client.post(format!("{}/rewind", self.path(id))).json(json!({"toRevision": to})).await;
        if to == revision {
            return status(answer, 422).map(drop);
        }
        if to < base {
            return status(answer, 410).map(drop);
        }
        status(answer, 200)?;
        let delta: Named = self.session(id).rewind(to).into_iter().collect();
        let events = status(self.client.get(format!("{}/events?order=desc&pageSize=1", self.path(id))).await, 200)?;
        let shown = events.json()["events"][0]["actions"]["artifactDelta"].take();
        equal("what the rewind names", shown, if delta.is_empty() { Value::Null } else { json!(delta) })?;
        self.compare_past(id).await
    }

    async fn fork(&mut self, id: &str, back: i64) -> Checked {
        let (revision, base) = (self.session(id).revision(), self.session(id).base);
        let at = usize::try_from(revision as i64 - back).unwrap_or(0);
        self.forks += 1;
        let to = format!("s{}", self.forks);
        let body = json!({"sessionId": to, "atRevision": at});
        let answer = self.client.post(format!("{}/fork", self.path(id))).json(body).await;
        if at > revision {
            return status(answer, 422).map(drop);
        }
        if at < base {
            return status(answer, 410).map(drop);
        }
        status(answer, 201)?;
        let fork = self.session(id).fork(at);
        self.sessions.insert(to.clone(), fork);
        self.compare(id).await?;
        self.compare_past(&to).await
    }

    async fn trim(&mut self, id: &str, keep: i64, sweep: bool) -> Checked {
        let answer = self.client.post(format!("{}/trim", self.path(id))).json(json!({"keepLast": keep})).await;
        let session = self.session(id);
        session.base = session.base.max(usize::try_from(session.revision() as i64 - keep).unwrap_or(0));
        let base = session.base as u64;
        equal("the base", status(answer, 200)?.json()["baseRevision"].as_u64(), Some(base))?;
        if sweep {
            self.client.until_swept().await;
        }
        self.compare_past(id).await
    }

    async fn policy(&mut self, keep: usize) -> Checked {
        for files in self.sessions.values_mut().map(|session| &mut session.files).chain([&mut self.user]) {
            for versions in files.versions.values_mut() {
                while versions.len() > keep {
                    versions.pop_first();
                }
            }
        }
        let path = format!("{}/policy", self.app());
        let policy = json!({"artifacts": {"keepVersions": keep}});
        status(self.client.put(&path).json(policy).await, 200)?;
        let left = format!("select count(*) from artifacts where app_name = '{}-{}'", self.case, self.moves);
        let expected = self.versions() as i64;
        let applied = async {
            while self.client.number(&left).await != expected {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, applied).await.map_err(|_| "the policy is not applied".to_owned())?;
        status(self.client.delete(&path).await, 204)?;
        self.compare_all().await?;
        self.moves(false).await
    }

    /// How many versions there are.
    fn versions(&self) -> usize {
        let of_sessions = self.sessions.values().map(|session| &session.files);
        of_sessions.chain([&self.user]).flat_map(|files| files.versions.values()).map(BTreeMap::len).sum()
    }

    /// Goes on in a copy. What it was is there, too, until it is deleted.
    async fn moves(&mut self, sweep: bool) -> Checked {
        let export = status(self.client.get(format!("{}/export", self.app())).await, 200)?.text().to_owned();
        let before = self.path("");
        self.moves += 1;
        let import = async |run: &Self| {
            let path = format!("/v1/import?appName={}-{}", run.case, run.moves);
            let answer = status(run.client.post(path).body("application/x-ndjson", export.clone()).await, 200)?;
            let mut lines: Vec<Value> =
                answer.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            let counts = lines.pop().ok_or("no counts")?;
            let became: BTreeSet<String> =
                lines.iter().map(|line| line["result"].as_str().unwrap_or_default().to_owned()).collect();
            Ok::<_, String>((became, counts, answer))
        };
        let (became, counts, answer) = import(self).await?;
        let only = |result: &str| self.sessions.keys().map(|_| result.to_owned()).collect::<BTreeSet<_>>();
        if became != only("created") {
            return Err(format!("not created: {answer}"));
        }
        equal("the versions that were moved", counts["artifacts"].as_u64().unwrap_or(0), self.versions() as u64)?;
        let (became, _, answer) = import(self).await?;
        if became != only("unchanged") {
            return Err(format!("not unchanged: {answer}"));
        }
        // What is used there follows from the logs that came.
        self.user.named.clear();
        for session in self.sessions.values_mut() {
            let most = session.most(session.revision());
            for (name, version) in most.iter().filter(|(name, _)| is_of_user(name)) {
                self.user.name(name, *version);
            }
            session.files.named = most;
        }
        if sweep {
            for id in self.sessions.keys() {
                status(self.client.delete(format!("{before}{id}")).await, 204)?;
            }
        }
        self.compare_all().await
    }

    /// All versions of the session and of the user, now.
    async fn compare(&mut self, id: &str) -> Checked {
        let path = self.path(id);
        let mut latest = self.session(id).files.latest();
        latest.extend(self.user.latest());
        let list = status(self.client.get(format!("{path}/artifacts")).await, 200)?;
        equal("the list", versions(&list), latest.clone())?;
        let list = status(self.client.get(format!("{}/artifacts", self.user_path())).await, 200)?;
        equal("the list of the user", versions(&list), self.user.latest())?;
        let revision = self.session(id).revision();
        self.compare_at(id, revision).await?;
        for name in NAMES {
            let path = format!("{path}/artifacts/{}", segment(name));
            let all = self.files(id, name).versions.get(name).cloned().unwrap_or_default();
            let shown: Vec<i64> = all.iter().filter(|(_, content)| content.is_some()).map(|(n, _)| *n).collect();
            let answer = self.client.get(format!("{path}/versions")).await;
            let listed: Vec<i64> = if shown.is_empty() {
                status(answer, 404)?;
                Vec::new()
            } else {
                let list = status(answer, 200)?.json();
                list["versions"].as_array().ok_or("no list")?.iter().filter_map(|one| one["version"].as_i64()).collect()
            };
            equal(&path, listed, shown)?;
            let read = self.client.get(&path).await;
            match latest.get(name).and_then(|version| all.get(version)).cloned().flatten() {
                Some(content) => equal(&path, status(read, 200)?.text() == content, true)?,
                None => drop(status(read, 404)?),
            }
        }
        Ok(())
    }

    /// What the events up to a revision name, as far as it is there.
    async fn compare_at(&mut self, id: &str, revision: usize) -> Checked {
        let path = format!("{}/artifacts?atRevision={revision}", self.path(id));
        let answer = self.client.get(&path).await;
        let session = self.session(id).clone();
        if revision < session.base {
            return status(answer, 410).map(drop);
        }
        let mut named = session.named[revision].clone();
        named.retain(|name, version| {
            let files = if is_of_user(name) { &self.user } else { &session.files };
            files.get(name, *version).is_some_and(Option::is_some)
        });
        equal(&path, versions(&status(answer, 200)?), named)
    }

    async fn compare_past(&mut self, id: &str) -> Checked {
        for revision in 0..=self.session(id).revision() {
            self.compare_at(id, revision).await?;
        }
        self.compare(id).await
    }

    /// All there is, with the bytes of each version.
    async fn compare_all(&mut self) -> Checked {
        for id in self.sessions.keys().cloned().collect::<Vec<_>>() {
            self.compare_past(&id).await?;
            for name in NAMES {
                let all = self.files(&id, name).versions.get(name).cloned().unwrap_or_default();
                for (version, content) in all {
                    let path = format!("{}/artifacts/{}?version={version}", self.path(&id), segment(name));
                    let read = self.client.get(&path).await;
                    match content {
                        Some(content) => equal(&path, status(read, 200)?.text() == content, true)?,
                        None => drop(status(read, 404)?),
                    }
                }
            }
        }
        Ok(())
    }
}

/// The version of each artifact of a list.
fn versions(list: &Answer) -> Named {
    let list = list.json();
    let artifacts = list["artifacts"].as_array().expect("a list");
    let version =
        |one: &Value| (one["name"].as_str().expect("a name").to_owned(), one["version"].as_i64().expect("a number"));
    artifacts.iter().map(version).collect()
}
