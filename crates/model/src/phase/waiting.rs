//! Whom a phase waited for, and how many round trips it took. `walk` follows the bytes of phases
//! with many; the phases with a single wait are handled here.

use std::time::Duration;

use super::evidence::{Evidence, Stop};
use super::walk::Walk;
use super::{connect, ms, rtt_ms};
use crate::{Answer, Event, Exchange, Moment, PhaseName, Waited};

/// On shorter paths, such as a host's loopback, gaps cannot be told from scheduling.
pub(super) const SHORTEST_TELLING_RTT: Duration = Duration::from_micros(200);
const INITIAL_WINDOW: u64 = 10;

/// The round trips and waits of one phase.
pub(super) fn attribute(
    exchange: &Exchange,
    name: PhaseName,
    start: Moment,
    end: Moment,
) -> (u32, Waited) {
    let whole = ms(end.since(start));
    let client_only = (
        0,
        Waited {
            client: whole,
            ..Waited::default()
        },
    );
    match name {
        PhaseName::Setup => client_only,
        PhaseName::Name => (0, lookup(exchange, whole)),
        PhaseName::Tcp => connect::attribute(exchange, start, end),
        PhaseName::Request => request(exchange, start, end),
        PhaseName::FirstByte => first_byte(exchange, start, end),
        PhaseName::Proxy | PhaseName::Tls | PhaseName::Quic | PhaseName::Body => {
            Walk::new(exchange, name).run(start, end)
        }
    }
}

fn lookup(exchange: &Exchange, whole: f64) -> Waited {
    match exchange.name.as_ref().map(|n| &n.answer) {
        Some(Answer::Literal | Answer::Given | Answer::Hosts) => Waited {
            client: whole,
            ..Waited::default()
        },
        _ => Waited {
            resolver: whole,
            ..Waited::default()
        },
    }
}

/// Sending the request: the client's work, except for the pauses of an upload that fills the
/// window.
fn request(exchange: &Exchange, start: Moment, end: Moment) -> (u32, Waited) {
    let sent: Vec<Moment> = exchange
        .timeline
        .iter()
        .filter(|(at, e)| matches!(e, Event::Sent { .. }) && *at > start && *at <= end)
        .map(|(at, _)| *at)
        .collect();
    let whole = ms(end.since(start));
    let paused = match (sent.first(), sent.last()) {
        (Some(first), Some(last)) if may_wait(exchange) => ms(last.since(*first)),
        _ => 0.0,
    };
    let server = silence_before_body(exchange).min(paused);
    let network = paused - server;
    let trips = match exchange.rtt {
        // A pause of one round trip may be measured as slightly less.
        Some(r) if r >= SHORTEST_TELLING_RTT => (network / ms(r) + 0.1) as u32,
        _ => 0,
    };
    (
        trips,
        Waited {
            network,
            server,
            client: whole - paused,
            ..Waited::default()
        },
    )
}

/// Whether the path can have delayed the request: what fits the first window leaves as fast as it
/// is written.
fn may_wait(exchange: &Exchange) -> bool {
    exchange.http.as_ref().is_none_or(|http| {
        let mss = exchange.tcp.as_ref().map_or(1200, |tcp| tcp.mss);
        let window = INITIAL_WINDOW * u64::from(mss).max(500);
        http.continue_wait.is_some() || http.request_bytes + http.uploaded > window
    })
}

/// How long the body waited for `100 Continue` beyond a round trip; the whole wait if it never
/// came.
fn silence_before_body(exchange: &Exchange) -> f64 {
    let http = exchange.http.as_ref();
    let Some((http, wait)) = http.and_then(|h| Some((h, ms(h.continue_wait?)))) else {
        return 0.0;
    };
    if http.interim.contains(&100) {
        (wait - rtt_ms(exchange)).max(0.0)
    } else {
        wait
    }
}

/// From the last byte of the request to the first of the response: one round trip, and the server's
/// time to think.
fn first_byte(exchange: &Exchange, start: Moment, end: Moment) -> (u32, Waited) {
    let whole = ms(end.since(start));
    let answered = exchange
        .timeline
        .first(|e| *e == Event::FirstByte)
        .is_some();
    let mut waited = Waited::default();
    if !answered {
        starve(exchange, whole, &mut waited);
        return (0, waited);
    }
    split(exchange, whole, &mut waited);
    // The wait for the answer to a large request begins while most of it is still in the kernel.
    let more = flights_left(exchange, waited.server);
    let carried = f64::from(more) * rtt_ms(exchange).min(whole);
    if more > 0 {
        waited.network += carried;
        waited.server -= carried;
    }
    lose(exchange, start, end, &mut waited);
    (1 + more, waited)
}

/// Attributes the part of the silence before the first byte that was due to a loss. The silence may
/// have begun with bytes that were not the answer, or with a part of it that could not be decoded
/// yet.
fn lose(exchange: &Exchange, start: Moment, end: Moment, waited: &mut Waited) {
    let rtt = rtt_ms(exchange);
    let evidence = Evidence::between(exchange, start, end);
    let mut lost = evidence.loss(waited.server, rtt);
    let mut before = None;
    let mut heard = Evidence::default();
    for (at, event) in exchange.timeline.iter() {
        if *at < start || *at > end {
            continue;
        }
        if !matches!(event, Event::Received { .. }) {
            heard.hear(event);
            continue;
        }
        let gap = before.map_or(0.0, |before| ms(at.since(before)));
        if heard.stop(exchange, gap, rtt, None) == Stop::Timeout {
            lost += gap;
        }
        (before, heard) = (Some(*at), Evidence::default());
    }
    let lost = lost.min(waited.server);
    waited.loss += lost;
    waited.server -= lost;
}

/// The number of round trips in this silence in which a new connection's window grew under the
/// request: whole ones only, and at most as many as doubling needs. RFC 5681 §3.1.
fn flights_left(exchange: &Exchange, silence: f64) -> u32 {
    let r = rtt_ms(exchange);
    let (Some(http), Some(tcp)) = (&exchange.http, &exchange.tcp) else {
        return 0;
    };
    if exchange.reused || ms(SHORTEST_TELLING_RTT) > r || !r.is_finite() {
        return 0;
    }
    let window = INITIAL_WINDOW * u64::from(tcp.mss).max(500);
    let windows = (http.request_bytes + http.uploaded).div_ceil(window);
    let doublings = (windows + 1).next_power_of_two().ilog2().saturating_sub(1);
    doublings.min((silence / r + 0.1) as u32)
}

/// Splits the wait for an answer: one round trip, then the server.
pub(super) fn split(exchange: &Exchange, gap: f64, waited: &mut Waited) {
    let network = gap.min(rtt_ms(exchange));
    waited.network += network;
    waited.server += gap - network;
}

/// Attributes the wait for an answer that never came: to a loss, if the kernel kept retransmitting.
pub(super) fn starve(exchange: &Exchange, gap: f64, waited: &mut Waited) {
    split(exchange, gap, waited);
    let resent = exchange.tcp.as_ref().is_some_and(|t| {
        // Data that a SYN carried in vain is retransmitted without having been lost.
        let in_vain = t.fast_open.data_sent > 0 && t.fast_open.data_acked == 0;
        t.retransmits > t.syn_retransmits + u32::from(in_vain)
    });
    if resent {
        waited.loss += std::mem::take(&mut waited.server);
    }
}
