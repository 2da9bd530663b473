//! A client's connection, over TCP or TLS, and the address of the client.

use std::io;
use std::net::IpAddr;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::forward::exchange::TcpMeter;

/// A byte stream to a client, which may send before the handshake is complete.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin {
    /// Whether the data read last was early data, which may be replayed.
    fn is_early(&self) -> bool {
        false
    }

    /// Ready when the handshake is complete.
    fn poll_confirmed(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Tells the stream that nothing is expected for a while, so that it may free its buffers.
    fn rest(&mut self) {}

    /// Sends what the protocol below requires before a stream is closed. Closing the socket is
    /// enough for TCP.
    fn poll_close_notify(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Whether the client has closed, even if earlier bytes have not been read.
    fn has_left(&mut self) -> bool {
        false
    }

    /// Whether the connection was reset, so that the client cannot receive anything either.
    fn was_reset(&mut self) -> bool {
        false
    }

    /// Returns a meter that shows how much of the written data the client has acknowledged.
    fn meter(&self) -> Option<TcpMeter> {
        None
    }

    /// Closes with a reset, so that the end does not look like the end of an answer.
    fn abandon(&mut self) {}
}

impl Stream for TcpStream {
    fn abandon(&mut self) {
        // If this fails, the connection ends with a FIN.
        let _ = SockRef::from(&*self).set_linger(Some(Duration::ZERO));
    }
}

/// A stream over TLS is large, so code that moves it often boxes it.
impl<IO: Stream> Stream for Box<IO> {
    fn is_early(&self) -> bool {
        (**self).is_early()
    }

    fn poll_confirmed(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        (**self).poll_confirmed(cx)
    }

    fn rest(&mut self) {
        (**self).rest();
    }

    fn poll_close_notify(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        (**self).poll_close_notify(cx)
    }

    fn has_left(&mut self) -> bool {
        (**self).has_left()
    }

    fn was_reset(&mut self) -> bool {
        (**self).was_reset()
    }

    fn meter(&self) -> Option<TcpMeter> {
        (**self).meter()
    }

    fn abandon(&mut self) {
        (**self).abandon();
    }
}

/// The client's address and how it is connected.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) address: IpAddr,
    /// Whether the client arrived over TLS or QUIC.
    pub(crate) secure: bool,
    /// Whether the client's TLS session was resumed.
    pub(crate) resumed: bool,
    /// Whether the client is at an address for proxies, which ask about other clients' requests.
    pub(crate) asks: bool,
}
