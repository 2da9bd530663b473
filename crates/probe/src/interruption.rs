//! Ends an exchange before its answer: at its time limit, or when the user interrupts.

use std::sync::Arc;
use std::time::Duration;

use roundtrip_model::Recorder;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::ProbeError;

/// Owns the request to stop, and the work that is in progress when it arrives.
pub(crate) struct Interruption {
    requested: Arc<watch::Sender<bool>>,
    /// The requested URL, and the recorder of its timeline.
    under_way: Option<(String, Recorder)>,
}

/// Ends the work in progress and keeps its facts. It can be used while the work runs.
pub(crate) struct Interrupter(Arc<watch::Sender<bool>>);

/// The time limit of one piece of work, and the request to stop it.
pub(crate) struct TimeLimit {
    max_time: Duration,
    requested: watch::Receiver<bool>,
}

impl Interruption {
    pub(crate) fn new() -> Self {
        Self {
            requested: Arc::new(watch::Sender::new(false)),
            under_way: None,
        }
    }

    pub(crate) fn interrupter(&self) -> Interrupter {
        Interrupter(self.requested.clone())
    }

    pub(crate) fn is_requested(&self) -> bool {
        *self.requested.borrow()
    }

    pub(crate) fn time_limit(&self, max_time: Duration) -> TimeLimit {
        TimeLimit {
            max_time,
            requested: self.requested.subscribe(),
        }
    }

    pub(crate) fn started(&mut self, url: String, recorder: Recorder) {
        self.under_way = Some((url, recorder));
    }

    pub(crate) fn ended(&mut self) {
        self.under_way = None;
    }

    pub(crate) fn take_under_way(&mut self) -> Option<(String, Recorder)> {
        self.under_way.take()
    }
}

impl Interrupter {
    pub(crate) fn interrupt(&self) {
        self.0.send_replace(true);
    }
}

impl TimeLimit {
    /// Drives `work` until it ends, its time is up, or a stop is requested.
    pub(crate) async fn bound(
        mut self,
        work: impl Future<Output = Result<(), ProbeError>>,
    ) -> Result<(), ProbeError> {
        let max_time = self.max_time;
        tokio::select! {
            outcome = timeout(max_time, work) => {
                outcome.unwrap_or(Err(ProbeError::Timeout(max_time)))
            }
            _ = self.requested.wait_for(|requested| *requested) => Err(ProbeError::Interrupted),
        }
    }
}
