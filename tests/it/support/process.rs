//! Processes that the tests start: the real `sessiond` binary ([`Sessiond`]), and servers that must end with the tests,
//! however these end ([`Guard`]).

use std::{
    env,
    ffi::OsString,
    fs::{self, DirBuilder, File},
    io::{BufRead, BufReader, Write},
    os::unix::{
        fs::{DirBuilderExt, MetadataExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio},
    time::{Duration, Instant},
};

use uuid::Uuid;

/// How long a process may take to start or to end before the test fails instead of hanging. Generous, because a loaded
/// CI machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// The `sessiond` binary of this build, running in an empty folder of its own.
///
/// It sees no settings of the user who runs the tests (`DATABASE_URL`, `SESSIOND_*`, `RUST_LOG`), only its arguments.
/// It is killed, and its folder removed, when dropped.
pub struct Sessiond {
    child: Child,
    dir: PathBuf,
}

impl Sessiond {
    /// Starts the binary and returns at once; [`Sessiond::base_url`] waits until it serves.
    pub fn spawn(args: &[&str], envs: &[(&str, &str)]) -> Self {
        Self::spawn_build(Path::new(THIS_BUILD), args, envs)
    }

    /// The same with the binary of another build.
    pub fn spawn_build(build: &Path, args: &[&str], envs: &[(&str, &str)]) -> Self {
        let dir = temp_dir("sessiond-run");
        let log = File::create(dir.join("log")).expect("create the log file");
        let child = command(build, args, envs)
            .current_dir(&dir)
            // Two handles of one open file share its offset, so the streams do not overwrite each other.
            .stdout(log.try_clone().expect("clone the log file"))
            .stderr(log)
            .spawn()
            .expect("start sessiond");
        Self { child, dir }
    }

    /// Runs the binary to its end in the folder for temporary files; returns the output of each stream.
    pub async fn run(args: &[&str], envs: &[(&str, &str)]) -> Output {
        let mut command = command(Path::new(THIS_BUILD), args, envs);
        let running = tokio::task::spawn_blocking(move || command.current_dir(env::temp_dir()).output());
        running.await.expect("no panic").expect("run sessiond")
    }

    /// `http://127.0.0.1:PORT`, once the log says that it listens there. Panics with the log if the process ends, or if
    /// that takes a minute.
    pub async fn base_url(&mut self) -> String {
        let start = Instant::now();
        loop {
            // This order matters: a process that has ended writes nothing between the two.
            let ended = self.child.try_wait().expect("look after sessiond");
            if let Some(address) = listening(&self.log()) {
                return format!("http://{address}");
            }
            let log = self.log();
            assert!(ended.is_none(), "sessiond ended ({ended:?}) before it listened:\n{log}");
            assert!(start.elapsed() < PATIENCE, "sessiond does not say that it listens:\n{log}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The working directory of the process, empty but for `log`, until the process writes to it.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The output of the process so far, stdout and stderr.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.dir.join("log")).expect("read the log of sessiond");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// SIGKILL: no destructor runs. Does not wait.
    pub fn kill_9(&mut self) {
        self.child.kill().expect("kill sessiond");
    }

    /// SIGTERM: asks for a drain. Does not wait.
    pub fn sigterm(&self) {
        // The shell's own `kill`: std sends SIGKILL only, and small images have no /bin/kill.
        let kill = format!("kill -TERM {}", self.pid());
        let status = Command::new("sh").args(["-c", &kill]).status().expect("run sh");
        assert!(status.success(), "cannot send SIGTERM to sessiond");
    }

    /// Waits until the process ends; panics with the log if it still runs after a minute.
    pub async fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("look after sessiond") {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "sessiond does not end:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// The binary of the build that the tests belong to.
pub const THIS_BUILD: &str = env!("CARGO_BIN_EXE_sessiond");

/// The binary without the settings of the user who runs the tests.
fn command(build: &Path, args: &[&str], envs: &[(&str, &str)]) -> Command {
    let mut command = Command::new(build);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let of_stores = ["AWS_", "GOOGLE_", "AZURE_"];
        let is_setting = ["SESSIOND_", "OTEL_"].iter().chain(&of_stores).any(|prefix| text.starts_with(prefix));
        if is_setting || text == "DATABASE_URL" || text == "RUST_LOG" {
            command.env_remove(&name);
        }
    }
    command.args(args).envs(envs.iter().copied()).stdin(Stdio::null());
    command
}

impl Drop for Sessiond {
    fn drop(&mut self) {
        // An error means that it has already ended; a panic here would hide another one.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// The first `127.0.0.1:PORT` on a whole line about listening, except that of the metrics. Reads the coloured text form
/// and the JSON form.
fn listening(log: &str) -> Option<&str> {
    log.split_inclusive('\n')
        .filter(|line| line.ends_with('\n') && line.contains("listening") && !line.contains("metrics"))
        .find_map(|line| {
            let address = &line[line.find("127.0.0.1:")?..];
            let port = &address["127.0.0.1:".len()..];
            let digits = port.find(|c: char| !c.is_ascii_digit())?;
            (digits > 0).then(|| &address[..address.len() - port.len() + digits])
        })
}

/// A shell in a temporary folder that runs a server for the tests and **ends it when the tests end**, even by SIGKILL:
/// it reads commands from a pipe that only this process keeps open, and at the end of the pipe it runs its final
/// command and removes the folder.
///
/// No other child of the tests keeps the pipe open, because std opens pipes close-on-exec. The shell leads a process
/// group of its own, so that neither Ctrl-C nor the group kill of a test runner hits it before its work is done.
///
/// Under root, the shell runs as `postgres` or `nobody`, since PostgreSQL and PgBouncer refuse root.
pub struct Guard {
    shell: Child,
    /// `None` only during drop: closing it is what ends the shell.
    commands: Option<ChildStdin>,
    statuses: BufReader<ChildStdout>,
    dir: PathBuf,
}

/// `$1` is the final command, `$2` the folder. Redirected, so that a server inherits neither pipe. SIGPIPE would end
/// the shell before its final command if the tests end during a command.
const GUARD: &str = r#"
trap '' PIPE
while read -r command; do
    { eval "$command"; } </dev/null >>guard.log 2>&1
    echo $?
done
{ eval "$1"; } </dev/null >>guard.log 2>&1
cd / && rm -rf "$2"
"#;

impl Guard {
    /// A shell whose `PATH` begins with `bin`, in a new folder that only it may read. `farewell` is the final command,
    /// which ends the server; it always runs, even if no server was started.
    pub fn new(name: &str, bin: &Path, farewell: &str) -> Self {
        let dir = temp_dir(name);
        let mut command = Command::new("sh");
        // The owner of the new folder is the user of this process.
        if fs::metadata(&dir).expect("look at the folder").uid() == 0 {
            let (uid, gid) = unprivileged_user();
            chown(&dir, Some(uid), Some(gid)).expect("give the folder away");
            command.uid(uid).gid(gid);
        }
        let mut path = OsString::from(bin);
        path.push(":");
        path.push(env::var_os("PATH").unwrap_or_default());
        let mut shell = command
            .args(["-c", GUARD, "guard", farewell])
            .arg(&dir)
            .env("PATH", path)
            .current_dir(&dir)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("start sh");
        let commands = shell.stdin.take();
        let statuses = BufReader::new(shell.stdout.take().expect("stdout is a pipe"));
        Self { shell, commands, statuses, dir }
    }

    /// The folder, which is also the working directory of the commands.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Runs a one-line command and waits for it. The error is the output of all commands so far.
    pub fn run(&mut self, command: &str) -> Result<(), String> {
        let mut commands = self.commands.as_ref().expect("open until drop");
        writeln!(commands, "{command}").expect("the guard takes commands");
        let mut status = String::new();
        self.statuses.read_line(&mut status).expect("the guard answers");
        if status == "0\n" { Ok(()) } else { Err(self.log()) }
    }

    /// The output of the commands so far, stdout and stderr.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.join("guard.log")).unwrap_or_default()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.commands = None;
        // Waits until the server has ended and the folder is removed.
        let _ = self.shell.wait();
    }
}

/// A port of 127.0.0.1 that was free a moment ago. Another process may take it; then try again.
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bind a port");
    listener.local_addr().expect("a bound address").port()
}

/// A new folder that only its owner may enter. The name is short, because the path of a Unix socket must fit.
fn temp_dir(name: &str) -> PathBuf {
    let id = Uuid::new_v4().simple().to_string();
    let dir = env::temp_dir().join(format!("{name}-{}", &id[..12]));
    DirBuilder::new().mode(0o700).create(&dir).expect("create a temporary folder");
    dir
}

/// User and group id of `postgres`, else of `nobody`.
fn unprivileged_user() -> (u32, u32) {
    let passwd = fs::read_to_string("/etc/passwd").expect("read /etc/passwd");
    let id_of = |user: &str| {
        let line = passwd.lines().find(|line| line.split(':').next() == Some(user))?;
        let mut ids = line.split(':').skip(2).map(str::parse);
        Some((ids.next()?.ok()?, ids.next()?.ok()?))
    };
    id_of("postgres").or_else(|| id_of("nobody")).expect("running as root needs a user `postgres` or `nobody`")
}
