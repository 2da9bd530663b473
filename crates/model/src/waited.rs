//! The party that a time was spent waiting for.

/// Milliseconds, divided by the party that they were spent waiting for. Their sum is the length of
/// the phase.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Waited {
    /// The path: whole round trips, and bytes in transit.
    pub network: f64,
    pub server: f64,
    pub client: f64,
    pub resolver: f64,
    /// Time lost to timeouts: data had to be sent again, or to another address.
    pub loss: f64,
    /// Time that is due to the server or the path: nothing shows to which of them.
    pub unknown: f64,
}

impl Waited {
    pub fn sum(&self) -> f64 {
        self.network + self.server + self.client + self.resolver + self.loss + self.unknown
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            network: self.network + other.network,
            server: self.server + other.server,
            client: self.client + other.client,
            resolver: self.resolver + other.resolver,
            loss: self.loss + other.loss,
            unknown: self.unknown + other.unknown,
        }
    }
}
