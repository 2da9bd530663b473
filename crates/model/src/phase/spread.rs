//! How much the path's round trips differ, as far as this exchange shows. A delay within that range
//! is not attributed to any party.

use std::time::Duration;

use super::copies::WEIGHT;
use super::delayed_ack::{Arrivals, MIN_DELAYED_ACK, shows_the_path};
use super::{ms, uplink};
use crate::{Event, Exchange, Moment};

/// Differences between round trips that are smaller than this, in milliseconds or as a share of R,
/// are ignored.
const STEADY_MS: f64 = 1.0;
const SAME: f64 = 0.02;
/// If only one other sample is known, a sample that is later by more than this is an exception: in
/// milliseconds, and as a share of R.
const ALONE_MS: f64 = 20.0;
const ALONE: f64 = 0.5;
/// If the spread exceeds the share `WILD` of R, delays of `RARE_WILD` times the spread are
/// tolerated, otherwise of `RARE` times.
const WILD: f64 = 0.3;
const RARE: f64 = 2.5;
const RARE_WILD: f64 = 10.0;
/// As a share of R: a retransmission is acknowledged no sooner than this after the original.
const COPY: f64 = 0.9;
/// A delay is not attributed to the path if the path would cause it by chance with less than this
/// probability: when an acknowledgement has just come in time, and at other times.
const CHANCE: f64 = 0.01;
const CHANCE_LATER: f64 = 0.002;
const CHANCE_BEFORE: f64 = 0.001;
const CHANCE_BEFORE_ONE: f64 = 0.005;
const CHANCE_OF_FEW: f64 = 0.05;
/// The lateness to expect of an unknown path, in milliseconds, and as a share of R.
const EXPECTED_MS: f64 = 0.3;
const EXPECTED: f64 = 0.005;
/// Queues and radios change more slowly: packets that cross the path within this time meet the same
/// conditions.
const ONE_STATE: Duration = Duration::from_millis(50);
/// As a share of a packet's lateness: samples that follow the packet sooner than this show only
/// that the queue that delayed it had emptied by then.
const DRAINED: f64 = 0.3;

/// How much longer than R the round trips of one exchange took, without any waits for the server or
/// the client.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spread {
    /// How late each sample was: in milliseconds beyond R, in ascending order.
    samples: Vec<f64>,
    /// The same samples with their times, in the order of time.
    timed: Vec<(Moment, f64)>,
    /// Acknowledgements that came with data; the path did not make them later than this.
    with_data: Vec<(Moment, f64)>,
    /// The lateness of a second round trip of earlier exchanges, in milliseconds.
    again: Option<f64>,
    /// R in milliseconds, or 0 if it is not known.
    rtt: f64,
}

impl Exchange {
    /// Round-trip samples that no application has delayed, as milliseconds beyond R: the SYN-ACK,
    /// and acknowledgements. Acknowledgements that may have been delayed on purpose are left out,
    /// and the time that a slow line needed for the acknowledged data is subtracted.
    pub fn spread(&self) -> Spread {
        let Some(r) = self.rtt.map(ms) else {
            return Spread::default();
        };
        let connected = self.timeline.last(|e| matches!(e, Event::Connected { .. }));
        let syn = self
            .tcp
            .as_ref()
            .filter(|t| !self.reused && t.syn_retransmits == 0)
            .and_then(|t| t.handshake_rtt)
            .map(|took| (connected.unwrap_or_default(), ms(took) - r));
        // A kept connection knows R from earlier exchanges: at least two round trips. The kernel
        // reports the first one and the smoothed time.
        let opened = self.tcp.as_ref().and_then(|t| t.handshake_rtt);
        let opened = opened.map_or(r, ms);
        let smoothed = Some(self.smoothed_before()).filter(|smoothed| *smoothed > 0.0);
        let smoothed = smoothed.unwrap_or(opened);
        let earlier = opened.max(smoothed) - r;
        let again = (smoothed - (1.0 - WEIGHT) * opened) / WEIGHT;
        let again = again.max(smoothed) - r;
        let known = self.reused.then_some((Moment::ZERO, earlier));
        // An acknowledgement that came with data may have waited for the data.
        let arrivals = Arrivals::from_exchange(self);
        // After a loss, it came late, together with the retransmission.
        let resent = |e: &Event| matches!(e, Event::Resent { .. });
        let needless = self.tcp.as_ref().map_or(0, |t| t.needless_retransmits);
        let lossy = needless == 0 && self.timeline.first(resent).is_some();
        let line = uplink::bytes_per_ms(self);
        let with_data = self.timeline.iter().filter_map(|(at, event)| match event {
            Event::Acknowledged { after, again: None } if !arrivals.is_alone(*at) => {
                Some((*at, (ms(*after) - r).max(0.0)))
            }
            _ => None,
        });
        let with_data = with_data.collect();
        let mut left_late = None;
        let acknowledged = self.timeline.iter().filter_map(|(at, event)| match event {
            Event::AckLeftLate => {
                left_late = Some(*at);
                None
            }
            Event::Acknowledged { .. } if left_late == Some(*at) => None,
            Event::Acknowledged { after, again: None } if arrivals.is_alone(*at) => {
                let (bytes, late) = (uplink::sent_around(self, *at - *after), ms(*after) - r);
                let carried = line.map_or(0.0, |line| bytes as f64 / line);
                let may_be_lost = lossy && late >= MIN_DELAYED_ACK.min(COPY * r);
                let is_sample = shows_the_path(self, bytes, late) && !may_be_lost;
                is_sample.then_some((*at, late - carried))
            }
            _ => None,
        });
        let timed = syn.into_iter().chain(known).chain(acknowledged);
        let timed = timed.map(|(at, late)| (at, late.max(0.0)));
        Spread {
            with_data,
            again: known.map(|_| again.max(0.0)),
            ..Spread::new(timed.collect(), r)
        }
    }
}

