//! A connection as its client saw it: what left, what arrived and could be read, and what was
//! missing in between, in the client's times wherever the capture was made.
//!
//! If it was seen elsewhere, the client's data left half a round trip before it was seen, and the
//! server's data arrives half a round trip later.

use std::collections::BTreeMap;
use std::time::Duration;

use roundtrip_model::Event;
use roundtrip_wire::tls::ContentKind;

use crate::segment::{SeenSegment, Side, is_keep_alive};
pub(crate) use crate::tcp::mss;
use crate::tcp::{Content, TcpFlow};
use crate::vantage::Vantage;

mod departures;
mod flight;
mod lost;
mod missing;
mod places;
mod rate;
mod timing;

use departures::Departures;
use flight::SentFlight;
use lost::Lost;
use missing::Missing;
use rate::Gauge;
pub(crate) use rate::Rate;

/// Packets that are out of order by less than this count as simultaneous. In nanoseconds.
const MIN_OVERTAKEN: u64 = 2_000_000;

/// Something that the client could notice, at a time in nanoseconds since 1970.
pub(crate) type Noticed = (u64, Event);

/// A connection as its client saw it.
#[derive(Debug, Default)]
pub(crate) struct ClientView {
    /// The events, in the order of their times.
    pub(crate) events: Vec<Noticed>,
    /// Where the view begins in the streams of client and server.
    from: [u64; 2],
    /// The ends of the client's data in the stream, and when they first left.
    pub(crate) sent: Vec<(u64, u64)>,
    /// For each moment at which the client could read more: how far into the stream, and when.
    pub(crate) read: Vec<(u64, u64)>,
    /// When the first SYN left, and when its answer arrived.
    pub(crate) syn: Option<u64>,
    pub(crate) connected: Option<u64>,
    pub(crate) syn_repeats: u32,
    /// SYN-ACKs that did not reach the client.
    pub(crate) answers_lost: u32,
    /// Segments that the client sent again, and how many of them had arrived.
    pub(crate) resent: u32,
    pub(crate) needless: u32,
    pub(crate) out_of_order: u32,
    pub(crate) largest_window: u64,
    /// In bytes: the largest segment that arrived.
    pub(crate) largest_segment: u64,
    /// In nanoseconds: how long the server had no room for the client's data.
    pub(crate) without_room: u64,
    /// The number of bytes in the SYN that the SYN-ACK acknowledged.
    pub(crate) syn_data: u64,
    pub(crate) syn_data_acked: u64,
    /// When, and by which side, the connection was reset; when it was closed in order.
    pub(crate) reset: Option<(u64, Side)>,
    /// For each refused SYN, when it left, and when the refusal came.
    pub(crate) refusals: Vec<(u64, u64)>,
    pub(crate) fin: Option<u64>,
    /// When the server closed the connection, unless the client had closed it before.
    pub(crate) closed_by_server: Option<u64>,
    client_closed: bool,
    is_acknowledged: bool,
    /// The values that the client's kernel would have measured, with their times.
    rates: Vec<(u64, Rate)>,
    trips: Vec<(u64, u64)>,
    pub(crate) congested: bool,
    /// The time of the last packet.
    pub(crate) ended: u64,
}

impl ClientView {
    pub(crate) fn new(flow: &TcpFlow, vantage: &Vantage) -> Self {
        let lost = Lost::beyond(flow, vantage);
        let times = timing::at_client(flow, vantage, &lost).into_iter();
        let mut order: Vec<(u64, &SeenSegment)> = times.zip(&flow.sights).collect();
        order.sort_by_key(|(at, _)| *at);
        let rtt = vantage.rtt().map_or(0, |rtt| rtt.as_nanos() as u64);
        let mut watcher = Watcher::new(flow, rtt);
        watcher.departures = Departures::of_server(flow, vantage);
        watcher.is_far = vantage.distance() > 0;
        watcher.view.answers_lost = lost.answers();
        watcher.view.ended = order.last().map_or(0, |(at, _)| *at);
        for (at, sight) in order {
            match sight.from {
                Side::Client => {
                    if lost.is_acknowledged_by(sight) && watcher.view.connected.is_some() {
                        watcher.view.connected = Some(at);
                    }
                    watcher.left(at, sight);
                }
                Side::Server => {
                    if lost.is_part_of(sight) {
                        watcher.was_lost(at, sight);
                    }
                    if let Some(data) = lost.rest_of(flow, sight) {
                        watcher.arrived(at, sight, &data);
                    }
                }
            }
        }
        watcher.reopened(watcher.view.ended);
        // Some are noted at an earlier time than those before.
        watcher.view.events.sort_by_key(|(at, _)| *at);
        watcher.view.rates = watcher.gauge.rates;
        watcher.view.trips = watcher.gauge.trips;
        watcher.view
    }
}

