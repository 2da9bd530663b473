//! Facts gathered while a connection is opened and used. They survive its failure, and become part
//! of an `Exchange`.

use std::time::Duration;

use roundtrip_http::OpeningFacts;
use roundtrip_model::{
    EarlyData, Event, Exchange, Http, Memory, Moment, QuicFacts, Security, Strategy, TcpFacts,
    TlsFacts,
};
use roundtrip_net::Gauge;

use crate::ProbeError;

#[derive(Default)]
pub(crate) struct Observed {
    pub(crate) facts: OpeningFacts,
    pub(crate) tcp: Option<TcpFacts>,
    pub(crate) tls: Option<TlsFacts>,
    pub(crate) quic: Option<QuicFacts>,
    pub(crate) notes: Vec<String>,
}

impl Observed {
    /// Reads the counters of a connection that failed half way.
    pub(crate) fn settle(&mut self) {
        let gauge = self.facts.gauge.as_ref();
        self.tcp = self.tcp.take().or_else(|| gauge.map(Gauge::facts));
        let told = self.facts.tls.as_ref().and_then(|f| f.get());
        self.tls = self.tls.take().or_else(|| told.cloned());
        if let Some(gauge) = &self.facts.quic {
            self.quic.get_or_insert_with(|| gauge.facts());
            // A server whose answer arrived has sent its hello or its certificates.
            let heard = |facts: &TlsFacts| !facts.cipher.is_empty() || facts.chain.is_some();
            let seen = || Some(gauge.tls_facts()).filter(heard);
            self.tls = self.tls.take().or_else(seen);
        }
    }

    /// Completes an exchange that has its timeline and its answer. Adds the facts and their
    /// consequences: the strategy that was used, the failure in words, the findings.
    pub(crate) fn conclude(&self, exchange: &mut Exchange, error: Option<&ProbeError>) {
        exchange.attempts.clone_from(&self.facts.attempts);
        exchange.notes.extend_from_slice(&self.notes);
        exchange.tcp.clone_from(&self.tcp);
        exchange.tls.clone_from(&self.tls);
        exchange.quic.clone_from(&self.quic);
        if self.facts.over_quic {
            exchange.quic.get_or_insert_default();
        }
        exchange.rtt = exchange.rtt.or_else(|| {
            let tcp = exchange.tcp.as_ref()?;
            [tcp.min_rtt, tcp.handshake_rtt].into_iter().flatten().min()
        });
        if exchange.quic.is_some() {
            let timeline = &exchange.timeline;
            let first = first_wait(timeline.iter()).filter(|_| !exchange.reused);
            let stamped = acknowledgements(timeline.iter()).chain(first).min();
            exchange.rtt = exchange
                .rtt
                .map(|rtt| stamped.map_or(rtt, |stamped| rtt.min(stamped)));
        }
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
        exchange.unexplained_at = account.unexplained_at;
        exchange.undecided = account.undecided;
        exchange.carried = account.carried;
        exchange.findings = account.findings;
        exchange.withdrawn = account.withdrawn;
    }
}

/// How long the peer's acknowledgements took, by the kernel's stamps. QUIC's own samples contain
/// how long the client took to read, which is long on a busy machine.
fn acknowledgements<'a>(
    events: impl Iterator<Item = &'a (Moment, Event)>,
) -> impl Iterator<Item = Duration> {
    events.filter_map(|(_, event)| match event {
        Event::Acknowledged { after, again: None } => Some(*after),
        _ => None,
    })
}

/// The time from the first datagram to the first that arrived, by the kernel's stamp. It contains
/// the server's work.
fn first_wait<'a>(events: impl Iterator<Item = &'a (Moment, Event)>) -> Option<Duration> {
    let mut sent = None;
    for (at, event) in events {
        match event {
            Event::Sent { .. } => sent = sent.or(Some(*at)),
            Event::Received { .. } => return Some(at.since(sent?)),
            _ => {}
        }
    }
    None
}

/// Counts the flights of a handshake as an observer does: changes of direction, and the client's
/// last one, which leaves when the handshake is already over for it.
fn flights<'a>(events: impl Iterator<Item = &'a (Moment, Event)>, client_is_last: bool) -> u32 {
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

/// Returns the strategy that was actually used.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_over_quic_is_as_short_as_the_kernel_s_stamps_show() {
        let ms = |ms| Duration::from_millis(ms);
        let smallest = |after: u64, again: Option<Duration>| {
            let mut exchange = Exchange {
                rtt: Some(ms(30)),
                quic: Some(QuicFacts::default()),
                ..Exchange::default()
            };
            let acknowledged = Event::Acknowledged {
                after: ms(after),
                again,
            };
            exchange.timeline.push(Moment(9), acknowledged);
            let observed = Observed {
                quic: Some(QuicFacts::default()),
                ..Observed::default()
            };
            observed.conclude(&mut exchange, None);
            exchange.rtt
        };
        assert_eq!(smallest(20, None), Some(ms(20)));
        assert_eq!(smallest(40, None), Some(ms(30)));
        assert_eq!(smallest(20, Some(ms(5))), Some(ms(30)), "it was sent again");
    }

    #[test]
    fn the_first_wait_lasts_from_the_first_datagram_to_the_first_answer() {
        let wait = |events: &[(u64, Event)]| {
            let events: Vec<(Moment, Event)> = events
                .iter()
                .map(|(at, e)| (Moment(*at), e.clone()))
                .collect();
            first_wait(events.iter())
        };
        let (sent, received) = (Event::Sent { bytes: 9 }, Event::Received { bytes: 9 });
        let whole = [
            (2, sent.clone()),
            (3, sent.clone()),
            (7, received.clone()),
            (9, received),
        ];
        assert_eq!(wait(&whole), Some(Duration::from_nanos(5)));
        assert_eq!(wait(whole.get(..2).unwrap()), None);
        assert_eq!(wait(whole.get(2..).unwrap()), None);
    }
}
