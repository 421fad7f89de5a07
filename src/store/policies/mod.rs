//! Policies of apps, and what they remove.

pub mod forget;

use std::collections::BTreeSet;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::ids::{AppName, SessionId, SessionKey, UserId, UserKey};
use crate::domain::json::Json;
use crate::domain::policy::{
    Counts, Due, Forget, Found, Kept, Policy, PolicyWrite, Scopes, StoredPolicy, Walk, Walked,
};
use crate::domain::query::ANY_TIME;
use crate::domain::session::SessionInfo;
use crate::domain::time::Micros;
use crate::domain::writes::Removal;
use crate::store::backend::{Backend, OnLocked, Tx};
use crate::store::error::{Cause, Decided, Result, StoreError};
use crate::store::run::End;
use crate::store::sessions::bury::bury;
use crate::store::sessions::read::head;
use crate::store::sql::query::{Query, at_most_one, row};
use crate::store::sql::statements::statements;
use crate::store::sql::words::Words;
use crate::store::transactions::Transactions;
use crate::store::trim;

#[async_trait]
pub trait Reads: Send + Sync {
    /// The policy of an app.
    async fn policy(&self, app: &AppName, deadline: Instant) -> Result<StoredPolicy>;
}

#[async_trait]
pub trait Writes: Send + Sync {
    /// Changes the policy of an app. The same call again changes nothing, unless its precondition fails for the first one.
    async fn set_policy(&self, write: &PolicyWrite, deadline: Instant) -> Decided<StoredPolicy>;

    /// Goes through a bounded number of sessions of an app, and removes what a policy says: sessions, events, stubs. What others
    /// have locked stays for the next time.
    async fn walk(&self, walk: &Walk, deadline: Instant) -> Result<Found>;

    /// Forgets what shared scopes of an app were, a bounded part of it; where to go on, `None` at the end. Readers of what is
    /// forgotten are told at once.
    async fn forget(&self, forget: &Forget, deadline: Instant) -> Result<Option<Scopes>>;

    /// Up to `limit` apps that have a policy, after `after` in byte order, with it.
    async fn policies(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<(AppName, Policy)>>;
}

#[async_trait]
impl<B: Backend> Reads for Transactions<B> {
    async fn policy(&self, app: &AppName, deadline: Instant) -> Result<StoredPolicy> {
        self.runner.of(app, deadline).one_statement(async |tx| policy(tx, app).await).await
    }
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn set_policy(&self, write: &PolicyWrite, deadline: Instant) -> Decided<StoredPolicy> {
        let call = self.runner.of(&write.app, deadline);
        call.decide(async |tx| set_policy(tx, write).await).await
    }

    async fn walk(&self, walk: &Walk, deadline: Instant) -> Result<Found> {
        let call = self.runner.of(&walk.app, deadline);
        // Most often nothing is due, and then no writer need wait.
        let find = async |tx: &mut B::Tx| find(tx, walk).await;
        let (found, is_any) = if walk.dry_run { call.read(find).await? } else { call.one_statement(find).await? };
        if walk.dry_run || !is_any {
            return Ok(found);
        }
        call.write(async |tx| self::walk(tx, walk).await).await
    }

    async fn forget(&self, forget: &Forget, deadline: Instant) -> Result<Option<Scopes>> {
        let call = self.runner.of(&forget.app, deadline);
        if let Some(next) = call.one_statement(async |tx| forget::find(tx, forget).await).await? {
            return Ok(next);
        }
        call.write(async |tx| forget::forget(tx, forget).await).await
    }

