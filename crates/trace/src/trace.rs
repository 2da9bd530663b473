//! Takes frames and returns conversations: connections are followed concurrently, and are returned
//! when they end.

mod endings;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

use roundtrip_wire::capture::CaptureItem;
use roundtrip_wire::dns::Message;
use roundtrip_wire::key_log::KeyLog;
use roundtrip_wire::link::{LinkDirection, ip_packet};
use roundtrip_wire::packet::{Packet, Tcp, Udp};
use roundtrip_wire::pcapng::{Captured, LinkType, PacketDirection};

use crate::clocks::ClockRelation;
use crate::counts::CaptureCounts;
use crate::flow::{Carried, Flow};
use crate::fragments::Fragments;
use crate::join::FAR;
use crate::key::FlowKey;
use crate::names::NameLookups;
use crate::quic::QuicFlow;
use crate::relations::{ConnectionEnds, Openers};
use crate::siblings::Siblings;
use crate::tcp::TcpFlow;
use crate::translated::TranslatedConnections;

const DNS: u16 = 53;
/// How long a connection may be silent before it counts as ended, in nanoseconds.
const MAX_IDLE: u64 = 900_000_000_000;
/// The number of interfaces that are searched for the same connection, and whose lookups are kept
/// apart.
const MAX_INTERFACES: u32 = 256;
/// The fewest frames between two searches for ended connections; one is added per connection.
const LOOK_EVERY: u64 = 4096;
/// Even with few connections, the trace looks for ended ones after this many nanoseconds of the
/// capture.
const LOOK_WITHIN: u64 = 1_000_000_000;

/// The limits and the selection of a trace.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The largest number of bytes that all connections may take.
    pub memory: usize,
    /// Use only frames of this interface.
    pub interface: Option<u32>,
    /// Report the packets of each connection individually.
    pub steps: bool,
    /// A second capture is read as well, with this relation to the first.
    pub far: Option<ClockRelation>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory: 256 << 20,
            interface: None,
            steps: true,
            far: None,
        }
    }
}

/// A capture that is being read.
pub struct Trace {
    options: Options,
    flows: HashMap<FlowKey, Flow>,
    /// All interfaces that have carried a connection so far.
    interfaces: Vec<u32>,
    lookups: HashMap<u32, NameLookups>,
    ends: HashMap<u32, ConnectionEnds>,
    openers: Openers,
    /// Connections whose SYN was not answered yet, by interface, beginning and number.
    opening: BTreeMap<(u32, u64, u64), FlowKey>,
    counts: CaptureCounts,
    fragments: Fragments,
    /// The number of the last frame that was taken, in its capture.
    frame: u64,
    done: Siblings,
    twins: TranslatedConnections,
    /// The number of bytes that all connections take.
    held: usize,
    looked: u64,
    looked_at: u64,
    keys: Option<KeyLog>,
    /// Whether the secrets in the capture are among the known ones already.
    has_all_keys: bool,
}

impl Trace {
    pub fn new(options: Options) -> Self {
        Self {
            options,
            flows: HashMap::new(),
            interfaces: Vec::new(),
            lookups: HashMap::new(),
            ends: HashMap::new(),
            openers: Openers::default(),
            opening: BTreeMap::new(),
            counts: CaptureCounts::default(),
            fragments: Fragments::default(),
            frame: 0,
            done: Siblings::default(),
            twins: TranslatedConnections::default(),
            held: 0,
            looked: 0,
            looked_at: 0,
            keys: None,
            has_all_keys: false,
        }
    }

    /// Makes a trace of a capture whose secrets were read before, and are among these.
    pub fn with_keys(options: Options, keys: KeyLog) -> Self {
        let mut trace = Self::new(options);
        trace.keep_keys(keys);
        trace.has_all_keys = true;
        trace
    }

    /// The room for the secrets of connections, in bytes of a memory of so many.
    pub fn room_for_keys(memory: usize) -> usize {
        memory / 2
    }

    /// Adds whole lines of a key log. Connections that begin later are opened with their secrets.
    pub fn add_keys(&mut self, lines: &[u8]) {
        let room = Self::room_for_keys(self.options.memory);
        let keys = self.keys.take();
        let mut keys = keys.unwrap_or_else(|| KeyLog::with_room(room));
        keys.push(lines);
        keys.finish();
        self.keep_keys(keys);
    }

    fn keep_keys(&mut self, keys: KeyLog) {
        self.counts.damaged_keys = keys.damaged();
        self.counts.forgotten_keys = keys.forgotten();
        self.keys = Some(keys);
    }

    /// Takes the secrets out.
    pub fn take_keys(&mut self) -> Option<KeyLog> {
        self.keys.take()
    }

    /// Takes the next item of a capture.
    pub fn take(&mut self, item: CaptureItem<'_>) {
        match item {
            CaptureItem::Packet(packet) => self.push(&packet),
            CaptureItem::Secrets(lines) if !self.has_all_keys => self.add_keys(lines),
            CaptureItem::Secrets(_) | CaptureItem::Interface(_) => {}
        }
    }

