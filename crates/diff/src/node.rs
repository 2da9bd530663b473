//! A value in a JSON document that knows its path from the root, so that errors can name its key.

use serde_json::{Map, Value};

use crate::ReadError;

static NULL: Value = Value::Null;
/// Ten days in milliseconds, and more than any count here: larger numbers are not measurements.
const MAX_NUMBER: f64 = 1e9;

#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    value: &'a Value,
    place: NodePosition<'a>,
}

#[derive(Clone, Copy)]
enum NodePosition<'a> {
    Root,
    Line(usize),
    Key(&'a Node<'a>, &'a str),
    Index(&'a Node<'a>, usize),
}

impl<'a> Node<'a> {
    pub(crate) fn root(value: &'a Value) -> Self {
        Self {
            value,
            place: NodePosition::Root,
        }
    }

    /// One of several documents, counted from zero.
    pub(crate) fn line(value: &'a Value, number: usize) -> Self {
        Self {
            value,
            place: NodePosition::Line(number),
        }
    }

    fn path(&self) -> String {
        match self.place {
            NodePosition::Root => String::new(),
            NodePosition::Line(number) => format!("result {}", number + 1),
            NodePosition::Key(up, key) => match up.path() {
                path if path.is_empty() => key.to_owned(),
                path => format!("{path}.{key}"),
            },
            NodePosition::Index(up, number) => format!("{}[{number}]", up.path()),
        }
    }

    fn wrong(&self, wanted: &'static str) -> ReadError {
        let path = self.path();
        ReadError::Type {
            path: if path.is_empty() {
                "document".into()
            } else {
                path
            },
            wanted,
            found: match self.value {
                Value::Null => "nothing",
                Value::Bool(_) => "a boolean",
                Value::Number(_) => "a number",
                Value::String(_) => "a string",
                Value::Array(_) => "a list",
                Value::Object(_) => "an object",
            },
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.value.is_null()
    }

    /// The value under the key; `None` if the key is missing.
    pub(crate) fn get(&'a self, key: &'a str) -> Result<Self, ReadError> {
        let value = match self.value {
            Value::Object(map) => map.get(key).unwrap_or(&NULL),
            Value::Null => &NULL,
            _ => return Err(self.wrong("an object")),
        };
        Ok(Self {
            value,
            place: NodePosition::Key(self, key),
        })
    }

    /// The elements; empty if there is no list.
    pub(crate) fn list(&'a self, most: usize) -> Result<Vec<Self>, ReadError> {
        let values = match self.value {
            Value::Array(values) => values.as_slice(),
            Value::Null => &[],
            _ => return Err(self.wrong("a list")),
        };
        if values.len() > most {
            let path = self.path();
            return Err(ReadError::TooMany { path, most });
        }
        let node = |(number, value)| Self {
            value,
            place: NodePosition::Index(self, number),
        };
        Ok(values.iter().enumerate().map(node).collect())
    }

    /// Keys and their values.
    pub(crate) fn entries(&'a self, most: usize) -> Result<Vec<(&'a str, Self)>, ReadError> {
        let map: &Map<String, Value> = match self.value {
            Value::Object(map) => map,
            Value::Null => return Ok(Vec::new()),
            _ => return Err(self.wrong("an object")),
        };
        if map.len() > most {
            let path = self.path();
            return Err(ReadError::TooMany { path, most });
        }
        let node = |(key, value): (&'a String, &'a Value)| {
            let place = NodePosition::Key(self, key);
            (key.as_str(), Self { value, place })
        };
        Ok(map.iter().map(node).collect())
    }

    pub(crate) fn number(&self) -> Result<f64, ReadError> {
        let number = self.value.as_f64().ok_or_else(|| self.wrong("a number"))?;
        if number.abs() > MAX_NUMBER {
            let path = self.path();
            return Err(ReadError::Range {
                path,
                value: number,
            });
        }
        Ok(number)
    }

    /// A number that cannot be negative: a time, a count.
    pub(crate) fn amount(&self) -> Result<f64, ReadError> {
        let value = self.number()?;
        if value < 0.0 {
            let path = self.path();
            return Err(ReadError::Range { path, value });
        }
        Ok(value)
    }

    pub(crate) fn maybe_amount(&self) -> Result<Option<f64>, ReadError> {
        (!self.is_null()).then(|| self.amount()).transpose()
    }

    pub(crate) fn text(&self) -> Result<&'a str, ReadError> {
        match self.value {
            Value::String(text) => Ok(text),
            _ => Err(self.wrong("a string")),
        }
    }

    pub(crate) fn maybe_text(&self) -> Result<Option<&'a str>, ReadError> {
        (!self.is_null()).then(|| self.text()).transpose()
    }

    pub(crate) fn flag(&self) -> Result<bool, ReadError> {
        self.value.as_bool().ok_or_else(|| self.wrong("a boolean"))
    }

    /// A fact as text: a string, a number, yes or no, or a list of these. `None` if there is none.
    pub(crate) fn words(&self) -> Result<Option<String>, ReadError> {
        let simple = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Bool(true) => Some("yes".into()),
            Value::Bool(false) => Some("no".into()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        match self.value {
            Value::Null => Ok(None),
            Value::Array(values) => {
                let parts: Option<Vec<String>> = values.iter().map(simple).collect();
                let parts = parts.ok_or_else(|| self.wrong("a list of strings or numbers"))?;
                Ok((!parts.is_empty()).then(|| parts.join(", ")))
            }
            value => simple(value)
                .map(Some)
                .ok_or_else(|| self.wrong("a string, a number or a boolean")),
        }
    }
}
