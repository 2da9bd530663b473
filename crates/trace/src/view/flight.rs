//! Where the flights of the server end, and whether it had more to send.

use std::time::Duration;

use roundtrip_model::Event;

use super::Watcher;
use crate::tcp::Content;

/// Pauses that are shorter are attributed to the scheduler. In nanoseconds.
pub(super) const MIN_PAUSE: u64 = 1_000_000;
/// The header of a TLS record, in bytes.
const HEADER: u64 = 5;

/// Data that has arrived without a pause.
#[derive(Clone, Copy, Default)]
pub(super) struct SentFlight {
    pub(super) segments: u64,
    pub(super) bytes: u64,
    pub(super) acknowledged: bool,
    /// Whether the flight's last segment was full. A program that pauses seldom ends with a full
    /// one.
    pub(super) ended_full: bool,
    /// The window that the server knew at the flight's beginning.
    pub(super) window: Option<u64>,
}

impl Watcher<'_> {
    /// If a flight ends in the middle of a TLS record, or of clear text in full segments, more
    /// follows.
    fn broke_off(&mut self, last: u64) {
        let Content::Tls([_, server]) = &self.flow.content else {
            if self.flight.ended_full {
                self.note(last, Event::CutOff);
            }
            return;
        };
        let records = server.records();
        let at = records.partition_point(|record| record.end <= self.read);
        let Some(record) = records.get(at).filter(|record| record.start < self.read) else {
            return;
        };
        let header = record.start + HEADER;
        self.note(last, Event::CutOff);
        if self.read > header && self.told_record != Some(record.start) {
            self.told_record = Some(record.start);
            let bytes = record.end - header;
            self.note(last, Event::RecordBegan { bytes });
        }
    }

    /// Ends the flight before this arrival if there was a pause.
    pub(super) fn pause(&mut self, at: u64) {
        let Some(last) = self.last_arrival else {
            self.flight.window = Some(self.window);
            return;
        };
        if at.saturating_sub(last) < MIN_PAUSE.max(self.rtt / 4) {
            return;
        }
        let flight = self.flight;
        let event = Event::Paused {
            segments: flight.segments,
            bytes: flight.bytes,
            window: flight.window,
        };
        self.note(last, event);
        self.broke_off(last);
        if flight.segments > 0 && !flight.acknowledged {
            self.note(last, Event::AckDelayed);
        }
        self.flight = SentFlight {
            window: Some(self.window),
            ..SentFlight::default()
        };
        if let Some(after) = self.departures.between() {
            let after = Duration::from_nanos(after.min(at.saturating_sub(last)));
            self.note(last, Event::Departed { after });
        }
    }
}
