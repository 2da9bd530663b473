//! CUBIC, RFC 9438: after a loss the window returns to its size along a curve over time,
//! independently of the round trip.

use super::loss_based::Avoidance;
use super::{Acknowledged, Window};
use crate::Time;

/// How steep the curve is, in datagrams a second³. §4.1.
const C: f64 = 0.4;
/// The part of the window that is left after a loss. §4.6.
const BETA: f64 = 0.7;
/// How much Reno would have to add in each round to be as fast with this β. §4.3.
const RENO_GROWTH: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

#[derive(Debug, Clone, Default)]
pub(super) struct Cubic {
    /// When the window began to follow the curve; `None` after a reduction until the next
    /// acknowledgement.
    since: Option<Time>,
    /// The window in datagrams at the last reduction: W_max.
    summit: f64,
    /// How long the curve takes to reach the summit, in seconds: K.
    climb: f64,
    /// The size that Reno's window would have, in datagrams: W_est.
    reno: f64,
    /// The window in datagrams before the reduction: cwnd_prior. §4.3.
    prior: f64,
}

impl Cubic {
    /// The window in datagrams that the curve reaches one round trip from now.
    fn target(&mut self, window: f64, told: &Acknowledged) -> f64 {
        let since = *self.since.get_or_insert_with(|| {
            // §4.2: if slow start ended without a loss, the summit is here.
            self.summit = self.summit.max(window);
            self.climb = ((self.summit - window) / C).cbrt();
            self.reno = window;
            told.now
        });
        let at = told.now.since(since).as_secs_f64() + told.smoothed.as_secs_f64();
        let wanted = C * (at - self.climb).powi(3) + self.summit;
        wanted.clamp(window, window * 1.5)
    }
}

impl Avoidance for Cubic {
    fn grow(&mut self, window: &mut Window, told: &Acknowledged) {
        let datagrams = window.in_datagrams();
        let target = self.target(datagrams, told);
        let acknowledged = told.bytes as f64 / window.datagram as f64;
        let growth = if self.reno >= self.prior {
            1.0
        } else {
            RENO_GROWTH
        };
        self.reno += growth * acknowledged / datagrams;
        let grown = datagrams + (target - datagrams) * acknowledged / datagrams;
        let wanted = grown.max(self.reno) * window.datagram as f64;
        window.bytes = window.bytes.max(wanted as u64);
    }

    /// Stops the curve while the application limits sending. §5.8.
    fn on_app_limited(&mut self, window: &Window, told: &Acknowledged) {
        if let Some(since) = &mut self.since {
            *since = told.now.max(*since);
            self.climb = ((self.summit - window.in_datagrams()).max(0.0) / C).cbrt();
        }
    }

    fn reduce(&mut self, window: &Window) -> u64 {
        let datagrams = window.in_datagrams();
        // Fast convergence: a sender that has to reduce twice gives up more. §4.7.
        self.summit = if datagrams < self.summit {
            datagrams * (1.0 + BETA) / 2.0
        } else {
            datagrams
        };
        self.prior = datagrams;
        self.since = None;
        (window.bytes as f64 * BETA) as u64
    }

    fn on_collapse(&mut self) {
        self.since = None;
    }

    fn undo(&mut self, before: Self) {
        *self = before;
    }
}
