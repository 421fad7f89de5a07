//! A version of an artifact.

use crate::domain::envelope::MAX_VALUE_DEPTH;
use crate::domain::ids::{AppName, ArtifactName, SessionKey, UserKey};
use crate::domain::json::{Json, JsonError, Kind as JsonKind, ObjectText, RawJson};
use crate::domain::number::of_digits;
use crate::domain::tag::{EntityTag, tags};
use crate::domain::time::Micros;
use crate::domain::word::read_words;

/// Longest metadata, in bytes of its text.
pub const MAX_METADATA_BYTES: usize = 8 << 10;

/// Longest media type, in bytes.
const MAX_MIME_TYPE: usize = 1024;

/// Whose artifacts a path names. A session's path names those of its user, too, by the prefix of their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Session(SessionKey),
    User(UserKey),
}

impl Place {
    pub fn user(&self) -> &UserKey {
        match self {
            Self::Session(session) => &session.user,
            Self::User(user) => user,
        }
    }

    pub fn app(&self) -> &AppName {
        &self.user().app
    }

    pub fn session(&self) -> Option<&SessionKey> {
        match self {
            Self::Session(session) => Some(session),
            Self::User(_) => None,
        }
    }

    /// Reads a name as it is meant here.
    ///
    /// # Errors
    /// The broken rule, in words for a client.
    pub fn name(&self, name: &str) -> Result<ArtifactName, &'static str> {
        match self {
            Self::Session(_) => ArtifactName::parse(name),
            Self::User(_) => ArtifactName::parse_of_user(name),
        }
    }
}

read_words! {
    /// What a version is.
    pub enum Kind {
        Bytes = "bytes",
        /// Text in UTF-8, which ADK gave as text and gets back as such.
        Text = "text",
        /// An address of something that is elsewhere.
        Uri = "uri",
        /// Nothing: it reads as if the artifact were not there.
        Gone = "gone",
    }
}

/// The name of some bytes, which says nothing of their content.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BlobKey {
    pub user: UserKey,
    pub id: String,
}

/// Bytes that are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    pub key: BlobKey,
    pub size: u64,
    /// The object store and the object in it; `None`: the database has them.
    pub object: Option<(String, String)>,
}

/// What a version says, but for its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    pub kind: Kind,
    /// As it was given; absent only of an address.
    pub mime_type: Option<String>,
    /// How many bytes there are, and their digest; `None` of an address.
    pub bytes: Option<(u64, [u8; 32])>,
    /// JSON strings, as they were given.
    pub display_name: Option<RawJson>,
    pub file_uri: Option<RawJson>,
    /// A JSON object, as it was given.
    pub metadata: Option<RawJson>,
}

/// The longest text of an artifact that goes into a template, in bytes.
const MAX_TEXT_BYTES: u64 = 1 << 20;

impl Content {
    /// Whether its bytes go into a template if they are UTF-8: a text, or bytes of a type of text or JSON, of up to 1 MiB.
    pub fn is_text(&self) -> bool {
        let is_of_text = match self.kind {
            Kind::Text => true,
            Kind::Bytes => self.mime_type.as_deref().is_some_and(is_text_type),
            Kind::Uri | Kind::Gone => false,
        };
        is_of_text && self.bytes.is_some_and(|(size, _)| size <= MAX_TEXT_BYTES)
    }

    /// Checks that it has what its kind has, and nothing else.
    ///
    /// # Errors
    /// The broken rule, in words for a client.
    pub fn check(&self) -> Result<(), &'static str> {
        let has =
            [self.mime_type.is_some(), self.bytes.is_some(), self.display_name.is_some(), self.file_uri.is_some()];
        match (self.kind, has) {
            (Kind::Bytes, [true, true, _, false]) | (Kind::Text, [true, true, false, false]) => Ok(()),
            (Kind::Uri, [_, false, _, true]) => Ok(()),
            (Kind::Gone, [false, false, false, false]) if self.metadata.is_none() => Ok(()),
            _ => Err("does not have the fields of its kind"),
        }
    }
}

