//! Numbers as exact decimals: compared and added without floats.
//!
//! The functions take the text of valid JSON numbers. For other text the results are meaningless, without a panic.

use std::cmp::Ordering;

/// How many digits a sum may have beyond the bytes of its operands: enough to write any double exactly.
const MORE_DIGITS: usize = 2048;

const TOO_LONG: &str = "the sum has too many digits";
const OUT_OF_RANGE: &str = "the sum is beyond the range of a double, or an integer of more than 308 digits";

/// The most digits of an integer, though a few with 309 are in the range of a double.
const MAX_INTEGER_DIGITS: usize = 308;

/// Whether every client can read it: it is in the range of a double, and no integer has more than 308 digits.
pub fn is_readable(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    // A shorter text without exponent is in range.
    if digits.len() <= MAX_INTEGER_DIGITS && !digits.contains(['e', 'E']) {
        return true;
    }
    digits.contains(['.', 'e', 'E']) && !text.parse().is_ok_and(f64::is_infinite)
}

/// Reads digits alone, of any length: what is beyond 64 bits is the largest number.
pub fn of_digits(text: &str) -> Option<i64> {
    let are_digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    are_digits.then(|| text.parse().unwrap_or(i64::MAX))
}

/// Orders two numbers by their exact values; equal if and only if JSON-equal. Linear in the lengths of the texts: no exponent is
/// expanded.
pub fn compare(a: &str, b: &str) -> Ordering {
    let (a, b) = (Decimal::of(a), Decimal::of(b));
    a.signum().cmp(&b.signum()).then_with(|| match a.signum() {
        0 => Ordering::Equal,
        1 => a.compare_magnitude(&b),
        _ => b.compare_magnitude(&a),
    })
}

/// The exact sum, without exponent or negative zero. It has as many digits after the point as the operand with more of them,
/// exponents expanded: `1.10` and `2.2` make `3.30`, `1e2` and `1` make `101`. Linear in the lengths of the texts.
///
/// The sum is not [readable](is_readable), or the operands are too far apart (`1` and `1e-999999999`): it would have 2048 digits
/// more than both texts have bytes. Then nothing is built.
pub fn sum(a: &str, b: &str) -> Result<String, &'static str> {
    let limit = a.len() + b.len() + MORE_DIGITS;
    let (a, b) = (Decimal::of(a), Decimal::of(b));
    let scale = a.scale().max(b.scale()).max(0);
    let places =
        |decimal: &Decimal<'_>| scale.saturating_sub(decimal.scale()).saturating_add(decimal.digits.len() as i128);
    let width = places(&a).max(places(&b)).max(scale.saturating_add(1));
    if width > limit as i128 {
        return Err(TOO_LONG);
    }
    let sum = a.plus(&b, width as usize, scale as usize);
    if is_readable(&sum) { Ok(sum) } else { Err(OUT_OF_RANGE) }
}

/// The sum of an integer of any length, which may have a sign, and another one; without `+` and leading zeros.
pub fn sum_of_integers(long: &str, other: i128) -> String {
    let (long, other) = (long.trim_start_matches('+'), other.to_string());
    Decimal::of(long).plus(&Decimal::of(&other), long.len().max(other.len()), 0)
}

/// The parts of a number; the exponent is not expanded.
pub struct Decimal<'a> {
    pub negative: bool,
    /// The values of the digits on both sides of the point, without leading zeros; none in 0.
    pub digits: Vec<u8>,
    /// How many digits are after the point as written.
    fraction: i128,
    /// The exponent as written, of any length. Empty if there is none.
    exponent: &'a str,
}

