//! How an answer is shown: to people as readable text, WHOIS-like lines, columns or single fields;
//! to programs as the JSON that was received, or as one line of JSON for each query.
//!
//! Nothing that a server sent reaches a terminal unchanged: control and direction characters are
//! made visible.

mod column;
mod csv;
mod facts;
mod field;
mod ndjson;
mod page;
mod raw;
mod readable;
mod subject;
#[cfg(test)]
mod tests;
mod violations;
mod when;
mod whois;

use std::time::SystemTime;

use roundtrip_report::terminal;
use thiserror::Error;

use crate::answer::Answer;

pub use column::{COLUMNS, Column, DEFAULT_COLUMNS, Known, SEPARATOR};
pub use csv::header;
pub use ndjson::{SCHEMA, line};
pub use violations::violations;

/// The outcome of one query: the registry's part and, if it was asked, the registrar's.
#[derive(Debug, Clone, Copy)]
pub struct LookupResult<'a> {
    /// As people write it: `bücher.example`.
    pub query: &'a str,
    /// The word for the kind: `domain`, `ip`, …
    pub kind: &'a str,
    pub first: Part<'a>,
    pub registrar: Option<Part<'a>>,
    /// Further members for lines of JSON, by name: timing, and violations of the standards.
    pub beside: &'a [(&'static str, serde_json::Value)],
}

/// What one server answered.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// The server that was asked, by name or URL; `None` if none was asked.
    pub server: Option<&'a str>,
    pub state: State,
    /// The answer, if there is one. Unless the state is `Found`, it is an error response.
    pub answer: Option<&'a Answer>,
    /// What went wrong, if the answer does not say.
    pub why: Option<&'a str>,
    /// The answer came in clear text.
    pub clear: bool,
}

/// How a lookup ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Found,
    NotRegistered,
    /// The server refused to answer: too many queries, no permission, or not supported.
    Refused,
    /// No server gave a usable answer.
    Failed,
}

impl State {
    /// What an HTTP status says about a lookup (RFC 7480, section 5): 404 is an answer, not a
    /// failure; a server that is asked too much, or does not support the query, refuses.
    pub fn of(status: u16) -> Self {
        match status {
            200..300 => Self::Found,
            404 => Self::NotRegistered,
            400..=499 | 501 | 503 => Self::Refused,
            _ => Self::Failed,
        }
    }

    /// The word used in lines of JSON and in columns.
    pub fn word(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::NotRegistered => "not-registered",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

/// The form of the output, and its audience.
#[derive(Debug, Clone)]
pub struct Style {
    pub form: Form,
    /// Width, colour and character set.
    pub terminal: terminal::Style,
    /// Shows notices and remarks in full.
    pub verbose: bool,
    /// The current time, for texts such as "in 43 days".
    pub now: SystemTime,
    /// The text goes to a terminal: JSON too is written so that it cannot affect the terminal.
    pub shown: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    Readable,
    Whois,
    /// Rows; `header` makes the first line.
    Csv(Vec<Column>),
    /// One line for each column.
    Fields(Vec<Column>),
    /// As received.
    Json,
    /// One line (`roundtrip/rdap/1`).
    Ndjson,
}

impl Form {
    /// Whether these are lines for people, so that more lines may follow.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Readable | Self::Whois)
    }
}

/// What cannot be shown.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TextError {
    #[error("no column is called '{0}': it is a JSON pointer (/handle, registrar:/handle) or one of {names}", names = column::names())]
    UnknownColumn(String),
}

/// The text of one outcome; unless it is empty, it ends with a line break.
pub fn tell(told: &LookupResult<'_>, style: &Style) -> String {
    let text = match &style.form {
        Form::Readable => return readable::tell(told, style),
        Form::Whois => return whois::tell(told),
        Form::Csv(columns) => return csv::rows(told, columns),
        Form::Fields(columns) => return field::lines(told, columns),
        Form::Json => raw::as_received(told),
        Form::Ndjson => String::from_utf8(ndjson::line(told)).unwrap_or_default(),
    };
    if style.shown {
        terminal::clean_json(&text)
    } else {
        text
    }
}
