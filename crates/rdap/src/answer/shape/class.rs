//! The members of each kind of object and their types, as RFC 9083 and its extensions define them.

use crate::answer::Node;

/// The kinds of object that an answer is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Domain,
    Nameserver,
    Entity,
    Network,
    Autnum,
    Search,
    Problem,
    Help,
    Unknown,
    Link,
    Notice,
    Remark,
    Event,
    /// An event without an actor (RFC 9083, section 5.1).
    ActorEvent,
    PublicId,
    Addresses,
    SecureDns,
    Ds,
    Key,
    Variant,
    VariantName,
    Cidr,
    Redaction,
    Words,
    Paging,
    Sorting,
    Sort,
    Subsetting,
    FieldSet,
    /// RFC 9536, sections 4 and 5.
    ReverseProperty,
    ReverseMapping,
}

/// The type of a member.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Text,
    Texts,
    Flag,
    Whole,
    List,
    One(Class),
    Many(Class),
    /// One text or a list of texts: the RFC allows both, and servers send both.
    TextOrTexts,
}

impl Shape {
    pub(super) fn fits(self, node: &Node) -> bool {
        match self {
            Self::Text => node.text().is_some(),
            Self::Texts => {
                matches!(node, Node::List(items) if items.iter().all(|i| i.text().is_some()))
            }
            Self::TextOrTexts => Self::Text.fits(node) || Self::Texts.fits(node),
            Self::Flag => matches!(node, Node::Flag(_)),
            Self::Whole => matches!(node, Node::Number(n) if n.as_u64().is_some()),
            Self::List => matches!(node, Node::List(_)),
            Self::One(_) => node.is_object(),
            Self::Many(_) => matches!(node, Node::List(items) if items.iter().all(Node::is_object)),
        }
    }

    pub(super) fn named(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Texts => "an array of strings",
            Self::TextOrTexts => "a string or an array of strings",
            Self::Flag => "a boolean",
            Self::Whole => "a whole number",
            Self::List => "an array",
            Self::One(_) => "an object",
            Self::Many(_) => "an array of objects",
        }
    }
}

type Members = &'static [(&'static str, Shape)];

/// The members of every object class (sections 4 and 5).
const OBJECT: Members = &[
    ("objectClassName", Shape::Text),
    ("handle", Shape::Text),
    ("status", Shape::Texts),
    ("port43", Shape::Text),
    ("lang", Shape::Text),
    ("entities", Shape::Many(Class::Entity)),
    ("events", Shape::Many(Class::Event)),
    ("links", Shape::Many(Class::Link)),
    ("remarks", Shape::Many(Class::Remark)),
    ("publicIds", Shape::Many(Class::PublicId)),
    // In a search, each result has its own (RFC 9537, section 4.2).
    ("redacted", Shape::Many(Class::Redaction)),
];

/// Additional members of the topmost object.
const TOP: Members = &[
    ("rdapConformance", Shape::Texts),
    ("notices", Shape::Many(Class::Notice)),
    ("lang", Shape::Text),
];

const NUMBERS: Members = &[
    ("name", Shape::Text),
    ("type", Shape::Text),
    ("country", Shape::Text),
];

impl Class {
    fn is_object(self) -> bool {
        use Class::{Autnum, Domain, Entity, Nameserver, Network};
        matches!(self, Domain | Nameserver | Entity | Network | Autnum)
    }

