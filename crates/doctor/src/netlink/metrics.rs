//! The kernel's cache of destinations: round trips, windows and fast-open cookies (generic netlink
//! family `tcp_metrics`). Only counts are read: a report must not reveal which hosts this machine
//! has contacted.

use std::io;

use roundtrip_net::ask_kernel;
use roundtrip_wire::netlink::{NetlinkRequest, attributes, u16_at};

/// `struct genlmsghdr`: command, version, two reserved bytes.
const HEADER: usize = 4;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const TCP_METRICS_CMD_GET: u8 = 1;
const TCP_METRICS_ATTR_FOPEN_SYN_DROPS: u16 = 8;
const TCP_METRICS_ATTR_FOPEN_COOKIE: u16 = 10;

/// The number of destinations in the kernel's cache.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Remembered {
    pub(crate) destinations: usize,
    /// The number of destinations with a cookie.
    pub(crate) cookies: usize,
    /// The number of destinations where a SYN with data went unanswered.
    pub(crate) syn_drops: usize,
}

/// Counts the cache's entries in this network namespace.
pub(crate) fn read() -> io::Result<Remembered> {
    let family = family()?;
    let mut remembered = Remembered::default();
    let request = NetlinkRequest::dump(family).with(&[TCP_METRICS_CMD_GET, 1, 0, 0]);
    ask_kernel(libc::NETLINK_GENERIC, request, |message| {
        remembered.add(message);
    })?;
    Ok(remembered)
}

/// Asks for the number that `tcp_metrics` has on this machine.
fn family() -> io::Result<u16> {
    let mut request =
        NetlinkRequest::query(libc::GENL_ID_CTRL as u16).with(&[CTRL_CMD_GETFAMILY, 1, 0, 0]);
    request.attribute(CTRL_ATTR_FAMILY_NAME, b"tcp_metrics\0");
    let mut number = None;
    ask_kernel(libc::NETLINK_GENERIC, request, |message| {
        let values = attributes(message.get(HEADER..).unwrap_or_default());
        let mut ids = values.filter(|(kind, _)| *kind == CTRL_ATTR_FAMILY_ID);
        number = ids.find_map(|(_, value)| u16_at(value, 0));
    })?;
    number.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

impl Remembered {
    /// Takes in one entry.
    fn add(&mut self, message: &[u8]) {
        self.destinations += 1;
        for (kind, _) in attributes(message.get(HEADER..).unwrap_or_default()) {
            match kind {
                TCP_METRICS_ATTR_FOPEN_COOKIE => self.cookies += 1,
                TCP_METRICS_ATTR_FOPEN_SYN_DROPS => self.syn_drops += 1,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::attribute;
    use super::*;

    #[test]
    fn counts_entries_and_cookies() {
        let mut plain = vec![0; HEADER];
        plain.extend(attribute(1, &[192, 0, 2, 1]));
        let mut with_cookie = plain.clone();
        with_cookie.extend(attribute(TCP_METRICS_ATTR_FOPEN_COOKIE, &[7; 8]));
        let mut remembered = Remembered::default();
        for message in [&plain[..], &with_cookie, &[]] {
            remembered.add(message);
        }
        let expected = Remembered {
            destinations: 3,
            cookies: 1,
            syn_drops: 0,
        };
        assert_eq!(remembered, expected);
    }
}
