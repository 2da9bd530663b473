//! A connected stream that records what it does.
//!
//! With fast open the connection begins with the first write. Until the SYN-ACK has arrived, reads
//! watch for it, because what it acknowledges of the first write is what fast open saved.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use roundtrip_model::{Event, FastOpenFacts, KeptFacts, Moment, Reading, Recorder, TcpFacts};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::clock;
use crate::wait::{AwaitedArrival, WaitTracker};
use crate::{TcpInfo, info, sys};

pub struct Socket {
    fd: AsyncFd<socket2::Socket>,
    recorder: Recorder,
    state: Arc<Mutex<SocketState>>,
    /// Bytes were sent and nothing has arrived since, or there was nothing to read: the next
    /// arrival ends a wait.
    waiting: bool,
    watch: WaitTracker,
}

/// What the socket learns, shared with its gauges.
#[derive(Debug, Default)]
struct SocketState {
    /// The connection is being opened: the SYN waits for the first data, or was sent with it.
    opening: bool,
    fast_open: FastOpenFacts,
    handshake_rtt: Option<Duration>,
    syn_retransmits: u32,
    first_mss: u32,
    /// Kept here, because the kernel forgets the peer of a connection that was reset.
    peer: Option<SocketAddr>,
    sent: u64,
}

/// A view of a socket that remains accessible when TLS and HTTP own the socket.
pub struct Gauge {
    socket: socket2::Socket,
    state: Arc<Mutex<SocketState>>,
}

impl Socket {
    pub(crate) fn new(
        fd: AsyncFd<socket2::Socket>,
        recorder: Recorder,
        opening: bool,
        fast_open: FastOpenFacts,
    ) -> Self {
        let first = if opening {
            None
        } else {
            TcpInfo::of(fd.get_ref())
        };
        let mut watch = WaitTracker::default();
        if let Some(info) = first {
            watch.opened(info.counters());
        }
        let state = SocketState {
            opening,
            fast_open,
            handshake_rtt: first.and_then(|i| i.rtt()),
            syn_retransmits: first.map_or(0, |i| i.retransmits()),
            first_mss: first.map_or(0, |i| i.mss()),
            peer: peer_of(fd.get_ref()),
            ..SocketState::default()
        };
        Self {
            fd,
            recorder,
            state: Arc::new(Mutex::new(state)),
            waiting: false,
            watch,
        }
    }

    pub fn gauge(&self) -> io::Result<Gauge> {
        Ok(Gauge {
            socket: self.fd.get_ref().try_clone()?,
            state: self.state.clone(),
        })
    }

    /// The handshake's round-trip time, unless the SYN had to be repeated.
    pub(crate) fn clean_handshake_rtt(&self) -> Option<Duration> {
        let state = lock(&self.state);
        state.handshake_rtt.filter(|_| state.syn_retransmits == 0)
    }

    /// Notices the SYN-ACK while fast open is under way.
    fn watch_opening(&mut self, cx: &mut Context<'_>) {
        loop {
            let state = lock(&self.state);
            if !state.opening || state.sent == 0 {
                return;
            }
            drop(state);
            let Poll::Ready(guard) = self.fd.poll_write_ready(cx) else {
                return;
            };
            if TcpInfo::of(self.fd.get_ref()).is_some_and(|i| i.is_opening()) {
                let Ok(mut guard) = guard else { return };
                guard.clear_ready();
            } else {
                self.opened(None);
            }
        }
    }

