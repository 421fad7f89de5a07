//! Artifacts, what events name of them, and their bytes.

use std::collections::HashMap;

use super::{Inspector, PAGE_ROWS, Result, SessionName, Snapshot};
use crate::domain::verify::SessionCheck;
use crate::domain::verify::artifacts::{BlobRow, NameRow, NamedSpan, Owner, PlaceRow, VersionRow};
use crate::store::sql::columns::{OF_INCARNATION, OF_L};
use crate::store::sql::query::{Query, row};

/// An artifact, with names as they are stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArtifactKey {
    /// Without a session: of the user.
    pub owner: SessionName,
    pub incarnation: i64,
    pub name: String,
}

/// A version of an artifact.
#[derive(Debug, Clone)]
pub struct Artifact {
    pub key: ArtifactKey,
    pub version: i64,
    pub row: VersionRow,
    pub sha256: Vec<u8>,
    pub blob: Option<String>,
    /// The object of its blob, if that is in a store.
    pub object: Option<(String, String)>,
}

/// Some bytes, with names as they are stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlobName {
    pub app: String,
    pub user: String,
    pub id: String,
}

impl Inspector {
    /// The next versions of artifacts after this one, in key order.
    ///
    /// # Errors
    /// The database fails.
    pub async fn artifacts(&self, after: &ArtifactKey, version: i64) -> Result<Vec<Artifact>> {
        const KEY: &str = "a.app_name, a.user_id, a.session_id, a.incarnation, a.name, a.version";
        let text = format!(
            "select {KEY}, {}, a.kind, a.size, a.sha256, a.blob, b.size as blob_size, b.store, b.object, \
               cast(case when exists (select 1 from artifact_names n where n.app_name = a.app_name and n.user_id = a.user_id \
                 and n.session_id = a.session_id and n.incarnation = a.incarnation and n.name = a.name) then 1 else 0 end \
                 as bigint) as has_name \
             from artifacts a left join blobs b on b.app_name = a.app_name and b.user_id = a.user_id and b.id = a.blob \
             where ({KEY}) > ($1, $2, $3, $4, $5, $6) order by {KEY}",
            owner("a")
        );
        let query = after.owner.of(text, after.incarnation).bind(&after.name).bind(version);
        self.page(query, ArtifactRow::decode).await
    }

    /// The next artifacts after this one, in key order, and what there is of their versions.
    ///
    /// # Errors
    /// The database fails.
    pub async fn artifact_names(&self, after: &ArtifactKey) -> Result<Vec<(ArtifactKey, NameRow)>> {
        const KEY: &str = "n.app_name, n.user_id, n.session_id, n.incarnation, n.name";
        const OF_N: &str = "a.app_name = n.app_name and a.user_id = n.user_id and a.session_id = n.session_id \
                            and a.incarnation = n.incarnation";
        let text = format!(
            "select {KEY}, {}, n.next, n.latest, n.versions, \
               (select count(*) from artifacts a where {OF_N} and a.name = n.name) as found, \
               (select max(a.version) from artifacts a where {OF_N} and a.name = n.name) as found_latest, \
               cast(case when exists (select 1 from artifact_places a where {OF_N}) then 1 else 0 end as bigint) as is_counted \
             from artifact_names n where ({KEY}) > ($1, $2, $3, $4, $5) order by {KEY}",
            owner("n")
        );
        let query = after.owner.of(text, after.incarnation).bind(&after.name);
        self.page(query, ArtifactNameRow::decode).await
    }

    /// The next sessions and users whose versions of artifacts are counted, in key order, and how many versions there are.
    ///
    /// # Errors
    /// The database fails.
    pub async fn artifact_places(&self, after: &SessionName) -> Result<Vec<(SessionName, PlaceRow)>> {
        const KEY: &str = "p.app_name, p.user_id, p.session_id";
        let query = Query::new(format!(
            "select {KEY}, {}, p.versions, (select count(*) from artifacts a where a.app_name = p.app_name \
               and a.user_id = p.user_id and a.session_id = p.session_id and a.incarnation = p.incarnation) \
             from artifact_places p where ({KEY}) > ($1, $2, $3) order by {KEY}",
            owner("p")
        ));
        let query = query.bind(&after.app).bind(&after.user).bind(&after.session);
        let place = |(app, user, session, owner, versions, found)| {
            (SessionName { app, user, session }, PlaceRow { owner: owned(owner), versions, found })
        };
        self.page(query, place).await
    }

