//! The members of each kind of object and their types (RFC 9083 and its extensions). They are used
//! to enumerate the objects of an answer, and to find members of another type.

mod class;

use std::fmt;

use class::Shape;
pub(crate) use class::{Class, is_defined};

use super::{Answer, Item, Node, Object, mended};

/// A member whose type is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oddity {
    /// JSON pointer.
    pub pointer: String,
    pub expected: &'static str,
    pub found: &'static str,
}

impl Oddity {
    /// Whether bytes of a text are not UTF-8, while its type is right.
    pub fn is_of_bytes(&self) -> bool {
        self.expected == IN_UTF8
    }

    /// Whether bytes between the members are not UTF-8.
    pub fn is_of_stray_bytes(&self) -> bool {
        self.expected == WHOLE_IN_UTF8
    }
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            pointer,
            expected,
            found,
        } = self;
        write!(f, "{pointer} is {found}, not {expected}")
    }
}

/// One object of an answer, and its position.
#[derive(Debug, Clone)]
pub(crate) struct Place<'a> {
    pub(crate) pointer: String,
    pub(crate) item: Item<'a>,
    pub(crate) class: Class,
    /// The class of the object that contains this one; `None` for the topmost.
    pub(crate) within: Option<Class>,
}

/// The largest number of objects that are visited in one answer.
const MAX_OBJECTS: usize = 20_000;

/// Every object of the answer that has a class, the topmost one first.
pub(crate) fn places(answer: &Answer) -> Vec<Place<'_>> {
    let top = Place {
        pointer: String::new(),
        item: answer.top(),
        class: class_of(answer.object()),
        within: None,
    };
    let mut places = vec![top];
    let mut next = 0;
    while let Some(place) = places.get(next).filter(|_| places.len() < MAX_OBJECTS) {
        let below = below(place);
        places.extend(below);
        next += 1;
    }
    places
}

fn below<'a>(place: &Place<'a>) -> Vec<Place<'a>> {
    let mut below = Vec::new();
    for (name, shape) in place.class.members(place.within.is_none()) {
        let (Shape::One(class) | Shape::Many(class)) = shape else {
            continue;
        };
        let Some(node) = place.item.node().get(name) else {
            continue;
        };
        let listed = matches!(node, Node::List(_));
        let children = node.each().iter().enumerate().take(MAX_OBJECTS);
        for (i, child) in children.filter(|(_, c)| c.is_object()) {
            let pointer = if listed {
                format!("{}/{name}/{i}", place.pointer)
            } else {
                format!("{}/{name}", place.pointer)
            };
            below.push(Place {
                pointer,
                item: Item(child),
                class,
                within: Some(place.class),
            });
        }
    }
    below
}

fn class_of(object: Object<'_>) -> Class {
    match object {
        Object::Domain(_) => Class::Domain,
        Object::Nameserver(_) => Class::Nameserver,
        Object::Entity(_) => Class::Entity,
        Object::Network(_) => Class::Network,
        Object::Autnum(_) => Class::Autnum,
        Object::Search(_) => Class::Search,
        Object::Problem(_) => Class::Problem,
        Object::Help(_) => Class::Help,
        Object::Unknown(_) => Class::Unknown,
    }
}

/// The expected form of a text with bytes that are not UTF-8 (RFC 8259, section 8.1).
const IN_UTF8: &str = "a string in UTF-8";
/// The expected form of a document with such bytes outside of its texts.
const WHOLE_IN_UTF8: &str = "a document in UTF-8";
/// The largest number of damaged texts that are reported.
const MAX_DAMAGED: usize = 100;

/// Finds the texts that contain U+FFFD, where bytes were replaced during parsing. `path` leads to
/// the node.
fn damaged(node: &Node, path: &mut Vec<String>, found: &mut Vec<Oddity>) {
    if found.len() >= MAX_DAMAGED {
        return;
    }
    match node {
        Node::Text(text) if is_damaged(text) => {
            found.push(odd_bytes(path, "a string with other bytes"));
        }
        Node::List(items) => {
            for (i, item) in items.iter().enumerate() {
                path.push(i.to_string());
                damaged(item, path, found);
                path.pop();
            }
        }
        Node::Object(members) => {
            for (name, value) in members {
                path.push(token(name));
                if is_damaged(name) {
                    found.push(odd_bytes(path, "a name with other bytes"));
                }
                damaged(value, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Whether the raw bytes have more invalid ones than parsing has replaced in texts.
fn has_stray_bytes(raw: &[u8]) -> bool {
    let replaced = |text: &str| text.matches(char::REPLACEMENT_CHARACTER).count();
    replaced(&mended(raw)) < replaced(&String::from_utf8_lossy(raw))
}

fn is_damaged(text: &str) -> bool {
    text.contains(char::REPLACEMENT_CHARACTER)
}

/// A member's name in a pointer. It is cut only if it is longer than any real name.
pub(crate) fn token(name: &str) -> String {
    const MAX_TOKEN: usize = 200;
    let short: String = name.chars().take(MAX_TOKEN).collect();
    short.replace('~', "~0").replace('/', "~1")
}

fn odd_bytes(path: &[String], found: &'static str) -> Oddity {
    Oddity {
        pointer: path.iter().map(|token| format!("/{token}")).collect(),
        expected: IN_UTF8,
        found,
    }
}

pub(super) fn oddities(answer: &Answer) -> Vec<Oddity> {
    let mut oddities = Vec::new();
    if std::str::from_utf8(answer.raw()).is_err() {
        damaged(answer.root(), &mut Vec::new(), &mut oddities);
        if has_stray_bytes(answer.raw()) {
            oddities.push(Oddity {
                pointer: String::new(),
                expected: WHOLE_IN_UTF8,
                found: "a document with other bytes",
            });
        }
    }
    for place in places(answer) {
        for (name, shape) in place.class.members(place.within.is_none()) {
            match place.item.node().get(name) {
                Some(node) if !shape.fits(node) => oddities.push(Oddity {
                    pointer: format!("{}/{name}", place.pointer),
                    expected: shape.named(),
                    found: found(shape, node),
                }),
                _ => {}
            }
        }
    }
    oddities
}

fn found(shape: Shape, node: &Node) -> &'static str {
    match (shape, node) {
        (Shape::Texts | Shape::TextOrTexts, Node::List(_)) => "an array of something else as well",
        (Shape::Many(_), Node::List(_)) => "an array with something else in it",
        (Shape::Whole, Node::Number(_)) => "another number",
        (_, other) => other.kind(),
    }
}
