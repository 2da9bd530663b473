//! Exchanges over HTTP/1.1, 2 or 3, with every boundary written on the timeline.
//!
//! A [`Connection`] carries one [`RequestRun`] after another, or several at once, and fills
//! [`HttpFacts`](roundtrip_model::HttpFacts); the body goes to a [`Sink`]. This crate decides what
//! leaves when: a request shares its flight with a Finished or with early data. An [`Opening`]
//! brings a connection up: TLS over a socket, QUIC, or both side by side. A [`SharedConnection`]
//! serves many tasks at once.

mod body;
mod connection;
mod decoder;
mod error;
mod h1;
mod h2;
mod h3;
mod opening;
mod request;
mod response;
mod run;
mod sharing;
mod stream;
mod tunnel;

pub use body::{BoundedBody, Sink};
pub use connection::Connection;
pub use decoder::Decoder;
pub use error::{HttpError, QuicError};
pub use h1::response_head;
pub use h3::{Quic, QuicAttempt, QuicGauge, Tokens};
pub use opening::{
    OpenError, Opened, Opening, OpeningFacts, Raced, StreamProtocol, Transport, race,
};
pub use request::{Request, check_sendable};
pub use run::{BodyEnd, OnEnded, RequestRecorder, RequestRun};
pub use sharing::SharedConnection;
pub use stream::ByteStream;
pub use tunnel::open_tunnel;
