//! Reads what the kernel knows about a connection.

use std::os::fd::AsRawFd;
use std::time::Duration;

use roundtrip_model::{FastOpenFacts, KeptFacts, TcpFacts};
use socket2::Socket;

use crate::sys;
use crate::wait::WaitCounters;

const OPTION_TIMESTAMPS: u8 = 1;
const OPTION_ECN: u8 = 8;
const OPTION_SYN_DATA: u8 = 32;
const FLAG_APP_LIMITED: u8 = 1;
const STATE_SYN_SENT: u8 = 2;
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
    /// The most data that one of our segments can carry.
    pub largest: u64,
}

impl TcpInfo {
    pub fn of(socket: &impl AsRawFd) -> Option<Self> {
        sys::tcp_info(socket).ok().map(Self)
    }

    pub fn is_opening(&self) -> bool {
        self.0.state == STATE_SYN_SENT
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
            rtt: self.min_rtt().or(self.rtt()).unwrap_or_default(),
        }
    }

    /// What was received, and how long ago anything was last sent or received.
    pub(crate) fn past(&self) -> KeptFacts {
        let idle = self.0.last_data_recv.min(self.0.last_data_sent);
        KeptFacts {
            idle: Duration::from_millis(idle.into()),
            bytes_received: self.0.bytes_received,
        }
    }

    pub(crate) fn mss(&self) -> u32 {
        self.0.snd_mss
    }

    /// What was sent and received so far.
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

    /// Whether the SYN carried data that was accepted: by this kernel on an accepted connection, by
    /// the peer's on one that we opened.
    pub fn took_syn_data(&self) -> bool {
        self.0.options & OPTION_SYN_DATA != 0
    }

    /// How much of the SYN's data the SYN-ACK acknowledged, read just after it arrived.
    pub(crate) fn syn_data_acked(&self, sent: u64) -> u64 {
        if !self.took_syn_data() {
            return 0;
        }
        // The SYN itself counts as one byte. Data that no SYN has room for was acknowledged later.
        let agreed = self.0.options & OPTION_TIMESTAMPS != 0;
        let whole = u64::from(self.0.advmss) + if agreed { TIMESTAMP_SPACE } else { 0 };
        let room = whole.saturating_sub(OPTION_SPACE);
        self.0.bytes_acked.saturating_sub(1).min(sent).min(room)
    }

    /// Whether the SYN-ACK left data of the SYN unacknowledged, so that the kernel has sent it
    /// again: in one segment.
    pub(crate) fn resent_syn_data(&self) -> bool {
        matches!(self.fast_open_verdict(), 2 | 3)
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

/// Everything at once, as facts.
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
    if let Some(info) = TcpInfo::of(socket) {
        facts.min_rtt = info.min_rtt();
        facts.rtt = info.rtt();
        facts.retransmits = info.retransmits();
        facts.congestion_window = info.0.snd_cwnd;
        facts.mss = info.0.snd_mss;
        facts.peer_mss = info.0.rcv_mss;
        facts.out_of_order = info.0.rcv_ooopack;
        facts.receiver_limited = Duration::from_micros(info.0.rwnd_limited);
        facts.delivery_rate = info.0.delivery_rate;
        facts.delivery_app_limited = info.0.flags & FLAG_APP_LIMITED != 0;
        facts.ecn = info.0.options & OPTION_ECN != 0;
        if facts.fast_open.asked {
            facts.fast_open.kernel_says = info.fast_open_failure();
        }
    }
    facts
}
