//! Views of effective histories, kept so that a reader need not begin with the first event.
//!
//! A view is a function of the log up to an event. Nothing depends on one: a session has as many as were made, and readers take
//! the last one further.

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::effective::{Mention, Record, View, hidden};
use crate::domain::ids::SessionKey;
use crate::domain::query::ANY_TIME;
use crate::domain::session::SessionInfo;
use crate::store::backend::{Backend, Tx};
use crate::store::error::Result;
use crate::store::run::End;
use crate::store::sessions::read::{head, keep_unchanged};
use crate::store::sql::columns::{OF_INCARNATION, OWNER};
use crate::store::sql::effective::{BEHIND, Log, advance, kept, last_compaction, records, since};
use crate::store::sql::insert::{insert_all, owner_of};
use crate::store::sql::query::{Query, Sql, Value, all_values};
use crate::store::sql::statements::statements;
use crate::store::sql::view::rewinds;
use crate::store::transactions::Transactions;

#[async_trait]
pub trait Writes: Send + Sync {
    /// Keeps a view of a session, if the last one is behind; whether there is more to do. It looks at a bounded number of events.
    async fn keep_view(&self, key: &SessionKey, deadline: Instant) -> Result<bool>;
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn keep_view(&self, key: &SessionKey, deadline: Instant) -> Result<bool> {
        let call = self.runner.of(key.app(), deadline);
        let Some(next) = call.read(async |tx| next(tx, key).await).await? else { return Ok(false) };
        call.write(async |tx| keep(tx, &next).await).await
    }
}

/// How many events a view is taken over at once.
const EVENTS: usize = 1024;

/// A view that is to be kept.
struct Next {
    /// Of which it is one. If that has changed by then, but for its events, it is not kept.
    head: SessionInfo,
    view: View,
    /// Of the events since the last view.
    mentions: Vec<Mention>,
    /// There are events after it.
    more: bool,
}

/// The next view to be kept of a session, if the last one is behind. What takes long is read here, so that the writing is short.
async fn next<X: Tx>(tx: &mut X, key: &SessionKey) -> Result<Option<Next>> {
    let Some(head) = head(tx, key, ANY_TIME).await? else { return Ok(None) };
    let hidden = hidden(&rewinds(tx, &head).await?);
    let (base, incarnation) = (head.base_revision, head.incarnation);
    let log = Log { key, incarnation, base, end: head.revision, hidden: &hidden };
    let Some(compacted) = last_compaction(tx, log).await? else { return Ok(None) };
    let view = kept(tx, log).await?;
    let mut sequences: Vec<i64> = since(&view, log).take(EVENTS + 1).collect();
    if compacted <= view.through && sequences.len() <= BEHIND {
        return Ok(None);
    }
    let more = sequences.len() > EVENTS;
    sequences.truncate(EVENTS);
    let through = sequences.last().copied().filter(|_| more).unwrap_or(head.revision);
    let news = records(tx, log, &sequences, None).await?;
    let mentions = news.iter().flat_map(Record::mentions).collect();
    let view = advance(tx, log, view, news, through).await?;
    Ok(Some(Next { head, view, mentions, more }))
}

/// Whether there is more to do.
async fn keep<X: Tx>(tx: &mut X, next: &Next) -> Result<(bool, End)> {
    let SessionInfo { key, incarnation, .. } = &next.head;
    // A redaction waits for this, or changes the head before.
    if !keep_unchanged(tx, &next.head).await? {
        return Ok((false, End::Release));
    }
    write(tx, key, *incarnation, &next.view, &next.mentions).await?;
    thin(tx, key, *incarnation).await?;
    Ok((next.more, End::UNTOLD))
}

async fn write(db: &mut impl Sql, key: &SessionKey, incarnation: i64, view: &View, mentions: &[Mention]) -> Result<()> {
    let columns = format!("{OWNER}, id, sequence, roles");
    insert_all(db, "effective_ids", &columns, mentions, " on conflict do nothing", |mention, values| {
        values.extend(owner_of(key, incarnation));
        values.extend([mention.id, mention.sequence, mention.roles].map(Value::from));
    })
    .await?;
    let query = Query::of(&Statements::of(db).keep_view, key, incarnation).bind(view.through).bind(view.to_text());
    db.execute(query).await.map(drop)
}

/// Removes views so that a rewind finds one not much further back than it goes: as many are left as the log's length has digits.
async fn thin(db: &mut impl Sql, key: &SessionKey, incarnation: i64) -> Result<()> {
    let statements = Statements::of(db);
    let views: Vec<i64> = all_values(db, Query::of(&statements.views, key, incarnation)).await?;
    let gone = superfluous(&views);
    if !gone.is_empty() {
        db.execute(Query::of(&statements.forget_views, key, incarnation).bind(gone)).await?;
    }
    Ok(())
}

