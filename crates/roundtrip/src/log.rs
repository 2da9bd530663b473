//! `--log LEVEL`: what servers do, event by event, on standard error.
//!
//! Only events of our own crates are shown: those of libraries may quote requests, and with them
//! secrets. Values are scrubbed before they reach a terminal.

use std::fmt::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use roundtrip_report::terminal::clean_lines;
use roundtrip_wire::calendar::rfc3339;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::cli::LogLevel;
use crate::output::OutputStream;

/// The prefix of crates whose events are shown.
const OURS: &str = "roundtrip_";

struct Printer(LevelFilter);

/// One event: its message, then `name=value` pairs.
#[derive(Default)]
struct LogLine {
    message: String,
    fields: String,
}

/// Shows events from now on. Only the first call has an effect.
pub(crate) fn start(level: LogLevel) {
    let level = match level {
        LogLevel::Off => return,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    // It fails only if it was already called.
    let _ = tracing::subscriber::set_global_default(Printer(level));
}

impl Subscriber for Printer {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= self.0 && metadata.target().starts_with(OURS)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.0)
    }

    fn event(&self, event: &Event<'_>) {
        OutputStream::Err.print(shown(event, SystemTime::now()));
    }

    // There are no spans.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Visit for LogLine {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

fn shown(event: &Event<'_>, now: SystemTime) -> String {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let time = rfc3339(since.as_millis().try_into().unwrap_or(u64::MAX));
    let metadata = event.metadata();
    let (level, target) = (metadata.level(), metadata.target());
    let mut line = LogLine::default();
    event.record(&mut line);
    let target = target.strip_prefix(OURS).unwrap_or(target);
    let text = clean_lines(&format!("{}{}", line.message, line.fields)).replace('\n', " ");
    format!("{time} {level:5} {target}: {text}\n")
}