    async fn policies(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<(AppName, Policy)>> {
        let query = |tx: &B::Tx| Query::new(&Statements::of(tx).policies).bind(after).bind(limit as i64);
        let rows: Vec<(AppName, String)> = self.runner.across_apps(deadline).fetch(query).await?;
        rows.into_iter().map(|(app, text)| Ok((app, parsed(&text)?))).collect()
    }
}

/// How many sessions one transaction looks at, and how many it changes: it holds locks, and must fit into the time limit.
const WALKED: i64 = 500;
const CHANGED: usize = 50;

/// A cut by age costs as much as this many changes, because its place is found by bisection.
const SEARCH: usize = 5;

/// How many stubs one transaction removes.
const STUBS: usize = 1000;

pub async fn policy<X: Tx>(tx: &mut X, app: &AppName) -> Result<StoredPolicy> {
    let row: Option<(i64, Option<String>)> = at_most_one(tx, Query::new(&Statements::of(tx).policy).app(app)).await?;
    let Some((revision, text)) = row else { return Ok(StoredPolicy::default()) };
    Ok(StoredPolicy { revision, policy: text.as_deref().map(parsed).transpose()? })
}

fn parsed(text: &str) -> Result<Policy> {
    let odd = |_| StoreError::new(Cause::Internal, "a stored policy is not one");
    Policy::parse(Json::trusted(text)).map_err(odd)
}

pub async fn set_policy<X: Tx>(tx: &mut X, write: &PolicyWrite) -> Decided<(StoredPolicy, End)> {
    loop {
        let stored = policy(tx, &write.app).await?;
        let Some(next) = write.decide(&stored)? else { return Ok((stored, End::Release)) };
        let text = next.policy.as_ref().map(Policy::to_json);
        let bounds = next.policy.as_ref().map(|policy| policy.bounds).unwrap_or_default();
        let query =
            Query::new(&Statements::of(tx).set_policy).app(&write.app).bind(next.revision).bind(text.as_deref());
        let query = query.bind(bounds.sessions_per_user).bind(bounds.events_per_session);
        let query = query.bind(bounds.artifact_bytes_per_user);
        let query = query.bind(i64::from(next.policy.as_ref().is_some_and(Policy::indexes)));
        // None if another write came between: it is read, and this one decided anew.
        if tx.execute(query).await? > 0 {
            return Ok((next, End::UNTOLD));
        }
    }
}

/// Counts what [`walk`] would remove, in a dry run. Returns also whether there is anything to remove.
pub async fn find<X: Tx>(tx: &mut X, walk: &Walk) -> Result<(Found, bool)> {
    let (sessions, next) = due(tx, walk).await?;
    let mut found = Found { next, ..Found::default() };
    if walk.dry_run {
        for (key, kept) in &sessions {
            let due = walk.policy.judge(kept);
            if due.expired {
                found.counts.expired += 1;
            } else if due.events_before.is_none() {
                found.counts.add(trimmed(walk.policy.base(kept, 0) - kept.base));
            } else if let Some(session) = head(tx, key, ANY_TIME).await? {
                found.counts.add(trimmed(base(tx, walk, &session, kept).await? - session.base_revision));
            }
        }
    }
    Ok((found, !sessions.is_empty()))
}

/// Removes what is due among the next sessions. Leases are no reason to keep it.
pub async fn walk<X: Tx>(tx: &mut X, walk: &Walk) -> Result<(Found, End)> {
    let (sessions, next) = due(tx, walk).await?;
    let mut found = Found { next, ..Found::default() };
    let mut told = Vec::new();
    let mut stubs = STUBS;
    let keys: BTreeSet<_> = sessions.iter().map(|(key, _)| key).collect();
    for row in tx.lock_sessions(&keys, OnLocked::Skip).await? {
        // It may have been written to, or made anew, since it was found.
        let query = Query::new(&Statements::of(tx).kept).session(&row.key);
        let now: Option<KeptRow> = at_most_one(tx, of_policy(query, walk)).await?;
        let (Some(now), Some(session)) = (now, head(tx, &row.key, ANY_TIME).await?) else { continue };
        let kept = now.kept;
        let due = walk.policy.judge(&kept);
        if due.expired {
            told.push(bury(tx, &row.key, row.head.incarnation, Removal::Retention).await?);
            found.counts.expired += 1;
            continue;
        }
        if due.trims() {
            let base = base(tx, walk, &session, &kept).await?;
            if base > session.base_revision {
                found.counts.add(trimmed(base - session.base_revision));
                told.push(trim::cut(tx, &session, base).await?);
            }
        }
        if let Some(time) = due.stubs_before {
            stubs -= trim::purge_stubs(tx, &session, time, stubs).await?;
            found.again = stubs == 0;
        }
    }
    Ok((found, if keys.is_empty() { End::Release } else { End::Commit(told) }))
}

/// At which revision a session of the policy's app is to begin.
async fn base<X: Tx>(tx: &mut X, walk: &Walk, session: &SessionInfo, kept: &Kept) -> Result<i64> {
    let old = match walk.policy.judge(kept).events_before {
        Some(time) => trim::before(tx, session, time).await?,
        None => 0,
    };
    Ok(walk.policy.base(kept, old))
}

fn trimmed(events: i64) -> Counts {
    Counts { trimmed: u64::from(events > 0), events: events.max(0).unsigned_abs(), ..Counts::default() }
}

/// The sessions of which something is due among the next ones, as many as one transaction takes, and where to go on.
async fn due<X: Tx>(tx: &mut X, walk: &Walk) -> Result<(Vec<(SessionKey, Kept)>, Option<Walked>)> {
    let query = Query::new(&Statements::of(tx).walk).app(&walk.app).walked(walk.after.as_ref()).bind(WALKED);
    let rows: Vec<KeptRow> = tx.fetch(of_policy(query, walk)).await?;
    let full = rows.len() == WALKED as usize;
    let (mut sessions, mut cost) = (Vec::new(), 0);
    for (n, row) in rows.iter().enumerate() {
        let due = walk.policy.judge(&row.kept);
        if due.is_any() {
            sessions.push((row.key(&walk.app), row.kept));
            cost += match due {
                // Who is just counted is not read again.
                Due { expired: true, .. } | Due { events_before: None, .. } => usize::from(!walk.dry_run),
                Due { events_before: Some(_), .. } => SEARCH,
            };
        }
        let is_last = n + 1 == rows.len();
        if (cost >= CHANGED && !is_last) || (is_last && full) {
            return Ok((sessions, Some(Walked { create_time: row.kept.create_time, key: row.key(&walk.app) })));
        }
    }
    Ok((sessions, None))
}

/// Binds the parameters that say what the policy judges by.
fn of_policy<'q>(query: Query<'q>, walk: &Walk) -> Query<'q> {
    query.bind(walk.now.0).bind(walk.policy.event_age.is_some()).bind(walk.policy.stub_age.is_some())
}

