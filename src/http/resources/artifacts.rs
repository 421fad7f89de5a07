//! Artifacts: files of a session or of a user.

use std::{io, mem};

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use futures_util::{StreamExt as _, stream};
use tokio::time::Instant;

use crate::domain::access::Role;
use crate::domain::artifact::{
    Blob, Content, Draft, Frame, Kind as ArtifactKind, Part, Place, Version, Wanted, check_mime_type,
    parse_display_name, parse_metadata,
};
use crate::domain::event::cost;
use crate::domain::ids::{ArtifactName, segment};
use crate::domain::json::RawJson;
use crate::http::call::{Call, Incoming};
use crate::http::describe::{Access, Header, Kind, Operation, PAGE_SIZE, PAGE_TOKEN, Param};
use crate::http::limits::shares::Share;
use crate::http::live::watched::Watched;
use crate::http::reply::{self, Answer, Binding, Code, Problem, Ranged, disposition, ranged};
use crate::service::{self, Error, SaveRequest, SavedArtifact, Service, Upload};

const METADATA: Param = Param::new("metadata", Kind::Text);
const EVENT: Param = Param::new("event", Kind::OneOf(&["append", "none"]));
/// There is none of an artifact of a user.
const NO_EVENT: Param = Param::new("event", Kind::OneOf(&["none"]));
const AUTHOR: Param = Param::new("author", Kind::Text);
const INVOCATION_ID: Param = Param::new("invocationId", Kind::Text);
const DISPLAY_NAME: Param = Param::new("displayName", Kind::Text);
pub const VERSION: Param = Param::new("version", Kind::at_least(0));
const AS: Param = Param::new("as", Kind::OneOf(&["part"]));
const AT_REVISION: Param = Param::new("atRevision", Kind::at_least(0));
const PREFIX: Param = Param::new("prefix", Kind::Text);

const SAVE_QUERY_OF_USER: &[Param] = &[METADATA, DISPLAY_NAME, NO_EVENT, AUTHOR, INVOCATION_ID, VERSION];
const SAVE_HEADERS: &[Header] = &[Header::Lease, Header::IfMatch, Header::CreateOnly, Header::IdempotencyKey];
const SAVE_HEADERS_OF_USER: &[Header] = &[Header::IfMatch, Header::CreateOnly, Header::IdempotencyKey];

pub const PUT: Operation = Operation::of("putArtifact", Access::Write(Role::User))
    .query(&[METADATA, DISPLAY_NAME, EVENT, AUTHOR, INVOCATION_ID, VERSION])
    .headers(SAVE_HEADERS);

pub const PUT_OF_USER: Operation =
    Operation { id: "putUserArtifact", query: SAVE_QUERY_OF_USER, headers: SAVE_HEADERS_OF_USER, ..PUT };

pub const POST: Operation = Operation { id: "postArtifact", query: &[], ..PUT };

pub const POST_OF_USER: Operation = Operation { id: "postUserArtifact", headers: SAVE_HEADERS_OF_USER, ..POST };

/// A save, on the conditions of the headers.
pub fn request(
    call: &Call,
    (place, name, part): (Place, ArtifactName, Part),
    (metadata, version): (Option<RawJson>, Option<i64>),
    (event, author, invocation_id): (Option<&str>, Option<&str>, Option<&str>),
) -> Result<SaveRequest, Problem> {
    let author = author.unwrap_or(DEFAULT_AUTHOR);
    let writer = call.limits().writer;
    writer.check_author(author)?;
    writer.check_file(name.as_str())?;
    let appends = match (&place, event) {
        (Place::Session(_), event) => event != Some("none"),
        (Place::User(_), Some("append")) => {
            return Err(Problem::field(EVENT.name, "needs a session: this is an artifact of a user"));
        }
        (Place::User(_), _) => false,
    };
    let event = appends.then(|| (author.to_owned(), invocation_id.unwrap_or_default().to_owned()));
    let (is_first, if_match) = (call.headers.is_create_only()?, call.headers.if_version()?);
    let (lease, key) = (call.headers.lease()?, call.headers.request_key()?);
    Ok(SaveRequest { place, name, part, metadata, version, is_first, if_match, lease, key, event })
}

