//! The effect of a slow line on sent bytes: no answer can arrive before they have left, and this
//! time is not charged to the server.
//!
//! The kernel measures the rate at which the peer receives data. If that rate equals one window per
//! round trip, or covers all the data, it says nothing about the line, and no time is attributed to
//! the line.

use super::delayed_ack::{Arrivals, MIN_DELAYED_ACK};
use super::line::with_headers;
use super::measurable::MIN_MEASURABLE_RTT;
use super::window::INITIAL_WINDOW;
use super::{Phase, PhaseName, ms, rtt_ms};
use crate::{Event, Exchange, Moment, TcpFacts};

/// A slow line adds at least this delay, in milliseconds and as a share of the round trip.
const MIN_MS: f64 = 1.0;
const MIN_SHARE: f64 = 0.02;
/// Data that fills a line queues in front of it and makes round trips longer than the shortest by
/// this factor; otherwise the window limited the sender.
const QUEUED: f64 = 1.25;
/// Receivers acknowledge at least every second segment at once (RFC 5681 §4.2), but may delay the
/// acknowledgement of a single segment.
const MIN_SEGMENTS: u64 = 2;
/// Writes that are less than this many milliseconds apart count as one.
const TOGETHER: f64 = 0.5;
/// A departure is stamped up to this many milliseconds after the write.
const CLOCKS: f64 = 0.05;
/// The tolerated disagreement, as a share of the time that the largest flight took, and of the time
/// that a smaller one needs.
const DISAGREEMENT: f64 = 0.15;
const CONFIRMS: f64 = 0.25;
/// If there are only acknowledgements, the number of flights of other sizes that must confirm the
/// line.
const MIN_CONFIRMATIONS: usize = 2;
/// An acknowledgement confirms a line if it agrees within this many milliseconds.
const CONFIRMS_MS: f64 = 0.5;

impl Exchange {
    /// In milliseconds: how long the line may have needed for a request of several segments, if it
    /// was the reason why an acknowledgement of other data was late.
    pub fn carriage_of_request(&self) -> f64 {
        match request_bytes(self) {
            request if request <= self.segment() => 0.0,
            request => slowest_ms_per_byte(self, request) * with_headers(self, request) as f64,
        }
    }
}

/// How long the line may have needed for a byte, by the acknowledgements of flights of less than
/// `most` bytes that were not delayed on purpose. What comes with data may have waited for it for
/// any time. Data that was sent again may have been late because of the line, too.
pub(super) fn slowest_ms_per_byte(exchange: &Exchange, most: u64) -> f64 {
    let r = rtt_ms(exchange);
    let arrivals = Arrivals::from_exchange(exchange);
    let paces = exchange.timeline.iter().map(|(at, event)| match event {
        Event::Acknowledged { after, .. } => {
            let flight = sent_until(exchange, *at - *after);
            let late = ms(*after) - r;
            let soon = late < MIN_DELAYED_ACK && arrivals.is_alone(*at);
            let at_once = soon || flight.bytes > exchange.segment();
            if (1..most).contains(&flight.bytes) && at_once {
                late / flight.on_wire as f64
            } else {
                0.0
            }
        }
        _ => 0.0,
    });
    paces.fold(0.0, f64::max)
}

/// Moves the time that the line needed for sent data from the server and from losses to the
/// network.
pub(super) fn book(exchange: &Exchange, phases: &mut [Phase]) {
    let Some(line) = bytes_per_ms(exchange) else {
        return;
    };
    let mut request = request_bytes(exchange) as f64 / line;
    for phase in phases {
        match phase.name {
            PhaseName::Tls | PhaseName::Proxy => {
                let flights = flights(exchange, |at| at >= phase.start && at <= phase.end);
                let whole: f64 = flights.iter().map(|bytes| *bytes as f64 / line).sum();
                carry(phase, whole, rtt_ms(exchange));
            }
            PhaseName::Request => {
                request -= leave(exchange, phase, request);
            }
            PhaseName::FirstByte => {
                fewer_trips(exchange, phase, line);
                carry(phase, request.max(0.0), rtt_ms(exchange));
            }
            _ => {}
        }
    }
}

/// Adjusts a wait for an answer to bytes that took `needed` milliseconds to send.
fn carry(phase: &mut Phase, needed: f64, r: f64) {
    let waited = &mut phase.waited;
    // Acknowledgements queue behind sent data: such a wait already counts as time on the path.
    let own = (waited.network - f64::from(phase.round_trips) * r).clamp(0.0, needed);
    let server = (needed - own).clamp(0.0, waited.server.max(0.0));
    let lost = (needed - own - server).clamp(0.0, waited.loss);
    waited.server -= server;
    waited.loss -= lost;
    waited.network += server + lost;
    phase.carried = own + server + lost;
}

