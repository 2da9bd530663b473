//! Reads the kernel's information about a connection.

use std::os::fd::AsRawFd;
use std::time::Duration;

use roundtrip_model::{FastOpenFacts, KeptFacts, TcpFacts};
use socket2::Socket;

use crate::gaps::GapSigns;
use crate::sys;
use crate::wait::WaitCounters;

/// The usual segment size in bytes. (On loopback, segments are larger than some windows.)
const USUAL_SEGMENT: u32 = 1460;
const OPTION_TIMESTAMPS: u8 = 1;
const OPTION_ECN: u8 = 8;
const OPTION_SYN_DATA: u8 = 32;
const FLAG_APP_LIMITED: u8 = 1;
const STATE_ESTABLISHED: u8 = 1;
const STATE_SYN_SENT: u8 = 2;
const STATE_CLOSE: u8 = 7;
/// The bytes that the kernel reserves for options when it fills a SYN (`MAX_TCP_OPTION_SPACE`).
const OPTION_SPACE: u64 = 40;
/// The bytes that timestamps take in each segment once they are negotiated
/// (`TCPOLEN_TSTAMP_ALIGNED`).
const TIMESTAMP_SPACE: u64 = 12;

/// The largest segment that fits an IPv4 packet, in bytes (RFC 791 §3.1).
const MAX_SEGMENT_BYTES: u32 = 65_535;

/// A snapshot of `TCP_INFO`.
#[derive(Debug, Clone, Copy)]
pub struct TcpInfo(sys::RawTcpInfo);

/// Segment counters of a connection, in both directions. The kernel's counters have 32 bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Segments {
    pub sent: u64,
    pub sent_with_data: u64,
    pub received: u64,
    pub received_with_data: u64,
    pub resent: u64,
    /// The largest amount of data that one of our segments can carry.
    pub largest: u64,
}

/// How the time since a connection was opened was spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Busy {
    pub total: Duration,
    pub receiver_limited: Duration,
    pub buffer_limited: Duration,
}

impl TcpInfo {
    /// Reads the socket's information. The kernel reads the state before it locks the socket, and
    /// the counters after: while another thread connects, a socket can look closed although its SYN
    /// was sent. Reading again settles it.
    pub fn from_socket(socket: &impl AsRawFd) -> Option<Self> {
        let look = || sys::tcp_info(socket).ok().map(Self);
        let info = look()?;
        if info.is_closed() && info.segments().sent > 0 {
            return look();
        }
        Some(info)
    }

    /// Parses the answer of a socket diagnosis (`INET_DIAG_INFO`); fields that an older kernel
    /// lacks are zero.
    pub fn parse(bytes: &[u8]) -> Self {
        Self(sys::RawTcpInfo::parse(bytes))
    }

    pub fn is_opening(&self) -> bool {
        self.0.state == STATE_SYN_SENT
    }

    /// Whether the connection was never opened, or is closed.
    pub fn is_closed(&self) -> bool {
        self.0.state == STATE_CLOSE
    }

    /// Whether both sides can send.
    pub fn is_established(&self) -> bool {
        self.0.state == STATE_ESTABLISHED
    }

    /// The bytes that the process has written and the kernel has accepted.
    pub fn bytes_accepted(&self) -> u64 {
        let sent = self.0.bytes_sent.saturating_sub(self.0.bytes_retrans);
        sent.saturating_add(self.0.notsent_bytes.into())
    }

    /// The bytes that the peer has acknowledged. A SYN counts as one.
    pub fn bytes_acked(&self) -> u64 {
        self.0.bytes_acked
    }

    pub fn bytes_received(&self) -> u64 {
        self.0.bytes_received
    }

    /// Segments that arrived behind a gap in the stream.
    pub fn out_of_order(&self) -> u32 {
        self.0.rcv_ooopack
    }

    /// The times since data was last sent and received, to the kernel's tick.
    pub fn idle(&self) -> (Duration, Duration) {
        (
            Duration::from_millis(self.0.last_data_sent.into()),
            Duration::from_millis(self.0.last_data_recv.into()),
        )
    }

    /// How long data was unacknowledged, and for how much of that time the receiver's window and
    /// our send buffer held it back.
    pub fn busy(&self) -> Busy {
        Busy {
            total: Duration::from_micros(self.0.busy_time),
            receiver_limited: Duration::from_micros(self.0.rwnd_limited),
            buffer_limited: Duration::from_micros(self.0.sndbuf_limited),
        }
    }

    /// Whether the peer's window is closed while there is data to send.
    pub fn is_held_by_zero_window(&self) -> bool {
        self.0.snd_wnd == 0 && self.0.notsent_bytes > 0
    }