const DEFAULT_AUTHOR: &str = "user";

pub async fn put(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let (place, name) = call.names.artifact()?;
    let metadata = query.parsed(&METADATA, parse_metadata)?;
    let display_name = query.parsed(&DISPLAY_NAME, parse_display_name)?;
    let part = Part { display_name, ..Part::of_bytes(content_type(&call)?) };
    let event = (query.text(&EVENT), query.text(&AUTHOR), query.text(&INVOCATION_ID));
    let request = request(&call, (place, name, part), (metadata, query.integer(&VERSION)), event)?;
    if call.headers.all().contains_key(header::CONTENT_RANGE) {
        return Err(Problem::new(
            Code::InvalidRequest,
            "a part of an artifact cannot be saved: Content-Range is refused",
        ));
    }
    let announced =
        call.headers.all().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    call.limits().check_artifact(announced.unwrap_or(0))?;
    // What cannot be paid is refused before it comes. It is paid as it comes.
    call.charge(cost(usize::try_from(announced.unwrap_or(0)).unwrap_or(usize::MAX)))?;
    call.costs(1);
    let upload = upload(&mut call, request.place.clone()).await?;
    save(call, request, Some(upload)).await
}

/// The type of the body, if it says one.
fn content_type(call: &Call) -> Result<Option<String>, Problem> {
    let refuse = |message| Problem::field("Content-Type", message);
    let mut values = call.headers.all().get_all(header::CONTENT_TYPE).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(refuse("must be given once"));
    }
    let text = value.to_str().map_err(|_| refuse("must be visible ASCII"))?;
    if text.is_empty() {
        return Ok(None);
    }
    check_mime_type(text).map_err(refuse)?;
    Ok(Some(text.to_owned()))
}

/// Takes the body in. Meanwhile the request has a place among the uploads instead of one among the requests, and no deadline, but the
/// client must keep sending, and must keep its access.
async fn upload(call: &mut Call, place: Place) -> Result<Upload, Problem> {
    let mut body = call.incoming(None)?;
    let mut share = call.app.places.upload(call.sharer())?;
    call.place.give_back();
    let mut upload = call.writer()?.upload(place);
    let taken = take_in(call, &mut body, &mut upload, &mut share).await;
    match taken {
        Ok(()) => Ok(upload),
        Err(problem) => {
            upload.abandon().await;
            Err(problem)
        }
    }
}

async fn take_in(call: &mut Call, body: &mut Incoming, upload: &mut Upload, share: &mut Share) -> Result<(), Problem> {
    let preemption = share.preemptible();
    let taken_back = || {
        let detail = "more artifacts of the user are being uploaded than can be beside others; try again";
        Problem::over("uploads", Code::Overloaded, detail)
    };
    let mut memory = call.app.memory.claim();
    let mut client = Watched::new(call);
    loop {
        let next = tokio::select! {
            biased;
            () = preemption.preempted() => return Err(taken_back()),
            next = client.during(body.next()) => next,
        };
        let data = match next {
            // It has lost its access, and learns why.
            Err(_) => {
                call.still_may().await?;
                return Err(Problem::over(
                    "grant",
                    Code::PermissionDenied,
                    "the credential does not allow this any more",
                ));
            }
            Ok(Err(broken)) => return Err(broken.into()),
            Ok(Ok(None)) if !share.settle() => return Err(taken_back()),
            Ok(Ok(None)) => return call.still_may().await,
            Ok(Ok(Some(data))) => data,
        };
        if !memory.set(upload.held() + data.len()) {
            let detail = "too many bytes of requests are under way; try again";
            return Err(Problem::over("buffered_bytes", Code::Overloaded, detail));
        }
        upload.push(&data).await?;
        call.spend(upload.cost())?;
    }
}

