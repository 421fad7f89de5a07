//! User tokens: `sdu_` CLAIMS `.` MAC, both in base64url without padding (RFC 4648, section 5).
//!
//! CLAIMS is JSON; MAC is the HMAC-SHA256 (RFC 2104) of everything before the dot. Tokens are not stored. A token is
//! valid as long as its key, the epoch of its user and its own expiry allow; the caller checks these.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

use crate::domain::access::{MAX_TOKEN_TTL_MICROS, Role};
use crate::domain::ids::{AppName, UserId};
use crate::domain::json::{Json, ObjectText};
use crate::domain::time::Micros;

/// The prefix of every user token.
pub(crate) const PREFIX: &str = "sdu_";

const VERSION: &str = "1";

/// The content of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claims {
    /// The id of the API key that minted it.
    pub key: String,
    pub app: AppName,
    pub user: UserId,
    pub role: Role,
    /// How often the tokens of this user had been revoked when it was minted.
    pub epoch: i64,
    /// When it was minted, in Unix seconds.
    pub issued: i64,
    /// When it expires, in Unix seconds.
    pub expires: i64,
}

/// How much the clock of the process that minted a token and ours may differ.
const SKEW_MICROS: i64 = 60_000_000;

impl Claims {
    /// Whether its lifetime, both by its own times and from now on, is within the limit for minted tokens. If not, it
    /// was forged with a stolen secret.
    pub(crate) fn is_short_lived(&self, now: Micros) -> bool {
        let longest = MAX_TOKEN_TTL_MICROS / 1_000_000;
        let ends = self.expires.saturating_mul(1_000_000);
        self.expires.saturating_sub(self.issued) <= longest
            && ends <= now.plus(MAX_TOKEN_TTL_MICROS).plus(SKEW_MICROS).0
    }
}

/// Makes a token with these claims.
pub(crate) fn mint(secret: &[u8; 32], claims: &Claims) -> String {
    let mut json = ObjectText::default();
    json.push("v", VERSION);
    json.push_str("key", &claims.key);
    json.push_str("app", claims.app.as_str());
    json.push_str("user", claims.user.as_str());
    json.push_str("role", claims.role.as_str());
    json.push("epoch", &claims.epoch.to_string());
    json.push("iat", &claims.issued.to_string());
    json.push("exp", &claims.expires.to_string());
    let mut token = PREFIX.to_owned();
    URL_SAFE_NO_PAD.encode_string(json.close(), &mut token);
    let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), token.as_bytes());
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(mac, &mut token);
    token
}

