//! Verifies the tokens of one issuer.

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Header, Validation, decode, decode_header};
use serde_json::{Map, Value};

use super::jwks::{Jwks, NoKey};
use super::{JwtSettings, LEEWAY_MICROS, Said, signature};
use crate::access::{AuthError, Client, ClientKind};
use crate::domain::access::{Grant, Names, Role};
use crate::domain::ids::{AppName, UserId};
use crate::domain::time::Micros;
use crate::domain::word::words;
use crate::metrics::Metrics;

words! {
    /// Why a token is refused: a label of metrics. A client does not learn the reason.
    #[derive(Hash)]
    enum Reason {
        /// Not a JWT, or a claim that RFC 7519 defines has another form.
        Malformed = "malformed",
        /// It has `crit`, or a `typ` that is not an access token.
        Header = "header",
        /// Not RS256, ES256 or EdDSA, or not the algorithm of the key.
        Algorithm = "algorithm",
        /// The issuer's keys could not be read.
        NoKeys = "no_keys",
        /// The issuer has no such key.
        UnknownKey = "unknown_key",
        /// Its key may be in the set that is being read, but too many requests wait for that.
        Busy = "busy",
        Signature = "signature",
        Issuer = "issuer",
        Audience = "audience",
        Expired = "expired",
        NotYetValid = "not_yet_valid",
        /// There is no `exp`.
        NoExpiry = "no_expiry",
        /// The user claim is absent or not a valid name.
        User = "user",
        /// The apps claim is absent or empty, or contains an invalid name.
        Apps = "apps",
        /// The role claim is absent or not a role.
        Role = "role",
    }
}

impl From<NoKey> for Reason {
    fn from(no_key: NoKey) -> Self {
        match no_key {
            NoKey::NoSet => Self::NoKeys,
            NoKey::Unknown => Self::UnknownKey,
            NoKey::OtherAlgorithm => Self::Algorithm,
            NoKey::Busy => Self::Busy,
        }
    }
}

/// Verifies the tokens of one issuer.
pub(crate) struct Jwt {
    settings: JwtSettings,
    keys: Jwks,
}

impl Jwt {
    /// # Errors
    /// TLS cannot be set up.
    pub(crate) fn new(settings: JwtSettings) -> Result<Self, String> {
        signature::install();
        let keys = Jwks::new(settings.source.clone()).map_err(|error| format!("--jwt-jwks-url: {error}"))?;
        Ok(Self { settings, keys })
    }

    /// Keeps the issuer's keys up to date, forever. Run it once, in a task of its own.
    pub(crate) async fn keep_keys(&self, metrics: &Metrics) {
        self.keys.keep(metrics).await;
    }

    /// The client of a token at the time `now`. Waits at most 5 s, and only for an unknown key.
    ///
    /// # Errors
    /// It is not a valid token of this issuer for this audience, or lacks a claim that the settings require; or too many requests
    /// wait for its key.
    pub(crate) async fn client(&self, text: &str, now: Micros) -> Result<Client, AuthError> {
        self.verify(text, now).await.map_err(|reason| match reason {
            Reason::Busy => AuthError::Overloaded,
            reason => AuthError::Unauthenticated(reason.as_str()),
        })
    }

    async fn verify(&self, text: &str, now: Micros) -> Result<Client, Reason> {
        let header = decode_header(text).map_err(|_| Reason::Malformed)?;
        check(&header)?;
        let key = self.keys.find(header.kid.as_deref(), header.alg).await?;
        let claims = decode::<Map<String, Value>>(text, key.decoding(), &self.validation(header.alg))
            .map_err(|error| reason(error.kind()))?
            .claims;
        // The library also accepts a list that contains it, which RFC 7519 (section 4.1.1) does not allow.
        if claims.get("iss").and_then(Value::as_str) != Some(&*self.settings.issuer) {
            return Err(Reason::Issuer);
        }

        let expire_time = time(&claims, "exp")?.ok_or(Reason::NoExpiry)?;
        if expire_time.plus(LEEWAY_MICROS) <= now {
            return Err(Reason::Expired);
        }
        if time(&claims, "nbf")?.is_some_and(|begin| begin > now.plus(LEEWAY_MICROS)) {
            return Err(Reason::NotYetValid);
        }

        let role = self.role(&claims).ok_or(Reason::Role)?;
        let apps = self.apps(&claims).filter(|apps| !apps.is_empty()).ok_or(Reason::Apps)?;
        let users = match role {
            Role::User => Names::literal([self.user(&claims).ok_or(Reason::User)?.as_str()]),
            // They are not tied to a user.
            Role::Reader | Role::Agent | Role::Operator | Role::Admin => Names::all(),
        };
        // Unchanged: of any length and content.
        let id = claims.get("sub").and_then(Value::as_str).map(str::to_owned);
        // It is valid until `LEEWAY_MICROS` after that.
        let expire_time = Some(expire_time);
        Ok(Client { kind: ClientKind::Jwt, id, grant: Grant { role, apps, users }, expire_time })
    }

