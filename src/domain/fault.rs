//! Errors of input.

/// A fault of one field, as in the `errors` list of an error.
///
/// It never has a value, only the place of the fault and the broken rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {message}")]
pub struct FieldError {
    /// The name of a field or parameter, or a JSON pointer into the input.
    pub field: String,
    pub message: String,
}

impl FieldError {
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}

/// An error of input, independent of stored data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// Not JSON. `offset` is in bytes.
    #[error("{what}")]
    InvalidJson { offset: usize, what: &'static str },
    /// JSON that breaks rules, at each of these fields.
    #[error("{}", .0.iter().map(FieldError::to_string).collect::<Vec<_>>().join("; "))]
    Invalid(Vec<FieldError>),
    /// The client's role may not write this.
    #[error("{detail}")]
    Denied { detail: &'static str },
    /// Over the limit of an event, a value or a batch; `limit` is the limit's name in the metrics.
    #[error("{detail}")]
    TooLarge { limit: &'static str, detail: String },
}

impl Rejected {
    pub fn field(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldError::new(field, message)])
    }

    /// Over the limit of this name.
    pub fn too_large(limit: &'static str, detail: impl Into<String>) -> Self {
        Self::TooLarge { limit, detail: detail.into() }
    }
}
