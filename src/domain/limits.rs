//! How much a request may carry.

use super::fault::Rejected;
use super::writer::Writer;

/// Limits on what a request carries. The defaults are those of the settings.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Who writes.
    pub writer: Writer,
    /// Bytes of one event as given.
    pub event_bytes: usize,
    /// Bytes of one state value.
    pub value_bytes: usize,
    /// Events in one request.
    pub batch_events: usize,
    /// State keys that one request names: in deltas, operators and preconditions together, or in a read.
    pub state_keys: usize,
    /// Rows of one page.
    pub page_rows: usize,
    /// Bytes of one page, unless its first row is larger, and of a rendered template.
    pub page_bytes: usize,
    /// Bytes of one artifact.
    pub artifact_bytes: u64,
}

impl Limits {
    /// No limits on input, for events that the server composes from stored state.
    pub fn unbounded_input() -> Self {
        let most = usize::MAX;
        Self { event_bytes: most, value_bytes: most, batch_events: most, state_keys: most, ..Self::default() }
    }

    /// # Errors
    /// An artifact may not have so many bytes.
    pub fn check_artifact(&self, bytes: u64) -> Result<(), Rejected> {
        if bytes <= self.artifact_bytes {
            return Ok(());
        }
        Err(Rejected::too_large("artifact", format!("the artifact is larger than {} bytes", self.artifact_bytes)))
    }

    /// # Errors
    /// The request names too many state keys.
    pub fn check_keys(&self, keys: usize) -> Result<(), Rejected> {
        if keys <= self.state_keys {
            return Ok(());
        }
        Err(Rejected::too_large("state_keys", format!("more than {} state keys in one request", self.state_keys)))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            writer: Writer::Anyone,
            event_bytes: 4 << 20,
            value_bytes: 4 << 20,
            batch_events: 1000,
            state_keys: 10_000,
            page_rows: 1000,
            page_bytes: 8 << 20,
            artifact_bytes: 64 << 20,
        }
    }
}
