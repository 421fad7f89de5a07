//! Reads sessions whole, and takes them in.

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::erasure::Subject;
use crate::domain::ids::{AppName, ScopeKey, SessionKey};
use crate::domain::json::{Json, RawJson};
use crate::domain::loaded::Needs;
use crate::domain::query::{SessionQuery, StateFilter};
use crate::domain::refusal::Refusal;
use crate::domain::time::Micros;
use crate::domain::transfer::{
    ExportQuery, Exported, ImportEnd, ImportRows, PastChange, PastEnd, PastPage, PastQuery, PastRows, ScopeHead,
    ScopeImport,
};
use crate::domain::writes::{Committed, SessionChange};
use crate::store::backend::{Backend, Tx};
use crate::store::erasures::{admit, last_erasure};
use crate::store::error::{Decided, StoreError};
use crate::store::run::End;
use crate::store::sessions::create::{InTheWay, in_the_way};
use crate::store::sessions::read::session;
use crate::store::sql::{primitives, transfer};
use crate::store::transactions::Transactions;

type Result<T> = std::result::Result<T, StoreError>;

#[async_trait]
pub trait Reads: Send + Sync {
    /// A part of a session, as exports show it; `None` if it is not there.
    async fn export(&self, query: &ExportQuery, deadline: Instant) -> Result<Option<Exported>>;

    /// A part of the past of shared state, as exports show it.
    async fn past(&self, query: &PastQuery, deadline: Instant) -> Result<PastPage>;

    /// Where shared state stands, and what it was at a revision; `None` if that is not known.
    async fn scope_at(&self, scope: &ScopeKey, revision: i64, deadline: Instant)
    -> Result<(ScopeHead, Option<String>)>;
}

#[async_trait]
pub trait Writes: Send + Sync {
    /// Writes rows of a session that is not visible yet. The same again changes nothing.
    async fn import_rows(&self, rows: &ImportRows, deadline: Instant) -> Decided<()>;

    /// Makes the session of such rows visible, if there is none of its id.
    async fn import_session(&self, import: &ImportEnd, deadline: Instant) -> Decided<()>;

    /// Leaves such rows to [`upkeep::Writes::sweep`](crate::store::upkeep::Writes::sweep).
    async fn abandon_import(&self, key: &SessionKey, incarnation: i64, deadline: Instant) -> Result<()>;

    /// Takes the state of an app or a user that has none.
    async fn import_scope(&self, import: &ScopeImport, deadline: Instant) -> Decided<()>;

    /// Writes a part of what shared state was before [`Writes::import_scope`] took it, which nobody sees yet; `OtherState` if it was not
    /// taken so, or its past is there. The same again changes nothing.
    async fn import_past(&self, rows: &PastRows, deadline: Instant) -> Decided<()>;

    /// Makes all of that visible. The same again changes nothing.
    async fn end_past(&self, end: &PastEnd, deadline: Instant) -> Decided<()>;
}

#[async_trait]
impl<B: Backend> Reads for Transactions<B> {
    async fn export(&self, query: &ExportQuery, deadline: Instant) -> Result<Option<Exported>> {
        self.runner.of(query.key.app(), deadline).read(async |tx| export(tx, query).await).await
    }

    async fn past(&self, query: &PastQuery, deadline: Instant) -> Result<PastPage> {
        self.runner.of(query.scope.app(), deadline).read(async |tx| past(tx, query).await).await
    }

    async fn scope_at(
        &self,
        scope: &ScopeKey,
        revision: i64,
        deadline: Instant,
    ) -> Result<(ScopeHead, Option<String>)> {
        self.runner.of(scope.app(), deadline).read(async |tx| scope_at(tx, scope, revision).await).await
    }
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn import_rows(&self, rows: &ImportRows, deadline: Instant) -> Decided<()> {
        self.runner.of(rows.key.app(), deadline).decide(async |tx| import_rows(tx, rows).await).await
    }

    async fn import_session(&self, import: &ImportEnd, deadline: Instant) -> Decided<()> {
        self.runner.of(import.key.app(), deadline).decide(async |tx| import_session(tx, import).await).await
    }

    async fn abandon_import(&self, key: &SessionKey, incarnation: i64, deadline: Instant) -> Result<()> {
        let abandon = async |tx: &mut B::Tx| abandon_import(tx, key, incarnation).await;
        self.runner.of(key.app(), deadline).write(abandon).await
    }

