//! Texts of the columns that filters compare.

use std::borrow::Cow;

/// A text for a column that filters compare: PostgreSQL's text cannot hold U+0000, so it is escaped, and with it the
/// escape character. One to one, so equal stays equal.
pub fn filter_text(text: &str) -> Cow<'_, str> {
    if text.contains(['\0', '\\']) {
        Cow::Owned(text.replace('\\', "\\\\").replace('\0', "\\0"))
    } else {
        Cow::Borrowed(text)
    }
}

/// The text that [`filter_text`] made this one of.
pub fn plain_text(column: &str) -> String {
    let mut text = String::with_capacity(column.len());
    let mut rest = column.chars();
    while let Some(next) = rest.next() {
        // An escape character is followed by itself, or by what stands for U+0000.
        text.push(if next == '\\' && rest.next() == Some('0') { '\0' } else { next });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_text_has_one_meaning() {
        for text in ["", "agent", "a\0b", "a\\0b", "\\", "\0\0\\\\0"] {
            assert_eq!(plain_text(&filter_text(text)), text);
        }
    }

    #[test]
    fn filter_texts_stay_apart() {
        assert_eq!(filter_text("agent"), "agent");
        assert_eq!(filter_text("a\0b"), "a\\0b");
        assert_ne!(filter_text("a\\0b"), filter_text("a\0b"));
    }
}
