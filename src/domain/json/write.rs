//! Objects under construction.

use super::strings::push_string;

/// An object under construction: members in the order in which they are pushed.
#[derive(Debug, Default, Clone)]
pub struct ObjectText(String);

impl ObjectText {
    pub fn with_capacity(bytes: usize) -> Self {
        Self(String::with_capacity(bytes))
    }

    /// The bytes of its text, but for the last brace.
    pub fn bytes(&self) -> usize {
        self.0.len()
    }

    /// Adds a member of which key (quoted) and value are JSON text already.
    pub fn push_raw(&mut self, raw_key: &str, value: &str) {
        self.separate();
        self.0.push_str(raw_key);
        self.0.push(':');
        self.0.push_str(value);
    }

    /// Adds a member whose value is JSON text.
    pub fn push(&mut self, key: &str, value: &str) {
        self.push_key(key);
        self.0.push_str(value);
    }

    /// Adds a member whose value is an array of JSON texts.
    pub fn push_array(&mut self, key: &str, items: &[String]) {
        // In one piece: a page has megabytes.
        self.0.reserve(items.iter().map(|item| item.len() + 1).sum::<usize>() + key.len() + 64);
        self.push_key(key);
        self.0.push('[');
        for (n, item) in items.iter().enumerate() {
            if n > 0 {
                self.0.push(',');
            }
            self.0.push_str(item);
        }
        self.0.push(']');
    }

    /// Adds a member whose value is a string.
    pub fn push_str(&mut self, key: &str, value: &str) {
        self.push_key(key);
        push_string(&mut self.0, value);
    }

    /// Adds a member whose value is JSON text, if there is one.
    pub fn push_some(&mut self, key: &str, value: Option<impl AsRef<str>>) {
        if let Some(value) = value {
            self.push(key, value.as_ref());
        }
    }

    /// Adds a member whose value is a string, if there is one.
    pub fn push_some_str(&mut self, key: &str, value: Option<impl AsRef<str>>) {
        if let Some(value) = value {
            self.push_str(key, value.as_ref());
        }
    }

    fn push_key(&mut self, key: &str) {
        self.separate();
        push_string(&mut self.0, key);
        self.0.push(':');
    }

    fn separate(&mut self) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
    }

    /// The text so far, without the closing brace.
    pub fn into_open(self) -> String {
        if self.0.is_empty() { "{".to_owned() } else { self.0 }
    }

    pub fn close(self) -> String {
        let mut text = self.into_open();
        text.push('}');
        text
    }
}
