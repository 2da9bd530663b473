//! Sockets with every knob, and what the kernel knows about them.
//!
//! [`Resolver`] asks name servers. [`Connect`] races addresses (RFC 8305) and opens a [`Socket`]: an ordinary byte stream that records what it sends,
//! receives at the kernel's own arrival times, and judges fast open by what the SYN-ACK acknowledged. [`listen`] is for servers. System calls
//! that need `unsafe` live in `sys` alone. [`Plain`] is a stream for who wants speed, and no records; [`datagrams`] are UDP for the same, many
//! to a call; an [`Alarm`] wakes who waits for descriptors; [`cpu`] says what a thread spent, and where it may run.

mod alarm;
mod clock;
mod connect;
pub mod cpu;
pub mod datagrams;
mod error;
mod eyeballs;
mod info;
mod listening;
mod plain;
mod resolver;
mod socket;
mod sys;
mod wait;
mod watch;

pub use alarm::Alarm;
pub use clock::SystemClock;
pub use connect::{Bind, Connect, datagram_socket};
pub use error::NetError;
pub use info::{Segments, TcpInfo};
pub use listening::{Listening, listen, listen_udp};
pub use plain::Plain;
pub use resolver::{ResolveError, Resolver, Wanted, add as add_answer};
pub use socket::{Gauge, Socket};
pub use sys::{terminal_height, terminal_width};
pub use watch::Watch;
