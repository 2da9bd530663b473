//! Sockets with every option, and what the kernel knows about them.
//!
//! [`Resolver`] asks name servers. [`Connect`] races addresses (RFC 8305) and opens a [`Socket`]: a
//! byte stream that records what it sends and receives at the kernel's own times of arrival and
//! acknowledgement, when the client did not run, and what fast open saved, by what the SYN-ACK
//! acknowledged. [`listen`] is for servers. [`Plain`] is a stream for
//! speed, without records; [`datagrams`] is the same for UDP; an [`Alarm`] is a timer with a
//! descriptor; [`cpu`] measures and pins threads. System calls that need `unsafe` are in `sys`
//! alone.

mod alarm;
mod clock;
mod connect;
pub mod cpu;
pub mod datagrams;
mod departures;
mod error;
mod eyeballs;
mod gaps;
mod gauge;
mod info;
mod listening;
mod plain;
mod presence;
mod quota;
mod resolver;
mod room;
mod socket;
mod sys;
mod wait;
mod watch;

pub use alarm::Alarm;
pub use clock::SystemClock;
pub use connect::{Bind, Connect, datagram_socket};
pub use error::NetError;
pub use gauge::Gauge;
pub use info::{Segments, TcpInfo};
pub use listening::{Listening, listen, listen_udp};
pub use plain::Plain;
pub use resolver::{ResolveError, Resolver, Wanted, add as add_answer};
pub use socket::Socket;
pub use sys::{terminal_height, terminal_width};
pub use watch::Watch;
