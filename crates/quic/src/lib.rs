//! QUIC version 1 (RFC 9000, 9001, 9002) without I/O and without a clock: datagrams and times go
//! in, datagrams, events and a deadline come out.
//!
//! It has one purpose: bulk data should cost no more CPU time than TLS over TCP does. For each
//! *packet* it copies, encrypts, masks the header and writes 32 bytes into a ring; everything else
//! is done for each *burst* (up to 64 packets that leave in one system call), for each
//! *acknowledgement* (whose packets are consecutive in the ring, and whose stream data is one run),
//! or for each timer.
//!
//! - [`Endpoint`] owns the connections of one socket: it routes datagrams by connection id, and
//!   answers those that belong to none (version negotiation, Retry, stateless reset).
//! - [`Connection`] is one connection: [`Connection::transmit`] fills a burst, [`Connection::poll`]
//!   reports what happened, and streams are written and read without unnecessary copies.
//! - The owner of the socket drives both; sockets belong to `net`, HTTP/3 to `http`.
//!
//! ```no_run
//! use roundtrip_quic::{ClientConfig, ConnectError, Endpoint, Time};
//! # use std::net::SocketAddr;
//! # fn send(_: &roundtrip_quic::Transmit, _: &[u8]) {}
//! # fn client(config: &ClientConfig, server: SocketAddr, now: Time) -> Result<(), ConnectError> {
//! # let random = [0; 32];
//! let mut endpoint = Endpoint::new(None, random);
//! let handle = endpoint.connect(now, config, server, "server.example")?;
//! if let Some(connection) = endpoint.connection(handle) {
//!     let mut buffer = vec![0; 1 << 16];
//!     while let Some(burst) = connection.transmit(now, &mut buffer) {
//!         send(&burst, &buffer); // one system call
//!     }
//! }
//! // Then, until it is over: datagrams to `receive`, times to `on_timeout`, events from `poll`.
//! # Ok(())
//! # }
//! ```

mod budget;
mod burst;
mod config;
mod congestion;
mod connection;
mod crypto;
mod endpoint;
mod error;
mod event;
mod log;
mod mtu;
mod observer;
mod pacer;
mod ranges;
mod received;
mod recovery;
mod rtt;
mod sent;
mod space;
mod spans;
mod stats;
mod streams;
mod time;

pub use budget::Budget;
pub use burst::{RecvMeta, Transmit};
pub use config::{AckPolicy, CongestionControl, DatagramSize, Transport};
pub use connection::Connection;
pub use endpoint::{
    ClientConfig, Endpoint, Handle, Misdirected, Retry, ServerConfig, SessionStorage, Sibling,
    StrayCounts,
};
pub use error::{CloseReason, Code, ConnectError};
pub use event::Event;
pub use log::{
    ConnectionLog, DropReason, LogEvent, LoggedConnection, LoggedPacket, Logger, Metrics,
    set_logger,
};
pub use observer::{HandshakeBytes, HandshakeObserver};
pub use stats::Stats;
pub use streams::{Dir, Peek, Read, ReadError, StreamEvent, StreamId, WriteError};
pub use time::Time;
