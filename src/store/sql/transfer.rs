//! What exports read and imports write, on either database, in statements that both share.

use super::columns::{EVENT, EVENT_COLUMNS, OWNER, Part};
use super::primitives::{at_most_one, insert_listed, one};
use super::query::{Query, Sql, Value};
use super::rows::{ExportedEventRow, ExportedRow, IncarnationRow};
use crate::domain::history;
use crate::domain::ids::{ScopeKey, SessionKey};
use crate::domain::json::RawJson;
use crate::domain::session::SessionInfo;
use crate::domain::time::Micros;
use crate::domain::transfer::{ImportEnd, ImportRows, LogRow, PastValue, ScopeImport};
use crate::domain::writes::EventWrite;
use crate::store::error::StoreError;

type Result<T> = std::result::Result<T, StoreError>;

/// Rows of one insertion: full ones have the same text, so that it is planned once.
const CHUNK: usize = 100;

fn of<'a>(text: &'static str, key: &'a SessionKey, incarnation: i64) -> Query<'a> {
    Query::new(text).session(key).bind(incarnation)
}

pub async fn exported(db: &mut impl Sql, session: &SessionInfo) -> Result<ExportedRow> {
    one(db, of(&db.statements().exported, &session.key, session.incarnation)).await
}

/// Rows of the log after one sequence, up to another.
pub async fn exported_rows(
    db: &mut impl Sql,
    session: &SessionInfo,
    (after, through): (i64, i64),
    max_rows: usize,
    max_bytes: usize,
) -> Result<Vec<LogRow>> {
    let query = of(&db.statements().exported_rows, &session.key, session.incarnation)
        .bind(after)
        .bind(through)
        .bind(max_rows as i64)
        .bind(max_bytes as i64)
        .bind(session.base_revision);
    let rows: Vec<ExportedEventRow> = db.fetch(query).await?;
    rows.into_iter().map(LogRow::try_from).collect()
}

/// Notes that a session is being imported, or still is.
pub async fn note_import(db: &mut impl Sql, key: &SessionKey, incarnation: i64, now: Micros) -> Result<()> {
    db.execute(of(&db.statements().note_import, key, incarnation).bind(now.0)).await.map(drop)
}

/// Notes that an import goes on; `false` if it is not known.
pub async fn renew_import(db: &mut impl Sql, key: &SessionKey, incarnation: i64, now: Micros) -> Result<bool> {
    Ok(db.execute(of(&db.statements().renew_import, key, incarnation).bind(now.0)).await? > 0)
}

/// Whether the import was noted.
pub async fn forget_import(db: &mut impl Sql, key: &SessionKey, incarnation: i64) -> Result<bool> {
    Ok(db.execute(of(&db.statements().forget_import, key, incarnation)).await? > 0)
}

/// Leaves the rows of an import to the sweep.
pub async fn abandon_import(db: &mut impl Sql, key: &SessionKey, incarnation: i64) -> Result<()> {
    if forget_import(db, key, incarnation).await? {
        db.execute(of(&db.statements().bury_session, key, incarnation)).await?;
    }
    Ok(())
}

/// An import that wrote nothing for so many microseconds.
pub async fn dead_import(db: &mut impl Sql, now: Micros, age: i64) -> Result<Option<(SessionKey, i64)>> {
    let query = Query::new(&*db.statements().dead_import).bind(now.0).bind(age);
    let row: Option<IncarnationRow> = at_most_one(db, query).await?;
    let Some((key, incarnation)) = row.map(IncarnationRow::decode).transpose()? else { return Ok(None) };
    if db.statements().words.claims.is_some() {
        let claimed: Option<(i32,)> = at_most_one(db, of(&db.statements().claim_import, &key, incarnation)).await?;
        return Ok(claimed.map(|_| (key, incarnation)));
    }
    Ok(Some((key, incarnation)))
}

