//! Why input is refused.

use std::fmt;

/// One field at fault, as the `errors` list of an error shows it.
///
/// Never holds a value: only where the fault is and which rule was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The name of a field or parameter, or a JSON pointer into what was given.
    pub field: String,
    pub message: String,
}

impl FieldError {
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}

/// Why input was refused, independent of what is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejected {
    /// Not JSON. `offset` is in bytes.
    InvalidJson { offset: usize, what: &'static str },
    /// JSON that breaks a rule, at each of these fields.
    Invalid(Vec<FieldError>),
    /// What the role of the client may not write.
    Denied { detail: &'static str },
    /// Over the limit of an event, a value or a batch; `limit` is its name in the metrics.
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
