//! Whether anything may be made for a user: not while the user is blocked, and by an import not of what was erased since it began.

use std::collections::BTreeSet;

use crate::domain::erasure::Subject;
use crate::domain::ids::{AppName, UserKey};
use crate::domain::refusal::Refusal;
use crate::store::backend::{Tx, UserLock};
use crate::store::error::{Decided, Result};
use crate::store::sql::query::{Query, all_values, value};
use crate::store::sql::statements::statements;

/// Holds a user against erasures until the transaction ends; `false` if nothing may be made for the user.
pub async fn admit<X: Tx>(tx: &mut X, app: &AppName, subject: &Subject) -> Result<bool> {
    tx.hold_users(&[subject.lock()], UserLock::Shared).await?;
    Ok(!is_blocked(tx, app, subject).await?)
}

/// Holds users of an app as [`admit`] does; those for whom nothing may be made.
pub async fn admit_all<'a, X: Tx>(
    tx: &mut X,
    salt: &[u8; 32],
    app: &AppName,
    users: BTreeSet<&'a UserKey>,
) -> Result<BTreeSet<&'a UserKey>> {
    let users: Vec<(Subject, &UserKey)> = users.into_iter().map(|user| (Subject::of(salt, user), user)).collect();
    let mut locks: Vec<i64> = users.iter().map(|(subject, _)| subject.lock()).collect();
    // In one order, so that nobody who holds one of them waits for another.
    locks.sort_unstable();
    tx.hold_users(&locks, UserLock::Shared).await?;
    let mut blocked = BTreeSet::new();
    for some in users.chunks(ASKED) {
        let query = Query::new(&Statements::of(tx).blocked_among).app(app);
        let asked = some.iter().cycle().take(ASKED);
        let query = asked.fold(query, |query, (subject, _)| query.bind(&subject.bytes()[..]));
        let found: Vec<Vec<u8>> = all_values(tx, query).await?;
        let is_blocked = |subject: &Subject| found.iter().any(|found| **found == subject.bytes()[..]);
        blocked.extend(some.iter().filter(|(subject, _)| is_blocked(subject)).map(|(_, user)| *user));
    }
    Ok(blocked)
}

/// How many users one statement asks about.
const ASKED: usize = 16;

/// Holds a user as [`admit`] does, for an import that began when the app had had `since` erasures.
///
/// # Errors
/// `UserErased`, `ErasedSince`.
pub async fn admit_import<X: Tx>(tx: &mut X, app: &AppName, subject: &Subject, since: i64) -> Decided<()> {
    if !admit(tx, app, subject).await? {
        return Err(Refusal::UserErased.into());
    }
    if last_erasure(tx, app, subject).await? > since { Err(Refusal::ErasedSince.into()) } else { Ok(()) }
}

/// Holds users of an app as [`admit`] does, and returns those of whom an import that began when the app had had `since` erasures may say
/// nothing.
pub async fn erased_among<X: Tx>(
    tx: &mut X,
    salt: &[u8; 32],
    app: &AppName,
    users: BTreeSet<UserKey>,
    since: i64,
) -> Result<BTreeSet<UserKey>> {
    let mut erased: BTreeSet<UserKey> =
        admit_all(tx, salt, app, users.iter().collect()).await?.into_iter().cloned().collect();
    let query = Query::new(&Statements::of(tx).erasure_count).app(app);
    let count: Option<i64> = value(tx, query).await?;
    if count.is_some_and(|count| count > since) {
        for user in users {
            if last_erasure(tx, app, &Subject::of(salt, &user)).await? > since {
                erased.insert(user);
            }
        }
    }
    Ok(erased)
}

pub async fn is_blocked<X: Tx>(tx: &mut X, app: &AppName, subject: &Subject) -> Result<bool> {
    let query = Query::new(&Statements::of(tx).blocked_user).app(app).bind(&subject.bytes()[..]);
    let found: Option<Vec<u8>> = value(tx, query).await?;
    Ok(found.is_some())
}

/// The number of the user's last erasure in the app, 0 without one.
async fn last_erasure<X: Tx>(tx: &mut X, app: &AppName, subject: &Subject) -> Result<i64> {
    let query = Query::new(&Statements::of(tx).last_erasure).app(app).bind(&subject.bytes()[..]);
    Ok(value(tx, query).await?.unwrap_or(0))
}

statements! { _words,
    /// The number of the last erasure of a user.
    last_erasure: "select erasure from token_epochs where app_name = $1 and subject = $2",
    /// How many erasures an app had.
    erasure_count: "select count from erasure_counts where app_name = $1",
    blocked_user: "select subject from blocked_users where app_name = $1 and subject = $2",
    /// Those of [`ASKED`] users, `$2` and so on, that are blocked.
    blocked_among: format!(
        "select subject from blocked_users where app_name = $1 and subject in ({})",
        (2..2 + ASKED).map(|n| format!("${n}")).collect::<Vec<_>>().join(", ")
    ),
}
