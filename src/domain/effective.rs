//! The effective history: the events of which ADK's prompt assembly makes a prompt (contract, section 14).
//!
//! A compaction covers the events whose timestamps lie in its range. What is covered is left out, unless a function response
//! that is left needs its call. Rewinds come first: what they take back, the caller leaves out ([`hidden`]).
//!
//! A [`View`] says what a prefix of the log has left. It is a function of that prefix alone as long as its last event is not taken back,
//! so a store may keep it, and [`Advance`] takes it further over the events that came since. That looks at few others: at those
//! that are left, for a new compaction; and by their ids at calls and responses.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::json::{Json, Kind};
use super::time::Micros;

/// The events that readers skip, as ranges of sequences (first exclusive, last inclusive), the last range first. `rewinds` are
/// the sequences of the events that rewind, ascending, each with the sequence to which it goes back. As in ADK, a rewind that was
/// taken back itself takes nothing back.
pub fn hidden(rewinds: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut hidden: Vec<(i64, i64)> = Vec::new();
    for &(sequence, to) in rewinds.iter().rev() {
        if hidden.last().is_none_or(|(first, _)| sequence <= *first) {
            hidden.push((to, sequence));
        }
    }
    hidden
}

/// Whether an event is in the hidden ranges.
pub fn is_hidden(sequence: i64, hidden: &[(i64, i64)]) -> bool {
    hidden.iter().any(|&(after, last)| (after + 1..=last).contains(&sequence))
}

/// What the log has in place of the sequence to which an event rewinds, if it is a compaction.
pub const COMPACTION: i64 = -1;

/// The beginning of the year 10000 in Unix seconds. A later bound of a compaction is one in milliseconds, as Java's ADK writes them.
const YEAR_10000: f64 = 253_402_300_800.0;

/// What an event means to the effective history.
#[derive(Debug, Clone)]
pub struct Record {
    pub sequence: i64,
    /// Unix seconds, as ADK compares them.
    time: f64,
    place: Audience,
    /// The ids of its function calls, and of its function responses.
    calls: Vec<String>,
    responses: Vec<String>,
    range: Option<Range>,
}

/// Who reads an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Audience {
    scope: Option<String>,
    branch: Option<String>,
    /// Only agents of one node read it.
    node: bool,
}

/// What a compaction covers, in Unix seconds, bounds included.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    start: f64,
    end: f64,
}

/// The range of a compaction, from the `actions` of its event; `None` if the event is none.
fn range(actions: Json<'_>) -> Option<Range> {
    let compaction = actions.get("compaction")?;
    compaction.get("compactedContent").filter(|content| content.kind() == Kind::Object)?;
    let bound = |name| {
        let bound = compaction.get(name).filter(|bound| bound.kind() == Kind::Number)?.text().parse::<f64>().ok()?;
        Some(if bound >= YEAR_10000 { bound / 1000.0 } else { bound })
    };
    Some(Range { start: bound("startTimestamp")?, end: bound("endTimestamp")? })
}

/// Whether an event is a compaction, given its `actions`.
pub fn compacts(actions: Json<'_>) -> bool {
    range(actions).is_some()
}

impl Audience {
    /// Whether every reader of `event` reads a compaction that stands here.
    fn is_read_with(&self, event: &Self) -> bool {
        let is_above = |branch: &str| {
            let below = event.branch.as_deref().and_then(|theirs| theirs.strip_prefix(branch));
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        !self.node && self.scope == event.scope && self.branch.as_deref().is_none_or(is_above)
    }

    /// The ids of the calls for which such an event was written: its scope, and those that its branch names (`tool@ID`).
    fn names(&self) -> impl Iterator<Item = &str> {
        let segments = self.branch.as_deref().unwrap_or_default().split('.');
        let runs = segments.filter_map(|segment| Some(segment.rsplit_once('@')?.1));
        self.scope.as_deref().into_iter().chain(runs).filter(|id| !id.is_empty())
    }
}

/// What an event has to do with the call of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Call = 1,
    Response = 2,
    /// It was written for the call.
    Name = 4,
}

