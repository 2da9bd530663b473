//! Endpoints in a simulated network, in virtual time: whole connections from the first datagram to
//! the last.
#![allow(clippy::unwrap_used, clippy::panic)] // what a test's helper expects is expected of the code

mod adversary;
mod adversary_frames;
mod adversary_games;
mod adversary_judge;
mod amplification;
mod bulk;
mod crowd;
mod distances;
mod ends;
mod flow;
mod handshakes;
mod held;
mod hostile;
mod key_holder;
mod link;
mod losses;
mod memory;
mod node;
mod packet_aead;
mod paths;
mod replayable_tls;
mod rules;
mod siblings;
mod simulation;
mod strangers;
mod tls;
mod traffic;
mod unvalidated;
