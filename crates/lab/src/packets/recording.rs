//! Reads packets from a recording of both ends: matches packets that left one end with packets that
//! arrived at the other.

use std::collections::BTreeMap;
use std::net::IpAddr;

use roundtrip_wire::packet::{Flags, OptionValue, Packet as Read, Tcp};
use roundtrip_wire::pcapng::{Block, Captured, PacketDirection, PcapngReader};

use super::{FastOpen, PacketEnd, PacketProtocol, Repeated, TracedPacket};

/// The interfaces of the recording, in order.
const ENDS: [PacketEnd; 2] = [PacketEnd::Client, PacketEnd::Server];
/// The prefix of the path's comment about a lost packet.
const LOST: &str = "lost: ";
const DELIVERED: &str = "delivered after ";

#[derive(Debug, thiserror::Error)]
#[error("the recording cannot be read: {0}")]
pub struct RecordingError(#[from] roundtrip_wire::Error);

pub(super) fn read(pcapng: &[u8]) -> Result<Vec<TracedPacket>, RecordingError> {
    let mut sights = Vec::new();
    for block in PcapngReader::new(pcapng) {
        if let Block::Packet(captured) = block? {
            sights.extend(RecordedPacket::from_captured(&captured));
        }
    }
    let mut crossings = paired(sights);
    crossings.sort_by_key(Crossing::first);
    Ok(told(&crossings))
}

/// A packet at one end.
#[derive(Debug, Clone)]
struct RecordedPacket {
    at: u64,
    end: PacketEnd,
    /// Whether the packet arrived at this end, or left from it.
    arrives: bool,
    ports: (u16, u16),
    addresses: (IpAddr, IpAddr),
    kind: PacketProtocol,
    sequence: u32,
    acknowledgment: u32,
    bytes: usize,
    fast_open: Option<FastOpen>,
    comments: Vec<String>,
}

impl RecordedPacket {
    /// Reads a packet; `None` if it is neither TCP nor UDP, but the kernel's own traffic.
    fn from_captured(captured: &Captured<'_>) -> Option<Self> {
        let packet = Read::parse(&captured.data).ok()?;
        let segment = packet.tcp();
        let (kind, bytes) = match (&segment, packet.udp()) {
            (Some(segment), _) => (
                PacketProtocol::Tcp(segment.flags()),
                segment.payload_length(),
            ),
            (None, Some(datagram)) => (PacketProtocol::Udp, datagram.payload().len()),
            (None, None) => return None,
        };
        Some(Self {
            at: captured.time?,
            end: *ENDS.get(captured.interface as usize)?,
            arrives: captured.direction == Some(PacketDirection::Inbound),
            ports: packet.ports()?,
            addresses: (packet.source(), packet.destination()),
            kind,
            sequence: segment.as_ref().map_or(0, Tcp::sequence),
            acknowledgment: segment.as_ref().map_or(0, Tcp::acknowledgment),
            bytes,
            fast_open: segment.as_ref().and_then(fast_open),
            comments: captured.comments.iter().map(ToString::to_string).collect(),
        })
    }

    fn sender(&self) -> PacketEnd {
        match (self.end, self.arrives) {
            (PacketEnd::Client, false) | (PacketEnd::Server, true) => PacketEnd::Client,
            _ => PacketEnd::Server,
        }
    }

    fn is_lost(&self) -> bool {
        self.comments.iter().any(|said| said.starts_with(LOST))
    }

    /// Whether both are the same packet. Addresses and options are not compared, because boxes may
    /// change them.
    fn is_same(&self, other: &Self) -> bool {
        let of = |sight: &Self| (sight.sender(), sight.kind, sight.sequence, sight.bytes);
        of(self) == of(other)
    }
}

fn fast_open(segment: &Tcp<'_>) -> Option<FastOpen> {
    segment.options().find_map(|option| match option.value {
        OptionValue::FastOpen { cookie: [], .. } => Some(FastOpen::Asks),
        OptionValue::FastOpen { .. } => Some(FastOpen::Cookie),
        _ => None,
    })
}

/// The passage of a packet: where it entered the path, and where it came out. At least one of the
/// two is present.
#[derive(Debug)]
struct Crossing {
    entry: Option<RecordedPacket>,
    exit: Option<RecordedPacket>,
}

impl Crossing {
    fn first(&self) -> u64 {
        self.sight().map_or(0, |sight| sight.at)
    }

    /// The packet as an end sent it. If no end did, the packet as it left the path.
    fn sight(&self) -> Option<&RecordedPacket> {
        self.entry.as_ref().or(self.exit.as_ref())
    }

    /// The packet's connection as the client knows it: a box may translate address and port.
    fn key(&self) -> Option<(IpAddr, u16, u16)> {
        let at_client = |sight: &&RecordedPacket| sight.end == PacketEnd::Client;
        let both = [self.entry.as_ref(), self.exit.as_ref()];
        let known = both.into_iter().flatten().find(at_client);
        let sight = known.or(self.sight())?;
        Some(match sight.sender() {
            PacketEnd::Client => (sight.addresses.0, sight.ports.0, sight.ports.1),
            PacketEnd::Server => (sight.addresses.1, sight.ports.1, sight.ports.0),
        })
    }
}

fn paired(sights: Vec<RecordedPacket>) -> Vec<Crossing> {
    let (arrivals, entries): (Vec<RecordedPacket>, Vec<RecordedPacket>) =
        sights.into_iter().partition(|sight| sight.arrives);
    let mut crossings: Vec<Crossing> = entries
        .into_iter()
        .map(|entry| Crossing {
            entry: Some(entry),
            exit: None,
        })
        .collect();
    for arrival in arrivals {
        let origin = crossings.iter_mut().find(|crossing| {
            let entry = crossing.entry.as_ref();
            crossing.exit.is_none()
                && entry.is_some_and(|entry| {
                    entry.at <= arrival.at && !entry.is_lost() && entry.is_same(&arrival)
                })
        });
        match origin {
            Some(crossing) => crossing.exit = Some(arrival),
            None => crossings.push(Crossing {
                entry: None,
                exit: Some(arrival),
            }),
        }
    }
    crossings
}

fn told(crossings: &[Crossing]) -> Vec<TracedPacket> {
    let zero = crossings.first().map_or(0, Crossing::first);
    let ms = |sight: &RecordedPacket| sight.at.saturating_sub(zero) as f64 / 1e6;
    let mut flows: BTreeMap<_, ConnectionState> = BTreeMap::new();
    let mut packets = Vec::new();
    for crossing in crossings {
        let (Some(sight), Some(key)) = (crossing.sight(), crossing.key()) else {
            continue;
        };
        let next = flows.len();
        let flow = flows
            .entry(key)
            .or_insert_with(|| ConnectionState::numbered(next));
        let sent = crossing.entry.as_ref();
        let repeated = flow.count(sight, sent.is_some(), crossing.exit.is_some());
        let again = sent.is_some() && flow.sends_again(sight, repeated);
        packets.push(TracedPacket {
            connection: flow.number,
            from: sight.sender(),
            sent_ms: sent.map(ms),
            arrived_ms: crossing.exit.as_ref().map(ms),
            kind: sight.kind,
            fast_open: sight.fast_open,
            bytes: sight.bytes,
            again,
            acknowledges: flow.acknowledged(sight),
            path: remarks(sight),
            repeated,
        });
    }
    packets
}

/// The path's effects, besides the delivery.
fn remarks(sight: &RecordedPacket) -> Vec<String> {
    let told = sight.comments.iter();
    told.filter(|said| !said.starts_with(DELIVERED))
        .cloned()
        .collect()
}

/// The state of one connection.
#[derive(Debug)]
struct ConnectionState {
    number: usize,
    /// Sequence numbers of each end's payload: how far it was sent, and how far it arrived.
    client: Reach,
    server: Reach,
}

#[derive(Debug, Default)]
struct Reach {
    /// The initial sequence number.
    syn: Option<u32>,
    syns: u32,
    sent: u64,
    arrived: u64,
}

impl ConnectionState {
    fn numbered(number: usize) -> Self {
        Self {
            number,
            client: Reach::default(),
            server: Reach::default(),
        }
    }

    fn reach(&mut self, end: PacketEnd) -> &mut Reach {
        match end {
            PacketEnd::Client => &mut self.client,
            PacketEnd::Server => &mut self.server,
        }
    }

    /// Counts the packet, and returns how many of its bytes had been sent, and received, before.
    fn count(&mut self, sight: &RecordedPacket, is_sent: bool, arrives: bool) -> Repeated {
        let PacketProtocol::Tcp(flags) = sight.kind else {
            return Repeated::default();
        };
        let is_syn = flags.contains(Flags::SYN);
        let reach = self.reach(sight.sender());
        if is_syn {
            reach.syn = Some(sight.sequence);
            reach.syns += u32::from(is_sent);
        }
        // The SYN takes one sequence number before the first byte (RFC 9293 §3.4).
        let before_first = reach.syn.unwrap_or(sight.sequence.wrapping_sub(1));
        let start = sight.sequence.wrapping_sub(before_first);
        let start = u64::from(if is_syn { 0 } else { start.wrapping_sub(1) });
        let end = start + sight.bytes as u64;
        let overlap = |until: u64| until.min(end).saturating_sub(start);
        let mut repeated = Repeated::default();
        if is_sent {
            repeated.sent = overlap(reach.sent);
            reach.sent = reach.sent.max(end);
        }
        if arrives {
            repeated.arrived = overlap(reach.arrived);
            reach.arrived = reach.arrived.max(end);
        }
        repeated
    }

    fn sends_again(&mut self, sight: &RecordedPacket, repeated: Repeated) -> bool {
        let is_syn = matches!(sight.kind, PacketProtocol::Tcp(flags) if flags.contains(Flags::SYN));
        repeated.sent > 0 || (is_syn && self.reach(sight.sender()).syns > 1)
    }

    fn acknowledged(&self, sight: &RecordedPacket) -> Option<u32> {
        let PacketProtocol::Tcp(flags) = sight.kind else {
            return None;
        };
        let answers =
            flags.contains(Flags::SYN | Flags::ACK) && sight.sender() == PacketEnd::Server;
        let beyond = sight.acknowledgment.wrapping_sub(self.client.syn?);
        answers.then(|| beyond.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests;
