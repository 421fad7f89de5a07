//! The import of a session: its rows, which nobody sees, and then the session.

use crate::domain::fold::Span;
use crate::domain::history;
use crate::domain::ids::SessionKey;
use crate::domain::json::RawJson;
use crate::domain::refusal::Refusal;
use crate::domain::time::Micros;
use crate::domain::transfer::{ImportEnd, ImportRows, Lost};
use crate::domain::writes::{Committed, EventWrite, SessionChange};
use crate::store::artifacts::read::Holder;
use crate::store::artifacts::save::count;
use crate::store::backend::Tx;
use crate::store::blocked::admit_import;
use crate::store::error::{Decided, Result};
use crate::store::named::use_numbers;
use crate::store::run::End;
use crate::store::sessions::bury;
use crate::store::sessions::create::{InTheWay, in_the_way, insert_listed};
use crate::store::sessions::sources::note_imported;
use crate::store::sql::columns::{EVENT, EVENT_NAMES, EventValue, LOST, OF_INCARNATION, OWNER, SESSION_METADATA};
use crate::store::sql::insert::{insert_all, owner_of};
use crate::store::sql::query::{Query, Sql, Value, at_most_one, value};
use crate::store::sql::rows::IncarnationRow;
use crate::store::sql::statements::statements;
use crate::store::transfer::artifacts;

/// How long an import may write nothing, in microseconds, before its rows are taken for left behind.
const IMPORT_MEMORY: i64 = 3600 * 1_000_000;

/// Writes rows of a session that is not visible yet. The same again changes nothing.
pub async fn import_rows<X: Tx>(tx: &mut X, import: &ImportRows) -> Decided<((), End)> {
    let (key, incarnation) = (&import.key, import.incarnation);
    admit_import(tx, key.app(), &import.subject, import.since).await?;
    let statements = Statements::of(tx);
    let text = if import.begins { &statements.note_import } else { &statements.renew_import };
    if tx.execute(Query::of(text, key, incarnation).bind(import.now.0)).await? == 0 {
        return Err(Refusal::ImportLost.into());
    }
    insert_rows(tx, import).await?;
    let holder = Holder { user: &key.user, session: key.session.as_str(), incarnation };
    artifacts::insert(tx, holder, incarnation, &import.chunk.artifacts).await?;
    Ok(((), End::UNTOLD))
}

/// Makes an imported session visible.
pub async fn import_session<X: Tx>(tx: &mut X, import: &ImportEnd) -> Decided<((), End)> {
    let (key, incarnation) = (&import.key, import.incarnation);
    admit_import(tx, key.app(), &import.subject, import.since).await?;
    if !forget_import(tx, key, incarnation).await? {
        let found = in_the_way(tx, key, None, incarnation, import.now, &mut Vec::new()).await?;
        return if matches!(found, InTheWay::OurOwn) {
            Ok(((), End::Release))
        } else {
            Err(Refusal::ImportLost.into())
        };
    }
    let mut told = Vec::new();
    let lost = Lost { files: files_elsewhere(tx, import).await?, ..import.lost };
    while !insert_session(tx, import, lost).await? {
        if !matches!(in_the_way(tx, key, None, incarnation, import.now, &mut told).await?, InTheWay::Nothing) {
            return Err(Refusal::SessionAlreadyExists.into());
        }
    }
    if let Some(((source, _), above)) = import.begin.forked_from.as_ref().zip(import.nearest_source.as_ref()) {
        note_imported(tx, key, source, above).await?;
    }
    insert_state(tx, import).await?;
    if import.versions > 0 {
        // Of the session that had this id before, if there was one, nothing counts any more.
        let holder = Holder { user: &key.user, session: key.session.as_str(), incarnation };
        count(tx, holder, import.versions).await?;
    }
    let change = SessionChange::Created { revision: import.revision, forked_from: None };
    told.push(Committed::Session { key: key.clone(), incarnation, change });
    if import.revision > import.begin.base {
        let (first, last) = (import.begin.base + 1, import.revision);
        told.push(Committed::Events { key: key.clone(), incarnation, first, last });
    }
    Ok(((), End::Commit(told)))
}

