//! A box that clears the ECN bits of the IP header, as many access networks did: the ends agree on
//! ECN in their handshake, and no mark ever arrives (RFC 3168 §18.1.2).

use roundtrip_wire::packet::{Ecn, PacketMut};

use super::MiddleboxKind;
use super::rewrite::RewriteHop;

pub(super) const KIND: MiddleboxKind = MiddleboxKind {
    name: "bleach-ecn",
    does: "clears the ECN bits in every IP header, so no congestion mark arrives",
    argument: None,
    make: |_| Ok(Box::new(RewriteHop(bleach))),
};

fn bleach(packet: &mut PacketMut<'_>) -> Option<String> {
    let ecn = packet.view().ecn();
    if ecn == Ecn::NotCapable {
        return None;
    }
    packet.set_ecn(Ecn::NotCapable);
    Some(format!("ECN field cleared, which was {}", ecn as u8))
}

#[cfg(test)]
mod tests {
    use roundtrip_wire::packet::{Ecn, Packet, PacketMut};

    use super::super::trial::{ACK, Trial, segment, segment_v6};
    use crate::direction::Direction;

    #[test]
    fn the_marks_go_and_the_class_stays() {
        let mut bleach = Trial::parse("bleach-ecn");
        for way in Direction::BOTH {
            for mut ip in [
                segment(way, ACK, &[], b"x"),
                segment_v6(way, ACK, &[], b"x"),
            ] {
                bleach.passes_untouched(way, 0, &ip);
                for ecn in [Ecn::Capable0, Ecn::Capable1, Ecn::CongestionExperienced] {
                    PacketMut::parse(&mut ip).unwrap().set_ecn(ecn);
                    let passed = bleach.one(way, 0, &ip);
                    let read = Packet::parse(&passed.ip).unwrap();
                    assert_eq!((read.ecn(), read.traffic_class()), (Ecn::NotCapable, 0));
                    assert_eq!(passed.remarks.len(), 1);
                }
            }
        }
    }
}
