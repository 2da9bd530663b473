//! One connection attempt and its options.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::time::Duration;

use roundtrip_model::{Attempt, AttemptOutcome, Event, FastOpenFacts, Moment, Recorder};
use socket2::{Domain, Protocol, SockAddr, Type};
use tokio::io::Interest;

use crate::presence::{MIN_ABSENCE, Presence, RunDelay, Throttling};
use crate::{NetError, Socket, TcpInfo, sys};

/// The local address or interface of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bind {
    Interface(String),
    Address(IpAddr),
}

/// The options of a connection attempt.
#[derive(Debug, Clone, Default)]
pub struct Connect {
    pub fast_open: bool,
    pub bind: Option<Bind>,
    /// The address that is tried first, if the peer has it.
    pub first: Option<IpAddr>,
}

impl Connect {
    /// Connects to a Unix socket.
    pub fn open_unix(path: &Path, recorder: &Recorder) -> Result<Socket, NetError> {
        let failed = |source| NetError::Unix {
            path: path.display().to_string(),
            source,
        };
        let socket =
            socket2::Socket::new(Domain::UNIX, Type::STREAM, None).map_err(NetError::Socket)?;
        socket.set_nonblocking(true).map_err(NetError::Socket)?;
        socket
            .connect(&SockAddr::unix(path).map_err(failed)?)
            .map_err(failed)?;
        let (fast_open, throttling) = (FastOpenFacts::default(), Throttling::watch());
        Socket::new(socket, recorder.clone(), false, fast_open, throttling)
            .map_err(NetError::Socket)
    }

    /// Creates a socket with all options set, not yet connected.
    fn prepare(&self, peer: SocketAddr) -> Result<socket2::Socket, NetError> {
        let socket = socket2::Socket::new(
            Domain::for_address(peer),
            Type::STREAM.nonblocking(),
            Some(Protocol::TCP),
        )
        .map_err(NetError::Socket)?;
        socket.set_tcp_nodelay(true).map_err(NetError::Socket)?;
        // Without kernel timestamps, the time of the wake-up is used: a little late, but not wrong.
        let _ = sys::set_receive_stamps(&socket);
        if self.fast_open {
            sys::set_fast_open_connect(&socket).map_err(|source| NetError::Bind {
                what: "TCP fast open".into(),
                source,
            })?;
        }
        if let Some(bind) = &self.bind {
            bind.apply(&socket, peer)?;
        }
        Ok(socket)
    }

    /// Runs one attempt to its end; the caller has recorded its beginning. Local errors are
    /// distinguished from errors of the path.
    pub(crate) async fn attempt(
        &self,
        peer: SocketAddr,
        began: Presence,
        mut throttling: Throttling,
        recorder: &Recorder,
    ) -> Result<OpenedConnection, AttemptError> {
        let local = |source| AttemptError::Local(NetError::Socket(source));
        let socket = self.prepare(peer).map_err(AttemptError::Local)?;
        let called = Presence::now(recorder);
        let connected = socket.connect(&peer.into());
        let returned = Presence::now(recorder);
        let immediately = match connected {
            Ok(()) => true,
            Err(e) if e.raw_os_error() == Some(libc::EINPROGRESS) => false,
            Err(e) => return Err(FailedAttempt::at_once(e, began, throttling, recorder)),
        };
        // A peer on this host has answered before the call returns.
        if let Ok(Some(e)) = socket.take_error() {
            return Err(FailedAttempt::at_once(e, began, throttling, recorder));
        }
        let is_opening = TcpInfo::from_socket(&socket).is_none_or(|i| i.is_opening());
        let deferred = immediately && is_opening;
        let fast_open = FastOpenFacts {
            asked: self.fast_open,
            cookie: deferred,
            ..FastOpenFacts::default()
        };
        let socket = if is_opening && !deferred {
            let delay = RunDelay::now();
            let answer = established(socket).await;
            answer.map_err(|e| FailedAttempt::later(e, delay, throttling, recorder))?
        } else {
            socket
        };
        let now = Presence::now(recorder);
        let info = TcpInfo::from_socket(&socket).filter(|i| !deferred && i.retransmits() == 0);
        let mut at = now.at;
        let mut absences = Vec::new();
        // The kernel measured the handshake more exactly than a wake-up can.
        if let Some((info, rtt)) = info.and_then(|info| Some((info, info.rtt()?))) {
            let came = now.at - info.last_arrival();
            let left = syn_left(called.at, returned.at, came - rtt);
            at = now.at.min(left + rtt);
            let late = |from: Presence, until: Presence| {
                let took = from.absence(from.at, &until, recorder)?;
                Some((until.at, took))
            };
            absences.extend(late(began, returned.moved(left)));
            absences.extend(late(called.moved(at), now));
        }
        let took = absences.iter().map(|(_, took)| *took).sum();
        let throttled = !absences.is_empty() && throttling.explains(took);
        let since = |at: Moment| Moment::ZERO + at.since(recorder.zero());
        let starved = |(at, took)| (since(at), Event::Starved { took, throttled });
        let absences = absences.into_iter().map(starved).collect();
        let socket = Socket::new(socket, recorder.clone(), deferred, fast_open, throttling);
        Ok(OpenedConnection {
            socket: socket.map_err(local)?,
            at: since(at),
            deferred,
            absences,
        })
    }
}

