//! The counters of a connection.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    pub packets_sent: u64,
    pub packets_received: u64,
    /// Packets that arrived a second time.
    pub duplicates: u64,
    /// Packets that no key opened.
    pub undecryptable: u64,
    pub datagrams_sent: u64,
    pub datagrams_received: u64,
    /// The UDP payload of all datagrams.
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub acks_sent: u64,
    pub acks_received: u64,
    /// The number of lost packets, without MTU probes.
    pub packets_lost: u64,
    pub bytes_lost: u64,
    /// The age of the first lost packet when losses were last detected.
    pub lost_after: Duration,
    /// Packets that were declared lost but arrived.
    pub spurious: u64,
    /// Packet numbers of the peer that have not come, though higher ones have: those packets were
    /// lost, or are late, or the peer skipped their numbers.
    pub missing: u64,
    /// The number of datagrams that arrived since the current gap in the peer's data appeared,
    /// including the one that revealed it; 0 if there is no gap.
    pub behind_gap: u64,
    /// The time between the last acknowledgement and the departure of the newest packet that it
    /// settled, without the delay that the peer reports. RFC 9002 §5.3.
    pub acked_after: Duration,
    /// How often the probe timer fired. RFC 9002 §6.2.
    pub probe_timeouts: u64,
    pub bursts: u64,
    /// The UDP payload of a full datagram.
    pub datagram: u16,
    pub window: u64,
    pub in_flight: u64,
    pub rtt: Duration,
    /// The shortest round trip; `None` before the first sample.
    pub min_rtt: Option<Duration>,
    pub key_updates: u64,
    /// Whether packets are marked as able to carry congestion marks.
    pub ecn: bool,
    /// New stream data sent.
    pub stream_bytes_sent: u64,
    pub stream_bytes_resent: u64,
    pub stream_bytes_acked: u64,
    pub stream_bytes_received: u64,
    /// The number of streams that were abandoned because a gap was not filled in time.
    pub streams_given_up: u64,
    /// How often the path to the peer changed.
    pub migrations: u64,
}
