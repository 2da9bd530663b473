//! What a capture consists of, as it is written and as it is read. draft-ietf-opsawg-pcapng §4.

use std::borrow::Cow;

/// Block types.
pub(super) const SECTION: u32 = 0x0a0d_0d0a;
pub(super) const INTERFACE: u32 = 1;
/// Obsolete, from before the enhanced one.
pub(super) const PACKET: u32 = 2;
pub(super) const SIMPLE_PACKET: u32 = 3;
pub(super) const STATISTICS: u32 = 5;
pub(super) const ENHANCED_PACKET: u32 = 6;

/// Tells a section's byte order.
pub(super) const MAGIC: u32 = 0x1a2b_3c4d;
/// Type, length and length again.
pub(super) const FRAME: usize = 12;

/// Byte order; writers choose their machine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    #[default]
    Little,
    Big,
}

/// What packets begin with, as tcpdump.org lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    pub const ETHERNET: Self = Self(1);
    /// An IP header of either version.
    pub const RAW: Self = Self(101);
    /// Linux's «any» interface, of two generations.
    pub const LINUX_SLL: Self = Self(113);
    pub const LINUX_SLL2: Self = Self(276);
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block<'a> {
    /// Interfaces are counted anew from here.
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

/// The head of a section: who captured.
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
    /// The most that was kept of a packet; 0 for all of it.
    pub snap_length: u32,
    pub name: Option<Cow<'a, str>>,
    pub description: Option<Cow<'a, str>>,
    pub comments: Vec<Cow<'a, str>>,
}

/// A packet as seen on an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured<'a> {
    /// Counted from 0 in the order of their blocks in the section.
    pub interface: u32,
    pub link: LinkType,
    /// Nanoseconds since 1970; none in a simple packet block, or where 64 bits do not hold it.
    pub time: Option<u64>,
    /// On the wire; `data` may be less.
    pub original_length: u32,
    pub data: Cow<'a, [u8]>,
    pub direction: Option<Direction>,
    pub comments: Vec<Cow<'a, str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    Inbound,
    Outbound,
}

impl Direction {
    /// The two lowest bits of the flags. draft-ietf-opsawg-pcapng §4.3.1.
    pub(super) const fn of(flags: u32) -> Option<Self> {
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

/// What an interface counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statistics<'a> {
    pub interface: u32,
    /// Nanoseconds since 1970; none where 64 bits do not hold it.
    pub time: Option<u64>,
    pub received: Option<u64>,
    /// By the interface, for want of room.
    pub dropped: Option<u64>,
    pub comments: Vec<Cow<'a, str>>,
}
