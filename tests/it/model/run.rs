//! Runs the steps on the service and on the model; both must give the same answer.

use super::{
    reference::{Change, Moment, Op, Operator, Place, Precondition, Refusal, RewindTo, Sent, Shared, Want, World},
    steps::{Action, Asks, Condition, Draft, Entry, IfMatch, Rewind, Step},
    value::{Json, State},
};
use crate::support::client::{Answer, Client, Request, segment};

/// The error says what the service shows, and what it should.
pub type Checked<T = ()> = Result<T, String>;

/// Takes all steps, on apps whose names begin with `case`. What a step touches is compared after it: the past, too, of
/// a session that was forked or rewound, and of all that a deleted one leaves behind. At the end, everything is.
pub async fn run(client: &Client, case: &str, steps: &[Step]) -> Checked {
    let mut run = Run { client, case, world: World::default(), events: 0 };
    for (n, step) in steps.iter().enumerate() {
        run.take(step).await.map_err(|error| format!("step {n}: {error}"))?;
    }
    run.compare_all().await.map_err(|error| format!("at the end: {error}"))?;
    run.compare_keys().await.map_err(|error| format!("the past of keys: {error}"))?;
    run.live_on().await.map_err(|error| format!("the past of keys, later: {error}"))
}

pub struct Run<'a> {
    pub client: &'a Client,
    case: &'a str,
    pub world: World,
    /// How many events were made: each has an id of its own.
    events: usize,
}

pub fn status(answer: Answer, status: u16) -> Checked<Answer> {
    if answer.status == status { Ok(answer) } else { Err(format!("not {status}: {answer}")) }
}

pub fn equal<T: PartialEq + std::fmt::Debug>(what: &str, shown: T, expected: T) -> Checked {
    if shown == expected { Ok(()) } else { Err(format!("{what}: {shown:?} instead of {expected:?}")) }
}

pub fn state(answer: &Answer) -> State {
    Json::parse(answer.text()).into_state()
}