impl Exchange {
    /// The kernel's smoothed round trip before this exchange, in milliseconds, without the samples
    /// of this exchange; 0 if it is not known.
    fn smoothed_before(&self) -> f64 {
        let smoothed = self.tcp.as_ref().and_then(|tcp| tcp.rtt).map_or(0.0, ms);
        let samples = self
            .timeline
            .iter()
            .rev()
            .filter_map(|(_, event)| match event {
                Event::Acknowledged { after, .. } => Some(ms(*after)),
                _ => None,
            });
        let before = |smoothed: f64, sample| (smoothed - WEIGHT * sample) / (1.0 - WEIGHT);
        samples.fold(smoothed, before)
    }
}

impl Spread {
    fn new(timed: Vec<(Moment, f64)>, rtt: f64) -> Self {
        let mut samples: Vec<f64> = timed.iter().map(|(_, late)| *late).collect();
        samples.sort_by(f64::total_cmp);
        Self {
            samples,
            timed,
            with_data: Vec::new(),
            again: None,
            rtt,
        }
    }

    /// How late each sample was: in milliseconds beyond R, in ascending order.
    pub fn samples(&self) -> &[f64] {
        &self.samples
    }

    /// How much round trips on this path differ, in milliseconds. A single sample far from others
    /// that hardly differ says nothing about the path: it may be due to an ARP or neighbour lookup,
    /// or to a radio that woke up.
    pub fn ms(&self) -> f64 {
        let same = STEADY_MS.max(SAME * self.rtt);
        let alone = ALONE_MS.max(ALONE * self.rtt);
        let mut usual: Vec<f64> = self.usual().map(|(_, late)| *late).collect();
        usual.sort_by(f64::total_cmp);
        match usual.as_slice() {
            [.., next, most] if *next < same && (usual.len() > 2 || *most >= alone) => *next,
            [.., most] => *most,
            [] => 0.0,
        }
    }

    /// The largest delay beyond a round trip, in milliseconds, that the path may cause. If the
    /// round trips of a path vary by as much as they take, one is occasionally far longer.
    pub fn tolerance(&self) -> f64 {
        let spread = self.ms();
        let rare = if spread >= WILD * self.rtt {
            RARE_WILD
        } else {
            RARE
        };
        rare * spread
    }

    /// The longest delay, in milliseconds, that the path can cause according to these samples, if
    /// an acknowledgement arrived in time just before. Acknowledgements that came with data, up to
    /// any time, count as well: the path made them no later than this.
    pub fn most(&self) -> f64 {
        let sum: f64 = self.usual().map(|(_, late)| late).sum();
        let count = self.usual().len();
        // Without a usual sample, only they tell anything.
        let least = usize::from(count == 0 && !self.timed.is_empty());
        let until = (least..=self.with_data.len()).map(|end| {
            let (more, at_most) = states(self.with_data.iter().take(end));
            self.most_after(count + more, sum + at_most, CHANCE)
        });
        until.fold(f64::INFINITY, f64::min)
    }

    /// Like [`Self::most`], for a pause in the middle of an answer. A single sample proves less:
    /// one delay in twenty may be longer.
    pub(super) fn most_in_answer(&self) -> f64 {
        match self.samples.as_slice() {
            [] => 0.0,
            [late] if self.usual().len() == 1 => {
                self.tolerance()
                    .max(self.most_after(1, *late, CHANCE_OF_FEW))
            }
            _ => self.most(),
        }
    }

    /// Like [`Self::most`], for a round trip at another time: samples that crossed the path
    /// together count as one.
    pub fn most_later(&self) -> f64 {
        let (count, sum) = match self.usual().len() {
            0 => states(self.with_data.iter()),
            _ => states(self.usual()),
        };
        let again = self.again.unwrap_or(0.0);
        let count = count + usize::from(self.again.is_some());
        self.most_after(count, sum + again, CHANCE_LATER)
    }

