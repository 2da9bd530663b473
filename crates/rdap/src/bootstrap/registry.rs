//! The five registries: their names, IANA's URLs, and the embedded copies.

use std::fmt;
use std::net::IpAddr;

use crate::query::Key;

/// One of IANA's bootstrap registries. RFC 9224 §§4–5, RFC 8521 §3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Registry {
    Dns,
    Ipv4,
    Ipv6,
    Asn,
    ObjectTags,
}

impl Registry {
    pub(super) const COUNT: usize = 5;

    pub const ALL: [Self; Self::COUNT] = [
        Self::Dns,
        Self::Ipv4,
        Self::Ipv6,
        Self::Asn,
        Self::ObjectTags,
    ];

    /// The URL below which IANA publishes all of them. RFC 9224 §13.
    pub const BASE: &str = "https://data.iana.org/rdap/";

    /// IANA's name for the registry.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
            Self::Asn => "asn",
            Self::ObjectTags => "object-tags",
        }
    }

    /// `dns.json`.
    pub fn file_name(self) -> String {
        format!("{self}.json")
    }

    /// The URL at which IANA publishes the registry.
    pub fn url(self) -> String {
        format!("{}{self}.json", Self::BASE)
    }

    /// The registry that a key is looked up in.
    pub fn from_key(key: &Key<'_>) -> Self {
        match key {
            Key::Domain(_) => Self::Dns,
            Key::Ip(IpAddr::V4(_), _) => Self::Ipv4,
            Key::Ip(IpAddr::V6(_), _) => Self::Ipv6,
            Key::Autnum(_) => Self::Asn,
            Key::Tag(_) => Self::ObjectTags,
        }
    }

    pub(super) fn index(self) -> usize {
        self as usize
    }

    pub(super) fn embedded(self) -> &'static [u8] {
        match self {
            Self::Dns => include_bytes!("../../bootstrap/dns.json"),
            Self::Ipv4 => include_bytes!("../../bootstrap/ipv4.json"),
            Self::Ipv6 => include_bytes!("../../bootstrap/ipv6.json"),
            Self::Asn => include_bytes!("../../bootstrap/asn.json"),
            Self::ObjectTags => include_bytes!("../../bootstrap/object-tags.json"),
        }
    }
}

impl fmt::Display for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