statements! { words,
    /// The policy of an app.
    policy: "select revision, policy from policies where app_name = $1",
    /// Policies of apps after `$1`, up to `$2`.
    policies: "select app_name, policy from policies where app_name > $1 and policy is not null \
               order by app_name limit 0 + $2",
    /// Affects no row, if the revision before `$2` is not the present one.
    set_policy: "insert into policies (app_name, revision, policy, sessions_per_user, events_per_session, artifact_bytes_per_user, search) \
                 values ($1, $2, $3, $4, $5, $6, $7) \
                 on conflict (app_name) do update set revision = excluded.revision, policy = excluded.policy, \
                   sessions_per_user = excluded.sessions_per_user, events_per_session = excluded.events_per_session, \
                   artifact_bytes_per_user = excluded.artifact_bytes_per_user, \
                   search = case when excluded.search = 0 and policies.search <> 0 then 2 else excluded.search end \
                 where policies.revision = excluded.revision - 1",
    /// What a policy judges the sessions of an app by: of those after `$2, $3, $4`, up to `$5`. `$6` is now, where the database
    /// has no clock; `$7` and `$8` say whether the first event of the log and the first stub count.
    walk: kept_text(
        words,
        ["$6", "$7", "$8"],
        "(s.create_time, s.user_id, s.id) > ($2, $3, $4) order by s.create_time, s.user_id, s.id limit 0 + $5"
    ),
    /// The same of one session.
    kept: kept_text(words, ["$4", "$5", "$6"], "s.user_id = $2 and s.id = $3"),
}

/// The columns by which a policy judges sessions of the app `$1`.
fn kept_text(words: &Words, [now, with_event, with_stub]: [&str; 3], which: &str) -> String {
    const OF_S: &str = "e.app_name = $1 and e.user_id = s.user_id and e.session_id = s.id \
                        and e.incarnation = s.incarnation";
    format!(
        "select s.user_id, s.id, s.create_time, s.active_day, s.expire_time, s.revision, s.base_revision, \
           case when {with_event} then (select e.commit_time from events e where {OF_S} \
             and e.sequence = s.base_revision + 1) end as first_commit, \
           case when {with_stub} then (select e.commit_time from events e where {OF_S} \
             and e.sequence <= s.base_revision order by e.sequence limit 1) end as first_stub, \
           {} as now from sessions s where s.app_name = $1 and {which}",
        words.present(now)
    )
}

row! {
    /// What a policy judges a session by, and its names within its app.
    struct KeptRow {
        user_id: UserId,
        id: SessionId,
        kept: Kept,
    }
}

row! {
    impl Kept {
        now: Micros,
        create_time: Micros,
        active_day: i64,
        has_expiry: Option<Micros> = "expire_time" => |time: Option<Micros>| time.is_some(),
        revision: i64,
        base: i64 = "base_revision",
        first_commit: Option<Micros>,
        first_stub: Option<Micros>,
    }
}

impl KeptRow {
    fn key(&self, app: &AppName) -> SessionKey {
        let user = UserKey { app: app.clone(), user: self.user_id.clone() };
        SessionKey { user, session: self.id.clone() }
    }
}
