//! Answers that were received, and whether one of them will do. RFC 9111, as a private cache.

/// Where answers are kept.
#[derive(Debug)]
pub(super) struct Shelf;
