//! Versions as ADK's parts: `{text}`, `{inlineData: {mimeType, data, displayName?}}`, `{fileData: {fileUri, mimeType?}}`.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::version::{Content, Kind, MAX_METADATA_BYTES, Version, check_mime_type, parse_metadata};
use crate::domain::Rejected;
use crate::domain::envelope::Fields;
use crate::domain::json::{Json, Kind as JsonKind, ObjectText, RawJson};

/// Longest `displayName` and `fileUri`, in bytes of their text.
const MAX_DISPLAY_NAME: usize = 1024;
const MAX_FILE_URI: usize = 8192;

/// The media type of a text, and of bytes of which none is known.
const TEXT: &str = "text/plain";
const BYTES: &str = "application/octet-stream";

/// Of base64, either alphabet: read with padding or without, written with it.
const EITHER: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, EITHER);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, EITHER);

/// A part that a client saves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub kind: Kind,
    pub mime_type: Option<String>,
    pub display_name: Option<RawJson>,
    pub file_uri: Option<RawJson>,
    /// `None` of an address.
    pub bytes: Option<Vec<u8>>,
}

impl Part {
    /// Bytes of a type that a client names, or not.
    pub fn of_bytes(mime_type: Option<String>) -> Self {
        let mime_type = Some(mime_type.unwrap_or_else(|| BYTES.to_owned()));
        Self { kind: Kind::Bytes, mime_type, display_name: None, file_uri: None, bytes: None }
    }

    /// Reads a part of ADK. `pointer` is where it stands in the body.
    ///
    /// # Errors
    /// It is none, has several of the three members, or another one.
    pub fn parse(json: Json<'_>, pointer: &str) -> Result<Self, Rejected> {
        let mut fields = Fields::of(json, pointer)?;
        let (text, inline, file) = (fields.take_str("text"), fields.take("inlineData"), fields.take("fileData"));
        let at = |name: &str| fields.pointer(name);
        let (inline_at, file_at) = (at("inlineData"), at("fileData"));
        fields.finish()?;
        match (text, inline, file) {
            (Some(text), None, None) => Ok(Self {
                kind: Kind::Text,
                mime_type: Some(TEXT.to_owned()),
                display_name: None,
                file_uri: None,
                bytes: Some(text.into_owned().into_bytes()),
            }),
            (None, Some(inline), None) => Self::parse_inline(inline, &inline_at),
            (None, None, Some(file)) => Self::parse_file(file, &file_at),
            _ => Err(Rejected::field(pointer, "takes one of `text`, `inlineData` and `fileData`")),
        }
    }

    fn parse_inline(json: Json<'_>, pointer: &str) -> Result<Self, Rejected> {
        let mut fields = Fields::of(json, pointer)?;
        let mime_type = take_mime_type(&mut fields);
        let display_name = take_display_name(&mut fields);
        let bytes = fields.take_str_with("data", |data| {
            let engine = if data.contains(['-', '_']) { URL_SAFE } else { STANDARD };
            engine.decode(data.as_bytes()).map_err(|_| "must be base64")
        });
        fields.require("data", &bytes);
        fields.finish()?;
        Ok(Self { display_name, bytes, ..Self::of_bytes(mime_type) })
    }

    fn parse_file(json: Json<'_>, pointer: &str) -> Result<Self, Rejected> {
        let mut fields = Fields::of(json, pointer)?;
        let mime_type = take_mime_type(&mut fields);
        let display_name = take_display_name(&mut fields);
        let file_uri = take_file_uri(&mut fields);
        fields.require("fileUri", &file_uri);
        fields.finish()?;
        Ok(Self { kind: Kind::Uri, mime_type, display_name, file_uri, bytes: None })
    }

    /// What a version of it says, given the size and the digest of its bytes.
    pub fn content(self, bytes: Option<(u64, [u8; 32])>, metadata: Option<RawJson>) -> Content {
        let Self { kind, mime_type, display_name, file_uri, bytes: _ } = self;
        Content { kind, mime_type, bytes, display_name, file_uri, metadata }
    }
}

/// Takes the media type of a part or a version.
pub fn take_mime_type(fields: &mut Fields<'_>) -> Option<String> {
    fields.take_str_with("mimeType", |text| check_mime_type(text).map(|()| text.to_owned()))
}

/// Takes the name for people.
pub fn take_display_name(fields: &mut Fields<'_>) -> Option<RawJson> {
    take_text(fields, "displayName", MAX_DISPLAY_NAME)
}

/// Takes an address; an empty one is none.
pub fn take_file_uri(fields: &mut Fields<'_>) -> Option<RawJson> {
    take_text(fields, "fileUri", MAX_FILE_URI).filter(|uri| uri.text() != "\"\"")
}

/// Reads the name for people that is given beside bytes.
///
/// # Errors
/// The broken rule, in words for a client.
pub fn parse_display_name(text: &str) -> Result<RawJson, String> {
    let name = RawJson::string(text);
    if name.text().len() > MAX_DISPLAY_NAME {
        return Err(format!("must be at most {MAX_DISPLAY_NAME} bytes"));
    }
    Ok(name)
}

