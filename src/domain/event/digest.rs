//! The digest of an event's content, which tells a retry from a conflict.

use std::borrow::Cow;
use std::ops::Range;

use sha2::{Digest as _, Sha256};

use super::names::ACTION_DEFAULTS;
use crate::domain::json::{Json, ObjectText, push_string};

/// Stands where the digest was of a redacted event, or of the request that made a session of which an event was redacted.
pub const REDACTED: [u8; 32] = [0; 32];

/// Named values in canonical form, in whatever order: what a digest covers.
#[derive(Default)]
pub struct Content<'a> {
    text: String,
    members: Vec<(Cow<'a, str>, Range<usize>)>,
}

impl<'a> Content<'a> {
    /// For values of about so many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), members: Vec::new() }
    }

    pub fn add(&mut self, name: impl Into<Cow<'a, str>>, value: Json<'_>) {
        let (name, start) = (name.into(), self.text.len());
        push_string(&mut self.text, &name);
        self.text.push(':');
        value.push_canonical(&mut self.text);
        self.text.push(',');
        self.members.push((name, start..self.text.len()));
    }

    /// Adds the actions of an event. Some of ADK's ports always write their [defaults](ACTION_DEFAULTS), and others never do: an
    /// event is the same from either.
    pub fn add_actions(&mut self, actions: Json<'_>) {
        let Some(members) = actions.as_object() else { return self.add("actions", actions) };
        let is_empty = |value: Json<'_>| value.as_object().is_some_and(|mut members| members.next().is_none());
        let mut content = ObjectText::with_capacity(actions.text().len());
        for member in members {
            let has_default = ACTION_DEFAULTS.iter().any(|(name, _)| *name == member.key);
            if !(has_default && is_empty(member.value)) {
                content.push_raw(member.raw_key, member.value.text());
            }
        }
        let content = content.close();
        if content != "{}" {
            self.add("actions", Json::trusted(&content));
        }
    }

    pub fn digest(self) -> [u8; 32] {
        let Self { text, members } = self;
        let mut members: Vec<_> =
            members.iter().filter_map(|(name, range)| Some((name, text.get(range.clone())?))).collect();
        members.sort_unstable();
        let mut hash = Sha256::new();
        for (_, member) in members {
            hash.update(member);
        }
        hash.finalize().into()
    }
}
