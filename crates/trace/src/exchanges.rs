//! Turns a connection into the exchanges that it carried, as `probe` would have written them.

pub(crate) mod failures;
pub(crate) mod http;
mod opening;

use std::time::{Duration, UNIX_EPOCH};

use roundtrip_explain::account;
use roundtrip_model::{Event, Exchange, KeptFacts, Moment, Timeline};

use crate::application::{self, TlsSeen, TracedRequest};
use crate::names::NameLookup;
use crate::relations::{ConnectionEnd, Reopened};
use crate::segment::Side;
use crate::tcp::{Content, TcpFlow};
use crate::tried::Tried;
use crate::vantage::Vantage;
use crate::view::ClientView;

/// The delay, in nanoseconds, after which a connection was not opened for its first request.
const IN_ADVANCE: u64 = 1_000_000_000;
/// The number of events that all exchanges of a connection may have: exchanges that were under way
/// at the same time share events, and each has a copy.
pub(crate) const MAX_EVENTS: usize = 2_000_000;
/// Causes that assume that all data up to the next request is one answer. In a protocol that is not
/// parsed, a server may also send unasked.
const OF_ONE_ANSWER: [&str; 2] = ["body-stalls", "late-body"];

/// Facts from outside the connection.
#[derive(Default)]
pub(crate) struct Context<'a> {
    /// The lookup that led to the connection.
    pub(crate) lookup: Option<&'a NameLookup>,
    /// The client's name for the server, if names were looked up.
    pub(crate) name: Option<&'a str>,
    /// Addresses that were tried before the connection's.
    pub(crate) tried: &'a [Tried],
    /// The client opened no other connection.
    pub(crate) is_only: bool,
    pub(crate) reopened: Option<Reopened>,
}

/// The outcome of a connection.
#[derive(Debug)]
pub(crate) struct ConnectionOutcome {
    pub(crate) exchanges: Vec<Exchange>,
    /// The number of requests that are not among the exchanges.
    pub(crate) left_out: u64,
    /// The requests were seen only as bursts of bytes.
    pub(crate) is_inferred: bool,
    /// The connection was open long before its first request.
    pub(crate) is_opened_early: bool,
    /// The server paused, in a protocol that is not read.
    pub(crate) has_unread_pauses: bool,
    /// Why the connection ended, if the server closed it.
    pub(crate) end: Option<ConnectionEnd>,
}

pub(crate) fn of(flow: &TcpFlow, vantage: &Vantage, context: &Context<'_>) -> ConnectionOutcome {
    let view = ClientView::new(flow, vantage);
    let rtt = vantage.rtt();
    let nanoseconds = rtt.map_or(0, |rtt| rtt.as_nanos() as u64);
    let (tls, asked) = match &flow.content {
        Content::Tls(followers) => {
            let inside = flow.opened.as_ref().and_then(|opened| opened.inside());
            let (seen, asked) = match inside {
                Some(inside) => application::of_opened(inside, followers, &view),
                None => application::of_tls(followers, &view, nanoseconds),
            };
            (Some(seen), asked)
        }
        Content::Http1(http) if !http.requests().is_empty() => {
            (None, application::of_http1(http, &view))
        }
        Content::Http2(http) if !http.requests().is_empty() => {
            (None, application::of_http2(http, &view))
        }
        // There was no complete head of a request, or it is another protocol.
        Content::Http1(_) | Content::Http2(_) | Content::Opaque => {
            (None, application::of_bytes(&view, nanoseconds))
        }
        Content::Unknown => (None, Vec::new()),
    };
    let asked = if asked.is_empty() {
        application::of_answer_alone(flow, &view)
    } else {
        asked
    };
    let is_inferred = asked.iter().any(|asked| asked.is_inferred);
    let builder = ExchangeBuilder {
        flow,
        view: &view,
        tls: tls.as_ref(),
        context,
        rtt,
    };
    let mut exchanges: Vec<Exchange> = Vec::new();
    if asked.is_empty() && flow.reported.is_none() {
        exchanges.extend(builder.without_request());
    }
    let mut before = flow.reported.as_ref().and_then(|before| before.ended);
    let mut room = MAX_EVENTS;
    for (n, asked) in asked.iter().enumerate() {
        if room == 0 {
            break;
        }
        let exchange = builder.exchange(n, &asked.in_turn(before), before);
        room = room.saturating_sub(exchange.timeline.iter().count());
        exchanges.push(exchange);
        before = asked.finished.or(Some(asked.sent));
    }
    let left_out = asked.len().saturating_sub(exchanges.len()) as u64;
    let is_unread = is_inferred && tls.is_none();
    let mut pauses = false;
    for exchange in &mut exchanges {
        explain(exchange);
        let before = exchange.findings.len();
        let is_known = |id| !(is_unread && OF_ONE_ANSWER.contains(&id));
        exchange.findings.retain(|finding| is_known(finding.id));
        pauses |= exchange.findings.len() < before;
    }
    let first = asked.first();
    ConnectionOutcome {
        exchanges,
        left_out,
        is_inferred,
        has_unread_pauses: pauses,
        is_opened_early: first.is_some_and(|first| builder.was_opened_early(first)),
        end: end_of(&view, &asked),
    }
}

/// How the server ended the connection, if it did or had announced it.
fn end_of(view: &ClientView, asked: &[TracedRequest]) -> Option<ConnectionEnd> {
    let (last, earlier) = asked.split_last()?;
    let last_answer = last.finished.unwrap_or(last.sent);
    let reset = view.reset.filter(|(_, side)| *side == Side::Server);
    let closed = view.closed_by_server.or(reset.map(|(at, _)| at));
    let response = last.response.as_ref();
    let announced = response.is_some_and(|response| !response.keeps_alive());
    let at = closed.or(last.finished.filter(|_| announced))?;
    let is_kept = !earlier.is_empty() || view.syn.is_none();
    let is_unanswered = last.first_byte.is_none() && at > last.began;
    Some(ConnectionEnd {
        at,
        last_answer,
        announced,
        crossed: (is_kept && is_unanswered).then_some(last.began),
    })
}

