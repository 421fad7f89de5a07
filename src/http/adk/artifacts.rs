//! Artifacts, as `adk api_server` has them: parts with base64 in JSON, and no event, as agents write that themselves. A name may have
//! slashes.

use tokio::time::Instant;

use super::{adk, all_of, elements};
use crate::domain::access::Role;
use crate::domain::artifact::{Frame, Kind, Part, Place, Version, Wanted, parse_metadata};
use crate::domain::envelope::Fields;
use crate::domain::ids::{ArtifactName, segment};
use crate::domain::json::{Json, ObjectText, RawJson};
use crate::http::call::Call;
use crate::http::describe::{Access, Header, Operation};
use crate::http::live::array::Pages;
use crate::http::reply::{self, Answer, Problem};
use crate::http::resources::artifacts::{VERSION, filled, part, request, saved};
use crate::service::{self, Error, Reader, SavedArtifact};

pub const SAVE: Operation =
    adk("adkSaveArtifact", Access::Write(Role::User)).headers(&[Header::Lease, Header::IdempotencyKey]);

pub async fn save(mut call: Call) -> Result<Answer, Problem> {
    let place = call.names.place()?;
    let body = call.required_body().await?;
    let (name, mut part, metadata) = given(body.json()?, &place)?;
    let bytes = part.bytes.take();
    let request = request(&call, (place.clone(), name, part), (metadata, None), (Some("none"), None, None))?;
    let upload = filled(&call, &place, bytes).await?;
    drop(body);
    let SavedArtifact { version, replayed, cost } = saved(call.writer()?, request, upload, call.deadline).await?;
    call.costs(cost);
    let named = vec![("artifact", version.name.to_string())];
    Ok(Answer::ok().replayed(replayed).tag(version.tag()).named(named).json(shown(&place, &version)))
}

/// Reads `{filename, artifact, customMetadata?}`.
fn given(json: Json<'_>, place: &Place) -> Result<(ArtifactName, Part, Option<RawJson>), Problem> {
    const NAME: &str = "filename";
    const PART: &str = "artifact";
    const METADATA: &str = "customMetadata";
    let mut fields = Fields::of(json, "")?;
    let name = fields.take_str_with(NAME, |name| place.name(name));
    let given = fields.take(PART);
    let part = fields.read_below(PART, given, Part::parse)?;
    let metadata = fields.take_with(METADATA, |metadata| parse_metadata(metadata.text()));
    fields.require(NAME, &name);
    fields.require(PART, &given);
    fields.ignore_others();
    fields.finish()?;
    let (Some(name), Some(part)) = (name, part) else { return Err(Problem::field(PART, "is required")) };
    Ok((name, part, metadata))
}

/// A version in ADK's form.
fn shown(place: &Place, version: &Version) -> String {
    let of = place.session().filter(|_| !version.name.is_of_user());
    let of = of.map_or_else(|| reply::user_path(place.user()), reply::session_path);
    let of = of.strip_prefix("/v1").unwrap_or(&of);
    let uri = format!("sessiond:/{of}/artifacts/{}/versions/{}", segment(version.name.as_str()), version.version);
    let mut object = ObjectText::default();
    object.push("version", &version.version.to_string());
    object.push_str("canonicalUri", &uri);
    object.push("customMetadata", version.content.metadata.as_ref().map_or("{}", RawJson::text));
    object.push("createTime", &version.create_time.to_number());
    object.push_some_str("mimeType", version.content.mime_type.as_ref());
    object.close()
}

pub const GET: Operation =
    adk("adkGetArtifact", Access::Read(Role::Reader)).query(&[VERSION]).headers(&[Header::IfNoneMatch]);

pub async fn get(mut call: Call) -> Result<Answer, Problem> {
    let wanted = call.take_query().integer(&VERSION).map_or(Wanted::Latest, Wanted::Version);
    load(call, wanted).await
}

pub const GET_VERSION: Operation = Operation { id: "adkGetArtifactVersion", query: &[], ..GET };

pub async fn get_version(call: Call) -> Result<Answer, Problem> {
    let wanted = call.names.version()?;
    load(call, wanted).await
}

