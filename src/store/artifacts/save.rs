//! A save: the transaction that makes a version visible. Saves of one app that arrive while others are made share one.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use super::blobs;
use super::blobs::WithVersion;
use super::read::{Holder, VERSION};
use crate::domain::Limits;
use crate::domain::append::{self, Append};
use crate::domain::artifact::{
    BlobBegin, BlobKey, Content, Held, Place, Save, SaveEvent, Saved, SavedBlob, Version, decide,
};
use crate::domain::erasure::Subject;
use crate::domain::event::EventDraft;
use crate::domain::guard::Guard;
use crate::domain::ids::{AppName, ArtifactName, SessionKey, UserKey};
use crate::domain::json::RawJson;
use crate::domain::loaded::{Loaded, Needs};
use crate::domain::refusal::{Bound, Refusal};
use crate::domain::time::Micros;
use crate::domain::writes::{ArtifactChange, Committed, Writes};
use crate::store::backend::{Backend, OnLocked, Tx, UserLock};
use crate::store::blocked::{admit, admit_all};
use crate::store::error::{Cause, Decided, Failure, Result, StoreError};
use crate::store::load::load;
use crate::store::run::{Call, End, apply};
use crate::store::sessions::bounds;
use crate::store::sessions::read::head;
use crate::store::sql::columns::OF_L;
use crate::store::sql::insert::{in_sizes, owner, rows_of};
use crate::store::sql::query::{ArtifactKey, Query, Sql, Value, at_most_one, one, row};
use crate::store::sql::statements::statements;
use crate::store::transactions::{Beginning, Saving};

/// Notes a blob for an artifact of a place that is there.
pub async fn begin_blob<X: Tx>(tx: &mut X, salt: &[u8; 32], begin: &BlobBegin) -> Decided<((), End)> {
    hold(tx, salt, &begin.place).await?;
    if let Some(session) = begin.place.session() {
        head(tx, session, begin.now).await?.ok_or(Refusal::SessionNotFound)?;
    }
    blobs::note(tx, &begin.blob, begin.now).await?;
    Ok(((), End::UNTOLD))
}

/// Notes blobs of one app in one transaction. Each that is `None` is to be tried alone, and so are all if it fails.
pub async fn begin_together<B: Backend>(
    call: &Call<'_, B>,
    salt: &[u8; 32],
    begins: &[&BlobBegin],
) -> Result<Vec<Beginning>> {
    if let [begin] = begins {
        return Ok(vec![call.decide(async |tx| begin_blob(tx, salt, begin).await).await.map(Some)]);
    }
    call.try_together(begins.len(), async |tx| begin_all(tx, salt, begins).await, |()| true).await
}

/// `None` if what a blob is for is not there.
async fn begin_all<X: Tx>(tx: &mut X, salt: &[u8; 32], begins: &[&BlobBegin]) -> Result<(Vec<Option<()>>, End)> {
    let Some(app) = begins.first().map(|begin| begin.place.app()) else { return Ok((Vec::new(), End::Release)) };
    let blocked = admit_all(tx, salt, app, begins.iter().map(|begin| begin.place.user()).collect()).await?;
    let sessions = begins.iter().filter_map(|begin| begin.place.session()).collect();
    let heads = tx.read_heads(&Needs { sessions, ..Needs::default() }).await?;
    let mut begun = Vec::with_capacity(begins.len());
    for BlobBegin { place, blob, now } in begins {
        let is_live = |session| heads.sessions.get(session).is_some_and(|head| head.is_live(*now));
        let may = !blocked.contains(place.user()) && place.session().is_none_or(is_live);
        if may {
            blobs::note(tx, blob, *now).await?;
        }
        begun.push(may.then_some(()));
    }
    Ok((begun, End::UNTOLD))
}

/// Holds the user of a place against erasures.
async fn hold<X: Tx>(tx: &mut X, salt: &[u8; 32], place: &Place) -> Decided<()> {
    let user = place.user();
    let is_blocked = !admit(tx, &user.app, &Subject::of(salt, user)).await?;
    Ok(refuse_blocked(place, is_blocked)?)
}

