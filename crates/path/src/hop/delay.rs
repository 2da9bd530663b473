//! Delays each packet by the distance and the jitter, and holds some back so that others overtake
//! them.

mod jitter_curve;

use std::time::Duration;

use self::jitter_curve::JitterCurve;
use super::{Hop, HopOutput};
use crate::direction::Direction;
use crate::link::{Jitter, Reorder};
use crate::packet::Packet;
use roundtrip_model::Random;

pub(crate) struct DelayHop {
    base: Duration,
    jitter: Option<JitterCurve>,
    reorder: Option<Reorder>,
    random: Random,
    /// The latest departure so far, without the time for which packets are held back. Later packets
    /// leave no earlier, so jitter alone reorders nothing, not even packets that the relay handed
    /// over late.
    last: Duration,
}

impl DelayHop {
    pub(crate) fn new(
        base: Duration,
        jitter: Option<Jitter>,
        reorder: Option<Reorder>,
        mut random: Random,
    ) -> Self {
        let for_jitter = Random::seeded(random.next_u64());
        Self {
            base,
            jitter: jitter.map(|jitter| JitterCurve::new(jitter, for_jitter)),
            reorder,
            random,
            last: Duration::ZERO,
        }
    }
}

impl Hop for DelayHop {
    fn pass(&mut self, mut packet: Packet, way: Direction, at: Duration, exit: &mut HopOutput) {
        let mut due = at + self.base;
        if let Some(jitter) = &mut self.jitter {
            let extra = jitter.at(at);
            packet.remark(|| format!("jitter added {:.3} ms", extra.as_secs_f64() * 1e3));
            due = (due + extra).max(self.last);
            self.last = due;
        }
        if let Some(reorder) = self.reorder
            && self.random.unit() < reorder.share
        {
            let by = reorder.by;
            packet.remark(|| {
                format!(
                    "held back {:.3} ms, to be overtaken",
                    by.as_secs_f64() * 1e3
                )
            });
            due += by;
        }
        exit.forward(packet, way, due);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::JitterShape;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn through(mut delay: DelayHop, packets: u64) -> Vec<u64> {
        let mut exit = HopOutput::default();
        for at in 0..packets {
            delay.pass(
                Packet::from_ip(&[], ms(at)),
                Direction::Up,
                ms(at),
                &mut exit,
            );
        }
        exit.take().0
    }

    #[test]
    fn each_is_later_by_the_delay() {
        let plain = DelayHop::new(ms(45), None, None, Random::seeded(1));
        assert_eq!(through(plain, 3), [45, 46, 47]);
    }

    #[test]
    fn jitter_keeps_the_order_and_the_seed() {
        let jitter = Jitter {
            by: ms(20),
            shape: JitterShape::Uniform,
        };
        let delayed = || {
            through(
                DelayHop::new(ms(45), Some(jitter), None, Random::seeded(1)),
                100,
            )
        };
        let times = delayed();
        assert!(times.is_sorted());
        assert!(times.iter().zip(0..).any(|(time, sent)| *time > sent + 55));
        assert_eq!(times, delayed());
    }

    #[test]
    fn some_are_overtaken() {
        let reorder = Reorder {
            share: 0.1,
            by: ms(5),
        };
        let times = through(
            DelayHop::new(ms(45), None, Some(reorder), Random::seeded(1)),
            1000,
        );
        let late = times
            .iter()
            .zip(0..)
            .filter(|(time, sent)| **time == sent + 50)
            .count();
        assert!((60..140).contains(&late), "{late}");
        assert!(!times.is_sorted());
    }
}