impl<'a> Decimal<'a> {
    pub fn of(text: &'a str) -> Self {
        let (negative, unsigned) = text.strip_prefix('-').map_or((false, text), |unsigned| (true, unsigned));
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, ""));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits =
            whole.bytes().chain(fraction.bytes()).map(|b| b.wrapping_sub(b'0')).skip_while(|&digit| digit == 0);
        Self { negative, digits: digits.collect(), fraction: fraction.len() as i128, exponent }
    }

    fn signum(&self) -> i32 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, false) => 1,
            (false, true) => -1,
        }
    }

    /// The value is `digits` x 10^-scale. An exponent beyond 128 bits is clamped.
    pub fn scale(&self) -> i128 {
        let exponent = match self.exponent {
            "" => 0,
            written => written.parse().unwrap_or(if written.starts_with('-') { i128::MIN } else { i128::MAX }),
        };
        let scale = self.fraction.saturating_sub(exponent);
        // 0e9 is 0 and has no digits.
        if self.digits.is_empty() { scale.max(0) } else { scale }
    }

    /// As [`compare`], without the signs; neither is 0.
    fn compare_magnitude(&self, other: &Self) -> Ordering {
        // Both written as 0.DIGITS x 10^power: the greater power wins, then the greater digits.
        let powers = if self.exponent.len().max(other.exponent.len()) <= 30 {
            let power = |decimal: &Self| (decimal.digits.len() as i128).saturating_sub(decimal.scale());
            power(self).cmp(&power(other))
        } else {
            // Recurses once only: these texts have no exponent.
            compare(&self.long_power(), &other.long_power())
        };
        powers.then_with(|| self.significant().cmp(other.significant()))
    }

    /// The power of [`Decimal::compare_magnitude`], for an exponent of any length.
    fn long_power(&self) -> String {
        sum_of_integers(self.exponent, self.digits.len() as i128 - self.fraction)
    }

    /// The digits without trailing zeros.
    fn significant(&self) -> &[u8] {
        let zeros = self.digits.iter().rev().take_while(|&&digit| digit == 0).count();
        &self.digits[..self.digits.len() - zeros]
    }

    /// The sum of two numbers of at most `width` digits, `scale` (fewer) of them after the point.
    fn plus(&self, other: &Self, width: usize, scale: usize) -> String {
        // One more digit, for the carry.
        let (mut larger, mut smaller) = (self.aligned(width + 1, scale), other.aligned(width + 1, scale));
        let mut negative = self.negative;
        let mut sign = 1;
        if self.negative != other.negative {
            sign = -1;
            if larger < smaller {
                std::mem::swap(&mut larger, &mut smaller);
                negative = other.negative;
            }
        }
        let mut carry = 0;
        for (digit, by) in larger.iter_mut().zip(&smaller).rev() {
            let sum = i16::from(*digit) + sign * i16::from(*by) + carry;
            carry = sum.div_euclid(10);
            *digit = sum.rem_euclid(10) as u8;
        }
        let mut out = String::with_capacity(larger.len() + 2);
        if negative && larger.iter().any(|&digit| digit != 0) {
            out.push('-');
        }
        let zeros = larger.iter().take(width - scale).take_while(|&&digit| digit == 0).count();
        for (place, digit) in larger.iter().enumerate().skip(zeros) {
            if place == larger.len() - scale {
                out.push('.');
            }
            out.push(char::from(b'0' + digit));
        }
        out
    }

    /// The digits, padded with zeros on both sides to `width`, with `scale` after the point.
    fn aligned(&self, width: usize, scale: usize) -> Vec<u8> {
        let mut places = vec![0; width];
        let end = width.saturating_sub((scale as i128 - self.scale()) as usize);
        let start = end.saturating_sub(self.digits.len());
        places[start..end].copy_from_slice(&self.digits[..end - start]);
        places
    }
}

