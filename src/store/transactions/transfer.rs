//! Reads sessions whole, and takes them in.

use std::collections::BTreeMap;

use super::create::{InTheWay, in_the_way};
use super::erasure::admit;
use super::load::lock_scopes;
use super::read::session;
use crate::domain::ids::{ScopeKey, SessionKey};
use crate::domain::json::RawJson;
use crate::domain::loaded::Needs;
use crate::domain::query::{SessionQuery, StateFilter};
use crate::domain::time::Micros;
use crate::domain::transfer::{
    ExportQuery, Exported, ImportEnd, ImportOutcome, ImportRows, RowsOutcome, ScopeImport, SharedOutcome,
};
use crate::domain::writes::{Committed, SessionChange};
use crate::store::backend::Tx;
use crate::store::error::StoreError;
use crate::store::runner::End;
use crate::store::sql::{primitives, transfer};

type Result<T> = std::result::Result<T, StoreError>;

/// How long an import may write nothing, in microseconds, before its rows are taken for left behind.
const IMPORT_MEMORY: i64 = 3600 * 1_000_000;

/// A part of a session; `None` if it is not there.
pub async fn export<X: Tx>(tx: &mut X, query: &ExportQuery) -> Result<Option<Exported>> {
    let nothing = || Some(Vec::new());
    let state = query.through.is_none().then(|| StateFilter { app: nothing(), user: nothing(), session: None });
    let whole =
        SessionQuery { key: query.key.clone(), now: query.now, incarnation: None, timeline: None, state, events: None };
    let Some(view) = session(tx, &whole).await? else { return Ok(None) };
    let row = transfer::exported(tx, &view.head).await?;
    let through = query.through.unwrap_or(view.head.revision);
    let rows = transfer::exported_rows(tx, &view.head, (query.after, through), query.max_rows, query.max_bytes).await?;
    Ok(Some(Exported {
        more: rows.last().is_some_and(|last| last.sequence < through),
        base_state: RawJson::trusted(row.initial_state),
        origin: row.imported_mark,
        imported_digest: row.imported_digest,
        state: view.state,
        head: view.head,
        rows,
    }))
}

/// Writes rows of a session that is not visible yet. The same again changes nothing.
pub async fn import_rows<X: Tx>(tx: &mut X, import: &ImportRows) -> Result<(RowsOutcome, End)> {
    let (key, incarnation) = (&import.key, import.incarnation);
    if !admit(tx, key.app(), &import.subject).await? {
        return Ok((RowsOutcome::Blocked, End::Release));
    }
    if import.begins {
        transfer::note_import(tx, key, incarnation, import.now).await?;
    } else if !transfer::renew_import(tx, key, incarnation, import.now).await? {
        return Ok((RowsOutcome::Lost, End::Release));
    }
    transfer::insert_rows(tx, import).await?;
    Ok((RowsOutcome::Written, End::UNTOLD))
}

/// Makes an imported session visible.
pub async fn import_session<X: Tx>(tx: &mut X, import: &ImportEnd) -> Result<(ImportOutcome, End)> {
    let (key, incarnation) = (&import.key, import.incarnation);
    if !admit(tx, key.app(), &import.subject).await? {
        return Ok((ImportOutcome::Blocked, End::Release));
    }
    if !transfer::forget_import(tx, key, incarnation).await? {
        let found = in_the_way(tx, key, None, incarnation, import.now, &mut Vec::new()).await?;
        let ours = matches!(found, InTheWay::OurOwn);
        return Ok((if ours { ImportOutcome::Created } else { ImportOutcome::Lost }, End::Release));
    }
    let mut told = Vec::new();
    while !transfer::insert_session(tx, import).await? {
        if !matches!(in_the_way(tx, key, None, incarnation, import.now, &mut told).await?, InTheWay::Nothing) {
            return Ok((ImportOutcome::Exists, End::Release));
        }
    }
    transfer::insert_state(tx, import).await?;
    let change = SessionChange::Created { revision: import.revision, forked_from: None };
    told.push(Committed::Session { key: key.clone(), incarnation, change });
    if import.revision > import.begin.base {
        let (first, last) = (import.begin.base + 1, import.revision);
        told.push(Committed::Events { key: key.clone(), incarnation, first, last });
    }
    Ok((ImportOutcome::Created, End::Commit(told)))
}

pub async fn abandon_import<X: Tx>(tx: &mut X, key: &SessionKey, incarnation: i64) -> Result<((), End)> {
    transfer::abandon_import(tx, key, incarnation).await?;
    Ok(((), End::UNTOLD))
}

/// Takes the state of a scope that has none; one that has a revision is left alone.
pub async fn import_scope<X: Tx>(tx: &mut X, import: &ScopeImport) -> Result<(SharedOutcome, End)> {
    let needs = match &import.scope {
        ScopeKey::User(key) => Needs { users: BTreeMap::from([(key, true)]), ..Needs::default() },
        ScopeKey::App(key) => Needs { apps: BTreeMap::from([(key, true)]), ..Needs::default() },
    };
    if let (ScopeKey::User(user), Some(subject)) = (&import.scope, &import.subject)
        && !admit(tx, &user.app, subject).await?
    {
        return Ok((SharedOutcome::Blocked, End::Release));
    }
    lock_scopes(tx, &needs).await?;
    if let Some(outcome) = import.beside(&primitives::scope(tx, &import.scope).await?) {
        return Ok((outcome, End::Release));
    }
    let heads = tx.read_heads(&needs).await?;
    let began = match &import.scope {
        ScopeKey::User(user) => heads.user_revision_after(&user.app, 0) - 1,
        ScopeKey::App(_) => 0,
    };
    // Not a revision that an erased user had.
    let revision = import.revision.max(began + 1);
    transfer::insert_scope(tx, import, revision, began).await?;
    let told = Committed::Scope { key: import.scope.clone(), first: 1, last: revision };
    Ok((SharedOutcome::Taken, End::Commit(vec![told])))
}

/// Leaves the rows of one import that died to the sweep; whether there was one.
pub async fn bury_dead<X: Tx>(tx: &mut X, now: Micros) -> Result<bool> {
    let Some((key, incarnation)) = transfer::dead_import(tx, now, IMPORT_MEMORY).await? else {
        return Ok(false);
    };
    transfer::abandon_import(tx, &key, incarnation).await?;
    Ok(true)
}
