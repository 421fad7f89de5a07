//! Imports: the lines of an export become sessions again, each whole or not at all. The rules are those of
//! [`ImportMachine`]; here is done what it asks for. [`Import::memory`] says how much memory it takes.

mod asked;

use std::sync::Arc;
use std::time::Duration;

use super::{Result, Service, Upload};
use crate::domain::access::Grant;
use crate::domain::ids::UserKey;
use crate::domain::transfer::{ImportMachine, ImportOptions, Imported, Totals, Unread};

/// A running import: takes lines with [`Import::line`], and ends with [`Import::finish`]. If it is dropped before that, no part
/// of an unfinished session is visible.
pub struct Import {
    service: Arc<Service>,
    machine: ImportMachine,
    patience: Duration,
    /// The bytes that are being stored.
    upload: Option<Upload>,
}

impl Service {
    /// Begins an import. `patience` is the time limit of each write.
    pub fn import(self: &Arc<Self>, options: ImportOptions, grant: Grant, patience: Duration) -> Import {
        let machine = ImportMachine::new(options, grant, self.limits);
        Import { service: self.clone(), machine, patience, upload: None }
    }
}

impl Import {
    /// The grant for the lines from here on.
    pub fn set_grant(&mut self, grant: &Grant) {
        self.machine.set_grant(grant);
    }

    /// What is created so far.
    pub fn created(&self) -> Totals {
        self.machine.created()
    }

    /// The user for whom something was stored since the last call, and its cost.
    pub fn take_stored(&mut self) -> Option<(UserKey, u32)> {
        self.machine.take_stored()
    }

    /// The approximate memory that it takes between two lines, in bytes.
    pub fn memory(&self) -> usize {
        self.machine.memory() + self.upload.as_ref().map_or(0, Upload::held)
    }

    /// Whether the last line of the export was read: otherwise lines are missing at its end.
    pub fn is_whole(&self) -> bool {
        self.machine.is_whole()
    }

    /// Takes a line without its line feed; returns the result of a session that it ends. A carriage return at its end and a byte
    /// order mark are ignored.
    ///
    /// # Errors
    /// [`Error::Store`](super::Error::Store). The import cannot go on; another one may begin.
    pub async fn line(&mut self, line: &[u8]) -> Result<Vec<Imported>> {
        self.machine.line(line, self.service.clock.now());
        self.results().await
    }

    /// Notes a line that was skipped unread.
    pub async fn unread(&mut self, why: Unread) -> Result<Vec<Imported>> {
        self.machine.unread(why);
        self.results().await
    }

    /// Ends the import; returns the results of a session and of an artifact that were cut off.
    pub async fn finish(&mut self) -> Result<Vec<Imported>> {
        self.machine.finish(self.service.clock.now());
        self.results().await
    }

    async fn results(&mut self) -> Result<Vec<Imported>> {
        while let Some(ask) = self.machine.ask() {
            self.asked(ask).await?;
        }
        Ok(self.machine.results())
    }
}
