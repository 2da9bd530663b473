//! An upstream's counters. Each thread writes its own, and readers add them up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::error::UpstreamError;
use super::server_view::ServerHealth;

/// A counter that one thread writes and all may read.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, more: u64) {
        self.0
            .store(self.0.load(Relaxed).wrapping_add(more), Relaxed);
    }

    pub(super) fn set(&self, value: usize) {
        self.0.store(value as u64, Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Exchanges that one server answered, and those that failed there.
#[derive(Debug, Default)]
struct ServerCounts {
    answered: Count,
    failed: Count,
}

impl ThreadCounts {
    pub(super) fn new(health: Arc<[ServerHealth]>) -> Self {
        Self {
            servers: health.iter().map(|_| ServerCounts::default()).collect(),
            health,
            ..Self::default()
        }
    }

    pub(super) fn answered(&self, server: usize) {
        let places = self.servers.get(server).zip(self.health.get(server));
        if let Some((counts, health)) = places {
            counts.answered.add(1);
            health.succeeded();
        }
    }

    /// Counts a failed attempt. `trouble` is `None` if the connection had been established.
    pub(super) fn failed_at(&self, server: usize, trouble: Option<&UpstreamError>) {
        let places = self.servers.get(server).zip(self.health.get(server));
        if let Some((counts, health)) = places {
            counts.failed.add(1);
            match trouble {
                Some(trouble) => health.unreached(trouble),
                None => health.broke(),
            }
        }
    }

    /// Exchanges that the server answered, and those that failed there.
    pub(super) fn of_server(&self, server: usize) -> (u64, u64) {
        let of = self.servers.get(server);
        of.map_or((0, 0), |of| (of.answered.get(), of.failed.get()))
    }
}

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// One thread's counters.
        #[derive(Debug, Default)]
        pub(super) struct ThreadCounts {
            $(pub(super) $name: Count,)*
            servers: Box<[ServerCounts]>,
            /// How all threads see each server.
            health: Arc<[ServerHealth]>,
        }

        /// The counts at one moment. Each opened connection is open, or was closed for one of five
        /// reasons.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub(crate) struct Counts {
            $($(#[$doc])* pub(crate) $name: u64,)*
        }

        impl ThreadCounts {
            /// Adds these counts to `into`.
            pub(super) fn read(&self, into: &mut Counts) {
                $(into.$name += self.$name.get();)*
            }
        }
    };
}

counts! {
    /// Exchanges that requested a connection.
    asked,
    /// Exchanges that got a kept connection.
    reused,
    /// Connections opened, TLS included.
    opened,
    /// Failed attempts to open a connection.
    unreached,
    /// TLS handshakes that resumed a session.
    resumed,
    /// First flights that the server accepted with the SYN: each saved a round trip.
    fast_opened,
    /// Connections closed by us: unused for too long.
    idled,
    /// Connections closed by us: too old.
    aged,
    /// Connections closed by the server, or because it sent unexpected bytes.
    left,
    /// Connections closed by us: more unused ones than may be kept.
    surplus,
    /// Connections closed after an exchange, because they could not be used again.
    spent,
    /// Exchanges that had to wait for others to end.
    waited,
    /// Exchanges that got no connection because all were busy for too long, or too many waited.
    refused,
    /// Servers ejected after failures in a row.
    ejected,
    /// Exchanges that failed at the server.
    failed,
    /// Retries, and retries that the budget did not allow.
    retried,
    over_budget,
    /// Current values: connections, unused connections, and exchanges that wait.
    open,
    unused,
    waiting,
}
