//! The artifact service.

use std::{fmt, sync::Arc};

use adk_artifact::{
    ArtifactService, DeleteRequest, ListRequest, ListResponse, LoadRequest, LoadResponse, SaveRequest, SaveResponse,
    VersionsRequest, VersionsResponse,
};
use adk_core::Part;
use async_trait::async_trait;
use reqwest::{
    Method,
    header::{CONTENT_TYPE, HeaderMap},
};
use serde_json::{Value, json};

use crate::{
    error::{Error, ErrorKind},
    http::{Call, Http, path},
    wire::{self, FIRST},
};

/// Files whose names begin so are the user's.
const USER: &str = "user:";

/// Says whether what was read is bytes or a text.
const KIND: &str = "sessiond-artifact-kind";

/// Keeps the files of ADK agents in sessiond, beside their sessions: see
/// [`SessiondSessionService::artifacts`](crate::SessiondSessionService::artifacts).
///
/// What it guarantees, beyond what ADK asks of an artifact service:
///
/// - When `save` returns, the whole file is on disk, and every later read through any process shows it. If it fails, no
///   part of it is there, or it is unknown whether all of it is: see [`Error::outcome`]. A request without an answer is
///   sent again, and applied once.
/// - Versions of a file count 1, 2, 3, … without a gap, whoever saves at the same time, and a version never changes. Those
///   that were deleted are not used again. A file that a Python agent saved as version 0 is version 1 here.
/// - A file goes with its session, which must exist, or with its user if its name begins with `user:` or the id of the
///   session is blank.
///
/// A file may have any name, also with slashes, of up to 256 bytes. Bytes travel as they are, and are in memory as a whole,
/// as in ADK's parts. Of a [`Part`], a text, the bytes and the type of inline data, and the address and the type of file data
/// are kept; other parts are refused ([`ErrorKind::InvalidInput`]). A name for people (`displayName`) has no place in it.
///
/// Errors are an `AdkError` whose `source` is an [`Error`]; its code begins with `artifact.`: `artifact.not_found` if there
/// is no such file or version, or no session to save in.
///
/// A clone is the same service. It needs a tokio runtime with I/O and time.
#[derive(Clone)]
pub struct SessiondArtifactService(Arc<Http>);

/// Whose files, and which of them.
struct Place<'a> {
    app: &'a str,
    user: &'a str,
    session: &'a str,
    name: &'a str,
}

impl Place<'_> {
    fn is_of_user(&self) -> bool {
        self.name.starts_with(USER) || self.session.trim().is_empty()
    }

    fn all(&self) -> Result<String, Error> {
        let user = [("apps", self.app), ("users", self.user)];
        let path =
            if self.is_of_user() { path(&user) } else { path(&[user[0], user[1], ("sessions", self.session.trim())]) };
        Ok(format!("{}/artifacts", path?))
    }

    fn one(&self) -> Result<String, Error> {
        let user = [("apps", self.app), ("users", self.user)];
        match self.is_of_user() {
            true => path(&[user[0], user[1], ("artifacts", self.name)]),
            false => path(&[user[0], user[1], ("sessions", self.session.trim()), ("artifacts", self.name)]),
        }
    }
}

impl SessiondArtifactService {
    pub(crate) fn new(http: Arc<Http>) -> Self {
        Self(http)
    }

    async fn save_part(&self, place: &Place<'_>, part: Part, version: Option<i64>) -> Result<i64, Error> {
        let version = version.map(|version| version.checked_sub(FIRST).filter(|version| *version >= 0));
        let version = match version {
            Some(None) => return Err(Error::input("Versions of artifacts count from 1.")),
            given => given.flatten(),
        };
        let part = match part {
            Part::InlineData { mime_type, data, .. } => {
                let mut call = self.0.call(Method::PUT, &place.one()?).file(data, &mime_type)?;
                if !place.is_of_user() {
                    call = call.query("event", "none");
                }
                if let Some(version) = version {
                    call = call.query("version", &version.to_string());
                }
                return self.saved(call).await;
            }
            Part::Text { text } => json!({"text": text}),
            Part::FileData { mime_type, file_uri, .. } if mime_type.is_empty() => {
                json!({"fileData": {"fileUri": file_uri}})
            }
            Part::FileData { mime_type, file_uri, .. } => {
                json!({"fileData": {"fileUri": file_uri, "mimeType": mime_type}})
            }
            _ => return Err(Error::input("An artifact is a text, inline data or file data.")),
        };
        place.one()?;
        let mut body = json!({"name": place.name, "part": part, "version": version});
        if !place.is_of_user() {
            body["event"] = json!("none");
        }
        self.saved(self.0.call(Method::POST, &place.all()?).json(body.to_string())).await
    }

    async fn saved(&self, call: Call) -> Result<i64, Error> {
        // By which sessiond knows what an attempt before has saved.
        let answer = self.0.send(call.header("idempotency-key", &uuid::Uuid::new_v4().to_string())).await?;
        Ok(wire::member::<i64>(&wire::members(&answer)?, "version")? + FIRST)
    }

