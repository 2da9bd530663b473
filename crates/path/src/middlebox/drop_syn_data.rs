//! A box that drops SYNs with data: fast open then costs a retransmission (RFC 7413 §7.1; after its
//! first timeout, the client sends the SYN again without data).

use roundtrip_wire::packet::Packet;

use super::MiddleboxKind;
use super::filter::FilterHop;
use crate::flow::is_syn;

const NAME: &str = "drop-syn-data";

pub(super) const KIND: MiddleboxKind = MiddleboxKind {
    name: NAME,
    does: "drops each SYN that carries data; a bare SYN passes",
    argument: None,
    make: |_| {
        Ok(Box::new(FilterHop {
            cause: NAME,
            unwanted: |packet: &Packet<'_>, _, _| carries_data(packet),
        }))
    },
};

fn carries_data(packet: &Packet<'_>) -> bool {
    packet
        .tcp()
        .is_some_and(|segment| is_syn(&segment) && !segment.payload().is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::trial::{ACK, SYN, SYN_ACK, Trial, segment, segment_v6};
    use crate::direction::Direction;

    #[test]
    fn only_a_syn_with_data_is_lost() {
        let way = Direction::Up;
        let mut filter = Trial::parse("drop-syn-data");
        filter.loses(way, 0, &segment(way, SYN, &[], b"early"), "drop-syn-data");
        filter.loses(
            way,
            0,
            &segment_v6(way, SYN, &[], b"early"),
            "drop-syn-data",
        );
        filter.passes_untouched(way, 0, &segment(way, SYN, &[], b""));
        filter.passes_untouched(way, 0, &segment(way, SYN_ACK, &[], b"early"));
        filter.passes_untouched(way, 0, &segment(way, ACK, &[], b"data"));
        filter.passes_unread(b"");
    }
}
