//! Redactions: which fields, how and why (RFC 9537, section 4.2).

use super::item::{Item, views};

views! {
    /// An entry of `redacted`.
    Redaction,
}

/// How a field was redacted (section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Removal,
    EmptyValue,
    PartialValue,
    ReplacementValue,
}

impl Method {
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "removal" => Some(Self::Removal),
            "emptyValue" => Some(Self::EmptyValue),
            "partialValue" => Some(Self::PartialValue),
            "replacementValue" => Some(Self::ReplacementValue),
            _ => None,
        }
    }

    pub fn shown(self) -> &'static str {
        match self {
            Self::Removal => "removed",
            Self::EmptyValue => "emptied",
            Self::PartialValue => "shown in part",
            Self::ReplacementValue => "replaced",
        }
    }
}

impl<'a> Redaction<'a> {
    /// The name of the redacted field: a registered name or a description.
    pub fn name(self) -> Option<&'a str> {
        self.item("name")
            .and_then(worded)
            .or_else(|| self.text("name"))
    }

    pub fn reason(self) -> Option<&'a str> {
        self.item("reason")
            .and_then(worded)
            .or_else(|| self.text("reason"))
    }

    /// How the field was redacted: by removal if the server does not say (section 4.2). `None` for
    /// an unknown word.
    pub fn method(self) -> Option<Method> {
        self.text("method")
            .map_or(Some(Method::Removal), Method::parse)
    }

    /// The JSONPath of the redacted field: its former or its present position.
    pub fn path(self) -> Option<&'a str> {
        ["postPath", "prePath"]
            .iter()
            .find_map(|member| self.text(member))
    }
}

fn worded(item: Item<'_>) -> Option<&str> {
    item.text("type").or_else(|| item.text("description"))
}
