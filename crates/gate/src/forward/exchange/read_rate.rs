//! How fast a client reads an answer. Answers are not spooled, so a client that reads slowly holds
//! a connection to the backend. That is allowed as long as no other request waits for one.

use std::time::Duration;

use super::rate::{BodyRate, TooSlow};
use crate::forward::upstream::HeldConnection;

/// The most bytes that a client's socket may hold and has not sent, so that the rate at which it
/// takes more shows how fast its client reads.
pub(crate) const MAX_UNSENT: u32 = 64 * 1024;

/// The kernel asks for more when half of that has been sent.
const UNCOUNTED: u64 = MAX_UNSENT as u64 / 2;

pub(super) struct ReadRate<'a> {
    held: HeldConnection<'a>,
    /// The minimum rate in bytes a second; 0 means no minimum.
    minimum: u64,
    /// Begins when gate waits for the client for the first time: most answers never wait.
    measured: Option<Box<BodyRate>>,
}

impl<'a> ReadRate<'a> {
    pub(super) fn new(held: HeldConnection<'a>, minimum: u64) -> Self {
        Self {
            held,
            minimum,
            measured: None,
        }
    }

    /// The client took these bytes at once.
    pub(super) fn took(&mut self, bytes: u64) {
        if let Some(rate) = &mut self.measured {
            let slow = rate.came(Duration::ZERO, bytes).is_err();
            self.held.client_is_slow(slow);
        }
    }

    /// Notes that gate waited for the client, which then read these bytes (possibly none). The
    /// client is too slow if it holds a connection that others wait for.
    pub(super) fn waited(&mut self, time: Duration, bytes: u64) -> Result<(), TooSlow> {
        if self.minimum == 0 {
            return Ok(());
        }
        let minimum = self.minimum;
        let begin = || Box::new(BodyRate::constant(minimum, UNCOUNTED));
        let rate = self.measured.get_or_insert_with(begin);
        let slow = rate.came(time, bytes).is_err();
        self.held.client_is_slow(slow);
        if self.held.is_needed() {
            return Err(TooSlow);
        }
        Ok(())
    }
}
