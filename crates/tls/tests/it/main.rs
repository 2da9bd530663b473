//! Streams of TLS, and sessions that one client stores and another revives, as a later process
//! would.

#![allow(clippy::unwrap_used, clippy::panic)]

mod idle;
mod nginx;
mod peers;
mod revive_cost;
mod revive_refused;
mod revive_resumed;
mod revive_trust;
mod stream;
