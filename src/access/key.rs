//! API keys: `sdk_` ID `_` SECRET CHECKSUM.
//!
//! ID is 12 characters of base32 (RFC 4648, lower case; 60 random bits) and not secret. SECRET is 256 random bits in
//! base62 (43 digits). CHECKSUM is the CRC-32 of everything before it, in base62 (6 digits): a mistyped key needs no
//! look-up, and scanners for leaked secrets can recognize keys. The store has the SHA-256 of the whole key; a 256-bit
//! secret needs no slow hash.

use crc::{CRC_32_ISO_HDLC, Crc};
use secrecy::SecretString;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::random;
use crate::store::error::StoreError;

/// The prefix of every API key.
pub(crate) const PREFIX: &str = "sdk_";

const ID: usize = 12;
const SECRET: usize = 43;
const CHECKSUM: usize = 6;

const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// A new key.
#[derive(Debug)]
pub(crate) struct Drawn {
    /// Its name in lists, in the store and in the access log.
    pub id: String,
    /// The whole key. It is shown once, to its creator.
    pub key: SecretString,
}

/// Generates a key.
///
/// # Errors
/// The system has no random numbers.
pub(crate) fn draw() -> Result<Drawn, StoreError> {
    Ok(assemble(random::<16>()?, random()?))
}

fn assemble(id: [u8; 16], secret: [u8; 32]) -> Drawn {
    let id: String = id.iter().take(ID).map(|byte| char::from(BASE32[usize::from(byte % 32)])).collect();
    // One allocation, so that no part of the key remains in a freed one.
    let mut key = String::with_capacity(PREFIX.len() + ID + 1 + SECRET + CHECKSUM);
    key.push_str(PREFIX);
    key.push_str(&id);
    key.push('_');
    push_base62(&mut key, secret, SECRET);
    let checksum = CRC32.checksum(key.as_bytes());
    push_base62(&mut key, checksum.to_be_bytes(), CHECKSUM);
    Drawn { id, key: key.into() }
}

/// Appends a big-endian number in base62, most significant digit first, with leading zeros.
fn push_base62<const N: usize>(out: &mut String, mut number: [u8; N], digits: usize) {
    let mut text = [0; SECRET];
    for digit in text.iter_mut().take(digits).rev() {
        let mut rest = 0;
        for byte in &mut number {
            let value = rest * 256 + u32::from(*byte);
            // Both fit: the remainder of a division by 62 is below 62.
            *byte = (value / 62) as u8;
            rest = value % 62;
        }
        *digit = BASE62[rest as usize];
    }
    out.extend(text.iter().take(digits).map(|digit| char::from(*digit)));
}

/// The id in a text with the form and the checksum of a key. Only the store knows whether the key exists.
pub(crate) fn id_of(text: &str) -> Option<&str> {
    let (id, rest) = text.strip_prefix(PREFIX)?.split_once('_')?;
    let is_key = id.len() == ID
        && rest.len() == SECRET + CHECKSUM
        && id.bytes().all(|byte| BASE32.contains(&byte))
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !is_key {
        return None;
    }
    let (before, checksum) = text.split_at_checked(text.len() - CHECKSUM)?;
    let digit = |byte| BASE62.iter().position(|digit| *digit == byte);
    let said = checksum.bytes().try_fold(0, |number: u64, byte| Some(number * 62 + digit(byte)? as u64))?;
    (said == u64::from(CRC32.checksum(before.as_bytes()))).then_some(id)
}

/// The digest in the store: the SHA-256 of the whole key.
pub(crate) fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

/// Compares two digests in constant time.
pub(crate) fn is_same(a: &[u8; 32], b: &[u8; 32]) -> bool {
    a.ct_eq(b).into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use secrecy::ExposeSecret as _;

    use super::*;

    #[test]
    fn the_form_of_a_key_is_fixed() {
        let least = assemble([0; 16], [0; 32]);
        assert_eq!(least.id, "aaaaaaaaaaaa");
        assert_eq!(least.key.expose_secret()[..60], format!("sdk_aaaaaaaaaaaa_{}", "0".repeat(43)));
        let most = assemble([255; 16], [255; 32]);
        assert_eq!(most.id, "777777777777");
        // 2^256 - 1 in base62, by Python.
        assert_eq!(most.key.expose_secret()[..60], *"sdk_777777777777_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp1");
        for key in [least, most] {
            assert_eq!(id_of(key.key.expose_secret()), Some(&*key.id));
        }
    }

    /// The check value of CRC-32/ISO-HDLC, which zip and PNG use.
    #[test]
    fn the_checksum_is_the_usual_crc() {
        assert_eq!(CRC32.checksum(b"123456789"), 0xcbf4_3926);
        let mut text = String::new();
        push_base62(&mut text, u32::MAX.to_be_bytes(), CHECKSUM);
        // 2^32 - 1 has the digits 4, 42, 41, 15, 12, 3.
        assert_eq!(text, "4gfFC3");
    }

    #[test]
    fn drawn_keys_differ_and_are_not_shown() {
        let (a, b) = (draw().unwrap(), draw().unwrap());
        assert!(a.id != b.id && a.key.expose_secret() != b.key.expose_secret());
        assert!(!format!("{a:?}").contains(a.key.expose_secret()));
        assert!(!is_same(&digest(a.key.expose_secret()), &digest(b.key.expose_secret())));
        assert!(is_same(&digest(a.key.expose_secret()), &digest(a.key.expose_secret())));
    }

    #[test]
    fn the_digest_is_sha256_of_the_text() {
        assert_eq!(digest("abc")[..4], [0xba, 0x78, 0x16, 0xbf]);
    }

    proptest! {
        #[test]
        fn what_is_drawn_is_a_key(id: [u8; 16], secret: [u8; 32]) {
            let drawn = assemble(id, secret);
            prop_assert_eq!(drawn.key.expose_secret().len(), 66);
            prop_assert_eq!(id_of(drawn.key.expose_secret()), Some(&*drawn.id));
        }

        #[test]
        fn secrets_that_differ_are_written_differently(a: [u8; 32], b: [u8; 32]) {
            let (first, second) = (assemble([7; 16], a), assemble([7; 16], b));
            prop_assert_eq!(a == b, first.key.expose_secret() == second.key.expose_secret());
        }

        #[test]
        fn any_changed_byte_is_refused(secret: [u8; 32], at in 0..66usize, byte in 0x20..0x7fu8) {
            let drawn = assemble([3; 16], secret);
            let mut changed = drawn.key.expose_secret().as_bytes().to_vec();
            prop_assume!(changed[at] != byte);
            changed[at] = byte;
            prop_assert_eq!(id_of(std::str::from_utf8(&changed).unwrap()), None);
        }

        #[test]
        fn no_other_length_is_a_key(secret: [u8; 32], cut in 0..66usize, more in "[0-9A-Za-z_ ]{1,4}") {
            let drawn = assemble([3; 16], secret);
            let key = drawn.key.expose_secret();
            prop_assert_eq!(id_of(&key[..cut]), None);
            for text in [format!("{key}{more}"), format!("{more}{key}")] {
                prop_assert_eq!(id_of(&text), None);
            }
        }

        #[test]
        fn no_random_text_is_a_key(text in any::<String>(), like in "sdk_[a-z2-7]{12}_[0-9A-Za-z]{49}", odd in "sdk_\\PC{12}_\\PC{49}") {
            prop_assert_eq!(id_of(&text), None);
            prop_assert_eq!(id_of(&odd), None);
            // One random text of this form in 2^32 has the right checksum.
            prop_assert_eq!(id_of(&like), None);
        }
    }
}
