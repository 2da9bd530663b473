//! An origin on a separate thread, with its own runtime.

use std::future::Future;
use std::sync::mpsc;
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::Running;
use crate::OriginError;

/// A running thread. Dropping this value stops the thread and waits for its end.
pub(super) struct Thread {
    stop: Option<oneshot::Sender<()>>,
    handle: Option<JoinHandle<()>>,
}

impl Thread {
    pub(super) fn spawn<F>(starting: F) -> Result<Running, OriginError>
    where
        F: Future<Output = Result<Running, OriginError>> + Send + 'static,
    {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(OriginError::Runtime)?;
        let (ready, started) = mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let handle = std::thread::Builder::new()
            .name("roundtrip-origin".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    if ready.send(starting.await).is_ok() {
                        // Ends when stopped, or when the sender is dropped.
                        let _ = stopped.await;
                    }
                });
            })
            .map_err(OriginError::Runtime)?;
        let mut running = started.recv().map_err(|_| OriginError::ThreadEnded)??;
        running.thread = Some(Self {
            stop: Some(stop),
            handle: Some(handle),
        });
        Ok(running)
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(handle) = self.handle.take() {
            // The thread should never panic; if it did, its server has ended as well.
            let _ = handle.join();
        }
    }
}