    /// Like [`Self::most`], for the first round trip, judged by samples that came some time after
    /// it.
    pub fn most_before(&self) -> f64 {
        let Some(((first, late), rest)) = self.timed.split_first() else {
            return f64::INFINITY;
        };
        let known = rest.iter().chain(&self.with_data);
        let last = known.map(|(at, _)| *at).max().unwrap_or(*first);
        if ms(last.since(*first)) < DRAINED * late {
            return f64::INFINITY;
        }
        let later = |(at, _): &&(Moment, f64)| at.since(*first) >= ONE_STATE / 3;
        // Samples that came with data show at least that the path did not take longer.
        let known =
            [rest, self.with_data.as_slice()].map(|timed| states(timed.iter().filter(later)));
        let known = known.into_iter().find(|(count, _)| *count > 0);
        known.map_or(f64::INFINITY, |(count, sum)| {
            let chance = if count == 1 {
                CHANCE_BEFORE_ONE
            } else {
                CHANCE_BEFORE
            };
            self.most_after(count, sum, chance)
        })
    }

    /// All samples, but without the first one if the later ones show that it was an exception.
    fn usual(&self) -> impl ExactSizeIterator<Item = &(Moment, f64)> {
        let first = self.timed.first().map_or(0.0, |(_, late)| *late);
        let exceptional = first > self.most_before();
        self.timed.iter().skip(usize::from(exceptional))
    }

    /// For an exponentially distributed delay with `count` samples that sum to `sum` ms, the
    /// lateness that is exceeded only with this probability. With one or two samples, the result is
    /// far larger than their own lateness: they may have been the shortest of all.
    fn most_after(&self, count: usize, sum: f64, chance: f64) -> f64 {
        let expected = EXPECTED_MS + EXPECTED * self.rtt;
        let factor = chance.powf(-1.0 / count.max(1) as f64) - 1.0;
        factor * (sum + expected)
    }
}

