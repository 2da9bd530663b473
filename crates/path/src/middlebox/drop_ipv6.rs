//! A network with broken IPv6: names have AAAA records, SYNs to them are never answered, and
//! clients that do not race both versions wait (RFC 8305).

use roundtrip_wire::packet::{IpVersion, Packet};

use super::MiddleboxKind;
use super::filter::FilterHop;

const NAME: &str = "drop-ipv6";

pub(super) const KIND: MiddleboxKind = MiddleboxKind {
    name: NAME,
    does: "drops all IPv6 silently, like a network whose IPv6 is broken",
    argument: None,
    make: |_| {
        Ok(Box::new(FilterHop {
            cause: NAME,
            unwanted: |packet: &Packet<'_>, _, _| packet.version() == IpVersion::V6,
        }))
    },
};

#[cfg(test)]
mod tests {
    use super::super::trial::{SYN, Trial, datagram, segment, segment_v6};
    use crate::direction::Direction;

    #[test]
    fn all_packets_of_one_version_are_dropped() {
        let mut filter = Trial::parse("drop-ipv6");
        for way in Direction::BOTH {
            filter.loses(way, 0, &segment_v6(way, SYN, &[], b""), "drop-ipv6");
            filter.loses(way, 0, &datagram(way, true, 53, b"?"), "drop-ipv6");
            filter.passes_untouched(way, 0, &segment(way, SYN, &[], b""));
        }
    }
}
