//! The one pass over a document from outside.

use std::borrow::Cow;

use super::strings::{plain_bytes, unescape, unicode_escape};
use super::tokens::{Token, Tokens};
use super::value::Json;
use crate::domain::fault::Rejected;
use crate::domain::number;

/// Why a document was refused. Holds keys of the document (in the pointer) but never a value.
#[derive(Debug, PartialEq, Eq)]
pub enum JsonError {
    /// Not JSON at all (RFC 8259). `offset` is in bytes.
    Syntax { offset: usize, what: &'static str },
    /// JSON that some client could not read again. `pointer` is the JSON pointer (RFC 6901) of the fault, unquoted, with the
    /// root as `""`; it is as long as the keys in it, so cut it before showing it.
    Refused { pointer: String, what: &'static str },
}

impl From<JsonError> for Rejected {
    fn from(error: JsonError) -> Self {
        match error {
            JsonError::Syntax { offset, what } => Self::InvalidJson { offset, what },
            JsonError::Refused { pointer, what } => Self::field(pointer, what),
        }
    }
}

impl<'a> Json<'a> {
    /// Validates a whole document and returns its value, less the white space around it.
    ///
    /// Containers nested deeper than `max_depth` are refused; a scalar has depth 0, `[]` has depth 1.
    ///
    /// # Errors
    ///
    /// [`JsonError::Syntax`] for anything outside the grammar of RFC 8259: also invalid UTF-8, a byte order mark, data after the value,
    /// a blank body. [`JsonError::Refused`] for the first, in document order, of: an unpaired surrogate escape, a number beyond the
    /// range of a double, a container too deep, a key twice in one object (after unescaping), U+0000 in a key. A document with both
    /// kinds of fault is `Syntax`: it never was JSON.
    pub fn parse(bytes: &'a [u8], max_depth: usize) -> Result<Json<'a>, JsonError> {
        if bytes.starts_with(b"\xEF\xBB\xBF") {
            return Err(syntax(0, "a byte order mark"));
        }
        let text = std::str::from_utf8(bytes).map_err(|e| syntax(e.valid_up_to(), "invalid UTF-8"))?;
        let mut validator = Validator::new(text, max_depth);
        let value = validator.document()?;
        match validator.offence {
            Some((at, what)) => Err(JsonError::Refused { pointer: pointer_to(text, at), what }),
            None => Ok(value),
        }
    }
}

/// One pass over a document. The state per open container is one byte, whatever the depth: 4 MiB of `[` cost 4 MiB.
struct Validator<'a> {
    text: &'a str,
    pos: usize,
    max_depth: usize,
    /// The opening brackets of the containers that are open.
    open: Vec<u8>,
    /// The keys so far of all open objects, outermost first, each with the offset of its beginning.
    keys: Vec<(Cow<'a, str>, usize)>,
    /// Where in `keys` each open object begins. Objects beyond `max_depth` have no entry: their offences cannot be the first.
    objects: Vec<usize>,
    /// The first offence in document order: where the value or key begins, and what it is. It need not be the first found: a duplicate key
    /// shows only when its object closes.
    offence: Option<(usize, &'static str)>,
}

impl<'a> Validator<'a> {
    fn new(text: &'a str, max_depth: usize) -> Self {
        Validator { text, pos: 0, max_depth, open: Vec::new(), keys: Vec::new(), objects: Vec::new(), offence: None }
    }

    fn document(&mut self) -> Result<Json<'a>, JsonError> {
        self.space();
        let start = self.pos;
        if self.peek().is_none() {
            return Err(syntax(start, "the body is empty"));
        }
        self.value()?;
        let value = Json::trusted(&self.text[start..self.pos]);
        self.space();
        if self.peek().is_some() { Err(syntax(self.pos, "data after the value")) } else { Ok(value) }
    }

    fn value(&mut self) -> Result<(), JsonError> {
        loop {
            self.space();
            match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    self.enter(bracket);
                    self.space();
                    if self.closes(bracket) {
                        self.leave();
                    } else {
                        if bracket == b'{' {
                            self.key()?;
                        }
                        continue;
                    }
                }
                Some(b'"') => {
                    self.string(false)?;
                }
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.literal("true")?,
                Some(b'f') => self.literal("false")?,
                Some(b'n') => self.literal("null")?,
                Some(_) => return Err(syntax(self.pos, "expected a value")),
                None => return Err(syntax(self.pos, "the body ends too early")),
            }
            if self.close_finished()? {
                return Ok(());
            }
        }
    }

    /// After a value: closes the containers that end here and reads on to where the next value begins. True when none is open.
    fn close_finished(&mut self) -> Result<bool, JsonError> {
        while let Some(&bracket) = self.open.last() {
            self.space();
            if self.closes(bracket) {
                self.leave();
                continue;
            }
            match self.peek() {
                Some(b',') => self.pos += 1,
                Some(_) if bracket == b'{' => return Err(syntax(self.pos, "expected ',' or '}'")),
                Some(_) => return Err(syntax(self.pos, "expected ',' or ']'")),
                None => return Err(syntax(self.pos, "the body ends too early")),
            }
            if bracket == b'{' {
                self.key()?;
            }
            return Ok(false);
        }
        Ok(true)
    }

    fn closes(&self, bracket: u8) -> bool {
        self.peek() == Some(if bracket == b'{' { b'}' } else { b']' })
    }

    fn enter(&mut self, bracket: u8) {
        self.open.push(bracket);
        if self.open.len() > self.max_depth {
            self.refuse(self.pos, "nested too deeply");
        } else if bracket == b'{' {
            self.objects.push(self.keys.len());
        }
        self.pos += 1;
    }

    fn leave(&mut self) {
        let watched = self.open.len() <= self.max_depth;
        if self.open.pop() == Some(b'{') && watched {
            let first = self.objects.pop().unwrap_or_default();
            let keys = self.keys.get_mut(first..).unwrap_or_default();
            if let Some(at) = first_duplicate(keys) {
                self.refuse(at, "duplicate key");
            }
            self.keys.truncate(first);
        }
        self.pos += 1;
    }

    /// A key and the colon after it.
    fn key(&mut self) -> Result<(), JsonError> {
        self.space();
        let at = self.pos;
        if self.peek() != Some(b'"') {
            return Err(syntax(at, "expected a key in double quotes"));
        }
        let has_escapes = self.string(true)?;
        if self.open.len() <= self.max_depth {
            let quoted = &self.text[at..self.pos];
            let key = if has_escapes { unescape(quoted) } else { Cow::Borrowed(&quoted[1..quoted.len() - 1]) };
            self.keys.push((key, at));
        }
        self.space();
        if self.accept(b":") { Ok(()) } else { Err(syntax(self.pos, "expected ':'")) }
    }

    /// A string; whether it has escapes.
    fn string(&mut self, is_key: bool) -> Result<bool, JsonError> {
        let start = self.pos;
        let mut has_escapes = false;
        self.pos += 1;
        loop {
            self.pos += plain_bytes(self.rest());
            match self.peek() {
                Some(b'"') => break self.pos += 1,
                Some(b'\\') => {
                    has_escapes = true;
                    self.escape(start, is_key)?;
                }
                Some(_) => return Err(syntax(self.pos, "a raw control character in a string")),
                None => return Err(syntax(self.pos, "a string without an end")),
            }
        }
        Ok(has_escapes)
    }

    /// One escape, or the two of a surrogate pair, of the string that begins at `start`.
    fn escape(&mut self, start: usize, is_key: bool) -> Result<(), JsonError> {
        match self.rest().get(1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.pos += 2,
            Some(b'u') => {
                let Some((char, rest)) = unicode_escape(&self.text[self.pos + 2..]) else {
                    return Err(syntax(self.pos, "\\u without four hexadecimal digits"));
                };
                match char {
                    None => self.refuse(start, "unpaired surrogate escape"),
                    Some('\0') if is_key => self.refuse(start, "U+0000 in a key"),
                    Some(_) => {}
                }
                self.pos = self.text.len() - rest.len();
            }
            _ => return Err(syntax(self.pos, "no such escape")),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), JsonError> {
        let start = self.pos;
        self.accept(b"-");
        if !self.accept(b"0") {
            self.digits()?;
        }
        if self.accept(b".") {
            self.digits()?;
        }
        if self.accept(b"eE") {
            self.accept(b"+-");
            self.digits()?;
        }
        if !number::is_readable(&self.text[start..self.pos]) {
            self.refuse(start, "a number beyond the range of a double, or an integer of more than 308 digits");
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        match self.skip(|b| b.is_ascii_digit()) {
            0 => Err(syntax(self.pos, "expected a digit")),
            _ => Ok(()),
        }
    }

    fn literal(&mut self, word: &str) -> Result<(), JsonError> {
        if !self.rest().starts_with(word.as_bytes()) {
            return Err(syntax(self.pos, "expected a value"));
        }
        self.pos += word.len();
        Ok(())
    }

    fn refuse(&mut self, at: usize, what: &'static str) {
        if self.offence.is_none_or(|(earlier, _)| at < earlier) {
            self.offence = Some((at, what));
        }
    }

    fn space(&mut self) {
        self.skip(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'));
    }

    /// Skips bytes while they are `wanted`; how many there were.
    fn skip(&mut self, wanted: impl Fn(u8) -> bool) -> usize {
        let count = self.rest().iter().take_while(|&&b| wanted(b)).count();
        self.pos += count;
        count
    }

    /// Skips one byte if it is one of `wanted`; whether it was.
    fn accept(&mut self, wanted: &[u8]) -> bool {
        let accepted = self.peek().is_some_and(|b| wanted.contains(&b));
        self.pos += usize::from(accepted);
        accepted
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.pos..).unwrap_or_default()
    }
}

pub fn syntax(offset: usize, what: &'static str) -> JsonError {
    JsonError::Syntax { offset, what }
}

/// Where the first key begins that an earlier one of the same object equals.
fn first_duplicate(keys: &mut [(Cow<'_, str>, usize)]) -> Option<usize> {
    keys.sort_unstable();
    let pairs = keys.iter().zip(keys.iter().skip(1));
    pairs.filter(|(a, b)| a.0 == b.0).map(|(_, b)| b.1).min()
}

/// The JSON pointer (RFC 6901) of the value, or of the member whose key, begins at `offset` of a valid document.
pub fn pointer_to(text: &str, offset: usize) -> String {
    enum Step<'a> {
        Member(Option<&'a str>),
        Element(usize),
    }
    let mut path = Vec::new();
    for (at, token) in Tokens::of(text) {
        match (token, path.last_mut()) {
            (Token::Scalar(raw), Some(Step::Member(key @ None))) => *key = Some(raw),
            _ if at >= offset => break,
            (Token::Open(b'{'), _) => path.push(Step::Member(None)),
            (Token::Open(_), _) => path.push(Step::Element(0)),
            (Token::Close, _) => drop(path.pop()),
            (Token::Comma, Some(Step::Member(key))) => *key = None,
            (Token::Comma, Some(Step::Element(index))) => *index += 1,
            (Token::Comma | Token::Scalar(_), _) => {}
        }
    }
    let mut pointer = String::new();
    for step in path {
        pointer.push('/');
        match step {
            Step::Member(key) => {
                pointer.push_str(&unescape(key.unwrap_or_default()).replace('~', "~0").replace('/', "~1"));
            }
            Step::Element(index) => pointer.push_str(&index.to_string()),
        }
    }
    pointer
}