/// Creates a UDP socket with the user's local address, for QUIC.
pub fn datagram_socket(peer: SocketAddr, bind: Option<&Bind>) -> Result<UdpSocket, NetError> {
    let domain = Domain::for_address(peer);
    let socket =
        socket2::Socket::new(domain, Type::DGRAM, Some(Protocol::UDP)).map_err(NetError::Socket)?;
    socket.set_nonblocking(true).map_err(NetError::Socket)?;
    if let Some(bind) = bind {
        bind.apply(&socket, peer)?;
    }
    if !matches!(bind, Some(Bind::Address(address)) if address.is_ipv4() == peer.is_ipv4()) {
        let any: SocketAddr = if peer.is_ipv4() {
            ([0, 0, 0, 0], 0).into()
        } else {
            ([0u16; 8], 0).into()
        };
        socket.bind(&any.into()).map_err(NetError::Socket)?;
    }
    Ok(socket.into())
}

/// A successful attempt: the stream, and the time when the connection was established.
pub(crate) struct OpenedConnection {
    pub(crate) socket: Socket,
    pub(crate) at: Moment,
    pub(crate) deferred: bool,
    /// The times when the client did not run although it could have.
    absences: Vec<(Moment, Event)>,
}

pub(crate) enum AttemptError {
    /// A local error, which would be the same for other addresses.
    Local(NetError),
    Peer(FailedAttempt),
}

/// A refusal, or another failure of an address.
pub(crate) struct FailedAttempt {
    pub(crate) error: io::Error,
    /// When the failure came. The client may have noticed it later.
    pub(crate) at: Moment,
    /// The time when the client did not run although it could have.
    pub(crate) absence: Option<Event>,
}

impl FailedAttempt {
    /// Makes a failure that came within the call that asked for the connection, after `began`: the
    /// client did not wait.
    fn at_once(
        error: io::Error,
        began: Presence,
        throttling: Throttling,
        recorder: &Recorder,
    ) -> AttemptError {
        let now = Presence::now(recorder);
        let absent = began.absence(began.at, &now, recorder);
        let at = Moment::ZERO + began.at.since(recorder.zero());
        AttemptError::Peer(Self::new(error, at, absent, throttling))
    }

    /// Makes a failure that came while the client waited. The kernel does not stamp it, but knows
    /// for how long the thread was ready to run without running.
    fn later(
        error: io::Error,
        delay: RunDelay,
        throttling: Throttling,
        recorder: &Recorder,
    ) -> AttemptError {
        let absent = delay.more();
        let at = recorder.now() - absent.unwrap_or_default();
        AttemptError::Peer(Self::new(error, at, absent, throttling))
    }

    fn new(
        error: io::Error,
        at: Moment,
        absent: Option<Duration>,
        mut throttling: Throttling,
    ) -> Self {
        let absence = absent.map(|took| {
            let throttled = throttling.explains(took);
            Event::Starved { took, throttled }
        });
        Self { error, at, absence }
    }
}

async fn established(socket: socket2::Socket) -> io::Result<socket2::Socket> {
    let fd = sys::register(socket, Interest::WRITABLE)?;
    loop {
        let mut guard = fd.writable().await?;
        if let Some(error) = fd.get_ref().take_error()? {
            return Err(error);
        }
        if !TcpInfo::from_socket(fd.get_ref()).is_some_and(|i| i.is_opening()) {
            break;
        }
        guard.clear_ready();
    }
    Ok(fd.into_inner())
}

/// The time when the SYN left. This is the time of the call, unless the call took long; then it is
/// the SYN-ACK's time minus a round trip (as exact as the kernel's tick).
fn syn_left(called: Moment, returned: Moment, by_answer: Moment) -> Moment {
    if returned.since(called) < MIN_ABSENCE {
        called
    } else {
        by_answer.clamp(called, returned)
    }
}

impl Bind {
    /// Fails if this machine has no such interface or address.
    pub fn check(&self) -> Result<(), NetError> {
        let peer: SocketAddr = match self {
            Self::Address(address) => (*address, 0).into(),
            Self::Interface(_) => (Ipv4Addr::LOCALHOST, 0).into(),
        };
        datagram_socket(peer, Some(self)).map(drop)
    }

    fn apply(&self, socket: &socket2::Socket, peer: SocketAddr) -> Result<(), NetError> {
        match self {
            Self::Interface(name) => {
                socket
                    .bind_device(Some(name.as_bytes()))
                    .map_err(|source| NetError::Bind {
                        what: format!("interface '{name}'"),
                        source,
                    })
            }
            Self::Address(address) if address.is_ipv4() == peer.is_ipv4() => socket
                .bind(&SocketAddr::new(*address, 0).into())
                .map_err(|source| NetError::Bind {
                    what: format!("local address {address}"),
                    source,
                }),
            // An address of the other family cannot be used for this peer anyway.
            Self::Address(_) => Ok(()),
        }
    }
}

impl OpenedConnection {
    /// Records on the timeline that this attempt won.
    pub(crate) fn record(&self, peer: SocketAddr, recorder: &Recorder) {
        let deferred = self.deferred;
        recorder.record_at(self.at, Event::Connected { peer, deferred });
        for (at, starved) in &self.absences {
            recorder.record_at(*at, starved.clone());
        }
    }
}

pub(crate) fn attempt_fact(
    peer: SocketAddr,
    began: Moment,
    ended: Moment,
    outcome: AttemptOutcome,
) -> Attempt {
    Attempt {
        peer,
        over_quic: false,
        began,
        ended,
        outcome,
    }
}
