//! What was learnt about the name, the connection, the handshake and the response, beside the times.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::Moment;

/// Where addresses came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The URL held an address.
    Literal,
    /// `--resolve`, `--connect-to` or `--unix-socket` said so.
    Given,
    /// /etc/hosts, or the reserved name `localhost`.
    Hosts,
    /// A name server, over UDP or (after truncation) TCP.
    Server(SocketAddr),
    /// DNS over HTTPS.
    Doh(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameFacts {
    pub host: String,
    pub answer: Answer,
    pub addresses: Vec<IpAddr>,
    /// Aliases followed, in order.
    pub aliases: Vec<String>,
    pub ttl: Option<u32>,
    /// Queries that had to be sent again, and switches to TCP.
    pub resent: u32,
    pub truncated: bool,
    pub https_record: Option<HttpsRecord>,
    pub waits: NameWaits,
}

/// What a lookup waited for beside the first answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NameWaits {
    /// Names of the search list that were asked for first, in vain, and how long that took.
    pub in_vain: Vec<String>,
    pub suffixes: Duration,
    /// The question again over TCP, because the answer was too long for UDP.
    pub over_tcp: Duration,
    /// The kind of address (`A` or `AAAA`) whose question had to be repeated or was never answered, and for how long
    /// the other kind's answer had been there.
    pub unanswered: Option<&'static str>,
    pub half: Duration,
    /// The HTTPS record, when the addresses were there.
    pub https_record: Duration,
    /// The connection to the resolver that had to be opened first (DNS over HTTPS).
    pub opening: Duration,
}

impl NameFacts {
    /// What is known before anything was asked.
    pub fn new(host: &str, answer: Answer, addresses: Vec<IpAddr>) -> Self {
        Self {
            host: host.to_owned(),
            answer,
            addresses,
            aliases: Vec::new(),
            ttl: None,
            resent: 0,
            truncated: false,
            https_record: None,
            waits: NameWaits::default(),
        }
    }
}

/// The HTTPS record of a name. RFC 9460.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpsRecord {
    pub priority: u16,
    /// The name that serves, or empty for the owner itself.
    pub target: String,
    pub alpn: Vec<String>,
    pub port: Option<u16>,
    pub hints: Vec<IpAddr>,
    pub ech: bool,
}

/// One connection attempt. RFC 8305.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub peer: SocketAddr,
    pub over_quic: bool,
    pub began: Moment,
    pub ended: Moment,
    pub outcome: AttemptOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptOutcome {
    Won,
    Failed(String),
    /// Another attempt was faster.
    Abandoned,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FastOpenFacts {
    pub asked: bool,
    /// The kernel had a cookie for the peer, so that data could leave in the SYN.
    pub cookie: bool,
    /// The first flight, which the SYN carried as far as it had room.
    pub data_sent: u64,
    /// How much of it the SYN-ACK acknowledged.
    pub data_acked: u64,
    /// 1 when the whole first flight was acknowledged by the SYN-ACK, else 0.
    pub saved_round_trips: u32,
    /// The kernel's own reason for a failure (`tcpi_fastopen_client_fail`).
    pub kernel_says: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TcpFacts {
    pub local: Option<SocketAddr>,
    pub peer: Option<SocketAddr>,
    pub fast_open: FastOpenFacts,
    pub handshake_rtt: Option<Duration>,
    pub min_rtt: Option<Duration>,
    pub rtt: Option<Duration>,
    pub retransmits: u32,
    pub syn_retransmits: u32,
    pub congestion_window: u32,
    pub mss: u32,
    /// The largest segment when the connection was new: where `mss` is smaller now, the path did not carry it.
    pub first_mss: u32,
    pub peer_mss: u32,
    pub congestion_control: String,
    pub ecn: bool,
    /// Segments that came out of order: something before them was lost or late.
    pub out_of_order: u32,
    /// How long the peer's window held back what was to be sent.
    pub receiver_limited: Duration,
    /// How fast the peer took what was sent, in bytes a second, where the kernel has measured it.
    pub delivery_rate: u64,
    /// That was as much as there was to send, and no measure of the path.
    pub delivery_app_limited: bool,
}

/// What a connection that was kept had done before this exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeptFacts {
    /// Since anything last came or went.
    pub idle: Duration,
    pub bytes_received: u64,
}

/// Why a connection was opened although one should have been there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotKept {
    /// The answer before had said that the connection would end.
    Announced,
    /// The server had ended it while it was idle.
    Idle,
    /// The server ended it while the request was on its way.
    Crossed,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TlsFacts {
    pub version: String,
    pub cipher: String,
    pub group: String,
    pub alpn: Option<String>,
    pub resumed: bool,
    /// A ticket or a session was shown to the server.
    pub ticket_shown: bool,
    pub early_data: EarlyData,
    pub hello_retry: bool,
    pub client_hello_bytes: u64,
    /// Flights in both directions, as an observer of the wire would count them.
    pub flights: u32,
    pub bytes_received: u64,
    pub bytes_sent: u64,
    pub tickets: u32,
    pub chain: Option<ChainFacts>,
    /// 0, or OpenSSL's number for why verification failed, as curl reports it.
    pub verify_result: u32,
    pub client_certificate_asked: bool,
}

/// What became of early data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EarlyData {
    /// Not asked for, or nothing to send it under.
    #[default]
    NotOffered,
    Accepted,
    Refused,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChainFacts {
    pub certificates: Vec<CertificateFacts>,
    /// The Certificate message on the wire, compressed where it was.
    pub bytes_on_wire: u64,
    /// The algorithm, where the chain came compressed (RFC 8879).
    pub compressed: Option<&'static str>,
    pub stapled_ocsp: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CertificateFacts {
    pub subject: String,
    pub issuer: String,
    pub names: Vec<String>,
    pub days_left: i64,
    pub not_after: i64,
    pub key: String,
    pub bytes: u64,
    pub der: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuicFacts {
    pub local: Option<SocketAddr>,
    pub peer: Option<SocketAddr>,
    pub min_rtt: Option<Duration>,
    pub retry: bool,
    pub version_negotiation: bool,
    pub datagrams_sent: u64,
    pub datagrams_received: u64,
    pub lost_packets: u64,
    /// How many of them before the handshake was over.
    pub lost_in_handshake: u64,
    pub mtu: u16,
    pub congestion_window: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpFacts {
    pub method: String,
    /// "1.0", "1.1", "2", "3".
    pub version: String,
    pub status: u16,
    pub reason: String,
    pub headers: Vec<(String, Vec<u8>)>,
    /// Interim responses (1xx) before the final one.
    pub interim: Vec<u16>,
    pub request_bytes: u64,
    pub header_bytes: u64,
    pub uploaded: u64,
    /// How long the body waited for `100 Continue`, or for the patience to end.
    pub continue_wait: Option<Duration>,
    /// Body bytes as they came, and after decoding (`--compressed`).
    pub downloaded: u64,
    pub decoded: u64,
    pub redirect: Option<String>,
    pub server_timing: Vec<(String, Option<Duration>, String)>,
    pub alt_svc: Option<String>,
    /// The connection may carry another request.
    pub keep_alive: bool,
    pub proxy_status: u16,
}

impl HttpFacts {
    /// The first header of that name, whatever its case.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| v.as_slice())
    }
}

/// What the fast-open echo saw. Article: `hello\n`, twice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EchoFacts {
    pub sent: u64,
    pub received: u64,
    pub exchanges: u32,
}
