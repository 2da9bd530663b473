//! The counters of a near cache.

/// The number of times that each event happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Answers from the cache: sessions, and names known not to exist.
    pub hits: u64,
    pub absent_hits: u64,
    /// Requests to the store, and callers that waited for another's request.
    pub asked: u64,
    pub joined: u64,
    /// Callers admitted by grace, and callers refused because the store is down.
    pub graced: u64,
    pub outages: u64,
    /// Sessions removed by a change, and times when all were removed.
    pub invalidated: u64,
    pub flushes: u64,
    pub evicted: u64,
    pub revoked: u64,
}
