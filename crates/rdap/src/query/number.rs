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
    /// Parses a network: an address, a prefix, or the range between two addresses. Also returns a
    /// note for the user if the network is not exactly the given one.
    pub(super) fn read(text: &str) -> Result<(Self, Option<String>), NumberError> {
        if text.contains('%') {
            return Err(NumberError::Zone); // RFC 6874 zones are local
        }
        if let Some(short) = wildcard(text) {
            return Self::read(&short);
        }
        if let Some((first, last)) = ends(text) {
            return Self::between(text, first, last);
        }
        let (start, prefix) = match text.split_once(['/', ' ']) {
            None => (text, None),
            Some((start, prefix)) => (start, Some(prefix.trim_start())),
        };
        let padded = || padded(start, prefix?);
        let address = read_address(start).or_else(padded);
        let address = address.ok_or_else(|| unreadable(start))?;
        let Some(prefix) = prefix else {
            let prefix = None;
            return Ok(Self { address, prefix }.unmapped(None));
        };
        let limit = width(address);
        let prefix = short_number(prefix)
            .or_else(|| mask_length(address, prefix))
            .filter(|length| *length <= limit)
            .ok_or(NumberError::Prefix { limit })?;
        let network = Self {
            address: masked(address, prefix),
            prefix: Some(prefix),
        };
        let note = (network.address != address).then(|| {
            format!(
                "{address} has bits set beyond its prefix; the query is for the prefix: {network}"
            )
        });
        Ok(network.unmapped(note))
    }

    /// The IPv4 network, with a note, if this is one in the form of IPv6 (RFC 4291 §2.5.5.2), as
    /// programs log the addresses of their peers. No registry has those.
    fn unmapped(self, note: Option<String>) -> (Self, Option<String>) {
        let prefix = self.prefix.unwrap_or(128).checked_sub(96);
        let IpAddr::V6(address) = self.address else {
            return (self, note);
        };
        let Some((address, prefix)) = address.to_ipv4_mapped().zip(prefix) else {
            return (self, note);
        };
        let network = Self {
            address: address.into(),
            prefix: self.prefix.map(|_| prefix),
        };
        let note = format!("{self} is IPv4 in the form of IPv6; the query is for {network}");
        (network, Some(note))
    }

    /// The smallest prefix that contains both addresses.
    fn between(text: &str, first: &str, last: &str) -> Result<(Self, Option<String>), NumberError> {
        let first = read_address(first).ok_or_else(|| unreadable(first))?;
        let last = match (first, plain::<u8>(last)) {
            // 192.0.2.0-255
            (IpAddr::V4(first), Some(octet)) => {
                let [a, b, c, _] = first.octets();
                IpAddr::from([a, b, c, octet])
            }
            _ => read_address(last).ok_or_else(|| unreadable(last))?,
        };
        let different = match (first, last) {
            (IpAddr::V4(f), IpAddr::V4(l)) => (f.to_bits() ^ l.to_bits()).leading_zeros(),
            (IpAddr::V6(f), IpAddr::V6(l)) => (f.to_bits() ^ l.to_bits()).leading_zeros(),
            _ => return Err(NumberError::Ends),
        };
        if first > last {
            return Err(NumberError::Ends);
        }
        let prefix = different as u8;
        let network = Self {
            address: masked(first, prefix),
            prefix: (prefix < width(first)).then_some(prefix),
        };
        let is_whole = network.address == first && filled(first, prefix) == last;
        let note = (!is_whole).then(|| {
            format!("{text} is not a prefix; the query is for the smallest prefix that contains it: {network}")
        });
        Ok(network.unmapped(note))
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

/// The two ends of a range: `192.0.2.0-192.0.2.255`, or with a dash and blanks as registries write
/// it. The text `to`, or two dots, can be in place of the dash.
pub(super) fn ends(text: &str) -> Option<(&str, &str)> {
    let dash = || text.split_once(['-', '–', '—']);
    let word = || text.split_once(" to ").or_else(|| text.split_once(".."));
    let (first, last) = dash().or_else(word)?;
    Some((first.trim(), last.trim()))
}

/// The prefix, in its short form, that `192.0.2.*` stands for.
pub(super) fn wildcard(text: &str) -> Option<String> {
    let octets: Vec<&str> = text.split('.').collect();
    let known = octets.iter().take_while(|octet| **octet != "*").count();
    let (start, rest) = octets.split_at_checked(known)?;
    let is_whole = octets.len() == 4 && (1..4).contains(&known);
    let is_wildcard = is_whole
        && rest.iter().all(|octet| *octet == "*")
        && start.iter().all(|octet| short_number(octet).is_some());
    is_wildcard.then(|| format!("{}/{}", start.join("."), known * 8))
}

/// Parses an address, with or without the brackets of a URL. Octets of three digits each are
/// decimal, as in old lists; any other leading zero could mean an octal number.
fn read_address(text: &str) -> Option<IpAddr> {
    if let Some(bare) = text.strip_prefix('[').and_then(|a| a.strip_suffix(']')) {
        return Some(IpAddr::V6(bare.parse().ok()?));
    }
    let padded = || {
        let octets = text
            .split('.')
            .map(|o| plain::<u8>(o).filter(|_| o.len() == 3));
        let octets = octets.collect::<Option<Vec<u8>>>()?;
        Some(IpAddr::from(<[u8; 4]>::try_from(octets).ok()?))
    };
    text.parse().ok().or_else(padded)
}

/// The reason why a text is not an address.
fn unreadable(text: &str) -> NumberError {
    let mut octets = text.split('.');
    let leads = |octet: &str| octet.len() > 1 && octet.starts_with('0');
    let is_padded = text.parse::<Ipv4Addr>().is_err()
        && octets.clone().count() == 4
        && octets.clone().all(|octet| plain::<u8>(octet).is_some())
        && octets.any(leads);
    if is_padded {
        NumberError::LeadingZero
    } else {
        NumberError::Address
    }
}

/// The length of the prefix that a mask such as `255.255.255.0`, or its inverse `0.0.0.255`, stands
/// for.
fn mask_length(address: IpAddr, mask: &str) -> Option<u8> {
    let mask: Ipv4Addr = mask.parse().ok().filter(|_| address.is_ipv4())?;
    let length = |bits: u32| {
        let length = bits.leading_ones();
        (bits.count_ones() == length).then_some(length as u8)
    };
    length(mask.to_bits()).or_else(|| length(!mask.to_bits()))
}

/// Whether the text is an IPv4 address, blanks and a mask, as in the configuration of a router.
pub(super) fn has_mask(text: &str) -> bool {
    let address = |text: &str| text.parse::<Ipv4Addr>().ok();
    text.split_once(' ').is_some_and(|(first, mask)| {
        let mask = mask.trim_start();
        address(first).is_some_and(|first| mask_length(first.into(), mask).is_some())
    })
}

/// The address of a prefix whose last octets are left out, as in `10/8`. The prefix length shows
/// how many octets there must be.
fn padded(start: &str, length: &str) -> Option<IpAddr> {
    let octets: Option<Vec<u8>> = start.split('.').map(short_number).collect();
    let octets = octets.filter(|octets| octets.len() < 4)?;
    let length = usize::from(short_number(length)?);
    if length > octets.len() * 8 {
        return None;
    }
    let mut whole = [0; 4];
    whole
        .iter_mut()
        .zip(octets)
        .for_each(|(to, octet)| *to = octet);
    Some(whole.into())
}

/// The ends of a range of AS numbers: `AS64496-AS64511`, also without the second `AS`. Two numbers
/// without `AS` can be a handle.
pub(super) fn autnum_range(text: &str) -> Option<(u32, u32)> {
    let (first, last) = ends(text)?;
    let first = autnum(without_as(first)?).ok()?;
    let last = autnum(last).ok()?;
    Some((first, last))
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

/// The text after `AS` or `ASN` and blanks, if the text begins with that.
pub(super) fn without_as(text: &str) -> Option<&str> {
    let (start, rest) = text.split_at_checked(2)?;
    let rest = rest.strip_prefix(['n', 'N']).unwrap_or(rest);
    start
        .eq_ignore_ascii_case("as")
        .then_some(rest.trim_start())
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

/// The address with the bits below the prefix set.
pub(crate) fn filled(address: IpAddr, prefix: u8) -> IpAddr {
    let prefix = u32::from(prefix);
    match address {
        IpAddr::V4(v4) => {
            IpAddr::V4((v4.to_bits() | u32::MAX.checked_shr(prefix).unwrap_or(0)).into())
        }
        IpAddr::V6(v6) => {
            IpAddr::V6((v6.to_bits() | u128::MAX.checked_shr(prefix).unwrap_or(0)).into())
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
