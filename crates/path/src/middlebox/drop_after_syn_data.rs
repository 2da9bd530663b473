//! A box that lets a fast-opened handshake pass and drops the rest of the connection, because the
//! handshake did not begin as the box expects. Linux calls this a fast-open black hole
//! (tcp_fastopen_blackhole_timeout_sec in ip-sysctl.rst).

use std::time::Duration;

use roundtrip_wire::packet::{Flags, Packet};

use super::MiddleboxKind;
use super::filter::FilterHop;
use crate::direction::Direction;
use crate::flow::{Flow, FlowTable, is_syn};

const NAME: &str = "drop-after-syn-data";

/// How long a flow is remembered: longer than any client keeps trying.
const LIFE: Duration = Duration::from_mins(30);

pub(super) const KIND: MiddleboxKind = MiddleboxKind {
    name: NAME,
    does: "lets a SYN with data and its answer pass, then drops the rest of the connection",
    argument: None,
    make: |_| {
        let mut opened = FlowTable::default();
        Ok(Box::new(FilterHop {
            cause: NAME,
            unwanted: move |packet: &Packet<'_>, way, at| is_unwanted(packet, way, at, &mut opened),
        }))
    },
};

fn is_unwanted(
    packet: &Packet<'_>,
    way: Direction,
    at: Duration,
    opened: &mut FlowTable<()>,
) -> bool {
    let Some((flow, segment)) = Flow::from_packet(packet, way).zip(packet.tcp()) else {
        return false;
    };
    if is_syn(&segment) && !segment.payload().is_empty() {
        opened.remember(flow, (), at);
    }
    !segment.flags().contains(Flags::SYN) && opened.seen(&flow, at, LIFE).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::trial::{ACK, SYN, SYN_ACK, Trial, data, segment};
    use crate::direction::Direction;

    #[test]
    fn packets_after_a_syn_with_data_are_dropped_both_ways() {
        let (up, down) = (Direction::Up, Direction::Down);
        let mut hole = Trial::parse(super::NAME);
        hole.passes_untouched(up, 0, &segment(up, SYN, &[], b""));
        hole.passes_untouched(up, 1, &data(up, 0, b"plain"));
        hole.passes_untouched(up, 2, &segment(up, SYN, &[], b"early"));
        hole.passes_untouched(down, 3, &segment(down, SYN_ACK, &[], b""));
        hole.loses(up, 4, &segment(up, ACK, &[], b""), super::NAME);
        hole.loses(down, 4, &data(down, 0, b"answer"), super::NAME);
        // The SYN again, without data this time.
        hole.passes_untouched(up, 5, &segment(up, SYN, &[], b""));
    }
}
