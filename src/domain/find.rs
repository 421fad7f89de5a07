//! Whether a text holds words (contract, section 15).
//!
//! Texts are compared as they are *folded*: decomposed (NFD), without combining marks, and in Unicode's full case folding. So
//! `strasse` finds `Straße`, and `eric` finds `ÉRIC`. What one character folds to does not depend on its neighbours.

use std::borrow::Cow;
use std::fmt;

use icu_casemap::CaseMapper;
use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};
use memchr::memmem::Finder;

use super::json::{Json, Kind};

/// Bytes of the text that a request looks for, and words in it.
const MAX_BYTES: usize = 256;
const MAX_WORDS: usize = 16;

/// Words to look for. They are found if each of them is somewhere, be it a part of a longer word.
#[derive(Clone)]
pub struct Words {
    /// Folded.
    finders: Vec<Finder<'static>>,
    escaped: Finder<'static>,
}

/// Shows how many: what a client looks for must not reach logs.
impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Words({})", self.finders.len())
    }
}

impl Words {
    /// The words of a text, which white space separates.
    ///
    /// # Errors
    /// It is too long, or has too many words or none.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("must have at most {MAX_BYTES} bytes"));
        }
        let words: Vec<String> = text.split_whitespace().map(fold).filter(|word| !word.is_empty()).collect();
        if words.is_empty() {
            return Err("must hold a word".to_owned());
        }
        if words.len() > MAX_WORDS {
            return Err(format!("must hold at most {MAX_WORDS} words"));
        }
        let finders = words.iter().map(|word| Finder::new(word).into_owned()).collect();
        Ok(Self { finders, escaped: Finder::new("\\u") })
    }

    /// Whether an event, given as it is stored, holds all of them: in its texts, in the names of calls and responses, or in the
    /// keys, strings and numbers (as written) of arguments and responses.
    pub fn are_in_event(&self, body: &str) -> bool {
        self.may_be_in(body) && self.are_in(texts(body))
    }

    /// Whether each of them is in one of these texts. No word goes from one text to the next.
    pub fn are_in<'a>(&self, texts: impl Iterator<Item = Cow<'a, str>>) -> bool {
        let mut missing: Vec<&Finder<'_>> = self.finders.iter().collect();
        for text in texts {
            let folded = fold(&text);
            missing.retain(|word| word.find(folded.as_bytes()).is_none());
            if missing.is_empty() {
                return true;
            }
        }
        false
    }

    /// False if JSON text holds no such words, at a fraction of the cost of reading it. Without escaped characters, ASCII text
    /// holds in some place what its strings hold, but for words with a character that may be written as an escape.
    fn may_be_in(&self, json: &str) -> bool {
        if !json.is_ascii() || self.escaped.find(json.as_bytes()).is_some() {
            return true;
        }
        let lower = json.to_ascii_lowercase();
        let is_plain = |word: &Finder<'_>| !word.needle().iter().any(|b| *b < b' ' || b"\"\\/".contains(b));
        self.finders.iter().all(|word| !is_plain(word) || word.find(lower.as_bytes()).is_some())
    }
}

/// The texts of an event in which words are found.
fn texts(body: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let parts = Json::trusted(body).get("content").and_then(|content| content.get("parts")).and_then(Json::as_array);
    let members = parts.into_iter().flatten().filter_map(Json::as_object).flatten();
    members.flat_map(|member| {
        let (called, data) = match &*member.key {
            "text" => (member.value.as_str(), None),
            "functionCall" => (member.value.get("name").and_then(Json::as_str), member.value.get("args")),
            "functionResponse" => (member.value.get("name").and_then(Json::as_str), member.value.get("response")),
            _ => (None, None),
        };
        let scalars = data.into_iter().flat_map(Json::scalars);
        let data = scalars.filter(|(kind, _)| matches!(kind, Kind::String | Kind::Number)).map(|(_, text)| text);
        called.into_iter().chain(data)
    })
}