    /// The next blobs after this one, in key order, of one user, and what there is of them.
    ///
    /// # Errors
    /// The database fails.
    pub async fn blobs(&self, after: &BlobName) -> Result<Vec<(BlobName, BlobRow)>> {
        let mut snapshot = self.snapshot().await?;
        let first = Query::new(
            "select app_name, user_id from blobs where (app_name, user_id, id) > ($1, $2, $3) order by app_name, user_id, id limit 1",
        );
        let first: Vec<(String, String)> =
            snapshot.rows(first.bind(&after.app).bind(&after.user).bind(&after.id)).await?;
        let Some((app, user)) = first.into_iter().next() else {
            snapshot.end().await?;
            return Ok(Vec::new());
        };
        let from = if (&app, &user) == (&after.app, &after.user) { &*after.id } else { "" };
        let of = |text| Query::new(text).bind(&app).bind(&user).bind(from);
        let blobs = format!(
            "select id, size, versions, cast(case when loose_since is null then 0 else 1 end as bigint), \
               cast(case when store is null then 0 else 1 end as bigint) from blobs \
             where app_name = $1 and user_id = $2 and id > $3 order by id limit {PAGE_ROWS}"
        );
        let rows: Vec<(String, i64, i64, i64, i64)> = snapshot.rows(of(blobs)).await?;
        let last = rows.last().map_or("", |(id, ..)| id);
        const OF_PAGE: &str = "where app_name = $1 and user_id = $2 and blob > $3 and blob <= $4 group by blob";
        let held = of(format!("select blob, count(*) from artifacts {OF_PAGE}"));
        let held: HashMap<String, i64> = snapshot.rows::<(String, i64)>(held.bind(last)).await?.into_iter().collect();
        let chunks = of(format!(
            "select blob, count(*), max(n), cast(sum(octet_length(bytes)) as bigint) from blob_chunks {OF_PAGE}"
        ));
        let chunks: Vec<(String, i64, i64, i64)> = snapshot.rows(chunks.bind(last)).await?;
        snapshot.end().await?;
        let chunks: HashMap<String, (i64, i64, i64)> =
            chunks.into_iter().map(|(blob, count, last, bytes)| (blob, (count, last, bytes))).collect();
        let blob = |(id, size, versions, loose, elsewhere): (String, i64, i64, i64, i64)| {
            let row = BlobRow {
                size,
                versions,
                is_loose: loose == 1,
                is_elsewhere: elsewhere == 1,
                held: held.get(&id).copied().unwrap_or_default(),
                chunks: chunks.get(&id).copied(),
            };
            (BlobName { app: app.clone(), user: user.clone(), id }, row)
        };
        Ok(rows.into_iter().map(blob).collect())
    }

    /// The next blobs of which there are chunks, in key order, and whether there is a row of them.
    ///
    /// # Errors
    /// The database fails.
    pub async fn chunked(&self, after: &BlobName) -> Result<Vec<(BlobName, bool)>> {
        let query = Query::new(
            "select c.app_name, c.user_id, c.blob, count(b.id) \
             from blob_chunks c left join blobs b on b.app_name = c.app_name and b.user_id = c.user_id and b.id = c.blob \
             where (c.app_name, c.user_id, c.blob) > ($1, $2, $3) \
             group by c.app_name, c.user_id, c.blob order by c.app_name, c.user_id, c.blob",
        );
        let query = query.bind(&after.app).bind(&after.user).bind(&after.id);
        let blob = |(app, user, id, known): (_, _, _, i64)| (BlobName { app, user, id }, known > 0);
        self.page(query, blob).await
    }
}

impl Snapshot {
    /// Checks which versions of artifacts the events name. Returns the number of spans that begin after the base.
    pub(super) async fn named(
        &mut self,
        name: &SessionName,
        incarnation: i64,
        base: i64,
        check: &mut SessionCheck,
    ) -> Result<i64> {
        let spans = format!(
            "select count(*), coalesce(sum(case when valid_from > $5 then 1 else 0 end), 0) from artifact_spans \
             where {OF_INCARNATION} and valid_to > $5"
        );
        let (all, spans): (i64, i64) = self.one(name.of(spans, incarnation).bind(base)).await?;
        let mut after = (i64::MIN, String::new());
        // Most often there is none over the base.
        let mut more = all > spans;
        while more {
            let text = format!(
                "select node, name, valid_to from artifact_spans where {OF_INCARNATION} and valid_from <= $5 and valid_to > $5 \
                   and (node, name) > ($6, $7) order by node, name limit {PAGE_ROWS}"
            );
            let query = name.of(text, incarnation).bind(base).bind(after.0).bind(&after.1);
            let page: Vec<(i64, String, i64)> = self.rows(query).await?;
            page.iter().for_each(|(_, name, to)| check.named_at_base(name, *to));
            more = !page.is_empty();
            if let Some((node, last, _)) = page.into_iter().next_back() {
                after = (node, last);
            }
        }
        let mut after: Option<String> = None;
        loop {
            let behind = after.as_ref().map_or("", |_| " and name > $5");
            let text = format!(
                "select name, version, revision from artifact_state where {OF_INCARNATION}{behind} \
                 order by name limit {PAGE_ROWS}"
            );
            let query = after.iter().fold(name.of(text, incarnation), Query::bind);
            let page: Vec<(String, i64, i64)> = self.rows(query).await?;
            page.iter().for_each(|(name, version, revision)| check.named(name, *version, *revision));
            if (page.len() as i64) < PAGE_ROWS {
                break;
            }
            after = page.into_iter().next_back().map(|(last, ..)| last);
        }
        Ok(spans)
    }

