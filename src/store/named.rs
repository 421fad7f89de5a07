//! Which versions the events of a session name: what holds and what held, as it is with the keys of its state. An event without an
//! `artifactDelta` comes by here and asks nothing.

use std::collections::BTreeMap;

use crate::domain::access::NameRange;
use crate::domain::artifact::LAST;
use crate::domain::fold::{Fold, Held};
use crate::domain::history;
use crate::domain::ids::{AppName, ArtifactName, SessionKey};
use crate::domain::writes::{EventWrite, Writes};
use crate::store::error::Result;
use crate::store::sql::columns::{OF_INCARNATION, OWNER};
use crate::store::sql::insert::{CHUNK, in_sizes, owner, owner_of, rows_of};
use crate::store::sql::past::{Moment, NAMED};
use crate::store::sql::query::{ArtifactKey, Query, Sql, row, value};
use crate::store::sql::statements::statements;

/// An artifact of a session.
pub type Key<'a> = (&'a SessionKey, i64, &'a str);

/// Folds the versions that events name into what their sessions had. The sessions are locked, or new.
pub async fn fold(db: &mut impl Sql, writes: &Writes<'_>) -> Result<()> {
    let mut apps: BTreeMap<&AppName, Vec<&EventWrite<'_>>> = BTreeMap::new();
    for event in writes.events.iter().filter(|event| !event.event.artifacts.is_empty()) {
        apps.entry(event.key.app()).or_default().push(event);
    }
    for (app, events) in apps {
        fold_app(db, app, &events).await?;
    }
    Ok(())
}

/// What is known of artifacts, by incarnation and name, as no two sessions have one incarnation.
pub type HeldNames = BTreeMap<(i64, String), HeldRow>;

/// Sees to it that a number which is named, though it was not given here, is not given to anything else; of each artifact the highest one is
/// told. Returns what was known of them.
pub async fn use_numbers(db: &mut impl Sql, app: &AppName, most: &BTreeMap<Key<'_>, i64>) -> Result<HeldNames> {
    let keys: Vec<Key<'_>> = most.keys().copied().collect();
    let mut held = HeldNames::new();
    for keys in keys.chunks(CHUNK) {
        let keys: Vec<_> = keys.iter().copied().map(of_session).collect();
        let query = Query::new(&Statements::of(db).named).app(app).artifacts(&keys);
        for row in db.fetch::<HeldRow>(query).await? {
            held.insert((row.incarnation, row.name.clone()), row);
        }
    }
    // By whose they are, as savers lock them.
    let mut used: BTreeMap<ArtifactKey<'_>, i64> = BTreeMap::new();
    for (key, most) in most {
        let (_, incarnation, name) = key;
        let held = held.get(&(*incarnation, (*name).to_owned()));
        let is_known = held.is_some_and(|held| held.next.is_some_and(|next| next > *most) || held.named >= Some(*most));
        // Above the last number there is none.
        if !is_known && *most < LAST {
            let of_session = of_session(*key);
            let of = if is_of_user(name) { (of_session.0, "", 0, of_session.3) } else { of_session };
            used.entry(of).and_modify(|used| *used = (*used).max(*most)).or_insert(*most);
        }
    }
    let used: Vec<_> = used.into_iter().collect();
    for rows in in_sizes(&used) {
        db.execute(using(rows)).await?;
    }
    Ok(held)
}

