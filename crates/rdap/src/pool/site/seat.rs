//! A place on a connection, for one request. It finds its way back, whatever becomes of whoever had it.

use std::sync::Arc;

use roundtrip_http::{Connection, HttpError, Turn};
use tokio::io::AsyncWriteExt;

use super::{Lane, Site, Solo};

pub(in crate::pool) struct Seat {
    pub(in crate::pool) lane: Arc<Lane>,
    site: Arc<Site>,
    /// HTTP/1.1, for as long as the seat is held.
    connection: Option<Connection>,
    /// Nobody else may ever use that connection.
    exclusive: bool,
    /// What is on the connection is whole answers.
    clean: bool,
}

impl Seat {
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
        let mut seat = Self::new(site, lane, connection);
        seat.exclusive = true;
        seat
    }

    pub(in crate::pool) async fn exchange(&mut self, turn: Turn<'_>) -> Result<(), HttpError> {
        match (&mut self.connection, &self.lane.shared) {
            (Some(connection), _) => {
                self.clean = false;
                connection.exchange(turn).await
            }
            (None, Some(shared)) => shared.exchange(turn).await,
            (None, None) => Err(HttpError::ClosedUnanswered),
        }
    }

    /// Ends the handshake, where nothing is asked for yet.
    pub(super) async fn start(&mut self) {
        if let Some(shared) = &self.lane.shared {
            shared.start();
        }
        if let Some(stream) = self.connection.as_mut().and_then(Connection::stream) {
            self.clean = stream.flush().await.is_ok();
        }
    }

    /// The answer came to its end, and the server keeps the connection.
    pub(in crate::pool) fn is_kept(&mut self) {
        self.clean = true;
    }

    /// Gives the place back; a connection that was for this request alone ends.
    pub(in crate::pool) fn leave(self) {
        if self.exclusive {
            // A goodbye may take a moment, which is not the request's.
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

    /// Takes it apart, without anything happening.
    pub(super) fn take(mut self) -> Option<Solo> {
        let connection = self.connection.take()?;
        Some(Site::adopt(connection, &self.lane))
    }
}

impl Drop for Seat {
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