fn refuse_blocked(place: &Place, is_blocked: bool) -> Result<(), Refusal> {
    match place {
        _ if !is_blocked => Ok(()),
        // Of an erased user there are no sessions.
        Place::Session(_) => Err(Refusal::SessionNotFound),
        Place::User(_) => Err(Refusal::UserErased),
    }
}

/// What became of one of several saves.
type Judged = Result<Saved, Refusal>;

/// A save of more bytes gains little by sharing a transaction, and those that share it wait for them.
const SHARED_BYTES: usize = 64 << 10;

/// Whether a save may share a transaction with others.
pub fn may_share(save: &Save) -> bool {
    let bytes = save.blob.as_ref().and_then(|blob| blob.bytes.as_ref());
    bytes.is_none_or(|bytes| bytes.len() <= SHARED_BYTES)
}

/// Saves a version in a transaction of its own. With `again`, what an earlier try of the same save has made is found.
pub async fn alone<B: Backend>(call: &Call<'_, B>, salt: &[u8; 32], save: &Save, again: bool) -> Decided<Saved> {
    let save = async |tx: &mut B::Tx| {
        let user = save.place.user();
        let most = bounds::of(tx, &user.app).await?.artifact_bytes_per_user;
        if most.is_some() {
            // Of those who count at the same time, each would miss what the others save. Before any row is locked.
            hold(tx, salt, &save.place).await?;
            tx.hold_users(&[Subject::of(salt, user).counting_lock()], UserLock::Alone).await?;
        }
        let (judged, end) = save_all(tx, salt, &[save], again, OnLocked::Wait).await?;
        let judged = judged.into_iter().flatten().next();
        let saved = judged.ok_or_else(|| StoreError::new(Cause::Internal, "a save was not answered"))??;
        let has_grown = end != End::Release && saved.version.content.bytes.is_some_and(|(size, _)| size > 0);
        if let Some(most) = most.filter(|_| has_grown)
            && has_more(tx, user, most, save.now).await?
        {
            return Err(Refusal::LimitReached(Bound::ArtifactBytesPerUser).into());
        }
        Ok((saved, end))
    };
    call.decide(save).await
}

/// Whether the artifacts of a user have more bytes than `most`.
async fn has_more(db: &mut impl Sql, user: &UserKey, most: i64, now: Micros) -> Result<bool> {
    let statements = Statements::of(db);
    // With those of sessions that are gone: what is within the bound with them need not be looked at one by one.
    let (stored,): (i64,) = one(db, Query::new(&statements.stored_bytes).user(user)).await?;
    if stored <= most {
        return Ok(false);
    }
    let (held,): (i64,) = one(db, Query::new(&statements.held_bytes).user(user).bind(now.0)).await?;
    Ok(held > most)
}

/// Saves versions of artifacts of one app in one transaction. Each that is `None` is to be tried alone, and so are all if it fails,
/// perhaps because of one of them.
pub async fn together<B: Backend>(call: &Call<'_, B>, salt: &[u8; 32], batch: &[&Arc<Save>]) -> Result<Vec<Saving>> {
    if let [save] = batch {
        return Ok(vec![alone(call, salt, save, false).await.map(Some)]);
    }
    let saves: Vec<&Save> = batch.iter().map(|save| &***save).collect();
    let save = async |tx: &mut B::Tx| save_all(tx, salt, &saves, false, OnLocked::Skip).await;
    let is_written = |judged: &Judged| judged.as_ref().is_ok_and(|saved| !saved.replayed);
    let judged = call.try_together(batch.len(), save, is_written).await?;
    Ok(judged.into_iter().map(|judged| Ok(judged?.transpose()?)).collect())
}

/// A save that others do not keep from being made, and what becomes of it.
struct Try<'s, 'j> {
    save: &'s Save,
    holder: Holder<'s>,
    judged: &'j mut Option<Judged>,
}

