//! Database URLs: which parameters they may have, and what those mean.
//!
//! libpq is the yardstick: a parameter does here what it does there, or is refused by name. sqlx would log
//! what it does not know, with its value, and go on without it: a misspelt `sslmode` would leave the connection unprotected. Variables
//! of libpq count as the parameters that the URL leaves out. docs/postgresql.md says what to write instead.

use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt as _;

use percent_encoding::percent_decode_str;
use url::{Url, form_urlencoded};

use super::error::{Result, StoreError};

/// What is honoured, and the variable of libpq.
const HONOURED: [(&str, &str); 12] = [
    ("application_name", "PGAPPNAME"),
    ("dbname", "PGDATABASE"),
    ("host", "PGHOST"),
    ("hostaddr", "PGHOSTADDR"),
    ("options", "PGOPTIONS"),
    ("password", "PGPASSWORD"),
    ("port", "PGPORT"),
    ("sslcert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
    ("sslmode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("user", "PGUSER"),
];

/// sqlx's own, and its other spellings.
const STATEMENT_CACHE: &str = "statement-cache-capacity";
const SPELLINGS: [(&str, &str); 5] = [
    ("ssl-ca", "sslrootcert"),
    ("ssl-cert", "sslcert"),
    ("ssl-key", "sslkey"),
    ("ssl-mode", "sslmode"),
    ("ssl-root-cert", "sslrootcert"),
];

/// Other parameters of libpq that have a variable, or are taken with values that say what happens in any case.
const TAKEN: [(&str, &str, &[&str]); 26] = [
    ("channel_binding", "PGCHANNELBINDING", &["prefer", "disable"]),
    ("client_encoding", "PGCLIENTENCODING", &["auto", "UTF8", "utf8", "UTF-8", "utf-8"]),
    ("connect_timeout", "PGCONNECT_TIMEOUT", &[]),
    ("gssdelegation", "PGGSSDELEGATION", &["0"]),
    ("gssencmode", "PGGSSENCMODE", &["disable", "prefer"]),
    ("gsslib", "PGGSSLIB", &[]),
    ("keepalives", "", &["0"]),
    ("krbsrvname", "PGKRBSRVNAME", &[]),
    ("load_balance_hosts", "PGLOADBALANCEHOSTS", &["disable"]),
    ("max_protocol_version", "PGMAXPROTOCOLVERSION", &["3.0", "latest"]),
    ("min_protocol_version", "PGMINPROTOCOLVERSION", &["3.0"]),
    ("replication", "", &["0", "false", "no", "off"]),
    ("require_auth", "PGREQUIREAUTH", &[]),
    ("requirepeer", "PGREQUIREPEER", &[]),
    ("requiressl", "PGREQUIRESSL", &["0"]),
    ("service", "PGSERVICE", &[]),
    ("servicefile", "PGSERVICEFILE", &[]),
    ("ssl_max_protocol_version", "PGSSLMAXPROTOCOLVERSION", &["TLSv1.3"]),
    ("ssl_min_protocol_version", "PGSSLMINPROTOCOLVERSION", &["TLSv1", "TLSv1.1", "TLSv1.2"]),
    ("sslcertmode", "PGSSLCERTMODE", &["allow"]),
    ("sslcompression", "PGSSLCOMPRESSION", &["0"]),
    ("sslcrl", "PGSSLCRL", &[]),
    ("sslcrldir", "PGSSLCRLDIR", &[]),
    ("sslnegotiation", "PGSSLNEGOTIATION", &["postgres"]),
    ("sslsni", "PGSSLSNI", &["1"]),
    ("target_session_attrs", "PGTARGETSESSIONATTRS", &["any", "primary"]),
];

/// What other programs write into such URLs.
const OF_OTHERS: [(&[&str], &str); 8] = [
    (&["schema", "currentSchema", "search_path"], "write options[search_path]=NAME"),
    (
        &[
            "pgbouncer",
            "prepareThreshold",
            "prepared_statements",
            "prepared_statement_cache_size",
            "statement_cache_size",
            "default_query_exec_mode",
        ],
        "give --pgbouncer (SESSIOND_PGBOUNCER=true) behind a pooler",
    ),
    (
        &["connection_limit", "pool", "pool_size", "max_overflow", "pool_max_conns", "maximumPoolSize"],
        "give --database-connections",
    ),
    (&["pool_timeout", "connectTimeout", "loginTimeout", "timeout"], "give --acquire-timeout"),
    (&["statement_timeout", "socket_timeout", "socketTimeout", "command_timeout"], "give --statement-timeout"),
    (&["lock_timeout"], "give --lock-timeout"),
    (&["ssl", "sslaccept", "sslfactory", "sslidentity", "uselibpqcompat"], "write sslmode, as in sslmode=verify-full"),
    (&["ApplicationName"], "write application_name"),
];

const SSL_MODES: [&str; 6] = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

/// A URL of one of the two databases.
pub enum DatabaseUrl<'a> {
    /// As sqlx reads it: `postgres:///` with parameters alone, all of which it knows.
    Postgres(Url),
    /// The path of the file.
    Sqlite(&'a str),
}

impl<'a> DatabaseUrl<'a> {
    /// # Errors
    /// A URL of another kind or form, or one with a parameter that is not honoured, or that names a file which is not there. Never
    /// quotes a value that may be secret.
    #[expect(
        clippy::disallowed_methods,
        reason = "libpq's variables fill in what a URL leaves out, as the help of the setting says"
    )]
    pub fn parse(text: &'a str) -> Result<Self> {
        Self::parse_with(text, &|name| std::env::var(name).ok())
    }

    fn parse_with(text: &'a str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        if let Some(rest) = text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://")) {
            postgres(rest, variable).map(Self::Postgres)
        } else if let Some(path) = text.strip_prefix("sqlite://") {
            sqlite(path).map(Self::Sqlite)
        } else {
            Err(StoreError::config(
                "the database URL must begin with sqlite:// or postgres://, without the name of a driver",
            ))
        }
    }
}

