//! A QUIC connection that is being opened. If it is dropped before it is open, it is closed at
//! once. Packets that arrive later are not recorded, because they would be counted for the next
//! attempt.

use std::pin::Pin;
use std::sync::Arc;

use roundtrip_model::Recorder;
use roundtrip_quic_tokio::Endpoint;

use super::client::H3Client;
use super::{H3_NO_ERROR, Quic, QuicGauge};
use crate::HttpError;

/// Stores address tokens until the connection ends.
pub(super) type TokenTask = Pin<Box<dyn Future<Output = ()> + Send>>;

pub struct QuicAttempt {
    endpoint: Endpoint,
    gauge: Arc<QuicGauge>,
    recorder: Recorder,
    storing: Option<TokenTask>,
    succeeded: bool,
}

impl QuicAttempt {
    pub(super) fn new(
        endpoint: Endpoint,
        gauge: QuicGauge,
        recorder: Recorder,
        storing: TokenTask,
    ) -> Self {
        Self {
            endpoint,
            gauge: Arc::new(gauge),
            recorder,
            storing: Some(storing),
            succeeded: false,
        }
    }

    /// The connection's gauge, which stays useful if opening fails.
    pub fn gauge(&self) -> Arc<QuicGauge> {
        self.gauge.clone()
    }

    /// Waits until requests may leave: with a fitting ticket at once (0-RTT), else after the
    /// handshake.
    pub async fn opened(mut self) -> Result<Quic, HttpError> {
        let handshake = self.gauge.handshake(self.recorder.clone());
        let storing = self.storing.take();
        if self.gauge.offered_early {
            tokio::spawn(async move {
                if let (Ok(()), Some(storing)) = (handshake.await, storing) {
                    storing.await;
                }
            });
        } else {
            self.gauge.verifier.prepare(&self.recorder);
            let outcome = handshake.await;
            outcome.map_err(|reason| self.gauge.closed(reason))?;
            storing.map(tokio::spawn);
        }
        let client = H3Client::start(&self.gauge.connection)
            .await
            .map_err(|error| self.gauge.reason(error))?;
        self.succeeded = true;
        let (endpoint, gauge) = (self.endpoint.clone(), self.gauge());
        Ok(Quic {
            endpoint,
            client,
            gauge,
        })
    }
}

impl Drop for QuicAttempt {
    fn drop(&mut self) {
        if !self.succeeded {
            self.gauge.datagrams.stop();
            self.endpoint.close(H3_NO_ERROR, b"");
        }
    }
}
