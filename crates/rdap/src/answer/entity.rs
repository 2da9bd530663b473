//! People and organisations (RFC 9083, section 5.1).

use super::card::{Contact, jcard, jscontact};
use super::item::views;
use super::resource::{Autnum, Network};

views! {
    /// Section 5.1.
    Entity,
}

/// The names that drafts and servers give the member with a JSContact card
/// (draft-ietf-regext-rdap-jscontact).
const JSCONTACT: [&str; 5] = [
    "jscontact_card",
    "jscontact",
    "jscard",
    "jsCard",
    "jsContact",
];

/// The type of the public identifier by which IANA numbers registrars.
pub const IANA_REGISTRAR_ID: &str = "IANA Registrar ID";

impl<'a> Entity<'a> {
    pub fn roles(self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.texts("roles")
    }

    pub fn has_role(self, role: &str) -> bool {
        self.roles().any(|r| r.trim().eq_ignore_ascii_case(role))
    }

    /// The content of the entity's card, of either kind; empty if there is no card.
    pub fn contact(self) -> Contact<'a> {
        let old = self.node().get("vcardArray").map(jcard::read);
        match old {
            Some(contact) if !contact.is_empty() => contact,
            _ => JSCONTACT
                .iter()
                .find_map(|member| self.item(member))
                .map(jscontact::read)
                .unwrap_or_default(),
        }
    }

    /// The number that IANA assigned to the registrar.
    pub fn iana_id(self) -> Option<&'a str> {
        self.public_ids()
            .find(|(kind, _)| kind.trim().eq_ignore_ascii_case(IANA_REGISTRAR_ID))
            .map(|(_, id)| id.trim())
    }

    pub fn networks(self) -> impl Iterator<Item = Network<'a>> + use<'a> {
        self.items("networks").map(Network)
    }

    pub fn autnums(self) -> impl Iterator<Item = Autnum<'a>> + use<'a> {
        self.items("autnums").map(Autnum)
    }
}