pub async fn post(mut call: Call) -> Result<Answer, Problem> {
    let place = call.names.place()?;
    let body = call.required_body().await?;
    let draft = Draft::parse(body.json()?)?;
    let name = place.name(&draft.name).map_err(|message| Problem::field("name", message))?;
    let event = (draft.event.as_deref(), draft.author.as_deref(), draft.invocation_id.as_deref());
    let mut part = draft.part;
    let bytes = part.bytes.take();
    let request = request(&call, (place, name, part), (draft.metadata, draft.version), event)?;
    let upload = filled(&call, &request.place, bytes).await?;
    drop(body);
    save(call, request, upload).await
}

/// An upload of the bytes of a part, if it has some, which are charged before.
pub fn filled(
    call: &Call,
    place: &Place,
    bytes: Option<Vec<u8>>,
) -> impl Future<Output = Result<Option<Upload>, Problem>> + Send + use<> {
    let upload = bytes.map(|bytes| {
        call.charge(cost(bytes.len()))?;
        Ok::<_, Problem>((call.writer()?.upload(place.clone()), bytes))
    });
    async move {
        let Some((mut upload, bytes)) = upload.transpose()? else { return Ok(None) };
        match upload.push(&bytes).await {
            Ok(()) => Ok(Some(upload)),
            Err(error) => {
                upload.abandon().await;
                Err(error.into())
            }
        }
    }
}

/// Saves a version.
pub async fn saved(
    service: &Service,
    request: SaveRequest,
    upload: Option<Upload>,
    deadline: Instant,
) -> Result<SavedArtifact, Problem> {
    let (is_first, is_of_session) = (request.is_first, request.place.session().is_some());
    service.save_artifact(request, upload, deadline).await.map_err(|error| match error {
        Error::ArtifactMismatch { latest: Some(latest) } if is_first => {
            Problem::has_version(Some(latest), Header::CreateOnly.title())
        }
        Error::UserErased if is_of_session => Error::SessionNotFound.into(),
        error => error.into(),
    })
}

async fn save(call: Call, request: SaveRequest, upload: Option<Upload>) -> Result<Answer, Problem> {
    let place = request.place.clone();
    let SavedArtifact { version, replayed, cost } = saved(call.writer()?, request, upload, call.deadline).await?;
    call.costs(cost);
    let answer = match replayed {
        true => Answer::ok().replayed(true),
        false => Answer::new(StatusCode::CREATED).header(header::LOCATION, location(&place, &version)),
    };
    let mut object = version.to_object();
    object.push_some("revision", version.revision.map(|revision| revision.to_string()));
    Ok(answer.tag(version.tag()).json(object.close()))
}

/// Where the version is.
fn location(place: &Place, version: &Version) -> String {
    let place = place.session().map_or_else(|| reply::user_path(place.user()), reply::session_path);
    format!("{place}/artifacts/{}?version={}", segment(version.name.as_str()), version.version)
}

/// Whether a file is bytes or a text: a client of ADK gives back what it was given, and the type does not say it.
const KIND: HeaderName = HeaderName::from_static("sessiond-artifact-kind");

/// The name of a file for people, percent-encoded.
const NAME: HeaderName = HeaderName::from_static("sessiond-artifact-display-name");

pub const GET: Operation = Operation::of("getArtifact", Access::Read(Role::Reader))
    .query(&[VERSION, AT_REVISION, AS])
    .headers(&[Header::IfNoneMatch]);

pub const GET_OF_USER: Operation = Operation { id: "getUserArtifact", query: &[VERSION, AS], ..GET };

