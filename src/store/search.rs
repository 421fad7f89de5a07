//! The index of what was said. It is derived from the events, behind them: no append waits for it or writes it, and who searches reads
//! the events that it lacks.

use std::collections::{BTreeMap, HashMap};

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::event::StoredEvent;
use crate::domain::ids::{AppName, SessionId, SessionKey, UserId, UserKey};
use crate::domain::json::RawJson;
use crate::domain::policy::Walked;
use crate::domain::search::{Candidate, Corpus, Entry, Hit, IndexWalk, Indexing, LOOKED, Place};
use crate::domain::session::SessionInfo;
use crate::domain::time::Micros;
use crate::store::backend::{Backend, Tx};
use crate::store::error::Result;
use crate::store::run::End;
use crate::store::sessions::read::keep_unchanged;
use crate::store::sql::columns::{OF_INCARNATION, OWNER};
use crate::store::sql::composed::{self, Composed};
use crate::store::sql::filter::{filter_text, plain_text};
use crate::store::sql::insert::{in_sizes, owner_of, rows_of};
use crate::store::sql::query::{Column, Query, Sql, at_most_one, row};
use crate::store::sql::statements::statements;
use crate::store::transactions::Transactions;

#[async_trait]
pub trait Reads: Send + Sync {
    /// The sessions of a user, and what the index has of these words, at one moment; `None` if the app is not indexed.
    async fn corpus(&self, user: &UserKey, words: &[i64], now: Micros, deadline: Instant) -> Result<Option<Corpus>>;

    /// The events of hits, those that are there, by incarnation and sequence.
    async fn hits(&self, user: &UserKey, hits: &[Hit], deadline: Instant) -> Result<HashMap<(i64, i64), StoredEvent>>;
}

#[async_trait]
pub trait Writes: Send + Sync {
    /// Adds events to the index, which has all events of their session before them; the last one says how far it is. Whether it did: not
    /// if something was taken of the session since `head` was read, or the app is not indexed.
    async fn index(&self, head: &SessionInfo, entries: &[Entry], deadline: Instant) -> Result<bool>;

    /// Removes a part of what the index has of a session; whether there is more.
    async fn unindex(&self, key: &SessionKey, deadline: Instant) -> Result<bool>;

    /// Notes that the index of an app is gone, which was to go.
    async fn end_index(&self, app: &AppName, deadline: Instant) -> Result<()>;

    /// Up to `limit` apps after `after`, in byte order, that have an index.
    async fn indexed_apps(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<(AppName, Indexing)>>;

    /// The sessions of which the index lacks events, among the next ones of the walk, or, if the index is to go, those of which it has
    /// some; and where to go on.
    async fn to_index(
        &self,
        walk: &IndexWalk,
        indexing: Indexing,
        deadline: Instant,
    ) -> Result<(Vec<SessionKey>, Option<Walked>)>;

    /// How far a session is indexed: up to this sequence.
    async fn indexed(&self, key: &SessionKey, deadline: Instant) -> Result<i64>;
}

#[async_trait]
impl<B: Backend> Reads for Transactions<B> {
    async fn corpus(&self, user: &UserKey, words: &[i64], now: Micros, deadline: Instant) -> Result<Option<Corpus>> {
        self.runner.of(&user.app, deadline).read(async |tx| corpus(tx, user, words, now).await).await
    }

    async fn hits(&self, user: &UserKey, hits: &[Hit], deadline: Instant) -> Result<HashMap<(i64, i64), StoredEvent>> {
        let (incarnations, sequences) = hits.iter().map(|hit| (hit.incarnation, hit.sequence)).unzip();
        let events = [Column::Integers(incarnations), Column::Integers(sequences)];
        let query = |tx: &B::Tx| Query::new(&Statements::of(tx).hits).user(user).columns(events);
        let rows: Vec<HitRow> = self.runner.of(&user.app, deadline).fetch(query).await?;
        Ok(rows.into_iter().map(|row| ((row.incarnation, row.event.sequence), row.event)).collect())
    }
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn index(&self, head: &SessionInfo, entries: &[Entry], deadline: Instant) -> Result<bool> {
        self.runner.of(head.key.app(), deadline).write(async |tx| index(tx, head, entries).await).await
    }

