//! A QUIC connection as its client saw it: bursts of datagrams, which may be requests and answers.

mod noticed;

use std::collections::HashSet;
use std::time::{Duration, UNIX_EPOCH};

use roundtrip_model::{
    Attempt, AttemptOutcome, ChainFacts, Event, Exchange, FailureKind, Http, KeptFacts, Memory,
    Moment, Origin, PhaseName, QuicFacts, Scheme, Security, Strategy, TlsFacts,
};
use roundtrip_wire::tls::{ClientHello, ServerHello};

use super::facts::{describe, failure, tls_facts};
use super::probes::probes;
use super::{Datagram, QuicFlow};
use crate::application::{self, TracedRequest};
use crate::exchanges::MAX_EVENTS;
use crate::exchanges::failures::stream_reset;
use crate::names::NameLookup;
use crate::segment::Side;
use crate::vantage::Vantage;

/// The largest size, in bytes, of a client's datagrams that only acknowledge, and of a server's
/// datagrams without an answer: HANDSHAKE_DONE, tokens and tickets.
const MAX_ACK: u64 = 60;
const MAX_CONTROL: u64 = 700;
/// The least time in which an answer can arrive, as a share of a round trip.
const SOONEST: f64 = 0.8;
const WITH_ACK: u64 = 5_000_000;
/// The number of bytes that the server may send for each received byte, and how many of its bytes
/// are not certificates.
const AMPLIFICATION: u64 = 3;
const BESIDE_CHAIN: u64 = 700;

/// The datagrams in the client's time.
pub(super) struct QuicReading<'a> {
    flow: &'a QuicFlow,
    datagrams: Vec<(u64, &'a Datagram)>,
    /// The frames of datagrams that only probe the path.
    probes: HashSet<u64>,
    rtt: Option<Duration>,
    /// The least time in which an answer can arrive, as a share of a round trip.
    soonest: f64,
    /// The time from the client to the place of the capture, in nanoseconds.
    distance: u64,
    /// What the client could notice, in the order of time.
    events: Vec<(u64, Event)>,
    has_early: bool,
    facts: QuicFacts,
    client_hello: Option<ClientHello>,
    server_hello: Option<ServerHello>,
    /// Whether the server asked for another hello.
    asked_again: bool,
    /// See [`QuicReading::stalled_chain`].
    stalled: Option<u64>,
}

/// A request and its answer, as bursts.
#[derive(Default)]
struct RequestBurst {
    began: u64,
    sent: u64,
    first_byte: Option<u64>,
    finished: u64,
    /// The request, if it could be read.
    asked: Option<TracedRequest>,
}

impl<'a> QuicReading<'a> {
    pub(super) fn new(flow: &'a QuicFlow, vantage: &Vantage) -> Self {
        let distance = vantage.distance();
        let mut datagrams: Vec<(u64, &Datagram)> = flow
            .datagrams
            .iter()
            .map(|d| match d.from {
                Side::Client => (d.at.saturating_sub(distance), d),
                Side::Server => (d.at.saturating_add(distance), d),
            })
            .collect();
        datagrams.sort_by_key(|(at, _)| *at);
        let probes = probes(&datagrams);
        let mut reading = Self {
            flow,
            datagrams,
            probes,
            rtt: vantage.rtt(),
            soonest: SOONEST,
            distance,
            events: Vec::new(),
            has_early: flow.datagrams.iter().any(|d| d.kinds.early),
            facts: QuicFacts::default(),
            client_hello: flow.client_hello(),
            server_hello: None,
            asked_again: false,
            stalled: None,
        };
        // If a request has no answer otherwise, the datagrams that look like probes are its answer:
        // their sender may use any size at once. If it still has none, the round trips that were
        // seen are longer than the one of the answer.
        let bursts = |reading: &Self| {
            let connected = reading.connected();
            connected.map(|at| reading.bursts(at)).unwrap_or_default()
        };
        let unanswered = |all: Vec<RequestBurst>| all.iter().any(|one| one.first_byte.is_none());
        if !reading.probes.is_empty() && unanswered(bursts(&reading)) {
            reading.probes.clear();
        }
        if unanswered(bursts(&reading)) {
            reading.soonest = 0.0;
        }
        reading.events = reading.noticed();
        reading.facts = reading.quic_facts();
        (reading.server_hello, reading.asked_again) = flow.server_hello();
        reading.stalled = reading.stalled_chain();
        reading
    }

    fn is_probe(&self, datagram: &Datagram) -> bool {
        self.probes.contains(&datagram.frame)
    }

