//! The facts about the name, the connection, the handshake and the response, apart from times.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::Moment;

/// The source of the addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The URL contained an address.
    Literal,
    /// `--resolve`, `--connect-to` or `--unix-socket` supplied the address.
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
    /// The aliases that were followed, in order.
    pub aliases: Vec<String>,
    pub ttl: Option<u32>,
    /// The number of queries that were repeated, and of switches to TCP.
    pub resent: u32,
    pub truncated: bool,
    pub https_record: Option<HttpsRecord>,
    pub waits: NameWaits,
}

/// The waits of a lookup in addition to the one for the first answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NameWaits {
    /// Names of the search list that were tried first without success, and how long that took.
    pub in_vain: Vec<String>,
    pub suffixes: Duration,
    /// The time of the query over TCP, because the answer was too long for UDP.
    pub over_tcp: Duration,
    /// The number of queries that got no answer in time. A failure that a server reports is an
    /// answer.
    pub unheard: u32,
    /// The record type (`A` or `AAAA`) whose query had to be repeated or was never answered, and
    /// for how long the answer of the other type had already been there.
    pub unanswered: Option<&'static str>,
    pub half: Duration,
    /// The wait for the HTTPS record once the addresses were known.
    pub https_record: Duration,
    /// The time to open a connection to the resolver (DNS over HTTPS).
    pub opening: Duration,
    /// How long the last answer had been there before it was read.
    pub unread: Duration,
    /// How long the same lookup took when it was repeated during the exchange.
    pub again: Option<Duration>,
}

/// The number of aliases that is unusual: one leads to a content network, and often a second one
/// leads on within it.
const MANY_ALIASES: usize = 3;

impl NameFacts {
    /// Whether there are more aliases than usual.
    pub fn has_many_aliases(&self) -> bool {
        self.aliases.len() >= MANY_ALIASES
    }

    /// The facts of a name that needs no query.
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
    /// The name that provides the service, or empty for the owner of the record.
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
    /// The attempt was abandoned before an answer came: another attempt was faster, or the time was
    /// up.
    Abandoned,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FastOpenFacts {
    pub asked: bool,
    /// The kernel had a cookie for the peer, so data could be sent in the SYN.
    pub cookie: bool,
    /// The size of the first flight in bytes; the SYN carried as much of it as fitted.
    pub data_sent: u64,
    /// The number of these bytes that the SYN-ACK acknowledged.
    pub data_acked: u64,
    /// 1 if the SYN-ACK acknowledged the whole first flight, otherwise 0.
    pub saved_round_trips: u32,
    /// The reason that the kernel gives for a failure (`tcpi_fastopen_client_fail`).
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
    /// The variation of the kernel's round-trip samples (`tcpi_rttvar`).
    pub rtt_var: Option<Duration>,
    pub retransmits: u32,
    /// The number of retransmitted segments whose originals had arrived, as the peer reports (RFC
    /// 2883).
    pub needless_retransmits: u32,
    pub syn_retransmits: u32,
    pub congestion_window: u32,
    pub mss: u32,
    /// The largest segment in bytes when the connection was new. If `mss` is smaller now, the path
    /// did not carry that size.
    pub first_mss: u32,
    /// The MSS that the peer announced, in bytes. `None` if it is not below the limit of the path's
    /// MTU: in that case the kernel does not report it.
    pub announced_mss: Option<u32>,
    /// The kernel's estimate of the size of the segments that arrive (`tcpi_rcv_mss`).
    pub peer_mss: u32,
    pub congestion_control: String,
    pub ecn: bool,
    /// Segments that arrived out of order: an earlier one was lost or late.
    pub out_of_order: u32,
    /// How long the peer's receive window delayed sending.
    pub receiver_limited: Duration,
    /// The largest receive window that the peer has advertised, in bytes.
    pub peer_window: u64,
    /// The rate at which the peer received data, in bytes a second, if the kernel has measured it.
    pub delivery_rate: u64,
    /// The rate was limited by the amount of data to send, so it does not measure the path.
    pub delivery_app_limited: bool,
}

/// The activity of a kept connection before this exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeptFacts {
    /// The time since anything was last sent or received.
    pub idle: Duration,
    pub bytes_received: u64,
    /// How much farther away the server is than what acknowledges, as the exchange that opened the
    /// connection showed ([`Exchange::beyond`](crate::Exchange::beyond)).
    pub beyond: Option<Duration>,
}

