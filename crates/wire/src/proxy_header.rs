//! The header of the PROXY protocol, versions 1 and 2, at the start of a connection: it names the
//! client for which a proxy connects.
//!
//! <https://www.haproxy.org/download/2.9/doc/proxy-protocol.txt>;
//! sections are cited by its numbers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::cursor::Cursor;
use crate::{Error, Result};

const WHAT: &str = "the PROXY header";
/// The longest line in bytes, with its CRLF. §2.1.
const MAX_LINE_LENGTH: usize = 107;
/// §2.2.
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// The size of the fixed part in bytes; the addresses follow. §2.2.
const FIXED: usize = 16;
/// The longest header in bytes. §2.2: a receiver need not accept more than 536 in total; addresses
/// take 36 of them, or 216 if they are paths.
pub const MAX_LENGTH: usize = 536;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyHeader {
    /// The proxy connects for itself, for example for a health check, or does not know the client:
    /// the addresses of the connection count.
    Own,
    /// The client's address, and the address that it connected to.
    For {
        source: SocketAddr,
        destination: SocketAddr,
    },
}

impl ProxyHeader {
    /// Parses the header at the start of `bytes`. Returns it with its length, or `None` if it is
    /// incomplete so far; all of `bytes` then belongs to it.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>> {
        if bytes.starts_with(b"PROXY ") {
            return line(bytes);
        }
        if bytes.starts_with(SIGNATURE) {
            return binary(bytes);
        }
        if b"PROXY ".starts_with(bytes) || SIGNATURE.starts_with(bytes) {
            return Ok(None);
        }
        Err(malformed("there is none"))
    }
}

fn malformed(why: &'static str) -> Error {
    Error::malformed(WHAT, why)
}

const TOO_LARGE: Error = Error::TooLarge {
    what: WHAT,
    limit: MAX_LENGTH,
};

/// §2.1: `PROXY TCP4 192.0.2.1 198.51.100.7 56324 443`, with one space between the parts.
fn line(bytes: &[u8]) -> Result<Option<(ProxyHeader, usize)>> {
    let seen = bytes.get(..MAX_LINE_LENGTH).unwrap_or(bytes);
    let Some(end) = seen.windows(2).position(|pair| pair == b"\r\n") else {
        return if seen.len() < MAX_LINE_LENGTH {
            Ok(None)
        } else {
            Err(malformed("its line does not end"))
        };
    };
    let text = seen.get(..end).and_then(|line| str::from_utf8(line).ok());
    let text = text.ok_or(malformed("its line is not text"))?;
    let mut parts = text.split(' ').skip(1);
    let family = parts.next().unwrap_or_default();
    // The rest of the line must be ignored.
    if family == "UNKNOWN" {
        return Ok(Some((ProxyHeader::Own, end + 2)));
    }
    let [source, destination, from, to] = std::array::from_fn(|_| parts.next().unwrap_or_default());
    if parts.next().is_some() {
        return Err(malformed("its line has too many parts"));
    }
    let header = ProxyHeader::For {
        source: SocketAddr::new(address(family, source)?, port(from)?),
        destination: SocketAddr::new(address(family, destination)?, port(to)?),
    };
    Ok(Some((header, end + 2)))
}

fn address(family: &str, text: &str) -> Result<IpAddr> {
    let address = match family {
        "TCP4" => text.parse().map(IpAddr::V4).ok(),
        "TCP6" => text.parse().map(IpAddr::V6).ok(),
        _ => return Err(malformed("its protocol is none of TCP4, TCP6 and UNKNOWN")),
    };
    address.ok_or(malformed("an address in it does not fit its protocol"))
}

/// A port in its only spelling, without a sign or leading zeros.
fn port(text: &str) -> Result<u16> {
    let number: Option<u16> = text.parse().ok();
    number
        .filter(|number| number.to_string() == text)
        .ok_or(malformed("a port in it is not a number from 0 to 65535"))
}

/// §2.2: the fixed part, the addresses, and then extensions (TLVs), which are ignored.
fn binary(bytes: &[u8]) -> Result<Option<(ProxyHeader, usize)>> {
    let Some(fixed) = bytes.get(SIGNATURE.len()..FIXED) else {
        return Ok(None);
    };
    let mut cursor = Cursor::new(WHAT, fixed);
    let (version, family) = (cursor.u8()?, cursor.u8()?);
    let end = FIXED + usize::from(cursor.u16()?);
    if version >> 4 != 2 {
        return Err(malformed("its version is not 2"));
    }
    if end > MAX_LENGTH {
        return Err(TOO_LARGE);
    }
    let local = match version & 0x0f {
        0 => true,
        1 => false,
        _ => return Err(malformed("its command is neither LOCAL nor PROXY")),
    };
    if family & 0x0f > 2 {
        return Err(malformed("its transport is neither stream nor datagram"));
    }
    let Some(addresses) = bytes.get(FIXED..end) else {
        return Ok(None);
    };
    let cursor = Cursor::new(WHAT, addresses);
    let header = match family >> 4 {
        _ if local => ProxyHeader::Own,
        1 => pair(cursor, |cursor| cursor.array().map(Ipv4Addr::from))?,
        2 => pair(cursor, |cursor| cursor.array().map(Ipv6Addr::from))?,
        // Unspecified, or the paths of two Unix sockets.
        0 | 3 => ProxyHeader::Own,
        _ => return Err(malformed("its address family is unknown")),
    };
    Ok(Some((header, end)))
}

