//! What belongs to one origin (RFC 6454 §4) and is nothing to any other.

use roundtrip_model::{Target, TargetError};

/// A value that can only be had for URLs of its origin.
pub struct Bound<T> {
    origin: Target,
    value: T,
}

impl<T> Bound<T> {
    /// For the origin of `target`: of the rest of the URL nothing is kept.
    pub fn new(target: &Target, value: T) -> Result<Self, TargetError> {
        let origin = format!("{}://{}/", target.scheme.as_str(), target.authority());
        let origin = Target::parse(&origin)?;
        Ok(Self { origin, value })
    }

    /// The value, if `target` has the same scheme, host and port.
    pub fn of(&self, target: &Target) -> Option<&T> {
        self.origin.same_origin(target).then_some(&self.value)
    }

    pub fn origin(&self) -> &Target {
        &self.origin
    }
}