/// Saves versions of artifacts of one app, each judged on its own, in the given order. With `OnLocked::Skip` it waits for no row that
/// others have locked: a save that would, or of which what it is for is not there, is left out, and there is nothing for it.
///
/// What it decides on is protected: a session by the lock of its row, a user's artifacts by that of their count, and a user against
/// erasures. All are taken before anything is read.
async fn save_all<X: Tx>(
    tx: &mut X,
    salt: &[u8; 32],
    saves: &[&Save],
    again: bool,
    on_locked: OnLocked,
) -> Result<(Vec<Option<Judged>>, End)> {
    let mut all: Vec<Option<Judged>> = saves.iter().map(|_| None).collect();
    let Some(app) = saves.first().map(|save| save.place.app()) else { return Ok((all, End::Release)) };
    let blocked = admit_all(tx, salt, app, saves.iter().map(|save| save.place.user()).collect()).await?;
    let mut loaded = held_sessions(tx, saves, on_locked).await?;
    let users = held_users(tx, app, saves, on_locked).await?;
    let mut tries = Vec::new();
    for (save, judged) in saves.iter().zip(&mut all) {
        match holder_of(save, &blocked, &loaded, &users, on_locked) {
            Ok(Some(holder)) => tries.push(Try { save, holder, judged }),
            Ok(None) => {}
            Err(refusal) => *judged = Some(Err(refusal)),
        }
    }
    // Of several with one key, the others are to find what the first comes to.
    let mut keys = HashSet::new();
    tries.retain(|Try { save, holder, .. }| {
        let request = save.request.as_ref().map(|request| request.key.as_str());
        request.is_none_or(|key| keys.insert((holder.user, holder.session, save.name.as_str(), key)))
    });
    for Try { save, holder, judged } in &mut tries {
        match saved_before(tx, *holder, save, again).await {
            Ok(saved) => **judged = saved.map(Ok),
            Err(Failure::Refused(refusal)) => **judged = Some(Err(refusal)),
            Err(Failure::Store(error)) => return Err(error),
        }
    }
    tries.retain(|one| one.judged.is_none());
    let mut ledger = Ledger::read(tx, app, &tries).await?;
    if ledger.is_bounded && saves.len() > 1 {
        return Ok((all, End::Release));
    }
    let appends: Vec<OnceLock<Append>> = tries.iter().map(|_| OnceLock::new()).collect();
    let mut writes = Writes::default();
    for (Try { save, holder, judged }, append) in tries.iter_mut().zip(&appends) {
        **judged = Some(ledger.judge(save, *holder, append, &mut loaded, &mut writes));
    }
    let made: Vec<Made<'_>> = tries.iter().filter_map(Try::made).collect();
    if made.is_empty() {
        return Ok((all, End::Release));
    }
    for Made { save, holder, saved } in &made {
        let size = saved.version.content.bytes.map_or(0, |(size, _)| size);
        if let Some(SavedBlob { id, bytes: None }) = &save.blob
            && !blobs::take(tx, &BlobKey { user: holder.user.clone(), id: id.clone() }, size).await?
        {
            // The others are tried without it.
            let judge = |_: &&Save| (saves.len() == 1).then_some(Err(Refusal::BlobLost));
            return Ok((saves.iter().map(judge).collect(), End::Release));
        }
    }
    // First, so that the numbers are given when their events name them.
    ledger.write(tx).await?;
    let mut end = End::UNTOLD;
    if !writes.is_empty() {
        (_, end) = apply(tx, &writes).await?;
    }
    let bytes: Vec<WithVersion<'_>> = made.iter().filter_map(Made::bytes).collect();
    blobs::insert_with_versions(tx, &bytes).await?;
    for some in in_sizes(&made) {
        tx.execute(insertion(some)).await?;
    }
    let told = made.iter().map(Made::told).collect::<Result<Vec<_>>>()?;
    Ok((all, end.after(told)))
}

