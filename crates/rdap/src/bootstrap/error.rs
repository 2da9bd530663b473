//! The reasons why a copy of a registry is refused, or why no server is known, with remedies.

use std::net::IpAddr;

use super::Registry;
use crate::query::Key;

#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    #[error("the {registry} registry is larger than {limit} bytes")]
    TooLarge { registry: Registry, limit: usize },
    #[error("the {registry} registry is not complete JSON (RFC 9224): {source}")]
    Malformed {
        registry: Registry,
        source: serde_json::Error,
    },
    #[error("the {registry} registry has version {version}, and only 1.x is supported")]
    Version { registry: Registry, version: String },
    #[error("the {registry} registry has no usable entry{}", first(.faults))]
    Empty {
        registry: Registry,
        faults: Vec<String>,
    },
    #[error("{path} cannot be read: {source}")]
    Unread {
        path: String,
        source: std::io::Error,
    },
}

fn first(faults: &[String]) -> String {
    let fault = faults.first();
    fault.map_or(String::new(), |fault| format!(": {fault}"))
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoServerError {
    #[error(
        "no RDAP server is known for {asked}: {why}IANA's {registry} registry of {publication} has no entry for it; {advice}"
    )]
    Unlisted {
        asked: String,
        /// A specific reason and where to look next; can be empty.
        why: String,
        registry: Registry,
        publication: String,
        advice: &'static str,
    },
    #[error(
        "the entry {entry} of IANA's {registry} registry has no usable URL ({urls}); name a server with --server URL"
    )]
    Unusable {
        entry: String,
        registry: Registry,
        urls: String,
    },
}

pub(super) fn advice(overlay_knows: bool) -> &'static str {
    if overlay_knows {
        "--overlay knows one that IANA does not list, or name one with --server URL"
    } else {
        "name one with --server URL"
    }
}

pub(super) fn asked(key: &Key<'_>) -> String {
    match key {
        Key::Domain(name) => (*name).to_owned(),
        Key::Ip(address, prefix) => format!("{address}/{prefix}"),
        Key::Autnum(number) => format!("AS{number}"),
        Key::Tag(tag) => format!("handles that end in -{tag}"),
    }
}

/// The use of numbers that no registry assigns, with the RFC that reserves them.
pub(super) fn set_aside(key: &Key<'_>) -> Option<String> {
    let why = match key {
        Key::Ip(IpAddr::V4(a), _) if a.is_private() => "it is for private use (RFC 1918), ",
        Key::Ip(IpAddr::V4(a), _) if a.is_loopback() => "it is loopback (RFC 1122), ",
        Key::Ip(IpAddr::V4(a), _) if a.is_link_local() => "it is link-local (RFC 3927), ",
        Key::Ip(IpAddr::V4(a), _) if a.is_multicast() => "it is multicast (RFC 5771), ",
        Key::Ip(IpAddr::V6(a), _) if a.is_unique_local() => "it is unique-local (RFC 4193), ",
        Key::Ip(IpAddr::V6(a), _) if a.is_unicast_link_local() => "it is link-local (RFC 4291), ",
        Key::Ip(IpAddr::V6(a), _) if a.is_multicast() => "it is multicast (RFC 4291), ",
        Key::Ip(IpAddr::V6(a), _) if a.is_loopback() => "it is loopback (RFC 4291), ",
        Key::Autnum(64512..=65534 | 4_200_000_000..=4_294_967_294) => {
            "it is for private use (RFC 6996), "
        }
        Key::Autnum(64496..=64511 | 65536..=65551) => "it is for documentation (RFC 5398), ",
        Key::Autnum(0 | 65535 | 4_294_967_295) => "it is reserved (RFC 7607, RFC 7300), ",
        Key::Autnum(23456) => "it represents numbers of four octets (RFC 6793), ",
        _ => return None,
    };
    Some(format!("{why}and "))
}