pub fn explain(exchange: &mut Exchange) {
    let account = account(exchange);
    exchange.findings = account.findings;
    exchange.withdrawn = account.withdrawn;
    exchange.unexplained = account.unexplained;
    exchange.unexplained_at = account.unexplained_at;
    exchange.undecided = account.undecided;
    exchange.carried = account.carried;
}

struct ExchangeBuilder<'a> {
    flow: &'a TcpFlow,
    view: &'a ClientView,
    tls: Option<&'a TlsSeen>,
    context: &'a Context<'a>,
    rtt: Option<Duration>,
}

impl ExchangeBuilder<'_> {
    /// The n-th exchange of the connection; `before` is the end of the previous one.
    fn exchange(&self, n: usize, asked: &TracedRequest, before: Option<u64>) -> Exchange {
        let opens = n == 0 && self.view.syn.is_some() && !self.was_opened_early(asked);
        let zero = if opens { self.zero() } else { asked.began };
        let mut exchange = self.begun(zero, !opens);
        exchange.url = self.url(asked.request.as_ref());
        if !opens {
            exchange.kept = before.map(|before| KeptFacts {
                idle: Duration::from_nanos(asked.began.saturating_sub(before)),
                bytes_received: self.view.read_at(asked.began.saturating_sub(1)),
                beyond: None,
            });
        }
        let failure = self.failure_of(asked);
        let end = match &failure {
            Some((at, _)) => *at,
            None => asked.finished.unwrap_or(asked.sent),
        };
        let end = end.max(asked.sent);
        if let Some(tcp) = &mut exchange.tcp {
            self.measured(tcp, end);
        }
        self.events(&mut exchange.timeline, zero, end, opens);
        let mut mark = |at: Option<u64>, event: Event| {
            if let Some(at) = at.filter(|at| *at <= end) {
                exchange.timeline.push(moment(zero, at), event);
            }
        };
        mark(Some(asked.began), Event::RequestStarted);
        mark(Some(asked.sent), Event::RequestSent);
        mark(asked.first_byte, Event::FirstByte);
        mark(asked.answered, Event::Answered);
        mark(Some(end), Event::Finished);
        self.http(&mut exchange, asked);
        exchange.failure = failure.map(|(_, failure)| failure);
        exchange
    }

    /// Whether the client had opened the connection before it had a request, as browsers do. A
    /// client with a single connection had a reason to open it.
    fn was_opened_early(&self, asked: &TracedRequest) -> bool {
        if self.view.syn.is_none() || self.context.is_only {
            return false;
        }
        let ready = self
            .tls
            .and_then(|seen| seen.finished)
            .or(self.view.connected);
        ready.is_some_and(|ready| asked.began.saturating_sub(ready) >= IN_ADVANCE)
    }

    /// A connection that carried no request, because it failed or was not used. A connection that
    /// was only opened as a spare is not an exchange.
    fn without_request(&self) -> Option<Exchange> {
        let zero = self.zero();
        let (end, failure) = self.failure_before_request()?;
        let mut exchange = self.begun(zero, self.view.syn.is_none());
        exchange.url = self.url(None);
        self.events(&mut exchange.timeline, zero, end, true);
        exchange.timeline.push(moment(zero, end), Event::Finished);
        exchange.failure = Some(failure);
        Some(exchange)
    }

    /// When the client began: at the lookup, or at its SYN.
    fn zero(&self) -> u64 {
        let syn = self.view.syn;
        let first = syn.or(self.view.sent.first().map(|(_, at)| *at));
        let first = first.unwrap_or_else(|| self.flow.began());
        let tried = self.context.tried.iter().map(|tried| tried.began).min();
        let first = tried.map_or(first, |tried| tried.min(first));
        let crossed = self.context.reopened.and_then(|reopened| reopened.asked);
        let first = crossed.map_or(first, |asked| asked.min(first));
        self.context
            .lookup
            .map_or(first, |lookup| lookup.began.min(first))
    }

    fn begun(&self, zero: u64, reused: bool) -> Exchange {
        let used = self.strategy(reused);
        let reopened = self.context.reopened;
        Exchange {
            started: UNIX_EPOCH.checked_add(Duration::from_nanos(zero)),
            asked: self.wanted(used),
            used,
            rtt: self.rtt,
            reused,
            not_kept: reopened.filter(|_| !reused).map(|reopened| reopened.why),
            name: self
                .context
                .lookup
                .filter(|_| !reused)
                .map(NameLookup::facts),
            attempts: if reused {
                Vec::new()
            } else {
                self.attempts(zero)
            },
            tcp: Some(self.tcp_facts(reused)),
            tls: self.tls.map(|seen| self.tls_facts(seen)),
            ..Exchange::default()
        }
    }

    fn events(&self, timeline: &mut Timeline, zero: u64, end: u64, opens: bool) {
        let events = &self.view.events;
        let first = events.partition_point(|(at, _)| *at < zero);
        let within = events.iter().skip(first).take_while(|(at, _)| *at <= end);
        for (at, event) in within {
            timeline.push(moment(zero, *at), event.clone());
        }
        if opens {
            self.opening(timeline, zero, end);
        }
    }
}

fn moment(zero: u64, at: u64) -> Moment {
    Moment(at.saturating_sub(zero))
}
