//! How an answer is told to people: readable text, whois-like lines, columns, single fields; and to programs: the JSON
//! as received, or one line of it for each query.
//!
//! Nothing that a server wrote reaches a terminal as it is: control and direction characters are made visible.

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

/// What one query came to: the registry's part and, where it was asked, the registrar's.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    /// As people know it: `bücher.example`.
    pub query: &'a str,
    /// In the words of a query's kind: `domain`, `ip`, …
    pub kind: &'a str,
    pub first: Part<'a>,
    pub registrar: Option<Part<'a>>,
    /// What else the lines of JSON say, by name: where the time went, what violates the standards.
    pub beside: &'a [(&'static str, serde_json::Value)],
}

/// What one server said.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// Who was asked, by name or URL; none if nobody was.
    pub server: Option<&'a str>,
    pub state: State,
    /// What came back, which for all but `Found` is an error response, if anything.
    pub answer: Option<&'a Answer>,
    /// What went wrong, where the answer does not say it.
    pub why: Option<&'a str>,
    /// It came in clear text.
    pub clear: bool,
}

/// How a lookup ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Found,
    NotRegistered,
    /// The server would not answer: too many questions, no permission, not supported.
    Refused,
    /// No server gave a usable answer.
    Failed,
}

impl State {
    /// What a status of HTTP says of a lookup (RFC 7480, section 5): 404 is an answer, not a failure, and servers
    /// that are asked too much or do not offer what was asked refuse.
    pub fn of(status: u16) -> Self {
        match status {
            200..300 => Self::Found,
            404 => Self::NotRegistered,
            400..=499 | 501 | 503 => Self::Refused,
            _ => Self::Failed,
        }
    }

    /// As the lines of JSON and the columns name it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::NotRegistered => "not-registered",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

/// In which form, for whom.
#[derive(Debug, Clone)]
pub struct Style {
    pub form: Form,
    /// Width, colour and character set.
    pub terminal: terminal::Style,
    /// Notices and remarks in full.
    pub verbose: bool,
    /// What «in 43 days» is counted from.
    pub now: SystemTime,
    /// The text goes to a terminal: JSON too is written so that it does nothing there.
    pub shown: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    Readable,
    Whois,
    /// Rows; the header is `header`.
    Csv(Vec<Column>),
    /// A line for each.
    Fields(Vec<Column>),
    /// As received.
    Json,
    /// One line (`roundtrip/rdap/1`).
    Ndjson,
}

impl Form {
    /// Lines for people, behind which more lines may stand.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Readable | Self::Whois)
    }
}

/// What cannot be told.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TextError {
    #[error("no column is called '{0}': it is a JSON pointer (/handle, registrar:/handle) or one of {names}", names = column::names())]
    UnknownColumn(String),
}

/// The text of one outcome; it ends with a line break unless it is empty.
pub fn tell(told: &Told<'_>, style: &Style) -> String {
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
