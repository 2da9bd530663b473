//! The bytes of QUIC: headers, coalesced packets, frames and transport parameters, parsed and
//! written; Initial packets are opened.
//!
//! Initial keys derive from a connection id that travels in clear text, so anyone who sees the
//! client's first datagram can read both hellos. With a key log, [`passive`](crate::passive) can
//! read more. Connections belong to crate `quic`.

mod crypto_stream;
mod frame;
mod header;
mod id;
mod initial;
mod keys;
mod packet;
mod parameters;
mod pen;
mod reader;
mod version;

pub use crypto_stream::CryptoStream;
pub use frame::{
    Ack, Frame, Frames, PacketKind, has_long_type, stream_header_size, write_ack,
    write_stream_header,
};
pub use header::{
    LongHeader, expand_number, number_length, set_length, write_long, write_retry, write_short,
    write_version_negotiation,
};
pub use id::ConnectionId;
pub use initial::{InitialKeys, OpenedInitial, Side, retry_is_authentic};
pub(crate) use keys::{HeaderKey, Labels};
pub use packet::{LongKind, LongPacket, Packet, Packets, Retry};
pub use parameters::{Parameters, PreferredAddress, VersionInformation};
pub use pen::{MAX_VARINT, Pen, varint_size};
pub use version::Version;
