//! The byte stream under HTTP/1.1 and 2.

use tokio::io::{AsyncRead, AsyncWrite};

/// A byte stream under HTTP: a socket, TLS over it, or TLS through a proxy's tunnel.
pub trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> ByteStream for T {}
