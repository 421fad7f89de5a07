//! Servers, and networks that lose things.

use std::{
    collections::HashMap,
    fmt::Display,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use adk_core::{AdkError, Event, Tool, ToolContext, async_trait, identity::AdkIdentity};
use adk_session::{AppendEventRequest, CreateRequest, GetRequest, Session, SessionService};
use serde_json::{Value, json};
use sessiond_adk::SessiondSessionService;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// A running sessiond. It ends with this object, and in any case with the process of the tests: the shell around it
/// waits for the end of its input, which nobody else holds.
pub struct Server {
    pub url: String,
    shell: Child,
}

const SHELL: &str = r#"folder=$1; shift
"$@" 2>"$folder/log" </dev/null & server=$!
cat >/dev/null; kill $server; wait $server; rm -rf "$folder""#;

impl Server {
    pub fn start(options: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(format!("sessiond-rust-{}", uuid::Uuid::new_v4()));
        fs::create_dir(&folder).unwrap();
        let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/debug/sessiond");
        let program = std::env::var_os("SESSIOND_BIN").map_or(default, PathBuf::from);
        assert!(program.is_file(), "{} is missing: build it, or set SESSIOND_BIN", program.display());
        let shell = Command::new("sh")
            .args(["-c", SHELL, "sh"])
            .arg(&folder)
            .arg(program)
            .args(["--listen", "127.0.0.1:0", "--metrics-listen", "off", "--log-format", "json", "--database-url"])
            .arg(format!("sqlite://{}/db", folder.display()))
            .args(options)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        let url = loop {
            let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
            let listening = log.lines().find(|line| line.contains(r#""message":"listening""#));
            if let Some(line) = listening.and_then(|line| serde_json::from_str::<Value>(line).ok()) {
                break format!("http://{}", line["address"].as_str().unwrap());
            }
            assert!(Instant::now() < deadline, "sessiond does not start: {log}");
            std::thread::sleep(Duration::from_millis(20));
        };
        Self { url, shell }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        self.shell.wait().unwrap();
    }
}

/// The server of those tests that need none of their own.
pub fn shared() -> &'static str {
    static SHARED: LazyLock<Server> = LazyLock::new(|| Server::start(&[]));
    &SHARED.url
}

pub fn sessions() -> SessiondSessionService {
    SessiondSessionService::new(shared()).unwrap()
}

/// An app of its own for each test, as the server is shared.
pub fn app() -> String {
    format!("app-{}", uuid::Uuid::new_v4().simple())
}

/// An app whose words are indexed.
pub async fn indexed() -> String {
    let app = app();
    let policy = json!({"search": {"index": true}});
    plain(reqwest::Method::PUT, format!("{}/v1/apps/{app}/policy", shared()), policy).await;
    app
}

pub fn identity(app: &str, user: &str, session: &str) -> AdkIdentity {
    AdkIdentity::new(app.try_into().unwrap(), user.try_into().unwrap(), session.try_into().unwrap())
}

/// The identity of a new session `s` of `ada`.
pub async fn new_session(service: &impl SessionService, app: &str) -> AdkIdentity {
    create(service, app, "ada", Some("s"), json!({})).await.unwrap();
    identity(app, "ada", "s")
}

pub async fn create(
    service: &impl SessionService,
    app: &str,
    user: &str,
    session: Option<&str>,
    state: Value,
) -> Result<Box<dyn Session>, AdkError> {
    let (app_name, user_id) = (app.to_owned(), user.to_owned());
    let session_id = session.map(str::to_owned);
    service.create(CreateRequest { app_name, user_id, session_id, state: map(state) }).await
}

pub fn map(state: Value) -> HashMap<String, Value> {
    serde_json::from_value(state).unwrap()
}

pub fn get_request(identity: &AdkIdentity) -> GetRequest {
    GetRequest {
        app_name: identity.app_name.to_string(),
        user_id: identity.user_id.to_string(),
        session_id: identity.session_id.to_string(),
        num_recent_events: None,
        after: None,
    }
}

pub fn event(invocation: &str, delta: Value) -> Event {
    let mut event = Event::new(invocation);
    event.author = "agent".into();
    event.actions.state_delta = map(delta);
    event
}

pub async fn append(service: &impl SessionService, identity: &AdkIdentity, event: Event) -> Result<(), AdkError> {
    service.append_event_for_identity(AppendEventRequest { identity: identity.clone(), event }).await
}

pub fn ids(session: &dyn Session) -> Vec<String> {
    session.events().all().into_iter().map(|event| event.id).collect()
}

/// What went wrong, as this crate says it.
pub fn source(error: &AdkError) -> &sessiond_adk::Error {
    std::error::Error::source(error).unwrap().downcast_ref().unwrap()
}

/// sessiond without this client. The body is JSON; null is none.
pub async fn plain(method: reqwest::Method, url: String, body: impl Display) -> Value {
    plain_as("", method, url, body).await
}

/// The same with a token.
pub async fn plain_as(token: &str, method: reqwest::Method, url: String, body: impl Display) -> Value {
    static CLIENT: LazyLock<()> = LazyLock::new(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    LazyLock::force(&CLIENT);
    let request = reqwest::Client::new().request(method, url).header("content-type", "application/json");
    let request = if token.is_empty() { request } else { request.bearer_auth(token) };
    let body = body.to_string();
    let request = if body == "null" { request } else { request.body(body) };
    let text = request.send().await.unwrap().error_for_status().unwrap().text().await.unwrap();
    serde_json::from_str(&text).unwrap_or_default()
}

/// A proxy between a client and a server.
pub struct Proxy {
    pub url: String,
    pub connections: Arc<AtomicUsize>,
    /// So many of the next answers get lost, each with its connection, after the server has done what was asked.
    pub lose_answers: Arc<AtomicUsize>,
}

impl Proxy {
    pub async fn to(url: &str) -> Self {
        let target = url.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            connections: Arc::default(),
            lose_answers: Arc::default(),
        };
        let (connections, lose) = (proxy.connections.clone(), proxy.lose_answers.clone());
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(pass(client, target.clone(), lose.clone()));
            }
        });
        proxy
    }
}

