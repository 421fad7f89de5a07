//! Who made the changes of shared state. A log names events by the incarnation of their session; before the rows of these go, what
//! they say is kept in the log, or taken out of it.

use crate::domain::ids::{EventId, ScopeKey, SessionId, SessionKey, UserId};
use crate::domain::key_history::MadeBy;
use crate::store::error::Result;
use crate::store::sql::columns::{OF_EVENT, OF_INCARNATION};
use crate::store::sql::filter::plain_text;
use crate::store::sql::query::{Query, Sql, all_values, row};
use crate::store::sql::scope::ScopeTables;
use crate::store::sql::statements::statements;
use crate::store::sql::words::Words;

/// The columns of a log that say who made a change whose event is gone.
pub const BY: &str = "by_user, by_session, by_event, by_author, by_invocation";

/// All that do, as they are read.
pub const LOGGED_BY: &str = "incarnation, sequence, by_user, by_session, by_event, by_author, by_invocation";

/// Who made the change of a row `logged`, with [`maker`].
pub const MADE_BY: &str = "logged.sequence, coalesce(e.user_id, logged.by_user) as by_user, \
    coalesce(e.session_id, logged.by_session) as by_session, coalesce(e.id, logged.by_event) as by_event, \
    coalesce(e.author, logged.by_author) as by_author, coalesce(e.invocation_id, logged.by_invocation) as by_invocation";

/// A join of rows `logged` to the events `e` that made them, but for those that an erasure took. `e_of`: whose events they can be.
pub fn maker(words: &Words, e_of: &str) -> String {
    let event = format!(
        "{e_of} and e.incarnation = logged.incarnation and e.sequence = logged.sequence and ( \
           select b.erasure from buried_sessions b where b.app_name = $1 and b.user_id = e.user_id \
             and b.session_id = e.session_id and b.incarnation = e.incarnation) is null"
    );
    (words.look_up_if)("events", "e", &event)
}

row! {
    /// The columns of [`MADE_BY`].
    pub struct MadeByRow {
        sequence: Option<i64>,
        by_user: Option<UserId>,
        by_session: Option<SessionId>,
        by_event: Option<EventId>,
        by_author: Option<String>,
        by_invocation: Option<String>,
    }
}

impl MadeByRow {
    pub fn made_by(self) -> Option<MadeBy> {
        Some(MadeBy {
            user: self.by_user?,
            session: self.by_session?,
            event: self.by_event?,
            sequence: self.sequence?,
            author: plain_text(&self.by_author?),
            invocation_id: plain_text(&self.by_invocation?),
        })
    }
}

/// How many revisions of a scope one statement looks for.
const REVISIONS: i64 = 1000;

/// What happens to those who made changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Events {
    /// Their rows lose what is told of them, or go.
    Leave,
    /// They are erased.
    Erased,
}

/// Lets the logs do without the events of a session after one sequence, up to another.
pub async fn release(
    db: &mut impl Sql,
    (key, incarnation): (&SessionKey, i64),
    (after, through): (i64, i64),
    events: Events,
) -> Result<()> {
    for scope in [ScopeKey::User(key.user.clone()), ScopeKey::App(key.app().clone())] {
        let statements = ScopeStatements::of(db, &scope);
        loop {
            let find = Query::of(&statements.made_by, key, incarnation).bind(after).bind(through).bind(REVISIONS);
            let revisions: Vec<i64> = all_values(db, find).await?;
            for revision in &revisions {
                let change = match events {
                    Events::Leave => Query::of(&statements.keep_makers, key, incarnation).bind(*revision),
                    Events::Erased => {
                        Query::new(&statements.take_makers).owner(&scope).bind(*revision).bind(incarnation)
                    }
                };
                db.execute(change).await?;
            }
            if (revisions.len() as i64) < REVISIONS {
                break;
            }
        }
    }
    Ok(())
}

statements! { words, ScopeTables { name, l_of, params: [p, q, ..], .. },
    /// Up to `$7` revisions that events after the sequence `$5`, up to `$6`, made.
    made_by: format!(
        "select distinct l.revision from (select distinct {name}_revision as revision from events where {OF_INCARNATION} \
           and sequence > $5 and sequence <= $6) as k {} limit 0 + $7",
        (words.look_up_logged)(
            &format!("{name}_log"),
            &format!("{l_of} and l.revision = k.revision and l.incarnation = $4 and l.sequence > $5 and l.sequence <= $6")
        )
    ),
    /// Lets what the session changed at the revision `$5` say what its events do.
    keep_makers: {
        let event = |column| format!("(select e.{column} from events e where {OF_EVENT} and e.sequence = l.sequence)");
        format!(
            "update {} set incarnation = null, by_user = $2, by_session = $3, by_event = {}, by_author = {}, by_invocation = {} \
             where {l_of} and l.revision = $5 and l.incarnation = $4",
            (words.logged)(&format!("{name}_log")),
            event("id"),
            event("author"),
            event("invocation_id")
        )
    },
    /// Lets what the incarnation `q` changed at the revision `p` say nothing.
    take_makers: format!(
        "update {} set incarnation = null, sequence = null where {l_of} and l.revision = {p} and l.incarnation = {q}",
        (words.logged)(&format!("{name}_log"))
    ),
}
