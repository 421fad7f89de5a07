//! Time as whole microseconds since 1970, exact from and to JSON numbers.

use std::iter;

use ::time::OffsetDateTime;
use ::time::format_description::well_known::Rfc3339;

use super::json::{Json, Kind, RawJson};
use super::number::Decimal;

/// 0001-01-01T00:00:00Z and 10000-01-01T00:00:00Z, in microseconds: the years that RFC 3339 can write.
const FIRST: i64 = -62_135_596_800_000_000;
const END: i64 = 253_402_300_800_000_000;

const OUT_OF_RANGE: &str = "must lie within the years 1 to 9999 (Unix seconds, not milliseconds)";
const NOT_A_TIME: &str = "must be Unix seconds as a number, or an RFC 3339 string";

/// A moment, in whole microseconds since the Unix epoch; orders and filters compare it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub i64);

impl Micros {
    /// Unix seconds as a JSON number with six decimals.
    pub fn to_number(self) -> String {
        let mut digits = self.0.unsigned_abs().to_string();
        if digits.len() < 7 {
            digits = format!("{digits:0>7}");
        }
        let (seconds, micros) = digits.split_at(digits.len() - 6);
        [if self.0 < 0 { "-" } else { "" }, seconds, ".", micros].concat()
    }

    /// Reads the text of a JSON number exactly, without floats; fractions of a microsecond are rounded down.
    ///
    /// # Errors
    /// Not a JSON number, or a moment outside of the years 1 to 9999.
    pub fn from_number(text: &str) -> Result<Self, &'static str> {
        let bytes = text.as_bytes();
        if !bytes.first().is_some_and(|b| b.is_ascii_digit() || *b == b'-') || !bytes.is_ascii() {
            return Err(NOT_A_TIME);
        }
        let number = Decimal::of(text);
        let digits = &number.digits;
        if digits.is_empty() {
            return Ok(Self(0));
        }
        if digits.iter().any(|digit| *digit > 9) {
            return Err(NOT_A_TIME);
        }
        // How many digits the whole microseconds have.
        let whole = (digits.len() as i128 + 6).saturating_sub(number.scale());
        if whole > 18 {
            return Err(OUT_OF_RANGE);
        }
        let whole = whole.max(0) as usize;
        let places = digits.iter().chain(iter::repeat(&0)).take(whole);
        let magnitude = places.fold(0, |sum, digit| sum * 10 + i64::from(*digit));
        let is_cut = digits.iter().skip(whole).any(|digit| *digit > 0);
        Self::checked(if number.negative { -magnitude - i64::from(is_cut) } else { magnitude })
    }

    /// # Errors
    /// Not RFC 3339, or a moment outside of the years 1 to 9999.
    pub fn from_rfc3339(text: &str) -> Result<Self, &'static str> {
        let moment = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| NOT_A_TIME)?;
        let micros = moment.unix_timestamp_nanos().div_euclid(1000);
        Self::checked(i64::try_from(micros).map_err(|_| OUT_OF_RANGE)?)
    }

    /// Reads a time outside of JSON: Unix seconds or RFC 3339.
    ///
    /// # Errors
    /// As for [`Micros::from_number`] and [`Micros::from_rfc3339`].
    pub fn from_text(text: &str) -> Result<Self, &'static str> {
        match Json::parse(text.as_bytes(), 0) {
            Ok(json) if json.kind() == Kind::Number => Self::from_number(json.text()),
            _ => Self::from_rfc3339(text),
        }
    }

    /// In UTC and whole seconds, for names of files, which sort by it: `20261127T043814Z`.
    pub fn to_name(self) -> String {
        let moment = OffsetDateTime::from_unix_timestamp(self.0.div_euclid(1_000_000));
        let moment = moment.unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let ((year, month, day), (hour, minute, second)) = (moment.to_calendar_date(), moment.to_hms());
        format!("{year:04}{:02}{day:02}T{hour:02}{minute:02}{second:02}Z", u8::from(month))
    }

    /// Whether this is of [`Micros::to_name`].
    pub fn is_name(text: &str) -> bool {
        let (date, time) = (text.get(..8), text.get(9..15));
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        [date, time].into_iter().flatten().all(is_number) && text.get(8..9) == Some("T") && text.get(15..) == Some("Z")
    }

    fn checked(micros: i64) -> Result<Self, &'static str> {
        if (FIRST..END).contains(&micros) { Ok(Self(micros)) } else { Err(OUT_OF_RANGE) }
    }

    /// This moment moved by `by` microseconds, clamped to the range that can be written.
    pub fn plus(self, by: i64) -> Self {
        Self(self.0.saturating_add(by).clamp(FIRST, END - 1))
    }
}

