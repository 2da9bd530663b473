//! What the kernel tells about a connection.

use std::os::fd::AsRawFd;
use std::time::Duration;

use roundtrip_model::{FastOpenFacts, KeptFacts, TcpFacts};
use socket2::Socket;

use crate::sys;
use crate::wait::Counters;

const OPTION_TIMESTAMPS: u8 = 1;
const OPTION_ECN: u8 = 8;
const OPTION_SYN_DATA: u8 = 32;
const FLAG_APP_LIMITED: u8 = 1;
const STATE_SYN_SENT: u8 = 2;
/// The kernel leaves this much of a segment to options when it fills a SYN (`MAX_TCP_OPTION_SPACE`).
const OPTION_SPACE: u64 = 40;
/// What timestamps take of each segment once they are agreed on (`TCPOLEN_TSTAMP_ALIGNED`).
const TIMESTAMP_SPACE: u64 = 12;

/// RFC 791 §3.1: more does not fit a packet.
const LARGEST_SEGMENT: u32 = 65_535;

/// A reading of `TCP_INFO`.
#[derive(Debug, Clone, Copy)]
pub struct TcpInfo(sys::RawTcpInfo);

/// Of a connection, both ways. Counters of the kernel have 32 bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Segments {
    pub sent: u64,
    pub sent_with_data: u64,
    pub received: u64,
    pub received_with_data: u64,
    pub resent: u64,
    /// The most data that one of ours may carry.
    pub largest: u64,
}

impl TcpInfo {
    pub fn of(socket: &impl AsRawFd) -> Option<Self> {
        sys::tcp_info(socket).ok().map(Self)
    }

    pub fn is_opening(&self) -> bool {
        self.0.state == STATE_SYN_SENT
    }

    /// The smoothed round trip; after the handshake, the handshake's own.
    pub fn rtt(&self) -> Option<Duration> {
        micros(self.0.rtt)
    }

    /// The smallest round trip seen (`u32::MAX` means none yet).
    pub fn min_rtt(&self) -> Option<Duration> {
        if self.0.min_rtt == u32::MAX {
            None
        } else {
            micros(self.0.min_rtt)
        }
    }

    /// The largest segment that came, as the kernel reckons.
    pub(crate) fn received_mss(&self) -> usize {
        self.0.rcv_mss.max(self.0.advmss).min(LARGEST_SEGMENT) as usize
    }

    pub(crate) fn counters(&self) -> Counters {
        Counters {
            resent: self.0.total_retrans,
            needless: self.0.dsack_dups,
            out_of_order: self.0.rcv_ooopack,
            busy: Duration::from_micros(self.0.busy_time),
            segments: self.0.data_segs_in,
            bytes: self.0.bytes_received,
            rtt: self.min_rtt().or(self.rtt()).unwrap_or_default(),
        }
    }

    /// What was received, and how long ago anything last came or went.
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

    /// What went over the wire so far.
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

    /// Of the time in which there was something to send: was it more than half the receiver's window, or our buffer,
    /// that held it back? None where nothing was sent.
    pub fn held_by_window(&self) -> Option<bool> {
        let held = self.0.rwnd_limited.saturating_add(self.0.sndbuf_limited);
        (self.0.busy_time > 0).then_some(held > self.0.busy_time / 2)
    }

    pub fn retransmits(&self) -> u32 {
        self.0.total_retrans
    }

    /// Did the SYN carry data that was taken? On an accepted connection: by this kernel; on one that was opened from
    /// here: by the peer's.
    pub fn took_syn_data(&self) -> bool {
        self.0.options & OPTION_SYN_DATA != 0
    }

    /// How much of the SYN's data the SYN-ACK acknowledged, read just after it came.
    pub(crate) fn syn_data_acked(&self, sent: u64) -> u64 {
        if !self.took_syn_data() {
            return 0;
        }
        // The SYN itself counts as one byte. What no SYN has room for was acknowledged later.
        let agreed = self.0.options & OPTION_TIMESTAMPS != 0;
        let whole = u64::from(self.0.advmss) + if agreed { TIMESTAMP_SPACE } else { 0 };
        let room = whole.saturating_sub(OPTION_SPACE);
        self.0.bytes_acked.saturating_sub(1).min(sent).min(room)
    }

    /// The SYN-ACK left data of the SYN unacknowledged, so the kernel has sent it again: one segment, as a SYN is.
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
