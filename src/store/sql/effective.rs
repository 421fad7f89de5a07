//! The effective history of a session, as its readers find it: the last view that is kept, and the events that came since.

use std::ops::ControlFlow;

use super::columns::{OF_INCARNATION, OF_L};
use super::query::{Query, Sql, at_most_one};
use super::statements::statements;
use crate::domain::effective::{Advance, COMPACTION, Mention, Record, Step, View};
use crate::domain::ids::SessionKey;
use crate::store::error::{Result, corrupt};

/// A session's log, or a part of it from its beginning.
#[derive(Debug, Clone, Copy)]
pub struct Log<'a> {
    pub key: &'a SessionKey,
    pub incarnation: i64,
    /// It begins after this.
    pub base: i64,
    pub end: i64,
    /// What rewinds take back of it, as [`hidden`](crate::domain::effective::hidden) gives it.
    pub hidden: &'a [(i64, i64)],
}

/// How many events one statement reads.
const CHUNK: usize = 1024;

/// How many events may have come since the view that is kept before it is to be kept anew.
pub const BEHIND: usize = 128;

/// The view of a log, and whether it is far from the one that is kept; `None` if the log has no compaction.
pub async fn view(db: &mut impl Sql, log: Log<'_>) -> Result<Option<(View, bool)>> {
    if last_compaction(db, log).await?.is_none() {
        return Ok(None);
    }
    let kept = kept(db, log).await?;
    let sequences: Vec<i64> = since(&kept, log).collect();
    let is_behind = sequences.len() > BEHIND;
    let news = records(db, log, &sequences, None).await?;
    Ok(Some((advance(db, log, kept, news, log.end).await?, is_behind)))
}

/// The last compaction of a log that is not taken back.
pub async fn last_compaction(db: &mut impl Sql, log: Log<'_>) -> Result<Option<i64>> {
    let text = &Statements::of(db).last_compaction;
    Ok(last_standing(db, log, text).await?.map(|(sequence, _)| sequence))
}

/// The last view that was kept of an event that is not taken back, or that of the beginning.
pub async fn kept(db: &mut impl Sql, log: Log<'_>) -> Result<View> {
    let text = &Statements::of(db).kept_view;
    let Some((sequence, view)) = last_standing(db, log, text).await? else { return Ok(View::new(log.base)) };
    let view = View::from_text(sequence, &view).ok_or_else(|| corrupt("a kept view cannot be read"))?;
    Ok(view.trimmed(log.base).unwrap_or_else(|| View::new(log.base)))
}

/// The last row of an event that is not taken back. The view of a rewind itself is one of what it has left.
async fn last_standing(db: &mut impl Sql, log: Log<'_>, text: &'static str) -> Result<Option<(i64, String)>> {
    let mut end = log.end;
    loop {
        let query = Query::of(text, log.key, log.incarnation).bind(log.base).bind(end);
        let Some(row) = at_most_one::<(i64, String)>(db, query).await? else { return Ok(None) };
        match log.hidden.iter().find(|(after, last)| *after < row.0 && row.0 < *last) {
            Some((after, _)) => end = *after,
            None => return Ok(Some(row)),
        }
    }
}

/// The sequences that came since a view, without those that are taken back.
pub fn since(view: &View, log: Log<'_>) -> impl Iterator<Item = i64> + use<> {
    View::new(view.through).events(view.through, log.end, log.hidden)
}

/// Takes a view over the events that came since.
pub async fn advance(db: &mut impl Sql, log: Log<'_>, view: View, news: Vec<Record>, through: i64) -> Result<View> {
    let before = view.clone();
    let mut advance = Advance::new(view, log.base, log.hidden, news, through);
    loop {
        match advance.step() {
            Step::Left(from, to) => {
                let sequences: Vec<i64> = before.events(log.base, before.through, log.hidden).collect();
                advance.records(records(db, log, &sequences, Some((from.0, to.0))).await?);
            }
            Step::Events(sequences) => advance.records(records(db, log, &sequences, None).await?),
            Step::Mentions(ids) => {
                let query = Query::of(&Statements::of(db).mentions, log.key, log.incarnation).bind(ids);
                let rows: Vec<(i64, i64, i64)> = db.fetch(query).await?;
                let mention = |(id, sequence, roles)| Mention { id, sequence, roles };
                advance.mentions(rows.into_iter().map(mention).collect());
            }
            Step::Done => return Ok(advance.finish()),
        }
    }
}

/// The events of these sequences; of those, the ones with timestamps from one time to another, in microseconds.
pub async fn records(
    db: &mut impl Sql,
    log: Log<'_>,
    sequences: &[i64],
    between: Option<(i64, i64)>,
) -> Result<Vec<Record>> {
    let (from, to) = between.unwrap_or((i64::MIN, i64::MAX));
    let mut records = Vec::new();
    for sequences in sequences.chunks(CHUNK) {
        let query = Query::of(&Statements::of(db).records, log.key, log.incarnation);
        let query = query.bind(sequences.to_vec()).bind(from).bind(to);
        let take = |(sequence, body): (i64, String)| {
            records.push(Record::of(sequence, &body));
            Ok(ControlFlow::Continue(()))
        };
        db.fetch_until(query, take).await?;
    }
    Ok(records)
}

statements! { words,
    /// The last compaction after the sequence `$5`, up to `$6`.
    last_compaction: format!(
        "select sequence, '' from events where {OF_INCARNATION} and effect = {COMPACTION} and sequence > $5 and sequence <= $6 \
         order by sequence desc limit 1"
    ),
    /// The last kept view after the sequence `$5`, up to `$6`.
    kept_view: format!(
        "select sequence, view from effective_views where {OF_INCARNATION} and sequence > $5 and sequence <= $6 \
         order by sequence desc limit 1"
    ),
    /// The events of the sequences `$5` with timestamps from `$6` to `$7`.
    records: format!(
        "select l.sequence, l.body from {} {} where l.event_time >= $6 and l.event_time <= $7 order by l.sequence",
        (words.numbers)("$5"),
        (words.look_up)("events", &format!("{OF_L} and l.sequence = k.value"))
    ),
    /// Where the ids `$5` are mentioned.
    mentions: format!(
        "select l.id, l.sequence, l.roles from {} {}",
        (words.numbers)("$5"),
        (words.look_up)("effective_ids", &format!("{OF_L} and l.id = k.value"))
    ),
}