    pub(crate) fn object_class(self) -> Option<&'static str> {
        Some(match self {
            Self::Domain => "domain",
            Self::Nameserver => "nameserver",
            Self::Entity => "entity",
            Self::Network => "ip network",
            Self::Autnum => "autnum",
            _ => return None,
        })
    }

    fn own(self) -> Members {
        match self {
            Self::Domain | Self::Nameserver | Self::Entity | Self::Network | Self::Autnum => {
                self.of_object()
            }
            Self::Search
            | Self::Paging
            | Self::Sorting
            | Self::Sort
            | Self::Subsetting
            | Self::FieldSet
            | Self::Help
            | Self::ReverseProperty
            | Self::ReverseMapping => self.of_search(),
            _ => self.of_part(),
        }
    }

    fn of_object(self) -> Members {
        match self {
            Self::Domain => &[
                ("ldhName", Shape::Text),
                ("unicodeName", Shape::Text),
                ("variants", Shape::Many(Class::Variant)),
                ("nameservers", Shape::Many(Class::Nameserver)),
                ("secureDNS", Shape::One(Class::SecureDns)),
                ("network", Shape::One(Class::Network)),
            ],
            Self::Nameserver => &[
                ("ldhName", Shape::Text),
                ("unicodeName", Shape::Text),
                ("ipAddresses", Shape::One(Class::Addresses)),
            ],
            Self::Entity => &[
                ("vcardArray", Shape::List),
                ("roles", Shape::Texts),
                ("asEventActor", Shape::Many(Class::ActorEvent)),
                ("networks", Shape::Many(Class::Network)),
                ("autnums", Shape::Many(Class::Autnum)),
            ],
            Self::Network => &[
                ("startAddress", Shape::Text),
                ("endAddress", Shape::Text),
                ("ipVersion", Shape::Text),
                ("parentHandle", Shape::Text),
                ("cidr0_cidrs", Shape::Many(Class::Cidr)),
            ],
            _ => &[("startAutnum", Shape::Whole), ("endAutnum", Shape::Whole)],
        }
    }

    fn of_search(self) -> Members {
        match self {
            Self::Search => &[
                ("domainSearchResults", Shape::Many(Class::Domain)),
                ("nameserverSearchResults", Shape::Many(Class::Nameserver)),
                ("entitySearchResults", Shape::Many(Class::Entity)),
                ("ipSearchResults", Shape::Many(Class::Network)),
                ("autnumSearchResults", Shape::Many(Class::Autnum)),
                ("paging_metadata", Shape::One(Class::Paging)),
                ("sorting_metadata", Shape::One(Class::Sorting)),
                ("subsetting_metadata", Shape::One(Class::Subsetting)),
                ("links", Shape::Many(Class::Link)),
                (
                    "reverse_search_properties_mapping",
                    Shape::Many(Class::ReverseMapping),
                ),
            ],
            Self::Paging => &[
                ("totalCount", Shape::Whole),
                ("pageSize", Shape::Whole),
                ("pageNumber", Shape::Whole),
                ("links", Shape::Many(Class::Link)),
            ],
            Self::Sorting => &[
                ("currentSort", Shape::Text),
                ("availableSorts", Shape::Many(Class::Sort)),
            ],
            Self::Sort => &[
                ("property", Shape::Text),
                ("jsonPath", Shape::Text),
                ("default", Shape::Flag),
                ("links", Shape::Many(Class::Link)),
            ],
            Self::Subsetting => &[
                ("currentFieldSet", Shape::Text),
                ("availableFieldSets", Shape::Many(Class::FieldSet)),
            ],
            Self::Help => &[(
                "reverse_search_properties",
                Shape::Many(Class::ReverseProperty),
            )],
            Self::ReverseProperty => &[
                ("searchableResourceType", Shape::Text),
                ("relatedResourceType", Shape::Text),
                ("property", Shape::Text),
            ],
            Self::ReverseMapping => &[("property", Shape::Text), ("propertyPath", Shape::Text)],
            _ => &[
                ("name", Shape::Text),
                ("default", Shape::Flag),
                ("description", Shape::Text),
                ("links", Shape::Many(Class::Link)),
            ],
        }
    }

    fn of_part(self) -> Members {
        match self {
            Self::Problem => &[
                ("errorCode", Shape::Whole),
                ("title", Shape::Text),
                ("description", Shape::Texts),
                ("links", Shape::Many(Class::Link)),
            ],
            Self::Link => &[
                ("value", Shape::Text),
                ("rel", Shape::Text),
                ("href", Shape::Text),
                ("hreflang", Shape::TextOrTexts),
                ("title", Shape::Text),
                ("media", Shape::Text),
                ("type", Shape::Text),
            ],
            Self::Notice | Self::Remark => &[
                ("title", Shape::Text),
                ("type", Shape::Text),
                ("description", Shape::Texts),
                ("links", Shape::Many(Class::Link)),
            ],
            Self::Event | Self::ActorEvent => &[
                ("eventAction", Shape::Text),
                ("eventActor", Shape::Text),
                ("eventDate", Shape::Text),
                ("links", Shape::Many(Class::Link)),
            ],
            Self::PublicId => &[("type", Shape::Text), ("identifier", Shape::Text)],
            Self::Addresses => &[("v4", Shape::Texts), ("v6", Shape::Texts)],
            _ => self.of_detail(),
        }
    }

    fn of_detail(self) -> Members {
        const KEPT: [(&str, Shape); 2] = [
            ("events", Shape::Many(Class::Event)),
            ("links", Shape::Many(Class::Link)),
        ];
        match self {
            Self::SecureDns => &[
                ("zoneSigned", Shape::Flag),
                ("delegationSigned", Shape::Flag),
                ("maxSigLife", Shape::Whole),
                ("dsData", Shape::Many(Class::Ds)),
                ("keyData", Shape::Many(Class::Key)),
            ],
            Self::Ds => &[
                KEPT[0],
                KEPT[1],
                ("keyTag", Shape::Whole),
                ("algorithm", Shape::Whole),
                ("digest", Shape::Text),
                ("digestType", Shape::Whole),
            ],
            Self::Key => &[
                KEPT[0],
                KEPT[1],
                ("flags", Shape::Whole),
                ("protocol", Shape::Whole),
                ("publicKey", Shape::Text),
                ("algorithm", Shape::Whole),
            ],
            _ => self.of_words(),
        }
    }

    fn of_words(self) -> Members {
        match self {
            Self::Variant => &[
                ("relation", Shape::Texts),
                ("idnTable", Shape::Text),
                ("variantNames", Shape::Many(Class::VariantName)),
            ],
            Self::VariantName => &[("ldhName", Shape::Text), ("unicodeName", Shape::Text)],
            Self::Cidr => &[
                ("v4prefix", Shape::Text),
                ("v6prefix", Shape::Text),
                ("length", Shape::Whole),
            ],
            Self::Redaction => &[
                ("name", Shape::One(Class::Words)),
                ("reason", Shape::One(Class::Words)),
                ("prePath", Shape::Text),
                ("postPath", Shape::Text),
                ("replacementPath", Shape::Text),
                ("pathLang", Shape::Text),
                ("method", Shape::Text),
            ],
            Self::Words => &[
                ("type", Shape::Text),
                ("description", Shape::Text),
                ("lang", Shape::Text),
            ],
            _ => &[],
        }
    }

    /// All members that have a type; `top` adds those of the topmost object.
    pub(super) fn members(self, top: bool) -> impl Iterator<Item = (&'static str, Shape)> {
        let numbers = matches!(self, Self::Network | Self::Autnum);
        let parts: [Members; 4] = [
            self.own(),
            if self.is_object() { OBJECT } else { &[] },
            if numbers { NUMBERS } else { &[] },
            if top { TOP } else { &[] },
        ];
        parts.into_iter().flatten().copied()
    }
}

/// Whether RFC 9083 or an extension that is read here defines a member of this name, in any object.
pub(crate) fn is_defined(member: &str) -> bool {
    use Class::{
        Addresses, Autnum, Cidr, Domain, Ds, Entity, Event, FieldSet, Key, Link, Nameserver,
        Network, Notice, Paging, Problem, PublicId, Redaction, ReverseMapping, ReverseProperty,
        Search, SecureDns, Sort, Sorting, Subsetting, Variant, VariantName, Words,
    };
    const WITH_MEMBERS: [Class; 27] = [
        Domain,
        Nameserver,
        Entity,
        Network,
        Autnum,
        Search,
        Problem,
        Link,
        Notice,
        Event,
        PublicId,
        Addresses,
        SecureDns,
        Ds,
        Key,
        Variant,
        VariantName,
        Cidr,
        Redaction,
        Words,
        Paging,
        Sorting,
        Sort,
        Subsetting,
        FieldSet,
        ReverseProperty,
        ReverseMapping,
    ];
    let mut classes = WITH_MEMBERS.into_iter();
    classes.any(|class| class.members(true).any(|(name, _)| name == member))
}