    /// How many times in a row the retransmission timer has fired without an answer.
    pub fn timeouts(&self) -> u8 {
        self.0.backoff.max(self.0.retransmits)
    }

    /// The number of segments that were sent and are not acknowledged.
    pub fn unacknowledged(&self) -> u32 {
        self.0.unacked
    }

    /// Whether the sender has had too little to send to measure the path.
    pub fn is_app_limited(&self) -> bool {
        self.0.flags & FLAG_APP_LIMITED != 0
    }

    /// The smoothed round-trip time; after the handshake, that of the handshake.
    pub fn rtt(&self) -> Option<Duration> {
        micros(self.0.rtt)
    }

    /// The smallest round-trip time so far (`u32::MAX` means none yet).
    pub fn min_rtt(&self) -> Option<Duration> {
        if self.0.min_rtt == u32::MAX {
            None
        } else {
            micros(self.0.min_rtt)
        }
    }

    /// The largest segment that arrived, as the kernel estimates it.
    pub(crate) fn received_mss(&self) -> usize {
        self.0.rcv_mss.max(self.0.advmss).min(MAX_SEGMENT_BYTES) as usize
    }

    pub(crate) fn counters(&self) -> WaitCounters {
        WaitCounters {
            resent: self.0.total_retrans,
            needless: self.0.dsack_dups,
            out_of_order: self.0.rcv_ooopack,
            busy: Duration::from_micros(self.0.busy_time),
            segments: self.0.data_segs_in,
            bytes: self.0.bytes_received,
            full: self.full_segment(),
            acks: self.0.segs_out.saturating_sub(self.0.data_segs_out),
            rtt: self.min_rtt().or(self.rtt()).unwrap_or_default(),
            window: (self.0.rcv_wnd != u32::MAX).then_some(self.0.rcv_wnd.into()),
        }
    }

    /// The size of a full segment from the peer, from both announced sizes: a host announces what
    /// it can send.
    fn full_segment(&self) -> u32 {
        self.0.advmss.min(self.0.snd_mss)
    }

    pub(crate) fn gap_signs(&self) -> GapSigns {
        GapSigns {
            out_of_order: self.0.rcv_ooopack,
            full: self.full_segment(),
            last_arrival: self.last_arrival(),
        }
    }

    /// The time since the last segment arrived, to the kernel's tick.
    pub(crate) fn last_arrival(&self) -> Duration {
        Duration::from_millis(self.0.last_ack_recv.into())
    }

    /// How long the receive window has had no room for a segment: the time since the last data
    /// arrived, as exact as the kernel's tick.
    pub(crate) fn closed_for(&self) -> Option<Duration> {
        let full = self.full_segment().min(USUAL_SEGMENT);
        (self.0.rcv_wnd < full).then(|| self.idle().1)
    }

    /// The window that the peer allows us, in bytes.
    pub(crate) fn peer_window(&self) -> u64 {
        self.0.snd_wnd.into()
    }

    pub(crate) fn has_nothing_under_way(&self) -> bool {
        self.0.unacked == 0
    }

    /// The MSS that the peer of a new connection announced. The kernel reports only how much we can
    /// send: if that is limited by the path's MTU, the peer announced as much or more.
    pub(crate) fn announced_mss(&self) -> Option<u32> {
        let has_stamps = self.0.options & OPTION_TIMESTAMPS != 0;
        let options = if has_stamps {
            TIMESTAMP_SPACE as u32
        } else {
            0
        };
        let announced = self.0.snd_mss.saturating_add(options);
        // The announced size is what fits the interface; headers are at most as long as IPv6's.
        let carried = self.0.pmtu.saturating_sub(60);
        let allowed = self.0.advmss.saturating_add(options).min(carried);
        (0 < self.0.snd_mss && announced < allowed).then_some(announced)
    }

    /// The number of bytes received, and the time since data was last sent or received.
    pub(crate) fn past(&self) -> KeptFacts {
        let idle = self.0.last_data_recv.min(self.0.last_data_sent);
        KeptFacts {
            idle: Duration::from_millis(idle.into()),
            bytes_received: self.0.bytes_received,
            beyond: None,
        }
    }

    pub(crate) fn mss(&self) -> u32 {
        self.0.snd_mss
    }

    /// The segments sent and received so far.
    pub fn segments(&self) -> Segments {
        Segments {
            sent: self.0.segs_out.into(),
            sent_with_data: self.0.data_segs_out.into(),
            received: self.0.segs_in.into(),
            received_with_data: self.0.data_segs_in.into(),
            resent: self.0.total_retrans.into(),
            largest: self.0.snd_mss.into(),
        }
    }

