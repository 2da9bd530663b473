//! The fields of appendix E, and which of them a contact has or declares redacted.

use crate::answer::{Entity, Node, properties};
use crate::check::{Check, rules};

rules! { Gtld;
    ID = "gtld-registrant-id", Error, "gTLD RDAP Response Profile 2024, sections 2.7.3 and 2.7.7": "the registrant's handle is given, or 'Registry Registrant ID' redacted";
    NAME = "gtld-registrant-name", Error, "gTLD RDAP Response Profile 2024, section 2.7.4.1": "the registrant's name is given, or 'Registrant Name' redacted";
    ORGANIZATION = "gtld-registrant-organization", Info, "gTLD RDAP Response Profile 2024, section 2.7.4.2": "the registrant's organization is given, or 'Registrant Organization' redacted, if there is one";
    STREET = "gtld-registrant-street", Error, "gTLD RDAP Response Profile 2024, section 2.7.4.3": "the registrant's street is given, or 'Registrant Street' redacted";
    CITY = "gtld-registrant-city", Error, "gTLD RDAP Response Profile 2024, section 2.7.4.4": "the registrant's city is given, or 'Registrant City' redacted";
    POSTAL_CODE = "gtld-registrant-postal-code", Warning, "gTLD RDAP Response Profile 2024, section 2.7.4.6": "the registrant's postal code is given, or 'Registrant Postal Code' redacted, if the country has them";
    PHONE = "gtld-registrant-phone", Error, "gTLD RDAP Response Profile 2024, section 2.7.4.8": "the registrant's telephone (type voice) is given, or 'Registrant Phone' redacted";
    EMAIL = "gtld-registrant-email", Error, "gTLD RDAP Response Profile 2024, section 2.7.4.9": "the registrant's email is given, or 'Registrant Email' redacted";
    TECH_ID = "gtld-tech-id", Error, "gTLD RDAP Response Profile 2024, sections 2.7.3 and 2.7.7": "the technical contact's handle is given, or 'Registry Tech ID' redacted";
    TECH_NAME = "gtld-tech-name", Error, "gTLD RDAP Response Profile 2024, section 2.7.6.1": "the technical contact's name is given, or 'Tech Name' redacted";
    TECH_PHONE = "gtld-tech-phone", Warning, "gTLD RDAP Response Profile 2024, section 2.7.6.2": "the technical contact's telephone (type voice) is given, or 'Tech Phone' redacted";
    TECH_EMAIL = "gtld-tech-email", Warning, "gTLD RDAP Response Profile 2024, section 2.7.6.3": "the technical contact's email is given, or 'Tech Email' redacted";
}

/// A registered name of a redacted field, and the field itself.
pub(super) struct Field {
    pub(super) name: &'static str,
    /// The role of the contact that has the field; `None` for a field of the domain.
    pub(super) role: Option<&'static str>,
    pub(super) part: Part,
    /// The rule that is violated if the field is neither given nor redacted.
    pub(super) needed: Option<&'static Check>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Handle,
    Name,
    Organization,
    /// The positions in `adr` (RFC 6350, section 6.3.1).
    Address(&'static [usize]),
    Phone,
    PhoneExtension,
    Fax,
    FaxExtension,
    Email,
}

const fn registrant(name: &'static str, part: Part, needed: Option<&'static Check>) -> Field {
    Field {
        name,
        role: Some("registrant"),
        part,
        needed,
    }
}

const fn technical(name: &'static str, part: Part, needed: Option<&'static Check>) -> Field {
    Field {
        name,
        role: Some("technical"),
        part,
        needed,
    }
}

pub(super) static FIELDS: [Field; 17] = [
    Field {
        name: "Registry Domain ID",
        role: None,
        part: Part::Handle,
        // `gtld-handle` checks it.
        needed: None,
    },
    registrant("Registry Registrant ID", Part::Handle, Some(&ID)),
    registrant("Registrant Name", Part::Name, Some(&NAME)),
    registrant(
        "Registrant Organization",
        Part::Organization,
        Some(&ORGANIZATION),
    ),
    registrant(
        "Registrant Street",
        Part::Address(&[0, 1, 2]),
        Some(&STREET),
    ),
    registrant("Registrant City", Part::Address(&[3]), Some(&CITY)),
    registrant(
        "Registrant Postal Code",
        Part::Address(&[5]),
        Some(&POSTAL_CODE),
    ),
    registrant("Registrant Phone", Part::Phone, Some(&PHONE)),
    registrant("Registrant Phone Ext", Part::PhoneExtension, None),
    registrant("Registrant Fax", Part::Fax, None),
    registrant("Registrant Fax Ext", Part::FaxExtension, None),
    registrant("Registrant Email", Part::Email, Some(&EMAIL)),
    technical("Registry Tech ID", Part::Handle, Some(&TECH_ID)),
    technical("Tech Name", Part::Name, Some(&TECH_NAME)),
    technical("Tech Phone", Part::Phone, Some(&TECH_PHONE)),
    technical("Tech Phone Ext", Part::PhoneExtension, None),
    technical("Tech Email", Part::Email, Some(&TECH_EMAIL)),
];

impl Part {
    pub(super) fn is_given(self, entity: Entity<'_>) -> bool {
        let Some(card) = entity.node().get("vcardArray") else {
            let contact = entity.contact();
            return match self {
                Self::Handle => entity.handle().is_some(),
                Self::Name => contact.name.is_some(),
                Self::Organization => contact.organization.is_some(),
                Self::Address(_) => !contact.addresses.is_empty(),
                Self::Phone => contact.voice().is_some(),
                Self::Fax => contact.fax().is_some(),
                Self::PhoneExtension | Self::FaxExtension => false,
                Self::Email => !contact.emails.is_empty(),
            };
        };
        let says = |name: &str| {
            let mut named = properties(card).filter(|p| p.name.eq_ignore_ascii_case(name));
            named.any(|p| p.values.iter().any(is_filled))
        };
        match self {
            Self::Handle => entity.handle().is_some(),
            Self::Name => says("fn"),
            Self::Organization => says("org"),
            Self::Email => says("email"),
            Self::Address(places) => properties(card)
                .filter(|p| p.name.eq_ignore_ascii_case("adr"))
                .filter_map(|p| p.values.first())
                .any(|adr| {
                    let mut parts = places.iter().filter_map(|i| adr.items().get(*i));
                    parts.any(is_filled)
                }),
            Self::Phone => number(card, "voice", false),
            Self::PhoneExtension => number(card, "voice", true),
            Self::Fax => number(card, "fax", false),
            Self::FaxExtension => number(card, "fax", true),
        }
    }
}

/// Whether there is a number of this type, or one with an extension (RFC 3966, section 5.3).
fn number(card: &Node, kind: &str, extension: bool) -> bool {
    properties(card)
        .filter(|p| p.name.eq_ignore_ascii_case("tel"))
        .filter(|p| p.parameter("type").any(|t| t.eq_ignore_ascii_case(kind)))
        .any(|p| {
            let mut texts = p.values.iter().filter_map(Node::text);
            let extended = |t: &str| t.to_ascii_lowercase().contains(";ext=");
            if extension {
                texts.any(extended) || p.parameter("ext").next().is_some()
            } else {
                p.values.iter().any(is_filled)
            }
        })
}

/// Whether the value contains a text that is not blank.
fn is_filled(node: &Node) -> bool {
    match node {
        Node::Text(text) => !text.trim().is_empty(),
        Node::List(items) => items.iter().any(is_filled),
        _ => false,
    }
}
