//! Credentials: what they look like and how they are proved (contract, section 11). Knows formats and cryptography; what a
//! credential allows is in [`crate::domain::access`], and neither requests nor the database are known here.
//!
//! - [`key`]: API keys: random, stored as a digest
//! - [`token`]: user tokens: claims and a MAC, stored nowhere
//! - [`jwt`]: tokens of the customer's issuer
//! - [`jwks`]: the keys of that issuer, from a URL or a file

pub(crate) mod jwks;
pub(crate) mod jwt;
pub(crate) mod key;
mod signature;
pub(crate) mod token;

use ring::rand::{SystemRandom, generate};

/// Random bytes from the operating system, fit for a secret.
///
/// # Errors
/// The operating system has none. Nothing secret can be made then.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], NoRandomness>
where
    [u8; N]: ring::rand::RandomlyConstructable,
{
    generate(&SystemRandom::new()).map(|bytes| bytes.expose()).map_err(|_| NoRandomness)
}

/// The operating system gives no random numbers.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the operating system gives no random numbers")]
pub(crate) struct NoRandomness;

#[cfg(test)]
mod testing;