/// An id of a call in an event, as a store keeps it: a digest, what the event has to do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mention {
    pub id: i64,
    pub sequence: i64,
    /// The sum of its [`Role`]s.
    pub roles: i64,
}

/// 64 bits of a digest. Two ids of one session that shared one would cost a look at an event more; ids are compared whole.
fn digest(id: &str) -> i64 {
    i64::from_be_bytes(Sha256::digest(id).first_chunk().copied().unwrap_or_default())
}

impl Record {
    /// From the stored text of an event.
    pub fn of(sequence: i64, body: &str) -> Self {
        let body = Json::trusted(body);
        let text = |name| body.get(name).and_then(Json::as_str).map(String::from);
        let actions = body.get("actions");
        let time = body.get("timestamp").and_then(|time| time.text().parse().ok()).unwrap_or_default();
        let (mut calls, mut responses) = (Vec::new(), Vec::new());
        let parts = body.get("content").and_then(|content| content.get("parts"));
        for part in parts.and_then(Json::as_array).into_iter().flatten() {
            for (name, ids) in [("functionCall", &mut calls), ("functionResponse", &mut responses)] {
                let id = part.get(name).and_then(|part| part.get("id")).and_then(Json::as_str);
                ids.extend(id.filter(|id| !id.is_empty()).map(String::from));
            }
        }
        // ADK shows what a user says to a node to that node alone.
        let path = body.get("nodeInfo").and_then(|info| info.get("path")).and_then(Json::as_str);
        let is_of_user = body.get("author").and_then(Json::as_str).is_some_and(|author| author == "user");
        let node = is_of_user && responses.is_empty() && path.is_some_and(|path| !path.is_empty());
        let branch = text("branch").filter(|branch| !branch.is_empty());
        let place = Audience { scope: text("isolationScope"), branch, node };
        Self { sequence, time, place, calls, responses, range: actions.and_then(range) }
    }

    /// The ids of calls that it mentions, as a store keeps them.
    pub fn mentions(&self) -> Vec<Mention> {
        let mut roles: BTreeMap<i64, i64> = BTreeMap::new();
        let mut mention = |id: &str, role: Role| *roles.entry(digest(id)).or_default() |= role as i64;
        self.calls.iter().for_each(|id| mention(id, Role::Call));
        self.responses.iter().for_each(|id| mention(id, Role::Response));
        self.place.names().for_each(|id| mention(id, Role::Name));
        roles.into_iter().map(|(id, roles)| Mention { id, sequence: self.sequence, roles }).collect()
    }

    fn spoken(&self) -> impl Iterator<Item = &String> {
        self.calls.iter().chain(&self.responses)
    }

    /// Digests of the ids that it mentions.
    fn ids(&self) -> impl Iterator<Item = i64> {
        self.spoken().map(String::as_str).chain(self.place.names()).map(digest)
    }
}

/// A compaction that counts: none that takes its place is read by all its readers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(into = "StoredKept", from = "StoredKept")]
struct Kept {
    sequence: i64,
    range: Range,
    place: Audience,
    /// The last event that it covers, or whose place it takes.
    reach: i64,
}

impl Kept {
    fn covers(&self, event: &Record) -> bool {
        let Range { start, end } = self.range;
        (start..=end).contains(&event.time) && self.place.is_read_with(&event.place)
    }

    /// Whether this compaction takes the place of the other: its range has the other's within, and of two equal ones it is the later.
    fn replaces(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.range, other.range);
        let is_within = ours.start <= theirs.start && theirs.end <= ours.end;
        is_within && (ours != theirs || self.sequence > other.sequence) && self.place.is_read_with(&other.place)
    }
}

/// Sequences, as ascending ranges, bounds included, none of which touches the next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Runs(Vec<(i64, i64)>);

