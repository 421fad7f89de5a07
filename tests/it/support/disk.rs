//! A disk that makes writes to some of SQLite's files fail or wait, on command.

use std::{env, fs, path::PathBuf, process::Command};

use uuid::Uuid;

/// ENOSPC and EIO, on Linux.
pub const FULL: i32 = 28;
pub const BROKEN: i32 = 5;

/// Writes wait, but for the first one to a file.
pub const STUCK: i32 = -1;

/// A library that is loaded into a process first, and makes its disk fail.
pub struct FaultyDisk {
    dir: PathBuf,
    files: &'static str,
}

impl FaultyDisk {
    /// Works until [`FaultyDisk::fail`]. Needs a C compiler, as building SQLite does.
    pub fn new() -> Self {
        Self::of("-wal")
    }

    /// As [`FaultyDisk::new`], for files whose names end with this instead of SQLite's logs.
    pub fn of(files: &'static str) -> Self {
        let dir = env::temp_dir().join(format!("sessiond-disk-{}", Uuid::new_v4().simple()));
        fs::create_dir(&dir).expect("create a folder");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/it/support/disk.c");
        let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let output = Command::new(compiler)
            .args(["-shared", "-fPIC", "-o"])
            .args([dir.join("disk.so").as_os_str(), source.as_ref()])
            .arg("-ldl")
            .output();
        let output = output.expect("run the C compiler");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { dir, files }
    }

    /// The environment variables for a process on this disk.
    pub fn envs(&self) -> [(&'static str, String); 3] {
        let path = |name| self.dir.join(name).display().to_string();
        [("LD_PRELOAD", path("disk.so")), ("FAULTY_DISK", path("fault")), ("FAULTY_DISK_FILES", self.files.to_owned())]
    }

    /// From now on, writes fail with this error.
    pub fn fail(&self, error: i32) {
        fs::write(self.dir.join("new"), error.to_string()).expect("write the fault");
        fs::rename(self.dir.join("new"), self.dir.join("fault")).expect("put the fault in place");
    }

    pub fn work(&self) {
        fs::remove_file(self.dir.join("fault")).expect("remove the fault");
    }
}

impl Drop for FaultyDisk {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}
