//! The command line: commands and their arguments.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::Resettable;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches as _, Parser, Subcommand};

use crate::domain::access::{Role, key_name};
use crate::domain::ids::{AppName, SessionId, UserId};
use crate::features::missing;

use super::Config;
use super::values::{long_period, role};

/// Session state for AI agents as a service: sessions, events and scoped state over HTTP.
#[derive(Debug, Parser)]
#[command(name = "sessiond", version)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    pub config: Config,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Subcommand)]
pub enum Command {
    /// Serve until SIGTERM or SIGINT, then drain (the default command)
    #[default]
    Serve,
    /// Apply pending database migrations and exit
    Migrate {
        /// Then distribute all tables by app over the nodes of Citus; a second time, only what is new
        #[arg(long)]
        citus: bool,
    },
    /// Print the OpenAPI document of the HTTP API (YAML) and exit
    Openapi {
        /// The document of ADK's paths
        #[arg(long)]
        adk: bool,
    },
    /// Check that all stored state follows from the events, while servers run or not; exit status 1 if any differs
    ///
    /// Recomputes each session from its events, and app and user state from their logs, and compares the result with what
    /// is stored. Changes nothing. Writes a line for each difference to stdout, with names and keys and without values, and
    /// a summary. The exit status is 0 without differences, 1 with some, and 2 if the database cannot be read or lacks
    /// migrations.
    Verify {
        /// Also read the bytes of every artifact from its store, and compare their size and digest
        #[arg(long)]
        artifacts: bool,
    },
    /// Copy a SQLite database, whole and as it is at one moment, while a server runs or not
    ///
    /// The file is readable for its owner alone, and gets its name when it is whole and on disk; until then it is
    /// `sessiond-backup.part` in the same folder. Nothing is overwritten. Erased data is in no page of it. The path of the
    /// backup goes to stdout. For PostgreSQL, use pg_dump.
    Backup(BackupArgs),
    /// Create, list, revoke and rotate API keys in the database, while servers run or not
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Write sessions with all their data as lines of JSON, while servers run or not
    ///
    /// All apps, or a part. Each session is a snapshot. `sessiond import` reads the lines.
    Export(ExportArgs),
    /// Read the lines of an export into the database, while servers run or not; exit status 1 if a session failed
    ///
    /// Each session is imported completely or not at all. Importing the same file again changes nothing, so run an interrupted import again.
    /// Standard output has a line for each session that was not created, and the reason.
    Import(ImportArgs),
    /// The ledger of erasures: export it, and replay it on a database that was restored
    #[command(subcommand)]
    Erasures(ErasuresCommand),
    /// Receipts, which prove erasures
    #[command(subcommand)]
    Receipts(ReceiptsCommand),
    /// Check all settings and their combinations as a start does, and exit; exit status 2 if one cannot be used
    ///
    /// Reads the files that settings name, and looks up the name of the listen address. Changes nothing, listens nowhere, and asks
    /// neither the database nor a store. What a start would only warn of is a line on stdout that begins with `warning`.
    Check {
        /// Also ask the database whether it is there and has all migrations
        #[arg(long)]
        database: bool,
    },
    /// Ask the instance at the listen address whether it is ready, for 3 s at most; exit status 0 if it is
    Healthcheck,
}

/// Arguments of `sessiond backup`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct BackupArgs {
    /// Where to write it; no such file may be there. With --keep: a folder
    pub file: PathBuf,
    /// Check the copy as `sessiond verify` does, and its pages; if anything is wrong, exit status 1, and it is named ...-differs
    #[arg(long)]
    pub verify: bool,
    /// Name the backup by the database and the time, and remove all so named in the folder but for the latest N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: Option<u32>,
}

