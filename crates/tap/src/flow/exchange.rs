//! Turns a turn of a connection into an exchange: its timeline, its facts, and how it failed.

use std::time::{Duration, SystemTime};

use roundtrip_model::{
    Attempt, AttemptOutcome, EarlyData, Event, Exchange, Failure, FailureKind, Http, HttpFacts,
    Memory, Moment, Origin, PhaseName, Scheme, Security, Strategy, TlsFacts,
};
use roundtrip_wire::tls::Version;

use super::{Flow, FlowState};
use crate::client_bytes::Protocol;
use crate::lookup::{FinishedLookup, Lookups};
use crate::server_bytes::Chosen;
use crate::turn::{AnswerTimes, Expected};

/// An attempt that began longer before a connection than this belongs to another exchange.
const MAX_RACE: Duration = Duration::from_secs(10);
/// The longest attempt that can be a refusal, which comes at once; a longer attempt was abandoned.
const MAX_REFUSAL_LENGTH: Duration = Duration::from_millis(900);
const MAX_ATTEMPTS: usize = 256;
const UNSEEN: &str = "the program sent this through a standard stream or in very short writes: what it asked for was not seen, and when it did is known to a few milliseconds";

/// The surroundings of a connection: the time, the process's lookups, and failed attempts.
pub(crate) struct Surroundings<'a> {
    pub(crate) now: Moment,
    /// The wall clock when the tap's time began.
    pub(crate) wall: SystemTime,
    pub(crate) lookups: &'a mut Lookups,
    pub(crate) attempts: &'a mut Vec<(i32, Attempt)>,
}

impl Flow {
    /// Ends the turn that is under way. `None` if the connection carried no request.
    pub(crate) fn conclude(&mut self, surroundings: &mut Surroundings<'_>) -> Option<Exchange> {
        if let Some(pending) = self.pending.take() {
            // Nothing shows how much of it was accepted.
            let written = self.spoken.read(&pending.bytes, pending.length);
            if !self.begins_another(&written, pending.at) {
                self.record(pending.at, pending.length, written);
            }
        }
        let turn = std::mem::take(&mut self.turn);
        let end = turn.end()?;
        if self.opened.is_none() {
            self.give_up(surroundings);
            return None;
        }
        let unfinished = self.is_tls() && self.handshake.hello.is_some();
        if turn.request.is_none() && (!unfinished || self.spoken.is_finished()) {
            return None;
        }
        let is_first = self.turns == 0;
        let unasked = self.unasked();
        self.turns += 1;
        let answered = turn.answered(Expected {
            rtt: self.bystander.min_rtt(),
            unasked,
            frames: self.spoken.may_be_http2(),
        });
        let chosen = self.heard.chosen();
        let mut events = turn.events.clone();
        if is_first {
            self.add_handshake(&mut events);
        }
        add_request(&mut events, turn.request, answered);
        let host = self.host(turn.asked.as_ref().and_then(|asked| asked.host.as_deref()));
        let found = is_first
            .then(|| {
                surroundings
                    .lookups
                    .take(self.holder.process, &host, self.began)
            })
            .flatten();
        let began = match (&found, is_first) {
            (Some(found), _) => found.began,
            (None, true) => self.began,
            (None, false) => turn.request.unwrap_or(self.began),
        };
        if let Some(found) = &found {
            events.push((found.began, Event::LookupStarted));
            events.push((found.ended, Event::LookupFinished));
        }
        let mut exchange = Exchange {
            started: Some(surroundings.wall + began.since(Moment::ZERO)),
            asked: self.strategy(&chosen, is_first),
            used: self.strategy(&chosen, is_first),
            rtt: self.bystander.min_rtt(),
            reused: !is_first,
            kept: turn.kept,
            tcp: Some(self.bystander.facts(self.local, self.peer)),
            ..Exchange::default()
        };
        exchange.url = self.url(
            &host,
            turn.asked.as_ref().map(|asked| asked.target.as_str()),
        );
        if is_first {
            self.add_attempts(&mut exchange, &mut events, began, surroundings);
        }
        exchange.name = found.map(|FinishedLookup { facts, .. }| facts);
        exchange.tls = self.is_tls().then(|| self.tls_facts(&chosen));
        if let (Some(asked), Some(answer)) = (&turn.asked, answered) {
            let mut facts = HttpFacts {
                method: asked.method.clone(),
                request_bytes: turn.request_bytes,
                downloaded: answer.bytes,
                ..HttpFacts::default()
            };
            self.heard.answer(&mut facts);
            if facts.status > 0 {
                facts.downloaded = answer.bytes.saturating_sub(facts.header_bytes);
                exchange.http = Some(facts);
            }
        }
        if answered.is_none() {
            exchange.failure = Some(self.failure(turn.request, surroundings.now));
        }
        if let Some(before) = answered.map(|answer| answer.before).filter(|n| *n > 0) {
            exchange.notes.push(format!(
                "{before} bytes came unprompted before the answer: inferred from their size and time"
            ));
        }
        let unseen = self.is_unseen.then(|| UNSEEN.to_owned());
        exchange.notes.extend(unseen);
        let given_up = self.peer_closed.unwrap_or(surroundings.now).max(end);
        let end = answered.map_or(given_up, |answer| answer.last.max(answer.sent));
        events.push((end, Event::Finished));
        for (at, event) in events {
            exchange
                .timeline
                .push(Moment::ZERO + at.since(began), event);
        }
        Some(exchange)
    }

