//! The controllers on a bottleneck in virtual time, and CUBIC's curve compared with the figures of
//! its RFC.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Acknowledged, Controller, Lost, RateSample, controller};
use crate::{CongestionControl, Time};

const DATAGRAM: u64 = 1200;

/// One queue before one link, shared by flows.
struct Bottleneck {
    /// The rate of the link in bytes a second.
    rate: u64,
    room: u64,
    delay: Duration,
    /// How many acknowledgements there are for each window; `None`: one for each packet.
    acks: Option<u64>,
    /// How long the link is busy with the queue.
    busy: Time,
    now: Time,
    flows: Vec<Flow>,
}

struct Flow {
    controller: Box<dyn Controller>,
    /// Acknowledgements and losses on their way back: when each arrives, the packet, and whether it
    /// arrived.
    coming: VecDeque<(Time, Packet, bool)>,
    in_flight: u64,
    delivered: u64,
    lost: u64,
    min: Duration,
    smoothed: Duration,
    round_end: u64,
    sent: u64,
    next: Time,
}

#[derive(Clone, Copy)]
struct Packet {
    sent: Time,
    delivered: u64,
    in_flight: u64,
    lost: u64,
    number: u64,
}

impl Bottleneck {
    fn new(
        megabits: u64,
        rtt: Duration,
        room_in_windows: f64,
        kinds: &[CongestionControl],
    ) -> Self {
        let rate = megabits * 125_000;
        let product = rate as f64 * rtt.as_secs_f64();
        let flow = |kind: &CongestionControl| Flow {
            controller: controller(*kind, DATAGRAM as u16),
            coming: VecDeque::new(),
            in_flight: 0,
            delivered: 0,
            lost: 0,
            min: rtt,
            smoothed: rtt,
            round_end: 0,
            sent: 0,
            next: Time::ZERO,
        };
        Self {
            rate,
            room: (product * room_in_windows) as u64,
            delay: rtt,
            acks: None,
            busy: Time::ZERO,
            now: Time::ZERO,
            flows: kinds.iter().map(flow).collect(),
        }
    }

    fn run(&mut self, span: Duration) {
        let end = self.now.after(span);
        let step = Duration::from_micros(100);
        while self.now < end {
            let count = self.flows.len();
            for turn in 0..count {
                self.hear(turn);
            }
            for turn in 0..count {
                self.send(turn);
            }
            self.now = self.now.after(step);
        }
    }

    fn hear(&mut self, turn: usize) {
        let now = self.now;
        let flow = &mut self.flows[turn];
        let come = |(at, _, _): &&(Time, Packet, bool)| *at <= now;
        let mut left = flow.coming.iter().take_while(come).count() as u64;
        if let Some(acks) = self.acks
            && let Some((first, _, _)) = flow.coming.front()
            && left < flow.controller.window() / DATAGRAM / acks
            && now.since(*first) < flow.min / 4
        {
            return;
        }
        while let Some((_, packet, came)) = flow.coming.pop_front_if(|(at, _, _)| *at <= now) {
            left -= 1;
            flow.in_flight -= DATAGRAM;
            if !came {
                flow.lost += DATAGRAM;
                flow.controller.on_lost(&Lost {
                    now,
                    bytes: DATAGRAM,
                    sent: packet.sent,
                    in_flight: flow.in_flight,
                    persistent: false,
                });
                continue;
            }
            flow.delivered += DATAGRAM;
            let sample = now.since(packet.sent);
            flow.min = flow.min.min(sample);
            flow.smoothed = (flow.smoothed * 7 + sample) / 8;
            let round_ended = packet.number >= flow.round_end;
            if round_ended {
                flow.round_end = flow.sent;
            }
            flow.controller.on_acknowledged(&Acknowledged {
                now,
                bytes: DATAGRAM,
                sent: packet.sent,
                in_flight: flow.in_flight,
                app_limited: false,
                sample: (self.acks.is_none() || left == 0).then_some(sample),
                smoothed: flow.smoothed,
                delivered: flow.delivered,
                rate: Some(RateSample {
                    bytes: flow.delivered - packet.delivered,
                    interval: sample,
                    app_limited: false,
                    in_flight_when_sent: packet.in_flight,
                    lost: flow.lost - packet.lost,
                }),
                round_ended,
            });
        }
    }

