//! Any interleaving of writing, sending, losing, acknowledging, reordering, duplicating, resetting
//! and stopping: each byte comes once and in order, nothing is kept longer than necessary, and
//! memory stays within bounds.

use std::collections::BTreeMap;

use proptest::prelude::*;
use roundtrip_wire::quic::Side;

use super::super::{Dir, Read, ReadError, StreamEvent, StreamId, Streams};
use super::peer::{self, Sent};

#[derive(Debug, Default)]
struct Half {
    written: u64,
    finished: bool,
    reset: bool,
    read: u64,
    ended: bool,
    stopped: bool,
    reset_seen: bool,
    told_finished: u32,
}

#[derive(Debug)]
struct Flight {
    sent: Sent,
    delivered: bool,
    acked: bool,
}

#[derive(Debug)]
struct World {
    ends: [Streams; 2],
    flights: [Vec<Flight>; 2],
    /// The halves of all streams, by writer and stream.
    halves: BTreeMap<(usize, StreamId), Half>,
    /// The streams that each end knows: opened by itself, or accepted.
    known: [Vec<StreamId>; 2],
}

const SIDES: [Side; 2] = [Side::Client, Side::Server];

impl World {
    fn new() -> Self {
        Self {
            ends: peer::pair(&peer::transport()),
            flights: Default::default(),
            halves: BTreeMap::new(),
            known: Default::default(),
        }
    }

    fn step(&mut self, end: usize, kind: u8, pick: usize, amount: u16) {
        match kind {
            0..=1 => self.open(end, pick),
            2..=5 => self.write(end, pick, amount),
            6 => self.finish(end, pick),
            7 => self.cut(end, pick, amount),
            8..=12 => self.send(end, usize::from(amount)),
            13..=17 => self.deliver(end, pick),
            18..=20 => self.acknowledge(end, pick),
            21..=22 => self.lose(end, pick),
            _ => self.read(end, pick, usize::from(amount)),
        }
        self.ends.iter().for_each(Streams::check);
    }

    fn open(&mut self, end: usize, pick: usize) {
        let dir = if pick.is_multiple_of(3) {
            Dir::Uni
        } else {
            Dir::Bidi
        };
        let ids = [self.ends[end].open(dir), self.ends[end].accept(dir)];
        for id in ids.into_iter().flatten() {
            self.known[end].push(id);
        }
    }

    fn pick(&self, end: usize, pick: usize) -> Option<StreamId> {
        let known = &self.known[end];
        (!known.is_empty()).then(|| known[pick % known.len()])
    }

    fn half(&mut self, writer: usize, id: StreamId) -> &mut Half {
        self.halves.entry((writer, id)).or_default()
    }

    fn write(&mut self, end: usize, pick: usize, amount: u16) {
        let Some(id) = self.pick(end, pick) else {
            return;
        };
        let is_open = (id.is_bidi() || id.is_opened_by(SIDES[end])) && {
            let half = self.half(end, id);
            !half.finished && !half.reset
        };
        let from = if is_open {
            self.half(end, id).written
        } else {
            0
        };
        let data = peer::bytes(SIDES[end], id, from, usize::from(amount));
        match self.ends[end].write(id, data) {
            Ok(taken) => {
                assert!(is_open && taken <= usize::from(amount));
                self.half(end, id).written += taken as u64;
            }
            Err(_) => assert!(!is_open),
        }
    }

    fn finish(&mut self, end: usize, pick: usize) {
        let Some(id) = self.pick(end, pick) else {
            return;
        };
        if self.ends[end].finish(id).is_ok() {
            self.half(end, id).finished = true;
        }
    }

    /// Resets this end's sending half, or stops the peer's.
    fn cut(&mut self, end: usize, pick: usize, amount: u16) {
        let Some(id) = self.pick(end, pick) else {
            return;
        };
        if amount.is_multiple_of(2) {
            if self.ends[end].reset(id, u64::from(amount)).is_ok() {
                self.half(end, id).reset = true;
            }
        } else if self.ends[end].stop(id, u64::from(amount)).is_ok() {
            self.half(1 - end, id).stopped = true;
        }
    }

    fn send(&mut self, end: usize, room: usize) {
        if let Some(sent) = peer::send(&mut self.ends[end], 40 + room % 700) {
            self.flights[end].push(Flight {
                sent,
                delivered: false,
                acked: false,
            });
        }
    }

