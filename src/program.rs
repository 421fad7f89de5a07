//! What `main` runs: reads the settings and dispatches. [`startup`] starts the parts of a server in order.
//!
//! It is here, and not in the binary: what a future calls is compiled where it is first run, which would be the whole server.
//!
//! Exit status: 0 for success and for a drained server, 1 for a failure, 2 for invalid settings and for a command that
//! finds no database of sessiond. `verify` exits with 1 if it found differences, and with 2 if it failed.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use secrecy::ExposeSecret as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;

use crate::commands::keys::Printed;
use crate::commands::{backup, check as settings, erasures, keys, receipts, transfer, verify};
use crate::config::{BackupArgs, Cli, Command, Config, KeysCommand, ListenError};
use crate::http::{ADK_YAML, YAML};
use crate::startup::{self, StartError};
use crate::store::error::{Cause, StoreError};
use crate::store::inspect::Inspector;
use crate::telemetry::{self, LogFormat};

const HEALTHCHECK_LIMIT: Duration = Duration::from_secs(3);

/// The message of `sessiond import adk`. The options have the same names there.
const IMPORT_ADK: &str = "databases of google-adk are imported by the Python package sessiond-adk-import, into a server that is running: \
                          `python3 -m sessiond_adk_import --from sqlite:///FILE --to http://127.0.0.1:8080`; see docs/import.md";

/// Signals to stop.
type Stop = BoxStream<'static, ()>;

/// The error message and exit status of the process. Never contains the database URL.
struct Failure {
    message: String,
    status: u8,
}

impl Failure {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: 1 }
    }

    /// For a command that needs a database: a missing database, or one that is not sessiond's, counts as an invalid
    /// setting.
    fn of_command(error: StartError) -> Self {
        let makes_no_sense = matches!(&error, StartError::Database(error) if error.cause == Cause::Config);
        Self { status: if makes_no_sense { 2 } else { 1 }, ..error.into() }
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        let status = if matches!(error, StartError::Listen(ListenError::Exposed(_))) { 2 } else { 1 };
        Self { message: error.to_string(), status }
    }
}

macro_rules! failures_of {
    ($($command:ident),+) => {
        $(impl From<$command::Error> for Failure {
            fn from(error: $command::Error) -> Self {
                match error {
                    $command::Error::Start(error) => Self::of_command(error),
                    error => Self::new(error.to_string()),
                }
            }
        })+
    };
}

failures_of!(backup, erasures, keys, transfer);

/// Runs the command of the process's arguments to its end, and returns the exit status of the process.
pub fn main() -> ExitCode {
    let cli = Cli::from_env();
    // Those that log end with a line of their log.
    let format = if logs(&cli.command()) { cli.config.log_format() } else { LogFormat::Pretty };
    match start(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { message, status }) => {
            let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
            // `eprintln!` panics if standard error is closed.
            let _ = writeln!(io::stderr(), "{}", telemetry::last_line(format, &line));
            ExitCode::from(status)
        }
    }
}

fn logs(command: &Command) -> bool {
    matches!(command, Command::Serve | Command::Migrate { .. })
}

