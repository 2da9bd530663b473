//! Exchanges over HTTP/1.1, 2 or 3, with every boundary written on the timeline.
//!
//! A [`Connection`] carries one [`Turn`] after another, or several at once, and fills [`HttpFacts`](roundtrip_model::HttpFacts); the
//! body goes to a [`Sink`]. What leaves when is decided here (a request shares its flight with a Finished or with early
//! data); sockets and TLS are handed in open, QUIC is opened here because its handshake cannot be told from its I/O.

mod body;
mod connection;
mod error;
mod h1;
mod h2;
mod h3;
mod request;
mod tunnel;
mod turn;

pub use body::Sink;
pub use connection::Connection;
pub use error::HttpError;
pub use h1::response_head;
pub use h3::{Quic, QuicError, QuicGauge, Tokens};
pub use request::{Request, check_sendable};
pub use tunnel::open_tunnel;
pub use turn::{Ended, Pen, Turn};

/// A response's head, all its interim responses included, may be this large (curl allows 300 KiB).
const HEAD_LIMIT: usize = 256 * 1024;

/// A byte stream under HTTP: a socket, TLS over it, or TLS through a proxy's tunnel.
pub trait Stream: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send {}

impl<T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send> Stream for T {}