    pub fn counts(&self) -> CaptureCounts {
        self.counts
    }

    /// Roughly the bytes that connections and their secrets hold.
    fn memory(&self) -> usize {
        self.held + self.keys.as_ref().map_or(0, KeyLog::held)
    }

    /// Takes the next frame.
    pub fn push(&mut self, captured: &Captured<'_>) {
        self.frame = self.counts.frames + 1;
        self.frame(captured);
    }

    /// Takes the next frame of two captures, with its number in its own capture. The times of the
    /// capture that is farther from the clients are converted.
    pub fn push_of_two(&mut self, is_far: bool, frame: u64, captured: &mut Captured<'_>) {
        if let Some(relation) = self.options.far.filter(|_| is_far) {
            captured.interface = captured.interface.saturating_add(FAR);
            captured.time = captured.time.map(|at| relation.moved(at));
        }
        self.frame = frame;
        self.frame(captured);
    }

    fn frame(&mut self, captured: &Captured<'_>) {
        self.counts.frames += 1;
        if self
            .options
            .interface
            .is_some_and(|only| only != captured.interface)
        {
            return;
        }
        let Some(at) = captured.time else {
            self.counts.other += 1;
            return;
        };
        self.counts.first.get_or_insert(at);
        self.counts.last = self.counts.last.max(at);
        let Some(inner) = ip_packet(captured.link, &captured.data) else {
            self.counts.not_ip += 1;
            return;
        };
        let way = inner
            .way
            .or(captured.direction.map(|direction| match direction {
                PacketDirection::Inbound => LinkDirection::Incoming,
                PacketDirection::Outbound => LinkDirection::Outgoing,
            }));
        let Ok(packet) = Packet::parse(inner.packet) else {
            self.counts.not_ip += 1;
            return;
        };
        if (captured.data.len() as u64) < u64::from(captured.original_length) {
            self.counts.cut += 1;
        }
        if packet.fragment().is_whole() {
            self.packet(captured.interface, at, way, &packet);
        } else {
            self.fragment(captured.interface, at, way, &packet);
        }
        let since = self.counts.frames - self.looked;
        let flows = self.flows.len() as u64;
        // If few frames come, as through a pipe, the time decides.
        let long = at.saturating_sub(self.looked_at) >= LOOK_WITHIN && since >= flows / 16;
        let due = since >= LOOK_EVERY.max(flows) || long;
        if due || (self.memory() > self.options.memory && since >= LOOK_EVERY / 16) {
            self.looked = self.counts.frames;
            self.looked_at = at;
            self.look(at);
        }
    }

    fn packet(&mut self, interface: u32, at: u64, way: Option<LinkDirection>, packet: &Packet<'_>) {
        if let Some(tcp) = packet.tcp() {
            self.tcp(interface, at, way, packet, &tcp);
        } else if let Some(udp) = packet.udp() {
            self.udp(interface, at, way, packet, &udp);
        } else {
            self.counts.other += 1;
        }
    }

    /// A reassembled packet may turn out to belong to a tunnel.
    fn fragment(
        &mut self,
        interface: u32,
        at: u64,
        way: Option<LinkDirection>,
        packet: &Packet<'_>,
    ) {
        self.counts.fragments += 1;
        // Truncated fragments cannot be joined; the first one still has the headers.
        if !packet.is_complete() && packet.fragment().offset == 0 {
            self.packet(interface, at, way, packet);
            return;
        }
        let Some((whole, pieces)) = self.fragments.push(interface, at, packet) else {
            return;
        };
        self.counts.fragments = self.counts.fragments.saturating_sub(pieces);
        let whole = Cow::Owned(whole);
        let inner = ip_packet(LinkType::RAW, &whole);
        match inner.and_then(|inner| Packet::parse(inner.packet).ok()) {
            Some(packet) if packet.fragment().is_whole() => {
                self.packet(interface, at, way, &packet);
            }
            _ => self.counts.other += 1,
        }
    }

