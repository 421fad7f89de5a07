//! Instruction templates: text in which `{key}` stands for a value of the state, as in ADK (`docs/templates.md`).
//!
//! A placeholder is a run of `{`, a name, and a run of `}`, without `$` or `\` before it. Everything else is text, braces
//! included. The name has as many pairs of braces as the shorter run; the rest of the longer run is text. With several pairs,
//!
//! - [`Braces::Adk`] makes one placeholder: `{k}`, `{{k}}` and `{{{k}}}` all are the value;
//! - [`Braces::Literal`] makes two into one of text: `{{k}}` is the text `{k}`, and `{{{k}}}` is the value in braces.
//!
//! Each operation reads the template in one pass and keeps no list of its pieces: the list for `{a}{a}{a}…` would be many times
//! as large as the template. Values that are filled in are never read as a template.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::ops::Range;

use unicode_ident::{is_xid_continue, is_xid_start};

use super::Rejected;
use super::json::{Json, Kind};
use super::scope::split;
use super::word::read_words;

/// The most different names in one template: all are read from the state together.
pub const MAX_NAMES: usize = 10_000;

/// The most different artifacts in one template: each is looked up, and read.
pub const MAX_ARTIFACTS: usize = 100;

/// The texts of artifacts, by name.
pub type Texts = HashMap<String, String>;

read_words! {
    /// The meaning of doubled braces.
    #[derive(Default)]
    pub enum Braces {
        /// The same as single ones, as in ADK's code.
        #[default]
        Adk = "adk",
        /// A brace as text, as ADK's documentation has it.
        Literal = "literal",
    }
}

read_words! {
    /// The result of a placeholder with a missing key. One that ends in `?` is always removed.
    #[derive(Default)]
    pub enum Missing {
        /// The template is refused.
        #[default]
        Error = "error",
        /// The placeholder is removed.
        Empty = "empty",
        /// The placeholder stays, braces included.
        Keep = "keep",
    }
}

/// A template, with the keys and the artifacts that it asks for.
pub struct Template<'a> {
    text: &'a str,
    braces: Braces,
    keys: Vec<&'a str>,
    artifacts: Vec<&'a str>,
}

impl<'a> Template<'a> {
    /// Reads a template. Any text is one.
    ///
    /// # Errors
    /// `TooLarge` if it has more than [`MAX_NAMES`] different names, or [`MAX_ARTIFACTS`] different artifacts.
    pub fn parse(text: &'a str, braces: Braces) -> Result<Self, Rejected> {
        let too_many = |most, what| {
            Err(Rejected::too_large("template", format!("the template has more than {most} different {what}")))
        };
        let mut template = Self { text, braces, keys: Vec::new(), artifacts: Vec::new() };
        let mut names = HashSet::new();
        for piece in template.pieces() {
            if let Piece::Placeholder(Placeholder { name, .. }) = piece
                && names.insert(name)
            {
                if names.len() > MAX_NAMES {
                    return too_many(MAX_NAMES, "names");
                }
                match NameKind::of(name) {
                    NameKind::State => template.keys.push(name),
                    NameKind::Artifact(_) if template.artifacts.len() == MAX_ARTIFACTS => {
                        return too_many(MAX_ARTIFACTS, "artifacts");
                    }
                    NameKind::Artifact(name) => template.artifacts.push(name),
                    NameKind::Nowhere => {}
                }
            }
        }
        Ok(template)
    }

    /// The keys of the merged state that it asks for, each once, in order of appearance.
    pub fn keys(&self) -> &[&'a str] {
        &self.keys
    }

    /// The names of the artifacts that it asks for, each once, in order of appearance. Some may be names that no artifact can have.
    pub fn artifacts(&self) -> &[&'a str] {
        &self.artifacts
    }

