//! Endpoints in a simulated network, in virtual time: whole connections from the first datagram to
//! the last.
#![allow(clippy::unwrap_used, clippy::panic)] // what a test's helper expects is expected of the code

mod amplification;
mod bulk;
mod distances;
mod ends;
mod flow;
mod handshakes;
mod held;
mod hostile;
mod link;
mod losses;
mod memory;
mod node;
mod packet_aead;
mod paths;
mod siblings;
mod simulation;
mod tls;
mod traffic;
mod unproved;
