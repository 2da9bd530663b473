//! Reads what the kernel knows about a connection.

use std::os::fd::AsRawFd;
use std::time::Duration;

use roundtrip_model::{FastOpenFacts, KeptFacts, TcpFacts};
use socket2::Socket;

use crate::gaps::GapSigns;
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
            acks: self.0.segs_out.saturating_sub(self.0.data_segs_out),
            rtt: self.min_rtt().or(self.rtt()).unwrap_or_default(),
            window: (self.0.rcv_wnd != u32::MAX).then_some(self.0.rcv_wnd.into()),
        }
    }

    pub(crate) fn gap_signs(&self) -> GapSigns {
        GapSigns {
            out_of_order: self.0.rcv_ooopack,
            // What we announced, and what the peer announced: hosts announce what they can send.
            full: self.0.advmss.min(self.0.snd_mss),
            last_arrival: self.last_arrival(),
        }
    }

    /// How long ago the last segment arrived, to the kernel's tick.
    pub(crate) fn last_arrival(&self) -> Duration {
        Duration::from_millis(self.0.last_ack_recv.into())
    }

    /// The window that the peer allows us, in bytes.
    pub(crate) fn peer_window(&self) -> u64 {
        self.0.snd_wnd.into()
    }

    pub(crate) fn has_nothing_under_way(&self) -> bool {
        self.0.unacked == 0
    }

    /// The MSS that the peer announced, of a new connection. The kernel tells only what we may
    /// send: where that is all that the path's MTU allows, the peer announced as much or more.
    pub(crate) fn announced_mss(&self) -> Option<u32> {
        let has_stamps = self.0.options & OPTION_TIMESTAMPS != 0;
        let options = if has_stamps {
            TIMESTAMP_SPACE as u32
        } else {
            0
        };
        let announced = self.0.snd_mss.saturating_add(options);
        // We announce what fits the interface; the headers are those of IPv6, or shorter.
        let carried = self.0.pmtu.saturating_sub(60);
        let allowed = self.0.advmss.saturating_add(options).min(carried);
        (0 < self.0.snd_mss && announced < allowed).then_some(announced)
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
        facts.rtt_var = micros(info.0.rttvar);
        facts.retransmits = info.retransmits();
        facts.needless_retransmits = info.counters().needless;
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
