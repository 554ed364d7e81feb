//! Logging of Recall's programs from one setting, and their traces.

mod fields;
mod json;
mod otlp;

use std::io::IsTerminal;
use std::str::FromStr;

use tracing_subscriber::filter::ParseError;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{EnvFilter, Layer as _};

pub use otlp::{Endpoint, Flush, InvalidEndpoint, Traces};

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people: one coloured line an event.
    Text,
    /// For programs: one JSON object an event.
    Json,
}

impl LogFormat {
    /// Text on a terminal, else JSON.
    #[must_use]
    pub fn detect() -> Self {
        if std::io::stderr().is_terminal() {
            Self::Text
        } else {
            Self::Json
        }
    }
}

/// The text names no log format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be text or json")]
pub struct LogFormatError;

impl FromStr for LogFormat {
    type Err = LogFormatError;

    fn from_str(text: &str) -> Result<Self, LogFormatError> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(LogFormatError),
        }
    }
}

/// Logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The filter is no list of `target=level`.
    #[error("the log filter cannot be read: {0}")]
    Filter(#[from] ParseError),
    /// The process logs already.
    #[error(transparent)]
    Twice(#[from] TryInitError),
    /// The thread that sends traces could not be started.
    #[error("traces cannot be sent: {0}")]
    Thread(#[from] std::io::Error),
}

/// Starts logging to standard error, and sending traces if they go anywhere. `filter` is a list of
/// `target=level` such as `info,recall_api=debug`. What it answers sends the last spans when dropped.
///
/// # Errors
///
/// [`Error`] for a filter that cannot be read, or when the process logs already.
pub fn init(
    format: LogFormat,
    filter: &str,
    traces: Option<Traces>,
) -> Result<Option<Flush>, Error> {
    let filter = EnvFilter::builder().parse(filter)?;
    let (collector, flush) = match traces.map(Traces::start).transpose()? {
        Some((collector, wanted, flush)) => (Some(collector.with_filter(wanted)), Some(flush)),
        None => (None, None),
    };
    let registry = tracing_subscriber::registry().with(collector);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    match format {
        LogFormat::Text => {
            let ansi = std::io::stderr().is_terminal();
            let lines = lines.with_target(false).with_ansi(ansi);
            registry.with(lines.with_filter(filter)).try_init()?;
        }
        LogFormat::Json => {
            // The one span of a request tells all; a list of it would say it twice.
            let lines = lines.json().flatten_event(true).with_span_list(false);
            let lines = lines.fmt_fields(fields::Fields);
            registry.with(lines.with_filter(filter)).try_init()?;
        }
    }
    Ok(flush)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_by_name() {
        assert_eq!("text".parse(), Ok(LogFormat::Text));
        assert_eq!("json".parse(), Ok(LogFormat::Json));
        assert_eq!("yaml".parse::<LogFormat>(), Err(LogFormatError));
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_refused() {
        assert!(matches!(
            init(LogFormat::Json, "recall=loud", None),
            Err(Error::Filter(_))
        ));
    }
}
