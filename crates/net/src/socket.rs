//! A connected stream that records its activity.
//!
//! With fast open the connection begins with the first write. Until the SYN-ACK has arrived, reads
//! watch for it, because the bytes of the first write that it acknowledges are the saving of fast
//! open.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use roundtrip_model::{ClockReading, Event, FastOpenFacts, Moment, Recorder};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::task::coop;

use crate::gaps::Looks;
use crate::gauge::{Gauge, SocketState, lock};
use crate::presence::{self, MIN_ABSENCE, Presence, Throttling};
use crate::wait::{AwaitedArrival, WaitTracker};
use crate::writable::Writable;
use crate::{TcpInfo, clock, sys};

pub struct Socket {
    /// Registered for reading.
    fd: AsyncFd<socket2::Socket>,
    room: Writable,
    recorder: Recorder,
    state: Arc<Mutex<SocketState>>,
    /// Whether the next arrival ends a wait: bytes were sent and nothing has arrived since, or
    /// there was nothing to read.
    waiting: bool,
    watch: WaitTracker,
    looks: Looks,
    /// The time when the thread last wrote, or found nothing to read.
    presence: Presence,
    throttling: Throttling,
    /// The time when the SYN left, if it left with data.
    syn_left: Moment,
}

impl Socket {
    /// Takes a socket that is connected or, with `opening`, waits for the data of its SYN.
    pub(crate) fn new(
        socket: socket2::Socket,
        recorder: Recorder,
        opening: bool,
        fast_open: FastOpenFacts,
        throttling: Throttling,
    ) -> io::Result<Self> {
        let fd = sys::register(socket, Interest::READABLE)?;
        let mut state = SocketState {
            opening,
            fast_open,
            peer: peer_of(fd.get_ref()),
            ..SocketState::default()
        };
        let mut watch = WaitTracker::default();
        if let Some(info) = TcpInfo::from_socket(fd.get_ref()).filter(|_| !opening) {
            watch.opened(info.counters());
            state.syn_retransmits = info.retransmits();
            state.opened(fd.get_ref(), &info);
        }
        Ok(Self {
            fd,
            room: Writable::default(),
            presence: Presence::now(&recorder),
            recorder,
            state: Arc::new(Mutex::new(state)),
            waiting: false,
            watch,
            looks: Looks::default(),
            throttling,
            syn_left: Moment::ZERO,
        })
    }

    pub fn gauge(&self) -> io::Result<Gauge> {
        let socket = self.fd.get_ref().try_clone()?;
        Ok(Gauge::new(
            socket,
            self.recorder.clone(),
            self.state.clone(),
        ))
    }

    /// Notices the SYN-ACK while fast open is under way.
    fn watch_opening(&mut self, cx: &mut Context<'_>) {
        loop {
            let state = lock(&self.state);
            if !state.opening || state.sent == 0 {
                return;
            }
            drop(state);
            let socket = self.fd.get_ref();
            // The thread may stop before it can use what the kernel says.
            let asked = self.recorder.now();
            match TcpInfo::from_socket(socket) {
                Some(info) if info.is_opening() => {
                    if !matches!(self.room.poll(socket, cx), Poll::Ready(Ok(()))) {
                        return;
                    }
                }
                // The kernel does not report when a SYN that was sent again was answered. The
                // answer to the request, which can be read already, was later.
                Some(info) if info.retransmits() > 0 && info.bytes_received() > 0 => return,
                _ => self.opened(None, asked),
            }
        }
    }

