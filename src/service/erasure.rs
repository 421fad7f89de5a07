//! Erasures: create, read, finish with a receipt, and replay on a restored database.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::receipts::{PublicKey, Signer};
use super::retry::{Repeat, Tried};
use super::{Error, Made, Reader, Result, Service, StoreResult};
use crate::domain::access::{Grant, Names};
use crate::domain::erasure::{
    Erasing, Erasure, ErasureDraft, Subject, instance, request_digest, request_digest_of_user,
};
use crate::domain::ids::{AppName, UserId, UserKey};
use crate::domain::receipt::{self, Left};
use crate::domain::refusal::Refusal;
use crate::store::backend::Scrubbed;
use crate::store::error::Failure;

/// How many rows one read takes.
const ROWS: usize = 1000;

/// After which a reader that is still in the way is none of this process.
const SETTLES: Duration = Duration::from_secs(1);

/// The result of the replay of a ledger.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Replayed {
    /// Erasures that were new to the database.
    pub noted: u64,
    /// How many of these users had data again.
    pub erased: u64,
}

/// Which erasures a grant covers. An erasure does not name its user, so only exact names can find it; a prefix finds none.
struct Within<'a> {
    grant: &'a Grant,
    salt: &'a [u8; 32],
    subjects: HashMap<AppName, HashSet<Subject>>,
}

impl<'a> Within<'a> {
    fn new(grant: &'a Grant, salt: &'a [u8; 32]) -> Self {
        Self { grant, salt, subjects: HashMap::new() }
    }

    fn has(&mut self, erasure: &Erasure) -> bool {
        let Grant { apps, users, .. } = self.grant;
        if !apps.allows(erasure.app.as_str()) || users.is_all() {
            return apps.allows(erasure.app.as_str());
        }
        let subjects = self.subjects.entry(erasure.app.clone()).or_insert_with(|| {
            let users = users.exact().filter_map(|user| UserId::parse(user).ok());
            users.map(|user| Subject::of(self.salt, &UserKey { app: erasure.app.clone(), user })).collect()
        });
        subjects.contains(&erasure.subject)
    }
}

impl Reader {
    /// An erasure within this grant.
    ///
    /// # Errors
    /// `ErasureNotFound`.
    pub async fn erasure(&self, id: &str, grant: &Grant, deadline: Instant) -> Result<Erasure> {
        let found = self.read(deadline, || self.reads.erasure(id, deadline)).await?;
        let salt = self.read(deadline, || self.reads.erasure_salt(deadline)).await?;
        found.filter(|erasure| Within::new(grant, &salt).has(erasure)).ok_or(Error::ErasureNotFound)
    }

    /// A page of erasures within this grant, the oldest first, and whether there are more.
    pub async fn erasures(
        &self,
        after: &str,
        rows: usize,
        grant: &Grant,
        deadline: Instant,
    ) -> Result<(Vec<Erasure>, bool)> {
        let salt = self.read(deadline, || self.reads.erasure_salt(deadline)).await?;
        let mut within = Within::new(grant, &salt);
        let mut page = Vec::new();
        let mut after = after.to_owned();
        loop {
            let found = self.read(deadline, || self.reads.erasures(&after, ROWS, deadline)).await?;
            let is_last = found.len() < ROWS;
            let last = found.last().map(|erasure| erasure.id.clone());
            page.extend(found.into_iter().filter(|erasure| within.has(erasure)));
            if page.len() > rows {
                page.truncate(rows);
                return Ok((page, true));
            }
            match last {
                Some(last) if !is_last => after = last,
                _ => return Ok((page, false)),
            }
        }
    }
}

impl Service {
    /// The hash that replaces a user's name.
    pub async fn subject(&self, user: &UserKey, deadline: Instant) -> Result<Subject> {
        Ok(Subject::of(&self.store.erasure_salt(deadline).await?, user))
    }

    /// Erases a user, or returns the erasure that an earlier request with the same id made; `true` in that case.
    ///
    /// # Errors
    /// `ErasureConflict`: the id was used for another user, whom this grant may see.
    pub async fn erase(
        &self,
        user: UserKey,
        draft: ErasureDraft,
        grant: &Grant,
        deadline: Instant,
    ) -> Result<(bool, Erasure)> {
        let salt = self.read(deadline, || self.store.erasure_salt(deadline)).await?;
        let mut of_user = draft.request_id.as_ref().map(|id| request_digest_of_user(&salt, &user, id));
        let mut erasing = Erasing {
            id: self.clock.fresh_id().to_string(),
            app: user.app.clone(),
            subject: Subject::of(&salt, &user),
            request: draft.request_id.map(|id| request_digest(&salt, &user.app, &id)),
            user: Some(user),
            reference: draft.reference,
            block: draft.block,
            time: self.read(deadline, || Box::pin(self.time(deadline))).await?,
        };
        loop {
            let Tried { value: outcome, unclear } =
                self.attempt(Repeat::Safe, deadline, |_| self.store.erase(&erasing, deadline)).await?;
            self.to_sweep.notify_one();
            return match outcome {
                Ok((made, erasure)) => Ok((made == Made::Before, erasure)),
                // Nothing was written. A conflict would reveal the other user, so for this grant each user has its own ids.
                Err(Refusal::ErasureConflict(other)) if of_user.is_some() && !Within::new(grant, &salt).has(&other) => {
                    erasing.request = of_user.take();
                    continue;
                }
                Err(refusal) => Err(self.refusal(refusal, unclear)),
            };
        }
    }

    /// The keys that verify the receipts of this database.
    pub async fn receipt_key(&self, deadline: Instant) -> Result<PublicKey> {
        Ok(self.signer(deadline).await?.public())
    }

