//! The TLS handshake over TCP, completed or ended by a fault; and the stream after it, which knows
//! what came as early data.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use roundtrip_tls::ServerStream;
use rustls::{HandshakeKind, ServerConfig, ServerConnection};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

use crate::connection::EarlyFlag;
use crate::fuse::FusedStream;
use crate::{FaultPhase, OriginCounters};

/// A connection that completed its handshake, or received early data in it.
pub(crate) struct SecureStream {
    stream: ServerStream<FusedStream>,
    early: EarlyFlag,
    counters: Arc<OriginCounters>,
}

impl SecureStream {
    pub(crate) fn is_h2(&self) -> bool {
        self.stream.connection().alpn_protocol() == Some(b"h2")
    }
}

/// Performs the handshake. If early data is possible, reads and returns the first bytes instead,
/// because they may arrive before the end of the handshake.
pub(crate) async fn establish(
    wire: FusedStream,
    config: &Arc<ServerConfig>,
    early: EarlyFlag,
    counters: &Arc<OriginCounters>,
) -> Option<(SecureStream, BytesMut)> {
    let stream = ServerStream::new(wire, config.clone()).ok()?;
    let mut secure = SecureStream {
        stream,
        early,
        counters: counters.clone(),
    };
    let mut first = BytesMut::new();
    let done = if config.max_early_data_size > 0 {
        secure.read_buf(&mut first).await.is_ok()
    } else {
        secure.stream.handshake().await.is_ok() && secure.flush().await.is_ok()
    };
    secure.count(done);
    done.then_some((secure, first))
}

impl SecureStream {
    fn count(&self, done: bool) {
        if !done {
            self.counters.tls_failures.increment();
            return;
        }
        self.counters.tls_handshakes.increment();
        match self.stream.connection().handshake_kind() {
            Some(HandshakeKind::Resumed) => self.counters.tls_resumed.increment(),
            Some(HandshakeKind::FullWithHelloRetryRequest) => {
                self.counters.tls_hello_retries.increment();
            }
            _ => {}
        }
    }
}

/// Performs the handshake up to the fault: to the `ClientHello`, or to half of the answer.
pub(crate) async fn approach(
    wire: &mut FusedStream,
    config: &Arc<ServerConfig>,
    phase: FaultPhase,
) -> io::Result<()> {
    let mut connection = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
    let mut flight = Vec::new();
    let mut buffer = [0; 4096];
    while !connection.wants_write() {
        let n = wire.read(&mut buffer).await?;
        let mut rest = buffer.get(..n).unwrap_or_default();
        if rest.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        while !rest.is_empty() {
            connection.read_tls(&mut rest)?;
            connection.process_new_packets().map_err(io::Error::other)?;
        }
    }
    if phase == FaultPhase::Handshake {
        while connection.wants_write() {
            connection.write_tls(&mut flight)?;
        }
        let half = flight.get(..flight.len() / 2).unwrap_or_default();
        wire.write_all(half).await?;
    }
    Ok(())
}

impl AsyncRead for SecureStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        // Before the end of the handshake, only early data can be read.
        let early = self.stream.is_handshaking();
        self.early.set(early);
        if early {
            let n = buf.filled().len() - before;
            self.counters.early_data_bytes.add(n as u64);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for SecureStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
