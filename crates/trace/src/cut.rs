//! Which frames of a capture are the evidence for some of its connections, and the comments on
//! them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, UNIX_EPOCH};

use roundtrip_model::Exchange;
use roundtrip_report::{Party, clean, ms};
use roundtrip_wire::key_log::KeyLog;
use roundtrip_wire::link::ip_packet;
use roundtrip_wire::packet::Packet;
use roundtrip_wire::pcapng::Captured;

use crate::conversation::{Conversation, LadderStep};
use crate::ladder::rungs;
use crate::names::is_same_host;
use crate::vantage::VantagePoint;

const DNS: u16 = 53;
/// The shortest wait that gets a comment, in milliseconds and as a share of the exchange.
const MIN_GAP: f64 = 1.0;
const SHARE: f64 = 0.05;
/// Packets may be seen at most this many nanoseconds before their exchange.
const BEFORE: u64 = 1_000_000;

/// The frames of some connections.
#[derive(Debug, Default)]
pub struct Cut {
    /// The ranges of frames of each connection, by its two ends in order.
    connections: HashMap<(SocketAddr, SocketAddr), Vec<(u64, u64)>>,
    /// What preceded the connections: lookups, and attempts at other addresses.
    openings: Vec<ConnectWindow>,
    comments: HashMap<u64, Vec<String>>,
    /// The TLS sessions, as a key log names them.
    sessions: BTreeSet<[u8; 32]>,
}

/// The time in which a client looked for a server.
#[derive(Debug)]
struct ConnectWindow {
    client: IpAddr,
    port: u16,
    from: u64,
    until: u64,
}

impl Cut {
    pub fn from_conversations<'a>(
        conversations: impl IntoIterator<Item = &'a Conversation>,
    ) -> Self {
        let mut cut = Self::default();
        for conversation in conversations {
            let (a, b) = (conversation.client, conversation.server);
            let ends = cut.connections.entry((a.min(b), a.max(b))).or_default();
            ends.push(conversation.frames);
            let began = conversation.exchanges.first().and_then(began);
            if let Some(began) = began {
                cut.openings.push(ConnectWindow {
                    client: a.ip(),
                    port: b.port(),
                    from: began.saturating_sub(BEFORE),
                    until: conversation.began,
                });
            }
            cut.sessions.extend(conversation.session);
            cut.comment(conversation);
        }
        cut
    }

    /// The comments on a frame; `None` if it belongs to none of the connections. `frame` counts
    /// from 1.
    pub fn take(&mut self, frame: u64, captured: &Captured<'_>) -> Option<Vec<String>> {
        let at = captured.time?;
        let inner = ip_packet(captured.link, &captured.data)?;
        let packet = Packet::parse(inner.packet).ok()?;
        let ports = packet
            .tcp()
            .map(|tcp| (tcp.source_port(), tcp.destination_port()));
        let udp = || packet.udp();
        let (from, to) =
            ports.or_else(|| udp().map(|udp| (udp.source_port(), udp.destination_port())))?;
        let from = SocketAddr::new(packet.source(), from);
        let to = SocketAddr::new(packet.destination(), to);
        let ends = self.connections.get(&(from.min(to), from.max(to)));
        let within = |(first, last): &(u64, u64)| (*first..=*last).contains(&frame);
        let belongs = ends.is_some_and(|all| all.iter().any(within))
            || self.openings.iter().any(|o| o.includes(at, from, to));
        belongs.then(|| self.comments.remove(&frame).unwrap_or_default())
    }

    /// The lines of a key log with the secrets of these connections.
    pub fn secrets(&self, keys: &KeyLog) -> String {
        let sessions = self.sessions.iter();
        sessions.map(|session| keys.lines_of(session)).collect()
    }

    fn comment(&mut self, conversation: &Conversation) {
        // Several comments on one frame keep their order.
        let mut all: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for exchange in &conversation.exchanges {
            about(exchange, conversation, &mut |frame, text| {
                all.entry(frame).or_default().push(clean(&text));
            });
        }
        let longest = conversation.exchanges.iter().map(total).fold(0.0, f64::max);
        for rung in rungs(conversation, true) {
            let (frame, _) = rung.frames();
            let mut words = Vec::new();
            if rung.again() {
                words.push("sent again".to_owned());
            }
            if rung.gap >= MIN_GAP && rung.gap >= SHARE * longest {
                let shares = Party::BY_WEIGHT.map(|party| (party, party.share(&rung.waited)));
                let shares = shares.iter().filter(|(_, share)| *share >= 0.05);
                let shares: Vec<String> = shares
                    .map(|(party, share)| format!("{} {}", party.name(), ms(*share)))
                    .collect();
                words.push(format!("after {} ms: {}", ms(rung.gap), shares.join(", ")));
            }
            if !words.is_empty() {
                all.entry(frame).or_default().push(words.join("; "));
            }
        }
        for (frame, texts) in all {
            self.comments.entry(frame).or_default().extend(texts);
        }
    }
}