impl Runs {
    fn has(&self, sequence: i64) -> bool {
        let next = self.0.partition_point(|(first, _)| *first <= sequence);
        next.checked_sub(1).and_then(|at| self.0.get(at)).is_some_and(|(_, last)| sequence <= *last)
    }

    fn add(&mut self, ranges: impl IntoIterator<Item = (i64, i64)>) {
        let mut all = std::mem::take(&mut self.0);
        all.extend(ranges);
        all.sort_unstable();
        for (first, last) in all {
            match self.0.last_mut() {
                Some((_, end)) if first <= *end + 1 => *end = last.max(*end),
                _ => self.0.push((first, last)),
            }
        }
    }
}

/// What a [`Kept`] is stored as. Times are the bits of floats, which come back as they were.
type StoredKept = (i64, u64, u64, Audience, i64);

impl From<Kept> for StoredKept {
    fn from(Kept { sequence, range: Range { start, end }, place, reach }: Kept) -> Self {
        (sequence, start.to_bits(), end.to_bits(), place, reach)
    }
}

impl From<StoredKept> for Kept {
    fn from((sequence, start, end, place, reach): StoredKept) -> Self {
        let range = Range { start: f64::from_bits(start), end: f64::from_bits(end) };
        Self { sequence, range, place, reach }
    }
}

/// What is left of the log up to an event.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct View {
    /// That event's sequence, beside which the rest is stored.
    #[serde(skip)]
    pub through: i64,
    /// What compactions cover, and those whose place others take.
    covered: Runs,
    /// Covered events that stay, as a response that is left needs them.
    needed: BTreeSet<i64>,
    /// Which those are has to be decided anew.
    unsure: bool,
    kept: Vec<Kept>,
}

impl View {
    /// Of a log that begins after `base`.
    pub fn new(base: i64) -> Self {
        Self { through: base, ..Self::default() }
    }

    /// The same of a log that was trimmed; `None` if what is left was covered by what was trimmed.
    pub fn trimmed(mut self, base: i64) -> Option<Self> {
        if self.through <= base {
            return Some(Self::new(base));
        }
        if self.kept.iter().any(|kept| kept.sequence <= base && kept.reach > base) {
            return None;
        }
        self.kept.retain(|kept| kept.sequence > base);
        // What needed them may be gone.
        self.needed.retain(|sequence| *sequence > base);
        self.unsure |= !self.needed.is_empty();
        self.covered.0.retain(|(_, last)| *last > base);
        Some(self)
    }

    /// The ranges of sequences that are left, bounds included, ascending, after `base` and through `end`, without `hidden`, which are as
    /// [`hidden`] gives them.
    pub fn left(&self, base: i64, end: i64, hidden: &[(i64, i64)]) -> Vec<(i64, i64)> {
        let mut out = Runs::default();
        let covered = self.covered.0.iter().flat_map(|&(first, last)| {
            let mut from = first;
            let mut parts = Vec::new();
            for &stays in self.needed.range(first..=last) {
                parts.push((from, stays - 1));
                from = stays + 1;
            }
            parts.push((from, last));
            parts
        });
        let hidden = hidden.iter().map(|(after, last)| (after + 1, *last));
        out.add(covered.chain(hidden).filter(|(first, last)| first <= last));
        let mut left = Vec::new();
        let mut next = base + 1;
        for (first, last) in out.0 {
            if first > next {
                left.push((next, (first - 1).min(end)));
            }
            next = next.max(last + 1);
        }
        left.push((next, end));
        left.retain(|(first, last)| first <= last);
        left
    }

    /// The sequences of [`View::left`].
    pub fn events(&self, base: i64, end: i64, hidden: &[(i64, i64)]) -> impl Iterator<Item = i64> + use<> {
        self.left(base, end, hidden).into_iter().flat_map(|(first, last)| first..=last)
    }

    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// `None` if the text is not one that [`View::to_text`] wrote.
    pub fn from_text(through: i64, text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().map(|view| Self { through, ..view })
    }
}

