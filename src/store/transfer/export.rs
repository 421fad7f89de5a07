//! A session as exports show it.

use crate::domain::ids::{EventId, SessionId};
use crate::domain::json::RawJson;
use crate::domain::query::{SessionQuery, StateFilter};
use crate::domain::time::Micros;
use crate::domain::transfer::{ExportQuery, Exported, LogRow, Lost};
use crate::store::backend::Tx;
use crate::store::error::Result;
use crate::store::named::all_then;
use crate::store::sessions::read::session;
use crate::store::sessions::sources::{first, upwards};
use crate::store::sql::columns::{LOST, OF_EVENT, OF_INCARNATION, OF_SESSION};
use crate::store::sql::filter::plain_text;
use crate::store::sql::past::Moment;
use crate::store::sql::query::{Query, Sql, one, row};
use crate::store::sql::statements::statements;

/// A part of a session; `None` if it is not there.
pub async fn export<X: Tx>(tx: &mut X, query: &ExportQuery) -> Result<Option<Exported>> {
    let nothing = || Some(Vec::new());
    let state = query.through.is_none().then(|| StateFilter { app: nothing(), user: nothing(), session: None });
    let whole =
        SessionQuery { key: query.key.clone(), now: query.now, incarnation: None, timeline: None, state, events: None };
    let Some(view) = session(tx, &whole).await? else { return Ok(None) };
    let (key, incarnation, base) = (&view.head.key, view.head.incarnation, view.head.base_revision);
    let row: ExportedRow = one(tx, Query::of(&Statements::of(tx).exported, key, incarnation)).await?;
    let through = query.through.unwrap_or(view.head.revision);
    let moment = Moment { key, incarnation, revision: base, last: view.head.revision };
    // Before the first event nothing is named.
    let base_artifacts = if base > 0 && query.through.is_none() { all_then(tx, moment).await? } else { Vec::new() };
    let nearest_source = match &view.head.forked_from {
        Some((source, _)) if query.through.is_none() => nearest(tx, query, source).await?,
        _ => None,
    };
    let rows = Query::of(&Statements::of(tx).exported_rows, key, incarnation)
        .bind(query.after)
        .bind(through)
        .bind(query.max_rows as i64)
        .bind(query.max_bytes as i64)
        .bind(base);
    let rows: Vec<LogRow> = tx.fetch(rows).await?;
    Ok(Some(Exported {
        more: rows.last().is_some_and(|last| last.sequence < through),
        base_state: row.initial_state,
        base_saw: (row.created_user_revision, row.created_app_revision),
        base_artifacts,
        has_artifacts: row.has_artifacts == 1,
        redacted: row.redacted,
        nearest_source,
        lost: row.lost,
        origin: row.imported_mark,
        imported_digest: row.imported_digest,
        state: view.state,
        head: view.head,
        rows,
    }))
}

/// The nearest session that is there above the source of a fork, if that is not there itself.
async fn nearest(db: &mut impl Sql, query: &ExportQuery, source: &SessionId) -> Result<Option<SessionId>> {
    let found = first(db, &Statements::of(db).is_there, (&query.key.user, source), &[query.now.0.into()]).await?;
    Ok(found.filter(|id| id != source))
}

statements! { words,
    /// What of a session only exports show.
    exported: format!(
        "select s.initial_state, s.created_user_revision, s.created_app_revision, s.imported_mark, s.imported_digest, {LOST}, \
           coalesce((select max(e.redaction) from events e where {OF_EVENT} and e.redaction is not null), 0) as redacted, \
           cast(case when exists (select 1 from artifact_names n where n.app_name = $1 and n.user_id = $2 \
             and n.session_id = $3 and n.incarnation = $4 and n.next > 0) then 1 else 0 end as bigint) as has_artifacts \
         from sessions s where {OF_SESSION}"
    ),
    /// Upwards: whether the session is there; `$4` is now, where the database has no clock.
    is_there: upwards(&format!("s.expire_time is null or s.expire_time > {}", words.present("$4"))),
    /// Rows of the log after the sequence `$5`, up to `$6`: up to `$7` rows and `$8` bytes, the first in any case. Those up to
    /// `$9` are stubs.
    exported_rows: format!(
        "select sequence, id, invocation_id, event_time, commit_time, user_revision, app_revision, digest, \
           (select e.body from events e where {OF_EVENT} and e.sequence = sized.sequence and e.sequence > $9) as body \
         from (select sequence, id, invocation_id, event_time, commit_time, user_revision, app_revision, digest, \
                 sum(size) over (order by sequence) as size_so_far, row_number() over (order by sequence) as place \
               from (select sequence, id, invocation_id, event_time, commit_time, user_revision, app_revision, digest, \
                       octet_length(body) + 300 as size from events where {OF_INCARNATION} \
                       and sequence > $5 and sequence <= $6 order by sequence limit 0 + $7) as page) as sized \
         where size_so_far <= $8 or place = 1 order by sequence"
    ),
}

row! {
    /// What of a session only exports show.
    struct ExportedRow {
        initial_state: RawJson,
        created_user_revision: i64,
        created_app_revision: i64,
        imported_mark: Option<String>,
        imported_digest: Option<Vec<u8>>,
        lost: Lost,
        redacted: i64,
        has_artifacts: i64,
    }
}

row! {
    impl LogRow {
        sequence: i64,
        id: EventId,
        invocation_id: String => |text: String| plain_text(&text),
        event_time: Micros,
        commit_time: Micros,
        saw: (i64, i64),
        digest: [u8; 32],
        body: Option<String>,
    }
}
