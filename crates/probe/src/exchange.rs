//! One hop from question to answer, and everything that was learnt on the way put into an `Exchange`.

use roundtrip_http::{Connection, HttpError, Pen, Request, Sink, Turn};
use roundtrip_model::{
    EarlyData, Event, Exchange, Http, HttpFacts, Memory, NotKept, Recorder, Scheme, Security,
    Strategy, Target, Task,
};
use roundtrip_wire::{alt_svc, server_timing};
use tokio::time::timeout;

use crate::again::lost_trip;
use crate::open::{Learnt, Open, origin};
use crate::plan::{Announced, Plan};
use crate::{ProbeError, Prober};

impl Prober {
    pub(crate) async fn exchange(
        &mut self,
        request: &Request,
        strategy: Strategy,
        sink: &mut dyn Sink,
    ) -> Exchange {
        let mut exchange = Exchange {
            url: request.target.redacted(),
            asked: strategy,
            used: strategy,
            primed: self.primed,
            primer: self.primer,
            ..Exchange::default()
        };
        let kept = self.kept_open(&request.target);
        let recorder = self.begin(kept.as_ref(), exchange.url.clone());
        let limit = self.options.max_time;
        let mut learnt = Learnt::default();
        learnt.http.method.clone_from(&request.method);
        let mut hop = Hop {
            request,
            strategy,
            recorder,
            learnt: &mut learnt,
            exchange: &mut exchange,
        };
        let mut enough = self.enough.subscribe();
        let outcome = tokio::select! {
            outcome = timeout(limit, self.attempt(&mut hop, kept, sink)) => {
                outcome.unwrap_or(Err(ProbeError::Timeout(limit)))
            }
            _ = enough.wait_for(|enough| *enough) => Err(ProbeError::Interrupted),
        };
        let recorder = hop.recorder;
        let ended = learnt.ended.unwrap_or_else(|| {
            self.tally.over = self.clock.now();
            recorder.now()
        });
        recorder.record_at(ended, Event::Finished);
        self.read_answer(
            &mut exchange,
            std::mem::take(&mut learnt.http),
            &request.target,
        );
        exchange.timeline = recorder.snapshot();
        learnt.settle();
        Self::conclude(&mut exchange, &learnt, outcome.err().as_ref());
        self.under_way = None;
        self.remember(&exchange, &request.target);
        exchange
    }

    /// A ticket or a connection serves the protocol that it came from: the next request speaks it again.
    fn remember(&mut self, exchange: &Exchange, target: &Target) {
        let here = origin(target);
        let known = self.spoken.iter().any(|(o, _)| *o == here);
        if self.options.strategy.is_warm() && exchange.ok() && !known {
            self.spoken.push((here, exchange.used.http));
        }
    }

    /// The connection that was kept, if another request can go to that target on it.
    pub(crate) fn kept_open(&mut self, target: &Target) -> Option<Open> {
        let kept = self.idle.take().filter(|open| open.serves(target))?;
        if kept.is_usable() {
            return Some(kept);
        }
        self.tally.not_kept = Some((kept.origin, NotKept::Idle));
        None
    }

    /// Time begins now, with the pen of the connection that was kept, or a new one.
    pub(crate) fn begin(&mut self, kept: Option<&Open>, url: String) -> Recorder {
        let recorder = kept.map_or_else(|| self.recorder(), |open| open.recorder.clone());
        recorder.restart();
        self.under_way = Some((url, recorder.clone()));
        recorder
    }

    async fn attempt(
        &mut self,
        hop: &mut Hop<'_>,
        kept: Option<Open>,
        sink: &mut dyn Sink,
    ) -> Result<(), ProbeError> {
        hop.exchange.reused = kept.is_some();
        hop.exchange.kept = kept.as_ref().and_then(Open::past);
        let before = self.tally.not_kept.take();
        let here = origin(&hop.request.target);
        if let Some((_, why)) = before.filter(|(to, _)| kept.is_none() && *to == here) {
            hop.exchange.not_kept = Some(why);
        }
        let mut open = match kept {
            Some(open) => open,
            None => self.connect_in_time(hop).await?,
        };
        let mut outcome = self.ask(hop, &mut open, sink).await;
        if hop.exchange.reused && self.may_ask_again(&outcome, &hop.learnt.http) {
            self.tally.lost_trips +=
                lost_trip(&hop.recorder.snapshot(), hop.recorder.now(), open.min_rtt());
            // The server closed the idle connection while the request was on its way. RFC 9112 §9.3.1.
            hop.learnt.notes.push(
                "the connection that was kept had been closed by the server: connected anew".into(),
            );
            hop.exchange.reused = false;
            hop.exchange.kept = None;
            hop.exchange.not_kept = Some(NotKept::Crossed);
            // What the old connection still sends and hears is no part of the new one's story.
            hop.recorder = hop.recorder.branch();
            self.under_way = Some((hop.exchange.url.clone(), hop.recorder.clone()));
            open = self.connect_in_time(hop).await?;
            outcome = self.ask(hop, &mut open, sink).await;
        }
        hop.learnt.ended = Some(hop.recorder.now());
        self.tally.over = self.clock.now();
        hop.exchange.rtt = open.min_rtt();
        self.read_gauges(hop, &open);
        let reusable = outcome.is_ok() && hop.learnt.http.keep_alive;
        if reusable {
            self.idle = Some(open);
        } else if outcome.is_ok() {
            self.tally.not_kept = Some((open.origin, NotKept::Announced));
        }
        Ok(outcome?)
    }

