//! A value that belongs to one origin (RFC 6454 §4) and is hidden from all others.

use roundtrip_model::{Origin, Target};

/// A value that is returned only for URLs of its origin.
pub struct Bound<T> {
    origin: Origin,
    value: T,
}

impl<T> Bound<T> {
    /// Binds a value to the origin of `target`; the rest of the URL is not kept.
    pub fn new(target: &Target, value: T) -> Self {
        let origin = target.origin();
        Self { origin, value }
    }

    /// The value, if `target` has the same scheme, host and port.
    pub fn of(&self, target: &Target) -> Option<&T> {
        (self.origin == target.origin()).then_some(&self.value)
    }

    /// The URL that the value belongs to: the origin, and the path `/`.
    pub fn url(&self) -> String {
        format!("{}/", self.origin)
    }
}