/// Whether a media type is one of text or JSON, and names no charset but UTF-8 or its part.
fn is_text_type(mime_type: &str) -> bool {
    let mime_type = mime_type.to_ascii_lowercase();
    let mut parts = mime_type.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    let charset = parts.find_map(|part| part.strip_prefix("charset="));
    let is_utf8 = |charset: &str| matches!(charset.trim_matches('"'), "utf-8" | "utf8" | "us-ascii");
    (essence.starts_with("text/") || essence == "application/json" || essence.ends_with("+json"))
        && charset.is_none_or(is_utf8)
}

/// A version of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    pub name: ArtifactName,
    pub version: i64,
    pub content: Content,
    pub create_time: Micros,
    /// The session's revision of the event that the save appended, if it did.
    pub revision: Option<i64>,
}

impl Version {
    /// Without its revision, which only the answer to a save has.
    pub fn to_object(&self) -> ObjectText {
        let mut object = ObjectText::default();
        self.push_to(&mut object, ObjectText::push);
        object
    }

    /// Adds its members to an object; `push` adds those that are JSON as it was given.
    pub fn push_to(&self, object: &mut ObjectText, push: impl Fn(&mut ObjectText, &str, &str)) {
        let Content { kind, mime_type, bytes, display_name, file_uri, metadata } = &self.content;
        object.push_str("name", self.name.as_str());
        object.push("version", &self.version.to_string());
        object.push_str("kind", kind.as_str());
        object.push_some_str("mimeType", mime_type.as_ref());
        if let Some((size, sha256)) = bytes {
            object.push("size", &size.to_string());
            object.push_str("sha256", &hex::encode(sha256));
        }
        object.push("createTime", &self.create_time.to_number());
        for (name, value) in [("metadata", metadata), ("displayName", display_name), ("fileUri", file_uri)] {
            if let Some(value) = value {
                push(object, name, value.text());
            }
        }
    }

    /// An estimate of its size in a list, in bytes.
    pub fn weight(&self) -> usize {
        const REST: usize = 300;
        let Content { mime_type, display_name, file_uri, metadata, .. } = &self.content;
        let texts = [display_name, file_uri, metadata].into_iter().flatten().map(|json| json.text().len());
        REST + self.name.as_str().len() + mime_type.as_ref().map_or(0, String::len) + texts.sum::<usize>()
    }

    /// Its entity tag, quoted: the number and the beginning of the digest.
    pub fn tag(&self) -> String {
        format!("\"{}\"", tag(self.version, self.content.bytes.as_ref().map(|(_, sha256)| sha256)))
    }
}

fn tag(version: i64, sha256: Option<&[u8; 32]>) -> String {
    match sha256 {
        Some(sha256) => format!("{version}-{}", hex::encode(&sha256[..4])),
        None => version.to_string(),
    }
}

/// A precondition on the latest version: a list of tags, one of which must be its own, whole or as a number alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IfVersion(Option<Vec<String>>);

impl IfVersion {
    /// # Errors
    /// It is neither `*` nor a list of quoted entity tags.
    pub fn parse(list: &str) -> Result<Self, &'static str> {
        let mut wanted = Vec::new();
        for tag in tags(list)? {
            match tag {
                EntityTag::Any => return Ok(Self(None)),
                EntityTag::Strong(text) => wanted.push(text.to_owned()),
                // The comparison is strong, and none of ours is weak.
                EntityTag::Weak(_) => {}
            }
        }
        Ok(Self(Some(wanted)))
    }

    /// Whether it holds if this is the latest version, with this digest.
    pub fn holds(&self, latest: Option<(i64, Option<[u8; 32]>)>) -> bool {
        let Some((version, sha256)) = latest else { return false };
        let is_it = |wanted: &String| *wanted == version.to_string() || *wanted == tag(version, sha256.as_ref());
        self.0.as_ref().is_none_or(|wanted| wanted.iter().any(is_it))
    }
}

