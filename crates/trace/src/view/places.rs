//! What a client had sent, read and measured at a given time, and when it reached a position.

use super::rate::last_at;
use super::{ClientView, MIN_OVERTAKEN, Rate};

impl ClientView {
    /// Whether, as far as the capture shows, neither the SYN nor its answer had to be sent again.
    pub(crate) fn is_first_try(&self) -> bool {
        self.syn_repeats == 0 && self.answers_lost == 0
    }

    /// The bytes of the client's first flight, some of which the SYN carried: the data that left
    /// before the SYN-ACK or an answer could change anything.
    pub(crate) fn first_flight(&self) -> u64 {
        let until = self
            .connected
            .map_or(u64::MAX, |at| at.saturating_add(MIN_OVERTAKEN));
        let answered = self.read.first().map_or(u64::MAX, |(_, at)| *at);
        let within = self.sent.iter();
        let within = within.take_while(|(_, at)| *at <= until && *at < answered);
        within.last().map_or(0, |(place, _)| *place)
    }

    /// The position up to which the client had read (or sent) at this time.
    pub(crate) fn read_at(&self, at: u64) -> u64 {
        let [_, from] = self.from;
        place_at(&self.read, at).unwrap_or(from)
    }

    pub(crate) fn sent_at(&self, at: u64) -> u64 {
        let [from, _] = self.from;
        place_at(&self.sent, at).unwrap_or(from)
    }

    /// The rate at which the client's data had been delivered, and its smoothed round trip in
    /// nanoseconds, at this time.
    pub(crate) fn measured_at(&self, at: u64) -> (Option<Rate>, Option<u64>) {
        (last_at(&self.rates, at), last_at(&self.trips, at))
    }

    /// When the byte before this place first left.
    pub(crate) fn left(&self, end: u64) -> Option<u64> {
        let [from, _] = self.from;
        at_of(&self.sent, end).filter(|_| end > from || from == 0)
    }

    /// When the byte before this place could be read.
    pub(crate) fn readable(&self, end: u64) -> Option<u64> {
        let [_, from] = self.from;
        at_of(&self.read, end).filter(|_| end > from || from == 0)
    }
}

fn place_at(places: &[(u64, u64)], at: u64) -> Option<u64> {
    let found = places.partition_point(|(_, when)| *when <= at);
    let last = found.checked_sub(1).and_then(|last| places.get(last));
    last.map(|(place, _)| *place)
}

fn at_of(places: &[(u64, u64)], end: u64) -> Option<u64> {
    let found = places.partition_point(|(place, _)| *place < end);
    places.get(found).map(|(_, at)| *at)
}
