//! A stateful firewall that forgets a connection after a silence and then no longer recognises its
//! packets: it drops them, or with `reset` answers with RST. Neither end learns when that happens
//! (RFC 5382 §5, REQ-5; RFC 4787 §4.3).

use std::time::Duration;

use roundtrip_wire::packet::{self as wire, TCP};

use super::MiddleboxKind;
use crate::direction::Direction;
use crate::flow::{Flow, FlowTable, is_syn};
use crate::hop::{Hop, HopOutput};
use crate::packet::Packet;
use roundtrip_model::parse_duration;

const NAME: &str = "idle-timeout";

pub(super) const KIND: MiddleboxKind = MiddleboxKind {
    name: NAME,
    does: "forgets a flow after TIME of silence, then drops its packets; with reset it answers with RST",
    argument: Some("TIME[,reset]"),
    make: |argument| {
        let (life, answers) = manner(argument.unwrap_or_default())?;
        Ok(Box::new(IdleTimeout {
            flows: FlowTable::default(),
            life,
            answers,
        }))
    },
};

struct IdleTimeout {
    flows: FlowTable<()>,
    life: Duration,
    /// Whether the box answers with RST.
    answers: bool,
}

fn manner(text: &str) -> Result<(Duration, bool), String> {
    let (time, answers) = match text.split_once(',') {
        None => (text, false),
        Some((time, "reset")) => (time, true),
        Some((_, other)) => {
            return Err(format!(
                "`{other}`: only `reset` can follow the time, as in {NAME}:30s,reset"
            ));
        }
    };
    Ok((parse_duration(time)?, answers))
}

impl Hop for IdleTimeout {
    fn pass(&mut self, packet: Packet, way: Direction, at: Duration, exit: &mut HopOutput) {
        let Ok(read) = wire::Packet::parse(packet.ip()) else {
            return exit.forward(packet, way, at);
        };
        if self.knows(&read, way, at) {
            exit.forward(packet, way, at);
            return;
        }
        if let Some(answer) = wire::reset(&read).filter(|_| self.answers) {
            exit.answer(
                &answer,
                way.opposite(),
                at,
                "a flow that the box has forgotten",
            );
        }
        exit.lose(packet, way, NAME);
    }
}

impl IdleTimeout {
    /// Whether the packet's flow is known by now. True for packets without a flow: errors,
    /// fragments, other protocols.
    fn knows(&mut self, packet: &wire::Packet<'_>, way: Direction, at: Duration) -> bool {
        let Some(flow) = Flow::from_packet(packet, way) else {
            return true;
        };
        if self.flows.seen(&flow, at, self.life).is_some() {
            return true;
        }
        // TCP connections begin with a SYN, other flows with any packet of the client.
        let begins = match packet.tcp() {
            Some(segment) => is_syn(&segment),
            None => way == Direction::Up && flow.protocol != TCP,
        };
        if begins {
            self.flows.remember(flow, (), at);
        }
        begins
    }
}

#[cfg(test)]
mod tests {
    use roundtrip_wire::packet::{Flags, Packet};

    use super::super::trial::{ACK, SYN, SYN_ACK, Trial, assert_right, data, datagram, segment};
    use crate::direction::Direction;
    use crate::middlebox::Middlebox;

    const UP: Direction = Direction::Up;
    const DOWN: Direction = Direction::Down;

    #[test]
    fn a_connection_is_forgotten_after_silence_until_its_next_syn() {
        let mut wall = Trial::parse("idle-timeout:1s");
        wall.loses(UP, 0, &data(UP, 0, b"never began"), super::NAME);
        wall.passes_untouched(UP, 0, &segment(UP, SYN, &[], b""));
        wall.passes_untouched(DOWN, 1000, &segment(DOWN, SYN_ACK, &[], b""));
        wall.passes_untouched(UP, 2000, &segment(UP, ACK, &[], b""));
        wall.loses(UP, 3001, &data(UP, 0, b"too late"), super::NAME);
        wall.loses(DOWN, 3002, &data(DOWN, 0, b"unknown"), super::NAME);
        wall.passes_untouched(UP, 3003, &segment(UP, SYN, &[], b""));
        wall.passes_untouched(DOWN, 3004, &segment(DOWN, SYN_ACK, &[], b""));
    }

    #[test]
    fn datagrams_begin_with_the_client() {
        let mut wall = Trial::parse("idle-timeout:1s");
        for is_v6 in [false, true] {
            let [asked, answered] = [UP, DOWN].map(|way| datagram(way, is_v6, 443, b"?"));
            wall.loses(DOWN, 0, &answered, super::NAME);
            wall.passes_untouched(UP, 0, &asked);
            wall.passes_untouched(DOWN, 900, &answered);
            wall.loses(DOWN, 2000, &answered, super::NAME);
            wall.passes_untouched(UP, 2000, &asked);
        }
    }

    #[test]
    fn with_reset_the_sender_gets_a_reset() {
        let mut wall = Trial::parse("idle-timeout:1s,reset");
        wall.passes_untouched(UP, 0, &segment(UP, SYN, &[], b""));
        let (answers, lost) = wall.send(UP, 1001, &data(UP, 0, b"too late"));
        assert_eq!((answers.len(), &lost[..]), (1, &[super::NAME][..]));
        assert_eq!((answers[0].way, answers[0].ms), (DOWN, 1001));
        assert_right(&answers[0].ip);
        let reset = Packet::parse(&answers[0].ip).unwrap().tcp().unwrap();
        assert_eq!((reset.flags(), reset.sequence()), (Flags::RST, 2000));
    }

    #[test]
    fn the_time_must_be_valid() {
        for text in ["idle-timeout", "idle-timeout:soon", "idle-timeout:1s,loud"] {
            assert!(text.parse::<Middlebox>().is_err(), "{text}");
        }
    }
}