/// Why a connection was opened although an open one was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotKept {
    /// The previous response had announced that the connection would close.
    Announced,
    /// The server closed the connection while it was idle.
    Idle,
    /// The server closed the connection while the request was on its way.
    Crossed,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TlsFacts {
    pub version: String,
    pub cipher: String,
    pub group: String,
    pub alpn: Option<String>,
    pub resumed: bool,
    /// A ticket or a session was offered to the server.
    pub ticket_shown: bool,
    pub early_data: EarlyData,
    pub hello_retry: bool,
    pub client_hello_bytes: u64,
    /// The number of flights in both directions, as seen from the network.
    pub flights: u32,
    pub bytes_received: u64,
    pub bytes_sent: u64,
    pub tickets: u32,
    pub chain: Option<ChainFacts>,
    /// OpenSSL's number for the reason why verification failed, as curl reports it; 0 if it
    /// succeeded.
    pub verify_result: u32,
    pub client_certificate_asked: bool,
}

/// The outcome of early data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EarlyData {
    /// Early data was not requested, or there was no ticket for it.
    #[default]
    NotOffered,
    Accepted,
    Refused,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChainFacts {
    pub certificates: Vec<CertificateFacts>,
    /// The size of the Certificate message on the wire in bytes, after compression.
    pub bytes_on_wire: u64,
    /// The compression algorithm of the chain, if it was compressed (RFC 8879).
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
    /// The number of packets that were declared lost before the handshake was complete.
    pub lost_in_handshake: u64,
    /// Packet numbers of the server that never arrived although higher ones did: they were lost or
    /// skipped.
    pub missing_packets: u64,
    /// How often data from the server arrived after data that follows it in the stream.
    pub gaps: u32,
    /// How often the client's probe timer fired. RFC 9002 §6.2.
    pub probe_timeouts: u64,
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
    /// The trailer section, of HTTP/2 only.
    pub trailers: Vec<(String, Vec<u8>)>,
    /// Interim responses (1xx) before the final one.
    pub interim: Vec<u16>,
    pub request_bytes: u64,
    pub header_bytes: u64,
    pub uploaded: u64,
    /// How long the body waited for `100 Continue`, or until the client stopped waiting.
    pub continue_wait: Option<Duration>,
    /// The number of body bytes, as received and after decoding (`--compressed`).
    pub downloaded: u64,
    pub decoded: u64,
    /// The body ended with the connection, and TLS did not announce that end (close_notify): some
    /// of the body may be missing. RFC 9112 §9.8.
    pub is_cut: bool,
    pub redirect: Option<String>,
    pub server_timing: Vec<(String, Option<Duration>, String)>,
    pub alt_svc: Option<String>,
    /// The connection can carry another request.
    pub keep_alive: bool,
    pub proxy_status: u16,
    /// A proxy got the request, not the server through a tunnel (RFC 9112 §3.2.2).
    pub asked_proxy: bool,
}

impl HttpFacts {
    /// Whether request and response could be read. An observer without keys sees only their sizes.
    pub fn is_seen(&self) -> bool {
        self.status != 0
    }

    /// The first header with that name, compared case-insensitively.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| v.as_slice())
    }
}

/// The result of the fast-open echo. It sends `hello\n` twice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EchoFacts {
    pub sent: u64,
    pub received: u64,
    pub exchanges: u32,
}
