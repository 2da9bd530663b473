//! The ring compared with the simplest bookkeeping: a tree of packets, searched each time.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    /// A burst of packets: for each, its stream, or `None` if it elicits nothing.
    Send(Vec<Option<u32>>),
    /// Acknowledges the numbers whose bit is set, counting down from `below` below the newest.
    Ack {
        below: u64,
        bits: u64,
    },
    Wait(u64),
    TimeOut,
}

fn step() -> impl Strategy<Value = Step> {
    let packet = prop_oneof![6 => Just(Some(0_u32)), 2 => Just(Some(1)), 1 => Just(None)];
    prop_oneof![
        4 => prop::collection::vec(packet, 1..40).prop_map(Step::Send),
        5 => (0_u64..12, any::<u64>(), any::<u64>(), any::<bool>())
            .prop_map(|(below, a, b, dense)| Step::Ack { below, bits: if dense { a | b } else { a } }),
        2 => (1_u64..60).prop_map(Step::Wait),
        1 => Just(Step::TimeOut),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Outstanding,
    Lost,
    Acked,
}

#[derive(Debug, Clone, Copy)]
struct Packet {
    sent: Time,
    /// Stream and offset; each packet carries one byte.
    content: Option<(u32, u64)>,
    state: State,
}

struct Pair {
    rig: Rig,
    packets: BTreeMap<u64, Packet>,
    offsets: [u64; 2],
    largest: Option<u64>,
}

impl Pair {
    fn send(&mut self, contents: &[Option<u32>]) {
        self.rig.recovery.begin_burst(self.rig.now);
        for slot in contents {
            let content = slot.map(|slot| {
                let offset = &mut self.offsets[slot as usize];
                *offset += 1;
                (slot, *offset - 1)
            });
            let chunk = content.map(|(slot, offset)| Chunk {
                slot,
                offset,
                length: 1,
                fin: false,
            });
            let items = [SentFrame::Ack { largest: 0 }];
            let items = if chunk.is_some() { &[][..] } else { &items };
            let number = self.rig.put(Space::Data, chunk, items, chunk.is_some());
            let packet = Packet {
                sent: self.rig.now,
                content,
                state: State::Outstanding,
            };
            assert!(self.packets.insert(number, packet).is_none());
        }
    }

    fn ack(&mut self, below: u64, bits: u64) {
        let Some(newest) = self.packets.keys().next_back().copied() else {
            return;
        };
        let numbers: BTreeSet<u64> = (0..64)
            .filter(|bit| bits >> bit & 1 == 1)
            .filter_map(|bit| newest.checked_sub(below + bit))
            .filter(|number| self.packets.contains_key(number))
            .collect();
        let Some(highest) = numbers.last().copied() else {
            return;
        };
        let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
        for number in numbers.iter().rev() {
            match ranges.last_mut() {
                Some(range) if *range.start() == number + 1 => *range = *number..=*range.end(),
                _ => ranges.push(*number..=*number),
            }
        }
        self.rig.ack(&ranges);
        self.largest = self.largest.max(Some(highest));
        let mut acked = Vec::new();
        let mut late = BTreeSet::new();
        let mut settles = self.rig.feedback.spurious > 0;
        for number in &numbers {
            let packet = self.packets.get_mut(number).unwrap();
            match packet.state {
                State::Outstanding => acked.extend(packet.content),
                State::Lost => late.extend(packet.content),
                State::Acked => {}
            }
            settles |= packet.state == State::Outstanding;
            packet.state = State::Acked;
        }
        let told = contents(&self.rig.feedback.acked);
        let acked: BTreeSet<_> = acked.into_iter().collect();
        assert!(told.is_superset(&acked), "{told:?} {acked:?}");
        // What was lost long ago may be forgotten; nothing else is reported.
        let more: BTreeSet<_> = told.difference(&acked).copied().collect();
        assert!(more.is_subset(&late), "{more:?} {late:?}");
        // A frame without news does not trigger loss detection. RFC 9002 §A.7.
        if settles {
            self.check_losses();
        } else {
            assert_eq!(self.rig.feedback.lost, []);
        }
    }

    /// RFC 9002 §6.1, taken literally; the thresholds are the current ones.
    fn check_losses(&mut self) {
        let delay = self.rig.recovery.loss_delay();
        let threshold = self.rig.recovery.reordering.threshold;
        let mut lost = BTreeSet::new();
        let largest = self.largest.unwrap_or(0);
        for (number, packet) in &mut self.packets {
            let late = largest >= number + threshold || packet.sent.after(delay) <= self.rig.now;
            if packet.state == State::Outstanding && *number < largest && late {
                packet.state = State::Lost;
                lost.extend(packet.content);
            }
        }
        assert_eq!(contents(&self.rig.feedback.lost), lost);
        let outstanding = |p: &&Packet| p.state == State::Outstanding && p.content.is_some();
        let in_flight = self.packets.values().filter(outstanding).count();
        assert_eq!(
            self.rig.recovery.in_flight(),
            in_flight as u64 * u64::from(SIZE)
        );
        assert_eq!(self.rig.recovery.spaces[2].eliciting, in_flight as u64);
    }

    fn time_out(&mut self) {
        let loss = self.rig.recovery.reordering.loss_times[2];
        if loss.is_some_and(|due| due <= self.rig.now) {
            self.rig.time_out();
            self.check_losses();
        }
    }
}

/// The bytes as a set of streams and offsets; checks that none is reported twice at once.
fn contents(chunks: &[Chunk]) -> BTreeSet<(u32, u64)> {
    let each = |chunk: &Chunk| {
        let (slot, offset) = (chunk.slot, chunk.offset);
        (0..u64::from(chunk.length)).map(move |n| (slot, offset + n))
    };
    let all: Vec<_> = chunks.iter().flat_map(each).collect();
    let set: BTreeSet<_> = all.iter().copied().collect();
    assert_eq!(all.len(), set.len());
    set
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn the_ring_agrees_with_a_tree(steps in prop::collection::vec(step(), 1..80)) {
        let mut pair = Pair {
            rig: Rig::new(),
            packets: BTreeMap::new(),
            offsets: [0; 2],
            largest: None,
        };
        for step in steps {
            match step {
                Step::Send(contents) => pair.send(&contents),
                Step::Ack { below, bits } => pair.ack(below, bits),
                Step::Wait(span) => pair.rig.wait(ms(span)),
                Step::TimeOut => pair.time_out(),
            }
        }
    }
}
