//! Values of settings: durations, sizes, rates, addresses.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;
use std::{fmt, io};

use secrecy::SecretString;

use crate::blobs::PART;
use crate::domain::access::Role;
use crate::telemetry;

pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest duration of a setting, so that `now + timeout` cannot overflow.
pub(super) const MAX_DURATION: Duration = DAY;

/// The longest retention of the change feed: enough for a consumer that was away for a weekend, and a margin.
pub(super) const MAX_RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Events per second: from 0.001 to 1,000,000.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate(f64);

impl Rate {
    pub fn per_second(self) -> f64 {
        self.0
    }
}

impl FromStr for Rate {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // No exponents, no signs, no `inf`.
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        match text.parse() {
            Ok(rate @ 0.001..=1_000_000.0) if is_plain => Ok(Self(rate)),
            _ => Err("write a number of events per second between 0.001 and 1000000, like 50 or 0.5"),
        }
    }
}

/// Whether only processes of this machine can reach the address. Includes `::ffff:127.0.0.1`.
pub(super) fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Why the service cannot listen on an address.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The host has no address.
    #[error("cannot find the listen address {0}: {1}")]
    Unknown(Address, io::Error),
    /// Others could reach the address, and no credential would be required.
    #[error(
        "{0} is not a loopback address and there is no authentication: give --admin-key-file, or make a key (`sessiond keys \
         create`); or give --insecure-no-auth (SESSIOND_INSECURE_NO_AUTH=true) if only trusted clients can reach it"
    )]
    Exposed(SocketAddr),
}

/// `HOST:PORT`: an IPv4 address, an IPv6 address in brackets, or a name, and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(String);

impl Address {
    /// All addresses of the name, at least one.
    ///
    /// # Errors
    /// The name has no address, or the resolver fails.
    pub async fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        let addresses: Vec<_> = tokio::net::lookup_host(&self.0).await?.collect();
        if addresses.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
        }
        Ok(addresses)
    }

    /// The address for connecting from this machine: "every address" (`0.0.0.0`, `[::]`) becomes loopback.
    ///
    /// # Errors
    /// As of [`Address::resolve`].
    pub async fn resolve_to_connect(&self) -> io::Result<Vec<SocketAddr>> {
        let mut addresses = self.resolve().await?;
        for address in &mut addresses {
            if address.ip().is_unspecified() {
                address.set_ip(if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
            }
        }
        Ok(addresses)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Address {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "write it like 127.0.0.1:8080, [::1]:8080 or localhost:8080";
        if text.parse::<SocketAddr>().is_err() {
            let (host, port) = text.rsplit_once(':').ok_or(FORM)?;
            if host.is_empty() || host.contains(|c: char| c.is_whitespace() || "[]:/*@".contains(c)) {
                return Err(FORM);
            }
            port.parse::<u16>().map_err(|_| FORM)?;
        }
        Ok(Self(text.to_owned()))
    }
}

/// Where metrics are served, if anywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetricsListen {
    Off,
    At(Address),
}

impl FromStr for MetricsListen {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "off" { Ok(Self::Off) } else { text.parse().map(Self::At) }
    }
}

/// A link out of the console: its text, and an address with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleLink {
    pub name: String,
    /// An http or https URL; the placeholders are behind its host.
    pub template: String,
}

impl ConsoleLink {
    pub const PLACEHOLDERS: [&str; 5] = ["app", "user", "session", "invocation", "event"];
}

