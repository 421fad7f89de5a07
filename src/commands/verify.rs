//! `sessiond verify`: compares all stored state with its history.

use std::fmt;

use crate::domain::ids::segment;
use crate::domain::verify::Findings;
use crate::store::error::StoreError;
use crate::store::inspect::{BELONGINGS, Incarnation, Inspector, Place, ScopeName, SessionName};

/// How much was checked, and how much of it differs.
#[derive(Debug, Default)]
pub struct Summary {
    sessions: u64,
    events: u64,
    scopes: u64,
    keys: u64,
    pub differences: u64,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sessions, events, scopes, keys, differences } = self;
        write!(
            f,
            "verified sessions={sessions} events={events} scopes={scopes} shared_keys={keys} differences={differences}"
        )
    }
}

/// Checks all sessions and all shared scopes, and that there are no orphans. Calls `report` with each line as it is
/// found, never while a transaction is open. Data that is added or removed meanwhile may or may not be checked.
///
/// # Errors
/// The database fails. Reported differences remain valid.
pub async fn run(database: &Inspector, report: &mut (dyn FnMut(&str) + Send)) -> Result<Summary, StoreError> {
    let mut summary = Summary::default();
    let mut page = database.sessions(&SessionName::default()).await?;
    while let Some(last) = page.last() {
        for name in &page {
            if let Some(checked) = database.check_session(name).await? {
                summary.sessions += 1;
                summary.events += checked.events;
                summary.tell(report, &session(name), &checked.findings);
            }
        }
        page = database.sessions(last).await?;
    }
    for first in [Some(String::new()), None] {
        let mut scope = ScopeName { app: String::new(), user: first };
        while let Some(next) = database.next_scope(&scope).await? {
            let checked = database.check_scope(&next).await?;
            summary.scopes += 1;
            summary.keys += checked.keys;
            let subject = match &next.user {
                Some(user) => format!("user {}/{}", segment(&next.app), segment(user)),
                None => format!("app {}", segment(&next.app)),
            };
            summary.tell(report, &subject, &checked.findings);
            scope = next;
        }
    }
    for (table, what) in BELONGINGS {
        let first = Incarnation { number: i64::MIN, ..Incarnation::default() };
        let mut page = database.incarnations(table, &first).await?;
        while let Some(last) = page.last() {
            for Incarnation { name, number, .. } in page.iter().filter(|incarnation| !incarnation.known) {
                summary.differences += 1;
                report(&format!("{}: {what} of incarnation {number}, which is not there", session(name)));
            }
            page = database.incarnations(table, last).await?;
        }
    }
    let mut page = database.places(&Place { bucket: i64::MIN, ..Place::default() }).await?;
    while let Some(last) = page.last() {
        for Place { name, .. } in page.iter().filter(|place| !place.right) {
            summary.differences += 1;
            report(&format!("{}: the list by last update has it at a time that is not its own", session(name)));
        }
        page = database.places(last).await?;
    }
    Ok(summary)
}

impl Summary {
    fn tell(&mut self, report: &mut (dyn FnMut(&str) + Send), subject: &str, findings: &Findings) {
        self.differences += findings.count;
        for line in &findings.lines {
            report(&format!("{subject}: {line}"));
        }
        let told = findings.lines.len() as u64;
        if told < findings.count {
            report(&format!("{subject}: {} more differences", findings.count - told));
        }
    }
}

fn session(SessionName { app, user, session }: &SessionName) -> String {
    format!("session {}/{}/{}", segment(app), segment(user), segment(session))
}
