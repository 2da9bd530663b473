//! The effect of a slow line on the bytes that are sent: no answer can arrive before they have
//! left, and this time is not the server's.
//!
//! The kernel measures the rate at which the peer receives data. If that rate equals one window per
//! round trip, or all the data there was, it says nothing about the line, and no time is attributed
//! to the line.

use super::delayed_ack::MIN_DELAYED_ACK;
use super::line::with_headers;
use super::window::INITIAL_WINDOW;
use super::{Phase, PhaseName, ms, rtt_ms};
use crate::{Event, Exchange, Moment, TcpFacts};

/// In milliseconds and as a share of the round trip: a line that delays less is not slow.
const MIN_MS: f64 = 1.0;
const MIN_SHARE: f64 = 0.02;
/// Data that fills a line queues in front of it and makes round trips longer than the shortest by
/// this factor; otherwise the window limited the sender.
const QUEUED: f64 = 1.25;
/// Receivers acknowledge at least every second segment at once (RFC 5681 §4.2), but may delay the
/// acknowledgement of a single one.
const MIN_SEGMENTS: u64 = 2;
/// In milliseconds: writes that are closer together count as one.
const TOGETHER: f64 = 0.5;
/// In milliseconds: a departure is stamped a little after the write.
const CLOCKS: f64 = 0.05;
/// As a share of the time that the largest flight took, and of the time that a smaller one needs.
const DISAGREEMENT: f64 = 0.15;
const CONFIRMS: f64 = 0.25;
/// Only acknowledgements: so many flights of other sizes must confirm the line.
const MIN_CONFIRMATIONS: usize = 2;
/// In milliseconds: an acknowledgement confirms a line within this.
const CONFIRMS_MS: f64 = 0.5;

impl Exchange {
    /// In milliseconds: how long the line may have needed for a request of several segments, if it
    /// was the reason why an acknowledgement of other data was late. It need not have been.
    pub fn carriage_of_request(&self) -> f64 {
        let (r, request) = (rtt_ms(self), request_bytes(self));
        if request <= self.segment() || !r.is_finite() {
            return 0.0;
        }
        let events = self.timeline.iter();
        let paces = events.filter_map(|(at, event)| match event {
            Event::Acknowledged { after, again: None } => {
                let flight = sent_until(self, *at - *after);
                let late = ms(*after) - r;
                let counts = (1..request).contains(&flight.bytes) && late < MIN_DELAYED_ACK;
                counts.then(|| late / flight.on_wire as f64)
            }
            _ => None,
        });
        paces.fold(0.0, f64::max) * with_headers(self, request) as f64
    }
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
    // Acknowledgements queue behind sent data: such a wait already counts as the path's.
    let own = (waited.network - f64::from(phase.round_trips) * r).clamp(0.0, needed);
    let server = (needed - own).clamp(0.0, waited.server.max(0.0));
    let lost = (needed - own - server).clamp(0.0, waited.loss);
    waited.server -= server;
    waited.loss -= lost;
    waited.network += server + lost;
    phase.carried = own + server + lost;
}