/// Takes a string, as its JSON text.
fn take_text(fields: &mut Fields<'_>, name: &str, most: usize) -> Option<RawJson> {
    let value = fields.take(name)?;
    if value.kind() != JsonKind::String {
        fields.refuse(name, "must be a string");
    } else if value.text().len() > most {
        fields.refuse(name, format!("must be at most {most} bytes"));
    }
    Some(value.to_raw())
}

/// The body of a request that saves a part.
#[derive(Debug)]
pub struct Draft {
    pub name: String,
    pub part: Part,
    pub metadata: Option<RawJson>,
    /// `none` or `append`.
    pub event: Option<String>,
    pub author: Option<String>,
    pub invocation_id: Option<String>,
    pub version: Option<i64>,
}

impl Draft {
    /// Reads `{name, part, metadata?, event?, author?, invocationId?, version?}`.
    ///
    /// # Errors
    /// A field that is missing, unknown or of another form.
    pub fn parse(json: Json<'_>) -> Result<Self, Rejected> {
        let mut fields = Fields::of(json, "")?;
        let name = fields.take_str("name");
        fields.require("name", &name);
        let part = fields.take("part");
        fields.require("part", &part);
        let part = fields.read_below("part", part, Part::parse)?;
        let metadata = fields.take_with("metadata", |metadata| parse_metadata(metadata.text()));
        let event = fields.take_str_with("event", |event| match event {
            "none" | "append" => Ok(event.to_owned()),
            _ => Err("must be `none` or `append`"),
        });
        let author = fields.take_str("author").map(|text| text.into_owned());
        let invocation_id = fields.take_str("invocationId").map(|text| text.into_owned());
        let version = fields.take_integer("version", 0.., "must be an integer of at least 0");
        fields.finish()?;
        let part = part.ok_or_else(|| Rejected::field("part", "is required"))?;
        let name = name.unwrap_or_default().into_owned();
        Ok(Self { name, part, metadata, event, author, invocation_id, version })
    }
}

/// How bytes stand in a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// As the inside of a JSON string.
    Text,
    Base64,
    /// Base64 of the alphabet for URLs, padded.
    UrlSafe,
}

/// A part as it is shown: what stands before its bytes, how they stand, and what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub head: String,
    pub encoding: Encoding,
    pub tail: &'static str,
}

impl Frame {
    /// Around the bytes of a version; an address has none, and is all head.
    pub fn of(version: &Version) -> Self {
        let Content { kind, mime_type, display_name, file_uri, .. } = &version.content;
        let mut inner = ObjectText::default();
        let mime_type = mime_type.as_ref().map(|text| RawJson::string(text));
        let (encoding, head, tail) = match kind {
            Kind::Text => (Encoding::Text, "{\"text\":\"".to_owned(), "\"}"),
            Kind::Uri | Kind::Gone => {
                let members = [("fileUri", file_uri), ("mimeType", &mime_type), ("displayName", display_name)];
                for (name, value) in members {
                    value.iter().for_each(|value| inner.push(name, value.text()));
                }
                (Encoding::Text, format!("{{\"fileData\":{}}}", inner.close()), "")
            }
            Kind::Bytes => {
                for (name, value) in [("displayName", display_name), ("mimeType", &mime_type)] {
                    value.iter().for_each(|value| inner.push(name, value.text()));
                }
                inner.push("data", "\"");
                (Encoding::Base64, format!("{{\"inlineData\":{}", inner.into_open()), "\"}}")
            }
        };
        Self { head, encoding, tail }
    }

    /// As google-adk writes it.
    pub fn of_adk(version: &Version) -> Self {
        let frame = Self::of(version);
        match frame.encoding {
            Encoding::Base64 => Self { encoding: Encoding::UrlSafe, ..frame },
            Encoding::Text | Encoding::UrlSafe => frame,
        }
    }

    /// Writes the next bytes. Of base64 all but the last have a length that is a multiple of 3; what is left over is returned.
    pub fn push<'b>(&self, out: &mut String, bytes: &'b [u8], is_last: bool) -> &'b [u8] {
        match self.encoding {
            Encoding::Base64 | Encoding::UrlSafe => {
                let whole = if is_last { bytes.len() } else { bytes.len() / 3 * 3 };
                let (now, rest) = bytes.split_at(whole);
                let engine = if self.encoding == Encoding::UrlSafe { URL_SAFE } else { STANDARD };
                engine.encode_string(now, out);
                rest
            }
            Encoding::Text => {
                // A character may be cut by the end of a chunk.
                let whole = match std::str::from_utf8(bytes) {
                    Ok(_) => bytes.len(),
                    Err(error) => error.valid_up_to(),
                };
                let (now, rest) = bytes.split_at(whole);
                let text = RawJson::string(std::str::from_utf8(now).unwrap_or_default());
                out.push_str(text.text().get(1..text.text().len() - 1).unwrap_or_default());
                rest
            }
        }
    }
}