    fn tcp(
        &mut self,
        interface: u32,
        at: u64,
        way: Option<LinkDirection>,
        packet: &Packet<'_>,
        tcp: &Tcp<'_>,
    ) {
        let from = SocketAddr::new(packet.source(), tcp.source_port());
        let to = SocketAddr::new(packet.destination(), tcp.destination_port());
        if from.port() == DNS || to.port() == DNS {
            // RFC 1035 §4.2.2: the length comes first.
            if let Some(Ok(message)) = tcp.payload().get(2..).map(Message::parse) {
                let lookups = self.lookups.entry(shared(interface)).or_default();
                lookups.push(at, from, to, &message);
            }
            return;
        }
        let key = FlowKey::new(interface, false, from, to);
        let frame = self.frame;
        let found = self.flows.get_mut(&key);
        let is_due = found.as_deref().is_some_and(|flow| {
            matches!(&flow.carried, Carried::Tcp(flow) if flow.is_worth_a_report(packet, tcp))
        });
        let found = if is_due {
            self.report(key);
            self.flows.get_mut(&key)
        } else {
            found
        };
        let is_known = found.is_some();
        if let Some(flow) = found
            && at.saturating_sub(flow.last) <= MAX_IDLE
            && let Carried::Tcp(followed) = &mut flow.carried
            && !followed.is_another(tcp)
        {
            let was_opening = followed.is_opening();
            followed.push((frame, at, way), packet, tcp, self.keys.as_ref());
            let place = (key.interface, followed.began(), flow.number);
            match (was_opening, followed.is_opening()) {
                (false, true) => drop(self.opening.insert(place, key)),
                (true, false) => drop(self.opening.remove(&place)),
                _ => {}
            }
            self.held += flow.note(at);
            return;
        }
        if is_known {
            self.finish(key);
        }
        let (client, server) = if TcpFlow::client_sent(tcp) {
            (from, to)
        } else {
            (to, from)
        };
        let mut flow = TcpFlow::new(client, server, interface);
        flow.push((frame, at, way), packet, tcp, self.keys.as_ref());
        self.begin(key, at, Carried::Tcp(Box::new(flow)));
    }

    /// Begins a connection whose first packet was seen. If another interface has seen it too, it is
    /// not new.
    fn begin(&mut self, key: FlowKey, at: u64, carried: Carried) {
        let is_full = self.interfaces.len() >= MAX_INTERFACES as usize;
        if !is_full && !self.interfaces.contains(&key.interface) {
            self.interfaces.push(key.interface);
        }
        let mut flow = Flow::new(0, at, carried);
        let mark = flow.mark();
        if let (Some(_), Some(first)) = (self.options.far, flow.first_sequence()) {
            self.twins.take(key, first, at);
        }
        let same = self.siblings(key).find(|other| other.mark() == mark);
        flow.number = match same {
            Some(other) if mark.is_some() => other.number,
            _ => {
                self.counts.connections += 1;
                if let Carried::Tcp(flow) = &flow.carried {
                    self.openers.note(flow.client.ip());
                }
                self.counts.connections
            }
        };
        if matches!(&flow.carried, Carried::Tcp(flow) if flow.is_opening()) {
            let place = (key.interface, at, flow.number);
            self.opening.insert(place, key);
        }
        self.held += flow.note(at);
        self.flows.insert(key, flow);
    }

    /// The flows of other interfaces between the same ends, or between ends whose addresses are
    /// translated from them.
    fn siblings(&self, key: FlowKey) -> impl Iterator<Item = &Flow> {
        let others = self.interfaces.iter().filter(move |i| **i != key.interface);
        let others = others.map(move |interface| key.at(*interface));
        let twin = self
            .twins
            .of(key)
            .filter(move |twin| key.at(twin.interface) != *twin);
        let all = others.chain(twin);
        all.filter_map(|key| self.flows.get(&key))
    }

    fn udp(
        &mut self,
        interface: u32,
        at: u64,
        way: Option<LinkDirection>,
        packet: &Packet<'_>,
        udp: &Udp<'_>,
    ) {
        let from = SocketAddr::new(packet.source(), udp.source_port());
        let to = SocketAddr::new(packet.destination(), udp.destination_port());
        if from.port() == DNS || to.port() == DNS {
            if let Ok(message) = Message::parse(udp.payload()) {
                let lookups = self.lookups.entry(shared(interface)).or_default();
                lookups.push(at, from, to, &message);
            }
            return;
        }
        let key = FlowKey::new(interface, true, from, to);
        let frame = self.frame;
        let known = self.flows.get(&key).map(|flow| &flow.carried);
        if let Some(Carried::Quic(quic)) = known
            && quic.is_another(from, udp.payload())
        {
            self.finish(key);
        }
        if let Some(flow) = self.flows.get_mut(&key) {
            if let Carried::Quic(quic) = &mut flow.carried {
                quic.push((frame, at, way), from, packet, udp);
                if let Some(keys) = &self.keys {
                    quic.open_with(keys, at, from, udp.payload());
                }
            }
            self.held += flow.note(at);
        } else if let Some(mut flow) = QuicFlow::begin(from, to, interface, udp) {
            flow.push((frame, at, way), from, packet, udp);
            if let Some(keys) = &self.keys {
                flow.open_with(keys, at, from, udp.payload());
            }
            self.begin(key, at, Carried::Quic(Box::new(flow)));
        }
    }
}

/// The interface under which lookups and ended connections are stored for this one: all interfaces
/// beyond a limit share one.
fn shared(interface: u32) -> u32 {
    let first = if interface < FAR { 0 } else { FAR };
    first + (interface - first).min(MAX_INTERFACES)
}
