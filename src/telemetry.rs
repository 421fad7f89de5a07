//! Where logs go and in which form, and what never gets into them.

use std::io::{self, IsTerminal as _};
use std::panic::{self, PanicHookInfo};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

/// What is logged unless the settings say otherwise.
pub const DEFAULT_FILTER: &str = "info,sqlx=warn";

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// One JSON object a line, for collectors
    Json,
    /// One line of text an event, coloured on a terminal, for people
    Pretty,
}

/// A filter from its directives, which never lets SQL statements through, whatever they ask for.
///
/// # Errors
/// The directives have another form.
pub fn filter(directives: &str) -> Result<EnvFilter, ParseError> {
    // The last directive of a target wins. sqlx logs statements under this one, also those that it finds slow.
    EnvFilter::try_new(format!("{directives},sqlx::query=off"))
}

/// Sends the events of this process to stderr, panics included. Once, at start.
///
/// # Errors
/// The directives have another form, or a subscriber is installed already.
pub fn init(format: LogFormat, directives: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter(directives)?)
        .with_writer(io::stderr)
        // It would complain on stderr about a broken stderr, and panic over that.
        .log_internal_errors(false);
    match format {
        // Of the spans only the innermost: it holds the request's fields, and the list would repeat them.
        LogFormat::Json => subscriber.json().flatten_event(true).with_span_list(false).try_init()?,
        LogFormat::Pretty => subscriber.compact().with_ansi(io::stderr().is_terminal()).try_init()?,
    }
    panic::set_hook(Box::new(log_panic));
    Ok(())
}

/// The place alone: the message of a panic may quote what it choked on, a value of some state for instance.
fn log_panic(panic: &PanicHookInfo<'_>) {
    match panic.location() {
        Some(location) => tracing::error!(%location, "panic"),
        None => tracing::error!("panic"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_stay_out_of_every_filter() {
        for directives in [DEFAULT_FILTER, "trace", "sqlx=trace", "sqlx::query=trace", "", "off", "info,"] {
            let filter = filter(directives).unwrap();
            tracing::subscriber::with_default(tracing_subscriber::fmt().with_env_filter(filter).finish(), || {
                assert!(!tracing::enabled!(target: "sqlx::query", tracing::Level::ERROR), "{directives}");
            });
        }
    }

    #[test]
    fn filters_are_checked() {
        assert!(filter("info,sessiond=debug").is_ok());
        assert!(filter("info,sessiond=loud").is_err());
    }
}
