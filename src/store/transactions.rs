//! The transactions, written once over [`Tx`](super::backend::Tx), in the file of their resource.
//!
//! Locks are taken in one order everywhere: sessions, then users, then apps, rows of one kind in key order. What
//! everybody shares is locked last and so held the shortest, and no two transactions can wait for each other.

use std::sync::Arc;

use super::backend::Backend;
use super::error::Decided;
use super::run::Runner;
use super::run::remembered::Remembered;
use super::run::together::appends::{Appends, Batching};
use super::run::together::calls::Calls;
use tokio::sync::OnceCell;

use crate::domain::artifact::{BlobBegin, Save, Saved};
use crate::domain::command::Made;
use crate::domain::query::{SessionQuery, SessionView};
use crate::domain::session::Creation;

/// What a creation in a group comes to: it was made, or refused, or `None`: it is to be tried alone.
pub type Creating = Decided<Option<(Made, SessionView)>>;

/// What a save in a group comes to, likewise.
pub type Saving = Decided<Option<Saved>>;

/// What the note of a blob in a group comes to, likewise.
pub type Beginning = Decided<Option<()>>;

/// Every [`Backend`] is a [`Store`](super::Store).
pub struct Transactions<B> {
    pub runner: Arc<Runner<B>>,
    pub remembered: Arc<Remembered>,
    pub appends: Appends,
    pub reads: Arc<Calls<SessionQuery, Option<SessionView>>>,
    pub creations: Arc<Calls<Arc<Creation>, Creating>>,
    pub saves: Arc<Calls<Arc<Save>, Saving>>,
    pub begins: Arc<Calls<BlobBegin, Beginning>>,
    /// See [`erasure_salt`](super::erasures::Reads::erasure_salt).
    pub salt: OnceCell<[u8; 32]>,
}

impl<B: Backend> Transactions<B> {
    /// `appends`: what appends a batch, over these.
    pub fn new(backend: B, appends: impl FnOnce(Batching, Arc<Runner<B>>, Arc<Remembered>) -> Appends) -> Self {
        let one_app = backend.shape().batches_by_app();
        let batching = Batching { one_app, writers: backend.writers() };
        let (runner, remembered) = (Arc::new(Runner::new(backend)), Arc::new(Remembered::default()));
        let appends = appends(batching, runner.clone(), remembered.clone());
        let reads = Calls::new(one_app.then_some(|query: &SessionQuery| query.key.app()));
        let creations = Calls::new(one_app.then_some(|creation: &Arc<Creation>| creation.key.app()));
        // Everywhere of one app, as their statements name it once.
        let saves = Calls::new(Some(|save: &Arc<Save>| save.place.app()));
        let begins = Calls::new(Some(|begin: &BlobBegin| begin.place.app()));
        Self { runner, remembered, appends, reads, creations, saves, begins, salt: OnceCell::new() }
    }
}
