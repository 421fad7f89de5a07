//! Whose turn it is: sessions that wait, by app. Apps take turns; within an app, sessions do, in the order of arrival.
//!
//! So one app with thousands of waiting sessions is one app: another one that comes after it waits for one turn of it.

use std::collections::{HashMap, VecDeque};

use crate::domain::ids::{AppName, SessionKey};

/// The sessions that wait for a turn, each once.
#[derive(Debug, Default)]
pub struct Turns {
    /// The apps that have sessions here, each once, in the order of their turns.
    apps: VecDeque<AppName>,
    /// None is empty.
    sessions: HashMap<AppName, VecDeque<SessionKey>>,
    count: usize,
}

impl Turns {
    /// How many sessions wait.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The apps that have a session here, in the order of their turns.
    pub fn apps(&self) -> impl Iterator<Item = &AppName> + Clone {
        self.apps.iter()
    }

    /// The session whose turn it is: the first one of the first app.
    pub fn front(&self) -> Option<&SessionKey> {
        self.sessions.get(self.apps.front()?)?.front()
    }

    /// Adds a session after those of its app. An app that has none here takes its turn after the others.
    pub fn push_back(&mut self, key: SessionKey) {
        self.of(key.app()).push_back(key);
        self.count += 1;
    }

    /// Adds a session before those of its app. The app goes no earlier for that, or one whose sessions come back again and
    /// again would always be first.
    pub fn push_front(&mut self, key: SessionKey) {
        self.of(key.app()).push_front(key);
        self.count += 1;
    }

    fn of(&mut self, app: &AppName) -> &mut VecDeque<SessionKey> {
        self.sessions.entry(app.clone()).or_insert_with(|| {
            self.apps.push_back(app.clone());
            VecDeque::new()
        })
    }

    /// Removes a session, if it is here.
    pub fn remove(&mut self, key: &SessionKey) {
        let app = key.app();
        let Some(sessions) = self.sessions.get_mut(app) else { return };
        let Some(at) = sessions.iter().position(|session| session == key) else { return };
        sessions.remove(at);
        self.count -= 1;
        if sessions.is_empty() {
            self.sessions.remove(app);
            if let Some(at) = self.apps.iter().position(|other| other == app) {
                self.apps.remove(at);
            }
        }
    }

    /// It is this app's turn, before all others. The others keep their order.
    pub fn begin(&mut self, app: &AppName) {
        if let Some(at) = self.apps.iter().position(|other| other == app)
            && let Some(app) = self.apps.remove(at)
        {
            self.apps.push_front(app);
        }
    }

    /// The turn of this app is over, if it was its.
    pub fn end(&mut self, app: &AppName) {
        if self.apps.front() == Some(app) {
            self.apps.rotate_left(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::ids::{SessionId, UserId, UserKey};

    fn key(app: usize, session: usize) -> SessionKey {
        let user = UserKey { app: AppName::parse(&format!("a{app}")).unwrap(), user: UserId::parse("u").unwrap() };
        SessionKey { user, session: SessionId::parse(&session.to_string()).unwrap() }
    }

    #[derive(Debug, Clone)]
    enum Step {
        PushBack(usize),
        PushFront(usize),
        /// Removes the one of this number among those that wait.
        Remove(usize),
        Begin(usize),
        /// The first takes its turn, and its app's is over.
        Turn,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..5usize).prop_map(Step::PushBack),
            1 => (0..5usize).prop_map(Step::PushFront),
            1 => (0..100usize).prop_map(Step::Remove),
            1 => (0..5usize).prop_map(Step::Begin),
            4 => Just(Step::Turn),
        ]
    }

    proptest! {
        /// Nothing is lost, sessions of an app keep their order, and no app has two turns while another one waits for its first.
        #[test]
        fn apps_take_turns(steps in prop::collection::vec(step(), 1..200)) {
            let mut turns = Turns::default();
            let mut model: HashMap<AppName, VecDeque<SessionKey>> = HashMap::new();
            // How many turns of each other app each waiting app has seen.
            let mut seen: HashMap<AppName, HashMap<AppName, usize>> = HashMap::new();
            for (n, step) in steps.into_iter().enumerate() {
                match step {
                    Step::PushBack(app) => {
                        turns.push_back(key(app, n));
                        model.entry(key(app, n).app().clone()).or_default().push_back(key(app, n));
                    }
                    Step::PushFront(app) => {
                        turns.push_front(key(app, n));
                        model.entry(key(app, n).app().clone()).or_default().push_front(key(app, n));
                    }
                    Step::Remove(number) => {
                        let all: Vec<SessionKey> = model.values().flatten().cloned().collect();
                        if let Some(key) = all.get(number) {
                            turns.remove(key);
                            model.entry(key.app().clone()).or_default().retain(|other| other != key);
                        }
                    }
                    Step::Begin(app) => {
                        // Out of turn: the count of turns begins anew.
                        turns.begin(key(app, 0).app());
                        seen.clear();
                    }
                    Step::Turn => {
                        let front = turns.front().cloned();
                        prop_assert_eq!(front.is_none(), model.is_empty());
                        if let Some(front) = front {
                            let app = front.app().clone();
                            prop_assert_eq!(model[&app].front(), Some(&front));
                            for waiting in model.keys().filter(|other| **other != app) {
                                let turns = seen.entry(waiting.clone()).or_default().entry(app.clone()).or_default();
                                *turns += 1;
                                prop_assert!(*turns <= 1, "{} waits for {} again", waiting, app);
                            }
                            seen.remove(&app);
                            turns.remove(&front);
                            turns.end(&app);
                            model.entry(app).or_default().pop_front();
                        }
                    }
                }
                model.retain(|_, sessions| !sessions.is_empty());
                seen.retain(|app, _| model.contains_key(app));
                prop_assert_eq!(turns.len(), model.values().map(VecDeque::len).sum::<usize>());
                prop_assert_eq!(turns.apps().count(), model.len());
                prop_assert_eq!(turns.sessions.len(), model.len());
            }
        }
    }
}
