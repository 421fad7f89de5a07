//! Reads the members of an event that a client sends, and collects all their faults.

use std::borrow::Cow;

use super::names::{ACTION_FIELDS, READ_FIELDS, STATE_FIELDS};
use super::stored::{Rewind, stored_delta};
use crate::domain::change::{Change, Edit, Keys, parse_delta, parse_ops, parse_preconditions};
use crate::domain::effective::compacts;
use crate::domain::envelope::{check_depth, meant, pointer_to, to_camel};
use crate::domain::fault::{FieldError, Rejected};
use crate::domain::ids::ArtifactName;
use crate::domain::json::{Json, Kind, Member, ObjectText, RawJson};
use crate::domain::limits::Limits;
use crate::domain::scope::{check_key, split};
use crate::domain::shape::{self, Of};

/// A member of the event or of its actions, under its canonical name.
pub struct Named<'a> {
    pub name: Cow<'a, str>,
    /// As it is stored: quoted, and as written unless the name was a known one in snake_case.
    pub raw_key: Cow<'a, str>,
    pub value: Json<'a>,
    is_known: bool,
}

pub struct Reader<'p> {
    pub pointer: &'p str,
    pub errors: Vec<FieldError>,
}

#[derive(Default)]
pub struct Actions {
    pub text: Option<String>,
    pub edit: Edit,
    pub rewind: Option<Rewind>,
    pub compacts: bool,
    pub artifacts: Vec<(ArtifactName, i64)>,
}

