//! The course of packets through all hops of the path, in virtual time. This module uses no clock
//! and no socket: the relay passes in arrivals and the time, and gets back departures.
//!
//! A packet reaches its next hop at the time that the previous hop named, not when the relay
//! processed it: the relay's own lateness is never added to a delay twice.

mod agenda;

use std::time::Duration;

use self::agenda::{CourseSchedule, CourseStep};
use crate::direction::{Direction, PerWay};
use crate::hop::{Hop, HopOutput, LostPacket};
use crate::packet::Packet;

/// A hop and the directions that pass through it. Packets in the other direction skip it.
pub(crate) struct PlacedHop {
    pub(crate) hop: Box<dyn Hop>,
    pub(crate) way: Option<Direction>,
}

/// A packet that has reached the end of the path.
#[derive(Debug)]
pub(crate) struct DepartingPacket {
    pub(crate) packet: Packet,
    pub(crate) way: Direction,
    pub(crate) due: Duration,
    /// When the wire accepted the packet; `None` until then.
    pub(crate) sent: Option<Duration>,
}

/// The results of the latest steps: packets that leave, and losses.
#[derive(Debug, Default)]
pub(crate) struct CourseOutput {
    /// The packets to release, in the order in which they are due.
    pub(crate) departures: Vec<DepartingPacket>,
    pub(crate) losses: Vec<LostPacket>,
}

pub(crate) struct Course {
    /// The hops in order from the client to the server.
    stations: Vec<PlacedHop>,
    /// The first hop of each direction, and the hop after each station; `None` is the end of the
    /// path.
    first: PerWay<Option<usize>>,
    next: Vec<PerWay<Option<usize>>>,
    agenda: CourseSchedule,
    exit: HopOutput,
}

impl Course {
    pub(crate) fn new(stations: Vec<PlacedHop>) -> Self {
        let serves = |way: Direction, place: &usize| {
            stations
                .get(*place)
                .is_some_and(|station| station.way.is_none_or(|only| only == way))
        };
        let end = stations.len();
        let after = |place: usize| PerWay {
            up: (place + 1..end).find(|place| serves(Direction::Up, place)),
            down: (0..place)
                .rev()
                .find(|place| serves(Direction::Down, place)),
        };
        Self {
            first: PerWay {
                up: (0..end).find(|place| serves(Direction::Up, place)),
                down: after(end).down,
            },
            next: (0..end).map(after).collect(),
            stations,
            agenda: CourseSchedule::default(),
            exit: HopOutput::default(),
        }
    }

    /// Adds a packet that arrived at `at` to the path.
    pub(crate) fn enter(
        &mut self,
        packet: Packet,
        way: Direction,
        at: Duration,
        out: &mut CourseOutput,
    ) {
        let place = *self.first.get(way);
        self.walk(packet, way, place, at, out);
    }

    /// Performs all steps that are due by `now`.
    pub(crate) fn advance(&mut self, now: Duration, out: &mut CourseOutput) {
        while let Some((at, step)) = self.agenda.take_due(now) {
            match step {
                CourseStep::Leave(packet, way) => out.departures.push(DepartingPacket {
                    packet,
                    way,
                    due: at,
                    sent: None,
                }),
                CourseStep::Pass(packet, way, place) => {
                    self.walk(packet, way, Some(place), at, out);
                }
                CourseStep::Wake(place) => {
                    if let Some(station) = self.stations.get_mut(place) {
                        station.hop.wake(at, &mut self.exit);
                    }
                    self.settle(place, out);
                }
            }
        }
    }

