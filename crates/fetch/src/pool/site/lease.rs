//! A place on a connection, for one request. It returns to the site when it is dropped.

use std::sync::Arc;

use roundtrip_http::{Connection, HttpError, RequestRun};
use tokio::io::AsyncWriteExt;

use super::{Lane, Site, Solo};

pub(in crate::pool) struct Lease {
    pub(in crate::pool) lane: Arc<Lane>,
    site: Arc<Site>,
    /// The HTTP/1.1 connection, as long as the lease holds it.
    connection: Option<Connection>,
    /// The connection is used for this request only.
    exclusive: bool,
    /// Whether all bytes read so far are complete answers.
    clean: bool,
}

impl Lease {
    fn new(site: &Arc<Site>, lane: Arc<Lane>, connection: Option<Connection>) -> Self {
        Self {
            lane,
            site: site.clone(),
            connection,
            exclusive: false,
            clean: true,
        }
    }

    pub(super) fn shared(site: &Arc<Site>, lane: Arc<Lane>) -> Self {
        Self::new(site, lane, None)
    }

    pub(super) fn solo(site: &Arc<Site>, solo: Solo) -> Self {
        Self::new(site, solo.lane, Some(solo.connection))
    }

    pub(super) fn exclusive(
        site: &Arc<Site>,
        lane: Arc<Lane>,
        connection: Option<Connection>,
    ) -> Self {
        let mut lease = Self::new(site, lane, connection);
        lease.exclusive = true;
        lease
    }

    pub(in crate::pool) async fn exchange(&mut self, run: RequestRun<'_>) -> Result<(), HttpError> {
        match (&mut self.connection, &self.lane.shared) {
            (Some(connection), _) => {
                self.clean = false;
                // Boxed, because most requests use a shared connection and need less memory.
                Box::pin(connection.exchange(run)).await
            }
            (None, Some(shared)) => shared.exchange(run).await,
            (None, None) => Err(HttpError::ClosedUnanswered),
        }
    }

    /// Completes the handshake, if no request is sent yet.
    pub(super) async fn start(&mut self) {
        if let Some(shared) = &self.lane.shared {
            shared.start();
        }
        if let Some(stream) = self.connection.as_mut().and_then(Connection::stream) {
            self.clean = stream.flush().await.is_ok();
        }
    }

    /// Records that the answer is complete and the server keeps the connection open.
    pub(in crate::pool) fn keep(&mut self) {
        self.clean = true;
    }

    /// Gives the place back; a connection that was for this request only is closed.
    pub(in crate::pool) fn leave(self) {
        if self.exclusive {
            // Closing can take a moment, which is not part of the request.
            tokio::spawn(self.close());
        }
    }

    async fn close(mut self) {
        if let Some(connection) = self.connection.take() {
            connection.close().await;
        }
        if let Some(shared) = &self.lane.shared {
            shared.close().await;
        }
    }

    /// Takes the place apart without returning it.
    pub(super) fn take(mut self) -> Option<Solo> {
        let connection = self.connection.take()?;
        Some(Site::adopt(connection, &self.lane))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.exclusive {
            return;
        }
        if let Some(connection) = self.connection.take() {
            let kept = self.clean && self.lane.is_open();
            let solo = kept.then(|| Site::adopt(connection, &self.lane));
            self.site.take_back(solo);
        }
    }
}
