//! Changes that a store reports by itself.

/// Something that puts earlier knowledge in doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// This session was written, prolonged or revoked, or has expired.
    Touched(String),
    /// Any session may have changed.
    Everything,
    /// The connection that reports changes is gone: from now on nothing is reported.
    Lost,
    /// The connection is back.
    Back,
}
