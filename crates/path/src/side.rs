//! The two sides of the path: their addresses, and how they are connected to the relay.
//!
//! Both share one subnet. Their addresses are reserved for benchmarks (RFC 2544 via RFC 6890, RFC
//! 5180 §8), and no real host has them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::rtnetlink::{Mac, WireEnd};

const PREFIX_V4: u8 = 24;
const PREFIX_V6: u8 = 64;

/// Name and index of the interface at both ends of the path.
pub(crate) const END_NAME: &str = "eth0";
pub(crate) const END_INDEX: u32 = 100;

/// How the two sides are connected to the relay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WireKind {
    /// A veth pair for each side; works for every user.
    #[default]
    Veth,
    /// A TAP device for each side; needs access to `/dev/net/tun`.
    Tun,
    /// One veth pair between both sides, and no relay.
    Bare,
}

/// One of the two sides of the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathSide {
    pub(crate) v4: Ipv4Addr,
    pub(crate) v6: Ipv6Addr,
    pub(crate) mac: Mac,
    /// The relay's end of the wire to this side.
    pub(crate) tap: WireEnd<'static>,
}

pub(crate) const CLIENT: PathSide = PathSide {
    v4: Ipv4Addr::new(198, 18, 0, 1),
    v6: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1),
    mac: [2, 0, 0, 0, 0, 1],
    tap: WireEnd {
        name: "to-client",
        index: 101,
        mac: [2, 0, 0, 0, 1, 1],
    },
};

pub(crate) const SERVER: PathSide = PathSide {
    v4: Ipv4Addr::new(198, 18, 0, 2),
    v6: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2),
    mac: [2, 0, 0, 0, 0, 2],
    tap: WireEnd {
        name: "to-server",
        index: 102,
        mac: [2, 0, 0, 0, 1, 2],
    },
};

impl PathSide {
    pub(crate) fn end(self) -> WireEnd<'static> {
        WireEnd {
            name: END_NAME,
            index: END_INDEX,
            mac: self.mac,
        }
    }

    pub(crate) fn addresses(self) -> [(IpAddr, u8); 2] {
        [(self.v4.into(), PREFIX_V4), (self.v6.into(), PREFIX_V6)]
    }
}
