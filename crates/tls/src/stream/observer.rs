//! Records a client's handshake. A server's stream has no observer.

use std::sync::{Arc, OnceLock};

use roundtrip_model::{Event, Recorder, Task, TlsFacts};

use crate::RecordingVerifier;
use crate::framing::RecordFraming;

pub(super) struct Observer {
    pub(super) recorder: Recorder,
    pub(super) verifier: Option<Arc<RecordingVerifier>>,
    pub(super) facts: Arc<OnceLock<TlsFacts>>,
    /// The work that fits into the wait for the server's first answer is done.
    prepared: bool,
    pub(super) framing: RecordFraming,
}

impl Observer {
    pub(super) fn new(recorder: Recorder, verifier: Option<Arc<RecordingVerifier>>) -> Self {
        Self {
            recorder,
            verifier,
            facts: Arc::default(),
            prepared: false,
            framing: RecordFraming::default(),
        }
    }

    /// Loads the trusted certificates, while the server's first answer is on its way.
    pub(super) fn prepare(&mut self) {
        if !std::mem::replace(&mut self.prepared, true)
            && let Some(verifier) = &self.verifier
        {
            verifier.prepare(&self.recorder);
        }
    }

    /// Lets TLS process received bytes, and records the time of that, with the verification of
    /// certificates apart from the rest.
    pub(super) fn timed<T>(&self, work: impl FnOnce() -> T) -> T {
        let verified = || self.verifier.as_ref().map(|v| v.took()).unwrap_or_default();
        let (began, before) = (self.recorder.now(), verified());
        let out = work();
        let now = self.recorder.now();
        let verifying = verified().saturating_sub(before);
        let took = now.since(began).saturating_sub(verifying);
        self.recorder.record_at(
            now,
            Event::Worked {
                task: Task::Decrypt,
                took,
            },
        );
        if !verifying.is_zero() {
            self.recorder.record_at(
                now,
                Event::Worked {
                    task: Task::Verify,
                    took: verifying,
                },
            );
        }
        out
    }
}

/// Bytes of the TLS layer during the handshake.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TlsByteCounts {
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) client_hello: u64,
}