/// Writes rows of a session that is not visible; those that are there already stay.
pub async fn insert_rows(db: &mut impl Sql, import: &ImportRows) -> Result<()> {
    let owner = (&import.key, import.incarnation);
    for rows in import.rows.chunks(CHUNK) {
        let query = inserting("events", &EVENT_COLUMNS, owner, rows, |row, values| {
            let write = EventWrite {
                key: &import.key,
                incarnation: import.incarnation,
                sequence: row.sequence,
                user_revision: row.saw.0,
                app_revision: row.saw.1,
                commit_time: row.commit_time,
                rewind_to: row.rewind_to,
                event: &row.event,
                body: row.event.body.clone(),
            };
            for (_, part) in &EVENT {
                values.push(match part {
                    Part::Number(of) => of(&write).into(),
                    Part::Text(of) => Value::Text(of(&write).map(|text| text.into_owned().into())),
                    Part::Shared(_) => (&*row.event.body).into(),
                    Part::Bytes(_) => row.event.digest.as_slice().into(),
                });
            }
        });
        db.execute(query).await?;
    }
    let columns = format!("{OWNER}, node, key, valid_from, valid_to, value");
    for past in import.past.chunks(CHUNK) {
        let query = inserting("session_spans", &columns, owner, past, |PastValue { key, from, to, value }, values| {
            values.extend([
                history::node(*from, *to).into(),
                key.into(),
                (*from).into(),
                (*to).into(),
                value.text().into(),
            ]);
        });
        db.execute(query).await?;
    }
    Ok(())
}

/// Inserts the row of an imported session; `false` if one of its id is there.
pub async fn insert_session(db: &mut impl Sql, import: &ImportEnd) -> Result<bool> {
    let begin = &import.begin;
    let (source, revision) = begin.forked_from.as_ref().map(|(id, revision)| (id.as_str(), *revision)).unzip();
    let query = of(&db.statements().insert_imported, &import.key, import.incarnation)
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
        .bind(import.commit_time.0);
    insert_listed(db, query, &import.key).await
}

/// Writes the state of an imported session.
pub async fn insert_state(db: &mut impl Sql, import: &ImportEnd) -> Result<()> {
    let columns = format!("{OWNER}, key, value, revision");
    for rows in import.state.chunks(CHUNK) {
        let query = inserting(
            "session_state",
            &columns,
            (&import.key, import.incarnation),
            rows,
            |(key, value, revision), values| values.extend([key.into(), value.text().into(), (*revision).into()]),
        );
        db.execute(query).await?;
    }
    Ok(())
}

/// Writes the state of a scope that has none, and its log, as of one revision; `began`: that of a user may have none up to here.
pub async fn insert_scope(db: &mut impl Sql, import: &ScopeImport, revision: i64, began: i64) -> Result<()> {
    let statements = db.statements();
    let (prefix, owner, query) = match &import.scope {
        ScopeKey::User(key) => {
            let query = Query::new(&*statements.set_user_revision).user(key).bind(revision).bind(began);
            ("user", "app_name, user_id", query)
        }
        ScopeKey::App(app) => ("app", "app_name", Query::new(&*statements.set_app_revision).app(app).bind(revision)),
    };
    db.execute(query).await?;
    let columns = format!("{owner}, key, value, revision");
    for table in ["state", "log"] {
        for rows in import.state.chunks(CHUNK) {
            let table = format!("{prefix}_{table}");
            let query = rows_of(&table, &columns, rows, |(key, value), values| {
                match &import.scope {
                    ScopeKey::User(owner) => values.extend([owner.app.as_str().into(), owner.user.as_str().into()]),
                    ScopeKey::App(owner) => values.push(owner.as_str().into()),
                }
                values.extend([key.into(), value.text().into(), revision.into()]);
            });
            db.execute(query).await?;
        }
    }
    Ok(())
}

/// An insertion of rows of one incarnation, which leaves those that are there.
fn inserting<'a, R>(
    table: &str,
    columns: &str,
    (key, incarnation): (&'a SessionKey, i64),
    rows: &'a [R],
    add: impl Fn(&'a R, &mut Vec<Value<'a>>),
) -> Query<'a> {
    rows_of(table, columns, rows, |row, values| {
        let user = &key.user;
        values.extend([user.app.as_str().into(), user.user.as_str().into(), key.session.as_str().into()]);
        values.push(incarnation.into());
        add(row, values);
    })
}

fn rows_of<'a, R>(table: &str, columns: &str, rows: &'a [R], add: impl Fn(&'a R, &mut Vec<Value<'a>>)) -> Query<'a> {
    let mut query = Query::new(format!("insert into {table} ({columns}) values "));
    for (n, row) in rows.iter().enumerate() {
        let mut values = Vec::new();
        add(row, &mut values);
        query = query.sql(if n == 0 { "(" } else { ", (" });
        for (n, value) in values.into_iter().enumerate() {
            if n > 0 {
                query = query.sql(", ");
            }
            query = query.arg(value);
        }
        query = query.sql(")");
    }
    query.sql(" on conflict do nothing")
}
