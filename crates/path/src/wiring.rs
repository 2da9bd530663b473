//! Decides which interface is connected to which: `client eth0 – to-client relay to-server – eth0
//! server`.
//!
//! Both sides share one subnet, as if the relay were a cable: it forwards frames unchanged, answers
//! nothing and decrements nothing. Neighbours are added explicitly, so that every packet that
//! crosses was sent on purpose. `bare` is the wire without a relay.

pub(crate) mod bare;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use crate::error::PathError;
use crate::middlebox::nat;
use crate::reaper::{NetworkHandles, ReaperHandover};
use crate::relay::Tap;
use crate::rtnetlink::{Rtnetlink, WireEnd};
use crate::side::{CLIENT, END_NAME, PathSide, SERVER, WireKind};
use crate::step::SetupStep;
use crate::syscall::interface::{self, Offload};
use crate::syscall::{packet, time};

const LOOPBACK: u32 = 1;

/// The time that the kernel is given for work in the background.
const READINESS_LIMIT: Duration = Duration::from_secs(5);

/// The configuration of the wiring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WiringConfig {
    pub(crate) wires: WireKind,
    pub(crate) mtu: u16,
    /// Whether super-segments cross; without it, only real segments do.
    pub(crate) offload: bool,
}

/// The namespaces, with interfaces and addresses.
#[derive(Debug)]
pub(crate) struct WiredNamespaces {
    pub(crate) user: Option<OwnedFd>,
    pub(crate) client: OwnedFd,
    pub(crate) server: OwnedFd,
    /// Keeps the relay's interfaces alive.
    pub(crate) relay: OwnedFd,
    /// The relay's ends of the wires to the client and to the server; `None` on a bare wire.
    pub(crate) taps: Option<[Tap; 2]>,
}

pub(crate) fn wire(
    estate: ReaperHandover,
    manner: WiringConfig,
) -> Result<WiredNamespaces, PathError> {
    let ReaperHandover {
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
        if manner.wires == WireKind::Tun {
            interface::name_device(links.as_fd(), END_NAME, side.mac, manner.mtu)
                .map_err(at(SetupStep::ConfigureInterface))?;
            continue;
        }
        relay_links
            .create_wire(side.tap, side.end(), network.as_fd(), manner.mtu)
            .map_err(at(SetupStep::CreateWire))?;
        // The relay's end goes up first: its sockets need no queue, and the other end has a carrier
        // at once.
        raise(&relay_links, side.tap, manner.offload)?;
        packet::bind(tap.as_fd(), side.tap.index).map_err(at(SetupStep::StartRelay))?;
    }
    for (side, peer, links) in [
        (CLIENT, SERVER, &client_links),
        (SERVER, CLIENT, &server_links),
    ] {
        links
            .bring_up(LOOPBACK)
            .map_err(at(SetupStep::ConfigureInterface))?;
        raise(links, side.end(), manner.offload)?;
        settle(links, side.end(), side, peer)?;
        let tap_runs = || -> io::Result<bool> {
            Ok(manner.wires == WireKind::Tun
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
    Ok(WiredNamespaces {
        user,
        client,
        server,
        relay,
        taps: Some(taps.map(match manner.wires {
            WireKind::Veth | WireKind::Bare => Tap::Socket,
            WireKind::Tun => Tap::Device,
        })),
    })
}

fn open(room: NetworkHandles) -> (OwnedFd, Rtnetlink) {
    (room.network, room.rtnetlink.into())
}

/// Sets an end up. Without `offload`, it neither joins segments nor receives joined ones.
///
/// Checksums are left to the receiver on purpose: a kernel before 6.11 refuses `UDP_SEGMENT` on an
/// interface without checksum offload. The relay completes them.
fn raise(links: &Rtnetlink, end: WireEnd<'_>, offload: bool) -> Result<(), PathError> {
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
        .map_err(at(SetupStep::ConfigureInterface))?;
    links
        .bring_up(end.index)
        .map_err(at(SetupStep::ConfigureInterface))
}

fn switch_off(links: &Rtnetlink, end: WireEnd<'_>, unwanted: &[Offload]) -> Result<(), PathError> {
    for unwanted in unwanted {
        interface::switch_off(links.as_fd(), end.name, *unwanted)
            .map_err(at(SetupStep::SwitchOffOffloads))?;
    }
    Ok(())
}

fn settle(
    links: &Rtnetlink,
    end: WireEnd<'_>,
    side: PathSide,
    peer: PathSide,
) -> Result<(), PathError> {
    let index = end.index;
    for (address, prefix) in side.addresses() {
        links
            .assign(index, address, prefix)
            .map_err(at(SetupStep::AssignAddress))?;
    }
    for (address, _) in peer.addresses() {
        links
            .introduce(index, address, peer.mac)
            .map_err(at(SetupStep::NameNeighbour))?;
    }
    Ok(())
}

/// Adds the NAT's addresses as neighbours with the client's hardware address.
fn introduce_nat(server_links: &Rtnetlink) -> Result<(), PathError> {
    for address in nat::addresses() {
        server_links
            .introduce(SERVER.end().index, address, CLIENT.mac)
            .map_err(at(SetupStep::NameNeighbour))?;
    }
    Ok(())
}

/// Waits until `is_ready`: interfaces and addresses become usable a short time after the request.
pub(crate) fn await_readiness(is_ready: impl Fn() -> io::Result<bool>) -> Result<(), PathError> {
    let limit = time::monotonic() + READINESS_LIMIT;
    while !is_ready().map_err(at(SetupStep::AwaitReadiness))? {
        if time::monotonic() > limit {
            return Err(at(SetupStep::AwaitReadiness)(
                io::ErrorKind::TimedOut.into(),
            ));
        }
        time::pause(Duration::from_millis(1));
    }
    Ok(())
}

pub(crate) fn at(step: SetupStep) -> impl Fn(io::Error) -> PathError {
    move |source| PathError::Setup { step, source }
}