impl Reader<'_> {
    pub fn refuse(&mut self, name: &str, message: impl Into<String>) {
        self.errors.push(FieldError::new(pointer_to(self.pointer, name), message));
    }

    /// Notes faults of fields; anything else ends the reading.
    pub fn keep(&mut self, rejected: Rejected) -> Result<(), Rejected> {
        match rejected {
            Rejected::Invalid(errors) => {
                self.errors.extend(errors);
                Ok(())
            }
            other => Err(other),
        }
    }

    /// The text of a member of the object at `pointer`, with the names below it as they are stored.
    pub fn renamed<'a>(&mut self, member: &Named<'a>, of: Of, pointer: &str) -> Cow<'a, str> {
        if !member.is_known {
            return Cow::Borrowed(member.value.text());
        }
        let read = shape::renamed(member.value, of, &member.name, || pointer_to(pointer, &member.name));
        read.unwrap_or_else(|errors| {
            self.errors.extend(errors);
            Cow::Borrowed(member.value.text())
        })
    }

    pub fn string<'a>(&mut self, name: &str, value: Option<Json<'a>>) -> Option<Cow<'a, str>> {
        let value = value?;
        if value.kind() != Kind::String {
            self.refuse(name, "must be a string");
        }
        value.as_str()
    }

    /// Refuses fields that would have no effect: changes of state beside `actions` instead of in it.
    pub fn refuse_misplaced(&mut self, members: &[Named<'_>]) {
        for member in members.iter().filter(|member| !member.is_known) {
            let known = ["actions"].iter().chain(STATE_FIELDS).find(|known| is_spelling_of(&member.name, known));
            let (parent, name) = match (known, &*member.name) {
                (Some(&"actions"), _) => ("", "actions"),
                (Some(name), _) => ("actions", *name),
                (None, "delta" | "state") => ("actions", "stateDelta"),
                (None, "ops") => ("actions", "stateOps"),
                (None, "role") => ("content", "role"),
                _ => continue,
            };
            let parent = if parent.is_empty() { self.pointer.to_owned() } else { pointer_to(self.pointer, parent) };
            let place = pointer_to(&parent, name);
            self.refuse(&member.name, format!("would do nothing here: it belongs at `{place}`"));
        }
    }

    /// Refuses members of `actions` that are misspelt known ones.
    fn refuse_misspelt(&mut self, members: &[Named<'_>], pointer: &str) {
        for member in members.iter().filter(|member| !member.is_known) {
            let spelt = ACTION_FIELDS.iter().copied().find(|known| is_spelling_of(&member.name, known));
            if let Some(known) = spelt.or_else(|| meant(&member.name, ACTION_FIELDS.iter().copied())) {
                let at = pointer_to(pointer, known);
                let message = format!("would do nothing under this name: did you mean `{known}`? It belongs at `{at}`");
                self.errors.push(FieldError::new(pointer_to(pointer, &member.name), message));
            }
        }
    }

    pub fn members<'a>(
        &mut self,
        json: Json<'a>,
        pointer: &str,
        known: &[&'static str],
    ) -> Result<Vec<Named<'a>>, Rejected> {
        let Some(object) = json.as_object() else {
            return Err(Rejected::field(pointer, "must be an object"));
        };
        let mut members: Vec<Named<'a>> = Vec::new();
        for member in object {
            let camel = to_camel(&member.key);
            let known_name = known.binary_search(&&*camel).ok().and_then(|at| known.get(at));
            let (name, raw_key) = match known_name {
                Some(name) if is_quoted(member.raw_key, name) => (Cow::Borrowed(*name), Cow::Borrowed(member.raw_key)),
                Some(name) => (Cow::Borrowed(*name), Cow::Owned(format!("\"{name}\""))),
                None => (member.key, Cow::Borrowed(member.raw_key)),
            };
            // Unknown names cannot repeat: the parser refused equal keys, and only known ones are renamed.
            if known_name.is_some() && members.iter().any(|seen| seen.name == name) {
                self.errors.push(FieldError::new(
                    pointer_to(pointer, &name),
                    "is given twice, in camelCase and in snake_case",
                ));
                continue;
            }
            members.push(Named { name, raw_key, value: member.value, is_known: known_name.is_some() });
        }
        Ok(members)
    }

    /// Reads `actions`, and rebuilds its text with the state that it really sets.
    pub fn actions(
        &mut self,
        json: Option<Json<'_>>,
        output: Option<(&str, RawJson)>,
        limits: &Limits,
    ) -> Result<Actions, Rejected> {
        let pointer = pointer_to(self.pointer, "actions");
        let mut members = match json {
            Some(json) => match self.members(json, &pointer, ACTION_FIELDS) {
                Ok(members) => members,
                Err(rejected) => return self.keep(rejected).map(|()| Actions::default()),
            },
            None => Vec::new(),
        };
        self.refuse_misspelt(&members, &pointer);
        members.retain(|member| !is_absent(&member.name, member.value, STATE_FIELDS));
        let find = |name: &str| members.iter().find(|m| m.name == name).map(|m| m.value);

        let mut edit = Edit::default();
        let delta = find("stateDelta");
        if let Some(delta) = delta {
            let parsed = parse_delta(delta, Keys::Merged, &pointer_to(&pointer, "stateDelta"), limits);
            edit.sets = self.absorb(parsed)?;
        }
        if let Some((key, text)) = &output {
            match (check_key(split(key).map_or(key, |(_, stored)| stored)), split(key)) {
                (Err(message), _) => self.errors.push(FieldError::new("outputKey", message)),
                (Ok(()), Some((scope, key))) => {
                    edit.sets.retain(|set| !(set.scope == scope && *set.key == *key));
                    edit.sets.push(Change { scope, key: key.into(), value: text.clone() });
                }
                (Ok(()), None) => {}
            }
        }
        if let Some(ops) = find("stateOps") {
            edit.ops = self.absorb(parse_ops(ops, Keys::Merged, &pointer_to(&pointer, "stateOps"), limits))?;
        }
        if let Some(list) = find("preconditions") {
            let at = pointer_to(&pointer, "preconditions");
            edit.preconditions = self.absorb(parse_preconditions(list, Keys::Merged, &at, limits))?;
        }
        let artifacts = find("artifactDelta").map(named_versions).unwrap_or_default();
        let rewind = find("rewindBeforeInvocationId").and_then(Json::as_str).filter(|id| !id.is_empty());

        let mut shown = Some(stored_delta(delta.filter(|_| output.is_none()), &edit.sets));
        // The delta shows the results of operators, so there must be one.
        let shows = !(edit.sets.is_empty() && edit.ops.is_empty());
        let mut text = ObjectText::default();
        for member in &members {
            match &*member.name {
                "stateDelta" => {
                    text.push_raw(&member.raw_key, &shown.take().unwrap_or_default());
                }
                // Their values were checked one by one.
                "stateOps" | "preconditions" => text.push_raw(&member.raw_key, member.value.text()),
                name => {
                    limits.writer.check_action(member.value)?;
                    check_depth(member.value, || pointer_to(&pointer, name)).or_else(|e| self.keep(e))?;
                    text.push_raw(&member.raw_key, &self.renamed(member, Of::Actions, &pointer));
                }
            }
        }
        if let (Some(shown), true) = (shown, shows) {
            text.push("stateDelta", &shown);
        }
        let present = json.is_some() || shows;
        let rewind = rewind.map(|id| Rewind::Before(id.into_owned()));
        let text = text.close();
        // With the names below it as they are stored.
        let compacts = find("compaction").is_some() && compacts(Json::trusted(&text));
        Ok(Actions { text: present.then_some(text), edit, rewind, compacts, artifacts })
    }

    /// What was read, or nothing if its fields were at fault.
    fn absorb<T: Default>(&mut self, read: Result<T, Rejected>) -> Result<T, Rejected> {
        read.or_else(|rejected| self.keep(rejected).map(|()| T::default()))
    }
}

