//! Which party a phase waited for, and how many round trips it took. `walk` follows the bytes of
//! phases with many waits; this module handles the phases with a single one.

use std::time::Duration;

use super::body;
use super::delayed_ack::{Arrivals, DELAYED_ACK, MIN_DELAYED_ACK, TOGETHER};
use super::evidence::{self, Evidence};
use super::line;
use super::measurable::MIN_MEASURABLE_RTT;
use super::request::request;
use super::uplink::sent_around;
use super::walk::Walk;
use super::window::INITIAL_WINDOW;
use super::{connect, ms, rtt_ms};
use crate::{Answer, Event, Exchange, Moment, PhaseName, Waited};

/// The shortest retransmission timeout of Linux, a tick, and how late its timers may fire, in
/// milliseconds.
const MIN_TIMEOUT: f64 = 200.0;
const TICK: f64 = 5.0;
const TIMER_SLACK: f64 = 40.0;
/// The silence, in round trips, after which unacknowledged data has been sent more than once.
const SEVERAL_PROBES: f64 = 6.0;

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
        PhaseName::Name => (0, lookup(exchange, start, end)),
        PhaseName::Tcp => connect::attribute(exchange, start, end),
        PhaseName::Request => request(exchange, start, end),
        PhaseName::FirstByte => first_byte(exchange, start, end),
        PhaseName::Body if exchange.echo.is_none() => body::attribute(exchange, start, end),
        PhaseName::Proxy | PhaseName::Tls | PhaseName::Quic | PhaseName::Body => {
            Walk::new(exchange, name).run(start, end)
        }
    }
}

/// The wait for the name server ends with its answer, which may be read later.
fn lookup(exchange: &Exchange, start: Moment, end: Moment) -> Waited {
    let whole = ms(end.since(start));
    let client = match exchange.name.as_ref().map(|n| &n.answer) {
        Some(Answer::Literal | Answer::Given | Answer::Hosts) => whole,
        _ => Evidence::between(exchange, start, end)
            .not_running()
            .min(whole),
    };
    Waited {
        client,
        resolver: whole - client,
        ..Waited::default()
    }
}

/// The time from the last byte of the request to the first of the response: one round trip, and the
/// server's processing. The wait for the server ends when the first bytes of the answer arrive,
/// which may be long before they can be read; the remaining wait is treated like that for a body.
fn first_byte(exchange: &Exchange, start: Moment, end: Moment) -> (u32, Waited) {
    let whole = ms(end.since(start));
    let answered_at = exchange.timeline.first(|e| *e == Event::FirstByte);
    let mut waited = Waited::default();
    if answered_at.is_none() {
        let heard = Evidence::between(exchange, start, end);
        let lost = heard
            .gap_opened()
            .map_or(0.0, |opened| ms(end.since(opened)));
        starve(exchange, whole - lost, &heard, &mut waited);
        waited.loss += lost;
        return (0, waited);
    }
    let began = answer_began(exchange, start, end);
    let heard = Evidence::between(exchange, start, began);
    answered(exchange, (start, began), &heard, &mut waited);
    // The wait for the answer to a large request begins while most of it is still in the kernel.
    let more = flights_left(exchange, waited.server);
    let carried = f64::from(more) * rtt_ms(exchange).min(whole);
    if more > 0 {
        waited.network += carried;
        waited.server -= carried;
    }
    window_of_one(exchange, start, began, &mut waited);
    let (trips, rest) = if began < end {
        body::attribute(exchange, began, end)
    } else {
        (0, Waited::default())
    };
    (1 + more + trips, waited.plus(rest))
}

/// When the record that contains the first byte of the response began to arrive. A record can be
/// read only when it is complete; a record of a few bytes may be a ticket.
pub(super) fn answer_began(exchange: &Exchange, start: Moment, end: Moment) -> Moment {
    let mut records = exchange.timeline.iter().rev();
    let began = records.find_map(|(at, event)| match event {
        Event::RecordBegan { bytes } if *at > start && *at < end => Some((*at, *bytes)),
        _ => None,
    });
    match began {
        Some((at, bytes)) if bytes > exchange.segment() => at,
        _ => end,
    }
}

/// After a SYN or SYN-ACK was lost, the server begins with a window of one segment (RFC 5681 §3.1):
/// an answer that comes just one round trip after a ticket, or after its delayed acknowledgement,
/// had to wait for that window.
fn window_of_one(exchange: &Exchange, start: Moment, began: Moment, waited: &mut Waited) {
    let r = rtt_ms(exchange);
    if exchange.first_window() > 1 || exchange.tls.is_none() || waited.server < 0.5 * r {
        return;
    }
    let mut arrivals = exchange.timeline.iter().filter_map(|(at, event)| {
        (*at > start && *at < began && matches!(event, Event::Received { .. })).then_some(*at)
    });
    let Some(first) = arrivals.next() else { return };
    let pause = ms(began.since(first));
    let mut events = exchange.timeline.iter();
    let delayed = events.any(|(at, e)| *at >= first && *at < began && *e == Event::AckDelayed);
    let late = pause - r - if delayed { MIN_DELAYED_ACK } else { 0.0 };
    let most = if delayed {
        DELAYED_ACK - MIN_DELAYED_ACK
    } else {
        0.0
    };
    let slack = (0.15 * r).max(2.0);
    if arrivals.next().is_none() && (-slack..=most + slack).contains(&late) {
        let moved = waited.server.min(pause);
        waited.network += moved;
        waited.server -= moved;
    }
}