/// As if the session had it.
fn of_session((session, incarnation, name): Key<'_>) -> ArtifactKey<'_> {
    (&session.user, session.session.as_str(), incarnation, name)
}

/// The rows of artifacts of which numbers are used.
fn using<'a>(rows: &'a [(ArtifactKey<'a>, i64)]) -> Query<'a> {
    let columns = format!("{OWNER}, name, next, versions, named");
    let rows = rows_of("artifact_names", &columns, rows, |((user, session, incarnation, name), used), values| {
        values.extend(owner(user, session, *incarnation));
        values.extend([(*name).into(), 0_i64.into(), 0_i64.into(), (*used).into()]);
    });
    rows.sql(
        " on conflict (app_name, user_id, session_id, incarnation, name) do update set named = case \
           when artifact_names.named >= excluded.named then artifact_names.named else excluded.named end",
    )
}

/// Those of one app; of each session in the order of their sequences.
async fn fold_app(db: &mut impl Sql, app: &AppName, events: &[&EventWrite<'_>]) -> Result<()> {
    let mut named: Vec<(Key<'_>, i64, i64)> = Vec::new();
    for event in events {
        for (name, version) in &event.event.artifacts {
            named.push(((event.key, event.incarnation, name.as_str()), *version, event.sequence));
        }
    }
    let mut most: BTreeMap<Key<'_>, i64> = BTreeMap::new();
    for (key, version, _) in &named {
        most.entry(*key).and_modify(|most| *most = (*most).max(*version)).or_insert(*version);
    }
    let found = use_numbers(db, app, &most).await?.into_iter();
    let held = |held: HeldRow| held.version.zip(held.revision).map(|(value, since)| Held { value, since });
    let mut held = Fold { now: found.filter_map(|(key, row)| Some((key, held(row)?))).collect() };
    let keys: Vec<Key<'_>> = most.into_keys().collect();
    let mut spans = Vec::new();
    for (of, version, sequence) in named {
        let (_, incarnation, name) = of;
        let span = held.change(&(incarnation, name.to_owned()), Some(version), sequence);
        spans.extend(span.map(|span| (of, span)));
    }
    let columns = format!("{OWNER}, node, name, valid_from, valid_to, version");
    for spans in in_sizes(&spans) {
        let query = rows_of("artifact_spans", &columns, spans, |((key, incarnation, name), span), values| {
            values.extend(owner_of(key, *incarnation));
            values.push(history::node(span.from, span.to).into());
            values.extend([(*name).into(), span.from.into(), span.to.into(), span.value.into()]);
        });
        db.execute(query).await?;
    }
    let now = |key: Key<'_>| held.now.get(&(key.1, key.2.to_owned())).cloned();
    let rows: Vec<(Key<'_>, Held<i64>)> = keys.into_iter().filter_map(|key| Some((key, now(key)?))).collect();
    for rows in in_sizes(&rows) {
        let query = rows_of("artifact_state", &format!("{OWNER}, name, version, revision"), rows, |row, values| {
            let ((key, incarnation, name), Held { value: version, since }) = row;
            values.extend(owner_of(key, *incarnation));
            values.extend([(*name).into(), (*version).into(), (*since).into()]);
        });
        let query = query.sql(
            " on conflict (incarnation, name, session_id, user_id, app_name) \
             do update set version = excluded.version, revision = excluded.revision",
        );
        db.execute(query).await?;
    }
    Ok(())
}

/// The version of an artifact that the events up to a moment name.
pub async fn version_then(db: &mut impl Sql, moment: Moment<'_>, name: &ArtifactName) -> Result<Option<i64>> {
    let query = moment.query(&Statements::of(db).version_then).bind(name.as_str());
    value(db, query).await
}

/// Those of a range of names behind one, up to `limit`, in byte order.
pub async fn versions_then(
    db: &mut impl Sql,
    moment: Moment<'_>,
    range: &NameRange,
    after: &str,
    limit: i64,
) -> Result<Vec<(ArtifactName, i64)>> {
    let query = moment.query(&Statements::of(db).versions_then);
    let query = query.bind(&range.begin).bind(range.end.as_deref()).bind(after).bind(limit);
    db.fetch(query).await
}

/// All that the events up to a moment name, in byte order.
pub async fn all_then(db: &mut impl Sql, moment: Moment<'_>) -> Result<Vec<(ArtifactName, i64)>> {
    versions_then(db, moment, &NameRange::of_prefix(""), "", i64::MAX).await
}

row! {
    /// An artifact of which the events up to a moment name another version than those up to now.
    #[derive(Debug)]
    pub struct Differs {
        pub name: ArtifactName,
        pub was: Option<i64>,
        /// The next version of the artifact, if it has had one here.
        pub next: Option<i64>,
        /// The highest version that events named of it, though it was not here.
        pub named: Option<i64>,
        /// How many versions of the number `was` are here: one or none.
        pub versions: i64,
    }
}

/// In byte order of names.
pub async fn differences(db: &mut impl Sql, moment: Moment<'_>) -> Result<Vec<Differs>> {
    db.fetch(moment.query(&Statements::of(db).artifacts_differ)).await
}

/// Of what a buried session had, removes up to `limit` rows of each kind; the most of one kind.
pub async fn purge(db: &mut impl Sql, key: &SessionKey, incarnation: i64, limit: i64) -> Result<i64> {
    let statements = Statements::of(db);
    let mut most = 0;
    for text in [&statements.purge_artifact_state, &statements.purge_artifact_spans] {
        most = most.max(db.execute(Query::of(text, key, incarnation).bind(limit)).await? as i64);
    }
    Ok(most)
}

/// That an artifact `k` is one of the user.
const OF_USER: &str = "k.name >= 'user:' and k.name < 'user;'";

/// That what the revision of an artifact `k` named is not a file of the user that this database has not, or has another one for.
const IS_HERE: &str = "not exists (select 1 from sessions s where k.name >= 'user:' and k.name < 'user;' and s.app_name = $1 and s.user_id = $2 and s.id = $3 \
                         and s.incarnation = $4 and k.revision >= s.lost_files_from and k.revision <= s.lost_files_through)";

fn is_of_user(name: &str) -> bool {
    name.starts_with("user:")
}

row! {
    /// What is known of an artifact: what events name, and which numbers are used.
    pub struct HeldRow {
        incarnation: i64,
        name: String,
        version: Option<i64>,
        revision: Option<i64>,
        pub next: Option<i64>,
        named: Option<i64>,
    }
}

const OF_A: &str = "a.app_name = $1 and a.user_id = $2 and a.session_id = $3 and a.incarnation = $4";

statements! { words,
    /// Of the artifacts `$2`, `$3`, `$4`, `$5`, which may be of the user, what events have named, and which numbers are used.
    named: format!(
        "select k.incarnation, k.name, l.version, l.revision, n.next, n.named from {} {} {}",
        words.artifacts(["$2", "$3", "$4", "$5"]),
        (words.look_up_if)(
            "artifact_state",
            "l",
            "l.app_name = $1 and l.user_id = k.user_id and l.session_id = k.session_id and l.incarnation = k.incarnation \
             and l.name = k.name"
        ),
        (words.look_up_if)(
            "artifact_names",
            "n",
            &format!(
                "n.app_name = $1 and n.user_id = k.user_id and n.session_id = case when {OF_USER} then '' else k.session_id end \
                 and n.incarnation = case when {OF_USER} then 0 else k.incarnation end and n.name = k.name"
            )
        )
    ),
    /// The version of the artifact `$7` that the events up to `$5` name; `$6` are the nodes.
    version_then: format!(
        "select version from (select name, version, revision from artifact_state \
             where {OF_INCARNATION} and name = $7 and revision <= $5 \
           union all select t.name, t.version, t.valid_from from {} where t.name = $7 and t.valid_from <= $5 and t.valid_to > $5) as k \
         where {IS_HERE}",
        (words.filed)("artifact_spans", OF_INCARNATION, "$6")
    ),
    /// Those of the artifacts from `$7` on, before `$8`, or all, and after `$9`, up to `$10`.
    versions_then: format!(
        "select name, version from (select name, version, revision from artifact_state where {OF_INCARNATION} and revision <= $5 \
           union all select t.name, t.version, t.valid_from from {} where t.valid_from <= $5 and t.valid_to > $5) as k \
         where name >= $7 and coalesce(name < $8, true) and name > $9 and {IS_HERE} order by name limit 0 + $10",
        (words.filed)("artifact_spans", OF_INCARNATION, "$6")
    ),
    /// The artifacts of which another version has been named since `$5`; `$6` are the nodes.
    artifacts_differ: format!(
        "select d.name, d.was, \
           (select a.next from artifact_names a where {OF_A} and a.name = d.name) as next, \
           (select a.named from artifact_names a where {OF_A} and a.name = d.name) as named, \
           (select count(*) from artifacts a where {OF_A} and a.name = d.name and a.version = d.was) as versions \
         from (select name, max(was) as was, max(now) as now from (select t.name, t.version as was, cast(null as bigint) as now \
             from {} where t.valid_from <= $5 and t.valid_to > $5 \
           union all select name, cast(null as bigint), version from artifact_state where {OF_INCARNATION} and revision > $5) as named \
           group by name) as d \
         where d.now is not null and (d.was is null or d.was <> d.now) order by d.name",
        (words.filed)("artifact_spans", OF_INCARNATION, "$6")
    ),
    purge_artifact_state: NAMED.purge_state(),
    purge_artifact_spans: NAMED.purge_spans(),
}
