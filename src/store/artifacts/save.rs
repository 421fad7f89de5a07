//! A save: the transaction that makes a version visible.

use std::collections::BTreeSet;

use sqlx::FromRow;

use super::blobs;
use super::read::{Holder, VERSION, VersionRow, digest};
use crate::domain::Limits;
use crate::domain::append::{self, Append};
use crate::domain::artifact::{BlobBegin, Held, Place, Save, SaveEvent, Saved, Version, decide};
use crate::domain::erasure::Subject;
use crate::domain::event::EventDraft;
use crate::domain::guard::Guard;
use crate::domain::ids::{ArtifactName, SessionKey};
use crate::domain::json::RawJson;
use crate::domain::loaded::{Loaded, Needs};
use crate::domain::refusal::Refusal;
use crate::domain::time::Micros;
use crate::domain::writes::{ArtifactChange, Writes};
use crate::store::appends::load::load;
use crate::store::backend::{OnLocked, Tx};
use crate::store::erasures::admit;
use crate::store::error::{Decided, StoreError};
use crate::store::run::{End, apply};
use crate::store::sessions::read::{head, not_there};
use crate::store::sql::query::{Sql, at_most_one, one};
use crate::store::sql::statements::statements;

type Result<T> = std::result::Result<T, StoreError>;

/// Notes a blob for an artifact of a place that is there.
pub async fn begin_blob<X: Tx>(tx: &mut X, salt: &[u8; 32], begin: &BlobBegin) -> Decided<((), End)> {
    hold(tx, salt, &begin.place).await?;
    if let Some(session) = begin.place.session() {
        head(tx, session, begin.now).await?.ok_or(Refusal::SessionNotFound)?;
    }
    blobs::note(tx, &begin.blob, begin.now).await?;
    Ok(((), End::UNTOLD))
}

/// Holds the user of a place against erasures.
async fn hold<X: Tx>(tx: &mut X, salt: &[u8; 32], place: &Place) -> Decided<()> {
    let user = place.user();
    if admit(tx, &user.app, &Subject::of(salt, user)).await? {
        return Ok(());
    }
    // Of an erased user there are no sessions.
    Err(match place {
        Place::Session(_) => Refusal::SessionNotFound,
        Place::User(_) => Refusal::UserErased,
    }
    .into())
}

pub async fn save<X: Tx>(tx: &mut X, salt: &[u8; 32], save: &Save, again: bool) -> Decided<(Saved, End)> {
    hold(tx, salt, &save.place).await?;
    let mut loaded = held_session(tx, save).await?;
    let head = save.place.session().and_then(|session| loaded.sessions.get(session));
    let holder = Holder::of(&save.place, &save.name, head.map_or(0, |head| head.incarnation));
    if let Some(saved) = saved_before(tx, holder, save, again).await? {
        return Ok((saved, End::Release));
    }
    if let Some(session) = save.place.session() {
        let tag = loaded.tag(session).ok_or_else(not_there)?;
        let lease = loaded.sessions.get(session).map(|head| head.lease.clone()).unwrap_or_default();
        Guard { lease: save.lease, if_match: None }.judge(&lease, &tag, save.now)?;
    }
    let statements = Statements::of(tx);
    // Locks the place: savers of it come one after the other.
    let versions = count(tx, holder, 1).await?;
    let found: Option<HeldRow> = at_most_one(tx, holder.query(&statements.held).bind(save.name.as_str())).await?;
    let version = decide(save, &held(found, versions - 1)?)?;
    if let Some(blob) = &save.blob {
        let size = save.content.bytes.map_or(0, |(size, _)| size);
        blobs::hold_saved(tx, holder.user, blob, size).await?;
    }
    let (mut tag, mut event_bytes, mut end) = (None, 0, End::UNTOLD);
    if let (Some(session), Some(event)) = (save.place.session(), &save.event) {
        let append = append_of(session, save, event, version);
        let mut writes = Writes::default();
        let done = append::decide(&mut loaded, &append, &mut writes)?;
        event_bytes = writes.events.iter().map(|row| row.body.len()).sum();
        (_, end) = apply(tx, &writes).await?;
        tag = Some(done.tag);
    }
    let revision = tag.as_ref().map(|tag| tag.revision);
    let create_time = insert(tx, holder, save, version, revision).await?;
    set_latest(tx, holder, &save.name, version).await?;
    let size = save.content.bytes.map(|(size, _)| blobs::stored(size));
    let told = holder.told(&save.name, ArtifactChange::Saved { version, size })?;
    let (name, content) = (save.name.clone(), save.content.clone());
    let version = Version { name, version, content, create_time, revision };
    Ok((Saved { version, replayed: false, tag, event_bytes }, end.after(vec![told])))
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

/// Locks the place's session, and loads what a decision about it needs; nothing of a user.
async fn held_session<X: Tx>(tx: &mut X, save: &Save) -> Decided<Loaded> {
    let Some(session) = save.place.session() else { return Ok(Loaded::default()) };
    let needs = Needs {
        sessions: BTreeSet::from([session]),
        events: save.event.iter().map(|event| (session, &event.id)).collect(),
        ..Needs::of_revisions(session)
    };
    let loaded = load(tx, &needs, OnLocked::Wait).await?;
    let is_live = loaded.sessions.get(session).is_some_and(|head| head.is_live(save.now));
    if is_live { Ok(loaded) } else { Err(Refusal::SessionNotFound.into()) }
}

/// What an earlier try, or an earlier request of the same key, saved.
async fn saved_before(db: &mut impl Sql, holder: Holder<'_>, save: &Save, again: bool) -> Decided<Option<Saved>> {
    let saved = |row: VersionRow, replayed| {
        Ok::<_, StoreError>(Some(Saved { version: row.decode()?, replayed, tag: None, event_bytes: 0 }))
    };
    let statements = Statements::of(db);
    if again {
        let query = holder.query(&statements.saved_by_mark).bind(save.name.as_str()).bind(save.mark);
        if let Some(row) = at_most_one::<VersionRow>(db, query).await? {
            return Ok(saved(row, false)?);
        }
    }
    let Some(request) = &save.request else { return Ok(None) };
    let query = holder.query(&statements.saved_by_key).bind(save.name.as_str()).bind(request.key.as_str());
    match at_most_one::<KeyedRow>(db, query).await? {
        Some(row) if request.is_retry_of(&row.request_digest) => Ok(saved(row.version, true)?),
        Some(_) => Err(Refusal::ArtifactKeyConflict.into()),
        None => Ok(None),
    }
}

fn held(found: Option<HeldRow>, versions: i64) -> Result<Held> {
    let Some(row) = found else { return Ok(Held { next: 0, latest: None, versions }) };
    let sha256 = row.sha256.map(digest).transpose()?;
    Ok(Held { next: row.next, latest: row.latest.map(|version| (version, sha256)), versions })
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
        with_state: false,
    }
}