/// Attributes pauses while the request was sent: first to the line, for as long as it needed, and
/// then to whole round trips.
fn leave(exchange: &Exchange, phase: &mut Phase, needed: f64) -> f64 {
    let r = rtt_ms(exchange);
    let allowed = exchange.http.as_ref().and_then(|h| h.continue_wait);
    let asked = allowed.map_or(0.0, |wait| ms(wait).min(r));
    let network = phase.waited.network;
    phase.carried = needed.clamp(0.0, (network - asked).max(0.0));
    if r >= ms(MIN_MEASURABLE_RTT) {
        phase.round_trips = ((network - phase.carried) / r + 0.1) as u32;
    }
    phase.carried
}

/// A window that the line cannot drain within a round trip delays nothing: round trips counted for
/// such windows are attributed to the line.
fn fewer_trips(exchange: &Exchange, phase: &mut Phase, line: f64) {
    let r = rtt_ms(exchange);
    let window = (INITIAL_WINDOW * exchange.segment()) as f64;
    let stalls = (0..16).take_while(|n| window * 2f64.powi(*n) / line < r);
    let most = 1 + stalls.count() as u32;
    let excess = phase.round_trips.saturating_sub(most);
    let back = (f64::from(excess) * r).min(phase.waited.network);
    phase.round_trips -= excess;
    phase.waited.network -= back;
    phase.waited.server += back;
}

/// The rate of the line in bytes per millisecond, if the kernel's figure shows it.
pub(super) fn bytes_per_ms(exchange: &Exchange) -> Option<f64> {
    let tcp = exchange.tcp.as_ref().filter(|t| t.delivery_rate > 0)?;
    let r = rtt_ms(exchange);
    let rate = tcp.delivery_rate as f64 / 1e3;
    if !r.is_finite() {
        return None;
    }
    if !tcp.delivery_app_limited {
        let queued = (QUEUED * r).max(r + MIN_MS);
        return (ms(tcp.rtt?) >= queued).then_some(rate);
    }
    if let Some(line) = acknowledged_bytes_per_ms(exchange, tcp) {
        return Some(line);
    }
    // The fastest flight that was limited only by the amount of data: the time it took beyond a
    // round trip.
    let bytes = largest_flight(exchange, tcp)?;
    let mss = u64::from(tcp.mss).max(500);
    let took = (bytes.div_ceil(mss) * mss) as f64 / rate - r;
    let line = bytes as f64 / took;
    (took >= MIN_MS.max(MIN_SHARE * r) && agree(exchange, line, bytes)).then_some(line)
}

/// The rate that the acknowledgements of several flights agree on. The kernel counts segments:
/// small ones make its figure too high, and a later flight of small ones replaces the figure of a
/// larger one.
fn acknowledged_bytes_per_ms(exchange: &Exchange, tcp: &TcpFacts) -> Option<f64> {
    let r = rtt_ms(exchange);
    if exchange.reused || tcp.retransmits > 0 || tcp.fast_open.data_sent > 0 {
        return None;
    }
    let events = exchange.timeline.iter();
    let acks: Vec<(Flight, f64)> = events
        .filter_map(|(at, event)| match event {
            Event::Acknowledged { after, again: None } => {
                Some((sent_until(exchange, *at - *after), ms(*after) - r))
            }
            _ => None,
        })
        .filter(|(flight, _)| flight.bytes > 0)
        .collect();
    let (largest, took) = acks
        .iter()
        .copied()
        .max_by_key(|(flight, _)| flight.bytes)?;
    let most = largest.bytes;
    let segments = most.div_ceil(u64::from(tcp.mss).max(500));
    let told = (MIN_SEGMENTS..=INITIAL_WINDOW).contains(&segments);
    if !told || took < MIN_MS.max(MIN_SHARE * r) {
        return None;
    }
    let syn = tcp.handshake_rtt.filter(|_| tcp.syn_retransmits == 0);
    if syn.is_some_and(|syn| ms(syn) - r > CONFIRMS * took) {
        return None;
    }
    let needed = |flight: &Flight| took * flight.on_wire as f64 / largest.on_wire as f64;
    let mut others = acks.iter().filter(|(flight, _)| 2 * flight.bytes <= most);
    let agree = others.clone().all(|(flight, late)| {
        let needed = needed(flight);
        (late - needed).abs() <= CONFIRMS_MS.max(CONFIRMS * needed)
    });
    let confirmed = others.clone().count() >= MIN_CONFIRMATIONS
        && others.any(|(flight, _)| needed(flight) >= MIN_MS);
    (agree && confirmed).then_some(most as f64 / took)
}

/// Bytes that left together, without and with the headers of each write's segments.
#[derive(Clone, Copy)]
struct Flight {
    bytes: u64,
    on_wire: u64,
}