/// Parameters, by libpq's names; the last of a name counts, but of `options[NAME]` all do.
#[derive(Default)]
struct Parameters(Vec<(String, String)>);

impl Parameters {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn set(&mut self, name: &str, value: &str) {
        if !name.starts_with("options[") {
            self.remove(name);
        }
        self.0.push((name.to_owned(), value.to_owned()));
    }

    fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| known != name);
    }
}

fn postgres(rest: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Url> {
    if rest.contains('#') {
        return Err(StoreError::config("the database URL has a `#`: write %23 if it belongs to a name or a password"));
    }
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, name) = rest.split_once('/').unwrap_or((rest, ""));
    let mut parameters = Parameters::default();
    read_authority(authority, &mut parameters)?;
    let name = name.trim_start_matches('/');
    if !name.is_empty() {
        parameters.set("dbname", &decoded(name)?);
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decoded(name)?;
        let name = SPELLINGS.iter().find(|(other, _)| *other == name).map_or(&*name, |(_, name)| name);
        let value = decoded(value)?;
        match (name, &*value) {
            // As JDBC writes it.
            ("ssl", "true") => parameters.set("sslmode", "require"),
            _ => {
                judge(name, &value, None)?;
                parameters.set(name, &value);
            }
        }
    }
    let has_host = parameters.get("host").is_some();
    for (name, of_libpq) in HONOURED.into_iter().chain(TAKEN.map(|(name, of_libpq, _)| (name, of_libpq))) {
        let value = Some(of_libpq).filter(|name| !name.is_empty()).and_then(variable).filter(|value| !value.is_empty());
        // A host of the URL is not reached at the address of another one.
        let is_of_another = name == "hostaddr" && has_host;
        if let Some(value) = value
            && parameters.get(name).is_none()
            && !is_of_another
        {
            judge(name, &value, Some(of_libpq))?;
            parameters.set(name, &value);
        }
    }
    parameters.0.retain(|(name, value)| !value.is_empty() && !TAKEN.iter().any(|(other, ..)| other == name));
    see_files(&mut parameters)?;
    canonical(&parameters)
}

