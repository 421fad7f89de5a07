//! Whether a request comes from a page of another site, judging by browser headers.
//!
//! A server without authentication trusts every client that can reach it, and a browser on the same machine reaches it
//! on behalf of any page that it shows. There are two ways to do that, and [`OriginPolicy::check`] closes both:
//!
//! * **Requests across origins.** Forms, images and `fetch` in `no-cors` mode are sent without a preflight. The browser
//!   marks them with `Origin`, which a page cannot forge, or with `Sec-Fetch-Site: cross-site`.
//! * **DNS rebinding.** A name of the attacker's that resolves to the server's address makes the server part of the
//!   attacker's own origin. `Host` still has that name.
//!
//! Requests that no browser sent have neither `Origin` nor `Sec-Fetch-Site`; only their `Host` is checked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A host and a port, as in `Host` and in the authority of a URL (RFC 9110 section 7.2), without user information.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    name: Name,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Ip(IpAddr),
    /// In lower case, without the final dot. Empty if `Host` is.
    Dns(String),
}

impl Host {
    /// `None` if the text has another form.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, port) = rest.split_once(']')?;
                (Name::Ip(address.parse::<Ipv6Addr>().ok()?.into()), port)
            }
            None => {
                let (name, port) = text.split_at(text.find(':').unwrap_or(text.len()));
                (Name::parse(name)?, port)
            }
        };
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => None,
            // RFC 3986 allows a colon without a port.
            Some("") => None,
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => Some(digits.parse().ok()?),
            _ => return None,
        };
        Some(Self { name, port })
    }

    /// The port, or the default port of this scheme.
    fn port(&self, scheme: &str) -> Option<u16> {
        self.port.or(match scheme {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        })
    }

    /// An IP address, `localhost` or a name below it: no name service of an attacker can redirect it.
    fn is_fixed(&self) -> bool {
        match &self.name {
            Name::Ip(_) => true,
            Name::Dns(name) => {
                name.rsplit('.').next() == Some("localhost") && name.split('.').all(|label| !label.is_empty())
            }
        }
    }
}

impl Name {
    fn parse(text: &str) -> Option<Self> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=".contains(&b);
        if !text.bytes().all(allowed) {
            return None;
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        Some(match name.parse::<Ipv4Addr>() {
            Ok(address) => Self::Ip(address.into()),
            Err(_) => Self::Dns(name.to_ascii_lowercase()),
        })
    }
}

/// Scheme, host and port (RFC 6454).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    scheme: String,
    name: Name,
    port: Option<u16>,
}

impl Origin {
    /// The origin of a URL with this scheme and authority.
    pub fn new(scheme: &str, host: &Host) -> Self {
        let scheme = scheme.to_ascii_lowercase();
        Self { port: host.port(&scheme), name: host.name.clone(), scheme }
    }

    /// `None` for `null`, the origin of pages without one, and for invalid text.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"+-.".contains(&b);
        let host = Host::parse(authority)?;
        let is_origin = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(allowed)
            && host.name != Name::Dns(String::new());
        is_origin.then(|| Self::new(scheme, &host))
    }
}

impl FromStr for Origin {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let exact = Self::parse(text.trim()).filter(|_| !text.contains('*'));
        exact.ok_or("write origins like https://app.example.com, without a path, separated by commas")
    }
}

/// One entry of `--allowed-hosts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowedHost {
    Any,
    /// Without a port, it allows every port.
    One(Host),
}

impl AllowedHost {
    fn allows(&self, host: &Host) -> bool {
        match self {
            Self::Any => true,
            Self::One(allowed) => {
                allowed.name == host.name && (allowed.port.is_none() || allowed.port == host.port("http"))
            }
        }
    }
}

impl FromStr for AllowedHost {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim() {
            "*" => Some(Self::Any),
            name if name.is_empty() || name.contains('*') => None,
            name => Host::parse(name).map(Self::One),
        }
        .ok_or("write names like sessiond or api.example.com:8080, separated by commas, or * for all")
    }
}

/// Hosts and origins that are allowed in addition to those that always are.
#[derive(Debug, Clone, Default)]
pub struct OriginPolicy {
    /// `--allowed-hosts`
    pub hosts: Vec<AllowedHost>,
    /// `--cors-origins`
    pub origins: Vec<Origin>,
}