    /// Evaluates the SYN-ACK. `answer` is when the first answer arrived, if only that revealed the
    /// SYN-ACK.
    fn opened(&mut self, answer: Option<Moment>) {
        let mut state = lock(&self.state);
        state.opening = false;
        state.peer = peer_of(self.fd.get_ref());
        let Some(info) = TcpInfo::of(self.fd.get_ref()) else {
            return;
        };
        self.watch.opened(info.counters());
        state.handshake_rtt = info.rtt();
        state.first_mss = info.mss();
        let data_again = u32::from(info.resent_syn_data());
        state.syn_retransmits = info.retransmits().saturating_sub(data_again);
        let data_sent = state.fast_open.data_sent;
        let data_acked = info.syn_data_acked(data_sent);
        state.fast_open.data_acked = data_acked;
        state.fast_open.saved_round_trips = u32::from(data_acked > 0 && data_acked == data_sent);
        let now = self.recorder.now();
        let at = match (answer, info.rtt()) {
            // What the SYN-ACK left out was answered a round trip later, at the earliest.
            (Some(answer), Some(rtt)) if data_acked < data_sent => answer - rtt,
            (Some(answer), _) => answer,
            (None, _) => now,
        };
        let event = Event::SynAcked {
            data_sent,
            data_acked,
        };
        self.recorder.record_at(at, event);
    }

    fn departed(&mut self, bytes: usize, of: usize, at: Moment) {
        let mut state = lock(&self.state);
        if state.opening && state.sent == 0 {
            // The SYN takes what it has room for; fast open saves a wait only if that was the whole
            // flight.
            state.fast_open.data_sent = of as u64;
        }
        state.sent += bytes as u64;
        self.recorder.record_at(
            at,
            Event::Sent {
                bytes: bytes as u64,
            },
        );
        self.waiting = true;
    }

    fn arrived(&mut self, bytes: usize, stamps: Stamps) {
        let reading = clock::read(|| self.recorder.clock());
        let moment =
            |stamp: Option<Duration>| stamp.map_or(reading.after, |s| reading.moment_of(s));
        let zero = self.recorder.zero();
        let first = moment(stamps.first.or(stamps.last));
        if lock(&self.state).opening {
            self.opened(Some(Moment::ZERO + first.since(zero)));
        }
        let at = if !std::mem::take(&mut self.waiting) {
            moment(stamps.last)
        } else if let Some(info) = TcpInfo::of(self.fd.get_ref()) {
            self.judge_wait(&reading, &info, stamps)
        } else {
            first
        };
        self.watch.went_on(at);
        let bytes = bytes as u64;
        let at = Moment::ZERO + at.since(zero);
        self.recorder.record_at(at, Event::Received { bytes });
    }

    /// When the wait ended; records what the kernel knows about it. Uses the clock's own time,
    /// because the connection may be older than the exchange, at whose start the timeline begins.
    fn judge_wait(&mut self, reading: &Reading, info: &TcpInfo, stamps: Stamps) -> Moment {
        let moment = |stamp: Option<Duration>| stamp.map(|stamp| reading.moment_of(stamp));
        let arrival = AwaitedArrival {
            now: reading.after,
            first: moment(stamps.first),
            second: moment(stamps.second),
            last: moment(stamps.last),
        };
        let zero = self.recorder.zero();
        let (ended, events) = self.watch.ended(arrival, info.counters());
        for (at, event) in events {
            match event {
                // It belongs to an earlier exchange.
                _ if at < zero => {}
                Event::Paused { .. } => self.recorder.record_arrival(event),
                _ => self
                    .recorder
                    .record_at(Moment::ZERO + at.since(zero), event),
            }
        }
        ended
    }

    /// Notes that there is nothing to read, and that the reader will wait.
    fn ran_dry(&mut self) {
        self.waiting = true;
        if let Some(info) = TcpInfo::of(self.fd.get_ref()) {
            self.watch.ran_dry(self.recorder.clock(), info.counters());
        }
    }
}

impl Gauge {
    pub fn facts(&self) -> TcpFacts {
        let state = lock(&self.state);
        let mut facts =
            info::tcp_facts(&self.socket, state.fast_open.clone(), state.syn_retransmits);
        facts.handshake_rtt = state.handshake_rtt;
        facts.first_mss = state.first_mss;
        facts.peer = facts.peer.or(state.peer);
        facts
    }

    /// The smallest round-trip time that the kernel has seen on this connection.
    pub fn min_rtt(&self) -> Option<Duration> {
        let info = TcpInfo::of(&self.socket)?;
        [info.min_rtt(), lock(&self.state).handshake_rtt]
            .into_iter()
            .flatten()
            .min()
    }