/// Data that was sent and is not acknowledged yet.
struct UnackedData {
    start: u64,
    end: u64,
    at: u64,
    again: Option<u64>,
    /// The client's clock when the data first left.
    clock: Option<u32>,
}

struct Watcher<'a> {
    flow: &'a TcpFlow,
    rtt: u64,
    view: ClientView,
    /// The positions up to which the client has sent and read.
    sent: u64,
    read: u64,
    under_way: Vec<UnackedData>,
    /// Data that arrived after a gap: where it begins, where it ends, when it came, and in how many
    /// segments.
    ahead: BTreeMap<u64, (u64, u64, u32)>,
    /// The number of segments that were sent again since something last arrived.
    resent: u32,
    needless: u32,
    /// Since when, counted from the last arrival, something has been unacknowledged; and for how
    /// long something was unacknowledged before that.
    busy: Option<u64>,
    unacked: u64,
    last_arrival: Option<u64>,
    /// When the last SYN left.
    asked: Option<u64>,
    flight: SentFlight,
    /// The last window that was announced to the server.
    window: u64,
    closed: Option<u64>,
    /// The time since which the server has had no room.
    no_room: Option<u64>,
    /// The capture was not made at the client's end.
    is_far: bool,
    /// Which packets of the server did not arrive, and when the last one did.
    missing: Missing,
    heard: Option<u64>,
    /// The start of the record whose beginning was reported.
    told_record: Option<u64>,
    gauge: Gauge,
    departures: Departures,
}

impl<'a> Watcher<'a> {
    fn new(flow: &'a TcpFlow, rtt: u64) -> Self {
        let [sent, read] = flow.unreported();
        Self {
            flow,
            rtt,
            view: ClientView {
                from: [sent, read],
                ..ClientView::default()
            },
            sent,
            read,
            under_way: Vec::new(),
            ahead: BTreeMap::new(),
            resent: 0,
            needless: 0,
            busy: None,
            unacked: 0,
            last_arrival: None,
            asked: None,
            flight: SentFlight::default(),
            window: 0,
            closed: None,
            no_room: None,
            is_far: false,
            missing: Missing::from_flow(flow),
            heard: None,
            told_record: None,
            gauge: Gauge::new(rtt, mss(flow).max(1).into()),
            departures: Departures::default(),
        }
    }

    fn note(&mut self, at: u64, event: Event) {
        self.view.events.push((at, event));
    }

    fn left(&mut self, at: u64, sight: &SeenSegment) {
        if sight.is_reset() {
            self.view.reset.get_or_insert((at, Side::Client));
        }
        self.view.client_closed |= sight.is_fin() || sight.is_reset();
        if sight.is_syn() {
            self.asked = Some(at);
            if self.view.syn.is_some() {
                self.view.syn_repeats += 1;
            } else {
                self.view.syn_data = u64::from(sight.length);
            }
            self.view.syn.get_or_insert(at);
        } else {
            let shift = self.flow.syn.and_then(|syn| syn.window_scale);
            let shift = shift.filter(|_| {
                let answer = self.flow.syn_ack;
                answer.is_none_or(|answer| answer.window_scale.is_some())
            });
            self.window = u64::from(sight.window) << shift.unwrap_or(0);
            if self.window > 0 || sight.is_reset() || sight.is_fin() {
                self.reopened(at);
            } else {
                self.closed.get_or_insert(at);
            }
            if sight.acknowledges() && sight.length == 0 {
                self.flight.acknowledged = true;
                self.opened(at, sight);
            }
            // The client has all bytes that it acknowledges, even if the capture lacks some.
            if let Some(end) = self.flow.acknowledged(sight)
                && end > self.read
                && !self.ahead.is_empty()
            {
                let first = self
                    .ahead
                    .first_key_value()
                    .map_or(end, |(start, _)| *start);
                self.data(at, self.read, first.min(end));
            }
        }
        let data_at = sight.sequence.wrapping_add(u32::from(sight.is_syn()));
        let Some(start) = self
            .flow
            .place(Side::Client, data_at)
            .filter(|_| sight.length > 0)
        else {
            return;
        };
        let end = start + u64::from(sight.length);
        let acknowledged = self.under_way.first().map_or(self.sent, |open| open.start);
        if is_keep_alive(sight, start, self.sent, acknowledged) {
            return;
        }
        // If a SYN's data was not accepted, it is sent again, which is not a loss.
        if start < self.sent {
            let first = self.under_way.partition_point(|d| d.end <= start);
            let open = self.under_way.iter_mut().skip(first);
            for departure in open.take_while(|d| d.start < end) {
                departure.again = Some(at);
            }
            if !(start == 0 && self.view.syn_data > 0 && self.view.syn_data_acked == 0) {
                self.resent += 1;
                self.view.resent += 1;
            }
        }
        if end > self.sent {
            let bytes = end - self.sent;
            self.under_way.push(UnackedData {
                start: start.max(self.sent),
                end,
                at,
                again: None,
                clock: sight.stamps.map(|(clock, _)| clock),
            });
            self.gauge.sent(at, end, bytes);
            self.asks(at, sight);
            self.busy.get_or_insert(at);
            self.sent = end;
            self.view.sent.push((end, at));
            if !self.is_change_of_cipher(start, end) {
                self.note(at, Event::Sent { bytes });
            }
        }
    }

