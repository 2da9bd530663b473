//! The configuration of a connection: every knob, with the value that serves most.

use std::sync::Arc;
use std::time::Duration;

use crate::Budget;

/// How one connection behaves. Both ends have their own.
#[derive(Debug, Clone)]
pub struct Transport {
    /// The connection ends when nothing came for this long; zero: never. RFC 9000 §10.1.
    pub idle_timeout: Duration,
    /// Sends a PING when nothing was sent for this long.
    pub keep_alive: Option<Duration>,
    /// How much the peer may send on one stream before it is read.
    pub stream_window: u64,
    /// How much the peer may send on all streams before it is read.
    pub window: u64,
    /// How much is kept of what was written and not acknowledged, over all streams, at most: it
    /// begins with less and follows the congestion window.
    pub send_buffer: u64,
    /// How many streams the peer may have open at once.
    pub bidi_streams: u64,
    pub uni_streams: u64,
    pub congestion: CongestionControl,
    /// Spreads bursts over the round trip. RFC 9002 §7.7.
    pub pacing: bool,
    /// How many datagrams leave in one burst, 1–64. The pacer may allow fewer.
    pub burst: usize,
    pub datagram: DatagramSize,
    /// How often the peer is asked to acknowledge (if it knows how: the ACK frequency extension).
    pub ask_acks: AckPolicy,
    /// How often this end acknowledges while the peer has not asked: one acknowledgement for this
    /// many packets. RFC 9000 §13.2.2.
    pub ack_every: u64,
    /// The longest that an acknowledgement waits. RFC 9000 §13.2.1.
    pub max_ack_delay: Duration,
    /// The first guess of the round trip. RFC 9002 §6.2.2.
    pub initial_rtt: Duration,
    /// Marks packets so that routers may mark congestion, and obeys the marks. RFC 9000 §13.4.
    pub ecn: bool,
    /// Lets the server change the client's path, and the client use it. RFC 9000 §9.
    pub migration: bool,
    /// A limit of the application's that early data relies on: a session that was begun under a
    /// higher one is not resumed, as with all limits here. HTTP/3's is its largest field section.
    /// RFC 9114 §7.2.4.2.
    pub application_limit: u64,
    /// What all connections with this budget may keep together.
    pub budget: Option<Arc<Budget>>,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            idle_timeout: Duration::from_secs(30),
            keep_alive: None,
            stream_window: 6 << 20,
            window: 16 << 20,
            send_buffer: 8 << 20,
            bidi_streams: 100,
            uni_streams: 100,
            congestion: CongestionControl::Cubic,
            pacing: true,
            burst: 44,
            datagram: DatagramSize::Discover,
            ask_acks: AckPolicy::EighthOfWindow,
            ack_every: 2,
            max_ack_delay: Duration::from_millis(25),
            initial_rtt: Duration::from_millis(333),
            ecn: true,
            migration: true,
            application_limit: 0,
            budget: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CongestionControl {
    /// RFC 9438, with HyStart++ (RFC 9406).
    #[default]
    Cubic,
    /// RFC 9002 §7.
    Reno,
    /// draft-ietf-ccwg-bbr.
    Bbr,
}

/// The size of UDP payloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DatagramSize {
    /// From 1200 bytes on (RFC 9000 §14.1), always this many; smaller where the path proves to be a
    /// black hole.
    Fixed(u16),
    /// A server sends datagrams as large as the first that its client sent: a client that pads its
    /// first flight to the size it can receive has searched for both. A client takes what it would
    /// send without.
    Mirror,
    /// Searches for the largest that arrives (RFC 8899); a server begins with what its client began
    /// with.
    #[default]
    Discover,
}

/// The ACK frequency extension: what the peer is asked for. draft-ietf-quic-ack-frequency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AckPolicy {
    /// Nothing: it acknowledges as it likes.
    Unasked,
    /// One acknowledgement for this many packets.
    Every(u64),
    /// One for each eighth of the congestion window, never rarer than four a round trip.
    #[default]
    EighthOfWindow,
}
