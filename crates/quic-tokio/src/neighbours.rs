//! Processes of one user that share an address while one replaces the other: the kernel gives each
//! of them datagrams that belong to the other's connections, and they hand these over through
//! local sockets.

use std::future::{pending, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use roundtrip_net::Watch;
use roundtrip_quic::RecvMeta;
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with,
    bind, connect, listen, recv, send, socket_with,
};
use rustix::process::geteuid;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::inboxes::Inboxes;

/// The pause after an accept that failed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The largest number of processes at one address: one that ends, one that begins, and two more.
const SLOTS: u8 = 4;
/// The largest message: a UDP datagram, and who sent it.
const MAX_MESSAGE: usize = HEAD + 65_535;
/// The remote address and port, the local address, and the bits of congestion notification.
const HEAD: usize = 17 + 2 + 17 + 1;

/// The links to other processes.
#[derive(Debug, Default)]
pub(crate) struct Links {
    count: AtomicUsize,
    open: Mutex<Vec<Arc<OwnedFd>>>,
}

impl Links {
    /// Whether there are other processes.
    pub(crate) fn are_there(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Hands a datagram to the other processes. If there is no room, it counts as lost.
    pub(crate) fn send(&self, way: &RecvMeta, datagram: &[u8]) {
        let message = encode(way, datagram);
        for link in self.lock().iter() {
            let _ = send(link, &message, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<OwnedFd>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, link: &Arc<OwnedFd>) {
        let mut open = self.lock();
        open.push(link.clone());
        self.count.store(open.len(), Ordering::Relaxed);
    }

    fn remove(&self, link: &Arc<OwnedFd>) {
        let mut open = self.lock();
        open.retain(|other| !Arc::ptr_eq(other, link));
        self.count.store(open.len(), Ordering::Relaxed);
    }
}

/// The processes at one address.
pub struct Neighbours {
    links: Arc<Links>,
    inboxes: Inboxes,
    listener: Option<OwnedFd>,
    found: Vec<OwnedFd>,
}

impl Neighbours {
    /// Finds the processes that serve this address, and lets later ones find this one.
    pub(crate) fn meet(
        address: SocketAddr,
        links: Arc<Links>,
        inboxes: Inboxes,
    ) -> io::Result<Self> {
        let mut listener = None;
        let mut found = Vec::new();
        for slot in 0..SLOTS {
            let name = name(address, slot)?;
            if listener.is_none() {
                let socket = seqpacket()?;
                match bind(&socket, &name) {
                    Ok(()) => {
                        listen(&socket, SLOTS.into())?;
                        listener = Some(socket);
                        continue;
                    }
                    Err(Errno::ADDRINUSE) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            let socket = seqpacket()?;
            if connect(&socket, &name).is_ok() && is_ours(&socket) {
                found.push(socket);
            }
        }
        Ok(Self {
            links,
            inboxes,
            listener,
            found,
        })
    }

    /// Runs until it is dropped, which ends all links.
    pub async fn run(self) -> io::Result<()> {
        let Self {
            links,
            inboxes,
            listener,
            found,
        } = self;
        let mut tasks = JoinSet::new();
        let mut begin = |link: OwnedFd| {
            let link = Arc::new(link);
            links.add(&link);
            tasks.spawn(receive(link, links.clone(), inboxes.clone()));
        };
        let is_alone = found.is_empty();
        found.into_iter().for_each(&mut begin);
        let Some(listener) = listener else {
            // Programs of another user have taken all names.
            if is_alone {
                return Err(io::ErrorKind::AddrInUse.into());
            }
            return pending().await;
        };
        let watch = Watch::new(&listener)?;
        loop {
            let mut ready = poll_fn(|cx| watch.poll_readable(cx)).await?;
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            match accept_with(&listener, flags) {
                Ok(link) if is_ours(&link) => begin(link),
                Ok(_) => {}
                Err(Errno::AGAIN) => ready.clear_ready(),
                // The cause may be that descriptors have run out.
                Err(_) => sleep(ACCEPT_PAUSE).await,
            }
        }
    }
}

/// Takes the datagrams that the other process hands over, until that process ends.
async fn receive(link: Arc<OwnedFd>, links: Arc<Links>, inboxes: Inboxes) {
    let _ = take(&link, &inboxes).await;
    links.remove(&link);
}

async fn take(link: &Arc<OwnedFd>, inboxes: &Inboxes) -> io::Result<()> {
    let watch = Watch::new(link)?;
    let mut message = vec![0; MAX_MESSAGE];
    loop {
        let mut ready = poll_fn(|cx| watch.poll_readable(cx)).await?;
        match recv(link, &mut message[..], RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Ok(()),
            Ok((length, _)) => {
                let message = message.get(..length).unwrap_or_default();
                if let Some((way, datagram)) = decode(message) {
                    // Each endpoint knows whose a datagram is.
                    inboxes.put(0, way, datagram);
                }
            }
            Err(Errno::AGAIN) => ready.clear_ready(),
            Err(error) => return Err(error.into()),
        }
    }
}

fn seqpacket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    Ok(socket)
}

/// An abstract name, which is free again when its process ends.
fn name(address: SocketAddr, slot: u8) -> io::Result<SocketAddrUnix> {
    let name = format!("roundtrip/quic/{}/{address}/{slot}", geteuid().as_raw());
    Ok(SocketAddrUnix::new_abstract_name(name.as_bytes())?)
}

/// Any process may bind or use an abstract name.
fn is_ours(socket: &OwnedFd) -> bool {
    socket_peercred(socket).is_ok_and(|peer| peer.uid == geteuid())
}

fn encode(way: &RecvMeta, datagram: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEAD + datagram.len());
    put_address(&mut message, Some(way.remote.ip()));
    message.extend_from_slice(&way.remote.port().to_be_bytes());
    put_address(&mut message, way.local);
    message.push(way.ecn);
    message.extend_from_slice(datagram);
    message
}

/// The version of IP, or 0, and 16 bytes.
fn put_address(message: &mut Vec<u8>, address: Option<IpAddr>) {
    let (version, bytes) = match address {
        None => (0, [0; 16]),
        Some(IpAddr::V4(v4)) => (4, v4.to_ipv6_mapped().octets()),
        Some(IpAddr::V6(v6)) => (6, v6.octets()),
    };
    message.push(version);
    message.extend_from_slice(&bytes);
}

fn decode(message: &[u8]) -> Option<(RecvMeta, Vec<u8>)> {
    let (remote, rest) = take_address(message)?;
    let (port, rest) = rest.split_first_chunk::<2>()?;
    let (local, rest) = take_address(rest)?;
    let (ecn, datagram) = rest.split_first()?;
    let way = RecvMeta {
        remote: SocketAddr::new(remote?, u16::from_be_bytes(*port)),
        local,
        ecn: *ecn,
    };
    Some((way, datagram.to_vec()))
}

fn take_address(message: &[u8]) -> Option<(Option<IpAddr>, &[u8])> {
    let (version, rest) = message.split_first()?;
    let (bytes, rest) = rest.split_first_chunk::<16>()?;
    let address = IpAddr::from(*bytes);
    let address = match version {
        4 => Some(address.to_canonical()),
        6 => Some(address),
        _ => None,
    };
    Some((address, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written() {
        for (remote, local) in [
            ("192.0.2.1:443", Some("192.0.2.7")),
            ("[2001:db8::1]:1", None),
            ("[::ffff:192.0.2.1]:1", Some("::1")),
        ] {
            let way = RecvMeta {
                remote: remote.parse().unwrap(),
                local: local.map(|local| local.parse().unwrap()),
                ecn: 2,
            };
            let message = encode(&way, b"datagram");
            assert_eq!(decode(&message), Some((way, b"datagram".to_vec())));
            for length in 0..HEAD {
                assert_eq!(decode(&message[..length]), None);
            }
        }
    }

    /// Any user may take abstract names.
    #[tokio::test]
    async fn names_that_others_have_taken_are_told() {
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let taken: Vec<_> = (0..SLOTS)
            .map(|slot| {
                let socket = seqpacket().unwrap();
                bind(&socket, &name(address, slot).unwrap()).unwrap();
                socket
            })
            .collect();
        let met = Neighbours::meet(address, Arc::default(), Inboxes::new(1)).unwrap();
        let ended = met.run().await.unwrap_err();
        assert_eq!(ended.kind(), io::ErrorKind::AddrInUse);
        drop(taken);
    }
}