fn pair<T: Into<IpAddr>>(
    mut cursor: Cursor<'_>,
    address: impl Fn(&mut Cursor<'_>) -> Result<T>,
) -> Result<ProxyHeader> {
    let (source, destination) = (address(&mut cursor)?, address(&mut cursor)?);
    let (from, to) = (cursor.u16()?, cursor.u16()?);
    Ok(ProxyHeader::For {
        source: SocketAddr::new(source.into(), from),
        destination: SocketAddr::new(destination.into(), to),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v2(version: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let length = (rest.len() as u16).to_be_bytes();
        [SIGNATURE, &[version, family][..], &length, rest].concat()
    }

    fn between(source: &str, destination: &str) -> ProxyHeader {
        ProxyHeader::For {
            source: source.parse().unwrap(),
            destination: destination.parse().unwrap(),
        }
    }

    fn good() -> Vec<(Vec<u8>, ProxyHeader)> {
        let four = [192, 0, 2, 1, 198, 51, 100, 7, 0xdc, 4, 1, 0xbb];
        let named = between("192.0.2.1:56324", "198.51.100.7:443");
        let mut six = [0; 36];
        (six[15], six[31], six[33], six[35]) = (1, 2, 3, 4);
        let tlv = [&four[..], &[4, 0, 1, 0]].concat();
        vec![
            (
                b"PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n".into(),
                named,
            ),
            (
                b"PROXY TCP6 2001:db8::1 ::1 0 65535\r\n".into(),
                between("[2001:db8::1]:0", "[::1]:65535"),
            ),
            (b"PROXY UNKNOWN\r\n".into(), ProxyHeader::Own),
            (
                b"PROXY UNKNOWN ffff::1 whatever 1\r\n".into(),
                ProxyHeader::Own,
            ),
            (v2(0x21, 0x11, &four), named),
            (v2(0x21, 0x12, &tlv), named),
            (v2(0x21, 0x21, &six), between("[::1]:3", "[::2]:4")),
            (v2(0x20, 0x00, b""), ProxyHeader::Own),
            (v2(0x20, 0x11, &four), ProxyHeader::Own),
            (v2(0x21, 0x00, b"abc"), ProxyHeader::Own),
            (v2(0x21, 0x31, &[7; 216]), ProxyHeader::Own),
        ]
    }

    #[test]
    fn headers_are_read_and_what_follows_is_left() {
        for (bytes, header) in good() {
            let whole = bytes.len();
            for cut in 0..whole {
                assert_eq!(
                    ProxyHeader::parse(&bytes[..cut]),
                    Ok(None),
                    "{bytes:?} {cut}"
                );
            }
            let followed = [&bytes[..], b"GET / HTTP/1.1\r\n"].concat();
            assert_eq!(ProxyHeader::parse(&followed), Ok(Some((header, whole))));
        }
    }

    #[test]
    fn wrong_ones_are_refused_as_soon_as_they_show() {
        let long = [b"PROXY UNKNOWN ".as_slice(), &[b'x'; 100]].concat();
        for bytes in [
            b"GET / HTTP/1.1\r\n".to_vec(),
            b"proxy TCP4 ".to_vec(),
            b"PROXY  TCP4 1.2.3.4 1.2.3.4 1 2\r\n".to_vec(),
            b"PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n".to_vec(),
            b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3\r\n".to_vec(),
            b"PROXY TCP4 1.2.3.4 1.2.3.4 01 2\r\n".to_vec(),
            b"PROXY TCP4 1.2.3.4 1.2.3.4 +1 2\r\n".to_vec(),
            b"PROXY TCP4 1.2.3.4 1.2.3.4 1 65536\r\n".to_vec(),
            b"PROXY TCP4 ::1 ::1 1 2\r\n".to_vec(),
            b"PROXY TCP6 1.2.3.4 ::1 1 2\r\n".to_vec(),
            b"PROXY UDP4 1.2.3.4 1.2.3.4 1 2\r\n".to_vec(),
            b"PROXY \xff\r\n".to_vec(),
            long,
            v2(0x11, 0x11, &[0; 12]),
            v2(0x22, 0x11, &[0; 12]),
            v2(0x21, 0x13, &[0; 12]),
            v2(0x21, 0x41, &[0; 12]),
            v2(0x21, 0x11, &[0; 11]),
            v2(0x21, 0x21, &[0; 35]),
            v2(0x21, 0x00, &[0; MAX_LENGTH - FIXED + 1]),
        ] {
            assert!(ProxyHeader::parse(&bytes).is_err(), "{bytes:?}");
        }
        let longest = v2(0x21, 0x00, &[0; MAX_LENGTH - FIXED]);
        assert_eq!(
            ProxyHeader::parse(&longest),
            Ok(Some((ProxyHeader::Own, MAX_LENGTH)))
        );
    }
}