/// Locks the sessions of saves, and loads what decisions about them need.
async fn held_sessions<X: Tx>(tx: &mut X, saves: &[&Save], on_locked: OnLocked) -> Result<Loaded> {
    let mut needs = Needs::default();
    for save in saves {
        if let Some(session) = save.place.session() {
            needs.sessions.insert(session);
            needs.scopes.extend(session.scopes().map(|scope| (scope, false)));
            needs.events.extend(save.event.iter().map(|event| (session, &event.id)));
        }
    }
    if needs.is_empty() { Ok(Loaded::default()) } else { load(tx, &needs, on_locked).await }
}

/// Locks what users have, if an artifact of theirs is saved; the users of whom it is locked. Nobody else writes a file.
async fn held_users<'s, X: Tx>(
    tx: &mut X,
    app: &AppName,
    saves: &[&'s Save],
    on_locked: OnLocked,
) -> Result<BTreeSet<&'s UserKey>> {
    let of_user = |save: &&&'s Save| Holder::of(&save.place, &save.name, 0).session.is_empty();
    let mut users: BTreeSet<&UserKey> = saves.iter().filter(of_user).map(|save| save.place.user()).collect();
    if users.is_empty() || !tx.shape().is_shared() {
        return Ok(users);
    }
    match on_locked {
        OnLocked::Wait | OnLocked::WaitAlone => {
            for user in &users {
                // Of one who has none yet, there is a row to lock now.
                count(tx, Holder::of_user(user), 0).await?;
            }
        }
        OnLocked::Skip => {
            let names: Vec<String> = users.iter().map(|user| user.user.to_string()).collect();
            let query = Query::new(&Statements::of(tx).lock_user_places).app(app).bind(Some(&*names));
            let locked: Vec<(String,)> = tx.fetch(query).await?;
            let locked: HashSet<String> = locked.into_iter().map(|(user,)| user).collect();
            users.retain(|user| locked.contains(user.user.as_str()));
        }
    }
    Ok(users)
}

/// Who is to have a version, if that is locked.
fn holder_of<'s>(
    save: &'s Save,
    blocked: &BTreeSet<&UserKey>,
    loaded: &Loaded,
    users: &BTreeSet<&UserKey>,
    on_locked: OnLocked,
) -> Result<Option<Holder<'s>>, Refusal> {
    refuse_blocked(&save.place, blocked.contains(save.place.user()))?;
    let mut incarnation = 0;
    if let Some(session) = save.place.session() {
        match loaded.sessions.get(session) {
            Some(head) if head.is_live(save.now) => incarnation = head.incarnation,
            None if on_locked == OnLocked::Skip => return Ok(None),
            Some(_) | None => return Err(Refusal::SessionNotFound),
        }
    }
    let holder = Holder::of(&save.place, &save.name, incarnation);
    Ok((!holder.session.is_empty() || users.contains(holder.user)).then_some(holder))
}

/// Whose artifacts are counted: a user, and a session, which is empty of a user's own.
type PlaceKey<'s> = (&'s UserKey, &'s str);

/// What sessions and users have of artifacts, with what this transaction saves.
struct Ledger<'s> {
    present: Micros,
    /// The app's policy bounds the bytes of its users.
    is_bounded: bool,
    places: BTreeMap<PlaceKey<'s>, PlaceCount>,
    names: BTreeMap<ArtifactKey<'s>, NameCount>,
}

#[derive(Default)]
struct PlaceCount {
    incarnation: i64,
    versions: i64,
    /// How many of them are new.
    new: i64,
}

#[derive(Default)]
struct NameCount {
    next: i64,
    named: Option<i64>,
    latest: Option<(i64, Option<[u8; 32]>)>,
    /// How many versions are new, of which the last is the latest.
    new: i64,
}

