//! What the user wants compared, and how much may be asked for it.

use std::time::Duration;

use roundtrip_model::{Scheme, Strategy, Target};
use roundtrip_probe::Options;

use crate::CompareError;

#[derive(Debug, Clone)]
pub struct Wishes {
    pub target: Target,
    /// As typed: what another client is given.
    pub url: String,
    /// How to ask; its strategy is set for each way.
    pub options: Options,
    /// Requests in a sequence that is measured as one thing.
    pub requests: u32,
    /// These instead of all that make sense.
    pub strategies: Vec<Strategy>,
    /// Command lines of other clients.
    pub against: Vec<String>,
    pub limits: Limits,
    /// Of the order and the intervals.
    pub seed: u64,
    /// Repeat even what may do something each time.
    pub force: bool,
}

/// What may be asked at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Requests in all: discovery, preparation, measurement.
    pub requests: u32,
    /// Requests a second, on average.
    pub rate: f64,
    /// No sample begins later.
    pub time: Duration,
}

impl Wishes {
    /// What is wrong is said before anything is sent.
    pub fn check(&self) -> Result<(), CompareError> {
        if self.target.scheme == Scheme::Tcp {
            return Err(CompareError::Echo);
        }
        let method = self.method();
        if !self.force && !is_idempotent(&method) {
            return Err(CompareError::Unsafe(method, self.limits.requests));
        }
        let (requests, most) = (self.requests, self.limits.requests);
        if requests.saturating_mul(2) > most {
            return Err(CompareError::Budget { requests, most });
        }
        Ok(())
    }

    pub(crate) fn method(&self) -> String {
        let default = if self.options.body.is_empty() {
            "GET"
        } else {
            "POST"
        };
        self.options
            .method
            .clone()
            .unwrap_or_else(|| default.into())
    }

    /// May leave as early data, which an attacker can send again. RFC 8470 §2.
    pub(crate) fn is_safe(&self) -> bool {
        ["GET", "HEAD", "OPTIONS"].contains(&self.method().as_str())
    }
}

/// Asked often, it does what it did the first time. RFC 9110 §9.2.2.
fn is_idempotent(method: &str) -> bool {
    ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(&method)
}
