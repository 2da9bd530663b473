//! A box that drops all ICMP, as firewalls do that block pings: with a smaller MTU behind it, path
//! MTU discovery fails (RFC 2923 §2.1).

use roundtrip_wire::packet::{ICMP, ICMPV6, Packet};

use super::MiddleboxKind;
use super::filter::FilterHop;

const NAME: &str = "drop-icmp";

pub(super) const KIND: MiddleboxKind = MiddleboxKind {
    name: NAME,
    does: "drops all ICMP, errors as well as echoes, so no sender learns that a packet was too big",
    argument: None,
    make: |_| {
        Ok(Box::new(FilterHop {
            cause: NAME,
            unwanted: |packet: &Packet<'_>, _, _| matches!(packet.protocol(), ICMP | ICMPV6),
        }))
    },
};

#[cfg(test)]
mod tests {
    use roundtrip_wire::packet::{ICMP, ICMPV6};

    use super::super::trial::{SYN, Trial, packet, segment};
    use crate::direction::Direction;

    #[test]
    fn errors_and_echoes_of_both_versions() {
        let mut filter = Trial::parse("drop-icmp");
        for way in Direction::BOTH {
            let echo = packet(way, false, ICMP, &[8, 0, 0, 0, 0, 1, 0, 1]);
            let too_big = packet(way, true, ICMPV6, &[2, 0, 0, 0, 0, 0, 5, 0]);
            filter.loses(way, 0, &echo, "drop-icmp");
            filter.loses(way, 0, &too_big, "drop-icmp");
            filter.passes_untouched(way, 0, &segment(way, SYN, &[], b""));
        }
    }
}
