//! One direction of a path: a delay that varies in time, and a line behind a queue.

use roundtrip_model::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Uniform,
    Normal,
    Exponential,
    Pareto,
}

/// A variation by `by` ms, in one direction or both.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Jitter {
    pub(crate) by: f64,
    pub(crate) shape: Shape,
    pub(crate) up: bool,
    pub(crate) down: bool,
}

/// Packets keep their order.
pub(crate) struct Way {
    delay: f64,
    jitter: Option<Jitter>,
    rate: Option<f64>,
    random: Random,
    free: f64,
    latest: f64,
    /// The delay falls from `peak`, which it had at `from`, to zero at `until`.
    from: f64,
    until: f64,
    peak: f64,
}

/// The headers of a packet, in bytes.
const HEADERS: u64 = 52;
/// In multiples of the jitter: how long the curve has run before the first packet.
const SETTLED_AFTER: f64 = 150.0;
const MIN_SCALE: f64 = 2.0;

impl Way {
    pub(super) fn new(
        delay: f64,
        jitter: Option<Jitter>,
        rate: Option<f64>,
        random: Random,
    ) -> Self {
        Self {
            delay,
            jitter,
            rate,
            random,
            free: 0.0,
            latest: 0.0,
            from: 0.0,
            until: 0.0,
            peak: 0.0,
        }
    }

    /// When a packet that leaves at `at` arrives.
    pub(super) fn carry(&mut self, at: f64, bytes: u64) -> f64 {
        let mut left = at;
        if let Some(rate) = self.rate {
            left = at.max(self.free) + (bytes + HEADERS) as f64 / rate;
            self.free = left;
        }
        let arrives = left + self.delay + self.extra(left);
        self.latest = self.latest.max(arrives);
        self.latest
    }

    fn extra(&mut self, at: f64) -> f64 {
        let Some(jitter) = self.jitter else {
            return 0.0;
        };
        let scale = jitter.by.max(MIN_SCALE);
        self.until = self.until.max(at - SETTLED_AFTER * scale);
        while self.until <= at {
            let peak = jitter.shape.peak(&mut self.random);
            let slowness = 1.0 + self.random.unit();
            self.peak = peak * jitter.by;
            self.from = self.until;
            self.until += (peak * slowness * scale).max(1e-6);
        }
        let passed = ((at - self.from) / (self.until - self.from)).clamp(0.0, 1.0);
        self.peak * (1.0 - passed)
    }
}

impl Shape {
    pub(crate) const ALL: [Self; 4] =
        [Self::Uniform, Self::Normal, Self::Exponential, Self::Pareto];

    /// A peak, in multiples of the jitter: it exceeds x with probability f(x) / f(0), where f is
    /// the density of the shape.
    fn peak(self, random: &mut Random) -> f64 {
        let share = 1.0 - random.unit();
        let peak: f64 = match self {
            Self::Uniform => 1.0,
            Self::Normal => (-2.0 * share.ln()).sqrt(),
            Self::Exponential => -share.ln(),
            Self::Pareto => 2.0 * (share.powf(-1.0 / 4.0) - 1.0),
        };
        peak.min(50.0)
    }
}