impl Run<'_> {
    pub fn app_path(&self, at: Place) -> String {
        format!("/v1/apps/{}-{}", self.case, at.app)
    }

    pub fn user_path(&self, at: Place) -> String {
        format!("{}/users/u{}", self.app_path(at), at.user)
    }

    pub fn sessions_path(&self, at: Place) -> String {
        format!("{}/sessions", self.user_path(at))
    }

    pub fn path(&self, at: Place) -> String {
        format!("{}/{}", self.sessions_path(at), at.id())
    }

    pub fn shared_path(&self, at: Place, shared: Shared) -> String {
        match shared {
            Shared::App => format!("{}/state", self.app_path(at)),
            Shared::User => format!("{}/state", self.user_path(at)),
        }
    }

    async fn take(&mut self, Step { at, action }: &Step) -> Checked {
        let at = match action {
            Action::Create { .. } | Action::Append { creates: true, .. } => *at,
            _ => self.one_there(*at).await?,
        };
        match action {
            Action::Create { unless_there, state, events, twice } => {
                self.create(at, *unless_there, state, events, *twice).await?;
            }
            Action::Append { events, if_match, creates } => self.append(at, events, if_match, *creates).await?,
            Action::PutKey { key, value, if_match, twice } => {
                self.put_key(at, key, value, if_match, *twice).await?;
            }
            Action::DeleteKey { key, if_match, twice } => self.delete_key(at, key, if_match, *twice).await?,
            Action::PatchState { asks, if_match, twice } => self.patch_state(at, asks, if_match, *twice).await?,
            Action::PatchApp { asks, if_match, twice } => {
                self.patch_shared(at, Shared::App, asks, if_match, *twice).await?;
            }
            Action::PatchUser { asks, if_match, twice } => {
                self.patch_shared(at, Shared::User, asks, if_match, *twice).await?;
            }
            Action::Rename { name } => self.rename(at, *name).await?,
            Action::Fork { back, to, twice } => self.fork(at, *back, *to, *twice).await?,
            Action::Rewind { to, if_match, twice } => self.rewind(at, to, if_match, *twice).await?,
            Action::Delete => self.delete(at).await?,
        }
        self.compare(at).await
    }

    /// One of the sessions that the user has; creates one if there is none.
    async fn one_there(&mut self, at: Place) -> Checked<Place> {
        let of_user = |place: &&Place| (place.app, place.user) == (at.app, at.user);
        let there: Vec<Place> = self.world.sessions.keys().filter(of_user).copied().collect();
        match usize::from(at.session).checked_rem(there.len()) {
            Some(n) => Ok(there[n]),
            None => self.create(at, true, &[], &[], false).await.map(|()| at),
        }
    }

    async fn create(
        &mut self,
        at: Place,
        unless_there: bool,
        state: &[Entry],
        events: &[Draft],
        twice: bool,
    ) -> Checked {
        let mut sent = Vec::new();
        for draft in events {
            sent.extend(self.draft(at, draft, &sent));
        }
        let state = entries(state);
        let members = [("state", object(&state)), ("events", Json::Array(sent.iter().map(Sent::to_json).collect()))];
        let key = self.id();
        let request = || {
            let members = members.clone().into_iter();
            let request = if unless_there {
                self.client.put(self.path(at)).json(Json::object(members).to_string())
            } else {
                let id = ("sessionId", Json::string(at.id()));
                self.client.post(self.sessions_path(at)).json(Json::object(members.chain([id])).to_string())
            };
            request.header("idempotency-key", &key)
        };
        let answer = request().await;
        let again = if twice && answer.status == 201 { Some(request().await) } else { None };
        let answer = match self.world.create(at, &state, &sent) {
            Ok(()) => status(answer, 201)?,
            Err(Refusal::SessionExists) if unless_there => status(answer, 200)?,
            Err(refusal) => return self.refused(at, &answer, &refusal),
        };
        if let Some(again) = again {
            let again = status(again, 200)?;
            equal("Idempotent-Replayed", again.was_replayed(), true)?;
            self.compare_session(at, &again)?;
        }
        self.compare_session(at, &answer)
    }

    async fn append(&mut self, at: Place, drafts: &[Draft], if_match: &IfMatch, creates: bool) -> Checked {
        let mut events = Vec::new();
        for draft in drafts {
            events.extend(self.draft(at, draft, &events));
        }
        let (single, body) = match &events[..] {
            [] => return Ok(()),
            [event] => (true, event.to_json()),
            events => (false, Json::Array(events.iter().map(Sent::to_json).collect())),
        };
        let (header, holds) = self.if_match(at, if_match);
        let query = if creates { "?create=true" } else { "" };
        let request = self.client.post(format!("{}/events{query}", self.path(at))).json(body.to_string());
        let answer = with(request, header.as_deref()).await;
        let pointer = |n| if single { "/actions/".to_owned() } else { format!("/{n}/actions/") };
        let is_made = self.world.now(at).is_none();
        if is_made {
            self.world.create(at, &State::new(), &[]).map_err(|refusal| format!("{refusal:?}"))?;
        }
        let appended = match self.world.append(at, &events, holds, pointer) {
            Ok(appended) => appended,
            Err(refusal) => {
                let told = self.refused(at, &answer, &refusal);
                if is_made {
                    self.world.sessions.remove(&at);
                }
                return told;
            }
        };
        equal("whether it was made", answer.header("sessiond-created"), is_made.then_some("true"))?;
        let replayed = appended.iter().all(|appended| appended.replayed);
        let answer = status(answer, if replayed { 200 } else { 201 })?;
        equal("Idempotent-Replayed", answer.was_replayed(), replayed)?;
        let shown = if single { vec![answer.text().to_owned()] } else { elements(answer.text()) };
        equal("the number of events", shown.len(), appended.len())?;
        for (text, appended) in shown.iter().zip(appended) {
            self.compare_event(at, appended.sequence, text)?;
        }
        self.compare_tag(at, &answer)
    }

    async fn put_key(&mut self, at: Place, key: &str, value: &str, if_match: &IfMatch, twice: bool) -> Checked {
        let sent = self.own_event(Change { delta: entries(&[(key, value)]), ..Change::default() });
        let (header, holds) = self.if_match(at, if_match);
        for replayed in attempts(twice) {
            let request = self.client.put(format!("{}/state/{}", self.path(at), segment(key))).json(value);
            let answer = with(request.header("idempotency-key", &sent.id), header.as_deref()).await;
            if let Some(answer) = self.changed(at, &sent, holds, replayed, 200, answer)? {
                equal("the value that was put", answer.text(), value)?;
            }
        }
        Ok(())
    }

    async fn delete_key(&mut self, at: Place, key: &str, if_match: &IfMatch, twice: bool) -> Checked {
        let remove = Op { operator: Operator::Remove, key: key.to_owned(), value: Json::Null };
        let sent = self.own_event(Change { ops: vec![remove], ..Change::default() });
        let (header, holds) = self.if_match(at, if_match);
        // Without the key there is nothing to do.
        let absent = self.world.now(at).is_some_and(|now| !now.merged().contains_key(key));
        for replayed in attempts(twice) {
            let request = self.client.delete(format!("{}/state/{}", self.path(at), segment(key)));
            let answer = with(request.header("idempotency-key", &sent.id), header.as_deref()).await;
            if absent && holds {
                self.compare_tag(at, &status(answer, 204)?)?;
            } else {
                self.changed(at, &sent, holds, replayed, 204, answer)?;
            }
        }
        Ok(())
    }

    async fn patch_state(&mut self, at: Place, asks: &Asks, if_match: &IfMatch, twice: bool) -> Checked {
        let change = asked(&self.world.now(at).unwrap_or_default(), asks);
        let sent = self.own_event(change);
        let (header, holds) = self.if_match(at, if_match);
        let body = Json::object(sent.change.members().into_iter().chain([("eventId", Json::string(&sent.id))]));
        for replayed in attempts(twice) {
            let request = self.client.patch(format!("{}/state", self.path(at))).json(body.to_string());
            let answer = with(request, header.as_deref()).await;
            if let Some(answer) = self.changed(at, &sent, holds, replayed, 200, answer)? {
                equal("the patched state", state(&answer), self.now(at).merged())?;
            }
        }
        Ok(())
    }

    /// The model's part of a change that the service makes an event of, and what all its answers have in common.
    /// `None`: it was refused, as it should be.
    fn changed(
        &mut self,
        at: Place,
        sent: &Sent,
        if_match: bool,
        replayed: bool,
        success: u16,
        answer: Answer,
    ) -> Checked<Option<Answer>> {
        if let Err(refusal) = self.world.append(at, std::slice::from_ref(sent), if_match, |_| "/".to_owned()) {
            return self.refused(at, &answer, &refusal).map(|()| None);
        }
        let answer = status(answer, success)?;
        equal("Idempotent-Replayed", answer.was_replayed(), replayed)?;
        self.compare_tag(at, &answer)?;
        Ok(Some(answer))
    }

    async fn patch_shared(
        &mut self,
        at: Place,
        shared: Shared,
        asks: &Asks,
        if_match: &IfMatch,
        twice: bool,
    ) -> Checked {
        let scope = self.world.shared(at, shared);
        let bare = |key: &'static str| key.split_once(':').map_or(key, |(_, bare)| bare);
        let mut asks = asks.clone();
        asks.delta.retain(|(key, _)| !key.starts_with("temp:"));
        asks.delta.iter_mut().for_each(|(key, _)| *key = bare(key));
        asks.ops.iter_mut().for_each(|(_, key, _)| *key = bare(key));
        asks.preconditions.iter_mut().for_each(|(key, _)| *key = bare(key));
        let change = asked(&Moment { session: scope.clone(), ..Moment::default() }, &asks);
        let (header, holds) = match if_match {
            IfMatch::None => (None, true),
            IfMatch::Short(behind) | IfMatch::Whole([_, behind, _]) => {
                (Some(format!("\"{}\"", scope.revision - behind)), *behind == 0)
            }
        };
        let key = self.id();
        let body = Json::object(change.members()).to_string();
        let request = || {
            let request = self.client.patch(self.shared_path(at, shared)).json(body.as_str());
            with(request.header("idempotency-key", &key), header.as_deref())
        };
        let answer = request().await;
        let again = if twice && answer.status == 200 { Some(request().await) } else { None };
        match self.world.patch_shared(at, shared, &change, holds) {
            Ok(()) => {
                if let Some(again) = again {
                    let again = status(again, 200)?;
                    equal("Idempotent-Replayed", again.was_replayed(), true)?;
                    self.compare_shared(at, shared, &again)?;
                }
                self.compare_shared(at, shared, &status(answer, 200)?)
            }
            Err(refusal) => refused(&answer, &refusal, &[("revision", scope.revision)]),
        }
    }

    async fn rename(&mut self, at: Place, name: Option<&str>) -> Checked {
        let body = Json::object([("displayName", name.map_or(Json::Null, Json::string))]).to_string();
        let answer = self.client.patch(self.path(at)).json(body).await;
        match self.world.sessions.get_mut(&at) {
            Some(session) => session.display_name = name.map(str::to_owned),
            None => return self.refused(at, &answer, &Refusal::NoSession),
        }
        self.compare_session(at, &status(answer, 200)?)
    }

    async fn delete(&mut self, at: Place) -> Checked {
        status(self.client.delete(self.path(at)).await, 204)?;
        self.world.sessions.remove(&at);
        // It can be neither written nor read any more, whatever the other sessions still remember.
        let path = self.path(at);
        for request in [
            self.client.post(format!("{path}/events")).json("{}"),
            self.client.patch(format!("{path}/state")).json("{}"),
            self.client.post(format!("{path}/fork")),
            self.client.post(format!("{path}/rewind")).json(r#"{"toRevision":0}"#),
            self.client.get(format!("{path}/state?atRevision=0")),
        ] {
            self.refused(at, &request.await, &Refusal::NoSession)?;
        }
        self.compare_pasts(at.app).await
    }

    async fn fork(&mut self, at: Place, back: Option<i64>, to: u8, twice: bool) -> Checked {
        let current = self.world.sessions.get(&at).map_or(0, |session| session.revision());
        let revision = back.map_or(current, |back| (current - back).max(0));
        let fork = Place { session: to, ..at };
        if revision > current && self.world.now(fork).is_some() {
            // Refused for either reason.
            return Ok(());
        }
        let mut members = vec![("sessionId", Json::string(fork.id()))];
        members.extend(back.map(|_| ("atRevision", Json::Number(revision.to_string()))));
        let (key, body) = (self.id(), Json::object(members).to_string());
        let request = || {
            let request = self.client.post(format!("{}/fork", self.path(at))).json(body.as_str());
            request.header("idempotency-key", &key)
        };
        let answer = request().await;
        let again = if twice && answer.status == 201 { Some(request().await) } else { None };
        if let Err(refusal) = self.world.fork(at, revision, to) {
            return self.refused(at, &answer, &refusal);
        }
        let answer = status(answer, 201)?;
        equal("the location", answer.header("location"), Some(&*self.path(fork)))?;
        self.compare_session(fork, &answer)?;
        if let Some(again) = again {
            let again = status(again, 200)?;
            equal("Idempotent-Replayed", again.was_replayed(), true)?;
            self.compare_session(fork, &again)?;
        }
        self.compare(fork).await?;
        self.compare_past(fork).await?;
        self.compare_past(at).await
    }

    async fn rewind(&mut self, at: Place, to: &Rewind, if_match: &IfMatch, twice: bool) -> Checked {
        let current = self.world.sessions.get(&at).map_or(0, |session| session.revision());
        let (to, body) = match to {
            Rewind::Back(back) => {
                let revision = (current - back).max(0);
                (RewindTo::Revision(revision), Json::object([("toRevision", Json::Number(revision.to_string()))]))
            }
            Rewind::Before(invocation) => (
                RewindTo::Before((*invocation).to_owned()),
                Json::object([("beforeInvocationId", Json::string(*invocation))]),
            ),
        };
        let id = self.id();
        let (header, holds) = self.if_match(at, if_match);
        let request = |header: Option<&str>| {
            let request = self.client.post(format!("{}/rewind", self.path(at))).json(body.to_string());
            with(request.header("idempotency-key", &id), header)
        };
        let target = match self.world.rewind_target(at, &to) {
            Ok(target) => target,
            Err(refusal) => return self.refused(at, &request(None).await, &refusal),
        };
        let answer = request(header.as_deref()).await;
        if !holds {
            return self.refused(at, &answer, &Refusal::Precondition(None));
        }
        let answer = status(answer, 200)?;
        let again = if twice { Some(status(request(header.as_deref()).await, 200)?) } else { None };

        let shown = Json::parse(answer.text());
        let Some(Json::Array(events)) = shown.get("events") else { return Err(format!("no events: {answer}")) };
        let session = &self.world.sessions[&at];
        let target = usize::try_from(target).expect("a revision");
        let back = session.taken_back(&to, target);
        let (event, copies) = events[session.events.len()..].split_first().ok_or("no event")?;
        equal("how many events are copied", copies.len(), back.copied.len())?;
        let sent = self.rewinding(at, &to, target, &back.invocation, id, event)?;
        let ids = copies.iter().map(|copy| copy.text("id").expect("an id").to_owned()).collect();
        self.world.rewound(at, target, sent, &back, ids)?;
        self.compare_session(at, &answer)?;
        if let Some(again) = again {
            equal("Idempotent-Replayed", again.was_replayed(), true)?;
            self.compare_session(at, &again)?;
        }
        self.compare_past(at).await
    }

    /// The event that a rewind appended. What it sets and removes is its own affair: the model looks at the outcome.
    fn rewinding(
        &self,
        at: Place,
        to: &RewindTo,
        target: usize,
        taken_back: &str,
        id: String,
        event: &Json,
    ) -> Checked<Sent> {
        let known = &self.world.sessions[&at].events;
        let invocation = event.text("invocationId").unwrap_or_default().to_owned();
        if invocation.is_empty() || known.iter().any(|event| event.sent.invocation == invocation) {
            return Err(format!("the invocation of a rewind is new: {event}"));
        }
        let metadata = match to {
            RewindTo::Revision(_) => Some(Json::object([("rewindToRevision", Json::Number(target.to_string()))])),
            RewindTo::Before(_) => None,
        };
        equal("the metadata of a rewind", event.get("customMetadata"), metadata.as_ref())?;
        let actions = event.get("actions").ok_or("no actions")?;
        let mut ops = Vec::new();
        if let Some(Json::Array(removals)) = actions.get("stateOps") {
            for removal in removals {
                equal("the operator of a rewind", removal.text("op"), Some("remove"))?;
                let key = removal.text("key").ok_or("no key")?.to_owned();
                ops.push(Op { operator: Operator::Remove, key, value: Json::Null });
            }
        }
        let delta = actions.get("stateDelta").cloned().ok_or("no delta")?.into_state();
        if let Some(key) = delta.keys().chain(ops.iter().map(|op| &op.key)).find(|key| is_shared(key)) {
            return Err(format!("a rewind touches `{key}`"));
        }
        let change = Change { delta, ops, ..Change::default() };
        Ok(Sent { id, author: "user".to_owned(), invocation, change, rewinds_before: Some(taken_back.to_owned()) })
    }

    fn refused(&self, at: Place, answer: &Answer, refusal: &Refusal) -> Checked {
        let current = self.world.now(at).map(|now| {
            let Moment { session, user, app } = now;
            [("revision", session.revision), ("userRevision", user.revision), ("appRevision", app.revision)]
        });
        refused(answer, refusal, current.as_ref().map_or(&[], |current| &current[..]))
    }

    pub fn now(&self, at: Place) -> Moment {
        self.world.now(at).expect("it is there")
    }

    fn id(&mut self) -> String {
        self.events += 1;
        format!("e{}", self.events)
    }

    /// An event that the service makes of a change.
    fn own_event(&mut self, change: Change) -> Sent {
        let (author, invocation) = ("user".to_owned(), String::new());
        Sent { id: self.id(), author, invocation, change, rewinds_before: None }
    }

    /// The event to send, after some others of the same request. `None` if there is none to be sent again.
    fn draft(&mut self, at: Place, draft: &Draft, earlier: &[Sent]) -> Option<Sent> {
        let known = || {
            let stored = self.world.sessions.get(&at).map_or(&[][..], |session| &session.events);
            let stored = stored.iter().filter(|event| event.copy_of.is_none()).map(|event| &event.sent);
            stored.chain(earlier).filter(|sent| sent.author == CLIENT)
        };
        let nth = |n: usize| known().nth(n.checked_rem(known().count())?).cloned();
        match draft {
            Draft::Fresh { invocation, asks, rewinds_before } => Some(Sent {
                author: CLIENT.to_owned(),
                invocation: (*invocation).to_owned(),
                change: asked(&self.world.now(at).unwrap_or_default(), asks),
                rewinds_before: rewinds_before.map(str::to_owned),
                id: self.id(),
            }),
            // What is not stored does not count.
            Draft::Again(n) => nth(*n).map(|sent| sent.without_temp()),
            Draft::Clash(n) => nth(*n).map(|sent| Sent { invocation: "other".to_owned(), ..sent }),
        }
    }

    /// The header, and whether it holds.
    fn if_match(&self, at: Place, if_match: &IfMatch) -> (Option<String>, bool) {
        let Some(now) = self.world.now(at) else {
            // Of a session that the request makes.
            return match if_match {
                IfMatch::Short(revision) => (Some(format!("\"{}\"", revision.abs())), *revision == 0),
                _ => (None, true),
            };
        };
        let tag = match if_match {
            IfMatch::None => return (None, true),
            IfMatch::Short(behind) => (now.session.revision - behind).to_string(),
            IfMatch::Whole([session, user, app]) => format!(
                "{}.{}.{}.{}",
                now.session.revision - session,
                now.user.revision - user,
                now.app.revision - app,
                self.world.sessions[&at].incarnation.as_deref().expect("seen when it was created"),
            ),
        };
        let holds = match if_match {
            IfMatch::None => true,
            IfMatch::Short(behind) => *behind == 0,
            IfMatch::Whole(behind) => *behind == [0; 3],
        };
        (Some(format!("\"{tag}\"")), holds)
    }
}