    /// Evaluates the SYN-ACK. `answer` is the time of the first answer, if only that revealed the
    /// SYN-ACK; it was noticed at `now`.
    fn opened(&mut self, answer: Option<Moment>, now: Moment) {
        self.room.forget();
        let mut state = lock(&self.state);
        state.opening = false;
        state.peer = peer_of(self.fd.get_ref());
        let Some(info) = TcpInfo::from_socket(self.fd.get_ref()) else {
            return;
        };
        self.watch.opened(info.counters());
        state.opened(self.fd.get_ref(), &info);
        let data_again = u32::from(info.resent_syn_data());
        state.syn_retransmits = info.retransmits().saturating_sub(data_again);
        let data_sent = state.fast_open.data_sent;
        let data_acked = info.syn_data_acked(data_sent);
        state.fast_open.data_acked = data_acked;
        state.fast_open.saved_round_trips = u32::from(data_acked > 0 && data_acked == data_sent);
        // The kernel measured the handshake more exactly than a wake-up can.
        let clean = info.rtt().filter(|_| state.syn_retransmits == 0);
        let at = match (answer, info.rtt()) {
            // Data that the SYN-ACK did not acknowledge was answered a round trip later, at the
            // earliest.
            (Some(answer), Some(rtt)) if data_acked < data_sent => answer - rtt,
            (Some(answer), _) => answer,
            (None, _) => clean.map_or(now, |rtt| now.min(self.syn_left + rtt)),
        };
        let event = Event::SynAcked {
            data_sent,
            data_acked,
        };
        self.recorder.record_at(at, event);
        drop(state);
        if answer.is_none() {
            self.note_absence(self.recorder.zero() + at.since(Moment::ZERO));
        }
    }

    fn read_stamps(&self) {
        let reading = clock::read(|| self.recorder.clock());
        lock(&self.state).read_stamps(self.fd.get_ref(), &self.recorder, &reading);
    }

    fn departed(&mut self, bytes: usize, of: usize, at: Moment) {
        self.room.forget();
        self.note_work(at);
        let mut state = lock(&self.state);
        if state.opening && state.sent == 0 {
            self.syn_left = at;
            // The SYN carries only as much as fits; fast open saves a wait only if the whole flight
            // fits.
            state.fast_open.data_sent = of as u64;
        }
        state.sent += bytes as u64;
        let end = state.sent;
        let written = self.recorder.zero() + at.since(Moment::ZERO);
        state.departures.wrote(end, written);
        if state.departures.is_full() {
            let reading = clock::read(|| self.recorder.clock());
            state.read_stamps(self.fd.get_ref(), &self.recorder, &reading);
        }
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
        let info = self
            .waiting
            .then(|| TcpInfo::from_socket(self.fd.get_ref()))
            .flatten();
        let mut state = lock(&self.state);
        if state.opening {
            drop(state);
            let now = self.recorder.now();
            self.opened(Some(Moment::ZERO + first.since(zero)), now);
        } else if self.waiting {
            state.read_stamps(self.fd.get_ref(), &self.recorder, &reading);
            drop(state);
            self.note_absence(info.map_or(first, |info| {
                self.watch
                    .readable_since(awaited(&reading, stamps), info.counters())
            }));
        } else {
            drop(state);
            // The bytes may have been there for long, in a buffer that was full.
            if reading.after.since(self.presence.at) >= MIN_ABSENCE {
                self.note_absence(first);
            }
        }
        let at = if !std::mem::take(&mut self.waiting) {
            moment(stamps.last)
        } else if let Some(info) = info {
            self.judge_wait(awaited(&reading, stamps), &info)
        } else {
            first
        };
        self.watch.went_on(at);
        let bytes = bytes as u64;
        let at = Moment::ZERO + at.since(zero);
        self.recorder.record_at(at, Event::Received { bytes });
    }

    /// Records that the thread did not run although bytes had arrived at `first`, by the clock.
    fn note_absence(&mut self, first: Moment) {
        let absence = self
            .presence
            .renew(first, &self.recorder, &mut self.throttling);
        absence.inspect(|event| self.recorder.record(event.clone()));
    }

    /// Records how long the thread did not run until `at`, although it had bytes to process and
    /// waited for nothing.
    fn note_work(&mut self, at: Moment) {
        if self.waiting {
            self.presence = Presence::now(&self.recorder);
            return;
        }
        // The exchange may have begun long after the last one ended.
        let began = self.recorder.zero();
        let absence = self
            .presence
            .renew(began, &self.recorder, &mut self.throttling);
        absence.inspect(|event| self.recorder.record_at(at, event.clone()));
    }

