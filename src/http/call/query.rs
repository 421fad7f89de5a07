//! Queries, parsed as their operation describes them.

use std::time::Duration;

use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use super::names::{check_escapes, check_state_key};
use crate::domain::envelope::{meant, to_camel};
use crate::domain::lease::{parse_epoch, parse_incarnation};
use crate::domain::session::{MAX_LABELS, check_label_name, check_label_value};
use crate::domain::shown::Shown;
use crate::domain::time::Micros;
use crate::domain::{FieldError, Limits};
use crate::http::describe::{ANSWER, Kind, Operation, PAGE_SIZE, PAGE_TOKEN, Param, QUERY_TOKEN, WAIT};
use crate::http::reply::{Binding, Problem};

/// The page size if the request does not set one.
const DEFAULT_PAGE_ROWS: usize = 100;

/// A parsed query. Each parameter of the operation occurs at most once and has its type. Labels may be repeated; a
/// session must have all of them.
#[derive(Debug, Default)]
pub struct Query {
    values: Vec<(&'static str, String)>,
    labels: Vec<(String, String)>,
}

impl Query {
    /// Parses the query as the operation describes it. Unknown parameters are refused or, if the operation is not
    /// strict, ignored.
    pub fn of(query: &str, operation: &Operation) -> Result<Self, Problem> {
        let serving = operation.serving;
        if serving.strict_query && !serving.token_in_query {
            return Self::parse(query, operation.query);
        }
        let is_known = |pair: &&str| {
            let name = pair.split('=').next().unwrap_or_default();
            match serving.strict_query {
                true => !percent_decode_str(name).eq(QUERY_TOKEN.bytes()),
                false => operation.query.iter().any(|param| param.name == name),
            }
        };
        Self::parse(&query.split('&').filter(is_known).collect::<Vec<_>>().join("&"), operation.query)
    }

    fn parse(query: &str, params: &'static [Param]) -> Result<Self, Problem> {
        let mut parsed = Self::default();
        let mut errors = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(name), Some(value)) = (decode(name), decode(value)) else {
                errors.push(FieldError::new("query", "has a bad percent escape, or is not UTF-8 once decoded"));
                continue;
            };
            if let Err(message) = parsed.take(&name, value, params) {
                errors.push(FieldError::new(name, message));
            }
        }
        for param in params.iter().filter(|param| param.is_required()) {
            if parsed.text(param).is_none() && !errors.iter().any(|error| error.field == param.name) {
                errors.push(FieldError::new(param.name, "is required"));
            }
        }
        if errors.is_empty() { Ok(parsed) } else { Err(Problem::invalid(errors)) }
    }

    fn take(&mut self, name: &str, value: String, params: &'static [Param]) -> Result<(), String> {
        let labels = params.iter().any(|param| matches!(param.kind, Kind::Labels));
        if let (true, Some(label)) = (labels, name.strip_prefix("label.")) {
            check_label_name(label)?;
            check_label_value(&value)?;
            if self.labels.iter().any(|(seen, _)| seen == label) {
                return Err("is given twice".to_owned());
            }
            if self.labels.len() == MAX_LABELS {
                return Err(format!("is one label more than the {MAX_LABELS} that a session can have"));
            }
            self.labels.push((label.to_owned(), value));
            return Ok(());
        }
        let camel = to_camel(name);
        let param = params
            .iter()
            .find(|param| param.name == camel && !matches!(param.kind, Kind::Labels))
            .ok_or_else(|| not_known(name, params))?;
        check(param, &value)?;
        if self.values.iter().any(|(seen, _)| *seen == param.name) {
            return Err("is given twice".to_owned());
        }
        self.values.push((param.name, value));
        Ok(())
    }

    pub fn text(&self, param: &Param) -> Option<&str> {
        self.values.iter().find(|(name, _)| *name == param.name).map(|(_, value)| value.as_str())
    }

    /// A parameter whose values only its handler knows.
    ///
    /// # Errors
    /// As of `parse`, about the parameter.
    pub fn parsed<T, M: Into<String>>(
        &self,
        param: &Param,
        parse: impl FnOnce(&str) -> Result<T, M>,
    ) -> Result<Option<T>, Problem> {
        self.text(param).map(|text| parse(text).map_err(|why| Problem::field(param.name, why))).transpose()
    }

    pub fn integer(&self, param: &Param) -> Option<i64> {
        self.text(param).map(saturating)
    }

    pub fn boolean(&self, param: &Param) -> bool {
        self.text(param) == Some("true")
    }

    pub fn time(&self, param: &Param) -> Option<Micros> {
        self.text(param).and_then(|text| Micros::from_text(text).ok())
    }

    /// How long to wait; `None` if the query does not say.
    pub fn wait(&self) -> Option<Duration> {
        self.text(&WAIT).and_then(|text| wait(text).ok())
    }

    /// A required epoch.
    pub fn epoch(&self, param: &Param) -> i64 {
        self.text(param).and_then(|text| parse_epoch(text).ok()).unwrap_or_default()
    }

    pub fn incarnation(&self, param: &Param) -> Option<i64> {
        self.text(param).and_then(|text| parse_incarnation(text).ok())
    }

    /// What the answer to a write is to show.
    pub fn shown(&self) -> Shown {
        if self.text(&ANSWER) == Some("minimal") { Shown::Minimal } else { Shown::Full }
    }

    /// The page size.
    pub fn page_rows(&self, limits: &Limits) -> Result<usize, Problem> {
        match self.integer(&PAGE_SIZE).map(|rows| usize::try_from(rows).unwrap_or(usize::MAX)) {
            None => Ok(DEFAULT_PAGE_ROWS.min(limits.page_rows)),
            Some(rows) if rows <= limits.page_rows => Ok(rows),
            Some(_) => Err(Problem::field(PAGE_SIZE.name, format!("must be at most {}", limits.page_rows))),
        }
    }

    /// Where the page begins, of a page that is not the first.
    ///
    /// # Errors
    /// As of [`Binding::position`].
    pub fn position<T: DeserializeOwned>(&self, binding: &Binding) -> Result<Option<T>, Problem> {
        self.text(&PAGE_TOKEN).map(|token| binding.position(token)).transpose()
    }

    pub fn labels(&self) -> &[(String, String)] {
        &self.labels
    }
}