impl<'s> Ledger<'s> {
    async fn read(db: &mut impl Sql, app: &AppName, tries: &[Try<'s, '_>]) -> Result<Self> {
        let now = tries.iter().map(|made| made.save.now).max().unwrap_or(Micros(0));
        let mut ledger = Self { present: now, is_bounded: false, places: BTreeMap::new(), names: BTreeMap::new() };
        for Try { save, holder, .. } in tries {
            let name = (holder.user, holder.session, holder.incarnation, save.name.as_str());
            ledger.names.insert(name, NameCount::default());
        }
        let keys: Vec<_> = ledger.names.keys().copied().collect();
        if keys.is_empty() {
            return Ok(ledger);
        }
        let query = Query::new(&Statements::of(db).held).app(app).artifacts(&keys).bind(now.0);
        let rows: Vec<HeldRow> = db.fetch(query).await?;
        let found: HashMap<_, _> =
            rows.iter().map(|row| ((&*row.user_id, &*row.session_id, &*row.name), row)).collect();
        for ((user, session, incarnation, name), count) in &mut ledger.names {
            let row = found.get(&(user.user.as_str(), *session, *name));
            let row = row.ok_or_else(|| StoreError::new(Cause::Internal, "an artifact was not looked up"))?;
            ledger.present = row.present;
            ledger.is_bounded = row.most_bytes.is_some();
            let (versions, new) = (row.versions.unwrap_or(0), 0);
            ledger.places.insert((user, session), PlaceCount { incarnation: *incarnation, versions, new });
            let latest = row.latest.map(|version| (version, row.sha256));
            *count = NameCount { next: row.next.unwrap_or(0), named: row.named, latest, new: 0 };
        }
        Ok(ledger)
    }

    /// Decides a save after those before it.
    fn judge(
        &mut self,
        save: &'s Save,
        holder: Holder<'s>,
        append: &'s OnceLock<Append>,
        loaded: &mut Loaded,
        writes: &mut Writes<'s>,
    ) -> Judged {
        if let Some(session) = save.place.session() {
            let tag = loaded.tag(session).ok_or(Refusal::SessionNotFound)?;
            let lease = loaded.sessions.get(session).map(|head| head.lease.clone()).unwrap_or_default();
            Guard { lease: save.lease, if_match: None }.judge(&lease, &tag, save.now)?;
        }
        let place = self.places.entry((holder.user, holder.session)).or_default();
        let key = (holder.user, holder.session, holder.incarnation, save.name.as_str());
        let name = self.names.entry(key).or_default();
        let held = Held { next: name.next, named: name.named, latest: name.latest, versions: place.versions };
        let version = decide(save, &held)?;
        let (mut tag, mut event_bytes) = (None, 0);
        if let (Some(session), Some(event)) = (save.place.session(), &save.event) {
            let before = writes.events.len();
            let append = append.get_or_init(|| append_of(session, save, event, version));
            tag = Some(append::decide(loaded, append, writes)?.tag);
            event_bytes = writes.events.iter().skip(before).map(|row| row.body.len()).sum();
        }
        place.versions += 1;
        place.new += 1;
        let sha256 = save.content.bytes.map(|(_, sha256)| sha256);
        *name = NameCount { next: version + 1, latest: Some((version, sha256)), new: name.new + 1, ..*name };
        let version = Version {
            name: save.name.clone(),
            version,
            content: save.content.clone(),
            create_time: self.present,
            revision: tag.map(|tag| tag.revision),
        };
        Ok(Saved { version, replayed: false, tag, event_bytes })
    }

    async fn write(&self, db: &mut impl Sql) -> Result<()> {
        let places: Vec<_> = self.places.iter().filter(|(_, count)| count.new > 0).collect();
        for some in in_sizes(&places) {
            db.execute(counting(some)).await?;
        }
        let names: Vec<_> = self.names.iter().filter(|(_, count)| count.new > 0).collect();
        for some in in_sizes(&names) {
            db.execute(naming(some)).await?;
        }
        Ok(())
    }
}

