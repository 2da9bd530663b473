//! One flow before one queue. A test sets its losses, marks, acknowledgement batches and the data
//! to send.

use std::collections::VecDeque;
use std::time::Duration;

use super::super::{Bbr, BbrState};
use crate::Time;
use crate::congestion::{Acknowledged, Controller, Lost, RateSample};

pub(super) const DATAGRAM: u64 = 1200;
/// A start later than the longest of BBR's timers: code must not rely on a clock that begins at 0.
pub(super) const START: Time = Time(3_600_000_000_000);
const STEP: Duration = Duration::from_micros(50);

pub(super) struct Path {
    pub(super) bbr: Bbr,
    /// The rate of the link in bytes a second.
    pub(super) rate: u64,
    pub(super) delay: Duration,
    room: u64,
    pub(super) loses_every: u64,
    /// Packets are marked when the queue holds this multiple of what the path holds.
    pub(super) marks_above: Option<f64>,
    /// How many packets are acknowledged at once.
    pub(super) lump: usize,
    /// How many packets the application adds every ten milliseconds.
    pub(super) has: usize,
    pub(super) now: Time,
    pub(super) in_flight: u64,
    pub(super) sent: u64,
    pub(super) lost: u64,
    pub(super) seen: Vec<BbrState>,
    pub(super) least_window_in_probe: u64,
    delivered: u64,
    lost_bytes: u64,
    left: usize,
    refilled: Time,
    next: Time,
    busy: Time,
    smoothed: Duration,
    coming: VecDeque<Packet>,
    watched: (Time, u64),
    round_trips: (Duration, u32),
}

#[derive(Clone, Copy)]
struct Packet {
    back: Time,
    sent: Time,
    delivered: u64,
    lost: u64,
    in_flight: u64,
    came: bool,
    marked: bool,
    app_limited: bool,
}

impl Path {
    pub(super) fn new(rate: u64, delay: Duration, room: f64) -> Self {
        Self {
            bbr: Bbr::new(DATAGRAM as u16),
            rate,
            delay,
            room: (rate as f64 * delay.as_secs_f64() * room) as u64,
            loses_every: u64::MAX,
            marks_above: None,
            lump: 1,
            has: usize::MAX,
            now: START,
            in_flight: 0,
            sent: 0,
            lost: 0,
            seen: vec![BbrState::Startup],
            least_window_in_probe: u64::MAX,
            delivered: 0,
            lost_bytes: 0,
            left: usize::MAX,
            refilled: Time::ZERO,
            next: Time::ZERO,
            busy: Time::ZERO,
            smoothed: delay,
            coming: VecDeque::new(),
            watched: (Time::ZERO, 0),
            round_trips: (Duration::ZERO, 0),
        }
    }

    /// Begins the interval that [`Self::share`] and [`Self::mean_round_trip`] describe.
    pub(super) fn watch(&mut self) {
        self.watched = (self.now, self.delivered);
        self.round_trips = (Duration::ZERO, 0);
    }

    /// The share of the path's capacity that was used.
    pub(super) fn share(&self) -> f64 {
        let (since, before) = self.watched;
        let could = self.rate as f64 * self.now.since(since).as_secs_f64();
        (self.delivered - before) as f64 / could
    }

    pub(super) fn mean_round_trip(&self) -> Duration {
        self.round_trips.0 / self.round_trips.1.max(1)
    }

    pub(super) fn run(&mut self, span: Duration) {
        let end = self.now.after(span);
        while self.now < end {
            if self.now.since(self.refilled) >= Duration::from_millis(10) {
                self.refilled = self.now;
                self.left = self.has;
            }
            self.hear();
            self.send();
            let state = self.bbr.state;
            if self.seen.last() != Some(&state) {
                self.seen.push(state);
            }
            if state == BbrState::ProbeRtt {
                let window = self.bbr.window();
                self.least_window_in_probe = self.least_window_in_probe.min(window);
            }
            self.now = self.now.after(STEP);
        }
    }

    fn hear(&mut self) {
        let now = self.now;
        let ready = self.coming.iter().take_while(|packet| packet.back <= now);
        let ready = ready.count();
        let waits = ready == self.coming.len() && self.coming.len() < self.lump;
        if ready < self.lump && !(waits && ready > 0) {
            return;
        }
        let heard: Vec<Packet> = self.coming.drain(..ready).collect();
        for lump in heard.chunks(self.lump) {
            self.acknowledge(lump);
        }
    }

    fn acknowledge(&mut self, lump: &[Packet]) {
        self.in_flight -= DATAGRAM * lump.len() as u64;
        for packet in lump.iter().filter(|packet| !packet.came) {
            self.lost += 1;
            self.lost_bytes += DATAGRAM;
            self.bbr.on_lost(&Lost {
                now: self.now,
                bytes: DATAGRAM,
                sent: packet.sent,
                in_flight: self.in_flight,
                persistent: false,
            });
        }
        let Some(newest) = lump.iter().rfind(|packet| packet.came) else {
            return;
        };
        let bytes = DATAGRAM * lump.iter().filter(|packet| packet.came).count() as u64;
        self.delivered += bytes;
        if lump.iter().any(|packet| packet.marked) {
            self.bbr.on_marked(self.now, newest.sent);
        }
        let sample = self.now.since(newest.sent);
        self.smoothed = (self.smoothed * 7 + sample) / 8;
        self.round_trips.0 += sample;
        self.round_trips.1 += 1;
        self.bbr.on_acknowledged(&Acknowledged {
            now: self.now,
            bytes,
            sent: newest.sent,
            in_flight: self.in_flight,
            app_limited: newest.app_limited,
            sample: Some(sample),
            smoothed: self.smoothed,
            delivered: self.delivered,
            rate: Some(RateSample {
                bytes: self.delivered - newest.delivered,
                interval: sample,
                app_limited: newest.app_limited,
                in_flight_when_sent: newest.in_flight,
                lost: self.lost_bytes - newest.lost,
            }),
            round_ended: false,
        });
    }

    fn send(&mut self) {
        while self.left > 0
            && self.in_flight + DATAGRAM <= self.bbr.window()
            && self.next <= self.now
        {
            let rate = self.bbr.pacing_rate(self.smoothed);
            let start = self.next.max(Time(self.now.0.saturating_sub(100_000)));
            self.next = start.after(Duration::from_nanos(DATAGRAM * 1_000_000_000 / rate));
            self.bbr.on_sent(self.now, DATAGRAM, self.in_flight);
            self.in_flight += DATAGRAM;
            self.left -= 1;
            self.sent += 1;
            self.forward();
        }
    }

    fn forward(&mut self) {
        let waiting = self.busy.since(self.now);
        let queued = (self.rate as f64 * waiting.as_secs_f64()) as u64;
        let came = queued + DATAGRAM <= self.room && !self.sent.is_multiple_of(self.loses_every);
        let product = self.rate as f64 * self.delay.as_secs_f64();
        let above = |share: f64| queued as f64 > product * share;
        if came {
            let takes = Duration::from_nanos(DATAGRAM * 1_000_000_000 / self.rate);
            self.busy = self.busy.max(self.now).after(takes);
        }
        self.coming.push_back(Packet {
            back: self.busy.max(self.now).after(self.delay),
            sent: self.now,
            delivered: self.delivered,
            lost: self.lost_bytes,
            in_flight: self.in_flight,
            came,
            marked: self.marks_above.is_some_and(above),
            app_limited: self.has != usize::MAX,
        });
    }
}