    async fn ask(
        &self,
        hop: &mut Hop<'_>,
        open: &mut Open,
        sink: &mut dyn Sink,
    ) -> Result<(), HttpError> {
        hop.learnt.http = HttpFacts {
            proxy_status: open.proxy_status,
            ..HttpFacts::default()
        };
        let turn = Turn {
            request: hop.request,
            decode: self.options.compressed,
            pen: Pen::alone(&hop.recorder),
            sink,
            facts: &mut hop.learnt.http,
        };
        open.connection.exchange(turn).await
    }

    pub(crate) async fn connect_in_time(&mut self, hop: &mut Hop<'_>) -> Result<Open, ProbeError> {
        let limit = self.options.connect_timeout;
        timeout(limit, self.connect(hop))
            .await
            .map_err(|_| ProbeError::Timeout(limit))?
    }

    /// Everything from the plan to a connection that speaks.
    async fn connect(&mut self, hop: &mut Hop<'_>) -> Result<Open, ProbeError> {
        let target = &hop.request.target;
        let proxy = self.options.proxy_for(target);
        let proxied = proxy.is_some();
        let secure_proxy = proxy.is_some_and(|p| p.0.scheme == Scheme::Https);
        if let Some((variable, _)) = self.options.proxy_by_environment(target) {
            let note =
                format!("asked through the proxy that {variable} names (--noproxy asks directly)");
            hop.learnt.notes.push(note);
        }
        if target.scheme == Scheme::Https || secure_proxy {
            hop.recorder.timed(Task::Configure, || self.prepare_tls())?;
        }
        let destination = self.destination(target);
        if self.options.unix_socket.is_none() {
            hop.exchange.name = Some(self.look_up(&destination, target, &hop.recorder).await?);
        }
        let found = hop.exchange.name.clone();
        let here = origin(target);
        let spoken = self.spoken.iter().find(|(o, _)| *o == here);
        let announced = Announced {
            https_record: found.as_ref().and_then(|n| n.https_record.as_ref()),
            alt_svc_h3: self.alt_svc_h3.contains(&here),
            spoken: spoken.map(|(_, http)| *http),
        };
        let safe = matches!(hop.request.method.as_str(), "GET" | "HEAD" | "OPTIONS");
        let plan = Plan::new(hop.strategy, target, announced, proxied, safe)?;
        if hop.strategy.memory == Memory::EarlyData && !safe {
            hop.learnt.notes.push(format!(
                "{} may not be replayed, so it was not sent as early data",
                hop.request.method
            ));
        }
        // Kept off the stack, where a look-up over HTTPS has another exchange within.
        let opening = self.open(&plan, target, found.as_ref(), &hop.recorder, hop.learnt);
        let open = Box::pin(opening).await?;
        if plan.early_data && !open.early_data {
            hop.learnt
                .notes
                .push("early data was asked for, but no ticket allows it".into());
        }
        self.tally.connections += 1;
        Ok(open)
    }

    pub(crate) fn read_gauges(&self, hop: &mut Hop<'_>, open: &Open) {
        hop.learnt.tcp = open.gauge.tcp_facts();
        hop.learnt.quic = open.gauge.quic_facts();
        hop.learnt.tls = open.gauge.tls_facts();
        if let (Some(tls), Some(client)) = (&mut hop.learnt.tls, self.tls()) {
            let tickets = client.tickets(matches!(open.connection, Connection::H3(_)));
            tls.tickets = tickets.received();
            tls.ticket_shown = tickets.take_shown();
            tls.client_certificate_asked = client.take_certificate_asked();
        }
    }

    /// Facts of an answer, even of half of one.
    pub(crate) fn read_answer(
        &mut self,
        exchange: &mut Exchange,
        mut facts: HttpFacts,
        target: &Target,
    ) {
        if facts.status == 0 {
            exchange.unanswered = Some(facts);
            return;
        }
        self.read_headers(&mut facts, target);
        exchange.http = Some(facts);
    }