/// What an [`Advance`] has to be given next.
#[derive(Debug)]
pub enum Step {
    /// The events that the view before had left, with timestamps from one time to another: [`Advance::records`].
    Left(Micros, Micros),
    /// The events of these sequences: [`Advance::records`].
    Events(Vec<i64>),
    /// Which events before mention these ids: [`Advance::mentions`].
    Mentions(Vec<i64>),
    Done,
}

/// A view on its way to a later event.
#[derive(Default)]
pub struct Advance<'a> {
    view: View,
    /// Where the log begins.
    base: i64,
    hidden: &'a [(i64, i64)],
    /// The events that count here.
    records: BTreeMap<i64, Record>,
    /// Of those, the ones that came since.
    news: Vec<i64>,
    /// The next step, before ids are followed.
    begin: Begin,
    /// Events that were written for the call of an id.
    named_by: HashMap<i64, Vec<i64>>,
    seen: HashSet<i64>,
    to_see: BTreeSet<i64>,
    to_load: Vec<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Begin {
    #[default]
    Left,
    Needed,
    Cover,
    Follow,
}

impl<'a> Advance<'a> {
    /// Over `news`, the events after the view that are not `hidden`, in the order of the log, up to `through`.
    pub fn new(mut view: View, base: i64, hidden: &'a [(i64, i64)], news: Vec<Record>, through: i64) -> Self {
        for event in &news {
            let Some(range) = event.range else { continue };
            let Record { sequence, place, .. } = event.clone();
            view.kept.push(Kept { sequence, range, place, reach: sequence });
            view.unsure = true;
        }
        view.through = through;
        Self {
            view,
            base,
            hidden,
            news: news.iter().map(|event| event.sequence).collect(),
            records: news.into_iter().map(|event| (event.sequence, event)).collect(),
            ..Self::default()
        }
    }

    /// What it has to be given next.
    pub fn step(&mut self) -> Step {
        if self.begin == Begin::Left {
            self.begin = Begin::Needed;
            let ours = |kept: &&Kept| self.news.binary_search(&kept.sequence).is_ok();
            let ranges = || self.view.kept.iter().filter(ours).map(|kept| kept.range);
            let from = ranges().map(|range| range.start).fold(f64::INFINITY, f64::min);
            let to = ranges().map(|range| range.end).fold(f64::NEG_INFINITY, f64::max);
            if from <= to {
                // Columns have whole microseconds, rounded down; casts saturate.
                let (from, to) = ((from * 1e6).floor() as i64, (to * 1e6).ceil() as i64);
                return Step::Left(Micros(from.saturating_sub(1)), Micros(to.saturating_add(1)));
            }
        }
        if self.begin == Begin::Needed {
            self.begin = Begin::Cover;
            let needed = self.view.needed.iter().copied().filter(|sequence| !self.records.contains_key(sequence));
            let needed: Vec<i64> = needed.filter(|_| self.view.unsure).collect();
            if !needed.is_empty() {
                return Step::Events(needed);
            }
        }
        if self.begin == Begin::Cover {
            self.begin = Begin::Follow;
            self.cover();
        }
        if !self.to_load.is_empty() {
            return Step::Events(std::mem::take(&mut self.to_load));
        }
        let ids: Vec<i64> = std::mem::take(&mut self.to_see).into_iter().filter(|id| self.seen.insert(*id)).collect();
        if ids.is_empty() { Step::Done } else { Step::Mentions(ids) }
    }

    /// The events that were asked for.
    pub fn records(&mut self, records: Vec<Record>) {
        for record in records {
            if self.begin == Begin::Follow {
                self.to_see.extend(record.ids());
            }
            self.records.insert(record.sequence, record);
        }
    }

