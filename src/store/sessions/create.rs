//! Creations: alone, or several in one transaction.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use crate::domain::append::{creation_needs, decide_creation, distinct_events};
use crate::domain::change::Change;
use crate::domain::command::Made;
use crate::domain::erasure::Subject;
use crate::domain::event::NewEvent;
use crate::domain::ids::{IdempotencyKey, SessionId, SessionKey, UserKey};
use crate::domain::json::ObjectText;
use crate::domain::lease::LeaseHead;
use crate::domain::loaded::SessionHead;
use crate::domain::policy::Bounds;
use crate::domain::query::{ANY_TIME, SessionQuery, SessionView};
use crate::domain::refusal::{Bound, Mismatch, Refusal};
use crate::domain::request_key::RequestKey;
use crate::domain::scope::Scope;
use crate::domain::session::{Creation, IfExists};
use crate::domain::shown::Shown;
use crate::domain::time::Micros;
use crate::domain::writes::{Committed, Removal, SessionChange, Writes};
use crate::store::backend::{Backend, OnLocked, SessionInsert, Tx, UserLock};
use crate::store::blocked::admit;
use crate::store::error::{Decided, Failure, Result};
use crate::store::load::values;
use crate::store::run::{Call, End, apply};
use crate::store::sessions::bounds;
use crate::store::sessions::bury::bury;
use crate::store::sessions::read::{not_there, on_timeline, view, written};
use crate::store::sql::query::{Query, Sql, at_most_one, one};
use crate::store::sql::statements::statements;
use crate::store::transactions::Creating;

/// Creates a session in a transaction of its own.
pub async fn alone<B: Backend>(
    call: &Call<'_, B>,
    salt: &[u8; 32],
    creation: &Creation,
) -> Decided<(Made, SessionView)> {
    call.decide(async |tx| create(tx, salt, creation).await).await
}

/// Creates sessions in one transaction. Each that it does not create is to be tried alone, and so are all if it fails,
/// perhaps because of one of them.
pub async fn batch<B: Backend>(call: &Call<'_, B>, salt: &[u8; 32], batch: &[&Arc<Creation>]) -> Result<Vec<Creating>> {
    if let [creation] = batch {
        return Ok(vec![alone(call, salt, creation).await.map(Some)]);
    }
    let creations: Vec<&Creation> = batch.iter().map(|creation| &***creation).collect();
    let create = async |tx: &mut B::Tx| create_together(tx, salt, &creations).await;
    let made = call.try_together(batch.len(), create, |_| true).await?;
    Ok(made.into_iter().map(|made| Ok(made?.map(|view| (Made::New, view)))).collect())
}

/// Creates simple sessions of one app in one statement. Each that it does not create is to be tried alone.
pub async fn at_once<B: Backend>(call: &Call<'_, B>, salt: &[u8; 32], batch: &[&Arc<Creation>]) -> Vec<Creating> {
    let made = in_one_statement(call, salt, batch).await;
    let of_one = |creation: &&Arc<Creation>| match &made {
        Ok(made) => {
            let view = made.iter().find(|view| view.head.incarnation == creation.incarnation);
            Ok(view.cloned().map(|view| (Made::New, view)))
        }
        Err(error) if error.is_transient() || error.unclear => Err(error.share().into()),
        // Perhaps because of one of them.
        Err(_) => Ok(None),
    };
    batch.iter().map(of_one).collect()
}

async fn in_one_statement<B: Backend>(
    call: &Call<'_, B>,
    salt: &[u8; 32],
    creations: &[&Arc<Creation>],
) -> Result<Vec<SessionView>> {
    let inserts: Vec<SessionInsert<'_>> = creations.iter().map(|creation| insert(salt, creation, &[])).collect();
    let mut at_once = call.at_once().await?;
    // Nobody waits for a session that is not there.
    let made = at_once.commit(async |tx| tx.create_at_once(&inserts).await, |_| Vec::new()).await;
    let timeline = at_once.timeline();
    let mut made = at_once.end(made).await?;
    made.iter_mut().for_each(|view| view.head.timeline = timeline);
    Ok(made)
}

