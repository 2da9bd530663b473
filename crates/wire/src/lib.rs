//! Parses and writes bytes: DNS, TLS hellos, QUIC, HTTP/2, HTTP/3, certificates, IP packets,
//! captures, HTTP/1 and header fields, resolver files, netlink, and the Redis protocol; connections
//! of others, with their keys, and logs of other programs.
//!
//! Sans-I/O: bytes come in as slices and go out as vectors; sockets, files and clocks belong to the
//! layers above. Every parser is total: for any bytes it returns a value or an [`Error`] and never
//! panics, and its work and memory are bounded by the length of its input.

pub mod accept;
pub mod alt_svc;
pub mod calendar;
pub mod capture;
mod cursor;
pub mod dns;
pub mod envelope;
mod error;
pub mod ext_authz;
mod field;
pub mod grpc_health;
pub mod h2;
pub mod h3;
pub mod hosts;
mod hpack;
pub mod http1;
pub mod http_date;
pub mod jwt;
pub mod key_log;
pub mod link;
pub mod message;
mod named_codes;
pub mod netlink;
pub mod otlp;
pub mod packet;
pub mod passive;
pub mod pcap;
pub mod pcapng;
pub mod percent;
pub mod prometheus;
mod protection;
mod protobuf;
pub mod proxy_header;
pub mod qpack;
pub mod quic;
pub mod resolv_conf;
pub mod resp;
pub mod server_timing;
mod static_index;
mod text;
pub mod tls;
pub mod witness;
pub mod x509;

pub use error::Error;
pub use text::{hex, unhex};

/// The result of every parser and encoder here.
pub type Result<T> = std::result::Result<T, Error>;