/// Which version a reader asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    Latest,
    Version(i64),
    /// The one that the events of the session up to this revision name.
    At(i64),
}

impl Wanted {
    /// Reads `latest`, or a number.
    ///
    /// # Errors
    /// The broken rule, in words for a client.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "latest" => Ok(Self::Latest),
            // Beyond all numbers there is no version.
            digits => of_digits(digits).map(Self::Version).ok_or("must be the number of a version, or `latest`"),
        }
    }
}

/// What is found of an artifact.
#[derive(Debug, Clone)]
pub enum Found<T> {
    SessionNotFound,
    /// The session, or the user, has no such artifact, or not that version of it.
    Nothing,
    /// The session has not reached that revision; this is its current one.
    Beyond(i64),
    /// The session begins here, after that revision.
    Trimmed(i64),
    There(T),
}

impl<T> Found<T> {
    /// The same of something else, which is not there.
    pub fn without<U>(self) -> Found<U> {
        match self {
            Self::SessionNotFound => Found::SessionNotFound,
            Self::Nothing | Self::There(_) => Found::Nothing,
            Self::Beyond(revision) => Found::Beyond(revision),
            Self::Trimmed(base) => Found::Trimmed(base),
        }
    }
}

/// A page of the artifacts of a place, the latest version of each, in byte order of names.
#[derive(Debug, Clone)]
pub struct ArtifactList {
    pub place: Place,
    /// Names begin with this, bytewise.
    pub prefix: String,
    /// Those after this name.
    pub after: String,
    pub rows: usize,
    /// Those that the events of the session up to this revision name, and the versions that they name.
    pub at: Option<i64>,
    pub now: Micros,
}

#[derive(Debug, Clone, Default)]
pub struct ArtifactPage {
    pub artifacts: Vec<Version>,
    /// The name behind which the next page begins, if there is one.
    pub next: Option<String>,
}

/// A page of the versions of an artifact, ascending.
#[derive(Debug, Clone)]
pub struct VersionPage {
    pub versions: Vec<Version>,
    pub more: bool,
}

/// The rule for media types: what can stand in a header.
///
/// # Errors
/// The broken rule, in words for a client.
pub fn check_mime_type(text: &str) -> Result<(), &'static str> {
    let is_shown = |byte: u8| (b' '..=b'~').contains(&byte);
    if text.is_empty() || text.len() > MAX_MIME_TYPE || !text.bytes().all(is_shown) || text.trim() != text {
        return Err("must be 1 to 1024 visible ASCII characters");
    }
    Ok(())
}

