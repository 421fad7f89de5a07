//! Reads of artifacts.

use crate::domain::access::NameRange;
use crate::domain::artifact::{
    ArtifactList, ArtifactPage, Blob, BlobKey, Content, Found, Kind, Place, Version, VersionPage, Wanted,
};
use crate::domain::ids::{ArtifactName, SessionId, UserKey};
use crate::domain::json::RawJson;
use crate::domain::query::{SessionQuery, SessionView};
use crate::domain::time::Micros;
use crate::domain::writes::{ArtifactChange, Committed};
use crate::store::backend::Tx;
use crate::store::error::{Result, corrupt};
use crate::store::named;
use crate::store::sessions::read::{head, session};
use crate::store::sql::columns::{OF_INCARNATION, OF_L};
use crate::store::sql::past::Moment;
use crate::store::sql::query::{Column, Query, Sql, at_most_one, row};
use crate::store::sql::statements::statements;

/// Who has artifacts: a session by its incarnation, or a user.
#[derive(Debug, Clone, Copy)]
pub struct Holder<'a> {
    pub user: &'a UserKey,
    /// Empty of a user.
    pub session: &'a str,
    pub incarnation: i64,
}

impl<'a> Holder<'a> {
    /// Of the user.
    pub fn of_user(user: &'a UserKey) -> Self {
        Self { user, session: "", incarnation: 0 }
    }

    /// Who has an artifact of this name; `incarnation` is that of the place's session.
    pub fn of(place: &'a Place, name: &ArtifactName, incarnation: i64) -> Self {
        match place {
            Place::Session(session) if !name.is_of_user() => {
                Self { user: &session.user, session: session.session.as_str(), incarnation }
            }
            _ => Self::of_user(place.user()),
        }
    }

    /// A change of one of its artifacts, to be told.
    pub fn told(self, name: &ArtifactName, change: ArtifactChange) -> Result<Committed> {
        let session = match self.session {
            "" => None,
            session => Some((SessionId::parse(session).map_err(corrupt)?, self.incarnation)),
        };
        Ok(Committed::Artifact { user: self.user.clone(), session, name: name.clone(), change })
    }

    /// A statement over its rows.
    pub fn query(self, text: &'static str) -> Query<'a> {
        Query::new(text).user(self.user).bind(self.session).bind(self.incarnation)
    }
}

/// The incarnation of the place's session, 0 of a user; `None`: there is no such session, or it has expired.
async fn incarnation<X: Tx>(tx: &mut X, place: &Place, now: Micros) -> Result<Option<i64>> {
    match place.session() {
        Some(session) => Ok(head(tx, session, now).await?.map(|head| head.incarnation)),
        None => Ok(Some(0)),
    }
}

/// A moment of the place's session.
async fn moment<'a, X: Tx>(tx: &mut X, place: &'a Place, revision: i64, now: Micros) -> Result<Found<Moment<'a>>> {
    let Some(key) = place.session() else { return Ok(Found::Nothing) };
    let Some(head) = head(tx, key, now).await? else { return Ok(Found::SessionNotFound) };
    if revision > head.revision {
        return Ok(Found::Beyond(head.revision));
    }
    if revision < head.base_revision {
        return Ok(Found::Trimmed(head.base_revision));
    }
    Ok(Found::There(Moment { key, incarnation: head.incarnation, revision, last: head.revision }))
}

pub async fn artifact<X: Tx>(
    tx: &mut X,
    place: &Place,
    name: &ArtifactName,
    wanted: Wanted,
    now: Micros,
) -> Result<Found<(Version, Option<Blob>)>> {
    let (incarnation, version) = match wanted {
        Wanted::At(revision) => match moment(tx, place, revision, now).await? {
            Found::There(moment) => match named::version_then(tx, moment, name).await? {
                Some(version) => (moment.incarnation, Some(version)),
                None => return Ok(Found::Nothing),
            },
            found => return Ok(found.without()),
        },
        Wanted::Latest | Wanted::Version(_) => {
            let Some(incarnation) = incarnation(tx, place, now).await? else { return Ok(Found::SessionNotFound) };
            (incarnation, if let Wanted::Version(version) = wanted { Some(version) } else { None })
        }
    };
    let found = one_of(tx, Holder::of(place, name, incarnation), name, version).await?;
    Ok(found.map_or(Found::Nothing, Found::There))
}