/// User, password, host and port.
fn read_authority(authority: &str, parameters: &mut Parameters) -> Result<()> {
    let (login, place) = authority.rsplit_once('@').unwrap_or(("", authority));
    if !login.is_empty() {
        let (user, password) = login.split_once(':').map_or((login, None), |(user, password)| (user, Some(password)));
        for (name, value) in [("user", Some(user)), ("password", password)] {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                parameters.set(name, &decoded(value)?);
            }
        }
    }
    if place.contains(',') {
        return Err(StoreError::config(ONE_HOST));
    }
    let (host, port) = match place.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((host, port))) if host.parse::<IpAddr>().is_ok() => (host, port.strip_prefix(':').unwrap_or(port)),
        Some(_) => return Err(StoreError::config("the database URL has a host in brackets that is no IPv6 address")),
        None => place.split_once(':').unwrap_or((place, "")),
    };
    for (name, value) in [("host", decoded(host)?), ("port", decoded(port)?)] {
        if !value.is_empty() {
            judge(name, &value, None)?;
            parameters.set(name, &value);
        }
    }
    Ok(())
}

fn decoded(text: &str) -> Result<String> {
    let bad = "the database URL has a `%` that begins no escape: write %25 for it";
    let hex = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if text.match_indices('%').any(|(at, _)| !text.get(at + 1..at + 3).is_some_and(hex)) {
        return Err(StoreError::config(bad));
    }
    let decoded =
        percent_decode_str(text).decode_utf8().map_err(|_| StoreError::config("the database URL is not UTF-8"))?;
    match decoded.contains('\0') {
        true => Err(StoreError::config("the database URL has a NUL")),
        false => Ok(decoded.into_owned()),
    }
}

const ONE_HOST: &str = "the database URL names several hosts: name one that leads to the primary, such as a name in DNS that moves with it, \
                        a virtual address, or a proxy";

/// Whether a parameter is honoured with this value; `variable` has it, if not the URL.
fn judge(name: &str, value: &str, variable: Option<&str>) -> Result<()> {
    let place = variable
        .map_or_else(|| format!("the parameter `{name}` of the database URL"), |name| format!("the variable {name}"));
    let refuse = |why: &str| Err(StoreError::config(format!("{place} {why}")));
    let valid = |is: bool, form: &str| if is { Ok(()) } else { refuse(&format!("has no valid value: {form}")) };
    match name {
        "host" | "hostaddr" | "port" if value.contains(',') => return Err(StoreError::config(ONE_HOST)),
        "host" => return valid(!value.starts_with('@'), "write the folder of a socket, a name or an address"),
        "hostaddr" => return valid(value.is_empty() || value.parse::<IpAddr>().is_ok(), "write an IP address"),
        "port" => {
            let form = "write a number; %2F, %40 and %3A for a `/`, `@` and `:` of a name or a password";
            return valid(value.is_empty() || value.parse::<u16>().is_ok(), form);
        }
        "sslmode" => {
            let form = "write disable, prefer, require, verify-ca or verify-full";
            return valid(value.is_empty() || SSL_MODES.contains(&value), form);
        }
        STATEMENT_CACHE => return valid(value.parse::<usize>().is_ok(), "write a number"),
        _ if HONOURED.iter().any(|(known, _)| *known == name) => return Ok(()),
        _ if name.strip_prefix("options[").is_some_and(|rest| rest.ends_with(']')) => return Ok(()),
        _ => {}
    }
    if let Some((.., values)) = TAKEN.iter().find(|(known, ..)| *known == name) {
        let is_so = value.is_empty() || values.contains(&value);
        return if is_so {
            Ok(())
        } else {
            refuse("cannot be honoured: docs/postgresql.md says what to write instead")
        };
    }
    match OF_OTHERS.iter().find(|(names, _)| names.contains(&name)) {
        Some((_, instead)) => {
            Err(StoreError::config(format!("the database URL has the unknown parameter `{name}`: {instead}")))
        }
        None => Err(unknown(name)),
    }
}

