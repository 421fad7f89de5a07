//! Redacts events: in their session, in the forks that copied them, and where a rewind did.

use std::collections::{BTreeSet, HashMap, HashSet};

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::append::{Append, decide, needs};
use crate::domain::event::{REDACTED, StoredEvent};
use crate::domain::history;
use crate::domain::ids::{AppName, EventId, ScopeKey, ScopeRef, SessionId, SessionKey, StateAddress};
use crate::domain::loaded::{KeyNeeds, LockedSession, SessionHead, need_key};
use crate::domain::query::{ANY_TIME, RedactedQuery};
use crate::domain::redact::{FORKS_AT_ONCE, Redacted, Redaction, Step, Values, builds_on, set_keys, touched};
use crate::domain::refusal::Refusal;
use crate::domain::rewind::{copy_mark, is_copy_marked};
use crate::domain::scope::{Scope, split};
use crate::domain::time::Micros;
use crate::domain::transfer::Lost;
use crate::domain::writes::{Committed, SessionChange, Writes as Rows};
use crate::store::backend::{Backend, Database as _, OnLocked, Tx};
use crate::store::error::{Decided, Result};
use crate::store::load::{load, values};
use crate::store::past::key::{next_values, within_block};
use crate::store::run::{End, apply};
use crate::store::sessions::bounds;
use crate::store::sessions::change::judge;
use crate::store::sessions::read::{head, not_there};
use crate::store::sessions::sources::{first, upwards};
use crate::store::shape::Shape;
use crate::store::sql::columns::{LOST, OF_EVENT, OF_INCARNATION, OF_L, OF_SESSION};
use crate::store::sql::query::{Query, Sql, Value, all_values, at_most_one, row, value};
use crate::store::sql::scope::ScopeTables;
use crate::store::sql::statements::statements;
use crate::store::transactions::Transactions;
use crate::store::{effective, search};

#[async_trait]
pub trait Reads: Send + Sync {
    /// Events that were redacted, each with the metadata revision that its last redaction made.
    async fn redacted(&self, query: &RedactedQuery, deadline: Instant) -> Result<Vec<(i64, StoredEvent)>>;
}

#[async_trait]
pub trait Writes: Send + Sync {
    /// Redacts an event in its session and in some forks, and says in which it is still to be done.
    async fn redact(&self, redaction: &Redaction, deadline: Instant) -> Decided<Step>;

    /// Notes that all was overwritten that was redacted in an app so often.
    async fn scrubbed(&self, app: &AppName, count: i64, deadline: Instant) -> Result<()>;

    /// The apps in which something was redacted since the files of the database were overwritten, and how often; none where these are
    /// not this process's.
    async fn to_scrub(&self, deadline: Instant) -> Result<Vec<(AppName, i64)>>;
}

#[async_trait]
impl<B: Backend> Reads for Transactions<B> {
    async fn redacted(&self, query: &RedactedQuery, deadline: Instant) -> Result<Vec<(i64, StoredEvent)>> {
        let statement = |tx: &B::Tx| {
            Query::of(&Statements::of(tx).redacted, &query.key, query.incarnation)
                .bind(query.after)
                .bind(query.through)
                .bind(query.last_sequence)
                .bind(query.max_rows as i64)
        };
        let rows: Vec<RedactedRow> = self.runner.of(query.key.app(), deadline).fetch(statement).await?;
        Ok(rows.into_iter().map(|row| (row.redaction, row.event)).collect())
    }
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn redact(&self, redaction: &Redaction, deadline: Instant) -> Decided<Step> {
        redaction.forks.iter().chain([&redaction.key]).for_each(|key| self.remembered.evict_session(key));
        for scope in redaction.key.scopes() {
            self.remembered.evict_scope(&scope.to_key());
        }
        self.runner.of(redaction.key.app(), deadline).decide(async |tx| redact(tx, redaction).await).await
    }

    async fn scrubbed(&self, app: &AppName, count: i64, deadline: Instant) -> Result<()> {
        let query = |tx: &B::Tx| Query::new(&Statements::of(tx).scrubbed).app(app).bind(count);
        self.runner.of(app, deadline).execute(query).await.map(drop)
    }

