//! Wiring a namespace through rtnetlink(7): veth pairs, interfaces, addresses, neighbours. Each call waits for its
//! acknowledgement. What is wired to what is decided in `wiring`; how bytes are laid out, in `message`.

mod message;

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use message::Message;

/// An Ethernet address.
pub(crate) type Mac = [u8; 6];

/// More than any answer that is asked for here.
const ANSWER: usize = 4096;

/// One end of a wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End<'a> {
    pub(crate) name: &'a str,
    /// Chosen by us, above those that kernels give to their own interfaces in a new namespace; 0 leaves it to the kernel.
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
        here: End<'_>,
        far: End<'_>,
        there: BorrowedFd<'_>,
        mtu: u16,
    ) -> io::Result<()> {
        let describe = |message: &mut Message, end: End<'_>| {
            message.attribute(libc::IFLA_IFNAME, &[end.name.as_bytes(), b"\0"].concat());
            message.attribute(libc::IFLA_ADDRESS, &end.mac);
            message.attribute(libc::IFLA_MTU, &u32::from(mtu).to_ne_bytes());
        };
        let mut message = Message::create(libc::RTM_NEWLINK);
        message.interface(here.index, 0);
        describe(&mut message, here);
        message.nest(libc::IFLA_LINKINFO, |info| {
            info.attribute(message::IFLA_INFO_KIND, b"veth");
            info.nest(message::IFLA_INFO_DATA, |data| {
                data.nest(message::VETH_INFO_PEER, |peer| {
                    peer.interface(far.index, 0);
                    describe(peer, far);
                    let there = there.as_raw_fd().to_ne_bytes();
                    peer.attribute(libc::IFLA_NET_NS_FD, &there);
                });
            });
        });
        self.ask(message)
    }

    /// Readies an interface for real segments only, without an IPv6 address of its own making, whose announcements
    /// would be packets that nobody asked for.
    pub(crate) fn tame(&self, index: u32, offload: bool) -> io::Result<()> {
        let mut message = Message::change(libc::RTM_NEWLINK);
        message.interface(index, 0);
        // Whatever the protocol, super-segments are cut before this interface (netdev_features: gso_features_check).
        if !offload {
            message.attribute(message::IFLA_GSO_MAX_SEGS, &1_u32.to_ne_bytes());
        }
        message.nest(libc::IFLA_AF_SPEC, |families| {
            families.nest(libc::AF_INET6 as u16, |inet6| {
                inet6.attribute(
                    message::IFLA_INET6_ADDR_GEN_MODE,
                    &[message::IN6_ADDR_GEN_MODE_NONE],
                );
            });
        });
        self.ask(message)
    }

    pub(crate) fn bring_up(&self, index: u32) -> io::Result<()> {
        let mut message = Message::change(libc::RTM_NEWLINK);
        message.interface(index, libc::IFF_UP as u32);
        self.ask(message)
    }

    /// Routes a subnet, or with a prefix of 0 everything, through a gateway that has a route already.
    pub(crate) fn route(&self, subnet: IpAddr, prefix: u8, gateway: IpAddr) -> io::Result<()> {
        let mut message = Message::create(libc::RTM_NEWROUTE);
        message.unicast_route(family(subnet), prefix);
        if prefix > 0 {
            message.attribute(libc::RTA_DST, &octets(subnet));
        }
        message.attribute(libc::RTA_GATEWAY, &octets(gateway));
        self.ask(message)
    }

    pub(crate) fn remove(&self, index: u32) -> io::Result<()> {
        let mut message = Message::change(libc::RTM_DELLINK);
        message.interface(index, 0);
        self.ask(message)
    }

    /// Assigns an address, usable at once: no duplicate address detection.
    pub(crate) fn assign(&self, index: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
        let mut message = Message::create(libc::RTM_NEWADDR);
        message.address(family(address), prefix, index);
        message.attribute(libc::IFA_LOCAL, &octets(address));
        message.attribute(libc::IFA_ADDRESS, &octets(address));
        if address.is_ipv6() {
            message.attribute(libc::IFA_FLAGS, &libc::IFA_F_NODAD.to_ne_bytes());
        }
        self.ask(message)
    }

    /// Enters a neighbour for good, so that no packet ever waits for ARP or neighbour discovery.
    pub(crate) fn introduce(&self, index: u32, address: IpAddr, mac: Mac) -> io::Result<()> {
        let mut message = Message::create(libc::RTM_NEWNEIGH);
        message.neighbour(family(address), index, libc::NUD_PERMANENT);
        message.attribute(libc::NDA_DST, &octets(address));
        message.attribute(libc::NDA_LLADDR, &mac);
        self.ask(message)
    }

    /// Whether packets to this address are taken in by now. An IPv6 address that was just assigned gets its route in
    /// the background (`addrconf_dad_work`), even without duplicate address detection; until then they are dropped.
    pub(crate) fn is_local(&self, address: IpAddr) -> io::Result<bool> {
        let mut message = Message::query(libc::RTM_GETROUTE);
        message.route(family(address), octets(address).len() as u8 * 8);
        message.attribute(libc::RTA_DST, &octets(address));
        let mut answer = [0; ANSWER];
        Ok(message::is_local_route(
            self.exchange(message, &mut answer)?,
        ))
    }

    fn ask(&self, message: Message) -> io::Result<()> {
        let mut answer = [0; ANSWER];
        message::acknowledged(self.exchange(message, &mut answer)?)
    }

    /// Sends a request and returns the one message that answers it.
    fn exchange<'a>(&self, message: Message, answer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let mut socket = &self.socket;
        socket.write_all(&message.finish())?;
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
