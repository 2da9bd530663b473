//! The progress of a body during one request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::status::{DELAY, PACE, Status};

pub(crate) struct Progress {
    received: Arc<AtomicU64>,
    status: Arc<Mutex<Status>>,
    task: Option<tokio::task::JoinHandle<()>>,
}

impl Progress {
    pub(crate) fn start(silent: bool) -> Self {
        let status = Status::new(silent);
        let is_wanted = status.is_wanted();
        let (received, status) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(status)));
        let task = is_wanted.then(|| {
            let (received, status) = (received.clone(), status.clone());
            tokio::spawn(async move {
                tokio::time::sleep(DELAY).await;
                loop {
                    let bytes = received.load(Ordering::Relaxed);
                    let line = |took: std::time::Duration| {
                        format!("… {:.1} s, {bytes} bytes of body", took.as_secs_f64())
                    };
                    status
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .show(line);
                    tokio::time::sleep(PACE).await;
                }
            })
        });
        Self {
            received,
            status,
            task,
        }
    }

    pub(crate) fn counter(&self) -> Arc<AtomicU64> {
        self.received.clone()
    }

    /// Removes the line.
    pub(crate) fn stop(&self) {
        if let Some(task) = &self.task {
            task.abort();
        }
        let status = self.status.lock();
        status.unwrap_or_else(PoisonError::into_inner).hide();
    }
}