    async fn to_scrub(&self, deadline: Instant) -> Result<Vec<(AppName, i64)>> {
        if self.runner.database().shape() != Shape::File {
            return Ok(Vec::new());
        }
        self.runner.across_apps(deadline).fetch(|tx| Query::new(&Statements::of(tx).to_scrub)).await
    }
}

/// A session whose event changes.
struct Target<'r> {
    row: &'r LockedSession,
    event: &'r Held,
    body: String,
    /// What the session's metadata revision is with it.
    metadata_revision: i64,
    /// A rewind made it of the event: it has set nothing.
    is_copy: bool,
}

/// The keys of a shared scope that hold, or held, what the event wrote there at a revision.
struct SharedKeys {
    scope: ScopeKey,
    revision: i64,
    keys: Vec<String>,
}

/// Redacts an event in all sessions of a round, which are locked, so that nobody copies them meanwhile.
pub async fn redact<X: Tx>(tx: &mut X, redaction: &Redaction) -> Decided<(Step, End)> {
    let keys: BTreeSet<&SessionKey> = redaction.forks.iter().chain([&redaction.key]).collect();
    let rows = tx.lock_sessions(&keys, OnLocked::WaitAlone).await?;
    let is_own = |row: &&LockedSession| row.key == redaction.key && row.head.is_live(redaction.now);
    let own = rows.iter().find(is_own).ok_or(Refusal::SessionNotFound)?;
    let event = held(tx, own, &redaction.event).await?.ok_or(Refusal::EventNotFound)?;
    if event.sequence <= event.base_revision {
        return Err(Refusal::Trimmed(event.base_revision).into());
    }
    let Forks { took, holding } = forks(tx, redaction, &event).await?;
    let left: BTreeSet<SessionKey> =
        took.iter().filter(|key| !redaction.forks.contains(*key) && !redaction.done.contains(*key)).cloned().collect();
    if !left.is_empty() && redaction.done.is_empty() && took.len() <= FORKS_AT_ONCE {
        return Ok((Step::Wider(took), End::Release));
    }
    // The event in each session, and then the copies that rewinds made there.
    let mut found: Vec<(&LockedSession, Vec<Held>)> = Vec::new();
    for row in rows.iter().filter(|row| row.head.is_live(redaction.now)) {
        if row.key != redaction.key && !took.contains(&row.key) {
            continue;
        }
        let here = held(tx, row, &redaction.event).await?;
        let mut events: Vec<Held> =
            here.into_iter().filter(|here| here.is_copy_of(&event) && here.sequence > here.base_revision).collect();
        events.extend(copies(tx, row, &event).await?);
        found.push((row, events));
    }
    let mut targets = Vec::new();
    for (row, events) in &found {
        let mut metadata_revision = row.head.metadata_revision;
        for here in events {
            if let Some(body) = redaction.of(&here.body, here.effect.is_some_and(|to| to >= 0)) {
                // Followers read redactions by it: no two of a session have the same.
                metadata_revision += 1;
                let is_copy = !here.is_copy_of(&event);
                targets.push(Target { row, event: here, body, metadata_revision, is_copy });
            }
        }
    }
    if targets.iter().any(|target| target.row.key == redaction.key) {
        judge(tx, own, &redaction.guard, redaction.now).await?;
    }
    let (mut told, mut removals) = (Vec::new(), Vec::new());
    let mut written = Vec::new();
    if redaction.draft.values == Values::Remove {
        written = written_by(tx, redaction, &targets).await?;
        removals = removals_of(tx, redaction, &targets, &written).await?;
        told = append(tx, &removals).await?;
        for target in setters(&targets).filter(|target| removals.iter().any(|append| append.key == target.row.key)) {
            let LockedSession { key, head } = target.row;
            let noted = Query::of(&Statements::of(tx).note_removal, key, head.incarnation).bind(head.revision + 1);
            tx.execute(noted.bind(target.event.sequence)).await?;
        }
    }
    for target in &targets {
        empty(tx, target).await?;
    }
    if redaction.draft.values == Values::Remove {
        for target in setters(&targets) {
            take_values(tx, target, target.row.head.revision + 1).await?;
        }
    }
    for one in &written {
        take_shared(tx, one).await?;
    }
    if !targets.is_empty() && tx.shape() == Shape::File {
        tx.execute(Query::new(&Statements::of(tx).note_scrub).app(redaction.key.app())).await?;
    }
    let changed = targets.iter().map(|target| {
        let (key, incarnation) = (target.row.key.clone(), target.row.head.incarnation);
        Committed::Session { key, incarnation, change: SessionChange::Redacted(target.event.sequence) }
    });
    let end = match targets.is_empty() {
        true => End::Release,
        false => End::Commit(told).after(changed.collect()),
    };
    let mut revision = None;
    let mut carried_on = BTreeSet::new();
    if redaction.draft.values == Values::Remove {
        let removal = Query::of(&Statements::of(tx).removal, &redaction.key, own.head.incarnation).bind(event.sequence);
        revision = value(tx, removal).await?.filter(|last| *last > 0);
        for (row, events) in &found {
            for here in events.iter().filter(|here| here.is_copy_of(&event)) {
                carried_on.extend(carried_on_in(tx, redaction, row, here).await?);
            }
        }
    }
    let head = head(tx, &redaction.key, ANY_TIME).await?.ok_or_else(not_there)?;
    let is_this = |target: &Target<'_>| target.row.key == redaction.key && !target.is_copy;
    let now = targets.into_iter().find(is_this).map(|target| target.body);
    let step = Step::Done(Redacted {
        event: StoredEvent::new(event.sequence, Micros(event.commit_time), now.unwrap_or(event.body)),
        tag: head.tag(),
        revision,
        carried_on,
        appended: removals.len(),
        forks: holding.len(),
        left,
    });
    Ok((step, end))
}

