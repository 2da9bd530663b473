//! How fast a client reads an answer. Answers are not spooled, so a client that reads slowly holds
//! a connection to the backend. That is allowed as long as no other request waits for one.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use roundtrip_net::TcpInfo;

use super::rate::{BodyRate, TooSlow};
use crate::forward::upstream::HeldConnection;

/// Smaller answers are not measured in the kernel.
const METERED: u64 = 64 * 1024;

/// A client's socket. Its kernel may buffer megabytes, and asks for more only when much of that has
/// been sent.
#[derive(Debug)]
pub(crate) struct TcpMeter(OwnedFd);

impl TcpMeter {
    pub(crate) fn new(socket: &impl AsFd) -> Option<Self> {
        socket.as_fd().try_clone_to_owned().ok().map(Self)
    }

    fn acknowledged(&self) -> u64 {
        TcpInfo::from_socket(&self.0).map_or(0, |info| info.bytes_acked())
    }
}

pub(super) struct ReadRate<'a> {
    held: HeldConnection<'a>,
    /// The minimum rate in bytes a second; 0 means no minimum.
    minimum: u64,
    /// Begins when gate first has to wait for the client; for most answers it never does.
    measured: Option<Box<BodyRate>>,
    meter: Option<TcpMeter>,
    /// The bytes that the client had acknowledged at the last check.
    acknowledged: u64,
}

impl<'a> ReadRate<'a> {
    pub(super) fn new(held: HeldConnection<'a>, minimum: u64) -> Self {
        Self {
            held,
            minimum,
            measured: None,
            meter: None,
            acknowledged: 0,
        }
    }

    /// Prepares a measurement: called before each flush, with the length of the answer so far.
    pub(super) fn prepare(&mut self, length: u64, meter: impl FnOnce() -> Option<TcpMeter>) {
        if self.meter.is_none() && length >= METERED && self.minimum > 0 {
            self.meter = meter();
        }
    }

    /// Notes that the client took these bytes at once.
    pub(super) fn took(&mut self, bytes: u64) {
        if let Some(rate) = &mut self.measured {
            let slow = rate.came(Duration::ZERO, bytes).is_err();
            self.held.client_is_slow(slow);
        }
    }

    /// Notes that gate begins to wait for the client.
    pub(super) fn begin_to_wait(&mut self) {
        if let Some(meter) = &self.meter {
            self.acknowledged = meter.acknowledged();
        }
    }

    /// Notes that gate waited for the client, which then read these bytes (possibly none). The
    /// client is too slow if it holds a connection that others wait for.
    pub(super) fn waited(&mut self, time: Duration, bytes: u64) -> Result<(), TooSlow> {
        if self.minimum == 0 {
            return Ok(());
        }
        let minimum = self.minimum;
        let bytes = match &self.meter {
            None => bytes,
            Some(meter) => {
                let now = meter.acknowledged();
                now.saturating_sub(std::mem::replace(&mut self.acknowledged, now))
            }
        };
        let begin = || Box::new(BodyRate::constant(minimum));
        let rate = self.measured.get_or_insert_with(begin);
        let slow = rate.came(time, bytes).is_err();
        self.held.client_is_slow(slow);
        if self.held.is_needed() {
            return Err(TooSlow);
        }
        Ok(())
    }
}