    /// What the connection has done so far, for a later exchange on it.
    pub fn past(&self) -> Option<KeptFacts> {
        TcpInfo::of(&self.socket).map(|info| info.past())
    }

    /// Whether the peer has closed, or sent data that was not asked for. Such a connection carries
    /// no further request.
    pub fn is_spent(&self) -> bool {
        !matches!(sys::receive(&self.socket, &mut [0], true), Err(e) if e.kind() == io::ErrorKind::WouldBlock)
    }
}

fn peer_of(socket: &socket2::Socket) -> Option<SocketAddr> {
    socket.peer_addr().ok()?.as_socket()
}

fn lock(state: &Mutex<SocketState>) -> MutexGuard<'_, SocketState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kernel's timestamps of a read: of its last segment and, after a wait, of its first. The
/// second segment's is read if segments arrived out of order.
#[derive(Clone, Copy, Default)]
struct Stamps {
    first: Option<Duration>,
    second: Option<Duration>,
    last: Option<Duration>,
}

impl Stamps {
    /// Peeks at the bytes that will be read next. The timestamp of a read is its last segment's.
    fn ahead(socket: &socket2::Socket, watch: &WaitTracker) -> io::Result<Self> {
        let mut stamps = Self {
            first: sys::receive(socket, &mut [0], true)?.1,
            ..Self::default()
        };
        if let Some(info) = TcpInfo::of(socket)
            && watch.has_a_gap(info.counters())
        {
            let mut two = vec![0; info.received_mss() + 1];
            stamps.second = sys::receive(socket, &mut two, true)?.1;
        }
        Ok(stamps)
    }
}

/// Reads, and returns when the kernel received the bytes.
fn read_stamped(
    socket: &socket2::Socket,
    buffer: &mut ReadBuf<'_>,
    after_wait: Option<&WaitTracker>,
) -> io::Result<(usize, Stamps)> {
    let mut stamps = match after_wait {
        Some(watch) => Stamps::ahead(socket, watch)?,
        None => Stamps::default(),
    };
    let (n, last) = sys::receive(socket, buffer.initialize_unfilled(), false)?;
    buffer.advance(n);
    stamps.last = last;
    Ok((n, stamps))
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            this.watch_opening(cx);
            let mut guard = ready!(this.fd.poll_read_ready(cx))?;
            let watch = this.waiting.then_some(&this.watch);
            match guard.try_io(|fd| read_stamped(fd.get_ref(), buffer, watch)) {
                Ok(Ok((n, stamps))) => {
                    if n > 0 {
                        this.arrived(n, stamps);
                    }
                    return Poll::Ready(Ok(()));
                }
                Ok(Err(e)) if e.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(e)) => return Poll::Ready(Err(e)),
                Err(_would_block) => this.ran_dry(),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        loop {
            this.watch_opening(cx);
            let mut guard = ready!(this.fd.poll_write_ready(cx))?;
            let began = this.recorder.now();
            match guard.try_io(|fd| send(fd.get_ref(), data)) {
                Ok(Ok(n)) => {
                    // While fast open is under way, the SYN-ACK causes the next readiness.
                    if lock(&this.state).opening {
                        guard.clear_ready();
                    }
                    drop(guard);
                    this.departed(n, data.len(), began);
                    return Poll::Ready(Ok(n));
                }
                Ok(Err(e)) if e.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(e)) => return Poll::Ready(Err(e)),
                Err(_would_block) => {}
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.fd.get_ref().shutdown(std::net::Shutdown::Write) {
            Err(e) if e.kind() != io::ErrorKind::NotConnected => Poll::Ready(Err(e)),
            _ => Poll::Ready(Ok(())),
        }
    }
}

/// Sends. A fast-open SYN that could take no data reports `EINPROGRESS`: the data then waits for
/// the SYN-ACK.
fn send(socket: &socket2::Socket, data: &[u8]) -> io::Result<usize> {
    socket
        .send_with_flags(data, libc::MSG_NOSIGNAL)
        .map_err(|e| match e.raw_os_error() {
            Some(libc::EINPROGRESS) => io::ErrorKind::WouldBlock.into(),
            _ => e,
        })
}