/// Arguments of `sessiond export`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ExportArgs {
    /// Only this app
    #[arg(long, value_parser = AppName::parse)]
    pub app: Option<AppName>,
    /// Only this user of the app
    #[arg(long, value_parser = UserId::parse, requires = "app")]
    pub user: Option<UserId>,
    /// Only this session of the user
    #[arg(long, value_parser = SessionId::parse, requires = "user")]
    pub session: Option<SessionId>,
    /// Leave artifacts out
    #[arg(long)]
    pub no_artifacts: bool,
    /// Where to write; standard output unless given
    #[arg(long)]
    pub output: Option<PathBuf>,
}

/// Arguments of `sessiond import`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ImportArgs {
    #[command(subcommand)]
    pub other: Option<ImportCommand>,
    /// The file, or `-` for standard input
    #[arg(default_value = "-")]
    pub file: PathBuf,
    /// Skip a session whose id exists with other content; without this it fails
    #[arg(long)]
    pub skip_existing: bool,
    /// Import into an app of this name
    #[arg(long, value_parser = AppName::parse)]
    pub app_name: Option<AppName>,
    /// Check every line, and write nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Former forms of `sessiond import`.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ImportCommand {
    /// Say which program imports the databases of google-adk: the package sessiond-adk-import, with `python3 -m sessiond_adk_import`
    #[command(hide = true)]
    Adk {
        #[arg(hide = true, num_args = 0.., trailing_var_arg = true, allow_hyphen_values = true)]
        given: Vec<OsString>,
    },
}

/// Commands of `sessiond erasures`.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ErasuresCommand {
    /// Write the ledger to stdout: a line of JSON for each erasure, and for each revocation of a key or of tokens
    ///
    /// It names no user and contains no secret. Store it separately from the backups. It can be written while servers run.
    Export,
    /// Repeat the erasures and revocations in the ledger, on a database that was restored from an older backup
    ///
    /// Erases each user whose erasure is not in the database; sets and lifts blocks in the order of the ledger. Run it before
    /// anybody uses the restored database: data that a user has created since the restore is erased too. Revokes keys and tokens
    /// again, and lists keys that were changed. Running it twice does no harm. A ledger of another database is refused.
    Replay { file: PathBuf },
}

/// Commands of `sessiond receipts`.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ReceiptsCommand {
    /// Verify that a receipt is genuine; exit status 1 if it is not
    ///
    /// The file contains the receipt, or the erasure as the API shows it. Without --key, the key in the database is used.
    Verify {
        file: PathBuf,
        /// The public key, as GET /v1/receipts/keys shows it: no database is needed then
        #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
        key: Option<String>,
        /// Also check that it is for this app's user, with the salt in the database
        #[arg(long, requires = "user")]
        app: Option<String>,
        #[arg(long, requires = "app")]
        user: Option<String>,
    },
}

/// Commands of `sessiond keys`.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum KeysCommand {
    /// Create a key and print it: it is shown here and never again
    Create {
        /// For people: who or what uses it
        #[arg(long, value_parser = key_name)]
        name: String,
        /// reader, user, agent, operator or admin
        #[arg(long, value_parser = role)]
        role: Role,
        /// Names, or prefixes with a trailing `*`, separated by commas; '*' for all apps
        #[arg(long, value_delimiter = ',', required = true)]
        apps: Vec<String>,
        /// As --apps; of the role `user` exactly one name
        #[arg(long, value_delimiter = ',', default_value = "*")]
        users: Vec<String>,
        /// How long it is valid, as a duration; forever unless given
        #[arg(long, value_parser = long_period)]
        ttl: Option<Duration>,
    },
    /// Print the keys that were not revoked, one a line, without secrets
    List,
    /// Revoke a key and its tokens
    Revoke { id: String },
    /// Create a copy of this key and print it; this one stays valid for the overlap
    Rotate {
        id: String,
        /// How long both keys are valid, as a duration
        #[arg(long, default_value = "24h", value_parser = long_period)]
        overlap: Duration,
    },
    /// Replace the secret that signs the tokens of users: within 5 s no process accepts an earlier token
    RotateTokenSecret,
}