    /// The text with values filled in from `state`, an object with the existing keys among [`Template::keys`], and with the existing
    /// `texts` of [`Template::artifacts`]. Strings and texts are filled in raw, `null` as nothing, everything else as compact JSON.
    ///
    /// # Errors
    /// `Invalid` with every missing key, if `missing` says so. `TooLarge` if the text would be longer than `limit` bytes; no more
    /// are built.
    pub fn render(&self, state: Json<'_>, texts: &Texts, missing: Missing, limit: usize) -> Result<String, Rejected> {
        let members = state.as_object().into_iter().flatten();
        let values: HashMap<Cow<'_, str>, Cow<'_, str>> = members.map(|m| (m.key, filled_in(m.value))).collect();
        let fill = |piece| match piece {
            Piece::Text(text) => Ok(text),
            Piece::Placeholder(Placeholder { name, is_optional, written }) => {
                let value = match NameKind::of(name) {
                    NameKind::State => values.get(name).map(|value| &**value),
                    NameKind::Artifact(name) => texts.get(name).map(String::as_str),
                    NameKind::Nowhere => None,
                };
                match value {
                    Some(value) => Ok(value),
                    None if is_optional => Ok(""),
                    None => match missing {
                        Missing::Error => Err(name),
                        Missing::Empty => Ok(""),
                        Missing::Keep => Ok(written),
                    },
                }
            }
        };
        let (mut out, mut fits) = (String::new(), true);
        let (mut absent, mut seen) = (Vec::new(), HashSet::new());
        for piece in self.pieces() {
            match fill(piece) {
                Ok(text) => {
                    fits &= text.len() <= limit - out.len();
                    out.push_str(if fits { text } else { "" });
                }
                Err(name) if seen.insert(name) => absent.push(name),
                Err(_) => {}
            }
        }
        if !absent.is_empty() {
            return Err(Rejected::field("template", are_missing(&absent)));
        }
        if !fits {
            return Err(Rejected::too_large(
                "rendered",
                format!("the rendered text would be larger than {limit} bytes"),
            ));
        }
        Ok(out)
    }

    fn pieces(&self) -> Pieces<'a> {
        Pieces { text: self.text, braces: self.braces, at: 0, pending: None }
    }
}

/// A value as it is filled in.
fn filled_in(value: Json<'_>) -> Cow<'_, str> {
    match value.kind() {
        Kind::Null => "".into(),
        Kind::String => value.as_str().unwrap_or_default(),
        Kind::Bool | Kind::Number => value.text().into(),
        Kind::Array | Kind::Object => compact(value).into(),
    }
}

/// The value without white space between its tokens, otherwise byte for byte.
fn compact(value: Json<'_>) -> String {
    let (mut in_string, mut escaped) = (false, false);
    let is_kept = |c: &char| {
        if in_string {
            in_string = escaped || *c != '"';
            escaped = !escaped && *c == '\\';
            return true;
        }
        in_string = *c == '"';
        !matches!(c, ' ' | '\t' | '\n' | '\r')
    };
    value.text().chars().filter(is_kept).collect()
}

/// The missing key, cut to a length that fits an error.
fn are_missing(names: &[&str]) -> String {
    const MOST_BYTES: usize = 8 << 10;
    const MOST_OF_A_NAME: usize = 512;
    let mut out = String::from("these keys are missing:");
    for (n, name) in names.iter().enumerate() {
        if out.len() > MOST_BYTES {
            let _ = write!(out, " and {} more", names.len() - n);
            break;
        }
        let comma = if n > 0 { "," } else { "" };
        let _ = match name.char_indices().nth(MOST_OF_A_NAME) {
            Some((at, _)) => write!(out, "{comma} `{}…`", &name[..at]),
            None => write!(out, "{comma} `{name}`"),
        };
    }
    out
}

enum Piece<'a> {
    Text(&'a str),
    Placeholder(Placeholder<'a>),
}

struct Placeholder<'a> {
    /// Its text in the template, with braces.
    written: &'a str,
    /// With its prefix and without `?`.
    name: &'a str,
    is_optional: bool,
}

/// What a name is of.
enum NameKind<'a> {
    /// A key of the merged state.
    State,
    /// An artifact of this name.
    Artifact(&'a str),
    /// A `temp:` key: none is ever stored.
    Nowhere,
}

impl<'a> NameKind<'a> {
    fn of(name: &'a str) -> Self {
        match name.strip_prefix(ARTIFACT) {
            Some(artifact) => Self::Artifact(artifact),
            None if split(name).is_some() => Self::State,
            None => Self::Nowhere,
        }
    }
}

/// The pieces of a template, left to right, in one pass. A piece of text may be empty.
struct Pieces<'a> {
    text: &'a str,
    braces: Braces,
    /// The offset of the rest.
    at: usize,
    /// A piece to return before the rest: the inside of a group after its left side.
    pending: Option<Piece<'a>>,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        if let Some(piece) = self.pending.take() {
            return Some(piece);
        }
        let begin = self.at;
        let mut from = begin;
        while let Some(Group { opening, inside, closing }) = Group::find(self.text, from) {
            from = inside.end + closing;
            let Some((name, is_optional)) = name_of(&self.text[inside.clone()]) else { continue };
            let pairs = opening.min(closing);
            // How many pairs belong to the placeholder, and how many are text. One of the two pairs of a doubled brace is text.
            let (taken, kept) = match self.braces {
                Braces::Adk => (pairs, 0),
                Braces::Literal => (pairs % 2, pairs / 2),
            };
            let written = &self.text[inside.start - taken..inside.end + taken];
            self.pending = Some(match taken {
                0 => Piece::Text(written),
                _ => Piece::Placeholder(Placeholder { written, name, is_optional }),
            });
            self.at = inside.end + pairs - kept;
            return Some(Piece::Text(&self.text[begin..inside.start - pairs + kept]));
        }
        self.at = self.text.len();
        (begin < self.at).then(|| Piece::Text(&self.text[begin..]))
    }
}