/// What is compared of a text.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let category = CodePointMapData::<GeneralCategory>::new();
    let decomposed = DecomposingNormalizerBorrowed::new_nfd().normalize_iter(text.chars());
    let bare: String = decomposed.filter(|c| !GeneralCategoryGroup::Mark.contains(category.get(*c))).collect();
    CaseMapper::new().fold_string(&bare).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::string::string_regex;

    use super::*;
    use crate::domain::json::push_string;

    fn holds(text: &str, words: &str) -> bool {
        Words::parse(words).unwrap().are_in([Cow::Borrowed(text)].into_iter())
    }

    #[test]
    fn words_are_found_whatever_their_case_and_accents() {
        for (text, words) in [
            ("Where is my refund?", "REFUND where"),
            ("Straße", "STRASSE"),
            ("STRASSE", "straße"),
            ("MASSE", "ẞ"),
            ("E\u{301}ric", "éric"),
            ("Éric", "e\u{308}RIC"),
            ("İstanbul", "istanbul"),
            ("istanbul", "İSTANBUL"),
            ("ΣΊΣΥΦΟΣ", "σίσυφος"),
            ("ﬁre", "FIRE"),
            ("\u{212A}elvin", "kelvin"),
            ("ꭰ", "Ꭰ"),
            ("ὈΔΥΣΣΕΎΣ ᾳ", "οδυσσευς α"),
            ("각하", "가"),
            ("Ångström", "a\u{30A}ngstrom"),
            ("a\u{301}b", "\u{301}b"),
            ("東京都", "京"),
            ("𐐀", "𐐨"),
            ("one\u{3000}two", "two\u{2003}one\u{A0}"),
        ] {
            assert!(holds(text, words), "{words} in {text}");
        }
        for (text, words) in [
            // The dotless one is a letter of its own.
            ("ısı", "isi"),
            ("refund", "refunds"),
            ("re fund", "refund"),
            ("a b", "a c"),
            ("x²", "x2"),
        ] {
            assert!(!holds(text, words), "{words} in {text}");
        }
        let parse = |words: &str| Words::parse(words).map(drop);
        for none in ["", " ", "\t\n\u{3000}", "\u{301} \u{308}"] {
            assert_eq!(parse(none), Err("must hold a word".to_owned()), "{none:?}");
        }
        assert!(parse(&"a ".repeat(16)).is_ok() && parse(&"a ".repeat(17)).is_err());
        assert!(parse(&"é".repeat(128)).is_ok() && parse(&"é".repeat(129)).is_err());
    }

    #[test]
    fn an_event_holds_what_is_said_called_and_answered() {
        let event = r#"{"id":"eventid","author":"someone","content":{"role":"model","parts":[{"text":"caf\u00e9\nau lait \"q\" a\/b \ud83d\ude00","thought":true},
            {"functionCall":{"id":"callid","name":"find_order","args":{"orderId":4711.50,"n\u0061me":["Ada",{"deep":true}],"gone":null}}},
            {"functionResponse":{"id":"callid","name":"find_order","response":{"state":"shipped"}}},
            {"inlineData":{"mimeType":"image/png","data":"QUJD"}},{"executableCode":{"code":"print"}},{"text":8},null]},
            "actions":{"stateDelta":{"key":"value"}},"customMetadata":{"text":"hidden"}}"#;
        let is_in = |words: &str| Words::parse(words).unwrap().are_in_event(event);
        for words in [
            "CAFE",
            "cafe lait",
            "\"Q\"",
            "a/b",
            "😀",
            "find_order",
            "orderid",
            "4711.5",
            "name ada deep",
            "shipped state",
            "cafe 4711 ship",
        ] {
            assert!(is_in(words), "{words}");
        }
        for words in [
            "eventid",
            "someone",
            "model",
            "callid",
            "true",
            "null",
            "image",
            "QUJD",
            "print",
            "8",
            "value",
            "hidden",
            "nau",
            "functionCall",
            "args",
            "cafe hidden",
            "adadeep",
        ] {
            assert!(!is_in(words), "{words}");
        }
        let is_in = |event: &str, words: &str| Words::parse(words).unwrap().are_in_event(event);
        for odd in [
            "{}",
            r#"{"content":"refund"}"#,
            r#"{"content":{"parts":{"text":"refund"}}}"#,
            r#"{"content":{"parts":["refund"]}}"#,
        ] {
            assert!(!is_in(odd, "refund"), "{odd}");
        }
        let escaped = r#"{"content":{"parts":[{"text":"say \"hi\" to C:\\dir and a\/b\n"}]}}"#;
        for words in [r#""hi""#, r"c:\dir", "a/b"] {
            assert!(is_in(escaped, words), "{words}");
        }
    }

    /// Character by character, each by itself.
    fn slowly_folded(text: &str) -> String {
        let mut folded = String::new();
        for c in text.chars() {
            let mut one = String::new();
            for d in DecomposingNormalizerBorrowed::new_nfd().normalize(c.encode_utf8(&mut [0; 4])).chars() {
                if !GeneralCategoryGroup::Mark.contains(CodePointMapData::<GeneralCategory>::new().get(d)) {
                    one.push_str(&CaseMapper::new().fold_string(d.encode_utf8(&mut [0; 4])));
                }
            }
            folded.push_str(&one);
        }
        folded
    }

    #[test]
    fn folding_again_changes_nothing() {
        for c in (0..=0x10_FFFF).filter_map(char::from_u32) {
            let folded = fold(&c.to_string());
            assert_eq!(fold(&folded), folded, "{c:?}");
        }
    }

    /// Few letters, so that words are found; of them, those that fold in odd ways.
    const LETTERS: &str =
        "[aAbsSkKiI1ß\u{1E9E}éÉ\u{212A}İıſﬁΣσς京각가\u{301}\u{308}\u{345}\u{1F600}\u{10400}\u{10428}\"\\\\/\u{1}]";

    /// A JSON string with some of its characters as escapes.
    fn written(text: &str, mut escapes: impl FnMut() -> bool) -> String {
        let mut out = String::from("\"");
        for c in text.chars() {
            if escapes() {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
            } else if c == '/' {
                out.push_str("\\/");
            } else {
                let mut one = String::new();
                push_string(&mut one, &c.to_string());
                out.push_str(&one[1..one.len() - 1]);
            }
        }
        out + "\""
    }

    proptest! {
        #[test]
        fn words_are_found_where_a_plain_scan_finds_them(
            texts in prop::collection::vec(string_regex(&format!("({LETTERS}| ){{0,12}}")).unwrap(), 1..4),
            words in prop::collection::vec(string_regex(&format!("{LETTERS}{{1,2}}")).unwrap(), 1..4),
            escapes in prop::collection::vec(prop::bool::weighted(0.1), 64),
        ) {
            let mut escape = escapes.iter().cycle().copied();
            let (first, rest) = texts.split_first().unwrap();
            let mut parts = format!("{{\"text\":{}}}", written(first, || escape.next().unwrap()));
            for text in rest {
                let text = written(text, || escape.next().unwrap());
                parts += &format!(",{{\"functionCall\":{{\"args\":{{\"\":[{text}]}}}}}}");
            }
            let event = format!("{{\"content\":{{\"parts\":[{parts}]}}}}");
            let folded: Vec<String> = texts.iter().map(|text| slowly_folded(text)).collect();
            let expected = words.iter().all(|word| {
                let word = slowly_folded(word);
                folded.iter().any(|text| text.contains(&word))
            });
            if let Ok(words) = Words::parse(&words.join(" ")) {
                prop_assert_eq!(words.are_in_event(&event), expected, "{}", event);
            }
        }
    }
}
