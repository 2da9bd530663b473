//! Finds the client that a request counts for: the peer, or the client that trusted proxies name.

use std::net::{IpAddr, SocketAddr};

use super::policy::Policy;
use super::request::Request;

/// The field that names clients.
const NAMES: &str = "x-forwarded-for";

/// The client's network; `None` for a trusted proxy that names no client. Only addresses in
/// `X-Forwarded-For` that trusted proxies added are used: the result is the last one that is not
/// itself trusted.
pub(super) fn original_client<S>(
    policy: &Policy<S>,
    request: &Request<'_>,
    peer: IpAddr,
) -> Option<IpAddr> {
    if !policy.trusts(peer) {
        return Some(network(peer));
    }
    let fields = request.fields.iter().rev();
    let is_trusted = policy
        .trusted_fields(peer)
        .iter()
        .any(|field| field == NAMES);
    let fields = fields.filter(|field| is_trusted && field.name.eq_ignore_ascii_case(NAMES));
    let mut named = fields.flat_map(|field| field.value.rsplit(|b| *b == b',').map(address));
    named
        .find(|client| client.is_none_or(|client| !policy.trusts(client)))?
        .map(network)
}

/// Some proxies add the port.
fn address(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let with_port = || text.parse::<SocketAddr>().map(|address| address.ip());
    bare.parse().or_else(|_| with_port()).ok()
}

/// A host with one IPv6 address usually has 2⁶⁴ of them, so a /64 counts as one client.
pub(crate) fn network(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V4(v4) => v4.into(),
        IpAddr::V6(v6) => std::net::Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_have_a_port() {
        for text in ["192.0.2.1", " 192.0.2.1 ", "192.0.2.1:443"] {
            assert_eq!(address(text.as_bytes()), "192.0.2.1".parse().ok(), "{text}");
        }
        for text in ["2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:443"] {
            assert_eq!(
                address(text.as_bytes()),
                "2001:db8::1".parse().ok(),
                "{text}"
            );
        }
        for text in ["", "unknown", "_hidden", "192.0.2", "[192.0.2.1:1"] {
            assert_eq!(address(text.as_bytes()), None, "{text}");
        }
    }
}
