//! Our own QUIC engine on a UDP socket, under tokio, with quinn's names.
//!
//! [`Endpoint`] drives the engine: one task owns the socket, receives, fires timers and sends, a
//! few bursts at a time, so that acknowledgements are processed in between. All other tasks share
//! the state under one lock, which is never held while waiting or in a system call. `quic`
//! interprets datagrams, and `net::datagrams` sends and receives them. HTTP/3 runs on top of a
//! [`Connection`]: as an [`H3Server`], or as [`H3Requests`].
//!
//! A server that echoes one stream, and its client:
//!
//! ```
//! # use std::{error::Error, net::UdpSocket, sync::Arc};
//! # use roundtrip_quic::{self as engine, ClientConfig, ServerConfig, Transport};
//! # use roundtrip_quic_tokio::{Endpoint, random_seed};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn Error>> {
//! # let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
//! # let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der())?;
//! # let mut roots = rustls::RootCertStore::empty();
//! # roots.add(made.cert.der().clone())?;
//! # let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
//! # let random = provider.secure_random;
//! # let server_tls = rustls::ServerConfig::builder_with_provider(provider.clone())
//! #     .with_protocol_versions(&[&rustls::version::TLS13])?
//! #     .with_no_client_auth()
//! #     .with_single_cert(vec![made.cert.der().clone()], key)?;
//! # let client_tls = rustls::ClientConfig::builder_with_provider(provider)
//! #     .with_protocol_versions(&[&rustls::version::TLS13])?
//! #     .with_root_certificates(roots)
//! #     .with_no_client_auth();
//! # let transport = Arc::new(Transport::default());
//! let config = ServerConfig::new(Arc::new(server_tls), transport.clone());
//! let engine = engine::Endpoint::new(Some(config), random_seed(random)?);
//! let server = Endpoint::new(UdpSocket::bind("127.0.0.1:0")?, engine)?;
//! let address = server.local_addr();
//! tokio::spawn(async move {
//!     let connection = server.accept().await?.accept();
//!     let (mut send, mut recv) = connection.accept_bi().await.ok()?;
//!     while let Some(bytes) = recv.read_chunk().await.ok()? {
//!         send.write_chunk(bytes).await.ok()?;
//!     }
//!     send.finish().ok()?;
//!     Some(connection.closed().await)
//! });
//!
//! let engine = engine::Endpoint::new(None, random_seed(random)?);
//! let client = Endpoint::new(UdpSocket::bind("127.0.0.1:0")?, engine)?;
//! let config = ClientConfig::new(Arc::new(client_tls), transport);
//! let connection = client.connect(&config, address, "localhost")?;
//! let (mut send, mut recv) = connection.open_bi().await?;
//! send.write_chunk("hello".into()).await?;
//! send.finish()?;
//! assert_eq!(recv.read_chunk().await?.as_deref(), Some(&b"hello"[..]));
//! # Ok(())
//! # }
//! ```

mod connection;
mod connection_wakers;
mod driver;
mod endpoint;
mod error;
mod h3;
mod handle;
mod id_map;
mod inboxes;
mod incoming;
mod neighbours;
mod observer;
mod qlog;
mod recv_stream;
mod send_stream;
mod sibling;
mod socket;
mod state;
#[cfg(test)]
mod tests;
mod timer;
mod wait;
mod wakers;

pub use connection::Connection;
pub use endpoint::{Endpoint, random_seed};
pub use error::StreamError;
pub use h3::{
    Accepted, ConnectionStreams, H3Driver, H3Error, H3Receiving, H3Requests, H3Sending, H3Server,
    H3Transport, Halves, MessagePart, MessageSender, MessageStream, connect, request_head,
    request_lines, response_head, response_lines,
};
pub use incoming::Incoming;
pub use neighbours::Neighbours;
pub use observer::DatagramObserver;
pub use qlog::QlogDirectory;
pub use recv_stream::RecvStream;
pub use send_stream::SendStream;
pub use sibling::Sibling;