    async fn load_part(&self, place: &Place<'_>, version: Option<i64>) -> Result<Part, Error> {
        let path = place.one()?;
        let call = || match version {
            Some(version) => {
                self.0.call(Method::GET, &path).query("version", &version.saturating_sub(FIRST).to_string())
            }
            None => self.0.call(Method::GET, &path),
        };
        if version.is_some_and(|version| version < FIRST) {
            return Err(absent());
        }
        let (headers, body) = match self.0.exchange(call().download()).await {
            // Of file data there are no bytes.
            Err(error) if error.status == Some(422) => {
                let part: Value =
                    serde_json::from_slice(&self.0.send(call().query("as", "part")).await?).unwrap_or_default();
                return wire::decode_part(&part).ok_or_else(wire::not_ours);
            }
            answer => answer?,
        };
        let text = |name: &str| header(&headers, name);
        match text(KIND).as_deref() {
            Some("text") => Ok(Part::Text { text: String::from_utf8(body).map_err(|_| wire::not_ours())? }),
            Some(_) => {
                let mime_type = text(CONTENT_TYPE.as_str()).unwrap_or_default();
                Ok(Part::InlineData { mime_type, data: body, uri: None, annotations: None })
            }
            None => Err(wire::not_ours()),
        }
    }

    /// A field of all elements of a list.
    async fn all<T>(
        &self,
        path: &str,
        list: &str,
        of: impl Fn(&wire::Members<'_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let (mut found, mut token) = (Vec::new(), None::<String>);
        loop {
            let mut call = self.0.call(Method::GET, path).query("pageSize", "1000");
            if let Some(token) = &token {
                call = call.query("pageToken", token);
            }
            let answer = self.0.send(call).await?;
            let page = wire::members(&answer)?;
            for one in wire::list(&page, list)? {
                found.push(of(&wire::members(one.get().as_bytes())?)?);
            }
            token = wire::text(&page, "nextPageToken");
            if token.is_none() {
                return Ok(found);
            }
        }
    }

    async fn names(&self, app: &str, user: &str, session: &str) -> Result<Vec<String>, Error> {
        let name = |one: &wire::Members<'_>| wire::text(one, "name").ok_or_else(wire::not_ours);
        let place = |session| Place { app, user, session, name: "" };
        match self.all(&place(session).all()?, "artifacts", name).await {
            // Without a session there are still those of the user.
            Err(error) if error.kind == ErrorKind::NotFound => self.all(&place("").all()?, "artifacts", name).await,
            names => names,
        }
    }
}

impl fmt::Debug for SessiondArtifactService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessiondArtifactService").field("url", &self.0.base()).finish_non_exhaustive()
    }
}

#[async_trait]
impl ArtifactService for SessiondArtifactService {
    /// Saves a version of a file: the next one, or `version`, which must be beyond the latest
    /// ([`ErrorKind::AlreadyExists`]). The log of the session is not changed.
    async fn save(&self, req: SaveRequest) -> adk_core::Result<SaveResponse> {
        let place = Place { app: &req.app_name, user: &req.user_id, session: &req.session_id, name: &req.file_name };
        let version = self.save_part(&place, req.part, req.version).await.map_err(Error::of_artifact)?;
        Ok(SaveResponse { version })
    }

    /// Returns a version of a file, by default the latest, as it was saved.
    async fn load(&self, req: LoadRequest) -> adk_core::Result<LoadResponse> {
        let place = Place { app: &req.app_name, user: &req.user_id, session: &req.session_id, name: &req.file_name };
        let part = self.load_part(&place, req.version).await.map_err(Error::of_artifact)?;
        Ok(LoadResponse { part })
    }

    /// Deletes a version of a file, or all. There may be none.
    async fn delete(&self, req: DeleteRequest) -> adk_core::Result<()> {
        let place = Place { app: &req.app_name, user: &req.user_id, session: &req.session_id, name: &req.file_name };
        let mut call = self.0.call(Method::DELETE, &place.one().map_err(Error::of_artifact)?);
        match req.version.map(|version| version.saturating_sub(FIRST)) {
            Some(version) if version < 0 => return Ok(()),
            Some(version) => call = call.query("version", &version.to_string()),
            None => {}
        }
        match self.0.send(call).await {
            Err(error) if error.kind != ErrorKind::NotFound => Err(error.of_artifact()),
            _ => Ok(()),
        }
    }

    /// Returns the names of the files of a session and of its user, in the order of their bytes.
    async fn list(&self, req: ListRequest) -> adk_core::Result<ListResponse> {
        let file_names = self.names(&req.app_name, &req.user_id, &req.session_id).await.map_err(Error::of_artifact)?;
        Ok(ListResponse { file_names })
    }

    /// Returns the versions of a file, the latest first, as ADK's own services do.
    async fn versions(&self, req: VersionsRequest) -> adk_core::Result<VersionsResponse> {
        let place = Place { app: &req.app_name, user: &req.user_id, session: &req.session_id, name: &req.file_name };
        let listed = async {
            let path = format!("{}/versions", place.one()?);
            let mut versions =
                self.all(&path, "versions", |one| Ok(wire::member::<i64>(one, "version")? + FIRST)).await?;
            versions.reverse();
            if versions.is_empty() { Err(absent()) } else { Ok(versions) }
        };
        Ok(VersionsResponse { versions: listed.await.map_err(Error::of_artifact)? })
    }

    /// Whether sessiond is there and has its database. It is asked once.
    async fn health_check(&self) -> adk_core::Result<()> {
        self.0.once(Method::GET, "/readyz").await.map_err(Error::of_artifact)
    }
}

fn absent() -> Error {
    Error::new(ErrorKind::NotFound, "There is no such version of the artifact.")
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}
