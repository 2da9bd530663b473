//! Accepts clients: sockets, PROXY headers, TLS over TCP, and QUIC. The front reads what clients
//! send, and decides which of it is answered from early data.
//!
//! Each thread has its own sockets at the same addresses, and the kernel distributes clients among
//! them.

mod certificates;
mod client_socket;
mod hello;
mod quic;
mod secure;
mod seed;
mod session_prefetch;
mod session_quota;
mod sockets;
mod tcp;
mod tickets;
mod tls_side;

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustls::ProtocolVersion;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(crate) use client_socket::ClientSocket;
pub(crate) use quic::{IncomingQuic, QuicHandshake, QuicListener, QuicMemory};
pub(crate) use secure::Secure;
pub(crate) use seed::Seed;
pub(crate) use session_prefetch::SingleUseCounts;
pub(crate) use sockets::{Sockets, ThreadSockets};
pub(crate) use tcp::{AcceptConfig, AcceptError, AcceptedSocket, Listener, kernel_takes_syn_data};
pub(crate) use tls_side::{ThreadTls, TlsSide};

/// A client's byte stream once it may speak HTTP.
pub(crate) enum ClientStream {
    Clear(ClientSocket),
    Secure(Box<Secure>),
}

/// Facts about the beginning of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HandshakeFacts {
    pub(crate) resumed: bool,
    /// Whether early data was accepted, even if it was empty.
    pub(crate) early_data: bool,
    /// Whether the SYN brought data that the kernel accepted.
    pub(crate) fast_open: bool,
    /// `None` for clear text.
    pub(crate) version: Option<ProtocolVersion>,
}

/// A client whose handshake is complete, or far enough for early data.
pub(crate) struct AcceptedConnection {
    pub(crate) stream: ClientStream,
    /// The peer, as named by a trusted proxy if there is one.
    pub(crate) peer: SocketAddr,
    pub(crate) facts: HandshakeFacts,
}

impl AsyncRead for ClientStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Clear(stream) => Pin::new(stream).poll_read(cx, into),
            Self::Secure(stream) => Pin::new(stream).poll_read(cx, into),
        }
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Clear(stream) => Pin::new(stream).poll_write(cx, data),
            Self::Secure(stream) => Pin::new(stream).poll_write(cx, data),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Clear(stream) => Pin::new(stream).poll_flush(cx),
            Self::Secure(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Clear(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Secure(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Clear(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
            Self::Secure(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
        }
    }

    /// Returns `true`: data is gathered into records anyway, so writing the parts one by one costs
    /// nothing.
    fn is_write_vectored(&self) -> bool {
        matches!(self, Self::Clear(_))
    }
}

#[cfg(test)]
mod tests;
