//! What a sequence counts beside its exchanges.

use roundtrip_model::Moment;

#[derive(Default)]
pub(crate) struct Counts {
    connections: u32,
    lost_trips: u32,
    ended: Moment,
    in_sequence: bool,
}

impl Counts {
    /// Starts a sequence at `now`. In a sequence, requests that may have been acted upon are not
    /// repeated unless that does no harm.
    pub(crate) fn start_sequence(&mut self, now: Moment) {
        *self = Self {
            ended: now,
            in_sequence: true,
            ..Self::default()
        };
    }

    /// Ends a sequence and returns what was counted.
    pub(crate) fn end_sequence(&mut self) -> Self {
        std::mem::take(self)
    }

    pub(crate) fn count_connection(&mut self) {
        self.connections += 1;
    }

    /// Counts round trips of a request that was asked again, which its exchange does not show.
    pub(crate) fn count_lost_trips(&mut self, trips: u32) {
        self.lost_trips += trips;
    }

    /// Notes when the last answer or failure so far was here, by the exchanger's clock.
    pub(crate) fn mark_end(&mut self, at: Moment) {
        self.ended = at;
    }

    /// Connections that were opened.
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