/// The parts of a request that show where it comes from and where it goes.
#[derive(Debug, Clone, Copy)]
pub struct RequestOrigin<'a> {
    /// The authorities that it is sent to: `Host`, and that of the request target if it has one. If there is none, the
    /// request is not from a browser, which always sends one.
    pub hosts: &'a [Host],
    /// The server's own origin, as the request sees it.
    pub own: Option<&'a Origin>,
    /// Its `Origin`. The inner `None` is `null` or cannot be parsed.
    pub origin: Option<Option<&'a Origin>>,
    /// Its `Sec-Fetch-Site` is `cross-site`.
    pub cross_site: bool,
    /// It asks for a page, to which other sites may link.
    pub page: bool,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    #[error("the request's Host is neither an IP address nor localhost, nor a name that --allowed-hosts lists")]
    Host,
    #[error("the request comes from a web page of another origin, which --cors-origins does not list")]
    Origin,
}

impl OriginPolicy {
    /// # Errors
    /// The request comes from a page of another site, or uses a host name that is not this server's.
    pub fn check(&self, request: &RequestOrigin<'_>) -> Result<(), Foreign> {
        let is_ours = |host: &Host| host.is_fixed() || self.hosts.iter().any(|allowed| allowed.allows(host));
        if !request.hosts.iter().all(is_ours) {
            return Err(Foreign::Host);
        }
        if request.page {
            return Ok(());
        }
        let passes = match request.origin {
            // For these, `Sec-Fetch-Site` is rightly `cross-site`.
            Some(Some(origin)) if self.lists(origin) => true,
            Some(origin) => origin.is_some() && origin == request.own && !request.cross_site,
            None => !request.cross_site,
        };
        if passes { Ok(()) } else { Err(Foreign::Origin) }
    }

