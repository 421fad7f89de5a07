//! A disk that makes SQLite's writes to its log fail, on command.

use std::{env, fs, path::PathBuf, process::Command};

use uuid::Uuid;

/// ENOSPC and EIO, on Linux.
pub const FULL: i32 = 28;
pub const BROKEN: i32 = 5;

/// A library that is loaded into a process first, and makes its disk fail.
pub struct FaultyDisk {
    dir: PathBuf,
}

impl FaultyDisk {
    /// Works until [`FaultyDisk::fail`]. Needs a C compiler, as building SQLite does.
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

    /// The environment variables for a process on this disk.
    pub fn envs(&self) -> [(&'static str, String); 2] {
        let path = |name| self.dir.join(name).display().to_string();
        [("LD_PRELOAD", path("disk.so")), ("FAULTY_DISK", path("fault"))]
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