    /// A client acknowledges the SYN-ACK at once, so the SYN-ACK had arrived when the
    /// acknowledgement left. In a capture at the client, its arrival was seen.
    fn opened(&mut self, at: u64, sight: &SeenSegment) {
        let is_first = self.sent == 0 && self.read == 0 && !sight.is_fin();
        if let Some(connected) = self.view.connected.filter(|_| self.is_far && is_first)
            && self.flow.acknowledged(sight) == Some(0)
            && !std::mem::replace(&mut self.view.is_acknowledged, true)
        {
            self.view.connected = Some(connected.max(at));
        }
    }

    /// Whether this part of the client's stream is nothing but a message that the server does not
    /// answer: with TLS 1.3, some clients send it while the server's flight arrives. RFC 8446 §D.4.
    fn is_change_of_cipher(&self, start: u64, end: u64) -> bool {
        let Content::Tls([client, _]) = &self.flow.content else {
            return false;
        };
        let records = client.records();
        let at = records.partition_point(|record| record.end < end);
        records.get(at).is_some_and(|record| {
            record.kind == ContentKind::ChangeCipherSpec && record.start <= start
        })
    }

    fn reopened(&mut self, at: u64) {
        if let Some(since) = self.closed.take() {
            let took = Duration::from_nanos(at.saturating_sub(since));
            self.note(at, Event::WindowClosed { took });
        }
    }

    /// A segment of the server has come, with these parts of its data.
    fn arrived(&mut self, at: u64, sight: &SeenSegment, data: &[(u64, u64)]) {
        self.view.congested |= sight.congested;
        if sight.is_reset() {
            if let Some(asked) = self.asked.filter(|_| self.view.connected.is_none()) {
                self.view.refusals.push((asked, at));
            }
            self.view.reset.get_or_insert((at, Side::Server));
            return;
        }
        if sight.is_syn() && self.view.connected.is_none() {
            self.view.connected = Some(at);
            if let Some(syn) = self.view.syn.filter(|_| self.view.is_first_try()) {
                self.gauge.trip(at, at.saturating_sub(syn));
            }
        }
        let shift = self
            .flow
            .syn_ack
            .and_then(|syn| syn.window_scale)
            .unwrap_or(0);
        let shift = if sight.is_syn() { 0 } else { shift };
        let window = u64::from(sight.window) << shift;
        self.view.largest_window = self.view.largest_window.max(window);
        if window == 0 {
            self.no_room.get_or_insert(at);
        } else if let Some(since) = self.no_room.take() {
            self.view.without_room += at.saturating_sub(since);
        }
        if sight.is_duplicate_sack {
            self.needless += 1;
            self.view.needless += 1;
        }
        self.acknowledgment(at, sight);
        self.missing(at, sight);
        self.departures.next = Some(*sight);
        for (start, end) in data {
            self.view.largest_segment = self.view.largest_segment.max(end - start);
            self.data(at, *start, *end);
        }
        self.departures.next = None;
        if sight.is_fin() {
            self.view.fin.get_or_insert(at);
            if !self.view.client_closed {
                self.view.closed_by_server.get_or_insert(at);
            }
        }
    }

