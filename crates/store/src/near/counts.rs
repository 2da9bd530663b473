//! What a near cache counts.

/// How often something happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Known, and known not to exist.
    pub hits: u64,
    pub absent_hits: u64,
    /// Questions to the store, and those who waited for the answer to another's.
    pub asked: u64,
    pub joined: u64,
    /// Let in by grace; turned away because the store is down.
    pub graced: u64,
    pub outages: u64,
    /// Sessions that a change took away, and times that all went.
    pub invalidated: u64,
    pub flushes: u64,
    pub evicted: u64,
    pub revoked: u64,
}
