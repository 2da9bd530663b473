//! TLS for clients and servers, with control over when bytes are sent.
//!
//! [`Stream`] combines data that belongs together into one write (a ClientHello with its early
//! data, a Finished with the request after it) and returns early data to the first reader.
//! [`Client`] builds configurations from a strategy, loads trusted certificates while the server's
//! answer is on its way, and remembers tickets; a [`StoredSession`] outlives the process. A
//! [`Secret`] holds a key or password, for this crate and the layers above. The owner of the socket
//! records the bytes; this crate records the ends of the handshake and the work done between
//! packets.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use roundtrip_tls::{Client, Offer, Roots, join};
//! # async fn client(tcp: tokio::net::TcpStream) -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new(Roots::System, None)?;
//! let offer = Offer {
//!     tls12: false,
//!     tls13: true,
//!     post_quantum: true,
//!     early_data: false,
//!     resume: true,
//!     alpn: vec!["h2", "http/1.1"],
//!     quic: false,
//! };
//! let config = Arc::new(client.config(&offer)?);
//! let mut stream = join(tcp, &config, "server.example")?;
//! stream.handshake().await?;
//! # Ok(())
//! # }
//! ```

mod buffer_pool;
mod chain;
mod client;
mod compression;
mod digest;
mod error;
mod facts;
mod framing;
mod identity;
mod intercept;
mod name;
mod revive;
mod roots;
mod seal;
mod secret;
mod server_stream;
mod session_cache;
mod stored_session;
mod stream;
mod suites;
mod ticket_clock;
mod tickets;
mod trust_fingerprint;
mod verified;
mod verifier;

pub use client::{Client, Offer, join, key_exchanges};
pub use compression::certificate_compressor;
pub use error::{StoredSessionError, TlsError, is_an_authoritys};
pub use facts::{handshake_facts, peer_facts};
pub use identity::Identity;
pub use intercept::{Interception, TicketReader};
pub use roots::Roots;
pub use secret::{Secret, SecretError};
pub use server_stream::ServerStream;
pub use stored_session::StoredSession;
pub use stream::Stream;
pub use tickets::Tickets;
pub use verifier::RecordingVerifier;