/// Reads metadata: an object of up to 8 KiB.
///
/// # Errors
/// The broken rule, in words for a client.
pub fn parse_metadata(text: &str) -> Result<RawJson, String> {
    if text.len() > MAX_METADATA_BYTES {
        return Err(format!("must be at most {MAX_METADATA_BYTES} bytes"));
    }
    // The object itself counts, too.
    match Json::parse(text.as_bytes(), MAX_VALUE_DEPTH) {
        Ok(json) if json.kind() == JsonKind::Object => Ok(json.to_raw()),
        Ok(_) => Err("must be an object".to_owned()),
        Err(JsonError::Syntax { what, .. }) => Err(format!("must be JSON: {what}")),
        Err(JsonError::Refused { pointer, what }) => Err(format!("{what} (at `{pointer}`)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA: [u8; 32] = [0xab; 32];

    #[test]
    fn a_precondition_takes_the_tag_or_the_number() {
        let holds = |list: &str| IfVersion::parse(list).unwrap().holds(Some((7, Some(SHA))));
        for good in ["\"7\"", "\"7-abababab\"", "*", "\"1\", \"7\""] {
            assert!(holds(good), "{good}");
        }
        for bad in ["\"8\"", "\"7-abababac\"", "W/\"7\"", "\"07\"", "\"7.1\""] {
            assert!(!holds(bad), "{bad}");
        }
        assert!(IfVersion::parse("7").is_err());
        assert!(!IfVersion::parse("*").unwrap().holds(None));
        assert!(IfVersion::parse("\"3\"").unwrap().holds(Some((3, None))));
    }

    #[test]
    fn a_version_is_shown_with_what_it_has() {
        let content = Content {
            kind: Kind::Bytes,
            mime_type: Some("text/plain; charset=\"utf-8\"".into()),
            bytes: Some((3, SHA)),
            display_name: Some(RawJson::trusted("\"\\u0000\"")),
            file_uri: None,
            metadata: Some(RawJson::trusted("{ \"a\": 1.0}")),
        };
        let name = ArtifactName::parse("a/b").unwrap();
        let version = Version { name, version: 2, content, create_time: Micros(1_500_000), revision: Some(9) };
        assert_eq!(
            version.to_object().close(),
            format!(
                r#"{{"name":"a/b","version":2,"kind":"bytes","mimeType":"text/plain; charset=\"utf-8\"","size":3,"sha256":"{}","createTime":1.500000,"metadata":{{ "a": 1.0}},"displayName":"\u0000"}}"#,
                "ab".repeat(32)
            )
        );
        assert_eq!(version.tag(), "\"2-abababab\"");
    }

    #[test]
    fn texts_and_json_are_for_templates() {
        let content = |kind, mime_type: &str, size| Content {
            kind,
            mime_type: Some(mime_type.into()),
            bytes: Some((size, SHA)),
            display_name: None,
            file_uri: None,
            metadata: None,
        };
        for good in [
            "text/plain",
            "TEXT/csv; header=present",
            "application/json",
            "Application/Geo+JSON",
            "text/html;charset=UTF-8",
            "text/html; charset=\"utf-8\"; x=y",
            "text/x; charset=us-ascii",
        ] {
            assert!(content(Kind::Bytes, good, 1 << 20).is_text(), "{good}");
        }
        for bad in [
            "application/octet-stream",
            "image/svg+xml",
            "texts/plain",
            "application/jsonp",
            "text/plain; charset=utf-16",
            "text/plain;charset=iso-8859-1",
        ] {
            assert!(!content(Kind::Bytes, bad, 1).is_text(), "{bad}");
        }
        assert!(content(Kind::Text, "anything", 0).is_text());
        assert!(!content(Kind::Text, "text/plain", (1 << 20) + 1).is_text());
        assert!(!content(Kind::Uri, "text/plain", 1).is_text() && !content(Kind::Gone, "text/plain", 1).is_text());
    }

    #[test]
    fn a_version_is_asked_for_by_its_number_or_as_the_latest() {
        for (text, wanted) in [
            ("latest", Wanted::Latest),
            ("0", Wanted::Version(0)),
            ("007", Wanted::Version(7)),
            ("99999999999999999999", Wanted::Version(i64::MAX)),
        ] {
            assert_eq!(Wanted::parse(text), Ok(wanted), "{text}");
        }
        for bad in ["", "-1", "+1", "1.0", "Latest", " 1"] {
            assert!(Wanted::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn metadata_is_an_object_kept_as_it_is() {
        assert_eq!(parse_metadata("{ \"a\" :1E2}").unwrap().text(), "{ \"a\" :1E2}");
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_METADATA_BYTES));
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(64), "]".repeat(64));
        for bad in ["", "1", "[]", "{", "{\"a\":1,\"a\":2}", "null", &long, &deep] {
            assert!(parse_metadata(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_media_type_can_stand_in_a_header() {
        for good in ["text/plain", "application/x; a=\"b c\"", "x"] {
            assert!(check_mime_type(good).is_ok(), "{good}");
        }
        for bad in ["", " text/plain", "a\nb", "é", &"x".repeat(1025)] {
            assert!(check_mime_type(bad).is_err(), "{bad}");
        }
    }
}
