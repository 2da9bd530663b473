//! Sessions that are written down by one client and used by another, as a later process would.

#![allow(clippy::unwrap_used, clippy::panic)]

mod cost;
mod nginx;
mod peers;
mod refused;
mod resumed;
mod trust;