/// Holds the user, and then inserts the session, so that its row is the first lock, as everywhere.
async fn create<X: Tx>(tx: &mut X, salt: &[u8; 32], creation: &Creation) -> Decided<((Made, SessionView), End)> {
    let events = distinct_events(creation)?;
    let query = |key: &SessionKey, shows| written(key, creation.now, shows);
    // Operators make events larger than they were charged for; the events of the view say by how much.
    let has_ops = events.iter().any(|event| !event.edit.ops.is_empty());
    let of_new = query(&creation.key, if has_ops { Shown::Full } else { creation.shows });
    let inserts = [insert(salt, creation, &events)];
    let bounds = begin(tx, salt, &creation.key.user).await?;
    // Others may delete and create the same id meanwhile. Each iteration sees what they have committed by then.
    let mut told = Vec::new();
    while tx.insert_sessions(&inserts).await?.is_empty() {
        let request = creation.request.as_ref();
        let found = in_the_way(tx, &creation.key, request, creation.incarnation, creation.now, &mut told).await?;
        let made = match found {
            InTheWay::Nothing => continue,
            InTheWay::OurOwn => (Made::New, view(tx, &of_new).await?),
            InTheWay::Retried(key) => (Made::Before, view(tx, &query(&key, creation.shows)).await?),
            InTheWay::OtherRequest => return Err(Refusal::CreationKeyConflict.into()),
            InTheWay::Other => match creation.if_exists {
                IfExists::Refuse => return Err(Refusal::SessionAlreadyExists.into()),
                IfExists::Return => (Made::Found, view(tx, &query(&creation.key, creation.shows)).await?),
                IfExists::Mismatch => {
                    let tag = view(tx, &query(&creation.key, Shown::Minimal)).await?.head.tag();
                    return Err(Mismatch::of_session(&tag, Vec::new()).into());
                }
            },
        };
        return Ok((made, End::Release));
    }
    if let Some(bound) = exceeded(tx, &bounds, &creation.key.user, events.len() as i64, creation.now).await? {
        return Err(Refusal::LimitReached(bound).into());
    }
    let end = populate(tx, &[(creation, events)]).await?;
    Ok(((Made::New, view(tx, &of_new).await?), end.after(told)))
}

/// Makes a session without state and events, unless there is one; then that is locked. What was told before the end.
pub async fn make_if_absent<X: Tx>(tx: &mut X, salt: &[u8; 32], creation: &Creation) -> Decided<Vec<Committed>> {
    let bounds = begin(tx, salt, &creation.key.user).await?;
    let mut told = Vec::new();
    while tx.insert_sessions(&[insert(salt, creation, &[])]).await?.is_empty() {
        match in_the_way(tx, &creation.key, None, creation.incarnation, creation.now, &mut told).await? {
            InTheWay::Nothing => {}
            _ => return Ok(told),
        }
    }
    if let Some(bound) = exceeded(tx, &bounds, &creation.key.user, 0, creation.now).await? {
        return Err(Refusal::LimitReached(bound).into());
    }
    told.push(Committed::Session {
        key: creation.key.clone(),
        incarnation: creation.incarnation,
        change: SessionChange::Created { revision: 0, forked_from: None },
    });
    Ok(told)
}

/// Begins the creation of a session of this user: holds the user, and their number of sessions if it is bounded. The bounds.
///
/// # Errors
/// `UserErased`: the user may not have a session.
async fn begin<X: Tx>(tx: &mut X, salt: &[u8; 32], user: &UserKey) -> Decided<Bounds> {
    let subject = Subject::of(salt, user);
    if !admit(tx, &user.app, &subject).await? {
        return Err(Refusal::UserErased.into());
    }
    let bounds = bounds::of(tx, &user.app).await?;
    hold_count(tx, &bounds, &subject).await?;
    Ok(bounds)
}

/// Who creates a session where those of a user are counted does so alone: of those who count at the same time, each would miss what
/// the others create. Before any row is locked.
pub async fn hold_count<X: Tx>(tx: &mut X, bounds: &Bounds, subject: &Subject) -> Result<()> {
    if bounds.sessions_per_user.is_some() {
        tx.hold_users(&[subject.counting_lock()], UserLock::Alone).await?;
    }
    Ok(())
}

/// The bound that a session of so many events, which was just inserted, exceeds. What has expired does not count.
pub async fn exceeded<X: Tx>(
    tx: &mut X,
    bounds: &Bounds,
    user: &UserKey,
    events: i64,
    now: Micros,
) -> Result<Option<Bound>> {
    if bounds.events_per_session.is_some_and(|most| events > most) {
        return Ok(Some(Bound::EventsPerSession));
    }
    let Some(most) = bounds.sessions_per_user else { return Ok(None) };
    let count = Query::new(&Statements::of(tx).count_sessions).user(user).bind(now.0).bind(most.saturating_add(1));
    let (sessions,): (i64,) = one(tx, count).await?;
    Ok((sessions > most).then_some(Bound::SessionsPerUser))
}

