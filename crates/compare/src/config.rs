//! What the user wants to compare, and how many requests may be made for it.

use std::time::Duration;

use roundtrip_model::{Scheme, Strategy, Target};
use roundtrip_probe::Options;

use crate::CompareError;

#[derive(Debug, Clone)]
pub struct CompareConfig {
    pub target: Target,
    /// The URL as typed; it is passed to other clients.
    pub url: String,
    /// How to make requests; the strategy is set for each way.
    pub options: Options,
    /// The number of requests in a sequence, which is measured as a whole.
    pub requests: u32,
    /// The strategies to compare, instead of all that make sense.
    pub strategies: Vec<Strategy>,
    /// Command lines of other clients.
    pub against: Vec<String>,
    pub limits: RequestLimits,
    /// The seed for the order and the intervals.
    pub seed: u64,
    /// Whether to repeat even a request that may change something each time.
    pub force: bool,
}

/// The limits of the requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RequestLimits {
    /// The number of requests in all: discovery, preparation, measurement.
    pub requests: u32,
    /// Requests per second, on average.
    pub rate: f64,
    /// No sample begins after this time.
    pub time: Duration,
}

impl CompareConfig {
    /// Reports wrong values before anything is sent.
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

    /// Whether the request may be sent as early data, which an attacker can replay. RFC 8470 §2.
    pub(crate) fn is_safe(&self) -> bool {
        ["GET", "HEAD", "OPTIONS"].contains(&self.method().as_str())
    }
}

/// Whether repeating a request has the same effect as making it once. RFC 9110 §9.2.2.
fn is_idempotent(method: &str) -> bool {
    ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(&method)
}
