//! Network interfaces: their MTU and queueing discipline (`RTM_GETLINK`, rtnetlink(7)).

use std::io;

use roundtrip_net::ask_kernel;
use roundtrip_wire::netlink::{NetlinkRequest, attributes, text, u32_at};

/// `struct ifinfomsg`: family, padding, type u16, index i32, flags u32, change u32.
const HEADER: usize = 16;
const FLAGS: usize = 8;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_QDISC: u16 = 6;
/// A host of containers has thousands; a report needs a few.
const MAX_LINKS: usize = 64;

/// An interface that is up and is not the loopback.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NetworkInterface {
    pub(crate) name: String,
    pub(crate) mtu: u32,
    pub(crate) queue: String,
}

/// Reads the interfaces that are up, without the loopback.
pub(crate) fn read() -> io::Result<Vec<NetworkInterface>> {
    let mut links = Vec::new();
    let request = NetlinkRequest::dump(libc::RTM_GETLINK).with(&[0; HEADER]);
    ask_kernel(libc::NETLINK_ROUTE, request, |message| {
        if links.len() < MAX_LINKS {
            links.extend(link(message));
        }
    })?;
    Ok(links)
}

/// Reads one `RTM_NEWLINK`.
fn link(message: &[u8]) -> Option<NetworkInterface> {
    let flags = u32_at(message, FLAGS)?.cast_signed();
    if flags & libc::IFF_UP == 0 || flags & libc::IFF_LOOPBACK != 0 {
        return None;
    }
    let mut link = NetworkInterface::default();
    for (kind, value) in attributes(message.get(HEADER..)?) {
        match kind {
            IFLA_IFNAME => link.name = text(value),
            IFLA_MTU => link.mtu = u32_at(value, 0)?,
            IFLA_QDISC => link.queue = text(value),
            _ => {}
        }
    }
    Some(link)
}

#[cfg(test)]
mod tests {
    use super::super::attribute;
    use super::*;

    fn message(flags: i32) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        bytes[FLAGS..FLAGS + 4].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend(attribute(IFLA_IFNAME, b"eth0\0"));
        bytes.extend(attribute(IFLA_MTU, &1400_u32.to_ne_bytes()));
        bytes.extend(attribute(IFLA_QDISC, b"fq\0"));
        bytes
    }

    #[test]
    fn reads_a_link_that_is_up() {
        let found = link(&message(libc::IFF_UP)).unwrap();
        let expected = NetworkInterface {
            name: "eth0".into(),
            mtu: 1400,
            queue: "fq".into(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn passes_over_loopback_and_links_that_are_down() {
        assert_eq!(link(&message(0)), None);
        assert_eq!(link(&message(libc::IFF_UP | libc::IFF_LOOPBACK)), None);
        assert_eq!(link(&message(libc::IFF_UP)[..10]), None);
    }
}