    /// Delivers any packet that was ever sent, possibly for the second time.
    fn deliver(&mut self, end: usize, pick: usize) {
        let count = self.flights[end].len();
        if let Some(flight) = self.flights[end].get_mut(pick % count.max(1)) {
            flight.delivered = true;
            peer::deliver(&mut self.ends[1 - end], &flight.sent.payload).unwrap();
            self.hear(1 - end);
        }
    }

    fn acknowledge(&mut self, end: usize, pick: usize) {
        let count = self.flights[end].len();
        if let Some(flight) = self.flights[end].get_mut(pick % count.max(1))
            && flight.delivered
        {
            flight.acked = true;
            peer::acked(&mut self.ends[end], &flight.sent);
            self.hear(end);
        }
    }

    /// Declares a packet lost, rightly or not.
    fn lose(&mut self, end: usize, pick: usize) {
        let count = self.flights[end].len();
        if let Some(flight) = self.flights[end].get(pick % count.max(1))
            && !flight.acked
        {
            peer::lost(&mut self.ends[end], &flight.sent);
        }
    }

    fn hear(&mut self, end: usize) {
        for event in peer::events(&mut self.ends[end]) {
            match event {
                StreamEvent::Finished(id) => self.half(end, id).told_finished += 1,
                StreamEvent::Stopped(id, _) => self.half(end, id).reset = true,
                _ => {}
            }
        }
    }

    fn read(&mut self, end: usize, pick: usize, amount: usize) {
        let Some(id) = self.pick(end, pick) else {
            return;
        };
        let mut into = vec![0; amount % 900 + 1];
        match self.ends[end].read(id, &mut into) {
            Ok(Read::Bytes(count)) => {
                let half = self.half(1 - end, id);
                assert!(!half.ended && !half.reset_seen && !half.stopped);
                let from = half.read;
                half.read += count as u64;
                assert!(half.read <= half.written);
                let expected = peer::bytes(SIDES[1 - end], id, from, count);
                assert_eq!(into[..count], expected);
            }
            Ok(Read::End) => {
                let half = self.half(1 - end, id);
                assert!(half.finished && !half.ended && half.read == half.written);
                half.ended = true;
            }
            Err(ReadError::Reset(_)) => {
                let half = self.half(1 - end, id);
                assert!(half.reset && !half.reset_seen);
                half.reset_seen = true;
            }
            Ok(Read::Blocked) | Err(ReadError::Unknown) => {}
        }
    }

    /// Loses everything still in flight; then loses nothing more, and reads everything.
    fn come_to_rest(&mut self) {
        for end in [0, 1] {
            for flight in std::mem::take(&mut self.flights[end]) {
                if !flight.acked {
                    peer::lost(&mut self.ends[end], &flight.sent);
                }
            }
        }
        while self.move_on(0) | self.move_on(1) {}
    }

    /// Lets one end send. Returns whether anything was sent.
    fn move_on(&mut self, end: usize) -> bool {
        for dir in Dir::ALL {
            while let Some(id) = self.ends[end].accept(dir) {
                self.known[end].push(id);
            }
        }
        for pick in 0..self.known[end].len() {
            self.finish(end, pick);
            for _ in 0..4 {
                self.read(end, pick, 899);
            }
        }
        let mut any = false;
        while let Some(sent) = peer::send(&mut self.ends[end], 500) {
            any = true;
            peer::deliver(&mut self.ends[1 - end], &sent.payload).unwrap();
            peer::acked(&mut self.ends[end], &sent);
            self.ends.iter().for_each(Streams::check);
        }
        self.hear(0);
        self.hear(1);
        any
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]
    #[test]
    fn each_byte_comes_once_and_in_order(
        steps in prop::collection::vec((0..2usize, 0..28u8, any::<usize>(), any::<u16>()), 1..300)
    ) {
        let mut world = World::new();
        for (end, kind, pick, amount) in steps {
            world.step(end, kind, pick, amount % 2000);
            for end in &world.ends {
                // A power of two, and a minimum for each stream.
                prop_assert!(end.ring_bytes() <= 2 * 2500 + 2048 * end.count());
            }
        }
        world.come_to_rest();
        for ((writer, id), half) in &world.halves {
            let said = format!("{writer} {id:?} {half:?}");
            if !half.reset && !half.stopped {
                prop_assert!(half.ended && half.read == half.written, "{}", said);
                prop_assert_eq!(half.told_finished, 1, "{}", said);
            }
            prop_assert!(half.told_finished <= 1);
            prop_assert!(half.stopped || half.reset_seen || half.ended, "{}", said);
        }
        for end in &world.ends {
            prop_assert!(!end.wants_to_send() && end.held == 0 && !end.has_gap());
            prop_assert_eq!(end.ring_bytes(), 0);
        }
    }
}