/// The versions that an `artifactDelta` names. It stays as it was given; what cannot be a version names none.
pub fn named_versions(delta: Json<'_>) -> Vec<(ArtifactName, i64)> {
    let named = |member: Member<'_>| {
        let version = member.value.text().parse().ok().filter(|version| *version >= 0)?;
        Some((ArtifactName::parse(&member.key).ok()?, version))
    };
    delta.as_object().into_iter().flatten().filter_map(named).collect()
}

/// Whether a key is written as this name between quotes, without escapes.
fn is_quoted(raw_key: &str, name: &str) -> bool {
    raw_key.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) == Some(name)
}

/// Whether a member is `null` and one of those for which that means absent.
pub fn is_absent(name: &str, value: Json<'_>, nullable: &[&str]) -> bool {
    value.is_null() && nullable.contains(&name)
}

/// Whether a name is a known one but for case, underscores and a plural.
fn is_spelling_of(name: &str, known: &str) -> bool {
    let letters = |name: &str| {
        let mut letters = name.replace('_', "");
        letters.make_ascii_lowercase();
        if letters.ends_with('s') {
            letters.pop();
        }
        letters
    };
    letters(name) == letters(known)
}

/// An event as given, without the members that are absent because they are `null`.
pub fn without_nulls(json: Json<'_>) -> RawJson {
    let mut object = ObjectText::with_capacity(json.text().len());
    for member in json.as_object().into_iter().flatten() {
        if !is_absent(&to_camel(&member.key), member.value, READ_FIELDS) {
            object.push_raw(member.raw_key, member.value.text());
        }
    }
    RawJson::trusted(object.close())
}

/// The joined text of a final response's non-thought parts, as a JSON string; `None` if the event is no final
/// response or has no text part.
///
/// ADK's rules: `Event.is_final_response` and `LlmAgent`'s handling of `output_key`.
pub fn final_text(members: &[Named<'_>]) -> Option<RawJson> {
    let find = |name: &str| members.iter().find(|m| m.name == name).map(|m| m.value);
    let parts: Vec<Json<'_>> = find("content").and_then(|c| c.get("parts")).and_then(Json::as_array)?.collect();
    // Below the event nothing is renamed, so parts may be spelled either way; `null` is unset.
    let has = |part: &Json<'_>, names: [&str; 2]| {
        names.iter().any(|name| part.get(name).is_some_and(|value| !value.is_null()))
    };
    let skips = find("actions").is_some_and(|actions| {
        ["skipSummarization", "skip_summarization"]
            .iter()
            .any(|name| actions.get(name).and_then(Json::as_bool) == Some(true))
    });
    let long_running = find("longRunningToolIds").and_then(Json::as_array).is_some_and(|mut ids| ids.next().is_some());
    let failed = find("errorCode").and_then(Json::as_str).is_some_and(|code| !code.is_empty());
    let calls = parts.iter().any(|part| has(part, ["functionCall", "function_call"]));
    let responds = parts.iter().any(|part| has(part, ["functionResponse", "function_response"]));
    let partial = find("partial").and_then(Json::as_bool) == Some(true);
    let trailing_code = parts.last().is_some_and(|part| has(part, ["codeExecutionResult", "code_execution_result"]));
    let ends = failed || !responds && !trailing_code;
    if !(skips || long_running || !calls && !partial && ends) {
        return None;
    }
    let texts: Vec<&str> = parts
        .iter()
        .filter(|part| part.get("thought").and_then(Json::as_bool) != Some(true))
        .filter_map(|part| part.get("text").filter(|text| text.kind() == Kind::String))
        // Inside the quotes, as written: escapes stay what they were.
        .filter_map(|text| text.text().get(1..text.text().len() - 1))
        .collect();
    (!texts.is_empty()).then(|| RawJson::trusted(format!("\"{}\"", texts.concat())))
}
