//! The connections of one thread to the servers of one `[upstream.NAME]`.
//!
//! `group` holds what all threads know about the servers; `pools` decides which exchange gets which
//! connection and which ones wait; `link` is a connection that one exchange holds. `exchange`
//! decides what is sent over it.

mod address;
mod budget;
mod counts;
mod error;
mod group;
mod h2;
mod lease;
mod link;
mod maintain;
mod outlier_ejection;
mod pool;
mod pools;
mod report;
mod server_view;
#[cfg(test)]
mod tests;
mod wire;

use std::cell::RefCell;
use std::future::Future;
use std::net::IpAddr;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::config::{Span, UpstreamProtocol};
use crate::judge::original_client::network;
use budget::RetryBudget;
pub(crate) use counts::Counts;
pub(crate) use error::UpstreamError;
pub(crate) use group::Group;
pub(crate) use h2::was_not_processed;
use link::ReadBuffers;
pub(crate) use link::{Fate, HeldConnection, Link};
use outlier_ejection::EjectionConfig;
use pool::Bounds;
use pools::{PoolConfig, PoolRequest, Pools};
use report::Reported;
pub(crate) use report::report;
pub(crate) use server_view::{ServerState, ServerView};
pub(crate) use wire::Wire;

/// One upstream, in one thread.
pub(crate) struct Upstream {
    this: Weak<Self>,
    group: Arc<Group>,
    pools: Rc<Pools<Wire>>,
    budget: RefCell<RetryBudget>,
    buffers: ReadBuffers,
    /// One for each server, if HTTP/2 is used.
    shared: Vec<h2::SharedSlot>,
    told: Reported,
}

/// The requirements of an exchange for its connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LeaseNeeds {
    /// The request may reach the server twice, so it may be sent in the SYN.
    pub(crate) repeatable: bool,
    /// The request's body is still arriving.
    pub(crate) upload: bool,
    /// The connection may become a tunnel, or its answer a stream.
    pub(crate) tunnel: bool,
    /// The request's head is larger than some servers accept.
    pub(crate) large_head: bool,
    /// Clients that have to wait are served in turn.
    pub(crate) client: Option<IpAddr>,
    /// How long the exchange waits; `None` means as long as every exchange may.
    pub(crate) until: Option<Instant>,
}

impl From<LeaseNeeds> for PoolRequest {
    fn from(need: LeaseNeeds) -> Self {
        Self {
            once: !need.repeatable || need.upload,
            upload: need.upload,
            tunnel: need.tunnel,
            client: need.client.map(network),
            ..Self::default()
        }
    }
}

impl Upstream {
    pub(crate) fn new(group: &Arc<Group>) -> Rc<Self> {
        let config = &group.config;
        let is_h2 = config.protocol == UpstreamProtocol::H2;
        let rules = PoolConfig {
            bounds: Bounds {
                connections: config.connections.max(1),
                // A stream is never kept, because it ends with its exchange.
                idle: if is_h2 { 0 } else { config.idle },
                idle_time: config.idle_time.0,
                age: config.age.0,
            },
            balance: config.balance,
            ejecting: EjectionConfig {
                after: config.eject_after,
                time: config.eject_for.0,
            },
            uploads: match config.uploads {
                0 => config.connections.div_ceil(2).max(1),
                uploads => uploads,
            },
            tunnels: config.tunnels,
            waiting: config.waiting,
        };
        Rc::new_cyclic(|this| Self {
            this: this.clone(),
            pools: Pools::new(rules, group.well.clone(), group.new_thread()),
            budget: RefCell::new(RetryBudget::new(config.retry_budget, Instant::now())),
            buffers: ReadBuffers::default(),
            shared: (0..group.well.len())
                .map(|_| h2::SharedSlot::default())
                .collect(),
            told: Reported::default(),
            group: group.clone(),
        })
    }

    /// Opens spare connections and closes old ones: one task of the thread, which ends when the
    /// upstream is dropped.
    pub(crate) fn maintain(self: &Rc<Self>) -> impl Future<Output = ()> + use<> {
        maintain::maintain(Rc::downgrade(self))
    }

    pub(crate) fn group(&self) -> &Arc<Group> {
        &self.group
    }

    pub(crate) fn index(&self) -> u16 {
        self.group.index
    }

    pub(crate) fn protocol(&self) -> UpstreamProtocol {
        self.group.config.protocol
    }

    /// The time limit from the request's last byte to the answer's first. `None` means no limit,
    /// here and below.
    pub(crate) fn first_byte(&self) -> Option<Duration> {
        bound(self.group.config.first_byte)
    }

    /// The time limit between two pieces of an answer.
    pub(crate) fn silence(&self) -> Option<Duration> {
        bound(self.group.config.silence)
    }

    /// The time limit for all interim answers together.
    pub(crate) fn interim(&self) -> Option<Duration> {
        bound(self.group.config.interim)
    }

    /// The time limit for a whole exchange.
    pub(crate) fn total(&self) -> Option<Duration> {
        bound(self.group.config.total)
    }
}

fn bound(span: Span) -> Option<Duration> {
    Some(span.0).filter(|time| !time.is_zero())
}
