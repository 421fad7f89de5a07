//! The keys that sign and verify receipts of erasures (Ed25519).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use sha2::{Digest as _, Sha256};

use crate::domain::receipt::{self, Receipt};
use crate::store::error::{Cause, StoreError};

/// Signs receipts.
pub struct Signer(Ed25519KeyPair);

impl Signer {
    /// A new key, as it is stored.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn draw() -> Result<Vec<u8>, StoreError> {
        let drawn = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
        let drawn = drawn.map_err(|_| StoreError::new(Cause::Internal, "the system gives no random numbers"))?;
        Ok(drawn.as_ref().to_vec())
    }

    /// # Errors
    /// It is not a key as [`Signer::draw`] returns it.
    pub fn stored(key: &[u8]) -> Result<Self, StoreError> {
        let odd = |_| StoreError::new(Cause::Internal, "the stored key of receipts is none");
        Ed25519KeyPair::from_pkcs8(key).map(Self).map_err(odd)
    }

    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.public_key().as_ref().to_vec())
    }

    /// The signed receipt.
    pub fn sign(&self, statement: &str) -> String {
        receipt::signed(statement, self.0.sign(&receipt::bytes(statement)).as_ref())
    }
}

/// Verifies receipts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(Vec<u8>);

impl PublicKey {
    /// # Errors
    /// It is not the base64url of 32 bytes.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let bytes = URL_SAFE_NO_PAD.decode(text.trim()).ok().filter(|bytes| bytes.len() == 32);
        bytes.map(Self).ok_or("the public key must be 32 bytes in base64url, as GET /v1/receipts/keys shows it")
    }

    pub fn to_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(&self.0)
    }

    /// The first 8 bytes of its SHA-256, in hexadecimal digits.
    pub fn id(&self) -> String {
        hex::encode(Sha256::digest(&self.0).get(..8).unwrap_or_default())
    }

    /// Whether this key signed the receipt unchanged.
    pub fn verifies(&self, receipt: &Receipt) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, &self.0);
        receipt.key_id == self.id() && key.verify(&receipt.signed_bytes(), &receipt.signature).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::json::Json;

    const STATEMENT: &str = r#"{"id":"e","appName":"a","subject":"0707070707070707070707070707070707070707070707070707070707070707","requestTime":1.000000,"doneTime":2.000000,"counts":{"sessions":1,"events":2,"stateKeys":3,"changes":4,"artifacts":5},"blocked":false,"remains":["x"],"instance":"i","keyId":"KEY"}"#;

    #[test]
    fn a_key_verifies_what_it_signed_and_nothing_else() {
        let signer = Signer::stored(&Signer::draw().unwrap()).unwrap();
        let text = signer.sign(&STATEMENT.replace("KEY", &signer.public().id()));
        let key = PublicKey::parse(&signer.public().to_text()).unwrap();
        let verifies = |key: &PublicKey, text: &str| key.verifies(&Receipt::parse(Json::trusted(text)).unwrap());
        assert!(verifies(&key, &text));
        assert!(verifies(&key, &text.replace(",\"", " , \"")));
        assert!(!verifies(&key, &text.replace("\"events\":2", "\"events\":3")));
        let other = Signer::stored(&Signer::draw().unwrap()).unwrap().public();
        assert!(!verifies(&other, &text));
        assert!(!verifies(&other, &text.replace(&key.id(), &other.id())));
    }
}
