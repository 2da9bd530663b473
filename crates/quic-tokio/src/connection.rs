//! The handle of a connection for its users.

use std::fmt;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;

use bytes::Bytes;
use roundtrip_quic::{CloseReason, Dir, Stats, StreamId};
use rustls::pki_types::CertificateDer;

use crate::connection_wakers::ConnectionWakers;
use crate::handle::ConnectionHandle;
use crate::wait::Wait;
use crate::wakers::Interest;
use crate::{RecvStream, SendStream};

/// A handle on one connection.
///
/// # Contract
///
/// All methods may be called by any task at any time. None blocks, and those that wait leave
/// nothing behind when their future is dropped. The usual order is:
///
/// 1. Wait for [`connected`](Self::connected). A client whose ticket allows early data
///    ([`is_early`](Self::is_early)) need not wait; a server that answers early data waits for
///    [`hello_received`](Self::hello_received) alone, and learns from
///    [`confirmed`](Self::confirmed) when requests can no longer be replays.
/// 2. Open and accept streams, or leave that to HTTP/3: an [`H3Server`](crate::H3Server), or a
///    client that [`connect`](crate::connect) makes. While HTTP/3 accepts streams, do not accept
///    any yourself.
/// 3. Call [`close`](Self::close) with an application error code, or drop the last handle, which
///    closes with 0. Streams hold a handle, too. [`closed`](Self::closed) and
///    [`close_reason`](Self::close_reason) say why the connection ended; statistics and
///    certificates remain available until the last handle is dropped.
#[derive(Clone)]
pub struct Connection(ConnectionHandle);

impl Connection {
    pub(crate) fn new(handle: ConnectionHandle) -> Self {
        Self(handle)
    }

    pub(crate) fn handle(&self) -> &ConnectionHandle {
        &self.0
    }

    /// Waits until the handshake is complete.
    pub async fn connected(&self) -> Result<(), CloseReason> {
        self.until(|connection| connection.is_connected().then_some(()))
            .await
    }

    /// Waits until TLS has read the peer's hello: a server can answer early data from then on.
    pub async fn hello_received(&self) -> Result<(), CloseReason> {
        self.until(|connection| {
            let received = connection.is_connected() || connection.alpn().is_some();
            received.then_some(())
        })
        .await
    }

    /// Waits until the client of a server has validated its address, and forever if it never does.
    pub async fn validated(&self) {
        let validated = self.until(|connection| (!connection.is_unvalidated()).then_some(()));
        if validated.await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until the handshake is complete (forever if it never is). Data that arrived before may
    /// be a replay.
    pub async fn confirmed(&self) {
        if self.connected().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Whether the handshake was completed. This stays true after the connection has ended.
    pub fn is_connected(&self) -> bool {
        self.get(roundtrip_quic::Connection::is_connected)
            .unwrap_or(false)
    }

    /// Waits until the connection has ended.
    pub async fn closed(&self) -> CloseReason {
        let ended = self.until(|_| None::<std::convert::Infallible>).await;
        match ended {
            Err(reason) => reason,
            Ok(never) => match never {},
        }
    }

    /// Why the connection ended; `None` while it is open.
    pub fn close_reason(&self) -> Option<CloseReason> {
        self.0.wakers(|wakers| wakers.ended().cloned())?
    }

    /// Closes the connection. Undelivered data is lost.
    pub fn close(&self, code: u64, reason: &[u8]) {
        self.0.close(code, reason);
    }

    /// The application protocol, if one was agreed on.
    pub fn alpn(&self) -> Option<Vec<u8>> {
        self.get(|connection| connection.alpn().map(<[u8]>::to_vec))?
    }

    /// The server name that the client asked for.
    pub fn server_name(&self) -> Option<String> {
        self.get(|connection| connection.server_name().map(str::to_owned))?
    }

    pub fn peer_certificates(&self) -> Option<Vec<CertificateDer<'static>>> {
        self.get(|connection| connection.peer_certificates().map(<[_]>::to_vec))?
    }

    /// Whether this is a client's connection on which data written now leaves as early data.
    pub fn is_early(&self) -> bool {
        self.get(roundtrip_quic::Connection::is_early)
            .unwrap_or(false)
    }

    /// Whether the server accepted early data. `None` if none was offered, or the answer is not
    /// known yet.
    pub fn early_accepted(&self) -> Option<bool> {
        self.get(roundtrip_quic::Connection::early_accepted)?
    }

    pub fn handshake_kind(&self) -> Option<rustls::HandshakeKind> {
        self.get(roundtrip_quic::Connection::handshake_kind)?
    }

    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.get(roundtrip_quic::Connection::remote)
    }

