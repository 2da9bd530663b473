//! A firewall that sends RST in the server's name: to each SYN, to the first data, or to a
//! ClientHello that offers TLS 1.3. It also resets the server's side of the connection.

use std::time::Duration;

use roundtrip_wire::packet::{self as wire, Flags, IpHeader, TCP, Tcp};

use super::MiddleboxKind;
use crate::direction::Direction;
use crate::flow::{Flow, FlowTable, is_syn};
use crate::hello;
use crate::hop::{Hop, HopOutput};
use crate::packet::Packet;

const NAME: &str = "reset";

/// The longest ClientHello that is collected, in bytes, and the time for which it is kept.
const MAX_HELLO_BYTES: usize = 16_384;
const LIFE: Duration = Duration::from_mins(1);

pub(super) const KIND: MiddleboxKind = MiddleboxKind {
    name: NAME,
    does: "answers each SYN with RST; with data, the first data; with tls13, a ClientHello that offers TLS 1.3",
    argument: Some("[syn|data|tls13]"),
    make: |argument| {
        let trigger = match argument.unwrap_or("syn") {
            "syn" => Trigger::Syn,
            "data" => Trigger::Data,
            "tls13" => Trigger::Tls13(FlowTable::default()),
            other => {
                return Err(format!(
                    "`{other}` is not a trigger for a reset; write syn, data or tls13, as in {NAME}:data"
                ));
            }
        };
        Ok(Box::new(Reset(trigger)))
    },
};

struct Reset(Trigger);

enum Trigger {
    Syn,
    Data,
    Tls13(FlowTable<Gathered>),
}

/// The beginning of a ClientHello, and the sequence number of its next byte.
struct Gathered {
    stream: Vec<u8>,
    next: u32,
}

impl Hop for Reset {
    fn pass(&mut self, packet: Packet, way: Direction, at: Duration, exit: &mut HopOutput) {
        let read = wire::Packet::parse(packet.ip()).ok();
        let read = read.filter(|_| way == Direction::Up);
        let Some((read, segment)) = read.and_then(|read| Some((read, read.tcp()?))) else {
            return exit.forward(packet, way, at);
        };
        if !self.0.observe(&read, &segment, at) {
            exit.forward(packet, way, at);
            return;
        }
        let why = "sent in the other side's name by a box on the path";
        if let Some(reset) = wire::reset(&read) {
            exit.answer(&reset, way.opposite(), at, why);
        }
        // After a SYN, the server does not know the connection yet.
        if let Some(reset) = in_the_name_of(&read, &segment).filter(|_| !is_syn(&segment)) {
            exit.answer(&reset, way, at, why);
        }
        exit.lose(packet, way, NAME);
    }
}

impl Trigger {
    /// Reads a segment, and returns whether it is one to reset.
    fn observe(&mut self, packet: &wire::Packet<'_>, segment: &Tcp<'_>, at: Duration) -> bool {
        match self {
            Self::Syn => is_syn(segment),
            Self::Data => !segment.payload().is_empty(),
            Self::Tls13(hellos) => {
                let flow = Flow::from_packet(packet, Direction::Up);
                flow.is_some_and(|flow| completes_tls13(hellos, flow, segment, at))
            }
        }
    }
}

/// Whether this segment completes a ClientHello that offers TLS 1.3.
fn completes_tls13(
    hellos: &mut FlowTable<Gathered>,
    flow: Flow,
    segment: &Tcp<'_>,
    at: Duration,
) -> bool {
    let (payload, syn) = (segment.payload(), u32::from(is_syn(segment)));
    // RFC 9293 §3.4: a SYN takes a sequence number itself.
    let first = segment.sequence().wrapping_add(syn);
    let next = first.wrapping_add(payload.len() as u32);
    let stream = match hellos.take(&flow, at, LIFE) {
        Some(mut begun) if begun.next == first => {
            begun.stream.extend(payload);
            begun.stream
        }
        _ if hello::declared_length(payload).is_some_and(|length| length <= MAX_HELLO_BYTES) => {
            payload.to_vec()
        }
        // A pure acknowledgement, or out of order: nothing changes.
        Some(begun) => {
            hellos.remember(flow, begun, at);
            return false;
        }
        None => return false,
    };
    match hello::offers_tls13(&stream) {
        Some(offers) => offers,
        None if stream.len() > MAX_HELLO_BYTES => false,
        None => {
            hellos.remember(flow, Gathered { stream, next }, at);
            false
        }
    }
}