/// Certificates and keys must be there, and TLS be as libpq has it with them.
fn see_files(parameters: &mut Parameters) -> Result<()> {
    let mode = parameters.get("sslmode").map(str::to_owned);
    if parameters.get("sslrootcert") == Some("system") {
        match mode.as_deref() {
            None | Some("verify-full") => parameters.set("sslmode", "verify-full"),
            Some(_) => return Err(StoreError::config("sslrootcert=system needs sslmode=verify-full")),
        }
        parameters.remove("sslrootcert");
    }
    if mode.as_deref() == Some("disable") {
        for name in ["sslrootcert", "sslcert", "sslkey"] {
            parameters.remove(name);
        }
        return Ok(());
    }
    // Encrypted wherever the server can.
    if mode.as_deref() == Some("allow") {
        parameters.set("sslmode", "prefer");
    }
    if mode.as_deref() == Some("require") && parameters.get("sslrootcert").is_some() {
        parameters.set("sslmode", "verify-ca");
    }
    for (name, holds, what) in [
        ("sslrootcert", "-----BEGIN CERTIFICATE-----", "certificate"),
        ("sslcert", "-----BEGIN CERTIFICATE-----", "certificate"),
        ("sslkey", "PRIVATE KEY-----", "private key"),
    ] {
        let Some(path) = parameters.get(name) else { continue };
        let refuse = |why: &str| Err(StoreError::config(format!("{name} of the database URL: {path}: {why}")));
        match fs::read(path) {
            Err(error) => return refuse(&error.to_string()),
            Ok(text) if !String::from_utf8_lossy(&text).contains(holds) => {
                return refuse(&format!("it holds no {what} in PEM"));
            }
            Ok(_) => {}
        }
        // As libpq has it: one of root's may be read by a group.
        let is_open = |found: &fs::Metadata| found.mode() & if found.uid() == 0 { 0o037 } else { 0o077 } != 0;
        if name == "sslkey" && fs::metadata(path).is_ok_and(|found| is_open(&found)) {
            return refuse("others may read the key: chmod 0600 it");
        }
    }
    if parameters.get("sslcert").is_some() != parameters.get("sslkey").is_some() {
        return Err(StoreError::config("the database URL names only one of sslcert and sslkey: both are needed"));
    }
    Ok(())
}

fn canonical(parameters: &Parameters) -> Result<Url> {
    let mut url: Url = "postgres:///".parse().map_err(|_| StoreError::config("the database URL is not valid"))?;
    // Of a host and an address, sqlx keeps the last.
    let (addresses, others): (Vec<_>, Vec<_>) = parameters.0.iter().partition(|(name, _)| name == "hostaddr");
    url.query_pairs_mut().extend_pairs(others).extend_pairs(addresses);
    Ok(url)
}

fn sqlite(text: &str) -> Result<&str> {
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        // What other programs write into such URLs, and what happens here in any case.
        match (&*name, &*value) {
            ("mode", "rwc") => {}
            ("mode", _) => return Err(StoreError::config("the parameter `mode` of a SQLite URL can only be `rwc`")),
            _ => return Err(unknown(&name)),
        }
    }
    if path.is_empty() || path.contains(":memory:") {
        return Err(StoreError::config("the database URL must name a file: sqlite://PATH"));
    }
    Ok(path)
}

