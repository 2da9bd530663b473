//! Takes a client's connection and turns what arrives on it into requests.
//!
//! For each connection, in this order:
//!
//! 1. `listener` accepts it, reads a PROXY header if one is required, and performs the TLS or QUIC
//!    handshake.
//! 2. `admission` applies `connection_limits` to this, and gives the connection to the `front`
//!    of its protocol.
//! 3. `front` reads a head and calls [`judge`](crate::judge::judge). It calls it again when the
//!    store has answered, when the handshake is complete, or when the body that decides has been
//!    read.
//! 4. A request to be forwarded takes its share of `concurrency` from the `thread`, and becomes an
//!    [`Exchange`](crate::forward::exchange::Exchange) with a `Source` and a `Sink` of the front.
//!    Everything else is answered here, by [`OwnAnswer`](crate::judge::OwnAnswer).
//! 5. `thread` closes the entry: ledger and access log.

pub(crate) mod admission;
mod buffer_pool;
mod concurrency;
pub(crate) mod connection_limits;
pub(crate) mod front;
pub(crate) mod listener;
pub(crate) mod stream;
pub(crate) mod thread;
