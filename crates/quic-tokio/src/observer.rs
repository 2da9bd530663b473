//! Who sees each datagram of a dock as it leaves and as it comes.

use roundtrip_model::Moment;

/// It is called by the dock's task, which does nothing else meanwhile.
pub trait Lookout: Send + Sync {
    fn now(&self) -> Moment;

    /// A run of datagrams left, all of this length but the last; that was begun at this time.
    fn left(&self, at: Moment, segment: usize, bytes: &[u8]);

    /// A run of datagrams came, and nobody has read it yet.
    fn came(&self, at: Moment, segment: usize, bytes: &[u8]);

    /// While it says so, one run is taken in, and then it is everybody else's turn: so it is known what each run brought. That
    /// costs throughput.
    fn wants_each(&self) -> bool;
}