/// A version of an artifact, the latest if no number is given, and where its bytes are.
pub async fn one_of(
    db: &mut impl Sql,
    holder: Holder<'_>,
    name: &ArtifactName,
    version: Option<i64>,
) -> Result<Option<(Version, Option<Blob>)>> {
    let statements = Statements::of(db);
    let query = match version {
        None => holder.query(&statements.latest_version).bind(name.as_str()),
        Some(version) => holder.query(&statements.version).bind(name.as_str()).bind(version),
    };
    Ok(at_most_one::<PlacedRow>(db, query).await?.map(|row| row.of(holder.user)))
}

pub async fn session_with_latest<X: Tx>(
    tx: &mut X,
    query: &SessionQuery,
    names: &[ArtifactName],
) -> Result<Option<(SessionView, Vec<(Version, Option<Blob>)>)>> {
    let Some(view) = session(tx, query).await? else { return Ok(None) };
    let place = Place::Session(query.key.clone());
    let mut found = Vec::new();
    for name in names {
        found.extend(one_of(tx, Holder::of(&place, name, view.head.incarnation), name, None).await?);
    }
    Ok(Some((view, found)))
}

pub async fn versions<X: Tx>(
    tx: &mut X,
    place: &Place,
    name: &ArtifactName,
    (after, rows): (i64, usize),
    now: Micros,
) -> Result<Found<VersionPage>> {
    let Some(incarnation) = incarnation(tx, place, now).await? else { return Ok(Found::SessionNotFound) };
    let holder = Holder::of(place, name, incarnation);
    let query = holder.query(&Statements::of(tx).versions).bind(name.as_str()).bind(after).bind(rows as i64 + 1);
    let mut versions: Vec<Version> = tx.fetch(query).await?;
    let more = versions.len() > rows;
    versions.truncate(rows);
    // At the end of a list there is nothing, in the middle of none there is.
    if versions.is_empty() && after < 0 { Ok(Found::Nothing) } else { Ok(Found::There(VersionPage { versions, more })) }
}

pub async fn artifacts<X: Tx>(tx: &mut X, list: &ArtifactList) -> Result<Found<ArtifactPage>> {
    let range = NameRange::of_prefix(&list.prefix);
    if let Some(revision) = list.at {
        return artifacts_then(tx, list, &range, revision).await;
    }
    let Some(incarnation) = incarnation(tx, &list.place, list.now).await? else { return Ok(Found::SessionNotFound) };
    let mut found = latest_in(tx, Holder::of_user(list.place.user()), list, &range).await?;
    if let Some(session) = list.place.session() {
        let holder = Holder { user: &session.user, session: session.session.as_str(), incarnation };
        found.extend(latest_in(tx, holder, list, &range).await?);
        found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    }
    let more = found.len() > list.rows;
    found.truncate(list.rows);
    let next = found.last().filter(|_| more).map(|last| last.name.to_string());
    Ok(Found::There(ArtifactPage { artifacts: found, next }))
}

/// Those that the events of a session name up to a revision, as far as they are there.
async fn artifacts_then<X: Tx>(
    tx: &mut X,
    list: &ArtifactList,
    range: &NameRange,
    revision: i64,
) -> Result<Found<ArtifactPage>> {
    let moment = match moment(tx, &list.place, revision, list.now).await? {
        Found::There(moment) => moment,
        found => return Ok(found.without()),
    };
    let mut named = named::versions_then(tx, moment, range, &list.after, list.rows as i64 + 1).await?;
    let more = named.len() > list.rows;
    named.truncate(list.rows);
    let next = named.last().filter(|_| more).map(|(name, _)| name.to_string());
    let (of_user, of_session): (Vec<_>, Vec<_>) = named.into_iter().partition(|(name, _)| name.is_of_user());
    let user = &moment.key.user;
    let holder = Holder { user, session: moment.key.session.as_str(), incarnation: moment.incarnation };
    let mut artifacts = versions_of(tx, holder, &of_session).await?;
    artifacts.extend(versions_of(tx, Holder::of_user(user), &of_user).await?);
    artifacts.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(Found::There(ArtifactPage { artifacts, next }))
}