    fn first(&self, is: impl Fn(&Datagram) -> bool) -> Option<u64> {
        self.datagrams
            .iter()
            .find(|(_, d)| is(d))
            .map(|(at, _)| *at)
    }

    /// When the client had the server's whole flight: it answers with its Finished and, from then
    /// on, with 1-RTT packets.
    fn connected(&self) -> Option<u64> {
        self.first(|d| d.from == Side::Client && d.kinds.short)
    }

    /// The requests, if the connection could be opened.
    fn opened(&self) -> Option<Vec<RequestBurst>> {
        let left = |at: u64| Some(at.saturating_sub(1).saturating_sub(self.distance));
        let readable = |at: u64| Some(at.saturating_add(self.distance));
        let all = application::of_requests(self.flow.requests()?, "3", &left, &readable);
        let burst = |asked: TracedRequest| RequestBurst {
            began: asked.began,
            sent: asked.sent.max(asked.began),
            first_byte: asked.first_byte,
            finished: match asked.reset {
                Some((at, _)) => at.max(asked.sent),
                None => asked.finished.unwrap_or(asked.sent),
            },
            asked: Some(asked),
        };
        Some(all.into_iter().map(burst).collect())
    }

    /// Whether the datagram may be a request of the client. After early data, the datagram that
    /// ends the handshake carries nothing else.
    fn is_request(&self, datagram: &Datagram) -> bool {
        let kinds = datagram.kinds;
        let asks = kinds.short && datagram.bytes > MAX_ACK;
        let ends = kinds.handshake && self.has_early;
        let asks = asks && !ends && !self.is_probe(datagram);
        datagram.from == Side::Client && (kinds.early || asks)
    }

    /// The time before which small datagrams of the server are not an answer, because an answer
    /// came later. They are acknowledgements, tickets or tokens.
    fn control_until(&self, connected: u64) -> Option<u64> {
        let rtt = self.rtt.map_or(0, |rtt| rtt.as_nanos() as u64);
        let early = connected + rtt + (rtt / 4).max(WITH_ACK);
        let mut all = self.datagrams.iter();
        let second = all.find(|(at, d)| *at > early && self.is_request(d));
        let second = second.map_or(u64::MAX, |(at, _)| *at);
        let of_server = |d: &Datagram| d.from == Side::Server && d.kinds.short && !self.is_probe(d);
        let came = self.datagrams.iter().filter(|(_, d)| of_server(d));
        let later = came
            .clone()
            .any(|(at, d)| *at > early && *at < second.saturating_add(rtt) && d.bytes > MAX_ACK);
        let mut first = came.filter(|(at, _)| *at <= early);
        (later && first.all(|(_, d)| d.bytes <= MAX_CONTROL)).then_some(early)
    }

    fn bursts(&self, connected: u64) -> Vec<RequestBurst> {
        let rtt = self.rtt.map_or(0, |rtt| rtt.as_nanos() as u64);
        let soonest = (rtt as f64 * self.soonest) as u64;
        let server = |d: &Datagram| d.from == Side::Server && d.kinds.short && !self.is_probe(d);
        let is_request = |d: &Datagram| self.is_request(d);
        let control = self.control_until(connected);
        let is_control = |at: u64, d: &Datagram| server(d) && control.is_some_and(|end| at <= end);
        let mut bursts: Vec<RequestBurst> = Vec::new();
        for (at, datagram) in &self.datagrams {
            if is_request(datagram) {
                match bursts.last_mut() {
                    Some(open) if open.first_byte.is_none() => open.sent = *at,
                    _ => bursts.push(RequestBurst {
                        began: *at,
                        sent: *at,
                        finished: *at,
                        ..RequestBurst::default()
                    }),
                }
            } else if server(datagram)
                && datagram.bytes > MAX_ACK
                && !is_control(*at, datagram)
                && let Some(open) = bursts.last_mut()
                && *at >= open.began + soonest
            {
                open.first_byte.get_or_insert(*at);
                open.finished = *at;
            }
        }
        // Without keys, an unanswered burst cannot be distinguished from a probe of the path's MTU,
        // or from the end of the connection.
        while bursts.len() > 1 && bursts.last().is_some_and(|last| last.first_byte.is_none()) {
            bursts.pop();
        }
        bursts
    }