fn start(cli: Cli) -> Result<(), Failure> {
    let command = cli.command();
    if let Command::Openapi { adk } = command {
        return print(if adk { ADK_YAML } else { YAML });
    }
    if matches!(&command, Command::Import(args) if args.other.is_some()) {
        return Err(Failure { message: IMPORT_ADK.to_owned(), status: 2 });
    }
    if logs(&command) {
        telemetry::init(cli.config.log_format(), &cli.config.log).map_err(|error| Failure::new(error.to_string()))?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start the runtime: {error}")))?;
    let result = runtime.block_on(async {
        match command {
            Command::Serve => serve(cli.config).await,
            Command::Migrate { citus } => migrate(cli.config, citus).await,
            Command::Check { database } => check(cli.config, database).await,
            Command::Healthcheck => healthcheck(cli.config).await,
            Command::Verify { artifacts } => verify(cli.config, artifacts).await,
            Command::Backup(args) => backup(cli.config, args).await,
            Command::Keys(command) => keys(cli.config, command).await,
            Command::Export(args) => Ok(transfer::export(&cli.config, args).await?),
            Command::Import(args) => Ok(transfer::import(&cli.config, args).await?),
            Command::Erasures(command) => print(erasures::run(&cli.config, command).await?),
            Command::Receipts(command) => print(receipts::run(&cli.config, command).await?),
            Command::Openapi { .. } => Ok(()),
        }
    });
    // A name that is still being resolved, for example, must not delay the exit.
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

async fn serve(config: Config) -> Result<(), Failure> {
    let mut stop = stop_signals()?;
    let prepared = tokio::select! {
        // Nothing is being served yet, so the drain is over immediately.
        _ = stop.next() => return Ok(()),
        prepared = startup::prepare(config) => prepared?,
    };
    startup::serve(prepared, stop).await.map_err(|error| Failure::new(error.to_string()))
}

async fn migrate(config: Config, citus: bool) -> Result<(), Failure> {
    let mut stop = stop_signals()?;
    tokio::select! {
        _ = stop.next() => Err(Failure::new("stopped before the migrations were done")),
        done = startup::migrate(&config, citus) => Ok(done?),
    }
}

/// Yields an item for each SIGTERM or SIGINT, which no longer end the process by themselves.
fn stop_signals() -> Result<Stop, Failure> {
    let on = |kind| signal(kind).map_err(|error| Failure::new(format!("cannot handle signals: {error}")));
    let signals = (on(SignalKind::terminate())?, on(SignalKind::interrupt())?);
    let next = async |(mut terminate, mut interrupt): (Signal, Signal)| {
        let name = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        tracing::info!(signal = name, "stopping");
        Some(((), (terminate, interrupt)))
    };
    Ok(stream::unfold(signals, next).boxed())
}

async fn verify(config: Config, artifacts: bool) -> Result<(), Failure> {
    let trouble = |error: StoreError| Failure { status: 2, ..StartError::Database(error).into() };
    let url = config.database_url.expose_secret();
    let database = Inspector::open(url, config.postgres_options(), config.store_limits()).await.map_err(trouble)?;
    let mut report = Report(Ok(()));
    let mut summary = verify::run(&database, &mut report.lines()).await.map_err(trouble)?;
    if artifacts {
        let failed = |error: StartError| Failure { status: 2, ..error.into() };
        verify::artifacts(&config, &database, &mut summary, &mut report.lines()).await.map_err(failed)?;
    }
    report.lines()(&summary.to_string());
    report.0.map_err(|failure| Failure { status: 2, ..failure })?;
    match summary.differences {
        0 => Ok(()),
        _ => Err(Failure::new("the database is not what its events say")),
    }
}

async fn check(config: Config, database: bool) -> Result<(), Failure> {
    let unusable = |error: StartError| Failure { status: 2, ..error.into() };
    telemetry::filter(&config.log).map_err(|error| Failure { message: format!("--log: {error}"), status: 2 })?;
    let mut report = Report(Ok(()));
    settings::run(&config, &mut report.lines()).await.map_err(unusable)?;
    if database {
        let url = config.database_url.expose_secret();
        let opened = Inspector::open(url, config.postgres_options(), config.store_limits()).await;
        opened.map_err(|error| unusable(StartError::Database(error)))?;
    }
    report.lines()(if database { "the settings and the database can be used" } else { "the settings can be used" });
    report.0
}

async fn backup(config: Config, args: BackupArgs) -> Result<(), Failure> {
    let mut report = Report(Ok(()));
    backup::run(&config, &args, &mut report.lines()).await?;
    report.0
}

async fn keys(config: Config, command: KeysCommand) -> Result<(), Failure> {
    let Printed { output, note } = keys::run(&config, command).await?;
    print(output)?;
    // If nobody reads it, the key is created nevertheless.
    let _ = io::stderr().lock().write_all(note.as_bytes());
    Ok(())
}

async fn healthcheck(config: Config) -> Result<(), Failure> {
    let status = match timeout(HEALTHCHECK_LIMIT, readyz(&config)).await {
        Ok(Ok(status)) => status,
        Ok(Err(error)) => return Err(Failure::new(format!("not reachable at {}: {error}", config.listen))),
        Err(_) => return Err(Failure::new(format!("no answer from {} in {HEALTHCHECK_LIMIT:?}", config.listen))),
    };
    if status == "200" { Ok(()) } else { Err(Failure::new(format!("not ready: status {status}"))) }
}

/// The status of `GET /readyz`. Reading the first bytes of the answer needs no HTTP client.
async fn readyz(config: &Config) -> io::Result<String> {
    let addresses = config.listen.resolve_to_connect().await?;
    let mut stream = TcpStream::connect(&addresses[..]).await?;
    // The name in --listen may not be among --allowed-hosts.
    stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await?;
    let mut start = [0; "HTTP/1.1 200".len()];
    stream.read_exact(&mut start).await?;
    match start.strip_prefix(b"HTTP/1.1 ") {
        Some(status) if status.iter().all(u8::is_ascii_digit) => Ok(String::from_utf8_lossy(status).into_owned()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the answer is not HTTP/1.1")),
    }
}

/// Lines that are printed until one cannot be.
struct Report(Result<(), Failure>);

impl Report {
    fn lines(&mut self) -> impl FnMut(&str) {
        |line| {
            if self.0.is_ok() {
                self.0 = print(format!("{line}\n"));
            }
        }
    }
}

fn print(text: impl AsRef<str>) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_ref().as_bytes()).and_then(|()| stdout.flush()) {
        // The reader has closed the pipe, as `| head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::new(format!("cannot write to stdout: {error}"))),
        Ok(()) => Ok(()),
    }
}