/// Leaves the rows of one import that died to the sweep; whether there was one.
pub async fn bury_dead<X: Tx>(tx: &mut X, now: Micros) -> Result<bool> {
    let query = Query::new(&Statements::of(tx).dead_import).bind(now.0).bind(IMPORT_MEMORY);
    let Some(IncarnationRow { key, incarnation }) = at_most_one(tx, query).await? else { return Ok(false) };
    if tx.shape().is_distributed() {
        let claim = Query::of(&Statements::of(tx).claim_import, &key, incarnation);
        if value::<i32>(tx, claim).await?.is_none() {
            return Ok(false);
        }
    }
    abandon(tx, &key, incarnation).await?;
    Ok(true)
}

/// Whether the import was noted.
async fn forget_import(db: &mut impl Sql, key: &SessionKey, incarnation: i64) -> Result<bool> {
    Ok(db.execute(Query::of(&Statements::of(db).forget_import, key, incarnation)).await? > 0)
}

/// Leaves the rows of an import to the sweep.
pub async fn abandon(db: &mut impl Sql, key: &SessionKey, incarnation: i64) -> Result<()> {
    if forget_import(db, key, incarnation).await? {
        bury::leave(db, key, incarnation).await?;
    }
    Ok(())
}

/// Writes rows of a session that is not visible; those that are there already stay.
async fn insert_rows(db: &mut impl Sql, import: &ImportRows) -> Result<()> {
    let owner = (&import.key, import.incarnation);
    insert(db, "events", &EVENT_NAMES, owner, &import.chunk.rows, |row, values| {
        let write = EventWrite {
            key: &import.key,
            incarnation: import.incarnation,
            sequence: row.sequence,
            user_revision: row.saw.0,
            app_revision: row.saw.1,
            commit_time: row.commit_time,
            effect: row.effect,
            event: &row.event,
            body: row.event.body.clone(),
        };
        for (_, part) in &EVENT {
            values.push(match part {
                EventValue::Number(of) => of(&write).into(),
                EventValue::Text(of) => Value::Text(of(&write).map(|text| text.into_owned().into())),
                EventValue::Shared(_) => (&*row.event.body).into(),
                EventValue::Bytes(_) => row.event.digest.as_slice().into(),
            });
        }
    })
    .await?;
    let columns = "node, key, valid_from, valid_to, removed, value";
    insert(
        db,
        "session_spans",
        columns,
        owner,
        &import.chunk.past,
        |Span { key, from, to, removed, value }, values| {
            values.extend([history::node(*from, *to).into(), key.into(), (*from).into(), (*to).into()]);
            values.extend([Value::Flag(Some(*removed)), value.text().into()]);
        },
    )
    .await?;
    let columns = "node, name, valid_from, valid_to, version";
    insert(
        db,
        "artifact_spans",
        columns,
        owner,
        &import.chunk.named,
        |Span { key: name, from, to, value, .. }, values| {
            values.extend([history::node(*from, *to).into(), name.as_str().into(), (*from).into()]);
            values.extend([(*to).into(), (*value).into()]);
        },
    )
    .await
}

/// Uses the numbers that an imported session names; since when, and until when, it names files of its user of which there is another here.
async fn files_elsewhere(db: &mut impl Sql, import: &ImportEnd) -> Result<Option<(i64, i64)>> {
    let most = import.named.iter();
    let most = most.map(|named| ((&import.key, import.incarnation, named.name.as_str()), named.versions.1)).collect();
    let held = use_numbers(db, import.key.app(), &most).await?;
    let mut lost = Lost { files: import.lost.files, ..Lost::default() };
    for named in import.named.iter().filter(|named| named.is_elsewhere) {
        let here = held.get(&(import.incarnation, named.name.to_string())).and_then(|held| held.next);
        if here.is_some_and(|next| next > named.versions.0) {
            lost.add(&Lost { files: Some((named.first_revision, named.revision)), ..Lost::default() });
        }
    }
    Ok(lost.files)
}

