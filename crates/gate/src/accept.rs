//! From a socket to a request: listeners, connection limits, handshakes, and the fronts that speak HTTP with clients.

pub(crate) mod admission;
mod buffer_pool;
mod concurrency;
pub(crate) mod connection_limits;
pub(crate) mod front;
pub(crate) mod listener;
pub(crate) mod stream;
pub(crate) mod thread;
