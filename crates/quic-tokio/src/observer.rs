//! Observers of an endpoint's datagrams and their times.

use roundtrip_model::Moment;
use roundtrip_quic::Stats;

/// Sees each datagram as it leaves and as it arrives. The driver calls it, and does nothing else
/// meanwhile.
pub trait DatagramObserver: Send + Sync {
    fn now(&self) -> Moment;

    /// A run of datagrams left, all of `segment` bytes except the last. Sending it began at this
    /// time.
    fn on_sent(&self, at: Moment, segment: usize, bytes: &[u8]);

    /// A run of datagrams arrived, all of `segment` bytes except the last. No task has read them
    /// yet.
    fn on_received(&self, at: Moment, segment: usize, bytes: &[u8]);

    /// The engine has read `bytes` bytes that [`Self::on_received`] saw, and its connection has now
    /// counted them, as if they had come when it began to read, at `read`; `stats` is `None` if
    /// they belonged to no connection.
    fn on_read(&self, at: Moment, read: Moment, bytes: usize, stats: Option<&Stats>) {
        let _ = (at, read, bytes, stats);
    }

    /// While this is true, the driver receives one run at a time and then lets all other tasks run,
    /// so that the effect of each run is known. That costs throughput.
    fn wants_each(&self) -> bool;
}
