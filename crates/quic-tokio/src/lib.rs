//! A UDP socket with our own QUIC engine, under tokio: one task drives all connections of the socket, any others use them.
//!
//! What a datagram means is `quic`'s, how it comes and goes is `net::datagrams`'. Here is what lies between: who waits for
//! what and who is woken, what happens in which order (`driver`), and streams as the `h3` crate wants them. All tasks share
//! one lock, which nobody holds while waiting or calling the kernel.

mod connection;
mod connection_wakers;
mod driver;
mod endpoint;
mod error;
mod h3;
mod incoming;
mod observer;
mod recv_stream;
mod sections;
mod send_stream;
mod socket;
mod state;
#[cfg(test)]
mod tests;
mod wakers;

pub use connection::Link;
pub use endpoint::Dock;
pub use error::StreamError;
pub use h3::{Opener, Outgoing, Stream, Transport};
pub use incoming::Caller;
pub use observer::Lookout;
pub use recv_stream::Receiving;
pub use sections::{RequestError, SectionLimits};
pub use send_stream::Sending;
