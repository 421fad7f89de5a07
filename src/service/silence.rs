//! What readers of the change feed asked for in vain.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::domain::feed::{FeedBegin, FeedQuery, Quiet};

/// How many readers' silence is remembered. One that is forgotten costs a search.
const SILENT: usize = 8192;

/// How far what a reader asks for was searched in vain: its position does not move, and it need not be searched from there again.
#[derive(Default)]
pub struct Silence(Mutex<HashMap<String, Quiet>>);

impl Silence {
    pub fn of(&self, query: &FeedQuery) -> Option<Quiet> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&query.looks_for()).copied()
    }

    pub fn note(&self, query: &FeedQuery, quiet: Quiet) {
        let behind = FeedQuery { begin: FeedBegin::Behind(quiet.position), ..query.clone() };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= SILENT {
            all.clear();
        }
        all.extend([query.looks_for(), behind.looks_for()].map(|query| (query, quiet)));
    }
}