    fn send(&mut self, turn: usize) {
        let now = self.now;
        let flow = &mut self.flows[turn];
        while flow.in_flight + DATAGRAM <= flow.controller.window() && flow.next <= now {
            let rate = flow.controller.pacing_rate(flow.smoothed).max(1);
            let start = flow.next.max(Time(now.0.saturating_sub(100_000)));
            flow.next = start.after(Duration::from_nanos(DATAGRAM * 1_000_000_000 / rate));
            flow.controller.on_sent(now, DATAGRAM, flow.in_flight);
            flow.in_flight += DATAGRAM;
            let packet = Packet {
                sent: now,
                delivered: flow.delivered,
                in_flight: flow.in_flight,
                lost: flow.lost,
                number: flow.sent,
            };
            flow.sent += 1;
            let waiting = self.busy.since(now);
            let queued = u128::from(self.rate) * waiting.as_nanos() / 1_000_000_000;
            if queued as u64 + DATAGRAM > self.room {
                // Three later packets reveal a loss about when the queue has drained.
                let told = now.after(waiting).after(self.delay);
                flow.coming.push_back((told, packet, false));
                continue;
            }
            let takes = Duration::from_nanos(DATAGRAM * 1_000_000_000 / self.rate);
            self.busy = self.busy.max(now).after(takes);
            let back = self.busy.after(self.delay);
            flow.coming.push_back((back, packet, true));
        }
    }
}

const KINDS: [CongestionControl; 3] = [
    CongestionControl::Cubic,
    CongestionControl::Reno,
    CongestionControl::Bbr,
];

#[test]
fn a_lone_flow_fills_the_path() {
    for kind in KINDS {
        for (megabits, rtt) in [(10, 20), (100, 10), (20, 100)] {
            let rtt = Duration::from_millis(rtt);
            let mut path = Bottleneck::new(megabits, rtt, 1.0, &[kind]);
            path.run(Duration::from_secs(12));
            let before = path.flows[0].delivered;
            path.run(Duration::from_secs(8));
            let share = (path.flows[0].delivered - before) as f64 / (path.rate * 8) as f64;
            assert!(
                share > 0.85,
                "{kind:?} at {megabits} Mb/s, {rtt:?}: {share:.2}"
            );
        }
    }
}

#[test]
fn two_alike_share() {
    for kind in KINDS {
        let mut path = Bottleneck::new(20, Duration::from_millis(40), 1.0, &[kind, kind]);
        path.run(Duration::from_secs(20));
        let before: Vec<u64> = path.flows.iter().map(|flow| flow.delivered).collect();
        path.run(Duration::from_secs(30));
        let got: Vec<f64> = path
            .flows
            .iter()
            .zip(before)
            .map(|(flow, before)| (flow.delivered - before) as f64)
            .collect();
        let sum: f64 = got.iter().sum();
        let squares: f64 = got.iter().map(|share| share * share).sum();
        let jain = sum * sum / (2.0 * squares);
        assert!(jain > 0.8, "{kind:?}: Jain's index {jain:.3} of {got:?}");
    }
}

#[test]
fn slow_start_ends_before_a_deep_queue_is_full() {
    for kind in [CongestionControl::Cubic, CongestionControl::Reno] {
        let mut path = Bottleneck::new(50, Duration::from_millis(50), 8.0, &[kind]);
        path.run(Duration::from_secs(3));
        let flow = &path.flows[0];
        assert!(!flow.controller.is_slow_start(), "{kind:?}");
        assert_eq!(flow.lost, 0, "{kind:?}");
    }
}

/// Slow start loses only a small part of what the path and its queue hold when it finds their
/// limit.
#[test]
fn slow_start_loses_little_where_acknowledgements_are_rare() {
    for kind in [CongestionControl::Cubic, CongestionControl::Reno] {
        for (megabits, rtt) in [(10, 100), (100, 20), (100, 100)] {
            for acks in [None, Some(16)] {
                let rtt = Duration::from_millis(rtt);
                let mut path = Bottleneck::new(megabits, rtt, 1.0, &[kind]);
                path.acks = acks;
                path.run(rtt * 16);
                let held = 2.0 * path.room as f64;
                let lost = path.flows[0].lost as f64 / held;
                assert!(
                    lost < 0.35,
                    "{kind:?} at {megabits} Mb/s, {rtt:?}, {acks:?} acknowledgements a window: {lost:.2}"
                );
            }
        }
    }
}

