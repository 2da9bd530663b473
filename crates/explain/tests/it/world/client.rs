//! The client: what its kernel reports, and what its program does.

use std::time::Duration;

use roundtrip_model::{Event, Timeline};

use super::{DELAYED_ACK, FINISHED, HELLO, Opening, Packet, REQUEST, Security, Step, World};
use crate::story::{MSS, v4};

/// The acknowledgements that a new connection sends at once, as Linux does.
const QUICK_ACKS: u64 = 16;

#[derive(Default)]
pub(super) struct Client {
    written: u64,
    /// The end of each write, and when it left.
    departures: Vec<(u64, f64)>,
    acked: u64,
    read: u64,
    first_unread: Option<f64>,
    last_arrival: Option<f64>,
    /// Segments that arrived since it last acknowledged any.
    pub(super) unacked: u32,
    now: Counters,
    /// The counters when the socket was last empty, and when the flight began.
    dry: Counters,
    flight: Counters,
    is_cut: bool,
    pub(super) smallest: Option<f64>,
    pub(super) smoothed: Option<f64>,
    pub(super) handshake: Option<f64>,
    requests: u64,
    is_answered: bool,
    pub(super) done: bool,
    /// Where the answer begins in the stream, and where each of its records ends.
    pub(super) records: Vec<u64>,
}

#[derive(Clone, Copy, Default)]
struct Counters {
    segments: u64,
    bytes: u64,
    acks: u64,
}

