//! What sees each datagram of an endpoint, with its time.

use roundtrip_model::Moment;
use roundtrip_quic::Stats;

/// Sees each datagram as it leaves and as it arrives. It is called by the driver, which does
/// nothing else meanwhile.
pub trait DatagramObserver: Send + Sync {
    fn now(&self) -> Moment;

    /// A run of datagrams left, all of `segment` bytes but the last. Sending it began at this time.
    fn on_sent(&self, at: Moment, segment: usize, bytes: &[u8]);

    /// A run of datagrams arrived, all of `segment` bytes but the last. Nobody has read them yet.
    fn on_received(&self, at: Moment, segment: usize, bytes: &[u8]);

    /// The engine has read `bytes` bytes that [`Self::on_received`] saw, and its connection has now
    /// counted this; none where they belonged to no connection.
    fn on_read(&self, at: Moment, bytes: usize, stats: Option<&Stats>) {
        let _ = (at, bytes, stats);
    }

    /// While this is true, the driver takes in one run at a time and then lets all other tasks run,
    /// so that it is known what each run brought. That costs throughput.
    fn wants_each(&self) -> bool;
}
