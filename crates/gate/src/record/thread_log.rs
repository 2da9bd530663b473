//! Writes a thread's lines of the access log.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use super::{Entry, LineContext, LogSender, Pseudonymizer, line};

/// Clones write to the same log, and have the same pseudonym for a session.
#[derive(Clone)]
pub(crate) struct ThreadLog {
    sender: LogSender,
    marker: Arc<Pseudonymizer>,
}

impl ThreadLog {
    pub(crate) fn new(sender: LogSender, marker: Pseudonymizer) -> Self {
        Self {
            sender,
            marker: Arc::new(marker),
        }
    }

    pub(crate) fn write(&self, entry: &Entry, ended: Instant, client: IpAddr) {
        let Some(log_details) = &entry.log_details else {
            return;
        };
        let told = LineContext {
            client,
            method: &log_details.method,
            target: &log_details.target,
            upstream: log_details.upstream.as_deref(),
            session: log_details
                .session
                .as_ref()
                .map(|name| self.marker.mark(name)),
        };
        self.sender
            .write(line(entry, ended, SystemTime::now(), &told));
    }
}