impl FromStr for ConsoleLink {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, template) = text.split_once('=').ok_or("write it like Trace=https://host/{session}")?;
        let (name, template) = (name.trim(), template.trim());
        if name.is_empty() || name.chars().count() > 40 || name.chars().any(char::is_control) {
            return Err("the name is 1 to 40 characters");
        }
        let rest = template.strip_prefix("https://").or_else(|| template.strip_prefix("http://"));
        let (host, _) = rest.and_then(|rest| rest.split_once('/')).ok_or("must be an http or https URL with a path")?;
        if host.is_empty() || host.contains(['{', '}', '@', '\\', '?', '#']) {
            return Err("the host has no placeholder, and no user");
        }
        if template.len() > 2048
            || !template.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`|".contains(&byte))
        {
            return Err("percent-encode what no URL may hold; 2048 characters at most");
        }
        let mut parts = template.split('{');
        let is_plain = |part: &str| !part.contains('}');
        let is_known = |part: &str| {
            part.split_once('}').is_some_and(|(name, rest)| Self::PLACEHOLDERS.contains(&name) && is_plain(rest))
        };
        if !parts.next().is_some_and(is_plain) || !parts.all(is_known) {
            return Err("placeholders are {app}, {user}, {session}, {invocation} and {event}");
        }
        Ok(Self { name: name.to_owned(), template: template.to_owned() })
    }
}

/// A role by its name.
///
/// # Errors
/// There is no such role.
pub(super) fn role(text: &str) -> Result<Role, String> {
    Role::parse(text).ok_or_else(|| "must be reader, user, agent, operator or admin".to_owned())
}

pub(super) fn secret(text: &str) -> Result<SecretString, std::convert::Infallible> {
    Ok(text.into())
}

pub(super) fn log_filter(text: &str) -> Result<String, String> {
    telemetry::filter(text)?;
    Ok(text.to_owned())
}

/// At least 1, and small enough that no semaphore or pool overflows.
pub(super) fn count(text: &str) -> Result<u32, &'static str> {
    match text.parse() {
        Ok(0) => Err("must be at least 1"),
        Ok(number @ 1..=1_000_000_000) => Ok(number),
        _ => Err("write a whole number between 1 and 1000000000"),
    }
}

pub(super) fn count_usize(text: &str) -> Result<usize, &'static str> {
    Ok(count(text)? as usize)
}

/// The leading number and the rest: `8MiB` is 8 and `MiB`. A number above `u64` becomes its maximum.
pub(super) fn number_and_unit(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    (!digits.is_empty()).then(|| (digits.parse().unwrap_or(u64::MAX), unit.trim_start()))
}

/// A number of bytes that one part of a file may have, or `0`.
pub(super) fn inline_bytes(text: &str) -> Result<usize, &'static str> {
    match if text == "0" { Ok(0) } else { bytes(text) } {
        Ok(bytes) if bytes > PART => Err("must be at most 256KiB"),
        parsed => parsed,
    }
}

/// A number of bytes, at least 1: `65536`, `512KiB`, `8MiB`, `1GiB`.
pub(super) fn bytes(text: &str) -> Result<usize, &'static str> {
    const FORM: &str = "write a number of bytes, like 65536, or one with KiB, MiB or GiB, like 8MiB";
    let (number, unit) = number_and_unit(text).ok_or(FORM)?;
    let factor = match unit {
        "" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(FORM),
    };
    match number.checked_mul(factor) {
        Some(0) => Err("must be at least 1 byte"),
        Some(bytes) if bytes <= 1 << 40 => usize::try_from(bytes).map_err(|_| "too large for this machine"),
        _ => Err("must be at most 1024GiB"),
    }
}

/// A duration, 0 included: `10` and `10s`, `500ms`, `2m`, `1h`.
pub(super) fn duration(text: &str) -> Result<Duration, &'static str> {
    let duration = unbounded(text)?;
    if duration <= MAX_DURATION { Ok(duration) } else { Err("must be at most 24h") }
}

/// A retention, which may be in days.
///
/// # Errors
/// Not a duration, or more than a week.
pub(super) fn retention(text: &str) -> Result<Duration, &'static str> {
    let duration = match text.strip_suffix('d').and_then(|days| days.parse::<u32>().ok()) {
        Some(days) => DAY * days,
        None => unbounded(text).map_err(|_| "write it like 12h or 7d; a number alone is seconds")?,
    };
    if duration <= MAX_RETENTION { Ok(duration) } else { Err("must be at most 7d") }
}

pub(super) fn unbounded(text: &str) -> Result<Duration, &'static str> {
    const FORM: &str = "write it like 10s, 500ms, 2m or 1h; a number alone is seconds";
    let (number, unit) = number_and_unit(text).ok_or(FORM)?;
    let millis = match unit {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60 * 1000,
        "h" => 60 * 60 * 1000,
        _ => return Err(FORM),
    };
    Ok(Duration::from_millis(number.saturating_mul(millis)))
}

/// A duration longer than 0.
///
/// # Errors
/// Not a duration, or 0.
pub(super) fn period(text: &str) -> Result<Duration, &'static str> {
    match duration(text) {
        Ok(Duration::ZERO) => Err("must be longer than 0"),
        other => other,
    }
}

/// A duration, which may be in days.
pub(super) fn long_period(text: &str) -> Result<Duration, String> {
    match text.strip_suffix('d').and_then(|days| days.parse::<u32>().ok()) {
        Some(days) if days > 0 => Ok(DAY * days),
        _ => period(text).map_err(str::to_owned),
    }
}
