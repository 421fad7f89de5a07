//! `sessiond backup`: a copy of a SQLite database, while a server serves it or not.
//!
//! A backup gets its name when it is whole and on disk. Until then its name is [`PART`], and whoever writes it has locked it: so what a
//! run left that was cut is told from what another one is writing, and the next run removes it.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use secrecy::ExposeSecret as _;

use super::verify;
use crate::config::{BackupArgs, Config};
use crate::domain::time::Micros;
use crate::service::{Clock as _, SystemClock};
use crate::startup::StartError;
use crate::store::error::StoreError;
use crate::store::inspect::Inspector;
use crate::store::limits::StoreLimits;
use crate::store::open::{Original, original, wrong_pages};

/// The name of a backup that is not whole yet.
const PART: &str = "sessiond-backup.part";

/// What the name of a copy ends with that has differences.
const DIFFERS: &str = "-differs";

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Start(#[from] StartError),
    /// It cannot be written where it should be.
    #[error("{0}")]
    File(String),
    #[error(
        "the copy is not what its events say, or is damaged, and so is the database; it is kept as {}, and counts as no backup: see \
         \"Differences\" in docs/data.md",
        .0.display()
    )]
    Wrong(PathBuf),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Start(error.into())
    }
}

type Result<T> = std::result::Result<T, Error>;

/// Makes a backup, and calls `report` with its path, after what a verification of it says.
///
/// # Errors
/// There is no such database, or no such folder, or a file is there already; one of the files fails. Then there is no backup. The copy is
/// wrong: then it has another name. Or earlier ones cannot be removed, which is said.
pub async fn run(config: &Config, args: &BackupArgs, report: &mut (dyn FnMut(&str) + Send)) -> Result<()> {
    let limits = config.store_limits();
    let original = original(config.database_url.expose_secret(), limits).await?;
    // A failure to write to standard error must not stop the command.
    let _ = writeln!(io::stderr(), "database: {}", original.path().display());
    let stem = original.path().file_stem().unwrap_or_default().to_string_lossy();
    let file = match args.keep {
        Some(_) => args.file.join(format!("{stem}-{}.db", SystemClock.now().to_name())),
        None => args.file.clone(),
    };
    // Nothing else runs here, so blocking I/O is fine.
    let part = PartialBackup::create(&file, &original)?;
    original.copy(part.name()?).await?;
    if args.verify && !is_right(part.name()?, limits, report).await? {
        // Worth more than none: of most of it nothing is wrong, and there may be no other copy.
        let kept = part.keep_apart()?;
        if let Some(keep) = args.keep {
            remove_earlier(&args.file, &stem, &format!("{DIFFERS}.db"), keep as usize)?;
        }
        return Err(Error::Wrong(kept));
    }
    part.keep()?;
    report(&file.display().to_string());
    args.keep.map_or(Ok(()), |keep| remove_earlier(&args.file, &stem, ".db", keep as usize))
}

async fn is_right(file: &str, limits: StoreLimits, report: &mut (dyn FnMut(&str) + Send)) -> Result<bool> {
    let pages = wrong_pages(Path::new(file)).await?;
    pages.iter().for_each(|line| report(&format!("pages: {line}")));
    let summary = verify::run(&Inspector::open_file(file, limits).await?, report).await?;
    report(&summary.to_string());
    Ok(pages.is_empty() && summary.differences == 0)
}

/// A backup that is not whole yet, which goes unless it is kept.
struct PartialBackup {
    file: File,
    path: PathBuf,
    /// The path that it gets.
    to: PathBuf,
    is_kept: bool,
}

impl PartialBackup {
    /// An empty file beside `to`.
    fn create(to: &Path, original: &Original) -> Result<Self> {
        let name = to.file_name().ok_or_else(|| Error::File(format!("{} names no file", to.display())))?;
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = fs::canonicalize(folder).map_err(|error| cannot("write into the folder", folder, &error))?;
        let (to, path) = (folder.join(name), folder.join(PART));
        if original.has(&to) || to == path {
            let to = to.display();
            return Err(Error::File(format!(
                "{to} is of the database itself, or of a backup under way: name another file"
            )));
        }
        is_free(&to)?;
        remove_left(&path)?;
        let made = File::options().write(true).create_new(true).mode(0o600).open(&path);
        let file = made.map_err(|error| cannot("make", &path, &error))?;
        if !locks(&file, &path).map_err(|error| cannot("lock", &path, &error))? {
            return Err(is_busy(&path));
        }
        Ok(Self { file, path, to, is_kept: false })
    }

