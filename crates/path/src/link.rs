//! The properties of a link in one direction, as values: delay, loss, rate, queue. Each value has
//! one textual form, which is the same in flags, in files and in Rust.

mod corruption;
mod jitter;
mod loss;
mod mtu;
mod outage;
mod queue;
mod rate;
mod reorder;
mod share;
mod trace;

use std::time::Duration;

pub use corruption::Corruption;
pub use jitter::{Jitter, JitterShape};
pub use loss::{Loss, LossTarget};
pub use mtu::LinkMtu;
pub use outage::LinkOutage;
pub use queue::{Discipline, Queue, QueueSize};
pub use rate::Rate;
pub use reorder::Reorder;
pub use trace::Trace;

pub(crate) use share::parse as parse_share;

/// A one-way link. A packet meets, in this order: outage, MTU, loss, duplication, corruption, the
/// queue, the delay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Link {
    pub delay: Duration,
    pub jitter: Option<Jitter>,
    pub loss: Vec<Loss>,
    /// The share of packets that are held back and overtaken.
    pub reorder: Option<Reorder>,
    /// The share of packets that arrive twice.
    pub duplicate: f64,
    pub corrupt: Option<Corruption>,
    pub rate: Option<Rate>,
    pub queue: Queue,
    /// An MTU smaller than that of the interfaces.
    pub mtu: Option<LinkMtu>,
    pub outages: Vec<LinkOutage>,
}
