//! The request on its way: what the client took to write it, and what held it back.

use super::measurable::MIN_MEASURABLE_RTT;
use super::window::INITIAL_WINDOW;
use super::{ms, rtt_ms};
use crate::{Event, Exchange, Moment, Waited};

/// Sending the request: the client's work, except for the pauses of an upload that fills the
/// window.
pub(super) fn request(exchange: &Exchange, start: Moment, end: Moment) -> (u32, Waited) {
    // In a capture, data may leave at the very moment at which the phase begins; data that the
    // client sent before its request belongs to the phase before.
    let began = exchange.timeline.last(|e| *e == Event::RequestStarted);
    let is_request = |at: Moment| at > start || began.is_some_and(|began| began <= start);
    let within = |at: Moment| at >= start && at <= end && is_request(at);
    let sent: Vec<Moment> = exchange
        .timeline
        .iter()
        .filter(|(at, e)| matches!(e, Event::Sent { .. }) && within(*at))
        .map(|(at, _)| *at)
        .collect();
    let whole = ms(end.since(start));
    let paused = match (sent.first(), sent.last()) {
        (Some(first), Some(last)) if may_wait(exchange) => {
            ms(last.since(*first)) - own_pauses(exchange, *first, *last)
        }
        _ => 0.0,
    };
    let server = silence_before_body(exchange).min(paused);
    let network = paused - server;
    let trips = match exchange.rtt {
        // A pause of one round trip may be measured as slightly less.
        Some(r) if r >= MIN_MEASURABLE_RTT => (network / ms(r) + 0.1) as u32,
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

/// Whether the path can have delayed the request: data that fits the first window leaves as soon as
/// it is written.
fn may_wait(exchange: &Exchange) -> bool {
    exchange.http.as_ref().is_none_or(|http| {
        let window = INITIAL_WINDOW * exchange.segment();
        http.continue_wait.is_some() || http.request_bytes + http.uploaded > window
    })
}

/// How long the body waited for `100 Continue` beyond a round trip; the whole wait if no such
/// response came.
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

/// How long the client itself paused between its writes, in milliseconds: as long as less was sent
/// than a first window carries, it could have sent more. While something arrived, it may have
/// waited for that: `100 Continue`, or a window of HTTP/2.
fn own_pauses(exchange: &Exchange, first: Moment, last: Moment) -> f64 {
    if exchange
        .http
        .as_ref()
        .is_some_and(|http| http.continue_wait.is_some())
    {
        return 0.0;
    }
    let (mut sent, mut own) = (0, 0.0);
    let mut since: Option<Moment> = None;
    for (at, event) in exchange.timeline.iter() {
        match event {
            _ if *at < first || *at > last => {}
            Event::Sent { bytes } => {
                own += since.map_or(0.0, |since| ms(at.since(since)));
                sent += bytes.div_ceil(exchange.segment().max(1));
                since = (sent < exchange.first_window()).then_some(*at);
            }
            Event::Received { .. } => since = None,
            _ => {}
        }
    }
    own
}
