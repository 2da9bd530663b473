//! What is wired to what: `client eth0 – to-client relay to-server – eth0 server`.
//!
//! Both sides share one subnet, as if the relay were a cable: it forwards frames as they are, answers nothing and
//! decrements nothing. Neighbours are entered by hand, so that every packet that crosses is one that somebody sent.
//! Addresses are those set aside for benchmarks (RFC 2544 via RFC 6890, RFC 5180 §8), which no real host has. A wire without
//! the relay is `bare`'s.

pub(crate) mod bare;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use crate::error::{Error, Step};
use crate::keeper::{Estate, Room};
use crate::middlebox::nat;
use crate::relay::Tap;
use crate::rtnetlink::{End, Mac, Rtnetlink};
use crate::syscall::interface::{self, Offload};
use crate::syscall::{packet, time};

const LOOPBACK: u32 = 1;
const PREFIX_V4: u8 = 24;
const PREFIX_V6: u8 = 64;

/// How long the kernel may take over what it does in the background.
const READINESS_LIMIT: Duration = Duration::from_secs(5);

/// Both sides call their end of the wire the same.
pub(crate) const END_NAME: &str = "eth0";
pub(crate) const END_INDEX: u32 = 100;

/// What the two sides are wired to the relay with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wires {
    /// Pairs of interfaces, for everybody.
    #[default]
    Veth,
    /// TAP devices, for whom `/dev/net/tun` is open.
    Tun,
    /// One pair of interfaces, with no relay in between.
    Bare,
}

/// How the path is to be wired.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    pub(crate) wires: Wires,
    pub(crate) mtu: u16,
    /// Without it, what crosses are real segments.
    pub(crate) offload: bool,
}

/// One of the two sides of the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub(crate) v4: Ipv4Addr,
    pub(crate) v6: Ipv6Addr,
    pub(crate) mac: Mac,
    /// The relay's end of the wire to this side.
    tap: End<'static>,
}

pub(crate) const CLIENT: Side = Side {
    v4: Ipv4Addr::new(198, 18, 0, 1),
    v6: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1),
    mac: [2, 0, 0, 0, 0, 1],
    tap: End {
        name: "to-client",
        index: 101,
        mac: [2, 0, 0, 0, 1, 1],
    },
};

pub(crate) const SERVER: Side = Side {
    v4: Ipv4Addr::new(198, 18, 0, 2),
    v6: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2),
    mac: [2, 0, 0, 0, 0, 2],
    tap: End {
        name: "to-server",
        index: 102,
        mac: [2, 0, 0, 0, 1, 2],
    },
};

impl Side {
    fn end(self) -> End<'static> {
        End {
            name: END_NAME,
            index: END_INDEX,
            mac: self.mac,
        }
    }

    fn addresses(self) -> [(IpAddr, u8); 2] {
        [(self.v4.into(), PREFIX_V4), (self.v6.into(), PREFIX_V6)]
    }
}

/// The namespaces, wired and addressed.
#[derive(Debug)]
pub(crate) struct Wired {
    pub(crate) user: Option<OwnedFd>,
    pub(crate) client: OwnedFd,
    pub(crate) server: OwnedFd,
    /// Keeps the relay's interfaces alive.
    pub(crate) relay: OwnedFd,
    /// On the wires to the client and to the server, where there is something in between.
    pub(crate) taps: Option<[Tap; 2]>,
}

