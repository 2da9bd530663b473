//! Loses packets: at random, in bursts, by number, or by their content.

use std::time::Duration;

use roundtrip_wire::packet::{self as wire, Flags};

use super::{Hop, HopOutput};
use crate::direction::Direction;
use crate::flow::is_syn;
use crate::hello;
use crate::link::{Loss, LossTarget};
use crate::packet::Packet;
use roundtrip_model::Random;

pub(crate) struct LossHop {
    rules: Vec<Rule>,
    /// The number of packets so far; the first has number 1.
    number: u64,
}

/// A [`Loss`] with its state.
struct Rule {
    loss: Loss,
    random: Random,
    in_burst: bool,
    done: u32,
}

impl LossHop {
    pub(crate) fn new(losses: &[Loss], random: &mut Random) -> Self {
        let rule = |loss: &Loss| Rule {
            loss: loss.clone(),
            random: Random::seeded(random.next_u64()),
            in_burst: false,
            done: 0,
        };
        Self {
            rules: losses.iter().map(rule).collect(),
            number: 0,
        }
    }
}

impl Hop for LossHop {
    fn pass(&mut self, packet: Packet, way: Direction, at: Duration, exit: &mut HopOutput) {
        self.number += 1;
        let number = self.number;
        // Each rule draws a number for each packet, so that one rule's decision does not shift
        // another's numbers.
        let hits = self
            .rules
            .iter_mut()
            .filter_map(|rule| rule.strikes(number, packet.ip()));
        match hits.max() {
            Some(()) => exit.lose(packet, way, "loss"),
            None => exit.forward(packet, way, at),
        }
    }
}

impl Rule {
    fn strikes(&mut self, number: u64, ip: &[u8]) -> Option<()> {
        let hit = match &self.loss {
            Loss::Share(share) => self.random.unit() < *share,
            Loss::Bursts { share, length } => {
                // Gilbert 1960: all packets of a burst are lost; it ends after `length` packets
                // on average.
                let draw = self.random.unit();
                let enter = share / (length * (1.0 - share));
                self.in_burst = if self.in_burst {
                    draw >= 1.0 / length
                } else {
                    draw < enter
                };
                self.in_burst
            }
            Loss::Numbers(numbers) => numbers.contains(&number),
            Loss::First { what, times } => self.done < *times && what.is(ip),
        };
        self.done += u32::from(hit && matches!(self.loss, Loss::First { .. }));
        hit.then_some(())
    }
}

impl LossTarget {
    fn is(self, ip: &[u8]) -> bool {
        let packet = wire::Packet::parse(ip).ok();
        let Some(segment) = packet.and_then(|packet| packet.tcp()) else {
            return false;
        };
        let (flags, payload) = (segment.flags(), segment.payload());
        match self {
            Self::Syn => is_syn(&segment),
            Self::SynAck => flags.contains(Flags::SYN | Flags::ACK),
            Self::Fin => flags.contains(Flags::FIN),
            Self::Data => !payload.is_empty(),
            Self::LastSegment => flags.contains(Flags::PSH) && !payload.is_empty(),
            Self::ClientHello => hello::declared_length(payload).is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(loss: &str, packets: u64) -> Vec<u64> {
        let mut hop = LossHop::new(&[loss.parse().unwrap()], &mut Random::seeded(11));
        let mut exit = HopOutput::default();
        for number in 1..=packets {
            let at = Duration::from_millis(number);
            hop.pass(Packet::from_ip(&[], at), Direction::Up, at, &mut exit);
        }
        exit.losses
            .iter()
            .map(|loss| loss.packet.arrived.as_millis() as u64)
            .collect()
    }

    #[test]
    fn a_share() {
        let all = lost("5%", 10_000);
        assert!((420..580).contains(&all.len()), "{}", all.len());
        assert_eq!(all, lost("5%", 10_000));
        assert!(lost("0%", 100).is_empty());
        assert_eq!(lost("100%", 100).len(), 100);
    }

    #[test]
    fn bursts_lose_the_same_share_in_rows() {
        let all = lost("5%x4", 40_000);
        assert!((1600..2400).contains(&all.len()), "{}", all.len());
        let rows = 1 + all.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
        let length = all.len() as f64 / rows as f64;
        assert!((3.3..4.9).contains(&length), "{length}");
    }

    #[test]
    fn kinds_of_segments() {
        let segment = |flags: u8, payload: &[u8]| {
            let header = [
                0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0,
            ];
            let ends = ([198, 18, 0, 1].into(), [198, 18, 0, 2].into());
            let envelope = wire::IpHeader::new(ends.0, ends.1, wire::TCP);
            wire::compose(&envelope, &[&header[..], payload].concat()).unwrap()
        };
        let hello = hello::examples::client_hello(&[0x0304], 0);
        let of_each = [
            (LossTarget::Syn, segment(0x02, b"early")),
            (LossTarget::SynAck, segment(0x12, b"")),
            (LossTarget::Fin, segment(0x11, b"")),
            (LossTarget::Data, segment(0x10, b"middle")),
            (LossTarget::LastSegment, segment(0x18, b"last")),
            (LossTarget::ClientHello, segment(0x10, &hello)),
        ];
        let is = |target: LossTarget| of_each.each_ref().map(|(_, ip)| target.is(ip));
        assert_eq!(
            is(LossTarget::Syn),
            [true, false, false, false, false, false]
        );
        assert_eq!(
            is(LossTarget::SynAck),
            [false, true, false, false, false, false]
        );
        assert_eq!(
            is(LossTarget::Fin),
            [false, false, true, false, false, false]
        );
        assert_eq!(is(LossTarget::Data), [true, false, false, true, true, true]);
        assert_eq!(
            is(LossTarget::LastSegment),
            [false, false, false, false, true, false]
        );
        assert_eq!(
            is(LossTarget::ClientHello),
            [false, false, false, false, false, true]
        );
    }

    #[test]
    fn numbers() {
        assert_eq!(lost("nth:2+3+5", 6), [2, 3, 5]);
    }
}
