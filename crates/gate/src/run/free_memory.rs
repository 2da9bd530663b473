//! Returns memory to the kernel after a peak: the allocator keeps what is freed in small pieces.

use crate::record::{Gauge, Snapshot};

/// Smaller peaks of connections, and of bytes that QUIC keeps, leave little behind.
const MIN_CONNECTIONS: u64 = 1024;
const MIN_QUIC_MEMORY: u64 = 64 << 20;

/// The largest values since memory was last returned.
#[derive(Debug, Default)]
pub(super) struct FreeMemory {
    connections: u64,
    quic_memory: u64,
}

impl FreeMemory {
    /// Called regularly. Calls `give_back` once less than half of a peak is left.
    pub(super) fn look(&mut self, now: &Snapshot, give_back: impl FnOnce()) {
        let connections = now.gauge(Gauge::Connections);
        let quic_memory = now.gauge(Gauge::QuicMemory);
        self.connections = self.connections.max(connections);
        self.quic_memory = self.quic_memory.max(quic_memory);
        let is_over = |peak: u64, min: u64, now: u64| peak >= min && now < peak / 2;
        if is_over(self.connections, MIN_CONNECTIONS, connections)
            || is_over(self.quic_memory, MIN_QUIC_MEMORY, quic_memory)
        {
            *self = Self {
                connections,
                quic_memory,
            };
            give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Ledgers;

    #[test]
    fn memory_is_returned_once_after_each_peak() {
        let book = Ledgers::new(1);
        let ledger = book.ledger(0);
        let mut free = FreeMemory::default();
        let mut returned = Vec::new();
        for (connections, quic) in [
            (900, 0),
            (0, 0),
            (5000, 10 << 20),
            (2600, 10 << 20),
            (2400, 10 << 20),
            (2400, 10 << 20),
            (2300, 80 << 20),
            (2300, 39 << 20),
            (2300, 0),
        ] {
            ledger.set(Gauge::Connections, connections);
            ledger.set(Gauge::QuicMemory, quic);
            let mut given = false;
            free.look(&book.snapshot(), || given = true);
            returned.push(u8::from(given));
        }
        assert_eq!(returned, [0, 0, 0, 0, 1, 0, 0, 1, 0]);
    }
}