/// Creates several sessions, and reads them as all of it left them. `None` for a session that has to be tried alone. If one is refused,
/// all are `None` and nothing may be committed.
async fn create_together<X: Tx>(
    tx: &mut X,
    salt: &[u8; 32],
    creations: &[&Creation],
) -> Result<(Vec<Option<SessionView>>, End)> {
    let mut inserts: Vec<SessionInsert<'_>> = Vec::with_capacity(creations.len());
    for insert in creations.iter().map(|creation| insert(salt, creation, &[])) {
        let app = insert.creation.key.app();
        // Who counts sessions counts alone.
        if admit(tx, app, &insert.subject).await? && bounds::of(tx, app).await?.sessions_per_user.is_none() {
            inserts.push(insert);
        }
    }
    let made: HashSet<i64> = tx.insert_sessions(&inserts).await?.into_iter().collect();
    let is_made = |creation: &&Creation| made.contains(&creation.incarnation);
    let fresh: Vec<_> = creations.iter().copied().filter(is_made).map(|creation| (creation, Vec::new())).collect();
    let none = || Ok((creations.iter().map(|_| None).collect(), End::Release));
    if fresh.is_empty() {
        return none();
    }
    let end = match populate(tx, &fresh).await {
        Ok(end) => end,
        Err(Failure::Refused(_)) => return none(),
        Err(Failure::Store(error)) => return Err(error),
    };
    let queries: Vec<SessionQuery> =
        fresh.iter().map(|(creation, _)| written(&creation.key, ANY_TIME, creation.shows)).collect();
    let views = tx.views(&queries.iter().collect::<Vec<_>>()).await?;
    let mut views = queries.iter().zip(views).map(|(query, view)| on_timeline(view, query, tx.timeline()));
    let mut view = || views.next().flatten().ok_or_else(not_there);
    let made = creations.iter().map(|creation| is_made(creation).then(&mut view).transpose());
    Ok((made.collect::<Result<_>>()?, end))
}

fn insert<'a>(salt: &[u8; 32], creation: &'a Creation, events: &[&NewEvent]) -> SessionInsert<'a> {
    SessionInsert {
        creation,
        subject: Subject::of(salt, &creation.key.user),
        revision: events.len() as i64,
        update_time: events.last().map(|last| last.timestamp.clone()),
        initial_state: initial_state(&creation.state),
    }
}

/// Gives sessions that were just inserted their states and events, and notes which shared scopes they saw.
///
/// # Errors
/// The refusal of the first that is refused.
async fn populate<X: Tx>(tx: &mut X, creations: &[(&Creation, Vec<&NewEvent>)]) -> Decided<End> {
    let needs = creation_needs(creations.iter().map(|(creation, _)| *creation));
    tx.lock_scopes(&needs.fixed_scopes().collect::<Vec<_>>()).await?;
    let mut heads = tx.read_heads(&needs).await?;
    // No row of their state is there yet.
    let fresh = |creation: &Creation| SessionHead {
        incarnation: creation.incarnation,
        revision: 0,
        metadata_revision: 0,
        update_time: creation.now,
        rough: false,
        expire_time: None,
        most_revision: None,
        lease: LeaseHead::default(),
    };
    let sessions = creations.iter().map(|(creation, _)| (creation.key.clone(), fresh(creation))).collect();
    heads.values = values(tx, &needs.keys, &sessions).await?;
    let mut writes = Writes::default();
    let mut changed = Vec::new();
    for (creation, events) in creations {
        let before = creation.key.scopes().map(|scope| heads.revision(scope));
        let tag = decide_creation(&mut heads, creation, events, &mut writes)?;
        // Of scopes that it did not change, its row has the revisions already.
        if [tag.user, tag.app] != before {
            changed.push((&creation.key, tag.user, tag.app));
        }
    }
    // The rows were inserted with the revisions and times that they end with.
    writes.sessions.clear();
    let created = creations.iter().map(|(creation, events)| Committed::Session {
        key: creation.key.clone(),
        incarnation: creation.incarnation,
        change: SessionChange::Created { revision: events.len() as i64, forked_from: None },
    });
    let (_, end) = apply(tx, &writes).await?;
    let end = end.after(created.collect());
    for (key, user, app) in changed {
        let query = Query::new(&Statements::of(tx).set_created_revisions).session(key);
        tx.execute(query.bind(user).bind(app)).await?;
    }
    Ok(end)
}

/// What prevents the insertion of a session's row.
pub enum InTheWay {
    /// Nothing any more: the session had expired and is now buried, or is gone.
    Nothing,
    /// This very session, from an earlier try whose COMMIT was not answered.
    OurOwn,
    /// An earlier request with the same key and content created this session.
    Retried(SessionKey),
    /// An earlier request with the same key had other content.
    OtherRequest,
    /// A session of the same id.
    Other,
}

