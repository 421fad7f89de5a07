//! Artifacts, what events name of them, and their bytes.

use std::collections::HashMap;

use super::{Inspector, PAGE_ROWS, Result, SessionName, Snapshot};
use crate::domain::verify::SessionCheck;
use crate::domain::verify::artifacts::{BlobRow, NameRow, NamedSpan, Owner, PlaceRow, VersionRow};
use crate::store::sql::columns::{OF_INCARNATION, OF_L};
use crate::store::sql::query::{Field, Query, row};

/// An artifact, with names as they are stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArtifactKey {
    /// Without a session: of the user.
    pub owner: SessionName,
    pub incarnation: i64,
    pub name: String,
}

row! {
    /// A version of an artifact.
    pub struct Artifact {
        pub key: ArtifactKey,
        pub version: i64,
        pub row: VersionRow,
        pub sha256: Option<Vec<u8>>,
        pub blob: Option<String>,
        /// The object of its blob, if that is in a store.
        pub object: Option<(String, String)>,
    }
}

row! {
    /// An artifact, and what there is of its versions.
    pub struct CheckedName {
        pub key: ArtifactKey,
        pub row: NameRow,
    }
}

row! {
    /// A session or a user whose versions of artifacts are counted.
    pub struct CheckedPlace {
        pub name: SessionName,
        pub row: PlaceRow,
    }
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
            "select {KEY}, {}, a.kind, a.size, a.sha256, a.blob, a.sha256 is not null as has_digest, a.blob is not null as has_blob, \
               b.size as blob_size, b.store, b.object, \
               exists (select 1 from artifact_names n where n.app_name = a.app_name and n.user_id = a.user_id \
                 and n.session_id = a.session_id and n.incarnation = a.incarnation and n.name = a.name) as has_name \
             from artifacts a left join blobs b on b.app_name = a.app_name and b.user_id = a.user_id and b.id = a.blob \
             where ({KEY}) > ($1, $2, $3, $4, $5, $6) order by {KEY}",
            owner("a")
        );
        self.page(after.owner.of(text, after.incarnation).bind(&after.name).bind(version)).await
    }

    /// The next artifacts after this one, in key order, and what there is of their versions.
    ///
    /// # Errors
    /// The database fails.
    pub async fn artifact_names(&self, after: &ArtifactKey) -> Result<Vec<CheckedName>> {
        const KEY: &str = "n.app_name, n.user_id, n.session_id, n.incarnation, n.name";
        const OF_N: &str = "a.app_name = n.app_name and a.user_id = n.user_id and a.session_id = n.session_id \
                            and a.incarnation = n.incarnation";
        let text = format!(
            "select {KEY}, {}, n.next, n.latest, n.versions, \
               (select count(*) from artifacts a where {OF_N} and a.name = n.name) as found, \
               (select max(a.version) from artifacts a where {OF_N} and a.name = n.name) as found_latest, \
               exists (select 1 from artifact_places a where {OF_N}) as is_counted \
             from artifact_names n where ({KEY}) > ($1, $2, $3, $4, $5) order by {KEY}",
            owner("n")
        );
        self.page(after.owner.of(text, after.incarnation).bind(&after.name)).await
    }

    /// The next sessions and users whose versions of artifacts are counted, in key order, and how many versions there are.
    ///
    /// # Errors
    /// The database fails.
    pub async fn artifact_places(&self, after: &SessionName) -> Result<Vec<CheckedPlace>> {
        const KEY: &str = "p.app_name, p.user_id, p.session_id";
        let query = Query::new(format!(
            "select {KEY}, {}, p.versions, (select count(*) from artifacts a where a.app_name = p.app_name \
               and a.user_id = p.user_id and a.session_id = p.session_id and a.incarnation = p.incarnation) as found \
             from artifact_places p where ({KEY}) > ($1, $2, $3) order by {KEY}",
            owner("p")
        ));
        self.page(query.bind(&after.app).bind(&after.user).bind(&after.session)).await
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
            "select id, size, versions, loose_since is not null, store is not null from blobs \
             where app_name = $1 and user_id = $2 and id > $3 order by id limit {PAGE_ROWS}"
        );
        let rows: Vec<(String, i64, i64, bool, bool)> = snapshot.rows(of(blobs)).await?;
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
        let blob = |(id, size, versions, is_loose, is_elsewhere): (String, _, _, _, _)| {
            let row = BlobRow {
                size,
                versions,
                is_loose,
                is_elsewhere,
                held: held.get(&id).copied().unwrap_or_default(),
                chunks: chunks.get(&id).copied(),
            };
            (BlobName { app: app.clone(), user: user.clone(), id }, row)
        };
        Ok(rows.into_iter().map(blob).collect())
    }

    /// The next blobs of which there are chunks, in key order.
    ///
    /// # Errors
    /// The database fails.
    pub async fn chunked(&self, after: &BlobName) -> Result<Vec<Chunked>> {
        let query = Query::new(
            "select c.app_name, c.user_id, c.blob, count(b.id) > 0 as is_known \
             from blob_chunks c left join blobs b on b.app_name = c.app_name and b.user_id = c.user_id and b.id = c.blob \
             where (c.app_name, c.user_id, c.blob) > ($1, $2, $3) \
             group by c.app_name, c.user_id, c.blob order by c.app_name, c.user_id, c.blob",
        );
        self.page(query.bind(&after.app).bind(&after.user).bind(&after.id)).await
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
        self.look_up(shown, table, OF_L, |text| name.of(text, incarnation), spans).await
    }
}

row! {
    /// Bytes of which there are chunks, and whether there is a row of them.
    pub struct Chunked {
        pub blob: BlobName,
        pub is_known: bool,
    }
}
row! { impl BlobName { app: String = "app_name", user: String = "user_id", id: String = "blob", } }
row! { impl ArtifactKey { owner: SessionName, incarnation: i64, name: String, } }
row! {
    impl VersionRow {
        owner: Owner,
        kind: String,
        size: Option<u64>,
        has_digest: bool,
        has_blob: bool,
        held: Option<u64> = "blob_size",
        has_name: bool,
    }
}
row! {
    impl NameRow {
        owner: Owner,
        next: i64,
        latest: Option<i64>,
        versions: i64,
        found: i64,
        found_latest: Option<i64>,
        is_counted: bool,
    }
}
row! { impl PlaceRow { owner: Owner, versions: i64, found: i64, } }
row! { impl NamedSpan { node: i64, name: Box<str>, from: i64 = "valid_from", to: i64 = "valid_to", version: i64, } }

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

/// Read from that column.
impl<'r, R> Field<'r, R> for Owner
where
    i64: Field<'r, R>,
{
    fn read(row: &'r R, name: &'static str) -> sqlx::Result<Self> {
        Ok(match i64::read(row, name)? {
            2 => Self::Present,
            1 => Self::Passing,
            _ => Self::Nobody,
        })
    }
}