    /// Whether `--cors-origins` contains it.
    pub fn lists(&self, origin: &Origin) -> bool {
        self.origins.contains(origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(hosts: &[&str], origins: &[&str]) -> OriginPolicy {
        OriginPolicy {
            hosts: hosts.iter().map(|host| host.parse().unwrap()).collect(),
            origins: origins.iter().map(|origin| origin.parse().unwrap()).collect(),
        }
    }

    /// Judges a request to `http://HOST/`.
    fn check(
        policy: &OriginPolicy,
        host: &str,
        origin: Option<&str>,
        cross_site: bool,
        page: bool,
    ) -> Result<(), Foreign> {
        let host = Host::parse(host).unwrap();
        let own = Origin::new("http", &host);
        let origin = origin.map(Origin::parse);
        policy.check(&RequestOrigin {
            hosts: &[host],
            own: Some(&own),
            origin: origin.as_ref().map(Option::as_ref),
            cross_site,
            page,
        })
    }

    #[test]
    fn what_no_name_service_decides_is_ours() {
        let policy = OriginPolicy::default();
        for host in [
            "127.0.0.1",
            "127.0.0.1:8080",
            "127.0.0.1.",
            "10.1.2.3:1",
            "[::1]",
            "[::1]:8080",
            "[fe80::1]:80",
            "localhost",
            "LocalHost:8080",
            "localhost.",
            "localhost.:8080",
            "localhost:",
            "a.localhost",
            "a.B.LOCALHOST.:9",
        ] {
            assert_eq!(check(&policy, host, None, false, false), Ok(()), "{host}");
        }
        for host in [
            "",
            ":8080",
            "evil.example",
            "evil.example:8080",
            "localhost.evil.example",
            "evillocalhost",
            "localhost..",
            ".localhost",
            "a..localhost",
            "127.0.0.1.evil.example",
            "127.0.0.1.nip.io",
            "0x7f.1",
            "127.1",
            "2130706433",
            "%6cocalhost",
            "local",
        ] {
            assert_eq!(check(&policy, host, None, false, false), Err(Foreign::Host), "{host}");
            assert_eq!(check(&policy, host, None, false, true), Err(Foreign::Host), "{host}");
        }
    }

    #[test]
    fn what_is_no_host_is_told_apart() {
        for text in [
            "a b",
            "a/b",
            "user@localhost",
            "localhost:x",
            "localhost:-1",
            "localhost:65536",
            "localhost:1:2",
            "::1",
            "[::1",
            "[::1]8080",
            "[::1]:x",
            "[localhost]",
            "[fe80::1%25eth0]",
            "localhost\0",
            "h\u{f6}st",
            "localhost, evil.example:1 ",
            "http://localhost",
        ] {
            assert_eq!(Host::parse(text), None, "{text}");
        }
    }

    #[test]
    fn names_can_be_allowed_with_and_without_a_port() {
        let policy = policy(&["sessiond", " API.example.com.:8443"], &[]);
        for (host, expected) in [
            ("sessiond", true),
            ("SESSIOND:1", true),
            ("sessiond.:8080", true),
            ("api.example.com:8443", true),
            ("api.example.com.:8443", true),
            ("api.example.com", false),
            ("api.example.com:80", false),
            ("x.sessiond", false),
            ("sessiond.example", false),
        ] {
            assert_eq!(check(&policy, host, None, false, false).is_ok(), expected, "{host}");
        }
        let port_80 = self::policy(&["a:80"], &[]);
        assert!(check(&port_80, "a", None, false, false).is_ok());
        let all = self::policy(&["*"], &[]);
        for host in ["evil.example", "", "x:1"] {
            assert_eq!(check(&all, host, None, false, false), Ok(()), "{host}");
        }
        for bad in ["", " ", "*.example.com", "http://a", "a/b", "a b", "a:x", "user@a"] {
            assert!(bad.parse::<AllowedHost>().is_err(), "{bad}");
        }
    }

    #[test]
    fn only_the_very_same_origin_and_those_listed_are_ours() {
        let policy = policy(&[], &["https://app.example.com", "http://LocalHost:3000", "chrome-extension://abc"]);
        for (host, origin, expected) in [
            ("localhost:8080", "http://localhost:8080", true),
            ("LOCALHOST.:8080", "http://localhost:8080", true),
            ("localhost", "http://localhost", true),
            ("localhost", "http://localhost:80", true),
            ("localhost:80", "http://localhost", true),
            ("[::1]:8080", "http://[0::1]:8080", true),
            ("localhost:8080", "https://app.example.com", true),
            ("localhost:8080", "https://app.example.com:443", true),
            ("localhost:8080", "http://localhost:3000", true),
            ("localhost:8080", "chrome-extension://abc", true),
            ("localhost:8080", "null", false),
            ("localhost:8080", "", false),
            ("localhost:8080", "localhost:8080", false),
            ("localhost:8080", "http://", false),
            ("localhost:8080", "http://localhost:8080/", false),
            ("localhost:8080", "http://localhost:8080 http://localhost:8080", false),
            ("localhost:8080", "http://x@localhost:8080", false),
            ("localhost:8080", "https://localhost:8080", false),
            ("localhost:8080", "http://localhost", false),
            ("localhost:8080", "http://localhost:8081", false),
            ("localhost:8080", "http://127.0.0.1:8080", false),
            ("localhost:8080", "http://a.localhost:8080", false),
            ("localhost:8080", "http://app.example.com", false),
            ("localhost:8080", "https://app.example.com:8443", false),
            ("localhost:8080", "https://x.app.example.com", false),
            ("localhost:8080", "http://evil.example", false),
        ] {
            let answer = if expected { Ok(()) } else { Err(Foreign::Origin) };
            assert_eq!(check(&policy, host, Some(origin), false, false), answer, "{origin} at {host}");
            assert_eq!(check(&policy, host, Some(origin), false, true), Ok(()), "{origin} at a page of {host}");
        }
        for bad in [
            "*",
            "null",
            "",
            "app.example.com",
            "https://app.example.com/",
            "https://*.example.com",
            "https://a:x",
            "https://",
        ] {
            assert!(bad.parse::<Origin>().is_err(), "{bad}");
        }
    }

    #[test]
    fn what_a_browser_calls_cross_site_is_foreign_unless_its_origin_is_listed() {
        let policy = policy(&[], &["https://app.example.com"]);
        let host = "localhost:8080";
        assert_eq!(check(&policy, host, None, true, false), Err(Foreign::Origin));
        assert_eq!(check(&policy, host, Some("http://localhost:8080"), true, false), Err(Foreign::Origin));
        assert_eq!(check(&policy, host, Some("https://app.example.com"), true, false), Ok(()));
        assert_eq!(check(&policy, host, None, true, true), Ok(()));
    }

    #[test]
    fn without_a_host_no_origin_is_the_own_one() {
        let origin = Origin::parse("http://localhost").unwrap();
        let claims = RequestOrigin { hosts: &[], own: None, origin: None, cross_site: false, page: false };
        assert_eq!(OriginPolicy::default().check(&claims), Ok(()));
        for origin in [None, Some(&origin)] {
            assert_eq!(
                OriginPolicy::default().check(&RequestOrigin { origin: Some(origin), ..claims }),
                Err(Foreign::Origin)
            );
        }
    }
}
