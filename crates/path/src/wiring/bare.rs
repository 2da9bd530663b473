//! The bare wire: `client eth0 – eth0 server`. The sides are the same as with the relay.

use std::os::fd::AsFd;

use super::{
    LOOPBACK, WiredNamespaces, WiringConfig, at, await_readiness, open, raise, settle, switch_off,
};
use crate::error::PathError;
use crate::reaper::ReaperHandover;
use crate::rtnetlink::{Rtnetlink, WireEnd};
use crate::side::{CLIENT, END_INDEX, PathSide, SERVER};
use crate::step::SetupStep;
use crate::syscall::interface::{self, Offload};

/// The index of the server's interface. It differs from the client's: with equal ones, the kernel
/// reports the carrier late (`linkwatch_urgent_event`).
const SERVER_INDEX: u32 = END_INDEX + 1;

pub(crate) fn wire(
    estate: ReaperHandover,
    manner: WiringConfig,
) -> Result<WiredNamespaces, PathError> {
    let ReaperHandover {
        user,
        client,
        server,
        relay,
        taps: _,
    } = estate;
    let (client, client_links) = open(client);
    let (server, server_links) = open(server);
    let near = CLIENT.end();
    let far = WireEnd {
        index: SERVER_INDEX,
        ..SERVER.end()
    };
    client_links
        .create_wire(near, far, server.as_fd(), manner.mtu)
        .map_err(at(SetupStep::CreateWire))?;
    let sides = [
        (&client_links, near, CLIENT, SERVER),
        (&server_links, far, SERVER, CLIENT),
    ];
    for (links, end, side, peer) in sides {
        links
            .bring_up(LOOPBACK)
            .map_err(at(SetupStep::ConfigureInterface))?;
        if !manner.offload {
            cut_above(links, end)?;
        }
        raise(links, end, true)?;
        settle(links, end, side, peer)?;
    }
    for (links, _, side, _) in sides {
        await_side(links, side)?;
    }
    Ok(WiredNamespaces {
        user,
        client,
        server,
        relay: relay.network,
        taps: None,
    })
}

fn await_side(links: &Rtnetlink, side: PathSide) -> Result<(), PathError> {
    await_readiness(|| {
        Ok(interface::is_running(links.as_fd(), side.end().name)?
            && links.is_local(side.v4.into())?
            && links.is_local(side.v6.into())?)
    })
}

/// Disables all segmentation offloads of an interface, for TCP and UDP: the stack cuts everything
/// longer than the MTU just above the interface, and joins no arriving segments. Checksums are not
/// touched: the wire cannot damage anything.
fn cut_above(links: &Rtnetlink, end: WireEnd<'_>) -> Result<(), PathError> {
    let segments = [
        Offload::TcpSegmentation,
        Offload::Segmentation,
        Offload::Receive,
    ];
    switch_off(links, end, &segments)?;
    interface::switch_off_feature(links.as_fd(), end.name, "tx-udp-segmentation")
        .map_err(at(SetupStep::SwitchOffOffloads))
}
