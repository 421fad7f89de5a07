//! Compares everything that the service shows with the model.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{
    reference::{Moment, Place, Shared},
    run::{Checked, Run, elements, equal, state, status},
    value::{Json, State},
};
use crate::support::client::Answer;

impl Run<'_> {
    /// What is seen of a session, its user and its app, right now.
    pub async fn compare(&mut self, at: Place) -> Checked {
        for shared in [Shared::App, Shared::User] {
            let answer = status(self.client.get(self.shared_path(at, shared)).await, 200)?;
            self.compare_shared(at, shared, &answer)?;
        }
        self.compare_list(at).await?;
        let path = self.path(at);
        let Some(now) = self.world.now(at) else {
            return status(self.client.get(&path).await, 404).map(drop);
        };
        let answer = status(self.client.get(&path).await, 200)?;
        self.compare_session(at, &answer)?;
        // The views take turns, as the revisions move.
        let turn = now.session.revision + now.user.revision + now.app.revision;
        let view = views(&now).into_iter().cycle().nth(usize::try_from(turn).expect("a sum of revisions"));
        self.compare_view(at, &now, None, view.expect("there are some")).await?;
        let standing = status(self.client.get(format!("{path}/events?excludeRewound=true")).await, 200)?;
        equal("the events that stand", elements(&standing.raw(&["events"])), self.standing(at))
    }

    /// The state of now, or of a revision, in one of its views.
    async fn compare_view(
        &mut self,
        at: Place,
        moment: &Moment,
        then: Option<usize>,
        (query, expected): View,
    ) -> Checked {
        let then = then.map_or(String::new(), |revision| format!("&atRevision={revision}"));
        let path = format!("{}/state?{query}{then}", self.path(at));
        let answer = status(self.client.get(&path).await, 200)?;
        equal(&path, state(&answer), expected)?;
        self.compare_tag_of(at, moment, &answer)?;
        status(self.client.get(&path).header("if-none-match", answer.etag()).await, 304).map(drop)
    }

    pub fn compare_shared(&self, at: Place, shared: Shared, answer: &Answer) -> Checked {
        let scope = self.world.shared(at, shared);
        equal("shared state", state(answer), scope.state)?;
        equal("its tag", answer.etag(), format!("\"{}\"", scope.revision))
    }

    async fn compare_list(&self, at: Place) -> Checked {
        let list = status(self.client.get(format!("{}?includeState=true", self.sessions_path(at))).await, 200)?;
        let of_user = |place: &Place| (place.app, place.user) == (at.app, at.user);
        let expected: BTreeMap<String, _> = self
            .world
            .sessions
            .iter()
            .filter(|(place, _)| of_user(place))
            .map(|(place, session)| {
                (place.id(), (session.revision(), session.display_name.clone(), self.now(*place).merged()))
            })
            .collect();
        let mut shown = BTreeMap::new();
        for session in elements(&list.raw(&["sessions"])) {
            let session = Json::parse(&session);
            let state = session.get("state").cloned().ok_or("no state")?.into_state();
            let name = session.text("displayName").map(str::to_owned);
            let id = session.text("id").ok_or("no id")?;
            shown.insert(id.to_owned(), (revision(&session)?, name, state));
        }
        equal("the sessions of the user", shown, expected)
    }

    /// A session with all its events, as an answer shows it.
    pub fn compare_session(&mut self, at: Place, answer: &Answer) -> Checked {
        self.compare_tag(at, answer)?;
        let members: BTreeMap<String, &RawValue> =
            serde_json::from_str(answer.text()).map_err(|error| format!("{error} in {answer}"))?;
        let shown = |name: &str| members.get(name).map(|text| Json::parse(text.get()));
        let session = &self.world.sessions[&at];
        equal("the id", shown("id"), Some(Json::string(at.id())))?;
        equal("the revision", shown("revision"), Some(Json::Number(session.revision().to_string())))?;
        equal("the name", shown("displayName"), session.display_name.as_deref().map(Json::string))?;
        let origin = session.forked_from.map(|(session, revision)| {
            let id = Place { session, ..at }.id();
            Json::object([("sessionId", Json::string(id)), ("revision", Json::Number(revision.to_string()))])
        });
        equal("its origin", shown("forkedFrom"), origin)?;
        equal("the state", shown("state").map(Json::into_state), Some(self.now(at).merged()))?;
        let events = elements(members.get("events").ok_or("no events")?.get());
        equal("the number of events", events.len() as i64, session.revision())?;
        for (sequence, text) in (1..).zip(&events) {
            self.compare_event(at, sequence, text)?;
        }
        if let Some(last) = events.last() {
            equal("the last update", shown("lastUpdateTime").as_ref(), Json::parse(last).get("timestamp"))?;
        }
        Ok(())
    }

    /// An event, as an answer shows it: what the model says, and ever after the same bytes.
    pub fn compare_event(&mut self, at: Place, sequence: i64, text: &str) -> Checked {
        let index = usize::try_from(sequence).expect("a sequence") - 1;
        let event = self.world.sessions.get_mut(&at).and_then(|session| session.events.get_mut(index));
        let event = event.ok_or_else(|| format!("no such event: {text}"))?;
        if let Some(known) = &event.text {
            return equal("an event", text, known);
        }
        let shown = Json::parse(text);
        let sent = &event.sent;
        equal("the event's sequence", shown.get("sequence"), Some(&Json::Number(sequence.to_string())))?;
        for (name, expected) in [("id", &sent.id), ("author", &sent.author), ("invocationId", &sent.invocation)] {
            equal(name, shown.text(name), Some(expected))?;
        }
        let actions = shown.get("actions").ok_or_else(|| format!("no actions: {text}"))?;
        // A copy changes no state, and says what it is a copy of.
        let delta = event.copy_of.is_none().then(|| event.delta.clone());
        equal("stateDelta", actions.get("stateDelta").cloned().map(Json::into_state), delta)?;
        let copied = shown.get("customMetadata").and_then(|metadata| metadata.text("rewindCopyOf"));
        equal("its source", copied, event.copy_of.as_deref())?;
        let ops = sent.change.members().into_iter().find(|(name, _)| *name == "stateOps").map(|(_, ops)| ops);
        equal("stateOps", actions.get("stateOps"), ops.as_ref())?;
        equal("the rewind", actions.text("rewindBeforeInvocationId"), sent.rewinds_before.as_deref())?;
        event.text = Some(text.to_owned());
        Ok(())
    }

    /// The tag of now.
    pub fn compare_tag(&mut self, at: Place, answer: &Answer) -> Checked {
        self.compare_tag_of(at, &self.now(at), answer)
    }

    fn compare_tag_of(&mut self, at: Place, moment: &Moment, answer: &Answer) -> Checked {
        let (session, user, app, mark) = answer.tag();
        let expected = (moment.session.revision, moment.user.revision, moment.app.revision);
        equal("the tag", (session, user, app), expected)?;
        let incarnation = mark.split('-').next().unwrap_or_default().to_owned();
        let known = &mut self.world.sessions.get_mut(&at).expect("it is there").incarnation;
        equal("the incarnation", &incarnation, known.get_or_insert_with(|| incarnation.clone()))
    }

    fn standing(&self, at: Place) -> Vec<String> {
        let session = &self.world.sessions[&at];
        let text = |index: usize| session.events[index].text.clone().expect("seen when it was stored");
        session.standing().into_iter().map(text).collect()
    }

    /// What the sessions of an app were.
    pub async fn compare_pasts(&mut self, app: u8) -> Checked {
        let places: Vec<Place> = self.world.sessions.keys().copied().filter(|at| at.app == app).collect();
        for at in places {
            self.compare_past(at).await?;
        }
        Ok(())
    }

    /// Each revision shows what was there when its event had committed.
    pub async fn compare_past(&mut self, at: Place) -> Checked {
        let path = format!("{}/state", self.path(at));
        let moments = self.world.sessions[&at].moments.clone();
        for (revision, moment) in moments.iter().enumerate() {
            let path = format!("{path}?atRevision={revision}");
            let answer = status(self.client.get(&path).await, 200)?;
            equal(&path, state(&answer), moment.merged())?;
            self.compare_tag_of(at, moment, &answer)?;
        }
        Ok(())
    }

    /// All that there is, and what is too dear to be compared after each step.
    pub async fn compare_all(&mut self) -> Checked {
        let places: Vec<Place> = self.world.sessions.keys().copied().collect();
        for at in places {
            self.compare(at).await?;
            self.compare_past(at).await?;
            self.compare_views(at).await?;
            self.compare_pages(at).await?;
            self.repeat_rewinds(at).await?;
            self.fold(at)?;
        }
        Ok(())
    }

    /// The present and one moment of the past in all their views, and nothing beyond the present.
    async fn compare_views(&mut self, at: Place) -> Checked {
        let (now, moments) = (self.now(at), self.world.sessions[&at].moments.clone());
        for view in views(&now) {
            self.compare_view(at, &now, None, view).await?;
        }
        let then = moments.len() / 2;
        for view in views(&moments[then]) {
            self.compare_view(at, &moments[then], Some(then), view).await?;
        }
        let beyond = self.client.get(format!("{}/state?atRevision={}", self.path(at), moments.len())).await;
        equal("the status beyond the present", beyond.status, 422)?;
        equal("the field", beyond.json()["errors"][0]["field"].as_str(), Some("atRevision"))
    }

    /// The events that stand, backwards and by pages.
    async fn compare_pages(&self, at: Place) -> Checked {
        let path = format!("{}/events?excludeRewound=true&order=desc&pageSize=3", self.path(at));
        let (mut shown, mut token) = (Vec::new(), String::new());
        loop {
            let page = status(self.client.get(format!("{path}{token}")).await, 200)?;
            shown.extend(elements(&page.raw(&["events"])));
            match page.json()["nextPageToken"].as_str() {
                Some(next) => token = format!("&pageToken={next}"),
                None => break,
            }
        }
        shown.reverse();
        equal("the pages of the events that stand", shown, self.standing(at))
    }

    /// A rewind that is sent again, by the id of its event, does nothing, whatever happened since. A fork knows those of
    /// its source.
    async fn repeat_rewinds(&mut self, at: Place) -> Checked {
        let events = self.world.sessions[&at].events.clone();
        for event in events.iter().filter(|event| event.sent.author == "user") {
            let Some(before) = &event.sent.rewinds_before else { continue };
            let shown = Json::parse(event.text.as_deref().expect("seen when it was stored"));
            let body = match shown.get("customMetadata").and_then(|metadata| metadata.get("rewindToRevision")) {
                Some(revision) => Json::object([("toRevision", revision.clone())]),
                None => Json::object([("beforeInvocationId", Json::string(before))]),
            };
            let request = self.client.post(format!("{}/rewind", self.path(at))).json(body.to_string());
            let request = request.header("idempotency-key", &event.sent.id).header("if-match", "\"0\"");
            let answer = status(request.await, 200)?;
            equal("Idempotent-Replayed", answer.was_replayed(), true)?;
            self.compare_session(at, &answer)?;
        }
        Ok(())
    }

    /// A reader that knows `stateDelta` and `remove`, and nothing else, comes to the session's state at each revision.
    fn fold(&self, at: Place) -> Checked {
        let session = &self.world.sessions[&at];
        let mut folded = session.moments[0].session.state.clone();
        for (event, moment) in session.events.iter().zip(&session.moments[1..]) {
            let shown = Json::parse(event.text.as_deref().expect("seen when it was stored"));
            let actions = shown.get("actions").expect("each event has some");
            if let Some(Json::Array(ops)) = actions.get("stateOps") {
                for op in ops.iter().filter(|op| op.text("op") == Some("remove")) {
                    folded.remove(op.text("key").expect("a key"));
                }
            }
            folded.extend(actions.get("stateDelta").cloned().map(Json::into_state).unwrap_or_default());
            folded.retain(|key, _| !key.starts_with("app:") && !key.starts_with("user:"));
            equal("the fold of the events", &folded, &moment.session.state)?;
        }
        Ok(())
    }
}

/// A query of a session's state, and what it shows.
type View = (&'static str, State);

fn views(moment: &Moment) -> [View; 4] {
    let mut some = moment.merged();
    some.retain(|key, _| ["n", "user:list", "app:object"].contains(&key.as_str()));
    [
        ("scope=app", moment.part("app:")),
        ("scope=user", moment.part("user:")),
        ("scope=session", moment.part("")),
        ("keys=n,user:list,app:object,temp:t", some),
    ]
}

fn revision(session: &Json) -> Checked<i64> {
    match session.get("revision") {
        Some(Json::Number(text)) => text.parse().map_err(|_| format!("not a revision: {session}")),
        _ => Err(format!("no revision: {session}")),
    }
}
