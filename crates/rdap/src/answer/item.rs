//! An object of the answer: lenient access to its members by name, and the members that RFC 9083
//! gives to every class.

use super::link::Link;
use super::node::Node;
use super::{Entity, Event, Notice, Redaction, status};

/// Any object. A member that is missing or of the wrong type counts as absent; `oddities` reports
/// it.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a>(pub(super) &'a Node);

impl<'a> Item<'a> {
    /// The JSON behind the view, including members that no view has.
    pub fn node(self) -> &'a Node {
        self.0
    }

    /// A string that is not blank.
    pub fn text(self, member: &str) -> Option<&'a str> {
        self.0.get(member)?.text().filter(|t| !t.trim().is_empty())
    }

    /// The strings of a list, or a single string.
    pub fn texts(self, member: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        each(self.0.get(member)).filter_map(Node::text)
    }

    /// The objects of a list, or a single object.
    pub fn items(self, member: &str) -> impl Iterator<Item = Item<'a>> + use<'a> {
        each(self.0.get(member)).filter(|n| n.is_object()).map(Item)
    }

    pub fn item(self, member: &str) -> Option<Item<'a>> {
        self.0.get(member).filter(|n| n.is_object()).map(Item)
    }

    /// A whole number, or the digits of one in a string.
    pub fn number(self, member: &str) -> Option<u64> {
        match self.0.get(member)? {
            Node::Number(number) => number.as_u64(),
            Node::Text(digits) => digits.trim().parse().ok(),
            _ => None,
        }
    }

    /// A boolean, or the word for one.
    pub fn flag(self, member: &str) -> Option<bool> {
        match self.0.get(member)? {
            Node::Flag(flag) => Some(*flag),
            Node::Text(word) => word.trim().to_ascii_lowercase().parse().ok(),
            _ => None,
        }
    }

    /// The class of the object (RFC 9083, section 4.9).
    pub fn class_name(self) -> Option<&'a str> {
        self.text("objectClassName")
    }

    pub fn handle(self) -> Option<&'a str> {
        self.text("handle")
    }

    /// Status words as sent (section 4.6).
    pub fn status(self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.texts("status").filter(|word| !word.trim().is_empty())
    }

    pub fn has_status(self, word: &str) -> bool {
        self.status().any(|s| status::is(s, word))
    }

    pub fn port43(self) -> Option<&'a str> {
        self.text("port43")
    }

    pub fn lang(self) -> Option<&'a str> {
        self.text("lang")
    }

    pub fn entities(self) -> impl Iterator<Item = Entity<'a>> + use<'a> {
        self.items("entities").map(Entity)
    }

    /// The first entity with that role, either here or below another entity.
    pub fn entity(self, role: &str) -> Option<Entity<'a>> {
        let here = self.entities().find(|e| e.has_role(role));
        here.or_else(|| self.entities().find_map(|e| e.entity(role)))
    }

    pub fn events(self) -> impl Iterator<Item = Event<'a>> + use<'a> {
        self.items("events").map(Event)
    }

    /// The first event with that action and a date.
    pub fn event(self, action: &str) -> Option<Event<'a>> {
        self.events()
            .find(|e| e.is(action) && e.date_text().is_some())
    }

    pub fn links(self) -> impl Iterator<Item = Link<'a>> + use<'a> {
        self.items("links").map(Link)
    }

    /// The redactions of the object (RFC 9537, section 4.2).
    pub fn redactions(self) -> impl Iterator<Item = Redaction<'a>> + use<'a> {
        self.items("redacted").map(Redaction)
    }

    pub fn remarks(self) -> impl Iterator<Item = Notice<'a>> + use<'a> {
        self.items("remarks").map(Notice)
    }

    /// Identifiers assigned by other parties (section 4.8): type and identifier.
    pub fn public_ids(self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        self.items("publicIds")
            .filter_map(|id| Some((id.text("type")?, id.text("identifier")?)))
    }
}

fn each(node: Option<&Node>) -> impl Iterator<Item = &Node> {
    node.map_or(&[][..], Node::each).iter()
}

/// Defines a class as a view of an object, with everything that objects have in common.
macro_rules! views {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name<'a>(pub(crate) crate::answer::Item<'a>);

        impl<'a> std::ops::Deref for $name<'a> {
            type Target = crate::answer::Item<'a>;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }
    )*};
}
pub(super) use views;
