//! The driver with both ends of connections, on loopback.

#![allow(clippy::unwrap_used)]

mod own_server;
