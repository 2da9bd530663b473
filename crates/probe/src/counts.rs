//! The counters of a sequence.

use roundtrip_model::Moment;

#[derive(Default)]
pub(crate) struct SequenceCounts {
    connections: u32,
    lost_trips: u32,
    ended: Moment,
    in_sequence: bool,
}

impl SequenceCounts {
    /// Starts a sequence at `now`. Within a sequence, a request that the server may have acted on
    /// is repeated only if that is harmless.
    pub(crate) fn start_sequence(&mut self, now: Moment) {
        *self = Self {
            ended: now,
            in_sequence: true,
            ..Self::default()
        };
    }

    /// Ends a sequence and returns its counters.
    pub(crate) fn end_sequence(&mut self) -> Self {
        std::mem::take(self)
    }

    pub(crate) fn count_connection(&mut self) {
        self.connections += 1;
    }

    /// Counts round trips of a repeated request, which its exchange does not show.
    pub(crate) fn count_lost_trips(&mut self, trips: u32) {
        self.lost_trips += trips;
    }

    /// Records the time of the last answer or failure so far, by the exchanger's clock.
    pub(crate) fn mark_end(&mut self, at: Moment) {
        self.ended = at;
    }

    /// The number of connections that were opened.
    pub(crate) fn connections(&self) -> u32 {
        self.connections
    }

    pub(crate) fn lost_trips(&self) -> u32 {
        self.lost_trips
    }

    pub(crate) fn ended(&self) -> Moment {
        self.ended
    }

    pub(crate) fn is_in_sequence(&self) -> bool {
        self.in_sequence
    }
}