    /// The mentions that were asked for.
    pub fn mentions(&mut self, mentions: Vec<Mention>) {
        for Mention { id, sequence, roles } in mentions {
            if sequence <= self.base || sequence > self.view.through || is_hidden(sequence, self.hidden) {
                continue;
            }
            if roles & Role::Name as i64 != 0 {
                self.named_by.entry(id).or_default().push(sequence);
            }
            if roles != Role::Name as i64 {
                match self.records.get(&sequence) {
                    Some(record) => self.to_see.extend(record.ids()),
                    None => self.to_load.push(sequence),
                }
            }
        }
        self.to_load.sort_unstable();
        self.to_load.dedup();
    }

    /// Decides which compactions count, and what they cover; what then has to be followed is `to_see`.
    fn cover(&mut self) {
        let View { kept, covered, needed, unsure, .. } = &mut self.view;
        let mut replaced = Vec::new();
        let all = std::mem::take(kept);
        let (new, old): (Vec<_>, Vec<_>) = all.iter().partition(|kept| self.news.binary_search(&kept.sequence).is_ok());
        // Two that counted before have been compared.
        for other in old.iter().chain(&new) {
            let is_new = self.news.binary_search(&other.sequence).is_ok();
            let mut rivals = new.iter().chain(old.iter().filter(|_| is_new));
            match rivals.any(|one| one.replaces(other)) {
                true => replaced.push((*other).clone()),
                false => kept.push((*other).clone()),
            }
        }
        for one in kept.iter_mut() {
            let gone = replaced.iter().filter(|other| one.replaces(other));
            one.reach = gone.map(|other| other.reach).fold(one.reach, i64::max);
        }
        covered.add(replaced.iter().map(|other| (other.sequence, other.sequence)));
        if kept.is_empty() {
            return;
        }
        let end = kept.iter().map(|kept| kept.range.end).fold(f64::NEG_INFINITY, f64::max);
        let mut fresh = Vec::new();
        for record in self.records.values().filter(|record| record.range.is_none() && record.time <= end) {
            let mut is_covered = false;
            for one in kept.iter_mut().filter(|one| one.covers(record)) {
                one.reach = one.reach.max(record.sequence);
                is_covered = true;
            }
            if is_covered && !covered.has(record.sequence) {
                fresh.push(record.sequence);
            }
        }
        covered.add(fresh.iter().map(|sequence| (*sequence, *sequence)));
        let changed = self.news.iter().chain(&fresh).chain(needed.iter().filter(|_| *unsure));
        for record in changed.filter_map(|sequence| self.records.get(sequence)) {
            self.to_see.extend(record.ids());
        }
    }

