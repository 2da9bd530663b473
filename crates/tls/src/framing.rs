//! Finds the boundaries of TLS records in the bytes of a connection: if bytes stop in the middle of
//! a record, more were on their way. rustls handles the records' contents.

use roundtrip_model::{Event, Recorder};

/// The length of type, version and length. RFC 8446 §5.1.
const HEADER: usize = 5;

#[derive(Debug, Default)]
pub(crate) struct RecordFraming {
    header: [u8; HEADER],
    /// The number of bytes of the header that have arrived.
    begun: usize,
    /// The number of bytes of the record that have not arrived.
    missing: usize,
    /// Whether the last read found nothing, in the middle of a record.
    dry: bool,
    /// The beginning of this record was recorded.
    told: bool,
}

impl RecordFraming {
    /// Notes that a read found nothing.
    pub(crate) fn ran_dry(&mut self, recorder: &Recorder) {
        self.dry = self.begun > 0 || self.missing > 0;
        if self.missing > 0 && !std::mem::replace(&mut self.told, true) {
            let [_, _, _, high, low] = self.header;
            let bytes = u16::from_be_bytes([high, low]).into();
            recorder.record_arrival(Event::RecordBegan { bytes });
        }
    }

    /// Notes that these bytes have arrived. After a pause in the middle of a record, records that
    /// the flight was interrupted.
    pub(crate) fn took(&mut self, bytes: &[u8], recorder: &Recorder) {
        if std::mem::take(&mut self.dry) {
            recorder.record_of_pause(Event::CutOff);
        }
        self.follow(bytes);
    }

    fn follow(&mut self, mut bytes: &[u8]) {
        loop {
            let skipped = self.missing.min(bytes.len());
            self.missing -= skipped;
            bytes = bytes.get(skipped..).unwrap_or_default();
            let Some((byte, rest)) = bytes.split_first() else {
                return;
            };
            bytes = rest;
            if let Some(place) = self.header.get_mut(self.begun) {
                *place = *byte;
            }
            self.begun += 1;
            if self.begun == HEADER {
                let [_, _, _, high, low] = self.header;
                self.missing = u16::from_be_bytes([high, low]).into();
                self.begun = 0;
                self.told = false;
            }
        }
    }
}

/// The length of the first TLS record, header included: a ClientHello fits one. RFC 8446 §5.1.
pub(crate) fn first_record_length(bytes: &[u8]) -> u64 {
    match bytes {
        [22, _, _, high, low, ..] => 5 + u64::from(u16::from_be_bytes([*high, *low])),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use roundtrip_model::Moment;

    use super::*;

    /// Whether the framing records an interruption when the second part comes after a pause.
    fn is_cut(first: &[u8], second: &[u8]) -> bool {
        let recorder = Recorder::new(Arc::new(Moment::ZERO));
        let mut framing = RecordFraming::default();
        framing.took(first, &recorder);
        for _ in 0..2 {
            framing.ran_dry(&recorder);
        }
        let flight = Event::Paused {
            segments: 1,
            bytes: 1,
            window: None,
        };
        recorder.record(flight);
        recorder.record(Event::Received { bytes: 1 });
        framing.took(second, &recorder);
        recorder.snapshot().first(|e| *e == Event::CutOff).is_some()
    }

    #[test]
    fn a_pause_in_the_middle_of_a_record_is_recorded() {
        let record = |length: usize| [&[23, 3, 3, 0, length as u8][..], &vec![0; length]].concat();
        let stream = [record(3), record(0), record(200)].concat();
        let ends = [0, 8, 13, 218];
        for cut in 0..=stream.len() {
            let (first, second) = stream.split_at(cut);
            assert_eq!(is_cut(first, second), !ends.contains(&cut), "{cut}");
        }
    }
}
