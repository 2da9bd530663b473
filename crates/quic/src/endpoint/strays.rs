//! Datagrams that belonged to no connection, by outcome.

/// Counts of datagrams that belonged to no connection of the endpoint and began none; each datagram
/// counts once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StrayCounts {
    /// Datagrams of clients that had to validate their address first. RFC 9000 §8.1.2.
    pub retried: u64,
    /// Datagrams of clients that had no version that the server has. RFC 9000 §6.1.
    pub other_version: u64,
    /// Datagrams of clients whose Retry token was not valid. RFC 9000 §8.1.2.
    pub bad_token: u64,
    /// Datagrams of clients that were refused because there was no room. RFC 9000 §5.2.2.
    pub refused: u64,
    /// Packets of removed connections that were answered by a reset. RFC 9000 §10.3.
    pub reset: u64,
    /// Datagrams for connections of another endpoint of this process, or of another process.
    pub handed_over: u64,
    /// Early-data packets that arrived before their ClientHello; most of them are kept for a while.
    pub overtook: u64,
    /// Datagrams that had no meaning for any connection.
    pub dropped: u64,
}

impl StrayCounts {
    pub(super) fn total(&self) -> u64 {
        let Self {
            retried,
            other_version,
            bad_token,
            refused,
            reset,
            handed_over,
            overtook,
            dropped,
        } = self;
        retried + other_version + bad_token + refused + reset + handed_over + overtook + dropped
    }
}