async fn load(call: Call, wanted: Wanted) -> Result<Answer, Problem> {
    let (place, name) = call.names.artifact()?;
    let (version, blob) = call.service.artifact(&place, &name, wanted, call.deadline).await?;
    // As ADK has it, no bytes are no artifact: its rewind leaves such a one of what was not there.
    if version.content.kind == Kind::Bytes && version.content.bytes.is_some_and(|(size, _)| size == 0) {
        return Err(Error::ArtifactNotFound.into());
    }
    let tag = version.tag();
    if call.headers.has_current(&tag)? {
        return Ok(Answer::not_modified(tag));
    }
    let frame = Frame::of_adk(&version);
    part(call, &version, blob.as_ref(), frame).await
}

pub const METADATA: Operation = Operation { id: "adkGetArtifactVersionMetadata", headers: &[], ..GET_VERSION };

pub async fn metadata(call: Call) -> Result<Answer, Problem> {
    let ((place, name), wanted) = (call.names.artifact()?, call.names.version()?);
    let (version, _) = call.service.artifact(&place, &name, wanted, call.deadline).await?;
    Ok(Answer::ok().json(shown(&place, &version)))
}

pub const LIST: Operation = Operation { id: "adkListArtifacts", query: &[], headers: &[], ..GET };

pub async fn list(call: Call) -> Result<Answer, Problem> {
    let place = call.names.place()?;
    all_of(call, Names { place, after: String::new() }).await
}

/// The names of the artifacts of a place.
struct Names {
    place: Place,
    after: String,
}

impl Pages for Names {
    async fn next(&mut self, service: &Reader, deadline: Instant) -> service::Result<(String, bool)> {
        let position = (self.after.clone(), service.limits().page_rows);
        let page = service.artifacts(self.place.clone(), String::new(), None, position, deadline).await?;
        let more = page.next.is_some();
        self.after = page.next.unwrap_or_default();
        Ok((elements(&page.artifacts, |artifact| RawJson::string(artifact.name.as_str()).into_string()), more))
    }
}

pub const VERSIONS: Operation = Operation { id: "adkListArtifactVersions", ..LIST };

pub async fn versions(call: Call) -> Result<Answer, Problem> {
    all_versions(call, |_, version| version.version.to_string()).await
}

pub const VERSIONS_METADATA: Operation = Operation { id: "adkListArtifactVersionsMetadata", ..VERSIONS };

pub async fn versions_metadata(call: Call) -> Result<Answer, Problem> {
    all_versions(call, shown).await
}

async fn all_versions(call: Call, shown: fn(&Place, &Version) -> String) -> Result<Answer, Problem> {
    let (place, name) = call.names.artifact()?;
    all_of(call, Versions { place, name, after: -1, shown }).await
}

/// The versions of an artifact.
struct Versions {
    place: Place,
    name: ArtifactName,
    after: i64,
    shown: fn(&Place, &Version) -> String,
}

impl Pages for Versions {
    async fn next(&mut self, service: &Reader, deadline: Instant) -> service::Result<(String, bool)> {
        let position = (self.after, service.limits().page_rows);
        let page = match service.artifact_versions(&self.place, &self.name, position, deadline).await {
            Err(Error::ArtifactNotFound) => return Ok((String::new(), false)),
            page => page?,
        };
        if let Some(last) = page.versions.last() {
            self.after = last.version;
        }
        Ok((elements(&page.versions, |version| (self.shown)(&self.place, version)), page.more))
    }
}

pub const DELETE: Operation =
    adk("adkDeleteArtifact", Access::Write(Role::User)).query(&[VERSION]).headers(&[Header::Lease]);

pub async fn delete(mut call: Call) -> Result<Answer, Problem> {
    let version = call.take_query().integer(&VERSION);
    let ((place, name), lease) = (call.names.artifact()?, call.headers.lease()?);
    call.limits().writer.check_file(name.as_str())?;
    match call.writer()?.delete_artifact(place, name, version, (None, lease), call.deadline).await {
        Ok(()) | Err(Error::SessionNotFound) => Ok(Answer::ok().json("null")),
        Err(error) => Err(error.into()),
    }
}
