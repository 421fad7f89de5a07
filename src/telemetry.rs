//! Where logs go, in which format, and which data they never contain.

use std::fmt::Debug;
use std::io::{self, IsTerminal as _};
use std::panic::{self, PanicHookInfo};
use std::time::SystemTime;

use time::OffsetDateTime;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::{LevelFilter, ParseError, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{self, FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::domain::json::ObjectText;

/// The log filter if no setting says otherwise.
pub const DEFAULT_FILTER: &str = "info,sqlx=warn";

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// One JSON object a line, for collectors
    Json,
    /// One line of text an event, coloured on a terminal, for people
    Pretty,
}

/// A filter from its directives. It never lets SQL statements through.
///
/// # Errors
/// The directives are invalid. A word that is no level would be a target, and a log without anything else.
pub fn filter(directives: &str) -> Result<Targets, String> {
    const LEVELS: &str = "off, error, warn, info, debug or trace";
    // Nothing between two commas would be a target that all others begin with.
    let directives: Vec<&str> =
        directives.split(',').map(str::trim).filter(|directive| !directive.is_empty()).collect();
    for directive in &directives {
        let level = directive.split_once('=').map_or(*directive, |(_, level)| level);
        let is_named = level.is_empty() || level.bytes().all(|b| b.is_ascii_digit());
        if is_named || level.parse::<LevelFilter>().is_err() {
            return Err(format!(
                "`{directive}` has no level: a level is {LEVELS}, for all or for one target (TARGET=LEVEL)"
            ));
        }
    }
    // The last directive of a target wins. sqlx logs statements, slow ones too, under this target.
    let all = directives.into_iter().chain(["sqlx::query=off"]).collect::<Vec<_>>().join(",");
    all.parse().map_err(|error: ParseError| error.to_string())
}

/// The last words of a process, as a line of its log in this format.
#[expect(clippy::disallowed_methods, reason = "when something is logged is no rule")]
pub fn last_line(format: LogFormat, message: &str) -> String {
    match format {
        LogFormat::Pretty => format!("error: {message}"),
        LogFormat::Json => {
            let mut line = ObjectText::default();
            line.push("timestamp", &quoted_time(SystemTime::now().into()));
            line.push_str("level", "ERROR");
            line.push_str("message", message);
            line.push_str("target", "sessiond");
            line.close()
        }
    }
}

/// Sends log events of this process to stderr, panics included. Call it once, at start.
///
/// # Errors
/// The directives are invalid, or a subscriber is installed already.
pub fn init(format: LogFormat, directives: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let filtered = tracing_subscriber::registry().with(filter(directives)?);
    // It would report a broken stderr on stderr, and panic.
    let lines = fmt::layer().with_writer(io::stderr).log_internal_errors(false);
    match format {
        LogFormat::Json => filtered.with(lines.event_format(JsonLine)).try_init()?,
        LogFormat::Pretty => filtered.with(lines.compact().with_ansi(io::stderr().is_terminal())).try_init()?,
    }
    panic::set_hook(Box::new(log_panic));
    Ok(())
}

/// Formats an event as one line of JSON: time, level, its own fields, target. The text equals that of
/// `tracing_subscriber::fmt().json().flatten_event(true)`, for a third of the work; every request logs one. Spans of
/// `tracing` are not used.
struct JsonLine;

impl<S, N> FormatEvent<S, N> for JsonLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    #[expect(clippy::disallowed_methods, reason = "when something is logged is no rule")]
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> std::fmt::Result {
        let metadata = event.metadata();
        let mut line = Fields(ObjectText::with_capacity(512));
        line.0.push("timestamp", &quoted_time(SystemTime::now().into()));
        line.0.push_str("level", metadata.level().as_str());
        event.record(&mut line);
        line.0.push_str("target", metadata.target());
        writer.write_str(&line.0.close())?;
        writer.write_char('\n')
    }
}

struct Fields(ObjectText);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push_str(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.push(field.name(), &value.to_string());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.push(field.name(), &value.to_string());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.push(field.name(), if value { "true" } else { "false" });
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        // `null`, if it is not finite.
        self.0.push(field.name(), &serde_json::to_string(&value).unwrap_or_default());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push_str(field.name(), &format!("{value:?}"));
    }
}

