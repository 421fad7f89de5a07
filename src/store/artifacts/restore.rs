//! What a fork and a rewind do with artifacts: versions are copied, and their bytes are shared.

use super::blobs;
use super::read::Holder;
use super::save::{COLUMNS, count, set_latest};
use crate::domain::artifact::{Held, Kind, LAST, MAX_VERSIONS};
use crate::domain::refusal::{Bound, Refusal};
use crate::domain::rewind::Restored;
use crate::domain::time::Micros;
use crate::domain::writes::{ArtifactChange, Committed};
use crate::store::backend::Tx;
use crate::store::error::{Decided, Result};
use crate::store::named::differences;
use crate::store::sql::columns::{OF_INCARNATION, OF_L, OF_SESSION};
use crate::store::sql::past::Moment;
use crate::store::sql::query::{Query, all_values};
use crate::store::sql::statements::statements;

/// Copies to a fork, the session `to` of another incarnation, of each artifact that its source named at a moment the versions up to that
/// one. Those of a user are the user's.
pub async fn fork<X: Tx>(tx: &mut X, moment: Moment<'_>, to: (&str, i64)) -> Result<()> {
    let statements = Statements::of(tx);
    let of = |text: &'static str| Query::of(text, moment.key, moment.incarnation).bind(to.0).bind(to.1);
    let copied = all_values(tx, of(&statements.copy_versions)).await?;
    let holder = Holder { user: &moment.key.user, session: to.0, incarnation: to.1 };
    tx.execute(of(&statements.copy_names)).await?;
    if !copied.is_empty() {
        count(tx, holder, copied.len() as i64).await?;
    }
    blobs::hold(tx, holder.user, copied.into_iter()).await
}

/// What a rewind of a locked session to a moment has to restore.
pub async fn restored<X: Tx>(tx: &mut X, moment: Moment<'_>) -> Result<Vec<Restored>> {
    let mut restored = Vec::new();
    for differs in differences(tx, moment).await? {
        if differs.name.is_of_user() {
            continue;
        }
        let is_there = differs.versions > 0;
        let held = Held { next: differs.next.unwrap_or(0), named: differs.named, latest: None, versions: 0 };
        let to = match differs.was {
            // It cannot be copied, so it is named as it was.
            Some(was) if !is_there => was,
            _ => held.free(),
        };
        restored.push(Restored { name: differs.name, from: differs.was, to });
    }
    Ok(restored)
}

/// Makes the versions that an event of a rewind, at this revision, names; what is to be told of them.
pub async fn restore<X: Tx>(
    tx: &mut X,
    holder: Holder<'_>,
    all: &[Restored],
    (mark, revision): (i64, i64),
    now: Micros,
) -> Decided<Vec<Committed>> {
    let statements = Statements::of(tx);
    let new: Vec<&Restored> = all.iter().filter(|restored| restored.from != Some(restored.to)).collect();
    if new.is_empty() {
        return Ok(Vec::new());
    }
    if count(tx, holder, new.len() as i64).await? > MAX_VERSIONS {
        return Err(Refusal::LimitReached(Bound::ArtifactVersions).into());
    }
    let (mut held, mut told) = (Vec::new(), Vec::new());
    for Restored { name, from, to } in new {
        let text = if from.is_some() { &statements.restore_version } else { &statements.remove_version };
        let query = holder.query(text).bind(name.as_str()).bind(*to).bind(mark).bind(now.0).bind(revision);
        let query = if from.is_some() { query.bind(*from) } else { query };
        for (blob, size, kind) in tx.fetch::<(Option<String>, Option<i64>, String)>(query).await? {
            held.push(blob);
            let change = match kind == Kind::Gone.as_str() {
                true => ArtifactChange::Rewound { version: *to },
                false => ArtifactChange::Saved { version: *to, size },
            };
            told.push(holder.told(name, change)?);
        }
        set_latest(tx, holder, name, *to).await?;
    }
    blobs::hold(tx, holder.user, held.into_iter()).await?;
    Ok(told)
}

statements! { words,
    /// To the session `$5` of incarnation `$6`.
    copy_versions: format!(
        "insert into artifacts ({COLUMNS}, revision) \
         select l.app_name, l.user_id, $5, $6, l.name, l.version, l.mark, l.kind, l.mime_type, l.size, l.sha256, l.blob, \
           l.create_time, l.metadata, l.display_name, l.file_uri, l.revision from artifact_state n {} \
         where n.app_name = $1 and n.user_id = $2 and n.session_id = $5 and n.incarnation = $6 {OF_SESSION_ALONE} \
         returning blob",
        (words.look_up)(
            "artifacts",
            &format!("{OF_L} and l.name = n.name and l.version <= n.version")
        )
    ),
    /// Of the session `$5` of incarnation `$6`: no number that is named, now or before, is given to anything else.
    copy_names: format!(
        "insert into artifact_names (app_name, user_id, session_id, incarnation, name, next, latest, versions, named) \
         select $1, $2, $5, cast($6 as bigint), n.name, \
           coalesce(case when o.next > n.version and n.version < {LAST} then n.version + 1 else o.next end, 0), \
           (select max(a.version) from artifacts a where {OF_A}), (select count(*) from artifacts a where {OF_A}), n.named \
         from (select name, max(version) as version, max(named) as named from ( \
             select name, version, case when version < {LAST} then version end as named from artifact_state where {OF_FORK} \
             union all select name, cast(null as bigint), case when version < {LAST} then version end from artifact_spans \
               where {OF_FORK} and valid_to > (select s.base_revision from sessions s where {OF_SESSION})) as named group by name) as n {} \
         where n.version is not null {OF_SESSION_ALONE}",
        (words.look_up_if)(
            "artifact_names",
            "o",
            "o.app_name = $1 and o.user_id = $2 and o.session_id = $3 and o.incarnation = $4 and o.name = n.name"
        )
    ),
    /// Makes of the version `$10` of the artifact `$5` a new one, `$6`. (Without an alias, Citus does not find the row that it is to
    /// return.)
    restore_version: format!(
        "insert into artifacts as n ({COLUMNS}, revision) \
         select app_name, user_id, session_id, incarnation, name, cast($6 as bigint), cast($7 as bigint), kind, mime_type, size, \
           sha256, blob, {}, metadata, display_name, file_uri, cast($9 as bigint) from artifacts \
         where {OF_INCARNATION} and name = $5 and version = $10 \
         returning blob, size, kind",
        words.present("$8")
    ),
    /// Makes a version of the artifact `$5` that is nothing.
    remove_version: format!(
        "insert into artifacts (app_name, user_id, session_id, incarnation, name, version, mark, kind, create_time, revision) \
         values ($1, $2, $3, $4, $5, $6, $7, 'gone', {}, $9) returning blob, size, kind",
        words.present("$8")
    ),
}

/// Without the names of artifacts of the user.
const OF_SESSION_ALONE: &str = "and not (n.name >= 'user:' and n.name < 'user;')";

const OF_A: &str =
    "a.app_name = $1 and a.user_id = $2 and a.session_id = $5 and a.incarnation = $6 and a.name = n.name";

const OF_FORK: &str = "app_name = $1 and user_id = $2 and session_id = $5 and incarnation = $6";
