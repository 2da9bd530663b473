//! HTTP/3 on top of a QUIC connection, of our own engine or another. RFC 9114.
//!
//! `wire` parses and checks the bytes; this module applies the results to streams. An [`H3Server`]
//! accepts requests, an [`H3Requests`] sends them, and both also read the peer's control streams. A
//! reader of a [`MessageStream`] gets the errors of its message. Errors that concern the whole
//! connection close it first.

mod client;
mod control;
mod error;
mod head;
mod message;
mod own;
mod server;
mod transport;

pub use client::{H3Driver, H3Requests, connect};
pub use error::H3Error;
pub use head::{request_head, request_lines, response_head, response_lines};
pub use message::{MessagePart, MessageSender, MessageStream};
pub use own::ConnectionStreams;
pub use server::{Accepted, H3Server};
pub use transport::{H3Receiving, H3Sending, H3Transport, Halves};