    pub(super) async fn named_spans(
        &mut self,
        name: &SessionName,
        incarnation: i64,
        wanted: &[NamedSpan],
    ) -> Result<Vec<NamedSpan>> {
        let spans = wanted.iter().map(|span| (span.node, &*span.name));
        let (shown, table) =
            ("l.node, l.name, l.valid_from, l.valid_to, l.version", ("artifact_spans", "node", "name"));
        let rows: Vec<(i64, String, i64, i64, i64)> =
            self.look_up(shown, table, OF_L, |text| name.of(text, incarnation), spans).await?;
        let span = |(node, name, from, to, version): (_, String, _, _, _)| NamedSpan {
            node,
            name: name.into(),
            from,
            to,
            version,
        };
        Ok(rows.into_iter().map(span).collect())
    }
}

row! {
    struct ArtifactRow {
        app_name: String,
        user_id: String,
        session_id: String,
        incarnation: i64,
        name: String,
        version: i64,
        owner: i64,
        kind: String,
        size: Option<i64>,
        sha256: Option<Vec<u8>>,
        blob: Option<String>,
        blob_size: Option<i64>,
        store: Option<String>,
        object: Option<String>,
        has_name: i64,
    }
}

impl ArtifactRow {
    fn decode(self) -> Artifact {
        let owner = SessionName { app: self.app_name, user: self.user_id, session: self.session_id };
        Artifact {
            key: ArtifactKey { owner, incarnation: self.incarnation, name: self.name },
            version: self.version,
            row: VersionRow {
                owner: owned(self.owner),
                kind: self.kind,
                size: self.size.map(i64::unsigned_abs),
                has_digest: self.sha256.is_some(),
                has_blob: self.blob.is_some(),
                held: self.blob_size.map(i64::unsigned_abs),
                has_name: self.has_name == 1,
            },
            sha256: self.sha256.unwrap_or_default(),
            blob: self.blob,
            object: self.store.zip(self.object),
        }
    }
}

row! {
    struct ArtifactNameRow {
        app_name: String,
        user_id: String,
        session_id: String,
        incarnation: i64,
        name: String,
        owner: i64,
        next: i64,
        latest: Option<i64>,
        versions: i64,
        found: i64,
        found_latest: Option<i64>,
        is_counted: i64,
    }
}

impl ArtifactNameRow {
    fn decode(self) -> (ArtifactKey, NameRow) {
        let owner = SessionName { app: self.app_name, user: self.user_id, session: self.session_id };
        let row = NameRow {
            owner: owned(self.owner),
            next: self.next,
            latest: self.latest,
            versions: self.versions,
            found: self.found,
            found_latest: self.found_latest,
            is_counted: self.is_counted == 1,
        };
        (ArtifactKey { owner, incarnation: self.incarnation, name: self.name }, row)
    }
}

/// The column `owner` of a row of artifacts, which says whose it is.
fn owner(row: &str) -> String {
    let is_of = |table: &str, id: &str| {
        format!(
            "exists (select 1 from {table} s where s.app_name = {row}.app_name and s.user_id = {row}.user_id \
               and s.{id} = {row}.session_id and s.incarnation = {row}.incarnation)"
        )
    };
    format!(
        "cast(case when {row}.session_id = '' and {row}.incarnation = 0 then 2 when {} then 2 when {} then 1 when {} then 1 \
           else 0 end as bigint) as owner",
        is_of("sessions", "id"),
        is_of("buried_sessions", "session_id"),
        is_of("imports", "session_id")
    )
}

/// The value of that column.
fn owned(owner: i64) -> Owner {
    match owner {
        2 => Owner::Present,
        1 => Owner::Passing,
        _ => Owner::Nobody,
    }
}