    fn acknowledgment(&mut self, at: u64, sight: &SeenSegment) {
        let Some(end) = self.flow.acknowledged(sight) else {
            return;
        };
        if sight.is_syn() {
            self.view.syn_data_acked = end.min(self.view.syn_data);
        }
        let before = self.under_way.first().map(|d| d.start);
        let done = self.under_way.partition_point(|d| d.end <= end);
        let last = done.checked_sub(1);
        let until = last
            .and_then(|last| self.under_way.get(last))
            .map(|d| d.end);
        // Data behind a lost segment is acknowledged when that has come again.
        let all = self.under_way.get(..done).unwrap_or_default();
        let at_hole = all.iter().rposition(|data| data.again.is_some());
        let newest = self
            .under_way
            .drain(..done)
            .nth(at_hole.or(last).unwrap_or(0));
        if self.under_way.is_empty()
            && let Some(since) = self.busy.take()
        {
            self.unacked += at.saturating_sub(since);
        }
        self.was_asked(at, sight);
        if let (Some(newest), Some(until)) = (newest, until) {
            let bytes = until - before.unwrap_or(newest.start).min(newest.start);
            let repeated = newest.again.is_some();
            self.gauge.acknowledged(at, end, bytes, repeated);
            // The echo of the client's clock shows which copy arrived.
            let echo = sight.stamps.map(|(_, echo)| echo);
            let of_first = echo.zip(newest.clock).map(|(echo, clock)| echo == clock);
            let left = match (newest.again, of_first) {
                (Some(again), Some(false)) => Some(again),
                (Some(_), None) => None,
                _ => Some(newest.at),
            };
            if let Some(left) = left {
                self.gauge.trip(at, at.saturating_sub(left));
            }
            let took = at.saturating_sub(newest.at);
            if self.may_have_waited(sight, &newest, bytes, took) {
                self.note(at, Event::AckLeftLate);
            }
            let after = Duration::from_nanos(took);
            let again = newest
                .again
                .map(|again| Duration::from_nanos(at.saturating_sub(again)));
            self.note(at, Event::Acknowledged { after, again });
        }
    }

    fn segments(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.mss()).max(1)
    }

    fn mss(&self) -> u64 {
        mss(self.flow).max(1).into()
    }

    fn data(&mut self, at: u64, start: u64, end: u64) {
        if end <= self.read {
            return;
        }
        let segments = self.segments(end - start);
        if start > self.read {
            self.behind_a_gap(at, start, end, segments);
            return;
        }
        self.pause(at);
        self.answers(at);
        let before = self.read;
        self.read = end;
        let (mut overtaken, mut earliest) = (0, at);
        while let Some(entry) = self.ahead.first_entry() {
            if *entry.key() > self.read {
                break;
            }
            let (until, came, segments) = entry.remove();
            self.read = self.read.max(until);
            earliest = earliest.min(came);
            overtaken += segments;
        }
        let late = at.saturating_sub(earliest.max(self.last_arrival.unwrap_or(0)));
        if overtaken > 0 && late >= MIN_OVERTAKEN {
            let late = Duration::from_nanos(late);
            let event = Event::Overtaken {
                segments: overtaken,
                late,
            };
            self.note(at, event);
        }
        self.answered(at);
        self.departures.last = self.departures.next;
        let bytes = self.read - before;
        self.note(at, Event::Received { bytes });
        self.view.read.push((self.read, at));
        self.last_arrival = Some(at);
        self.flight.segments += segments + u64::from(overtaken);
        self.flight.bytes += bytes;
        self.flight.acknowledged = false;
        self.flight.ended_full = (end - start).is_multiple_of(self.mss());
    }

    /// Notes that an answer arrived: segments that were sent again since the last arrival explain
    /// the delay.
    fn answered(&mut self, at: u64) {
        let again = self.resent.saturating_sub(self.needless);
        if again > 0 {
            let since = self.busy.unwrap_or(at);
            let unacked = Duration::from_nanos(self.unacked + at.saturating_sub(since));
            let event = Event::Resent {
                segments: again,
                unacked,
            };
            self.note(at, event);
        }
        (self.resent, self.needless, self.unacked) = (0, 0, 0);
        self.busy = self.under_way.first().map(|d| d.at.max(at));
    }
}
