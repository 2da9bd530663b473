//! The blocks of a capture, for writing and reading. draft-ietf-opsawg-pcapng §4.

use std::borrow::Cow;

/// Block types.
pub(super) const SECTION: u32 = 0x0a0d_0d0a;
pub(super) const INTERFACE: u32 = 1;
/// Obsolete; replaced by the enhanced packet block.
pub(super) const PACKET: u32 = 2;
pub(super) const SIMPLE_PACKET: u32 = 3;
pub(super) const STATISTICS: u32 = 5;
pub(super) const ENHANCED_PACKET: u32 = 6;
/// Decryption secrets, and their type if they are lines of an SSLKEYLOGFILE. §4.7.
pub(crate) const SECRETS: u32 = 10;
pub(crate) const TLS_KEY_LOG: u32 = 0x544c_534b;

/// Identifies the byte order of a section.
pub(super) const MAGIC: u32 = 0x1a2b_3c4d;
/// The size of a block's frame in bytes: type, length, and length again.
pub(super) const FRAME: usize = 12;

/// The byte order of a section; writers use that of their machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ByteOrder {
    #[default]
    Little,
    Big,
}

/// The link-layer header of packets, with the numbers of tcpdump.org.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    pub const ETHERNET: Self = Self(1);
    /// An IP header of either version.
    pub const RAW: Self = Self(101);
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block<'a> {
    /// The numbering of interfaces restarts here.
    Section(Section<'a>),
    Interface(Interface<'a>),
    Packet(Captured<'a>),
    Statistics(Statistics<'a>),
    /// Anything else: names, secrets, custom blocks.
    Other {
        kind: u32,
        body: &'a [u8],
    },
}

/// The header of a section: who captured it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Section<'a> {
    pub hardware: Option<Cow<'a, str>>,
    pub system: Option<Cow<'a, str>>,
    pub application: Option<Cow<'a, str>>,
    pub comments: Vec<Cow<'a, str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface<'a> {
    pub link: LinkType,
    /// The largest number of bytes kept of a packet; 0 means all.
    pub snap_length: u32,
    pub name: Option<Cow<'a, str>>,
    pub description: Option<Cow<'a, str>>,
    pub comments: Vec<Cow<'a, str>>,
}

/// A packet seen on an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured<'a> {
    /// The number of the interface, from 0, in the order of the interface blocks in the section.
    pub interface: u32,
    pub link: LinkType,
    /// The time in nanoseconds since 1970; `None` in a simple packet block, or if it does not fit
    /// into 64 bits.
    pub time: Option<u64>,
    /// The length on the wire in bytes; `data` may be shorter.
    pub original_length: u32,
    pub data: Cow<'a, [u8]>,
    pub direction: Option<PacketDirection>,
    pub comments: Vec<Cow<'a, str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PacketDirection {
    Inbound,
    Outbound,
}

impl PacketDirection {
    /// The two lowest bits of the flags. draft-ietf-opsawg-pcapng §4.3.1.
    pub(super) const fn from_flags(flags: u32) -> Option<Self> {
        match flags & 3 {
            1 => Some(Self::Inbound),
            2 => Some(Self::Outbound),
            _ => None,
        }
    }

    pub(super) const fn flags(self) -> u32 {
        match self {
            Self::Inbound => 1,
            Self::Outbound => 2,
        }
    }
}

/// Counters of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statistics<'a> {
    pub interface: u32,
    /// The time in nanoseconds since 1970; `None` if it does not fit into 64 bits.
    pub time: Option<u64>,
    pub received: Option<u64>,
    /// Packets dropped by the interface for lack of room.
    pub dropped: Option<u64>,
    pub comments: Vec<Cow<'a, str>>,
}
