//! Shared state and its history. The history is written where this import, or an interrupted one, took the state; elsewhere it is compared
//! with the history that is there.

use std::mem;
use std::vec;

use super::ask::{Ask, CHUNK_BYTES, CHUNK_ROWS, ENTRY_BYTES, Write, weight};
use super::result::Fault;
use crate::domain::Limits;
use crate::domain::change::{Keys, parse_delta};
use crate::domain::fold::Fold;
use crate::domain::json::{Json, ObjectText, RawJson};
use crate::domain::scope::Scope;
use crate::domain::time::Micros;
use crate::domain::transfer::rows::{
    PastChange, PastEnd, PastPage, PastQuery, PastRows, ScopeHead, ScopeImport, is_object,
};

type Pairs = Vec<(String, RawJson)>;

/// The values of a scope, as requests may set them.
///
/// # Errors
/// A broken rule for state.
pub(super) fn checked(values: &[(String, RawJson)], scope: Scope, pointer: &str) -> Result<Pairs, Fault> {
    let mut text = ObjectText::default();
    values.iter().for_each(|(key, value)| text.push(key, value.text()));
    let changes = parse_delta(Json::trusted(&text.close()), Keys::Of(scope), pointer, &Limits::unbounded_input())?;
    Ok(changes.into_iter().map(|change| (change.key.into(), change.value)).collect())
}

/// The range of revisions of shared state that are the same here as in the export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SameRange(pub Option<(i64, i64)>);

impl SameRange {
    pub fn has(self, revision: i64) -> bool {
        // Before the first change there was no state.
        revision == 0 || self.0.is_some_and(|(from, to)| (from..=to).contains(&revision))
    }
}

/// What to do with the history of shared state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Skip it.
    Ignore,
    /// Write it, below the revision at which this import, or an interrupted one, took the state.
    Fill,
    /// Compare it with the history here.
    Compare,
}

/// How the history of a scope ends.
#[derive(Debug)]
pub(super) enum Ends {
    /// These revisions are the same here.
    Known(SameRange),
    /// It is written whole.
    Visible(PastEnd),
}

#[derive(Debug)]
pub(super) struct History {
    mode: Mode,
    import: ScopeImport,
    head: ScopeHead,
    /// The state at the revision of the import is the same here.
    is_here: bool,
    /// The revision of the first line if it is a base, and of the last line.
    base: i64,
    last: Option<i64>,
    time: Micros,
    state: Fold<String, RawJson>,
    changes: Vec<PastChange>,
    spans: Vec<(String, i64, i64)>,
    rows: usize,
    bytes: usize,
    memory: usize,
    /// The export's state at the first revision that both have.
    first: Option<Pairs>,
    /// The range of revisions in which both are the same.
    same: Option<(i64, i64)>,
    comparison: Option<Comparison>,
}

/// Changes that are being compared with those here.
#[derive(Debug)]
struct Comparison {
    given: vec::IntoIter<PastChange>,
    /// Of those here.
    after: i64,
    through: i64,
}

impl History {
    /// Its changes are only checked, until it is known [what is here](Self::was).
    pub fn new(import: ScopeImport) -> Self {
        Self {
            mode: Mode::Ignore,
            memory: import.state.iter().map(|(key, value)| weight(key, value)).sum(),
            import,
            head: ScopeHead { revision: 0, floor: 0, imported: 0 },
            is_here: false,
            base: 0,
            last: None,
            time: Micros(0),
            state: Fold::default(),
            changes: Vec::new(),
            spans: Vec::new(),
            rows: 0,
            bytes: 0,
            first: None,
            same: None,
            comparison: None,
        }
    }

    /// The approximate memory that it takes, in bytes.
    pub fn memory(&self) -> usize {
        self.memory + self.bytes
    }

    /// The first revision that both have; in [`Mode::Fill`] there is only the export's.
    fn from(&self) -> i64 {
        let floor = if self.mode == Mode::Compare { self.head.floor } else { 0 };
        floor.max(self.base).max(1)
    }