/// Counts the new versions of sessions and users.
fn counting<'a>(places: &'a [(&PlaceKey<'a>, &PlaceCount)]) -> Query<'a> {
    let rows =
        rows_of("artifact_places", PLACE_COLUMNS, places, |((user, session), count), values: &mut Vec<Value<'a>>| {
            values.extend(owner(user, session, count.incarnation));
            values.push(count.new.into());
        });
    rows.sql(COUNTED)
}

/// Makes the last of the new versions of artifacts the latest.
fn naming<'a>(names: &'a [(&ArtifactKey<'a>, &NameCount)]) -> Query<'a> {
    let rows = rows_of("artifact_names", NAME_COLUMNS, names, |(key, count), values: &mut Vec<Value<'a>>| {
        let (user, session, incarnation, name) = **key;
        values.extend(owner(user, session, incarnation));
        let latest = count.latest.map(|(version, _)| version);
        values.extend([name.into(), count.next.into(), latest.into(), count.new.into()]);
    });
    rows.sql(NAMED)
}

/// A save, and the version that it makes.
struct Made<'a> {
    save: &'a Save,
    holder: Holder<'a>,
    saved: &'a Saved,
}

impl Try<'_, '_> {
    fn made(&self) -> Option<Made<'_>> {
        let saved = self.judged.as_ref()?.as_ref().ok()?;
        Some(Made { save: self.save, holder: self.holder, saved })
    }
}

impl Made<'_> {
    /// The bytes that are written with it.
    fn bytes(&self) -> Option<WithVersion<'_>> {
        let SavedBlob { id, bytes } = self.save.blob.as_ref()?;
        Some(WithVersion { user: self.holder.user, id, bytes: bytes.as_ref()? })
    }

    fn told(&self) -> Result<Committed> {
        let Version { name, version, content, .. } = &self.saved.version;
        let size = content.bytes.map(|(size, _)| blobs::stored(size));
        self.holder.told(name, ArtifactChange::Saved { version: *version, size })
    }
}

/// The columns of a version that a save and an import insert.
pub const COLUMNS: &str = "app_name, user_id, session_id, incarnation, name, version, mark, kind, mime_type, size, sha256, blob, \
                           create_time, metadata, display_name, file_uri";

/// The values of these.
pub fn values_of<'a>(
    holder: Holder<'a>,
    version: &'a Version,
    mark: i64,
    blob: Option<&'a SavedBlob>,
) -> impl Iterator<Item = Value<'a>> {
    fn text(json: &Option<RawJson>) -> Value<'_> {
        json.as_ref().map(RawJson::text).into()
    }
    let Content { kind, mime_type, bytes, display_name, file_uri, metadata } = &version.content;
    let (size, sha256) = bytes.as_ref().map(|(size, sha256)| (blobs::stored(*size), &sha256[..])).unzip();
    let owner = owner(holder.user, holder.session, holder.incarnation);
    owner.into_iter().chain([
        version.name.as_str().into(),
        version.version.into(),
        mark.into(),
        kind.as_str().into(),
        mime_type.as_deref().into(),
        size.into(),
        sha256.into(),
        blob.map(|blob| &*blob.id).into(),
        version.create_time.0.into(),
        text(metadata),
        text(display_name),
        text(file_uri),
    ])
}

/// Inserts versions.
fn insertion<'a>(made: &'a [Made<'a>]) -> Query<'a> {
    let columns = format!("{COLUMNS}, revision, request_key, request_digest");
    rows_of("artifacts", &columns, made, |Made { save, holder, saved }, values: &mut Vec<Value<'a>>| {
        let request = save.request.as_ref();
        values.extend(values_of(*holder, &saved.version, save.mark, save.blob.as_ref()));
        values.extend([
            saved.version.revision.into(),
            request.map(|request| request.key.as_str()).into(),
            request.map(|request| &request.digest[..]).into(),
        ]);
    })
}