    /// The library checks the signature, `iss` and `aud`. Times are checked here, with the service's clock.
    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.set_required_spec_claims(&["iss", "aud"]);
        validation.set_issuer(&[&self.settings.issuer]);
        validation.set_audience(&[&self.settings.audience]);
        validation.validate_exp = false;
        validation.validate_nbf = false;
        validation
    }

    fn role(&self, claims: &Map<String, Value>) -> Option<Role> {
        match &self.settings.role {
            Said::Fixed(role) => Some(*role),
            Said::Claim(name) => Role::parse(claims.get(name)?.as_str()?),
        }
    }

    fn apps(&self, claims: &Map<String, Value>) -> Option<Names> {
        let name = match &self.settings.apps {
            Said::Fixed(names) => return Some(names.clone()),
            Said::Claim(name) => name,
        };
        let said = match claims.get(name)? {
            Value::Array(all) => all.as_slice(),
            one => std::slice::from_ref(one),
        };
        // One invalid name makes the list invalid: the issuer means something else.
        let names: Option<Vec<&str>> =
            said.iter().map(|name| name.as_str().filter(|name| AppName::parse(name).is_ok())).collect();
        Some(Names::literal(names?))
    }

    fn user(&self, claims: &Map<String, Value>) -> Option<UserId> {
        UserId::parse(claims.get(&self.settings.user_claim)?.as_str()?).ok()
    }
}

fn check(header: &Header) -> Result<(), Reason> {
    match header.alg {
        Algorithm::RS256 | Algorithm::ES256 | Algorithm::EdDSA => {}
        _ => return Err(Reason::Algorithm),
    }
    // Tokens of the same issuer for other purposes (`logout+jwt`, `dpop+jwt`) are not credentials (RFC 8725, section
    // 3.11). Case and "application/" do not matter (RFC 7515, section 4.1.9).
    let is_credential = header.typ.as_deref().is_none_or(|typ| {
        let typ = typ.to_ascii_lowercase();
        matches!(typ.strip_prefix("application/").unwrap_or(&typ), "jwt" | "at+jwt")
    });
    // Where a key is, or a key itself (`jku`, `x5u`, `jwk`, `x5c`), is overlooked: it must be one of the issuer's, which are configured. Some
    // issuers write it into each token.
    if !is_credential || header.crit.is_some() {
        return Err(Reason::Header);
    }
    Ok(())
}

fn reason(kind: &ErrorKind) -> Reason {
    match kind {
        ErrorKind::InvalidSignature => Reason::Signature,
        ErrorKind::InvalidAlgorithm => Reason::Algorithm,
        ErrorKind::InvalidIssuer => Reason::Issuer,
        ErrorKind::InvalidAudience => Reason::Audience,
        ErrorKind::MissingRequiredClaim(name) if name == "iss" => Reason::Issuer,
        ErrorKind::MissingRequiredClaim(name) if name == "aud" => Reason::Audience,
        _ => Reason::Malformed,
    }
}

