//! A QUIC connection that is being opened. When nobody waits for it any more it is closed at once, and what it still
//! hears is nobody's business: it would be counted with what came after it.

use std::pin::Pin;
use std::sync::Arc;

use roundtrip_model::Recorder;

use super::layer::Layer;
use super::{NO_ERROR, Quic, QuicGauge};
use crate::HttpError;
use roundtrip_quic_tokio::Endpoint;

/// Goes on as long as the connection lives.
pub(super) type Keeping = Pin<Box<dyn Future<Output = ()> + Send>>;

pub struct Attempt {
    endpoint: Endpoint,
    gauge: Arc<QuicGauge>,
    recorder: Recorder,
    keeping: Option<Keeping>,
    succeeded: bool,
}

impl Attempt {
    pub(super) fn new(
        endpoint: Endpoint,
        gauge: QuicGauge,
        recorder: Recorder,
        keeping: Keeping,
    ) -> Self {
        Self {
            endpoint,
            gauge: Arc::new(gauge),
            recorder,
            keeping: Some(keeping),
            succeeded: false,
        }
    }

    /// Of the connection, whatever becomes of it.
    pub fn gauge(&self) -> Arc<QuicGauge> {
        self.gauge.clone()
    }

    /// Waits until requests may leave: with a fitting ticket at once (0-RTT), else after the handshake.
    pub async fn opened(mut self) -> Result<Quic, HttpError> {
        let proof = self.gauge.proof(self.recorder.clone());
        let keeping = self.keeping.take();
        if self.gauge.offered_early {
            tokio::spawn(async move {
                if let (Ok(()), Some(keeping)) = (proof.await, keeping) {
                    keeping.await;
                }
            });
        } else {
            self.gauge.witness.prepare(&self.recorder);
            proof.await.map_err(|reason| self.gauge.broken(reason))?;
            keeping.map(tokio::spawn);
        }
        let layer = Layer::start(&self.gauge.connection)
            .await
            .map_err(|error| self.gauge.reason(error))?;
        self.succeeded = true;
        let (endpoint, gauge) = (self.endpoint.clone(), self.gauge());
        Ok(Quic {
            endpoint,
            layer,
            gauge,
        })
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if !self.succeeded {
            self.gauge.watched.hush();
            self.endpoint.close(NO_ERROR, b"");
        }
    }
}