pub(crate) fn wire(estate: Estate, manner: Manner) -> Result<Wired, Error> {
    let Estate {
        user,
        client,
        server,
        relay,
        taps,
    } = estate;
    let [client_tap, server_tap] = &taps;
    let (client, client_links) = open(client);
    let (server, server_links) = open(server);
    let (relay, relay_links) = open(relay);
    for (side, network, links, tap) in [
        (CLIENT, &client, &client_links, client_tap),
        (SERVER, &server, &server_links, server_tap),
    ] {
        if manner.wires == Wires::Tun {
            interface::name_device(links.as_fd(), END_NAME, side.mac, manner.mtu)
                .map_err(at(Step::ConfigureInterface))?;
            continue;
        }
        relay_links
            .create_wire(side.tap, side.end(), network.as_fd(), manner.mtu)
            .map_err(at(Step::CreateWire))?;
        // The relay's end goes up first: its sockets need no queue, while the other end finds its carrier at once.
        raise(&relay_links, side.tap, manner.offload)?;
        packet::bind(tap.as_fd(), side.tap.index).map_err(at(Step::StartRelay))?;
    }
    for (side, peer, links) in [
        (CLIENT, SERVER, &client_links),
        (SERVER, CLIENT, &server_links),
    ] {
        links
            .bring_up(LOOPBACK)
            .map_err(at(Step::ConfigureInterface))?;
        raise(links, side.end(), manner.offload)?;
        settle(links, side.end(), side, peer)?;
        let tap_runs = || -> io::Result<bool> {
            Ok(manner.wires == Wires::Tun
                || interface::is_running(relay_links.as_fd(), side.tap.name)?)
        };
        await_readiness(|| {
            Ok(interface::is_running(links.as_fd(), side.end().name)?
                && tap_runs()?
                && links.is_local(side.v4.into())?
                && links.is_local(side.v6.into())?)
        })?;
    }
    introduce_nat(&server_links)?;
    Ok(Wired {
        user,
        client,
        server,
        relay,
        taps: Some(taps.map(match manner.wires {
            Wires::Veth | Wires::Bare => Tap::Socket,
            Wires::Tun => Tap::Device,
        })),
    })
}

fn open(room: Room) -> (OwnedFd, Rtnetlink) {
    (room.network, room.rtnetlink.into())
}

/// Takes an end up that, without `offload`, joins no segments and gets none that were joined.
///
/// Its checksums are left to whoever is downstream, on purpose: a kernel before 6.11 refuses `UDP_SEGMENT` on an
/// interface without checksum offload. The relay completes them.
fn raise(links: &Rtnetlink, end: End<'_>, offload: bool) -> Result<(), Error> {
    if !offload {
        let segments = [
            Offload::TcpSegmentation,
            Offload::Segmentation,
            Offload::Receive,
        ];
        switch_off(links, end, &segments)?;
    }
    links
        .tame(end.index, offload)
        .map_err(at(Step::ConfigureInterface))?;
    links
        .bring_up(end.index)
        .map_err(at(Step::ConfigureInterface))
}

fn switch_off(links: &Rtnetlink, end: End<'_>, unwanted: &[Offload]) -> Result<(), Error> {
    for unwanted in unwanted {
        interface::switch_off(links.as_fd(), end.name, *unwanted)
            .map_err(at(Step::SwitchOffOffloads))?;
    }
    Ok(())
}

fn settle(links: &Rtnetlink, end: End<'_>, side: Side, peer: Side) -> Result<(), Error> {
    let index = end.index;
    for (address, prefix) in side.addresses() {
        links
            .assign(index, address, prefix)
            .map_err(at(Step::AssignAddress))?;
    }
    for (address, _) in peer.addresses() {
        links
            .introduce(index, address, peer.mac)
            .map_err(at(Step::NameNeighbour))?;
    }
    Ok(())
}

/// The addresses that the client's packets may have behind a NAT are the client's neighbours, too.
fn introduce_nat(server_links: &Rtnetlink) -> Result<(), Error> {
    for address in nat::addresses() {
        server_links
            .introduce(SERVER.end().index, address, CLIENT.mac)
            .map_err(at(Step::NameNeighbour))?;
    }
    Ok(())
}

/// Wires and addresses come into force a little after they were asked for.
pub(crate) fn await_readiness(is_ready: impl Fn() -> io::Result<bool>) -> Result<(), Error> {
    let limit = time::monotonic() + READINESS_LIMIT;
    while !is_ready().map_err(at(Step::AwaitReadiness))? {
        if time::monotonic() > limit {
            return Err(at(Step::AwaitReadiness)(io::ErrorKind::TimedOut.into()));
        }
        time::pause(Duration::from_millis(1));
    }
    Ok(())
}

pub(crate) fn at(step: Step) -> impl Fn(io::Error) -> Error {
    move |source| Error::Setup { step, source }
}
