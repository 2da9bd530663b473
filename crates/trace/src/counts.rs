//! Counts of what was read from a capture.

/// Counts of the frames and packets that were read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CaptureCounts {
    pub frames: u64,
    /// Frames in which no IP packet was found, and packets that are neither TCP nor UDP.
    pub not_ip: u64,
    pub other: u64,
    /// Fragments whose packets never became complete.
    pub fragments: u64,
    /// Packets that the capture kept only in part.
    pub cut: u64,
    pub connections: u64,
    /// Connections that were captured in one direction only, so that no wait can be explained.
    pub one_way: u64,
    /// Connections that secrets opened, and those whose secrets do not fit.
    pub opened: u64,
    pub misfits: u64,
    /// Lines of key logs that cannot be read.
    pub damaged_keys: u64,
    /// Connections whose secrets were forgotten, to keep memory bounded.
    pub forgotten_keys: u64,
    /// Requests that are not explained, because too many were under way at the same time.
    pub left_out: u64,
    /// Connections that were dropped before they ended, to keep memory bounded.
    pub given_up: u64,
    /// The first and the last time, in nanoseconds since 1970.
    pub first: Option<u64>,
    pub last: u64,
}
