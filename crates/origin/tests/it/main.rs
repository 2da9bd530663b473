//! The origin seen by independent clients: Debian's curl and openssl, plain sockets, and rustls,
//! quinn and h3.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod curl;
mod fast_open;
mod faults;
mod h3;
mod interop;
mod peers;
mod quic_rules;
mod raw;
#[path = "../../../../tests/skip.rs"]
mod skip;
mod tls;
