//! Database URLs: which parameters they may have.
//!
//! sqlx logs a parameter that it does not know, with its value, and goes on without it: a misspelt `sslmode` would leave the
//! connection unprotected, and an `sslpassword` would be in the log. So they are refused here, by name.

use url::{Url, form_urlencoded};

use super::error::StoreError;

type Result<T> = std::result::Result<T, StoreError>;

/// What sqlx 0.9 takes in the query of a PostgreSQL URL, besides `options[NAME]`.
const POSTGRES_PARAMETERS: [&str; 18] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "ssl-root-cert",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
];

/// A URL of one of the two databases.
pub enum DatabaseUrl<'a> {
    Postgres(Url),
    /// The path of the file.
    Sqlite(&'a str),
}

impl<'a> DatabaseUrl<'a> {
    /// # Errors
    /// A URL of another kind or form, or one with a parameter that is not known. Never quotes a value.
    pub fn parse(text: &'a str) -> Result<Self> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            postgres(text).map(Self::Postgres)
        } else if let Some(path) = text.strip_prefix("sqlite://") {
            sqlite(path).map(Self::Sqlite)
        } else {
            Err(StoreError::config("the database URL must begin with sqlite:// or postgres://"))
        }
    }
}

fn postgres(text: &str) -> Result<Url> {
    let url: Url = text.parse().map_err(|_| StoreError::config("the database URL is not a valid postgres:// URL"))?;
    if url.fragment().is_some() {
        return Err(StoreError::config("the database URL has a `#`: write %23 if it belongs to a name or a password"));
    }
    for (name, _) in url.query_pairs() {
        let is_option = name.strip_prefix("options[").is_some_and(|rest| rest.ends_with(']'));
        if !is_option && !POSTGRES_PARAMETERS.contains(&&*name) {
            return Err(unknown(&name));
        }
    }
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
        true => format!("the database URL has the unknown parameter `{name}`"),
        false => "the database URL has an unknown parameter: write %3F for a `?` of a name or a password".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        DatabaseUrl::parse(url).map(|_| ()).expect_err(url).to_string()
    }

    #[test]
    fn what_sqlx_takes_is_taken() {
        for name in POSTGRES_PARAMETERS.iter().copied().chain(["options[geqo]"]) {
            let url = format!("postgres://u:p@h/n?{name}=1&{name}=2");
            assert!(matches!(DatabaseUrl::parse(&url), Ok(DatabaseUrl::Postgres(_))), "{url}");
        }
        for path in ["a.db", "/tmp/a b%20c.db", "./a#b.db"] {
            for query in ["", "?", "?mode=rwc"] {
                let url = format!("sqlite://{path}{query}");
                assert!(matches!(DatabaseUrl::parse(&url), Ok(DatabaseUrl::Sqlite(found)) if found == path), "{url}");
            }
        }
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
