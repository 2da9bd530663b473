//! All sockets of all threads. They are bound before any thread starts, so that errors appear at
//! the start. They do not listen yet: another process may be serving at the same addresses, and the
//! kernel gives clients to every socket that listens.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};

use aws_lc_rs::rand;
use roundtrip_net::{InheritedSockets, Listening, bind_listener, listen_udp, set_fast_open};
use roundtrip_quic_tokio::Sibling;

use super::{QuicMemory, Seed};
use crate::GateError;
use crate::config::{Authz, Listen};

/// A port that is free for TCP may be in use for UDP. If any port will do, this many are tried.
const MAX_ATTEMPTS: u32 = 32;

/// One thread's sockets, one for each address.
#[derive(Debug, Default)]
pub(crate) struct ThreadSockets {
    pub(crate) http: Vec<TcpListener>,
    pub(crate) https: Vec<TcpListener>,
    /// QUIC sockets at the addresses of `https`; empty without HTTP/3.
    pub(crate) quic: Vec<(UdpSocket, Sibling)>,
    pub(crate) quic_memory: QuicMemory,
    /// The sockets for proxies that ask, as in `[authz]`.
    pub(crate) authz: AuthzPlaces<TcpListener>,
}

/// The sockets for each kind of address in `[authz]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AuthzPlaces<T> {
    pub(crate) http: Vec<T>,
    pub(crate) grpc: Vec<T>,
    pub(crate) https: Vec<T>,
}

