//! `sessiond keys`: API keys, for operators with access to the database. Works while servers run; they follow changes
//! within 5 s.

use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::Instant;

use crate::access::{self, AuthSettings, Authenticator, Client};
use crate::config::{Config, KeysCommand};
use crate::domain::access::{ApiKey, KeyDraft, Names};
use crate::domain::session::Expiry;
use crate::domain::time::Micros;
use crate::service::SystemClock;
use crate::startup::{StartError, open_beside};

/// A warning for a key that no running server checks: it may be in the wrong database.
const NOT_SERVED: &str = "no process serves this database: one that is started on it asks for a key\n";

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Access(#[from] access::Error),
}

/// The output of a command: standard output for programs, standard error for people.
#[derive(Debug, Default)]
pub struct Printed {
    pub output: String,
    pub note: String,
}

/// # Errors
/// The database cannot be opened; there is no such key; a name or a pattern is invalid.
pub async fn run(config: &Config, command: KeysCommand) -> Result<Printed, Error> {
    let store = open_beside(config, false).await?;
    let settings = AuthSettings { required: true, admin_key: None, jwt: None };
    let started = Authenticator::start(store.clone(), Arc::new(SystemClock), settings).await;
    let authenticator = started.map_err(StartError::from)?;
    let deadline = Instant::now() + config.request_timeout;
    let makes_key = matches!(command, KeysCommand::Create { .. });
    let mut done = perform(&authenticator, command, deadline).await;
    if let Ok(printed) = &mut done
        && makes_key
        && store.is_open_elsewhere(deadline).await.is_ok_and(|is_open| is_open == Some(false))
    {
        printed.note += NOT_SERVED;
    }
    store.close().await;
    done
}

async fn perform(authenticator: &Authenticator, command: KeysCommand, deadline: Instant) -> Result<Printed, Error> {
    // An operator with access to the database has all permissions.
    let client = Client::anyone();
    match command {
        KeysCommand::Create { name, role, apps, users, ttl } => {
            let draft = KeyDraft {
                name: Some(name),
                role: Some(role),
                apps: Some(patterns("apps", &apps)?),
                users: Some(patterns("users", &users)?),
                expiry: ttl.map(|ttl| Some(Expiry::In(micros(ttl)))),
            };
            let (key, text) = authenticator.create_key(&client, draft, deadline).await?;
            Ok(made(&key, &text))
        }
        KeysCommand::List => {
            let (keys, _) = authenticator.keys(&client, "", usize::MAX, deadline).await?;
            Ok(Printed { output: keys.iter().map(|key| line(key) + "\n").collect(), ..Printed::default() })
        }
        KeysCommand::Revoke { id } => {
            authenticator.revoke_key(&client, &id, deadline).await?;
            Ok(Printed { note: format!("{id} is revoked\n"), ..Printed::default() })
        }
        KeysCommand::RotateTokenSecret => {
            authenticator.replace_token_secret(deadline).await?;
            let note = "all tokens of users from before are void, in every process within 5 s\n".to_owned();
            Ok(Printed { note, ..Printed::default() })
        }
        KeysCommand::Rotate { id, overlap } => {
            let (key, text, until) = authenticator.rotate_key(&client, &id, micros(overlap), deadline).await?;
            let mut printed = made(&key, &text);
            printed.note += &format!("{id} holds until {}\n", until.to_number());
            Ok(printed)
        }
    }
}

fn patterns(field: &str, texts: &[String]) -> Result<Names, access::Error> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    Ok(Names::parse(field, &texts)?)
}

fn made(key: &ApiKey, text: &SecretString) -> Printed {
    Printed { output: format!("{}\n", text.expose_secret()), note: format!("{}\n", line(key)) }
}

/// A line for people, without the secret.
fn line(key: &ApiKey) -> String {
    let ApiKey { id, name, grant, expire_time, last_used_time, .. } = key;
    let time = |time: &Option<Micros>| time.map_or_else(|| "never".to_owned(), Micros::to_number);
    format!(
        "{id} role={} apps={} users={} expires={} used={} name={name}",
        grant.role,
        grant.apps.to_patterns().join(","),
        grant.users.to_patterns().join(","),
        time(expire_time),
        time(last_used_time)
    )
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