    /// Assigns a failed attempt to the connection that won.
    fn give_up(&self, surroundings: &mut Surroundings<'_>) {
        let (ended, outcome) = match self.stage {
            FlowState::Failed(at) if at.since(self.began) < MAX_REFUSAL_LENGTH => {
                (at, AttemptOutcome::Failed("refused or unreachable".into()))
            }
            FlowState::Failed(at) => (at, AttemptOutcome::Abandoned),
            _ => (surroundings.now, AttemptOutcome::Abandoned),
        };
        if surroundings.attempts.len() < MAX_ATTEMPTS {
            let attempt = Attempt {
                peer: self.peer,
                over_quic: false,
                began: self.began,
                ended,
                outcome,
            };
            surroundings.attempts.push((self.holder.process, attempt));
        }
    }

    /// The attempts that this connection won against.
    fn add_attempts(
        &self,
        exchange: &mut Exchange,
        events: &mut Vec<(Moment, Event)>,
        zero: Moment,
        surroundings: &mut Surroundings<'_>,
    ) {
        let opened = self.opened.unwrap_or(self.began);
        let (peer, process) = (self.peer, self.holder.process);
        let mut lost = Vec::new();
        surroundings.attempts.retain(|(who, attempt)| {
            let rivals = *who == process
                && attempt.peer.port() == peer.port()
                && attempt.peer.ip() != peer.ip()
                && attempt.began >= zero - MAX_RACE
                && attempt.began <= opened;
            if rivals {
                lost.push(attempt.clone());
            }
            !rivals
        });
        let relative = |at: Moment| Moment::ZERO + at.since(zero);
        for attempt in lost {
            let peer = attempt.peer;
            // If there was no lookup, the exchange begins with the first attempt.
            let began = attempt.began.max(zero);
            events.push((began, Event::AttemptStarted { peer }));
            if matches!(attempt.outcome, AttemptOutcome::Failed(_)) {
                events.push((attempt.ended, Event::AttemptFailed { peer }));
            }
            exchange.attempts.push(Attempt {
                began: relative(began),
                ended: relative(attempt.ended.min(opened)),
                ..attempt
            });
        }
        exchange.attempts.push(Attempt {
            peer,
            over_quic: false,
            began: relative(self.began),
            ended: relative(opened),
            outcome: AttemptOutcome::Won,
        });
    }

    fn add_handshake(&self, events: &mut Vec<(Moment, Event)>) {
        let handshake = &self.handshake;
        let Some(hello) = handshake.hello else {
            return;
        };
        events.push((hello, Event::HandshakeStarted));
        if let Some(at) = handshake.repeated {
            events.push((at, Event::EarlyDataRefused));
        }
        let Some(finished) = handshake.finished else {
            return;
        };
        // In TLS 1.2 the server's Finished follows the client's, unless a session is resumed.
        let proven = match handshake.last_arrival {
            Some(last) if self.spoken.is_tls12() == Some(true) => last.max(finished),
            _ => finished,
        };
        events.push((proven, Event::HandshakeFinished));
    }

    /// The name that the program requested, if it is visible, otherwise the address.
    fn host(&self, host_field: Option<&str>) -> String {
        let named = self
            .spoken
            .hello()
            .and_then(|hello| hello.server_name.clone());
        let field = || host_field.map(without_port).map(str::to_owned);
        named
            .or_else(field)
            .unwrap_or_else(|| self.peer.ip().to_string())
    }

    fn url(&self, host: &str, target: Option<&str>) -> String {
        if let Some(absolute) = target.filter(|target| target.contains("://")) {
            return absolute.to_owned();
        }
        let origin = Origin {
            scheme: match self.spoken.protocol() {
                Protocol::Tls => Scheme::Https,
                Protocol::Http1 => Scheme::Http,
                Protocol::Unknown | Protocol::Other => Scheme::Tcp,
            },
            host: host.trim_matches(['[', ']']).to_owned(),
            port: self.peer.port(),
        };
        let path = target
            .filter(|target| target.starts_with('/'))
            .unwrap_or("/");
        format!("{origin}{path}")
    }