impl<T> Default for AuthzPlaces<T> {
    fn default() -> Self {
        Self {
            http: Vec::new(),
            grpc: Vec::new(),
            https: Vec::new(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Sockets {
    threads: Vec<ThreadSockets>,
    http: Vec<SocketAddr>,
    https: Vec<SocketAddr>,
    authz: AuthzPlaces<SocketAddr>,
}

impl Sockets {
    pub(crate) fn bind(
        settings: &Listen,
        authz: &Authz,
        seed: &Seed,
        threads: usize,
        inherited: InheritedSockets,
    ) -> Result<Self, GateError> {
        let mut plan = SocketPlan {
            how: Listening {
                backlog: settings.backlog,
                fast_open: settings.fast_open,
                fast_open_key: Some(seed.fast_open_key()?),
                shared: true,
            },
            threads,
            inherited,
        };
        let mut sockets = Self {
            threads: (0..threads).map(|_| ThreadSockets::default()).collect(),
            http: Vec::new(),
            https: Vec::new(),
            authz: AuthzPlaces::default(),
        };
        sockets.bind_authz(authz, &mut plan)?;
        for address in &settings.http {
            let (bound, tcp, _) = plan.bind(*address, false)?;
            sockets.http.push(bound);
            for (thread, listener) in sockets.threads.iter_mut().zip(tcp) {
                thread.http.push(listener);
            }
        }
        for address in &settings.https {
            let (bound, tcp, udp) = plan.bind(*address, settings.h3)?;
            sockets.https.push(bound);
            for (thread, listener) in sockets.threads.iter_mut().zip(tcp) {
                thread.https.push(listener);
            }
            let siblings = siblings(udp.len())?;
            for (thread, quic) in sockets
                .threads
                .iter_mut()
                .zip(udp.into_iter().zip(siblings))
            {
                thread.quic.push(quic);
            }
        }
        sockets.share_memory();
        match plan.inherited.unused() {
            Some((address, udp)) => Err(GateError::UnusedSocket { address, udp }),
            None => Ok(sockets),
        }
    }

    fn share_memory(&mut self) {
        let count = self.threads.iter().map(|thread| thread.quic.len()).sum();
        if count > 0 {
            let memory = QuicMemory::new(count);
            for thread in &mut self.threads {
                thread.quic_memory = memory;
            }
        }
    }

    fn bind_authz(&mut self, authz: &Authz, plan: &mut SocketPlan) -> Result<(), GateError> {
        type Place<T> = fn(&mut AuthzPlaces<T>) -> &mut Vec<T>;
        let kinds: [(_, Place<SocketAddr>, Place<TcpListener>); 3] = [
            (&authz.http, |p| &mut p.http, |p| &mut p.http),
            (&authz.grpc, |p| &mut p.grpc, |p| &mut p.grpc),
            (&authz.https, |p| &mut p.https, |p| &mut p.https),
        ];
        for (wanted, addresses, listeners) in kinds {
            for address in wanted {
                let (bound, tcp, _) = plan.bind(*address, false)?;
                addresses(&mut self.authz).push(bound);
                for (thread, listener) in self.threads.iter_mut().zip(tcp) {
                    listeners(&mut thread.authz).push(listener);
                }
            }
        }
        Ok(())
    }

    pub(crate) fn authz(&self) -> &AuthzPlaces<SocketAddr> {
        &self.authz
    }

    /// Takes one thread's sockets.
    pub(crate) fn of_thread(&mut self) -> Option<ThreadSockets> {
        self.threads.pop()
    }

    /// The clear-text addresses, with the ports that are used.
    pub(crate) fn http(&self) -> &[SocketAddr] {
        &self.http
    }

    pub(crate) fn https(&self) -> &[SocketAddr] {
        &self.https
    }
}

/// The endpoints (siblings) of all threads at one address. Their key is for this process only: they
/// must not reset the connections of another process with the same seed, nor the connections of the
/// process that this one replaces.
fn siblings(threads: usize) -> Result<Vec<Sibling>, GateError> {
    let mut key = [0; 32];
    rand::fill(&mut key).map_err(|_| GateError::Cryptography)?;
    Ok(Sibling::group(
        u16::try_from(threads).unwrap_or(u16::MAX),
        key,
    ))
}

struct SocketPlan {
    how: Listening,
    threads: usize,
    inherited: InheritedSockets,
}

type Bound = (SocketAddr, Vec<TcpListener>, Vec<UdpSocket>);

impl SocketPlan {
    /// Binds one address for all threads, unless its sockets were inherited.
    fn bind(&mut self, address: SocketAddr, with_udp: bool) -> Result<Bound, GateError> {
        let mut udp = Vec::new();
        if with_udp {
            udp = self.inherited.datagrams(address);
        }
        let tcp = self.inherited.listeners(address);
        if !tcp.is_empty() || !udp.is_empty() {
            let bound = self.inherit(address, &tcp, udp, with_udp);
            return bound.map_err(|source| GateError::Listen { address, source });
        }
        let mut attempt = 1;
        loop {
            match self.attempt(address, with_udp) {
                Ok(bound) => return Ok(bound),
                Err(e)
                    if address.port() == 0
                        && attempt < MAX_ATTEMPTS
                        && e.kind() == io::ErrorKind::AddrInUse =>
                {
                    attempt += 1;
                }
                Err(source) => return Err(GateError::Listen { address, source }),
            }
        }
    }

    /// Threads share inherited TCP sockets. An inherited UDP socket belongs to one thread: if
    /// several share it, the kernel may give each datagram of a handshake to a different one.
    fn inherit(
        &self,
        address: SocketAddr,
        tcp: &[TcpListener],
        udp: Vec<UdpSocket>,
        with_udp: bool,
    ) -> io::Result<Bound> {
        // The kernel gives clients to each of them.
        let most = tcp.len().max(udp.len());
        if most > self.threads {
            let why = format!(
                "the service manager opened {most} sockets for it, and there are only {} threads \
                 (listen.threads)",
                self.threads
            );
            return Err(io::Error::other(why));
        }
        for listener in tcp {
            set_fast_open(listener, &self.how)?;
        }
        let shared = tcp.iter().cycle().take(self.threads);
        let tcp: io::Result<_> = shared.map(TcpListener::try_clone).collect();
        self.complete(address, tcp?, udp, with_udp)
    }

    /// Binds the sockets that are missing.
    fn complete(
        &self,
        address: SocketAddr,
        mut tcp: Vec<TcpListener>,
        mut udp: Vec<UdpSocket>,
        with_udp: bool,
    ) -> io::Result<Bound> {
        while tcp.len() < self.threads {
            tcp.push(bind_listener(address, &self.how)?);
        }
        if with_udp && udp.is_empty() {
            for _ in 0..self.threads {
                udp.push(listen_udp(address, true)?);
            }
        }
        Ok((address, tcp, udp))
    }

    fn attempt(&self, wanted: SocketAddr, with_udp: bool) -> io::Result<Bound> {
        let first = bind_listener(wanted, &self.how)?;
        let mut address = wanted;
        address.set_port(first.local_addr()?.port());
        if with_udp && wanted.port() == 0 {
            // `SO_REUSEPORT` would hide that another process of this user already uses the port.
            listen_udp(address, false)?;
        }
        self.complete(address, vec![first], Vec::new(), with_udp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &[&str]) -> Listen {
        Listen {
            https: text.iter().map(|a| a.parse().unwrap()).collect(),
            h3: true,
            ..Listen::default()
        }
    }

    #[test]
    fn all_threads_and_both_transports_have_one_port() {
        let seed = Seed::new(&[1; 32]);
        let listen = settings(&["127.0.0.1:0", "127.0.0.2:0"]);
        let mut sockets = Sockets::bind(
            &listen,
            &Authz::default(),
            &seed,
            3,
            InheritedSockets::default(),
        )
        .unwrap();
        let addresses = sockets.https().to_vec();
        assert_eq!(addresses.len(), 2);
        for _ in 0..3 {
            let thread = sockets.of_thread().unwrap();
            let tcp: Vec<_> = thread
                .https
                .iter()
                .map(|s| s.local_addr().unwrap())
                .collect();
            let udp: Vec<_> = thread
                .quic
                .iter()
                .map(|(s, _)| s.local_addr().unwrap())
                .collect();
            assert_eq!((&tcp, &udp), (&addresses, &addresses));
            assert!(thread.http.is_empty());
        }
        assert!(sockets.of_thread().is_none());
    }

    #[test]
    fn an_address_that_is_taken_is_named() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap().to_string();
        let bound = Sockets::bind(
            &settings(&[&address]),
            &Authz::default(),
            &Seed::new(&[1; 32]),
            2,
            InheritedSockets::default(),
        );
        let said = bound.unwrap_err().to_string();
        assert!(said.contains(&address), "{said}");
    }
}
