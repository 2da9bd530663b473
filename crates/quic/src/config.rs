//! The configuration of a connection. Each setting has a default that suits most uses.

use std::sync::Arc;
use std::time::Duration;

use crate::Budget;

/// The behaviour of a connection. Each end has its own configuration.
#[derive(Debug, Clone)]
pub struct Transport {
    /// The connection ends when nothing has come for this long; zero: never. RFC 9000 §10.1.
    pub idle_timeout: Duration,
    /// Sends a PING when nothing has been sent for this long.
    pub keep_alive: Option<Duration>,
    /// How much the peer may send on one stream before the application reads it.
    pub stream_window: u64,
    /// How much the peer may send on all streams before the application reads it.
    pub window: u64,
    /// The largest number of bytes that are buffered of data written but not acknowledged, over all
    /// streams. The buffer begins smaller and follows the congestion window.
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
    /// How often the peer is asked to acknowledge, if it supports the ACK frequency extension.
    pub ask_acks: AckPolicy,
    /// The number of packets that this end acknowledges with one ACK frame, unless the peer asks
    /// for another number. RFC 9000 §13.2.2.
    pub ack_every: u64,
    /// The longest that an acknowledgement waits. RFC 9000 §13.2.1.
    pub max_ack_delay: Duration,
    /// The first guess of the round trip. RFC 9002 §6.2.2.
    pub initial_rtt: Duration,
    /// Marks packets so that routers may mark congestion, and obeys the marks. RFC 9000 §13.4.
    pub ecn: bool,
    /// Whether a server's clients may migrate to another path, or whether a client may. RFC 9000
    /// §9.
    pub migration: bool,
    /// A limit of the application that early data relies on. As with all limits here, a session
    /// that began under a higher one is not resumed. For HTTP/3 it is the largest field section.
    /// RFC 9114 §7.2.4.2.
    pub application_limit: u64,
    /// The application error code for a stream that is abandoned because a gap in its data was not
    /// filled within half a minute.
    pub given_up_code: u64,
    /// The limit on what all connections with this budget may keep together.
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
            given_up_code: 0,
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
    /// Datagrams of this many bytes, at least 1200 (RFC 9000 §14.1); smaller ones if the path
    /// proves to be a black hole.
    Fixed(u16),
    /// A server sends datagrams as large as its client's first: a client that pads its first flight
    /// to the size it can receive has searched for both. A client searches as with
    /// [`Self::Discover`].
    Mirror,
    /// Searches for the largest size that arrives (RFC 8899); a server begins with the size of its
    /// client's first datagram.
    #[default]
    Discover,
}

/// The ACK frequency extension: what the peer is asked for. draft-ietf-quic-ack-frequency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AckPolicy {
    /// The peer is asked for nothing, and acknowledges as it likes.
    Unasked,
    /// One acknowledgement for this many packets.
    Every(u64),
    /// One acknowledgement for each eighth of the congestion window, but at least four in a round
    /// trip.
    #[default]
    EighthOfWindow,
}
