//! The heads on which an append is decided, and the stored events that have its ids. Each database has one statement for
//! them; the rows are the same.

use std::collections::BTreeSet;

use crate::domain::event::{Remains, StoredEvent, redaction_of};
use crate::domain::ids::{AppName, EventId, ScopeRef, SessionKey};
use crate::domain::lease::LeaseHead;
use crate::domain::loaded::{Known, Loaded, Needs, SessionHead};
use crate::domain::time::Micros;
use crate::store::sql::query::row;

/// The keys to look for.
pub struct HeadsQuery<'a> {
    /// Each session with its events, at least once.
    pub sessions: Vec<(&'a SessionKey, Option<&'a EventId>)>,
    /// In their order.
    pub scopes: Vec<ScopeRef<'a>>,
    /// Apps of users whose state may change.
    pub erased: Vec<&'a AppName>,
}

impl<'a> HeadsQuery<'a> {
    pub fn of(needs: &Needs<'a>) -> Self {
        let mut sessions: Vec<_> = needs.events.iter().map(|(key, id)| (*key, Some(*id))).collect();
        let with_events: BTreeSet<_> = needs.events.iter().map(|(key, _)| *key).collect();
        sessions.extend(needs.sessions.difference(&with_events).map(|key| (*key, None)));
        let changing: BTreeSet<_> = needs.fixed_scopes().filter_map(ScopeRef::user).map(|key| &key.app).collect();
        Self { sessions, scopes: needs.scopes.keys().copied().collect(), erased: changing.into_iter().collect() }
    }

    /// The apps that it names.
    pub fn named_apps(&self) -> BTreeSet<&'a AppName> {
        let sessions = self.sessions.iter().map(|(key, _)| key.app());
        sessions.chain(self.scopes.iter().map(|scope| scope.app())).collect()
    }

    /// The part of it that is of one app.
    pub fn of_app(&self, app: &AppName) -> Self {
        Self {
            sessions: self.sessions.iter().filter(|(key, _)| key.app() == app).copied().collect(),
            scopes: self.scopes.iter().filter(|scope| scope.app() == app).copied().collect(),
            erased: self.erased.iter().filter(|key| **key == app).copied().collect(),
        }
    }

    /// What the rows say.
    pub fn heads(&self, rows: Vec<HeadsRow>) -> Loaded {
        let mut heads = Loaded::default();
        for row in rows {
            let at = usize::try_from(row.n).unwrap_or(0).wrapping_sub(1);
            match (row.kind, self.sessions.get(at), self.scopes.get(at), self.erased.get(at)) {
                (0, Some((key, id)), ..) => {
                    heads.sessions.entry((*key).clone()).or_insert_with(|| row.locked());
                    if let Some(id) = id
                        && let Some(known) = row.known(id)
                    {
                        heads.known.entry((*key).clone()).or_default().insert((*id).clone(), known);
                    }
                }
                (1, _, Some(scope), _) => heads.scopes.insert(scope.to_key(), row.revision),
                (2, .., Some(app)) => drop(heads.erased.insert((*app).clone(), row.revision)),
                _ => {}
            }
        }
        heads
    }
}

row! {
    /// Kind 0: a session, with its event of one id if there is one. Kind 1: the revision of a shared scope. Kind 2: the highest of the
    /// erased users of an app. `n` counts the keys of a kind from 1.
    pub struct HeadsRow {
        kind: i32,
        n: i64,
        revision: i64,
        incarnation: Option<i64>,
        metadata_revision: Option<i64>,
        update_time: Option<Micros>,
        expire_time: Option<Micros>,
        lease: LeaseHead,
        most_revision: Option<i64>,
        sequence: Option<i64>,
        event_time: Option<Micros>,
        commit_time: Option<Micros>,
        digest: Option<[u8; 32]>,
        body: Option<String>,
    }
}

impl HeadsRow {
    fn locked(&self) -> SessionHead {
        SessionHead {
            incarnation: self.incarnation.unwrap_or_default(),
            revision: self.revision,
            metadata_revision: self.metadata_revision.unwrap_or_default(),
            update_time: self.update_time.unwrap_or(Micros(0)),
            rough: false,
            expire_time: self.expire_time,
            most_revision: self.most_revision,
            lease: self.lease.clone(),
        }
    }

    fn known(self, id: &EventId) -> Option<Known> {
        let (sequence, timestamp, commit_time) = (self.sequence?, self.event_time?, self.commit_time?);
        // Of a trimmed event there is no body, be it emptied by now or not.
        let event = match self.body {
            Some(body) if redaction_of(&body).is_none() => StoredEvent::new(sequence, commit_time, body),
            Some(_) => StoredEvent::stub(sequence, commit_time, id, Remains::Redacted),
            None => StoredEvent::stub(sequence, commit_time, id, Remains::Trimmed),
        };
        Some(Known { digest: self.digest?, timestamp, event })
    }
}
