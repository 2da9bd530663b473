//! Changes that a store reports by itself.

/// Something that puts earlier knowledge in doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// This session was written, prolonged or revoked, or has expired.
    Touched(String),
    /// Any session could have changed.
    Everything,
    /// The connection that reports changes was lost: until it is back, no change is reported.
    Lost,
    /// The connection is back.
    Back,
}
