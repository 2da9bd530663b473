//! The members of each kind of object and their types (RFC 9083 and its extensions). They are used
//! to enumerate the objects of an answer, and to find members of another type.

mod class;

use std::fmt;

pub(crate) use class::Class;
use class::Shape;

use super::{Answer, Item, Node, Object};

/// A member whose type is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oddity {
    /// JSON pointer.
    pub pointer: String,
    pub expected: &'static str,
    pub found: &'static str,
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

/// One object of an answer, and where it is.
#[derive(Debug, Clone)]
pub(crate) struct Place<'a> {
    pub(crate) pointer: String,
    pub(crate) item: Item<'a>,
    pub(crate) class: Class,
    /// The class of the object that contains it; `None` for the topmost.
    pub(crate) within: Option<Class>,
}

/// The largest number of objects that are visited in one answer.
const MOST: usize = 20_000;

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
    while let Some(place) = places.get(next).filter(|_| places.len() < MOST) {
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
        let children = node.each().iter().enumerate().take(MOST);
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

pub(super) fn oddities(answer: &Answer) -> Vec<Oddity> {
    let mut oddities = Vec::new();
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