pub async fn get(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let (place, name) = call.names.artifact()?;
    let wanted = match (query.integer(&VERSION), query.integer(&AT_REVISION)) {
        (None, None) => Wanted::Latest,
        (Some(version), None) => Wanted::Version(version),
        (None, Some(revision)) => Wanted::At(revision),
        (Some(_), Some(_)) => return Err(Problem::field(VERSION.name, "and `atRevision` exclude each other")),
    };
    let (version, blob) = call.service.artifact(&place, &name, wanted, call.deadline).await?;
    let tag = version.tag();
    if call.headers.has_current(&tag)? {
        return Ok(Answer::not_modified(tag));
    }
    if query.text(&AS).is_some() {
        return part(call, &version, blob.as_ref(), Frame::of(&version)).await;
    }
    let (Some((size, _)), Some(blob)) = (version.content.bytes, blob) else {
        return Err(Problem::field(AS.name, "must be `part`: this version is an address, which has no bytes"));
    };
    let text = |name: HeaderName| call.headers.all().get(name).and_then(|value| value.to_str().ok());
    let range = text(header::RANGE).filter(|_| !call.is_head);
    let (status, range) = match ranged(range, text(header::IF_RANGE), &tag, size) {
        Ranged::Whole => (StatusCode::OK, 0..size),
        Ranged::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
        Ranged::Beyond => return Err(Problem::beyond(size)),
    };
    let length = range.end - range.start;
    let mut answer = Answer::new(status)
        .tag(tag)
        .header(header::CONTENT_TYPE, shown_type(&version.content))
        .header(KIND, version.content.kind.as_str())
        .header(header::CONTENT_LENGTH, HeaderValue::from(length))
        .header(header::ACCEPT_RANGES, "bytes")
        .header(header::CONTENT_DISPOSITION, disposition(version.name.file_name()))
        .header(header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'");
    if let Some(name) = version.content.display_name.as_ref().and_then(|name| name.json().as_str()) {
        answer = answer.header(NAME, segment(&name));
    }
    if status == StatusCode::PARTIAL_CONTENT {
        let shown = format!("bytes {}-{}/{size}", range.start, range.end - 1);
        answer = answer.header(header::CONTENT_RANGE, shown);
    }
    if call.is_head {
        return Ok(answer);
    }
    let parts = call.service.bytes(&blob, range);
    streamed(Watched::new(&call), answer, parts, length, |bytes, _| bytes).await
}

/// The type that is shown: that of a text says its coding.
fn shown_type(content: &Content) -> String {
    let mime_type = content.mime_type.clone().unwrap_or_default();
    if content.kind == ArtifactKind::Text { format!("{mime_type}; charset=utf-8") } else { mime_type }
}

/// A version as a part, in the frame of it.
pub async fn part(call: Call, version: &Version, blob: Option<&Blob>, mut frame: Frame) -> Result<Answer, Problem> {
    let answer = Answer::ok().tag(version.tag());
    let (Some(blob), Some((size, _))) = (blob, version.content.bytes) else {
        return Ok(answer.json(frame.head + frame.tail));
    };
    let answer = answer.header(header::CONTENT_TYPE, "application/json");
    if call.is_head {
        return Ok(answer);
    }
    let parts = call.service.bytes(blob, 0..size);
    // Bytes that come with the next ones.
    let mut left = Vec::new();
    let as_part = move |bytes: Bytes, is_last| {
        let mut out = mem::take(&mut frame.head);
        left.extend_from_slice(&bytes);
        left = frame.push(&mut out, &left, is_last).to_vec();
        if is_last {
            out.push_str(frame.tail);
            out.push('\n');
        }
        Bytes::from(out)
    };
    streamed(Watched::new(&call), answer, parts, size, as_part).await
}

/// Answers with so many bytes, part by part, each as `written` has it, which is told whether it is the last. The first is read before the
/// answer begins, so that its failure is told.
async fn streamed(
    client: Watched,
    answer: Answer,
    mut parts: impl stream::Stream<Item = service::Result<Bytes>> + Send + Unpin + 'static,
    size: u64,
    mut written: impl FnMut(Bytes, bool) -> Bytes + Send + 'static,
) -> Result<Answer, Problem> {
    let first = parts.next().await.transpose()?.unwrap_or_default();
    let left = size.saturating_sub(first.len() as u64);
    let first = written(first, left == 0);
    if left == 0 {
        return Ok(answer.body(first));
    }
    let rest = stream::try_unfold(
        (Some(first), parts, written, client, left),
        |(first, mut parts, mut written, mut client, left)| async move {
            if let Some(first) = first {
                return Ok(Some((first, (None, parts, written, client, left))));
            }
            if left == 0 {
                return Ok(None);
            }
            client.still_must().await?;
            let part = match parts.next().await {
                Some(Ok(part)) => part,
                Some(Err(error)) => {
                    tracing::warn!(%error, "an artifact was cut");
                    return Err(io::Error::other("cut"));
                }
                None => return Err(io::Error::other("cut")),
            };
            let left = left.saturating_sub(part.len() as u64);
            Ok(Some((written(part, left == 0), (None, parts, written, client, left))))
        },
    );
    /// Of base64 it is a third more.
    const PART: usize = 2 * (256 << 10);
    Ok(Answer { part: Some(PART), ..answer.body(Body::from_stream(rest)) })
}

pub const VERSIONS: Operation =
    Operation::of("listArtifactVersions", Access::Read(Role::Reader)).query(&[PAGE_SIZE, PAGE_TOKEN]);

pub const VERSIONS_OF_USER: Operation = Operation { id: "listUserArtifactVersions", ..VERSIONS };

pub async fn versions(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let (place, name) = call.names.artifact()?;
    let binding = of_place(call.binding("artifact versions"), &place).with(name.as_str());
    let (after, rows) = (query.position(&binding)?.unwrap_or(-1), query.page_rows(&call.limits())?);
    let page = call.service.artifact_versions(&place, &name, (after, rows), call.deadline).await?;
    let next = page.versions.last().filter(|_| page.more).map(|last| binding.token(&last.version));
    Ok(Answer::ok().json(reply::page("versions", &shown(&page.versions), next)))
}

pub const LIST: Operation =
    Operation::of("listArtifacts", Access::Read(Role::Reader)).query(&[PREFIX, AT_REVISION, PAGE_SIZE, PAGE_TOKEN]);

pub const LIST_OF_USER: Operation =
    Operation { id: "listUserArtifacts", query: &[PREFIX, PAGE_SIZE, PAGE_TOKEN], ..LIST };

pub async fn list(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let place = call.names.place()?;
    let prefix = query.text(&PREFIX).unwrap_or_default().to_owned();
    if prefix.contains('\0') {
        return Err(Problem::field(PREFIX.name, "must not contain U+0000"));
    }
    let at = query.integer(&AT_REVISION);
    let binding = of_place(call.binding("artifacts"), &place).with(&prefix).with(&format!("{at:?}"));
    let (after, rows) = (query.position(&binding)?.unwrap_or_default(), query.page_rows(&call.limits())?);
    let page = call.service.artifacts(place, prefix, at, (after, rows), call.deadline).await?;
    let next = page.next.map(|last| binding.token(&last));
    Ok(Answer::ok().json(reply::page("artifacts", &shown(&page.artifacts), next)))
}

fn of_place(binding: Binding, place: &Place) -> Binding {
    let user = place.user();
    let session = place.session().map_or("", |session| session.session.as_str());
    binding.with(user.app.as_str()).with(user.user.as_str()).with(session)
}

fn shown(versions: &[Version]) -> Vec<String> {
    versions.iter().map(|version| version.to_object().close()).collect()
}

pub const DELETE: Operation = Operation::of("deleteArtifact", Access::Write(Role::User))
    .query(&[VERSION])
    .headers(&[Header::IfMatch, Header::Lease]);

pub const DELETE_OF_USER: Operation = Operation { id: "deleteUserArtifact", headers: &[Header::IfMatch], ..DELETE };

pub async fn delete(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let (place, name) = call.names.artifact()?;
    let version = query.integer(&VERSION);
    let terms = (call.headers.if_version()?, call.headers.lease()?);
    call.limits().writer.check_file(name.as_str())?;
    call.writer()?.delete_artifact(place, name, version, terms, call.deadline).await?;
    Ok(Answer::new(StatusCode::NO_CONTENT))
}
