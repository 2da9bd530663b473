//! What Reno and CUBIC share: slow start, one reduction for each congestion event, and undoing it
//! if nothing was lost.

use std::fmt::Debug;
use std::time::Duration;

use super::{Acknowledged, Controller, Lost, Window};
use crate::Time;

/// How the window grows in congestion avoidance, and how a loss shrinks it.
pub(super) trait Avoidance: Debug + Clone + Default + Send {
    /// Grows `window` by what was acknowledged.
    fn grow(&mut self, window: &mut Window, told: &Acknowledged);
    /// The sender had too little to send for the window to grow.
    fn on_app_limited(&mut self, window: &Window, told: &Acknowledged);
    /// A congestion event: returns how many bytes are left of `window`.
    fn reduce(&mut self, window: &Window) -> u64;
    /// Persistent congestion: slow start begins again.
    fn on_collapse(&mut self);
    /// Undoes the last congestion event, which was spurious; `before` is the state before it.
    fn undo(&mut self, before: Self);
}

#[derive(Debug)]
pub(super) struct LossBased<A> {
    window: Window,
    avoidance: A,
    before: Option<(Window, A)>,
}

impl<A: Avoidance> LossBased<A> {
    pub(super) fn new(datagram: u16) -> Self {
        Self {
            window: Window::new(datagram),
            avoidance: A::default(),
            before: None,
        }
    }

    fn reduce(&mut self, now: Time, sent: Time) -> bool {
        if self.window.is_recovering(sent) {
            return false;
        }
        self.before = Some((self.window.clone(), self.avoidance.clone()));
        let left = self.avoidance.reduce(&self.window);
        self.window.reduce(now, left);
        true
    }
}

impl<A: Avoidance> Controller for LossBased<A> {
    fn on_sent(&mut self, _now: Time, _bytes: u64, _in_flight_before: u64) {}

    fn on_acknowledged(&mut self, told: &Acknowledged) {
        if self.window.is_recovering(told.sent) {
            return;
        }
        if told.app_limited {
            self.avoidance.on_app_limited(&self.window, told);
        } else if self.window.is_slow_start() {
            self.window.slow_start(told);
        } else {
            self.avoidance.grow(&mut self.window, told);
        }
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.reduce(lost.now, lost.sent);
        if lost.persistent {
            self.window.collapse();
            self.avoidance.on_collapse();
            self.before = None;
        }
    }

    fn on_marked(&mut self, now: Time, sent: Time) {
        if self.reduce(now, sent) {
            self.before = None;
        }
    }

    fn on_spurious(&mut self) {
        if let Some((window, avoidance)) = self.before.take() {
            self.window = window;
            self.avoidance.undo(avoidance);
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
