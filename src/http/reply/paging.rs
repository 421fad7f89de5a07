//! Page tokens: where a page ended, bound to its query.
//!
//! A token is neither a secret nor a credential. It contains the sort key of the last row and a checksum of its query.
//! So a token of another query, of another incarnation of a session, or from before a failover fails instead of
//! skipping rows.

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::http::reply::Problem;

const CHECKSUM_BYTES: usize = 8;

/// The context of a token: names and values of everything that decides which rows there are, and in what order.
#[derive(Clone)]
pub struct Binding(Sha256);

impl Binding {
    pub fn of(kind: &str) -> Self {
        Self(Sha256::new()).with(kind)
    }

    pub fn with(mut self, part: &str) -> Self {
        // Length first, so that different lists of parts never hash the same bytes.
        self.0.update((part.len() as u64).to_be_bytes());
        self.0.update(part);
        self
    }

    fn checksum(&self) -> Vec<u8> {
        self.0.clone().finalize()[..CHECKSUM_BYTES].to_vec()
    }

    pub fn token<T: Serialize>(&self, position: &T) -> String {
        let mut bytes = self.checksum();
        bytes.extend(serde_json::to_vec(position).unwrap_or_default());
        hex::encode(bytes)
    }

    /// # Errors
    /// The token is not ours, or belongs to another query.
    pub fn position<T: DeserializeOwned>(&self, token: &str) -> Result<T, Problem> {
        let token = Token::parse(token)?;
        token.check(self)?;
        Ok(token.position)
    }
}

/// A token whose query is not known yet.
pub struct Token<T> {
    checksum: Vec<u8>,
    pub position: T,
}

impl<T: DeserializeOwned> Token<T> {
    /// # Errors
    /// The token is not ours.
    pub fn parse(token: &str) -> Result<Self, Problem> {
        let bytes = hex::decode(token).map_err(|_| foreign_token())?;
        let (checksum, position) = bytes.split_at_checked(CHECKSUM_BYTES).ok_or_else(foreign_token)?;
        let position = serde_json::from_slice(position).map_err(|_| foreign_token())?;
        Ok(Self { checksum: checksum.to_vec(), position })
    }

    /// # Errors
    /// It belongs to another query.
    pub fn check(&self, binding: &Binding) -> Result<(), Problem> {
        if self.checksum == binding.checksum() { Ok(()) } else { Err(foreign_token()) }
    }
}

/// The problem of a page token that another query has made, or nobody.
pub fn foreign_token() -> Problem {
    Problem::field("pageToken", "is not a token of this query")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_fits_its_query_only() {
        let query = || Binding::of("events").with("a").with("bc");
        let token = query().token(&(7, "x/é"));
        assert_eq!(query().position::<(i64, String)>(&token).unwrap(), (7, "x/é".to_owned()));
        for other in [Binding::of("events").with("ab").with("c"), Binding::of("list").with("a").with("bc")] {
            assert!(other.position::<(i64, String)>(&token).is_err());
        }
        for bad in ["", "zz", "a", "0123456789abcdef", &token[..token.len() - 2], "é"] {
            assert!(query().position::<(i64, String)>(bad).is_err(), "{bad}");
        }
    }
}