/// Counts more versions of a session or a user; how many there are then.
pub async fn count(db: &mut impl Sql, holder: Holder<'_>, more: i64) -> Result<i64> {
    let (versions,): (i64,) = one(db, holder.query(&Statements::of(db).count_versions).bind(more)).await?;
    Ok(versions)
}

/// Makes a new version the latest one of its artifact.
pub async fn set_latest(db: &mut impl Sql, holder: Holder<'_>, name: &ArtifactName, version: i64) -> Result<()> {
    let query = holder.query(&Statements::of(db).set_latest).bind(name.as_str()).bind(version);
    db.execute(query).await.map(drop)
}

/// What an earlier try, or an earlier request of the same key, saved.
async fn saved_before(db: &mut impl Sql, holder: Holder<'_>, save: &Save, again: bool) -> Decided<Option<Saved>> {
    let saved = |version, replayed| Some(Saved { version, replayed, tag: None, event_bytes: 0 });
    let statements = Statements::of(db);
    if again {
        let query = holder.query(&statements.saved_by_mark).bind(save.name.as_str()).bind(save.mark);
        if let Some(version) = at_most_one(db, query).await? {
            return Ok(saved(version, false));
        }
    }
    let Some(request) = &save.request else { return Ok(None) };
    let query = holder.query(&statements.saved_by_key).bind(save.name.as_str()).bind(request.key.as_str());
    match at_most_one::<KeyedRow>(db, query).await? {
        Some(row) if request.is_retry_of(&row.request_digest) => Ok(saved(row.version, true)),
        Some(_) => Err(Refusal::ArtifactKeyConflict.into()),
        None => Ok(None),
    }
}

/// The append of the event that names the version.
fn append_of(session: &SessionKey, save: &Save, event: &SaveEvent, version: i64) -> Append {
    let draft = EventDraft::of_artifact(&event.author, &event.invocation_id, (save.name.clone(), version));
    Append {
        key: session.clone(),
        events: vec![draft.seal(event.id.clone(), save.now)],
        guard: Guard { lease: save.lease, if_match: None },
        only_if_present: None,
        limits: Limits::unbounded_input(),
        now: save.now,
        with_state: None,
        creates: None,
    }
}

const PLACE_COLUMNS: &str = "app_name, user_id, session_id, incarnation, versions";
const NAME_COLUMNS: &str = "app_name, user_id, session_id, incarnation, name, next, latest, versions";

/// What is added to versions that are counted, and to the names of artifacts that have new ones.
const COUNTED: &str = " on conflict (app_name, user_id, session_id) do update set \
                         versions = case when artifact_places.incarnation = excluded.incarnation then artifact_places.versions else 0 end \
                           + excluded.versions, \
                         incarnation = excluded.incarnation";
const NAMED: &str = " on conflict (app_name, user_id, session_id, incarnation, name) do update set \
                       next = excluded.next, latest = excluded.latest, versions = artifact_names.versions + excluded.versions";