/// The peer's answer: one round trip, then the server, minus the time that is due to a loss, to a
/// slower path, or to a client that did not run.
pub(super) fn answered(
    exchange: &Exchange,
    (since, at): (Moment, Moment),
    heard: &Evidence,
    waited: &mut Waited,
) {
    let r = rtt_ms(exchange);
    let whole = ms(at.since(since));
    let closed = heard.closed().min(whole);
    waited.client += closed;
    let gap = whole - closed;
    let network = gap.min(r);
    let mut rest = gap - network;
    waited.network += network;
    let mut book = |part: &mut f64, amount: f64| {
        let taken = amount.clamp(0.0, rest);
        *part += taken;
        rest -= taken;
    };
    book(&mut waited.client, heard.held_back());
    let lost = heard.loss(exchange, gap - network, at);
    book(&mut waited.loss, lost);
    book(&mut waited.network, heard.reordered(r));
    if evidence::ended_with_smaller_segments(exchange, heard, gap - network, at) {
        book(&mut waited.loss, gap);
    }
    // If the server had had the request and had been thinking, its acknowledgement would have come
    // earlier.
    if let Some((acknowledged, after)) = heard.acknowledged()
        && acknowledged >= since
        && !heard.left_late()
    {
        let late = after - r;
        let alone = acknowledged + TOGETHER < at;
        let is_long = late > DELAYED_ACK;
        let copied = heard.copied(exchange).filter(|_| is_long);
        let copied = copied.map_or(0.0, |copy| after - copy);
        book(&mut waited.loss, copied - lost);
        let lost = lost.max(copied);
        // An acknowledgement without data is not sent again: it was not lost with the answer.
        let with_data = !Arrivals::from_exchange(exchange).is_alone(acknowledged);
        let like_a_timeout = is_long && with_data && is_like_a_timeout(late, r);
        let left = acknowledged - Duration::from_secs_f64(after / 1e3);
        let held_up = if alone {
            let bytes = sent_around(exchange, left);
            bytes > exchange.segment() || !exchange.may_have_delayed_ack(late)
        } else {
            is_long
        };
        if like_a_timeout && !heard.resent_in_vain(exchange) {
            book(&mut waited.loss, late - lost);
        } else if held_up {
            book(&mut waited.network, late - lost);
        }
    }
    book(&mut waited.network, line::carriage(exchange, since, at));
    waited.server += rest;
}

/// Whether a timeout retransmitted an answer that came this late, together with the
/// acknowledgement of its request: 200 ms (Linux's shortest) after the smoothed round trip, twice
/// that for a probe, or three round trips before there are samples (RFC 6298 §2, RFC 8985 §7.2).
pub fn is_like_a_timeout(late: f64, r: f64) -> bool {
    let shortest = r + MIN_TIMEOUT;
    [shortest, r + shortest, shortest.max(3.0 * r)]
        .iter()
        .any(|timeout| (-TICK..TIMER_SLACK).contains(&(late - timeout)))
}

/// Like [`is_like_a_timeout`], for an answer that was lost up to three more times: the timeout
/// begins again with each retransmission, twice as long as before unless the one before was a probe
/// (RFC 6298 §5.5).
pub fn is_like_timeouts(late: f64, r: f64) -> bool {
    let shortest = r + MIN_TIMEOUT;
    let slack = |times: f64| -TICK..TIMER_SLACK * times;
    let after = |first: f64, next: f64, times: i32| first + next * (2f64.powi(times) - 1.0);
    let again = (1..=3).any(|times| {
        let timeouts = [
            after(r + shortest, shortest, times),
            after(shortest, 2.0 * shortest, times),
            // A probe for one of several segments leaves sooner (RFC 8985 §7.2).
            after(2.0 * r, shortest, times),
        ];
        let slack = slack(f64::from(times));
        timeouts
            .iter()
            .any(|timeout| slack.contains(&(late - timeout)))
    });
    is_like_a_timeout(late, r) || again
}

/// The number of whole round trips in this silence during which the window of a new connection was
/// too small for the request and grew. It is at most the number of doublings that the request
/// needs. RFC 5681 §3.1.
fn flights_left(exchange: &Exchange, silence: f64) -> u32 {
    let r = rtt_ms(exchange);
    let Some(http) = &exchange.http else {
        return 0;
    };
    if exchange.tcp.is_none() || exchange.reused || ms(MIN_MEASURABLE_RTT) > r || !r.is_finite() {
        return 0;
    }
    let window = INITIAL_WINDOW * exchange.segment();
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

/// Attributes the wait for an answer that never came: to a loss if the data had to be retransmitted
/// again and again.
pub(super) fn starve(exchange: &Exchange, gap: f64, heard: &Evidence, waited: &mut Waited) {
    split(exchange, gap, waited);
    // QUIC sends unacknowledged data again after two round trips (RFC 9002 §6.2.1).
    let in_silence = exchange.quic.is_some()
        && heard.acknowledged().is_none()
        && (exchange.rtt.is_none() || gap >= SEVERAL_PROBES * rtt_ms(exchange));
    let resent = in_silence
        || exchange.tcp.as_ref().is_some_and(|t| {
            // Data that a SYN carried without success is retransmitted without having been lost.
            let in_vain = t.fast_open.data_sent > 0 && t.fast_open.data_acked == 0;
            t.retransmits > t.syn_retransmits + u32::from(in_vain)
        });
    if resent {
        waited.loss += std::mem::take(&mut waited.server);
        // If no round trip is known, nothing was ever answered.
        if exchange.rtt.is_none() {
            waited.loss += gap;
            waited.network -= gap;
        }
    }
}
