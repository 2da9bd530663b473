//! Queries: the kinds of RDAP query (RFC 9082, 9910, 9536), how each is recognised, and the path
//! for it.
//!
//! A query is one line of text. Most kinds are recognised by their form; every kind can be named
//! before a colon, or be given as a [`Kind`], which is parsed from and shown as the word in the
//! first column:
//!
//! | word | query | examples |
//! |---|---|---|
//! | `domain` | a name, with U-labels or A-labels; reverse names too | `bücher.example`, `2.0.192.in-addr.arpa`, `domain:help` |
//! | `nameserver` (`ns`) | a name server; looks like a domain, so name the kind | `nameserver:ns1.example.com` |
//! | `ip` | an address or a prefix | `192.0.2.1`, `2001:db8::/32` |
//! | `autnum` (`asn`) | an autonomous system | `AS64500`, `64500`, `AS1.10` |
//! | `entity` | a person, organisation or registrar by handle | `ABC-ARIN`, `entity:292` |
//! | `help` | a server's description of itself | `help`, `help:com`, `help:https://rdap.example/` |
//! | `url` | exactly this URL | `https://rdap.example/domain/example.com` |
//! | `domains` | names that match a pattern, or have a name server | `domains:exam*.com`, `domains:nsLdhName=ns1.example.*`, `domains:nsIp=192.0.2.1` |
//! | `nameservers` | name servers that match a pattern, or have an address | `nameservers:ns1.exam*`, `nameservers:ip=192.0.2.1` |
//! | `entities` | entities by name or handle | `entities:Bobby*`, `entities:handle=ABC-*` |
//! | `ips`, `autnums` | networks and numbers by name or handle (RFC 9910) | `ips:EXAMPLE-NET*`, `autnums:handle=AS64500` |
//! | `up` `down` `top` `bottom` | objects that enclose a network, number or reverse name, or lie in it (RFC 9910) | `up:192.0.2.0/24?status=active` |
//! | `domains/reverse` … | objects by their contacts (RFC 9536); also `nameservers/`, `entities/`, `ips/`, `autnums/` | `domains/reverse:handle=ABC-ARIN&role=technical` |
//!
//! The paths of the RFCs are accepted unchanged: `domain/example.com`, `domains?name=exam*`,
//! `domains/reverse_search/entity?handle=ABC`, `ips/rirSearch1/rdap-up/192.0.2.0/24`. Text after
//! `?` is percent-decoded; text after a word and a colon is not, unless it begins with `property=`.
//! Searches take `sort`, `count` and `cursor` (RFC 8977) and `fieldSet` (RFC 8982) as further
//! parameters, or by [`Query::set`].
//!
//! Three choices need an explanation. A text without dots but with a hyphen is a handle, because no
//! top-level domain has a hyphen except those that begin with `xn--`. `help` is the query; the
//! top-level domain is `domain:help` or `help.`. Bits below a prefix are cleared, and
//! [`Query::note`] reports that.
//!
//! [`crate::bootstrap`] chooses the servers by [`Query::key`].

mod encoding;
mod error;
mod kind;
mod name;
mod number;
mod parameter;
mod pasted;
mod reading;
mod search;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::str::FromStr;

use roundtrip_model::Target;

pub use error::{NameError, NumberError, QueryError};
pub use kind::{Collection, Kind, KindError, Relation, Resource};
pub use parameter::{Parameter, Parameters};

use name::Name;
use number::Network;
pub(crate) use number::filled;
use search::Search;

/// One query, parsed and normalised: equal queries compare equal, however they were written.
#[derive(Debug, Clone)]
pub struct Query {
    asked: ParsedQuery,
    note: Option<String>,
}

#[derive(Debug, Clone)]
enum ParsedQuery {
    Domain(Name),
    Nameserver(Name),
    Network(Network),
    Autnum(u32),
    Entity(String),
    Help(Option<Box<Query>>),
    Url(Target),
    Search(Search),
    Relative(Relation, Object, Parameters),
}

/// An object that has relatives. RFC 9910 §3.
#[derive(Debug, Clone)]
enum Object {
    Network(Network),
    Autnum(u32),
    Domain(Name),
}

