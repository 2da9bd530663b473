//! The lookup, the connection and the handshake: their events and facts.

use std::time::Duration;

use roundtrip_model::{
    Attempt, AttemptOutcome, ChainFacts, EarlyData, Event, FastOpenFacts, Http, Memory, Security,
    Strategy, Task, TcpFacts, Timeline, TlsFacts,
};
use roundtrip_wire::tls::Version;

use super::{ExchangeBuilder, moment};
use crate::application::TlsSeen;
use crate::segment::SynOptions;
use crate::tcp::Content;
use crate::view::mss;

impl ExchangeBuilder<'_> {
    pub(super) fn opening(&self, timeline: &mut Timeline, zero: u64, end: u64) {
        let peer = self.flow.server;
        let mut mark = |at: Option<u64>, event: Event| {
            if let Some(at) = at.filter(|at| *at <= end) {
                timeline.push(moment(zero, at), event);
            }
        };
        mark(self.context.lookup.map(|l| l.began), Event::LookupStarted);
        let found = self.context.lookup.and_then(|l| l.ended);
        mark(found, Event::LookupFinished);
        for tried in self.context.tried {
            let peer = tried.peer;
            mark(Some(tried.began), Event::AttemptStarted { peer });
            mark(tried.refused, Event::AttemptFailed { peer });
        }
        let syn = self.view.syn;
        mark(syn, Event::AttemptStarted { peer });
        let deferred = self.view.syn_data > 0;
        if deferred {
            mark(syn, Event::Connected { peer, deferred });
            let acked = Event::SynAcked {
                data_sent: self.first_flight(),
                data_acked: self.view.syn_data_acked,
            };
            mark(self.view.connected, acked);
        } else {
            mark(self.view.connected, Event::Connected { peer, deferred });
        }
        let ready = self.flow.tunnel.as_ref().and_then(|(request, response)| {
            mark(self.view.left(request.start + 1), Event::TunnelStarted);
            let ready = self.view.readable(response.head_end);
            mark(ready, Event::TunnelReady);
            ready
        });
        if let Some(seen) = self.tls {
            let began = if deferred { syn } else { ready.or(seen.began) };
            mark(began, Event::HandshakeStarted);
            let sent = &self.view.sent;
            let hello = sent
                .iter()
                .map(|(_, at)| *at)
                .find(|at| began.is_none_or(|b| *at >= b));
            if let Some((began, hello)) = began.zip(hello).filter(|(began, hello)| hello > began) {
                let took = Duration::from_nanos(hello - began);
                let task = Task::GenerateKeys;
                mark(Some(hello), Event::Worked { task, took });
            }
            let refused = self.refused_early(seen);
            mark(seen.finished.filter(|_| refused), Event::EarlyDataRefused);
            mark(seen.finished, Event::HandshakeFinished);
        }
    }

    /// The bytes of the client's first flight. A record that the SYN cut was written as a whole,
    /// however late its rest left.
    fn first_flight(&self) -> u64 {
        let cut = match &self.flow.content {
            Content::Tls([client, _]) => client.records().iter(),
            _ => [].iter(),
        };
        let within = self.view.syn_data;
        let mut cut = cut.filter(|record| record.start < within && within < record.end);
        let end = cut.next().map_or(0, |record| record.end);
        self.view.first_flight().max(end)
    }

    pub(super) fn attempts(&self, zero: u64) -> Vec<Attempt> {
        let Some(began) = self.view.syn else {
            return Vec::new();
        };
        let refused = || AttemptOutcome::Failed("connection refused".into());
        let all = match (self.view.connected, self.view.refusals.as_slice()) {
            (Some(at), _) => vec![(began, at, AttemptOutcome::Won)],
            (None, []) => vec![(began, self.view.ended, AttemptOutcome::Abandoned)],
            (None, refusals) => {
                let refusals = refusals.iter();
                refusals.map(|(at, end)| (*at, *end, refused())).collect()
            }
        };
        let ended = all.first().map_or(began, |(_, ended, _)| *ended);
        let before = self.context.tried.iter().map(|tried| Attempt {
            peer: tried.peer,
            over_quic: false,
            began: moment(zero, tried.began),
            ended: moment(zero, tried.refused.unwrap_or(ended)),
            outcome: match tried.refused {
                Some(_) => refused(),
                None => AttemptOutcome::Abandoned,
            },
        });
        let own = all.into_iter().map(|(began, ended, outcome)| Attempt {
            peer: self.flow.server,
            over_quic: false,
            began: moment(zero, began),
            ended: moment(zero, ended),
            outcome,
        });
        before.chain(own).collect()
    }

    pub(super) fn tcp_facts(&self, reused: bool) -> TcpFacts {
        let view = self.view;
        let opened = view.syn.zip(view.connected);
        let took = opened.map(|(syn, answer)| Duration::from_nanos(answer.saturating_sub(syn)));
        let mss = mss(self.flow);
        let of_peer = self.flow.syn_ack.and_then(|syn| syn.mss);
        let ecn = |syn: Option<SynOptions>| syn.is_some_and(|syn| syn.asks_for_ecn);
        let fast_open = self.flow.syn.and_then(|syn| syn.fast_open);
        let data_sent = if view.syn_data > 0 {
            self.first_flight()
        } else {
            0
        };
        let all = data_sent > 0 && view.syn_data_acked == data_sent;
        TcpFacts {
            local: Some(self.flow.client),
            peer: Some(self.flow.server),
            fast_open: FastOpenFacts {
                asked: fast_open.is_some(),
                cookie: fast_open.is_some_and(|length| length > 0),
                data_sent,
                data_acked: view.syn_data_acked,
                saved_round_trips: u32::from(all),
                kernel_says: None,
            },
            handshake_rtt: took.filter(|_| view.is_first_try() && !reused),
            min_rtt: self.rtt,
            rtt: self.rtt,
            retransmits: view.resent + view.syn_repeats,
            needless_retransmits: view.needless,
            syn_retransmits: view.syn_repeats,
            mss,
            first_mss: mss,
            announced_mss: of_peer.map(u32::from),
            // Segments that were joined after they had arrived are larger than those on the wire.
            peer_mss: match u32::try_from(view.largest_segment) {
                Ok(0) | Err(_) => mss,
                Ok(largest) => largest.min(mss),
            },
            ecn: ecn(self.flow.syn) && ecn(self.flow.syn_ack),
            out_of_order: view.out_of_order,
            peer_window: view.largest_window,
            receiver_limited: Duration::from_nanos(view.without_room),
            ..TcpFacts::default()
        }
    }

    /// Sets the values that the client's kernel would have measured before the request.
    pub(super) fn measured(&self, tcp: &mut TcpFacts, until: u64) {
        let (rate, smoothed) = self.view.measured_at(until);
        tcp.rtt = smoothed.map(Duration::from_nanos).or(tcp.rtt);
        if let Some(rate) = rate {
            (tcp.delivery_rate, tcp.delivery_app_limited) = (rate.bytes, rate.limited);
        }
    }

    pub(super) fn tls_facts(&self, seen: &TlsSeen) -> TlsFacts {
        let server = seen.server.as_ref();
        let client = seen.client.as_ref();
        let resumed = is_resumed(seen);
        let early_data = match (self.sent_early(seen), self.refused_early(seen)) {
            (true, _) => EarlyData::Accepted,
            (_, true) => EarlyData::Refused,
            _ => EarlyData::NotOffered,
        };
        TlsFacts {
            version: seen.version.map(|v| v.to_string()).unwrap_or_default(),
            cipher: server
                .and_then(|s| s.cipher_suite.name())
                .unwrap_or_default()
                .to_owned(),
            group: server
                .and_then(|s| s.group?.name())
                .unwrap_or_default()
                .to_owned(),
            alpn: alpn(seen),
            resumed,
            ticket_shown: client
                .is_some_and(|c| c.offers_psk() || c.session_ticket.is_some_and(|n| n > 0)),
            early_data,
            hello_retry: seen.was_retried,
            client_hello_bytes: seen.hello_bytes,
            bytes_received: seen.finished.map_or(0, |at| self.view.read_at(at)),
            bytes_sent: seen.finished.map_or(0, |at| self.view.sent_at(at)),
            chain: (seen.chain_bytes > 0).then(|| ChainFacts {
                bytes_on_wire: seen.chain_bytes,
                ..ChainFacts::default()
            }),
            ..TlsFacts::default()
        }
    }

    /// Whether a request left before the handshake was over, and was accepted: only then does the
    /// client mark the end of its early data. RFC 8446 §4.5.
    fn sent_early(&self, seen: &TlsSeen) -> bool {
        self.early_records(seen) && seen.ended_early_data
    }

    fn refused_early(&self, seen: &TlsSeen) -> bool {
        self.early_records(seen) && !seen.ended_early_data
    }

    fn early_records(&self, seen: &TlsSeen) -> bool {
        let Content::Tls([client, _]) = &self.flow.content else {
            return false;
        };
        let data = client.records().iter().find(|r| r.is_application_data());
        let left = data.and_then(|record| self.view.left(record.end));
        seen.client.as_ref().is_some_and(|client| client.early_data)
            && left
                .zip(seen.finished)
                .is_some_and(|(left, end)| left < end)
    }

    /// The strategy that the client requested.
    pub(super) fn wanted(&self, used: Strategy) -> Strategy {
        let client = self.tls.and_then(|seen| seen.client.as_ref());
        let early = client.is_some_and(|c| c.early_data);
        let ticket =
            client.is_some_and(|c| c.offers_psk() || c.session_ticket.is_some_and(|n| n > 0));
        let memory = match (early, ticket) {
            (true, _) => Memory::EarlyData,
            (false, true) => Memory::Resume,
            _ => used.memory,
        };
        let fast_open = self.flow.syn.is_some_and(|syn| syn.fast_open.is_some());
        Strategy {
            fast_open: used.fast_open || fast_open,
            memory,
            ..used
        }
    }

    pub(super) fn strategy(&self, reused: bool) -> Strategy {
        let (http, security, memory) = match (&self.flow.content, self.tls) {
            (Content::Http1(_), _) => (Http::H1, Security::Clear, Memory::Cold),
            (Content::Http2(_), _) => (Http::H2, Security::Clear, Memory::Cold),
            (Content::Tls(_), Some(seen)) => {
                let http = match alpn(seen).as_deref() {
                    Some("h2") => Http::H2,
                    Some("http/1.1" | "http/1.0") => Http::H1,
                    _ => Http::Auto,
                };
                let security = match seen.version {
                    Some(Version::TLS13) => Security::Tls13,
                    Some(Version::TLS12) => Security::Tls12,
                    _ => Security::Auto,
                };
                let memory = match (is_resumed(seen), self.sent_early(seen)) {
                    (true, true) => Memory::EarlyData,
                    (true, false) => Memory::Resume,
                    _ => Memory::Cold,
                };
                (http, security, memory)
            }
            _ => (Http::Echo, Security::Clear, Memory::Cold),
        };
        Strategy {
            http,
            security,
            fast_open: self.view.syn_data > 0,
            memory,
            reuse: reused,
            post_quantum: self
                .tls
                .and_then(|seen| seen.client.as_ref())
                .is_none_or(|c| {
                    c.key_shares
                        .iter()
                        .any(|share| share.group.is_post_quantum())
                }),
        }
    }
}

fn is_resumed(seen: &TlsSeen) -> bool {
    let server = seen.server.as_ref();
    server.is_some_and(|server| {
        server.psk.is_some()
            || (server.version != Version::TLS13
                && seen
                    .client
                    .as_ref()
                    .is_some_and(|client| server.resumes(client)))
    })
}

fn alpn(seen: &TlsSeen) -> Option<String> {
    let told = seen.server.as_ref().and_then(|server| server.alpn.clone());
    // TLS 1.3 encrypts the selected protocol; if only one was offered, it must be that.
    told.or_else(|| match seen.client.as_ref()?.alpn.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    })
}