    /// What the response's headers announce.
    fn read_headers(&mut self, facts: &mut HttpFacts, target: &Target) {
        if (300..400).contains(&facts.status) && facts.status != 304 {
            facts.redirect = facts
                .header("location")
                .map(|l| String::from_utf8_lossy(l).into_owned());
        }
        facts.server_timing = facts
            .headers
            .iter()
            .filter(|(n, _)| n.eq_ignore_ascii_case("server-timing"))
            .flat_map(|(_, v)| server_timing::parse(v))
            .map(|m| {
                let took = m.duration();
                (m.name, took, m.description)
            })
            .collect();
        let Some(value) = facts.header("alt-svc").map(<[u8]>::to_vec) else {
            return;
        };
        facts.alt_svc = Some(String::from_utf8_lossy(&value).into_owned());
        let here = origin(target);
        self.alt_svc_h3.retain(|o| *o != here);
        // Only an alternative at the same host and port is followed: others would need a second look-up. RFC 7838 §2.1.
        let same_place = |a: &alt_svc::Alternative| {
            a.protocol == "h3" && a.host.is_empty() && a.port == target.port
        };
        if target.scheme == Scheme::Https
            && matches!(alt_svc::parse(&value), alt_svc::AltSvc::Alternatives(list) if list.iter().any(same_place))
        {
            self.alt_svc_h3.push(here);
        }
    }

    /// What was learnt, put into an exchange whose timeline is complete.
    pub(crate) fn conclude(exchange: &mut Exchange, learnt: &Learnt, error: Option<&ProbeError>) {
        exchange.attempts.clone_from(&learnt.trail.attempts);
        exchange.notes.extend_from_slice(&learnt.notes);
        exchange.tcp.clone_from(&learnt.tcp);
        exchange.tls.clone_from(&learnt.tls);
        exchange.quic.clone_from(&learnt.quic);
        if learnt.trail.over_quic {
            exchange.quic.get_or_insert_default();
        }
        exchange.rtt = exchange.rtt.or_else(|| {
            let tcp = exchange.tcp.as_ref()?;
            [tcp.min_rtt, tcp.handshake_rtt].into_iter().flatten().min()
        });
        if let Some(tls) = &mut exchange.tls {
            tls.flights = flights(
                exchange.timeline.iter(),
                tls.version == "TLSv1.3" || tls.resumed,
            );
        }
        let quic = exchange.quic.clone().unwrap_or_default();
        let retried =
            exchange.tls.as_ref().is_some_and(|t| t.hello_retry) && exchange.quic.is_some();
        exchange.extra_trips =
            u32::from(quic.retry) + u32::from(quic.version_negotiation) + u32::from(retried);
        exchange.used = used(exchange);
        exchange.failure = error.map(|error| error.explain(exchange));
        let account = roundtrip_explain::account(exchange);
        exchange.unexplained = account.unexplained;
        exchange.findings = account.findings;
    }
}

/// One hop's question, and where its answers go.
pub(crate) struct Hop<'a> {
    pub(crate) request: &'a Request,
    pub(crate) strategy: Strategy,
    pub(crate) recorder: Recorder,
    pub(crate) learnt: &'a mut Learnt,
    pub(crate) exchange: &'a mut Exchange,
}

/// Flights of a handshake as an observer counts them: changes of direction, and the client's last one, which leaves
/// when the handshake is already over for it.
fn flights<'a>(
    events: impl Iterator<Item = &'a (roundtrip_model::Moment, Event)>,
    client_is_last: bool,
) -> u32 {
    let (mut count, mut last, mut under_way, mut finished) = (0, None, false, false);
    for (_, event) in events {
        let direction = match event {
            Event::HandshakeStarted => {
                under_way = true;
                continue;
            }
            Event::HandshakeFinished => {
                finished = true;
                break;
            }
            Event::Sent { .. } => true,
            Event::Received { .. } => false,
            _ => continue,
        };
        if under_way && last != Some(direction) {
            count += 1;
            last = Some(direction);
        }
    }
    count + u32::from(finished && client_is_last && last == Some(false))
}

/// What really happened, as a strategy.
fn used(exchange: &Exchange) -> Strategy {
    let mut used = exchange.asked;
    used.reuse = exchange.reused;
    if let Some(http) = &exchange.http {
        used.http = match http.version.as_str() {
            "2" => Http::H2,
            "3" => Http::H3,
            _ => Http::H1,
        };
    } else if exchange.quic.is_some() {
        used.http = Http::H3;
    }
    let tls = exchange.tls.as_ref();
    used.security = match tls.map(|t| t.version.as_str()) {
        Some("TLSv1.2") => Security::Tls12,
        Some(_) => Security::Tls13,
        None if exchange.url.starts_with("https") => exchange.asked.security,
        None => Security::Clear,
    };
    used.fast_open = exchange
        .tcp
        .as_ref()
        .is_some_and(|t| t.fast_open.saved_round_trips > 0);
    used.memory = match tls {
        Some(t) if t.early_data == EarlyData::Accepted => Memory::EarlyData,
        Some(t) if t.resumed => Memory::Resume,
        _ => Memory::Cold,
    };
    used
}