/// Attributes pauses while the request was sent: first to the line, as long as it needed, and then
/// to whole round trips.
fn leave(exchange: &Exchange, phase: &mut Phase, needed: f64) -> f64 {
    let r = rtt_ms(exchange);
    let allowed = exchange.http.as_ref().and_then(|h| h.continue_wait);
    let asked = allowed.map_or(0.0, |wait| ms(wait).min(r));
    let network = phase.waited.network;
    phase.carried = needed.clamp(0.0, (network - asked).max(0.0));
    phase.round_trips = ((network - phase.carried) / r + 0.1) as u32;
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
        return (ms(tcp.rtt?) >= QUEUED * r).then_some(rate);
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
/// small ones make its figure too high, and a later flight of them replaces that of a larger one.
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

/// `None` if no flight was large enough to be acknowledged at once, or if its departure time is
/// unknown.
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
mod tests {
    use std::time::Duration;

    use crate::{Event, Exchange, HttpFacts, Moment, PhaseName, TcpFacts};

    const R: f64 = 20.0;
    const MSS: u64 = 1428;

    /// A hello of `hello` milliseconds and 1,700 bytes, and a request of `request` bytes that is
    /// answered after `wait` milliseconds.
    fn exchange(hello: f64, request: u64, wait: f64, tcp: TcpFacts) -> Exchange {
        let mut e = Exchange {
            rtt: Some(Duration::from_secs_f64(R / 1e3)),
            tcp: Some(TcpFacts {
                mss: MSS as u32,
                ..tcp
            }),
            http: Some(HttpFacts {
                status: 200,
                request_bytes: request,
                ..HttpFacts::default()
            }),
            ..Exchange::default()
        };
        for (at, event) in [
            (0.0, Event::HandshakeStarted),
            (0.0, Event::Sent { bytes: 1700 }),
            (hello, Event::Received { bytes: 1400 }),
            (hello, Event::HandshakeFinished),
            (hello, Event::RequestStarted),
            (hello, Event::Sent { bytes: request }),
            (hello, Event::RequestSent),
            (hello + wait, Event::Received { bytes: 200 }),
            (hello + wait, Event::FirstByte),
            (hello + wait, Event::Finished),
        ] {
            e.timeline.push(Moment::from_millis(at), event);
        }
        e
    }

    /// The network, the server and the line's part of both waits, rounded.
    fn waits(e: &Exchange) -> [(i32, i32, i32, u32); 2] {
        [PhaseName::Tls, PhaseName::FirstByte].map(|name| {
            let phases = e.phases();
            let phase = phases.iter().find(|p| p.name == name).unwrap();
            assert!((phase.waited.sum() - phase.ms()).abs() < 1e-6, "{phase:?}");
            let [network, server, carried] =
                [phase.waited.network, phase.waited.server, phase.carried]
                    .map(|part| part.round() as i32);
            (network, server, carried, phase.round_trips)
        })
    }

    /// The data that left at this time is acknowledged `late` ms after a round trip.
    fn acknowledge(e: &mut Exchange, left: f64, late: f64) {
        let after = Duration::from_secs_f64((R + late) / 1e3);
        let event = Event::Acknowledged { after, again: None };
        e.timeline.push(Moment::from_millis(left + R + late), event);
    }

    /// The rate as the kernel measures it: whole segments, from the first sent to the last
    /// acknowledged.
    fn limited_by_what_there_was(took: f64) -> TcpFacts {
        TcpFacts {
            delivery_rate: (2.0 * MSS as f64 / took * 1e3) as u64,
            delivery_app_limited: true,
            ..TcpFacts::default()
        }
    }

    #[test]
    fn a_hello_of_two_segments_on_a_slow_line() {
        let slow = limited_by_what_there_was(R + 14.0);
        let mut e = exchange(R + 20.0, 300, R + 5.0, slow);
        // If 1,700 bytes take 14 ms, 300 take 2.5.
        acknowledge(&mut e, R + 20.0, 2.5);
        assert_eq!(waits(&e), [(34, 6, 14, 1), (23, 3, 2, 1)]);
        let quick = limited_by_what_there_was(R + 0.5);
        let e = exchange(R + 20.0, 100, R + 5.0, quick);
        assert_eq!(waits(&e), [(20, 20, 0, 1), (20, 5, 0, 1)]);
    }

    /// The kernel counted the request's two short segments as full ones, and its figure is that of
    /// a line four times as fast.
    #[test]
    fn acknowledgements_show_a_line_that_the_kernel_s_figure_hides() {
        let carried = |late: [f64; 2]| {
            let hides = limited_by_what_there_was(R + 8.0);
            let mut e = exchange(R + 40.0, 150, R + 20.0, hides);
            acknowledge(&mut e, 0.0, 40.0);
            // A second short write left with the request.
            let at = Moment::from_millis(R + 40.2);
            e.timeline.push(at, Event::Sent { bytes: 100 });
            acknowledge(&mut e, R + 40.0, late[0]);
            acknowledge(&mut e, R + 40.2, late[1]);
            waits(&e)[0].2
        };
        assert_eq!(carried([4.5, 8.0]), 40);
        // Both are late by chance, or one of them is not late.
        assert_eq!(carried([9.0, 17.0]), 0);
        assert_eq!(carried([4.5, 0.1]), 0);
    }

    /// Two short writes are two segments, each with headers, over IPv6 with larger ones.
    #[test]
    fn headers_of_short_writes_need_the_line_as_well() {
        let carried = |late: f64| {
            let hides = limited_by_what_there_was(R + 8.0);
            let mut e = exchange(R + 50.0, 126, R + 15.0, hides);
            if let Some(tcp) = &mut e.tcp {
                tcp.peer = Some("[2001:db8::7]:443".parse().unwrap());
            }
            // 1,700 bytes are 1,844 with headers, 126 are 198, and 126 and 107 are 377.
            acknowledge(&mut e, 0.0, 48.0);
            let at = Moment::from_millis(R + 50.3);
            e.timeline.push(at, Event::Sent { bytes: 107 });
            acknowledge(&mut e, R + 50.0, 5.2);
            acknowledge(&mut e, R + 50.3, late);
            waits(&e)[0].2
        };
        assert_eq!(carried(9.8), 48);
        assert_eq!(carried(16.0), 0);
    }

    #[test]
    fn one_late_acknowledgement_is_a_path_that_varies() {
        // 300 bytes need 2.5 ms on such a line.
        for (late, carried) in [(2.5, 14), (9.0, 0), (0.2, 0)] {
            let mut e = exchange(R + 20.0, 300, R + 10.0, limited_by_what_there_was(R + 14.0));
            assert_eq!(waits(&e)[0].2, 0, "nothing confirms it");
            acknowledge(&mut e, R + 20.0, late);
            assert_eq!(waits(&e)[0].2, carried, "{late}");
        }
    }

    #[test]
    fn a_hello_shows_how_long_a_large_request_may_take() {
        let carriage = |request: u64| {
            let mut e = exchange(R + 20.0, request, R + 140.0, TcpFacts::default());
            // 1,700 bytes, which are 1,804 with headers, took 4 ms.
            acknowledge(&mut e, 0.0, 4.0);
            e.carriage_of_request()
        };
        // 8,200 are 8,512 with headers.
        assert!((carriage(8_200) - 18.9).abs() < 0.1, "{}", carriage(8_200));
        assert!(carriage(1_000) < 1e-9, "it is one segment");
    }

    #[test]
    fn a_client_that_pauses_between_two_writes_is_not_a_slow_line() {
        let mut e = exchange(R + 20.0, 100, R + 5.0, limited_by_what_there_was(2.0 * R));
        e.timeline = crate::Timeline::default();
        for (at, event) in [
            (0.0, Event::HandshakeStarted),
            (0.0, Event::Sent { bytes: 400 }),
            (10.0, Event::Sent { bytes: 1400 }),
            (R + 30.0, Event::Received { bytes: 1400 }),
            (R + 30.0, Event::HandshakeFinished),
            (R + 30.0, Event::Finished),
        ] {
            e.timeline.push(Moment::from_millis(at), event);
        }
        assert!(e.phases().iter().all(|p| p.carried < 1e-9), "{e:?}");
    }

    #[test]
    fn a_request_that_the_line_takes_long_for() {
        let line = |rtt: f64, retransmits| TcpFacts {
            delivery_rate: 120_000,
            rtt: Some(Duration::from_secs_f64(rtt / 1e3)),
            retransmits,
            ..TcpFacts::default()
        };
        // The line needs 833 ms for 100 kB, and no window drains within a round trip; the server
        // thinks for 30 ms.
        let e = exchange(R + 20.0, 100_000, R + 863.0, line(400.0, 0));
        assert_eq!(waits(&e)[1], (853, 30, 833, 1));
        // A rate without a queue is that of the window: the bytes that the window allows in each
        // round trip.
        let e = exchange(R, 20_000, R + 30.0, line(R, 0));
        assert_eq!(waits(&e)[1].2, 0);
    }
}
