//! Addresses, prefixes and AS numbers. Parsing is strict, because lenient parsers read `192.0.2` in
//! surprising ways.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Key, NumberError};

/// An address, or a prefix whose lower bits are 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Network {
    address: IpAddr,
    prefix: Option<u8>,
}

impl Network {
    /// Parses a network. If bits below the prefix had to be cleared, also returns the address that
    /// was given.
    pub(super) fn read(text: &str) -> Result<(Self, Option<IpAddr>), NumberError> {
        let (address, prefix) = match text.split_once('/') {
            None => (text, None),
            Some((address, prefix)) => (address, Some(prefix)),
        };
        if address.contains('%') {
            return Err(NumberError::Zone); // RFC 6874 zones are local
        }
        let bare = address.strip_prefix('[').and_then(|a| a.strip_suffix(']'));
        let address: IpAddr = match bare {
            Some(bare) => IpAddr::V6(bare.parse().map_err(|_| NumberError::Address)?),
            None => address.parse().map_err(|_| NumberError::Address)?,
        };
        let Some(prefix) = prefix else {
            let prefix = None;
            return Ok((Self { address, prefix }, None));
        };
        let limit = width(address);
        let prefix = short_number(prefix)
            .filter(|length| *length <= limit)
            .ok_or(NumberError::Prefix { limit })?;
        let network = Self {
            address: masked(address, prefix),
            prefix: Some(prefix),
        };
        Ok((network, (network.address != address).then_some(address)))
    }

    pub(super) fn key(&self) -> Key<'static> {
        Key::Ip(self.address, self.prefix.unwrap_or(width(self.address)))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.prefix {
            Some(prefix) => write!(f, "{}/{prefix}", self.address),
            None => write!(f, "{}", self.address),
        }
    }
}

/// Parses `AS64500`, `64500`, or with a dot (RFC 5396) `AS1.10`.
pub(super) fn autnum(text: &str) -> Result<u32, NumberError> {
    let digits = without_as(text).unwrap_or(text);
    let number = match digits.split_once('.') {
        None => plain::<u32>(digits),
        Some((high, low)) => plain::<u16>(high)
            .zip(plain::<u16>(low))
            .map(|(high, low)| u32::from(high) << 16 | u32::from(low)),
    };
    number.ok_or(NumberError::Autnum)
}

/// What follows `AS`, if the text begins with it.
pub(super) fn without_as(text: &str) -> Option<&str> {
    let (start, rest) = text.split_at_checked(2)?;
    start.eq_ignore_ascii_case("as").then_some(rest)
}

fn plain<N: std::str::FromStr>(digits: &str) -> Option<N> {
    let all_digits = digits.bytes().all(|b| b.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}

/// One to three digits, without a leading zero.
fn short_number(digits: &str) -> Option<u8> {
    let leads = digits.len() > 1 && digits.starts_with('0');
    if leads { None } else { plain(digits) }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The address with the bits below the prefix cleared.
pub(super) fn masked(address: IpAddr, prefix: u8) -> IpAddr {
    let below = u32::from(width(address).saturating_sub(prefix));
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(below).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(below).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
        }
    }
}

/// The network that a reverse name stands for (RFC 1035 §3.5, RFC 3596 §2.5). Labels below the
/// numbers, as RFC 2317 uses them for parts of a /24, do not make it narrower: the registry of
/// addresses does not know them.
pub(super) fn reversed(name: &str) -> Option<(IpAddr, u8)> {
    if let Some(labels) = name.strip_suffix(".in-addr.arpa") {
        let octets: Vec<u8> = labels.rsplit('.').map_while(short_number).take(4).collect();
        let bits = octets.iter().fold(0, |bits, o| bits << 8 | u32::from(*o));
        let prefix = octets.len() as u8 * 8;
        let bits = bits.checked_shl(u32::from(32 - prefix))?;
        return Some((Ipv4Addr::from_bits(bits).into(), prefix));
    }
    let labels = name.strip_suffix(".ip6.arpa")?;
    let nibble = |label: &str| match label.as_bytes() {
        [digit] => char::from(*digit).to_digit(16),
        _ => None,
    };
    let nibbles: Vec<u32> = labels.rsplit('.').map_while(nibble).take(32).collect();
    let bits = nibbles.iter().fold(0, |bits, n| bits << 4 | u128::from(*n));
    let prefix = nibbles.len() as u8 * 4;
    let bits = bits.checked_shl(u32::from(128 - prefix))?;
    Some((Ipv6Addr::from_bits(bits).into(), prefix))
}