    fn strategy(&self, chosen: &Chosen, is_first: bool) -> Strategy {
        let offers = |hello: &roundtrip_wire::tls::ClientHello| {
            let shares = &hello.key_shares;
            shares.iter().any(|share| share.group.is_post_quantum())
        };
        let resumed = chosen
            .hello
            .as_ref()
            .is_some_and(|hello| hello.psk.is_some());
        let handshake = &self.handshake;
        Strategy {
            http: match self.spoken.protocol() {
                Protocol::Tls if self.spoken.may_be_http2() => Http::Auto,
                Protocol::Http1 | Protocol::Tls => Http::H1,
                Protocol::Unknown | Protocol::Other => Http::Echo,
            },
            security: match self.spoken.protocol() {
                Protocol::Tls if self.spoken.is_tls12() == Some(true) => Security::Tls12,
                Protocol::Tls => Security::Tls13,
                _ => Security::Clear,
            },
            fast_open: self.bystander.syn_data().is_some(),
            memory: match is_first {
                true if handshake.early && handshake.repeated.is_none() => Memory::EarlyData,
                true if resumed => Memory::Resume,
                _ => Memory::Cold,
            },
            reuse: !is_first,
            post_quantum: self.spoken.hello().is_none_or(offers),
        }
    }

    fn tls_facts(&self, chosen: &Chosen) -> TlsFacts {
        let handshake = &self.handshake;
        let told = chosen.hello.as_ref();
        let offered = self.spoken.hello();
        let version = match (told, self.spoken.is_tls12()) {
            (Some(hello), _) => hello.version.to_string(),
            (None, Some(true)) => Version::TLS12.to_string(),
            (None, Some(false)) => Version::TLS13.to_string(),
            (None, None) => String::new(),
        };
        let cipher = told.and_then(|hello| hello.cipher_suite.name());
        TlsFacts {
            version,
            cipher: cipher.unwrap_or_default().to_owned(),
            group: chosen.group.clone().unwrap_or_default(),
            alpn: told.and_then(|hello| hello.alpn.clone()),
            resumed: told.is_some_and(|hello| hello.psk.is_some()),
            ticket_shown: offered.is_some_and(|hello| {
                hello.offers_psk() || hello.session_ticket.is_some_and(|bytes| bytes > 0)
            }),
            early_data: match (handshake.early, handshake.repeated) {
                (false, _) => EarlyData::NotOffered,
                (true, None) => EarlyData::Accepted,
                (true, Some(_)) => EarlyData::Refused,
            },
            hello_retry: chosen.retried || self.spoken.hellos() > 1,
            client_hello_bytes: offered.map_or(0, |hello| hello.length as u64),
            bytes_received: handshake.bytes_received,
            bytes_sent: handshake.bytes_sent,
            ..TlsFacts::default()
        }
    }

    fn failure(&self, request: Option<Moment>, now: Moment) -> Failure {
        let (phase, what) = if request.is_some() {
            (PhaseName::FirstByte, "an answer")
        } else {
            (PhaseName::Tls, "the end of the TLS handshake")
        };
        let since = request.or(self.handshake.hello).unwrap_or(self.began);
        let (kind, message) = match self.peer_closed {
            Some(at) => (
                FailureKind::Closed,
                format!(
                    "the server closed the connection {:.1} ms later, before {what}",
                    at.since(since).as_secs_f64() * 1e3
                ),
            ),
            None => (
                FailureKind::Timeout,
                format!(
                    "the program ended the connection before {what} came; {:.1} ms had passed",
                    now.since(since).as_secs_f64() * 1e3
                ),
            ),
        };
        Failure {
            kind,
            phase,
            message,
            advice: String::new(),
        }
    }
}

/// The exchange of an attempt that no other connection followed.
pub(crate) fn failed(attempt: Attempt, wall: SystemTime) -> Exchange {
    let began = attempt.began;
    let relative = |at: Moment| Moment::ZERO + at.since(began);
    let peer = attempt.peer;
    let took = attempt.ended.since(began);
    let (kind, message) = match &attempt.outcome {
        AttemptOutcome::Failed(why) => (FailureKind::Refused, format!("{peer} was {why}")),
        _ => (
            FailureKind::ConnectTimeout,
            format!("{peer} did not answer within {:.1} s", took.as_secs_f64()),
        ),
    };
    let mut exchange = Exchange {
        url: format!("tcp://{peer}/"),
        started: Some(wall + began.since(Moment::ZERO)),
        failure: Some(Failure {
            kind,
            phase: PhaseName::Tcp,
            message,
            advice: String::new(),
        }),
        ..Exchange::default()
    };
    let timeline = &mut exchange.timeline;
    timeline.push(Moment::ZERO, Event::AttemptStarted { peer });
    if kind == FailureKind::Refused {
        timeline.push(relative(attempt.ended), Event::AttemptFailed { peer });
    }
    timeline.push(relative(attempt.ended), Event::Finished);
    exchange.attempts.push(Attempt {
        began: Moment::ZERO,
        ended: relative(attempt.ended),
        ..attempt
    });
    exchange
}

fn add_request(
    events: &mut Vec<(Moment, Event)>,
    request: Option<Moment>,
    answered: Option<AnswerTimes>,
) {
    let Some(request) = request else {
        return;
    };
    events.push((request, Event::RequestStarted));
    if let Some(answer) = answered {
        events.push((answer.sent, Event::RequestSent));
        events.push((answer.first, Event::FirstByte));
        events.push((answer.first, Event::Answered));
    } else {
        events.push((request, Event::RequestSent));
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => {
            name.trim_start_matches('[').trim_end_matches(']')
        }
        _ => host,
    }
}