/// Those that may have set something.
fn setters<'t, 'r>(targets: &'t [Target<'r>]) -> impl Iterator<Item = &'t Target<'r>> {
    targets.iter().filter(|target| !target.is_copy)
}

/// The event of an id in a locked session.
async fn held(db: &mut impl Sql, row: &LockedSession, id: &EventId) -> Result<Option<Held>> {
    at_most_one(db, Query::of(&Statements::of(db).held, &row.key, row.head.incarnation).bind(id.as_str())).await
}

/// The copies of an event that rewinds made in a session that has it or had it, and the copies of these.
async fn copies(db: &mut impl Sql, row: &LockedSession, event: &Held) -> Result<Vec<Held>> {
    let (key, incarnation) = (&row.key, row.head.incarnation);
    let copying = Query::of(&Statements::of(db).copying, key, incarnation).bind(event.sequence);
    let rewinds: Vec<(i64, i64)> = db.fetch(copying).await?;
    let mut found: Vec<Held> = Vec::new();
    let mut originals: Vec<(i64, Option<String>)> = vec![(event.sequence, copy_mark(&event.body))];
    while let Some((sequence, mark)) = originals.pop() {
        let Some(mark) = mark.filter(|_| !rewinds.is_empty()) else { continue };
        for &(rewind, before) in rewinds.iter().filter(|(rewind, before)| *before < sequence && sequence < *rewind) {
            // No more events are copied than are taken back.
            let query = Query::of(&Statements::of(db).copies, key, incarnation)
                .bind(rewind)
                .bind(2 * rewind - before)
                .bind(&*mark);
            let copies: Vec<Held> = db.fetch(query).await?;
            for copy in copies.into_iter().filter(|copy| is_copy_marked(&copy.body, &mark)) {
                originals.push((copy.sequence, copy_mark(&copy.body)));
                found.push(copy);
            }
        }
    }
    Ok(found)
}

/// Forks, and forks of these, also by way of some that were removed.
struct Forks {
    /// They took the event over: be they trimmed or expired by now, one may be made of them in this moment.
    took: BTreeSet<SessionKey>,
    /// They hold it.
    holding: BTreeSet<SessionKey>,
}

