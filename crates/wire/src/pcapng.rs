//! Packet captures with comments: pcapng, written and read. draft-ietf-opsawg-pcapng.
//!
//! Bytes only: files belong to the caller, and so does what the captured bytes mean.

mod block;
mod option;
mod reader;
mod time;
mod writer;

pub use block::{Block, Captured, Direction, Interface, LinkType, Order, Section, Statistics};
pub use reader::Reader;
pub use writer::Writer;
