//! An uplink connects the inside to the network of the calling process; that traffic crosses the
//! path.
//!
//! ```text
//!  client ── path ── server ── veth ── host
//!                    forwards           198.18.1.1  2001:2:0:1::1
//! ```
//!
//! The host gets one interface with its addresses, and routes through it to the inside. Nothing
//! else on the host is changed, in particular not `ip_forward`. All of this belongs to the
//! interface, which is removed with the server's namespace, no matter how the process ends. The
//! addresses of the inside are not translated, so nothing has to be undone: the host's own
//! addresses are reachable, and others only if the host already forwards and translates
//! 198.18.0.0/16.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;

use crate::error::PathError;
use crate::namespace::Namespace;
use crate::rtnetlink::{Mac, Rtnetlink, WireEnd};
use crate::side::SERVER;
use crate::step::SetupStep;
use crate::syscall::{descriptor, interface};
use crate::wiring::{at, await_readiness};

const HERE: [(IpAddr, u8); 2] = [
    (IpAddr::V4(Ipv4Addr::new(198, 18, 1, 1)), 24),
    (IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 1, 0, 0, 0, 1)), 64),
];
const THERE: [(IpAddr, u8); 2] = [
    (IpAddr::V4(Ipv4Addr::new(198, 18, 1, 2)), 24),
    (IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 1, 0, 0, 0, 2)), 64),
];
/// The subnets of the inside, for the host's routes.
const INSIDE: [(IpAddr, u8); 2] = [
    (IpAddr::V4(Ipv4Addr::new(198, 18, 0, 0)), 24),
    (IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0)), 64),
];
const EVERYTHING: [(IpAddr, u8); 2] = [
    (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
    (IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0),
];

const THERE_END: WireEnd<'static> = WireEnd {
    name: "uplink",
    index: 0,
    mac: [2, 0, 0, 0, 2, 2],
};

/// The connection to the outside. Dropping it removes the interface at once; if that fails, the
/// interface disappears with the namespace.
#[derive(Debug)]
pub(crate) struct Uplink {
    host: Rtnetlink,
    index: u32,
}

impl Uplink {
    pub(crate) fn make(
        client: &Namespace,
        server: &Namespace,
        mtu: u16,
    ) -> Result<Self, PathError> {
        let host = links()?;
        let (inside, near) = (server.run(links)??, client.run(links)??);
        let name = format!("rtpath{}", std::process::id());
        let end = WireEnd {
            name: &name,
            index: 0,
            mac: [2, 0, 0, 0, 2, 1],
        };
        host.create_wire(end, THERE_END, server.network(), mtu)
            .map_err(refused(SetupStep::CreateWire))?;
        let index =
            interface::index(host.as_fd(), &name).map_err(at(SetupStep::ConfigureInterface))?;
        // From here on, the interface is removed again if a step fails.
        let uplink = Self { host, index };
        // The kernel has chosen the index of the other end, too.
        let far = interface::index(inside.as_fd(), THERE_END.name)
            .map_err(at(SetupStep::ConfigureInterface))?;
        settle(&uplink.host, uplink.index, HERE)?;
        settle(&inside, far, THERE)?;
        introduce(&uplink.host, uplink.index, THERE, THERE_END.mac)?;
        introduce(&inside, far, HERE, end.mac)?;
        let ready = |links: &Rtnetlink, name, addresses: [(IpAddr, u8); 2]| {
            let all = addresses.iter();
            let local = all.map(|(address, _)| links.is_local(*address));
            let local: io::Result<Vec<bool>> = local.collect();
            Ok(interface::is_running(links.as_fd(), name)? && !local?.contains(&false))
        };
        await_readiness(|| ready(&uplink.host, &name, HERE))?;
        await_readiness(|| ready(&inside, THERE_END.name, THERE))?;
        for setting in ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"] {
            server.sysctl(setting, "1")?;
        }
        let server_side = [SERVER.v4.into(), SERVER.v6.into()];
        route(&near, EVERYTHING, server_side)?;
        route(&inside, EVERYTHING, HERE.map(|(address, _)| address))?;
        route(&uplink.host, INSIDE, THERE.map(|(address, _)| address))?;
        Ok(uplink)
    }
}

impl Drop for Uplink {
    fn drop(&mut self) {
        // It may have been removed with its other end.
        let _ = self.host.remove(self.index);
    }
}

/// Opens an rtnetlink socket in the network of the calling thread.
fn links() -> Result<Rtnetlink, PathError> {
    descriptor::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)
        .map(Rtnetlink::from)
        .map_err(at(SetupStep::OpenSocket))
}

fn settle(links: &Rtnetlink, index: u32, addresses: [(IpAddr, u8); 2]) -> Result<(), PathError> {
    links
        .tame(index, false)
        .map_err(at(SetupStep::ConfigureInterface))?;
    links
        .bring_up(index)
        .map_err(at(SetupStep::ConfigureInterface))?;
    for (address, prefix) in addresses {
        links
            .assign(index, address, prefix)
            .map_err(at(SetupStep::AssignAddress))?;
    }
    Ok(())
}

fn introduce(
    links: &Rtnetlink,
    index: u32,
    peer: [(IpAddr, u8); 2],
    mac: Mac,
) -> Result<(), PathError> {
    for (address, _) in peer {
        links
            .introduce(index, address, mac)
            .map_err(at(SetupStep::NameNeighbour))?;
    }
    Ok(())
}

fn route(
    links: &Rtnetlink,
    subnets: [(IpAddr, u8); 2],
    gateways: [IpAddr; 2],
) -> Result<(), PathError> {
    for ((subnet, prefix), gateway) in subnets.into_iter().zip(gateways) {
        links
            .route(subnet, prefix, gateway)
            .map_err(refused(SetupStep::AddRoute))?;
    }
    Ok(())
}

fn refused(step: SetupStep) -> impl Fn(io::Error) -> PathError {
    move |source| match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => PathError::UplinkForbidden(source),
        Some(libc::EEXIST) => PathError::UplinkTaken("198.18.0.0/24"),
        _ => at(step)(source),
    }
}
