//! A QUIC connection that is being opened. When nobody waits for it any more it is closed at once, and what it still
//! hears is nobody's business: it would be counted with what came after it.

use std::sync::Arc;

use quinn::Endpoint;

use super::watch::Watched;

pub(super) struct Attempt {
    endpoint: Endpoint,
    watched: Arc<Watched>,
    succeeded: bool,
}

impl Attempt {
    pub(super) fn new(endpoint: Endpoint, watched: Arc<Watched>) -> Self {
        Self {
            endpoint,
            watched,
            succeeded: false,
        }
    }

    pub(super) fn succeeded(mut self) {
        self.succeeded = true;
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if !self.succeeded {
            self.watched.hush();
            // H3_NO_ERROR. RFC 9114 §8.1.
            self.endpoint.close(0x100u32.into(), b"");
        }
    }
}