    /// Returns all exchanges, and how many are left out.
    pub(super) fn exchanges(
        &self,
        lookup: Option<&NameLookup>,
        name: Option<&str>,
    ) -> (Vec<Exchange>, u64) {
        let Some(first) = self.datagrams.first().map(|(at, _)| *at) else {
            return (Vec::new(), 0);
        };
        let zero = lookup.map_or(first, |lookup| lookup.began.min(first));
        let bursts = self.opened().unwrap_or_else(|| {
            let connected = self.connected();
            connected.map(|at| self.bursts(at)).unwrap_or_default()
        });
        let mut all: Vec<Exchange> = Vec::new();
        let mut room = MAX_EVENTS;
        for (n, burst) in bursts.iter().enumerate() {
            let events = all.last().map_or(0, |last| last.timeline.iter().count());
            room = room.saturating_sub(events);
            if room == 0 {
                break;
            }
            let opens = n == 0;
            let from = if opens { zero } else { burst.began };
            let mut exchange = self.begun(from, !opens, lookup, name);
            let before = n.checked_sub(1).and_then(|n| bursts.get(n));
            exchange.kept = before.map(|before| KeptFacts {
                idle: Duration::from_nanos(burst.began.saturating_sub(before.finished)),
                bytes_received: 0,
                beyond: None,
            });
            self.events(&mut exchange, from, burst.finished, opens, lookup);
            let mut mark = |at: Option<u64>, event: Event| {
                if let Some(at) = at {
                    exchange
                        .timeline
                        .push(Moment(at.saturating_sub(from)), event);
                }
            };
            mark(Some(burst.began), Event::RequestStarted);
            mark(Some(burst.sent), Event::RequestSent);
            mark(burst.first_byte, Event::FirstByte);
            let asked = burst.asked.as_ref();
            mark(
                asked.map_or(burst.first_byte, |asked| asked.answered),
                Event::Answered,
            );
            mark(Some(burst.finished), Event::Finished);
            if let Some((asked, (_, side))) = asked.and_then(|a| Some((a, a.reset?))) {
                exchange.failure = Some(stream_reset(asked, side));
            } else if burst.first_byte.is_none() {
                let message = "no answer was seen".to_owned();
                exchange.failure =
                    Some(failure(FailureKind::Timeout, PhaseName::FirstByte, message));
            }
            if let Some(asked) = asked
                && let Some(request) = &asked.request
            {
                describe(&mut exchange, asked, request);
            }
            all.push(exchange);
        }
        let left_out = (bursts.len() - all.len()) as u64;
        // A connection that was only opened as a spare is not an exchange.
        if all.is_empty() && self.connected().is_none() {
            all.push(self.in_vain(zero, lookup, name));
        }
        (all, left_out)
    }

    fn in_vain(&self, zero: u64, lookup: Option<&NameLookup>, name: Option<&str>) -> Exchange {
        let end = self.datagrams.last().map_or(zero, |(at, _)| *at);
        let mut exchange = self.begun(zero, false, lookup, name);
        self.events(&mut exchange, zero, end, true, lookup);
        exchange
            .timeline
            .push(Moment(end.saturating_sub(zero)), Event::Finished);
        let silent = self.first(|d| d.from == Side::Server).is_none();
        let message = if silent {
            format!("{} did not answer", self.flow.server)
        } else {
            "the QUIC handshake did not end".to_owned()
        };
        exchange.failure = Some(failure(FailureKind::QuicFailed, PhaseName::Quic, message));
        exchange
    }

    fn events(
        &self,
        exchange: &mut Exchange,
        zero: u64,
        end: u64,
        opens: bool,
        lookup: Option<&NameLookup>,
    ) {
        let peer = self.flow.server;
        let timeline = &mut exchange.timeline;
        let mut mark = |at: Option<u64>, event: Event| {
            if let Some(at) = at.filter(|at| *at <= end) {
                timeline.push(Moment(at.saturating_sub(zero)), event);
            }
        };
        if opens {
            let first = self.datagrams.first().map(|(at, _)| *at);
            mark(lookup.map(|l| l.began), Event::LookupStarted);
            mark(lookup.and_then(|l| l.ended), Event::LookupFinished);
            mark(first, Event::AttemptStarted { peer });
            mark(first, Event::HandshakeStarted);
        }
        let first = self.events.partition_point(|(at, _)| *at < zero);
        let within = self.events.iter().skip(first);
        for (at, event) in within.take_while(|(at, _)| *at <= end) {
            mark(Some(*at), event.clone());
        }
        if opens {
            mark(self.connected(), Event::HandshakeFinished);
        }
    }