    /// Whether the receiver's window, or our buffer, held back more than half of the sending time.
    /// `None` if nothing was sent.
    pub fn held_by_window(&self) -> Option<bool> {
        let held = self.0.rwnd_limited.saturating_add(self.0.sndbuf_limited);
        (self.0.busy_time > 0).then_some(held > self.0.busy_time / 2)
    }

    pub fn retransmits(&self) -> u32 {
        self.0.total_retrans
    }

    /// Whether data in the SYN was accepted: by this kernel on an accepted connection, by the
    /// peer's on one that we opened.
    pub fn took_syn_data(&self) -> bool {
        self.0.options & OPTION_SYN_DATA != 0
    }

    /// How many bytes of the SYN's data the SYN-ACK acknowledged; call it just after that arrived.
    pub(crate) fn syn_data_acked(&self, sent: u64) -> u64 {
        if !self.took_syn_data() {
            return 0;
        }
        // The SYN itself counts as one byte. Data that does not fit a SYN was acknowledged later.
        let agreed = self.0.options & OPTION_TIMESTAMPS != 0;
        let whole = u64::from(self.0.advmss) + if agreed { TIMESTAMP_SPACE } else { 0 };
        let room = whole.saturating_sub(OPTION_SPACE);
        self.0.bytes_acked.saturating_sub(1).min(sent).min(room)
    }

    /// Whether the SYN-ACK left data of the SYN unacknowledged, so that the kernel has sent it
    /// again, in one segment.
    pub(crate) fn resent_syn_data(&self) -> bool {
        matches!(self.fast_open_verdict(), 2 | 3)
    }

    /// Copies all information into `facts`.
    pub(crate) fn fill(&self, facts: &mut TcpFacts) {
        facts.min_rtt = self.min_rtt();
        facts.rtt = self.rtt();
        facts.rtt_var = micros(self.0.rttvar);
        facts.retransmits = self.retransmits();
        facts.needless_retransmits = self.counters().needless;
        facts.congestion_window = self.0.snd_cwnd;
        facts.mss = self.0.snd_mss;
        facts.peer_mss = self.0.rcv_mss;
        facts.out_of_order = self.0.rcv_ooopack;
        facts.receiver_limited = Duration::from_micros(self.0.rwnd_limited);
        facts.delivery_rate = self.0.delivery_rate;
        facts.delivery_app_limited = self.0.flags & FLAG_APP_LIMITED != 0;
        facts.ecn = self.0.options & OPTION_ECN != 0;
        if facts.fast_open.asked {
            facts.fast_open.kernel_says = self.fast_open_failure();
        }
    }

    fn fast_open_verdict(&self) -> u8 {
        (self.0.flags >> 1) & 3
    }

    fn fast_open_failure(&self) -> Option<&'static str> {
        match self.fast_open_verdict() {
            1 => Some("no cookie for this peer yet"),
            2 => Some("the SYN-ACK did not acknowledge the data"),
            3 => Some("the SYN was sent again without data"),
            _ => None,
        }
    }
}

fn micros(us: u32) -> Option<Duration> {
    (us > 0).then(|| Duration::from_micros(us.into()))
}

/// Makes facts of all information.
pub(crate) fn tcp_facts(
    socket: &Socket,
    fast_open: FastOpenFacts,
    syn_retransmits: u32,
) -> TcpFacts {
    let mut facts = TcpFacts {
        local: socket.local_addr().ok().and_then(|a| a.as_socket()),
        peer: socket.peer_addr().ok().and_then(|a| a.as_socket()),
        fast_open,
        syn_retransmits,
        congestion_control: sys::congestion_control(socket).unwrap_or_default(),
        ..TcpFacts::default()
    };
    if let Some(info) = TcpInfo::from_socket(socket) {
        info.fill(&mut facts);
    }
    facts
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::mpsc;
    use std::thread;

    use socket2::{Domain, Socket, Type};

    use super::TcpInfo;

    #[test]
    fn a_connection_that_opens_meanwhile_never_looks_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().into();
        thread::spawn(move || {
            for stream in listener.incoming() {
                drop(stream);
            }
        });
        let (tell, told) = mpsc::channel::<Socket>();
        let connecting = thread::spawn(move || {
            for socket in told {
                socket.connect(&address).unwrap();
            }
        });
        for round in 0..3000 {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            tell.send(socket.try_clone().unwrap()).unwrap();
            loop {
                let info = TcpInfo::from_socket(&socket).unwrap();
                if info.segments().sent > 0 {
                    assert!(!info.is_closed(), "{round}: {info:?}");
                    break;
                }
            }
        }
        drop(tell);
        connecting.join().unwrap();
    }
}
