//! A rewind: the event that takes others back.

use std::collections::BTreeSet;

use crate::domain::append::decide;
use crate::domain::effective;
use crate::domain::event::{StoredEvent, cost};
use crate::domain::history;
use crate::domain::json::{Json, RawJson};
use crate::domain::loaded::{LockedSession, Needs};
use crate::domain::query::{ANY_TIME, EventQuery};
use crate::domain::refusal::Refusal;
use crate::domain::rewind::{self, Decision, Difference, Past, RewindRequest, RewindTarget, Rewound};
use crate::domain::session::SessionInfo;
use crate::domain::writes;
use crate::store::artifacts::read::Holder;
use crate::store::artifacts::restore::{restore, restored};
use crate::store::backend::Tx;
use crate::store::error::{Decided, Result};
use crate::store::load::absent::first_of_invocation;
use crate::store::run::{End, apply};
use crate::store::sessions::change::locked_live;
use crate::store::sessions::read::{event_at, head, not_there, view, written};
use crate::store::sql::columns::OF_INCARNATION;
use crate::store::sql::past::Moment;
use crate::store::sql::query::{Query, Sql, row};
use crate::store::sql::statements::statements;
use crate::store::sql::view::{events, rewinds};

/// Appends the event that takes others back. The session is locked, as the event depends on its current state.
pub async fn rewind<X: Tx>(tx: &mut X, request: &RewindRequest) -> Decided<(Rewound, End)> {
    let row = locked_live(tx, &request.key, request.now).await?.ok_or(Refusal::SessionNotFound)?;
    let needs = Needs {
        sessions: BTreeSet::from([&request.key]),
        events: BTreeSet::from([(&request.key, &request.event_id)]),
        ..Needs::of_revisions(&request.key)
    };
    let mut loaded = tx.read_heads(&needs).await?;
    loaded.timeline = tx.timeline();
    let past = past_of(tx, &row, &request.target).await?;
    let artifacts = past.as_ref().map(|past| past.artifacts.clone()).unwrap_or_default();
    let append = match rewind::decide(&mut loaded, request, past)? {
        Decision::Append(append) => append,
        Decision::Replayed => {
            let view = view(tx, &written(&request.key, request.now, request.shows)).await?;
            return Ok((Rewound { view, appended: 0, cost: 0 }, End::Release));
        }
    };
    let mut writes = writes::Writes::default();
    decide(&mut loaded, &append, &mut writes)?;
    let cost = writes.events.iter().map(|row| cost(row.body.len())).fold(0, u32::saturating_add);
    let (_, end) = apply(tx, &writes).await?;
    let key = &request.key;
    let holder = Holder { user: &key.user, session: key.session.as_str(), incarnation: row.head.incarnation };
    let mark = (request.copy_id.as_u64_pair().1 >> 1).cast_signed();
    let by = (mark, row.head.revision + 1);
    let end = end.after(restore(tx, holder, &artifacts, by, request.now).await?);
    let view = view(tx, &written(&request.key, request.now, request.shows)).await?;
    Ok((Rewound { view, appended: append.events.len(), cost }, end))
}

/// The past that a rewind returns to, if there is one.
async fn past_of<X: Tx>(tx: &mut X, row: &LockedSession, target: &RewindTarget) -> Result<Option<Past>> {
    let to = match target {
        RewindTarget::BeforeInvocation(invocation) => {
            let first = first_of_invocation(tx, &row.key, row.head.incarnation, invocation, 0).await?;
            first.map(|first| first - 1)
        }
        RewindTarget::Revision(revision) => (*revision < row.head.revision).then_some(*revision),
    };
    let Some(to) = to else { return Ok(None) };
    let head = head(tx, &row.key, ANY_TIME).await?.ok_or_else(not_there)?;
    let base = head.base_revision;
    if to < base {
        return Ok(Some(Past {
            to,
            base,
            invocation: String::new(),
            from: to + 1,
            copied: Vec::new(),
            differences: Vec::new(),
            artifacts: Vec::new(),
        }));
    }
    let invocation = invocation_of(&event_at(tx, row, to + 1).await?);
    let differences = differences(tx, row, to).await?;
    let moment = Moment { key: &row.key, incarnation: row.head.incarnation, revision: to, last: row.head.revision };
    let artifacts = restored(tx, moment).await?;
    let mut past = Past { to, base, invocation, from: to + 1, copied: Vec::new(), differences, artifacts };
    if matches!(target, RewindTarget::Revision(_)) && !past.invocation.is_empty() {
        copied(tx, row, &head, &mut past).await?;
    }
    Ok(Some(past))
}

fn invocation_of(event: &StoredEvent) -> String {
    let invocation = Json::trusted(&event.body).get("invocationId").and_then(Json::as_str);
    invocation.unwrap_or_default().into_owned()
}

/// Loads what stays of an invocation that the rewind cuts in two, from its first event on, page by page, until there is more than
/// a rewind may copy.
async fn copied<X: Tx>(tx: &mut X, row: &LockedSession, head: &SessionInfo, past: &mut Past) -> Result<()> {
    let incarnation = row.head.incarnation;
    let first = first_of_invocation(tx, &row.key, incarnation, &past.invocation, past.base).await?;
    let Some(first) = first.filter(|first| *first <= past.to) else { return Ok(()) };
    let mut rewinds = rewinds(tx, head).await?;
    rewinds.retain(|(sequence, _)| *sequence <= past.to);
    let hidden = effective::hidden(&rewinds);
    past.from = rewind::taken_from(first, &hidden).max(past.base + 1);
    if past.from < first {
        let named = invocation_of(&event_at(tx, row, past.from).await?);
        // Without a name, what an earlier rewind hides is told by its revision alone, and stays so.
        match named.is_empty() {
            true => past.from = first,
            false => past.invocation = named,
        }
    }
    let mut query = EventQuery { after: past.from - 1, before: past.to + 1, ..EventQuery::all() };
    let mut bytes = 0;
    loop {
        let page = events(tx, head, &query).await?;
        let Some(last) = page.events.last() else { return Ok(()) };
        query.after = last.sequence;
        bytes += page.events.iter().map(StoredEvent::weight).sum::<usize>();
        past.copied.extend(page.events.into_iter().filter(|event| !effective::is_hidden(event.sequence, &hidden)));
        if !page.more || bytes > 2 * rewind::MAX_COPIED_BYTES {
            return Ok(());
        }
    }
}

/// The session keys that were set or removed after `revision`, in key order.
async fn differences(db: &mut impl Sql, row: &LockedSession, revision: i64) -> Result<Vec<Difference>> {
    let query = Query::of(&Statements::of(db).differences, &row.key, row.head.incarnation)
        .bind(revision)
        .bind(history::path(revision, row.head.revision));
    db.fetch(query).await
}

statements! { words,
    /// The session keys that have changed since revision `$5`, with their values then and now; `$6` are the nodes.
    differences: format!(
        "select coalesce(p.key, n.key) as key, p.value as was, n.value as now from (select t.key, t.value from {} \
         where t.valid_from <= $5 and t.valid_to > $5) as p full join (select key, value from session_state \
         where {OF_INCARNATION} and revision > $5) as n on n.key = p.key order by 1",
        (words.filed)("session_spans", OF_INCARNATION, "$6")
    ),
}

row! { impl Difference { key: String, was: Option<RawJson>, now: Option<RawJson>, } }
