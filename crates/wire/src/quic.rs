//! QUIC as an observer sees it: headers, coalesced packets, and Initial packets opened.
//!
//! Initial keys derive from a connection id that travels in clear, so whoever sees the client's first
//! datagram can read both hellos. Everything later stays closed, and connections are not kept here.

mod crypto_stream;
mod frame;
mod initial;
mod packet;
mod version;

pub use crypto_stream::CryptoStream;
pub use frame::{Frame, Frames};
pub use initial::{InitialKeys, Opened, Side, retry_is_authentic};
pub use packet::{ConnectionId, LongKind, LongPacket, Packet, Packets, Retry};
pub use version::Version;
