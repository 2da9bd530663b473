//! CUBIC, RFC 9438: after a loss the window returns to where it was along a curve that time decides, not the round trip.

use std::time::Duration;

use super::{Acknowledged, Controller, Lost, Window};
use crate::Time;

/// How steep the curve is, in datagrams a second³. §4.1.
const C: f64 = 0.4;
/// What a loss leaves of the window. §4.6.
const BETA: f64 = 0.7;
/// What Reno would have to add each round to be as fast with this β. §4.3.
const RENO_GROWTH: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

#[derive(Debug)]
pub(super) struct Cubic {
    window: Window,
    curve: Curve,
    before: Option<(Window, Curve)>,
}

#[derive(Debug, Clone, Default)]
struct Curve {
    /// Since when the window follows the curve; none after a reduction until the next acknowledgement.
    since: Option<Time>,
    /// The window in datagrams at the last reduction.
    summit: f64,
    /// When the curve reaches the summit, in seconds.
    way: f64,
    /// What Reno's window would be, in datagrams.
    reno: f64,
    /// Reno's window before the reduction. §4.3.
    prior: f64,
}

impl Cubic {
    pub(super) fn new(datagram: u16) -> Self {
        Self {
            window: Window::new(datagram),
            curve: Curve::default(),
            before: None,
        }
    }

    fn in_datagrams(&self) -> f64 {
        self.window.bytes as f64 / self.window.datagram as f64
    }

    fn reduce(&mut self, now: Time, sent: Time) -> bool {
        if self.window.is_recovering(sent) {
            return false;
        }
        self.before = Some((self.window.clone(), self.curve.clone()));
        let window = self.in_datagrams();
        // Fast convergence: whoever has to give way twice gives more. §4.7.
        self.curve.summit = if window < self.curve.summit {
            window * (1.0 + BETA) / 2.0
        } else {
            window
        };
        self.curve.prior = window;
        self.curve.since = None;
        let left = (self.window.bytes as f64 * BETA) as u64;
        self.window.reduce(now, left);
        true
    }

    /// The window in datagrams that the curve wants one round trip from now.
    fn target(&mut self, told: &Acknowledged) -> f64 {
        let window = self.in_datagrams();
        let curve = &mut self.curve;
        let since = *curve.since.get_or_insert_with(|| {
            // §4.2: where slow start ended without a loss, the summit is here.
            curve.summit = curve.summit.max(window);
            curve.way = ((curve.summit - window) / C).cbrt();
            curve.reno = window;
            told.now
        });
        let at = told.now.since(since).as_secs_f64() + told.smoothed.as_secs_f64();
        let wanted = C * (at - curve.way).powi(3) + curve.summit;
        wanted.clamp(window, window * 1.5)
    }
}

impl Controller for Cubic {
    fn on_sent(&mut self, _now: Time, _bytes: u64, _in_flight_before: u64) {}

    fn on_acknowledged(&mut self, told: &Acknowledged) {
        if self.window.is_recovering(told.sent) {
            return;
        }
        if told.app_limited {
            // The curve stands still while nobody climbs. §5.8.
            if let Some(since) = &mut self.curve.since {
                *since = told.now.max(*since);
                self.curve.way = ((self.curve.summit - self.in_datagrams()).max(0.0) / C).cbrt();
            }
            return;
        }
        if self.is_slow_start() {
            self.window.slow_start(told);
            return;
        }
        let target = self.target(told);
        let window = self.in_datagrams();
        let acknowledged = told.bytes as f64 / self.window.datagram as f64;
        let growth = if self.curve.reno >= self.curve.prior {
            1.0
        } else {
            RENO_GROWTH
        };
        self.curve.reno += growth * acknowledged / window;
        let grown = window + (target - window) * acknowledged / window;
        let wanted = grown.max(self.curve.reno) * self.window.datagram as f64;
        self.window.bytes = self.window.bytes.max(wanted as u64);
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.reduce(lost.now, lost.sent);
        if lost.persistent {
            self.window.collapse();
            self.curve.since = None;
            self.before = None;
        }
    }

    fn on_marked(&mut self, now: Time, sent: Time) {
        if self.reduce(now, sent) {
            self.before = None;
        }
    }

    fn on_spurious(&mut self) {
        if let Some((window, curve)) = self.before.take() {
            (self.window, self.curve) = (window, curve);
        }
    }

    fn window(&self) -> u64 {
        self.window.bytes
    }

    fn pacing_rate(&self, smoothed: Duration) -> u64 {
        self.window.pacing_rate(smoothed)
    }

    fn set_datagram(&mut self, size: u16) {
        self.window.set_datagram(size);
    }

    fn is_slow_start(&self) -> bool {
        self.window.is_slow_start()
    }
}