fn unknown(name: &str) -> StoreError {
    // A `?` in a password makes the rest of it, and the host, the name of a parameter.
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.[]".contains(c);
    StoreError::config(match !name.is_empty() && name.len() <= 64 && name.chars().all(is_name) {
        true => format!(
            "the database URL has the unknown parameter `{name}`: docs/postgresql.md has those that it may have"
        ),
        false => "the database URL has an unknown parameter: write %3F for a `?` of a name or a password".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        DatabaseUrl::parse(url).map(|_| ()).expect_err(url).to_string()
    }

    /// The parameters as sqlx gets them.
    fn read(url: &str, variables: &[(&str, &str)]) -> Vec<(String, String)> {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        match DatabaseUrl::parse_with(url, &variable) {
            Ok(DatabaseUrl::Postgres(url)) => url.query_pairs().into_owned().collect(),
            Ok(DatabaseUrl::Sqlite(_)) => Vec::new(),
            Err(error) => panic!("{url}: {error}"),
        }
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_url_is_read_as_libpq_reads_it() {
        for (url, expected) in [
            ("postgres://", &[][..]),
            ("postgresql://h", &[("host", "h")]),
            ("postgres://u@[::1]:5432/n", &[("user", "u"), ("host", "::1"), ("port", "5432"), ("dbname", "n")]),
            ("postgres://[2001:db8::1]", &[("host", "2001:db8::1")]),
            (
                "postgres://u:p%40%2F@d%2De/a%20b",
                &[("user", "u"), ("password", "p@/"), ("host", "d-e"), ("dbname", "a b")],
            ),
            ("postgres://u:p@/n?host=/run", &[("user", "u"), ("password", "p"), ("dbname", "n"), ("host", "/run")]),
            ("postgres://%2Frun%2Fpg:7", &[("host", "/run/pg"), ("port", "7")]),
            ("postgres://:7", &[("port", "7")]),
            ("postgres://h?host=i&host=k&port=", &[("host", "k")]),
            ("postgres://h?password=a+b%2B", &[("host", "h"), ("password", "a+b+")]),
            ("postgres://h?hostaddr=::1&dbname=n", &[("host", "h"), ("dbname", "n"), ("hostaddr", "::1")]),
            (
                "postgres://?options[a]=1&options[b]=2&options=-c x=1",
                &[("options[a]", "1"), ("options[b]", "2"), ("options", "-c x=1")],
            ),
            ("postgres://?ssl=true", &[("sslmode", "require")]),
            ("postgres://?sslmode=allow", &[("sslmode", "prefer")]),
            ("postgres://?sslrootcert=system", &[("sslmode", "verify-full")]),
            ("postgres://?sslmode=disable&sslrootcert=/nowhere", &[("sslmode", "disable")]),
            (
                "postgres://?application_name=x&statement-cache-capacity=7",
                &[("application_name", "x"), ("statement-cache-capacity", "7")],
            ),
        ] {
            assert_eq!(read(url, &[]), pairs(expected), "{url}");
        }
        for path in ["a.db", "/tmp/a b%20c.db", "./a#b.db"] {
            for query in ["", "?", "?mode=rwc"] {
                let url = format!("sqlite://{path}{query}");
                assert!(matches!(DatabaseUrl::parse(&url), Ok(DatabaseUrl::Sqlite(found)) if found == path), "{url}");
            }
        }
    }

    #[test]
    fn variables_are_what_the_url_leaves_out() {
        let variables = [("PGHOST", "v"), ("PGHOSTADDR", "192.0.2.1"), ("PGPORT", ""), ("PGSSLMODE", "require")];
        assert_eq!(read("postgres://h", &variables), pairs(&[("host", "h"), ("sslmode", "require")]));
        let all = [("host", "v"), ("sslmode", "disable"), ("hostaddr", "192.0.2.1")];
        let mut found = read("postgres://?sslmode=disable", &variables);
        found.sort();
        let mut all = pairs(&all);
        all.sort();
        assert_eq!(found, all);
        for (name, value, says) in [
            ("PGSSLMODE", "verify_full", "the variable PGSSLMODE has no valid value"),
            ("PGPORT", "x", "the variable PGPORT has no valid value"),
            ("PGHOST", "a,b", "several hosts"),
            ("PGCHANNELBINDING", "require", "the variable PGCHANNELBINDING cannot be honoured"),
            ("PGSERVICE", "s", "the variable PGSERVICE cannot be honoured"),
        ] {
            let variable = |known: &str| (known == name).then(|| value.to_owned());
            let error = DatabaseUrl::parse_with("postgres://h2", &variable).map(drop);
            // A host in the URL wins.
            if name == "PGHOST" {
                assert!(error.is_ok());
                let error = DatabaseUrl::parse_with("postgres://", &variable).map(drop).expect_err(name).to_string();
                assert!(error.contains(says), "{error}");
                continue;
            }
            let error = error.expect_err(name).to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn what_says_what_happens_anyway_is_taken_and_the_rest_is_refused() {
        for (name, _, values) in TAKEN {
            for value in values {
                assert_eq!(
                    read(&format!("postgres://h?{name}={value}"), &[]),
                    pairs(&[("host", "h")]),
                    "{name}={value}"
                );
            }
            let refusal = refusal(&format!("postgres://h?{name}=HUSH"));
            assert!(refusal.contains(&format!("`{name}`")) && refusal.contains("docs/postgresql.md"), "{refusal}");
            assert!(!refusal.contains("HUSH"), "{refusal}");
        }
        for (name, instead) in
            OF_OTHERS.iter().flat_map(|(names, instead)| names.iter().map(move |name| (name, instead)))
        {
            let refusal = refusal(&format!("postgres://h?{name}=HUSH"));
            assert!(refusal.contains(&format!("`{name}`: {instead}")) && !refusal.contains("HUSH"), "{refusal}");
        }
        for url in [
            "postgres://u@h1,h2/n",
            "postgres://u@h1:1,h2:2/n",
            "postgres://?host=a,b",
            "postgres://h?port=1,2",
            "postgres://[::1],[::2]/n",
        ] {
            assert!(refusal(url).contains("names several hosts: name one"), "{url}");
        }
    }

    #[test]
    fn the_document_has_every_parameter() {
        const DOCUMENT: &str = include_str!("../../docs/postgresql.md");
        let has = |line: &str| assert!(DOCUMENT.contains(line), "docs/postgresql.md lacks {line}");
        for (name, variable) in HONOURED {
            has(&format!("`{name}`"));
            has(&format!("`{variable}`"));
        }
        for (name, _, values) in TAKEN {
            let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
            let values = if values.is_empty() { "\u{2014}".to_owned() } else { values.join(", ") };
            has(&format!("\n| `{name}` | {values} | "));
        }
        for (names, instead) in OF_OTHERS {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            has(&format!("\n| {} | {instead} |\n", names.join(", ")));
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        for name in ["sslrootcert", "sslcert", "sslkey", "ssl-ca"] {
            let refusal = refusal(&format!("postgres://h?{name}=/nowhere/x.pem"));
            assert!(refusal.contains("/nowhere/x.pem") && refusal.contains("No such file"), "{refusal}");
        }
        assert!(refusal("postgres://h?sslrootcert=/dev/null").contains("it holds no certificate"));
        assert!(refusal("postgres://h?sslmode=require&sslrootcert=system").contains("needs sslmode=verify-full"));
    }

    #[test]
    fn unknown_parameters_are_named_without_their_values() {
        for url in [
            "postgres://u:HUSH@h/n?sslpassword=HUSH",
            "postgresql://h?sslmode=require&sslpassword=HUSH&password=HUSH",
            "postgres://h?%73slpasswor%64=HUSH",
            "sqlite://a.db?sslpassword=HUSH",
            "sqlite://a.db?mode=rwc&sslpassword=HUSH",
        ] {
            let refusal = refusal(url);
            assert!(refusal.contains("`sslpassword`") && !refusal.contains("HUSH"), "{refusal}");
        }
        for (url, name) in [
            ("postgres://h?SSLMODE=require", "`SSLMODE`"),
            ("postgres://h?options[x=1", "`options[x`"),
            ("sqlite://a.db?cache=shared", "`cache`"),
            ("sqlite://a.db?mode=memory", "`mode`"),
        ] {
            assert!(refusal(url).contains(name), "{url}");
        }
    }

    #[test]
    fn what_may_be_a_part_of_a_password_is_not_shown() {
        for url in [
            "postgres://u:12?HUSH@h/n",
            "postgres://u:12?HUSH%20=x@h/n",
            "postgres://u:12#HUSH@h/n",
            "postgres://u:HUSH@h:x/n",
            "sqlite://:memory:?HUSH HUSH",
            "mysql://u:HUSH@h/n",
        ] {
            assert!(!refusal(url).contains("HUSH"), "{url}");
        }
    }
}