/// Of views, the last one first, those that lie between two of which one is at most twice as far from the last as the other.
fn superfluous(views: &[i64]) -> Vec<i64> {
    let Some(last) = views.first() else { return Vec::new() };
    let mut gone = Vec::new();
    let mut nearer = BEHIND as i64;
    for pair in views.windows(2).skip(1) {
        let [this, further] = pair else { continue };
        if last - further <= 2 * nearer {
            gone.push(*this);
        } else {
            nearer = last - this;
        }
    }
    gone
}

/// Forgets the views of a session that have an event in them of which something was taken.
pub async fn forget(db: &mut impl Sql, key: &SessionKey, incarnation: i64, sequence: i64) -> Result<()> {
    let statements = Statements::of(db);
    for text in [&statements.forget_views_of, &statements.forget_mentions_of, &statements.forget_compaction] {
        db.execute(Query::of(text, key, incarnation).bind(sequence)).await?;
    }
    Ok(())
}

/// Removes what is kept of events up to `base`, which were trimmed: up to `limit` mentions, or if there are none, what views have of
/// them. How many mentions there were.
pub async fn purge_trimmed(
    db: &mut impl Sql,
    key: &SessionKey,
    incarnation: i64,
    base: i64,
    limit: i64,
) -> Result<u64> {
    let statements = Statements::of(db);
    let of = |text| Query::of(text, key, incarnation);
    let purged = db.execute(of(&statements.purge_mentions).bind(limit).bind(base)).await?;
    if purged > 0 {
        return Ok(purged);
    }
    let views: Vec<(i64, String)> = db.fetch(of(&statements.whole_views)).await?;
    for (sequence, text) in views {
        let trimmed = View::from_text(sequence, &text).and_then(|view| view.trimmed(base));
        let query = match trimmed.filter(|_| sequence > base) {
            Some(view) => of(&statements.replace_view).bind(sequence).bind(view.to_text()),
            None => of(&statements.forget_views).bind(vec![sequence]),
        };
        db.execute(query).await?;
    }
    Ok(0)
}

/// Removes up to `limit` rows of each kind that a buried session left; the most of one kind.
pub async fn purge(db: &mut impl Sql, key: &SessionKey, incarnation: i64, limit: i64) -> Result<i64> {
    let statements = Statements::of(db);
    db.execute(Query::of(&statements.forget_views_of, key, incarnation).bind(0)).await?;
    let purged = db.execute(Query::of(&statements.purge_mentions, key, incarnation).bind(limit).bind(i64::MAX)).await?;
    Ok(purged as i64)
}

statements! { words,
    keep_view: format!(
        "insert into effective_views ({OWNER}, sequence, view) values ($1, $2, $3, $4, $5, $6) on conflict do nothing"
    ),
    views: format!("select sequence from effective_views where {OF_INCARNATION} order by sequence desc"),
    whole_views: format!("select sequence, view from effective_views where {OF_INCARNATION}"),
    replace_view: format!("update effective_views set view = $6 where {OF_INCARNATION} and sequence = $5"),
    forget_views: format!("delete from effective_views where {OF_INCARNATION} and sequence{}", (words.among)("$5")),
    forget_views_of: format!("delete from effective_views where {OF_INCARNATION} and sequence >= $5"),
    forget_mentions_of: format!("delete from effective_ids where {OF_INCARNATION} and sequence = $5"),
    /// The event `$5` is no compaction any more.
    forget_compaction: format!(
        "update events set effect = null where {OF_INCARNATION} and sequence = $5 and effect < 0"
    ),
    /// Removes the first `$5` mentions in events up to `$6`.
    purge_mentions: format!(
        "delete from effective_ids where {OF_INCARNATION} and sequence <= $6 and (sequence, id) <= (select sequence, id from ( \
           select sequence, id from effective_ids where {OF_INCARNATION} order by sequence, id limit 0 + $5) as page \
         order by sequence desc, id desc limit 1)"
    ),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However far a rewind goes back, a view is found that is at most some times as far.
    #[test]
    fn a_view_is_near_wherever_one_goes_back() {
        let mut views: Vec<i64> = Vec::new();
        for end in (100..200_000).step_by(100) {
            views.insert(0, end);
            let gone = superfluous(&views);
            views.retain(|view| !gone.contains(view));
            assert!(views.len() <= 24, "{views:?}");
            for back in [1, 100, 1000, 10_000, 100_000] {
                let found = views.iter().find(|view| **view <= end - back);
                assert!(end - found.copied().unwrap_or(0) <= 4 * (back + BEHIND as i64), "{back} of {end}: {views:?}");
            }
        }
    }
}