/// A time as in RFC 7519: seconds since 1970, perhaps with a fraction.
fn time(claims: &Map<String, Value>, name: &str) -> Result<Option<Micros>, Reason> {
    match claims.get(name) {
        None => Ok(None),
        Some(Value::Number(number)) => {
            Micros::from_number(&number.to_string()).map(Some).map_err(|_| Reason::Malformed)
        }
        Some(_) => Err(Reason::Malformed),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "`json!` makes claims here, not values that are stored")]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::super::KeySource;
    use super::super::testing::{SigningKey, base64url, jwks};
    use super::*;

    const NOW: Micros = Micros(1_800_000_000_000_000);

    fn settings() -> JwtSettings {
        JwtSettings {
            issuer: "https://issuer.example".to_owned(),
            audience: "sessiond".to_owned(),
            source: KeySource::File("unused".into()),
            user_claim: "sub".to_owned(),
            apps: Said::Fixed(Names::patterns(["shop-*", "blog"])),
            role: Said::Fixed(Role::User),
        }
    }

    /// One key of each kind, whose id is its algorithm.
    struct Issuer {
        keys: [SigningKey; 3],
        jwt: Jwt,
    }

    impl Issuer {
        fn new(settings: JwtSettings) -> Self {
            let keys = [SigningKey::rsa(), SigningKey::ec(), SigningKey::ed()];
            let set: Vec<_> = keys.iter().map(|key| key.jwk(&format!(r#""kid":"{}","#, key.algorithm()))).collect();
            let jwt = Jwt::new(settings).unwrap();
            Self { keys, jwt: Jwt { keys: Jwks::fixed(&jwks(&set)), ..jwt } }
        }

        fn ed(&self) -> &SigningKey {
            &self.keys[2]
        }

        async fn verify(&self, text: &str) -> Result<Client, Reason> {
            self.jwt.verify(text, NOW).await
        }

        /// A valid token, except for these claims; `null` removes one.
        async fn verify_with(&self, claims: Value) -> Result<Client, Reason> {
            self.verify(&self.ed().sign(r#"{"alg":"EdDSA","kid":"EdDSA"}"#, &with(claims))).await
        }

        /// A valid token, except for its header.
        async fn verify_header(&self, header: &str) -> Result<Client, Reason> {
            self.verify(&self.ed().sign(header, &with(json!({})))).await
        }
    }

    fn with(claims: Value) -> String {
        let mut all = json!({"iss": "https://issuer.example", "aud": "sessiond", "sub": "u1", "exp": 1_800_000_600});
        for (name, value) in claims.as_object().unwrap() {
            all.as_object_mut().unwrap().insert(name.clone(), value.clone());
        }
        all.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        all.to_string()
    }

    #[tokio::test(start_paused = true)]
    async fn good_tokens_of_each_algorithm() {
        let issuer = Issuer::new(settings());
        for key in &issuer.keys {
            let algorithm = key.algorithm();
            let header = format!(r#"{{"typ":"at+jwt","alg":"{algorithm}","kid":"{algorithm}"}}"#);
            let verified = issuer.verify(&key.sign(&header, &with(json!({})))).await.unwrap();
            let apps = Names::patterns(["blog", "shop-*"]);
            let grant = Grant { role: Role::User, apps, users: Names::literal(["u1"]) };
            let expected = Client {
                kind: ClientKind::Jwt,
                id: Some("u1".to_owned()),
                grant,
                expire_time: Some(Micros(1_800_000_600_000_000)),
            };
            assert_eq!(verified, expected, "{algorithm}");
            // Without a `kid`: the only key of its type.
            let header = format!(r#"{{"alg":"{algorithm}"}}"#);
            assert_eq!(issuer.verify(&key.sign(&header, &with(json!({})))).await, Ok(expected), "{algorithm}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn signatures_of_others_are_refused() {
        let issuer = Issuer::new(settings());
        // Keys of the same kinds that are not the issuer's; for RSA, the only key signs other claims.
        for key in [SigningKey::ec(), SigningKey::ed()] {
            let header = format!(r#"{{"alg":"{0}","kid":"{0}"}}"#, key.algorithm());
            assert_eq!(issuer.verify(&key.sign(&header, &with(json!({})))).await, Err(Reason::Signature));
        }
        for key in &issuer.keys {
            let header = format!(r#"{{"alg":"{0}","kid":"{0}"}}"#, key.algorithm());
            let good = key.sign(&header, &with(json!({})));
            assert!(issuer.verify(&good).await.is_ok());
            let parts: Vec<_> = good.split('.').collect();
            let other = base64url(with(json!({"sub": "u2"})));
            let forged = format!("{}.{other}.{}", parts[0], parts[2]);
            assert_eq!(issuer.verify(&forged).await, Err(Reason::Signature), "{header}");
            let empty = format!("{}.{}.", parts[0], parts[1]);
            assert_eq!(issuer.verify(&empty).await, Err(Reason::Signature), "{header}");
            let zeros = format!("{}.{}.{}", parts[0], parts[1], base64url([0; 64]));
            assert_eq!(issuer.verify(&zeros).await, Err(Reason::Signature), "{header}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn any_changed_byte_is_refused() {
        let issuer = Issuer::new(settings());
        let good = issuer.ed().sign(r#"{"alg":"EdDSA","kid":"EdDSA"}"#, &with(json!({})));
        for at in 0..good.len() {
            for byte in *b"A_-.=z" {
                let mut changed = good.clone().into_bytes();
                if std::mem::replace(&mut changed[at], byte) != byte {
                    let changed = String::from_utf8(changed).unwrap();
                    assert!(issuer.verify(&changed).await.is_err(), "{changed}");
                }
            }
        }
        for other in [
            "",
            ".",
            "..",
            "...",
            "a.b.c",
            &format!("{good}="),
            &format!("{good}."),
            &format!(" {good}"),
            &good[..good.len() - 1],
        ] {
            assert!(issuer.verify(other).await.is_err(), "{other}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn three_algorithms_and_nothing_else() {
        let issuer = Issuer::new(settings());
        let claims = base64url(with(json!({})));
        for alg in ["none", "None", "NONE", "nOnE", "", "EdDsa", "Ed25519", "ES256K", "ES512"] {
            let header = base64url(format!(r#"{{"alg":"{alg}"}}"#));
            for signature in ["", "AAAA"] {
                let token = format!("{header}.{claims}.{signature}");
                assert_eq!(issuer.verify(&token).await, Err(Reason::Malformed), "{alg}");
            }
        }
        for alg in ["HS256", "HS384", "HS512", "RS384", "RS512", "PS256", "PS384", "PS512", "ES384"] {
            let header = format!(r#"{{"alg":"{alg}","kid":"EdDSA"}}"#);
            assert_eq!(issuer.verify_header(&header).await, Err(Reason::Algorithm), "{alg}");
        }
    }

    /// A classic attack: the public key, which everybody has, as the secret of an HMAC.
    #[tokio::test(start_paused = true)]
    async fn a_public_key_is_no_secret() {
        let issuer = Issuer::new(settings());
        for key in &issuer.keys {
            for kid in ["", &format!(r#","kid":"{}""#, key.algorithm())] {
                let message =
                    format!("{}.{}", base64url(format!(r#"{{"alg":"HS256"{kid}}}"#)), base64url(with(json!({}))));
                for secret in [key.jwk(""), key.jwk(&format!(r#""kid":"{}","#, key.algorithm()))] {
                    let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret.as_bytes());
                    let mac = ring::hmac::sign(&secret, message.as_bytes());
                    let token = format!("{message}.{}", base64url(mac));
                    assert_eq!(issuer.verify(&token).await, Err(Reason::Algorithm));
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_is_used_for_its_own_algorithm() {
        let issuer = Issuer::new(settings());
        for key in &issuer.keys {
            for kid in ["RS256", "ES256", "EdDSA"].into_iter().filter(|kid| *kid != key.algorithm()) {
                let own = format!(r#"{{"alg":"{}","kid":"{kid}"}}"#, key.algorithm());
                assert_eq!(issuer.verify(&key.sign(&own, &with(json!({})))).await, Err(Reason::Algorithm), "{own}");
                let other = format!(r#"{{"alg":"{kid}","kid":"{kid}"}}"#);
                assert_eq!(issuer.verify(&key.sign(&other, &with(json!({})))).await, Err(Reason::Signature), "{other}");
            }
        }
        assert_eq!(issuer.verify_header(r#"{"alg":"EdDSA","kid":"eddsa"}"#).await, Err(Reason::UnknownKey));
        assert_eq!(issuer.verify_header(r#"{"alg":"EdDSA","kid":""}"#).await, Err(Reason::UnknownKey));
    }

    #[tokio::test(start_paused = true)]
    async fn headers_that_are_not_for_us() {
        let issuer = Issuer::new(settings());
        let header = |more: &str| format!(r#"{{"alg":"EdDSA","kid":"EdDSA"{more}}}"#);
        for typ in ["JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt"] {
            assert!(issuer.verify_header(&header(&format!(r#","typ":"{typ}""#))).await.is_ok(), "{typ}");
        }
        // A key that the header names or has is not looked at.
        let other = Issuer::new(settings());
        for more in [
            r#","jku":"https://issuer.example/keys""#.to_owned(),
            r#","jku":"https://evil.example/keys","x5u":"https://evil.example/certificate""#.to_owned(),
            format!(r#","jwk":{}"#, other.ed().jwk("")),
        ] {
            assert!(issuer.verify_header(&header(&more)).await.is_ok(), "{more}");
        }
        for more in [
            r#","crit":["exp"]"#,
            r#","crit":["b64"],"b64":false"#,
            r#","crit":[]"#,
            r#","typ":"logout+jwt""#,
            r#","typ":"dpop+jwt""#,
            r#","typ":"""#,
        ] {
            assert_eq!(issuer.verify_header(&header(more)).await, Err(Reason::Header), "{more}");
        }
        for more in [r#","typ":1"#, r#","kid":"EdDSA""#, r#","crit":"exp""#] {
            assert_eq!(issuer.verify_header(&header(more)).await, Err(Reason::Malformed), "{more}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn claims_that_rfc_7519_defines() {
        let issuer = Issuer::new(settings());
        let second = 1_800_000_000;
        for claims in [
            json!({"aud": ["other", "sessiond"]}),
            json!({"aud": ["sessiond"]}),
            json!({"exp": second - 59}),
            json!({"exp": 1_800_000_000.5}),
            json!({"nbf": second + 60}),
            json!({"nbf": second - 1000}),
            json!({"iat": second + 1000}),
        ] {
            assert!(issuer.verify_with(claims.clone()).await.is_ok(), "{claims}");
        }
        for (claims, reason) in [
            (json!({"iss": "https://issuer.example/"}), Reason::Issuer),
            (json!({"iss": "https://ISSUER.example"}), Reason::Issuer),
            (json!({"iss": null}), Reason::Issuer),
            (json!({"iss": 1}), Reason::Issuer),
            (json!({"iss": ["https://issuer.example"]}), Reason::Issuer),
            (json!({"iss": ["https://issuer.example", "https://other.example"]}), Reason::Issuer),
            (json!({"iss": []}), Reason::Issuer),
            (json!({"aud": "sessiond2"}), Reason::Audience),
            (json!({"aud": ["other"]}), Reason::Audience),
            (json!({"aud": []}), Reason::Audience),
            (json!({"aud": [["sessiond"]]}), Reason::Audience),
            (json!({"aud": null}), Reason::Audience),
            (json!({"aud": {"sessiond": true}}), Reason::Audience),
            (json!({"exp": null}), Reason::NoExpiry),
            (json!({"exp": second - 60}), Reason::Expired),
            (json!({"exp": 0}), Reason::Expired),
            (json!({"exp": -1}), Reason::Expired),
            (json!({"exp": "1900000000"}), Reason::Malformed),
            (json!({"exp": 1e300}), Reason::Malformed),
            (json!({"exp": true}), Reason::Malformed),
            (json!({"nbf": second + 61}), Reason::NotYetValid),
            (json!({"nbf": "0"}), Reason::Malformed),
        ] {
            assert_eq!(issuer.verify_with(claims.clone()).await, Err(reason), "{claims}");
        }
        for text in ["", "null", "[]", "\"x\"", &with(json!({})).replacen('{', r#"{"aud":"sessiond","#, 1)] {
            let token = issuer.ed().sign(r#"{"alg":"EdDSA"}"#, text);
            assert_eq!(issuer.verify(&token).await, Err(Reason::Malformed), "{text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_user_is_a_literal_name() {
        let issuer = Issuer::new(JwtSettings { user_claim: "email".to_owned(), ..settings() });
        for name in ["u", "*", "a*", "a/b", "a%2Fb", "caf\u{e9}", "cafe\u{301}", " x ", &"x".repeat(256)] {
            let verified = issuer.verify_with(json!({"email": name})).await.unwrap();
            assert_eq!(verified.grant.users, Names::literal([name]));
            assert_eq!(verified.grant.users.only(), Some(name));
            assert!(!verified.grant.users.allows("ab") && !verified.grant.users.is_all());
            assert_eq!(verified.id.as_deref(), Some("u1"));
        }
        for name in [
            json!(null),
            json!(""),
            json!("."),
            json!("a\nb"),
            json!("x".repeat(257)),
            json!(1),
            json!(["u"]),
            json!({}),
        ] {
            assert_eq!(issuer.verify_with(json!({"email": name})).await, Err(Reason::User), "{name}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn apps_from_a_claim_are_literal_names() {
        let issuer = Issuer::new(JwtSettings { apps: Said::Claim("apps".to_owned()), ..settings() });
        for (said, names) in [
            (json!("shop"), vec!["shop"]),
            (json!(["shop", "blog", "shop"]), vec!["shop", "blog"]),
            (json!("shop blog"), vec!["shop blog"]),
            (json!("*"), vec!["*"]),
            (json!(["shop-*", "*"]), vec!["shop-*", "*"]),
        ] {
            let apps = issuer.verify_with(json!({"apps": said})).await.unwrap().grant.apps;
            assert_eq!(apps, Names::literal(names));
            assert!(!apps.is_all() && !apps.allows("shop-1"), "{said}");
        }
        for said in [
            json!(null),
            json!(""),
            json!([]),
            json!([""]),
            json!(["shop", 1]),
            json!(["shop", ".."]),
            json!(["shop", null]),
            json!(1),
            json!({"shop": true}),
            json!([["shop"]]),
        ] {
            assert_eq!(issuer.verify_with(json!({"apps": said})).await, Err(Reason::Apps), "{said}");
        }
        let none = Issuer::new(JwtSettings { apps: Said::Fixed(Names::patterns([])), ..settings() });
        assert_eq!(none.verify_with(json!({})).await, Err(Reason::Apps));
    }

    #[tokio::test(start_paused = true)]
    async fn roles_from_a_claim() {
        let issuer = Issuer::new(JwtSettings { role: Said::Claim("role".to_owned()), ..settings() });
        for role in Role::ALL {
            let verified = issuer.verify_with(json!({"role": role.as_str()})).await.unwrap();
            assert_eq!(verified.grant.role, role);
            let users = verified.grant.users;
            assert_eq!((users.is_all(), users.only().is_some()), (role != Role::User, role == Role::User));
        }
        for said in [
            json!(null),
            json!(""),
            json!("Admin"),
            json!("root"),
            json!(["admin"]),
            json!("admin "),
            json!(4),
            json!("*"),
        ] {
            assert_eq!(issuer.verify_with(json!({"role": said})).await, Err(Reason::Role), "{said}");
        }
        // A role that is not tied to a user needs no name.
        let verified = issuer.verify_with(json!({"role": "agent", "sub": null})).await.unwrap();
        assert_eq!((verified.grant.users.is_all(), verified.id), (true, None));
        assert_eq!(issuer.verify_with(json!({"role": "user", "sub": null})).await, Err(Reason::User));
    }

    #[tokio::test(start_paused = true)]
    async fn without_keys_every_token_is_refused() {
        let mut issuer = Issuer::new(settings());
        issuer.jwt.keys = Jwks::new(KeySource::File("unused".into())).unwrap();
        assert_eq!(issuer.verify_with(json!({})).await, Err(Reason::NoKeys));
    }

    #[tokio::test(start_paused = true)]
    async fn the_keys_of_a_file_are_kept() {
        let path = std::env::temp_dir().join(format!("sessiond-jwt-{}.json", std::process::id()));
        let (old, new) = (SigningKey::ec(), SigningKey::ec());
        std::fs::write(&path, jwks(&[old.jwk(r#""kid":"old","#)])).unwrap();
        let jwt = Arc::new(Jwt::new(JwtSettings { source: KeySource::File(path.clone()), ..settings() }).unwrap());
        let keeping = jwt.clone();
        let keeper = tokio::spawn(async move { keeping.keep_keys(&Metrics::new()).await });
        let token = |key: &SigningKey, kid| key.sign(&format!(r#"{{"alg":"ES256","kid":"{kid}"}}"#), &with(json!({})));
        assert!(jwt.verify(&token(&old, "old"), NOW).await.is_ok());
        // A token with a newly published key causes a read at once.
        std::fs::write(&path, jwks(&[old.jwk(r#""kid":"old","#), new.jwk(r#""kid":"new","#)])).unwrap();
        assert!(jwt.verify(&token(&new, "new"), NOW).await.is_ok());
        assert!(jwt.verify(&token(&old, "old"), NOW).await.is_ok());
        assert_eq!(jwt.verify(&token(&old, "new"), NOW).await, Err(Reason::Signature));
        keeper.abort();
        std::fs::remove_file(&path).unwrap();
    }
}
