//! Numbers: networks and autonomous systems (RFC 9083, sections 5.4 and 5.5), and the range that an
//! answer covers.

use std::net::IpAddr;

use super::item::{Item, views};

views! {
    /// Section 5.4.
    Network,
    /// Section 5.5.
    Autnum,
}

/// The range that an answer is about; the answer is valid for each number in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Covers {
    /// The first and the last address, both of one IP version.
    Ips(IpAddr, IpAddr),
    Autnums(u32, u32),
}

impl Covers {
    pub fn holds(self, address: IpAddr) -> bool {
        match self {
            Self::Ips(first, last) => {
                first.is_ipv4() == address.is_ipv4() && (first..=last).contains(&address)
            }
            Self::Autnums(..) => false,
        }
    }
}

impl<'a> Network<'a> {
    pub fn start(self) -> Option<IpAddr> {
        address(self.text("startAddress")?)
    }

    pub fn end(self) -> Option<IpAddr> {
        address(self.text("endAddress")?)
    }

    /// First and last address, if they are of one version and in order.
    pub fn range(self) -> Option<(IpAddr, IpAddr)> {
        let (start, end) = (self.start()?, self.end()?);
        (start.is_ipv4() == end.is_ipv4() && start <= end).then_some((start, end))
    }

    /// The blocks of the cidr0 extension, or else the blocks that make up the range, if there are
    /// only a few.
    pub fn cidrs(self) -> Vec<String> {
        let told: Vec<String> = self.items("cidr0_cidrs").filter_map(block).collect();
        match self.range() {
            Some((start, end)) if told.is_empty() => blocks(start, end),
            _ => told,
        }
    }

    pub fn name(self) -> Option<&'a str> {
        self.text("name")
    }

    pub fn kind(self) -> Option<&'a str> {
        self.text("type")
    }

    pub fn country(self) -> Option<&'a str> {
        self.text("country")
    }

    pub fn parent_handle(self) -> Option<&'a str> {
        self.text("parentHandle")
    }
}

impl<'a> Autnum<'a> {
    pub fn start(self) -> Option<u32> {
        self.number("startAutnum")?.try_into().ok()
    }

    pub fn end(self) -> Option<u32> {
        self.number("endAutnum")?.try_into().ok()
    }

    /// The first and the last number. A single number is a range of one.
    pub fn range(self) -> Option<(u32, u32)> {
        let start = self.start()?;
        let end = self.end().unwrap_or(start);
        (start <= end).then_some((start, end))
    }

    pub fn name(self) -> Option<&'a str> {
        self.text("name")
    }

    pub fn kind(self) -> Option<&'a str> {
        self.text("type")
    }

    pub fn country(self) -> Option<&'a str> {
        self.text("country")
    }
}

/// Parses an address. Some servers write the first address of a block with the block's prefix
/// length.
fn address(text: &str) -> Option<IpAddr> {
    parse_address(text.trim().split('/').next()?)
}

/// Parses an address. The octets can have leading zeros, as in old answers of ARIN: they are
/// decimal nevertheless.
pub(super) fn parse_address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let parsed = text.parse().ok();
    parsed.or_else(|| {
        let octets = text.split('.').map(|octet| {
            let is_plain =
                (1..=3).contains(&octet.len()) && octet.bytes().all(|b| b.is_ascii_digit());
            is_plain.then(|| octet.parse::<u8>().ok()).flatten()
        });
        let octets = octets.collect::<Option<Vec<u8>>>()?;
        Some(IpAddr::from(<[u8; 4]>::try_from(octets).ok()?))
    })
}

fn block(cidr: Item<'_>) -> Option<String> {
    let prefix = cidr.text("v4prefix").or_else(|| cidr.text("v6prefix"))?;
    let prefix = parse_address(prefix)?;
    let length = cidr.number("length")?;
    let most = if prefix.is_ipv4() { 32 } else { 128 };
    (length <= most).then(|| format!("{prefix}/{length}"))
}

/// The smallest set of blocks that makes up a range; empty if that takes more than a few.
fn blocks(start: IpAddr, end: IpAddr) -> Vec<String> {
    const MAX_BLOCKS: usize = 16;
    let (width, mut at, last) = match (start, end) {
        (IpAddr::V4(s), IpAddr::V4(e)) => (32, u128::from(s.to_bits()), u128::from(e.to_bits())),
        (IpAddr::V6(s), IpAddr::V6(e)) => (128, s.to_bits(), e.to_bits()),
        _ => return Vec::new(),
    };
    let mut blocks = Vec::new();
    while at <= last {
        if blocks.len() == MAX_BLOCKS {
            return Vec::new();
        }
        // A block is as large as its alignment and the rest of the range allow. The number of all
        // IPv6 addresses is 1 more than u128 can hold, hence `checked_add`.
        let room = (last - at).checked_add(1).map_or(128, u128::ilog2);
        let bits = at.trailing_zeros().min(room).min(width);
        let prefix = if width == 32 {
            IpAddr::V4((at as u32).into())
        } else {
            IpAddr::V6(at.into())
        };
        blocks.push(format!("{prefix}/{}", width - bits));
        let next = 1u128
            .checked_shl(bits)
            .and_then(|size| at.checked_add(size));
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(start: &str, end: &str) -> Vec<String> {
        blocks(start.parse().unwrap(), end.parse().unwrap())
    }

    #[test]
    fn ranges_are_split_into_blocks() {
        assert_eq!(between("192.0.2.0", "192.0.2.255"), ["192.0.2.0/24"]);
        assert_eq!(between("0.0.0.0", "255.255.255.255"), ["0.0.0.0/0"]);
        assert_eq!(
            between("::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ["::/0"]
        );
        assert_eq!(between("2001:db8::", "2001:db8::ffff"), ["2001:db8::/112"]);
        assert_eq!(
            between("192.0.2.1", "192.0.2.6"),
            [
                "192.0.2.1/32",
                "192.0.2.2/31",
                "192.0.2.4/31",
                "192.0.2.6/32"
            ]
        );
        assert_eq!(
            between("255.255.255.255", "255.255.255.255"),
            ["255.255.255.255/32"]
        );
        assert_eq!(between("0.0.0.1", "255.255.255.254"), [""; 0]);
        assert_eq!(between("192.0.2.0", "2001:db8::"), [""; 0]);
    }
}