/// The number of distinct states in which the path was seen, and their total lateness.
fn states<'a>(timed: impl Iterator<Item = &'a (Moment, f64)>) -> (usize, f64) {
    let mut states: Vec<(Moment, f64)> = Vec::new();
    for (at, late) in timed {
        match states.last_mut() {
            Some((began, most)) if at.since(*began) < ONE_STATE => *most = late.max(*most),
            _ => states.push((*at, *late)),
        }
    }
    (states.len(), states.iter().map(|(_, late)| late).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples with these delays, one second apart.
    fn spread(late: &[f64]) -> Spread {
        let at = |n: usize| Moment::from_millis(1e3 * (n + 1) as f64);
        let timed = late.iter().enumerate().map(|(n, late)| (at(n), *late));
        Spread::new(timed.collect(), 100.0)
    }

    #[test]
    fn few_samples_allow_for_more_than_many() {
        let most = |count: usize| spread(&vec![0.5; count]).most();
        assert!(most(1) > 50.0, "{}", most(1));
        assert!((5.0..20.0).contains(&most(2)), "{}", most(2));
        for count in 1..10 {
            assert!(most(count) > most(count + 1), "{count}");
        }
        assert!(spread(&[0.5; 2]).most_later() > most(2));
    }

    #[test]
    fn a_path_that_varies_allows_for_more() {
        assert!(spread(&[0.1, 4.0, 2.0]).most() > 3.0 * spread(&[0.1, 0.2, 0.1]).most());
        // A first packet that was far later than the later ones was an exception.
        assert!(spread(&[900.0, 0.1, 0.1]).most() < 20.0);
        assert!(spread(&[0.1, 900.0, 0.1]).most() > 900.0);
    }

    /// A queue that delayed the SYN-ACK by 230 ms was empty when it arrived.
    #[test]
    fn quick_round_trips_right_after_a_late_one_do_not_make_it_an_exception() {
        let most = |after: f64| {
            let at = |ms: f64, late: f64| (Moment::from_millis(ms), late);
            Spread::new(vec![at(240.0, 230.0), at(240.0 + after, 0.0)], 13.0).most_before()
        };
        assert!(most(60.0).is_infinite());
        assert!(most(80.0) < 230.0, "{}", most(80.0));
    }

    /// The server's flight came with the acknowledgement of the ClientHello, in time.
    #[test]
    fn acknowledgements_with_data_show_that_a_path_does_not_vary_much() {
        let mut spread = spread(&[6.0]);
        let alone = spread.most();
        assert!(alone > 500.0, "{alone}");
        spread.with_data = vec![
            (Moment::from_millis(2e3), 0.0),
            (Moment::from_millis(3e3), 10.0),
        ];
        assert!((30.0..90.0).contains(&spread.most()), "{}", spread.most());
        // The server may have thought before it sent them.
        spread.with_data = vec![(Moment::from_millis(2e3), 900.0)];
        assert!((spread.most() - alone).abs() < 1e-9);
    }

    /// The only acknowledgement came in the same segment as the answer.
    #[test]
    fn an_acknowledgement_with_data_shows_that_the_first_packet_was_an_exception() {
        let mut spread = spread(&[900.0]);
        assert!(spread.most_before().is_infinite());
        spread.with_data = vec![(Moment::from_millis(2e3), 0.2)];
        assert!(spread.most_before() < 200.0, "{}", spread.most_before());
        spread.with_data = vec![(Moment::from_millis(2e3), 300.0)];
        assert!(spread.most_before() > 900.0, "the server may have thought");
        spread.with_data = vec![(Moment::from_millis(1.005e3), 0.2)];
        assert!(
            spread.most_before().is_infinite(),
            "it crossed the path with the first"
        );
    }

    /// The SYN-ACK was late by itself, and the only acknowledgement came with the answer.
    #[test]
    fn a_first_packet_that_was_an_exception_excuses_no_later_delay() {
        let mut spread = spread(&[900.0]);
        let excused = |spread: &Spread| {
            let most = spread.most().max(spread.most_later());
            most.max(spread.most_in_answer()).max(spread.tolerance())
        };
        assert!(excused(&spread) > 900.0);
        spread.with_data = vec![(Moment::from_millis(2e3), 0.2)];
        assert!(excused(&spread) < 600.0, "{}", excused(&spread));
        assert!(spread.most_in_answer() < 120.0 && spread.tolerance() < 1e-9);
        // The path may have delayed the answer as much.
        spread.with_data = vec![(Moment::from_millis(2e3), 500.0)];
        assert!(excused(&spread) > 900.0);
    }

    /// Before the late acknowledgement, the kernel had seen round trips of 14 ms.
    #[test]
    fn a_kept_connection_remembers_that_its_path_varies() {
        let known = |smoothed: f64| {
            let (rtt, after) = (Duration::from_millis(2), Duration::from_millis(45));
            let mut e = Exchange {
                rtt: Some(rtt),
                reused: true,
                tcp: Some(crate::TcpFacts {
                    rtt: Some(Duration::from_secs_f64(smoothed / 1e3)),
                    handshake_rtt: Some(rtt),
                    ..crate::TcpFacts::default()
                }),
                ..Exchange::default()
            };
            let again = None;
            e.timeline.push(
                Moment::from_millis(45.0),
                Event::Acknowledged { after, again },
            );
            e.timeline
                .push(Moment::from_millis(45.0), Event::Received { bytes: 9 });
            e.spread().ms()
        };
        assert!(known(7.4) < 0.1, "{}", known(7.4));
        assert!((9.0..13.0).contains(&known(15.3)), "{}", known(15.3));
    }

    /// The first round trip took 20 ms, and so did R. The second one took 4 ms more, and the
    /// smoothed time shows an eighth of that.
    #[test]
    fn a_kept_connection_tells_its_second_round_trip_by_the_smoothed_one() {
        let later = |smoothed_us: u64| {
            let r = Duration::from_millis(20);
            let e = Exchange {
                rtt: Some(r),
                reused: true,
                tcp: Some(crate::TcpFacts {
                    rtt: Some(Duration::from_micros(smoothed_us)),
                    handshake_rtt: Some(r),
                    ..crate::TcpFacts::default()
                }),
                ..Exchange::default()
            };
            e.spread().most_later()
        };
        assert!(later(20_000) < 15.0, "{}", later(20_000));
        assert!((80.0..130.0).contains(&later(20_500)), "{}", later(20_500));
    }

    #[test]
    fn a_kept_connection_has_seen_several_round_trips() {
        let late = Spread::new(vec![(Moment::ZERO, 1.0)], 35.0);
        let kept = Spread {
            again: Some(1.0),
            ..late.clone()
        };
        assert!(late.most_later() > 500.0, "{}", late.most_later());
        assert!(kept.most_later() < 100.0, "{}", kept.most_later());
    }

    #[test]
    fn samples_of_one_moment_are_one() {
        let at = |ms: f64, late: f64| (Moment::from_millis(ms), late);
        let together = Spread::new(vec![at(1.0, 0.1), at(2.0, 0.1), at(5.0, 0.2)], 1.0);
        let apart = Spread::new(vec![at(1.0, 0.1), at(200.0, 0.1), at(500.0, 0.2)], 1.0);
        assert!(together.most_later() > 10.0 * apart.most_later());
        assert!(together.most_before().is_infinite() && apart.most_before().is_finite());
    }
}
