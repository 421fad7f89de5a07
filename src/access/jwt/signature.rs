//! Verifies signatures of JWT with ring: only RS256, ES256 and EdDSA (Ed25519).

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::signature::{Error as SignatureError, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};

static RING: CryptoProvider = CryptoProvider {
    // This service never signs a JWT.
    signer_factory: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes `jsonwebtoken` use ring in the whole process. Call it before the first verification; later calls do nothing.
pub(super) fn install() {
    // An error means that it was called before.
    let _ = RING.install_default();
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    match (algorithm, key.family(), key.kind()) {
        (Algorithm::RS256, AlgorithmFamily::Rsa, DecodingKeyKind::RsaModulusExponent { n, e }) => {
            Ok(Box::new(Rsa(RsaPublicKeyComponents { n: n.clone(), e: e.clone() })))
        }
        (Algorithm::ES256, AlgorithmFamily::Ec, DecodingKeyKind::SecretOrDer(point)) => {
            Ok(Box::new(Curve(*algorithm, UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point.clone()))))
        }
        (Algorithm::EdDSA, AlgorithmFamily::Ed, DecodingKeyKind::SecretOrDer(point)) => {
            Ok(Box::new(Curve(*algorithm, UnparsedPublicKey::new(&ED25519, point.clone()))))
        }
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

struct Rsa(RsaPublicKeyComponents<Vec<u8>>);

impl Verifier<Vec<u8>> for Rsa {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), SignatureError> {
        self.0.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature).map_err(|_| SignatureError::new())
    }
}

impl JwtVerifier for Rsa {
    fn algorithm(&self) -> Algorithm {
        Algorithm::RS256
    }
}

struct Curve(Algorithm, UnparsedPublicKey<Vec<u8>>);

impl Verifier<Vec<u8>> for Curve {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), SignatureError> {
        self.1.verify(message, signature).map_err(|_| SignatureError::new())
    }
}

impl JwtVerifier for Curve {
    fn algorithm(&self) -> Algorithm {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::crypto::verify;

    use super::*;

    const RSA_N: &str = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";

    /// The examples of RFC 7515 (A.2 and A.3) and RFC 8037 (A.4): keys and signatures made by others.
    #[test]
    fn the_examples_of_the_rfcs_verify() {
        install();
        let rsa = DecodingKey::from_rsa_components(RSA_N, "AQAB").unwrap();
        let ec = DecodingKey::from_ec_components(
            "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        )
        .unwrap();
        let ed = DecodingKey::from_ed_components("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo").unwrap();
        let joe = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let examples = [
            (
                Algorithm::RS256,
                &rsa,
                format!("eyJhbGciOiJSUzI1NiJ9.{joe}"),
                "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
            ),
            (
                Algorithm::ES256,
                &ec,
                format!("eyJhbGciOiJFUzI1NiJ9.{joe}"),
                "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
            ),
            (
                Algorithm::EdDSA,
                &ed,
                "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc".to_owned(),
                "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
            ),
        ];
        for (n, (algorithm, key, message, signature)) in examples.iter().enumerate() {
            assert_eq!(verify(signature, message.as_bytes(), key, *algorithm), Ok(true), "{algorithm:?}");
            assert_eq!(verify(signature, &message.as_bytes()[1..], key, *algorithm), Ok(false), "{algorithm:?}");
            let (_, _, _, other) = &examples[(n + 1) % 3];
            assert_eq!(verify(other, message.as_bytes(), key, *algorithm), Ok(false), "{algorithm:?}");
        }
    }

    #[test]
    fn a_key_fits_one_algorithm() {
        use Algorithm::{ES256, ES384, EdDSA, HS256, HS384, HS512, PS256, PS384, PS512, RS256, RS384, RS512};
        install();
        let keys = [
            (RS256, DecodingKey::from_rsa_components(RSA_N, "AQAB").unwrap()),
            (ES256, DecodingKey::from_ec_components(&"A".repeat(43), &"A".repeat(43)).unwrap()),
            (EdDSA, DecodingKey::from_ed_components(&"A".repeat(43)).unwrap()),
            (HS256, DecodingKey::from_secret(b"secret")),
        ];
        for (fits, key) in &keys {
            for algorithm in [RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA, HS256, HS384, HS512] {
                let taken = algorithm == *fits && algorithm != HS256;
                assert_eq!(verifier(&algorithm, key).is_ok(), taken, "{algorithm:?} with a key for {fits:?}");
            }
        }
    }
}