    /// The view of the last event.
    pub fn finish(self) -> View {
        let Self { mut view, records, named_by, .. } = self;
        let is_left = |sequence: i64| !view.covered.has(sequence);
        let (mut answered, mut named) = (HashSet::new(), HashSet::new());
        for record in records.values().filter(|record| is_left(record.sequence)) {
            answered.extend(record.responses.iter().map(String::as_str));
            named.extend(record.place.names());
        }
        let is_shown = |sequence: &i64| is_left(*sequence) || !view.unsure && view.needed.contains(sequence);
        let is_named = |id: &String| {
            let by = || named_by.get(&digest(id)).is_some_and(|by| by.iter().any(is_shown));
            named.contains(id.as_str()) || by()
        };
        let covered = || records.values().filter(|record| record.range.is_none() && !is_left(record.sequence));
        // Also of one that is left: some readers see more compactions than all do, and lose it by one of those.
        let counts = records.values().filter(|record| record.range.is_none() || is_left(record.sequence));
        let owners = counts.filter(|record| record.calls.iter().any(|id| answered.contains(id.as_str())));
        let together: HashSet<&str> = owners.flat_map(Record::spoken).map(String::as_str).collect();
        let mut needed: BTreeSet<i64> = BTreeSet::new();
        loop {
            // What stays names calls, too.
            let named: HashSet<&str> = needed
                .iter()
                .filter_map(|sequence| records.get(sequence))
                .flat_map(|record| record.place.names())
                .collect();
            let stays = |record: &&Record| {
                record.spoken().any(|id| together.contains(id.as_str()))
                    || record.calls.iter().any(|id| is_named(id) || named.contains(id.as_str()))
            };
            let more: BTreeSet<i64> = covered().filter(stays).map(|record| record.sequence).collect();
            if more == needed {
                break;
            }
            needed = more;
        }
        if std::mem::take(&mut view.unsure) {
            view.needed = needed;
        } else {
            view.needed.extend(needed);
        }
        view
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The rule, over a whole log: what of it is left.
    fn rule(log: &[Record], hidden: &[(i64, i64)]) -> Vec<i64> {
        let visible: Vec<&Record> = log.iter().filter(|event| !is_hidden(event.sequence, hidden)).collect();
        let all: Vec<Kept> = visible
            .iter()
            .filter_map(|event| {
                let Record { sequence, place, .. } = (*event).clone();
                Some(Kept { sequence, range: event.range?, place, reach: 0 })
            })
            .collect();
        let kept: Vec<&Kept> = all.iter().filter(|other| !all.iter().any(|one| one.replaces(other))).collect();
        let is_left = |event: &Record| match event.range {
            Some(_) => kept.iter().any(|kept| kept.sequence == event.sequence),
            None => !kept.iter().any(|kept| kept.covers(event)),
        };
        let (left, covered): (Vec<&Record>, Vec<&Record>) = visible.into_iter().partition(|event| is_left(event));
        let covered: Vec<&Record> = covered.into_iter().filter(|event| event.range.is_none()).collect();
        let has = |ids: &[String], id: &String| ids.contains(id);
        let owners: Vec<&&Record> = (covered.iter().chain(&left))
            .filter(|event| event.calls.iter().any(|id| left.iter().any(|other| has(&other.responses, id))))
            .collect();
        let mut staying: Vec<&Record> = Vec::new();
        loop {
            let names =
                |id: &String| left.iter().chain(&staying).any(|other| other.place.names().any(|name| name == id));
            let stays = |event: &&Record| {
                event.spoken().any(|id| owners.iter().any(|owner| owner.spoken().any(|other| other == id)))
                    || event.calls.iter().any(names)
            };
            let more: Vec<&Record> = covered.iter().copied().filter(stays).collect();
            if more.len() == staying.len() {
                break;
            }
            staying = more;
        }
        let mut out: Vec<i64> = left.iter().map(|event| event.sequence).collect();
        out.extend(staying.iter().map(|event| event.sequence));
        out.sort_unstable();
        out
    }

    /// The log so far, and what a store keeps of it.
    struct Store<'a> {
        log: &'a [Record],
        base: i64,
        views: BTreeMap<i64, String>,
        mentions: BTreeSet<Mention>,
    }

    impl Store<'_> {
        fn view(&self, end: i64, hidden: &[(i64, i64)]) -> View {
            let is_past = |view: i64| hidden.iter().any(|(after, last)| *after < view && view < *last);
            let kept = self.views.range(..=end).rev().find(|(sequence, _)| !is_past(**sequence));
            kept.map_or(View::new(0), |(sequence, text)| View::from_text(*sequence, text).unwrap())
        }