/// Inserts the row of an imported session; `false` if one of its id is there.
async fn insert_session(db: &mut impl Sql, import: &ImportEnd, lost: Lost) -> Result<bool> {
    let begin = &import.begin;
    let (source, revision) = begin.forked_from.as_ref().map(|(id, revision)| (id.as_str(), *revision)).unzip();
    let query = Query::of(&Statements::of(db).insert_imported, &import.key, import.incarnation)
        .bind(import.revision)
        .bind(begin.create_time.0)
        .bind(import.update_time.micros.0)
        .bind(import.update_time.number.text())
        .bind(begin.display_name.as_ref().map(RawJson::text))
        .bind(begin.labels.as_ref().map(RawJson::text))
        .bind(begin.expire_time.map(|time| time.0))
        .bind(begin.base)
        .bind(begin.base_state.text())
        .bind(source)
        .bind(revision)
        .bind(&begin.origin)
        .bind(import.sha256.as_slice())
        .bind(import.now.0)
        .bind(import.commit_time.0)
        .bind(import.base_saw.0)
        .bind(import.base_saw.1);
    let lost = [lost.user, lost.app, lost.files].map(Option::unzip);
    let query = lost.into_iter().fold(query, |query, (from, through)| query.bind(from).bind(through));
    insert_listed(db, query, &import.key).await
}

/// Writes the state of an imported session, and which versions of artifacts its events name.
async fn insert_state(db: &mut impl Sql, import: &ImportEnd) -> Result<()> {
    let owner = (&import.key, import.incarnation);
    insert(db, "session_state", "key, value, revision", owner, &import.state, |(key, value, revision), values| {
        values.extend([key.into(), value.text().into(), (*revision).into()]);
    })
    .await?;
    insert(db, "artifact_state", "name, version, revision", owner, &import.named, |named, values| {
        values.extend([named.name.as_str().into(), named.version.into(), named.revision.into()]);
    })
    .await
}

/// Inserts rows of one incarnation, with columns beside those of the owner; those that are there stay.
async fn insert<'a, R>(
    db: &mut impl Sql,
    table: &str,
    columns: &str,
    (key, incarnation): (&'a SessionKey, i64),
    rows: &'a [R],
    add: impl Fn(&'a R, &mut Vec<Value<'a>>),
) -> Result<()> {
    insert_all(db, table, &format!("{OWNER}, {columns}"), rows, " on conflict do nothing", |row, values| {
        values.extend(owner_of(key, incarnation));
        add(row, values);
    })
    .await
}

statements! { words,
    /// Notes that a session is being imported, or still is.
    note_import: format!(
        "insert into imports ({OWNER}, time) values ($1, $2, $3, $4, {}) \
         on conflict ({OWNER}) do update set time = excluded.time",
        words.present("$5")
    ),
    renew_import: format!("update imports set time = {} where {OF_INCARNATION}", words.present("$5")),
    forget_import: format!("delete from imports where {OF_INCARNATION}"),
    /// An import that wrote nothing for `$2`; `$1` is now, where the database has no clock.
    dead_import: format!(
        "select {OWNER} from imports where time < {} - $2 limit 1{}",
        words.present("$1"),
        words.skip_locked()
    ),
    /// Locks the row of an import, where the database is distributed.
    claim_import: format!("select 1 from imports where {OF_INCARNATION}{}", words.claim()),
    /// Makes an imported session visible.
    insert_imported: (words.listed)(
        &format!(
            "insert into sessions (app_name, user_id, id, incarnation, revision, create_time, update_time, \
               update_time_number, {SESSION_METADATA}, base_revision, initial_state, forked_from, forked_revision, \
               imported_mark, imported_digest, commit_time, imported_revision, created_user_revision, created_app_revision, \
               {LOST}, active_day) \
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $19, $5, $20, $21, \
               $22, $23, $24, $25, $26, $27, {}) on conflict do nothing",
            words.day("$18")
        ),
        "$3"
    ),
}