/// A moment with its JSON number, in the client's own text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timestamp {
    pub micros: Micros,
    pub number: RawJson,
}

impl Timestamp {
    /// Reads a time as requests may write it, in Unix seconds or RFC 3339; a number keeps its text, a string becomes a number.
    ///
    /// # Errors
    /// Another type, a string that is not RFC 3339, a moment out of range.
    pub fn parse(json: Json<'_>) -> Result<Self, &'static str> {
        match json.kind() {
            Kind::Number => Ok(Self { micros: Micros::from_number(json.text())?, number: json.to_raw() }),
            Kind::String => json.as_str().map_or(Err(NOT_A_TIME), |text| Micros::from_rfc3339(&text)).map(Self::from),
            _ => Err(NOT_A_TIME),
        }
    }
}

impl From<Micros> for Timestamp {
    fn from(micros: Micros) -> Self {
        Self { micros, number: RawJson::trusted(micros.to_number()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read_exactly() {
        for (text, micros) in [
            ("0", 0),
            ("-0.0", 0),
            ("1", 1_000_000),
            ("1E2", 100_000_000),
            ("1.5e-6", 1),
            ("-1.5e-6", -2),
            ("0.0000009", 0),
            ("-0.0000009", -1),
            ("1763719000.123456", 1_763_719_000_123_456),
            ("1763719000.1234569999", 1_763_719_000_123_456),
            ("253402300799.999999", END - 1),
            ("1e-400", 0),
            ("1e-99999999999999999999", 0),
            ("0e99999999999999999999", 0),
            ("-62135596800", FIRST),
        ] {
            assert_eq!(Micros::from_number(text), Ok(Micros(micros)), "{text}");
        }
        for text in ["253402300800", "1763719000123", "1e300", "1e99999999999999999999", "-62135596800.000001"] {
            assert_eq!(Micros::from_number(text), Err(OUT_OF_RANGE), "{text}");
        }
    }

    #[test]
    fn strings_are_rfc3339() {
        assert_eq!(Micros::from_rfc3339("1970-01-01T00:00:01.0000019Z"), Ok(Micros(1_000_001)));
        assert_eq!(Micros::from_rfc3339("1970-01-01T01:00:00+01:00"), Ok(Micros(0)));
        for text in ["", "yesterday", "1970-01-01", "1970-01-01T00:00:00", "1"] {
            assert!(Micros::from_rfc3339(text).is_err(), "{text}");
        }
        assert_eq!(Micros::from_text("0"), Ok(Micros(0)));
        assert_eq!(Micros::from_text("1970-01-01T00:00:00Z"), Ok(Micros(0)));
        assert!(Micros::from_text("01").is_err());
        assert!(Micros::from_text("true").is_err());
    }

    #[test]
    fn names_are_of_one_length_and_sort_by_time() {
        let names = [-1_i64, 0, 1_795_754_294_999_999].map(|micros| Micros(micros).to_name());
        assert_eq!(names, ["19691231T235959Z", "19700101T000000Z", "20261127T043814Z"]);
        assert!(names.iter().all(|name| Micros::is_name(name)));
        for other in
            ["", "20261127T043814", "20261127T043814Zx", "20261127-043814Z", "2026112éT043814Z", "20261127T04381éZ"]
        {
            assert!(!Micros::is_name(other), "{other}");
        }
    }

    #[test]
    fn a_number_keeps_its_text_and_a_string_becomes_one() {
        let parse = |text| Timestamp::parse(Json::trusted(text)).map(|t| t.number.text().to_owned());
        assert_eq!(parse("1E2"), Ok("1E2".to_owned()));
        assert_eq!(parse("\"1970-01-01T00:00:01.5Z\""), Ok("1.500000".to_owned()));
        assert!(parse("true").is_err());
        assert!(parse("null").is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(micros in FIRST..END) {
            prop_assert_eq!(Micros::from_number(&Micros(micros).to_number()), Ok(Micros(micros)));
        }
    }
}
