//! The state that a shared connection, its streams, and the exchanges that wait for one, share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use tokio::sync::Notify;

/// The library ends a connection after about twice as many small DATA frames that remained in it
/// because their streams had been reset.
const MAX_LOST: usize = 25_000;

/// The state of a connection that its streams share.
#[derive(Debug, Default)]
pub(super) struct H2Standing {
    /// Other exchanges must not use the connection.
    suspect: AtomicBool,
    ended: AtomicBool,
    /// The connection's end was counted as a failure of the server.
    blamed: AtomicBool,
    /// The server has stated its limits. RFC 9113 §3.4.
    settled: AtomicBool,
    /// Something has arrived since the last look.
    heard: AtomicBool,
    /// The server has refused a stream, and no stream has ended since.
    refused: AtomicBool,
    streams: AtomicUsize,
    /// Small frames of data that have arrived, and that no stream has taken.
    small: AtomicUsize,
    /// Wakes the exchange that waits for a stream.
    room: Arc<Notify>,
}

impl H2Standing {
    pub(super) fn new(room: Arc<Notify>) -> Arc<Self> {
        Arc::new(Self {
            room,
            ..Self::default()
        })
    }

    pub(super) fn suspect(&self) {
        self.suspect.store(true, Relaxed);
        self.room.notify_one();
    }

    pub(super) fn is_suspect(&self) -> bool {
        self.suspect.load(Relaxed)
    }

    pub(super) fn end(&self) {
        self.ended.store(true, Relaxed);
        self.room.notify_one();
    }

    /// Whether the connection's end was counted already. Marks it as counted.
    pub(super) fn is_counted(&self) -> bool {
        self.ended.load(Relaxed) && self.blamed.swap(true, Relaxed)
    }

    pub(super) fn settle(&self) {
        self.settled.store(true, Relaxed);
        self.room.notify_one();
    }

    pub(super) fn is_settled(&self) -> bool {
        self.settled.load(Relaxed)
    }

    pub(super) fn hear(&self) {
        self.heard.store(true, Relaxed);
    }

    /// Whether something has arrived since the last call.
    pub(super) fn has_heard(&self) -> bool {
        self.heard.swap(false, Relaxed)
    }

    pub(super) fn is_refusing(&self) -> bool {
        self.refused.load(Relaxed)
    }

    pub(super) fn streams(&self) -> usize {
        self.streams.load(Relaxed)
    }

    pub(super) fn small_arrived(&self) {
        let small = self.small.load(Relaxed) + 1;
        self.small.store(small, Relaxed);
        if small == MAX_LOST {
            self.suspect();
        }
    }

    pub(super) fn small(&self) -> usize {
        self.small.load(Relaxed)
    }

    pub(super) fn small_taken(&self) {
        let small = self.small.load(Relaxed).saturating_sub(1);
        self.small.store(small, Relaxed);
    }
}

/// A stream's place on its connection. It becomes free when this is dropped.
#[derive(Debug)]
pub(super) struct StreamPlace(Arc<H2Standing>);

impl StreamPlace {
    pub(super) fn new(standing: &Arc<H2Standing>) -> Self {
        standing.streams.fetch_add(1, Relaxed);
        Self(standing.clone())
    }

    pub(super) fn standing(&self) -> &H2Standing {
        &self.0
    }

    /// Frees the place after the server has refused the stream: the connection is full until
    /// another stream ends. If no other stream is open, the server accepts no stream there at all.
    pub(super) fn refused(self) {
        let standing = self.0.clone();
        drop(self);
        if standing.streams() == 0 {
            standing.suspect();
        } else {
            standing.refused.store(true, Relaxed);
        }
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Relaxed);
        self.0.refused.store(false, Relaxed);
        self.0.room.notify_one();
    }
}
