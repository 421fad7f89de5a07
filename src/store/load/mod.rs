//! Loads what a decision needs.

pub mod absent;

use std::collections::{BTreeSet, HashMap};

use crate::domain::ids::{ScopeRef, SessionKey, StateAddress};
use crate::domain::loaded::{KeyNeeds, Loaded, Needs, SessionHead, StateEntry};
use crate::store::backend::{OnLocked, Tx};
use crate::store::error::Result;
use crate::store::load::absent::{first_of_invocation, removed_since};

/// Loads what a decision needs, under lock and in lock order. What is read without a lock is read after the session
/// is locked, so that the revisions that the events of one session saw never go backwards.
pub async fn load<X: Tx>(tx: &mut X, needs: &Needs<'_>, on_locked: OnLocked) -> Result<Loaded> {
    let mut heads = if tx.shape().is_shared() {
        let locked = tx.lock_sessions(&needs.sessions, on_locked).await?;
        let locked: BTreeSet<&SessionKey> = locked.iter().map(|row| &row.key).collect();
        // Sessions that are not there need nothing else.
        let there: BTreeSet<ScopeRef<'_>> = locked.iter().flat_map(|key| key.scopes()).collect();
        let scopes: Vec<_> = needs.fixed_scopes().filter(|scope| there.contains(scope)).collect();
        tx.lock_scopes(&scopes).await?;
        let mut heads = tx.read_heads(needs).await?;
        heads.sessions.retain(|key, _| locked.contains(key));
        heads
    } else {
        tx.read_heads(needs).await?
    };
    heads.timeline = tx.timeline();
    load_keys(tx, needs, &mut heads).await?;
    Ok(heads)
}

/// Loads what the heads do not show: values that are not loaded, and the first events of invocations.
pub async fn load_keys<X: Tx>(tx: &mut X, needs: &Needs<'_>, heads: &mut Loaded) -> Result<()> {
    let unread = needs.keys.iter().filter(|(address, _)| !heads.values.contains_key(*address));
    let unread = unread.map(|(address, since)| (address.clone(), *since)).collect();
    heads.values.extend(values(tx, &unread, &heads.sessions).await?);
    for (key, invocation) in &needs.invocations {
        if let Some(locked) = heads.sessions.get(*key)
            && let Some(sequence) = first_of_invocation(tx, key, locked.incarnation, invocation, 0).await?
        {
            heads.invocations.entry((*key).clone()).or_default().insert((*invocation).to_owned(), sequence);
        }
    }
    Ok(())
}

/// Reads state keys, those that are not there included; keys of sessions that are not there are left out.
pub async fn values<X: Tx>(
    tx: &mut X,
    needs: &KeyNeeds,
    sessions: &HashMap<SessionKey, SessionHead>,
) -> Result<HashMap<StateAddress, StateEntry>> {
    let locked = |address: &StateAddress| match address {
        StateAddress::Session(key, _) => sessions.get(key).map(Some),
        StateAddress::Shared(..) => Some(None),
    };
    let incarnation = |locked: Option<&SessionHead>| locked.map_or(0, |locked| locked.incarnation);
    let keys: Vec<_> =
        needs.keys().filter_map(|address| locked(address).map(|locked| (address, incarnation(locked)))).collect();
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let mut values: HashMap<StateAddress, StateEntry> = tx.values(&keys).await?.into_iter().collect();
    let absent: Vec<_> =
        needs.iter().filter(|(address, _)| locked(address).is_some() && !values.contains_key(*address)).collect();
    // In the order of addresses, so those of one owner follow each other.
    for keys in absent.chunk_by(|(one, _), (other, _)| one.has_owner_of(other)) {
        let (asked, since): (Vec<&StateAddress>, Vec<i64>) =
            keys.iter().filter_map(|(address, since)| Some((*address, (**since)?))).unzip();
        let removed = match asked.first() {
            Some(first) => removed_since(tx, &asked, locked(first).flatten(), &since).await?,
            None => HashMap::new(),
        };
        for (address, since) in keys {
            let revision = since.and_then(|_| removed.get(address.key()).copied()).unwrap_or(0);
            values.insert((*address).clone(), StateEntry { value: None, revision });
        }
    }
    Ok(values)
}