#[cfg(test)]
mod tests {
    use super::super::json::Json;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sums_are_exact() {
        for (a, b, expected) in [
            ("0", "0", "0"),
            ("1", "1", "2"),
            ("9", "1", "10"),
            ("999", "1", "1000"),
            ("1000", "-1", "999"),
            ("1", "-1000", "-999"),
            ("-1", "-1", "-2"),
            ("5", "-5", "0"),
            ("9223372036854775807", "1", "9223372036854775808"),
            ("-9223372036854775808", "-1", "-9223372036854775809"),
            ("340282366920938463463374607431768211455", "1", "340282366920938463463374607431768211456"),
            ("9007199254740993", "0", "9007199254740993"),
            // The larger scale stays, zeros at the end too.
            ("1.10", "2.2", "3.30"),
            ("0.1", "0.2", "0.3"),
            ("1", "0.5", "1.5"),
            ("1.0", "1", "2.0"),
            ("1.5", "-0.5", "1.0"),
            ("0.5", "-0.75", "-0.25"),
            ("9.99", "0.01", "10.00"),
            ("-0.001", "1", "0.999"),
            ("0.000", "0", "0.000"),
            // No negative zero.
            ("0", "-0", "0"),
            ("-0", "-0", "0"),
            ("-0.0", "-0.00", "0.00"),
            ("-1.5", "1.50", "0.00"),
            ("-0e5", "0", "0"),
            // An exponent counts as written out.
            ("0", "1e2", "100"),
            ("1E+2", "1", "101"),
            ("1.5e-3", "0", "0.0015"),
            ("1.50e1", "0", "15.0"),
            ("1.5e1", "0", "15"),
            ("12e-1", "0.05", "1.25"),
            ("0.001e3", "1", "2"),
            ("1e-0000000000000000000000000000000000000000000000001", "0", "0.1"),
            ("1e00", "-1e-00", "0"),
            ("0e-3", "1", "1.000"),
            ("0e99999999999999999999999999999999999999999999999", "1", "1"),
            ("0.00e1", "1", "1.0"),
        ] {
            assert_eq!(sum(a, b).as_deref(), Ok(expected), "{a} {b}");
            assert_eq!(sum(b, a).as_deref(), Ok(expected), "{b} {a}");
        }
    }

    #[test]
    fn a_sum_stays_readable() {
        let largest = "1.7976931348623157e308";
        let written = format!("17976931348623157{}", "0".repeat(292));
        assert_eq!(sum(largest, "0.0").unwrap(), format!("{written}.0"));
        assert_eq!(sum(largest, &format!("-{largest}")).as_deref(), Ok("0"));
        // What still rounds to the largest double is within.
        let fraction = format!("{written}.0");
        assert!(sum(&fraction, "1e292").is_ok());
        let nines = "9".repeat(MAX_INTEGER_DIGITS);
        assert_eq!(sum(&nines, "0").as_deref(), Ok(&*nines));
        for (a, b) in [(largest, largest), (&fraction, "2e292"), ("9e307", "9e307"), (largest, "0"), (&*nines, "1")] {
            assert_eq!(sum(a, b), Err(OUT_OF_RANGE));
            assert_eq!(sum(&format!("-{a}"), &format!("-{b}")), Err(OUT_OF_RANGE));
        }
    }

    #[test]
    fn a_sum_never_grows_much_beyond_its_operands() {
        let (smallest, ones) = ("1e-400", "1".repeat(5000));
        assert_eq!(sum("1e308", smallest).unwrap(), format!("1{}.{}1", "0".repeat(308), "0".repeat(399)));
        for small in [
            "1e-999999999".to_owned(),
            "0e-999999999".to_owned(),
            "-1.5e-9223372036854775809".to_owned(),
            format!("1e-{}", "9".repeat(60)),
            format!("1e-{}", "9".repeat(1_000_000)),
        ] {
            assert_eq!(sum("1", &small), Err(TOO_LONG), "{small}");
            assert_eq!(sum(&small, "1"), Err(TOO_LONG), "{small}");
        }
        // Both texts have 8 bytes, so 2056 digits may be: one before the point.
        assert_eq!(sum("1", "1e-2055").unwrap(), format!("1.{}1", "0".repeat(2054)));
        assert_eq!(sum("1", "1e-2056"), Err(TOO_LONG));
        // Operands that are as long themselves may be added.
        let long = format!("0.{ones}");
        assert_eq!(sum(&long, &long).unwrap(), long.replace('1', "2"));
    }