    async fn unindex(&self, key: &SessionKey, deadline: Instant) -> Result<bool> {
        self.runner.of(key.app(), deadline).write(async |tx| unindex(tx, key).await).await
    }

    async fn end_index(&self, app: &AppName, deadline: Instant) -> Result<()> {
        let query = |tx: &B::Tx| Query::new(&Statements::of(tx).end_index).app(app);
        self.runner.of(app, deadline).execute(query).await.map(drop)
    }

    async fn indexed_apps(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<(AppName, Indexing)>> {
        let query = |tx: &B::Tx| Query::new(&Statements::of(tx).indexed_apps).bind(after).bind(limit as i64);
        let rows: Vec<(AppName, i64)> = self.runner.across_apps(deadline).fetch(query).await?;
        let indexing = |search: i64| if search == 1 { Indexing::On } else { Indexing::Ending };
        Ok(rows.into_iter().map(|(app, search)| (app, indexing(search))).collect())
    }

    async fn to_index(
        &self,
        walk: &IndexWalk,
        indexing: Indexing,
        deadline: Instant,
    ) -> Result<(Vec<SessionKey>, Option<Walked>)> {
        let find = async |tx: &mut B::Tx| to_index(tx, walk, indexing).await;
        self.runner.of(&walk.app, deadline).one_statement(find).await
    }

    async fn indexed(&self, key: &SessionKey, deadline: Instant) -> Result<i64> {
        let query = |tx: &B::Tx| Query::new(&Statements::of(tx).indexed).session(key);
        let found = self.runner.of(key.app(), deadline).at_most_one(query).await?;
        Ok(found.map_or(0, |(sequence,)| sequence))
    }
}

/// How many sessions one statement of a walk looks at, and how many rows one transaction removes.
const WALKED: usize = 500;
const REMOVED: i64 = 1000;

async fn corpus<X: Tx>(tx: &mut X, user: &UserKey, words: &[i64], now: Micros) -> Result<Option<Corpus>> {
    if !is_indexed(tx, &user.app).await? {
        return Ok(None);
    }
    let query = Query::new(&Statements::of(tx).places).user(user).bind(now.0);
    let sessions: Vec<Place> = tx.fetch(query).await?;
    let mut removed = Vec::new();
    if sessions.iter().any(|place| place.forked_from.is_some()) {
        removed = tx.fetch(Query::new(&Statements::of(tx).removed).user(user)).await?;
    }
    let mut rewinds: HashMap<i64, Vec<(i64, i64)>> = HashMap::new();
    let incarnations: Vec<i64> = sessions.iter().filter(|place| place.is_live).map(|place| place.incarnation).collect();
    let query = Query::new(&Statements::of(tx).rewinds).user(user).bind(incarnations);
    for (incarnation, sequence, to) in tx.fetch::<(i64, i64, i64)>(query).await? {
        rewinds.entry(incarnation).or_default().push((sequence, to));
    }
    let (candidates, is_cut) = candidates(tx, user, words).await?;
    Ok(Some(Corpus { sessions, rewinds, removed, candidates, is_cut }))
}

/// The events that have one of the words, those with the rarest words first, and whether there are more.
async fn candidates(db: &mut impl Sql, user: &UserKey, words: &[i64]) -> Result<(Vec<Candidate>, bool)> {
    let mut lists = Vec::new();
    for (place, word) in words.iter().enumerate() {
        let query = Query::new(&Statements::of(db).with_word).user(user).bind(*word).bind(LOOKED as i64 + 1);
        lists.push((1u32 << place, *word, entries(&composed::fetch(db, query).await?)?));
    }
    lists.sort_by_key(|(_, _, entries)| entries.len());
    let mut found: BTreeMap<(i64, i64), Candidate> = BTreeMap::new();
    let (mut is_cut, mut unsure) = (false, Vec::new());
    for (bit, word, entries) in lists {
        if entries.len() > LOOKED {
            is_cut = true;
            unsure.push((bit, word));
        }
        for entry in entries {
            let key = (entry.incarnation, entry.sequence);
            if found.len() == LOOKED && !found.contains_key(&key) {
                is_cut = true;
                continue;
            }
            found.entry(key).or_insert(entry).words |= bit;
        }
    }
    // A word that more events have: which of the others that are looked at?
    for (bit, word) in unsure {
        let others = found.iter().filter(|(_, event)| event.words & bit == 0);
        let (incarnations, sequences): (Vec<i64>, Vec<i64>) = others.map(|(key, _)| *key).unzip();
        if incarnations.is_empty() {
            continue;
        }
        let query = Query::new(&Statements::of(db).that_have_word)
            .user(user)
            .columns([Column::Integers(incarnations), Column::Integers(sequences)])
            .bind(word);
        for entry in entries(&composed::fetch(db, query).await?)? {
            if let Some(event) = found.get_mut(&(entry.incarnation, entry.sequence)) {
                event.words |= bit;
            }
        }
    }
    Ok((found.into_values().collect(), is_cut))
}

/// Entries of the index, from [`ENTRIES`].
fn entries(text: &str) -> Result<Vec<Candidate>> {
    let (mut text, mut entries) = (Composed(text), Vec::new());
    while !text.is_over() {
        let (incarnation, sequence, commit_time) = (text.number()?, text.number()?, Micros(text.number()?));
        let bytes = text.number()?;
        let author = plain_text(text.text(bytes)?);
        entries.push(Candidate { incarnation, sequence, commit_time, author, words: 0 });
    }
    Ok(entries)
}

async fn to_index(
    db: &mut impl Sql,
    walk: &IndexWalk,
    indexing: Indexing,
) -> Result<(Vec<SessionKey>, Option<Walked>)> {
    let query = Query::new(&Statements::of(db).walk).app(&walk.app).walked(walk.after.as_ref()).bind(WALKED as i64);
    let rows: Vec<WalkRow> = db.fetch(query).await?;
    let key = |row: &WalkRow| SessionKey {
        user: UserKey { app: walk.app.clone(), user: row.user_id.clone() },
        session: row.id.clone(),
    };
    let last = rows.last().filter(|_| rows.len() == WALKED);
    let next = last.map(|last| Walked { create_time: last.create_time, key: key(last) });
    let is_due = |row: &&WalkRow| match indexing {
        Indexing::On => row.revision > row.indexed.max(row.base_revision),
        Indexing::Ending => row.indexed > 0,
    };
    Ok((rows.iter().filter(is_due).map(key).collect(), next))
}

async fn index<X: Tx>(tx: &mut X, head: &SessionInfo, entries: &[Entry]) -> Result<(bool, End)> {
    // A redaction, a trim and a deletion wait for this, or change the head before.
    if !keep_unchanged(tx, head).await? || !is_indexed(tx, head.key.app()).await? {
        return Ok((false, End::Release));
    }
    for entries in in_sizes(entries) {
        let query = rows_of(
            "event_words",
            &format!("{OWNER}, sequence, commit_time, author, words"),
            entries,
            |entry, values| {
                values.extend(owner_of(&head.key, head.incarnation));
                values.extend([entry.sequence.into(), entry.commit_time.0.into()]);
                values.extend([filter_text(&entry.author).into(), entry.words.clone().into()]);
            },
        );
        tx.execute(query.sql(" on conflict do nothing")).await?;
    }
    Ok((true, End::UNTOLD))
}

async fn is_indexed(db: &mut impl Sql, app: &AppName) -> Result<bool> {
    let found: Option<(i64,)> = at_most_one(db, Query::new(&Statements::of(db).search).app(app)).await?;
    Ok(found == Some((1,)))
}

async fn unindex<X: Tx>(tx: &mut X, key: &SessionKey) -> Result<(bool, End)> {
    let Some(row) = tx.keep_session(key).await? else { return Ok((false, End::Release)) };
    let removed = purge(tx, key, row.head.incarnation, REMOVED).await?;
    Ok((removed == REMOVED, End::UNTOLD))
}

/// Removes up to `limit` rows, the last ones first: what is left says how far the index is. How many there were.
pub async fn purge(db: &mut impl Sql, key: &SessionKey, incarnation: i64, limit: i64) -> Result<i64> {
    let query = Query::of(&Statements::of(db).purge, key, incarnation).bind(limit);
    Ok(db.execute(query).await? as i64)
}

/// Forgets the words of the events after one sequence, up to another.
pub async fn forget(db: &mut impl Sql, key: &SessionKey, incarnation: i64, after: i64, through: i64) -> Result<()> {
    let query = Query::of(&Statements::of(db).forget, key, incarnation).bind(after).bind(through);
    db.execute(query).await.map(drop)
}

/// How far the session `s` is indexed.
const INDEXED: &str = "coalesce((select w.sequence from event_words w where w.app_name = $1 and w.user_id = s.user_id \
     and w.session_id = s.id and w.incarnation = s.incarnation order by w.sequence desc limit 1), 0) as indexed";

statements! { words,
    search: "select search from policies where app_name = $1",
    indexed_apps: "select app_name, search from policies where app_name > $1 and search <> 0 order by app_name limit 0 + $2",
    end_index: "update policies set search = 0 where app_name = $1 and search = 2",
    places: format!(
        "select s.id, s.incarnation, s.revision, s.base_revision, s.create_time, s.forked_from, s.forked_revision, \
           s.display_name, (s.expire_time is null or s.expire_time > {}) as is_live, \
           {INDEXED} from sessions s where s.app_name = $1 and s.user_id = $2",
        words.present("$3")
    ),
    removed: "select id, forked_from from removed_forks where app_name = $1 and user_id = $2",
    rewinds: format!(
        "select incarnation, sequence, effect from events where app_name = $1 and user_id = $2 and effect >= 0 \
           and incarnation{} order by incarnation, sequence",
        (words.among)("$3")
    ),
    /// Up to `$4` entries that have the word `$3`.
    with_word: format!(
        "select {ENTRIES} from (select w.incarnation, w.sequence, w.commit_time, w.author from {} and w.app_name = $1 \
           and w.user_id = $2 limit 0 + $4) as l",
        words.with_word
    ),
    /// Of the events `$3, $4`, those that have the word `$5`.
    that_have_word: format!(
        "select {ENTRIES} from {} {} where {}",
        (words.rows)("k", &[("$3", "incarnation", "bigint"), ("$4", "sequence", "bigint")]),
        (words.look_up)("event_words", OF_K),
        (words.has_word)("$5")
    ),
    hits: format!(
        "select l.incarnation, l.sequence, l.commit_time, l.body from {} {}",
        (words.rows)("k", &[("$3", "incarnation", "bigint"), ("$4", "sequence", "bigint")]),
        (words.look_up)("events", OF_K)
    ),
    indexed: format!("select {INDEXED} from sessions s where s.app_name = $1 and s.user_id = $2 and s.id = $3"),
    /// How far the index is with up to `$5` sessions after `$2, $3, $4`.
    walk: format!(
        "select s.user_id, s.id, s.create_time, s.revision, s.base_revision, {INDEXED} from sessions s where s.app_name = $1 \
           and (s.create_time, s.user_id, s.id) > ($2, $3, $4) order by s.create_time, s.user_id, s.id limit 0 + $5"
    ),
    /// Removes the last `$5` rows.
    purge: format!(
        "delete from event_words where {OF_INCARNATION} and sequence >= (select sequence from ( \
           select sequence from event_words where {OF_INCARNATION} order by sequence desc limit 0 + $5) as page \
         order by sequence limit 1)"
    ),
    forget: format!("delete from event_words where {OF_INCARNATION} and sequence > $5 and sequence <= $6"),
}

/// Entries as one text.
const ENTRIES: &str =
    "string_agg(concat_ws(' ', l.incarnation, l.sequence, l.commit_time, octet_length(l.author), l.author), '')";

const OF_K: &str = "l.app_name = $1 and l.user_id = $2 and l.incarnation = k.incarnation and l.sequence = k.sequence";

row! {
    impl Place {
        id: SessionId,
        incarnation: i64,
        revision: i64,
        base: i64 = "base_revision",
        create_time: Micros,
        forked_from: Option<(SessionId, i64)>,
        display_name: Option<RawJson>,
        is_live: bool,
        indexed: i64,
    }
}

row! {
    struct HitRow {
        incarnation: i64,
        event: StoredEvent,
    }
}

row! {
    struct WalkRow {
        user_id: UserId,
        id: SessionId,
        create_time: Micros,
        revision: i64,
        base_revision: i64,
        indexed: i64,
    }
}
