//! An issuer for tests: keys, their JWKs, and tokens signed with them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
    RsaPublicKeyComponents,
};

pub fn base64url(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub enum SigningKey {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl SigningKey {
    /// A key only for these tests: ring cannot generate RSA keys.
    pub fn rsa() -> Self {
        Self::Rsa(RsaKeyPair::from_der(include_bytes!("rsa2048.der")).unwrap())
    }

    pub fn ec() -> Self {
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &SystemRandom::new());
        Self::Ec(pair.unwrap())
    }

    pub fn ed() -> Self {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed(Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap())
    }

    pub fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "RS256",
            Self::Ec(_) => "ES256",
            Self::Ed(_) => "EdDSA",
        }
    }

    /// The public part, with `more` members in front, such as `"kid":"a",`.
    pub fn jwk(&self, more: &str) -> String {
        match self {
            Self::Rsa(pair) => {
                let public = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public());
                let (n, e) = (base64url(&public.n), base64url(&public.e));
                format!(r#"{{{more}"kty":"RSA","n":"{n}","e":"{e}"}}"#)
            }
            Self::Ec(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                format!(r#"{{{more}"kty":"EC","crv":"P-256","x":"{}","y":"{}"}}"#, base64url(x), base64url(y))
            }
            Self::Ed(pair) => {
                let x = base64url(pair.public_key());
                format!(r#"{{{more}"kty":"OKP","crv":"Ed25519","x":"{x}"}}"#)
            }
        }
    }

    /// A JWT with this header and these claims, whether valid or not.
    pub fn sign(&self, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", base64url(header), base64url(claims));
        let signature = match self {
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message.as_bytes(), &mut signature).unwrap();
                signature
            }
            Self::Ec(pair) => pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap().as_ref().to_vec(),
            Self::Ed(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
        };
        format!("{message}.{}", base64url(signature))
    }
}

pub fn jwks(keys: &[String]) -> String {
    format!(r#"{{"keys":[{}]}}"#, keys.join(","))
}