fn decode(text: &str) -> Option<String> {
    check_escapes(text).ok()?;
    // `+` is a space: forms and HTTP clients encode queries like this.
    Some(percent_decode_str(&text.replace('+', " ")).decode_utf8().ok()?.into_owned())
}

/// What other services call parameters of ours.
const ELSEWHERE: [(&str, &[&str]); 2] = [
    ("pageSize", &["limit", "perPage", "size", "count", "max"]),
    ("pageToken", &["page", "offset", "cursor", "next", "token"]),
];

/// What to say of a name that is no parameter.
fn not_known(name: &str, params: &'static [Param]) -> String {
    let known = || params.iter().map(|param| param.name);
    let camel = to_camel(name);
    let elsewhere =
        ELSEWHERE.iter().find(|(ours, theirs)| theirs.contains(&&*camel) && known().any(|known| known == *ours));
    match meant(name, known()).or(elsewhere.map(|(ours, _)| *ours)) {
        Some(meant) => format!("is not a parameter of this request: did you mean `{meant}`?"),
        None => "is not a parameter of this request".to_owned(),
    }
}

/// Checks a value against its parameter's kind, so that the typed getters cannot fail.
fn check(param: &Param, value: &str) -> Result<(), String> {
    match param.kind {
        Kind::Integer { min, max } => {
            let digits = value.strip_prefix('-').unwrap_or(value);
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                Err("must be an integer".to_owned())
            } else if saturating(value) < min {
                Err(format!("must be at least {min}"))
            } else if saturating(value) > max {
                Err(format!("must be at most {max}"))
            } else {
                Ok(())
            }
        }
        Kind::Wait => wait(value).map(drop).map_err(str::to_owned),
        Kind::Boolean if value != "true" && value != "false" => Err("must be true or false".to_owned()),
        Kind::OneOf(words) if !words.contains(&value) => Err(format!("must be one of {}", words.join(", "))),
        Kind::Time => Micros::from_text(value).map(drop).map_err(str::to_owned),
        Kind::Epoch => parse_epoch(value).map(drop).map_err(str::to_owned),
        Kind::Incarnation => parse_incarnation(value).map(drop).map_err(str::to_owned),
        Kind::StateKey => check_state_key(value).map_err(str::to_owned),
        Kind::StateKeys => value.split(',').try_for_each(check_state_key).map_err(str::to_owned),
        Kind::SomeOf(words) if !value.split(',').all(|word| words.contains(&word.trim())) => {
            Err(format!("must be some of {}, separated by commas", words.join(", ")))
        }
        Kind::Prefix if value.chars().any(char::is_control) => Err("must not contain control characters".to_owned()),
        Kind::Boolean | Kind::OneOf(_) | Kind::SomeOf(_) | Kind::Words { .. } | Kind::Id | Kind::Labels => Ok(()),
        Kind::Text | Kind::Prefix | Kind::Cursor | Kind::CursorOrNow | Kind::FeedPosition => Ok(()),
    }
}