/// Buries a session in the way that has expired, and adds that to `told`.
pub async fn in_the_way<X: Tx>(
    tx: &mut X,
    key: &SessionKey,
    request: Option<&RequestKey>,
    incarnation: i64,
    now: Micros,
    told: &mut Vec<Committed>,
) -> Result<InTheWay> {
    if let Some(request) = request
        && let Some(found) = made_before(tx, &key.user, request, incarnation, now, told).await?
    {
        return Ok(found);
    }
    let Some(existing) = tx.lock_sessions(&BTreeSet::from([key]), OnLocked::Wait).await?.into_iter().next() else {
        return Ok(InTheWay::Nothing);
    };
    if existing.head.is_live(now) {
        return Ok(if existing.head.incarnation == incarnation { InTheWay::OurOwn } else { InTheWay::Other });
    }
    told.push(bury(tx, key, existing.head.incarnation, Removal::Expired).await?);
    Ok(InTheWay::Nothing)
}

/// What an earlier request of the same key made, if that is still there. The session is locked, so that it stays.
pub async fn made_before<X: Tx>(
    tx: &mut X,
    user: &UserKey,
    request: &RequestKey,
    incarnation: i64,
    now: Micros,
    told: &mut Vec<Committed>,
) -> Result<Option<InTheWay>> {
    // The session may be deleted meanwhile, and its key with it. Each iteration sees what is committed by then.
    while let Some((key, found, digest)) = made_by(tx, user, &request.key).await? {
        let row = tx.lock_sessions(&BTreeSet::from([&key]), OnLocked::Wait).await?.into_iter().next();
        let Some(row) = row.filter(|row| row.head.incarnation == found) else { continue };
        if !row.head.is_live(now) {
            told.push(bury(tx, &key, found, Removal::Expired).await?);
            continue;
        }
        return Ok(Some(if found == incarnation {
            InTheWay::OurOwn
        } else if request.is_retry_of(&digest) {
            InTheWay::Retried(key)
        } else {
            InTheWay::OtherRequest
        }));
    }
    Ok(None)
}

/// The session that a request of this key made, be it expired, its incarnation, and the request's digest.
async fn made_by(
    db: &mut impl Sql,
    user: &UserKey,
    key: &IdempotencyKey,
) -> Result<Option<(SessionKey, i64, Vec<u8>)>> {
    let query = Query::new(&Statements::of(db).made_by).user(user).bind(key.as_str());
    let row: Option<(SessionId, i64, Vec<u8>)> = at_most_one(db, query).await?;
    Ok(row.map(|(session, incarnation, digest)| (SessionKey { user: user.clone(), session }, incarnation, digest)))
}

/// Inserts the row of a session, and its place in the list by last update; `false` if it is there.
pub async fn insert_listed(db: &mut impl Sql, insert: Query<'_>, key: &SessionKey) -> Result<bool> {
    let is_made = db.execute(insert).await? > 0;
    let statements = Statements::of(db);
    if is_made && db.shape().is_distributed() {
        db.execute(Query::new(&statements.list_session).session(key)).await?;
    }
    Ok(is_made)
}

/// The session keys of an initial state, as one JSON object.
fn initial_state(changes: &[Change]) -> String {
    let mut state = ObjectText::default();
    for change in changes.iter().filter(|change| change.scope == Scope::Session) {
        state.push(&change.key, change.value.text());
    }
    state.close()
}

statements! { words,
    /// The session that the request `$3` of a user made.
    made_by: "select id, incarnation, creation_digest from sessions \
              where app_name = $1 and user_id = $2 and creation_key = $3",
    /// How many sessions a user has that have not expired by now (`$3`, where the database has no clock), counted up to `$4`.
    count_sessions: format!(
        "select count(*) from (select 1 from sessions s where s.app_name = $1 and s.user_id = $2 \
           and (s.expire_time is null or s.expire_time > {}) limit 0 + $4) as counted",
        words.present("$3")
    ),
    /// Notes the revisions of user and app state, `$4` and `$5`, that a creation came to.
    set_created_revisions: "update sessions set created_user_revision = $4, created_app_revision = $5 \
                            where app_name = $1 and user_id = $2 and id = $3",
    /// Where the database is distributed.
    list_session: format!(
        "insert into session_updates (app_name, user_id, id, place) \
         select app_name, user_id, id, update_time from sessions where app_name = $1 and user_id = $2 and id = $3"
    ),
}
