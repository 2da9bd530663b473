//! What HTTP knows about the TCP connection below it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::fuse::Fuse;

/// The facts about lower layers that a connection's protocol needs.
#[derive(Debug, Clone)]
pub(crate) struct TcpConnectionInfo {
    pub(crate) fuse: Fuse,
    pub(crate) secure: bool,
    pub(crate) early: EarlyFlag,
}

/// Whether the latest bytes came as early data.
#[derive(Debug, Clone, Default)]
pub(crate) struct EarlyFlag(Arc<AtomicBool>);

impl EarlyFlag {
    pub(crate) fn is_now(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, early: bool) {
        self.0.store(early, Ordering::Relaxed);
    }
}