/// The key for a lookup in the bootstrap registries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key<'a> {
    /// A name in A-labels and lower case, without the last dot.
    Domain(&'a str),
    /// An address and the length of its prefix: 32 or 128 for a single address.
    Ip(IpAddr, u8),
    Autnum(u32),
    /// The tag at the end of a handle, as written. RFC 8521 §2.
    Tag(&'a str),
}

impl Query {
    /// Parses `text` as the kind that its form suggests, or as `forced`.
    pub fn parse(text: &str, forced: Option<Kind>) -> Result<Self, QueryError> {
        reading::read(text, forced)
    }

    pub fn kind(&self) -> Kind {
        match &self.asked {
            ParsedQuery::Domain(_) => Kind::Domain,
            ParsedQuery::Nameserver(_) => Kind::Nameserver,
            ParsedQuery::Network(_) => Kind::Ip,
            ParsedQuery::Autnum(_) => Kind::Autnum,
            ParsedQuery::Entity(_) => Kind::Entity,
            ParsedQuery::Help(_) => Kind::Help,
            ParsedQuery::Url(_) => Kind::Url,
            ParsedQuery::Search(search) => search.kind(),
            ParsedQuery::Relative(relation, ..) => Kind::Relative(*relation),
        }
    }

    /// The query as people write it: U-labels, `AS64500`, a search with readable values. The text
    /// has one line and no secrets.
    pub fn shown(&self) -> String {
        match &self.asked {
            ParsedQuery::Domain(name) | ParsedQuery::Nameserver(name) => name.shown(),
            ParsedQuery::Network(network) => network.to_string(),
            ParsedQuery::Autnum(number) => format!("AS{number}"),
            ParsedQuery::Entity(handle) => handle.clone(),
            ParsedQuery::Help(None) => "help".into(),
            ParsedQuery::Help(Some(of)) => format!("help of {}", of.shown()),
            ParsedQuery::Url(target) => target.redacted(),
            ParsedQuery::Search(search) => search.shown(),
            ParsedQuery::Relative(relation, object, parameters) => {
                format!("{relation} of {}{}", object.shown(), parameters.shown(" "))
            }
        }
    }

    /// The path and query below a base URL, percent-encoded. RFC 9082 §3, RFC 9910, RFC 9536. For a
    /// URL, its path and query.
    pub fn path(&self) -> String {
        match &self.asked {
            ParsedQuery::Domain(name) => format!("domain/{}", name.encoded()),
            ParsedQuery::Nameserver(name) => format!("nameserver/{}", name.encoded()),
            ParsedQuery::Network(network) => format!("ip/{network}"),
            ParsedQuery::Autnum(number) => format!("autnum/{number}"),
            ParsedQuery::Entity(handle) => format!("entity/{}", encoding::encode(handle)),
            ParsedQuery::Help(_) => "help".into(),
            ParsedQuery::Url(target) => target.path_and_query().trim_start_matches('/').into(),
            ParsedQuery::Search(search) => search.path(),
            ParsedQuery::Relative(relation, object, parameters) => {
                format!(
                    "{}/rirSearch1/rdap-{relation}/{}{}",
                    object.collection(),
                    object.encoded(),
                    parameters.encoded("?")
                )
            }
        }
    }

    /// The key for the bootstrap registries; `None` if only the user can know the server.
    pub fn key(&self) -> Option<Key<'_>> {
        match &self.asked {
            ParsedQuery::Domain(name) | ParsedQuery::Relative(_, Object::Domain(name), _) => {
                Some(name.key())
            }
            ParsedQuery::Nameserver(name) => Some(Key::Domain(name.ascii())),
            ParsedQuery::Network(network)
            | ParsedQuery::Relative(_, Object::Network(network), _) => Some(network.key()),
            ParsedQuery::Autnum(number) | ParsedQuery::Relative(_, Object::Autnum(number), _) => {
                Some(Key::Autnum(*number))
            }
            ParsedQuery::Entity(handle) => tag(handle).map(Key::Tag),
            ParsedQuery::Help(of) => of.as_ref()?.key(),
            ParsedQuery::Url(_) => None,
            ParsedQuery::Search(search) => search.key(),
        }
    }

    /// The URL itself ([`Kind::Url`]), or the server to ask for help; neither needs the registries.
    pub fn url(&self) -> Option<&Target> {
        match &self.asked {
            ParsedQuery::Url(target) => Some(target),
            ParsedQuery::Help(Some(of)) => of.url(),
            _ => None,
        }
    }

    /// A note about changes during parsing, if the user should know them.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The parameters of a search.
    pub fn parameters(&self) -> Option<&Parameters> {
        match &self.asked {
            ParsedQuery::Search(search) => Some(search.parameters()),
            ParsedQuery::Relative(_, _, parameters) => Some(parameters),
            _ => None,
        }
    }

    /// Adds a parameter to a search, or replaces it.
    pub fn set(&mut self, parameter: Parameter, value: &str) -> Result<(), QueryError> {
        let kind = self.kind();
        let parameters = match &mut self.asked {
            ParsedQuery::Search(search) => search.parameters_mut(),
            ParsedQuery::Relative(_, _, parameters) => parameters,
            _ => return Err(QueryError::NotASearch { parameter, kind }),
        };
        parameters.set(parameter, value)
    }
}

impl Object {
    fn collection(&self) -> Collection {
        match self {
            Self::Network(_) => Collection::Ips,
            Self::Autnum(_) => Collection::Autnums,
            Self::Domain(_) => Collection::Domains,
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Network(network) => network.to_string(),
            Self::Autnum(number) => format!("AS{number}"),
            Self::Domain(name) => name.shown(),
        }
    }

    fn encoded(&self) -> String {
        match self {
            Self::Network(network) => network.to_string(),
            Self::Autnum(number) => number.to_string(),
            Self::Domain(name) => name.encoded(),
        }
    }
}

/// The part after the last hyphen of a handle. RFC 8521 §2.
fn tag(handle: &str) -> Option<&str> {
    let (_, tag) = handle.rsplit_once('-')?;
    (!tag.is_empty() && !tag.contains('*')).then_some(tag)
}

impl Query {
    /// The identity of a query: the kind, the path, and the URL if there is one.
    fn identity(&self) -> (Kind, String, Option<&str>, Option<Key<'_>>) {
        let url = self.url().map(|target| target.url().as_str());
        (self.kind(), self.path(), url, self.key())
    }
}

impl PartialEq for Query {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Query {}

impl Hash for Query {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

impl FromStr for Query {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        Self::parse(text, None)
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

#[cfg(test)]
mod tests;
