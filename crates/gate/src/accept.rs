//! From a socket to a request.
//!
//! For each connection, in this order:
//!
//! 1. `listener` accepts it, reads a PROXY header where one has to be, and shakes hands by TLS or
//!    QUIC.
//! 2. `admission` runs that under `connection_limits`, and gives the connection to the `front` of
//!    its protocol.
//! 3. `front` reads a head and calls [`judge`](crate::judge::judge): again when the store has
//!    answered, when the handshake is over, or when the body was read that decides.
//! 4. What is to be forwarded takes its share of `concurrency` from the `thread`, and becomes an
//!    [`Exchange`](crate::forward::exchange::Exchange) with a `Source` and a `Sink` of the front's.
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
