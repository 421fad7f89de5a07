//! An S3 server in this process, with its objects in a folder, which fails as a test tells it.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use uuid::Uuid;

const BUCKET: &str = "bucket";
const KEY: &str = "an-access-key";
const SECRET: &str = "a-secret-key";

/// What becomes of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Serves,
    /// Answers with this status.
    Answers(u16),
    /// Answers 503 so many times more, and then serves.
    Stumbles(usize),
    /// Takes requests and says nothing.
    Hangs,
    /// Sends half of each object, and then nothing.
    Stalls,
    /// Closes connections without an answer.
    Gone,
    /// Says that there is no such bucket, as S3 does for every request. (s3s-fs says so for some.)
    NoBucket,
}

pub struct S3 {
    address: SocketAddr,
    mode: Arc<Mutex<Mode>>,
    serving: JoinHandle<()>,
    root: PathBuf,
}

type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

impl S3 {
    pub async fn start() -> Self {
        let root = std::env::temp_dir().join(format!("sessiond-s3-{}", Uuid::new_v4().simple()));
        fs::create_dir_all(root.join(BUCKET)).expect("create a bucket");
        let mut builder = S3ServiceBuilder::new(s3s_fs::FileSystem::new(&root).expect("a folder"));
        builder.set_auth(SimpleAuth::from_single(KEY, SECRET));
        let service = builder.build();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
        let address = listener.local_addr().expect("an address");
        let mode = Arc::new(Mutex::new(Mode::Serves));
        let serving = tokio::spawn(serve(listener, service, mode.clone()));
        Self { address, mode, serving, root }
    }

    pub fn set(&self, mode: Mode) {
        *self.mode.lock().expect("no panic") = mode;
    }

    pub fn url(&self) -> String {
        format!("s3://{BUCKET}/some/prefix")
    }

    /// The environment of a process that uses it.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ACCESS_KEY_ID", KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
            ("AWS_REGION", "eu-central-1".to_owned()),
            ("AWS_ENDPOINT_URL", format!("http://{}", self.address)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
        ]
    }

    /// Where the objects are.
    pub fn folder(&self) -> PathBuf {
        self.root.join(BUCKET).join("some/prefix")
    }

    /// How many uploads are neither completed nor aborted.
    pub fn unfinished(&self) -> usize {
        let is_upload = |name: &str| name.starts_with(".upload-");
        files_in(&self.root)
            .iter()
            .filter(|file| is_upload(&file.file_name().expect("a name").to_string_lossy()))
            .count()
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        self.serving.abort();
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// All files below a folder.
pub fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for entry in entries {
            let path = entry.expect("an entry").path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found
}

async fn serve(listener: TcpListener, service: S3Service, mode: Arc<Mutex<Mode>>) {
    loop {
        let (socket, _) = listener.accept().await.expect("accept");
        let (service, mode) = (service.clone(), mode.clone());
        tokio::spawn(async move {
            let answer = service_fn(move |request| answer(service.clone(), mode.clone(), request));
            let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), answer).await;
        });
    }
}

async fn answer(service: S3Service, mode: Arc<Mutex<Mode>>, request: Request<Incoming>) -> io::Result<Response<Body>> {
    let is_get =
        request.method() == Method::GET && !request.uri().query().is_some_and(|query| query.contains("list-type"));
    let mode = {
        let mut mode = mode.lock().expect("no panic");
        let now = *mode;
        if let Mode::Stumbles(left) = now {
            *mode = if left > 1 { Mode::Stumbles(left - 1) } else { Mode::Serves };
        }
        now
    };
    let (status, code) = match mode {
        Mode::Serves => return Ok(served(&service, request).await),
        Mode::Stalls if is_get => {
            let (head, body) = served(&service, request).await.into_parts();
            let bytes = body.collect().await.map_err(io::Error::other)?.to_bytes();
            let half = bytes.slice(..bytes.len() / 2);
            let stalled = stream::iter([Ok(Frame::data(half))]).chain(stream::pending());
            return Ok(Response::from_parts(head, UnsyncBoxBody::new(StreamBody::new(stalled))));
        }
        Mode::Stalls => return Ok(served(&service, request).await),
        Mode::Answers(status) => (status, "SlowDown"),
        Mode::Stumbles(_) => (503, "SlowDown"),
        Mode::NoBucket => (404, "NoSuchBucket"),
        Mode::Gone => return Err(io::ErrorKind::ConnectionReset.into()),
        Mode::Hangs => {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            (503, "SlowDown")
        }
    };
    let text = format!("<Error><Code>{code}</Code><Message>what the store wrote</Message></Error>");
    let body = Full::new(Bytes::from(text)).map_err(|never| match never {});
    let mut answer = Response::new(UnsyncBoxBody::new(body));
    *answer.status_mut() = status.try_into().expect("a status");
    Ok(answer)
}

async fn served(service: &S3Service, request: Request<Incoming>) -> Response<Body> {
    service.call(request.map(s3s::Body::from)).await.expect("an answer").map(UnsyncBoxBody::new)
}
