//! A box that mistakes the first segment for the whole ClientHello, like those listed on tldr.fail:
//! since post-quantum key shares made ClientHellos longer than a segment, connections through it
//! hang. The first segment passes; segments with the rest of the ClientHello are dropped,
//! retransmissions included.

use std::time::Duration;

use roundtrip_wire::packet::{Packet, Tcp};

use super::MiddleboxKind;
use super::filter::FilterHop;
use crate::direction::Direction;
use crate::flow::{Flow, FlowTable, is_syn};
use crate::hello;

const NAME: &str = "drop-split-hello";

/// How long a flow is remembered: longer than any client keeps trying.
const LIFE: Duration = Duration::from_mins(30);

pub(super) const KIND: MiddleboxKind = MiddleboxKind {
    name: NAME,
    does: "drops the second segment of a TLS ClientHello that needs two, and its retransmissions",
    argument: None,
    make: |_| {
        let mut hellos = FlowTable::default();
        Ok(Box::new(FilterHop {
            cause: NAME,
            unwanted: move |packet: &Packet<'_>, way, at| {
                way == Direction::Up && is_unwanted(packet, at, &mut hellos)
            },
        }))
    },
};

/// A ClientHello whose first segment does not contain all of it.
struct Split {
    sequence: u32,
    length: usize,
}

fn is_unwanted(packet: &Packet<'_>, at: Duration, hellos: &mut FlowTable<Split>) -> bool {
    let Some((flow, segment)) = Flow::from_packet(packet, Direction::Up).zip(packet.tcp()) else {
        return false;
    };
    let (payload, sequence) = (segment.payload(), first_byte(&segment));
    if payload.is_empty() {
        return false;
    }
    if let Some(length) = hello::declared_length(payload) {
        if length > payload.len() {
            hellos.remember(flow, Split { sequence, length }, at);
        } else {
            hellos.forget(&flow);
        }
        return false;
    }
    hellos.seen(&flow, at, LIFE).is_some_and(|hello| {
        let offset = sequence.wrapping_sub(hello.sequence);
        offset > 0 && (offset as usize) < hello.length
    })
}

/// The sequence number of the first byte of data; a SYN takes one number itself (RFC 9293 §3.4).
fn first_byte(segment: &Tcp<'_>) -> u32 {
    segment.sequence().wrapping_add(u32::from(is_syn(segment)))
}

#[cfg(test)]
mod tests {
    use super::super::trial::{SYN, Trial, data, segment};
    use crate::direction::Direction;
    use crate::hello::examples::client_hello;

    #[test]
    fn the_rest_of_a_split_hello_is_dropped_each_time() {
        let up = Direction::Up;
        let mut filter = Trial::parse(super::NAME);
        let hello = client_hello(&[0x0304], 1500);
        let (first, second) = hello.split_at(1400);
        for _ in 0..2 {
            filter.passes_untouched(up, 0, &data(up, 0, first));
            filter.loses(up, 0, &data(up, 1400, second), super::NAME);
            // The segment is cut at another place when it is sent again.
            filter.loses(up, 0, &data(up, 1450, &second[50..]), super::NAME);
        }
        // Data behind the ClientHello, and the other direction.
        filter.passes_untouched(up, 0, &data(up, hello.len(), b"later"));
        filter.passes_untouched(Direction::Down, 0, &data(Direction::Down, 1400, second));
    }

    #[test]
    fn a_syn_with_the_first_part_counts_as_a_segment() {
        let up = Direction::Up;
        let mut filter = Trial::parse(super::NAME);
        let hello = client_hello(&[0x0304], 1500);
        filter.passes_untouched(up, 0, &segment(up, SYN, &[], &hello[..1300]));
        filter.loses(up, 0, &data(up, 1300, &hello[1300..]), super::NAME);
    }

    #[test]
    fn a_hello_in_one_segment_passes_with_later_data() {
        let up = Direction::Up;
        let mut filter = Trial::parse(super::NAME);
        let hello = client_hello(&[0x0304], 100);
        filter.passes_untouched(up, 0, &data(up, 0, &hello));
        filter.passes_untouched(up, 0, &data(up, hello.len(), b"\x14\x03\x03\0\x01\x01"));
        filter.passes_untouched(up, 0, &data(up, 10, b"GET / HTTP/1.1"));
    }
}