/// The forks of a session that took an event over.
async fn forks(db: &mut impl Sql, redaction: &Redaction, event: &Held) -> Result<Forks> {
    let user = &redaction.key.user;
    let mut found = Forks { took: BTreeSet::new(), holding: BTreeSet::new() };
    let mut seen = HashSet::new();
    let mut sources = vec![redaction.key.session.as_str().to_owned()];
    while !sources.is_empty() {
        // An id may have been used again, by a fork of what it is the source of.
        sources.retain(|id| seen.insert(id.clone()));
        let query = Query::new(&Statements::of(db).forks)
            .user(user)
            .bind(Some(&*sources))
            .bind(redaction.event.as_str())
            .bind(event.sequence)
            .bind(event.commit_time)
            .bind(redaction.now.0);
        let rows: Vec<(SessionId, i64, i64)> = db.fetch(query).await?;
        for (id, holds, took) in &rows {
            let key = SessionKey { user: user.clone(), session: id.clone() };
            if *holds == 1 {
                found.holding.insert(key.clone());
            }
            if *holds == 1 || *took == 1 {
                found.took.insert(key);
            }
        }
        sources = rows.into_iter().map(|(id, ..)| id.to_string()).collect();
    }
    found.took.remove(&redaction.key);
    found.holding.remove(&redaction.key);
    Ok(found)
}

/// The keys, as the merged state shows them, whose next value an operator made of one that the event had set, in a session that holds it.
/// Values of shared scopes are told of with the event's own session.
async fn carried_on_in(
    db: &mut impl Sql,
    redaction: &Redaction,
    row: &LockedSession,
    event: &Held,
) -> Result<Vec<String>> {
    let touched = touched(&event.body);
    let of = |scope: Scope| -> Vec<String> {
        touched
            .iter()
            .filter_map(|key| split(key))
            .filter(|(of, _)| *of == scope)
            .map(|(_, key)| key.to_owned())
            .collect()
    };
    let (key, incarnation) = (&row.key, row.head.incarnation);
    let statements = Statements::of(db);
    let mut carried = Vec::new();
    let own = of(Scope::Session);
    if !own.is_empty() {
        let next = Query::of(&statements.next_values, key, incarnation).bind(Some(&*own)).bind(event.sequence);
        let mut keys = by_revision(db, next.bind(within_block())).await?;
        let sequences: Vec<i64> = keys.keys().copied().collect();
        for few in sequences.chunks(BODIES_AT_ONCE) {
            let bodies: Vec<(i64, String)> =
                db.fetch(Query::of(&statements.bodies, key, incarnation).bind(few.to_vec())).await?;
            for (sequence, body) in bodies {
                let here = keys.remove(&sequence).unwrap_or_default();
                carried.extend(here.into_iter().filter(|key| builds_on(&body, key)));
            }
        }
    }
    if row.key != redaction.key || is_of_another(db, key, event).await? {
        return Ok(carried);
    }
    for (scope, revision) in [
        (ScopeKey::User(key.user.clone()), event.user_revision),
        (ScopeKey::App(key.app().clone()), event.app_revision),
    ] {
        let prefix = scope.scope().prefix();
        let mut keys = of(scope.scope());
        if keys.is_empty() {
            continue;
        }
        // Those of the same request first: all changes of it to a scope are one.
        for body in later_of_request(db, row, event).await? {
            let touched = self::touched(&body);
            keys.retain(|key| {
                let shown = format!("{prefix}{key}");
                if builds_on(&body, &shown) {
                    carried.push(shown.clone());
                }
                !touched.contains(&shown)
            });
        }
        let statements = ScopeStatements::of(db, &scope);
        let next = Query::new(&statements.next_changes).owner(&scope).bind(revision).bind(Some(&*keys));
        for (revision, keys) in &by_revision(db, next).await? {
            for few in keys.chunks(BODIES_AT_ONCE) {
                let makers = Query::new(&statements.next_makers).owner(&scope).bind(Some(few)).bind(*revision);
                let bodies: Vec<(String, Option<String>)> = db.fetch(makers).await?;
                let shown = bodies.into_iter().filter_map(|(key, body)| Some((format!("{prefix}{key}"), body?)));
                carried.extend(shown.filter(|(key, body)| builds_on(body, key)).map(|(key, _)| key));
            }
        }
    }
    Ok(carried)
}

/// Keys by the revision that each has, if it has one.
async fn by_revision(db: &mut impl Sql, query: Query<'_>) -> Result<HashMap<i64, Vec<String>>> {
    let rows: Vec<(String, Option<i64>)> = db.fetch(query).await?;
    let mut keys: HashMap<i64, Vec<String>> = HashMap::new();
    for (key, revision) in rows.into_iter().filter_map(|(key, revision)| Some((key, revision?))) {
        keys.entry(revision).or_default().push(key);
    }
    Ok(keys)
}