statements! { words,
    /// Counts `$5` versions more of a session or a user.
    count_versions: format!(
        "insert into artifact_places ({PLACE_COLUMNS}) values ($1, $2, $3, $4, $5){COUNTED} returning versions"
    ),
    /// Locks what the users `$2` have, but for those of whom others have locked it.
    lock_user_places: format!(
        "select l.user_id from {} {}",
        (words.each)("$2"),
        (words.look_up)(
            "artifact_places",
            &format!("l.app_name = $1 and l.user_id = k.value and l.session_id = ''{}", words.unless_locked())
        )
    ),
    /// What the artifacts `$2`, `$3`, `$4`, `$5` have, and their sessions and users; and the time now (`$6`, where the database has no
    /// clock).
    held: format!(
        "select k.user_id, k.session_id, k.name, p.versions, n.next, n.named, v.version as latest, v.sha256, {} as present, \
           (select b.artifact_bytes_per_user from policies b where b.app_name = $1) as most_bytes from {} {} {} {}",
        words.present("$6"),
        words.artifacts(["$2", "$3", "$4", "$5"]),
        (words.look_up_if)(
            "artifact_places",
            "p",
            "p.app_name = $1 and p.user_id = k.user_id and p.session_id = k.session_id and p.incarnation = k.incarnation"
        ),
        (words.look_up_if)(
            "artifact_names",
            "n",
            "n.app_name = $1 and n.user_id = k.user_id and n.session_id = k.session_id and n.incarnation = k.incarnation \
             and n.name = k.name"
        ),
        (words.look_up_if)(
            "artifacts",
            "v",
            "v.app_name = $1 and v.user_id = k.user_id and v.session_id = k.session_id and v.incarnation = k.incarnation \
             and v.name = k.name and v.version = n.latest and v.kind <> 'gone'"
        )
    ),
    /// What the blobs have that are held.
    stored_bytes: "select cast(coalesce(sum(size), 0) as bigint) from blobs where app_name = $1 and user_id = $2 and versions > 0",
    /// What the blobs have that the user holds, or a session that is there; `$3` is now, where the database has no clock.
    held_bytes: format!(
        "select cast(coalesce(sum(size), 0) as bigint) from (select distinct a.blob, a.size from artifacts a \
           where a.app_name = $1 and a.user_id = $2 and a.blob is not null and (a.session_id = '' or exists ( \
             select 1 from sessions s where s.app_name = $1 and s.user_id = $2 and s.id = a.session_id \
               and s.incarnation = a.incarnation and (s.expire_time is null or s.expire_time > {})))) as held",
        words.present("$3")
    ),
    saved_by_mark: format!(
        "select {VERSION} from artifacts l where {OF_L} and l.name = $5 and l.mark = $6"
    ),
    saved_by_key: format!(
        "select {VERSION}, l.request_digest from artifacts l where {OF_L} and l.name = $5 and l.request_key = $6"
    ),
    /// Makes `$6` the latest version of the artifact `$5`.
    set_latest: format!("insert into artifact_names ({NAME_COLUMNS}) values ($1, $2, $3, $4, $5, $6 + 1, $6, 1){NAMED}"),
}

row! {
    /// What an artifact has, and its session or user.
    struct HeldRow {
        user_id: String,
        session_id: String,
        name: String,
        /// Of all its artifacts.
        versions: Option<i64>,
        next: Option<i64>,
        named: Option<i64>,
        latest: Option<i64>,
        sha256: Option<[u8; 32]>,
        present: Micros,
        /// All that the user may have.
        most_bytes: Option<i64>,
    }
}

row! {
    /// A version that an Idempotency-Key saved.
    struct KeyedRow {
        version: Version,
        request_digest: Vec<u8>,
    }
}

/// The insertions, of one row and of two.
#[cfg(test)]
pub fn composed() -> Vec<(String, String)> {
    let save = Save::plain();
    let (name, content) = (save.name.clone(), save.content.clone());
    let version = Version { name, version: 0, content, create_time: Micros(0), revision: None };
    let saved = Saved { version, replayed: false, tag: None, event_bytes: 0 };
    let user = save.place.user();
    let (place, key) = ((user, ""), (user, "", 0, "n"));
    let (count, latest) = (PlaceCount::default(), NameCount::default());
    let mut texts = Vec::new();
    for rows in [1, 2] {
        let bytes: Vec<_> = (0..rows).map(|_| WithVersion { user, id: "", bytes: b"" }).collect();
        let made: Vec<_> =
            (0..rows).map(|_| Made { save: &save, holder: Holder::of_user(user), saved: &saved }).collect();
        for (name, query) in [
            ("insert_chunks", blobs::chunks_with_versions(&bytes)),
            ("insert_blobs", blobs::blobs_with_versions(&bytes)),
            ("insert_versions", insertion(&made)),
            ("count_new", counting(&vec![(&place, &count); rows])),
            ("name_new", naming(&vec![(&key, &latest); rows])),
        ] {
            texts.push((format!("{name}_{rows}"), query.text().to_owned()));
        }
    }
    texts
}