    async fn import_scope(&self, import: &ScopeImport, deadline: Instant) -> Decided<()> {
        self.remembered.evict_scope(&import.scope);
        self.runner.of(import.scope.app(), deadline).decide(async |tx| import_scope(tx, import).await).await
    }

    async fn import_past(&self, rows: &PastRows, deadline: Instant) -> Decided<()> {
        self.runner.of(rows.scope.app(), deadline).decide(async |tx| import_past(tx, rows).await).await
    }

    async fn end_past(&self, end: &PastEnd, deadline: Instant) -> Decided<()> {
        self.remembered.evict_scope(&end.scope);
        self.runner.of(end.scope.app(), deadline).decide(async |tx| end_past(tx, end).await).await
    }
}

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
        base_saw: (row.created_user_revision, row.created_app_revision),
        lost: row.lost.into(),
        origin: row.imported_mark,
        imported_digest: row.imported_digest,
        state: view.state,
        head: view.head,
        rows,
    }))
}

/// Writes rows of a session that is not visible yet. The same again changes nothing.
pub async fn import_rows<X: Tx>(tx: &mut X, import: &ImportRows) -> Decided<((), End)> {
    let (key, incarnation) = (&import.key, import.incarnation);
    admit_import(tx, key.app(), &import.subject, import.since).await?;
    if import.begins {
        transfer::note_import(tx, key, incarnation, import.now).await?;
    } else if !transfer::renew_import(tx, key, incarnation, import.now).await? {
        return Err(Refusal::ImportLost.into());
    }
    transfer::insert_rows(tx, import).await?;
    Ok(((), End::UNTOLD))
}

/// Makes an imported session visible.
pub async fn import_session<X: Tx>(tx: &mut X, import: &ImportEnd) -> Decided<((), End)> {
    let (key, incarnation) = (&import.key, import.incarnation);
    admit_import(tx, key.app(), &import.subject, import.since).await?;
    if !transfer::forget_import(tx, key, incarnation).await? {
        let found = in_the_way(tx, key, None, incarnation, import.now, &mut Vec::new()).await?;
        return if matches!(found, InTheWay::OurOwn) {
            Ok(((), End::Release))
        } else {
            Err(Refusal::ImportLost.into())
        };
    }
    let mut told = Vec::new();
    while !transfer::insert_session(tx, import).await? {
        if !matches!(in_the_way(tx, key, None, incarnation, import.now, &mut told).await?, InTheWay::Nothing) {
            return Err(Refusal::SessionAlreadyExists.into());
        }
    }
    transfer::insert_state(tx, import).await?;
    let change = SessionChange::Created { revision: import.revision, forked_from: None };
    told.push(Committed::Session { key: key.clone(), incarnation, change });
    if import.revision > import.begin.base {
        let (first, last) = (import.begin.base + 1, import.revision);
        told.push(Committed::Events { key: key.clone(), incarnation, first, last });
    }
    Ok(((), End::Commit(told)))
}

pub async fn abandon_import<X: Tx>(tx: &mut X, key: &SessionKey, incarnation: i64) -> Result<((), End)> {
    transfer::abandon_import(tx, key, incarnation).await?;
    Ok(((), End::UNTOLD))
}

/// Holds a user as [`admit`] does, for an import that began when the app had had `since` erasures.
///
/// # Errors
/// `UserErased`, `ErasedSince`.
async fn admit_import<X: Tx>(tx: &mut X, app: &AppName, subject: &Subject, since: i64) -> Decided<()> {
    if !admit(tx, app, subject).await? {
        return Err(Refusal::UserErased.into());
    }
    if last_erasure(tx, app, subject).await? > since { Err(Refusal::ErasedSince.into()) } else { Ok(()) }
}

async fn admit_scope<X: Tx>(tx: &mut X, scope: &ScopeKey, subject: Option<&Subject>, since: i64) -> Decided<()> {
    match subject {
        Some(subject) => admit_import(tx, scope.app(), subject, since).await,
        None => Ok(()),
    }
}

