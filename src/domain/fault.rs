//! Errors of input.

use std::fmt;

/// A fault of one field, as in the `errors` list of an error.
///
/// It never has a value, only the place of the fault and the broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejected {
    /// Not JSON. `offset` is in bytes.
    InvalidJson { offset: usize, what: &'static str },
    /// JSON that breaks rules, at each of these fields.
    Invalid(Vec<FieldError>),
    /// The client's role may not write this.
    Denied { detail: &'static str },
    /// Over the limit of an event, a value or a batch; `limit` is the limit's name in the metrics.
    TooLarge { limit: &'static str, detail: String },
}

impl Rejected {
    pub fn field(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldError::new(field, message)])
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidJson { what, .. } => f.write_str(what),
            Self::Denied { detail } => f.write_str(detail),
            Self::TooLarge { detail, .. } => f.write_str(detail),
            Self::Invalid(errors) => {
                let texts: Vec<String> =
                    errors.iter().map(|error| format!("{} {}", error.field, error.message)).collect();
                f.write_str(&texts.join("; "))
            }
        }
    }
}