/// The author of the events that are posted as such.
const CLIENT: &str = "agent";

/// Whether it is a replay: never at first, always then.
fn attempts(twice: bool) -> impl Iterator<Item = bool> {
    [false, true].into_iter().take(if twice { 2 } else { 1 })
}

fn with(request: Request, if_match: Option<&str>) -> Request {
    match if_match {
        Some(tag) => request.header("if-match", tag),
        None => request,
    }
}

/// What an error must say: status, code and, of a precondition, the current revisions; the first fault, if there is one.
fn refused(answer: &Answer, refusal: &Refusal, current: &[(&str, i64)]) -> Checked {
    let (status, code, place) = match refusal {
        Refusal::NoSession => (404, "session_not_found", None),
        Refusal::NoEvent => (404, "event_not_found", None),
        Refusal::SessionExists => (409, "session_already_exists", None),
        Refusal::EventIdTaken => (409, "event_id_conflict", None),
        Refusal::Precondition(place) => (412, "revision_mismatch", place.as_deref()),
        Refusal::Invalid(place) => (422, "invalid_argument", Some(&**place)),
    };
    if answer.status != status {
        return Err(format!("not refused with {status} {code} {place:?}: {answer}"));
    }
    let problem = answer.json();
    equal("the code", problem["code"].as_str(), Some(code))?;
    equal("the first field", problem["errors"][0]["field"].as_str(), place)?;
    for (name, revision) in current.iter().filter(|_| status == 412) {
        equal(name, problem[name].as_i64(), Some(*revision))?;
    }
    Ok(())
}