/// The bytes that left together, up to and with those of a moment.
fn sent_until(exchange: &Exchange, left: Moment) -> Flight {
    let events = exchange.timeline.iter();
    let with = |at: Moment| ms(at.since(left)) <= CLOCKS && ms(left.since(at)) <= 2.0 * TOGETHER;
    let sent = events.filter_map(|(at, event)| match event {
        Event::Sent { bytes } if with(*at) => Some(*bytes),
        _ => None,
    });
    let none = Flight {
        bytes: 0,
        on_wire: 0,
    };
    sent.fold(none, |all, bytes| Flight {
        bytes: all.bytes + bytes,
        on_wire: all.on_wire + with_headers(exchange, bytes),
    })
}

/// Whether flights of other sizes were acknowledged as a line of this rate allows, and at least one
/// of them was late because of it. One late acknowledgement alone shows only that the path varies.
fn agree(exchange: &Exchange, line: f64, largest: u64) -> bool {
    let r = rtt_ms(exchange);
    let tolerance = MIN_MS.max(DISAGREEMENT * largest as f64 / line);
    let tcp = exchange.tcp.as_ref().filter(|tcp| tcp.syn_retransmits == 0);
    let syn = tcp.and_then(|tcp| tcp.handshake_rtt);
    if syn.is_some_and(|took| ms(took) - r > tolerance) {
        return false;
    }
    let others = exchange
        .timeline
        .iter()
        .filter_map(|(at, event)| match event {
            Event::Acknowledged { after, .. } => {
                Some((sent_around(exchange, *at - *after), ms(*after) - r))
            }
            _ => None,
        })
        .filter(|(bytes, _)| (1..largest).contains(bytes));
    let mut confirmed = false;
    for (bytes, late) in others {
        let needed = bytes as f64 / line;
        let fits = (late - needed).abs() <= tolerance;
        // It may have been delayed on purpose, by 40 ms.
        if !fits && late < MIN_DELAYED_ACK {
            return false;
        }
        // Data that needs hardly any time fits any line.
        confirmed |= needed >= MIN_MS && (late - needed).abs() <= CONFIRMS * needed;
    }
    confirmed
}

/// The bytes that left together at a moment.
pub(super) fn sent_around(exchange: &Exchange, left: Moment) -> u64 {
    let near = |at: Moment| ms(at.since(left)) <= TOGETHER && ms(left.since(at)) <= 2.0 * TOGETHER;
    exchange
        .timeline
        .iter()
        .filter_map(|(at, event)| match event {
            Event::Sent { bytes } if near(*at) => Some(*bytes),
            _ => None,
        })
        .sum()
}

/// The largest flight; `None` if no flight was large enough to be acknowledged at once, or if its
/// departure time is unknown.
fn largest_flight(exchange: &Exchange, tcp: &TcpFacts) -> Option<u64> {
    let untold = exchange.reused || tcp.retransmits > 0 || tcp.fast_open.data_sent > 0;
    let bytes = bursts(exchange).into_iter().max()?;
    let segments = bytes.div_ceil(u64::from(tcp.mss).max(500));
    let told = (MIN_SEGMENTS..=INITIAL_WINDOW).contains(&segments) && !untold;
    told.then_some(bytes)
}

/// The bytes sent at once; without this, a pause between two writes would look like a slow line.
fn bursts(exchange: &Exchange) -> Vec<u64> {
    let mut bursts: Vec<u64> = Vec::new();
    let mut last = None;
    for (at, event) in exchange.timeline.iter() {
        match event {
            Event::Sent { bytes } => {
                let follows = last.is_some_and(|last| ms(at.since(last)) <= TOGETHER);
                match bursts.last_mut() {
                    Some(burst) if follows => *burst += bytes,
                    _ => bursts.push(*bytes),
                }
                last = Some(*at);
            }
            Event::Received { .. } => last = None,
            _ => {}
        }
    }
    bursts
}

/// The bytes sent before each answer.
fn flights(exchange: &Exchange, is_within: impl Fn(Moment) -> bool) -> Vec<u64> {
    let (mut flights, mut under_way) = (Vec::new(), 0);
    for (_, event) in exchange.timeline.iter().filter(|(at, _)| is_within(*at)) {
        match event {
            Event::Sent { bytes } => under_way += bytes,
            Event::Received { .. } if under_way > 0 => {
                flights.push(std::mem::take(&mut under_way));
            }
            _ => {}
        }
    }
    flights
}

fn request_bytes(exchange: &Exchange) -> u64 {
    let http = exchange.http.as_ref();
    http.map_or(0, |h| h.request_bytes + h.uploaded)
}

#[cfg(test)]
mod tests;
