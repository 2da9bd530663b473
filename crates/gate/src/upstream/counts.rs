//! What is counted of an upstream. Each thread writes its own tally; whoever wants to know adds them up.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Written by one thread, read by any.
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

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Of one thread.
        #[derive(Debug, Default)]
        pub(super) struct Tally {
            $(pub(super) $name: Count,)*
        }

        /// A reading. Connections that were opened are open, or closed for one of five reasons.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub(crate) struct Counts {
            $($(#[$doc])* pub(crate) $name: u64,)*
        }

        impl Tally {
            /// Adds what is here.
            pub(super) fn read(&self, into: &mut Counts) {
                $(into.$name += self.$name.get();)*
            }
        }
    };
}

counts! {
    /// Exchanges that asked for a connection.
    asked,
    /// Exchanges that got a kept connection.
    reused,
    /// Connections opened, TLS included.
    opened,
    /// Attempts to open one that failed.
    unreached,
    /// TLS handshakes that resumed a session.
    resumed,
    /// First flights that the server took with the SYN: each saved a round trip.
    fast_opened,
    /// Closed by us: unused for too long.
    idled,
    /// Closed by us: too old.
    aged,
    /// Closed by the server, or bytes came that nobody had asked for.
    left,
    /// Closed by us: more unused ones than are kept.
    surplus,
    /// Closed after an exchange that did not leave them fit for another.
    spent,
    /// Exchanges that had to wait for others to end.
    waited,
    /// Exchanges that got no connection because all were busy for too long, or too many waited.
    refused,
    /// Servers left alone after failures in a row.
    ejected,
    /// Exchanges that failed at the server.
    failed,
    /// Retries, and those that the budget did not allow.
    retried,
    over_budget,
    /// Now: connections, those of them that are unused, and exchanges that wait.
    open,
    unused,
    waiting,
}