fn is_shared(key: &str) -> bool {
    key.starts_with("app:") || key.starts_with("user:")
}

fn entries(entries: &[(&str, &str)]) -> State {
    entries.iter().map(|(key, value)| ((*key).to_owned(), Json::parse(value))).collect()
}

pub fn elements(text: &str) -> Vec<String> {
    let elements: Vec<&serde_json::value::RawValue> = serde_json::from_str(text).expect("an array");
    elements.into_iter().map(|element| element.get().to_owned()).collect()
}

fn object(state: &State) -> Json {
    Json::Object(state.clone().into_iter().collect())
}

/// What is asked, in view of what is there.
fn asked(now: &Moment, asks: &Asks) -> Change {
    let op = |(operator, key, value): &(Operator, &str, &str)| Op {
        operator: *operator,
        key: (*key).to_owned(),
        value: Json::parse(value),
    };
    let precondition = |(key, condition): &(&str, Condition)| {
        let (revision, changed) = now.revisions(key);
        let value = now.merged().remove(*key);
        let want = match condition {
            Condition::SinceChange(after) => Want::Revision((changed + after).max(0)),
            Condition::SinceNow(after) => Want::Revision((revision + after).max(0)),
            Condition::Exists { rightly } => Want::Exists(value.is_some() == *rightly),
            Condition::EqualsCurrent => Want::Equals(value.unwrap_or(Json::Null)),
            Condition::Equals(value) => Want::Equals(Json::parse(value)),
        };
        Precondition { key: (*key).to_owned(), want }
    };
    Change {
        preconditions: asks.preconditions.iter().map(precondition).collect(),
        delta: entries(&asks.delta),
        ops: asks.ops.iter().map(op).collect(),
    }
}
