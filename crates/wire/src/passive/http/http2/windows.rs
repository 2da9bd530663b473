//! What each side may still send, for each stream and in total. RFC 9113 §5.2 and §6.9.

use std::collections::BTreeMap;

use crate::quic::Side;

/// The initial window in bytes. RFC 9113 §6.9.2.
const INITIAL: i64 = 65_535;
/// The number of streams whose windows are kept.
const MAX_STREAMS: usize = 4096;

/// The windows of both sides; unknown once a frame was missed.
#[derive(Debug, Default)]
pub(super) struct Windows {
    client: Allowance,
    server: Allowance,
    unknown: bool,
}

/// What one side may send.
#[derive(Debug)]
struct Allowance {
    connection: i64,
    initial: i64,
    /// For each stream, how much its window exceeds the initial window.
    streams: BTreeMap<u64, i64>,
}

impl Default for Allowance {
    fn default() -> Self {
        Self {
            connection: INITIAL,
            initial: INITIAL,
            streams: BTreeMap::new(),
        }
    }
}

impl Windows {
    pub(super) fn forget(&mut self) {
        self.unknown = true;
    }

    /// The allowance that this side gives to the other.
    fn given_by(&mut self, side: Side) -> &mut Allowance {
        match side {
            Side::Client => &mut self.server,
            Side::Server => &mut self.client,
        }
    }

    /// The settings of a side change what the peer may send on each stream.
    pub(super) fn set_initial(&mut self, side: Side, window: u64) {
        self.given_by(side).initial = window.cast_signed();
    }

    pub(super) fn allow(&mut self, side: Side, stream: u64, more: u64) {
        let given = self.given_by(side);
        let left = match stream {
            0 => &mut given.connection,
            _ => given.stream(stream),
        };
        *left = left.saturating_add(more.cast_signed());
    }

    /// A side sends data. Returns the streams whose windows this uses up, 0 for the connection.
    pub(super) fn spend(
        &mut self,
        side: Side,
        stream: u64,
        length: usize,
        is_last: bool,
    ) -> Vec<u64> {
        let spent = match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        let length = (length as u64).cast_signed();
        spent.connection = spent.connection.saturating_sub(length);
        let of_connection = spent.connection <= 0;
        let initial = spent.initial;
        let left = spent.stream(stream);
        *left = left.saturating_sub(length);
        let of_stream = initial.saturating_add(*left) <= 0;
        if is_last {
            spent.streams.remove(&stream);
        }
        if self.unknown || is_last || length == 0 {
            return Vec::new();
        }
        let blocked = [(of_connection, 0), (of_stream, stream)];
        let blocked = blocked.into_iter().filter(|(is_blocked, _)| *is_blocked);
        blocked.map(|(_, stream)| stream).collect()
    }

    pub(super) fn end(&mut self, stream: u64) {
        self.client.streams.remove(&stream);
        self.server.streams.remove(&stream);
    }
}

impl Allowance {
    fn stream(&mut self, stream: u64) -> &mut i64 {
        if self.streams.len() >= MAX_STREAMS && !self.streams.contains_key(&stream) {
            self.streams.pop_first();
        }
        self.streams.entry(stream).or_default()
    }
}
