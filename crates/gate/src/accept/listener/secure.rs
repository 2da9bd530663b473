//! A client's TLS over TCP, and whether the data that it sent last may be a replay.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use roundtrip_tls::{ServerStream, TlsError};
use rustls::HandshakeKind;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::certificates::ACME_PROTOCOL;
use super::{ClientSocket, HandshakeFacts};
use crate::forward::exchange::TcpMeter;

pub(crate) struct Secure {
    stream: ServerStream<ClientSocket>,
}

impl Secure {
    /// Performs the handshake until it is complete, or until early data may be read.
    pub(super) async fn accept(mut stream: ServerStream<ClientSocket>) -> Result<Self, TlsError> {
        stream.accept().await?;
        Ok(Self { stream })
    }

    /// Returns an error if the client is a CA that validates a name: it needs only the handshake.
    /// RFC 8737 §3.
    pub(super) fn unless_challenge(self) -> Result<Self, TlsError> {
        if self.stream.connection().alpn_protocol() == Some(ACME_PROTOCOL) {
            return Err(TlsError::Closed);
        }
        Ok(self)
    }

    pub(crate) fn is_h2(&self) -> bool {
        self.stream.connection().alpn_protocol() == Some(b"h2")
    }

    pub(super) fn describe(&self, facts: &mut HandshakeFacts) {
        let tls = self.stream.connection();
        facts.resumed = tls.handshake_kind() == Some(HandshakeKind::Resumed);
        facts.version = tls.protocol_version();
        facts.early_data = self.stream.is_handshaking();
    }
}

impl crate::accept::stream::Stream for Secure {
    /// Before the handshake is complete, the data was sent by the client at some time, but perhaps
    /// not now. RFC 8446 §8.
    fn is_early(&self) -> bool {
        self.stream.is_handshaking()
    }

    fn poll_confirmed(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_handshake(cx)
    }

    fn poll_close_notify(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_close_notify(cx)
    }

    fn has_left(&mut self) -> bool {
        self.stream.get_mut().has_left()
    }

    fn was_reset(&mut self) -> bool {
        self.stream.get_mut().was_reset()
    }

    fn meter(&self) -> Option<TcpMeter> {
        self.stream.get_ref().meter()
    }

    fn abandon(&mut self) {
        self.stream.get_mut().abandon();
    }
}

impl AsyncRead for Secure {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for Secure {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
