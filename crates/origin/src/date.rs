//! The Date header (RFC 9110, section 6.6.1), formatted once a second.

use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use http::HeaderValue;
use roundtrip_wire::http_date;

/// Caches the header of the current second.
#[derive(Debug)]
pub(crate) struct DateHeader(Mutex<(u64, HeaderValue)>);

impl Default for DateHeader {
    fn default() -> Self {
        Self(Mutex::new((0, value(0))))
    }
}

impl DateHeader {
    pub(crate) fn now(&self) -> HeaderValue {
        let second = second(SystemTime::now());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.0 != second {
            *kept = (second, value(second));
        }
        kept.1.clone()
    }
}

/// The header for any time.
pub(crate) fn at(moment: SystemTime) -> HeaderValue {
    value(second(moment))
}

fn second(moment: SystemTime) -> u64 {
    moment
        .duration_since(UNIX_EPOCH)
        .map_or(0, |age| age.as_secs())
}

fn value(second: u64) -> HeaderValue {
    HeaderValue::try_from(http_date::format(second)).unwrap_or(HeaderValue::from_static(""))
}