/// These versions of one holder, as far as they are there.
async fn versions_of(db: &mut impl Sql, holder: Holder<'_>, named: &[(ArtifactName, i64)]) -> Result<Vec<Version>> {
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let (names, versions) = named.iter().map(|(name, at)| (name.as_str(), *at)).unzip();
    let columns = [Column::Texts(names), Column::Integers(versions)];
    db.fetch(holder.query(&Statements::of(db).these_versions).columns(columns)).await
}

/// The latest versions of the artifacts of one holder, one more than the page has.
async fn latest_in(
    db: &mut impl Sql,
    holder: Holder<'_>,
    list: &ArtifactList,
    range: &NameRange,
) -> Result<Vec<Version>> {
    let query = holder
        .query(&Statements::of(db).latest_versions)
        .bind(&range.begin)
        .bind(range.end.as_deref())
        .bind(&list.after)
        .bind(list.rows as i64 + 1);
    db.fetch(query).await
}

/// The columns of a [`Version`], of the rows `l`.
pub const VERSION: &str = "l.name, l.version, l.kind, l.mime_type, l.size, l.sha256, l.create_time, l.metadata, \
                           l.display_name, l.file_uri, l.revision";

/// That a row `n` is the holder's.
pub const OF_N: &str = "n.app_name = $1 and n.user_id = $2 and n.session_id = $3 and n.incarnation = $4";

/// The blob of the row `l`, and where it is.
pub const PLACED: &str = "l.blob, (select b.store from blobs b where b.app_name = $1 and b.user_id = $2 and b.id = l.blob) as store, \
                      (select b.object from blobs b where b.app_name = $1 and b.user_id = $2 and b.id = l.blob) as object";

statements! { words,
    /// The latest version of the artifact `$5`.
    latest_version: format!(
        "select {VERSION}, {PLACED} from artifacts l where {OF_L} and l.name = $5 and l.kind <> 'gone' \
           and l.version = (select latest from artifact_names where {OF_INCARNATION} and name = $5)"
    ),
    version: format!(
        "select {VERSION}, {PLACED} from artifacts l where {OF_L} and l.name = $5 and l.version = $6 and l.kind <> 'gone'"
    ),
    /// Of each of the artifacts `$5` the version that `$6` says.
    these_versions: format!(
        "select {VERSION} from {} {} where l.kind <> 'gone'",
        words.pairs("$5", "$6"),
        (words.look_up)("artifacts", &format!("{OF_L} and l.name = p.text and l.version = p.number"))
    ),
    /// Versions of the artifact `$5` above `$6`, up to `$7`.
    versions: format!(
        "select {VERSION} from artifacts l where {OF_L} and l.name = $5 and l.version > $6 and l.kind <> 'gone' \
         order by l.version limit 0 + $7"
    ),
    /// The latest version of each artifact from `$5` on, before `$6`, or all, and after `$7`, up to `$8`.
    latest_versions: format!(
        "select {VERSION} from artifact_names n {} where {OF_N} and n.name >= $5 and coalesce(n.name < $6, true) \
           and n.name > $7 and l.kind <> 'gone' order by n.name limit 0 + $8",
        (words.look_up)("artifacts", &format!("{OF_L} and l.name = n.name and l.version = n.latest"))
    ),
}

row! {
    impl Version {
        name: ArtifactName,
        version: i64,
        content: Content,
        create_time: Micros,
        revision: Option<i64>,
    }
}

row! {
    impl Content {
        kind: Kind,
        mime_type: Option<String>,
        bytes: Option<(u64, [u8; 32])>,
        display_name: Option<RawJson>,
        file_uri: Option<RawJson>,
        metadata: Option<RawJson>,
    }
}

row! {
    /// A version, and where its bytes are.
    pub struct PlacedRow {
        version: Version,
        blob: Option<String>,
        object: Option<(String, String)>,
    }
}

impl PlacedRow {
    /// The user is the one whose row it is.
    pub fn of(self, user: &UserKey) -> (Version, Option<Blob>) {
        let size = self.version.content.bytes.map_or(0, |(size, _)| size);
        let blob = self.blob.map(|id| Blob { key: BlobKey { user: user.clone(), id }, size, object: self.object });
        (self.version, blob)
    }
}