/// So that no part is refused for its metadata by the limit of another place.
const _: () = assert!(MAX_METADATA_BYTES < 4 << 20);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::ids::ArtifactName;
    use crate::domain::time::Micros;

    fn parse(text: &str) -> Result<Part, Rejected> {
        Part::parse(Json::trusted(text), "/part")
    }

    fn version(part: Part) -> Version {
        let bytes = part.bytes.as_ref().map(|bytes| (bytes.len() as u64, [0; 32]));
        let name = ArtifactName::parse("n").unwrap();
        Version { name, version: 0, content: part.content(bytes, None), create_time: Micros(0), revision: None }
    }

    fn shown(part: &Part, cuts: usize) -> String {
        let frame = Frame::of(&version(part.clone()));
        let mut out = frame.head.clone();
        let bytes = part.bytes.clone().unwrap_or_default();
        let mut left = Vec::new();
        for chunk in bytes.chunks(cuts.max(1)) {
            left.extend_from_slice(chunk);
            left = frame.push(&mut out, &left, false).to_vec();
        }
        let rest = frame.push(&mut out, &left, true);
        assert!(rest.is_empty());
        out + frame.tail
    }

    #[test]
    fn either_alphabet_and_any_padding_is_read() {
        for (data, expected) in [
            ("-_8", &[0xfb, 0xff][..]),
            ("+/8=", &[0xfb, 0xff]),
            ("+/8", &[0xfb, 0xff]),
            ("-_8=", &[0xfb, 0xff]),
            ("", &[]),
            ("aGk=", b"hi"),
        ] {
            let part = parse(&format!(r#"{{"inline_data":{{"mime_type":"a/b","data":"{data}"}}}}"#)).unwrap();
            assert_eq!(part.bytes.as_deref(), Some(expected), "{data}");
            assert_eq!((part.kind, part.mime_type.as_deref()), (Kind::Bytes, Some("a/b")));
        }
        for bad in ["a", "+_8=", "aGk=x", "a b=", "!!!!", "aGl="] {
            let text = format!(r#"{{"inlineData":{{"data":"{bad}"}}}}"#);
            assert!(parse(&text).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_part_is_one_of_three() {
        for (bad, field) in [
            ("{}", "/part"),
            ("[]", "/part"),
            (r#"{"text":"a","fileData":{"fileUri":"u"}}"#, "/part"),
            (r#"{"text":1}"#, "/part/text"),
            (r#"{"functionCall":{}}"#, "/part/functionCall"),
            (r#"{"inlineData":{}}"#, "/part/inlineData/data"),
            (r#"{"inlineData":{"data":"","x":1}}"#, "/part/inlineData/x"),
            (r#"{"inlineData":{"data":"","mimeType":"é"}}"#, "/part/inlineData/mimeType"),
            (r#"{"fileData":{"mimeType":"a"}}"#, "/part/fileData/fileUri"),
            (r#"{"fileData":{"fileUri":""}}"#, "/part/fileData/fileUri"),
        ] {
            let Err(Rejected::Invalid(errors)) = parse(bad) else { panic!("{bad}") };
            assert_eq!(errors[0].field, field, "{bad}");
        }
        let text = parse(r#"{"text":"a\u0000é","inlineData":null}"#).unwrap();
        assert_eq!((text.kind, text.bytes.as_deref()), (Kind::Text, Some("a\0é".as_bytes())));
    }

    #[test]
    fn a_part_comes_back_as_it_was_given() {
        for given in [
            r#"{"text":""}"#,
            r#"{"text":"a\"b\\c\nd…"}"#,
            r#"{"inlineData":{"displayName":"\u00e9","mimeType":"image/png","data":"AAEC"}}"#,
            r#"{"inlineData":{"mimeType":"application/octet-stream","data":""}}"#,
            r#"{"fileData":{"fileUri":"gs://a/b"}}"#,
            r#"{"fileData":{"fileUri":"gs://a/b","mimeType":"a/b","displayName":"n"}}"#,
        ] {
            assert_eq!(shown(&parse(given).unwrap(), 2), given);
        }
    }

    proptest! {
        #[test]
        fn chunks_do_not_show(text in any::<String>(), bytes in any::<Vec<u8>>(), cuts in 1_usize..9) {
            let part = Part { kind: Kind::Text, bytes: Some(text.clone().into_bytes()), ..Part::of_bytes(None) };
            let whole = shown(&part, cuts);
            prop_assert_eq!(Json::trusted(&whole).get("text").unwrap().as_str().unwrap(), text);
            let part = Part { bytes: Some(bytes.clone()), ..Part::of_bytes(None) };
            let again = parse(&shown(&part, cuts)).unwrap();
            prop_assert_eq!(again.bytes.unwrap(), bytes);
        }
    }
}
