//! A network that delivers SYNs twice. With fast open, a server may thus get a request twice: a
//! copy that arrives after the connection has ended opens another one (RFC 7413 §6.1).

use std::time::Duration;

use roundtrip_wire::packet as wire;

use super::MiddleboxKind;
use crate::direction::Direction;
use crate::flow::is_syn;
use crate::hop::{Hop, HopOutput};
use crate::packet::Packet;
use roundtrip_model::parse_duration;

pub(super) const KIND: MiddleboxKind = MiddleboxKind {
    name: "duplicate-syn",
    does: "delivers each SYN with its data twice: the copy follows at once, or TIME later",
    argument: Some("[TIME]"),
    make: |argument| {
        let later = argument.map(parse_duration).transpose()?;
        Ok(Box::new(DuplicateSyn {
            later: later.unwrap_or_default(),
        }))
    },
};

struct DuplicateSyn {
    later: Duration,
}

impl Hop for DuplicateSyn {
    fn pass(&mut self, packet: Packet, way: Direction, at: Duration, exit: &mut HopOutput) {
        let segment = wire::Packet::parse(packet.ip()).ok();
        let segment = segment.and_then(|packet| packet.tcp());
        let twin = segment
            .is_some_and(|segment| is_syn(&segment))
            .then(|| packet.twin());
        exit.forward(packet, way, at);
        if let Some(mut twin) = twin {
            twin.remark(|| "the path's own copy of a SYN".into());
            exit.forward(twin, way, at + self.later);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{ACK, SYN, SYN_ACK, Trial, segment};
    use crate::direction::Direction;

    #[test]
    fn a_syn_comes_twice_and_nothing_else_does() {
        for (text, later) in [("duplicate-syn", 0), ("duplicate-syn:30ms", 30)] {
            let mut twice = Trial::parse(text);
            let syn = segment(Direction::Up, SYN, &[], b"early");
            let (passed, lost) = twice.send(Direction::Up, 5, &syn);
            assert!(lost.is_empty());
            let times: Vec<u64> = passed.iter().map(|passed| passed.ms).collect();
            assert_eq!(times, [5, 5 + later]);
            assert!(passed.iter().all(|passed| passed.ip == syn));
            let remarks: Vec<usize> = passed.iter().map(|passed| passed.remarks.len()).collect();
            assert_eq!(remarks, [0, 1]);
            for flags in [SYN_ACK, ACK] {
                let other = segment(Direction::Down, flags, &[], b"");
                twice.passes_untouched(Direction::Down, 5, &other);
            }
        }
    }
}