/// Seconds, with or without an `s`.
fn wait(text: &str) -> Result<Duration, &'static str> {
    const LONGEST: u64 = 60;
    let digits = text.strip_suffix('s').unwrap_or(text);
    match digits.parse() {
        Ok(seconds @ 0..=LONGEST) if digits.bytes().all(|b| b.is_ascii_digit()) => Ok(Duration::from_secs(seconds)),
        _ => Err("must be a number of seconds from 0 to 60, like 30 or 30s"),
    }
}

/// An integer of any length, clamped to 64 bits: beyond them only the sign matters.
fn saturating(digits: &str) -> i64 {
    digits.parse().unwrap_or(if digits.starts_with('-') { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: &[Param] = &[
        Param::new("pageSize", Kind::Integer { min: 1, max: 10 }),
        Param::new("author", Kind::Text),
        Param::new("order", Kind::OneOf(&["asc", "desc"])),
        Param::new("since", Kind::Time),
        Param::new("label", Kind::Labels),
    ];

    #[test]
    fn what_is_required_is_asked_for() {
        const RELEASE: &[Param] = &[Param::new("epoch", Kind::Epoch), Param::new("incarnation", Kind::Incarnation)];
        let query = Query::parse("epoch=8&incarnation=abc", RELEASE).unwrap();
        assert_eq!((query.epoch(&RELEASE[0]), query.incarnation(&RELEASE[1])), (8, Some(0xabc)));
        for bad in
            ["", "incarnation=abc", "epoch=", "epoch=-1", "epoch=x", "epoch=8&incarnation=", "epoch=8&incarnation=x"]
        {
            assert!(Query::parse(bad, RELEASE).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_called_otherwise_elsewhere_is_known() {
        for (given, ours) in [("limit", "pageSize"), ("page_sise", "pageSize"), ("athor", "author")] {
            let expected = format!("is not a parameter of this request: did you mean `{ours}`?");
            assert_eq!(not_known(given, PARAMS), expected);
        }
        // There is none here.
        assert_eq!(not_known("page", PARAMS), "is not a parameter of this request");
    }

    #[test]
    fn a_query_is_what_its_description_says() {
        let query = Query::parse("page_size=7&author=a+b%2B&since=0&label.x.y=z&&", PARAMS).unwrap();
        assert_eq!(query.integer(&PARAMS[0]), Some(7));
        assert_eq!(query.text(&PARAMS[1]), Some("a b+"));
        assert_eq!(query.time(&PARAMS[3]), Some(Micros(0)));
        assert_eq!(query.labels(), [("x.y".to_owned(), "z".to_owned())]);
        for bad in [
            "bogus=1",
            "pageSize=0",
            "pageSize=11",
            "pageSize=",
            "pageSize=x",
            "pageSize=1.0",
            "pageSize=-1",
            "pageSize=99999999999999999999",
            "pageSize=1&page_size=1",
            "order=up",
            "since=never",
            "author=%zz",
            "author=%ff",
            "label.X=1",
            "label=1",
            "label.=1",
            "label.a=1&label.a=2",
        ] {
            assert!(Query::parse(bad, PARAMS).is_err(), "{bad}");
        }
    }
}