/// The claims of a token that [`mint`] made with the same secret, even if it has expired; `None` for any other text.
///
/// The claims are parsed only after the MAC was verified, in constant time.
pub(crate) fn read(secret: &[u8; 32], text: &str) -> Option<Claims> {
    let (signed, mac) = text.split_once('.')?;
    let claims = signed.strip_prefix(PREFIX)?;
    let mac = URL_SAFE_NO_PAD.decode(mac).ok()?;
    hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes(), &mac).ok()?;

    let json = URL_SAFE_NO_PAD.decode(claims).ok()?;
    let json = Json::parse(&json, 1).ok()?;
    let text = |name| json.get(name)?.as_str();
    let number = |name| json.get(name)?.text().parse().ok();
    if json.get("v")?.text() != VERSION {
        return None;
    }
    Some(Claims {
        key: text("key")?.into_owned(),
        app: AppName::parse(&text("app")?).ok()?,
        user: UserId::parse(&text("user")?).ok()?,
        role: Role::parse(&text("role")?)?,
        epoch: number("epoch")?,
        issued: number("iat")?,
        expires: number("exp")?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECRET: [u8; 32] = [9; 32];

    fn claims(app: &str, user: &str) -> Claims {
        Claims {
            key: "aaaabbbbcccc".to_owned(),
            app: AppName::parse(app).unwrap(),
            user: UserId::parse(user).unwrap(),
            role: Role::User,
            epoch: 3,
            issued: 1_800_000_000,
            expires: 1_800_003_600,
        }
    }

    /// A token with any claims and a valid MAC.
    fn signed(json: &str) -> String {
        let begin = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(json));
        let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &SECRET), begin.as_bytes());
        format!("{begin}.{}", URL_SAFE_NO_PAD.encode(mac))
    }

    #[test]
    fn the_form_of_a_token_is_fixed() {
        let token = mint(&SECRET, &claims("shop", "u1"));
        let json = r#"{"v":1,"key":"aaaabbbbcccc","app":"shop","user":"u1","role":"user","epoch":3,"iat":1800000000,"exp":1800003600}"#;
        assert_eq!(token, signed(json));
        assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)));
    }

    #[test]
    fn only_what_this_version_says_is_read() {
        let token = |v: &str, app: &str, role: &str| {
            signed(&format!(
                r#"{{"v":{v},"key":"k","app":"{app}","user":"u","role":"{role}","epoch":0,"iat":1,"exp":2}}"#
            ))
        };
        assert!(read(&SECRET, &token("1", "a", "agent")).is_some());
        for (v, app, role) in
            [("2", "a", "agent"), ("0", "a", "agent"), ("1", "", "agent"), ("1", ".", "user"), ("1", "a", "root")]
        {
            assert_eq!(read(&SECRET, &token(v, app, role)), None, "{v} {app} {role}");
        }
        for json in ["", "{}", "null", "[]", r#"{"v":1}"#] {
            assert_eq!(read(&SECRET, &signed(json)), None, "{json}");
        }
    }

    #[test]
    fn a_token_lives_for_a_day_at_most() {
        let now = Micros(1_800_000_000_000_000);
        let lives = |issued: i64, expires: i64| {
            Claims { issued: 1_800_000_000 + issued, expires: 1_800_000_000 + expires, ..claims("a", "u") }
                .is_short_lived(now)
        };
        assert!(lives(0, 86_400) && lives(-86_000, 400) && lives(30, 86_430) && lives(0, -1));
        for (issued, expires) in [(0, 86_401), (-10, 86_391), (61, 86_461), (1_000_000, 1_000_060), (-90_000, 1)] {
            assert!(!lives(issued, expires), "{issued} {expires}");
        }
        for extreme in [i64::MIN, i64::MAX] {
            let claims = |issued, expires| Claims { issued, expires, ..claims("a", "u") };
            assert!(!claims(extreme, i64::MAX).is_short_lived(now));
        }
    }

    #[test]
    fn a_mac_has_one_text() {
        let token = mint(&SECRET, &claims("a", "u"));
        let (begin, mac) = token.rsplit_once('.').unwrap();
        assert_eq!(mac.len(), 43);
        // 43 digits have two bits more than the MAC; a lenient parser would accept four texts for one value.
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let good = alphabet.chars().filter(|last| read(&SECRET, &format!("{begin}.{}{last}", &mac[..42])).is_some());
        assert_eq!(good.count(), 1);
        for other in [
            format!("{token}="),
            format!("{token}."),
            format!("{token}\n"),
            format!(" {token}"),
            begin.to_owned(),
            format!("{begin}."),
        ] {
            assert_eq!(read(&SECRET, &other), None, "{other}");
        }
    }

    #[test]
    fn a_key_is_no_token_and_a_token_no_key() {
        assert_eq!(super::super::key::id_of(&mint(&SECRET, &claims("a", "u"))), None);
        assert_eq!(read(&SECRET, &format!("sdk_{}_{}", "a".repeat(12), "0".repeat(49))), None);
    }

    proptest! {
        #[test]
        fn what_is_minted_is_read(app in "[^\\p{Cc}]{1,20}", user in "[^\\p{Cc}]{1,20}", role in 0..5usize, epoch: i64, issued: i64, expires: i64) {
            prop_assume!(AppName::parse(&app).is_ok() && UserId::parse(&user).is_ok());
            let claims = Claims { role: Role::ALL[role], epoch, issued, expires, ..claims(&app, &user) };
            let token = mint(&SECRET, &claims);
            prop_assert_eq!(read(&SECRET, &token), Some(claims));
            prop_assert_eq!(read(&[8; 32], &token), None);
        }

        #[test]
        fn any_changed_byte_is_refused(at: prop::sample::Index, byte in 0x20..0x7fu8) {
            let mut token = mint(&SECRET, &claims("shop", "u1")).into_bytes();
            let at = at.index(token.len());
            prop_assume!(token[at] != byte);
            token[at] = byte;
            prop_assert_eq!(read(&SECRET, std::str::from_utf8(&token).unwrap()), None);
        }

        #[test]
        fn no_random_text_is_a_token(text in any::<String>(), like in "sdu_[A-Za-z0-9_-]{1,80}\\.[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]") {
            prop_assert_eq!(read(&SECRET, &text), None);
            prop_assert_eq!(read(&SECRET, &like), None);
        }
    }
}
