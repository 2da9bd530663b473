//! Reads kernel tables: routes, links, and the metrics cached for other hosts. `roundtrip_net`
//! requests them, and `roundtrip_wire::netlink` describes the layout of messages.

pub(crate) mod links;
pub(crate) mod metrics;
pub(crate) mod routes;

#[cfg(test)]
use roundtrip_wire::netlink::NetlinkRequest;

#[cfg(test)]
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut request = NetlinkRequest::query(0);
    let header = NetlinkRequest::query(0).finish().len();
    request.attribute(kind, value);
    request.finish().split_off(header)
}
