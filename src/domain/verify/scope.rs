//! A shared scope: its state and its spans follow from its log.

use std::collections::BTreeMap;

use super::findings::Findings;
use super::{Span, compare_spans, more_spans};
use crate::domain::history::node;

/// A row of a shared scope's log, with the state at its key.
#[derive(Debug, Clone)]
pub struct LogRow {
    pub key: String,
    pub revision: i64,
    pub removed: bool,
    /// The revision of the key's row of state, if there is one, and whether it has the log's value.
    pub state: Option<(i64, bool)>,
}

/// Compares a shared scope's state and spans with its log.
#[derive(Debug, Default)]
pub struct ScopeCheck {
    findings: Findings,
    /// `None` if it is not known.
    revision: Option<i64>,
    floor: i64,
    /// The history before this revision is incomplete: an import is still writing it, or was interrupted.
    imported: i64,
    last: Option<LogRow>,
    /// The revisions in the log, one bit each, 64 to an entry.
    logged: BTreeMap<i64, u64>,
    spans: Vec<Span>,
    found_spans: i64,
    keys: u64,
}

impl ScopeCheck {
    /// `revision` is that of the scope's row, if there is one. The log may lack rows before `floor`, and may be incomplete before
    /// `imported`.
    pub fn new(revision: Option<i64>, floor: i64, imported: i64) -> Self {
        let mut findings = Findings::default();
        if revision.is_none() {
            findings.note(|| "its row of the scope's revision is missing".to_owned());
        }
        Self { findings, revision, floor, imported, ..Self::default() }
    }

    /// The next row of the log, in order of key and revision.
    pub fn log(&mut self, row: LogRow) {
        let n = row.revision;
        match self.revision {
            Some(revision) if n < 1 || n > revision => self
                .findings
                .note(|| format!("key {:?}: the log has revision {n}, not one of 1 to {revision}", row.key)),
            Some(_) if n > self.floor => *self.logged.entry(n / 64).or_default() |= 1 << (n % 64),
            _ => {}
        }
        match self.last.take() {
            Some(last) if last.key == row.key => {
                if !last.removed && n > self.floor {
                    let (from, to) = (last.revision, n);
                    let span =
                        Span { node: node(from, to), key: last.key.into(), from, to, removed: false, value: None };
                    self.spans.push(span);
                }
            }
            last => self.conclude(last),
        }
        self.last = Some(row);
    }

    /// The last row of a key must agree with the state.
    fn conclude(&mut self, last: Option<LogRow>) {
        let Some(LogRow { key, revision, removed, state }) = last else { return };
        self.keys += u64::from(!removed);
        let fault = match state {
            None if removed || revision < self.imported => return,
            None => format!("the state lacks it, and the log has it at revision {revision}"),
            Some(_) if removed => format!("it is in the state, and the log says that revision {revision} removed it"),
            Some((at, _)) if at != revision => format!("the state has revision {at}, the log {revision}"),
            Some((_, false)) => format!("the state has not the value that the log has at revision {revision}"),
            Some((_, true)) => return,
        };
        self.findings.note(|| format!("key {key:?}: {fault}"));
    }

    /// Spans to be looked up; answered with [`Self::found`]. Call it after each page of the log.
    pub fn wanted(&mut self) -> Vec<Span> {
        std::mem::take(&mut self.spans)
    }

    /// The rows found by the nodes and keys of the wanted ones, in any order.
    pub fn found(&mut self, wanted: &[Span], found: &[Span]) {
        self.found_spans += compare_spans(&mut self.findings, wanted, found);
    }

    /// After the last row of the log.
    pub fn end_of_log(&mut self) {
        let last = self.last.take();
        self.conclude(last);
        let revision = self.revision.unwrap_or(0).max(0);
        let present: u64 = self.logged.values().map(|bits| u64::from(bits.count_ones())).sum();
        let floor = self.floor.clamp(0, revision);
        let absent = (revision - floor).unsigned_abs().saturating_sub(present);
        if absent > 0 {
            let first = (floor + 1..=revision).find(|n| !self.has_logged(*n)).unwrap_or_default();
            self.findings.note(|| format!("revisions that are not in the log: {absent}, the first of them {first}"));
        }
    }

    fn has_logged(&self, revision: i64) -> bool {
        self.logged.get(&(revision / 64)).is_some_and(|bits| bits >> (revision % 64) & 1 == 1)
    }

    /// A key of the state without any row in the log.
    pub fn unlogged(&mut self, key: &str) {
        self.findings.note(|| format!("key {key:?}: it is in the state, and not in the log"));
    }

    /// After the last answer; `spans` is the number of the scope's spans.
    pub fn finish(mut self, spans: i64) -> (Findings, u64) {
        more_spans(&mut self.findings, spans - self.found_spans);
        (self.findings, self.keys)
    }
}
