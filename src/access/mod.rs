//! Who a client is: credentials, and what they are worth.

use crate::domain::access::{Grant, Names, Role};
use crate::domain::time::Micros;
use std::sync::Arc;

/// Who sent a request, as its credential says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    pub kind: Kind,
    /// Of a key its id, of a token that of the key that minted it, of a JWT its subject.
    pub id: Option<String>,
    pub grant: Grant,
    pub expire_time: Option<Micros>,
}

/// What a client has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing, where nothing is asked for.
    None,
    Key,
    /// The content of `--admin-key-file`.
    AdminKey,
    Token,
    Jwt,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Key => "key",
            Self::AdminKey => "adminKey",
            Self::Token => "token",
            Self::Jwt => "jwt",
        }
    }
}

impl Client {
    /// A client that may do nothing.
    pub fn nobody() -> Self {
        let none = Names::literal([]);
        let grant = Grant { role: Role::Reader, apps: none.clone(), users: none };
        Self { kind: Kind::None, id: None, grant, expire_time: None }
    }

    /// Whoever asks, where no credential is asked for.
    pub fn anyone() -> Self {
        Self { kind: Kind::None, id: None, grant: Grant::unlimited(), expire_time: None }
    }
}

pub struct Authenticator {}

impl Authenticator {
    pub async fn client(&self) -> Arc<Client> {
        Arc::new(Client::anyone())
    }
}
