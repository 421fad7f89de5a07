//! Which settings do not go together.

use secrecy::ExposeSecret as _;

use super::Config;
use crate::access::jwt::KeySource;
use crate::features::lacks;
use crate::store::open::check_url;

/// The largest request body in bytes. Neither database stores a longer text (SQLite 10^9 bytes, PostgreSQL 1 GiB).
const MAX_BODY_BYTES: usize = 1_000_000_000;

impl Config {
    /// Checks that involve several options. Messages never contain the database URL.
    pub(super) fn validate(&self) -> Result<(), String> {
        let url = self.database_url.expose_secret();
        check_url(url).map_err(|error| format!("--database-url (DATABASE_URL): {error}"))?;
        if self.max_body_bytes > MAX_BODY_BYTES {
            return Err(format!(
                "--max-body-bytes ({}) must not exceed {MAX_BODY_BYTES}, the longest text that a database takes",
                self.max_body_bytes
            ));
        }
        let at_most = [
            ("--max-value-bytes", self.max_value_bytes, "--max-event-bytes", self.max_event_bytes),
            ("--max-event-bytes", self.max_event_bytes, "--max-body-bytes", self.max_body_bytes),
            ("--max-body-bytes", self.max_body_bytes, "--max-buffered-bytes", self.max_buffered_bytes),
            ("--max-page-bytes", self.max_page_bytes, "--max-answer-bytes", self.max_answer_bytes),
        ];
        for (part, part_bytes, whole, whole_bytes) in at_most {
            if part_bytes > whole_bytes {
                return Err(format!("{part} ({part_bytes}) must not exceed {whole} ({whole_bytes}), which holds it"));
            }
        }
        self.validate_access()?;
        // A connection is silent while its request is being served, and between two heartbeats.
        let silent = [("--request-timeout", self.request_timeout), ("--watch-heartbeat", self.watch_heartbeat)];
        match silent.into_iter().find(|(_, time)| self.idle_timeout <= *time) {
            Some((setting, time)) => {
                Err(format!("--idle-timeout ({:?}) must exceed {setting} ({time:?})", self.idle_timeout))
            }
            None => Ok(()),
        }
    }

    fn validate_access(&self) -> Result<(), String> {
        let is_given = [
            ("--jwt-issuer", self.jwt_issuer.is_some()),
            ("--jwt-audience", self.jwt_audience.is_some()),
            ("--jwt-jwks-url", self.jwt_jwks_url.is_some()),
            ("--jwt-jwks-file", self.jwt_jwks_file.is_some()),
            ("--jwt-user-claim", self.jwt_user_claim.is_some()),
            ("--jwt-apps", !self.jwt_apps.is_empty()),
            ("--jwt-apps-claim", self.jwt_apps_claim.is_some()),
            ("--jwt-role", self.jwt_role.is_some()),
            ("--jwt-role-claim", self.jwt_role_claim.is_some()),
        ];
        let Some((flag, _)) = is_given.into_iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
        if !cfg!(feature = "jwt") {
            return Err(lacks(flag, "jwt"));
        }
        if self.jwt_issuer.is_none() {
            return Err(format!("{flag} says something about JWTs: --jwt-issuer is needed, too"));
        }
        if self.jwt_audience.is_none() {
            return Err("--jwt-issuer needs --jwt-audience: JWTs for other services would hold here".to_owned());
        }
        if self.jwt_jwks_url.is_some() == self.jwt_jwks_file.is_some() {
            return Err("--jwt-issuer needs either --jwt-jwks-url or --jwt-jwks-file".to_owned());
        }
        if self.jwt_apps.is_empty() == self.jwt_apps_claim.is_none() {
            return Err("--jwt-issuer needs either --jwt-apps or --jwt-apps-claim".to_owned());
        }
        if self.jwt_role.is_some() && self.jwt_role_claim.is_some() {
            return Err("either --jwt-role or --jwt-role-claim says the role of a JWT, not both".to_owned());
        }
        self.jwks_source().map(drop)
    }

    /// Where the issuer's keys are.
    pub(super) fn jwks_source(&self) -> Result<KeySource, String> {
        match (&self.jwt_jwks_url, &self.jwt_jwks_file) {
            (Some(url), _) => KeySource::url(url).map_err(|why| format!("--jwt-jwks-url: {why}")),
            (None, file) => Ok(KeySource::File(file.clone().unwrap_or_default())),
        }
    }
}