    /// The time when the wait ended; records the kernel's counters about it. Uses the clock's own
    /// time, because the connection can be older than the exchange, at whose start the timeline
    /// begins.
    fn judge_wait(&mut self, arrival: AwaitedArrival, info: &TcpInfo) -> Moment {
        let zero = self.recorder.zero();
        let (ended, events) = self.watch.ended(arrival, info.counters());
        for (at, event) in events {
            match event {
                // The event belongs to an earlier exchange.
                _ if at < zero => {}
                Event::Paused { .. } | Event::AckDelayed => self.recorder.record_arrival(event),
                _ => self
                    .recorder
                    .record_at(Moment::ZERO + at.since(zero), event),
            }
        }
        ended
    }

    /// Notes that there is nothing to read, so the reader will wait.
    fn ran_dry(&mut self) {
        self.note_work(self.recorder.now());
        self.waiting = true;
        if let Some(info) = TcpInfo::from_socket(self.fd.get_ref()) {
            let counters = info.counters();
            self.watch.ran_dry(self.presence.at, counters);
            self.look(&info);
            self.looks.begin(counters.rtt);
        }
    }

    /// Checks for segments behind a gap, while there is nothing to read.
    fn look(&self, info: &TcpInfo) {
        let mut state = lock(&self.state);
        state.note_window(info);
        state.look_for_gap(self.fd.get_ref(), &self.recorder, info);
    }
}

fn peer_of(socket: &socket2::Socket) -> Option<SocketAddr> {
    socket.peer_addr().ok()?.as_socket()
}

/// The kernel's timestamps of a read: that of its last segment and, after a wait, that of its first
/// one. If segments arrived out of order, the second segment's is read too.
#[derive(Clone, Copy, Default)]
struct Stamps {
    first: Option<Duration>,
    second: Option<Duration>,
    last: Option<Duration>,
}

impl Stamps {
    /// Peeks at the bytes that will be read next. The timestamp of a read is that of its last
    /// segment.
    fn ahead(socket: &socket2::Socket, watch: &WaitTracker) -> io::Result<Self> {
        let mut stamps = Self {
            first: sys::receive(socket, &mut [0], true)?.1,
            ..Self::default()
        };
        if let Some(info) = TcpInfo::from_socket(socket)
            && watch.has_a_gap(info.counters())
        {
            let mut two = vec![0; info.received_mss() + 1];
            stamps.second = sys::receive(socket, &mut two, true)?.1;
        }
        Ok(stamps)
    }
}

/// The times of a read that ended a wait.
fn awaited(reading: &ClockReading, stamps: Stamps) -> AwaitedArrival {
    let moment = |stamp: Option<Duration>| stamp.map(|stamp| reading.moment_of(stamp));
    AwaitedArrival {
        now: reading.after,
        first: moment(stamps.first),
        second: moment(stamps.second),
        last: moment(stamps.last),
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
            let Poll::Ready(guard) = this.fd.poll_read_ready(cx) else {
                while this.looks.poll_due(cx) {
                    TcpInfo::from_socket(this.fd.get_ref()).inspect(|info| this.look(info));
                }
                return Poll::Pending;
            };
            let mut guard = guard?;
            let closed = presence::window_closed(
                guard.get_inner(),
                this.waiting,
                this.presence.at,
                &this.recorder,
            );
            let watch = this.waiting.then_some(&this.watch);
            match guard.try_io(|fd| read_stamped(fd.get_ref(), buffer, watch)) {
                Ok(Ok((n, stamps))) => {
                    if let Some(took) = closed {
                        this.recorder.record(Event::WindowClosed { took });
                    }
                    if n > 0 {
                        this.arrived(n, stamps);
                    } else if std::mem::take(&mut this.waiting) {
                        this.recorder.record(Event::StreamEnded);
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
        let turn = ready!(coop::poll_proceed(cx));
        loop {
            this.watch_opening(cx);
            let began = this.recorder.now();
            match send(this.fd.get_ref(), data) {
                Ok(n) => {
                    turn.made_progress();
                    this.departed(n, data.len(), began);
                    return Poll::Ready(Ok(n));
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    this.read_stamps();
                    ready!(this.room.poll(this.fd.get_ref(), cx))?;
                }
                Err(e) => return Poll::Ready(Err(e)),
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

#[cfg(test)]
mod tests;
