//! Shows answers: to people as readable text, WHOIS-like lines, columns or single fields; to
//! programs as the received JSON, or as one line of JSON for each query.
//!
//! No text of a server reaches a terminal unchanged: control and direction characters are made
//! visible.

mod column;
mod csv;
mod facts;
mod field;
mod ndjson;
mod page;
mod raw;
mod readable;
mod server;
mod subject;
#[cfg(test)]
mod tests;
mod violations;
mod when;
mod whois;
mod whole;

use std::time::SystemTime;

use roundtrip_report::terminal;
use thiserror::Error;

use crate::answer::Answer;

pub use column::{COLUMNS, Column, DEFAULT_COLUMNS, NamedColumn, SEPARATOR};
pub use csv::header;
pub use ndjson::{SCHEMA, line};
pub use server::server;
pub(crate) use subject::trouble;
pub use violations::violations;

/// The outcome of one query: the registry's part and, if it was asked, the registrar's.
#[derive(Debug, Clone, Copy)]
pub struct LookupResult<'a> {
    /// The query as people write it: `bücher.example`.
    pub query: &'a str,
    /// The word for the kind: `domain`, `ip`, …
    pub kind: &'a str,
    /// How the query was changed before it was sent, for people.
    pub note: Option<&'a str>,
    pub first: Part<'a>,
    pub registrar: Option<Part<'a>>,
    /// Further members for lines of JSON, by name: timing, and violations of the standards.
    pub beside: &'a [(&'static str, serde_json::Value)],
}

/// The answer of one server.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// The server that was asked, by name or URL; `None` if none was asked.
    pub server: Option<&'a str>,
    pub state: State,
    /// The answer, if there is one. Unless the state is `Found`, it is an error response.
    pub answer: Option<&'a Answer>,
    /// The error, if the answer does not contain it.
    pub why: Option<&'a str>,
    /// Whether the answer arrived in clear text.
    pub clear: bool,
    /// The object that the answer is about, if it is not the requested one.
    pub other: Option<&'a str>,
}

/// The result of a lookup.
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
    /// The state that an HTTP status implies (RFC 7480, section 5): 404 is an answer, not a
    /// failure; a server that gets too many queries, or does not support the query, refuses.
    pub fn from_status(status: u16) -> Self {
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
    /// Shows every member of the answers.
    pub verbose: bool,
    /// The current time, for texts such as "in 43 days".
    pub now: SystemTime,
    /// Whether the text goes to a terminal. JSON is then written so that it cannot affect the
    /// terminal.
    pub shown: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    Readable,
    Whois,
    /// Rows; `header` makes the first line.
    Csv(Vec<Column>),
    /// One line for each selected column.
    Fields(Vec<Column>),
    /// The answer as received.
    Json,
    /// One line of JSON (`roundtrip/rdap/1`).
    Ndjson,
}

impl Form {
    /// Whether the form is text for people, so that more lines may follow.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Readable | Self::Whois)
    }
}

/// An invalid column.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TextError {
    #[error("no column is called '{0}': a column is one of {names}, or a JSON pointer (/handle, registrar:/handle)", names = column::names())]
    UnknownColumn(String),
}

/// The text of one outcome; unless it is empty, it ends with a line break. It is UTF-8, except for
/// JSON as received, if the server sent other bytes.
pub fn tell(told: &LookupResult<'_>, style: &Style) -> Vec<u8> {
    let json = match &style.form {
        Form::Readable => return readable::tell(told, style).into(),
        Form::Whois => return whois::tell(told).into(),
        Form::Csv(columns) => return csv::rows(told, columns).into(),
        Form::Fields(columns) => return field::lines(told, columns).into(),
        Form::Json => raw::as_received(told),
        Form::Ndjson => ndjson::line(told),
    };
    if style.shown {
        terminal::clean_json(&String::from_utf8_lossy(&json)).into()
    } else {
        json
    }
}
