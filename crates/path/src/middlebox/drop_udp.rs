//! A box that drops all UDP, or UDP to and from one port: `drop-udp:443` is how many companies
//! block QUIC.

use roundtrip_wire::packet::{Packet, UDP};

use super::MiddleboxKind;
use super::filter::FilterHop;

const NAME: &str = "drop-udp";

pub(super) const KIND: MiddleboxKind = MiddleboxKind {
    name: NAME,
    does: "drops all UDP, or UDP to and from PORT: 443 is QUIC",
    argument: Some("[PORT]"),
    make: |argument| {
        let only = argument.map(port).transpose()?;
        Ok(Box::new(FilterHop {
            cause: NAME,
            unwanted: move |packet: &Packet<'_>, _, _| is_unwanted(packet, only),
        }))
    },
};

fn port(text: &str) -> Result<u16, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is not a port; write it like {NAME}:443"))
}

/// Whether to drop a packet. Later fragments have no port; without the first one they are useless.
fn is_unwanted(packet: &Packet<'_>, only: Option<u16>) -> bool {
    match only {
        Some(port) => {
            let ports = packet.ports().filter(|_| packet.protocol() == UDP);
            ports.is_some_and(|(from, to)| from == port || to == port)
        }
        None => packet.protocol() == UDP,
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{SYN, Trial, datagram, segment};
    use crate::direction::Direction;
    use crate::middlebox::Middlebox;

    #[test]
    fn all_udp_or_one_port_in_both_directions() {
        let (mut all, mut quic) = (Trial::parse("drop-udp"), Trial::parse("drop-udp:443"));
        for way in Direction::BOTH {
            for is_v6 in [false, true] {
                let (dns, h3) = (
                    datagram(way, is_v6, 53, b"?"),
                    datagram(way, is_v6, 443, b"?"),
                );
                all.loses(way, 0, &dns, "drop-udp");
                all.loses(way, 0, &h3, "drop-udp");
                quic.loses(way, 0, &h3, "drop-udp");
                quic.passes_untouched(way, 0, &dns);
            }
            all.passes_untouched(way, 0, &segment(way, SYN, &[], b""));
            quic.passes_untouched(way, 0, &segment(way, SYN, &[], b""));
        }
    }

    #[test]
    fn a_port_is_a_number() {
        let error = "drop-udp:quic".parse::<Middlebox>().unwrap_err();
        assert!(error.contains("drop-udp:443"), "{error}");
    }
}