/// Text without braces between a run of `{` and a run of `}`.
struct Group {
    opening: usize,
    inside: Range<usize>,
    closing: usize,
}

impl Group {
    /// The first one at or after `from` that no `$` or `\` precedes.
    fn find(text: &str, mut from: usize) -> Option<Self> {
        let bytes = text.as_bytes();
        let next = |from: usize, is_wanted: fn(u8) -> bool| {
            let at = bytes[from..].iter().position(|byte| is_wanted(*byte))?;
            Some(from + at)
        };
        loop {
            let open = next(from, |byte| byte == b'{')?;
            let start = next(open, |byte| byte != b'{')?;
            let end = next(start, |byte| matches!(byte, b'{' | b'}'))?;
            let after = next(end, |byte| byte != b'}').unwrap_or(bytes.len());
            if end < after && !text[..open].ends_with(['$', '\\']) {
                return Some(Self { opening: start - open, inside: start..end, closing: after - end });
            }
            from = end;
        }
    }
}

/// The name in a pair of braces and whether it is optional; `None` if it is no name. White space around it does not
/// count, and the question mark follows it directly.
fn name_of(inside: &str) -> Option<(&str, bool)> {
    // As Python's `str.strip`, for which these four are white space too.
    let inside = inside.trim_matches(|c: char| c.is_whitespace() || matches!(c, '\u{1C}'..='\u{1F}'));
    let name = inside.strip_suffix('?').unwrap_or(inside);
    (name.starts_with(ARTIFACT) || is_state_name(name)).then_some((name, name.len() < inside.len()))
}

/// What stands before the name of an artifact, which is any.
const ARTIFACT: &str = "artifact.";

/// An identifier, by itself or after a prefix of ADK's.
fn is_state_name(name: &str) -> bool {
    match name.split_once(':') {
        None => is_identifier(name),
        Some(("app" | "user" | "temp", rest)) => is_identifier(rest),
        Some(_) => false,
    }
}

/// Python's `str.isidentifier`.
fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c == '_' || is_xid_start(c)) && chars.all(is_xid_continue)
}
