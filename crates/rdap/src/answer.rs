//! Answers: thin views over the JSON of RFC 9083, which keep every member they do not know.
//!
//! The bytes remain the original and are passed on unchanged. Views are lenient: a member that is
//! missing or of the wrong type never hides the rest, and [`Answer::oddities`] reports it. Whether
//! an answer conforms is decided by `check`.

mod card;
mod date;
mod domain;
mod entity;
mod error;
mod event;
mod item;
mod link;
mod mending;
mod node;
mod number;
mod object;
mod reading;
mod redaction;
mod resource;
mod shape;
pub mod status;
#[cfg(test)]
pub(crate) mod tests;

use bytes::Bytes;
use url::Url;

pub(crate) use card::jcard::properties;
pub use card::{Address, Contact, Phone};
pub use date::Date;
pub use domain::{Domain, Ds, Key, Nameserver, SecureDns, Variant};
pub use entity::{Entity, IANA_REGISTRAR_ID};
pub use error::AnswerError;
pub use event::{Event, Notice};
pub use item::Item;
pub use link::{Link, MEDIA_TYPE};
pub(crate) use mending::{bare_controls, lone_surrogates, mended};
pub use node::Node;
pub use number::Number;
pub use object::{Object, Problem, Search, SearchKind};
pub use reading::Bounds;
pub use redaction::{Method, Redaction};
pub use resource::{Autnum, Covers, Network};
pub use shape::Oddity;
pub(crate) use shape::{Class, Place, is_defined, places, token};

/// One answer: its bytes, and the JSON read from them.
#[derive(Debug, Clone)]
pub struct Answer {
    raw: Bytes,
    root: Node,
}

impl Answer {
    /// Parses an answer within bounds that any real answer meets.
    pub fn read(raw: Bytes) -> Result<Self, AnswerError> {
        Self::read_within(raw, Bounds::default())
    }

    pub fn read_within(raw: Bytes, bounds: Bounds) -> Result<Self, AnswerError> {
        // RFC 8259, section 8.1: a byte order mark may be ignored.
        let raw = match raw.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) => raw.slice_ref(rest),
            None => raw,
        };
        let root = reading::read(&raw, bounds)?;
        Ok(Self { raw, root })
    }

    /// The JSON as it was received.
    pub fn raw(&self) -> &Bytes {
        &self.raw
    }

    pub fn root(&self) -> &Node {
        &self.root
    }

    /// The topmost object, seen as any object: with the members that every class shares.
    pub fn top(&self) -> Item<'_> {
        Item(&self.root)
    }

    pub fn object(&self) -> Object<'_> {
        Object::from_item(self.top())
    }

    /// The value at a JSON pointer.
    pub fn at(&self, pointer: &str) -> Option<&Node> {
        self.root.at(pointer)
    }

    /// The extensions that the answer claims (RFC 9083, section 4.1).
    pub fn conformance(&self) -> impl Iterator<Item = &str> {
        self.top().texts("rdapConformance")
    }

    pub fn notices(&self) -> impl Iterator<Item = Notice<'_>> {
        self.top().items("notices").map(Notice)
    }

    pub fn redactions(&self) -> impl Iterator<Item = Redaction<'_>> {
        self.top().redactions()
    }

    /// Links to more data about the same object, mostly from the registry to the registrar. Links
    /// that declare the RDAP media type come before those that declare none; links to web pages and
    /// to the answer itself are left out (RFC 9083, section 4.2).
    pub fn related(&self) -> Vec<Link<'_>> {
        const MAX_EXAMINED: usize = 500;
        let links = || self.top().links().take(MAX_EXAMINED);
        let own: Vec<&str> = links()
            .filter(|l| l.has_rel("self"))
            .filter_map(Link::href)
            .collect();
        let mut related: Vec<Link<'_>> = Vec::new();
        for link in links().filter(|l| l.has_rel("related") && l.can_be_followed()) {
            let known = |h: &str| own.contains(&h) || related.iter().any(|l| l.href() == Some(h));
            if link.href().is_some_and(|h| !known(h)) {
                related.push(link);
            }
        }
        related.sort_by_key(|link| !link.is_rdap());
        related
    }

    /// The link to the next page of results, as it was written (RFC 8977, section 2.4.1).
    pub fn next_page(&self) -> Option<&str> {
        self.next_link().and_then(Link::href)
    }

    /// The URL of the next page of results.
    pub fn next_url(&self, base: Option<&Url>) -> Option<Url> {
        self.next_link()?.url(base)
    }

    fn next_link(&self) -> Option<Link<'_>> {
        let paging = self.top().item("paging_metadata").into_iter();
        paging
            .flat_map(Item::links)
            .chain(self.top().links())
            .find(|l| l.has_rel("next") && l.href().is_some())
    }

    /// The range that this answer is about; the answer is valid for every number in it.
    pub fn covers(&self) -> Option<Covers> {
        match self.object() {
            Object::Network(network) => network.range().map(|(s, e)| Covers::Ips(s, e)),
            Object::Autnum(autnum) => autnum.range().map(|(s, e)| Covers::Autnums(s, e)),
            _ => None,
        }
    }

    /// The registrar of a domain or name server, as this answer names it.
    pub fn registrar(&self) -> Option<Entity<'_>> {
        self.top().entity("registrar")
    }

    /// Members with another type than RFC 9083 gives them. The rest of the answer remains usable.
    pub fn oddities(&self) -> Vec<Oddity> {
        shape::oddities(self)
    }
}
