//! Packet captures with comments: pcapng, written and parsed. draft-ietf-opsawg-pcapng.
//!
//! Only bytes are handled here: the caller owns the files and interprets the captured packets.

mod block;
mod option;
mod reader;
mod time;
mod writer;

pub use block::{
    Block, ByteOrder, Captured, Interface, LinkType, PacketDirection, Section, Statistics,
};
pub(crate) use block::{SECRETS, TLS_KEY_LOG};
pub(crate) use reader::Parser;
pub use reader::PcapngReader;
pub use writer::PcapngWriter;
