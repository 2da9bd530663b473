//! HTTP/3 on top of a QUIC connection: the sender of requests, and the task that reads control
//! streams.

use std::future::poll_fn;
use std::sync::{Arc, OnceLock};

use roundtrip_quic_tokio::{Connection, H3Error, H3Requests, connect};
use roundtrip_wire::h3::SectionLimits;
use tokio::task::JoinHandle;

use crate::HttpError;
use crate::response::MAX_HEAD_SIZE;

/// The limits of a field section. Each line of it counts 32 bytes at least. RFC 9114 §4.2.2.
const LIMITS: SectionLimits = SectionLimits {
    fields: MAX_HEAD_SIZE / 32,
    size: MAX_HEAD_SIZE,
};

pub(super) struct H3Client {
    requests: H3Requests,
    driver: JoinHandle<()>,
    violation: Arc<OnceLock<H3Error>>,
}

impl H3Client {
    pub(super) async fn start(connection: &Connection) -> Result<Self, HttpError> {
        let (requests, mut driver) = connect(connection, LIMITS)
            .await
            .map_err(|e| HttpError::H3(e.to_string()))?;
        let violation = Arc::<OnceLock<H3Error>>::default();
        let found = violation.clone();
        let driver = tokio::spawn(async move {
            let error = poll_fn(|cx| driver.poll(cx)).await;
            if matches!(error, H3Error::Message(_)) {
                let _ = found.set(error);
            }
        });
        Ok(Self {
            requests,
            driver,
            violation,
        })
    }

    pub(super) fn requests(&self) -> H3Requests {
        self.requests.clone()
    }

    /// Whether the server has sent GOAWAY.
    pub(super) fn is_going_away(&self) -> bool {
        self.requests.is_going_away()
    }

    /// The rule that the server violated outside its responses, if that ended the connection.
    pub(super) fn violation(&self) -> Option<&H3Error> {
        self.violation.get()
    }
}

impl Drop for H3Client {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
