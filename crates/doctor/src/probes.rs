//! The kernel's answers as plain facts, so that checks are pure functions of them.

use std::io;

use crate::kernel::{self, Unshared};
use crate::netlink::{links, metrics, routes};

/// The kernel's answers that are not in files.
#[derive(Debug)]
pub(crate) struct Probes {
    pub(crate) routes: io::Result<routes::RouteSummary>,
    pub(crate) links: io::Result<Vec<links::NetworkInterface>>,
    pub(crate) remembered: io::Result<metrics::Remembered>,
    pub(crate) udp_segmentation: io::Result<()>,
    pub(crate) udp_coalescing: io::Result<()>,
    pub(crate) timestamping: io::Result<()>,
    pub(crate) packet_socket: io::Result<()>,
    pub(crate) tunnel: io::Result<()>,
    pub(crate) io_uring: io::Result<()>,
    pub(crate) unshared: Unshared,
}

impl Probes {
    /// Asks the running kernel.
    pub(crate) fn ask() -> Self {
        Self {
            routes: routes::read(),
            links: links::read(),
            remembered: metrics::read(),
            udp_segmentation: kernel::try_udp_segmentation(),
            udp_coalescing: kernel::try_udp_coalescing(),
            timestamping: kernel::try_timestamping(),
            packet_socket: kernel::try_packet_socket(),
            tunnel: kernel::try_tunnel(),
            io_uring: kernel::try_io_uring(),
            unshared: kernel::try_unshare(),
        }
    }
}

#[cfg(test)]
impl Probes {
    /// A kernel that grants everything and remembers nothing.
    pub(crate) fn granting() -> Self {
        Self {
            routes: Ok(routes::RouteSummary::default()),
            links: Ok(Vec::new()),
            remembered: Ok(metrics::Remembered::default()),
            udp_segmentation: Ok(()),
            udp_coalescing: Ok(()),
            timestamping: Ok(()),
            packet_socket: Ok(()),
            tunnel: Ok(()),
            io_uring: Ok(()),
            unshared: Unshared::Both,
        }
    }

    /// A kernel that refuses everything.
    pub(crate) fn refusing() -> Self {
        fn no<T>() -> io::Result<T> {
            Err(io::Error::from_raw_os_error(libc::EPERM))
        }
        Self {
            routes: no(),
            links: no(),
            remembered: no(),
            udp_segmentation: no(),
            udp_coalescing: no(),
            timestamping: no(),
            packet_socket: no(),
            tunnel: no(),
            io_uring: no(),
            unshared: Unshared::Neither(io::Error::from_raw_os_error(libc::EPERM)),
        }
    }
}
