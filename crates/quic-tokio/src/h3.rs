//! HTTP/3 on top of a QUIC connection, ours or another maker's. RFC 9114.
//!
//! What bytes mean, and which of them are errors, is `wire`'s. Here it meets streams: an
//! [`H3Server`] accepts requests, an [`H3Requests`] sends them, and both read beside that what the
//! peer says on its control streams. Whoever reads a [`MessageStream`] finds the errors of its
//! message; those that concern the whole connection have closed it by then.

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
