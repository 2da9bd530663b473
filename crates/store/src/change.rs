//! What a store says of its own accord.

/// Something that makes what was learnt earlier doubtful.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// This session was written, prolonged, revoked, or has expired.
    Touched(String),
    /// Any session may have changed.
    Everything,
    /// The connection over which changes come is gone: from now on nothing is told.
    Lost,
    /// It is there again.
    Back,
}
