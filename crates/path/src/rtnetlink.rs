//! Wires a namespace through rtnetlink(7): veth pairs, interfaces, addresses, neighbours. Each call
//! waits for its acknowledgement. `wiring` decides which interfaces are connected;
//! `roundtrip_wire::netlink` defines the layout of the bytes.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use roundtrip_wire::netlink::{self, NetlinkRequest};

/// An Ethernet address.
pub(crate) type Mac = [u8; 6];

/// The size of the buffer in bytes, larger than any answer that is requested here.
const ANSWER: usize = 4096;

const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
const IN6_ADDR_GEN_MODE_NONE: u8 = 1;

/// One end of a wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WireEnd<'a> {
    pub(crate) name: &'a str,
    /// Our choice of index, above those that kernels give to their own interfaces in a new
    /// namespace; 0 leaves it to the kernel.
    pub(crate) index: u32,
    pub(crate) mac: Mac,
}

/// An rtnetlink socket, which acts in the namespace where it was opened.
#[derive(Debug)]
pub(crate) struct Rtnetlink {
    socket: File,
}

impl From<OwnedFd> for Rtnetlink {
    fn from(socket: OwnedFd) -> Self {
        Self {
            socket: socket.into(),
        }
    }
}

impl AsFd for Rtnetlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Rtnetlink {
    /// Creates a veth pair with one end here and the other in the namespace `there`.
    pub(crate) fn create_wire(
        &self,
        here: WireEnd<'_>,
        far: WireEnd<'_>,
        there: BorrowedFd<'_>,
        mtu: u16,
    ) -> io::Result<()> {
        let describe = |request: &mut NetlinkRequest, end: WireEnd<'_>| {
            request.attribute(libc::IFLA_IFNAME, &[end.name.as_bytes(), b"\0"].concat());
            request.attribute(libc::IFLA_ADDRESS, &end.mac);
            request.attribute(libc::IFLA_MTU, &u32::from(mtu).to_ne_bytes());
        };
        let mut request = NetlinkRequest::create(libc::RTM_NEWLINK);
        request.interface(here.index, 0);
        describe(&mut request, here);
        request.nest(libc::IFLA_LINKINFO, |info| {
            info.attribute(IFLA_INFO_KIND, b"veth");
            info.nest(IFLA_INFO_DATA, |data| {
                data.nest(VETH_INFO_PEER, |peer| {
                    peer.interface(far.index, 0);
                    describe(peer, far);
                    let there = there.as_raw_fd().to_ne_bytes();
                    peer.attribute(libc::IFLA_NET_NS_FD, &there);
                });
            });
        });
        self.ask(request)
    }

    /// Prepares an interface for real segments only, and without an automatic IPv6 address, whose
    /// announcements would be unexpected packets.
    pub(crate) fn tame(&self, index: u32, offload: bool) -> io::Result<()> {
        let mut request = NetlinkRequest::change(libc::RTM_NEWLINK);
        request.interface(index, 0);
        // Super-segments of any protocol are cut before this interface (netdev_features:
        // gso_features_check).
        if !offload {
            request.attribute(IFLA_GSO_MAX_SEGS, &1_u32.to_ne_bytes());
        }
        request.nest(libc::IFLA_AF_SPEC, |families| {
            families.nest(libc::AF_INET6 as u16, |inet6| {
                inet6.attribute(IFLA_INET6_ADDR_GEN_MODE, &[IN6_ADDR_GEN_MODE_NONE]);
            });
        });
        self.ask(request)
    }

    pub(crate) fn bring_up(&self, index: u32) -> io::Result<()> {
        let mut request = NetlinkRequest::change(libc::RTM_NEWLINK);
        request.interface(index, libc::IFF_UP as u32);
        self.ask(request)
    }

    /// Routes a subnet (or everything, with a prefix of 0) through a gateway that already has a
    /// route.
    pub(crate) fn route(&self, subnet: IpAddr, prefix: u8, gateway: IpAddr) -> io::Result<()> {
        let mut request = NetlinkRequest::create(libc::RTM_NEWROUTE);
        request.unicast_route(family(subnet), prefix);
        if prefix > 0 {
            request.attribute(libc::RTA_DST, &octets(subnet));
        }
        request.attribute(libc::RTA_GATEWAY, &octets(gateway));
        self.ask(request)
    }

    pub(crate) fn remove(&self, index: u32) -> io::Result<()> {
        let mut request = NetlinkRequest::change(libc::RTM_DELLINK);
        request.interface(index, 0);
        self.ask(request)
    }

    /// Assigns an address, usable at once: no duplicate address detection.
    pub(crate) fn assign(&self, index: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
        let mut request = NetlinkRequest::create(libc::RTM_NEWADDR);
        request.address(family(address), prefix, index);
        request.attribute(libc::IFA_LOCAL, &octets(address));
        request.attribute(libc::IFA_ADDRESS, &octets(address));
        if address.is_ipv6() {
            request.attribute(libc::IFA_FLAGS, &libc::IFA_F_NODAD.to_ne_bytes());
        }
        self.ask(request)
    }

    /// Adds a permanent neighbour, so that no packet ever waits for ARP or neighbour discovery.
    pub(crate) fn introduce(&self, index: u32, address: IpAddr, mac: Mac) -> io::Result<()> {
        let mut request = NetlinkRequest::create(libc::RTM_NEWNEIGH);
        request.neighbour(family(address), index, libc::NUD_PERMANENT);
        request.attribute(libc::NDA_DST, &octets(address));
        request.attribute(libc::NDA_LLADDR, &mac);
        self.ask(request)
    }

    /// Whether the kernel accepts packets to this address by now. A newly assigned IPv6 address
    /// gets its route in the background (`addrconf_dad_work`), even without duplicate address
    /// detection; until then such packets are dropped.
    pub(crate) fn is_local(&self, address: IpAddr) -> io::Result<bool> {
        let mut request = NetlinkRequest::query(libc::RTM_GETROUTE);
        request.route(family(address), octets(address).len() as u8 * 8);
        request.attribute(libc::RTA_DST, &octets(address));
        let mut answer = [0; ANSWER];
        let answer = self.exchange(request, &mut answer)?;
        // If there is no route at all, the answer is an error message.
        let first = netlink::messages(answer).next();
        Ok(first.is_some_and(|message| message.is_local_route()))
    }

    fn ask(&self, request: NetlinkRequest) -> io::Result<()> {
        let mut answer = [0; ANSWER];
        netlink::acknowledged(self.exchange(request, &mut answer)?)
    }

    /// Sends a request and returns the one message that answers it.
    fn exchange<'a>(&self, request: NetlinkRequest, answer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let mut socket = &self.socket;
        socket.write_all(&request.finish())?;
        let length = socket.read(answer)?;
        Ok(answer.get(..length).unwrap_or_default())
    }
}

fn family(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => libc::AF_INET as u8,
        IpAddr::V6(_) => libc::AF_INET6 as u8,
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}
