//! Where TLS records begin and end in the bytes of a connection: bytes that stop in the middle of
//! one had more behind them. What the records hold is rustls' matter.

use roundtrip_model::{Event, Recorder};

/// RFC 8446 §5.1: type, version, length.
const HEADER: usize = 5;

#[derive(Debug, Default)]
pub(crate) struct Framing {
    header: [u8; HEADER],
    /// Bytes of the header that are there.
    begun: usize,
    /// Bytes of the record that are still to come.
    missing: usize,
    /// Nothing more came, in the middle of a record.
    dry: bool,
    /// It has been told that this record began.
    told: bool,
}

impl Framing {
    /// Nothing was there to be read.
    pub(crate) fn ran_dry(&mut self, recorder: &Recorder) {
        self.dry = self.begun > 0 || self.missing > 0;
        if self.missing > 0 && !std::mem::replace(&mut self.told, true) {
            let [_, _, _, high, low] = self.header;
            let bytes = u16::from_be_bytes([high, low]).into();
            recorder.record_arrival(Event::RecordBegan { bytes });
        }
    }

    /// These bytes have come: where there was a pause before them, it is told that the flight had
    /// broken off.
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

    use roundtrip_model::{Clock, Moment};

    use super::*;

    struct Frozen;

    impl Clock for Frozen {
        fn now(&self) -> Moment {
            Moment::ZERO
        }
    }

    /// When the second part comes after a pause: was there more to come?
    fn is_cut(first: &[u8], second: &[u8]) -> bool {
        let recorder = Recorder::new(Arc::new(Frozen));
        let mut framing = Framing::default();
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
    fn a_pause_in_the_middle_of_a_record_is_told() {
        let record = |length: usize| [&[23, 3, 3, 0, length as u8][..], &vec![0; length]].concat();
        let stream = [record(3), record(0), record(200)].concat();
        let ends = [0, 8, 13, 218];
        for cut in 0..=stream.len() {
            let (first, second) = stream.split_at(cut);
            assert_eq!(is_cut(first, second), !ends.contains(&cut), "{cut}");
        }
    }
}
