//! Artifacts as exports show them and imports take them in.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::artifact::{MAX_VERSIONS, Version};
use crate::domain::ids::{ArtifactName, SessionKey};
use crate::domain::refusal::{Bound, Refusal};
use crate::domain::transfer::{
    AfterArtifact, ArtifactImport, ArtifactsPage, ArtifactsQuery, ExportedArtifact, ImportedArtifact,
};
use crate::domain::writes::ArtifactChange;
use crate::store::artifacts::blobs;
use crate::store::artifacts::read::{Holder, OF_N, PLACED, PlacedRow, VERSION};
use crate::store::artifacts::save::{COLUMNS, count, values_of};
use crate::store::backend::Tx;
use crate::store::blocked::admit_import;
use crate::store::error::{Decided, Result};
use crate::store::run::End;
use crate::store::sessions::read::head;
use crate::store::sql::columns::{OF_INCARNATION, OF_L};
use crate::store::sql::insert::{CHUNK, rows_of};
use crate::store::sql::query::{Column, Query, Sql, Value, at_most_one, row};
use crate::store::sql::statements::statements;

/// A page of artifacts; `None` if the session is not there.
pub async fn exported<X: Tx>(tx: &mut X, query: &ArtifactsQuery) -> Result<Option<ArtifactsPage>> {
    let (mut session, mut incarnation) = ("", 0);
    if let Some((id, of)) = &query.session {
        let key = SessionKey { user: query.user.clone(), session: id.clone() };
        if head(tx, &key, query.now).await?.is_none_or(|head| head.incarnation != *of) {
            return Ok(None);
        }
        (session, incarnation) = (id.as_str(), *of);
    }
    let holder = Holder { user: &query.user, session, incarnation };
    let after = match &query.after {
        AfterArtifact::Version(name, version) => {
            let page = versions(tx, holder, (name, *version), query.max_rows).await?;
            if page.next.is_some() {
                return Ok(Some(page));
            }
            let mut more = names(tx, holder, "", query.max_rows).await?;
            more.artifacts.splice(0..0, page.artifacts);
            return Ok(Some(more));
        }
        AfterArtifact::Name(name) => name,
    };
    names(tx, holder, after, query.max_rows).await.map(Some)
}

async fn versions(
    db: &mut impl Sql,
    holder: Holder<'_>,
    (name, version): (&str, i64),
    limit: usize,
) -> Result<ArtifactsPage> {
    let query = holder.query(&Statements::of(db).exported_versions).bind(name).bind(version).bind(limit as i64);
    let rows: Vec<ExportedVersionRow> = db.fetch(query).await?;
    let artifacts: Vec<_> = rows.into_iter().map(|row| row.of(holder)).collect();
    let last = artifacts.last().filter(|_| artifacts.len() == limit).and_then(|last| last.version.as_ref());
    let next = last.map(|last| AfterArtifact::Version(last.name.to_string(), last.version));
    Ok(ArtifactsPage { artifacts, next })
}

/// Those of which no version is left.
async fn names(db: &mut impl Sql, holder: Holder<'_>, after: &str, limit: usize) -> Result<ArtifactsPage> {
    let query = holder.query(&Statements::of(db).exported_names).bind(after).bind(limit as i64);
    let rows: Vec<(ArtifactName, i64)> = db.fetch(query).await?;
    let next = rows.last().filter(|_| rows.len() == limit).map(|(name, _)| AfterArtifact::Name(name.to_string()));
    let artifact = |(name, next)| ExportedArtifact { name, version: None, blob: None, next };
    Ok(ArtifactsPage { artifacts: rows.into_iter().map(artifact).collect(), next })
}

/// Writes versions of one holder; those that are there already stay as they are. Each that is written holds its bytes.
///
/// # Errors
/// `BlobLost`.
pub async fn insert<X: Tx>(tx: &mut X, holder: Holder<'_>, mark: i64, artifacts: &[ImportedArtifact]) -> Decided<()> {
    let mut names: BTreeMap<&str, Counted> = BTreeMap::new();
    let mut versions = Vec::new();
    for artifact in artifacts {
        let counted = names.entry(artifact.name.as_str()).or_default();
        counted.next = counted.next.max(artifact.next);
        if let Some(version) = &artifact.version {
            counted.latest = Some(version.version);
            versions.push((artifact, version));
        }
    }
    for versions in versions.chunks(CHUNK) {
        let new: Vec<(String, i64)> = tx.fetch(insertion(holder, mark, versions)).await?;
        let new: BTreeSet<(&str, i64)> = new.iter().map(|(name, version)| (name.as_str(), *version)).collect();
        for (artifact, version) in versions {
            if !new.contains(&(version.name.as_str(), version.version)) {
                continue;
            }
            if let Some(counted) = names.get_mut(version.name.as_str()) {
                counted.new += 1;
            }
            if let (Some(blob), Some((size, _))) = (&artifact.blob, version.content.bytes) {
                blobs::hold_saved(tx, holder.user, blob, size).await?;
            }
        }
    }
    for (name, Counted { next, latest, new }) in names {
        let query = holder.query(&Statements::of(tx).import_name).bind(name).bind(next).bind(latest).bind(new);
        tx.execute(query).await?;
    }
    Ok(())
}

/// What some versions make of an artifact.
#[derive(Default)]
struct Counted {
    next: i64,
    latest: Option<i64>,
    /// How many are new.
    new: i64,
}