    async fn signer(&self, deadline: Instant) -> StoreResult<&Signer> {
        let stored = async || Signer::stored(&self.store.receipt_key(&Signer::draw()?, deadline).await?);
        self.signer.get_or_try_init(stored).await
    }

    /// Signs the receipts of erasures whose rows are all removed; `false` if some wait for a reader of the file.
    pub(super) async fn finish_erasures(&self, deadline: Instant) -> StoreResult<bool> {
        /// How often in a row this process's own reads may be in the way, which end within seconds.
        const OWN: usize = 6;
        loop {
            let gone = self.store.erasures_to_finish(ROWS, deadline).await?;
            if gone.is_empty() {
                self.erasures_wait(0);
                return Ok(true);
            }
            let mut scrubbed = self.store.scrub(deadline).await?;
            if scrubbed == Scrubbed::Busy {
                // A read that was given up may not have ended yet.
                sleep(SETTLES).await;
                scrubbed = self.store.scrub(deadline.max(Instant::now() + SETTLES)).await?;
            }
            let left = match scrubbed {
                Scrubbed::Clean => None,
                Scrubbed::Slack => Some(Left::Slack),
                Scrubbed::Foreign => Some(Left::Foreign),
                Scrubbed::Occupied if self.occupied.fetch_add(1, Ordering::Relaxed) < OWN => return Ok(false),
                Scrubbed::Busy | Scrubbed::Occupied => {
                    self.erasures_wait(gone.len());
                    return Ok(false);
                }
            };
            self.occupied.store(0, Ordering::Relaxed);
            self.erasures_wait(0);
            let (signer, salt) = (self.signer(deadline).await?, self.store.erasure_salt(deadline).await?);
            let (instance, key_id) = (instance(&salt), signer.public().id());
            for erasure in &gone {
                let done = self.time(deadline).await?;
                let statement = receipt::statement(erasure, done, left, &instance, &key_id);
                self.store.finish_erasure(erasure, done, &signer.sign(&statement), deadline).await?;
            }
        }
    }

    /// Logs how many erasures wait for a reader of the SQLite file, which keeps removed pages in the WAL.
    fn erasures_wait(&self, count: usize) {
        self.metrics.erasures_wait(count);
        let waits = count > 0;
        match (self.erasures_wait.swap(waits, Ordering::Relaxed), waits) {
            (false, true) => tracing::warn!(
                erasures = count,
                "erasures wait for a reader of the database file, which holds its log (-wal): end that reader"
            ),
            (true, false) => tracing::info!("no erasure waits for a reader of the database file any more"),
            _ => {}
        }
    }

    /// Why an erasure may still be running although its rows are removed.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn why_it_waits(&self, erasure: &Erasure, deadline: Instant) -> Result<Option<&'static str>> {
        if erasure.done_time.is_some() {
            return Ok(None);
        }
        if self.read(deadline, || self.store.waits_for_files(&erasure.app, &erasure.id, deadline)).await? {
            return Ok(Some(
                "an artifact store does not remove files of the user, and is asked again every few minutes: the log says why",
            ));
        }
        let waits = self.erasures_wait.load(Ordering::Relaxed);
        Ok(waits.then_some("a reader of the database file, such as a replicator or an open sqlite3, holds its log (-wal), where removed rows are still: end that reader"))
    }

    /// Identifies this database among others, also after a restore.
    pub async fn instance(&self, deadline: Instant) -> Result<String> {
        Ok(instance(&self.store.erasure_salt(deadline).await?))
    }

    /// Repeats, in order, the erasures that this database does not have, and so removes all data of these users. `limit` is the
    /// time for each transaction.
    ///
    /// # Errors
    /// [`Error::Store`]; the erasures that were repeated before it stay.
    pub async fn replay(&self, ledger: &[Erasing], limit: Duration) -> Result<Replayed> {
        let deadline = || Instant::now() + limit;
        let mut replayed = Replayed::default();
        let mut users: HashMap<AppName, HashMap<Subject, UserKey>> = HashMap::new();
        for entry in ledger {
            if self.store.erasure(&entry.id, deadline()).await?.is_some() {
                continue;
            }
            if !users.contains_key(&entry.app) {
                users.insert(entry.app.clone(), self.users_by_subject(&entry.app, limit).await?);
            }
            let user = users.get(&entry.app).and_then(|users| users.get(&entry.subject)).cloned();
            let erasing = Erasing { user, ..entry.clone() };
            let erased = match self.store.erase(&erasing, deadline()).await {
                Ok((made, _)) => made == Made::New,
                Err(Failure::Refused(_)) => false,
                Err(Failure::Store(error)) => return Err(error.into()),
            };
            if erased {
                replayed.noted += 1;
                replayed.erased += u64::from(erasing.user.is_some());
            }
        }
        while self.store.sweep(self.clock.now(), false, deadline()).await? {}
        self.sweep_blobs(limit).await?;
        self.finish_erasures(deadline()).await?;
        Ok(replayed)
    }

    async fn users_by_subject(&self, app: &AppName, limit: Duration) -> Result<HashMap<Subject, UserKey>> {
        let mut found = HashMap::new();
        let mut after = String::new();
        loop {
            let deadline = Instant::now() + limit;
            let salt = self.store.erasure_salt(deadline).await?;
            let users = self.store.users(app, &after, ROWS, &Names::all(), deadline).await?;
            let Some(last) = users.last() else { return Ok(found) };
            after = last.to_string();
            for user in users {
                let key = UserKey { app: app.clone(), user };
                found.insert(Subject::of(&salt, &key), key);
            }
        }
    }
}
