//! Logs in which programs recorded their own requests: HAR, Chrome's NetLog, qlog, curl's trace.
//! They contain times, but no packets. So their times are shown without a judgement, no party is
//! blamed for a wait, and the report says what would be needed to decide.

pub mod json;
pub mod page;
pub mod text;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_model::{Event, Exchange, Failure, FailureKind, HttpFacts, Moment, PhaseName};
use roundtrip_wire::witness::page::{CriticalStep, PageLoad};
use roundtrip_wire::witness::{
    ToldPhase, ToldRequest, TransportEvent, Witness, curl_trace, har, netlog, qlog,
};

/// All phases, in the order in which a request passes through them.
pub(crate) const PHASES: [ToldPhase; 8] = [
    ToldPhase::Queue,
    ToldPhase::Proxy,
    ToldPhase::Name,
    ToldPhase::Connect,
    ToldPhase::Handshake,
    ToldPhase::Send,
    ToldPhase::Wait,
    ToldPhase::Body,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Har,
    NetLog,
    Qlog,
    CurlTrace,
}

impl Format {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Har => "HAR",
            Self::NetLog => "NetLog",
            Self::Qlog => "qlog",
            Self::CurlTrace => "curl trace",
        }
    }
}

type Reader = fn(&[u8]) -> Option<Witness>;

/// A log that was read.
#[derive(Debug)]
pub struct Log {
    pub format: Format,
    pub witness: Witness,
    /// The dependencies between the requests, if there are several.
    pub page: Option<PageLoad>,
    /// The shortest connect of each server, in nanoseconds.
    connects: HashMap<String, u64>,
}

/// What the log itself says about the transport of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TransportTotals {
    pub sent: u64,
    pub received: u64,
    pub lost: u64,
    pub blocked: u64,
    /// The smallest round trip in milliseconds.
    pub min_rtt: Option<f64>,
    pub max_rtt: Option<f64>,
    /// The smallest window in bytes.
    pub min_window: Option<u64>,
    pub max_window: Option<u64>,
}

impl Log {
    /// `None` if the bytes are in none of these formats.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let formats: [(Format, Reader); 4] = [
            (Format::Har, har::read),
            (Format::NetLog, netlog::read),
            (Format::Qlog, qlog::read),
            (Format::CurlTrace, curl_trace::read),
        ];
        let mut formats = formats.into_iter();
        let (format, witness) = formats.find_map(|(f, read)| Some((f, read(bytes)?)))?;
        if witness.requests.is_empty() && witness.connections.is_empty() {
            return None;
        }
        let page = (witness.requests.len() > 1)
            .then(|| PageLoad::from_witness(&witness))
            .flatten();
        Some(Self {
            format,
            connects: connects(&witness),
            witness,
            page,
        })
    }

    /// The requests, the longest first.
    pub fn slowest(&self) -> Vec<&ToldRequest> {
        let mut all: Vec<&ToldRequest> = self.witness.requests.iter().collect();
        all.sort_by_key(|request| std::cmp::Reverse(length(request)));
        all
    }

    /// The shortest time in which a connection to the same server was opened: a round trip, as far
    /// as the log shows. In nanoseconds.
    pub fn round_trip(&self, request: &ToldRequest) -> Option<u64> {
        self.connects.get(server(&request.url)).copied()
    }

    /// How long a request waited for its answer beyond a round trip, in nanoseconds.
    pub fn beyond(&self, request: &ToldRequest) -> Option<u64> {
        let wait = took(request, ToldPhase::Wait)?;
        Some(wait.saturating_sub(self.round_trip(request)?))
    }

    /// The time that the load would have taken if steps of these phases took no time, in
    /// nanoseconds.
    pub fn without(&self, phases: &[ToldPhase]) -> Option<u64> {
        let is_one = |step: &CriticalStep| step.phase.is_some_and(|phase| phases.contains(&phase));
        Some(self.page.as_ref()?.without(&self.witness, is_one))
    }

    /// The critical path's round trips, with handshakes of TLS 1.3.
    pub fn round_trips(&self) -> Option<u32> {
        Some(self.page.as_ref()?.round_trips(1))
    }

    pub fn transport(&self, connection: usize) -> TransportTotals {
        let mut told = TransportTotals::default();
        let connection = self.witness.connections.get(connection);
        for (_, event) in connection.map_or(&[][..], |connection| &connection.events) {
            told.add(event);
        }
        told
    }

    /// The facts that a log of this kind cannot show, and what would show them.
    pub fn undecidable(&self) -> &'static [(&'static str, &'static str)] {
        // A NetLog has no packets of TCP.
        let mut connections = self.witness.connections.iter();
        let has_packets = connections.len() > 0 && connections.all(|c| !c.events.is_empty());
        if self.format == Format::Qlog || (self.format == Format::NetLog && has_packets) {
            return &[(
                "what was lost in the other direction, and why an answer was late",
                "the other end's qlog, or a capture",
            )];
        }
        &[
            (
                "whether the server or the path made an answer late: losses are not in the log",
                "a capture at this end",
            ),
            (
                "whether the client itself was late",
                "`roundtrip trace -- COMMAND`",
            ),
        ]
    }

    /// A request in the form that [`roundtrip_model::Limit`] needs. It blames no party.
    pub fn exchange(&self, request: &ToldRequest) -> Exchange {
        let mut exchange = Exchange {
            url: request.url.clone(),
            rtt: self.round_trip(request).map(Duration::from_nanos),
            ..Exchange::default()
        };
        let peer = SocketAddr::from(([0, 0, 0, 0], 0));
        let mut spans = request.spans.clone();
        spans.sort_by_key(|span| (span.begin, span.end));
        for span in spans {
            let (first, last) = match span.phase {
                ToldPhase::Name => (Event::LookupStarted, Event::LookupFinished),
                ToldPhase::Connect => (
                    Event::AttemptStarted { peer },
                    Event::Connected {
                        peer,
                        deferred: false,
                    },
                ),
                ToldPhase::Handshake => (Event::HandshakeStarted, Event::HandshakeFinished),
                ToldPhase::Send => (Event::RequestStarted, Event::RequestSent),
                ToldPhase::Wait => (Event::FirstByte, Event::Answered),
                _ => continue,
            };
            let at = |moment: u64| Moment(moment.saturating_sub(request.begin));
            // An answer begins when the wait for it ends.
            let begin = if span.phase == ToldPhase::Wait {
                span.end
            } else {
                span.begin
            };
            exchange.timeline.push(at(begin), first);
            exchange.timeline.push(at(span.end), last);
        }
        let end = Moment(length(request));
        exchange.timeline.push(end, Event::Finished);
        if request.status.is_some() {
            exchange.http = Some(HttpFacts {
                status: request.status.unwrap_or(0),
                method: request.method.clone(),
                ..HttpFacts::default()
            });
        }
        if let Some(error) = &request.error {
            exchange.failure = Some(Failure {
                kind: FailureKind::Reset,
                phase: PhaseName::FirstByte,
                message: error.clone(),
                advice: String::new(),
            });
        }
        exchange
    }
}