        fn advance(&self, view: View, end: i64, hidden: &[(i64, i64)]) -> View {
            let at = |sequence: i64| self.log[sequence as usize - 1].clone();
            let before = view.clone();
            let news = (view.through + 1..=end).filter(|n| !is_hidden(*n, hidden)).map(at).collect();
            let mut advance = Advance::new(view, self.base, hidden, news, end);
            loop {
                match advance.step() {
                    Step::Left(from, to) => {
                        let events = before.events(self.base, before.through, hidden).map(at);
                        let is_within = |event: &Record| (from.0..=to.0).contains(&((event.time * 1e6) as i64));
                        advance.records(events.filter(is_within).collect());
                    }
                    Step::Events(sequences) => advance.records(sequences.into_iter().map(at).collect()),
                    Step::Mentions(ids) => {
                        let found = self.mentions.iter().filter(|mention| ids.contains(&mention.id));
                        advance.mentions(found.copied().collect());
                    }
                    Step::Done => return advance.finish(),
                }
            }
        }
    }

    const SCOPES: [Option<&str>; 3] = [None, Some("s"), Some("c1")];
    const BRANCHES: [Option<&str>; 4] = [None, Some("a"), Some("a.b@c2"), Some("ab")];

    fn event() -> impl Strategy<Value = Record> {
        let ids = || prop::collection::vec((1..9).prop_map(|n| format!("c{n}")), 0..3);
        let place = (0..8usize, 0..8usize).prop_map(|(scope, branch)| Audience {
            scope: SCOPES.get(scope).copied().flatten().map(String::from),
            branch: BRANCHES.get(branch).copied().flatten().map(String::from),
            node: false,
        });
        let range = prop::option::weighted(0.25, (0..12i64, 0..12i64));
        (0..12i64, place, ids(), ids(), range).prop_map(|(time, place, calls, responses, range)| Record {
            sequence: 0,
            time: time as f64,
            place,
            calls,
            responses,
            range: range.map(|(start, end)| Range { start: start as f64, end: end as f64 }),
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// However a view came to be, it is what the rule says of the whole log.
        #[test]
        fn a_view_is_what_the_rule_says(
            events in prop::collection::vec((event(), prop::option::weighted(0.1, any::<prop::sample::Index>()), 0..4u8), 1..60)
        ) {
            let log: Vec<Record> =
                (1..).zip(&events).map(|(sequence, (event, ..))| Record { sequence, ..event.clone() }).collect();
            let mut rewinds = Vec::new();
            let mut store = Store { log: &log, base: 0, views: BTreeMap::new(), mentions: BTreeSet::new() };
            for (end, (_, rewind, act)) in (1..).zip(&events) {
                if let Some(to) = rewind {
                    rewinds.push((end, to.index(end as usize) as i64));
                }
                let hidden = hidden(&rewinds);
                let kept = store.view(end, &hidden);
                let view = store.advance(kept.clone(), end, &hidden);
                let left: Vec<i64> = view.events(0, end, &hidden).collect();
                prop_assert_eq!(&left, &rule(&log[..end as usize], &hidden), "after {} from {}", end, kept.through);
                if *act == 0 {
                    let news = log[kept.through as usize..end as usize].iter();
                    store.mentions.extend(
                        news.filter(|event| !is_hidden(event.sequence, &hidden)).flat_map(Record::mentions),
                    );
                    store.views.insert(end, view.to_text());
                }
            }
        }

        #[test]
        fn a_trimmed_view_is_that_of_the_rest(
            events in prop::collection::vec(event(), 1..30), at in any::<prop::sample::Index>()
        ) {
            let log: Vec<Record> = (1..).zip(events).map(|(sequence, event)| Record { sequence, ..event }).collect();
            let mentions = log.iter().flat_map(Record::mentions).collect();
            let store = Store { log: &log, base: 0, views: BTreeMap::new(), mentions };
            let end = log.len() as i64;
            let base = at.index(log.len()) as i64;
            if let Some(view) = store.advance(View::new(0), end, &[]).trimmed(base) {
                let view = View::from_text(end, &view.to_text()).unwrap();
                let view = Store { base, ..store }.advance(view, end, &[]);
                let left: Vec<i64> = view.events(base, end, &[]).collect();
                prop_assert_eq!(left, rule(&log[base as usize..], &[]));
            }
        }
    }

    #[test]
    fn what_was_taken_back_takes_nothing_back() {
        assert!(is_hidden(2, &[(5, 6), (1, 4)]) && !is_hidden(1, &[(1, 4)]) && is_hidden(4, &[(1, 4)]));
        assert_eq!(hidden(&[]), []);
        assert_eq!(hidden(&[(5, 2)]), [(2, 5)]);
        // The second takes the first back, and so events 3 and 4 are there again.
        assert_eq!(hidden(&[(5, 2), (7, 4)]), [(4, 7)]);
        assert_eq!(hidden(&[(5, 2), (9, 6)]), [(6, 9), (2, 5)]);
        assert_eq!(hidden(&[(5, 2), (9, 5)]), [(5, 9), (2, 5)]);
        // An unknown invocation: only the event itself.
        assert_eq!(hidden(&[(4, 3)]), [(3, 4)]);
    }

    fn read(body: &str) -> Record {
        Record::of(1, body)
    }

    #[test]
    fn an_event_is_read_as_adk_reads_it() {
        let event = read(
            r#"{"timestamp":1700000000.1234567,"branch":"a.tool@c3.b@","isolationScope":"c1","content":{"parts":[
               {"functionCall":{"id":"c1","name":"f"}},{"functionCall":{"name":"g"}},{"functionResponse":{"id":"c2"}},{"text":"x"}]}}"#,
        );
        assert_eq!(
            (event.time, &*event.calls, &*event.responses),
            (1_700_000_000.123_456_7, &["c1".into()][..], &["c2".into()][..])
        );
        assert_eq!(event.place.names().collect::<Vec<_>>(), ["c1", "c3"]);
        let roles: BTreeMap<i64, i64> = event.mentions().iter().map(|mention| (mention.id, mention.roles)).collect();
        assert_eq!(roles, BTreeMap::from([(digest("c1"), 5), (digest("c2"), 2), (digest("c3"), 4)]));

        let range = |bounds: &str| {
            let body = format!(r#"{{"timestamp":1,"actions":{{"compaction":{{{bounds}"compactedContent":{{}}}}}}}}"#);
            read(&body).range
        };
        assert_eq!(range(r#""startTimestamp":1.5,"endTimestamp":3,"#), Some(Range { start: 1.5, end: 3.0 }));
        let of_java = range(r#""startTimestamp":1700000000123,"endTimestamp":1700000001000,"#);
        assert_eq!(of_java, Some(Range { start: 1_700_000_000.123, end: 1_700_000_001.0 }));
        assert_eq!(range(r#""startTimestamp":1,"#), None);
        assert_eq!(range(r#""startTimestamp":"1","endTimestamp":2,"#), None);
        assert!(
            read(r#"{"timestamp":1,"actions":{"compaction":{"startTimestamp":1,"endTimestamp":2}}}"#).range.is_none()
        );
    }

    #[test]
    fn a_compaction_covers_what_all_its_readers_see() {
        let at = |scope: Option<&str>, branch: Option<&str>| Audience {
            scope: scope.map(String::from),
            branch: branch.map(String::from),
            node: false,
        };
        for (compaction, event, covers) in [
            (at(None, None), at(None, None), true),
            (at(None, None), at(None, Some("a.b")), true),
            (at(None, Some("a")), at(None, Some("a")), true),
            (at(None, Some("a")), at(None, Some("a.b")), true),
            (at(None, Some("a")), at(None, Some("ab")), false),
            (at(None, Some("a")), at(None, None), false),
            (at(None, Some("a.b")), at(None, Some("a")), false),
            (at(None, None), at(Some("s"), None), false),
            (at(Some("s"), None), at(None, None), false),
            (at(Some("s"), None), at(Some("s"), Some("a")), true),
            (Audience { node: true, ..at(None, None) }, at(None, None), false),
        ] {
            assert_eq!(compaction.is_read_with(&event), covers, "{compaction:?} {event:?}");
        }
    }
}
