//! Many rows as one text: thousands of rows cost both drivers more than the look for them. A statement composes it of numbers, each with a
//! space behind it, and of texts, whose numbers of bytes come before them.

use super::query::{Query, Sql, at_most_one};
use crate::store::error::{Cause, StoreError};

/// The text of a statement, which has at most one row. Null is empty.
pub async fn fetch(db: &mut impl Sql, query: Query<'_>) -> Result<String, StoreError> {
    let row: Option<(Option<String>,)> = at_most_one(db, query).await?;
    Ok(row.and_then(|(text,)| text).unwrap_or_default())
}

/// What is left of such a text.
pub struct Composed<'a>(pub &'a str);

impl<'a> Composed<'a> {
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// # Errors
    /// There is none: the statement composes something else.
    pub fn number(&mut self) -> Result<i64, StoreError> {
        let (number, rest) = self.0.split_once(' ').ok_or_else(odd)?;
        self.0 = rest;
        number.parse().map_err(|_| odd())
    }

    /// # Errors
    /// As of [`Composed::number`].
    pub fn text(&mut self, bytes: i64) -> Result<&'a str, StoreError> {
        let split = usize::try_from(bytes).ok().and_then(|bytes| self.0.split_at_checked(bytes));
        let (text, rest) = split.ok_or_else(odd)?;
        self.0 = rest;
        Ok(text)
    }
}

fn odd() -> StoreError {
    StoreError::new(Cause::Internal, "a text is not what its statement composes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_composed_is_read() {
        let mut composed = Composed("-7 4 é ß0 ");
        assert_eq!(composed.number().unwrap(), -7);
        let bytes = composed.number().unwrap();
        assert!(Composed(composed.0).text(1).is_err());
        assert_eq!(composed.text(bytes + 1).unwrap(), "é ß");
        assert_eq!(composed.text(composed.0.len() as i64 + 1).map_err(|error| error.cause), Err(Cause::Internal));
        assert_eq!(composed.number().unwrap(), 0);
        assert!(composed.is_over() && composed.number().is_err() && composed.text(-1).is_err());
    }
}
