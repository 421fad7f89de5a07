//! What `operations.yaml` says of each operation.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

/// What is told of an operation, beside what serves it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    pub summary: String,
    /// CommonMark.
    #[serde(default)]
    pub description: String,
    /// Of its parameters, by their names.
    #[serde(default)]
    query: BTreeMap<String, String>,
    pub body: Option<Body>,
    /// By status.
    pub answers: BTreeMap<String, Answer>,
    /// The codes of errors beside those of all operations of its kind.
    #[serde(default)]
    pub errors: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// The name of a schema in `base.yaml`.
    pub schema: String,
    pub required: bool,
}

/// A successful answer.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Answer {
    pub about: String,
    /// The names of schemas in `base.yaml`, of a media type each; none for an empty answer.
    pub schemas: Vec<String>,
    /// The response headers that it carries.
    pub headers: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// What is told of parameters where their operation says nothing else.
    parameters: BTreeMap<String, String>,
    /// By tag and id.
    operations: BTreeMap<String, BTreeMap<String, Told>>,
}

static FILE: LazyLock<File> = LazyLock::new(|| {
    let file: Value = serde_saphyr::from_str(include_str!("../operations.yaml")).unwrap();
    serde_json::from_value(file).unwrap()
});

impl Told {
    /// Of the operation with this id.
    pub fn of(id: &str) -> &'static Self {
        let found = FILE.operations.values().find_map(|of_tag| of_tag.get(id));
        found.unwrap_or_else(|| panic!("operations.yaml: {id} is missing"))
    }

    pub fn about(&self, parameter: &str) -> &str {
        let about = self.query.get(parameter).or_else(|| FILE.parameters.get(parameter));
        about.unwrap_or_else(|| panic!("operations.yaml: {}: `{parameter}` is missing", self.summary))
    }
}

/// The tag of the operation with this id.
pub fn tag(id: &str) -> &'static str {
    let found = FILE.operations.iter().find(|(_, of_tag)| of_tag.contains_key(id));
    found.map(|(tag, _)| &**tag).unwrap_or_else(|| panic!("operations.yaml: {id} is missing"))
}

#[test]
fn nothing_is_told_of_what_is_not_there() {
    let endpoints = || crate::http::ENDPOINTS.iter().map(|endpoint| endpoint.operation);
    for (id, told) in FILE.operations.values().flatten() {
        let operation = endpoints().find(|operation| operation.id == id).expect(id);
        for name in told.query.keys() {
            assert!(operation.query.iter().any(|param| param.name == name), "{id}: {name}");
        }
    }
    for name in FILE.parameters.keys() {
        let is_used = |id: &str| !Told::of(id).query.contains_key(name);
        let mut operations = endpoints().filter(|of| of.query.iter().any(|param| param.name == name));
        assert!(operations.any(|operation| is_used(operation.id)), "{name}");
    }
}
