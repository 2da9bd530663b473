//! How much may be in flight. Each path has one controller, which is called once for each
//! acknowledgement, never for each packet.
//!
//! RFC 9002 §7. Counting, times and loss detection belong to `recovery`; the spacing of bursts to
//! `pacer`.

mod bbr;
mod cubic;
mod hystart;
mod loss_based;
mod reno;
#[cfg(test)]
mod tests;
mod window;

use std::fmt::Debug;
use std::time::Duration;

use crate::{CongestionControl, Time};
use cubic::Cubic;
use loss_based::LossBased;
use reno::Reno;
use window::Window;

pub(crate) fn controller(kind: CongestionControl, datagram: u16) -> Box<dyn Controller> {
    match kind {
        CongestionControl::Reno => Box::new(LossBased::<Reno>::new(datagram)),
        CongestionControl::Cubic => Box::new(LossBased::<Cubic>::new(datagram)),
        CongestionControl::Bbr => Box::new(bbr::Bbr::new(datagram)),
    }
}

/// What one acknowledgement reported.
#[derive(Debug, Clone)]
pub(crate) struct Acknowledged {
    pub(crate) now: Time,
    /// The bytes in flight that this acknowledgement newly acknowledged.
    pub(crate) bytes: u64,
    /// When the newest acknowledged packet was sent.
    pub(crate) sent: Time,
    /// What is still in flight.
    pub(crate) in_flight: u64,
    /// The sender had less to send than the window allowed.
    pub(crate) app_limited: bool,
    /// This acknowledgement's own sample of the round trip, if it gives one, without the peer's
    /// delay.
    pub(crate) sample: Option<Duration>,
    pub(crate) smoothed: Duration,
    /// All bytes delivered so far.
    pub(crate) delivered: u64,
    pub(crate) rate: Option<RateSample>,
    /// All that was in flight when the last round ended has now been acknowledged.
    pub(crate) round_ended: bool,
}

/// A delivery-rate sample of the path. draft-ietf-ccwg-bbr §4.1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateSample {
    pub(crate) bytes: u64,
    pub(crate) interval: Duration,
    pub(crate) app_limited: bool,
    /// What was in flight when the newest acknowledged packet left.
    pub(crate) in_flight_when_sent: u64,
    /// What was lost between that packet's departure and now.
    pub(crate) lost: u64,
}

/// Packets that are certainly lost.
#[derive(Debug, Clone)]
pub(crate) struct Lost {
    pub(crate) now: Time,
    pub(crate) bytes: u64,
    /// When the newest lost packet was sent.
    pub(crate) sent: Time,
    /// What is still in flight.
    pub(crate) in_flight: u64,
    /// Nothing was delivered for a whole period of persistent congestion. RFC 9002 §7.6.
    pub(crate) persistent: bool,
}

pub(crate) trait Controller: Debug + Send {
    fn on_sent(&mut self, now: Time, bytes: u64, in_flight_before: u64);
    fn on_acknowledged(&mut self, acknowledged: &Acknowledged);
    fn on_lost(&mut self, lost: &Lost);
    /// A router marked a packet that was sent at `sent`, instead of dropping it. RFC 9002 §7.1.
    fn on_marked(&mut self, now: Time, sent: Time);
    /// All losses since the last reduction were spurious: the packets arrived late.
    fn on_spurious(&mut self);
    /// The congestion window in bytes.
    fn window(&self) -> u64;
    /// The pacing rate in bytes per second.
    fn pacing_rate(&self, smoothed: Duration) -> u64;
    fn set_datagram(&mut self, size: u16);
    fn is_slow_start(&self) -> bool;
}