    /// Adds the next change. `true`: there are many, so they are to be [settled](Self::settle).
    ///
    /// # Errors
    /// It is not in its place, or breaks a rule for state.
    pub fn add(&mut self, change: PastChange) -> Result<bool, Fault> {
        checked(&change.set, self.import.scope.scope(), "/set")?;
        let revision = change.revision;
        let fits = match self.last {
            None => change.is_base || revision == 1,
            Some(last) => !change.is_base && revision == last + 1,
        };
        if !fits || revision > self.import.revision || revision == 0 {
            return Err(Fault::invalid(format!("the change of revision {revision} is not in its place")));
        }
        if change.is_base {
            self.base = revision;
        }
        (self.last, self.time) = (Some(revision), change.time);
        for (key, value) in &change.set {
            self.set(key, Some(value), revision);
            self.bytes += weight(key, value);
        }
        // What a redaction took is a removal, also of what was not there.
        change.removed.iter().for_each(|key| self.set(key, None, revision));
        if self.mode == Mode::Compare && self.first.is_none() && self.same.is_none() && revision == self.from() {
            let state: Pairs = self.state.now.iter().map(|(key, held)| (key.clone(), held.value.clone())).collect();
            self.memory += state.iter().map(|(key, value)| weight(key, value)).sum::<usize>();
            self.first = Some(state);
        }
        self.rows += change.set.len() + change.removed.len();
        self.bytes += ENTRY_BYTES * (1 + change.removed.len());
        self.changes.push(change);
        Ok(self.rows >= CHUNK_ROWS || self.bytes >= CHUNK_BYTES)
    }

    fn set(&mut self, key: &str, value: Option<&RawJson>, at: i64) {
        self.memory += value.map_or(0, |value| weight(key, value));
        self.memory -= self.state.now.get(key).map_or(0, |held| weight(key, &held.value));
        let span = self.state.change(key, value.cloned(), at);
        self.spans.extend(span.map(|span| (span.key, span.from, span.to)));
    }

    /// Whether the changes, if there are any, come to the state.
    ///
    /// # Errors
    /// They do not.
    pub fn check(&self) -> Result<(), Fault> {
        let Some(last) = self.last else { return Ok(()) };
        if last < self.import.revision {
            return Err(Fault::invalid("changes are missing behind a state"));
        }
        let has = |(key, value): &(String, RawJson)| {
            self.state.now.get(key.as_str()).is_some_and(|held| held.value == *value)
        };
        if self.state.now.len() != self.import.state.len() || !self.import.state.iter().all(has) {
            return Err(Fault::invalid("a state is not what its changes come to"));
        }
        Ok(())
    }

    /// Writes or compares the changes read so far.
    pub fn settle(&mut self) -> Option<Ask> {
        let (changes, spans) = (mem::take(&mut self.changes), mem::take(&mut self.spans));
        (self.rows, self.bytes) = (0, 0);
        match self.mode {
            Mode::Fill if !changes.is_empty() => {
                let ScopeImport { scope, subject, since, revision, .. } = &self.import;
                let (scope, subject, since, revision) = (scope.clone(), *subject, *since, *revision);
                Some(Ask::Write(Write::Past(PastRows { scope, subject, since, revision, changes, spans })))
            }
            Mode::Compare => self.compare(changes),
            Mode::Ignore | Mode::Fill => None,
        }
    }

    /// Goes on when changes are written, or were not, as another import has written the history meanwhile.
    pub fn written(&mut self, changes: Vec<PastChange>, is_taken: bool) -> Option<Ask> {
        if !is_taken {
            self.mode = Mode::Compare;
        }
        self.compare(changes)
    }

