//! HTTP/3 on top of a QUIC connection: the sender of requests, and the task that reads control
//! streams.

use std::future::poll_fn;

use ::h3::client::SendRequest;
use bytes::Bytes;
use roundtrip_quic_tokio::{Connection, H3Connection, OpenStreams};
use tokio::task::JoinHandle;

use crate::HttpError;
use crate::response::MAX_HEAD_SIZE;

pub(super) type Sender = SendRequest<OpenStreams, Bytes>;

pub(super) struct H3Client {
    sender: Sender,
    driver: JoinHandle<()>,
}

impl H3Client {
    pub(super) async fn start(connection: &Connection) -> Result<Self, HttpError> {
        let (mut driver, sender) = ::h3::client::builder()
            .send_grease(false)
            .max_field_section_size(MAX_HEAD_SIZE as u64)
            .build::<_, _, Bytes>(H3Connection::new(connection))
            .await
            .map_err(|e| HttpError::H3(e.to_string()))?;
        let driver = tokio::spawn(async move { drop(poll_fn(|cx| driver.poll_close(cx)).await) });
        Ok(Self { sender, driver })
    }

    pub(super) fn sender(&self) -> Sender {
        self.sender.clone()
    }
}

impl Drop for H3Client {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