/// A reset as the sender of the segment would send it.
fn in_the_name_of(packet: &wire::Packet<'_>, segment: &Tcp<'_>) -> Option<Vec<u8>> {
    let mut reset = Vec::with_capacity(20);
    reset.extend(segment.source_port().to_be_bytes());
    reset.extend(segment.destination_port().to_be_bytes());
    reset.extend(segment.sequence().to_be_bytes());
    reset.extend(segment.acknowledgment().to_be_bytes());
    // Five words of header, no window, no urgent data; the checksum is computed last.
    reset.extend([5 << 4, 0, 0, 0, 0, 0, 0, 0]);
    let envelope = IpHeader::new(packet.source(), packet.destination(), TCP);
    let mut composed = wire::compose(&envelope, &reset).ok()?;
    let mut change = wire::PacketMut::parse(&mut composed).ok()?;
    change
        .set_tcp_flags(Flags::RST | Flags::ACK)
        .then_some(composed)
}

#[cfg(test)]
mod tests {
    use roundtrip_wire::packet::{Flags, Packet};

    use super::super::trial::{
        ACK, PassedPacket, SYN, SYN_ACK, Trial, assert_right, data, segment, segment_v6,
    };
    use crate::direction::Direction;
    use crate::hello::examples::client_hello;
    use crate::middlebox::Middlebox;

    const UP: Direction = Direction::Up;
    const DOWN: Direction = Direction::Down;

    /// Flags, sequence and acknowledgment of a reset.
    fn read(passed: &PassedPacket) -> (Direction, Flags, u32, u32) {
        assert_right(&passed.ip);
        assert!(!passed.remarks.is_empty());
        let segment = Packet::parse(&passed.ip).unwrap().tcp().unwrap();
        let numbers = (segment.sequence(), segment.acknowledgment());
        (passed.way, segment.flags(), numbers.0, numbers.1)
    }

    fn resets(firewall: &mut Trial, ip: &[u8]) -> Vec<(Direction, Flags, u32, u32)> {
        let (answers, lost) = firewall.send(UP, 0, ip);
        assert_eq!(lost, ["reset"]);
        answers.iter().map(read).collect()
    }

    #[test]
    fn a_syn_is_refused() {
        let mut firewall = Trial::parse("reset");
        for syn in [segment(UP, SYN, &[], b""), segment_v6(UP, SYN, &[], b"")] {
            let refused = (DOWN, Flags::RST | Flags::ACK, 0, 1001);
            assert_eq!(resets(&mut firewall, &syn), [refused]);
        }
        firewall.passes_untouched(DOWN, 0, &segment(DOWN, SYN, &[], b""));
        firewall.passes_untouched(DOWN, 0, &segment(DOWN, SYN_ACK, &[], b""));
        firewall.passes_untouched(UP, 0, &segment(UP, ACK, &[], b""));
    }

    #[test]
    fn data_resets_both_sides() {
        let mut firewall = Trial::parse("reset:data");
        firewall.passes_untouched(UP, 0, &segment(UP, SYN, &[], b""));
        firewall.passes_untouched(UP, 0, &segment(UP, ACK, &[], b""));
        let both = [
            (DOWN, Flags::RST, 2000, 0),
            (UP, Flags::RST | Flags::ACK, 1001, 2000),
        ];
        assert_eq!(resets(&mut firewall, &data(UP, 0, b"GET")), both);
        firewall.passes_untouched(DOWN, 0, &data(DOWN, 0, b"banner"));
        let early = segment(UP, SYN, &[], b"early");
        let refused = (DOWN, Flags::RST | Flags::ACK, 0, 1006);
        assert_eq!(resets(&mut firewall, &early), [refused]);
    }

    #[test]
    fn tls13_is_found_in_one_segment_or_two() {
        let mut firewall = Trial::parse("reset:tls13");
        firewall.passes_untouched(UP, 0, &data(UP, 0, &client_hello(&[0x0303], 9)));
        firewall.passes_untouched(UP, 0, &data(UP, 0, b"GET / HTTP/1.1"));
        let hello = client_hello(&[0x0304, 0x0303], 1500);
        assert_eq!(resets(&mut firewall, &data(UP, 0, &hello)).len(), 2);
        let (first, second) = hello.split_at(1400);
        firewall.passes_untouched(UP, 0, &data(UP, 0, first));
        firewall.passes_untouched(UP, 0, &segment(UP, ACK, &[], b""));
        let second = data(UP, 1400, second);
        assert_eq!(resets(&mut firewall, &second).len(), 2);
        // It has forgotten the connection.
        firewall.passes_untouched(UP, 0, &second);
    }

    #[test]
    fn it_answers_only_its_triggers() {
        let error = "reset:quic".parse::<Middlebox>().unwrap_err();
        assert!(error.contains("reset:data"), "{error}");
    }
}
