//! A body in memory, up to a limit.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bytes::Bytes;

pub(super) struct BoundedBody {
    body: Vec<u8>,
    limit: u64,
    over: bool,
    arrived: Arc<AtomicU64>,
}

impl BoundedBody {
    pub(super) fn new(limit: u64) -> Self {
        Self {
            body: Vec::new(),
            limit,
            over: false,
            arrived: Arc::default(),
        }
    }

    /// The number of bytes that have arrived; the deadlines read it.
    pub(super) fn arrived(&self) -> Arc<AtomicU64> {
        self.arrived.clone()
    }

    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    pub(super) fn into_bytes(self) -> Bytes {
        self.body.into()
    }
}

impl Write for BoundedBody {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if (self.body.len() + bytes.len()) as u64 > self.limit {
            self.over = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.body.extend_from_slice(bytes);
        self.arrived.fetch_add(bytes.len() as u64, Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
