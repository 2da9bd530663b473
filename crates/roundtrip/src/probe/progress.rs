//! A line on a terminal's standard error while one request takes its time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::output::Stream;

/// Work that is over sooner needs no line.
const PATIENCE: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(200);

pub(crate) struct Progress {
    received: Arc<AtomicU64>,
    shown: Arc<AtomicBool>,
    task: Option<tokio::task::JoinHandle<()>>,
}

impl Progress {
    pub(crate) fn start(silent: bool) -> Self {
        let (received, shown) = (
            Arc::new(AtomicU64::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let task = (!silent && Stream::Err.is_terminal()).then(|| {
            let (received, shown) = (received.clone(), shown.clone());
            tokio::spawn(async move {
                let began = Instant::now();
                tokio::time::sleep(PATIENCE).await;
                loop {
                    let bytes = received.load(Ordering::Relaxed);
                    let line = format!(
                        "\r\u{1b}[K… {:.1} s, {bytes} bytes of body",
                        began.elapsed().as_secs_f64()
                    );
                    Stream::Err.print(line);
                    shown.store(true, Ordering::Relaxed);
                    tokio::time::sleep(STEP).await;
                }
            })
        });
        Self {
            received,
            shown,
            task,
        }
    }

    pub(crate) fn counter(&self) -> Arc<AtomicU64> {
        self.received.clone()
    }

    /// Takes the line away.
    pub(crate) fn stop(&self) {
        if let Some(task) = &self.task {
            task.abort();
        }
        if self.shown.swap(false, Ordering::Relaxed) {
            Stream::Err.print("\r\u{1b}[K");
        }
    }
}