    /// The time at which the next step is due.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.agenda.first()
    }

    /// Bytes of all packets in transit.
    pub(crate) fn held(&self) -> usize {
        self.agenda.bytes()
    }

    fn walk(
        &mut self,
        packet: Packet,
        way: Direction,
        place: Option<usize>,
        at: Duration,
        out: &mut CourseOutput,
    ) {
        let Some(place) = place else {
            self.agenda.add(at, CourseStep::Leave(packet, way));
            return;
        };
        if let Some(station) = self.stations.get_mut(place) {
            station.hop.pass(packet, way, at, &mut self.exit);
        }
        self.settle(place, out);
    }

    /// Schedules a hop's decisions.
    fn settle(&mut self, place: usize, out: &mut CourseOutput) {
        out.losses.append(&mut self.exit.losses);
        for at in self.exit.wakes.drain(..) {
            self.agenda.add(at, CourseStep::Wake(place));
        }
        for moved in self.exit.moves.drain(..) {
            let (packet, way) = (moved.packet, moved.way);
            let next = self.next.get(place).and_then(|next| *next.get(way));
            let step = match next {
                Some(next) => CourseStep::Pass(packet, way, next),
                None => CourseStep::Leave(packet, way),
            };
            self.agenda.add(moved.at, step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hop for tests: adds its name to each packet, and holds it for a millisecond.
    struct Stamp(u8);

    impl Hop for Stamp {
        fn pass(&mut self, mut packet: Packet, way: Direction, at: Duration, exit: &mut HopOutput) {
            let stamped = [packet.ip(), &[self.0]].concat();
            packet.replace(&stamped);
            exit.forward(packet, way, at + Duration::from_millis(1));
        }
    }

    /// Sends every packet back.
    struct Wall;

    impl Hop for Wall {
        fn pass(&mut self, packet: Packet, way: Direction, at: Duration, exit: &mut HopOutput) {
            exit.answer(b"no", way.opposite(), at, "a wall");
            exit.lose(packet, way, "wall");
        }
    }

    fn station(hop: impl Hop + 'static, way: Option<Direction>) -> PlacedHop {
        let hop = Box::new(hop);
        PlacedHop { hop, way }
    }

    fn through(course: &mut Course, way: Direction) -> (Vec<u8>, Direction, u64, usize) {
        let mut out = CourseOutput::default();
        course.enter(
            Packet::from_ip(b"", Duration::ZERO),
            way,
            Duration::ZERO,
            &mut out,
        );
        course.advance(Duration::from_secs(1), &mut out);
        assert_eq!(course.held(), 0);
        let left = out.departures.remove(0);
        let ms = left.due.as_millis() as u64;
        (left.packet.ip().to_vec(), left.way, ms, out.losses.len())
    }

    #[test]
    fn each_direction_meets_its_hops_in_order() {
        let (up, down) = (Some(Direction::Up), Some(Direction::Down));
        let mut course = Course::new(vec![
            station(Stamp(b'a'), None),
            station(Stamp(b'u'), up),
            station(Stamp(b'd'), down),
            station(Stamp(b'z'), None),
        ]);
        assert_eq!(
            through(&mut course, Direction::Up),
            (b"auz".into(), Direction::Up, 3, 0)
        );
        assert_eq!(
            through(&mut course, Direction::Down),
            (b"zda".into(), Direction::Down, 3, 0)
        );
    }

    #[test]
    fn an_answer_returns_through_the_same_hops() {
        let mut course = Course::new(vec![
            station(Stamp(b'a'), None),
            station(Wall, Some(Direction::Up)),
            station(Stamp(b'z'), None),
        ]);
        assert_eq!(
            through(&mut course, Direction::Up),
            (b"noa".into(), Direction::Down, 2, 1)
        );
    }

    #[test]
    fn nothing_leaves_before_its_time() {
        let mut course = Course::new(vec![station(Stamp(b'a'), None)]);
        let mut out = CourseOutput::default();
        course.enter(
            Packet::from_ip(b"", Duration::ZERO),
            Direction::Up,
            Duration::ZERO,
            &mut out,
        );
        course.advance(Duration::from_micros(999), &mut out);
        assert!(out.departures.is_empty() && course.held() > 0);
        assert_eq!(course.due(), Some(Duration::from_millis(1)));
    }
}
