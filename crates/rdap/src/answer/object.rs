//! The kinds of answers: an object of a class, the results of a search, help, or an error response.

use super::item::{Item, views};
use super::{Autnum, Domain, Entity, Nameserver, Network};

/// An answer, by the class of its content.
#[derive(Debug, Clone, Copy)]
pub enum Object<'a> {
    Domain(Domain<'a>),
    Nameserver(Nameserver<'a>),
    Entity(Entity<'a>),
    Network(Network<'a>),
    Autnum(Autnum<'a>),
    Search(Search<'a>),
    /// RFC 9083, section 6.
    Problem(Problem<'a>),
    /// RFC 9083, section 7: only notices.
    Help(Item<'a>),
    Unknown(Item<'a>),
}

views! {
    /// An error response (RFC 9083, section 6).
    Problem,
}

/// Results of a search (RFC 9083, section 8; RFC 9910, section 3).
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    pub kind: SearchKind,
    pub(super) top: Item<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchKind {
    Domains,
    Nameservers,
    Entities,
    Ips,
    Autnums,
}

impl SearchKind {
    pub const ALL: [Self; 5] = [
        Self::Domains,
        Self::Nameservers,
        Self::Entities,
        Self::Ips,
        Self::Autnums,
    ];

    /// The plural noun for the results.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Domains => "domains",
            Self::Nameservers => "name servers",
            Self::Entities => "entities",
            Self::Ips => "networks",
            Self::Autnums => "AS numbers",
        }
    }

    /// The member that holds the results. RFC 9910 prefixes its members with the identifier of the
    /// extension.
    pub fn member(self) -> &'static str {
        match self {
            Self::Domains => "domainSearchResults",
            Self::Nameservers => "nameserverSearchResults",
            Self::Entities => "entitySearchResults",
            Self::Ips => "ipSearchResults",
            Self::Autnums => "autnumSearchResults",
        }
    }
}

impl<'a> Object<'a> {
    pub(super) fn from_item(item: Item<'a>) -> Self {
        let class = item.class_name().map(|c| c.trim().to_ascii_lowercase());
        if let Some(known) = class.as_deref().and_then(|c| Self::of_class(c, item)) {
            return known;
        }
        if item.number("errorCode").is_some() {
            return Self::Problem(Problem(item));
        }
        let has = |member: &str| item.node().get(member).is_some();
        if let Some(kind) = SearchKind::ALL.into_iter().find(|k| has(k.member())) {
            return Self::Search(Search { kind, top: item });
        }
        // Some servers leave out the class; the members still indicate it.
        let guess = if has("startAddress") {
            "ip network"
        } else if has("startAutnum") {
            "autnum"
        } else if has("ldhName") || has("unicodeName") {
            if has("ipAddresses") {
                "nameserver"
            } else {
                "domain"
            }
        } else if has("vcardArray") || has("roles") {
            "entity"
        } else if class.is_none() && has("notices") {
            return Self::Help(item);
        } else {
            return Self::Unknown(item);
        };
        Self::of_class(guess, item).unwrap_or(Self::Unknown(item))
    }

    fn of_class(class: &str, item: Item<'a>) -> Option<Self> {
        Some(match class {
            "domain" => Self::Domain(Domain(item)),
            "nameserver" => Self::Nameserver(Nameserver(item)),
            "entity" => Self::Entity(Entity(item)),
            "ip network" => Self::Network(Network(item)),
            "autnum" => Self::Autnum(Autnum(item)),
            _ => return None,
        })
    }

    /// The JSON object itself, whatever kind it is.
    pub fn item(self) -> Item<'a> {
        match self {
            Self::Domain(Domain(item))
            | Self::Nameserver(Nameserver(item))
            | Self::Entity(Entity(item))
            | Self::Network(Network(item))
            | Self::Autnum(Autnum(item))
            | Self::Problem(Problem(item))
            | Self::Help(item)
            | Self::Unknown(item) => item,
            Self::Search(search) => search.top,
        }
    }

    /// The name in the DNS, in A-labels if they are given.
    pub fn name(self) -> Option<&'a str> {
        let item = self.item();
        item.text("ldhName")
            .or_else(|| item.text("unicodeName"))
            .map(str::trim)
    }

    /// The name of the kind, in the words used for queries.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Domain(_) => "domain",
            Self::Nameserver(_) => "nameserver",
            Self::Entity(_) => "entity",
            Self::Network(_) => "ip",
            Self::Autnum(_) => "autnum",
            Self::Search(search) => match search.kind {
                SearchKind::Domains => "domains",
                SearchKind::Nameservers => "nameservers",
                SearchKind::Entities => "entities",
                SearchKind::Ips => "ips",
                SearchKind::Autnums => "autnums",
            },
            Self::Problem(_) => "error",
            Self::Help(_) => "help",
            Self::Unknown(_) => "unknown",
        }
    }
}

impl<'a> Search<'a> {
    pub fn results(self) -> impl Iterator<Item = Object<'a>> + use<'a> {
        let kind = self.kind;
        self.top.items(kind.member()).map(move |item| match kind {
            SearchKind::Domains => Object::Domain(Domain(item)),
            SearchKind::Nameservers => Object::Nameserver(Nameserver(item)),
            SearchKind::Entities => Object::Entity(Entity(item)),
            SearchKind::Ips => Object::Network(Network(item)),
            SearchKind::Autnums => Object::Autnum(Autnum(item)),
        })
    }

    /// The total number of results, if the server gives it (RFC 8977, section 2.1).
    pub fn total(self) -> Option<u64> {
        self.top.item("paging_metadata")?.number("totalCount")
    }

    /// The number of this page.
    pub fn page(self) -> Option<u64> {
        self.top.item("paging_metadata")?.number("pageNumber")
    }

    /// The current sort order of the results (RFC 8977, section 2.1).
    pub fn sort(self) -> Option<&'a str> {
        self.top.item("sorting_metadata")?.text("currentSort")
    }
}

impl<'a> Problem<'a> {
    pub fn code(self) -> Option<u64> {
        self.number("errorCode")
    }

    pub fn title(self) -> Option<&'a str> {
        self.text("title")
    }

    pub fn description(self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.texts("description")
    }
}