    fn begun(
        &self,
        zero: u64,
        reused: bool,
        lookup: Option<&NameLookup>,
        name: Option<&str>,
    ) -> Exchange {
        let flow = self.flow;
        let (client, server) = (self.client_hello.as_ref(), self.server_hello.as_ref());
        let resumed = server.is_some_and(|s| s.psk.is_some());
        let early = self.has_early;
        let used = Strategy {
            http: Http::H3,
            security: Security::Tls13,
            fast_open: false,
            memory: match (resumed, early) {
                (true, true) => Memory::EarlyData,
                (true, false) => Memory::Resume,
                _ => Memory::Cold,
            },
            reuse: reused,
            post_quantum: client
                .is_some_and(|c| c.key_shares.iter().any(|s| s.group.is_post_quantum())),
        };
        let named = client.and_then(|c| c.server_name.clone());
        let named = named.or_else(|| name.map(str::to_owned));
        let origin = Origin {
            scheme: Scheme::Https,
            host: named.unwrap_or_else(|| flow.server.ip().to_string()),
            port: flow.server.port(),
        };
        let url = format!("{origin}/");
        Exchange {
            url,
            started: UNIX_EPOCH.checked_add(Duration::from_nanos(zero)),
            asked: used,
            used,
            rtt: self.rtt,
            reused,
            name: lookup.filter(|_| !reused).map(NameLookup::facts),
            attempts: if reused {
                Vec::new()
            } else {
                vec![self.attempt(zero)]
            },
            extra_trips: u32::from(self.facts.retry)
                + u32::from(self.facts.version_negotiation)
                + u32::from(self.asked_again),
            quic: Some(self.facts.clone()),
            tls: Some(TlsFacts {
                hello_retry: self.asked_again,
                chain: self.stalled.map(|bytes| ChainFacts {
                    bytes_on_wire: bytes,
                    ..ChainFacts::default()
                }),
                ..tls_facts(client, server)
            }),
            ..Exchange::default()
        }
    }

    /// The approximate size of the server's certificates, if the server had to stop before it had
    /// sent all of them: until the client's address is validated, it may send three times what it
    /// has received. RFC 9000 §8.1.
    fn stalled_chain(&self) -> Option<u64> {
        let connected = self.connected().unwrap_or(u64::MAX);
        let answered = self.first(|d| d.from == Side::Server)?;
        let before = self.datagrams.iter().filter(|(at, _)| *at <= connected);
        let of = |side: Side| before.clone().filter(move |(_, d)| d.from == side);
        let sent: u64 = of(Side::Client)
            .filter(|(at, _)| *at < answered)
            .map(|(_, d)| d.bytes)
            .sum();
        let rtt = self.rtt?.as_nanos() as u64;
        // Data that arrives sooner cannot have been caused by anything that the client sent after
        // the first answer.
        let caused = answered.saturating_add((rtt as f64 * SOONEST) as u64);
        let (mut first, mut rest, mut largest) = (0, 0, 0);
        for (at, datagram) in of(Side::Server) {
            largest = largest.max(datagram.bytes);
            if *at < caused {
                first += datagram.bytes;
            } else if datagram.kinds.handshake {
                rest += datagram.bytes;
            }
        }
        let limit = sent * AMPLIFICATION;
        let is_stopped = first <= limit && first + largest > limit && rest > 0;
        (is_stopped && !self.was_retried()).then(|| (first + rest).saturating_sub(BESIDE_CHAIN))
    }

    fn was_retried(&self) -> bool {
        self.first(|d| d.kinds.retry).is_some()
    }

    fn was_negotiated(&self) -> bool {
        self.first(|d| d.kinds.negotiation).is_some()
    }

    fn attempt(&self, zero: u64) -> Attempt {
        let moment = |at: u64| Moment(at.saturating_sub(zero));
        let began = self.datagrams.first().map_or(zero, |(at, _)| *at);
        let answered = self.first(|d| d.from == Side::Server);
        Attempt {
            peer: self.flow.server,
            over_quic: true,
            began: moment(began),
            ended: moment(answered.unwrap_or(began)),
            outcome: if answered.is_some() {
                AttemptOutcome::Won
            } else {
                AttemptOutcome::Abandoned
            },
        }
    }

    fn quic_facts(&self) -> QuicFacts {
        let sent = self
            .datagrams
            .iter()
            .filter(|(_, d)| d.from == Side::Client);
        let sent = sent.count() as u64;
        let again = self
            .datagrams
            .iter()
            .filter(|(_, d)| d.again && d.from == Side::Client);
        let again = again.count() as u64;
        QuicFacts {
            local: Some(self.flow.client),
            peer: Some(self.flow.server),
            min_rtt: self.rtt,
            retry: self.was_retried(),
            version_negotiation: self.was_negotiated(),
            lost_packets: again,
            lost_in_handshake: again,
            probe_timeouts: u64::from(again > 0),
            datagrams_sent: sent,
            datagrams_received: self.datagrams.len() as u64 - sent,
            ..QuicFacts::default()
        }
    }
}
