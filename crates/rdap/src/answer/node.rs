//! JSON as it was sent: every member in its original order, including unknown and repeated ones.

use super::number::Number;

/// One value. Views only read it; nothing is removed.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    Null,
    Flag(bool),
    Number(Number),
    Text(Box<str>),
    List(Vec<Node>),
    Object(Vec<(Box<str>, Node)>),
}

impl Node {
    /// The member with that name. If it is repeated, the last one counts, as with most readers.
    pub fn get(&self, name: &str) -> Option<&Self> {
        let found = self.members().iter().rev().find(|(n, _)| &**n == name);
        found.map(|(_, node)| node)
    }

    /// The members of an object; empty for any other value.
    pub fn members(&self) -> &[(Box<str>, Self)] {
        match self {
            Self::Object(members) => members,
            _ => &[],
        }
    }

    /// The items of a list; empty for any other value.
    pub fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// The items of a list, or the value itself: many servers send a single value instead of a
    /// list.
    pub fn each(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            Self::Null => &[],
            lone => std::slice::from_ref(lone),
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    /// The value at an RFC 6901 pointer; the empty pointer means the value itself.
    pub fn at(&self, pointer: &str) -> Option<&Self> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer
            .strip_prefix('/')?
            .split('/')
            .try_fold(self, Self::step)
    }

    /// Takes one step of a pointer. The token is still escaped.
    pub(crate) fn step<'a>(&'a self, token: &str) -> Option<&'a Self> {
        match self {
            Self::Object(_) if token.contains('~') => {
                self.get(&token.replace("~1", "/").replace("~0", "~"))
            }
            Self::Object(_) => self.get(token),
            Self::List(items) => items.get(token.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// The type of the value, as errors name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Flag(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    /// Compact JSON.
    pub fn write_json(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Flag(flag) => out.push_str(if *flag { "true" } else { "false" }),
            Self::Number(number) => out.push_str(&number.to_string()),
            Self::Text(text) => write_text(text, out),
            Self::List(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    separate(i, out);
                    item.write_json(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (i, (name, node)) in members.iter().enumerate() {
                    separate(i, out);
                    write_text(name, out);
                    out.push(':');
                    node.write_json(out);
                }
                out.push('}');
            }
        }
    }
}

fn separate(i: usize, out: &mut String) {
    if i > 0 {
        out.push(',');
    }
}

fn write_text(text: &str, out: &mut String) {
    // Writing a string into memory cannot fail.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}