/// A part of the past of shared state.
pub async fn past<X: Tx>(tx: &mut X, query: &PastQuery) -> Result<PastPage> {
    let nothing = PastPage { view: None, floor: 0, changes: Vec::new(), more: false };
    let Some(head) = transfer::scope_head(tx, &query.scope).await? else { return Ok(nothing) };
    let mut page = PastPage { floor: head.floor, ..nothing };
    let after = match query.after {
        Some(after) => after,
        None => {
            page.view = Some(primitives::scope(tx, &query.scope).await?);
            head.floor
        }
    };
    let through = if query.after.is_none() { head.revision } else { query.through };
    let is_base = query.after.is_none() && head.floor > 0;
    if is_base {
        let state = transfer::scope_then(tx, &query.scope, head.floor, head.revision).await?;
        let members = Json::trusted(&state).as_object().into_iter().flatten();
        page.changes.push(PastChange {
            revision: head.floor,
            time: transfer::base_time(tx, &query.scope, head.floor).await?,
            is_base,
            set: members.map(|member| (member.key.into_owned(), member.value.to_raw())).collect(),
            removed: Vec::new(),
        });
    }
    let (changes, more) = transfer::past(tx, query, after, through).await?;
    page.changes.extend(changes);
    page.more = more;
    Ok(page)
}

/// Where a shared scope stands, and what its state was at a revision, if that is known.
pub async fn scope_at<X: Tx>(tx: &mut X, scope: &ScopeKey, revision: i64) -> Result<(ScopeHead, Option<String>)> {
    let head = transfer::scope_head(tx, scope).await?.unwrap_or(ScopeHead { revision: 0, floor: 0, imported: 0 });
    let is_known = (head.floor.max(1)..=head.revision).contains(&revision);
    let state = if is_known { Some(transfer::scope_then(tx, scope, revision, head.revision).await?) } else { None };
    Ok((head, state))
}

/// Writes what a scope was before an import took it: below its floor, where nobody sees it.
pub async fn import_past<X: Tx>(tx: &mut X, rows: &PastRows) -> Decided<((), End)> {
    admit_scope(tx, &rows.scope, rows.subject.as_ref(), rows.since).await?;
    tx.lock_scopes(&[rows.scope.borrowed()]).await?;
    let head = transfer::scope_head(tx, &rows.scope).await?;
    if head.is_none_or(|head| head.imported != rows.revision || head.floor != rows.revision) {
        return Err(Refusal::OtherState.into());
    }
    transfer::insert_past(tx, rows).await?;
    Ok(((), End::UNTOLD))
}

/// Makes such a past visible.
pub async fn end_past<X: Tx>(tx: &mut X, end: &PastEnd) -> Decided<((), End)> {
    admit_scope(tx, &end.scope, end.subject.as_ref(), end.since).await?;
    tx.lock_scopes(&[end.scope.borrowed()]).await?;
    let head = transfer::scope_head(tx, &end.scope).await?;
    if head.is_none_or(|head| head.imported != end.revision || head.floor != end.revision) {
        // Perhaps an earlier try of this call did it.
        return Err(Refusal::OtherState.into());
    }
    transfer::settle_past(tx, end).await?;
    Ok(((), End::UNTOLD))
}

/// Takes the state of a scope that has none; one that has a revision is left alone.
pub async fn import_scope<X: Tx>(tx: &mut X, import: &ScopeImport) -> Decided<((), End)> {
    admit_scope(tx, &import.scope, import.subject.as_ref(), import.since).await?;
    tx.lock_scopes(&[import.scope.borrowed()]).await?;
    if !import.beside(&primitives::scope(tx, &import.scope).await?)? {
        return Ok(((), End::Release));
    }
    let heads = tx.read_heads(&Needs::of_scope(&import.scope)).await?;
    let began = heads.revision_after(import.scope.borrowed(), 0) - 1;
    // Not a revision that an erased user had.
    let revision = import.revision.max(began + 1);
    transfer::insert_scope(tx, import, revision, began).await?;
    let told = Committed::Scope { key: import.scope.clone(), first: 1, last: revision };
    Ok(((), End::Commit(vec![told])))
}

/// Leaves the rows of one import that died to the sweep; whether there was one.
pub async fn bury_dead<X: Tx>(tx: &mut X, now: Micros) -> Result<bool> {
    let Some((key, incarnation)) = transfer::dead_import(tx, now, IMPORT_MEMORY).await? else {
        return Ok(false);
    };
    transfer::abandon_import(tx, &key, incarnation).await?;
    Ok(true)
}
