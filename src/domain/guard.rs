//! The conditions of a write of a session.

use super::lease::{LeaseHead, LeaseMark};
use super::refusal::{Mismatch, Refusal};
use super::tag::{IfMatch, Tag};
use super::time::Micros;

#[derive(Debug, Clone, Default)]
pub struct Guard {
    /// The lease that the write names.
    pub lease: Option<LeaseMark>,
    pub if_match: Option<IfMatch>,
}

impl Guard {
    /// Checks a write of a session with this lease and tag.
    ///
    /// # Errors
    /// `Lease`, `RevisionMismatch`.
    pub fn judge(&self, lease: &LeaseHead, tag: &Tag, now: Micros) -> Result<(), Refusal> {
        lease.judge(tag.mark(), self.lease.as_ref(), now)?;
        match &self.if_match {
            Some(if_match) if !if_match.holds(tag) => Err(Mismatch::of_session(tag, Vec::new()).into()),
            _ => Ok(()),
        }
    }
}