    /// Its path, for SQLite.
    fn name(&self) -> Result<&str> {
        self.path.to_str().ok_or_else(|| Error::File(format!("{} is not UTF-8", self.path.display())))
    }

    /// Under a name that says that it has differences, and is not taken.
    fn keep_apart(mut self) -> Result<PathBuf> {
        let stem = self.to.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let ending = self.to.extension().map(|ending| format!(".{}", ending.display())).unwrap_or_default();
        let named = |more: &str| self.to.with_file_name(format!("{stem}{more}{DIFFERS}{ending}"));
        let to = Some(named("")).filter(|to| is_free(to).is_ok());
        self.to = to.unwrap_or_else(|| named(&format!("-{}", SystemClock.now().to_name())));
        let to = self.to.clone();
        self.keep()?;
        Ok(to)
    }

    fn keep(mut self) -> Result<()> {
        self.file.sync_all().map_err(|error| cannot("write", &self.path, &error))?;
        // Again, as it took a while.
        is_free(&self.to)?;
        fs::rename(&self.path, &self.to).map_err(|error| cannot("make", &self.to, &error))?;
        self.is_kept = true;
        let folder = self.to.parent().unwrap_or(Path::new("/"));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| cannot("sync", folder, &error))
    }
}

impl Drop for PartialBackup {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> Error {
    Error::File(format!("cannot {what} {}: {error}", path.display()))
}

fn is_busy(path: &Path) -> Error {
    Error::File(format!(
        "another backup is being written to {}: wait for it, or name a file in another folder",
        path.display()
    ))
}

fn is_free(to: &Path) -> Result<()> {
    match fs::symlink_metadata(to) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(cannot("look at", to, &error)),
        Ok(found) if found.is_dir() => {
            Err(Error::File(format!("{} is a folder: name a file in it, or add --keep N", to.display())))
        }
        Ok(_) => Err(Error::File(format!("{} is there already: name another file, or remove it first", to.display()))),
    }
}

/// Removes what a run left that was cut.
fn remove_left(path: &Path) -> Result<()> {
    let left = match File::options().read(true).write(true).open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        left => left.map_err(|error| cannot("open", path, &error))?,
    };
    if !locks(&left, path).map_err(|error| cannot("lock", path, &error))? {
        return Err(is_busy(path));
    }
    // First, or SQLite would take it for the undo log of the next file.
    match fs::remove_file(path.with_extension("part-journal")) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(cannot("remove the journal of", path, &error)),
        _ => {}
    }
    fs::remove_file(path).map_err(|error| cannot("remove", path, &error))
}

/// Locks a file; `false` if another process has locked it, or has moved or removed it since it was opened.
fn locks(file: &File, path: &Path) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(false),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let held = file.metadata()?;
    Ok(fs::metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == (held.dev(), held.ino())))
}

/// Removes what was named by [`run`] in the folder with this ending, but for the latest.
fn remove_earlier(folder: &Path, stem: &str, ending: &str, keep: usize) -> Result<()> {
    let is_made = |name: &str| {
        let time = name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('-')?.strip_suffix(ending));
        time.is_some_and(Micros::is_name)
    };
    let cannot = |error: io::Error| {
        Error::File(format!("the backup is made; earlier ones in {} cannot be removed: {error}", folder.display()))
    };
    let mut made = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let name = entry.map_err(cannot)?.file_name();
        made.extend(name.to_str().filter(|name| is_made(name)).map(str::to_owned));
    }
    made.sort_unstable();
    made.truncate(made.len().saturating_sub(keep));
    made.iter().try_for_each(|name| fs::remove_file(folder.join(name))).map_err(cannot)
}
