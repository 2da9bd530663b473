//! The words for the kinds of query and for the searched collections. Parsing is elsewhere.

use std::fmt;
use std::str::FromStr;

/// The kind of a query. Parsed from and shown as the word of the table in [`crate::query`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Domain,
    Nameserver,
    Ip,
    Autnum,
    Entity,
    Help,
    Url,
    /// Searches (RFC 9082 §3.2, RFC 9910 §2).
    Domains,
    Nameservers,
    Entities,
    Ips,
    Autnums,
    /// Objects that enclose an object, or are inside it (RFC 9910 §3).
    Relative(Relation),
    /// A search for objects by their contacts. RFC 9536.
    Reverse(Collection),
}

/// The collection that is searched, by the first segment of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Collection {
    Domains,
    Nameservers,
    Entities,
    Ips,
    Autnums,
}

/// The related resource of a reverse search: one of the lookups. RFC 9536 §2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Resource {
    Domain,
    Nameserver,
    Entity,
    Ip,
    Autnum,
}

/// The direction in which to look for relatives. RFC 9910 §3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Relation {
    /// The smallest network that encloses the requested one.
    Up,
    /// The objects directly inside the requested one.
    Down,
    /// The largest network that encloses the requested one.
    Top,
    /// The smallest objects inside the requested one.
    Bottom,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no kind of query called {given}; the kinds are {}", words())]
pub struct KindError {
    given: String,
}

const COLLECTIONS: [(Collection, &str); 5] = [
    (Collection::Domains, "domains"),
    (Collection::Nameservers, "nameservers"),
    (Collection::Entities, "entities"),
    (Collection::Ips, "ips"),
    (Collection::Autnums, "autnums"),
];

const RESOURCES: [(Resource, &str); 5] = [
    (Resource::Domain, "domain"),
    (Resource::Nameserver, "nameserver"),
    (Resource::Entity, "entity"),
    (Resource::Ip, "ip"),
    (Resource::Autnum, "autnum"),
];

const RELATIONS: [(Relation, &str); 4] = [
    (Relation::Up, "up"),
    (Relation::Down, "down"),
    (Relation::Top, "top"),
    (Relation::Bottom, "bottom"),
];

const KINDS: [(Kind, &str); 21] = [
    (Kind::Domain, "domain"),
    (Kind::Nameserver, "nameserver"),
    (Kind::Ip, "ip"),
    (Kind::Autnum, "autnum"),
    (Kind::Entity, "entity"),
    (Kind::Help, "help"),
    (Kind::Url, "url"),
    (Kind::Domains, "domains"),
    (Kind::Nameservers, "nameservers"),
    (Kind::Entities, "entities"),
    (Kind::Ips, "ips"),
    (Kind::Autnums, "autnums"),
    (Kind::Relative(Relation::Up), "up"),
    (Kind::Relative(Relation::Down), "down"),
    (Kind::Relative(Relation::Top), "top"),
    (Kind::Relative(Relation::Bottom), "bottom"),
    (Kind::Reverse(Collection::Domains), "domains/reverse"),
    (
        Kind::Reverse(Collection::Nameservers),
        "nameservers/reverse",
    ),
    (Kind::Reverse(Collection::Entities), "entities/reverse"),
    (Kind::Reverse(Collection::Ips), "ips/reverse"),
    (Kind::Reverse(Collection::Autnums), "autnums/reverse"),
];

/// Other words for kinds: those that people use, and those that begin objects in WHOIS answers (RFC
/// 2622, ARIN and ICANN).
const ALIASES: [(Kind, &str); 18] = [
    (Kind::Nameserver, "ns"),
    (Kind::Autnum, "asn"),
    (Kind::Autnum, "as"),
    (Kind::Ip, "network"),
    (Kind::Domain, "domain name"),
    (Kind::Nameserver, "name server"),
    (Kind::Nameserver, "nserver"),
    (Kind::Ip, "inetnum"),
    (Kind::Ip, "inet6num"),
    (Kind::Ip, "netrange"),
    (Kind::Ip, "cidr"),
    (Kind::Ip, "route"),
    (Kind::Ip, "route6"),
    (Kind::Autnum, "aut-num"),
    (Kind::Autnum, "as-block"),
    (Kind::Autnum, "asnumber"),
    (Kind::Autnum, "origin"),
    (Kind::Entity, "nic-hdl"),
];

impl Kind {
    pub fn as_str(self) -> &'static str {
        word(&KINDS, self)
    }

    /// Every kind, in the order of documentation.
    pub fn all() -> impl Iterator<Item = Self> {
        KINDS.iter().map(|(kind, _)| *kind)
    }

    pub(super) fn named(text: &str) -> Option<Self> {
        let known = KINDS.iter().chain(&ALIASES);
        known
            .copied()
            .find(|(_, word)| word.eq_ignore_ascii_case(text))
            .map(|(kind, _)| kind)
    }
}

impl Collection {
    pub fn as_str(self) -> &'static str {
        word(&COLLECTIONS, self)
    }

    pub(super) fn named(text: &str) -> Option<Self> {
        exactly(&COLLECTIONS, text)
    }

    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Domains => Kind::Domains,
            Self::Nameservers => Kind::Nameservers,
            Self::Entities => Kind::Entities,
            Self::Ips => Kind::Ips,
            Self::Autnums => Kind::Autnums,
        }
    }
}

impl Resource {
    pub fn as_str(self) -> &'static str {
        word(&RESOURCES, self)
    }

    pub(super) fn named(text: &str) -> Option<Self> {
        exactly(&RESOURCES, text)
    }
}

impl Relation {
    pub fn as_str(self) -> &'static str {
        word(&RELATIONS, self)
    }

    pub(super) fn named(text: &str) -> Option<Self> {
        exactly(&RELATIONS, text)
    }
}

fn word<T: Copy + PartialEq>(table: &[(T, &'static str)], value: T) -> &'static str {
    let row = table.iter().find(|(candidate, _)| *candidate == value);
    row.map_or("", |(_, word)| word)
}

fn exactly<T: Copy>(table: &[(T, &str)], text: &str) -> Option<T> {
    let row = table.iter().find(|(_, word)| *word == text);
    row.map(|(value, _)| *value)
}

fn words() -> String {
    let words: Vec<&str> = KINDS.iter().map(|(_, word)| *word).collect();
    words.join(", ")
}

impl FromStr for Kind {
    type Err = KindError;

    fn from_str(text: &str) -> Result<Self, KindError> {
        Self::named(text).ok_or_else(|| KindError {
            given: super::error::quoted(text),
        })
    }
}

macro_rules! show_by_word {
    ($($name:ty),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    )*};
}
show_by_word!(Kind, Collection, Resource, Relation);
