//! The reaper: the only process that a path adds. It creates the namespaces, hands them over, and
//! cleans up.
//!
//! A process with several threads cannot enter a user namespace, but a newly forked child has only
//! one thread. So the child unshares, opens the sockets that are needed in each namespace, and
//! passes everything back over a socket pair. The caller then wires the namespaces from outside:
//! the owner of a user namespace holds every capability in it, and a socket acts where it was
//! opened.
//!
//! The reaper then waits until the socket pair closes, which the kernel does no matter how the
//! caller ends, `SIGKILL` included. It kills the processes that still run inside the namespaces
//! (also daemons, which no `PR_SET_PDEATHSIG` reaches) and exits. With the last descriptor and the
//! last process, the kernel removes the namespaces and their interfaces.
//!
//! Everything that runs in the child obeys signal-safety(7): no allocation, no lock, no panic.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use crate::error::PathError;
use crate::identity::CallerIdentity;
use crate::outcome::{self, ChildFailure};
use crate::side::{END_INDEX, END_NAME, WireKind};
use crate::step::SetupStep;
use crate::syscall::child::{self, Child};
use crate::syscall::namespace::{self, NamespaceKind};
use crate::syscall::{descriptor, packet, processes, time, tun};

/// How many times the reaper looks again for processes that started in the meantime or have not
/// exited yet.
const MAX_SWEEPS: u32 = 2000;

/// Handle of the reaper process. Dropping it ends everything that runs inside the path.
#[derive(Debug)]
pub(crate) struct Reaper {
    _process: Child,
}

/// The descriptors that the reaper hands over.
#[derive(Debug)]
pub(crate) struct ReaperHandover {
    /// The user namespace, unless the caller can create network namespaces in its own.
    pub(crate) user: Option<OwnedFd>,
    pub(crate) client: NetworkHandles,
    pub(crate) server: NetworkHandles,
    pub(crate) relay: NetworkHandles,
    /// The relay's two sides: packet sockets, not yet bound to an interface, or TAP devices.
    pub(crate) taps: [OwnedFd; 2],
}

/// A network namespace, and an rtnetlink socket in it.
#[derive(Debug)]
pub(crate) struct NetworkHandles {
    pub(crate) network: OwnedFd,
    pub(crate) rtnetlink: OwnedFd,
}

impl Reaper {
    pub(crate) fn start(wires: WireKind) -> Result<(Self, ReaperHandover), PathError> {
        let identity = (!namespace::is_privileged()).then(CallerIdentity::of_caller);
        let body = |line: BorrowedFd<'_>| keep(line, wires, identity.as_ref());
        // SAFETY: `keep` and everything that it calls are async-signal-safe, as this file's head
        // requires.
        #[allow(unsafe_code)]
        let process = unsafe { child::fork(body) }.map_err(|source| PathError::Setup {
            step: SetupStep::Fork,
            source,
        })?;
        let descriptors = outcome::await_outcome(&process)?;
        let estate = ReaperHandover::sort(descriptors, identity.is_some()).ok_or_else(|| {
            PathError::Setup {
                step: SetupStep::HandOver,
                source: io::ErrorKind::UnexpectedEof.into(),
            }
        })?;
        Ok((Self { _process: process }, estate))
    }
}

impl ReaperHandover {
    /// Sorts descriptors in the order in which [`hand_over`] sends them.
    fn sort(descriptors: Vec<OwnedFd>, with_user: bool) -> Option<Self> {
        let mut next = descriptors.into_iter();
        let user = if with_user { Some(next.next()?) } else { None };
        let mut room = || {
            Some(NetworkHandles {
                network: next.next()?,
                rtnetlink: next.next()?,
            })
        };
        Some(Self {
            user,
            client: room()?,
            server: room()?,
            relay: room()?,
            taps: [next.next()?, next.next()?],
        })
    }
}

/// The main function of the reaper.
fn keep(line: BorrowedFd<'_>, wires: WireKind, identity: Option<&CallerIdentity>) {
    child::detach(line, c"path-reaper");
    let handed = make(wires, identity).and_then(|estate| hand_over(line, &estate));
    match handed {
        Ok(namespaces) => {
            child::await_hang_up(line);
            sweep(&namespaces);
        }
        Err(failure) => outcome::tell_failure(line, &failure),
    }
}

fn make(
    wires: WireKind,
    identity: Option<&CallerIdentity>,
) -> Result<ReaperHandover, ChildFailure> {
    let user = match identity {
        Some(identity) => {
            identity.enter_user_namespace()?;
            Some(
                namespace::own(NamespaceKind::User)
                    .map_err(ChildFailure::at(SetupStep::OpenNamespace))?,
            )
        }
        None => None,
    };
    // A socket and a device belong to the namespace in which they are opened.
    let device = || tun::open(END_NAME, END_INDEX).map_err(ChildFailure::at(SetupStep::OpenTun));
    let socket = || packet::open().map_err(ChildFailure::at(SetupStep::OpenSocket));
    let client = make_room()?;
    let client_device = (wires == WireKind::Tun).then(device).transpose()?;
    let server = make_room()?;
    let server_device = (wires == WireKind::Tun).then(device).transpose()?;
    let relay = make_room()?;
    let tap = |device: Option<OwnedFd>| device.map_or_else(socket, Ok);
    Ok(ReaperHandover {
        user,
        client,
        server,
        relay,
        taps: [tap(client_device)?, tap(server_device)?],
    })
}

fn make_room() -> Result<NetworkHandles, ChildFailure> {
    namespace::unshare(NamespaceKind::Network)
        .map_err(ChildFailure::at(SetupStep::MakeNetworkNamespace))?;
    Ok(NetworkHandles {
        network: namespace::own(NamespaceKind::Network)
            .map_err(ChildFailure::at(SetupStep::OpenNamespace))?,
        rtnetlink: descriptor::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)
            .map_err(ChildFailure::at(SetupStep::OpenSocket))?,
    })
}

/// Sends everything in the order of [`ReaperHandover::sort`], and returns the identity of the
/// namespaces in `/proc`.
fn hand_over(
    line: BorrowedFd<'_>,
    estate: &ReaperHandover,
) -> Result<[(u64, u64); 3], ChildFailure> {
    let rooms = [&estate.client, &estate.server, &estate.relay];
    let mut sent = [-1; descriptor::MAX_DESCRIPTORS];
    let descriptors = estate
        .user
        .iter()
        .chain(
            rooms
                .iter()
                .flat_map(|room| [&room.network, &room.rtnetlink]),
        )
        .chain(&estate.taps);
    let mut count = 0;
    for (place, descriptor) in sent.iter_mut().zip(descriptors) {
        *place = descriptor.as_raw_fd();
        count += 1;
    }
    let mut names = [(0, 0); 3];
    for (name, room) in names.iter_mut().zip(rooms) {
        *name = namespace::identity(room.network.as_fd())
            .map_err(ChildFailure::at(SetupStep::OpenNamespace))?;
    }
    outcome::tell_success(line, sent.get(..count).unwrap_or_default())?;
    Ok(names)
}

/// Kills processes until none is left inside. A process that is still dying counts as left.
fn sweep(namespaces: &[(u64, u64)]) {
    for _ in 0..MAX_SWEEPS {
        // Without /proc no process can be found. The namespaces still disappear with their last
        // process.
        if processes::kill_inside(namespaces).unwrap_or(0) == 0 {
            return;
        }
        time::pause(Duration::from_millis(1));
    }
}
