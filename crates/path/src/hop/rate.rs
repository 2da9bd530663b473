//! A bottleneck: packets leave one after the other at the rate of the link; others wait in its
//! queue while there is room.

mod backlog;
mod codel;
mod pace;

use std::time::Duration;

use self::backlog::{Backlog, QueuedPacket};
use self::codel::CoDel;
use self::pace::LinkPace;
use super::{Hop, HopOutput};
use crate::direction::Direction;
use crate::link::{Discipline, Queue, Rate};
use crate::packet::Packet;

pub(crate) struct RateHop {
    pace: LinkPace,
    backlog: Backlog,
    room: u64,
    codel: Option<CoDel>,
    /// The time at which the last bit of the last packet has left.
    free_at: Duration,
}

impl RateHop {
    /// `start` is the time zero of a rate trace.
    pub(crate) fn new(rate: &Rate, queue: Queue, start: Duration) -> Self {
        let pace = LinkPace::new(rate, start);
        Self {
            room: pace.bytes(queue.room),
            pace,
            backlog: Backlog::default(),
            codel: (queue.discipline == Discipline::CoDel).then(CoDel::default),
            free_at: Duration::ZERO,
        }
    }

    fn send(&mut self, waiting: QueuedPacket, from: Duration, exit: &mut HopOutput) {
        let QueuedPacket {
            mut packet,
            way,
            since,
        } = waiting;
        self.free_at = self.pace.finish(from, packet.length());
        let waited = from.saturating_sub(since);
        if !waited.is_zero() {
            packet.remark(|| format!("waited {:.3} ms in the queue", waited.as_secs_f64() * 1e3));
        }
        exit.forward(packet, way, self.free_at);
    }
}

impl Hop for RateHop {
    fn pass(&mut self, packet: Packet, way: Direction, at: Duration, exit: &mut HopOutput) {
        let waiting = QueuedPacket {
            packet,
            way,
            since: at,
        };
        if self.backlog.is_empty() && self.free_at <= at {
            self.send(waiting, at, exit);
        } else if self.backlog.is_empty() {
            self.backlog.push(waiting);
            exit.wake_at(self.free_at);
        } else if self.backlog.bytes() + waiting.packet.length() as u64 > self.room {
            exit.lose(waiting.packet, way, "queue full");
        } else {
            self.backlog.push(waiting);
        }
    }

    fn wake(&mut self, at: Duration, exit: &mut HopOutput) {
        // The moment at which the link is free, even if the clock has moved on.
        let now = self.free_at.min(at);
        let next = match &mut self.codel {
            Some(codel) => codel.next(now, &mut self.backlog, exit),
            None => self.backlog.pop(),
        };
        if let Some(next) = next {
            let from = now.max(next.since);
            self.send(next, from, exit);
        }
        if !self.backlog.is_empty() {
            exit.wake_at(self.free_at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Sends a packet of 1000 bytes at each of these times (ms), and wakes the hop whenever it asks
    /// for that.
    fn through(queue: &str, sent: impl IntoIterator<Item = u64>) -> (Vec<u64>, usize) {
        // Such a packet takes one millisecond.
        let rate = "8mbit".parse().unwrap();
        let mut hop = RateHop::new(&rate, queue.parse().unwrap(), Duration::ZERO);
        let (mut times, mut lost) = (Vec::new(), 0);
        let mut wake: Option<Duration> = None;
        let mut sent = sent.into_iter().map(ms).peekable();
        loop {
            let mut exit = HopOutput::default();
            match (wake, sent.peek().copied()) {
                (Some(at), next) if next.is_none_or(|next| at <= next) => {
                    wake = None;
                    hop.wake(at, &mut exit);
                }
                (_, Some(at)) => {
                    sent.next();
                    hop.pass(
                        Packet::from_ip(&[0; 1000], at),
                        Direction::Up,
                        at,
                        &mut exit,
                    );
                }
                _ => return (times, lost),
            }
            wake = exit.wakes.first().copied().or(wake);
            let (moved, losses) = exit.take();
            times.extend(moved);
            lost += losses.len();
        }
    }

    #[test]
    fn one_after_the_other() {
        assert_eq!(through("100ms", [0, 0, 0, 10]), (vec![1, 2, 3, 11], 0));
    }

    #[test]
    fn packets_without_room_are_lost() {
        // One on the wire, and room for five thousand bytes.
        let (times, lost) = through("5ms", [0; 10]);
        assert_eq!((times, lost), ((1..=6).collect(), 4));
        // However small the queue is, one packet can wait.
        assert_eq!(through("1B", [0; 3]), (vec![1, 2], 1));
    }

    #[test]
    fn codel_ends_a_standing_queue() {
        // One packet each millisecond keeps the queue as long as the first burst made it.
        let burst = || std::iter::repeat_n(0, 40).chain(1..2000);
        let (standing, none) = through("1000ms", burst());
        let (controlled, dropped) = through("1000ms,codel", burst());
        assert_eq!(none, 0);
        assert_eq!(standing.last(), Some(&2039));
        assert!((30..60).contains(&dropped), "{dropped}");
        assert!(controlled.last().unwrap() < &2010);
    }

    #[test]
    fn a_burst_that_passes_is_spared_by_codel() {
        let (times, lost) = through("1000ms,codel", [0; 60]);
        assert_eq!((times.len(), lost), (60, 0));
    }
}
