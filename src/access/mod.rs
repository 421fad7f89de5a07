//! Who a client is: credentials, and their grants.
//!
//! - `key`, `token`, `jwt`: the forms of credentials; `admin`: the key in a file
//! - `authenticator`: from a credential to a client
//! - `audit`: the access log
//! - `manage`: creates, changes and revokes keys and tokens; `revocations`: revocations to repeat on a restored backup

mod admin;
pub mod audit;
mod authenticator;
pub(crate) mod jwt;
pub(crate) mod key;
mod manage;
mod revocations;
pub(crate) mod token;

pub use admin::AdminKey;
pub use authenticator::{AuthSettings, Authenticator};
pub use manage::Error;
pub use revocations::{ReplayedRevocations, Revocation};

use std::sync::Arc;

use ring::hmac;
use ring::rand::{SystemRandom, generate};

use crate::domain::access::{Grant, Names, Role};
use crate::domain::time::Micros;
use crate::store::error::{Cause, StoreError};

/// Whether a credential has the form of a user token.
pub fn is_user_token(credential: &str) -> bool {
    credential.starts_with(token::PREFIX)
}

/// The client that sent a request, by its credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    pub kind: ClientKind,
    /// The id of a key, or of the key that minted a token, or the subject of a JWT.
    pub id: Option<String>,
    pub grant: Grant,
    pub expire_time: Option<Micros>,
}

/// The kind of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientKind {
    /// None, if authentication is off.
    None,
    Key,
    /// The content of `--admin-key-file`.
    AdminKey,
    Token,
    Jwt,
}

/// Why a client cannot be authenticated.
#[derive(Debug, Clone)]
pub enum AuthError {
    /// The credential is missing or invalid. The reason is only for the metrics.
    Unauthenticated(&'static str),
    /// Too many unknown credentials are being looked up.
    Overloaded,
    Store(Arc<StoreError>),
}

impl ClientKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Key | Self::AdminKey => "key",

            Self::Token => "token",
            Self::Jwt => "jwt",
        }
    }
}

impl Client {
    /// A client without permissions.
    pub fn nobody() -> Self {
        let none = Names::literal([]);
        let grant = Grant { role: Role::Reader, apps: none.clone(), users: none };
        Self { kind: ClientKind::None, id: None, grant, expire_time: None }
    }

    /// Any client, if authentication is off.
    pub fn anyone() -> Self {
        Self { kind: ClientKind::None, id: None, grant: Grant::unlimited(), expire_time: None }
    }
}

/// Random bytes from the operating system, good enough for secrets.
///
/// # Errors
/// The operating system has none. Then no secret can be made.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], StoreError>
where
    [u8; N]: ring::rand::RandomlyConstructable,
{
    let none = |_| StoreError::new(Cause::Internal, "the operating system gives no random numbers");
    generate(&SystemRandom::new()).map(|bytes| bytes.expose()).map_err(none)
}

/// A pseudonym for data that must not be shown: HMAC-SHA256 with the salt of the database.
pub(crate) fn keyed(salt: &[u8; 32], kind: &str, of: &[u8]) -> [u8; 32] {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, salt));
    for part in [kind.as_bytes(), b"\0", of] {
        context.update(part);
    }
    let mut bytes = [0; 32];
    bytes.iter_mut().zip(context.sign().as_ref()).for_each(|(to, from)| *to = *from);
    bytes
}