impl ConnectWindow {
    fn includes(&self, at: u64, from: SocketAddr, to: SocketAddr) -> bool {
        if !(self.from..=self.until).contains(&at) {
            return false;
        }
        let is = |client: SocketAddr, server: SocketAddr| {
            (server.port() == self.port && client.ip() == self.client)
                || (server.port() == DNS && is_same_host(client.ip(), self.client))
        };
        is(from, to) || is(to, from)
    }
}

/// The comments on an exchange: the summary on its first packet, and each phase on the first packet
/// of the phase.
fn about(exchange: &Exchange, conversation: &Conversation, say: &mut dyn FnMut(u64, String)) {
    let Some(began) = began(exchange) else {
        return;
    };
    let Some(first) = first_since(conversation, began) else {
        return;
    };
    let status = exchange.http.as_ref().map_or(0, |http| http.status);
    let came = match (&exchange.failure, status) {
        (Some(_), _) => " failed".to_owned(),
        (None, 0) => String::new(),
        (None, status) => format!(" {status}"),
    };
    say(
        first.frame,
        format!(
            "connection {}: {}{came}, {} ms, {} round trips",
            conversation.number,
            exchange.url,
            ms(total(exchange)),
            exchange.round_trips()
        ),
    );
    for finding in &exchange.findings {
        let text = format!(
            "{} cost {} ms: {}",
            finding.id,
            ms(finding.ms),
            finding.evidence
        );
        say(first.frame, text);
    }
    for phase in exchange.phases() {
        let starts = began.saturating_add(phase.start.0);
        let Some(step) = first_since(conversation, starts) else {
            continue;
        };
        let shares = Party::BY_WEIGHT.map(|party| (party, party.share(&phase.waited)));
        let shares = shares.iter().filter(|(_, share)| *share >= 0.05);
        let shares: Vec<String> = shares
            .map(|(party, share)| format!("{} {}", party.name(), ms(*share)))
            .collect();
        let text = format!(
            "{}: {} ms ({})",
            phase.name.title(),
            ms(phase.ms()),
            shares.join(", ")
        );
        say(step.frame, text);
    }
}

/// The first packet that the client sent or received at this time or later.
fn first_since(conversation: &Conversation, at: u64) -> Option<&LadderStep> {
    let distance = conversation.vantage.distance();
    let moved = conversation.vantage.place != VantagePoint::Client;
    let mut steps = conversation.steps.iter();
    steps.find(|step| {
        let seen = match (moved, step.from_client) {
            (false, _) => step.at,
            (true, true) => step.at.saturating_sub(distance),
            (true, false) => step.at.saturating_add(distance),
        };
        seen >= at
    })
}

/// The beginning of an exchange in nanoseconds since 1970.
fn began(exchange: &Exchange) -> Option<u64> {
    let since = exchange.started?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok()
}

fn total(exchange: &Exchange) -> f64 {
    let total: Duration = exchange.total();
    total.as_secs_f64() * 1e3
}
