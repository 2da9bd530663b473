//! The state of a socket, and a view of it that remains when TLS and HTTP own the socket.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use roundtrip_model::{ClockReading, FastOpenFacts, KeptFacts, Moment, Recorder, TcpFacts};

use crate::departures::PendingWrites;
use crate::gaps::Gaps;
use crate::sys::transmit;
use crate::{TcpInfo, clock, info, sys};

/// The state of a socket, shared with its gauges.
#[derive(Debug, Default)]
pub(crate) struct SocketState {
    /// The connection is being opened: the SYN waits for the first data, or was sent with it.
    pub(crate) opening: bool,
    pub(crate) fast_open: FastOpenFacts,
    pub(crate) handshake_rtt: Option<Duration>,
    pub(crate) syn_retransmits: u32,
    pub(crate) first_mss: u32,
    pub(crate) announced_mss: Option<u32>,
    pub(crate) peer_window: u64,
    /// Kept here, because the kernel forgets the peer of a connection that was reset.
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) sent: u64,
    pub(crate) departures: PendingWrites,
    pub(crate) gaps: Gaps,
}

impl SocketState {
    /// Notes the kernel's information about a connection that has just been opened, and requests
    /// timestamps of data that is sent.
    pub(crate) fn opened(&mut self, socket: &socket2::Socket, info: &TcpInfo) {
        self.handshake_rtt = info.rtt();
        self.first_mss = info.mss();
        self.announced_mss = info.announced_mss();
        self.note_window(info);
        let written = transmit::request(socket, transmit::CountOrigin::Written);
        // Before Linux 6.2 the kernel counts from the first unacknowledged byte. If that is not the
        // end of the written data, or if the kernel cannot do it, no timestamps are requested.
        let unacknowledged = || transmit::request(socket, transmit::CountOrigin::Unacknowledged);
        if written.is_ok() || (info.has_nothing_under_way() && unacknowledged().is_ok()) {
            self.departures.begin(self.sent);
        }
    }

    pub(crate) fn note_window(&mut self, info: &TcpInfo) {
        self.peer_window = self.peer_window.max(info.peer_window());
    }

    /// Records the kernel's timestamps of sent data.
    pub(crate) fn read_stamps(
        &mut self,
        socket: &socket2::Socket,
        recorder: &Recorder,
        reading: &ClockReading,
    ) {
        let zero = recorder.zero();
        while self.departures.is_expecting()
            && let Some(stamp) = transmit::next(socket)
        {
            let at = reading.moment_of(stamp.at);
            let told = self.departures.stamped(stamp.stage, stamp.place, at);
            // Data of an earlier exchange is not reported in this one.
            if let Some(told) = told.filter(|told| told.written >= zero) {
                recorder.record_at(Moment::ZERO + told.at.since(zero), told.event);
            }
        }
        self.departures.emptied();
    }

    /// Records that segments arrived behind a gap. There must be nothing to read.
    pub(crate) fn look_for_gap(
        &mut self,
        socket: &socket2::Socket,
        recorder: &Recorder,
        info: &TcpInfo,
    ) {
        let signs = info.gap_signs();
        if !self.gaps.has_news(&signs) {
            self.gaps.looked(recorder.clock());
            return;
        }
        // Unread timestamps take memory, too.
        let reading = clock::read(|| recorder.clock());
        self.read_stamps(socket, recorder, &reading);
        while transmit::next(socket).is_some() {}
        let held = sys::received_memory(socket).unwrap_or_default();
        if let Some((at, event)) = self.gaps.look(reading.after, &signs, held) {
            let at = Moment::ZERO + at.since(recorder.zero());
            recorder.record_at(at, event);
        }
    }
}

/// A view of a socket that remains accessible when TLS and HTTP own the socket.
pub struct Gauge {
    socket: socket2::Socket,
    recorder: Recorder,
    state: Arc<Mutex<SocketState>>,
}

impl Gauge {
    pub(crate) fn new(
        socket: socket2::Socket,
        recorder: Recorder,
        state: Arc<Mutex<SocketState>>,
    ) -> Self {
        Self {
            socket,
            recorder,
            state,
        }
    }

    /// All facts so far. Also records the kernel's timestamps of sent data, and gaps in received
    /// data, since the socket was last read.
    pub fn facts(&self) -> TcpFacts {
        let mut state = lock(&self.state);
        if let Some(info) = TcpInfo::from_socket(&self.socket) {
            let reading = clock::read(|| self.recorder.clock());
            state.read_stamps(&self.socket, &self.recorder, &reading);
            if state.gaps.has_news(&info.gap_signs()) && !self.is_spent() {
                state.look_for_gap(&self.socket, &self.recorder, &info);
            }
            state.note_window(&info);
        }
        let mut facts =
            info::tcp_facts(&self.socket, state.fast_open.clone(), state.syn_retransmits);
        facts.handshake_rtt = state.handshake_rtt;
        facts.first_mss = state.first_mss;
        facts.announced_mss = state.announced_mss;
        facts.peer_window = state.peer_window;
        facts.peer = facts.peer.or(state.peer);
        facts
    }

    /// The smallest round-trip time that the kernel has seen on this connection.
    pub fn min_rtt(&self) -> Option<Duration> {
        let info = TcpInfo::from_socket(&self.socket)?;
        [info.min_rtt(), lock(&self.state).handshake_rtt]
            .into_iter()
            .flatten()
            .min()
    }

    /// The connection's history so far, for a later exchange on it.
    pub fn past(&self) -> Option<KeptFacts> {
        TcpInfo::from_socket(&self.socket).map(|info| info.past())
    }

    /// Whether the peer has closed, or sent data that was not requested. Such a connection cannot
    /// carry another request.
    pub fn is_spent(&self) -> bool {
        !matches!(sys::receive(&self.socket, &mut [0], true), Err(e) if e.kind() == io::ErrorKind::WouldBlock)
    }
}

pub(crate) fn lock(state: &Mutex<SocketState>) -> MutexGuard<'_, SocketState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
