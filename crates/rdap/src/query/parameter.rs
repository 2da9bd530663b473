//! The parameters of a search besides its pattern: sorting, paging, counting, fewer members, and
//! the status of relatives.

use std::fmt;

use super::error::{check_seen, quoted};
use super::{QueryError, encoding};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Parameter {
    /// Search only for `active` or only for `inactive` relatives. RFC 9910 §3.
    Status,
    /// A named set of members, such as `id`, `brief` or `full`. RFC 8982 §2.
    FieldSet,
    /// The properties to sort by, in order, each with `:a` or `:d`. RFC 8977 §2.3.
    Sort,
    /// Whether the answer gives the total number. RFC 8977 §2.2.
    Count,
    /// The start of the next page, as given by an earlier answer. RFC 8977 §2.4.
    Cursor,
}

/// The parameters of one search, each at most once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Parameters {
    values: std::collections::BTreeMap<Parameter, String>,
}

const ALL: [(Parameter, &str, &str); 5] = [
    (Parameter::Status, "status", "active or inactive"),
    (
        Parameter::FieldSet,
        "fieldSet",
        "the name of a set, such as id, brief or full",
    ),
    (
        Parameter::Sort,
        "sort",
        "a list of properties, each optionally followed by :a or :d, as in name,registrationDate:d",
    ),
    (Parameter::Count, "count", "true or false"),
    (
        Parameter::Cursor,
        "cursor",
        "letters, digits and / = - _ as given in an answer",
    ),
];

impl Parameter {
    pub fn as_str(self) -> &'static str {
        let row = ALL.iter().find(|(parameter, ..)| *parameter == self);
        row.map_or("", |(_, word, _)| word)
    }

    pub(super) fn named(text: &str) -> Option<Self> {
        let row = ALL.iter().find(|(_, word, _)| *word == text);
        row.map(|(parameter, ..)| *parameter)
    }

    fn permits(self, value: &str) -> bool {
        match self {
            Self::Status => matches!(value, "active" | "inactive"),
            Self::FieldSet => is_word(value),
            Self::Sort => value.split(',').all(|item| {
                let (property, order) = item.split_once(':').unwrap_or((item, "a"));
                is_word(property) && matches!(order, "a" | "d")
            }),
            Self::Count => matches!(value, "true" | "false" | "yes" | "no" | "1" | "0"),
            Self::Cursor => {
                let fits = |b: u8| b.is_ascii_alphanumeric() || b"/=-_".contains(&b);
                !value.is_empty() && value.bytes().all(fits)
            }
        }
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

impl Parameters {
    pub fn get(&self, parameter: Parameter) -> Option<&str> {
        self.values.get(&parameter).map(String::as_str)
    }

    pub(super) fn set(&mut self, parameter: Parameter, value: &str) -> Result<(), QueryError> {
        check_seen(value)?;
        if !parameter.permits(value) {
            let row = ALL.iter().find(|(candidate, ..)| *candidate == parameter);
            return Err(QueryError::Parameter {
                parameter,
                given: quoted(value),
                expected: row.map_or("", |(.., expected)| expected),
            });
        }
        self.values.insert(parameter, value.to_owned());
        Ok(())
    }

    /// Encodes `lead`, followed by the parameters joined by `&`. The result is empty if there are
    /// no parameters.
    pub(super) fn encoded(&self, lead: &str) -> String {
        self.joined(lead, "&", encoding::encode)
    }

    pub(super) fn shown(&self, lead: &str) -> String {
        self.joined(lead, " ", str::to_owned)
    }

    fn joined(&self, lead: &str, between: &str, value: impl Fn(&str) -> String) -> String {
        let each =
            |(parameter, text): (&Parameter, &String)| format!("{parameter}={}", value(text));
        let pairs: Vec<String> = self.values.iter().map(each).collect();
        if pairs.is_empty() {
            return String::new();
        }
        format!("{lead}{}", pairs.join(between))
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