/// Inserts versions, and returns name and number of those that were not there.
fn insertion<'a>(holder: Holder<'a>, mark: i64, versions: &'a [(&'a ImportedArtifact, &'a Version)]) -> Query<'a> {
    let rows = rows_of("artifacts", COLUMNS, versions, |(artifact, version), values: &mut Vec<Value<'a>>| {
        values.extend(values_of(holder, version, mark, artifact.blob.as_ref()));
    });
    rows.sql(" on conflict do nothing returning name, version")
}

/// What a user has of an artifact that is imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    Nothing,
    /// All of it, and perhaps more; the next version gets this number.
    Same(i64),
    Other,
}

pub async fn beside(db: &mut impl Sql, import: &ArtifactImport) -> Result<Beside> {
    let holder = Holder::of_user(&import.user);
    let name = import.name.as_str();
    let statements = Statements::of(db);
    let next: Option<(i64,)> = at_most_one(db, holder.query(&statements.next_version).bind(name)).await?;
    let Some((next,)) = next else { return Ok(Beside::Nothing) };
    let numbers: Vec<i64> = import.versions.iter().filter_map(|given| Some(given.version.as_ref()?.version)).collect();
    let mut found = Vec::new();
    if !numbers.is_empty() {
        let columns = [Column::Texts(vec![name; numbers.len()]), Column::Integers(numbers)];
        found = db.fetch(holder.query(&statements.versions_beside).columns(columns)).await?;
    }
    Ok(if import.is_among(&found) { Beside::Same(next) } else { Beside::Other })
}

/// Imports an artifact of a user who has none of its name; whether it was not there. The same again changes nothing.
///
/// # Errors
/// `UserErased`, `ErasedSince`, `ArtifactVersionExists`, `LimitReached`, `BlobLost`.
pub async fn import_artifact<X: Tx>(tx: &mut X, import: &ArtifactImport) -> Decided<(bool, End)> {
    admit_import(tx, &import.user.app, &import.subject, import.since).await?;
    let holder = Holder::of_user(&import.user);
    // Locks the user's artifacts: savers come one after the other.
    count(tx, holder, 0).await?;
    let is_new = match beside(tx, import).await? {
        Beside::Other => return Err(Refusal::ArtifactVersionExists.into()),
        Beside::Same(next) if next >= import.next() => return Ok((false, End::Release)),
        Beside::Same(_) => false,
        Beside::Nothing => true,
    };
    if is_new {
        let new = import.versions.iter().filter_map(|given| given.version.as_ref().map(|version| (given, version)));
        // Those that were taken for there, and are there no more, have not brought their bytes.
        if new.clone().any(|(given, version)| version.content.bytes.is_some() && given.blob.is_none()) {
            return Err(Refusal::BlobLost.into());
        }
        if count(tx, holder, new.count() as i64).await? > MAX_VERSIONS {
            return Err(Refusal::LimitReached(Bound::ArtifactVersions).into());
        }
    }
    insert(tx, holder, import.mark, &import.versions).await?;
    let saved = import.versions.iter().filter_map(|given| given.version.as_ref()).filter(|_| is_new);
    let told = saved.map(|version| {
        let size = version.content.bytes.map(|(size, _)| blobs::stored(size));
        holder.told(&version.name, ArtifactChange::Saved { version: version.version, size })
    });
    Ok((is_new, End::Commit(told.collect::<Result<_>>()?)))
}

statements! { words,
    /// Versions after the version `$6` of the artifact `$5`, up to `$7`, and the number of the next one of each name.
    exported_versions: format!(
        "select {VERSION}, {PLACED}, \
           coalesce((select n.next from artifact_names n where {OF_N} and n.name = l.name), l.version + 1) as next \
         from artifacts l where {OF_L} and (l.name, l.version) > ($5, $6) order by l.name, l.version limit 0 + $7"
    ),
    /// Artifacts after `$5`, up to `$6`, of which no version is left.
    exported_names: format!(
        "select name, next from artifact_names where {OF_INCARNATION} and name > $5 and latest is null and next > 0 \
         order by name limit 0 + $6"
    ),
    next_version: format!("select next from artifact_names where {OF_INCARNATION} and name = $5 and next > 0"),
    /// Of the artifacts `$5` the versions `$6`, as far as they are there.
    versions_beside: format!(
        "select {VERSION} from {} {}",
        words.pairs("$5", "$6"),
        (words.look_up)("artifacts", &format!("{OF_L} and l.name = p.text and l.version = p.number"))
    ),
    /// Of the artifact `$5` there are `$8` versions more, `$7` being the latest, if there is one; the next gets no number below `$6`.
    import_name: format!(
        "insert into artifact_names (app_name, user_id, session_id, incarnation, name, next, latest, versions) \
         values ($1, $2, $3, $4, $5, $6, $7, $8) \
         on conflict (app_name, user_id, session_id, incarnation, name) do update set \
           next = {}(artifact_names.next, excluded.next), latest = coalesce(excluded.latest, artifact_names.latest), \
           versions = artifact_names.versions + excluded.versions",
        words.later
    ),
}

row! {
    /// A version, where its bytes are, and the number of the next one.
    struct ExportedVersionRow {
        placed: PlacedRow,
        next: i64,
    }
}

impl ExportedVersionRow {
    fn of(self, holder: Holder<'_>) -> ExportedArtifact {
        let (version, blob) = self.placed.of(holder.user);
        // Of another session, if it is a copy; and nobody asks for it.
        let version = Version { revision: None, ..version };
        ExportedArtifact { name: version.name.clone(), version: Some(version), blob, next: self.next }
    }
}
