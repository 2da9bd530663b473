//! Writes a thread's lines of the access log.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use super::{Entry, LineContext, LogSender, Marker, line};

/// Clones write to the same log, and have the same mark for a session.
#[derive(Clone)]
pub(crate) struct ThreadLog {
    sender: LogSender,
    marker: Arc<Marker>,
}

impl ThreadLog {
    pub(crate) fn new(sender: LogSender, marker: Marker) -> Self {
        Self {
            sender,
            marker: Arc::new(marker),
        }
    }

    pub(crate) fn write(&self, entry: &Entry, ended: Instant, client: IpAddr) {
        let Some(note) = &entry.note else {
            return;
        };
        let told = LineContext {
            client,
            method: &note.method,
            target: &note.target,
            upstream: note.upstream.as_deref(),
            session: note.session.as_ref().map(|name| self.marker.mark(name)),
        };
        self.sender
            .write(line(entry, ended, SystemTime::now(), &told));
    }
}
