//! Reading text that is known to be valid: its tokens, and the values directly inside a container.
//!
//! All of this trusts the grammar and looks only for what it needs; on other text it must still end and not panic. Slices are cut
//! at ASCII bytes or at the end, so at character boundaries.

use memchr::memchr2;

pub enum Token<'a> {
    Open(u8),
    Close,
    Comma,
    /// A string (or key) with its quotes, a number, or a literal.
    Scalar(&'a str),
}

/// The tokens of a document with their offsets; colons and white space left out.
pub struct Tokens<'a> {
    text: &'a str,
    pos: usize,
}

impl<'a> Tokens<'a> {
    pub fn of(text: &'a str) -> Self {
        Tokens { text, pos: 0 }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = (usize, Token<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.pos), Some(b' ' | b'\t' | b'\n' | b'\r' | b':')) {
            self.pos += 1;
        }
        let at = self.pos;
        let first = *bytes.get(at)?;
        self.pos += 1;
        let token = match first {
            b'{' | b'[' => Token::Open(first),
            b'}' | b']' => Token::Close,
            b',' => Token::Comma,
            _ => {
                self.pos = scalar_end(bytes, at);
                Token::Scalar(&self.text[at..self.pos])
            }
        };
        Some((at, token))
    }
}

/// Where the scalar ends that begins at `at`; always beyond it.
fn scalar_end(bytes: &[u8], at: usize) -> usize {
    let mut pos = at + 1;
    if bytes.get(at) != Some(&b'"') {
        while bytes.get(pos).is_some_and(|b| !b" \t\n\r,:{}[]\"".contains(b)) {
            pos += 1;
        }
        return pos;
    }
    while let Some(plain) = bytes.get(pos..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        pos += plain;
        if bytes.get(pos) == Some(&b'"') {
            return pos + 1;
        }
        pos += 2;
    }
    bytes.len()
}

/// Where the value ends that begins at `at`.
fn value_end(text: &str, at: usize) -> usize {
    let mut tokens = Tokens { text, pos: at };
    let mut depth = 0_usize;
    for (_, token) in tokens.by_ref() {
        match token {
            Token::Open(_) => depth += 1,
            Token::Close => depth = depth.saturating_sub(1),
            Token::Comma | Token::Scalar(_) => {}
        }
        if depth == 0 {
            break;
        }
    }
    tokens.pos
}

pub struct Child<'a> {
    /// As written, with quotes; empty for an element of an array.
    pub raw_key: &'a str,
    pub text: &'a str,
}

/// The values directly inside a container, left to right.
pub struct Children<'a> {
    tokens: Tokens<'a>,
    is_object: bool,
}

impl<'a> Children<'a> {
    /// Of a container.
    pub fn of(text: &'a str) -> Self {
        Children { tokens: Tokens { text, pos: 1 }, is_object: text.starts_with('{') }
    }
}

impl<'a> Iterator for Children<'a> {
    type Item = Child<'a>;

    fn next(&mut self) -> Option<Child<'a>> {
        let mut key = None;
        loop {
            let (at, token) = self.tokens.next()?;
            match token {
                Token::Close => return None,
                Token::Comma => continue,
                Token::Scalar(raw) if self.is_object && key.is_none() => {
                    key = Some(raw);
                    continue;
                }
                Token::Scalar(_) => {}
                Token::Open(_) => self.tokens.pos = value_end(self.tokens.text, at),
            }
            let text = &self.tokens.text[at..self.tokens.pos];
            return Some(Child { raw_key: key.unwrap_or_default(), text });
        }
    }
}