impl Cli {
    /// Reads the command line and the environment. Exits if they are invalid (status 2) or ask for help or the version
    /// (status 0).
    pub fn from_env() -> Self {
        Self::read(command(), std::env::args_os()).unwrap_or_else(|error| error.exit())
    }

    pub fn command(&self) -> Command {
        self.command.clone().unwrap_or_default()
    }

    pub(super) fn read<T>(command: clap::Command, args: impl IntoIterator<Item = T>) -> Result<Self, clap::Error>
    where
        T: Into<OsString> + Clone,
    {
        let matches = command.try_get_matches_from(args)?;
        let mut cli = Self::from_arg_matches(&matches)?;
        cli.config.metrics_explicit =
            matches.value_source("metrics_listen").is_some_and(|source| source != ValueSource::DefaultValue);
        let has_own_otlp = std::env::var_os("SESSIOND_OTLP_ENDPOINT").is_some_and(|url| !url.is_empty());
        cli.config.otlp_is_general =
            matches.value_source("otlp_endpoint") == Some(ValueSource::EnvVariable) && !has_own_otlp;
        // Other commands send no spans.
        let traces = if matches!(cli.command(), Command::Serve | Command::Check { .. }) {
            cli.config.traces().map(drop)
        } else {
            Ok(())
        };
        match cli.config.validate().and(traces) {
            Ok(()) => Ok(cli),
            Err(message) => Err(<Self as CommandFactory>::command().error(ErrorKind::ValueValidation, message)),
        }
    }
}

/// The derived command, with environment handling that the derive cannot express.
pub(super) fn command() -> clap::Command {
    let value = |name: &OsStr| std::env::var_os(name);
    let mut command = <Cli as CommandFactory>::command();
    for (setting, specific) in SPECIFIC {
        command = command.mut_arg(setting, |arg| match value(specific.as_ref()) {
            Some(url) if !url.is_empty() => arg.env(specific),
            _ => arg,
        });
    }
    let mut command = command.mut_args(|arg| match arg.get_env().and_then(value) {
        Some(empty) if empty.is_empty() => arg.env(Resettable::Reset),
        _ => arg,
    });
    if let Some(missing) = missing() {
        command = command.after_help(&missing).mut_subcommand("serve", |serve| serve.after_help(missing));
    }
    // Propagates the settings, which are global, to each subcommand.
    command.build();
    let names: Vec<String> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    names.iter().filter(|name| !["serve", "help"].contains(&name.as_str())).fold(command, |command, name| {
        let shown = match name.as_str() {
            "healthcheck" => "listen",
            "openapi" => "",
            _ => "database_url",
        };
        command.mut_subcommand(name, |command| with_own_help(command, shown))
    })
}

/// The help of a subcommand: its own options, and the one setting `shown`.
pub(super) fn with_own_help(command: clap::Command, shown: &str) -> clap::Command {
    let names: Vec<String> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let command = names
        .iter()
        .fold(command, |command, name| command.mut_subcommand(name, |command| with_own_help(command, shown)));
    command
        .mut_args(|arg| if arg.is_global_set() && arg.get_id() != shown { arg.hide(true) } else { arg })
        .after_help("All settings count here, too, as flags and as variables: `sessiond --help` has them.")
}

/// Settings whose variable is shared with other programs, and our variable, which takes precedence.
pub(super) const SPECIFIC: [(&str, &str); 2] =
    [("database_url", "SESSIOND_DATABASE_URL"), ("otlp_endpoint", "SESSIOND_OTLP_ENDPOINT")];

/// Variables of this process that look like settings but are unknown, for a warning.
pub fn unknown_variables() -> Vec<String> {
    let command = <Cli as CommandFactory>::command();
    let is_known = |name: &OsStr| {
        command.get_arguments().any(|arg| arg.get_env() == Some(name))
            || SPECIFIC.iter().any(|(_, known)| name == *known)
    };
    let names = std::env::vars_os().map(|(name, _)| name).filter(|name| !is_known(name));
    names.filter_map(|name| name.into_string().ok()).filter(|name| name.starts_with("SESSIOND_")).collect()
}