async fn insert(
    db: &mut impl Sql,
    holder: Holder<'_>,
    save: &Save,
    version: i64,
    revision: Option<i64>,
) -> Result<Micros> {
    let content = &save.content;
    fn text(json: &Option<RawJson>) -> Option<&str> {
        json.as_ref().map(RawJson::text)
    }
    let (size, sha256) = content.bytes.as_ref().map(|(size, sha256)| (*size, &sha256[..])).unzip();
    let query = holder
        .query(&Statements::of(db).insert_version)
        .bind(save.name.as_str())
        .bind(version)
        .bind(save.mark)
        .bind(content.kind.as_str())
        .bind(content.mime_type.as_deref())
        .bind(size.map(blobs::stored))
        .bind(sha256)
        .bind(save.blob.as_ref().map(|blob| &*blob.id))
        .bind(save.now.0)
        .bind(text(&content.metadata))
        .bind(text(&content.display_name))
        .bind(text(&content.file_uri))
        .bind(revision)
        .bind(save.request.as_ref().map(|request| request.key.as_str()))
        .bind(save.request.as_ref().map(|request| &request.digest[..]));
    let (create_time,): (i64,) = one(db, query).await?;
    Ok(Micros(create_time))
}

statements! { words,
    /// Counts `$5` versions more of a session or a user.
    count_versions: "insert into artifact_places (app_name, user_id, session_id, incarnation, versions) values ($1, $2, $3, $4, $5) \
                    on conflict (app_name, user_id, session_id) do update set \
                      versions = case when artifact_places.incarnation = excluded.incarnation then artifact_places.versions else 0 end + excluded.versions, \
                      incarnation = excluded.incarnation \
                    returning versions",
    /// What the artifact `$5` has.
    held: format!(
        "select n.next, l.version as latest, l.sha256 from artifact_names n left join artifacts l \
           on l.app_name = $1 and l.user_id = $2 and l.session_id = $3 and l.incarnation = $4 and l.name = $5 \
             and l.version = n.latest and l.kind <> 'gone' \
         where n.app_name = $1 and n.user_id = $2 and n.session_id = $3 and n.incarnation = $4 and n.name = $5"
    ),
    saved_by_mark: format!(
        "select {VERSION} from artifacts l where l.app_name = $1 and l.user_id = $2 and l.session_id = $3 \
           and l.incarnation = $4 and l.name = $5 and l.mark = $6"
    ),
    saved_by_key: format!(
        "select {VERSION}, l.request_digest from artifacts l where l.app_name = $1 and l.user_id = $2 and l.session_id = $3 \
           and l.incarnation = $4 and l.name = $5 and l.request_key = $6"
    ),
    insert_version: format!(
        "insert into artifacts (app_name, user_id, session_id, incarnation, name, version, mark, kind, mime_type, size, sha256, \
           blob, create_time, metadata, display_name, file_uri, revision, request_key, request_digest) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, {}, $14, $15, $16, $17, $18, $19) returning create_time",
        words.present("$13")
    ),
    /// Makes `$6` the latest version of the artifact `$5`.
    set_latest: "insert into artifact_names (app_name, user_id, session_id, incarnation, name, next, latest, versions) \
                 values ($1, $2, $3, $4, $5, $6 + 1, $6, 1) \
                 on conflict (app_name, user_id, session_id, incarnation, name) do update set \
                   next = excluded.next, latest = excluded.latest, versions = artifact_names.versions + 1",
}

/// What an artifact has.
#[derive(FromRow)]
struct HeldRow {
    next: i64,
    latest: Option<i64>,
    sha256: Option<Vec<u8>>,
}

/// A version that an Idempotency-Key saved.
#[derive(FromRow)]
struct KeyedRow {
    #[sqlx(flatten)]
    version: VersionRow,
    request_digest: Vec<u8>,
}
