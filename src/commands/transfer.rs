//! `sessiond export` and `sessiond import`: sessions from a database to a file, and back. Both work while servers run.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::config::{Config, ExportArgs, ImportArgs};
use crate::domain::access::{Grant, Names};
use crate::domain::ids::{SessionKey, UserKey};
use crate::domain::transfer::{ExportSource, Totals};
use crate::service::{Error as ServiceError, Import, ImportOptions, ImportResult, Imported, OnConflict, Service};
use crate::startup::{StartError, service_beside};

/// How often progress is shown.
const PROGRESS: Duration = Duration::from_millis(200);
/// How many names of apps are read at a time.
const PAGE_ROWS: usize = 500;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error(transparent)]
    File(#[from] io::Error),
    /// How many sessions, states of apps and users, or artifacts of users were not imported.
    #[error("{0} failed; standard output says which, and why")]
    Failed(u64),
    #[error("the last line, `end`, is missing: the file was cut")]
    Cut,
}

/// Adds the file's name to the error.
fn named(path: &Path, error: &io::Error) -> Error {
    Error::File(io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

/// Writes an export of all apps or of a part. Each app is an export of its own; they follow each other.
///
/// # Errors
/// The database fails, the file cannot be written, or a session was deleted or trimmed meanwhile.
pub async fn export(config: &Config, args: ExportArgs) -> Result<(), Error> {
    let (_, service) = service_beside(config, false).await?;
    // Nothing else runs here, so blocking I/O is fine.
    let create = |path: &Path| Beside::create(path).map_err(|error| named(path, &error));
    let mut file = args.output.as_deref().map(create).transpose()?;
    let mut out: Box<dyn Write + '_> = match &mut file {
        Some(file) => Box::new(BufWriter::new(&mut file.file)),
        None => Box::new(BufWriter::new(io::stdout())),
    };
    let mut progress = Progress::new("exported");
    let has_artifacts = !args.no_artifacts;
    let sources = sources(&service, config, args).await?;
    if sources.is_empty() {
        out.write_all(service.empty_export().as_bytes())?;
    }
    for source in sources {
        let mut export = service.export(source, None, has_artifacts);
        let before = progress.counts;
        while let Some(lines) = export.next(Instant::now() + config.request_timeout).await? {
            out.write_all(lines.as_bytes())?;
            progress.show(before.plus(export.totals()));
        }
    }
    out.flush()?;
    drop(out);
    if let Some(file) = file {
        file.keep()?;
    }
    progress.end();
    service.close().await;
    Ok(())
}

/// A new version of a file, which replaces the old one when it is complete. Until then the old one is unchanged.
struct Beside {
    file: File,
    /// The temporary and the final path; `None` for a pipe or a terminal, which has no path to replace.
    paths: Option<(PathBuf, PathBuf)>,
}

impl Beside {
    fn create(path: &Path) -> io::Result<Self> {
        // A symbolic link remains one, and its target is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let before = fs::metadata(&path).ok();
        if before.as_ref().is_some_and(|before| !before.is_file()) {
            return Ok(Self { file: File::create(&path)?, paths: None });
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let beside = path.with_file_name(name);
        // It contains personal data: only its owner may read it, whatever the umask.
        let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        let made = Self { file, paths: Some((beside, path)) };
        if let Some(before) = before {
            made.file.set_permissions(before.permissions())?;
        }
        Ok(made)
    }

    fn keep(mut self) -> io::Result<()> {
        if let Some((beside, path)) = &self.paths {
            self.file.sync_all()?;
            fs::rename(beside, path)?;
            self.paths = None;
        }
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some((beside, _)) = &self.paths {
            let _ = fs::remove_file(beside);
        }
    }
}

async fn sources(service: &Arc<Service>, config: &Config, args: ExportArgs) -> Result<Vec<ExportSource>, Error> {
    let ExportArgs { app, user, session, .. } = args;
    let Some(app) = app else {
        let mut sources = Vec::new();
        let mut after = String::new();
        loop {
            let deadline = Instant::now() + config.request_timeout;
            let apps = service.apps(&after, PAGE_ROWS, &Names::all(), deadline).await?;
            let Some(last) = apps.last() else { return Ok(sources) };
            last.as_str().clone_into(&mut after);
            sources.extend(apps.into_iter().map(ExportSource::App));
        }
    };
    Ok(vec![match (user, session) {
        (None, _) => ExportSource::App(app),
        (Some(user), None) => ExportSource::User(UserKey { app, user }),
        (Some(user), Some(session)) => {
            let key = SessionKey { user: UserKey { app, user }, session };
            service.head(&key, Instant::now() + config.request_timeout).await?;
            ExportSource::Session(key)
        }
    }])
}

/// Imports an export, and writes to standard output the result for each session that was not created.
///
/// # Errors
/// The database fails, the file cannot be read, or a session was not imported.
pub async fn import(config: &Config, args: ImportArgs) -> Result<(), Error> {
    let (_, service) = service_beside(config, !args.dry_run).await?;
    let options = ImportOptions {
        on_conflict: if args.skip_existing { OnConflict::Skip } else { OnConflict::Fail },
        app: args.app_name,
        dry_run: args.dry_run,
    };
    // An operator with access to the database may write everywhere.
    let import = service.import(options, Grant::unlimited(), config.request_timeout);
    let file: Box<dyn BufRead> = if args.file.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(&args.file).map_err(|error| named(&args.file, &error))?;
        Box::new(BufReader::with_capacity(1 << 20, file))
    };
    let done = lines(import, args.dry_run, file).await;
    service.close().await;
    done
}

async fn lines(mut import: Import, dry_run: bool, mut file: impl BufRead) -> Result<(), Error> {
    let mut report = Report::new(dry_run);
    let mut line = Vec::new();
    loop {
        line.clear();
        if file.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let results = import.line(line.strip_suffix(b"\n").unwrap_or(&line)).await?;
        report.add(&results, import.created())?;
    }
    let last = import.finish().await?;
    report.add(&last, import.created())?;
    if !import.is_whole() && report.failed == 0 {
        return Err(Error::Cut);
    }
    report.end()
}

/// The results of an import.
struct Report {
    progress: Progress,
    failed: u64,
    unchanged: u64,
    skipped: u64,
}

impl Report {
    fn new(dry_run: bool) -> Self {
        let what = if dry_run { "would import" } else { "imported" };
        Self { progress: Progress::new(what), failed: 0, unchanged: 0, skipped: 0 }
    }

    fn add(&mut self, results: &[Imported], counts: Totals) -> Result<(), Error> {
        for imported in results {
            match imported.result {
                ImportResult::Created => continue,
                ImportResult::Unchanged => {
                    self.unchanged += 1;
                    continue;
                }
                ImportResult::Skipped(_) => self.skipped += 1,
                ImportResult::Failed(_) => self.failed += 1,
            }
            io::stdout().lock().write_all(imported.to_line().as_bytes())?;
        }
        self.progress.show(counts);
        Ok(())
    }

    fn end(mut self) -> Result<(), Error> {
        self.progress.note =
            format!(", {} unchanged, {} skipped, {} failed", self.unchanged, self.skipped, self.failed);
        self.progress.end();
        if self.failed > 0 { Err(Error::Failed(self.failed)) } else { Ok(()) }
    }
}

/// The progress: on a terminal one line that is overwritten; at the end one line in any case.
struct Progress {
    what: &'static str,
    counts: Totals,
    note: String,
    shown: Option<Instant>,
    is_terminal: bool,
}

impl Progress {
    fn new(what: &'static str) -> Self {
        Self {
            what,
            counts: Totals::default(),
            note: String::new(),
            shown: None,
            is_terminal: io::stderr().is_terminal(),
        }
    }

    fn show(&mut self, counts: Totals) {
        self.counts = counts;
        if self.is_terminal && self.shown.is_none_or(|shown| shown.elapsed() > PROGRESS) {
            self.shown = Some(Instant::now());
            self.write("\r");
        }
    }

    fn end(&self) {
        self.write(if self.is_terminal { "\r" } else { "" });
        let _ = io::stderr().lock().write_all(b"\n");
    }

    /// A failure to write it does not stop the work.
    fn write(&self, before: &str) {
        let Totals { sessions, events, artifacts } = self.counts;
        let (of_sessions, of_events) = (plural(sessions), plural(events));
        let files = match artifacts {
            0 => String::new(),
            _ => format!(", {artifacts} version{} of artifacts", plural(artifacts)),
        };
        let line = format!(
            "{before}{} {sessions} session{of_sessions}, {events} event{of_events}{files}{}",
            self.what, self.note
        );
        let _ = io::stderr().lock().write_all(line.as_bytes());
    }
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}