    /// Compares the next changes with those here.
    fn compare(&mut self, changes: Vec<PastChange>) -> Option<Ask> {
        let (first, last) = (changes.first()?.revision, changes.last()?.revision);
        let from = self.from();
        // In [`Mode::Fill`] it was just written, so it is the same up to the imported revision.
        let here = if self.mode == Mode::Fill { self.import.revision - 1 } else { self.head.revision };
        let (after, is_known) = match self.same {
            Some((_, to)) if to + 1 == first => (to, true),
            Some(_) => return None,
            None if self.mode == Mode::Fill => (from - 1, true),
            // The first state that both have is compared as a whole.
            None if self.first.is_some() => (from, false),
            None => return None,
        };
        let through = last.min(here);
        // A base may have nothing.
        let is_there = |change: &PastChange| !change.set.is_empty() || !change.removed.is_empty();
        let given: Vec<PastChange> = changes
            .into_iter()
            .filter(|change| (after + 1..=through).contains(&change.revision) && is_there(change))
            .collect();
        let comparison = Comparison { given: given.into_iter(), after, through };
        if is_known {
            return self.begin_comparison(comparison);
        }
        self.comparison = Some(comparison);
        Some(Ask::ScopeAt(self.import.scope.clone(), from))
    }

    /// Goes on with where the scope here stands, and what it was: at the revision of the import, and then at the first one that both have.
    pub fn was(&mut self, head: ScopeHead, then: Option<&str>) -> Option<Ask> {
        let is_same = |state: &Pairs| then.is_some_and(|then| is_object(state, then));
        if let Some((state, comparison)) = self.first.take().zip(self.comparison.take()) {
            if is_same(&state) {
                return self.begin_comparison(comparison);
            }
            self.mode = Mode::Ignore;
            return None;
        }
        let revision = self.import.revision;
        (self.head, self.is_here) = (head, is_same(&self.import.state));
        self.mode = match self.is_here && head.imported == revision && head.floor == revision {
            _ if revision == 0 => Mode::Ignore,
            true => Mode::Fill,
            false => Mode::Compare,
        };
        None
    }

    fn begin_comparison(&mut self, comparison: Comparison) -> Option<Ask> {
        let from = self.same.map_or(self.from(), |(from, _)| from);
        self.same = Some((from, comparison.after));
        self.next_page(comparison, true)
    }

    fn next_page(&mut self, mut comparison: Comparison, more: bool) -> Option<Ask> {
        let Comparison { after, through, .. } = comparison;
        if more && after < through {
            self.comparison = Some(comparison);
            let (scope, max_rows, max_bytes) = (self.import.scope.clone(), CHUNK_ROWS, CHUNK_BYTES);
            return Some(Ask::Past(PastQuery { scope, after: Some(after), through, max_rows, max_bytes }));
        }
        if comparison.given.next().is_none() {
            self.same = self.same.map(|(from, to)| (from, to.max(through)));
        }
        None
    }

    /// Goes on with the next changes here.
    pub fn read(&mut self, page: &PastPage) -> Option<Ask> {
        let mut comparison = self.comparison.take()?;
        for found in &page.changes {
            if !comparison.given.next().is_some_and(|change| change.same(found)) {
                return None;
            }
            self.same = self.same.map(|(from, _)| (from, found.revision));
            comparison.after = found.revision;
        }
        self.next_page(comparison, page.more)
    }

    /// Ends it, once the last changes are settled.
    pub fn end(self) -> Ends {
        let revision = self.import.revision;
        let known = |range| Ends::Known(SameRange(range));
        if self.last.is_none() {
            return known(self.is_here.then_some((revision, revision)));
        }
        let same = self.same.filter(|_| self.mode != Mode::Ignore);
        if self.mode != Mode::Fill {
            // Nobody can read below a floor that stays.
            let stays = self.head.imported == 0 && self.head.floor >= self.base;
            return known(same.map(|(from, to)| (if stays { 1 } else { from }, to)));
        }
        // Rows below the imported revision may come from another file, whose import was interrupted.
        if same.is_none_or(|(_, to)| to + 1 < revision) {
            return known(Some((revision, revision)));
        }
        let older = self.state.now.into_iter().filter(|(_, held)| held.since < revision);
        let unchanged = older.map(|(key, held)| (key, held.value, held.since)).collect();
        let ScopeImport { scope, subject, since, .. } = self.import;
        Ends::Visible(PastEnd { scope, subject, since, revision, time: self.time, floor: self.base, unchanged })
    }
}
