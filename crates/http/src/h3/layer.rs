//! HTTP/3 on top of a QUIC connection: who sends, and the task that reads control streams. Where the server refuses early
//! data, everything above QUIC begins again.

use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ::h3::client::SendRequest;
use bytes::Bytes;
use tokio::task::JoinHandle;

use crate::HttpError;

pub(super) type Send = SendRequest<h3_quinn::OpenStreams, Bytes>;

pub(super) struct Layers {
    current: Mutex<Layer>,
    /// One begins again; the others wait for that.
    renewing: tokio::sync::Mutex<()>,
}

struct Layer {
    sender: Sender,
    driver: JoinHandle<()>,
}

#[derive(Clone)]
pub(super) struct Sender {
    pub(super) send: Send,
    /// Early data was refused before this began.
    pub(super) renewed: bool,
}

impl Layers {
    pub(super) async fn start(connection: quinn::Connection) -> Result<Self, HttpError> {
        Ok(Self {
            current: Mutex::new(Layer::start(connection, false).await?),
            renewing: tokio::sync::Mutex::default(),
        })
    }

    pub(super) fn sender(&self) -> Sender {
        self.current().sender.clone()
    }

    /// Begins again, unless somebody has done so already.
    pub(super) async fn renew(&self, connection: &quinn::Connection) -> Result<(), HttpError> {
        let _alone = self.renewing.lock().await;
        if self.current().sender.renewed {
            return Ok(());
        }
        self.stop();
        let layer = Layer::start(connection.clone(), true).await?;
        *self.current() = layer;
        Ok(())
    }

    pub(super) fn stop(&self) {
        self.current().driver.abort();
    }

    fn current(&self) -> MutexGuard<'_, Layer> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Layers {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Layer {
    async fn start(connection: quinn::Connection, renewed: bool) -> Result<Self, HttpError> {
        let (mut driver, send) = ::h3::client::builder()
            .send_grease(false)
            .max_field_section_size(256 * 1024)
            .build::<_, _, Bytes>(h3_quinn::Connection::new(connection))
            .await
            .map_err(|e| HttpError::H3(e.to_string()))?;
        let driver = tokio::spawn(async move { drop(poll_fn(|cx| driver.poll_close(cx)).await) });
        let sender = Sender { send, renewed };
        Ok(Self { sender, driver })
    }
}