/// RFC 3339 with microseconds, in quotes.
fn quoted_time(time: OffsetDateTime) -> String {
    let mut text = *b"\"0000-00-00T00:00:00.000000Z\"";
    let (year, month, day) = time.to_calendar_date();
    let (hour, minute, second, micros) = time.to_hms_micro();
    for (place, digits, mut number) in [
        (1, 4, year.unsigned_abs()),
        (6, 2, u8::from(month).into()),
        (9, 2, day.into()),
        (12, 2, hour.into()),
        (15, 2, minute.into()),
        (18, 2, second.into()),
        (21, 6, micros),
    ] {
        for digit in text[place..place + digits].iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
    }
    String::from_utf8(text.into()).unwrap_or_default()
}

/// Logs only the location: a panic's message may quote data, for instance a value of some state.
fn log_panic(panic: &PanicHookInfo<'_>) {
    match panic.location() {
        Some(location) => tracing::error!(%location, "panic"),
        None => tracing::error!("panic"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::fmt::MakeWriter;

    use super::*;

    /// Lines that a subscriber wrote.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl MakeWriter<'_> for Written {
        type Writer = Self;

        fn make_writer(&self) -> Self {
            self.clone()
        }
    }

    #[test]
    fn a_line_is_that_of_the_general_formatter() {
        fn log() {
            let (id, none) = ("a\"b\\c\n\u{7}\u{e9}\u{1f600}", None::<&str>);
            tracing::info!(
                method = "POST",
                status = 201,
                duration_ms = 0.1 + 0.2,
                id,
                none,
                some = Some("s"),
                "request"
            );
            tracing::warn!(zero = 0.0, whole = 5.0, small = 1e-7, large = 1e300, nan = f64::NAN, negative = -7_i64);
            tracing::error!(target: "elsewhere", yes = true, no = false, %id, debugged = ?id, "of {} \"{}\"", 2, id);
            tracing::info!(most = u64::MAX, wide = u128::MAX, list = ?[1, 2], r#type = "t", error = %io::Error::other("e\t"));
        }
        let (ours, theirs) = (Written::default(), Written::default());
        let general = tracing_subscriber::fmt().json().flatten_event(true).with_span_list(false);
        let subscriber = tracing_subscriber::fmt().event_format(JsonLine).with_writer(ours.clone()).finish();
        tracing::subscriber::with_default(subscriber, log);
        tracing::subscriber::with_default(general.with_writer(theirs.clone()).finish(), log);
        let lines = |written: &Written| -> Vec<(String, String)> {
            let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
            let time = r#"{"timestamp":"2026-01-01T00:00:00.000000Z""#.len();
            text.lines().map(|line| (line[..time].to_owned(), line[time..].to_owned())).collect()
        };
        let (ours, theirs) = (lines(&ours), lines(&theirs));
        assert_eq!(ours.len(), 4);
        for ((time, rest), (_, general)) in ours.iter().zip(&theirs) {
            assert_eq!(rest, general);
            let time = time.strip_prefix(r#"{"timestamp":""#).and_then(|time| time.strip_suffix('"')).unwrap();
            assert!(OffsetDateTime::parse(time, &time::format_description::well_known::Rfc3339).is_ok(), "{time}");
        }
    }

    #[test]
    fn a_time_has_all_its_digits() {
        for (nanos, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (1_795_668_585_007_000_999, "2026-11-26T04:49:45.007000Z"),
            (951_782_399_999_999_999, "2000-02-28T23:59:59.999999Z"),
        ] {
            let time = OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap();
            assert_eq!(quoted_time(time), format!("\"{text}\""));
        }
    }

    #[test]
    fn statements_stay_out_of_every_filter() {
        for directives in [DEFAULT_FILTER, "trace", "sqlx=trace", "sqlx::query=trace", "", "off", "info,"] {
            let filter = filter(directives).unwrap();
            tracing::subscriber::with_default(tracing_subscriber::registry().with(filter), || {
                assert!(!tracing::enabled!(target: "sqlx::query", tracing::Level::ERROR), "{directives}");
                let is_off = ["sqlx=trace", "sqlx::query=trace", "", "off"].contains(&directives);
                assert_eq!(tracing::enabled!(target: "sessiond", tracing::Level::INFO), !is_off, "{directives}");
            });
        }
    }

    #[test]
    fn filters_are_checked() {
        assert!(filter("info,sessiond=debug").is_ok());
        for bad in ["info,sessiond=loud", "inof", "bogus", "sqlx=", "info,sqlx", "sessiond", "3", "=info=", "info warn"]
        {
            assert!(filter(bad).is_err(), "{bad}");
        }
        for good in ["INFO", "debug , sqlx=off", "sessiond::http=trace", "off"] {
            assert!(filter(good).is_ok(), "{good}");
        }
    }
}