impl TransportTotals {
    fn add(&mut self, event: &TransportEvent) {
        match event {
            TransportEvent::PacketSent { .. } => self.sent += 1,
            TransportEvent::PacketReceived { .. } => self.received += 1,
            TransportEvent::PacketLost { .. } => self.lost += 1,
            TransportEvent::Blocked { .. } => self.blocked += 1,
            TransportEvent::Metrics {
                min_rtt,
                latest_rtt,
                congestion_window,
                ..
            } => {
                let rtt = latest_rtt.or(*min_rtt);
                let least = [self.min_rtt, *min_rtt, rtt].into_iter().flatten();
                self.min_rtt = least.reduce(f64::min);
                self.max_rtt = [self.max_rtt, rtt].into_iter().flatten().reduce(f64::max);
                let window = [self.min_window, *congestion_window].into_iter().flatten();
                self.min_window = window.min();
                self.max_window = self.max_window.max(*congestion_window);
            }
            TransportEvent::State(_) => {}
        }
    }
}

fn connects(witness: &Witness) -> HashMap<String, u64> {
    let mut shortest: HashMap<String, u64> = HashMap::new();
    for request in &witness.requests {
        let connection = request.connection;
        let connection = connection.and_then(|index| witness.connections.get(index));
        let of_connection = connection.map_or(&[][..], |connection| &connection.spans);
        for span in request.spans.iter().chain(of_connection) {
            let took = span.end.saturating_sub(span.begin);
            if span.phase == ToldPhase::Connect && took > 0 {
                let known = shortest.entry(server(&request.url).to_owned());
                let known = known.or_insert(took);
                *known = took.min(*known);
            }
        }
    }
    shortest
}

/// The time from the beginning of a request to its end, in nanoseconds.
pub(crate) fn length(request: &ToldRequest) -> u64 {
    let spans = request.spans.iter().map(|span| span.end).max();
    let end = request.end.or(spans).unwrap_or(request.begin);
    end.saturating_sub(request.begin)
}

/// How long a request was in a phase, in nanoseconds; `None` if the log has no such span.
pub(crate) fn took(request: &ToldRequest, phase: ToldPhase) -> Option<u64> {
    let spans = request.spans.iter().filter(|span| span.phase == phase);
    let took = spans.map(|span| span.end.saturating_sub(span.begin));
    took.reduce(u64::saturating_add)
}

pub(crate) fn name(phase: ToldPhase) -> &'static str {
    match phase {
        ToldPhase::Queue => "queue",
        ToldPhase::Proxy => "proxy",
        ToldPhase::Name => "name lookup",
        ToldPhase::Connect => "connect",
        ToldPhase::Handshake => "handshake",
        ToldPhase::Send => "send",
        ToldPhase::Wait => "wait",
        ToldPhase::Body => "body",
    }
}

/// Ways to make a load shorter, by the phases that they remove.
pub(crate) const REMEDIES: [(&str, &[ToldPhase]); 4] = [
    ("no queueing for a connection", &[ToldPhase::Queue]),
    ("no name lookups", &[ToldPhase::Name]),
    (
        "connections that are open already",
        &[ToldPhase::Connect, ToldPhase::Handshake],
    ),
    ("bodies that take no time", &[ToldPhase::Body]),
];

pub(crate) fn millis(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

/// Scheme and authority of a URL.
fn server(url: &str) -> &str {
    let from = url.find("://").map_or(0, |at| at + 3);
    let rest = url.get(from..).unwrap_or_default();
    let end = rest.find(['/', '?', '#']).map_or(url.len(), |at| from + at);
    url.get(..end).unwrap_or(url)
}

#[cfg(test)]
mod tests;