async fn pass(client: TcpStream, target: String, lose: Arc<AtomicUsize>) {
    let Ok(server) = TcpStream::connect(target).await else { return };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let requests = async move {
        let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
    };
    let answers = async move {
        let mut buffer = vec![0; 65536];
        while let Ok(read @ 1..) = from_server.read(&mut buffer).await {
            let is_lost = |lose: usize| lose.checked_sub(1);
            if lose.fetch_update(Ordering::SeqCst, Ordering::SeqCst, is_lost).is_ok() {
                return;
            }
            if to_client.write_all(&buffer[..read]).await.is_err() {
                return;
            }
        }
    };
    // The connection ends as soon as one of its ways does.
    tokio::select! { () = requests => {}, () = answers => {} }
}

/// A server that answers each request with the next of these, and keeps the requests. After the last one it is silent.
pub struct Script {
    pub url: String,
    pub requests: Arc<Mutex<Vec<String>>>,
}

impl Script {
    pub async fn of<const N: usize>(answers: [&str; N]) -> Self {
        let mut answers = answers.map(str::to_owned).into_iter();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let script = Self { url: format!("http://{}", listener.local_addr().unwrap()), requests: Arc::default() };
        let requests = script.requests.clone();
        tokio::spawn(async move {
            let mut silent = Vec::new();
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let request = request(&mut client).await;
                requests.lock().unwrap().push(request);
                match answers.next() {
                    Some(answer) => client.write_all(answer.as_bytes()).await.unwrap(),
                    None => silent.push(client),
                }
            }
        });
        script
    }

    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn request(client: &mut TcpStream) -> String {
    let (mut text, mut buffer) = (Vec::new(), vec![0; 65536]);
    loop {
        let read = client.read(&mut buffer).await.unwrap();
        text.extend_from_slice(&buffer[..read]);
        let shown = String::from_utf8_lossy(&text).into_owned();
        if let Some((head, body)) = shown.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return shown;
            }
        }
        assert_ne!(read, 0, "half a request: {shown}");
    }
}

/// An answer of a [`Script`].
pub fn answer(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}")
}

/// A tool of this name, which does what a test says.
pub struct Act<F>(pub &'static str, pub F);

#[async_trait]
impl<F, Done> Tool for Act<F>
where
    F: Fn(Arc<dyn ToolContext>) -> Done + Send + Sync + 'static,
    Done: Future<Output = adk_core::Result<Value>> + Send + 'static,
{
    fn name(&self) -> &str {
        self.0
    }

    fn description(&self) -> &str {
        "Does what the test says."
    }

    async fn execute(&self, ctx: Arc<dyn ToolContext>, _args: Value) -> adk_core::Result<Value> {
        (self.1)(ctx).await
    }
}
