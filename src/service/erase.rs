//! Erasures: all of a user goes at one commit, for every reader; the sweep removes the rows, and then there is a receipt.

use tokio::time::Instant;

use super::retry::{Repeat, Tried};
use super::{Error, Result, Service};
use crate::domain::erasure::{Erase, EraseOutcome, Erasure, ErasureDraft, LedgerLine, Subject, public_key};
use crate::domain::ids::UserKey;
use crate::store::error::{Cause, StoreError};

/// The names of the secrets of erasures in the database: the salt of subjects, and the seed of the key that signs receipts.
pub const SALT: &str = "salt";
const RECEIPTS: &str = "receipts";

impl Service {
    /// The user, without the name.
    ///
    /// # Errors
    /// Only [`Error::Store`].
    pub async fn subject(&self, user: &UserKey, deadline: Instant) -> Result<Subject> {
        let salt = self.salt.get_or_try_init(|| self.secret(SALT, deadline)).await?;
        Ok(Subject::of(salt, user))
    }

    async fn secret(&self, name: &'static str, deadline: Instant) -> Result<[u8; 32]> {
        let draw = self.clock.secret().ok_or_else(|| {
            Error::Store(StoreError::new(Cause::Internal, "the operating system gives no random numbers"))
        })?;
        self.read(deadline, || self.store.secret(name, draw, deadline)).await
    }

    /// Erases a user, be anything stored of the user or not; whether this is a retry, with the erasure.
    ///
    /// # Errors
    /// `ErasureConflict`.
    pub async fn erase(&self, user: UserKey, draft: ErasureDraft, deadline: Instant) -> Result<(bool, Erasure)> {
        let subject = self.subject(&user, deadline).await?;
        let erase = Erase { id: self.clock.fresh_id().to_string(), user, subject, draft, now: self.clock.now() };
        self.perform(&erase, deadline).await
    }

    /// Erases a user again whom a line of a ledger is of; `false` if the erasure is known here.
    ///
    /// # Errors
    /// `ErasureConflict`.
    pub async fn replay_erasure(&self, line: &LedgerLine, user: &UserKey, deadline: Instant) -> Result<bool> {
        let (was_known, _) = self.perform(&line.repeat(user.user.clone()), deadline).await?;
        Ok(!was_known)
    }

    async fn perform(&self, erase: &Erase, deadline: Instant) -> Result<(bool, Erasure)> {
        let Tried { value: outcome, unclear } =
            self.transact(Repeat::Safe, deadline, || self.store.erase(erase, deadline)).await?;
        match outcome {
            EraseOutcome::Begun(erasure) => {
                self.to_sweep.notify_one();
                Ok((false, erasure))
            }
            // Begun by an earlier try of this request, whose answer was lost.
            EraseOutcome::Found(erasure) => Ok((erasure.id != erase.id || !unclear, erasure)),
            EraseOutcome::Conflict => Err(self.refusal(Error::ErasureConflict, unclear)),
        }
    }

    /// # Errors
    /// `ErasureNotFound`.
    pub async fn erasure(&self, id: &str, deadline: Instant) -> Result<Erasure> {
        self.read(deadline, || self.store.erasure(id, deadline)).await?.ok_or(Error::ErasureNotFound)
    }

    /// Up to `limit` erasures before that id, the latest first.
    ///
    /// # Errors
    /// Only [`Error::Store`].
    pub async fn erasures(&self, before: Option<&str>, limit: usize, deadline: Instant) -> Result<Vec<Erasure>> {
        self.read(deadline, || self.store.erasures(before, limit, deadline)).await
    }

    /// The public key that receipts are verified with.
    ///
    /// # Errors
    /// Only [`Error::Store`].
    pub async fn receipt_key(&self, deadline: Instant) -> Result<Vec<u8>> {
        let seed = self.secret(RECEIPTS, deadline).await?;
        let odd = || Error::Store(StoreError::new(Cause::Internal, "the key of receipts is none"));
        public_key(&seed).ok_or_else(odd)
    }

    /// Finishes erasures of which all rows are gone.
    pub(super) async fn finish_erasures(&self, deadline: Instant) -> Result<()> {
        while let Some(mut erasure) = self.read(deadline, || self.store.unfinished_erasure(deadline)).await? {
            self.store.scrub(deadline).await?;
            let now = self.clock.now();
            erasure.done_time = Some(now);
            let seed = self.secret(RECEIPTS, deadline).await?;
            let odd = || Error::Store(StoreError::new(Cause::Internal, "a receipt cannot be signed"));
            let receipt = erasure.sign(&seed, self.database()).ok_or_else(odd)?;
            let finish = || self.store.finish_erasure(&erasure.id, &receipt, now, deadline);
            self.transact(Repeat::Safe, deadline, finish).await?;
            // The name was in the row until now.
            self.store.scrub(deadline).await?;
        }
        Ok(())
    }

    /// Removes all that is to be removed now. For commands, beside a server or without one.
    ///
    /// # Errors
    /// Only [`Error::Store`].
    pub async fn sweep_now(&self, deadline: Instant) -> Result<()> {
        while self.store.sweep(self.clock.now(), false, deadline).await? {}
        self.finish_erasures(deadline).await
    }
}