    pub fn stats(&self) -> Option<Stats> {
        self.get(roundtrip_quic::Connection::stats)
    }

    /// Updates the packet protection keys. Returns false if that is not permitted now. RFC 9001 §6.
    pub fn update_keys(&self) -> bool {
        let updated = self.0.update(|connection, _, _| connection.update_keys());
        updated.unwrap_or(false)
    }

    /// Waits for the next address token that the server gives for a later connection. Returns
    /// `None` once no further token can come.
    pub async fn next_token(&self) -> Option<Bytes> {
        let mut wait = Wait::new(&self.0, Interest::Progress);
        let token = poll_fn(move |cx| wait.poll(cx, |_, wakers| wakers.take_token())).await;
        let left = || self.0.wakers(ConnectionWakers::take_token)?;
        token.ok().or_else(left)
    }

    /// Opens a bidirectional stream, as soon as the peer allows one more.
    pub async fn open_bi(&self) -> Result<(SendStream, RecvStream), CloseReason> {
        let id = self.stream(Interest::Open(Dir::Bidi)).await?;
        Ok(self.both_halves(id))
    }

    /// Opens a unidirectional stream, as soon as the peer allows one more.
    pub async fn open_uni(&self) -> Result<SendStream, CloseReason> {
        let id = self.stream(Interest::Open(Dir::Uni)).await?;
        Ok(SendStream::new(&self.0, id))
    }

    /// Waits for the next bidirectional stream that the peer opens.
    pub async fn accept_bi(&self) -> Result<(SendStream, RecvStream), CloseReason> {
        let id = self.stream(Interest::Accept(Dir::Bidi)).await?;
        Ok(self.both_halves(id))
    }

    /// Waits for the next unidirectional stream that the peer opens.
    pub async fn accept_uni(&self) -> Result<RecvStream, CloseReason> {
        let id = self.stream(Interest::Accept(Dir::Uni)).await?;
        Ok(RecvStream::new(&self.0, id))
    }

    /// Waits until the peer stops a stream, or the stream has ended.
    pub async fn stopped(&self, stream: u64) {
        // In either case the peer does not read it any more.
        let _ = poll_fn(|cx| self.0.poll_stopped(StreamId(stream), cx)).await;
    }

    /// Waits until `ask` returns a value. It is called again whenever the handshake has advanced.
    pub(crate) async fn until<R>(
        &self,
        mut ask: impl FnMut(&mut roundtrip_quic::Connection) -> Option<R>,
    ) -> Result<R, CloseReason> {
        let mut wait = Wait::new(&self.0, Interest::Progress);
        poll_fn(move |cx| wait.poll(cx, |connection, _| ask(connection))).await
    }

    fn stream(
        &self,
        interest: Interest,
    ) -> impl Future<Output = Result<StreamId, CloseReason>> + use<> {
        let mut wait = Wait::new(&self.0, interest);
        poll_fn(move |cx| wait.poll_stream(cx))
    }

    fn both_halves(&self, id: StreamId) -> (SendStream, RecvStream) {
        (SendStream::new(&self.0, id), RecvStream::new(&self.0, id))
    }

    fn get<R>(&self, get: impl FnOnce(&roundtrip_quic::Connection) -> R) -> Option<R> {
        self.0.get(get)
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Connection").field(&self.0.id()).finish()
    }
}