    #[test]
    fn sums_of_a_million_digits() {
        let mega = 1_000_000;
        let (nines, zeros) = ("9".repeat(mega), "0".repeat(mega - 1));
        let last = format!("{zeros}1");
        assert_eq!(sum(&format!("0.{nines}"), &format!("0.{last}")).unwrap(), format!("1.{zeros}0"));
        assert_eq!(sum("1", &format!("-0.{last}")).unwrap(), format!("0.{nines}"));
        assert_eq!(sum(&nines, "1"), Err(OUT_OF_RANGE));
        assert_eq!(sum(&nines, &format!("-{}8", &nines[1..])).as_deref(), Ok("1"));
        let (huge, scale) = (format!("0.{last}e{mega}"), format!("{}e-{mega}", nines));
        assert_eq!(sum(&huge, "1").as_deref(), Ok("2"));
        assert_eq!(sum(&scale, "0").unwrap(), format!("0.{nines}"));
        assert_eq!(compare(&format!("0.{nines}"), &format!("0.{nines}1")), Ordering::Less);
        assert_eq!(compare(&huge, "1.0"), Ordering::Equal);
    }

    #[test]
    fn numbers_have_one_order() {
        let nines = "9".repeat(60);
        let (huge, huger) = (format!("1e-{nines}"), format!("1e-1{}", "0".repeat(60)));
        // From the least to the greatest; in one row what is equal.
        let rows: [&[&str]; 24] = [
            &["-1.7976931348623157e308"],
            &["-1e2", "-100", "-100.0"],
            &["-99.9"],
            &["-1"],
            &["-1e-400"],
            &["0", "-0", "0.000", "-0.0e10", "0e999999999999999999999999999999999999999999", "0e-999999999"],
            &[&huger, "0.1e-999999999999999999999999999999999999999999999999999999999999"],
            &[&format!("1.5e-1{}", "0".repeat(60))],
            &[&huge, &format!("10e-1{}", "0".repeat(60)), &format!("0.01e-{}7", &nines[1..])],
            &[&format!("1.0001e-{nines}")],
            &["1e-170141183460469231731687303715884105729"],
            &["1e-170141183460469231731687303715884105728", "0.1e-170141183460469231731687303715884105727"],
            &["1e-999999999", "0.01e-999999997", "1E-0000000000000000000000000000000000999999999"],
            &["1e-400", "10e-401"],
            &["0.009"],
            &["0.01", "1e-2", "1.00E-2"],
            &["0.011"],
            &["1", "1.0", "10e-1", "1e0", "1E+0000000000000000000000000000000000000000", "0.1e1"],
            &["9007199254740992", "9007199254740992.0"],
            &["9007199254740992.1"],
            &["9007199254740993"],
            &["123456789012345678901234567890"],
            &["123456789012345678901234567891", "1.23456789012345678901234567891e29"],
            &["1e308", "0.1e+309"],
        ];
        for (at, row) in rows.iter().enumerate() {
            for (other_at, other) in rows.iter().enumerate() {
                for (a, b) in row.iter().flat_map(|a| other.iter().map(move |b| (a, b))) {
                    assert_eq!(compare(a, b), at.cmp(&other_at), "{a} {b}");
                }
            }
        }
    }

    /// The text of `unscaled` x 10^-scale, in full.
    fn decimal(unscaled: i128, scale: usize) -> String {
        let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        let sign = if unscaled < 0 { "-" } else { "" };
        if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
    }

    const MANTISSA: i128 = 1_000_000_000_000_000;

    /// An unscaled value and its scale; small values are as likely as large ones.
    fn decimals() -> impl Strategy<Value = (i128, usize)> {
        (prop_oneof![-12..12_i128, -1000..1000_i128, -MANTISSA..MANTISSA], 0..20_usize)
    }

