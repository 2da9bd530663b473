//! Sockets with every option, and the kernel's information about them.
//!
//! [`Resolver`] asks name servers. [`Connect`] races addresses (RFC 8305) and opens a [`Socket`]: a
//! byte stream that records its data with the kernel's own times of arrival and acknowledgement,
//! the times when the client did not run, and the savings of fast open, according to the data that
//! the SYN-ACK acknowledged. [`listen`] is for servers. [`Plain`] is a fast stream without records;
//! a [`ForeignConnection`] records the same about a connection that another process owns;
//! [`datagrams`] is the same for UDP; an [`EchoSocket`] asks by ICMP; an [`Alarm`] is a timer with
//! a descriptor; [`cpu`] measures and pins threads. Only `sys` contains system calls that need
//! `unsafe`.

mod alarm;
mod cgroup;
mod clock;
mod connect;
pub mod cpu;
pub mod datagrams;
mod departures;
mod echo;
mod error;
mod eyeballs;
mod foreign_connection;
mod gaps;
mod gauge;
mod info;
mod inherited;
mod listening;
mod netlink;
mod plain;
mod presence;
mod quota;
mod resolver;
mod socket;
mod sys;
mod wait;
mod watch;
mod writable;

pub use alarm::Alarm;
pub use cgroup::memory_limit;
pub use clock::SystemClock;
pub use connect::{Bind, Connect, datagram_socket};
pub use echo::{EchoError, EchoOptions, EchoReply, EchoSocket};
pub use error::NetError;
pub use foreign_connection::ForeignConnection;
pub use gauge::Gauge;
pub use info::{Busy, Segments, TcpInfo};
pub use inherited::{InheritError, InheritedSockets};
pub use listening::{
    Listening, bind_listener, defer_accept, listen, listen_udp, set_fast_open, start_listening,
};
pub use netlink::ask_kernel;
pub use plain::Plain;
pub use presence::Attendance;
pub use resolver::{ResolveError, Resolver, Wanted, add as add_answer, random_dns_id};
pub use socket::Socket;
pub use sys::background::{Half, split};
pub use sys::{return_free_memory, terminal_height, terminal_width};
pub use watch::Watch;