impl World<'_> {
    pub(super) fn connect(&mut self) {
        let (peer, deferred) = (v4(), self.scene.opening == Opening::FastOpen);
        self.record(Event::AttemptStarted { peer });
        if deferred {
            self.record(Event::Connected { peer, deferred });
            self.ask();
        } else {
            self.client.departures.push((0, self.now));
            self.send_up(Packet {
                bytes: 0,
                end: 0,
                acked: 0,
                syn: true,
            });
        }
    }

    /// What the client writes when the connection is ready, or ready again.
    pub(super) fn ask(&mut self) {
        if self.is_secure() && self.client.written == 0 {
            self.record(Event::HandshakeStarted);
            self.write(HELLO);
            return;
        }
        self.client.requests += 1;
        if self.client.requests > 1 {
            // The exchange that is measured begins here.
            self.zero = self.now;
            self.exchange.timeline = Timeline::default();
            (self.client.records, self.client.is_answered) = (Vec::new(), false);
        }
        let finished = match self.scene.security {
            Security::Clear => 0,
            _ if self.client.requests > 1 => 0,
            _ => FINISHED,
        };
        self.record(Event::RequestStarted);
        self.write(finished + REQUEST);
        self.record(Event::RequestSent);
    }

    fn write(&mut self, bytes: u64) {
        let syn = self.client.written == 0 && self.scene.opening == Opening::FastOpen;
        self.record(Event::Sent { bytes });
        let end = self.client.written + bytes;
        while self.client.written < end {
            let part = (end - self.client.written).min(MSS);
            self.client.written += part;
            self.send_up(Packet {
                bytes: part,
                end: self.client.written,
                acked: self.client.now.bytes,
                syn,
            });
        }
        self.client.departures.push((end, self.now));
        self.client.unacked = 0;
    }

    pub(super) fn reached_client(&mut self, packet: Packet) {
        if packet.syn {
            self.syn_acked(packet.acked);
            return;
        }
        self.heard(packet.acked);
        if packet.bytes == 0 {
            return;
        }
        self.client.now.bytes = packet.end;
        self.client.now.segments += 1;
        self.client.unacked += 1;
        if self.client.now.acks < QUICK_ACKS || self.client.unacked > 1 {
            self.acknowledge_server();
        } else {
            self.after(DELAYED_ACK, Step::ClientAcks);
        }
        if self.client.first_unread.is_none() {
            self.client.first_unread = Some(self.now);
            let wake = self.work();
            self.after(wake, Step::Read);
        }
    }

    fn syn_acked(&mut self, acked: u64) {
        let left = self.client.departures.first();
        let took = self.now - left.map_or(self.now, |(_, at)| *at);
        self.client.handshake = Some(took);
        self.sample(took);
        if self.scene.opening == Opening::FastOpen {
            self.client.acked = acked;
            self.record(Event::SynAcked {
                data_sent: acked,
                data_acked: acked,
            });
            return;
        }
        let (peer, deferred) = (v4(), false);
        self.record(Event::Connected { peer, deferred });
        let work = self.work();
        self.after(work, Step::Ask);
    }

    /// The peer's acknowledgement.
    fn heard(&mut self, acked: u64) {
        if acked <= self.client.acked {
            return;
        }
        let before = std::mem::replace(&mut self.client.acked, acked);
        let departures = self.client.departures.iter();
        let covered = departures.filter(|(end, _)| *end > before && *end <= acked);
        let left: Vec<f64> = covered.map(|(_, at)| *at).collect();
        for left in left {
            let took = self.now - left;
            self.sample(took);
            let after = Duration::from_secs_f64(took / 1e3);
            self.record(Event::Acknowledged { after, again: None });
        }
    }

    fn sample(&mut self, took: f64) {
        let client = &mut self.client;
        client.smoothed = Some(client.smoothed.map_or(took, |s| s + (took - s) / 8.0));
        client.smallest = Some(client.smallest.map_or(took, |s| s.min(took)));
    }

    pub(super) fn acknowledge_server(&mut self) {
        self.client.unacked = 0;
        self.client.now.acks += 1;
        self.send_up(Packet {
            bytes: 0,
            end: self.client.written,
            acked: self.client.now.bytes,
            syn: false,
        });
    }

    /// The program reads all that has arrived.
    pub(super) fn read(&mut self) {
        let at = self.client.first_unread.take().unwrap_or(self.now);
        let shortest = (self.client.smallest.unwrap_or(0.0) / 4.0).max(1.0);
        let (flight, dry) = (self.client.flight, self.client.dry);
        if let Some(last) = self.client.last_arrival
            && at - last >= shortest
        {
            let segments = dry.segments - flight.segments;
            let paused = Event::Paused {
                segments,
                bytes: dry.bytes - flight.bytes,
                window: None,
            };
            self.record_at(last, paused);
            if segments > 0 && dry.acks == flight.acks {
                self.record_at(last, Event::AckDelayed);
            }
            if self.client.is_cut {
                self.record_at(last, Event::CutOff);
            }
            self.client.flight = dry;
        }
        self.client.last_arrival = Some(at);
        let before = std::mem::replace(&mut self.client.read, self.client.now.bytes);
        let bytes = self.client.read - before;
        self.record_at(at, Event::Received { bytes });
        self.client.dry = self.client.now;
        self.understand(at, before);
    }

    /// What the program does with the bytes that have been read; `before` had been read before.
    fn understand(&mut self, at: f64, before: u64) {
        let (read, secure) = (self.client.read, self.is_secure());
        if secure && self.client.requests == 0 {
            self.client.is_cut = read < self.flight();
            if !self.client.is_cut {
                self.record(Event::HandshakeFinished);
                self.ask();
            }
            return;
        }
        let records = self.client.records.clone();
        let Some((began, end)) = records.first().zip(records.last()) else {
            return;
        };
        let incomplete = records.windows(2).find_map(|record| match record {
            [from, to] if *from < read && read < *to => Some((*from, *to)),
            _ => None,
        });
        self.client.is_cut = secure && incomplete.is_some();
        if let Some((from, to)) = incomplete.filter(|(from, _)| secure && *from >= before) {
            let bytes = to - from;
            self.record_at(at, Event::RecordBegan { bytes });
        }
        let first = records.get(1).filter(|_| secure);
        let is_complete = first.map_or(read > *began, |end| read >= *end);
        if is_complete && !std::mem::replace(&mut self.client.is_answered, true) {
            self.record_at(at, Event::FirstByte);
            self.record_at(at, Event::Answered);
        }
        if read < *end {
            return;
        }
        match self.scene.opening {
            Opening::Kept(idle) if self.client.requests == 1 => {
                self.after(f64::from(idle) + 0.1, Step::Ask);
            }
            _ => {
                self.record(Event::Finished);
                self.client.done = true;
            }
        }
    }
}