fn told(now: Time, bytes: u64, rtt: Duration) -> Acknowledged {
    Acknowledged {
        now,
        bytes,
        sent: Time(now.0.saturating_sub(rtt.as_nanos() as u64)),
        in_flight: 0,
        app_limited: false,
        sample: Some(rtt),
        smoothed: rtt,
        delivered: 0,
        rate: None,
        round_ended: false,
    }
}

fn lost(now: Time, sent: Time, persistent: bool) -> Lost {
    Lost {
        now,
        bytes: DATAGRAM,
        sent,
        in_flight: 0,
        persistent,
    }
}

/// Grows a fresh controller to a window of `datagrams` datagrams.
fn grown(kind: CongestionControl, datagrams: u64) -> Box<dyn Controller> {
    let mut controller = controller(kind, DATAGRAM as u16);
    let missing = datagrams * DATAGRAM - controller.window();
    controller.on_acknowledged(&told(Time(1), missing, Duration::ZERO));
    assert_eq!(controller.window(), datagrams * DATAGRAM);
    controller
}

#[test]
fn one_round_of_losses_is_answered_once() {
    for (kind, left) in [
        (CongestionControl::Cubic, 70),
        (CongestionControl::Reno, 50),
    ] {
        let mut controller = grown(kind, 100);
        controller.on_lost(&lost(Time(1000), Time(500), false));
        controller.on_lost(&lost(Time(1100), Time(900), false));
        assert_eq!(controller.window(), left * DATAGRAM, "{kind:?}");
        controller.on_lost(&lost(Time(3000), Time(2000), false));
        assert!(controller.window() < left * DATAGRAM, "{kind:?}");
    }
}

#[test]
fn a_reduction_for_nothing_is_taken_back() {
    for kind in [CongestionControl::Cubic, CongestionControl::Reno] {
        let mut controller = grown(kind, 100);
        controller.on_lost(&lost(Time(1000), Time(500), false));
        controller.on_spurious();
        assert_eq!(controller.window(), 100 * DATAGRAM, "{kind:?}");
    }
}

#[test]
fn persistent_congestion_leaves_two_datagrams() {
    for kind in [CongestionControl::Cubic, CongestionControl::Reno] {
        let mut controller = grown(kind, 100);
        controller.on_lost(&lost(Time(1000), Time(500), true));
        assert_eq!(controller.window(), 2 * DATAGRAM, "{kind:?}");
    }
}

#[test]
fn who_does_not_use_the_window_does_not_grow_it() {
    for kind in [CongestionControl::Cubic, CongestionControl::Reno] {
        let mut controller = grown(kind, 100);
        let idle = Acknowledged {
            app_limited: true,
            ..told(Time(2), 50 * DATAGRAM, Duration::from_millis(1))
        };
        controller.on_acknowledged(&idle);
        assert_eq!(controller.window(), 100 * DATAGRAM, "{kind:?}");
    }
}

/// §4.2: after K = ∛(W_max (1 − β) / C) the window is W_max again, and ∛(δ / C) before that it is δ
/// below.
#[test]
fn cubic_is_back_near_its_summit_after_the_time_of_its_rfc() {
    let rtt = Duration::from_millis(100);
    let mut controller = grown(CongestionControl::Cubic, 1000);
    let start = Time::ZERO.after(Duration::from_secs(1));
    controller.on_lost(&lost(start, Time(5), false));
    assert_eq!(controller.window(), 700 * DATAGRAM);
    let way = (1000.0_f64 * 0.3 / 0.4).cbrt() - (5.0_f64 / 0.4).cbrt();
    let mut now = start;
    let mut summit = None;
    while summit.is_none() && now.since(start) < Duration::from_secs(30) {
        now = now.after(rtt);
        controller.on_acknowledged(&told(now.after(rtt), controller.window(), rtt));
        if controller.window() >= 995 * DATAGRAM {
            summit = Some(now.since(start).as_secs_f64());
        }
    }
    let summit = summit.unwrap();
    assert!((summit - way).abs() < 0.3, "{summit:.2} s, {way:.2} wanted");
}
