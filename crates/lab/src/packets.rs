//! The packets of a run: the packets that each end sent, their times, and the path's effects on
//! them, from the path's recording of both ends. `text` and `html` draw them; `path` makes the
//! recording.

mod recording;

use roundtrip_wire::packet::Flags;
use serde::{Serialize, Serializer};

use crate::rounding::rounded_some;

pub use recording::RecordingError;

/// A packet from one end to the other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TracedPacket {
    /// The index of the packet's connection, in the order of the connections' first packets, from
    /// 0.
    pub connection: usize,
    pub from: PacketEnd,
    /// Milliseconds since the first packet; `None` if no end sent it, because the path made it.
    #[serde(serialize_with = "rounded_some")]
    pub sent_ms: Option<f64>,
    /// When the packet arrived; `None` if it was lost.
    #[serde(serialize_with = "rounded_some")]
    pub arrived_ms: Option<f64>,
    /// `SYN+ACK`, or `UDP`
    #[serde(rename = "what", serialize_with = "name")]
    pub kind: PacketProtocol,
    pub fast_open: Option<FastOpen>,
    /// Payload bytes.
    pub bytes: usize,
    /// Whether this end had sent these bytes, or this SYN, before.
    pub again: bool,
    /// For a SYN-ACK: how many bytes of the SYN's payload it acknowledges.
    pub acknowledges: Option<u32>,
    /// The path's effects on the packet, or why it was lost.
    pub path: Vec<String>,
    /// Bytes that this end had already sent, and that the other end had already received.
    pub repeated: Repeated,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PacketEnd {
    Client,
    Server,
}

impl PacketEnd {
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketProtocol {
    Tcp(Flags),
    Udp,
}

/// The fast-open option (RFC 7413 §4.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FastOpen {
    /// The client has no cookie, and requests one.
    Asks,
    /// A cookie, which the client presents or the server issues.
    Cookie,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Repeated {
    pub sent: u64,
    pub arrived: u64,
}

impl TracedPacket {
    /// Whether nothing depends on the packet: it is a pure acknowledgement, or a close.
    pub fn is_idle(&self) -> bool {
        let idle = Flags::ACK | Flags::FIN;
        matches!(self.kind, PacketProtocol::Tcp(flags) if flags.without(idle).is_empty())
            && self.bytes == 0
    }

    pub fn is_lost(&self) -> bool {
        self.arrived_ms.is_none()
    }

    /// `SYN, cookie, 87 bytes`
    pub fn describe(&self) -> String {
        let mut words = vec![match self.kind {
            PacketProtocol::Tcp(flags)
                if self.bytes > 0 && !flags.intersects(Flags::SYN | Flags::FIN) =>
            {
                "data".to_owned()
            }
            PacketProtocol::Tcp(flags) => flags.without(Flags::PSH).to_string(),
            PacketProtocol::Udp => "datagram".to_owned(),
        }];
        words.extend(self.fast_open.map(|option| match (option, self.from) {
            (FastOpen::Asks, _) => "asks for a cookie".to_owned(),
            (FastOpen::Cookie, PacketEnd::Client) => "shows its cookie".to_owned(),
            (FastOpen::Cookie, PacketEnd::Server) => "gives a cookie".to_owned(),
        }));
        match self.bytes {
            0 => {}
            1 => words.push("1 byte".into()),
            bytes => words.push(format!("{bytes} bytes")),
        }
        words.extend(match self.acknowledges {
            None | Some(0) => None,
            Some(bytes) => Some(format!("acknowledges {bytes} bytes of the SYN")),
        });
        if self.again {
            words.push("again".into());
        }
        words.join(", ")
    }
}

/// Payload bytes that the client sent again.
pub(crate) fn sent_twice(packets: &[TracedPacket]) -> u64 {
    from_client(packets)
        .map(|packet| packet.repeated.sent)
        .sum()
}

/// Payload bytes of the client that reached the server again.
pub(crate) fn arrived_twice(packets: &[TracedPacket]) -> u64 {
    let repeated = from_client(packets).map(|packet| packet.repeated.arrived);
    repeated.sum()
}

fn from_client(packets: &[TracedPacket]) -> impl Iterator<Item = &TracedPacket> {
    packets
        .iter()
        .filter(|packet| packet.from == PacketEnd::Client)
}

/// Reads a recording of the path.
pub(crate) fn read(pcapng: &[u8]) -> Result<Vec<TracedPacket>, RecordingError> {
    recording::read(pcapng)
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks so
fn name<S: Serializer>(kind: &PacketProtocol, serializer: S) -> Result<S::Ok, S::Error> {
    match kind {
        PacketProtocol::Tcp(flags) => serializer.collect_str(flags),
        PacketProtocol::Udp => serializer.serialize_str("UDP"),
    }
}
