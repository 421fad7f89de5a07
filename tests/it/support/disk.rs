//! A disk that refuses what SQLite writes to its log, when it is told to.

use std::{env, fs, path::PathBuf, process::Command};

use uuid::Uuid;

/// ENOSPC and EIO, on Linux.
pub const FULL: i32 = 28;
pub const BROKEN: i32 = 5;

/// A library that a process loads before its own, which makes its disk fail.
pub struct FaultyDisk {
    dir: PathBuf,
}

impl FaultyDisk {
    /// Works until it is told not to. Takes the C compiler that building SQLite takes.
    pub fn new() -> Self {
        let dir = env::temp_dir().join(format!("sessiond-disk-{}", Uuid::new_v4().simple()));
        fs::create_dir(&dir).expect("create a folder");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/support/disk.c");
        let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let output = Command::new(compiler)
            .args(["-shared", "-fPIC", "-o"])
            .args([dir.join("disk.so").as_os_str(), source.as_ref()])
            .arg("-ldl")
            .output();
        let output = output.expect("run the C compiler");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { dir }
    }

    /// The variables of a process that is to have it.
    pub fn envs(&self) -> [(&'static str, String); 2] {
        let path = |name| self.dir.join(name).display().to_string();
        [("LD_PRELOAD", path("disk.so")), ("FAULTY_DISK", path("fault"))]
    }

    /// From now on, writing fails with this error.
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
