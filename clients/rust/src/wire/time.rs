//! Times as JSON's numbers, and back.

use chrono::{DateTime, Utc};

/// Unix seconds, as a JSON number with as many digits as the time has, at most nine behind the point.
pub(crate) fn time_to_number(time: DateTime<Utc>) -> String {
    let nanos = i128::from(time.timestamp()) * 1_000_000_000 + i128::from(time.timestamp_subsec_nanos());
    let (sign, nanos) = (if nanos < 0 { "-" } else { "" }, nanos.unsigned_abs());
    let text = format!("{sign}{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The time of Unix seconds as a JSON number, to the nanosecond.
pub(super) fn time_from_number(number: &str) -> Option<DateTime<Utc>> {
    let nanos = match number.contains(['e', 'E']) {
        true => (number.parse::<f64>().ok()? * 1e9).round() as i128,
        false => {
            let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
            let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
            let size =
                whole.trim_start_matches('-').parse::<i128>().ok()? * 1_000_000_000 + digits.parse::<i128>().ok()?;
            if whole.starts_with('-') { -size } else { size }
        }
    };
    let seconds = i64::try_from(nanos.div_euclid(1_000_000_000)).ok()?;
    DateTime::from_timestamp(seconds, u32::try_from(nanos.rem_euclid(1_000_000_000)).ok()?)
}
