//! Objects as files. A file is written under its own name, which nobody reads before the database has it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::{Listed, ObjectError, ObjectParts, Objects, PART, Result, WritesObject};

#[derive(Clone)]
pub struct Folder {
    root: PathBuf,
    patience: Duration,
}

impl Folder {
    pub fn new(root: PathBuf, patience: Duration) -> Self {
        Self { root, patience }
    }

    /// Warns of what others may read, and of a folder that is not there, which may come back.
    ///
    /// # Errors
    /// It is there, and this process may not write into it.
    pub async fn check(&self) -> std::result::Result<(), String> {
        let root = self.root.clone();
        let tried = self.run(move || {
            let mode = fs::metadata(&root)?.permissions().mode();
            if mode & 0o077 != 0 {
                let mode = format!("{:04o}", mode & 0o7777);
                tracing::warn!(folder = %root.display(), mode, "others than its owner may open the folder of artifacts: chmod 700");
            }
            let file = root.join(format!(".sessiond-{}", process::id()));
            match private().open(&file).and_then(|_| fs::remove_file(&file)) {
                Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
                    Ok(Some(error.kind()))
                }
                written => written.map(|()| None),
            }
        });
        match tried.await {
            Ok(None) => Ok(()),
            Ok(Some(kind)) => Err(format!(
                "the folder cannot be written ({kind}): chown it to the user that sessiond runs as, or mount it writable"
            )),
            Err(error) => {
                tracing::warn!(folder = %self.root.display(), %error, "the folder of artifacts cannot be used: no bytes are saved or read there");
                Ok(())
            }
        }
    }

    fn path(&self, object: &str) -> PathBuf {
        self.root.join(object)
    }

    /// Runs what waits for the disk.
    async fn run<T: Send + 'static>(&self, run: impl FnOnce() -> io::Result<T> + Send + 'static) -> Result<T> {
        match timeout(self.patience, spawn_blocking(run)).await {
            Ok(Ok(Ok(done))) => Ok(done),
            Ok(Ok(Err(error))) if error.kind() == ErrorKind::NotFound => Err(ObjectError::Missing),
            Ok(Ok(Err(error))) => Err(unavailable(error.kind())),
            Ok(Err(_)) => Err(ObjectError::Unavailable("gave up".to_owned())),
            Err(_) => Err(unavailable(ErrorKind::TimedOut)),
        }
    }
}

fn unavailable(kind: ErrorKind) -> ObjectError {
    ObjectError::Unavailable(format!("fails: {kind}"))
}

/// That there is no such file means something only where there are files at all.
fn check_root(root: &Path) -> io::Result<()> {
    fs::read_dir(root).map(drop).map_err(|_| io::Error::from(ErrorKind::NotADirectory))
}

/// Makes files that nobody else reads, under any umask.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options
}

/// That no link leads from the root to a shelf, below which something is removed.
fn check_way(root: &Path, shelf: &Path) -> io::Result<()> {
    for folder in shelf.ancestors().take_while(|folder| *folder != root) {
        if fs::symlink_metadata(folder)?.is_symlink() {
            return Err(ErrorKind::NotADirectory.into());
        }
    }
    Ok(())
}

fn create(root: &Path, path: &Path) -> io::Result<File> {
    let open = || private().open(path);
    match (open(), path.parent()) {
        (Err(error), Some(shelf)) if error.kind() == ErrorKind::NotFound => {
            check_root(root)?;
            DirBuilder::new().recursive(true).mode(0o700).create(shelf)?;
            // The entries of the shelf, and of what it is in.
            for folder in shelf.ancestors().skip(1).take_while(|folder| folder.starts_with(root)) {
                File::open(folder)?.sync_all()?;
            }
            open()
        }
        (opened, _) => opened,
    }
}

#[async_trait]
impl Objects for Folder {
    fn write(&self, object: &str) -> Box<dyn WritesObject> {
        Box::new(Writing { folder: self.clone(), path: self.path(object), file: None })
    }

    fn read(&self, object: &str, range: Range<u64>) -> ObjectParts {
        let (folder, path) = (self.clone(), self.path(object));
        let parts = stream::try_unfold((None, range), move |(file, range)| {
            let (folder, path) = (folder.clone(), path.clone());
            async move {
                if range.is_empty() {
                    return Ok(None);
                }
                let root = folder.root.clone();
                let length = (range.end - range.start).min(PART as u64);
                let read = move || {
                    let mut file = match file {
                        Some(file) => file,
                        None => {
                            let mut file = File::open(path).or_else(|error| check_root(&root).and(Err(error)))?;
                            file.seek(SeekFrom::Start(range.start))?;
                            file
                        }
                    };
                    let mut part = vec![0; length as usize];
                    match file.read_exact(&mut part) {
                        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(ErrorKind::NotFound.into()),
                        read => read.map(|()| (Bytes::from(part), file)),
                    }
                };
                let (part, file) = folder.run(read).await?;
                Ok(Some((part, (Some(file), range.start + length..range.end))))
            }
        });
        parts.boxed()
    }

    async fn remove(&self, object: &str, _: Option<&str>) -> Result<()> {
        let (root, path) = (self.root.clone(), self.path(object));
        self.run(move || {
            let way = path.parent().map_or(Ok(()), |shelf| check_way(&root, shelf));
            match way.and_then(|()| fs::remove_file(path)) {
                Err(error) if error.kind() == ErrorKind::NotFound => check_root(&root),
                removed => removed,
            }
        })
        .await
    }

    async fn list(&self, shelf: &str) -> Result<Vec<Listed>> {
        let (root, path, shelf) = (self.root.clone(), self.root.join(shelf), shelf.to_owned());
        self.run(move || {
            check_root(&root)?;
            let entries = match check_way(&root, &path).and_then(|()| fs::read_dir(&path)) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
                entries => entries?,
            };
            let mut found = Vec::new();
            for entry in entries {
                let entry = entry?;
                let metadata = match entry.metadata() {
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    metadata => metadata?,
                };
                let Ok(name) = entry.file_name().into_string() else { continue };
                if metadata.is_file() {
                    let age = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
                    let written = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
                    found.push(Listed { object: format!("{shelf}/{name}"), size: metadata.len(), written });
                }
            }
            Ok(found)
        })
        .await
    }
}

struct Writing {
    folder: Folder,
    path: PathBuf,
    file: Option<File>,
}

#[async_trait]
impl WritesObject for Writing {
    async fn write(&mut self, part: Bytes) -> Result<Option<String>> {
        let (root, path, file) = (self.folder.root.clone(), self.path.clone(), self.file.take());
        let write = move || {
            let mut file = match file {
                Some(file) => file,
                None => create(&root, &path)?,
            };
            file.write_all(&part)?;
            Ok(file)
        };
        self.file = Some(self.folder.run(write).await?);
        Ok(None)
    }

    async fn finish(&mut self) -> Result<()> {
        let (root, path, file) = (self.folder.root.clone(), self.path.clone(), self.file.take());
        let finish = move || {
            let file = match file {
                Some(file) => file,
                None => create(&root, &path)?,
            };
            file.sync_all()?;
            match path.parent() {
                // The entry of the file.
                Some(shelf) => File::open(shelf)?.sync_all(),
                None => Ok(()),
            }
        };
        self.folder.run(finish).await
    }
}
