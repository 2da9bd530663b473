//! A client's connection, over TCP or TLS, and the address of the client.

use std::io;
use std::net::IpAddr;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// A byte stream to a client, who may have begun to speak before the end of its handshake.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin {
    /// Was what was read last early data, open to replay?
    fn is_early(&self) -> bool {
        false
    }

    /// Ends with the handshake.
    fn poll_confirmed(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Nothing is expected for a while: buffers may go.
    fn rest(&mut self) {}

    /// Says what the protocol below wants said before a stream is closed. The socket's own end is
    /// its close.
    fn poll_farewell(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Its end must not look like the end of an answer: it is to be a reset.
    fn abandon(&mut self) {}
}

impl Stream for TcpStream {
    fn abandon(&mut self) {
        // Where it cannot be, it is an end like others.
        let _ = SockRef::from(&*self).set_linger(Some(Duration::ZERO));
    }
}

/// For who moves it often: a stream over TLS is large.
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

    fn poll_farewell(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        (**self).poll_farewell(cx)
    }

    fn abandon(&mut self) {
        (**self).abandon();
    }
}

/// Who is at the other end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) address: IpAddr,
    /// Over TLS or QUIC.
    pub(crate) secure: bool,
    /// Was its TLS session an earlier one?
    pub(crate) resumed: bool,
}