    /// Any text that is a JSON number.
    fn number() -> impl Strategy<Value = String> {
        "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,24})?([eE][+-]?[0-9]{1,2}|[eE]-[0-9]{1,40})?"
    }

    fn up(scale: usize, (unscaled, own): (i128, usize)) -> i128 {
        unscaled * 10_i128.pow((scale - own) as u32)
    }

    proptest! {
        #[test]
        fn integers_add_up(a in any::<i64>(), b in any::<i64>()) {
            prop_assert_eq!(sum(&a.to_string(), &b.to_string()), Ok((i128::from(a) + i128::from(b)).to_string()));
        }

        #[test]
        fn decimals_add_up_and_compare(a in decimals(), b in decimals()) {
            let scale = a.1.max(b.1);
            let (x, y) = (up(scale, a), up(scale, b));
            let expected = decimal(x + y, scale);
            let texts = |(unscaled, scale): (i128, usize)| {
                let wide = format!("{}e-{}", decimal(unscaled, 3), scale - 3.min(scale));
                let plain = [decimal(unscaled, scale), format!("{unscaled}e-{scale}")];
                plain.into_iter().chain((scale >= 3).then_some(wide)).collect::<Vec<_>>()
            };
            for a in texts(a) {
                for b in texts(b) {
                    prop_assert_eq!(sum(&a, &b), Ok(expected.clone()), "{} {}", a, b);
                    prop_assert_eq!(compare(&a, &b), x.cmp(&y), "{} {}", a, b);
                }
            }
        }

        #[test]
        fn sums_commute_and_associate(a in number(), b in number(), c in number()) {
            prop_assert_eq!(sum(&a, &b), sum(&b, &a));
            let add = |x: Result<String, _>, y: &str| x.and_then(|x| sum(&x, y));
            let (left, right) = (add(sum(&a, &b), &c), add(sum(&b, &c), &a));
            if let (Ok(left), Ok(right)) = (left, right) {
                prop_assert_eq!(left, right);
            }
        }

        #[test]
        fn a_sum_is_a_plain_number_and_can_be_undone(a in number(), b in number()) {
            if let Ok(total) = sum(&a, &b) {
                prop_assert!(total.len() <= a.len() + b.len() + MORE_DIGITS + 3);
                prop_assert!(!total.contains(['e', 'E']), "{}", total);
                prop_assert!(Json::parse(total.as_bytes(), 0).is_ok(), "{}", total);
                prop_assert_eq!(total.starts_with('-'), compare(&total, "0") == Ordering::Less);
                let minus = format!("-{b}").replace("--", "");
                prop_assert_eq!(sum(&total, &minus).map(|back| compare(&back, &a)), Ok(Ordering::Equal));
            }
        }

        #[test]
        fn order_agrees_with_json_equality(a in number(), b in number(), c in number()) {
            let order = compare(&a, &b);
            prop_assert_eq!(order.is_eq(), Json::trusted(&a).same(Json::trusted(&b)));
            prop_assert_eq!(compare(&b, &a), order.reverse());
            prop_assert_eq!(compare(&a, &a), Ordering::Equal);
            if order.is_le() && compare(&b, &c).is_le() {
                prop_assert!(compare(&a, &c).is_le());
            }
        }

        /// Multiplying both by 10^-10^40 changes nothing.
        #[test]
        fn order_holds_however_small(a in decimals(), b in decimals()) {
            let scale = a.1.max(b.1);
            let tiny = |(unscaled, scale): (i128, usize)| format!("{unscaled}e-1{}{scale:02}", "0".repeat(38));
            prop_assert_eq!(compare(&tiny(a), &tiny(b)), up(scale, a).cmp(&up(scale, b)));
        }

        #[test]
        fn other_text_does_no_harm(a in "[-+.eE0-9x ]{0,12}", b in "[-+.eE0-9é]{0,40}") {
            compare(&a, &b);
            let _ = sum(&a, &b);
        }
    }
}
