//! The expected answer of a query. A server that answers with an object of another class has not
//! answered the query: the lookup fails, but the answer is still passed on.

use crate::answer::{Answer, Item, Node, Object, SearchKind};
use crate::query::{Collection, Key, Kind, Query, Relation};

/// The purpose of one request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) expected: Expected,
    /// The answer is a data set about a person or a role; some registries limit how many they give
    /// out per day.
    pub(super) personal: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Expected {
    /// An object of this class (RFC 9083, section 5).
    Class(&'static str),
    /// Results of a search (section 8).
    Results(SearchKind),
    /// Notices (section 7).
    Help,
    /// Any answer, because the user named the URL.
    Anything,
}

impl Asked {
    pub(super) const DOMAIN: Self = Self {
        expected: Expected::Class("domain"),
        personal: false,
    };

    pub(super) fn from_query(query: &Query) -> Self {
        Self {
            expected: Expected::from_query(query),
            personal: query.kind() == Kind::Entity,
        }
    }
}

impl Expected {
    fn from_query(query: &Query) -> Self {
        match query.kind() {
            Kind::Domain => Self::Class("domain"),
            Kind::Nameserver => Self::Class("nameserver"),
            Kind::Ip => Self::Class("ip network"),
            Kind::Autnum => Self::Class("autnum"),
            Kind::Entity => Self::Class("entity"),
            Kind::Help => Self::Help,
            Kind::Url => Self::Anything,
            Kind::Domains | Kind::Reverse(Collection::Domains) => {
                Self::Results(SearchKind::Domains)
            }
            Kind::Nameservers | Kind::Reverse(Collection::Nameservers) => {
                Self::Results(SearchKind::Nameservers)
            }
            Kind::Entities | Kind::Reverse(Collection::Entities) => {
                Self::Results(SearchKind::Entities)
            }
            Kind::Ips | Kind::Reverse(Collection::Ips) => Self::Results(SearchKind::Ips),
            Kind::Autnums | Kind::Reverse(Collection::Autnums) => {
                Self::Results(SearchKind::Autnums)
            }
            Kind::Relative(relation) => Self::relatives(relation, query.key()),
        }
    }

    /// The answers that a relation allows: one object encloses another, and several can be inside
    /// (RFC 9910, section 3).
    fn relatives(relation: Relation, of: Option<Key<'_>>) -> Self {
        let (class, results) = match of {
            Some(Key::Ip(..)) => ("ip network", SearchKind::Ips),
            Some(Key::Autnum(_)) => ("autnum", SearchKind::Autnums),
            Some(Key::Domain(_)) => ("domain", SearchKind::Domains),
            Some(Key::Tag(_)) | None => return Self::Anything,
        };
        match relation {
            Relation::Up | Relation::Top => Self::Class(class),
            Relation::Down | Relation::Bottom => Self::Results(results),
        }
    }

    /// The difference if the answer is something else.
    pub(super) fn mismatch(self, answer: &Answer) -> Option<String> {
        let object = answer.object();
        let (fits, wanted) = match self {
            Self::Class(class) => (is_of_class(answer, class), article(class)),
            // Some servers that find nothing leave out the empty list.
            Self::Results(kind) => (
                matches!(object, Object::Search(search) if search.kind == kind)
                    || matches!(object, Object::Help(_)),
                format!("a list of {}", kind.noun()),
            ),
            Self::Help => (
                matches!(object, Object::Help(_) | Object::Unknown(_)),
                "help".to_owned(),
            ),
            Self::Anything => return None,
        };
        (!fits).then(|| format!("the answer is {}, not {wanted}", named(answer)))
    }
}

/// Whether the answer states this class or, if it states none, looks like it.
fn is_of_class(answer: &Answer, class: &str) -> bool {
    match answer.top().class_name() {
        Some(said) => said.trim().eq_ignore_ascii_case(class),
        None => match answer.object() {
            Object::Unknown(item) => is_of_an_object(item),
            other => class_of(other) == Some(class),
        },
    }
}

/// Whether some member is one of every object class (RFC 9083, section 4). JSON without any is not
/// about an object, such as `{"message": "Forbidden"}` from a gateway.
fn is_of_an_object(item: Item<'_>) -> bool {
    let has = |member: &str| item.node().get(member);
    has("handle").is_some_and(|handle| handle.text().is_some())
        || ["entities", "events", "links", "remarks", "status"]
            .iter()
            .filter_map(|member| has(member))
            .any(|list| matches!(list, Node::List(_)))
}

fn class_of(object: Object<'_>) -> Option<&'static str> {
    match object {
        Object::Domain(_) => Some("domain"),
        Object::Nameserver(_) => Some("nameserver"),
        Object::Entity(_) => Some("entity"),
        Object::Network(_) => Some("ip network"),
        Object::Autnum(_) => Some("autnum"),
        Object::Search(_) | Object::Problem(_) | Object::Help(_) | Object::Unknown(_) => None,
    }
}

fn named(answer: &Answer) -> String {
    const SHOWN: usize = 40;
    if let Some(said) = answer.top().class_name() {
        let short: String = said.trim().chars().take(SHOWN).collect();
        return format!("of class '{}'", roundtrip_report::clean(&short));
    }
    match answer.object() {
        Object::Search(search) => format!("a list of {}", search.kind.noun()),
        Object::Problem(_) => "an error response".to_owned(),
        Object::Help(_) => "only notices".to_owned(),
        other => class_of(other).map_or_else(|| "of no class".to_owned(), article),
    }
}

fn article(class: &str) -> String {
    let an = class.starts_with(['a', 'e', 'i']);
    format!("{} {class}", if an { "an" } else { "a" })
}