/// How many bodies of events are in memory at once.
const BODIES_AT_ONCE: usize = 16;

/// The later events of the request that appended an event.
async fn later_of_request(db: &mut impl Sql, row: &LockedSession, event: &Held) -> Result<Vec<String>> {
    let of_request = Query::of(&Statements::of(db).of_request, &row.key, row.head.incarnation)
        .bind(event.sequence)
        .bind(event.commit_time)
        .bind(event.user_revision)
        .bind(event.app_revision);
    all_values(db, of_request).await
}

/// What the event wrote in shared scopes. A copy in a fork wrote nothing there, unless the session is gone that did.
async fn written_by(db: &mut impl Sql, redaction: &Redaction, targets: &[Target<'_>]) -> Result<Vec<SharedKeys>> {
    let Some(Target { row, event, .. }) = setters(targets).find(|target| target.row.key == redaction.key) else {
        return Ok(Vec::new());
    };
    let key = &redaction.key;
    let set = set_keys(&event.body);
    if set.iter().all(|(scope, ..)| *scope == Scope::Session) || is_of_another(db, key, event).await? {
        return Ok(Vec::new());
    }
    // What later events of the same request set or removed is theirs.
    let later: HashSet<String> =
        later_of_request(db, row, event).await?.iter().flat_map(|body| touched(body)).collect();
    let (user_lost, app_lost) = event.lost.at(event.sequence);
    let mut written = Vec::new();
    for (shared, revision, is_lost) in [
        (ScopeKey::User(key.user.clone()), event.user_revision, user_lost),
        (ScopeKey::App(key.app().clone()), event.app_revision, app_lost),
    ] {
        let scope = shared.scope();
        let own: HashMap<&str, &str> =
            set.iter().filter(|(of, ..)| *of == scope).map(|(_, key, value)| (&**key, value.text())).collect();
        if own.is_empty() || is_lost {
            continue;
        }
        let logged = Query::new(&ScopeStatements::of(db, &shared).logged).owner(&shared).bind(revision);
        let logged: Vec<(String, String)> = db.fetch(logged).await?;
        let is_own = |(key, value): &(String, String)| {
            own.get(&**key) == Some(&&**value) && !later.contains(&format!("{}{key}", scope.prefix()))
        };
        let keys: Vec<String> = logged.into_iter().filter(is_own).map(|(key, _)| key).collect();
        if !keys.is_empty() {
            written.push(SharedKeys { scope: shared, revision, keys });
        }
    }
    Ok(written)
}

/// Whether this is a copy of an event that the session which wrote it has still.
async fn is_of_another(db: &mut impl Sql, key: &SessionKey, event: &Held) -> Result<bool> {
    if event.forked_revision.is_none_or(|last| event.sequence > last) {
        return Ok(false);
    }
    let event = [Value::from(&event.id), event.sequence.into(), event.commit_time.into()];
    Ok(first(db, &Statements::of(db).is_original, (&key.user, &key.session), &event).await?.is_some())
}

/// The appends that remove what the event wrote from present states, for each session that has some of it.
async fn removals_of<X: Tx>(
    tx: &mut X,
    redaction: &Redaction,
    targets: &[Target<'_>],
    written: &[SharedKeys],
) -> Result<Vec<Append>> {
    let heads: HashMap<_, _> = targets.iter().map(|target| (target.row.key.clone(), target.row.head.clone())).collect();
    let mut wanted = KeyNeeds::new();
    for target in setters(targets) {
        for (_, key, _) in set_keys(&target.event.body).into_iter().filter(|(scope, ..)| *scope == Scope::Session) {
            need_key(&mut wanted, StateAddress::new(&target.row.key, Scope::Session, &key), None);
        }
    }
    for one in written {
        one.keys.iter().for_each(|key| need_key(&mut wanted, one.scope.address(key), None));
    }
    if !written.is_empty() {
        let scopes: Vec<ScopeRef<'_>> = written.iter().map(|one| one.scope.borrowed()).collect();
        tx.lock_scopes(&scopes).await?;
    }
    let found = values(tx, &wanted, &heads).await?;
    let is_at = |address: StateAddress, revision: i64| {
        found.get(&address).is_some_and(|entry| entry.value.is_some() && entry.revision == revision)
    };
    let mut appends = Vec::new();
    for Target { row, event, .. } in setters(targets) {
        let set = set_keys(&event.body);
        let mut keys: Vec<(Scope, &str)> = Vec::new();
        for (scope, key, _) in set.iter().filter(|(scope, ..)| *scope == Scope::Session) {
            if is_at(StateAddress::new(&row.key, *scope, key), event.sequence) {
                keys.push((*scope, &**key));
            }
        }
        for one in written.iter().filter(|_| row.key == redaction.key) {
            let present = one.keys.iter().filter(|key| is_at(one.scope.address(key), one.revision));
            keys.extend(present.map(|key| (one.scope.scope(), &**key)));
        }
        if !keys.is_empty() {
            appends.push(redaction.removal(&row.key, &row.head.lease, keys.into_iter()));
        }
    }
    Ok(appends)
}

/// Appends to locked sessions; what is to be told of it.
async fn append<X: Tx>(tx: &mut X, appends: &[Append]) -> Decided<Vec<Committed>> {
    if appends.is_empty() {
        return Ok(Vec::new());
    }
    let mut loaded = load(tx, &needs(appends.iter()), OnLocked::Wait).await?;
    // No bound of a policy refuses a redaction. The statement that writes judges it again, so there is none for so long; nobody else sees that.
    let is_full = |head: &mut SessionHead| head.most_revision.take().is_some_and(|most| head.revision >= most);
    let is_any_full = loaded.sessions.values_mut().map(is_full).fold(false, |any, is_full| any | is_full);
    let app = appends.first().map(|append| append.key.app()).filter(|_| is_any_full);
    let bound = match app {
        Some(app) => bounds::of(tx, app).await?.events_per_session,
        None => None,
    };
    let mut writes = Rows::default();
    for append in appends {
        decide(&mut loaded, append, &mut writes)?;
    }
    if let Some(app) = app {
        bound_events(tx, app, None).await?;
    }
    let end = apply(tx, &writes).await?.1;
    if let Some(app) = app {
        bound_events(tx, app, bound).await?;
    }
    match end {
        End::Commit(told) => Ok(told),
        End::Release => Ok(Vec::new()),
    }
}

/// Sets how many events a session of an app may have, if the app has a policy.
async fn bound_events(db: &mut impl Sql, app: &AppName, bound: Option<i64>) -> Result<()> {
    db.execute(Query::new(&Statements::of(db).bound_events).app(app).bind(bound)).await.map(drop)
}

/// Puts what stays of an event in its place. The metadata revision tells that something changed.
async fn empty<X: Tx>(tx: &mut X, target: &Target<'_>) -> Result<()> {
    let Target { row, event, body, metadata_revision, .. } = target;
    let (key, incarnation) = (&row.key, row.head.incarnation);
    let statements = Statements::of(tx);
    let empty =
        Query::of(&statements.empty, key, incarnation).bind(event.sequence).bind(&**body).bind(*metadata_revision);
    tx.execute(empty.bind(&REDACTED[..])).await?;
    effective::forget(tx, key, incarnation, event.sequence).await?;
    search::forget(tx, key, incarnation, event.sequence - 1, event.sequence).await?;
    let raise = Query::of(&statements.raise, key, incarnation).bind(*metadata_revision).bind(&REDACTED[..]);
    tx.execute(raise).await.map(drop)
}

/// Takes the past values of a session that the event set. Present ones are taken by an append before, and are past then. What the event
/// replaced is removed by it now.
async fn take_values(db: &mut impl Sql, target: &Target<'_>, last: i64) -> Result<()> {
    let Target { row, event: Held { sequence, .. }, .. } = target;
    let statements = Statements::of(db);
    for (text, held_at) in [(&statements.take_values, *sequence), (&statements.end_values, sequence - 1)] {
        let path = history::path(held_at, last);
        db.execute(Query::of(text, &row.key, row.head.incarnation).bind(*sequence).bind(path)).await?;
    }
    Ok(())
}

/// Takes what the event wrote in a shared scope, as if it had removed the keys.
async fn take_shared(db: &mut impl Sql, written: &SharedKeys) -> Result<()> {
    let SharedKeys { scope, revision, keys } = written;
    let statements = ScopeStatements::of(db, scope);
    let of = |text: &'static str| Query::new(text).owner(scope).bind(*revision).bind(Some(&**keys));
    db.execute(of(&statements.take_logged)).await?;
    db.execute(Query::new(&statements.count_redaction).owner(scope)).await?;
    db.execute(of(&statements.take_spans).bind(history::path(*revision, i64::MAX))).await.map(drop)
}

/// The session `l`, be it removed, is a fork of the session `k`.
const IS_FORK: &str = "l.app_name = $1 and l.user_id = $2 and l.forked_from = k.value";

statements! { words,
    /// The event of the id `$5`, with what decides whether it is there, and whose it is.
    held: held_where("e.id = $5"),
    /// The events after the sequence `$5` that rewind, and that something was committed with, each with the last one before those that it
    /// takes back.
    copying: format!(
        "select e.sequence, e.effect from events e where {OF_EVENT} and e.effect >= 0 and e.sequence > $5 \
           and exists (select 1 from events l where {OF_L} and l.sequence = e.sequence + 1 and l.commit_time = e.commit_time)"
    ),
    /// The events that are not trimmed after the sequence `$5`, up to `$6`, that were committed with the event `$5` and have the text `$7`.
    copies: held_where(&format!(
        "e.sequence > $5 and e.sequence <= $6 and e.sequence > s.base_revision \
           and e.commit_time = (select l.commit_time from events l where {OF_L} and l.sequence = $5) \
           and {}(e.body, $7) > 0",
        words.place_in
    )),
    /// The forks of the sessions `$3`, expired and removed ones too, whether they hold the event of the id `$4` with the sequence `$5` and
    /// the commit time `$6`, and whether they have or had one of that sequence from their source; `$7` is now, where the database has no
    /// clock.
    forks: format!(
        "select l.id, cast(case when (l.expire_time is null or l.expire_time > {}) \
             and exists (select 1 from events e where e.app_name = $1 and e.user_id = $2 and e.session_id = l.id \
               and e.incarnation = l.incarnation and e.id = $4 and e.sequence = $5 and e.sequence > l.base_revision \
               and e.commit_time = $6) then 1 else 0 end as bigint), \
           cast(case when l.forked_revision >= $5 then 1 else 0 end as bigint) \
         from {each} {} union all select l.id, cast(0 as bigint), cast(0 as bigint) from {each} {}",
        words.present("$7"),
        (words.look_up)("sessions", IS_FORK),
        (words.look_up)("removed_forks", IS_FORK),
        each = (words.each)("$3")
    ),
    /// Upwards: whether the session has the event of the id `$4`, which is no copy, with the sequence `$5` and the commit time `$6`.
    is_original: upwards(
        "s.base_revision < $5 and coalesce(s.forked_revision, 0) < $5 and exists (select 1 from events e where e.app_name = $1 \
           and e.user_id = $2 and e.session_id = $3 and e.incarnation = s.incarnation and e.id = $4 and e.sequence = $5 \
           and e.commit_time = $6)"
    ),
    /// The events after the sequence `$5` of the same request: they were committed at `$6`, and saw the revisions `$7` and `$8`.
    of_request: format!(
        "select body from events where {OF_INCARNATION} and sequence > $5 and sequence < $5 + 1000 and commit_time = $6 \
           and user_revision = $7 and app_revision = $8"
    ),
    /// For each of the keys `$5`, the event after the sequence `$6` that set it next.
    next_values: next_values(words),
    /// The bodies of the events of the sequences `$5`.
    bodies: format!(
        "select l.sequence, l.body from {} {}",
        (words.numbers)("$5"),
        (words.look_up)("events", &format!("{OF_L} and l.sequence = k.value"))
    ),
    empty: format!("update events set body = $6, redaction = $7, digest = $8 where {OF_INCARNATION} and sequence = $5"),
    note_removal: format!("update events set redaction = 0 - $6 where {OF_INCARNATION} and sequence = $5"),
    /// The event that removed values of the event `$5`, the last one if there are several.
    removal: format!("select coalesce(max(sequence), 0) from events where {OF_INCARNATION} and redaction = 0 - $5"),
    raise: "update sessions set metadata_revision = $5, \
              creation_digest = case when creation_digest is null then creation_digest else $6 end \
            where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4",
    /// Removes the values that held from the revision `$5` on; `$6` are the nodes where they may be filed.
    take_values: format!(
        "delete from session_spans where {OF_INCARNATION} and node{} and valid_from = $5",
        (words.among)("$6")
    ),
    /// Makes removed ones of the values that held up to the revision `$5`; likewise.
    end_values: format!(
        "update session_spans set removed = true where {OF_INCARNATION} and node{} and valid_to = $5",
        (words.among)("$6")
    ),
    /// The events up to `$7` that were redacted after the metadata revision `$5`, up to `$6`; the first `$8` of them.
    redacted: format!(
        "select redaction, sequence, commit_time, body from events where {OF_INCARNATION} and redaction > $5 \
           and redaction <= $6 and sequence <= $7 order by redaction limit 0 + $8"
    ),
    bound_events: "update policies set events_per_session = $2 where app_name = $1",
    note_scrub: "insert into scrubs (app_name, count) values ($1, 1) on conflict (app_name) do update set count = scrubs.count + 1",
    to_scrub: "select app_name, count from scrubs",
    scrubbed: "delete from scrubs where app_name = $1 and count = $2",
}

statements! { words, ScopeTables { name, of, e_of, l_of, s_of, params: [p, q, r, ..], .. },
    /// For each of the keys `q`, the revision after `p` that changed it next.
    next_changes: format!(
        "select k.value, (select case when s.key = k.value then s.revision end from {name}_log s where {s_of} \
           and (s.key, s.revision) > (k.value, {p}) order by s.key, s.revision limit 1) from {}",
        (words.each)(q)
    ),
    /// The events that changed the keys `p` at the revision `q`.
    next_makers: format!(
        "select k.value, e.body from {} {} {}",
        (words.each)(p),
        (words.look_up)(&format!("{name}_log"), &format!("{l_of} and l.key = k.value and l.revision = {q}")),
        (words.look_up_if)(
            "events",
            "e",
            &format!("{e_of} and e.incarnation = l.incarnation and e.sequence = l.sequence")
        )
    ),
    /// What was set at the revision `p`.
    logged: format!("select key, value from {name}_log where {of} and revision = {p} and value is not null"),
    /// Makes removals of what was set at the revision `p` at the keys `q`.
    take_logged: format!(
        "update {name}_log set value = null where {of} and revision = {p} and (key in (select k.value from {})) is true",
        (words.each)(q)
    ),
    /// Tells, in tags of past states, that they changed.
    count_redaction: format!("update {name}_scopes set redacted = redacted + 1 where {of}"),
    /// Removes the spans of these values; `r` are the nodes where they may be filed.
    take_spans: format!(
        "delete from {name}_spans where {of} and node{} and valid_from = {p} and (key in (select k.value from {})) is true",
        (words.among)(r),
        (words.each)(q)
    ),
}

/// The columns of [`Held`].
fn held_where(condition: &str) -> String {
    format!(
        "select e.id, e.sequence, e.commit_time, e.user_revision, e.app_revision, e.effect, e.body, \
           s.base_revision, s.forked_revision, \
           {LOST} \
         from events e cross join sessions s where {OF_EVENT} and {condition} and {OF_SESSION}"
    )
}

row! {
    /// An event, and its session.
    struct Held {
        id: String,
        sequence: i64,
        commit_time: i64,
        user_revision: i64,
        app_revision: i64,
        effect: Option<i64>,
        body: String,
        base_revision: i64,
        forked_revision: Option<i64>,
        lost: Lost,
    }
}

impl Held {
    /// Whether both are one event, copied by forks. Events of other sessions may have its id.
    fn is_copy_of(&self, other: &Self) -> bool {
        (self.sequence, self.commit_time) == (other.sequence, other.commit_time)
    }
}

row! {
    struct RedactedRow {
        redaction: i64,
        event: StoredEvent,
    }
}
